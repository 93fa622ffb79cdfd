"""A judged set in the one form that the runner and the scorer use, whatever format it came in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from app.evaluation.formats.rows import Case, Document, ExpectedDream, Qrel, Ref, SuiteEntry

Role = Literal["required", "acceptable", "partial", "bad"]
Axis = Literal["ranked", "context", "evidence", "dream"]
AXES: Final[tuple[Axis, ...]] = ("ranked", "context", "evidence", "dream")
Gain = Literal["exponential", "linear"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a set: where, and why. ``line`` 0 concerns the whole file."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class InvalidSet(Exception):  # noqa: N818 - names the state, as in "raise InvalidSet"
    """A set that must not be imported.

    Attributes:
        problems: Everything that is wrong, in the order of the files.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class Scoring(msgspec.Struct, frozen=True, kw_only=True):
    """Definitions that a set's measures follow.

    Attributes:
        gain: nDCG's gain of a grade: ``exponential`` is ``2**grade - 1``, ``linear`` the grade itself.
        k: Depth of the measures; 0: each case's own limit.
    """

    gain: Gain = "exponential"
    k: int = 0


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One judged reference on one axis.

    Attributes:
        role: ``required`` and ``acceptable`` are relevant; ``partial`` counts in nDCG alone; ``bad`` must not come.
        grade: At least 1 for all but ``bad``.
    """

    ref: Ref
    role: Role
    grade: int = 1


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Documents, questions and judgements.

    Attributes:
        form: ``seed``, ``beir`` or ``graded``.
        hash: Of the files, as ``sha256:<hex>``.
        judgements: Case id to axis to judged references.
        suite: Case id to weight and extra slices.
        manifest: What ``seed_manifest.json`` of a run records.
    """

    name: str
    form: str
    hash: str
    documents: tuple[Document, ...]
    cases: tuple[Case, ...]
    judgements: Mapping[str, Mapping[Axis, tuple[Judged, ...]]]
    scoring: Scoring
    manifest: Mapping[str, Any]
    suite: Mapping[str, SuiteEntry]
    dreams: tuple[ExpectedDream, ...] = field(default=())

    @property
    def scopes(self) -> dict[str, list[Document]]:
        """Documents of each profile; a profile that is only asked is empty."""
        found: dict[str, list[Document]] = {case.scope: [] for case in self.cases}
        for document in self.documents:
            found.setdefault(document.scope, []).append(document)
        return found

    def slices_of(self, case: Case) -> tuple[str, ...]:
        """Slices of a case: its own and the suite's, each once."""
        entry = self.suite.get(case.case_id)
        return tuple(dict.fromkeys([*case.slices, *(entry.slices if entry else [])]))

    def weight_of(self, case: Case) -> float:
        """Weight of a case in every mean."""
        entry = self.suite.get(case.case_id)
        return entry.weight if entry else 1.0


def judged_of(qrel: Qrel) -> dict[Axis, tuple[Judged, ...]]:
    """A seed's judgements by axis.

    The context axis shares the ranked axis's references. A grade of 0 or less counts as 1 (Dense-Mem's scorer).
    """
    main = _roles(qrel.required_refs, qrel.acceptable_refs, qrel.bad_refs)
    return {
        "ranked": main,
        "context": main,
        "evidence": _roles(qrel.required_evidence_refs, [], qrel.bad_evidence_refs),
        "dream": _roles(qrel.required_dream_refs, qrel.acceptable_dream_refs, qrel.bad_dream_refs),
    }


def _roles(required: Sequence[Ref], acceptable: Sequence[Ref], bad: Sequence[Ref]) -> tuple[Judged, ...]:
    named: list[tuple[Role, Sequence[Ref]]] = [
        ("required", required),
        ("acceptable", acceptable),
        ("bad", bad),
    ]
    return tuple(Judged(ref=ref, role=role, grade=max(1, ref.grade)) for role, refs in named for ref in refs)


def graded(grades: Mapping[str, int], *, relevant_from: int) -> dict[Axis, tuple[Judged, ...]]:
    """Judgements of documents by grade: required from ``relevant_from`` up, partial below, nothing at 0."""
    judged = tuple(
        Judged(
            ref=Ref(type="fragment", source_doc_id=document, grade=grade),
            role="required" if grade >= relevant_from else "partial",
            grade=grade,
        )
        for document, grade in grades.items()
        if grade > 0
    )
    return {"ranked": judged, "context": judged, "evidence": (), "dream": ()}

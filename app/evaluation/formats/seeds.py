"""Seed directories: manifest, corpus, cases, judgements and what goes with them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec

from app.evaluation.formats.judged import InvalidSet, JudgedSet, Scoring, judged_of
from app.evaluation.formats.reading import Reader, hash_files
from app.evaluation.formats.rows import (
    Answer,
    Case,
    Document,
    ExpectedDream,
    HardNegative,
    Manifest,
    Qrel,
    Ref,
    SuiteEntry,
    Transform,
)

MANIFEST: Final = "seed_manifest.json"
NO_ANSWER: Final = "no_answer"
ADVERSARIAL: Final = "adversarial"
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class _Table(Generic[_Row]):
    """Rows of one file: with their lines, and by key."""

    file: str
    lines: list[tuple[int, _Row]]
    by: dict[str, _Row]


def seed_files(manifest: Manifest) -> list[str]:
    """Files of a seed in the order in which its hash reads them, without those that the manifest does not name."""
    named = [
        MANIFEST,
        manifest.corpus_file,
        manifest.cases_file,
        manifest.qrels_file,
        manifest.answers_file,
        manifest.hard_negatives_file,
        manifest.transforms_file,
        manifest.expected_dreams_file,
        manifest.licenses_file,
    ]
    return [file for file in named if file]


def load_seed(folder: Path, suite: Path | None = None) -> JudgedSet:
    """Read and check a seed directory.

    Args:
        folder: Holds ``seed_manifest.json``.
        suite: JSONL file of ``SuiteEntry``: the cases to ask, their weights and extra slices; all, alike, if None.

    Raises:
        InvalidSet: with everything that is wrong.
    """
    reader = Reader(folder)
    manifest = reader.value(MANIFEST, Manifest)
    if manifest is None:
        raise InvalidSet(reader.problems)
    seed = _Seed(reader, manifest)
    entries = _suite(seed, suite)
    if reader.problems:
        raise InvalidSet(reader.problems)
    return JudgedSet(
        name=manifest.seed_id,
        form="seed",
        hash=hash_files(folder, seed_files(manifest)),
        documents=tuple(seed.documents.by.values()),
        cases=tuple(case for case in seed.cases.by.values() if not entries or case.case_id in entries),
        judgements={name: judged_of(qrel) for name, qrel in seed.qrels.by.items()},
        scoring=Scoring(),
        manifest=msgspec.to_builtins(manifest),
        suite=entries,
        dreams=tuple(seed.dreams.by.values()),
    )


class _Seed:
    """The rows of one seed, checked against each other."""

    def __init__(self, reader: Reader, manifest: Manifest) -> None:
        self.reader, self.manifest = reader, manifest
        self.counted: dict[str, int] = {}
        self.documents = self._table("corpus", Document, lambda row: row.source_doc_id, "document")
        self.cases = self._table("cases", Case, lambda row: row.case_id, "case")
        self.qrels = self._table("qrels", Qrel, lambda row: row.case_id, "judgement of case")
        self.dreams = self._table("expected_dreams", ExpectedDream, lambda row: row.source_doc_id, "dream")
        self._check_documents()
        self._check_cases()
        self._check_qrels()
        self._check_dreams()
        self._check_companions()
        self._check_counts()
        if manifest.licenses_file:
            reader.bytes_of(manifest.licenses_file)

    def _table(
        self, part: str, kind: type[_Row], key: Callable[[_Row], str] | None, what: str
    ) -> _Table[_Row]:
        file: str | None = getattr(self.manifest, f"{part}_file")
        if file is None:
            return _Table(part, [], {})
        before = len(self.reader.problems)
        rows = self.reader.rows(file, kind)
        # A row that cannot be read is one problem, and is there all the same.
        unread = self.reader.problems[before:]
        if any(problem.line == 0 for problem in unread):
            return _Table(file, [], {})
        self.counted[part] = len(rows) + len(unread)
        if not self.counted[part]:
            self.reader.say(file, 0, "holds no rows")
        return _Table(file, rows, self.reader.unique(file, rows, key, what) if key else {})

    def _check_documents(self) -> None:
        for line, row in self.documents.lines:
            for start, end in ((row.valid_from, row.valid_to), (row.recorded_at, row.recorded_to)):
                if start is not None and end is not None and end <= start:
                    self.reader.say(self.documents.file, line, "a time span ends before it begins")

    def _check_cases(self) -> None:
        scopes = {row.scope for _, row in self.documents.lines}
        for line, row in self.cases.lines:
            self.reader.known(self.cases.file, line, row.exclude, self.documents.by, "document")
            if row.scope not in scopes:
                self.reader.say(self.cases.file, line, f"no document has the scope {row.scope!r}")
            if row.case_id not in self.qrels.by:
                self.reader.say(self.cases.file, line, f"case {row.case_id!r} has no judgement")

    def _check_qrels(self) -> None:
        for line, row in self.qrels.lines:
            file, case = self.qrels.file, self.cases.by.get(row.case_id)
            if case is None:
                self.reader.say(file, line, f"there is no case {row.case_id!r}")
            required = [*row.required_refs, *row.required_evidence_refs, *row.required_dream_refs]
            bad = [*row.bad_refs, *row.bad_evidence_refs, *row.bad_dream_refs]
            for ref in [*required, *row.acceptable_refs, *row.acceptable_dream_refs, *bad]:
                self._check_ref(file, line, ref)
            for ref in required:
                self._check_can_be(file, line, ref)
            _check_contradictions(self.reader, file, line, row)
            if case is None:
                continue
            if not required and case.task_type != NO_ANSWER:
                self.reader.say(
                    file, line, f"requires nothing, and the case's task_type is not {NO_ANSWER!r}"
                )
            if required and case.task_type == NO_ANSWER:
                self.reader.say(file, line, f"requires something, and the case's task_type is {NO_ANSWER!r}")
            if ADVERSARIAL in case.slices and not bad:
                self.reader.say(file, line, "an adversarial case needs bad refs")

    def _check_ref(self, file: str, line: int, ref: Ref) -> None:
        if (ref.id is None) == (ref.source_doc_id is None):
            self.reader.say(file, line, f"a {ref.type} ref names either id or source_doc_id")
        elif ref.source_doc_id is not None:
            known = self.dreams.by if ref.type == "dream" else self.documents.by
            self.reader.known(
                file, line, [ref.source_doc_id], known, "dream" if ref.type == "dream" else "document"
            )

    def _check_can_be(self, file: str, line: int, ref: Ref) -> None:
        """What is required must be able to come: a claim of a document with claims, a fact of a promoted one."""
        document = self.documents.by.get(ref.source_doc_id or "")
        if document is None or ref.type not in ("claim", "fact"):
            return
        if not document.claims:
            self.reader.say(
                file, line, f"requires a {ref.type} of {ref.source_doc_id!r}, which has no claims"
            )
        elif ref.type == "fact" and not document.auto_promote:
            self.reader.say(file, line, f"requires a fact of {ref.source_doc_id!r}, which is not promoted")

    def _check_dreams(self) -> None:
        for line, row in self.dreams.lines:
            for ref in row.source_refs:
                self._check_ref(self.dreams.file, line, ref)
            if row.case_id:
                self.reader.known(self.dreams.file, line, [row.case_id], self.cases.by, "case")

    def _check_companions(self) -> None:
        answers = self._table("answers", Answer, lambda row: row.case_id, "answer of case")
        negatives = self._table("hard_negatives", HardNegative, None, "hard negative")
        transforms = self._table("transforms", Transform, None, "transform")
        for line, answer in answers.lines:
            self.reader.known(answers.file, line, [answer.case_id], self.cases.by, "case")
        for line, negative in negatives.lines:
            self.reader.known(negatives.file, line, [negative.case_id], self.cases.by, "case")
            self.reader.known(negatives.file, line, [negative.source_doc_id], self.documents.by, "document")
        for line, transform in transforms.lines:
            self.reader.known(transforms.file, line, [transform.case_id], self.cases.by, "case")
            wanted = [transform.required_doc_id] if transform.required_doc_id else []
            self.reader.known(transforms.file, line, wanted, self.documents.by, "document")

    def _check_counts(self) -> None:
        for part, wanted in self.manifest.counts.items():
            # Other counts, such as docs_per_case, describe the seed and are nobody's rows.
            found = self.counted.get(part)
            if found is not None and found != wanted:
                file = getattr(self.manifest, f"{part}_file")
                self.reader.say(MANIFEST, 1, f"counts.{part} is {wanted}, {file} holds {found}")


def _check_contradictions(reader: Reader, file: str, line: int, row: Qrel) -> None:
    def keys(refs: list[Ref]) -> set[tuple[str, str | None]]:
        return {(ref.type, ref.source_doc_id or ref.id) for ref in refs}

    both = keys([*row.required_refs, *row.acceptable_refs]) & keys(row.bad_refs)
    for kind, name in sorted(both, key=str):
        reader.say(file, line, f"the {kind} {name!r} is relevant and bad at once")


def _suite(seed: _Seed, suite: Path | None) -> dict[str, SuiteEntry]:
    if suite is None:
        return {}
    reader = Reader(suite.parent)
    rows = reader.rows(suite.name, SuiteEntry)
    entries = reader.unique(suite.name, rows, lambda row: row.case_id, "case")
    for line, row in rows:
        reader.known(suite.name, line, [row.case_id], seed.cases.by, "case")
        if row.case_id in seed.cases.by:
            reader.known(suite.name, line, [row.case_id], seed.qrels.by, "judgement of case")
    if not rows and not reader.problems:
        reader.say(suite.name, 0, "holds no rows")
    seed.reader.problems += reader.problems
    return entries

"""The worst cases of a run, with what the explanation says of them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.evaluation.scorer import CaseScore
from app.evaluation.traces import Trace, texts_of

MOST: Final = 5
_SHOWN: Final = 6
_TEXT: Final = 220


@dataclass(frozen=True, slots=True)
class Shown:
    """One place of a list, or a judged item that is not on it.

    Attributes:
        mark: ``required``, ``acceptable``, ``bad`` or nothing.
    """

    place: str
    mark: str
    document: str
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class WorstCase:
    """A case told for people."""

    case_id: str
    query: str
    told: str
    slices: list[str]
    words: str
    items: list[Shown]


def worst_cases(
    scores: Sequence[CaseScore], traces: Mapping[str, Trace], roles: Mapping[str, Mapping[str, str]]
) -> list[WorstCase]:
    """The cases with the lowest nDCG that miss something, then those with the most bad places.

    Args:
        scores: Of the run.
        traces: By case.
        roles: Case id to document to role.
    """
    ordered = sorted(scores, key=_badness)
    return [
        _told(score, traces[score.case_id], roles.get(score.case_id, {}))
        for score in ordered[:MOST]
        if _badness(score)[0] < 1 or score.axes["ranked"]["strict"].bad_at_k
    ]


def _badness(score: CaseScore) -> tuple[float, int, str]:
    found = score.axes["ranked"]["strict"]
    return (1.0 if found.ndcg_at_k is None else found.ndcg_at_k, -found.bad_at_k, score.case_id)


def _told(score: CaseScore, trace: Trace, roles: Mapping[str, str]) -> WorstCase:
    found = score.axes["ranked"]["strict"]
    rank = found.first_required_rank
    parts = [
        "no answer was asked for"
        if not score.answerable
        else f"first required at {rank}"
        if rank
        else "required item missing"
    ]
    if found.ndcg_at_k is not None:
        parts.append(f"nDCG {found.ndcg_at_k:.3f}")
    if found.bad_at_k:
        parts.append(f"{found.bad_at_k} bad of {found.k}")
    explain = trace.raw.get("explain") or {}
    candidates = {one["id"]: one for one in explain.get("candidates", [])}
    texts = texts_of(trace)
    items = []
    shown: set[str] = set()
    for ref in trace.ranked_refs[:_SHOWN]:
        documents = ref.source_doc_ids or [ref.id]
        shown |= set(documents)
        mark = next((roles[name] for name in documents if name in roles), "")
        items.append(
            Shown(
                str(ref.rank),
                mark,
                " ".join(documents),
                _cut(texts.get(ref.id, "")),
                _why(candidates.get(ref.id)),
            )
        )
    missing = [name for name, role in roles.items() if role == "required" and name not in shown]
    items += [Shown(NOT_SHOWN, "required", name, "", "not among the first results") for name in missing[:3]]
    return WorstCase(score.case_id, _cut(trace.query), ", ".join(parts), score.slices, _words(explain), items)


NOT_SHOWN: Final = "–"


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _why(candidate: Mapping[str, Any] | None) -> str:
    """How a candidate came to its place."""
    if candidate is None:
        return ""
    parts = []
    for branch in ("semantic", "keyword"):
        rank = candidate.get(f"{branch}_rank")
        score = candidate.get(f"{branch}_score")
        evidence = candidate.get(f"{branch}_evidence")
        said = f"{branch} rank {rank}" if rank else f"not in the {branch} branch"
        if score is not None:
            said += f" (score {score:.3f}" + ("" if evidence is None else f", {evidence:.2f} nats") + ")"
        parts.append(said)
    if candidate.get("coverage") is not None:
        parts.append(f"covers {candidate['coverage']:.0%} of the question")
    parts.append(f"final {candidate['final_score']:.4f}")
    return "; ".join(parts)


def _words(explain: Mapping[str, Any]) -> str:
    """What the keyword branch searched for."""
    terms = (explain.get("keyword") or {}).get("terms", [])
    return ", ".join(f"{term['term']} (in {term['memories']})" for term in terms[:12])

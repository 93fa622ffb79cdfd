"""From a recall's answer to a context: the request behind it, and its hits as entries of the block."""

from app.memory.schemas import FragmentView
from app.recall import context
from app.recall.context import Entry, cut
from app.recall.schemas import ContextInput, ContextItem, ContextResult, Hit, RecallInput, RecallResult

_DEFAULT_LIMIT = 5


def request_of(data: ContextInput) -> RecallInput:
    """The recall that a context is made of."""
    return RecallInput(
        query=data.query,
        limit=data.limit or _DEFAULT_LIMIT,
        valid_at=data.valid_at,
        known_at=data.known_at,
        policy=data.policy,
        include_evidence=data.include_evidence,
        abstain=data.abstain,
    )


def assembled(data: ContextInput, found: RecallResult) -> ContextResult:
    """The context of a recall's hits, in their order; items that did not fit are left out."""
    block = context.assemble(data.query, [_entry(hit) for hit in found.results], data.max_chars)
    return ContextResult(
        query=data.query,
        context_block=block.text,
        items=[_item(hit) for hit in found.results[: block.entries]],
        policy=found.policy,
        clarifications=found.clarifications,
        related_dreams=found.related_dreams,
        unmatched_anchors=found.unmatched_anchors,
        abstained=found.abstained,
        degraded=found.degraded,
        truncated=block.truncated,
    )


def _entry(hit: Hit) -> Entry:
    statement = hit.fact or hit.claim
    if statement is not None:
        said = (
            cut(statement.subject, context.SUBJECT),
            cut(statement.predicate.replace("_", " "), context.PREDICATE),
            "not" if statement.polarity == "-" else "",
            cut(statement.object, context.OBJECT),
        )
        sources = tuple(
            (_label("fragment", view), cut(view.content, context.EVIDENCE)) for view in hit.evidence_fragments
        )
        return Entry(
            f"{hit.kind}, recorded {statement.recorded_at:%Y-%m-%d}", " ".join(filter(None, said)), sources
        )
    if hit.fragment is None:
        raise AssertionError("a hit carries the memory of its kind")
    return Entry(_label(hit.kind, hit.fragment), cut(hit.fragment.content, context.FRAGMENT))


def _label(kind: str, view: FragmentView) -> str:
    told = [kind, view.source, f"recorded {view.recorded_at:%Y-%m-%d}"]
    return ", ".join(cut(part, 80) for part in told if part)


def _item(hit: Hit) -> ContextItem:
    return ContextItem(
        type=hit.kind,
        id=hit.id,
        score=hit.score,
        fragment=hit.fragment,
        fact=hit.fact,
        claim=hit.claim,
        evidence_fragments=hit.evidence_fragments,
    )

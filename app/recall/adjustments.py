"""Query-aware adjustments of fused scores, as documented. Pure functions over texts.

Dense-Mem's rules of July 2026, number for number, in this order: identifier, currentness, selection, authority; each
of the last three floors the score at 0. Where the page leaves a question open, this reads it so: strong and weak stale
wording add up; a clamp bounds the wording of its row, so that dates and expiry come on top of currentness; "times"
are the fragment's ``recorded_at``. "Matching" is a fragment whose content holds every legacy identifier of the query.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final
from uuid import UUID

from app.recall import anchors, dates
from app.recall.cues import PhraseCues, QueryIntent, padded

ANCHOR_BONUS: Final = 0.004
_DAY: Final = timedelta(days=1)
_NEAR: Final = timedelta(hours=72)
_FAR: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Passage:
    """What the rules read of a fragment.

    Attributes:
        content: its text.
        recall_text: content, source, labels and metadata, as far as the rules may see them.
        time: when it was recorded.
        authority: the authority that it was stored with.
        valid_from: since when it holds, where that was told.
    """

    id: UUID
    content: str
    recall_text: str
    time: datetime
    authority: str = "unknown"
    valid_from: datetime | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """One adjustment of one fragment: which rule, by how much, and what fired it."""

    rule: str
    amount: float
    cue: str


@dataclass(slots=True)
class Adjusted:
    """A fragment's score after the rules, and why."""

    score: float
    notes: list[Note] = field(default_factory=list)

    def add(self, rule: str, amount: float, cue: str) -> None:
        """Apply an amount and remember it; nothing is remembered of 0."""
        if amount:
            self.score += amount
            self.notes.append(Note(rule, amount, cue))

    def floor(self) -> None:
        """No score below 0."""
        self.score = max(0.0, self.score)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all candidates of one recall share."""

    query: str
    cues: PhraseCues
    anchors: tuple[str, ...]
    matching: frozenset[UUID]
    days: dict[UUID, date]
    newest_day: date | None
    newest_time: datetime
    timed: bool
    as_of: date
    decided: frozenset[UUID]
    texts: dict[UUID, str]


def documented(
    query: str,
    intent: QueryIntent,
    cues: PhraseCues,
    passages: Sequence[Passage],
    scores: Sequence[float],
    *,
    now: datetime,
) -> list[Adjusted]:
    """Adjust the scores of a recall's fragments, aligned with ``passages``."""
    adjusted = [Adjusted(score) for score in scores]
    if not passages:
        return adjusted
    frame = _frame(query, cues, passages, now)
    for passage, result in zip(passages, adjusted, strict=True):
        _identify(frame, passage, result)
        if intent.currentness:
            _currentness(frame, passage, result)
            result.floor()
        if intent.selection:
            _selection(frame, passage, result)
            result.floor()
        if intent.authority:
            _authority(frame, passage, result)
            result.floor()
    return adjusted


def _frame(query: str, cues: PhraseCues, passages: Sequence[Passage], now: datetime) -> _Frame:
    legacy = anchors.legacy(query)
    matching = frozenset(p.id for p in passages if anchors.legacy_match(legacy, p.content))
    texts = {p.id: padded(p.content) for p in passages}
    dated = {p.id: dates.newest_content_date(p.content, p.time) for p in passages}
    days = {ref: day for ref, day in dated.items() if day is not None}
    matching_days = [day for ref, day in days.items() if ref in matching]
    times = [p.time for p in passages if p.id in matching] or [p.time for p in passages]
    asked = dates.newest_content_date(query, now)
    newest_day = max(matching_days, default=None)
    return _Frame(
        query=padded(query),
        cues=cues,
        anchors=anchors.ranking(query),
        matching=matching,
        days=days,
        newest_day=newest_day,
        newest_time=max(times),
        timed=newest_day is None and max(times) - min(times) >= _DAY,
        as_of=asked or newest_day or max(times).astimezone(UTC).date(),
        decided=frozenset(ref for ref in matching if cues.find(texts[ref], "directive")),
        texts=texts,
    )


def _identify(frame: _Frame, passage: Passage, result: Adjusted) -> None:
    if not frame.anchors:
        return
    text = anchors.AnchorText(passage.recall_text)
    for anchor in frame.anchors:
        if text.holds(anchor):
            result.add("identifier", ANCHOR_BONUS, anchor)


def _clamped(result: Adjusted, rule: str, amounts: list[tuple[float, str]], bound: float) -> None:
    """Add amounts whose sum stays within ``bound`` either way; the clamp is a note of its own."""
    total = sum(amount for amount, _ in amounts)
    for amount, cue in amounts:
        result.add(rule, amount, cue)
    result.add(rule, max(-bound, min(bound, total)) - total, "clamp")


def _currentness(frame: _Frame, passage: Passage, result: Adjusted) -> None:
    text = frame.texts[passage.id]
    current = frame.cues.find(text, "current")
    strong = frame.cues.find(text, "stale_strong")
    weak = frame.cues.find(text, "stale_weak")
    amounts: list[tuple[float, str]] = []
    overshadowed = frame.newest_day is not None and passage.id not in frame.days
    if current and passage.id in frame.matching and not overshadowed:
        amounts.append((0.024, current))
    if strong:
        amounts.append((-0.006 if current else -0.024, strong))
    if weak:
        amounts.append((-0.012, weak))
    _clamped(result, "currentness", amounts, 0.028)
    if frame.newest_day is not None:
        _dated(frame, passage, result)
    elif frame.timed:
        result.add("currentness", _timed(frame.newest_time - passage.time), "recorded time")
    end = dates.first_validity_end(passage.content, passage.time)
    if end is not None and frame.as_of > end:
        result.add("currentness", -0.04, f"expired {end.isoformat()}")


def _dated(frame: _Frame, passage: Passage, result: Adjusted) -> None:
    day = frame.days.get(passage.id)
    if day is None or frame.newest_day is None:
        result.add("currentness", -0.006, "no date")
        return
    age = frame.newest_day - day
    if age <= timedelta(0):
        amount = 0.028
    elif age < _NEAR:
        amount = 0.014
    elif age < _FAR:
        amount = -0.018
    else:
        amount = -0.026
    result.add("currentness", amount, f"dated {day.isoformat()}")


def _timed(age: timedelta) -> float:
    if age <= timedelta(0):
        return 0.014
    if age < _NEAR:
        return 0.007
    return -0.010 if age < _FAR else -0.014


def _selection(frame: _Frame, passage: Passage, result: Adjusted) -> None:
    text = frame.texts[passage.id]
    find = frame.cues.find
    directive = find(text, "directive")
    amounts: list[tuple[float, str]] = []
    if passage.id in frame.matching:
        if directive:
            amounts.append((0.022, directive))
        if policy := find(text, "policy"):
            amounts.append((0.004, policy))
    if directive and (condition := frame.cues.shared_condition(frame.query, text)):
        amounts.append((0.006, condition))
    if disqualified := find(text, "disqualified"):
        amounts.append((-0.022, disqualified))
    if historical := find(text, "historical"):
        amounts.append((-0.012, historical))
    if find(text, "before") and find(text, "used") and frame.decided - {passage.id}:
        amounts.append((-0.034, "before, used"))
    _clamped(result, "selection", amounts, 0.026)


def _authority(frame: _Frame, passage: Passage, result: Adjusted) -> None:
    text = frame.texts[passage.id]
    find = frame.cues.find
    amounts: list[tuple[float, str]] = []
    if passage.id in frame.matching:
        if authoritative := find(text, "authoritative"):
            amounts.append((0.026, authoritative))
        if required := find(text, "required"):
            amounts.append((0.006, required))
    if informal := find(text, "informal_strong"):
        amounts.append((-0.028, informal))
    if loose := find(text, "informal_weak"):
        amounts.append((-0.018, loose))
    _clamped(result, "authority", amounts, 0.034)

"""Adjustments of ``strata-v1``: what memories say of themselves, in proportion to what they say on the topic.

Pure functions. The documented adjustments add fixed amounts, up to fifty times the distance of two ranks, so an off-topic
note that calls itself current can pass an on-topic one. Here a fragment is *on topic* when its fused score reaches
``band`` of the best one, and only what lies above that level is scaled:

``adjusted = level + (score - level) * (1 + strength * stance)``, ``level = band * best``, ``stance`` in -1 to 1.

A fragment below the band is on topic too when it speaks of the same as one within, in other words than the question's
cues ("the owner was Bob" beside "the current owner is Eve"): it shares half of the words, and every word of the question
that the other holds; it then counts from half of the other's evidence.

So a fragment off topic keeps its score and never passes one on topic, and the adjustment grows with the evidence.
The stance comes from the clause-aware cues, from the dates that the on-topic fragments tell or were stored with, and
from the authority that they were stored with. Where a question has an intent and some on-topic fragment speaks for
itself, those that speak plainly against themselves ("was superseded", "unapproved") are refuted and leave the list.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from app.lexical.fingerprint import content_words
from app.recall import dates
from app.recall.adjustments import Adjusted, Note, Passage
from app.recall.cues import ClauseCues, QueryIntent, Reading

_DAY: Final = timedelta(days=1)
_NEAR: Final = timedelta(hours=72)
_SHARED_TERMS: Final = 2
_STORED_AUTHORITY: Final = {"authoritative": 0.6, "primary": 0.2, "inferred": -0.4}
_PERIOD: Final = re.compile(
    r"\b(?:as of|(?:in|during|by|of)\s+(?P<part>early|mid|late))[\s-]+(?P<year>(?:19|20)\d{2})\b",
    re.IGNORECASE,
)
_PART_ENDS: Final = {"early": (4, 30), "mid": (8, 31), "late": (12, 31)}


@dataclass(frozen=True, slots=True)
class Scaling:
    """Weights.

    Attributes:
        band: share of the best score from which a fragment is on topic.
        strength: how far a stance of 1 stretches the evidence above the band, below 1.
        wording: part of the stance that the words give for currentness.
        change: added for a memory that tells of a change.
        dated: added for the newest date, and taken for an older one.
        undated: part of a bonus for wording that is left to an undated memory where others are dated.
        refuted: stance at which a fragment is refuted ...
        affirmed: ... when another one on topic has this stance.
        statement: characters of a memory that says something of itself; a longer one is a text of many things.
    """

    band: float = 0.5
    strength: float = 0.8
    wording: float = 0.8
    change: float = 0.3
    dated: float = 0.5
    undated: float = 0.25
    refuted: float = -0.6
    affirmed: float = 0.2
    statement: int = 1_000


@dataclass(frozen=True, slots=True)
class Frame:
    """How one on-topic fragment stands in time among those that are about the same thing.

    Attributes:
        day: the date that it tells or was stored with, if any.
        newest: the newest of its relatives' dates that is not after ``as_of``; ``None`` when it stands alone.
        as_of: the day that the question asks about.
        asked: whether the question names that day; else it is today.
    """

    day: date | None
    newest: date | None
    as_of: date
    asked: bool


def asked_day(query: str, now: datetime) -> date | None:
    """The day that a question names: a date, or the end of a period ("in early 2026")."""
    written = dates.newest_content_date(query, now)
    if written is not None:
        return written
    period = _PERIOD.search(query)
    if period is None:
        return None
    month, day = _PART_ENDS[(period["part"] or "late").lower()]
    return date(int(period["year"]), month, day)


def adjust(
    query: str,
    intent: QueryIntent,
    cues: ClauseCues,
    passages: Sequence[Passage],
    scores: Sequence[float],
    *,
    now: datetime,
    scaling: Scaling,
    anchored: bool = False,
) -> tuple[list[Adjusted], list[bool]]:
    """Adjusted scores and whether each fragment is refuted, aligned with ``passages``; scores at least 0."""
    adjusted = [Adjusted(score) for score in scores]
    refuted = [False] * len(passages)
    best = max(scores, default=0.0)
    level = scaling.band * best
    evidence = _on_topic(query, passages, scores, level) if best > 0 else {}
    places = list(evidence)
    frames = _frames(query, [passages[place] for place in places], now)
    stances: dict[int, float] = {}
    for frame, place in zip(frames, places, strict=True):
        # A long text says "before" or "now" of many things, and seldom of itself.
        content = passages[place].content
        speaks = len(content) <= scaling.statement
        notes = _stance(intent, cues.read(content), passages[place], frame, scaling) if speaks else []
        if anchored:
            provisional = cues.is_provisional(content)
            notes.append(
                Note("draft", -1.0, "a draft") if provisional else Note("draft", scaling.affirmed, "no draft")
            )
        stance = _clamp(sum(note.amount for note in notes))
        stances[place] = stance
        above = evidence[place] - level
        if evidence[place] > scores[place]:
            adjusted[place].add(
                "topic", evidence[place] - scores[place], "speaks of the same as a better match"
            )
        adjusted[place].score += above * scaling.strength * stance
        adjusted[place].notes += notes
    if any(stance >= scaling.affirmed for stance in stances.values()):
        for place, stance in stances.items():
            refuted[place] = stance <= scaling.refuted
    return adjusted, refuted


def _on_topic(
    query: str, passages: Sequence[Passage], scores: Sequence[float], level: float
) -> dict[int, float]:
    """The fragments on topic, by place, with the evidence that each counts from."""
    within = [place for place, score in enumerate(scores) if score >= level]
    asked = content_words(query)
    stems = [content_words(passage.content) for passage in passages]
    evidence = {place: scores[place] for place in within}
    for place, own in enumerate(stems):
        inherited = [
            level + (scores[other] - level) / 2
            for other in within
            if place not in evidence and _speaks_of_the_same(asked, own, stems[other])
        ]
        if inherited:
            evidence[place] = max(inherited)
    return dict(sorted(evidence.items()))


def _speaks_of_the_same(asked: frozenset[int], own: frozenset[int], other: frozenset[int]) -> bool:
    held = asked & other
    return len(held) >= _SHARED_TERMS and held <= own and _related(own, other)


def _frames(query: str, passages: Sequence[Passage], now: datetime) -> list[Frame]:
    asked = asked_day(query, now)
    as_of = asked or now.astimezone(UTC).date()
    stored = [passage.valid_from or passage.time for passage in passages]
    spread = bool(stored) and max(stored) - min(stored) >= _DAY
    days = [
        dates.newest_content_date(passage.content, passage.time)
        or (time.astimezone(UTC).date() if spread else None)
        for passage, time in zip(passages, stored, strict=True)
    ]
    stems = [content_words(passage.content) for passage in passages]
    frames = []
    for own, day in zip(stems, days, strict=True):
        relatives = [other for other, theirs in zip(days, stems, strict=True) if _related(own, theirs)]
        known = [other for other in relatives if other is not None and other <= as_of]
        frames.append(
            Frame(day, max(known, default=None) if len(relatives) > 1 else None, as_of, asked is not None)
        )
    return frames


def _related(first: frozenset[int], second: frozenset[int]) -> bool:
    """Whether two fragments share half of the words of the shorter one."""
    return len(first & second) * 2 >= min(len(first), len(second)) > 0 or first is second


def _stance(
    intent: QueryIntent, reading: Reading, passage: Passage, frame: Frame, scaling: Scaling
) -> list[Note]:
    """What speaks for a fragment and against it, by rule."""
    notes: list[Note] = []
    if intent.currentness or intent.past:
        notes += _currentness(intent, reading, passage, frame, scaling)
    if intent.selection:
        cue = _cue(reading, ("directive", "disqualified", "hedge"))
        notes.append(Note("selection", _clamp(reading.selection), cue))
    if intent.authority:
        stored = _STORED_AUTHORITY.get(passage.authority, 0.0)
        cue = _cue(reading, ("authoritative", "informal", "hedge"))
        notes += [
            Note("authority", _clamp(reading.authority), cue),
            Note("authority", stored, f"stored as {passage.authority}"),
        ]
    return [note for note in notes if note.amount]


def _currentness(
    intent: QueryIntent, reading: Reading, passage: Passage, frame: Frame, scaling: Scaling
) -> list[Note]:
    day = frame.day
    if day is not None and day > frame.as_of and frame.newest is not None:
        return [Note("dates", -1.0, f"dated {day.isoformat()}, after {frame.as_of.isoformat()}")]
    wording = scaling.wording * _clamp(reading.currentness)
    if wording > 0 and day is None and frame.newest is not None:
        wording *= scaling.undated
    cue = _cue(reading, ("current", "not current", "stale", "ended", "hedge"))
    notes = [Note("currentness", wording, cue)]
    if reading.change:
        notes.append(Note("revision", scaling.change, _cue(reading, ("change",))))
    if day is not None and frame.newest is not None:
        notes.append(Note("dates", _dated(frame.newest - day) * scaling.dated, f"dated {day.isoformat()}"))
    end = dates.first_validity_end(passage.content, passage.time)
    if end is not None and frame.as_of > end:
        notes.append(Note("expiry", -1.0, f"expired {end.isoformat()}"))
    if intent.past and not frame.asked:
        # Asked for the state before, what holds now is the wrong answer and what is over the right one.
        return [Note(note.rule, -note.amount, f"asked for the past; {note.cue}") for note in notes]
    return notes


def _dated(age: timedelta) -> float:
    """1 for the newest, 0 for one hardly older, -1 for an older one."""
    if age <= timedelta(0):
        return 1.0
    return 0.0 if age < _NEAR else -1.0


def _clamp(value: float) -> float:
    return max(-1.0, min(1.0, value))


def _cue(reading: Reading, rules: tuple[str, ...]) -> str:
    """The cues of some rules, for people."""
    return "; ".join(cue for cue in reading.cues if any(rule in cue.partition(":")[0] for rule in rules))

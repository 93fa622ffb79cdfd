"""Memories that yield their slot to a better one on the same subject (``strata-v1``). Pure functions.

Two short memories are *siblings* when they speak of the same: they share enough of their words. One yields to the other,
its *rival*, and is told under it with the reason, when

- ``corrected``: the rival takes up what it says and corrects or denies it ("that was wrong", "no longer", "must not");
- ``authority``: it is hearsay or was stored as inferred, and the rival was stored with more authority;
- ``hearsay``: it is quoted, told by someone, a rumour or a proposal, and the rival is not;
- ``revised``: the question asks for the present state and the rival is newer; for the state before, the other way round;
- ``another``: the question names something (a customer, a place, a number, a month) that the rival has, and it has
  another one in its stead;
- ``outmatched``: the rival holds all that it holds of the question and more, and scores higher;
- ``beside``: both hold the same of it in their texts, and the rival much more in source, labels and metadata;
- ``unlinked``: it and the rival say the same of two things, and only the rival's is the one that a better match names.

Each rule is relative: it needs a rival among the candidates. A question whose candidates are no siblings keeps them all,
and nothing off topic is lifted. Questions about what was said, for the source, or about a change keep both sides.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from itertools import combinations
from typing import Final, NamedTuple

from app.recall import assertions, dates
from app.recall.adjustments import Passage
from app.recall.assertions import Assertion
from app.recall.cues import ClauseCues, QueryIntent

_RANKS: Final = {"authoritative": 3, "primary": 2, "inferred": 0}
_UNKNOWN: Final = 1
_DAY: Final = 1
_FEW: Final = 2


@dataclass(frozen=True, slots=True)
class SiblingRules:
    """Bounds of the rules; shares are of the shorter one's words unless said otherwise.

    Attributes:
        candidates: how many of the best are compared.
        asked: words of a question; a longer text, a dialogue, holds many by chance, and nothing yields.
        corrected: share of the words of the corrected one that its correction takes up ...
        denied: ... and a denial.
        hearsay: the same for hearsay.
        alike: share from which two are siblings.
        same: share from which one without a word or name of its own is a paraphrase, and yields not.
        parallel: share from which two say the same of two things.
        level: share of its score that a rival must reach ...
        authority: ... and a rival of more authority.
        outscored: share of the rival's score below which it yields although it holds as much of the question.
        beside: share of the question's weight that only the rival's source, labels and metadata hold.
    """

    candidates: int = 12
    asked: int = 14
    corrected: float = 0.4
    denied: float = 0.5
    hearsay: float = 0.4
    alike: float = 0.3
    same: float = 0.6
    parallel: float = 0.5
    level: float = 0.5
    authority: float = 0.25
    outscored: float = 0.35
    beside: float = 0.3


@dataclass(frozen=True, slots=True)
class Yielding:
    """One memory that yields its slot: its place, the place of its rival, the rule, and why, for people."""

    place: int
    rival: int
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class _Side:
    """One of two siblings: what it asserts, what it holds of the question, and where it stands."""

    place: int
    said: Assertion
    held: frozenset[str]
    score: float
    coverage: float
    passage: Passage
    day: date | None
    hearsay: bool
    rank: int
    named: frozenset[str]

    @property
    def written(self) -> date | None:
        """The newest date that its text tells."""
        return dates.newest_content_date(self.passage.content, self.passage.time)


@dataclass(frozen=True, slots=True)
class _Question:
    words: frozenset[str]
    names: frozenset[str]
    intent: QueryIntent
    speech: bool
    today: date
    rules: SiblingRules


class _Pair(NamedTuple):
    """What a rule looks at: who may yield, to whom, what they share, and whether that makes them siblings."""

    own: _Side
    rival: _Side
    shared: frozenset[str]
    alike: float
    siblings: bool

    @property
    def differs(self) -> bool:
        """Whether the two tell of two things: another name or number, or other words in one and the same frame."""
        own, rival = self.own.said, self.rival.said
        if (own.names - rival.words) or (rival.names - own.words):
            return True
        equal = sum(map(str.__eq__, own.sequence, rival.sequence))
        return len(own.sequence) == len(rival.sequence) <= 2 * equal

    @property
    def outdated(self) -> bool:
        """Whether the rival is older by what the texts tell: then it settles nothing."""
        mine = self.own.written
        theirs = None if mine is None else self.rival.written
        return mine is not None and (theirs is None or theirs < mine)

    @property
    def taken_up(self) -> float:
        """Share of what may yield that its rival takes up."""
        return len(self.shared) / len(self.own.said.words)


def yielding(
    query: str,
    intent: QueryIntent,
    cues: ClauseCues,
    passages: Sequence[Passage],
    scores: Sequence[float],
    *,
    coverage: Sequence[float],
    rules: SiblingRules,
    now: datetime,
    anchors: Sequence[str] = (),
) -> list[Yielding]:
    """The memories that yield, in order, each with its rival; no rival yields itself.

    Args:
        query: the question.
        intent: what it asks for.
        cues: of the policy.
        passages: candidates, best first; only the first ``rules.candidates`` are compared.
        scores: their scores, aligned.
        coverage: share of the question's weight that each holds by the index, metadata included.
        rules: bounds.
        now: the time of the recall.
        anchors: identifiers of the question that all of them hold, wherever.
    """
    asked = assertions.read(query, cues)
    if asked is None or len(asked.words) > rules.asked or intent.change or intent.evidence_source:
        return []
    known = [said.words for anchor in anchors if (said := assertions.read(anchor, cues)) is not None]
    question = _Question(
        asked.words.difference(*known),
        (asked.names | asked.openers).difference(*known),
        intent,
        cues.asks_for_speech(query),
        now.astimezone(UTC).date(),
        rules,
    )
    sides = _sides(question, cues, passages[: rules.candidates], scores, coverage)
    pairs = [
        pair
        for first, second in combinations(sides, 2)
        for pair in _pairs(question, first, second)
        # A rival names whatever the question names and the other one does.
        if pair.own.held & question.names <= pair.rival.held
        # A rule and its exception belong together.
        and not pair.rival.said.contrast.excepts
    ]
    found = []
    for pair in pairs:
        for rule in _RULES:
            why = rule(question, pair)
            if why is not None:
                found.append(Yielding(pair.own.place, pair.rival.place, rule.__name__.strip("_"), why))
                break
    found += _unlinked(question, pairs, sides)
    return _settled(found)


def _pairs(question: _Question, first: _Side, second: _Side) -> Sequence[_Pair]:
    """Both ways to look at two memories; none for two that no rule could tell apart, which most are."""
    shared = first.said.words & second.said.words
    few = len(shared) < _FEW
    if not shared or (few and first.rank == second.rank and shared.isdisjoint(first.named)):
        return ()
    alike = len(shared) / min(len(first.said.words), len(second.said.words))
    siblings = not few and alike >= question.rules.alike
    return _Pair(first, second, shared, alike, siblings), _Pair(second, first, shared, alike, siblings)


def _sides(
    question: _Question,
    cues: ClauseCues,
    passages: Sequence[Passage],
    scores: Sequence[float],
    coverage: Sequence[float],
) -> list[_Side]:
    timed = question.intent.currentness or question.intent.past
    stored = [passage.valid_from or passage.time for passage in passages]
    spread = timed and bool(stored) and (max(stored) - min(stored)).days >= _DAY
    sides = []
    for place, passage in enumerate(passages):
        said = assertions.of_memory(passage.content, cues)
        if said is None:
            continue
        if said.contrast.corrects and said.contrast.cue in question.words:
            # "What was wrong?": there, the word corrects nothing.
            said = replace(said, contrast=said.contrast._replace(corrects=False))
        day = dates.newest_content_date(passage.content, passage.time) if timed else None
        if day is None and spread:
            day = stored[place].astimezone(UTC).date()
        sides.append(
            _Side(
                place,
                said,
                said.words & question.words,
                scores[place],
                coverage[place],
                passage,
                day,
                # What corrects hearsay repeats it, and is none.
                hearsay=(said.quoted or said.contrast.reported) and not said.contrast.corrects,
                rank=_RANKS.get(passage.authority, _UNKNOWN),
                named=said.names | said.openers,
            )
        )
    return sides


def _corrected(question: _Question, pair: _Pair) -> str | None:
    own, rival, rules = pair.own, pair.rival, question.rules
    theirs, mine = rival.said.contrast, own.said.contrast
    if not (theirs.corrects or theirs.denies) or question.speech or question.intent.past:
        return None
    if len(pair.shared) < _FEW or pair.taken_up < rules.corrected or pair.outdated:
        return None
    if theirs.corrects and not mine.corrects:
        return f"corrected ({theirs.cue})"
    denied = theirs.denies and not (mine.denies or mine.corrects) and own.held <= rival.held
    # A bare "not" contradicts; only what tells how it is instead settles it.
    if denied and pair.taken_up >= rules.denied and len(rival.said.words - own.said.words) >= _FEW:
        return f"denied ({theirs.cue})"
    return None


def _authority(question: _Question, pair: _Pair) -> str | None:
    own, rival, rules = pair.own, pair.rival, question.rules
    if own.rank >= rival.rank or question.speech:
        return None
    if rival.score < rules.authority * own.score or own.score < rules.authority * rival.score:
        return None
    weak = own.hearsay and rival.passage.authority != "unknown"
    if weak or (own.rank == 0 and len(pair.shared) >= _FEW):
        return f"stored as {own.passage.authority}, beside {rival.passage.authority}"
    return None


def _hearsay(question: _Question, pair: _Pair) -> str | None:
    own, rival = pair.own, pair.rival
    if (
        not own.hearsay
        or question.speech
        or len(pair.shared) < _FEW
        or pair.taken_up < question.rules.hearsay
    ):
        return None
    mine, theirs = own.said.contrast, rival.said.contrast
    sober = not rival.hearsay or ((theirs.corrects or theirs.denies) and not (mine.corrects or mine.denies))
    return "hearsay, and the other is not" if sober and not pair.outdated else None


def _revised(question: _Question, pair: _Pair) -> str | None:
    own, rival, intent = pair.own, pair.rival, question.intent
    if own.day is None or rival.day is None or own.day == rival.day or rival.day > question.today:
        return None
    alike = pair.alike >= question.rules.alike or len(pair.shared & question.words) >= _FEW
    if len(pair.shared) < _FEW or not alike or not own.held <= rival.held:
        return None
    newer = rival.day > own.day
    if (intent.currentness and newer) or (intent.past and not intent.currentness and not newer):
        return f"{own.day.isoformat()}, the other {rival.day.isoformat()}"
    return None


def _another(question: _Question, pair: _Pair) -> str | None:
    own, rival = pair.own, pair.rival
    if len(own.said.words) - len(pair.shared) < _FEW or (rival.hearsay and not own.hearsay):
        # The same is said of another one; or it is not known whether it is so.
        return None
    namesakes = pair.shared & own.named & rival.named
    if not (pair.siblings or namesakes):
        return None
    for word, other in _stand_ins(pair, question.words):
        # "my cousin Robin", "my neighbour Robin": who is meant stands before the name.
        who = rival.said.slots[word][1] in namesakes
        named = word in question.names and other in own.named
        told = named or (own.held <= rival.held and pair.differs)
        level = question.rules.level if named else 1.0
        if (pair.siblings or who) and told and rival.score >= level * own.score:
            return f"has {other}, not {word}"
    if own.held < rival.held and own.score < rival.score:
        for name in sorted(namesakes & question.words & own.said.described & rival.said.described):
            return f"another {name}"
    return None


def _stand_ins(pair: _Pair, wanted: frozenset[str] | None = None) -> Iterator[tuple[str, str]]:
    """Words of the rival in whose stead the other one has another word: beside the same word, before or after it."""
    own, rival = pair.own.said, pair.rival.said
    more = (rival.words - own.words) & rival.slots.keys()
    instead = sorted((own.words - rival.words - (wanted or frozenset())) & own.slots.keys())
    for word in sorted(more if wanted is None else more & wanted):
        before, after = rival.slots[word]
        for other in instead:
            theirs = own.slots[other]
            if (before and before == theirs[0]) or (after and after == theirs[1]):
                yield word, other


def _beside(question: _Question, pair: _Pair) -> str | None:
    own, rival = pair.own, pair.rival
    more = 0 < own.coverage < rival.coverage - question.rules.beside and own.score < rival.score
    if own.held == rival.held and more and _may_outmatch(question, pair):
        return "holds less of the question in source, labels and metadata"
    return None


def _outmatched(question: _Question, pair: _Pair) -> str | None:
    own, rival, rules = pair.own, pair.rival, question.rules
    if not own.held <= rival.held or not _may_outmatch(question, pair):
        return None
    if not pair.differs or _paraphrase(pair, rules) or next(_stand_ins(pair), None) is None:
        return None
    more = rival.held - own.held
    if more and (own.held or pair.alike >= rules.parallel):
        return f"holds less of the question: no {', '.join(sorted(more))}"
    if own.score < rules.outscored * rival.score and own.coverage <= rival.coverage and own.held:
        return "answers far less of the question"
    return None


def _may_outmatch(question: _Question, pair: _Pair) -> bool:
    """Whether the rival is a sibling of enough score; what corrects another does not yield to it, nor to hearsay."""
    own, rival = pair.own, pair.rival
    if not pair.siblings or rival.score < question.rules.level * own.score:
        return False
    corrects = own.said.contrast.corrects and not rival.said.contrast.corrects
    return not corrects and (own.hearsay or not rival.hearsay)


_RULES: Final[tuple[Callable[[_Question, _Pair], str | None], ...]] = (
    _corrected,
    _authority,
    _hearsay,
    _revised,
    _another,
    _beside,
    _outmatched,
)
_ORDER: Final = [rule.__name__.strip("_") for rule in _RULES] + ["unlinked"]


def _paraphrase(pair: _Pair, rules: SiblingRules) -> bool:
    """Whether one says nothing of its own: hardly a word, no number, that the rival has not; or the same of another one."""
    own, rival = pair.own.said, pair.rival.said
    extra = own.words - rival.words
    return pair.alike >= rules.same and len(extra) <= 1 and not extra & (own.names - own.proper)


def _unlinked(question: _Question, pairs: Sequence[_Pair], sides: Sequence[_Side]) -> list[Yielding]:
    """Of two that say the same of two things, the one whose thing no better match names."""
    best = sides[0] if sides else None
    found = []
    for pair in pairs:
        own, rival = pair.own, pair.rival
        if (
            best is None
            or best in (own, rival)
            or pair.alike < question.rules.parallel
            or len(pair.shared) < _FEW
        ):
            continue
        if not own.held <= rival.held or not best.held - rival.held:
            continue
        link = (rival.said.words & best.said.words) - own.said.words - question.words
        other = (own.said.words & best.said.words) - rival.said.words
        if link and not other:
            why = f"no {', '.join(sorted(link))}, which the best match names"
            found.append(Yielding(own.place, rival.place, "unlinked", why))
    return found


def _settled(found: Sequence[Yielding]) -> list[Yielding]:
    """One rival for each, which does not yield itself; of two that yield to each other the stronger rule counts."""
    best: dict[int, Yielding] = {}
    rules = {(one.place, one.rival): _ORDER.index(one.rule) for one in found}
    for one in sorted(found, key=lambda one: (_ORDER.index(one.rule), one.rival)):
        if rules[one.place, one.rival] < rules.get((one.rival, one.place), len(_ORDER)):
            best.setdefault(one.place, one)
    settled = []
    for place, one in sorted(best.items()):
        seen, last = {place}, one.rival
        while last in best and last not in seen:
            seen.add(last)
            last = best[last].rival
        if last not in seen:
            settled.append(Yielding(place, last, one.rule, one.why))
    return settled

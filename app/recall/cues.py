"""Cues: words that tell what a question is after and what a memory says of itself. Pure functions; the words are data.

Two ways of reading:

- :class:`PhraseCues` (``documented-v1``): text is lower-cased, ``. , : ; ? ! ( )`` and white space become single
  spaces, the ends are padded, and a cue counts when it appears as a whole padded phrase (Dense-Mem, July 2026).
- :class:`ClauseCues` (``strata-v1``): a cue counts for what its clause says. "is not current" and "was current" tell
  of the past, "not obsolete" says nothing against a memory, a hedge halves what it stands beside. Words are given by
  stem, so that tense and number do not matter.

The lists are versioned files in ``data/``; a changed list is a new file and a new policy.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final, NamedTuple

import msgspec

_PUNCTUATION: Final = re.compile(r"[\n\t\r.,:;?!()]")
_SPACES: Final = re.compile(r"\s+")
_APOSTROPHES: Final = re.compile(r"['’ʼ]")
_CLAUSE_ENDS: Final = re.compile(r"[.;:!?\n]+(?=\s|$)|[()\[\]]|,\s| - | – | — ")
_NOISE: Final = re.compile(r"[^\w#@+./-]+")
_NEGATION_REACH: Final = 4
_TENSE_REACH: Final = 3


class QueryIntent(NamedTuple):
    """What a question is after.

    Attributes:
        currentness: it asks for the state of now (or of a named date).
        selection: it asks which of several to use.
        authority: it asks for what is binding.
        evidence_source: it asks for the note that says so.
        past: it asks for the state before.
        change: it asks whether or how something changed, so that both states answer.
    """

    currentness: bool = False
    selection: bool = False
    authority: bool = False
    evidence_source: bool = False
    past: bool = False
    change: bool = False

    @property
    def adjusts(self) -> bool:
        """Whether any adjustment but the identifier's can fire."""
        return self.currentness or self.selection or self.authority or self.past

    @property
    def names(self) -> list[str]:
        """The intents that hold."""
        return [name for name, holds in self._asdict().items() if holds]


@cache
def load(version: str) -> Mapping[str, Any]:
    """The cue file of a version.

    Raises:
        FileNotFoundError: there is none.
    """
    path = resources.files("app.recall") / "data" / f"cues-{version}.json"
    loaded: Mapping[str, Any] = msgspec.json.decode(path.read_bytes())
    return loaded


def padded(text: str) -> str:
    """Text as plain phrases are looked for: ``" like this "``."""
    return f" {_SPACES.sub(' ', _PUNCTUATION.sub(' ', text.lower())).strip()} "


class PhraseCues:
    """Plain phrases, as documented."""

    def __init__(self, version: str = "documented-v1") -> None:
        data = load(version)
        self._query: Mapping[str, Sequence[str]] = data["query"]
        self._memory: Mapping[str, Sequence[str]] = data["memory"]

    def intent(self, query: str) -> QueryIntent:
        """Intents of a question."""
        text = padded(query)

        def has(name: str) -> bool:
            return _first_phrase(text, self._query[name]) is not None

        return QueryIntent(
            currentness=has("currentness"),
            selection=has("selection_subject") and has("selection_verb"),
            authority=has("authority"),
            evidence_source=has("evidence_source"),
        )

    def find(self, text: str, name: str) -> str | None:
        """The first cue of a list in a padded text (:func:`padded`)."""
        return _first_phrase(text, self._memory[name])

    def shared_condition(self, query: str, text: str) -> str | None:
        """A condition word that two padded texts share."""
        return next(
            (word for word in self._memory["condition"] if f" {word} " in query and f" {word} " in text), None
        )


def _first_phrase(text: str, phrases: Sequence[str]) -> str | None:
    return next((phrase for phrase in phrases if f" {phrase} " in text), None)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a memory's words say of it, -1 to 1 each, and the cue that said it.

    Attributes:
        currentness: 1 it says that it holds now, -1 that it does not hold any more.
        change: it tells of a change to what it says.
        selection: 1 it says what to use, -1 what not to use.
        authority: 1 it is binding, -1 it is informal.
        hedged: it is a proposal, a rumour, a guess.
    """

    currentness: float = 0.0
    change: bool = False
    selection: float = 0.0
    authority: float = 0.0
    hedged: bool = False
    cues: tuple[str, ...] = ()


class Contrast(NamedTuple):
    """How a memory stands to what others say.

    Attributes:
        corrects: it corrects or replaces something.
        denies: it denies, forbids or excepts something.
        excepts: it tells an exception, so that the rule holds beside it.
        reported: it passes on what somebody said, thinks or proposes.
        cue: the first cue of correction or denial.
    """

    corrects: bool = False
    denies: bool = False
    excepts: bool = False
    reported: bool = False
    cue: str = ""


class _Clause(NamedTuple):
    text: str
    words: tuple[str, ...]


class _Match(NamedTuple):
    cue: str
    negated: bool
    past: bool


class ClauseCues:
    """Cues read with the clause around them."""

    def __init__(self, version: str = "strata-v1") -> None:
        data = load(version)
        self._query = {name: _pattern(phrases) for name, phrases in data["query"].items()}
        self._memory = {name: _pattern(phrases) for name, phrases in data["memory"].items()}
        self._negators = frozenset(data["negators"])
        self._past = frozenset(data["past_auxiliaries"])
        self._breaks = re.compile(rf" (?:{'|'.join(map(re.escape, data['clause_breaks']))}) ")

    def intent(self, query: str) -> QueryIntent:
        """Intents of a question."""
        text = f" {_plain(query)} "
        asked = {name: pattern.search(text) is not None for name, pattern in self._query.items()}
        change = asked["change"]
        past = asked["past"] and not change
        return QueryIntent(
            currentness=asked["currentness"] and not past and not change,
            selection=asked["selection"] or (" which " in text and _USES.search(text) is not None),
            authority=asked["authority"],
            evidence_source=asked["evidence_source"],
            past=past,
            change=change,
        )

    def read(self, content: str) -> Reading:
        """What a memory says of itself; remembered, as contents never change."""
        return _read(self, content)

    def asks_for_draft(self, query: str) -> bool:
        """Whether a question names a draft, a proposal or a rumour."""
        return self._memory["provisional"].search(f" {_plain(query)} ") is not None

    def is_provisional(self, content: str) -> bool:
        """Whether a text begins as a draft, a proposal or a rumour: said in its first clause and not denied."""
        first = next(iter(self._clauses(content)), None)
        match = None if first is None else self._first(first, "provisional")
        return match is not None and not match.negated

    def contrast(self, content: str) -> Contrast:
        """How a memory stands to what others say."""
        text = f" {_plain(content)} "
        corrects, denies = (self._memory[name].search(text) for name in ("corrects", "denies"))
        cue = corrects or denies
        return Contrast(
            corrects=corrects is not None,
            denies=denies is not None,
            excepts=self._memory["excepts"].search(text) is not None,
            reported=self._memory["reported"].search(text) is not None,
            cue="" if cue is None else cue.group().strip(),
        )

    def asks_for_speech(self, query: str) -> bool:
        """Whether a question is about what somebody said or proposed."""
        return self._query["speech"].search(f" {_plain(query)} ") is not None

    def reading_of(self, content: str) -> Reading:
        """The same, afresh."""
        told: list[str] = []
        current, stale, directive, disqualified, binding, informal = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        change = hedged = False
        for clause in self._clauses(content):
            hedge = self._first(clause, "hedge")
            weight = 0.5 if hedge is not None and not hedge.negated else 1.0
            hedged = hedged or weight < 1
            holds, gone, moved = self._state(clause, told)
            current, stale, change = (
                max(current, weight * holds),
                max(stale, gone),
                change or (moved and weight == 1),
            )
            must, bad = self._choice(clause, told)
            directive, disqualified = max(directive, weight * must), max(disqualified, bad)
            formal, loose = self._standing(clause, told)
            binding, informal = max(binding, weight * formal), max(informal, loose)
            if hedge is not None and weight < 1:
                told.append(f"hedge: {hedge.cue}")
        return Reading(
            # "is now A (previously B)" tells of A.
            currentness=current - stale * (0.25 if current == 1 else 1.0) - (0.4 if hedged else 0.0),
            change=change,
            selection=directive
            - disqualified
            - (0.4 if hedged else 0.0)
            - 0.4 * (stale if current < 1 else 0.0),
            authority=binding - informal - (0.5 if hedged else 0.0),
            hedged=hedged,
            cues=tuple(dict.fromkeys(told)),
        )

    def _state(self, clause: _Clause, told: list[str]) -> tuple[float, float, bool]:
        """How far a clause says that it holds, that it is over, and whether it tells of a change."""
        current = self._first(clause, "current")
        stale = self._first(clause, "stale")
        ended = self._passive(clause)
        change = self._first(clause, "change")
        moved = change is not None and not change.negated and not ended
        holds = gone = 0.0
        if moved and change is not None:
            told.append(f"change: {change.cue}")
            holds = 1.0
        if current is not None:
            over = current.negated or current.past
            told.append(f"{'not ' if over else ''}current: {current.cue}")
            holds, gone = (holds, 1.0) if over else (1.0, gone)
        if ended:
            told.append(f"ended: {ended}")
            holds, gone = 0.0, 1.0
        elif stale is not None and stale.negated and stale.cue in _NEGATED_ENDS:
            told.append(f"ended: not {stale.cue}")
            holds, gone = 0.0, 1.0
        elif stale is not None and not stale.negated and not (current and current.negated):
            told.append(f"stale: {stale.cue}")
            gone = max(gone, 0.25 if holds else 0.8)
        return holds, gone, moved

    def _choice(self, clause: _Clause, told: list[str]) -> tuple[float, float]:
        bad = self._first(clause, "disqualified")
        if bad is not None and not bad.negated:
            told.append(f"disqualified: {bad.cue}")
            return 0.0, 1.0
        must = self._first(clause, "directive")
        if must is not None and must.negated:
            told.append(f"disqualified: not {must.cue}")
            return 0.0, 1.0
        if must is not None and not must.past:
            told.append(f"directive: {must.cue}")
            return 1.0, 0.0
        policy = self._first(clause, "policy")
        return (0.2, 0.0) if policy is not None and not policy.negated else (0.0, 0.0)

    def _standing(self, clause: _Clause, told: list[str]) -> tuple[float, float]:
        formal = self._first(clause, "authoritative")
        informal = self._first(clause, "informal")
        binding = loose = 0.0
        if formal is not None:
            told.append(f"{'not ' if formal.negated else ''}authoritative: {formal.cue}")
            binding, loose = (0.0, 1.0) if formal.negated else (1.0, 0.0)
        if informal is not None and not informal.negated:
            told.append(f"informal: {informal.cue}")
            loose = 1.0
        return binding, loose

    def _passive(self, clause: _Clause) -> str | None:
        """A participle that ends something: "was superseded", "has been withdrawn", "got dropped"."""
        match = self._memory["passive_end"].search(clause.text)
        if match is None:
            return None
        before = clause.text[: match.start()].split()[-_TENSE_REACH:]
        after = clause.text[match.end() - 1 :].split()[:1]
        negated = any(word in self._negators for word in before)
        auxiliary = any(word in _AUXILIARIES for word in before)
        return match.group().strip() if (auxiliary or after == ["by"]) and not negated else None

    def _first(self, clause: _Clause, name: str) -> _Match | None:
        """The first cue of a list, and what stands before it."""
        match = self._memory[name].search(clause.text)
        if match is None:
            return None
        before = clause.text[: match.start()].split()
        negated = sum(word in self._negators for word in before[-_NEGATION_REACH:]) % 2 == 1
        past = any(word in self._past for word in before[-_TENSE_REACH:])
        return _Match(match.group().strip(), negated, past)

    def _clauses(self, content: str) -> Iterable[_Clause]:
        for part in _CLAUSE_ENDS.split(content):
            for clause in self._breaks.split(f" {_plain(part)} "):
                words = clause.split()
                if words:
                    yield _Clause(f" {' '.join(words)} ", tuple(words))


_AUXILIARIES: Final = frozenset(
    ["is", "are", "was", "were", "be", "been", "being", "got", "gets", "get", "has", "have", "had", "since"]
)
# What only a negation makes an end: "it is not valid any more".
_NEGATED_ENDS: Final = frozenset({"anymore", "any more", "any longer"})
_USES: Final = re.compile(r" (?:use|uses|using|should|must|apply|applies|choose|pick|follow) ")


@lru_cache(maxsize=4_096)
def _read(cues: ClauseCues, content: str) -> Reading:
    return cues.reading_of(content)


def _plain(text: str) -> str:
    """Lower-cased words with single spaces; apostrophes are dropped (``isn't`` is ``isnt``)."""
    words = _NOISE.sub(" ", _APOSTROPHES.sub("", text.lower())).split()
    return " ".join(filter(None, (word.strip("./-") for word in words)))


def _pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Any of the phrases, longest first; ``*`` ends a stem, ``|`` separates alternatives of one word."""
    ordered = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return re.compile(r" (?:" + "|".join(map(_phrase, ordered)) + r")(?= )")


def _phrase(phrase: str) -> str:
    words = []
    for word in phrase.split():
        options = [
            re.escape(option.rstrip("*")) + (r"[\w-]*" if option.endswith("*") else "")
            for option in word.split("|")
        ]
        words.append(options[0] if len(options) == 1 else f"(?:{'|'.join(options)})")
    return " ".join(words)


@cache
def phrase_cues() -> PhraseCues:
    """The cues of ``documented-v1``."""
    return PhraseCues()


@cache
def clause_cues() -> ClauseCues:
    """The cues of ``strata-v1``."""
    return ClauseCues()

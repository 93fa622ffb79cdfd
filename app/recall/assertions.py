"""What a short memory asserts, read for the comparison with its siblings (:mod:`app.recall.siblings`). Pure functions."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from app.lexical.fingerprint_words import FILLERS, MARKERS, MODALS, NUMBERS
from app.lexical.stopwords import STOP_WORDS
from app.lexical.words import words_of
from app.recall.cues import ClauseCues, Contrast

LONGEST: Final = 300
"""Characters of a memory that is still read as one assertion; a longer one is a text with several ..."""
MOST_WORDS: Final = 20
"""... and so is one with more words, function words left out."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE: Final = re.compile(r"['’]s?$")
_APPOSITION: Final = re.compile(r"(?:,| \(| -| –| —)\s*(?:the|an?|my|our|his|her|their)\b")
_NO_PROSE: Final = re.compile(r"\?|[{}\[\]=<>_\\]|\w\(")
# Who speaks is no part of what is said.
_SPEAKER: Final = re.compile(r"\s*\w+:\s")
_ISO_DATE: Final = re.compile(r"\b((?:19|20)\d\d)-(0[1-9]|1[0-2])-\d\d\b")
_QUOTE: Final = re.compile(r"[\"“”«»]")
_PAIR: Final = 2
_CONTRACTED: Final = ("n't", "n’t")
_STARTS: Final = frozenset(".!?:\n")
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
# Words that say nothing of a subject: beside the stop words pronouns, auxiliaries, question words.
_EMPTY: Final = (
    STOP_WORDS["english"]
    | MODALS
    | FILLERS
    | frozenset(
        """
        i me my mine we us our ours you your yours he him his she her hers its them theirs who whom whose which what
        when where why how do does did done can could would might may am been being were had having here so than too
        very just about from up out off over under again between during because while until after before according
        much many long often now nowadays today currently current still yet already ever then one ones each every all
        any some both
        """.split()  # noqa: SIM905 - a list of words reads better as text
    )
)
# "above", "new", "except": another one makes another statement.
_QUALIFIERS: Final = MARKERS - _EMPTY


@dataclass(frozen=True, slots=True)
class Assertion:
    """What the words of a short text say.

    Attributes:
        words: stems of what is no function word, numbers and months included.
        names: those of ``words`` that single something out: names inside sentences, numbers, months, qualifiers.
        proper: the names among them.
        openers: capitalised words that begin a sentence; names only if another text has them as names.
        sequence: ``words`` in order, without those that a date stands for.
        described: names that it describes in apposition: "Mercury, the courier", "Baker (the mill)".
        slots: for each word what stands before and after it, function words left out; empty at an end.
        quoted: it quotes.
        contrast: the cues of correction, denial and hearsay.
    """

    words: frozenset[str]
    names: frozenset[str]
    proper: frozenset[str]
    openers: frozenset[str]
    sequence: tuple[str, ...]
    described: frozenset[str]
    slots: dict[str, tuple[str, str]]
    quoted: bool
    contrast: Contrast


def read(content: str, cues: ClauseCues) -> Assertion | None:
    """What a text asserts; ``None`` of a long one, and of one that has no words."""
    return _read(content, cues) if len(content) <= LONGEST else None


def of_memory(content: str, cues: ClauseCues) -> Assertion | None:
    """What a memory asserts; ``None`` of a question and of code too."""
    return None if _NO_PROSE.search(content) is not None else read(content, cues)


@lru_cache(maxsize=8_192)
def _read(content: str, cues: ClauseCues) -> Assertion | None:
    stems = words_of("english")
    words: list[str] = []
    names: set[str] = set()
    proper: set[str] = set()
    openers: set[str] = set()
    described: set[str] = set()
    speaker = _SPEAKER.match(content)
    for match in _WORD.finditer(content, 0 if speaker is None else speaker.end()):
        word = _POSSESSIVE.sub("", match.group())
        folded = word.lower()
        if folded in _EMPTY or folded.endswith(_CONTRACTED):
            continue
        term = next(iter(stems.terms(folded)), folded)
        words.append(term)
        if folded in NUMBERS or folded in _QUALIFIERS or any(map(str.isdigit, word)):
            names.add(term)
        elif not word.islower():
            before = content[: match.start()].rstrip(" \"'(“‘")
            (openers if not before or before[-1] in _STARTS else proper).add(term)
            if _APPOSITION.match(content, match.end()) is not None:
                described.add(term)
    sequence = tuple(words)
    around = ["", *words, ""]
    slots = {word: (around[place], around[place + 2]) for place, word in reversed([*enumerate(words)])}
    for year, month in _ISO_DATE.findall(content):
        dated = (year, next(iter(stems.terms(_MONTHS[int(month) - 1])), ""))
        words += dated
        names.update(dated)
    if not words or len(words) > MOST_WORDS:
        return None
    return Assertion(
        words=frozenset(words),
        names=frozenset(names | proper),
        proper=frozenset(proper),
        openers=frozenset(openers),
        sequence=sequence,
        described=frozenset(described),
        slots=slots,
        quoted=len(_QUOTE.findall(content)) >= _PAIR,
        contrast=cues.contrast(content),
    )

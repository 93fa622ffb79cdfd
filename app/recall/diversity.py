"""Diversity of a ranked list: near-duplicates share a slot, or maximal marginal relevance. Pure functions.

Two contents are near-duplicates when they say the same with the same words, in another order or form. They must agree
in all that changes a meaning: numbers (in digits or words), names (capitalised words, in the same order), identifiers,
negation and qualifiers ("until", "only", "except", "if"). Their other words, by stem, must be the same, but for one
more on one side in six: a word *replaced* by another ("blue", "red") is a revision. A word keeps the preposition of
direction before it ("from", "to", "before"). And the order may only differ by two neighbouring parts that change places
("during storms, the ferry is cancelled"), unless one side is passive, so that "the cat chased the dog" is not "the dog
chased the cat". A longer text is only ever
the duplicate of one that is equal but for case, punctuation and white space.

MMR (Carbonell and Goldstein, SIGIR 1998) with HotMem's details: relevance is the min-max of the scores in the pool (1
for all of a constant pool), the similarity to what is chosen starts at 0 and never goes below it, ties keep the first
order; what lies beyond the pool follows unchanged.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

from app.lexical.analysis import Analyzer

_Item = TypeVar("_Item")
_MAX_CHARACTERS: Final = 1_000
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER_WORDS: Final = frozenset(
    [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
        "thirty",
        "forty",
        "fifty",
        "sixty",
        "seventy",
        "eighty",
        "ninety",
        "hundred",
        "thousand",
        "million",
        "billion",
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "half",
        "quarter",
        "twice",
        "thrice",
        "double",
        "triple",
        "single",
        "both",
    ]
)
_NEGATIONS: Final = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "nobody",
        "nothing",
        "nor",
        "neither",
        "without",
        "cannot",
        "hardly",
        "isnt",
        "arent",
        "wasnt",
        "werent",
        "doesnt",
        "dont",
        "didnt",
        "hasnt",
        "havent",
        "hadnt",
        "wont",
        "wouldnt",
        "shouldnt",
        "cant",
        "couldnt",
        "stopped",
        "ceased",
    ]
)
_QUALIFIERS: Final = frozenset(
    [
        "until",
        "till",
        "unless",
        "except",
        "only",
        "if",
        "maybe",
        "perhaps",
        "possibly",
        "might",
        "could",
        "would",
        "almost",
        "nearly",
        "about",
        "approximately",
        "former",
        "formerly",
        "previous",
        "previously",
        "old",
        "new",
        "next",
        "last",
        "more",
        "less",
        "most",
        "least",
        "all",
        "some",
        "any",
        "every",
        "each",
        "few",
        "many",
        "current",
        "currently",
        "now",
        "was",
        "were",
        "had",
        "will",
        "used",
        "before",
        "after",
        "since",
        "during",
        "from",
        "to",
        "above",
        "below",
        "under",
        "over",
        "than",
        "or",
        "but",
        "by",
        "with",
        "against",
        "for",
    ]
)
# Words whose presence alone changes a meaning; of the rest ("from", "was") the order and the number may differ.
_STRICT: Final = _QUALIFIERS - frozenset(
    [
        "was",
        "were",
        "had",
        "will",
        "before",
        "after",
        "during",
        "from",
        "to",
        "about",
        "by",
        "with",
        "for",
        "all",
        "some",
        "any",
        "each",
        "every",
        "over",
    ]
)
# What may stand in for each other: obligations.
_MODALS: Final = frozenset(
    ["must", "need", "needs", "require", "requires", "required", "should", "shall", "has", "have"]
)
_MONTHS: Final = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
_DIRECTIONS: Final = frozenset(
    [
        "from",
        "to",
        "into",
        "onto",
        "before",
        "after",
        "than",
        "over",
        "against",
        "until",
        "for",
        "with",
        "toward",
        "towards",
    ]
)
_PASSIVE: Final = re.compile(r"\b(?:is|are|was|were|be|been|being|gets|got)\b.*\bby\b")
_MIN_STEMS: Final = 4
_EXTRA_SHARE: Final = 6


@dataclass(frozen=True, slots=True)
class Signature:
    """What near-duplicates must agree in.

    Attributes:
        exact: digest of the text without case, punctuation and spacing.
        short: whether the text is short enough to be compared by its words.
        stems: its words by stem, but for those below.
        sequence: the same in order, each with its preposition of direction.
        passive: whether it says "is ... by".
        markers: numbers, negations, qualifiers; sorted.
        names: capitalised words inside sentences and in mixed case, in order.
    """

    exact: bytes
    short: bool
    stems: frozenset[str] = frozenset()
    sequence: tuple[str, ...] = ()
    passive: bool = False
    markers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@lru_cache(maxsize=8_192)
def signature(content: str, config: str = "english") -> Signature:
    """The signature of a content; remembered, as contents never change."""
    words = _WORD.findall(content)
    folded = [re.sub(r"['’]", "", word).lower() for word in words]
    exact = hashlib.blake2b(" ".join(folded).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if len(content) > _MAX_CHARACTERS or not words:
        return Signature(exact, short=False)
    analyzer = Analyzer.for_config(config)
    stems: list[str] = []
    sequence: list[str] = []
    markers: list[str] = []
    direction = before = ""
    for word in folded:
        previous, before = before, word
        if _is_marker(word):
            markers.append(word)
        elif word in _DIRECTIONS:
            # "need to sign": no direction.
            direction = "" if previous in _MODALS else word + " "
        elif word not in _MODALS and word not in _QUALIFIERS:
            for stem in analyzer.query(word).terms[:1]:
                stems.append(stem)
                sequence.append(direction + stem)
                direction = ""
    return Signature(
        exact,
        short=True,
        stems=frozenset(stems),
        sequence=tuple(sequence),
        passive=_PASSIVE.search(" ".join(folded)) is not None,
        markers=tuple(sorted(markers)),
        names=_names(content),
    )


def are_near_duplicates(first: Signature, second: Signature) -> bool:
    """Whether two contents say the same; symmetric, and true of a content and itself."""
    if first.exact == second.exact:
        return True
    if not (first.short and second.short):
        return False
    if first.markers != second.markers or not _same_names(first.names, second.names):
        return False
    smaller, larger = sorted((first, second), key=lambda known: len(known.sequence))
    kept, extra = list[str](), list[str]()
    for word in larger.sequence:
        (kept if word in smaller.sequence else extra).append(word)
    if len(smaller.sequence) < _MIN_STEMS or sorted(kept) != sorted(smaller.sequence):
        return False
    if len(extra) > len(smaller.sequence) // _EXTRA_SHARE:
        return False
    return first.passive != second.passive or _rearranged(list(smaller.sequence), kept)


def _rearranged(first: list[str], second: list[str]) -> bool:
    """Whether two orders of the same words are equal but for two neighbouring parts that changed places."""
    start = 0
    while start < len(first) and first[start] == second[start]:
        start += 1
    end = len(first)
    while end > start and first[end - 1] == second[end - 1]:
        end -= 1
    part, other = first[start:end], second[start:end]
    return any(part[place:] + part[:place] == other for place in range(max(1, len(part))))


def collapse(
    items: Sequence[_Item], content: Callable[[_Item], str], config: str = "english"
) -> list[tuple[_Item, list[_Item]]]:
    """Items in order, each with the later ones that say the same."""
    groups: list[tuple[_Item, list[_Item]]] = []
    signatures: list[Signature] = []
    for item in items:
        own = signature(content(item), config)
        home = next(
            (place for place, known in enumerate(signatures) if are_near_duplicates(known, own)), None
        )
        if home is None:
            groups.append((item, []))
            signatures.append(own)
        else:
            groups[home][1].append(item)
    return groups


def mmr(
    scores: Sequence[float],
    similarity: Callable[[int, int], float],
    *,
    trade_off: float = 0.5,
    pool: int = 50,
) -> list[int]:
    """Positions of the scored items in the order of maximal marginal relevance.

    Args:
        scores: first-stage scores, best first.
        similarity: cosine of two items by position, 0 when unknown.
        trade_off: 1 is relevance alone, 0 novelty alone.
        pool: how many of the first are reordered.
    """
    size = min(pool, len(scores))
    head = scores[:size]
    low, spread = (min(head), max(head) - min(head)) if head else (0.0, 0.0)
    relevance = [1.0 if not spread else (score - low) / spread for score in head]
    nearest = [0.0] * size
    left, chosen = list(range(size)), list[int]()
    while left:
        best = max(left, key=lambda i: (trade_off * relevance[i] - (1 - trade_off) * nearest[i], -i))
        left.remove(best)
        chosen.append(best)
        for other in left:
            nearest[other] = max(nearest[other], similarity(best, other))
    return [*chosen, *range(size, len(scores))]


def _is_marker(word: str) -> bool:
    return (
        word in _NEGATIONS
        or word in _NUMBER_WORDS
        or word in _STRICT
        or word in _MONTHS
        or any(map(str.isdigit, word))
    )


def _names(content: str) -> tuple[str, ...]:
    """Capitalised words that do not begin a sentence, and words with a capital inside, lower-cased, in order."""
    names = []
    for match in _WORD.finditer(content):
        word = match.group()
        before = content[: match.start()].rstrip(" \"'(“‘")
        starts = not before or before[-1] in ".!?:\n"
        if (not word[1:].islower() and any(map(str.isupper, word[1:]))) or (
            word[0].isupper() and not starts and word != "I"
        ):
            names.append(word.lower())
    return tuple(names)


def _same_names(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Equal names in equal order; one that a sentence begins with on one side only may be missing at its front."""
    if first == second:
        return True
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    return len(longer) - len(shorter) == 1 and longer[1:] == shorter if shorter else False

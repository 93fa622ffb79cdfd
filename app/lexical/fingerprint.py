"""Near-duplicates: a fingerprint of each content, made once when it is stored, and compared by integers. Pure functions.

Two contents are near-duplicates when they say the same with the same words, in another order or form. They must agree
in all that changes a meaning: numbers (in digits or words, with their sign, currency and unit), months, negation,
qualifiers ("until", "only", "except", "if"), symbols, and names (capitalised words, in the same order). Their other
words, by stem, must be the same, but for one more on one side in six: a word *replaced* by another ("blue", "red") is a
revision. A word keeps the preposition of direction before it ("from", "to", "before"). And the order may only differ by
two neighbouring parts that change places ("during storms, the ferry is cancelled"), unless one side is passive, so that
"the cat chased the dog" is not "the dog chased the cat", nor "3 cats and 5 dogs" "5 cats and 3 dogs". A longer text is
only ever the duplicate of one that is equal but for case, punctuation and white space.

The word lists are English. In a text of another configuration or script nothing is left out and nothing may be added:
there, only parts that changed places make a near-duplicate.

Why not SimHash or MinHash (Broder 1997, Charikar 2002): they tell how many words two texts share, and a revision shares
all but one. So the fingerprint is exact where revisions differ, and holds 32 bits for each word, in order, for the rest:
26 bytes and 4 a word.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from struct import Struct
from typing import Final, NamedTuple

import regex

from app.lexical.fingerprint_words import DIRECTIONS, FILLERS, MARKERS, MODALS, NUMBERS, QUALIFIERS
from app.lexical.memo import Memo
from app.lexical.normalize import clean
from app.lexical.words import CONFIGURATIONS, words_of

VERSION: Final = 1
"""Of the rules; a stored fingerprint of another version is made anew from the content."""

_MAX_CHARACTERS: Final = 1_000
_MIN_WORDS: Final = 4
_EXTRA_SHARE: Final = 6
_HEAD: Final = Struct("<BBQQII")
_SHORT, _PASSIVE, _STRICT = 1, 2, 4
_MANY_NUMBERS: Final = 2
_MEMO_CHUNK: Final = 48
_QUOTES: Final = "\"'(“‘"
_ENDS: Final = ".!?:"

_TOKEN: Final = regex.compile(
    r"(?P<number>(?:(?<![\p{L}\p{N}])[-+−])?\p{Nd}[\p{L}\p{M}\p{N}]*(?:[.,:/\-–]\p{Nd}[\p{L}\p{M}\p{N}]*)*)"
    r"|(?P<word>[\p{L}\p{M}\p{N}]+(?:'[\p{L}\p{M}\p{N}]+)*)"
    r"|(?P<symbol>!=|[<>]=?|(?<=[\p{L}\p{N}])(?:\++|\#)|[≠≤≥±×÷%‰°]|\p{Sc}|\p{So}\p{M}*)"
)
_PLAIN: Final = re.compile(r"[\"'(]*([A-Za-z][a-z]*)[.,;:!?)\"']*")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BEYOND_LATIN: Final = regex.compile(r"[^\P{L}\p{Latin}]")
_PASSIVE_WORDS: Final = re.compile(r"\b(?:is|are|was|were|be|been|being|gets|got)\b.*\bby\b")


# What a word does in a comparison. Kind and hash are one number, ``hash << 3 | kind``, so that what is remembered of the
# many words is nothing that the garbage collector must visit; with tuples it took twice the time.
_WORD, _NUMBER, _MARKER, _DIRECTION, _MODAL, _NOTHING = range(1, 7)
_KIND_BITS: Final = 3
_KIND: Final = 7

# What the characters between two spaces add: the tokens without case and punctuation; kind and hash of each; the
# capitalised words, lower-cased, when the chunk stands inside a sentence; the same when it begins one; whether it ends
# one (``None`` when it only opens a quotation or a parenthesis). A lower-case word in ASCII is its kind and hash alone.
_Chunk = tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...], tuple[str, ...], bool | None]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What near-duplicates must agree in.

    Attributes:
        exact: 64-bit digest of the text without case, punctuation and spacing.
        short: whether the text is short enough to be compared by its words.
        strict: whether no word may be added.
        passive: whether it says "is ... by".
        guard: digest of its markers (numbers, negations, qualifiers, symbols), in no order.
        numbers: how many of these stand in the sequence: numbers, months, symbols.
        names: 32-bit digest of the capitalised words inside sentences and in mixed case, in order; 0 for none.
        later_names: the same without the first.
        sequence: 32 bits for each word (by stem) and number, in order, with the marker or preposition before it.
    """

    exact: int
    short: bool = False
    strict: bool = False
    passive: bool = False
    guard: int = 0
    numbers: int = 0
    names: int = 0
    later_names: int = 0
    sequence: tuple[int, ...] = ()

    def encoded(self) -> bytes:
        """The bytes that are stored: version, flags, digests, and the sequence where the text is short."""
        flags = self.short * _SHORT | self.passive * _PASSIVE | self.strict * _STRICT
        head = _HEAD.pack(VERSION, flags, self.exact, self.guard, self.names, self.later_names)
        if not self.short:
            return head
        return head + Struct(f"<H{len(self.sequence)}I").pack(self.numbers, *self.sequence)


def decoded(stored: bytes | None) -> Fingerprint | None:
    """A stored fingerprint; ``None`` when there is none or when other rules made it."""
    if not stored or stored[0] != VERSION:
        return None
    _, flags, exact, guard, names, later_names = _HEAD.unpack_from(stored)
    if not flags & _SHORT:
        return Fingerprint(exact)
    words = (len(stored) - _HEAD.size - 2) // 4
    numbers, *sequence = Struct(f"<H{words}I").unpack_from(stored, _HEAD.size)
    return Fingerprint(
        exact,
        short=True,
        strict=bool(flags & _STRICT),
        passive=bool(flags & _PASSIVE),
        guard=guard,
        numbers=numbers,
        names=names,
        later_names=later_names,
        sequence=tuple(sequence),
    )


def fingerprint(content: str, config: str = "english") -> Fingerprint:
    """The fingerprint of a content.

    Args:
        content: the text as it was sent.
        config: the profile's text-search configuration.

    Raises:
        ValueError: the configuration is unknown.
    """
    return _reader(config).read(content)


def content_words(content: str, config: str = "english") -> frozenset[int]:
    """What a short content speaks of: a hash for each of its words, markers and prepositions apart; none of a long one.

    Raises:
        ValueError: the configuration is unknown.
    """
    return _reader(config).words(content)


def are_near_duplicates(first: Fingerprint, second: Fingerprint) -> bool:
    """Whether two contents say the same; symmetric, and true of a content and itself."""
    if first.exact == second.exact:
        return True
    agree = first.short and second.short and first.guard == second.guard and _same_names(first, second)
    return agree and _same_words(first, second)


def _same_words(first: Fingerprint, second: Fingerprint) -> bool:
    """Whether the words are the same, but for a spare one, in the same order, but for parts that changed places."""
    smaller, larger = (first, second) if len(first.sequence) <= len(second.sequence) else (second, first)
    words = len(smaller.sequence) - smaller.numbers
    spare = len(larger.sequence) - len(smaller.sequence)
    allowed = 0 if first.strict or second.strict else words // _EXTRA_SHARE
    if words < _MIN_WORDS or spare > allowed:
        return False
    if not spare and sum(larger.sequence) != sum(smaller.sequence):
        # What the next line finds too, a tenth as fast.
        return False
    kept = larger.sequence if not spare else _kept(smaller.sequence, larger.sequence)
    if sorted(kept) != sorted(smaller.sequence):
        return False
    if first.passive != second.passive and smaller.numbers < _MANY_NUMBERS:
        return True
    return _rearranged(smaller.sequence, kept)


def _kept(smaller: tuple[int, ...], larger: tuple[int, ...]) -> tuple[int, ...]:
    known = set(smaller)
    return tuple(word for word in larger if word in known)


def _same_names(first: Fingerprint, second: Fingerprint) -> bool:
    """Equal names in equal order; one that a sentence begins with on one side only may be missing at its front."""
    if first.names == second.names:
        return True
    return (first.names != 0 and first.names == second.later_names) or (
        second.names != 0 and second.names == first.later_names
    )


def _rearranged(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether two orders of the same words are equal but for two neighbouring parts that changed places."""
    if len(first) != len(second):
        return False
    start = 0
    while start < len(first) and first[start] == second[start]:
        start += 1
    end = len(first)
    while end > start and first[end - 1] == second[end - 1]:
        end -= 1
    part, other = first[start:end], second[start:end]
    return any(part[place:] + part[:place] == other for place in range(max(1, len(part))))


class _Reader:
    """Reads the fingerprints of one configuration; safe to share between threads."""

    def __init__(self, config: str) -> None:
        self._words = words_of(config)
        self._english = config == "english"
        self._memo: Memo[_Chunk | int] = Memo()

    def read(self, content: str) -> Fingerprint:
        """The fingerprint of a content."""
        text = clean(content)
        plain: list[str] = []
        names: list[str] = []
        parts: list[int] = []
        memo, learn = self._memo, self._learn
        for line in text.splitlines():
            begins = True
            for chunk in line.split():
                known = memo.young.get(chunk) or memo.get(chunk) or learn(chunk)
                if isinstance(known, int):
                    plain.append(chunk)
                    parts.append(known)
                    begins = False
                    continue
                words, found, capitals, first, ends = known
                plain += words
                parts += found
                if capitals:
                    names += first if begins else capitals
                if ends is not None:
                    begins = ends
        joined = " ".join(plain)
        exact = _digest(joined or " ".join(text.split()))
        if len(text) > _MAX_CHARACTERS or not plain:
            return Fingerprint(exact)
        sequence, markers, numbers = _sequence(parts)
        return Fingerprint(
            exact,
            short=True,
            strict=not self._english or (not joined.isascii() and _BEYOND_LATIN.search(joined) is not None),
            passive=_PASSIVE_WORDS.search(joined) is not None,
            guard=_digest(",".join(map(str, sorted(markers)))) if markers else 0,
            numbers=numbers,
            names=_hash(" ".join(names)) if names else 0,
            later_names=_hash(" ".join(names[1:])) if len(names) > 1 else 0,
            sequence=tuple(sequence),
        )

    def words(self, content: str) -> frozenset[int]:
        """The hashes of the words of a short content."""
        text = clean(content)
        if len(text) > _MAX_CHARACTERS:
            return frozenset()
        known = (self._memo.get(chunk) or self._learn(chunk) for chunk in text.split())
        parts = chain.from_iterable((found,) if isinstance(found, int) else found[1] for found in known)
        return frozenset(part >> _KIND_BITS for part in parts if part & _KIND == _WORD)

    def _learn(self, chunk: str) -> _Chunk | int:
        known = self._plain(chunk) or self._mixed(chunk)
        return self._memo.put(chunk, known) if len(chunk) <= _MEMO_CHUNK else known

    def _plain(self, chunk: str) -> _Chunk | int | None:
        """What most chunks are: one word in ASCII letters, lower-case but for its first, before punctuation."""
        match = _PLAIN.fullmatch(chunk)
        if match is None:
            return None
        word = match[1].lower()
        part = self._classified(word)
        if word == chunk:
            return part
        names = () if match[1] == "I" or word == match[1] else (word,)
        return (word,), (part,), names, (), chunk.rstrip(_QUOTES)[-1] in _ENDS

    def _mixed(self, chunk: str) -> _Chunk:
        plain: list[str] = []
        parts: list[int] = []
        names: list[str] = []
        first = 0
        for match in _TOKEN.finditer(chunk):
            token = match.group()
            if match.lastgroup == "word":
                before = chunk[: match.start()].rstrip(_QUOTES)
                if _is_name(token, before):
                    # Only a capital that begins the chunk may be due to its place in the sentence.
                    first += not before and not _is_name(token, ".")
                    names.append(token.lower())
                token = token.replace("'", "").casefold()
                parts.append(self._classified(token))
            else:
                token = _THOUSANDS.sub("", token).casefold()
                parts.append(_part(_NUMBER, token))
            plain.append(token)
        bare = chunk.rstrip(_QUOTES)
        ends = bare[-1] in _ENDS if bare else None
        return tuple(plain), tuple(parts), tuple(names), tuple(names[first:]), ends

    def _classified(self, word: str) -> int:
        if word in NUMBERS or any(map(str.isdigit, word)):
            return _part(_NUMBER, word)
        if word in MARKERS:
            return _part(_MARKER, word)
        stems = self._words.terms(word)
        if not self._english:
            return _part(_WORD, stems[0] if stems else word)
        if word in DIRECTIONS:
            return _part(_DIRECTION, word)
        if word in MODALS or word in QUALIFIERS or word in FILLERS or not stems:
            return _MODAL if word in MODALS else _NOTHING
        return _part(_WORD, stems[0])


def _part(kind: int, text: str) -> int:
    return _hash(text) << _KIND_BITS | kind


class _Sequence(NamedTuple):
    """Words and numbers in order, each with what is bound to it; all markers; how many of these stand in the order."""

    values: list[int]
    markers: list[int]
    numbers: int


def _sequence(parts: Iterable[int]) -> _Sequence:
    values: list[int] = []
    markers: list[int] = []
    numbers = direction = bound = 0
    before = _NOTHING
    for part in parts:
        kind, value = part & _KIND, part >> _KIND_BITS
        if kind <= _NUMBER:
            if kind == _NUMBER:
                markers.append(value)
                numbers += 1
            # Shifted, so that "to x" is not "x to".
            values.append(value ^ (direction >> 1) ^ (bound >> 2))
            direction = bound = 0
        elif kind == _MARKER:
            # Bound to what follows: "not a, but b" is not "a, but not b".
            markers.append(value)
            bound ^= value
        elif kind == _DIRECTION:
            # "need to sign": no direction.
            direction = 0 if before == _MODAL else value
        before = kind
    return _Sequence(values, markers, numbers)


@lru_cache(maxsize=len(CONFIGURATIONS))
def _reader(config: str) -> _Reader:
    if config not in CONFIGURATIONS:
        raise ValueError(f"unknown text-search configuration {config!r}")
    return _Reader(config)


def _is_name(word: str, before: str) -> bool:
    """Whether a word is capitalised without beginning a sentence, or has a capital inside.

    Args:
        word: as written.
        before: what stands before it in its chunk, but for quotes; empty is taken for inside a sentence.
    """
    if any(map(str.isupper, word[1:])):
        return True
    if not word[0].isupper() or word == "I":
        return False
    return not before or before[-1] not in _ENDS


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "little")

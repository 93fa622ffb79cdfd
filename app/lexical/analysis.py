"""The analyzer: text to index terms, the same way for what is stored and for what is asked.

A text is normalised (:mod:`~app.lexical.normalize`) and cut at white space into chunks; each chunk becomes words,
character bigrams (:mod:`~app.lexical.scripts`) and identifiers (:mod:`~app.lexical.identifiers`). Natural text
repeats its chunks (Zipf's law), so their analysis is remembered, stems included; that is where the speed is from.

Terms: words are case-folded, stemmed by the Snowball algorithm of the profile's text-search configuration and
accent-folded. A compound (``user_id``, ``getUserById``, ``well-known``, ``utf8``) yields its parts as words, and a
run of letters and digits stays a word as a whole beside its parts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from app.lexical import normalize, scripts
from app.lexical.identifiers import Identifier, bounded, of_chunk, of_reference
from app.lexical.memo import Memo
from app.lexical.questions import QUESTION_WORDS
from app.lexical.scripts import Script
from app.lexical.words import CONFIGURATIONS, Token, words_of

MAX_POSITION: Final = 16_383
MAX_POSITIONS: Final = 256
MAX_LEXEME_BYTES: Final = 2_046
MAX_VECTOR_BYTES: Final = 1_000_000
"""PostgreSQL's limits for a ``tsvector`` (the last, 1,048,575 bytes, with a margin)."""

_PREFIX_BYTES: Final = 6
_LEXEME_OVERHEAD: Final = 4
_POSITION_BYTES: Final = 2
_UTF8_BYTES: Final = 4
_MEMO_CHUNK: Final = 48


@dataclass(frozen=True, slots=True)
class AnalyzedDocument:
    """What is indexed of one text.

    Attributes:
        lexemes: term -> ascending 1-based positions; a term's number of positions is its frequency (<= 256).
        length: number of content words (bigrams, emoji), stop words and secondary text not counted.
        secondary: the terms that only the secondary text holds (one position each, beyond the content's).
    """

    lexemes: dict[str, list[int]]
    length: int
    secondary: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """What is asked, and what a fusion rule may want to know about the question.

    Attributes:
        terms: distinct terms to score, in order of first appearance.
        identifiers: the terms strong enough to fetch a document by themselves (also when not in ``terms``).
        counts: how often each of ``terms`` appears, aligned with it.
        groups: for each token of the query that is not a stop word, the terms that stand for it (its words, parts and
            spellings): a document covers the token when it holds any of them.
        tokens: number of tokens, stop words included (a bigram is a token).
        stop_words: how many of them were stop words.
        single_characters: how many were one character long.
        scripts: number of tokens for each script.
        asking: the terms that only question words gave (see :mod:`~app.lexical.questions`).
    """

    terms: tuple[str, ...]
    identifiers: tuple[str, ...]
    counts: tuple[int, ...]
    groups: tuple[tuple[str, ...], ...]
    tokens: int
    stop_words: int
    single_characters: int
    scripts: Mapping[Script, int] = field(default_factory=dict)
    asking: frozenset[str] = frozenset()

    @property
    def single_character_share(self) -> float:
        """Share of one-character tokens, 0 for an empty query."""
        return self.single_characters / self.tokens if self.tokens else 0.0


class _Chunk(NamedTuple):
    """What a chunk adds to a document: (term, offset) pairs, and the number of positions that it takes."""

    stored: tuple[tuple[str, int], ...]
    width: int
    numeric: bool


_NOTHING: Final = _Chunk((), 0, numeric=False)
_PLAIN: Final = re.compile(r"[(\[\"']*([A-Za-z][a-z]*|[A-Z]+)[)\]\"'.,;:!?]*")
_NUMERIC: Final = re.compile(r"[(\[{\"'<]*#?[0-9]{1,8}(?:[^\w]|$)")
_LONG_UNIT: Final = 8


class Analyzer:
    """Turns texts into index terms for one text-search configuration; safe to share between threads."""

    def __init__(self, config: str) -> None:
        """Use :meth:`for_config`, which checks the name and shares one analyzer for each configuration."""
        self.config: Final = config
        self._words = words_of(config)
        self._memo: Memo[_Chunk | str] = Memo()
        self._question_words = QUESTION_WORDS.get(config, frozenset())

    @staticmethod
    def for_config(name: str) -> "Analyzer":
        """The analyzer of a text-search configuration.

        Raises:
            ValueError: the name is none of :data:`~app.lexical.words.CONFIGURATIONS`.
        """
        if name not in CONFIGURATIONS:
            raise ValueError(
                f"unknown text-search configuration {name!r}; valid: {', '.join(sorted(CONFIGURATIONS))}"
            )
        return _analyzer(name)

    def document(self, content: str, secondary: Sequence[str] = ()) -> AnalyzedDocument:
        """Analyse a text to store.

        Args:
            content: the text; its words count in the length and by frequency.
            secondary: texts found with it (source, labels, metadata); their terms are added once each, unless the
                content has them, and count in no length.
        """
        lexemes: dict[str, list[int]] = {}
        length = self._scan(content, lexemes)
        added: list[str] = []
        if secondary:
            extra: dict[str, list[int]] = {}
            for text in secondary:
                self._scan(text, extra)
            added = [term for term in extra if term not in lexemes]
            lexemes.update((term, [length + offset]) for offset, term in enumerate(added, start=1))
        return AnalyzedDocument(_within_limits(lexemes), length, frozenset(added))

    def query(self, text: str) -> AnalyzedQuery:
        """Analyse a question; its terms are a subset of what :meth:`document` gives for the same text."""
        chunks = self._split(text)
        counts: dict[str, int] = {}
        strong: dict[str, None] = {}
        groups: list[tuple[str, ...]] = []
        surfaces: list[str] = []
        asking: set[str] = set()
        asked_for: set[str] = set()
        stop_words = 0
        for index, chunk in enumerate(chunks):
            tokens, names = self._parse(chunk)
            names += of_reference(chunks, index)
            for token in tokens:
                units = [token.slots] if not token.stored_only else [(slot,) for slot in token.slots]
                chunk_groups = [tuple(dict.fromkeys(chain.from_iterable(unit))) for unit in units]
                stop_words += not token.slots
                surfaces += [token.surface] * len(units)
                asks = normalize.casefold(token.surface).replace("'", "") in self._question_words
                for group in filter(None, chunk_groups):
                    groups.append(group)
                    (asking if asks else asked_for).update(group)
                    for term in group:
                        counts[term] = counts.get(term, 0) + 1
            words = {normalize.fold(normalize.casefold(token.surface)) for token in tokens}
            for name in dict.fromkeys(names):
                if name.strong:
                    strong[name.term] = None
                if name.term[1:] not in words:
                    asked_for.add(name.term)
                    counts[name.term] = counts.get(name.term, 0) + 1
        by_script: dict[Script, int] = {}
        for surface in surfaces:
            script = scripts.script_of(surface)
            by_script[script] = by_script.get(script, 0) + 1
        return AnalyzedQuery(
            terms=tuple(counts),
            identifiers=tuple(strong),
            counts=tuple(counts.values()),
            groups=tuple(groups),
            tokens=len(surfaces),
            stop_words=stop_words,
            single_characters=sum(len(surface) == 1 for surface in surfaces),
            scripts=by_script,
            asking=frozenset(asking - asked_for),
        )

    @staticmethod
    def _split(text: str) -> list[str]:
        return normalize.clean(text).split()

    def _scan(self, text: str, lexemes: dict[str, list[int]]) -> int:
        """Add a text's terms with their positions; return the number of positions used."""
        memo = self._memo
        chunks = self._split(text)
        length = 0
        for index, chunk in enumerate(chunks):
            entry = memo.young.get(chunk) or memo.get(chunk) or self._remember(chunk)
            if isinstance(entry, str):
                length += 1
                places = lexemes.get(entry)
                if places is None:
                    lexemes[entry] = [length]
                else:
                    places.append(length)
            elif entry is not _NOTHING:
                stored = entry.stored
                if entry.numeric:
                    stored += tuple((name.term, 1) for name in of_reference(chunks, index))
                for term, offset in stored:
                    place = length + offset
                    places = lexemes.get(term)
                    if places is None:
                        lexemes[term] = [place]
                    elif places[-1] < place:
                        places.append(place)
                length += entry.width
        return length

    def _remember(self, chunk: str) -> "_Chunk | str":
        """Analyse a chunk and keep the result: the term itself when it has no other, which is the common case."""
        plain = _PLAIN.fullmatch(chunk)
        if plain is not None:
            terms = self._words.terms(plain[1])
            return self._memo.put(chunk, terms[0] if terms else _NOTHING)
        tokens, names = self._parse(chunk)
        stored: list[tuple[str, int]] = [(name.term, 1) for name in names]
        width = 0
        for token in tokens:
            if token.stored_only:
                end = width + len(token.slots)
                stored += zip(chain.from_iterable(token.slots), range(width + 1, end + 1), strict=True)
                stored += zip(token.stored_only, (*range(width + 1, end + 1), end), strict=True)
                width = end
                continue
            for slot in token.slots:
                width += 1
                stored += [(term, width) for term in slot]
        numeric = _NUMERIC.match(chunk) is not None
        value: _Chunk | str = _Chunk(tuple(stored), width, numeric)
        if not stored and not numeric:
            value = _NOTHING
        elif len(stored) == 1 and width == 1 and not numeric:
            value = stored[0][0]
        return self._memo.put(chunk, value) if len(chunk) <= _MEMO_CHUNK else value

    def _parse(self, chunk: str) -> tuple[list[Token], list[Identifier]]:
        """The tokens and the identifiers of a chunk."""
        tokens: list[Token] = []
        names: list[Identifier] = []
        for kind, run in scripts.segments(chunk):
            if kind == "other":
                names += of_chunk(run)
                tokens += self._words.tokens(run)
            else:
                tokens.append(_emoji(run) if kind == "emoji" else _unspaced(run))
        return tokens, names


@lru_cache(maxsize=len(CONFIGURATIONS))
def _analyzer(config: str) -> Analyzer:
    return Analyzer(config)


def _emoji(sequence: str) -> Token:
    """An emoji sequence: itself, and its pictographs without skin tones."""
    return Token(sequence, (tuple(dict.fromkeys([bounded(sequence), *scripts.emoji_bases(sequence)])),))


def _unspaced(run: str) -> Token:
    """A run of a script without spaces: bigrams, with the unigrams stored beside them."""
    units = scripts.units(run)
    if len(run) > len(units) and max(map(len, units)) > _LONG_UNIT:
        units = [bounded(unit) for unit in units]
    if len(units) == 1:
        return Token(run, ((units[0],),))
    pairs = scripts.bigrams(units)
    return Token(run, tuple(zip(pairs, strict=True)), tuple(units))


def _within_limits(lexemes: dict[str, list[int]]) -> dict[str, list[int]]:
    """Keep what PostgreSQL can hold: frequencies survive, positions beyond the last one are moved before it."""
    if any(len(places) > MAX_POSITIONS or places[-1] > MAX_POSITION for places in lexemes.values()):
        lexemes = {term: _fit(places) for term, places in lexemes.items()}
    fixed = _PREFIX_BYTES + _LEXEME_OVERHEAD
    occurrences = _POSITION_BYTES * sum(map(len, lexemes.values()))
    if _UTF8_BYTES * sum(map(len, lexemes)) + fixed * len(lexemes) + occurrences <= MAX_VECTOR_BYTES:
        return lexemes
    budget = MAX_VECTOR_BYTES
    kept: dict[str, list[int]] = {}
    for term, positions in lexemes.items():
        budget -= fixed + len(term.encode()) + _POSITION_BYTES * len(positions)
        if budget < 0:
            break
        kept[term] = positions
    return kept


def _fit(positions: list[int]) -> list[int]:
    """At most 256 positions, none beyond 16,383; positions past the end take the last free ones before it."""
    positions = positions[:MAX_POSITIONS]
    inside = [position for position in positions if position <= MAX_POSITION]
    taken = set(inside)
    free = (position for position in range(MAX_POSITION, 0, -1) if position not in taken)
    return sorted([*inside, *(next(free) for _ in range(len(positions) - len(inside)))])

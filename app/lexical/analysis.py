"""The analyzer: text to index terms, the same way for what is stored and for what is asked.

A text is normalised (:mod:`~app.lexical.normalize`) and cut at white space into chunks; each chunk becomes words,
character bigrams (:mod:`~app.lexical.scripts`) and identifiers (:mod:`~app.lexical.identifiers`). Natural text
repeats its chunks (Zipf's law), so their analysis is remembered, stems included; that is where the speed is from.

Terms: words are case-folded, stemmed by the Snowball algorithm of the profile's text-search configuration and
accent-folded. A compound (``user_id``, ``getUserById``, ``well-known``, ``utf8``) yields its parts as words, and a
run of letters and digits stays a word as a whole beside its parts.
"""

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

import regex
import Stemmer

from app.lexical import identifiers, normalize, scripts
from app.lexical.scripts import Script
from app.lexical.stopwords import STOP_WORDS

_ALGORITHMS: Final = (
    "arabic armenian basque catalan danish dutch english estonian finnish french german greek hindi hungarian"
    " indonesian irish italian lithuanian nepali norwegian portuguese romanian russian serbian spanish swedish tamil"
    " turkish yiddish"
)
CONFIGURATIONS: Final[frozenset[str]] = frozenset({"simple", *_ALGORITHMS.split()})
"""PostgreSQL's built-in text-search configurations; all but ``simple`` name a Snowball algorithm."""

MAX_POSITION: Final = 16_383
MAX_POSITIONS: Final = 256
MAX_LEXEME_BYTES: Final = 2_046
MAX_VECTOR_BYTES: Final = 1_000_000
"""PostgreSQL's limits for a ``tsvector`` (the last, 1,048,575 bytes, with a margin)."""

_PREFIX_BYTES: Final = 6
_LEXEME_OVERHEAD: Final = 4
_POSITION_BYTES: Final = 2
_MEMO_ENTRIES: Final = 32_768
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
    """

    terms: tuple[str, ...]
    identifiers: tuple[str, ...]
    counts: tuple[int, ...]
    groups: tuple[tuple[str, ...], ...]
    tokens: int
    stop_words: int
    single_characters: int
    scripts: Mapping[Script, int] = field(default_factory=dict)

    @property
    def single_character_share(self) -> float:
        """Share of one-character tokens, 0 for an empty query."""
        return self.single_characters / self.tokens if self.tokens else 0.0


class _Token(NamedTuple):
    """One token of a text: the terms at its positions; no slot at all for a stop word."""

    surface: str
    slots: tuple[tuple[str, ...], ...]
    stored_only: tuple[str, ...] = ()


class _Chunk(NamedTuple):
    """The memo's value: (term, offset) pairs to store, positions used, and the tokens for a query."""

    stored: tuple[tuple[str, int], ...]
    width: int
    numeric: bool
    tokens: tuple[_Token, ...]
    identifiers: tuple[identifiers.Identifier, ...]


_PLAIN: Final = re.compile(r"[(\[\"']*([A-Za-z][a-z]*|[A-Z]+)[)\]\"'.,;:!?]*")
_NUMERIC: Final = re.compile(r"[(\[{\"'<]*#?[0-9]{1,8}(?:[^\w]|$)")
_WORDS: Final = regex.compile(
    r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])"
    r"|(?<![\p{L}\p{M}\p{N}.])(?:\p{L}\.)+\p{L}(?![\p{L}\p{M}\p{N}])"
    r"|(?<![\p{L}\p{N}.])[0-9]+\.[0-9]+(?![\p{L}\p{N}]|\.[0-9])"
    r"|[\p{L}\p{M}\p{N}]+(?:'[\p{L}\p{M}\p{N}]+)*"
)
_PARTS: Final = regex.compile(
    r"\p{Lu}{2,}s?(?![\p{L}\p{M}])|\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{M}]+|\p{Lu}+|\p{N}+"
)
_MIXED: Final = regex.compile(r"\p{L}\p{N}|\p{N}\p{L}|\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}{2}")
_CONTRACTED: Final = frozenset({"s", "d", "m", "ll", "re", "ve"})
_NEGATION: Final = re.compile(r"[a-z]+n't", re.IGNORECASE)
_MIN_PART: Final = 2


class Analyzer:
    """Turns texts into index terms for one text-search configuration; safe to share between threads."""

    def __init__(self, config: str) -> None:
        """Use :meth:`for_config`, which checks the name and shares one analyzer for each configuration."""
        self.config: Final = config
        self._stemmer = None if config == "simple" else Stemmer.Stemmer(config, 0)
        self._lock = threading.Lock()  # a Stemmer has internal state
        self._stop_words = STOP_WORDS.get(config, frozenset())
        self._accented_stems = config not in {"simple", "english"}
        self._chunks: dict[str, _Chunk | str] = {}
        self._words: dict[str, tuple[str, ...]] = {}

    @staticmethod
    def for_config(name: str) -> "Analyzer":
        """The analyzer of a text-search configuration.

        Raises:
            ValueError: the name is none of :data:`CONFIGURATIONS`.
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
        found: dict[str, None] = {}
        groups: list[tuple[str, ...]] = []
        tokens: list[_Token] = []
        for position, chunk in enumerate(chunks):
            entry = self._chunk(chunk)
            names = [
                *entry.identifiers,
                *(identifiers.of_reference(chunks, position) if entry.numeric else ()),
            ]
            tokens += entry.tokens
            found.update((name.term, None) for name in names if name.strong)
            chunk_groups = [
                tuple(dict.fromkeys(t for slot in token.slots for t in slot)) for token in entry.tokens
            ]
            groups += [group for group in chunk_groups if group]
            for group in chunk_groups:
                for term in group:
                    counts[term] = counts.get(term, 0) + 1
            for name in names:
                if name.term[1:] not in counts:
                    counts[name.term] = counts.get(name.term, 0) + 1
        by_script: dict[Script, int] = {}
        for token in tokens:
            script = scripts.script_of(token.surface)
            by_script[script] = by_script.get(script, 0) + 1
        return AnalyzedQuery(
            terms=tuple(counts),
            identifiers=tuple(found),
            counts=tuple(counts.values()),
            groups=tuple(groups),
            tokens=len(tokens),
            stop_words=sum(not token.slots for token in tokens),
            single_characters=sum(len(token.surface) == 1 for token in tokens),
            scripts=by_script,
        )

    def _split(self, text: str) -> list[str]:
        text = normalize.clean(text)
        if self.config == "turkish":
            text = text.replace("I", "ı").replace("İ", "i")
        return text.split()

    def _scan(self, text: str, lexemes: dict[str, list[int]]) -> int:
        """Add a text's terms with their positions; return the number of positions used."""
        memo = self._chunks
        chunks = self._split(text)
        length = 0
        for index, chunk in enumerate(chunks):
            entry = memo.get(chunk) or self._remember(chunk)
            if isinstance(entry, str):
                length += 1
                if entry in lexemes:
                    lexemes[entry].append(length)
                else:
                    lexemes[entry] = [length]
                continue
            stored = entry.stored
            if entry.numeric:
                stored += tuple((name.term, 1) for name in identifiers.of_reference(chunks, index))
            for term, offset in stored:
                positions = lexemes.setdefault(term, [])
                if not positions or positions[-1] < length + offset:
                    positions.append(length + offset)
            length += entry.width
        return length

    def _remember(self, chunk: str) -> "_Chunk | str":
        """Analyse a chunk and keep the result; a chunk that is one plain term is kept as that string."""
        entry = self._analyse(chunk)
        value: _Chunk | str = entry
        if entry.width == 1 and len(entry.stored) == 1 and not entry.numeric:
            value = entry.stored[0][0]
        if len(chunk) <= _MEMO_CHUNK:
            if len(self._chunks) >= _MEMO_ENTRIES:
                self._chunks.clear()
            self._chunks[chunk] = value
        return value

    def _chunk(self, chunk: str) -> _Chunk:
        entry = self._chunks.get(chunk)
        return entry if isinstance(entry, _Chunk) else self._analyse(chunk)

    def _analyse(self, chunk: str) -> _Chunk:
        plain = _PLAIN.fullmatch(chunk)
        names: list[identifiers.Identifier] = []
        if plain is not None:
            tokens = [self._token(plain[1])]
        else:
            tokens = []
            for kind, run in scripts.segments(chunk):
                if kind == "other":
                    names += identifiers.of_chunk(run)
                    tokens += self._tokens(run)
                else:
                    tokens += _unspaced(kind, run)
        stored: list[tuple[str, int]] = [(name.term, 1) for name in names]
        width = 0
        for token in tokens:
            for slot in token.slots:
                width += 1
                stored += [(term, width) for term in slot]
            stored += [(term, width) for term in token.stored_only]
        numeric = _NUMERIC.match(chunk) is not None
        return _Chunk(tuple(dict.fromkeys(stored)), width, numeric, tuple(tokens), tuple(names))

    def _tokens(self, text: str) -> Iterable[_Token]:
        """The words of a text without unspaced scripts."""
        for word in _WORDS.findall(text):
            if "'" in word:
                yield from self._apostrophe(word)
            elif "," in word:
                yield self._token(word.replace(",", ""))
            elif "." in word and not word[0].isdigit():
                yield self._token(word.replace(".", ""))
            else:
                yield self._token(word)

    def _apostrophe(self, word: str) -> Iterable[_Token]:
        """``what's`` -> what, ``don't`` -> dont, ``l'eau`` -> l eau, ``O'Brien`` -> o brien obrien."""
        if _NEGATION.fullmatch(word):
            yield self._token(word.replace("'", ""))
            return
        head, *tail = word.split("'")
        if len(tail) == 1 and tail[0].lower() in _CONTRACTED:
            yield self._token(head)
            return
        joined = self._terms(word.replace("'", ""))
        for index, piece in enumerate([head, *tail]):
            token = self._token(piece)
            if index == 0 and token.slots:
                token = token._replace(slots=((*token.slots[0], *joined), *token.slots[1:]))
            yield token

    def _token(self, word: str) -> _Token:
        """One word: itself, and its parts when letters meet digits or its case changes inside."""
        whole = self._terms(word)
        parts: list[tuple[str, ...]] = []
        if _MIXED.search(word):
            found = [part for part in _PARTS.findall(word) if len(part) >= _MIN_PART or part.isdigit()]
            parts = [terms for part in found if part != word and (terms := self._terms(part))]
        if not parts:
            return _Token(word, (whole,) if whole else ())
        return _Token(word, ((*whole, *parts[0]), *parts[1:]))

    def _terms(self, word: str) -> tuple[str, ...]:
        """The terms of one word (none for a stop word; two when the accents decide about the stem)."""
        terms = self._words.get(word)
        if terms is None:
            terms = self._stem(normalize.casefold(word))
            if len(self._words) >= _MEMO_ENTRIES:
                self._words.clear()
            self._words[word] = terms
        return terms

    def _stem(self, folded_case: str) -> tuple[str, ...]:
        if folded_case in self._stop_words:
            return ()
        plain = normalize.fold(folded_case)
        if self._stemmer is None or len(plain) > identifiers.MAX_TERM_CHARACTERS:
            terms = [plain]
        else:
            with self._lock:
                terms = [self._stemmer.stemWord(plain)]
                if self._accented_stems and plain != folded_case:
                    terms.insert(0, self._stemmer.stemWord(folded_case))
        return tuple(
            dict.fromkeys(identifiers.bounded(form) for term in terms if (form := normalize.fold(term)))
        )


@lru_cache(maxsize=len(CONFIGURATIONS))
def _analyzer(config: str) -> Analyzer:
    return Analyzer(config)


def _unspaced(kind: str, run: str) -> Iterable[_Token]:
    """Tokens of a run of CJK or South-East Asian script, or of one emoji sequence."""
    if kind == "emoji":
        bases = [base for base in dict.fromkeys(scripts.emoji_bases(run)) if base != run]
        yield _Token(run, ((identifiers.bounded(run), *bases),))
        return
    characters = [identifiers.bounded(normalize.fold(unit) or unit) for unit in scripts.units(run)]
    pairs = scripts.bigrams(characters)
    if not pairs:
        yield _Token(run, ((characters[0],),))
        return
    for index, pair in enumerate(pairs, start=1):
        alone = characters[index - 1 : index] if index < len(pairs) else characters[-2:]
        yield _Token(pair, ((identifiers.bounded(pair),),), stored_only=tuple(alone))


def _within_limits(lexemes: dict[str, list[int]]) -> dict[str, list[int]]:
    """Keep what PostgreSQL can hold: frequencies survive, positions beyond the last one are moved to the end."""
    budget = MAX_VECTOR_BYTES
    kept: dict[str, list[int]] = {}
    for term, positions in lexemes.items():
        fitting = (
            positions
            if positions[-1] <= MAX_POSITION and len(positions) <= MAX_POSITIONS
            else _fit(positions)
        )
        size = len(term) * 4 if not term.isascii() else len(term)
        budget -= _PREFIX_BYTES + size + _LEXEME_OVERHEAD + _POSITION_BYTES * len(fitting)
        if budget < 0:
            break
        kept[term] = fitting
    return kept


def _fit(positions: list[int]) -> list[int]:
    """At most 256 positions, none beyond 16,383; positions past the end take the last free ones before it."""
    positions = positions[:MAX_POSITIONS]
    inside = [position for position in positions if position <= MAX_POSITION]
    taken = set(inside)
    free = (position for position in range(MAX_POSITION, 0, -1) if position not in taken)
    return sorted([*inside, *(next(free) for _ in range(len(positions) - len(inside)))])

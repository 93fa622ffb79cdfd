"""Words: from a run of text to stemmed terms, and from a compound to its parts.

A word is a maximal run of letters, marks and digits. Numbers lose their thousands separators (``1,000``) and keep
their decimal point; dotted abbreviations are joined (``U.S.`` -> us); possessive and contracted endings go
(``what's`` -> what), negations are joined (``don't`` -> dont), and any other apostrophe separates, with the joined
spelling beside (``O'Brien`` -> o brien obrien). So does a hyphen between letters (``e-mail`` -> e mail email).

Parts beside the whole were measured with BM25 (k1 1.2, b .75, nDCG@10): without parts of compounds GitBugs Hadoop .564,
SciFact .684, CoSQA .385; with them .603, .695, .390; with hyphenated words joined as well .612, .695, .390. LoCoMo,
Cranfield and CMRC stay within .002.
"""

import re
import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import regex
import Stemmer

from app.lexical import normalize
from app.lexical.identifiers import MAX_TERM_CHARACTERS, bounded
from app.lexical.memo import Memo
from app.lexical.stopwords import STOP_WORDS

_ALGORITHMS: Final = (
    "arabic armenian basque catalan danish dutch english estonian finnish french german greek hindi hungarian"
    " indonesian irish italian lithuanian nepali norwegian portuguese romanian russian serbian spanish swedish tamil"
    " turkish yiddish"
)
CONFIGURATIONS: Final[frozenset[str]] = frozenset({"simple", *_ALGORITHMS.split()})
"""PostgreSQL's built-in text-search configurations; all but ``simple`` name a Snowball algorithm."""

# Whose stemmers know no accents: there, accents are folded before stemming ("résumés" and "resumes" meet).
_STEMMED_WITHOUT_ACCENTS: Final = frozenset({"simple", "english"})

# The same patterns twice: ``re`` is several times faster than ``regex`` and enough for ASCII.
_LETTER, _CHARACTER = r"\p{L}", r"[\p{L}\p{M}\p{N}]"


def _word_pattern(letter: str, character: str) -> str:
    return (
        r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])"
        rf"|(?<!{character})(?<!\.)(?:{letter}\.)+{letter}(?!{character})"
        rf"|(?<!{character})(?<!\.)[0-9]+\.[0-9]+(?!{character}|\.[0-9])"
        rf"|(?<!{character})(?<![\-_]){letter}+(?:-{letter}+)+(?!{character}|[\-'_])"
        rf"|{character}+(?:'{character}+)*"
    )


_WORDS: Final = regex.compile(_word_pattern(_LETTER, _CHARACTER))
_ASCII_WORDS: Final = re.compile(_word_pattern("[A-Za-z]", "[A-Za-z0-9]"))
_PARTS: Final = regex.compile(
    r"\p{Lu}{2,}s?(?![\p{L}\p{M}])|\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{M}]+|\p{Lu}+|\p{N}+"
)
_ASCII_PARTS: Final = re.compile(r"[A-Z]{2,}s?(?![A-Za-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_MIXED: Final = regex.compile(r"\p{L}\p{N}|\p{N}\p{L}|\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}{2}")
_ASCII_MIXED: Final = re.compile(r"[A-Za-z][0-9]|[0-9][A-Za-z]|[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_CONTRACTED: Final = frozenset({"s", "d", "m", "ll", "re", "ve"})
_NEGATION: Final = re.compile(r"[a-z]+n't", re.IGNORECASE)
_WITH_ENDING: Final = 2
_MIN_PART: Final = 2


class Token(NamedTuple):
    """A token of a text.

    Attributes:
        surface: the token as written (after cleaning).
        slots: for each position that the token takes, the terms found there; none for a stop word.
        stored_only: the unigrams of a run of bigrams, stored but not asked for: one more than there are slots (each
            slot then holds one term); else empty.
    """

    surface: str
    slots: tuple[tuple[str, ...], ...]
    stored_only: tuple[str, ...] = ()


class WordAnalyzer:
    """Words of one text-search configuration; safe to share between threads."""

    def __init__(self, config: str) -> None:
        """Take the name of one of :data:`CONFIGURATIONS`."""
        self._stemmer: Any = None if config == "simple" else Stemmer.Stemmer(config, 0)
        self._lock = threading.Lock()  # a Stemmer has internal state
        self._stop_words = STOP_WORDS.get(config, frozenset())
        self._accented_stems = config not in _STEMMED_WITHOUT_ACCENTS
        self._dotless_i = config == "turkish"
        self._memo: Memo[tuple[str, ...]] = Memo()

    def tokens(self, text: str) -> Iterator[Token]:
        """The words of a cleaned text that holds no unspaced script and no emoji, in order."""
        for word in (_ASCII_WORDS if text.isascii() else _WORDS).findall(text):
            if "'" in word:
                yield from self._apostrophe(word)
            elif "-" in word:
                yield from self._compound(word.split("-"))
            elif "," in word:
                yield self._token(word.replace(",", ""))
            elif "." in word and not word[0].isdigit():
                yield self._token(word.replace(".", ""))
            else:
                yield self._token(word)

    def terms(self, word: str) -> tuple[str, ...]:
        """The terms of one word: none for a stop word, two when its accents decide about the stem, else one."""
        terms = self._memo.get(word)
        if terms is None:
            cased = word.replace("I", "ı").replace("İ", "i") if self._dotless_i else word
            terms = self._memo.put(word, self._stem(normalize.casefold(cased)))
        return terms

    def _apostrophe(self, word: str) -> Iterator[Token]:
        if _NEGATION.fullmatch(word):
            yield self._token(word.replace("'", ""))
            return
        pieces = word.split("'")
        if len(pieces) == _WITH_ENDING and pieces[1].lower() in _CONTRACTED:
            yield self._token(pieces[0])
        else:
            yield from self._compound(pieces)

    def _compound(self, pieces: list[str]) -> Iterator[Token]:
        """The pieces as words, with their joined spelling at the first place."""
        tokens = [self._token(piece) for piece in pieces]
        joined = self.terms("".join(pieces))
        first = next((index for index, token in enumerate(tokens) if token.slots), 0)
        slots = tokens[first].slots or ((),)
        tokens[first] = tokens[first]._replace(
            slots=((*slots[0], *joined), *slots[1:]) if joined else tokens[first].slots
        )
        yield from tokens

    def _token(self, word: str) -> Token:
        """One word: itself, and its parts when letters meet digits or its case changes inside."""
        whole = self.terms(word)
        ascii_only = word.isascii()
        if not (_ASCII_MIXED if ascii_only else _MIXED).search(word):
            return Token(word, (whole,) if whole else ())
        found = (_ASCII_PARTS if ascii_only else _PARTS).findall(word)
        parts = [
            terms
            for part in found
            if (len(part) >= _MIN_PART or part.isdigit()) and part != word and (terms := self.terms(part))
        ]
        return Token(word, ((*whole, *parts[0]), *parts[1:]) if parts else (whole,) if whole else ())

    def _stem(self, word: str) -> tuple[str, ...]:
        """Terms of a case-folded word."""
        if word in self._stop_words:
            return ()
        plain = normalize.fold(word)
        if self._stemmer is None or len(plain) > MAX_TERM_CHARACTERS:
            return (bounded(plain),) if plain else ()
        with self._lock:
            stems = [self._stemmer.stemWord(plain)]
            if self._accented_stems and plain != word:
                stems.insert(0, self._stemmer.stemWord(word))
        return tuple(dict.fromkeys(bounded(form) for stem in stems if (form := normalize.fold(stem))))


@lru_cache(maxsize=len(CONFIGURATIONS))
def words_of(config: str) -> WordAnalyzer:
    """The words of a configuration; one analyzer for all who ask, as it remembers stems."""
    return WordAnalyzer(config)

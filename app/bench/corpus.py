"""Synthetic memories and questions, the same for the same seed. Pure functions.

Words are made of syllables and drawn by Zipf's law, as in natural text: the commonest of 20,000 words is in two thirds
of the fragments, most are in a handful. Every fourth fragment also names something by an identifier that it alone holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

QueryKind = Literal["rare words", "common words", "identifier", "long question"]
QUERY_KINDS: Final[tuple[QueryKind, ...]] = ("rare words", "common words", "identifier", "long question")

WORDS: Final = 20_000
SHORTEST: Final = 8
LONGEST: Final = 20
COMMON: Final = 20
"""Ranks that count as common: the 20th word is still in about one fragment of fifteen."""
RARE_WORDS: Final = 3
LONG_QUESTION: Final = 110
EVERY: Final = 4
"""One fragment in so many holds an identifier."""

_CONSONANTS: Final = (
    "b",
    "br",
    "d",
    "dr",
    "f",
    "g",
    "gl",
    "k",
    "kl",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "st",
    "t",
    "v",
)
_VOWELS: Final = ("a", "e", "i", "o", "u", "ai", "ou")
_CODAS: Final = ("", "l", "m", "n", "r", "x")
_FORMS: Final = (
    "KIT-{n}",
    "v4.{n}.2",
    "order_id_{n}",
    "src/job_{n}/main.py",
    "error E{n}",
    "#{n}",
    "build {n:07x}a",
    "host-{n}.example.org",
)


@dataclass(frozen=True)
class Corpus:
    """A source of fragments and questions about them.

    Attributes:
        seed: Same seed, same texts.
        words: Size of the vocabulary.
    """

    seed: int = 7
    words: int = WORDS

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Distinct pseudo-words, commonest first."""
        rng = np.random.default_rng([self.seed, 1])
        made: dict[str, None] = {}
        while len(made) < self.words:
            syllables = rng.integers(2, 4)
            parts = [
                f"{_CONSONANTS[rng.integers(len(_CONSONANTS))]}{_VOWELS[rng.integers(len(_VOWELS))]}"
                for _ in range(syllables)
            ]
            made["".join(parts) + _CODAS[rng.integers(len(_CODAS))]] = None
        return tuple(made)

    def fragments(self, count: int, *, first: int = 0) -> list[str]:
        """Fragments ``first`` to ``first + count``; two calls with other bounds share no random state."""
        rng = np.random.default_rng([self.seed, 2, first])
        lengths = rng.integers(SHORTEST, LONGEST + 1, size=count)
        ranks = self._draw(rng, int(lengths.sum()))
        texts: list[str] = []
        start = 0
        for index, length in enumerate(lengths, start=first):
            words = [self.vocabulary[rank] for rank in ranks[start : start + length]]
            start += length
            if index % EVERY == 0:
                words.insert(len(words) // 2, identifier(index))
            text = " ".join(words)
            texts.append(f"{text[0].upper()}{text[1:]}.")
        return texts

    def questions(self, kind: QueryKind, count: int, fragments: Sequence[str]) -> list[str]:
        """Distinct questions of one kind about the given fragments (``fragments(n)`` from the first on)."""
        rng = np.random.default_rng([self.seed, 3, QUERY_KINDS.index(kind)])
        asked: dict[str, None] = {}
        while len(asked) < count:
            asked[self._question(kind, rng, fragments)] = None
        return list(asked)

    def _question(self, kind: QueryKind, rng: np.random.Generator, fragments: Sequence[str]) -> str:
        if kind == "common words":
            size = int(rng.integers(3, 7))
            return " ".join(self.vocabulary[rank] for rank in rng.permutation(COMMON)[:size])
        if kind == "long question":
            return " ".join(self.vocabulary[rank] for rank in self._draw(rng, LONG_QUESTION)) + "?"
        if kind == "identifier":
            index = int(rng.integers(-(-len(fragments) // EVERY))) * EVERY
            words = [self.vocabulary[rank] for rank in rng.integers(100, 1_000, size=2)]
            return f"What of {identifier(index)} and {' '.join(words)}?"
        words = fragments[int(rng.integers(len(fragments)))].rstrip(".").lower().split()
        known = sorted((word for word in words if word in self._ranks), key=self._ranks.__getitem__)
        return " ".join(known[-RARE_WORDS:])

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {word: rank for rank, word in enumerate(self.vocabulary)}

    @cached_property
    def _cumulated(self) -> npt.NDArray[np.float64]:
        weights = 1 / np.arange(1, self.words + 1)
        cumulated: npt.NDArray[np.float64] = np.cumsum(weights / weights.sum())
        return cumulated

    def _draw(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """Ranks by Zipf's law."""
        drawn = np.searchsorted(self._cumulated, rng.random(count)).astype(np.int64)
        return np.minimum(drawn, self.words - 1)


def identifier(index: int) -> str:
    """The identifier that fragment ``index`` holds."""
    return _FORMS[index // EVERY % len(_FORMS)].format(n=index + 1_000)

"""What an embedder is, and what its vectors must be like at the boundary."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.embeddings.descriptor import EmbeddingDescriptor
from app.embeddings.errors import EmbeddingError, InvalidVectorError

Vector = NDArray[np.float32]
"""One vector, shape [dimension]."""
Vectors = NDArray[np.float32]
"""Several vectors, shape [n, dimension]."""

NORM_TOLERANCE: Final = 1e-3

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TokenStatistics:
    """How a model reads a text: recall trusts a vector less when the model knows few of the text's tokens.

    Attributes:
        tokens: Tokens of the text, without the model's own markers.
        unknown: Tokens outside the model's vocabulary.
        single_characters: Known or unknown tokens that cover a single letter or digit.
        lettered: Tokens that cover a letter, and unknown ones; 0 where the model has no fixed vocabulary.
        letters: Letters that the known ones among those cover.
    """

    tokens: int
    unknown: int = 0
    single_characters: int = 0
    lettered: int = 0
    letters: int = 0

    @property
    def unknown_share(self) -> float:
        """Share of unknown tokens, 0 to 1; 0 for a text without tokens."""
        return self.unknown / self.tokens if self.tokens else 0.0

    @property
    def single_character_share(self) -> float:
        """Share of single-character tokens, 0 to 1; 0 for a text without tokens."""
        return self.single_characters / self.tokens if self.tokens else 0.0

    @property
    def letters_per_token(self) -> float | None:
        """Letters that a token spans on average: few where the model spells a language; `None` without tokens."""
        return self.letters / self.lettered if self.lettered else None


@dataclass(frozen=True, slots=True)
class BatchLimit:
    """How much one uninterrupted call of an embedder may hold, so that a waiting query gets its turn.

    Attributes:
        texts: Texts at most.
        characters: Number of texts times the longest text's characters, at most; one text always fits.
    """

    texts: int
    characters: int

    def admits(self, texts: int, longest: int) -> bool:
        """Whether a batch of so many texts, the longest of so many characters, is within the limit."""
        return texts == 1 or (texts <= self.texts and texts * longest <= self.characters)


class TextReader(Protocol):
    """What every embedder knows about texts without embedding them."""

    @property
    def descriptor(self) -> EmbeddingDescriptor:
        """The space of the vectors; may read the model's files on first use."""

    @property
    def batch_limit(self) -> BatchLimit:
        """The largest batch worth sending at once."""

    def windows(self, texts: Sequence[str]) -> list[list[str]]:
        """Split each text into the overlapping slices that fit the model's window; most texts yield one.

        The slices of a text cover it whole and in order. Safe to call from any thread once loaded.
        """

    def token_statistics(self, text: str) -> TokenStatistics:
        """Count the tokens of a text; safe to call from any thread once loaded."""


class Embedder(TextReader, Protocol):
    """An embedder that computes in this process; its calls block and come from one thread."""

    @property
    def inline(self) -> bool:
        """Whether a query costs microseconds, so that no thread is worth it."""

    def load(self) -> None:
        """Make the embedder ready; repeating it does nothing.

        Raises:
            EmbedderConfigurationError: The model is missing or not the configured one.
        """

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed stored texts, each within the window: float32[n, dimension], in order."""

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, each within the window: float32[n, dimension], in order."""


@runtime_checkable
class AsyncEmbedder(TextReader, Protocol):
    """An embedder that waits for another process; several calls may be under way at once."""

    @property
    def concurrency(self) -> int:
        """Calls under way at once, at most."""

    async def aload(self) -> None:
        """Make the embedder ready; repeating it does nothing.

        Raises:
            EmbedderConfigurationError: The other side answers, but not as configured.
            EmbedderUnavailable: The other side does not answer.
        """

    async def aembed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed stored texts, each within the window: float32[n, dimension], in order."""

    async def aembed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, each within the window: float32[n, dimension], in order."""

    async def aclose(self) -> None:
        """Release connections; repeating it does nothing."""


def check_vectors(array: ArrayLike, dimension: int, count: int, *, normalized: bool = False) -> Vectors:
    """Accept an embedder's answer as float32[count, dimension], or refuse it.

    Args:
        array: What the embedder returned.
        dimension: Components a vector must have.
        count: Vectors there must be.
        normalized: Also require every length to be 1 within 0.001.

    Raises:
        EmbeddingError: The shape is another.
        InvalidVectorError: Rows are zero, not finite, or (if asked for) not of length 1.
    """
    with np.errstate(over="ignore"):
        try:
            vectors = np.asarray(array, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise EmbeddingError("the embedder returned no rectangular array of numbers") from error
    if vectors.shape != (count, dimension):
        raise EmbeddingError(
            f"the embedder returned vectors of shape {vectors.shape}; expected ({count}, {dimension})"
        )
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    # A NaN or an infinite component makes the norm NaN or infinite, so the norm tells all three faults.
    bad = ~np.isfinite(norms) | (norms == 0)
    if normalized:
        bad |= np.abs(norms - 1.0) > NORM_TOLERANCE
    if bad.any():
        indexes = np.flatnonzero(bad).tolist()
        shown = ", ".join(f"row {index} has length {norms[index]:g}" for index in indexes[:3])
        raise InvalidVectorError(f"{len(indexes)} of {count} vectors are unusable: {shown}", indexes=indexes)
    return vectors


def replace_surrogates(text: str) -> str:
    """Put U+FFFD in the place of lone surrogates, which no UTF-8 encoder and no tokenizer takes."""
    return _SURROGATE.sub("\ufffd", text)

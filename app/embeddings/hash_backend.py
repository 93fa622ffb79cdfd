"""The `hash` embedder: hotmem-hash-v1, signed character trigrams hashed into 64 buckets.

No model and no training: texts that share spelling come near each other, meaning is not seen. It serves tests,
tiny installs, and packages of other programs whose vectors were made the same way.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.embeddings.descriptor import HASH_DESCRIPTOR, EmbeddingDescriptor
from app.embeddings.protocol import BatchLimit, TokenStatistics, Vectors, replace_surrogates

DIMENSION: Final = HASH_DESCRIPTOR.dimension
GRAM: Final = 3
CACHED_GRAMS: Final = 262_144
_BATCH_LIMIT: Final = BatchLimit(texts=512, characters=262_144)


class _GramCodes(dict[str, int]):
    """Maps a gram to its bucket (0..63), plus 64 when its sign is negative; computed once per gram.

    Emptied when full: English text has some ten thousand trigrams, so that happens under CJK text only.
    """

    def __missing__(self, gram: str) -> int:
        if len(self) >= CACHED_GRAMS:
            self.clear()
        digest = hashlib.md5(gram.encode(), usedforsecurity=False).digest()
        code = (digest[15] & 63) | ((digest[7] & 1) << 6)
        self[gram] = code
        return code


class HashEmbedder:
    """Embeds by hotmem-hash-v1; every text is one window, queries and documents are treated alike.

    The recipe leaves a zero vector when a text's grams cancel each other (about one in 128 texts of four
    characters). Such a vector has no direction and would be refused at the boundary, so the whole text then counts
    as a single gram, the way texts of up to three characters do.
    """

    inline: Final = True

    def __init__(self) -> None:
        self._codes = _GramCodes()

    @property
    def descriptor(self) -> EmbeddingDescriptor:
        """The fixed descriptor with the key `hotmem-hash-v1`."""
        return HASH_DESCRIPTOR

    @property
    def batch_limit(self) -> BatchLimit:
        """Batches of a few milliseconds."""
        return _BATCH_LIMIT

    def load(self) -> None:
        """Nothing to load."""

    def windows(self, texts: Sequence[str]) -> list[list[str]]:
        """Every text is one window: the hash reads texts of any length."""
        return [[text] for text in texts]

    def token_statistics(self, text: str) -> TokenStatistics:
        """Grams of the text; none is ever unknown."""
        return TokenStatistics(tokens=max(1, len(text.lower()) - GRAM + 1))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed texts: float32[n, 64], each of length 1."""
        counts = np.empty((len(texts), DIMENSION), dtype=np.float64)
        for row, text in enumerate(texts):
            counts[row] = self._counts(replace_surrogates(text).lower())
        lengths = np.sqrt((counts * counts).sum(axis=1, keepdims=True))
        vectors: Vectors = (counts / lengths).astype(np.float32)
        return vectors

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions as documents are embedded."""
        return self.embed_documents(texts)

    def _counts(self, text: str) -> NDArray[np.int64]:
        codes = self._codes
        grams = [text[start : start + GRAM] for start in range(max(1, len(text) - GRAM + 1))]
        positive, negative = np.bincount(
            np.frombuffer(bytes([codes[gram] for gram in grams]), dtype=np.uint8), minlength=2 * DIMENSION
        ).reshape(2, DIMENSION)
        counts: NDArray[np.int64] = positive - negative
        return counts if counts.any() else self._counts_of_one(text)

    def _counts_of_one(self, gram: str) -> NDArray[np.int64]:
        # Not through the cache: whole texts would crowd the trigrams out.
        code = _GramCodes()[gram]
        counts = np.zeros(DIMENSION, dtype=np.int64)
        counts[code & 63] = -1 if code & 64 else 1
        return counts

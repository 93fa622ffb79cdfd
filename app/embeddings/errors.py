"""What can go wrong between a text and its vectors."""

from collections.abc import Sequence


class EmbeddingError(Exception):
    """A text could not be turned into usable vectors; the base of every error of this package."""


class EmbedderConfigurationError(EmbeddingError):
    """The embedder cannot work as configured: missing model, other weights, other dimension, bad address."""


class EmbedderUnavailable(EmbeddingError):  # noqa: N818 - a state of the service that callers answer with 503
    """The embedder is loading, down, overloaded or too slow; the same call may succeed later.

    Attributes:
        retry_after: Seconds after which a caller may try again.
    """

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TextRefusedError(EmbeddingError):
    """The embedding provider refused the input itself; sending it again gives the same answer."""


class InvalidVectorError(EmbeddingError):
    """Some rows of a batch are no usable vectors: zero, not finite, or not normalised as promised.

    Attributes:
        indexes: The offending rows, ascending.
    """

    def __init__(self, message: str, *, indexes: Sequence[int]) -> None:
        super().__init__(message)
        self.indexes = tuple(indexes)

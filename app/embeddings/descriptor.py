"""The embedding descriptor: which vectors may be compared with which."""

from dataclasses import dataclass
from typing import Final, Literal

HASH_KEY: Final = "hotmem-hash-v1"

Normalization = Literal["none", "l2"]
Metric = Literal["cosine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingDescriptor:
    """The identity of an embedding space.

    Vectors are compared only when their descriptors have the same `key`. Dimension and metric are no part of the
    key: a key names a way to make vectors, and each way has one dimension.

    Attributes:
        implementation: The code family that computes vectors, such as `sentence-transformers`.
        model: The model's name.
        dimension: Components of a vector.
        revision: The exact artifact; empty when the implementation alone fixes it.
        normalization: `l2` when vectors have length 1.
        metric: How two vectors are compared.
        preprocessing: What is done to a text before the model sees it; empty for nothing.

    Raises:
        ValueError: A field is out of its domain; `/` and `@` would make keys ambiguous.
    """

    implementation: str
    model: str
    dimension: int
    revision: str = ""
    normalization: Normalization = "l2"
    metric: Metric = "cosine"
    preprocessing: str = ""

    def __post_init__(self) -> None:
        for name in ("implementation", "model", "revision", "normalization", "preprocessing"):
            value = getattr(self, name)
            if any(character in "/@" or character.isspace() for character in value):
                raise ValueError(f"{name} {value!r} must not contain '/', '@' or white space")
        if not self.implementation or not self.model:
            raise ValueError("implementation and model must not be empty")
        if self.normalization not in ("none", "l2"):
            raise ValueError(f"normalization {self.normalization!r} is neither 'none' nor 'l2'")
        if self.metric != "cosine":
            raise ValueError(f"metric {self.metric!r} is not 'cosine'")
        if self.dimension <= 0:
            raise ValueError(f"dimension {self.dimension} must be positive")

    @property
    def key(self) -> str:
        """The name of the space: `implementation/model[/rev:R]/norm:N[/pp:P]`.

        The hash embedder has the fixed key `hotmem-hash-v1`, which packages written by other programs carry too.
        """
        if self == HASH_DESCRIPTOR:
            return HASH_KEY
        parts = [self.implementation, self.model]
        if self.revision:
            parts.append(f"rev:{self.revision}")
        parts.append(f"norm:{self.normalization}")
        if self.preprocessing:
            parts.append(f"pp:{self.preprocessing}")
        return "/".join(parts)


HASH_DESCRIPTOR: Final = EmbeddingDescriptor(
    implementation="hotmem", model="hash", dimension=64, revision="v1", preprocessing="lower"
)

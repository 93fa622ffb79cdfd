"""What one memory contributes to the index."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
import numpy.typing as npt

from app.indexing.models import Kind
from app.lexical.analysis import AnalyzedDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One memory, analysed and embedded.

    Attributes:
        vectors: float32[windows, dimension], L2-normalised.
        fingerprint: what near-duplicates are recognised by (`app.lexical.fingerprint`), for the kinds that have any.
    """

    id: UUID
    kind: Kind
    document: AnalyzedDocument
    vectors: npt.NDArray[np.float32]
    source_type: str
    labels: list[str]
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    recorded_to: datetime | None
    fingerprint: bytes | None = None


@dataclass(frozen=True, slots=True)
class CollectionTotals:
    """Totals over one kind of memory in one profile."""

    documents: int
    tokens: int
    tokens_squared: int
    vectors: int

    @property
    def average_length(self) -> float:
        """Mean document length in tokens; 1 for an empty collection, so that it can be divided by."""
        return self.tokens / self.documents if self.documents and self.tokens else 1.0

    @property
    def windows(self) -> float:
        """Mean number of windows of a memory, 1 or more."""
        return max(1.0, self.vectors / self.documents) if self.documents else 1.0

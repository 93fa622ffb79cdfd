"""Claims and facts in the search index: their statement as a sentence, with their labels beside it."""

from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from app.db.unit_of_work import UnitOfWork
from app.embeddings.service import EmbeddingService
from app.indexing.entries import IndexEntry
from app.indexing.models import Kind
from app.indexing.service import IndexingService
from app.knowledge.statements import Statement, StatementText, sentence_of
from app.lexical.analysis import Analyzer

Vectors = npt.NDArray[np.float32]


class KnowledgeIndex:
    """Makes claims and facts findable. Embedding holds no connection: it comes before the transaction."""

    def __init__(self, embeddings: EmbeddingService, indexing: IndexingService) -> None:
        self._embeddings = embeddings
        self._indexing = indexing

    def check_space(self, space_id: int) -> None:
        """Refuse to mix embedding spaces.

        Raises:
            StrataError: ``embedding_space_mismatch``.
        """
        self._indexing.check_space(space_id)

    async def embed(self, statement: Statement) -> Vectors:
        """Vectors of a statement.

        Raises:
            EmbedderUnavailable: the embedder is down, overloaded or too slow.
        """
        [vectors] = await self._embeddings.embed_documents([sentence_of(statement)])
        return vectors

    async def add(self, unit: UnitOfWork, kind: Kind, row: Any, vectors: Vectors, config: str) -> None:
        """Make a claim or fact findable as soon as the unit commits; ``row`` has its columns by name."""
        entry = IndexEntry(
            id=row["id"],
            kind=kind,
            document=Analyzer.for_config(config).document(sentence_of(StatementText.of(row)), row["labels"]),
            vectors=vectors,
            source_type=row["source_type"],
            labels=row["labels"],
            valid_from=row["valid_from"],
            valid_to=row["valid_to"],
            recorded_at=row["recorded_at"],
            recorded_to=row["recorded_to"],
        )
        await self._indexing.add(unit, [entry])

    async def remove(self, unit: UnitOfWork, *ids: UUID) -> None:
        """Make claims and facts unfindable; those that are not indexed are passed over."""
        if ids:
            await self._indexing.remove(unit, list(ids))

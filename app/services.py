"""Every service of one process, built once."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.db.unit_of_work import Database
from app.embeddings.service import EmbeddingService
from app.http.rate_limits import RateLimiter
from app.indexing.placement import PlacementService
from app.indexing.service import IndexingService
from app.jobs.queue import JobQueue
from app.knowledge.services import KnowledgeServices
from app.memory.service import FragmentService
from app.settings import Settings
from app.tenancy.authentication import Authentication
from app.tenancy.idempotency import WriteExecutor
from app.tenancy.service import TenancyService

if TYPE_CHECKING:
    from app.recall.pipeline import RecallService


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What routes and commands call."""

    settings: Settings
    database: Database
    embeddings: EmbeddingService
    indexing: IndexingService
    placement: PlacementService
    jobs: JobQueue
    authentication: Authentication
    rate_limiter: RateLimiter
    writes: WriteExecutor
    tenancy: TenancyService
    fragments: FragmentService
    knowledge: KnowledgeServices
    recall: "RecallService"

    @property
    def operator_token(self) -> str | None:
        """Token of the operator's routes."""
        token = self.settings.operator_token
        return None if token is None else token.get_secret_value()

    @property
    def space_id(self) -> int:
        """Embedding space of this process's embedder."""
        return self.indexing.space_id

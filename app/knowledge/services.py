"""Every service of the knowledge package, wired once."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.db.unit_of_work import Database
from app.embeddings.service import EmbeddingService
from app.indexing.service import IndexingService
from app.knowledge.claims import ClaimService
from app.knowledge.extractors import Extractor
from app.knowledge.fact_changes import FactChangeService
from app.knowledge.facts import FactService
from app.knowledge.index import KnowledgeIndex
from app.knowledge.lineage import LineageService
from app.knowledge.predicates import PredicateService
from app.knowledge.promotions import PromotionService
from app.knowledge.recalled import RecalledService
from app.knowledge.remember import RememberService
from app.knowledge.support import SupportKeeper
from app.knowledge.verifiers import Verifier
from app.memory.service import FragmentService
from app.tenancy.idempotency import WriteExecutor


@dataclass(frozen=True, slots=True)
class KnowledgeServices:
    """What routes, jobs and recall call."""

    claims: ClaimService
    facts: FactService
    fact_changes: FactChangeService
    promotions: PromotionService
    predicates: PredicateService
    lineage: LineageService
    recalled: RecalledService
    remember: RememberService
    verifier: Verifier
    extractors: Mapping[str, Extractor]

    async def close(self) -> None:
        """Close what verifier and extractors hold open."""
        await self.verifier.close()
        for extractor in self.extractors.values():
            await extractor.close()


def build_knowledge(
    database: Database,
    embeddings: EmbeddingService,
    indexing: IndexingService,
    fragments: FragmentService,
    *,
    verifier: Verifier,
    extractors: Mapping[str, Extractor],
) -> KnowledgeServices:
    """Wire the package, and let it hear of withdrawn fragments."""
    index = KnowledgeIndex(embeddings, indexing)
    support = SupportKeeper(index)
    fragments.listeners.append(support.fragment_withdrawn)
    claims = ClaimService(database, index, verifier, support)
    promotions = PromotionService(database, index)
    return KnowledgeServices(
        claims=claims,
        facts=FactService(database),
        fact_changes=FactChangeService(database, index),
        promotions=promotions,
        predicates=PredicateService(database),
        lineage=LineageService(database, fragments),
        recalled=RecalledService(database),
        remember=RememberService(
            database=database,
            writes=WriteExecutor(database),
            fragments=fragments,
            claims=claims,
            promotions=promotions,
            extractors=extractors,
        ),
        verifier=verifier,
        extractors=extractors,
    )

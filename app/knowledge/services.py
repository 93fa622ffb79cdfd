"""Every service of the knowledge package, wired once."""

from dataclasses import dataclass

from app.db.unit_of_work import Database
from app.embeddings.service import EmbeddingService
from app.indexing.service import IndexingService
from app.knowledge.claims import ClaimService
from app.knowledge.facts import FactService
from app.knowledge.index import KnowledgeIndex
from app.knowledge.lineage import LineageService
from app.knowledge.predicates import PredicateService
from app.knowledge.promotions import PromotionService
from app.knowledge.recalled import RecalledService
from app.knowledge.support import SupportKeeper
from app.knowledge.verifiers import Verifier
from app.memory.service import FragmentService


@dataclass(frozen=True, slots=True)
class KnowledgeServices:
    """What routes, jobs and recall call."""

    claims: ClaimService
    facts: FactService
    promotions: PromotionService
    predicates: PredicateService
    lineage: LineageService
    recalled: RecalledService
    verifier: Verifier


def build_knowledge(
    database: Database,
    embeddings: EmbeddingService,
    indexing: IndexingService,
    fragments: FragmentService,
    verifier: Verifier,
) -> KnowledgeServices:
    """Wire the package, and let it hear of withdrawn fragments."""
    index = KnowledgeIndex(embeddings, indexing)
    support = SupportKeeper(index)
    fragments.listeners.append(support.fragment_withdrawn)
    return KnowledgeServices(
        claims=ClaimService(database, index, verifier, support),
        facts=FactService(database),
        promotions=PromotionService(database, index),
        predicates=PredicateService(database),
        lineage=LineageService(database, fragments),
        recalled=RecalledService(database),
        verifier=verifier,
    )

"""Who acts on which profile, and what writing to it needs to know."""

from dataclasses import dataclass

from app.db.unit_of_work import Tenant
from app.tenancy.audit import Actor


@dataclass(frozen=True, slots=True)
class Scope:
    """A profile, the embedding space of its team, its text-search configuration, and who acts."""

    tenant: Tenant
    space_id: int
    text_search_config: str
    actor: Actor

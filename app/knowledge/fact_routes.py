"""Routes of facts and traces."""

from typing import Annotated

from litestar import Controller, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from app.errors import invalid
from app.http.cursors import Page, decode_cursor, parse_id
from app.http.guards import READ, WRITE
from app.http.injection import Injected
from app.http.parameters import AskedTime, Cursor, PageLimit, asked_time
from app.knowledge.claim_routes import PredicateFilter, SubjectFilter, decided, scope_of
from app.knowledge.schemas import FactHistory, FactStatus, FactView, SupersedeInput, Trace
from app.services import Services
from app.tenancy.audit import Actor
from app.tenancy.authentication import Caller

MaxRelated = Annotated[
    int, QueryParameter(ge=0, le=20, description="Most related facts and claims of each trace")
]


class FactController(Controller):
    """What is, and was, believed."""

    path = "/v1/profiles/{profile_id:str}/facts"
    tags = ("knowledge",)

    @get(operation_id="listFacts", summary="List facts", guards=[READ])
    async def list_all(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        limit: PageLimit = 20,
        cursor: Cursor = None,
        status: FromQuery[FactStatus | None] = None,
        subject: SubjectFilter = None,
        predicate: PredicateFilter = None,
        valid_at: AskedTime = None,
        known_at: AskedTime = None,
    ) -> Page[FactView]:
        """Facts as they stand; with ``valid_at`` or ``known_at``: those believed then, as they were believed.

        ``known_at`` (default: now) chooses what was known, ``valid_at`` when it had to hold; without ``valid_at`` the
        facts that were active. ``status`` goes with neither.
        """
        valid, known = asked_time(valid_at, "valid_at"), asked_time(known_at, "known_at")
        if status is not None and (valid is not None or known is not None):
            raise invalid("status", "cannot be combined with valid_at or known_at")
        return await services.knowledge.facts.list_page(
            caller.tenant,
            after=decode_cursor(cursor),
            limit=limit,
            status=status,
            subject=subject,
            predicate=predicate,
            valid_at=valid,
            known_at=known,
        )

    @get("/{fact_id:str}", operation_id="getFact", summary="Read a fact", guards=[READ])
    async def read(
        self, services: Injected[Services], caller: Injected[Caller], fact_id: FromPath[str]
    ) -> FactView:
        """One fact as it stands, whatever its status."""
        return await services.knowledge.facts.get(caller.tenant, parse_id(fact_id, "fact_id"))

    @get(
        "/{fact_id:str}/history",
        operation_id="getFactHistory",
        summary="Read a fact's history",
        guards=[READ],
    )
    async def history(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        fact_id: FromPath[str],
        valid_at: AskedTime = None,
        known_at: AskedTime = None,
    ) -> FactHistory:
        """A fact as it stands with its versions, oldest first.

        ``known_at`` leaves out what was learnt later, ``valid_at`` the versions that do not say that it held then.
        """
        return await services.knowledge.facts.history(
            caller.tenant,
            parse_id(fact_id, "fact_id"),
            valid_at=asked_time(valid_at, "valid_at"),
            known_at=asked_time(known_at, "known_at"),
        )

    @post(
        "/{fact_id:str}/revalidate",
        operation_id="revalidateFact",
        summary="Revalidate a fact",
        guards=[WRITE],
        status_code=200,
    )
    async def revalidate(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        fact_id: FromPath[str],
    ) -> FactView:
        """Make a fact that lost its support active again, if its claims are supported by now."""
        wanted, scope = parse_id(fact_id, "fact_id"), scope_of(caller, actor)
        changes = services.knowledge.fact_changes
        return await decided(
            services,
            caller,
            FactView,
            prepare=lambda: changes.prepare(scope, wanted),
            store=lambda unit, prepared: changes.revalidate(unit, scope, prepared),
        )

    @post(
        "/{fact_id:str}/retract",
        operation_id="retractFact",
        summary="Retract a fact",
        guards=[WRITE],
        status_code=200,
    )
    async def retract(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        fact_id: FromPath[str],
    ) -> FactView:
        """Withdraw a fact: it keeps its history and is never recalled again."""
        wanted, scope = parse_id(fact_id, "fact_id"), scope_of(caller, actor)
        return await services.writes.change(
            caller.tenant, lambda unit: services.knowledge.fact_changes.retract(unit, scope, wanted)
        )

    @post(
        "/{fact_id:str}/supersede",
        operation_id="supersedeFact",
        summary="Supersede a fact",
        guards=[WRITE],
        status_code=200,
    )
    async def supersede(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        fact_id: FromPath[str],
        data: JSONBody[SupersedeInput],
    ) -> FactView:
        """Let an active fact take another's place, as when one of several values has become another."""
        wanted, scope = parse_id(fact_id, "fact_id"), scope_of(caller, actor)
        changes = services.knowledge.fact_changes
        return await services.writes.change(
            caller.tenant, lambda unit: changes.supersede(unit, scope, wanted, data)
        )


class TraceController(Controller):
    """Where knowledge comes from."""

    path = "/v1/profiles/{profile_id:str}/trace"
    tags = ("knowledge",)

    @get(
        "/fact/{fact_id:str}",
        operation_id="traceFact",
        summary="Trace a fact",
        guards=[READ],
    )
    async def trace_fact(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        fact_id: FromPath[str],
        max_related: MaxRelated = 10,
        *,
        include_fragments: FromQuery[bool] = True,
    ) -> Trace:
        """Claims, fragments, contradictions and supersessions around a fact."""
        return await services.knowledge.lineage.trace_fact(
            caller.tenant,
            parse_id(fact_id, "fact_id"),
            max_related=max_related,
            include_fragments=include_fragments,
        )

    @get(
        "/claim/{claim_id:str}",
        operation_id="traceClaim",
        summary="Trace a claim",
        guards=[READ],
    )
    async def trace_claim(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        claim_id: FromPath[str],
        max_related: MaxRelated = 10,
        *,
        include_fragments: FromQuery[bool] = True,
    ) -> Trace:
        """Claims, fragments, contradictions and supersessions around a claim."""
        return await services.knowledge.lineage.trace_claim(
            caller.tenant,
            parse_id(claim_id, "claim_id"),
            max_related=max_related,
            include_fragments=include_fragments,
        )

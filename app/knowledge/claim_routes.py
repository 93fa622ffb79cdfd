"""Routes of claims, clarifications and predicate policies."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from litestar import Controller, delete, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from app.db.unit_of_work import UnitOfWork
from app.http.bodies import JsonRequest
from app.http.cursors import Page, decode_cursor, parse_id
from app.http.fields import OPTIONAL_TEXT_PATTERN, PREDICATE_PATTERN
from app.http.guards import ADMIN, READ, TEAM_READ, WRITE
from app.http.injection import Injected
from app.http.parameters import Cursor, Idempotency, PageLimit
from app.knowledge.decisions import Refused
from app.knowledge.schemas import (
    ClaimCreated,
    ClaimInput,
    ClaimStatus,
    ClaimView,
    Clarification,
    ConfirmInput,
    ConfirmResult,
    PolicyInput,
    PolicyList,
    PolicyView,
    PromotionResult,
)
from app.knowledge.scope import Scope
from app.services import Services
from app.tenancy.audit import Actor
from app.tenancy.authentication import Caller
from app.tenancy.idempotency import IdempotentRequest

Prepared = TypeVar("Prepared")
Result = TypeVar("Result")
SubjectFilter = Annotated[
    str | None, QueryParameter(min_length=1, max_length=256, pattern=OPTIONAL_TEXT_PATTERN)
]
PredicateFilter = Annotated[
    str | None, QueryParameter(min_length=1, max_length=128, pattern=PREDICATE_PATTERN)
]


def scope_of(caller: Caller, actor: Actor) -> Scope:
    """Scope of a request."""
    return Scope(caller.tenant, caller.embedding_space_id, caller.text_search_config, actor)


async def nothing() -> None:
    """Preparation of a write that needs none."""


class ClaimController(Controller):
    """Typed statements on their way to facts."""

    path = "/v1/profiles/{profile_id:str}/claims"
    tags = ("knowledge",)

    @post(operation_id="createClaim", summary="Store a claim", guards=[WRITE])
    async def create(
        self,
        request: JsonRequest,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        data: JSONBody[ClaimInput],
        idempotency_key: Idempotency = None,
    ) -> ClaimCreated:
        """Store a claim with its evidence as a candidate; an open claim that says the same gains the evidence."""

        async def store(unit: Any, _: None) -> ClaimCreated:
            return await services.knowledge.claims.create(unit, scope_of(caller, actor), data)

        return await services.writes.run(
            caller.tenant,
            IdempotentRequest.of(idempotency_key, request.method, request.url.path, await request.body()),
            ClaimCreated,
            prepare=nothing,
            store=store,
        )

    @get(operation_id="listClaims", summary="List claims", guards=[READ])
    async def list_all(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        limit: PageLimit = 20,
        cursor: Cursor = None,
        status: FromQuery[ClaimStatus | None] = None,
        subject: SubjectFilter = None,
        predicate: PredicateFilter = None,
    ) -> Page[ClaimView]:
        """Claims with their evidence, oldest first."""
        return await services.knowledge.claims.list_page(
            caller.tenant,
            after=decode_cursor(cursor),
            limit=limit,
            status=status,
            subject=subject,
            predicate=predicate,
        )

    @get(
        "/{claim_id:str}",
        operation_id="getClaim",
        summary="Read a claim",
        guards=[READ],
    )
    async def read(
        self, services: Injected[Services], caller: Injected[Caller], claim_id: FromPath[str]
    ) -> ClaimView:
        """One claim with its evidence."""
        return await services.knowledge.claims.get(caller.tenant, parse_id(claim_id, "claim_id"))

    @post(
        "/{claim_id:str}/verify",
        operation_id="verifyClaim",
        summary="Verify a claim",
        guards=[WRITE],
        status_code=200,
    )
    async def verify(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        claim_id: FromPath[str],
    ) -> ClaimView:
        """Ask the verifier whether the cited evidence entails the claim; a verifier that fails changes nothing."""
        wanted, scope = parse_id(claim_id, "claim_id"), scope_of(caller, actor)
        claims = services.knowledge.claims
        return await services.writes.run(
            caller.tenant,
            None,
            ClaimView,
            prepare=lambda: claims.prepare_verification(scope, wanted),
            store=lambda unit, verified: claims.store_verification(unit, scope, verified),
        )

    @post(
        "/{claim_id:str}/promote",
        operation_id="promoteClaim",
        summary="Promote a claim",
        guards=[WRITE],
        status_code=200,
    )
    async def promote(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        claim_id: FromPath[str],
    ) -> PromotionResult:
        """Let a validated claim through its predicate's gates; 409 tells each gate that refuses it."""
        wanted, scope = parse_id(claim_id, "claim_id"), scope_of(caller, actor)
        promotions = services.knowledge.promotions
        return await decided(
            services,
            caller,
            PromotionResult,
            prepare=lambda: promotions.prepare(scope, wanted),
            store=lambda unit, prepared: promotions.promote(unit, scope, prepared),
        )

    @post(
        "/{claim_id:str}/confirm",
        operation_id="confirmClaim",
        summary="Decide a disputed claim",
        guards=[WRITE],
        status_code=200,
    )
    async def confirm(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        claim_id: FromPath[str],
        data: JSONBody[ConfirmInput],
    ) -> ConfirmResult:
        """Accept a disputed claim, keep what is believed, or reject the claim; only once, whoever comes first."""
        wanted, scope = parse_id(claim_id, "claim_id"), scope_of(caller, actor)
        promotions = services.knowledge.promotions
        return await decided(
            services,
            caller,
            ConfirmResult,
            prepare=lambda: promotions.prepare(scope, wanted),
            store=lambda unit, prepared: promotions.confirm(unit, scope, prepared, data),
        )

    @delete(
        "/{claim_id:str}",
        operation_id="deleteClaim",
        summary="Delete a claim",
        guards=[WRITE],
        status_code=204,
    )
    async def delete(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        claim_id: FromPath[str],
    ) -> None:
        """Delete a claim for good; facts that rested on it are checked again."""
        wanted, scope = parse_id(claim_id, "claim_id"), scope_of(caller, actor)
        await services.writes.change(
            caller.tenant, lambda unit: services.knowledge.claims.delete(unit, scope, wanted)
        )


class ClarificationController(Controller):
    """Open questions between claims and facts."""

    path = "/v1/profiles/{profile_id:str}/clarifications"
    tags = ("knowledge",)

    @get(operation_id="listClarifications", summary="List open questions", guards=[READ])
    async def list_all(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        limit: PageLimit = 20,
        cursor: Cursor = None,
        subject: SubjectFilter = None,
        predicate: PredicateFilter = None,
    ) -> Page[Clarification]:
        """Disputed claims as questions, oldest first."""
        return await services.knowledge.facts.clarifications(
            caller.tenant,
            after=decode_cursor(cursor),
            limit=limit,
            subject=subject,
            predicate=predicate,
        )


class PredicateController(Controller):
    """Predicate policies of the caller's team."""

    path = "/v1/predicates"
    tags = ("knowledge",)

    @get(
        operation_id="listPredicates",
        summary="List predicate policies",
        guards=[TEAM_READ],
    )
    async def list_all(self, services: Injected[Services], caller: Injected[Caller]) -> PolicyList:
        """Built-in policies and the team's own, by predicate."""
        return await services.knowledge.predicates.list_all(caller.tenant)

    @post(
        operation_id="createPredicate",
        summary="Add a predicate policy",
        guards=[ADMIN],
    )
    async def create(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        data: JSONBody[PolicyInput],
    ) -> PolicyView:
        """Add a policy for a predicate that has none; it never changes afterwards."""
        return await services.knowledge.predicates.add(caller.tenant, actor, data)


async def decided(
    services: Services,
    caller: Caller,
    kind: type[Result],
    *,
    prepare: Callable[[], Awaitable[Prepared]],
    store: Callable[[UnitOfWork, Prepared], Awaitable[object]],
) -> Result:
    """The outcome of a write that may refuse; the refusal is raised here, after what it changed was committed.

    Raises:
        StrataError: the refusal.
    """
    outcome = await services.writes.run(caller.tenant, None, object, prepare=prepare, store=store)
    if isinstance(outcome, Refused):
        raise outcome.error()
    if not isinstance(outcome, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(outcome).__name__}")
    return outcome

"""Routes of remember, import and the status of a run."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from litestar import Controller, Response, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import OpenAPIMediaType, Reference, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType
from litestar.params import FromPath
from uuid_utils.compat import uuid7

from app.http.bodies import JsonRequest
from app.http.cursors import parse_id
from app.http.guards import READ, WRITE
from app.http.injection import Injected
from app.http.openapi import ApiOperation
from app.http.parameters import Idempotency
from app.knowledge.claim_routes import nothing, scope_of
from app.knowledge.remember import LARGE_BYTES, LARGE_ITEMS
from app.knowledge.remember_schemas import (
    MAX_ITEMS,
    ImportInput,
    RememberInput,
    RememberResult,
    RunRequest,
)
from app.services import Services
from app.tenancy.audit import Actor
from app.tenancy.authentication import Caller
from app.tenancy.idempotency import IdempotentRequest


@dataclass
class RememberOperation(ApiOperation):
    """The routes read their bodies themselves, item by item; this is what a body holds."""

    def __post_init__(self) -> None:
        """Describe the body."""
        super().__post_init__()
        evidence = Schema(
            type=OpenAPIType.ARRAY,
            items=Reference(ref="#/components/schemas/FragmentInput"),
            min_items=1,
            max_items=MAX_ITEMS,
        )
        claim = Schema(
            type=OpenAPIType.OBJECT,
            description="A claim whose `evidence` are positions in the list of evidence",
            properties={
                "subject": Schema(type=OpenAPIType.STRING, max_length=256),
                "predicate": Schema(type=OpenAPIType.STRING, max_length=128),
                "object": Schema(type=OpenAPIType.STRING, max_length=1_024),
                "evidence": Schema(type=OpenAPIType.ARRAY, items=Schema(type=OpenAPIType.INTEGER)),
            },
            required=["subject", "predicate", "object", "evidence"],
        )
        body = Schema(
            type=OpenAPIType.OBJECT,
            properties={
                "evidence": evidence,
                "claims": Schema(type=OpenAPIType.ARRAY, items=claim, max_items=MAX_ITEMS),
                "auto_promote": Schema(type=OpenAPIType.BOOLEAN),
                "extraction": Schema(type=OpenAPIType.STRING, enum=["rules", "openai", "none"]),
            },
            required=["evidence"],
            additional_properties=False,
        )
        self.request_body = RequestBody(
            required=True,
            description="Evidence with or without claims; each item is judged by itself",
            content={"application/json": OpenAPIMediaType(schema=body)},
        )


_ANSWERS: Final = {202: ResponseSpec(RememberResult, description="Queued; read its status")}


class RememberController(Controller):
    """Evidence in, knowledge out."""

    path = "/v1/profiles/{profile_id:str}"
    tags = ("knowledge",)

    @post(
        "/remember",
        operation_id="remember",
        responses=_ANSWERS,
        summary="Remember evidence and what it says",
        guards=[WRITE],
        status_code=200,
        operation_class=RememberOperation,
    )
    async def remember(
        self,
        request: JsonRequest,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        idempotency_key: Idempotency = None,
    ) -> Response[RememberResult]:
        """Store evidence for good, then work out its claims; a large body is answered 202 and worked by a job."""
        body = await request.decoded(RememberInput)
        return await _run(request, services, caller, actor, idempotency_key, "remember", body)

    @post(
        "/import",
        operation_id="importMemories",
        responses=_ANSWERS,
        summary="Import summarised documents",
        guards=[WRITE],
        status_code=200,
        operation_class=RememberOperation,
    )
    async def import_memories(
        self,
        request: JsonRequest,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        idempotency_key: Idempotency = None,
    ) -> Response[RememberResult]:
        """The same for summarised documents: of secondary authority, and promoted only when asked for."""
        body = await request.decoded(ImportInput)
        return await _run(request, services, caller, actor, idempotency_key, "import", body)

    @get(
        "/remember/{run_id:str}",
        operation_id="getRememberRun",
        summary="Read a run",
        guards=[READ],
    )
    async def read(
        self, services: Injected[Services], caller: Injected[Caller], run_id: FromPath[str]
    ) -> RememberResult:
        """Status of a run and the outcome of each of its items."""
        return await services.knowledge.remember.get(caller.tenant, parse_id(run_id, "run_id"))


async def _run(
    request: JsonRequest,
    services: Services,
    caller: Caller,
    actor: Actor,
    key: str | None,
    form: Literal["remember", "import"],
    body: Any,
) -> Response[RememberResult]:
    remember = services.knowledge.remember
    asked = RunRequest(
        form=form,
        evidence=body.evidence,
        claims=body.claims,
        auto_promote=body.auto_promote,
        extraction=body.extraction,
    )
    remember.check(asked)
    scope = scope_of(caller, actor)
    raw = await request.body()
    identity = IdempotentRequest.of(key, request.method, request.url.path, raw)
    run_id = uuid7()
    # Asked for before anything is stored: should this process end in between, a worker completes what there is by then.
    safety = await services.jobs.remember_if_cut_off(caller.tenant, run_id)
    if len(body.evidence) + len(body.claims) > LARGE_ITEMS or len(raw) > LARGE_BYTES:
        queued = await services.writes.run(
            caller.tenant,
            identity,
            RememberResult,
            prepare=nothing,
            store=lambda unit, _: remember.enqueue(unit, asked, run_id),
        )
        # Asked for again with every repetition: should the queue have been down, the run is not forgotten.
        await services.jobs.remember(caller.tenant, queued.run_id)
        await services.jobs.cancel(safety)
        return Response(queued, status_code=202)
    stored = await services.writes.run(
        caller.tenant,
        identity,
        RememberResult,
        prepare=lambda: remember.prepare(scope, asked),
        store=lambda unit, prepared: remember.store(unit, scope, asked, prepared, run_id),
    )
    done = await remember.process(scope, asked, stored)
    await services.jobs.cancel(safety)
    return Response(done, status_code=200)

"""Routes of fragments."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from litestar import Controller, delete, get, post
from litestar.openapi.spec import OpenAPIMediaType, Reference, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from app.errors import FieldError, invalid
from app.http.bodies import JsonRequest, decode_raw
from app.http.cursors import Page, decode_cursor, parse_id
from app.http.guards import READ, WRITE
from app.http.injection import Injected
from app.http.openapi import ApiOperation
from app.http.parameters import AskedTime, Cursor, Idempotency, PageLimit, asked_time
from app.memory.schemas import (
    MAX_BATCH_ITEMS,
    BatchInput,
    BatchItem,
    BatchResult,
    FragmentCreated,
    FragmentInput,
    FragmentView,
    ItemError,
    SourceType,
)
from app.memory.service import Stored
from app.services import Services
from app.tenancy.audit import Actor
from app.tenancy.authentication import Caller
from app.tenancy.idempotency import IdempotentRequest


@dataclass
class BatchOperation(ApiOperation):
    """The batch route reads its body itself, item by item; this is what a body holds."""

    def __post_init__(self) -> None:
        """Describe the body."""
        super().__post_init__()
        items = Schema(
            type=OpenAPIType.ARRAY,
            items=Reference(ref="#/components/schemas/FragmentInput"),
            min_items=1,
            max_items=MAX_BATCH_ITEMS,
        )
        body = Schema(
            type=OpenAPIType.OBJECT,
            title="BatchInput",
            properties={"items": items},
            required=["items"],
            additional_properties=False,
        )
        self.request_body = RequestBody(
            required=True,
            description="Up to 1,000 fragments; each is judged by itself",
            content={"application/json": OpenAPIMediaType(schema=body)},
        )


class FragmentController(Controller):
    """Source evidence of a profile."""

    path = "/v1/profiles/{profile_id:str}/fragments"
    tags = ("fragments",)

    @post(operation_id="createFragment", summary="Store a fragment", guards=[WRITE])
    async def create(
        self,
        request: JsonRequest,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        data: JSONBody[FragmentInput],
        idempotency_key: Idempotency = None,
    ) -> FragmentCreated:
        """Store one piece of evidence; it is found by the very next recall."""

        async def store(unit: Any, prepared: Any) -> FragmentCreated:
            [stored] = await services.fragments.store(unit, actor, caller.text_search_config, prepared)
            if stored.error is not None:
                raise stored.error
            return FragmentCreated(id=stored.id, duplicate=stored.duplicate)  # type: ignore[arg-type]

        return await services.writes.run(
            caller.tenant,
            IdempotentRequest.of(idempotency_key, request.method, request.url.path, await request.body()),
            FragmentCreated,
            prepare=lambda: services.fragments.prepare(caller.tenant, caller.embedding_space_id, [data]),
            store=store,
        )

    @post(
        "/batch",
        operation_id="createFragments",
        summary="Store many fragments",
        guards=[WRITE],
        status_code=200,
        operation_class=BatchOperation,
    )
    async def create_batch(
        self,
        request: JsonRequest,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        idempotency_key: Idempotency = None,
    ) -> BatchResult:
        """Store up to 1,000 fragments in one transaction; an item that is refused does not hold up the others."""
        batch = await request.decoded(BatchInput)
        items = [decode_raw(item, FragmentInput, f"items[{index}]") for index, item in enumerate(batch.items)]

        async def store(unit: Any, prepared: Any) -> BatchResult:
            outcomes = await services.fragments.store(unit, actor, caller.text_search_config, prepared)
            return BatchResult(
                results=[_batch_item(index, outcome) for index, outcome in enumerate(outcomes)]
            )

        return await services.writes.run(
            caller.tenant,
            IdempotentRequest.of(idempotency_key, request.method, request.url.path, await request.body()),
            BatchResult,
            prepare=lambda: services.fragments.prepare(caller.tenant, caller.embedding_space_id, items),
            store=store,
        )

    @get(operation_id="listFragments", summary="List fragments", guards=[READ])
    async def list_all(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        limit: PageLimit = 20,
        cursor: Cursor = None,
        status: FromQuery[Literal["active", "retracted"] | None] = None,
        source_type: FromQuery[SourceType | None] = None,
        label: Annotated[str | None, QueryParameter(min_length=1, max_length=64)] = None,
        created_from: AskedTime = None,
        created_to: AskedTime = None,
    ) -> Page[FragmentView]:
        """Fragments, oldest first; ``created_from <= created_at < created_to``."""
        return await services.fragments.list_page(
            caller.tenant,
            after=decode_cursor(cursor),
            limit=limit,
            status=status,
            source_type=source_type,
            label=_clean(label),
            created_from=asked_time(created_from, "created_from"),
            created_to=asked_time(created_to, "created_to"),
        )

    @get(
        "/{fragment_id:str}",
        operation_id="getFragment",
        summary="Read a fragment",
        guards=[READ],
    )
    async def read(
        self, services: Injected[Services], caller: Injected[Caller], fragment_id: FromPath[str]
    ) -> FragmentView:
        """One fragment, also when it is retracted."""
        return await services.fragments.get(caller.tenant, parse_id(fragment_id, "fragment_id"))

    @post(
        "/{fragment_id:str}/retract",
        operation_id="retractFragment",
        summary="Retract a fragment",
        guards=[WRITE],
        status_code=200,
    )
    async def retract(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        fragment_id: FromPath[str],
    ) -> FragmentView:
        """Withdraw evidence: it stays readable and is never recalled again."""
        wanted = parse_id(fragment_id, "fragment_id")
        return await services.writes.change(
            caller.tenant, lambda unit: services.fragments.retract(unit, actor, wanted)
        )

    @delete(
        "/{fragment_id:str}",
        operation_id="deleteFragment",
        summary="Delete a fragment",
        guards=[WRITE],
        status_code=204,
    )
    async def delete(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        fragment_id: FromPath[str],
    ) -> None:
        """Delete evidence and everything derived from it, for good."""
        wanted = parse_id(fragment_id, "fragment_id")
        await services.writes.change(
            caller.tenant, lambda unit: services.fragments.delete(unit, actor, wanted)
        )


def _batch_item(index: int, stored: Stored) -> BatchItem:
    if stored.error is not None:
        errors = [_placed(index, error) for error in stored.error.errors]
        detail = "; ".join(f"{error.path} {error.message}" for error in errors) or stored.error.detail
        error = ItemError(code=stored.error.code, detail=detail, errors=errors)
        return BatchItem(index=index, status="error", error=error)
    return BatchItem(
        index=index,
        status="duplicate" if stored.duplicate else "created",
        id=stored.id,
        duplicate=stored.duplicate,
    )


def _placed(index: int, error: FieldError) -> FieldError:
    """The same error with the path from the request's body down, whoever found it."""
    place = f"items[{index}]"
    return error if error.path.startswith(place) else FieldError(f"{place}.{error.path}", error.message)


def _clean(label: str | None) -> str | None:
    if label is not None and "\x00" in label:
        raise invalid("label", "must not contain NUL characters")
    return label

"""The ASGI application: the only place that wires everything."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import structlog
from litestar import Litestar, Request, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import ScalarRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from app import __version__
from app.embeddings.errors import EmbeddingError
from app.http import health
from app.http.bodies import JsonRequest
from app.http.guards import provide_caller
from app.http.openapi import describe
from app.http.parameters import refuse_unknown_parameters
from app.http.problems import handle_exception
from app.http.requests import RequestScope
from app.jobs.worker import run as run_jobs
from app.knowledge.claim_routes import ClaimController, ClarificationController, PredicateController
from app.knowledge.fact_routes import FactController, TraceController
from app.knowledge.remember_routes import RememberController
from app.memory.routes import FragmentController
from app.recall.routes import PolicyController, RecallController
from app.runtime import running_services
from app.services import Services
from app.settings import Settings, load_settings
from app.tenancy.admin_routes import AdminController
from app.tenancy.audit import Actor
from app.tenancy.authentication import Caller
from app.tenancy.routes import AuditController, KeyController, ProfileController, TeamController

_log = structlog.get_logger()


def provide_services(request: Request[Any, Any, Any]) -> Services:
    """Dependency: the process's services."""
    services: Services = request.app.state.services
    return services


def provide_actor(request: Request[Any, Any, Any]) -> Actor:
    """Dependency: who acts, for the audit log."""
    caller: Caller | None = request.state.get("caller")
    request_id = request.scope["state"].get("request_id")
    if caller is None:
        return Actor("operator", None, request_id)
    return Actor("key", str(caller.key_id), request_id)


def create_app(
    settings: Settings | None = None,
    services: Services | None = None,
    *,
    on_ready: Callable[[Services], Awaitable[None]] | None = None,
) -> Litestar:
    """The application.

    Args:
        settings: Configuration; the environment's if None.
        services: Services that somebody else has started and will close; else the application starts its own.
        on_ready: Called once the application's own services are ready to answer.
    """
    used = settings or load_settings()

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        if services is not None:
            yield
            return
        async with AsyncExitStack() as stack:
            try:
                own = await stack.enter_async_context(running_services(used))
            except Exception as error:
                app.state.startup_error = error
                raise
            app.state.services = own
            background = [asyncio.create_task(_get_ready(own, on_ready))]
            if used.worker:
                background.append(asyncio.create_task(run_jobs(own)))
            try:
                yield
            finally:
                for task in background:
                    task.cancel()
                await asyncio.gather(*background, return_exceptions=True)

    app = Litestar(
        route_handlers=[
            health.livez,
            health.readyz,
            health.health,
            health.metrics,
            Router(
                path="/",
                route_handlers=[
                    AdminController,
                    TeamController,
                    ProfileController,
                    KeyController,
                    AuditController,
                    FragmentController,
                    ClaimController,
                    ClarificationController,
                    FactController,
                    TraceController,
                    RememberController,
                    PredicateController,
                    RecallController,
                    PolicyController,
                ],
                dependencies={
                    "caller": Provide(provide_caller, sync_to_thread=False),
                    "actor": Provide(provide_actor, sync_to_thread=False),
                },
                before_request=refuse_unknown_parameters,
                security=[{"apiKey": []}],
            ),
        ],
        dependencies={"services": Provide(provide_services, sync_to_thread=False)},
        exception_handlers={Exception: handle_exception},
        request_class=JsonRequest,
        lifespan=[lifespan],
        state=State({} if services is None else {"services": services}),
        request_max_body_size=used.max_body_bytes,
        openapi_config=OpenAPIConfig(
            title="Strata",
            version=__version__,
            description="Multi-tenant memory backend: store evidence, recall it ranked and explained.",
            use_handler_docstrings=True,
            openapi_router=Router(
                path="/docs", route_handlers=[], include_in_schema=False, opt=health.PUBLIC
            ),
            render_plugins=[ScalarRenderPlugin(path="/")],
            components=Components(
                security_schemes={
                    "apiKey": SecurityScheme(type="http", scheme="bearer", bearer_format="strata_...")
                }
            ),
        ),
        logging_config=None,
        debug=False,
    )
    describe(app)
    # Around the routing too, so that the answer to an unknown path has a request id and is counted.
    app.asgi_handler = RequestScope(app.asgi_handler)
    return app


def startup_error(app: Litestar) -> Exception | None:
    """What kept the application's services from starting."""
    error: Exception | None = app.state.get("startup_error")
    return error


async def _get_ready(services: Services, on_ready: Callable[[Services], Awaitable[None]] | None) -> None:
    try:
        await services.embeddings.start(keep_trying=True)
    except EmbeddingError as error:
        # /readyz names it and every route that needs it answers 503; the process stays up to say so.
        _log.error("embedder_unusable", error=str(error))
        return
    # What is loaded by now stays: the garbage collector need not visit it again (a sixth of the CPU of a batch write).
    gc.collect()
    gc.freeze()
    if on_ready is not None:
        await on_ready(services)

"""Around every request: an id that its log lines, its audit entries and its problem answers carry, and its metrics."""

import re
import time
from typing import Final

import structlog
from litestar.datastructures import MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from prometheus_client import Counter, Histogram
from uuid_utils import uuid7

# Others may be any word that a client makes up, and each label value is kept for ever.
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_log = structlog.get_logger()

REQUESTS: Final = Counter("strata_http_requests_total", "HTTP requests", ["method", "route", "status"])
SECONDS: Final = Histogram(
    "strata_http_request_seconds",
    "Duration of HTTP requests",
    ["route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


class RequestScope:
    """ASGI application around the whole service that gives each request its id and counts it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope["state"]["request_id"] = request_id
        started = time.perf_counter()
        status = 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableScopeHeaders.from_message(message)["X-Request-Id"] = request_id
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self.app(scope, receive, send_with_id)
            finally:
                route = scope.get("path_template") or "unmatched"
                method = scope["method"] if scope["method"] in _METHODS else "other"
                REQUESTS.labels(method, route, str(status)).inc()
                SECONDS.labels(route).observe(time.perf_counter() - started)


def _request_id(scope: Scope) -> str:
    """The caller's ``X-Request-Id`` if it is well formed, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            given = value.decode("latin-1")
            if _GIVEN_ID.fullmatch(given):
                return given
    return str(uuid7())

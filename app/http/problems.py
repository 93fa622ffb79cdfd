"""RFC 9457 problem answers: every error leaves the service in this one shape."""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, InternalServerException, NotFoundException, ValidationException
from litestar.openapi.datastructures import ResponseSpec
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.embeddings.errors import EmbedderUnavailable
from app.errors import CODES, FieldError, StrataError
from app.http.messages import field_error

MEDIA_TYPE = "application/problem+json"
_log = structlog.get_logger()
_BY_STATUS = {
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
}
# Litestar's words for a client that is gone before its body is complete.
_HUNG_UP: Final = "client disconnected prematurely"
_HTTP_DETAILS: Final = {
    405: "this path does not take this method; the Allow header lists what it takes",
    413: "the body is larger than this service takes",
}
# PostgreSQL's answers that say "later", by SQLSTATE class or code: shutdown, no connection, timeouts, deadlock, full.
_BUSY_STATES = ("57014", "55P03", "40001", "40P01", "25P03", "25P04")
_DOWN_STATES = ("08", "57P", "53")
_FOREIGN_KEY = "23503"


class Problem(msgspec.Struct, kw_only=True, omit_defaults=True):
    """RFC 9457 problem details."""

    title: str
    status: int
    code: str
    detail: str
    type: str = "about:blank"
    errors: list[FieldError] = []
    request_id: str | None = None


PROBLEMS: Final = {
    status: ResponseSpec(Problem, generate_examples=False, description="Problem", media_type=MEDIA_TYPE)
    for status in (401, 403, 404, 409, 413, 415, 422, 429, 503)
}


def to_error(exception: Exception, kinds: Mapping[str, Any] | None = None) -> StrataError:  # noqa: PLR0911 - one line a kind of failure
    """The coded error that stands for any exception that a handler may raise.

    Args:
        exception: What was raised.
        kinds: Types of the handler's parameters by name, to tell their allowed values.
    """
    if isinstance(exception, StrataError):
        return exception
    if isinstance(exception, ValidationException):
        return _from_validation(exception, kinds or {})
    if isinstance(exception, EmbedderUnavailable):
        return StrataError("embedder_unavailable", str(exception), retry_after=exception.retry_after)
    if isinstance(exception, PoolTimeoutError):
        return StrataError("database_busy", "every database connection is in use", retry_after=1)
    if isinstance(exception, DBAPIError) and (mapped := _from_database(exception)):
        return mapped
    if isinstance(exception, OSError):
        return StrataError("database_unavailable", "the database cannot be reached", retry_after=2)
    if isinstance(exception, HTTPException) and exception.status_code in _BY_STATUS:
        return StrataError(_BY_STATUS[exception.status_code], _http_detail(exception))
    if isinstance(exception, HTTPException) and exception.status_code == 400:  # noqa: PLR2004
        return StrataError("validation_failed", "the request is not well-formed HTTP")
    if isinstance(exception, InternalServerException) and exception.detail == _HUNG_UP:
        # Nobody is there to read it; what counts is that a client's fault is not logged as the service's.
        return StrataError("malformed_json", "the body ends before its announced length")
    return StrataError("internal_error", "an unexpected error; the log has it under this request id")


def _http_detail(exception: HTTPException) -> str:
    if isinstance(exception, NotFoundException):
        return "no such path"
    return _HTTP_DETAILS.get(exception.status_code, exception.detail)


def _from_database(exception: DBAPIError) -> StrataError | None:
    state = getattr(exception.orig, "sqlstate", None) or ""
    if state == _FOREIGN_KEY:
        return StrataError("conflict", "what this request writes to was deleted meanwhile")
    if state in _BUSY_STATES:
        return StrataError("database_busy", "the database could not do this in time", retry_after=1)
    if state.startswith(_DOWN_STATES) or (
        not state and isinstance(exception, OperationalError | InterfaceError)
    ):
        return StrataError("database_unavailable", "the database is not available", retry_after=2)
    return None


def _from_validation(exception: ValidationException, kinds: Mapping[str, Any]) -> StrataError:
    """Faults of query and header parameters; bodies are judged in ``app.http.bodies``."""
    errors: list[FieldError] = []
    for item in exception.extra if isinstance(exception.extra, list) else []:
        key, message = str(item.get("key", "")), str(item.get("message", ""))
        if key == "data":
            errors.append(FieldError("body", "is required"))
        elif message != repr(key):  # that is a KeyError: a path parameter which the handler does not take
            name = key.replace("_", "-").title() if item.get("source") == "header" else key
            errors.append(FieldError(name, field_error(message, kinds.get(key)).message))
    detail = "; ".join(f"{error.path} {error.message}" for error in errors) or "the request is invalid"
    return StrataError("validation_failed", detail, errors=tuple(errors))


def problem_of(error: StrataError, request_id: str | None) -> Problem:
    """The problem body of an error."""
    code = CODES[error.code]
    return Problem(
        title=code.title,
        status=code.status,
        code=error.code,
        detail=error.detail,
        errors=list(error.errors),
        request_id=request_id,
    )


def handle_exception(request: Request[Any, Any, Any], exception: Exception) -> Response[Problem]:
    """Litestar exception handler for everything."""
    error = to_error(exception, _parameter_types(request))
    problem = problem_of(error, request.scope.get("state", {}).get("request_id"))
    if error.code == "internal_error":
        _log.error("unhandled_exception", path=request.url.path, exc_info=exception)
    headers: dict[str, str] = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if problem.status == 401:  # noqa: PLR2004
        headers["WWW-Authenticate"] = "Bearer"
    if (
        isinstance(exception, HTTPException)
        and exception.headers
        and "allow" in {h.lower() for h in exception.headers}
    ):
        headers["Allow"] = next(v for h, v in exception.headers.items() if h.lower() == "allow")
    return Response(problem, status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


def _parameter_types(request: Request[Any, Any, Any]) -> dict[str, Any]:
    handler: Any = request.scope.get("route_handler")  # absent when no path matched
    fields = {} if handler is None else handler.parsed_fn_signature.parameters
    return {name: field.annotation for name, field in fields.items()}

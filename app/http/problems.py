"""RFC 9457 problem answers: every error leaves the service in this one shape."""

import math
import re
from typing import Any, Final, TypeVar

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, NotFoundException, SerializationException, ValidationException
from litestar.openapi.datastructures import ResponseSpec
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.embeddings.errors import EmbedderUnavailable
from app.errors import CODES, FieldError, StrataError, invalid
from app.http.fields import PATTERN_MESSAGES

Item = TypeVar("Item")
MEDIA_TYPE = "application/problem+json"
_log = structlog.get_logger()
_AT_PATH = re.compile(r"^(?P<message>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)
_BY_STATUS = {
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
}
# PostgreSQL's answers that say "later", by SQLSTATE class or code: shutdown, no connection, timeouts, deadlock, full.
_BUSY_STATES = ("57014", "55P03", "40001", "40P01", "25P03", "25P04")
_DOWN_STATES = ("08", "57P", "53")


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
    status: ResponseSpec(Problem, description="Problem", media_type=MEDIA_TYPE)
    for status in (401, 403, 404, 409, 413, 415, 422, 429, 503)
}


def to_error(exception: Exception) -> StrataError:  # noqa: PLR0911 - one line a kind of failure
    """The coded error that stands for any exception that a handler may raise."""
    if isinstance(exception, StrataError):
        return exception
    if isinstance(exception, ValidationException):
        return _from_validation(exception)
    if isinstance(exception, SerializationException):
        return StrataError("malformed_json", "the body is not one JSON value in UTF-8")
    if isinstance(exception, RecursionError):
        return StrataError("malformed_json", "the body is nested too deeply")
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
        return StrataError("malformed_json", "the body is not one JSON value in UTF-8")
    return StrataError("internal_error", "an unexpected error; the log has it under this request id")


def _http_detail(exception: HTTPException) -> str:
    if isinstance(exception, NotFoundException):
        return "no such path"
    return exception.detail


def _from_database(exception: DBAPIError) -> StrataError | None:
    state = getattr(exception.orig, "sqlstate", None) or ""
    if state in _BUSY_STATES:
        return StrataError("database_busy", "the database could not do this in time", retry_after=1)
    if state.startswith(_DOWN_STATES) or (
        not state and isinstance(exception, OperationalError | InterfaceError)
    ):
        return StrataError("database_unavailable", "the database is not available", retry_after=2)
    return None


def _from_validation(exception: ValidationException) -> StrataError:
    errors: list[FieldError] = []
    for item in exception.extra if isinstance(exception.extra, list) else []:
        if isinstance(item, dict):
            message, path = readable(str(item.get("message", "")))
            errors.append(FieldError(str(item.get("key") or path or "body"), message))
    detail = "; ".join(f"{error.path} {error.message}" for error in errors) or "the request is invalid"
    return StrataError("validation_failed", detail, errors=tuple(errors))


def readable(message: str) -> tuple[str, str]:
    """Message and path out of a msgspec message, in words that name the rule and never quote a pattern."""
    match = _AT_PATH.match(message)
    text, path = (match["message"], match["path"] or "") if match else (message, "")
    for pattern, rule in PATTERN_MESSAGES.items():
        if repr(pattern) in text or pattern in text:
            text = rule
    if text.startswith("Object contains unknown field"):
        field = text.rsplit("`", 2)[1]
        return "is not a known field", _join(path, field)
    if text.startswith("Object missing required field"):
        field = text.rsplit("`", 2)[1]
        return "is required", _join(path, field)
    return text[:1].lower() + text[1:], _join(path, "")


def decode_item(value: Any, kind: type[Item], path: str) -> Item | StrataError:
    """One item of a batch, or why it is refused; the others are none the worse for it."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, where = readable(str(error))
        return invalid(f"{path}.{where}".rstrip("."), message)


def _join(path: str, field: str) -> str:
    base = path.removeprefix("$").removeprefix(".")
    return f"{base}.{field}".strip(".")


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
    error = to_error(exception)
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

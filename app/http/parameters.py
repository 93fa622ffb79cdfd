"""Parameters that routes share.

A query parameter that a route does not know is refused: a misspelt filter must not mean no filter.
"""

from datetime import datetime
from typing import Annotated, Any

from litestar import Request
from litestar.enums import ParamType
from litestar.params import HeaderParameter, ParameterKwarg, QueryParameter

from app.errors import FieldError, StrataError
from app.http.cursors import MAX_PAGE
from app.http.fields import KEY_PATTERN, parse_instant

PageLimit = Annotated[int, QueryParameter(ge=1, le=MAX_PAGE, description="Items of a page")]
Cursor = Annotated[str | None, QueryParameter(max_length=64, description="next_cursor of the page before")]
AskedTime = Annotated[str | None, QueryParameter(max_length=64, description="RFC 3339 time with an offset")]
Idempotency = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        max_length=128,
        min_length=1,
        pattern=KEY_PATTERN,
        description="Makes the write repeatable: the same request with the same key returns the stored answer",
    ),
]


def refuse_unknown_parameters(request: Request[Any, Any, Any]) -> None:
    """Hook before a handler runs.

    Raises:
        StrataError: ``validation_failed``, naming each query parameter that the handler does not take.
    """
    given = request.query_params.keys()
    if not given:
        return
    known = {
        getattr(field.kwarg_definition, "name", None) or name
        for name, field in request.route_handler.parsed_fn_signature.parameters.items()
        if isinstance(field.kwarg_definition, ParameterKwarg)
        and field.kwarg_definition.param_type is ParamType.QUERY
    }
    if unknown := sorted(set(given) - known):
        errors = tuple(FieldError(name, "is not a known parameter") for name in unknown)
        raise StrataError("validation_failed", "unknown query parameters", errors=errors)


def asked_time(value: str | None, path: str) -> datetime | None:
    """Moment, in UTC, of a query parameter; a plus that nobody escaped has come in as a space.

    Raises:
        StrataError: ``validation_failed``.
    """
    return None if value is None else parse_instant(value.replace(" ", "+"), path)

"""Query parameters. One that a route does not know is refused: a misspelt filter must not mean no filter."""

from datetime import datetime
from typing import Any

from litestar import Request
from litestar.enums import ParamType
from litestar.params import ParameterKwarg

from app.errors import FieldError, StrataError
from app.http.fields import parse_instant


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

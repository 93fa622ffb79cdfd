"""What the OpenAPI document says beyond the handlers' signatures."""

from dataclasses import dataclass

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Operation, Parameter, Schema
from litestar.openapi.spec.enums import OpenAPIFormat

from app.http.problems import PROBLEMS


@dataclass
class ApiOperation(Operation):
    """An operation as this service answers it: ids in paths are UUIDs, and bad input is 422, never 400."""

    def __post_init__(self) -> None:
        """Correct what the framework assumes."""
        if self.responses is not None:
            self.responses.pop("400", None)
        for parameter in self.parameters or []:
            if isinstance(parameter, Parameter) and parameter.param_in == "path":
                _describe_path_parameter(parameter)


def _describe_path_parameter(parameter: Parameter) -> None:
    if parameter.name.endswith("_id") and isinstance(parameter.schema, Schema):
        parameter.schema.format = OpenAPIFormat.UUID


def describe(app: Litestar) -> None:
    """Give every operation its description and its problems; before the document is first asked for."""
    for route in app.routes:
        for handler in getattr(route, "route_handlers", []):
            if isinstance(handler, HTTPRouteHandler) and not handler.opt.get("public"):
                handler.responses = {**PROBLEMS, **(handler.responses or {})}
            if handler.operation_class is Operation:
                handler.operation_class = ApiOperation

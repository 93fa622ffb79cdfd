"""Route guards. Every route declares one of these, or is listed as public; a test walks the routes."""

import hmac
from typing import TYPE_CHECKING, Any, Final

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from app.errors import StrataError
from app.http.cursors import parse_id
from app.tenancy.authentication import Caller, bearer_token

if TYPE_CHECKING:
    from app.services import Services

Connection = ASGIConnection[Any, Any, Any, Any]
_STATE_KEY: Final = "caller"


class RequiresScope:
    """Guard: an API key of the path's team with ``scope``.

    Args:
        scope: One of the four scopes.
        whole_team: Refuse keys that are restricted to one profile.
    """

    def __init__(self, scope: str, *, whole_team: bool = False) -> None:
        self.scope = scope
        self.whole_team = whole_team

    async def __call__(self, connection: Connection, _handler: BaseRouteHandler) -> None:
        """Authenticate, check the scope, and leave the caller in the connection's state."""
        services: Services = connection.app.state.services
        raw_profile = connection.path_params.get("profile_id")
        header = connection.headers.get("authorization")
        try:
            profile_id = None if raw_profile is None else parse_id(raw_profile, "profile_id")
        except StrataError:
            await services.authentication.authenticate(header, None)
            raise
        caller = await services.authentication.authenticate(header, profile_id)
        services.rate_limiter.check(caller.key_id)
        if self.scope not in caller.scopes:
            raise StrataError("missing_scope", f"this route needs the scope {self.scope}")
        if self.whole_team and caller.key_profile_id is not None:
            raise StrataError("missing_scope", "this route needs a key that is not restricted to one profile")
        connection.state[_STATE_KEY] = caller


class RequiresOperator:
    """Guard: the operator's token."""

    async def __call__(self, connection: Connection, _handler: BaseRouteHandler) -> None:
        """Compare the presented token in constant time."""
        services: Services = connection.app.state.services
        token = bearer_token(connection.headers.get("authorization"))
        expected = services.operator_token
        if not expected or token is None or not hmac.compare_digest(token.encode(), expected.encode()):
            raise StrataError("invalid_operator_token", "this route needs the operator's token")


READ: Final = RequiresScope("memory:read")
WRITE: Final = RequiresScope("memory:write")
TEAM_READ: Final = RequiresScope("memory:read")
TEAM_WRITE: Final = RequiresScope("memory:write", whole_team=True)
ADMIN: Final = RequiresScope("admin", whole_team=True)
OPERATOR: Final = RequiresOperator()


def provide_caller(request: Connection) -> Caller:
    """Dependency: the caller that the route's guard has authenticated."""
    caller: Caller = request.state[_STATE_KEY]
    return caller

"""Routes of the operator: teams and their keys."""

from litestar import Controller, delete, get, patch, post
from litestar.params import FromPath, JSONBody

from app.http.cursors import Page, decode_cursor, parse_id
from app.http.guards import OPERATOR
from app.http.injection import Injected
from app.http.parameters import Cursor, PageLimit
from app.services import Services
from app.tenancy.audit import Actor
from app.tenancy.schemas import KeyCreated, KeyInput, KeyView, TeamChange, TeamCreated, TeamInput, TeamView


class AdminController(Controller):
    """Teams, for the holder of the operator token."""

    path = "/v1/admin/teams"
    tags = ("admin",)
    guards = (OPERATOR,)

    @post(operation_id="adminCreateTeam", summary="Create a team")
    async def create(
        self, services: Injected[Services], actor: Injected[Actor], data: JSONBody[TeamInput]
    ) -> TeamCreated:
        """Create a team with a first key, shown this once."""
        return await services.tenancy.create_team(actor, data.name, services.space_id)

    @get(operation_id="adminListTeams", summary="List teams")
    async def list_all(
        self, services: Injected[Services], limit: PageLimit = 20, cursor: Cursor = None
    ) -> Page[TeamView]:
        """Every team, by id."""
        return await services.tenancy.list_teams(decode_cursor(cursor), limit)

    @get("/{team_id:str}", operation_id="adminGetTeam", summary="Read a team")
    async def read(self, services: Injected[Services], team_id: FromPath[str]) -> TeamView:
        """One team."""
        return await services.tenancy.get_team(parse_id(team_id, "team_id"))

    @patch(
        "/{team_id:str}",
        operation_id="adminChangeTeam",
        summary="Rename, archive or reactivate a team",
    )
    async def change(
        self,
        services: Injected[Services],
        actor: Injected[Actor],
        team_id: FromPath[str],
        data: JSONBody[TeamChange],
    ) -> TeamView:
        """An archived team keeps its memories; its keys are refused."""
        return await services.tenancy.change_team(actor, parse_id(team_id, "team_id"), data)

    @delete(
        "/{team_id:str}",
        operation_id="adminDeleteTeam",
        summary="Erase a team",
        status_code=204,
    )
    async def erase(
        self, services: Injected[Services], actor: Injected[Actor], team_id: FromPath[str]
    ) -> None:
        """Erase the team and everything in it, for good; its audit log stays."""
        await services.tenancy.delete_team(actor, parse_id(team_id, "team_id"))

    @post(
        "/{team_id:str}/keys",
        operation_id="adminCreateKey",
        summary="Create an API key for a team",
    )
    async def create_key(
        self,
        services: Injected[Services],
        actor: Injected[Actor],
        team_id: FromPath[str],
        data: JSONBody[KeyInput],
    ) -> KeyCreated:
        """Create a key; its text is in this answer and nowhere else."""
        return await services.tenancy.create_key(actor, parse_id(team_id, "team_id"), data)

    @get(
        "/{team_id:str}/keys",
        operation_id="adminListKeys",
        summary="List a team's API keys",
    )
    async def list_keys(
        self,
        services: Injected[Services],
        team_id: FromPath[str],
        limit: PageLimit = 20,
        cursor: Cursor = None,
    ) -> Page[KeyView]:
        """Keys of the team, without secrets."""
        return await services.tenancy.list_keys(parse_id(team_id, "team_id"), decode_cursor(cursor), limit)

    @delete(
        "/{team_id:str}/keys/{key_id:str}",
        operation_id="adminRevokeKey",
        summary="Revoke an API key",
        status_code=200,
    )
    async def revoke_key(
        self,
        services: Injected[Services],
        actor: Injected[Actor],
        team_id: FromPath[str],
        key_id: FromPath[str],
    ) -> KeyView:
        """Refuse the key from now on."""
        return await services.tenancy.revoke_key(
            actor, parse_id(team_id, "team_id"), parse_id(key_id, "key_id")
        )

"""Routes of a team's own callers: profiles, keys, audit."""

from litestar import Controller, delete, get, patch, post
from litestar.params import FromPath, JSONBody

from app.http.cursors import Page, decode_cursor, parse_id
from app.http.guards import ADMIN, READ, TEAM_READ, TEAM_WRITE
from app.http.injection import Injected
from app.http.parameters import Cursor, PageLimit
from app.services import Services
from app.tenancy.audit import Actor
from app.tenancy.authentication import Caller
from app.tenancy.schemas import (
    AuditView,
    KeyCreated,
    KeyInput,
    KeyRotation,
    KeyView,
    ProfileInput,
    ProfileView,
    TeamSettings,
    TeamView,
)


class TeamController(Controller):
    """The caller's own team."""

    path = "/v1/team"
    tags = ("team",)

    @get(operation_id="getTeam", summary="Read the team", guards=[TEAM_READ])
    async def read(self, services: Injected[Services], caller: Injected[Caller]) -> TeamView:
        """The key's team with its settings."""
        return await services.tenancy.get_team(caller.team_id)

    @patch(operation_id="changeTeam", summary="Change the team's settings", guards=[ADMIN])
    async def change(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        data: JSONBody[TeamSettings],
    ) -> TeamView:
        """Settings that are not sent stay as they are."""
        return await services.tenancy.change_team(actor, caller.team_id, data)


class ProfileController(Controller):
    """Memory spaces of the caller's team."""

    path = "/v1/profiles"
    tags = ("profiles",)

    @post(operation_id="createProfile", summary="Create a profile", guards=[TEAM_WRITE])
    async def create(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        data: JSONBody[ProfileInput],
    ) -> ProfileView:
        """Create a memory space in the key's team."""
        return await services.tenancy.create_profile(actor, caller.team_id, data)

    @get(operation_id="listProfiles", summary="List profiles", guards=[TEAM_READ])
    async def list_all(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        limit: PageLimit = 20,
        cursor: Cursor = None,
    ) -> Page[ProfileView]:
        """Profiles that the key may use, by id."""
        return await services.tenancy.list_profiles(caller, decode_cursor(cursor), limit)

    @get(
        "/{profile_id:str}",
        operation_id="getProfile",
        summary="Read a profile",
        guards=[READ],
    )
    async def read(self, services: Injected[Services], caller: Injected[Caller]) -> ProfileView:
        """One profile."""
        return await services.tenancy.get_profile(caller.tenant)

    @delete(
        "/{profile_id:str}",
        operation_id="deleteProfile",
        summary="Erase a profile",
        guards=[ADMIN],
        status_code=204,
    )
    async def erase(
        self, services: Injected[Services], caller: Injected[Caller], actor: Injected[Actor]
    ) -> None:
        """Erase the profile and everything in it, for good."""
        await services.tenancy.delete_profile(actor, caller.tenant)


class KeyController(Controller):
    """API keys of the caller's team."""

    path = "/v1/keys"
    tags = ("keys",)

    @post(operation_id="createKey", summary="Create an API key", guards=[ADMIN])
    async def create(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        data: JSONBody[KeyInput],
    ) -> KeyCreated:
        """Create a key; its text is in this answer and nowhere else."""
        return await services.tenancy.create_key(actor, caller.team_id, data)

    @get(operation_id="listKeys", summary="List API keys", guards=[ADMIN])
    async def list_all(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        limit: PageLimit = 20,
        cursor: Cursor = None,
    ) -> Page[KeyView]:
        """Keys of the team, ended ones included, without secrets."""
        return await services.tenancy.list_keys(caller.team_id, decode_cursor(cursor), limit)

    @post(
        "/{key_id:str}/rotate",
        operation_id="rotateKey",
        summary="Replace an API key",
        guards=[ADMIN],
    )
    async def rotate(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        key_id: FromPath[str],
        data: JSONBody[KeyRotation],
    ) -> KeyCreated:
        """Make a new key with the same rights; the old one ends after the grace time."""
        return await services.tenancy.rotate_key(actor, caller.team_id, parse_id(key_id, "key_id"), data)

    @delete(
        "/{key_id:str}",
        operation_id="revokeKey",
        summary="Revoke an API key",
        guards=[ADMIN],
        status_code=200,
    )
    async def revoke(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        actor: Injected[Actor],
        key_id: FromPath[str],
    ) -> KeyView:
        """Refuse the key from now on."""
        return await services.tenancy.revoke_key(actor, caller.team_id, parse_id(key_id, "key_id"))


class AuditController(Controller):
    """Who did what in the caller's team."""

    path = "/v1/audit"
    tags = ("audit",)

    @get(operation_id="listAudit", summary="List audit entries", guards=[ADMIN])
    async def list_all(
        self,
        services: Injected[Services],
        caller: Injected[Caller],
        limit: PageLimit = 20,
        cursor: Cursor = None,
    ) -> Page[AuditView]:
        """Entries of the team, newest first; they hold no memory content."""
        return await services.tenancy.list_audit(caller.team_id, decode_cursor(cursor), limit)

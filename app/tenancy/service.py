"""Use cases of teams, profiles, keys and audit."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
from sqlalchemy.exc import IntegrityError
from uuid_utils.compat import uuid7

from app.db.rows import view_of
from app.db.unit_of_work import Database, Tenant, UnitOfWork
from app.errors import StrataError, invalid, not_found
from app.http.cursors import Page, page_of
from app.http.fields import check_json_object
from app.lexical.words import CONFIGURATIONS
from app.tenancy import audit, keys, repository
from app.tenancy.audit import Actor
from app.tenancy.authentication import Caller
from app.tenancy.models import SCOPES
from app.tenancy.schemas import (
    AuditView,
    KeyCreated,
    KeyInput,
    KeyRotation,
    KeyView,
    ProfileInput,
    ProfileView,
    TeamCreated,
    TeamSettings,
    TeamView,
)

ForgetProfile = Callable[[UnitOfWork], Awaitable[None]]
EraseSome = Callable[[UnitOfWork], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class LocatedProfile:
    """A profile's tenant, and what writing to it or reading from it needs to know."""

    tenant: Tenant
    embedding_space_id: int
    text_search_config: str
    ranking_policy: str | None = None


class TenancyService:
    """Teams, profiles and keys.

    Args:
        database: Where units of work come from.
        forget_profile: Erases what other packages hold of the unit's profile; called before the profile is deleted.
        erase_some: Erases a part of it that fits one transaction, and returns how much; called before, until it is 0.
    """

    def __init__(self, database: Database, forget_profile: ForgetProfile, erase_some: EraseSome) -> None:
        self._database = database
        self._forget_profile = forget_profile
        self._erase_some = erase_some

    async def create_team(self, actor: Actor, name: str, space_id: int) -> TeamCreated:
        """Create a team with a first key that has every scope.

        Raises:
            StrataError: ``name_taken``.
        """
        team_id = uuid7()
        async with _UniqueName("team"), self._database.tenant(Tenant(team_id)) as unit:
            team = await repository.insert_team(unit, name, space_id)
            await audit.record(unit, actor, "team.create", "team", team_id)
            key = await _insert_key(unit, actor, name="first key", scopes=list(SCOPES))
            return TeamCreated(
                **msgspec.structs.asdict(view_of(TeamView, team)), api_key=key.api_key, key_id=key.id
            )

    async def list_teams(self, after: UUID | None, limit: int) -> Page[TeamView]:
        """Every team, by id."""
        async with self._database.operator() as connection:
            rows = await repository.list_teams(connection, after, limit + 1)
        return page_of([view_of(TeamView, row) for row in rows], limit, lambda team: team.team_id)

    async def find_team(self, name_or_id: str) -> TeamView:
        """A team by its id, or by its name whatever the case.

        Raises:
            StrataError: ``not_found``.
        """
        try:
            return await self.get_team(UUID(name_or_id))
        except ValueError:
            async with self._database.operator() as connection:
                row = await repository.find_team_by_name(connection, name_or_id)
        if row is None:
            raise not_found("team")
        return view_of(TeamView, row)

    async def get_team(self, team_id: UUID) -> TeamView:
        """One team.

        Raises:
            StrataError: ``not_found``.
        """
        async with self._database.tenant(Tenant(team_id)) as unit:
            row = await repository.get_team(unit)
        if row is None:
            raise not_found("team")
        return view_of(TeamView, row)

    async def change_team(self, actor: Actor, team_id: UUID, change: TeamSettings) -> TeamView:
        """Change a team's settings, and for the operator its name and status; an archived team's keys are refused.

        Raises:
            StrataError: ``not_found``, ``name_taken``.
        """
        values = {
            name: value
            for name, value in msgspec.structs.asdict(change).items()
            if value is not msgspec.UNSET
        }
        async with _UniqueName("team"), self._database.tenant(Tenant(team_id)) as unit:
            row = await repository.update_team(unit, **values)
            if row is None:
                raise not_found("team")
            pinned = {name: value for name, value in values.items() if name == "ranking_policy"}
            await audit.record(unit, actor, "team.change", "team", team_id, fields=sorted(values), **pinned)
            return view_of(TeamView, row)

    async def delete_team(self, actor: Actor, team_id: UUID) -> None:
        """Erase a team with everything in it; only its audit log stays.

        Raises:
            StrataError: ``not_found``.
        """
        for profile_id in await self._profile_ids(team_id):
            await self._erase_profile(actor, Tenant(team_id, profile_id))
        async with self._database.tenant(Tenant(team_id)) as unit:
            if not await repository.delete_team(unit):
                raise not_found("team")
            await audit.record(unit, actor, "team.delete", "team", team_id)

    async def _profile_ids(self, team_id: UUID) -> list[UUID]:
        async with self._database.tenant(Tenant(team_id)) as unit:
            rows = await repository.list_profiles(unit, only=None, after=None, limit=1_000_000)
        return [row.id for row in rows]

    async def create_profile(self, actor: Actor, team_id: UUID, data: ProfileInput) -> ProfileView:
        """Create a profile.

        Raises:
            StrataError: ``validation_failed``, ``name_taken``.
        """
        if data.text_search_config not in CONFIGURATIONS:
            raise invalid("text_search_config", f"must be one of {', '.join(sorted(CONFIGURATIONS))}")
        if problem := check_json_object(data.metadata):
            raise invalid("metadata", problem)
        values = {"id": uuid7(), **msgspec.structs.asdict(data)}
        async with _UniqueName("profile"), self._database.tenant(Tenant(team_id)) as unit:
            row = await repository.insert_profile(unit, values)
            await audit.record(unit, actor, "profile.create", "profile", row.id)
            return view_of(ProfileView, row)

    async def list_profiles(self, caller: Caller, after: UUID | None, limit: int) -> Page[ProfileView]:
        """The caller's profiles, by id."""
        return await self.list_team_profiles(caller.team_id, after, limit, only=caller.key_profile_id)

    async def list_team_profiles(
        self, team_id: UUID, after: UUID | None, limit: int, *, only: UUID | None = None
    ) -> Page[ProfileView]:
        """A team's profiles by id, or the one that ``only`` names."""
        async with self._database.tenant(Tenant(team_id)) as unit:
            rows = await repository.list_profiles(unit, only=only, after=after, limit=limit + 1)
        return page_of([view_of(ProfileView, row) for row in rows], limit, lambda profile: profile.id)

    async def locate_profile(self, profile_id: UUID, team_id: UUID | None = None) -> LocatedProfile:
        """Whose a profile is, for the operator, who knows it by its id alone.

        No statement sees the rows of two teams, so the teams are asked one after the other, unless ``team_id`` names
        the one.

        Raises:
            StrataError: ``not_found``.
        """
        if team_id is None:
            team_ids = [team.team_id for team in (await self.list_teams(None, 1_000_000)).items]
        else:
            team_ids = [team_id]
        for candidate in team_ids:
            tenant = Tenant(candidate, profile_id)
            async with self._database.tenant(tenant) as unit:
                profile = await repository.get_profile(unit, profile_id)
                team = None if profile is None else await repository.get_team(unit)
            if profile is not None and team is not None:
                return LocatedProfile(
                    tenant, team.embedding_space_id, profile.text_search_config, team.ranking_policy
                )
        raise not_found("profile")

    async def get_profile(self, tenant: Tenant) -> ProfileView:
        """One profile.

        Raises:
            StrataError: ``not_found``.
        """
        async with self._database.tenant(tenant) as unit:
            row = await repository.get_profile(unit, tenant.profile)
        if row is None:
            raise not_found("profile")
        return view_of(ProfileView, row)

    async def delete_profile(self, actor: Actor, tenant: Tenant) -> None:
        """Erase a profile with everything in it; only audit entries without content stay.

        Raises:
            StrataError: ``not_found``.
        """
        if not await self._erase_profile(actor, tenant):
            raise not_found("profile")

    async def _erase_profile(self, actor: Actor, tenant: Tenant) -> bool:
        erased = 1
        while erased:
            async with self._database.tenant(tenant) as unit:
                erased = await self._erase_some(unit)
        async with self._database.tenant(tenant) as unit:
            await self._forget_profile(unit)
            if not await repository.delete_profile(unit, tenant.profile):
                return False
            await audit.record(unit, actor, "profile.delete", "profile", tenant.profile)
        return True

    async def create_key(self, actor: Actor, team_id: UUID, data: KeyInput) -> KeyCreated:
        """Create a key.

        Raises:
            StrataError: ``validation_failed`` for a profile that is not the team's or an expiry in the past.
        """
        _check_expiry(data.expires_at)
        async with self._database.tenant(Tenant(team_id)) as unit:
            if await repository.get_team(unit) is None:
                raise not_found("team")
            if data.profile_id is not None and await repository.get_profile(unit, data.profile_id) is None:
                raise invalid("profile_id", "is no profile of this team")
            return await _insert_key(
                unit,
                actor,
                name=data.name,
                scopes=[*dict.fromkeys(data.scopes)],
                profile_id=data.profile_id,
                expires_at=data.expires_at,
            )

    async def list_keys(self, team_id: UUID, after: UUID | None, limit: int) -> Page[KeyView]:
        """Keys of a team by id, without their secrets.

        Raises:
            StrataError: ``not_found``.
        """
        async with self._database.tenant(Tenant(team_id)) as unit:
            if await repository.get_team(unit) is None:
                raise not_found("team")
            rows = await repository.list_keys(unit, after=after, limit=limit + 1)
        return page_of([view_of(KeyView, row) for row in rows], limit, lambda key: key.id)

    async def rotate_key(self, actor: Actor, team_id: UUID, key_id: UUID, data: KeyRotation) -> KeyCreated:
        """Replace a key by a new one with the same rights.

        Raises:
            StrataError: ``not_found``, ``conflict`` for a key that has ended already, or ``validation_failed`` for an
                expiry in the past.
        """
        _check_expiry(data.expires_at)
        now = datetime.now(UTC)
        async with self._database.tenant(Tenant(team_id)) as unit:
            old = await repository.lock_key(unit, key_id)
            if old is None:
                raise not_found("key")
            if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
                raise StrataError("conflict", "this key has ended already")
            new = await _insert_key(
                unit,
                actor,
                name=old.name,
                scopes=old.scopes,
                profile_id=old.profile_id,
                expires_at=data.expires_at,
                rotated_from=old.id,
            )
            ends = now + timedelta(seconds=data.grace_seconds)
            if data.grace_seconds == 0:
                await repository.end_key(unit, key_id, revoked_at=now)
            elif old.expires_at is None or old.expires_at > ends:
                await repository.end_key(unit, key_id, expires_at=ends)
            await audit.record(unit, actor, "key.rotate", "key", key_id, grace_seconds=data.grace_seconds)
            return new

    async def revoke_key(self, actor: Actor, team_id: UUID, key_id: UUID) -> KeyView:
        """Revoke a key; it is refused from the next request on, in every process. Repeating it changes nothing.

        Raises:
            StrataError: ``not_found``.
        """
        async with self._database.tenant(Tenant(team_id)) as unit:
            row = await repository.lock_key(unit, key_id)
            if row is None:
                raise not_found("key")
            if row.revoked_at is None:
                row = await repository.end_key(unit, key_id, revoked_at=datetime.now(UTC))
                await audit.record(unit, actor, "key.revoke", "key", key_id)
            return view_of(KeyView, row)

    async def list_audit(self, team_id: UUID, before: UUID | None, limit: int) -> Page[AuditView]:
        """Audit entries of a team, newest first."""
        async with self._database.tenant(Tenant(team_id)) as unit:
            rows = await repository.list_audit(unit, before=before, limit=limit + 1)
        return page_of([view_of(AuditView, row) for row in rows], limit, lambda entry: entry.id)


def _check_expiry(expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise invalid("expires_at", "must be in the future")


class _UniqueName:
    """Turns the violation of a unique name into ``name_taken``; wraps the unit of work, which must roll back first."""

    def __init__(self, what: str) -> None:
        self._what = what

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, IntegrityError) and getattr(error.orig, "sqlstate", None) == "23505":
            raise StrataError("name_taken", f"another {self._what} has this name") from error


async def _insert_key(
    unit: UnitOfWork,
    actor: Actor,
    *,
    name: str,
    scopes: list[str],
    profile_id: UUID | None = None,
    expires_at: datetime | None = None,
    rotated_from: UUID | None = None,
) -> KeyCreated:
    key = keys.new_key()
    values = {
        "id": uuid7(),
        "name": name,
        "prefix": key.prefix,
        "digest": key.digest,
        "scopes": scopes,
        "profile_id": profile_id,
        "expires_at": expires_at,
        "rotated_from": rotated_from,
    }
    row = await repository.insert_key(unit, values)
    await audit.record(unit, actor, "key.create", "key", row.id, scopes=scopes)
    return KeyCreated(**msgspec.structs.asdict(view_of(KeyView, row)), api_key=key.text)

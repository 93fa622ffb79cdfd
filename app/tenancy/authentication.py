"""Who is calling: one database round trip from a presented key to its team, scopes and profile.

Nothing is cached, so a revoked key stops working at once in every process.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from app.db.unit_of_work import Database, Statement, Tenant
from app.errors import StrataError, not_found
from app.tenancy import keys

_FIND = (
    "SELECT digest, revoked_at, expires_at, team_status, profile_status, key_profile_id, team_id, key_id, scopes,"
    " embedding_space_id, text_search_config, ranking_policy FROM find_caller(%s, %s)"
)


class _Found(NamedTuple):
    """One row of ``find_caller``."""

    digest: bytes
    revoked_at: datetime | None
    expires_at: datetime | None
    team_status: str
    profile_status: str | None
    key_profile_id: UUID | None
    team_id: UUID
    key_id: UUID
    scopes: list[str]
    embedding_space_id: int
    text_search_config: str | None
    ranking_policy: str | None


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated API key and the profile that the request names, if any; ``ranking_policy`` is the team's pin."""

    team_id: UUID
    key_id: UUID
    scopes: frozenset[str]
    key_profile_id: UUID | None
    embedding_space_id: int
    profile_id: UUID | None = None
    text_search_config: str = "english"
    ranking_policy: str | None = None

    @property
    def tenant(self) -> Tenant:
        """Whose rows this request may see."""
        return Tenant(self.team_id, self.profile_id)


class Authentication:
    """Looks callers up."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def authenticate(self, header: str | None, profile_id: UUID | None) -> Caller:
        """The caller that an ``Authorization`` header stands for.

        Args:
            header: Value of the header.
            profile_id: Profile that the request's path names; it must exist in the key's team.

        Raises:
            StrataError: ``missing_key``, ``invalid_key``, ``expired_key``, ``revoked_key``, ``team_archived``, or
                ``not_found`` for a profile that is not the caller's.
        """
        key = bearer_token(header)
        if key is None:
            raise StrataError("missing_key", "this route needs an API key")
        row = await self._find(key, profile_id)
        if row.revoked_at is not None:
            raise StrataError("revoked_key", "this API key was revoked")
        if row.expires_at is not None and row.expires_at <= datetime.now(UTC):
            raise StrataError("expired_key", "this API key has expired")
        if row.team_status != "active":
            raise StrataError("team_archived", "the team of this API key is archived")
        if profile_id is not None and (
            row.profile_status is None or row.key_profile_id not in (None, profile_id)
        ):
            raise not_found("profile")
        return Caller(
            team_id=row.team_id,
            key_id=row.key_id,
            scopes=frozenset(row.scopes),
            key_profile_id=row.key_profile_id,
            embedding_space_id=row.embedding_space_id,
            profile_id=profile_id,
            text_search_config=row.text_search_config or "english",
            ranking_policy=row.ranking_policy,
        )

    async def _find(self, key: str, profile_id: UUID | None) -> _Found:
        prefix = keys.prefix_of(key)
        if prefix is not None:
            for row in map(
                _Found._make, await self._database.fetch_unbound(Statement(_FIND, (prefix, profile_id)))
            ):
                if keys.matches(key, row.digest):
                    return row
        raise StrataError("invalid_key", "this API key is not known")


def bearer_token(header: str | None) -> str | None:
    """Token of an ``Authorization: Bearer`` header; ``None`` when there is none."""
    scheme, _, token = (header or "").partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and token else None

"""Request and response bodies of teams, profiles, keys and audit."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from app.http.fields import Description, Instant, Name, PolicyName

Scope = Literal["memory:read", "memory:write", "feedback:write", "admin"]
Scopes = Annotated[list[Scope], Meta(min_length=1, max_length=4)]


class TeamInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A team to create."""

    name: Name


class TeamSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a team decides for itself.

    ``ranking_policy`` ranks every recall that names no policy; null unpins it, and the service's default holds.
    """

    ranking_policy: PolicyName | msgspec.UnsetType | None = msgspec.UNSET


class TeamChange(TeamSettings, forbid_unknown_fields=True, kw_only=True):
    """What the operator may change of a team."""

    name: Name | msgspec.UnsetType = msgspec.UNSET
    status: Literal["active", "archived"] | msgspec.UnsetType = msgspec.UNSET


class TeamView(msgspec.Struct, kw_only=True):
    """A team; ``ranking_policy`` is null where it has pinned none."""

    team_id: UUID
    name: str
    status: str
    ranking_policy: str | None
    created_at: datetime
    updated_at: datetime


class TeamCreated(TeamView, kw_only=True):
    """A new team with its first key, which is shown this once."""

    api_key: str
    key_id: UUID


class ProfileInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A profile to create."""

    name: Name
    text_search_config: Annotated[str, Meta(min_length=1, max_length=64)] = "english"
    description: Description | None = None
    metadata: dict[str, Any] = {}


class ProfileView(msgspec.Struct, kw_only=True):
    """A profile."""

    id: UUID
    name: str
    text_search_config: str
    description: str | None
    metadata: dict[str, Any]
    status: str
    created_at: datetime
    updated_at: datetime


class KeyInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A key to create."""

    name: Name
    scopes: Scopes = msgspec.field(default_factory=lambda: ["memory:read", "memory:write"])
    profile_id: UUID | None = None
    expires_at: Instant | None = None


class KeyRotation(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How a key is replaced: the old one goes on for ``grace_seconds``."""

    grace_seconds: Annotated[int, Meta(ge=0, le=604_800)] = 0
    expires_at: Instant | None = None


class KeyView(msgspec.Struct, kw_only=True):
    """A key, without its secret."""

    id: UUID
    name: str
    prefix: str
    scopes: list[str]
    profile_id: UUID | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    rotated_from: UUID | None


class KeyCreated(KeyView, kw_only=True):
    """A new key; ``api_key`` is shown this once."""

    api_key: str


class AuditView(msgspec.Struct, kw_only=True):
    """One audit entry."""

    id: UUID
    occurred_at: datetime
    action: str
    entity_type: str
    entity_id: str
    actor_type: str
    actor_id: str | None
    request_id: str | None
    details: dict[str, Any]

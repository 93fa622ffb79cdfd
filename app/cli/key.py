"""``strata key``: API keys of a team."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, get_args
from uuid import UUID

import msgspec
import typer

from app.cli.output import fail, out, print_json, print_table
from app.cli.session import OPERATOR, with_services
from app.services import Services
from app.tenancy.schemas import KeyCreated, KeyInput, KeyRotation, KeyView, Scope

commands = typer.Typer(help="API keys.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON")]
Team = Annotated[str, typer.Argument(help="Team, by name or id")]
KeyId = Annotated[UUID, typer.Argument(help="Id of the key")]


@commands.command()
def create(
    team: Team,
    name: Annotated[str, typer.Option(help="What the key is for")] = "key",
    scope: Annotated[
        list[str] | None, typer.Option(help=f"Scope, repeatable: {', '.join(get_args(Scope))}")
    ] = None,
    profile: Annotated[UUID | None, typer.Option(help="Restrict the key to one profile")] = None,
    days: Annotated[int | None, typer.Option(help="Days until it expires", min=1)] = None,
    as_json: Json = False,
) -> None:
    """Create a key; it is shown this once."""
    expires = None if days is None else datetime.now(UTC) + timedelta(days=days)
    try:
        data = msgspec.convert(
            {
                "name": name,
                "scopes": scope or ["memory:read", "memory:write"],
                "profile_id": profile,
                "expires_at": expires,
            },
            KeyInput,
        )
    except msgspec.ValidationError as error:
        fail(str(error), "See `strata key create --help`.")

    async def use(services: Services) -> KeyCreated:
        found = await services.tenancy.find_team(team)
        return await services.tenancy.create_key(OPERATOR, found.team_id, data)

    _show(with_services(use), as_json)


@commands.command("list")
def list_all(team: Team, as_json: Json = False) -> None:
    """List a team's keys, ended ones included."""

    async def use(services: Services) -> list[KeyView]:
        found = await services.tenancy.find_team(team)
        return (await services.tenancy.list_keys(found.team_id, None, 1_000_000)).items

    keys = with_services(use)
    if as_json:
        print_json(keys)
        return
    print_table(
        ["key", "name", "prefix", "scopes", "state"],
        [[str(k.id), k.name, k.prefix, " ".join(k.scopes), _state(k)] for k in keys],
    )


@commands.command()
def rotate(
    team: Team,
    key_id: KeyId,
    grace: Annotated[int, typer.Option(help="Seconds that the old key goes on", min=0, max=604_800)] = 0,
    as_json: Json = False,
) -> None:
    """Replace a key by a new one with the same rights."""

    async def use(services: Services) -> KeyCreated:
        found = await services.tenancy.find_team(team)
        return await services.tenancy.rotate_key(
            OPERATOR, found.team_id, key_id, KeyRotation(grace_seconds=grace)
        )

    _show(with_services(use), as_json)


@commands.command()
def revoke(team: Team, key_id: KeyId) -> None:
    """Refuse a key from now on, in every process."""

    async def use(services: Services) -> KeyView:
        found = await services.tenancy.find_team(team)
        return await services.tenancy.revoke_key(OPERATOR, found.team_id, key_id)

    out.print(f"{with_services(use).prefix} is revoked", highlight=False)


def _show(key: KeyCreated, as_json: bool) -> None:
    if as_json:
        print_json({"id": key.id, "api_key": key.api_key, "scopes": key.scopes, "expires_at": key.expires_at})
        return
    out.print(f"key      {key.id}\nAPI key  {key.api_key}\n\nThe key is not shown again.", highlight=False)


def _state(key: KeyView) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is not None:
        return f"until {key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at > datetime.now(UTC) else "expired"
    return "active"

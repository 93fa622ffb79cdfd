"""``strata profile``: memory spaces of a team."""

from typing import Annotated, Any

import msgspec
import typer

from app.cli.access import KeyOption, UrlOption, with_server
from app.cli.output import CommandError, fail, out, print_json, print_table
from app.cli.remote import send
from app.cli.session import OPERATOR, with_services
from app.errors import StrataError
from app.http.bodies import decode_item
from app.services import Services
from app.tenancy.schemas import ProfileInput

commands = typer.Typer(help="Profiles: memory spaces of a team.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON")]
Team = Annotated[
    str | None, typer.Option("--team", help="Team, by name or id; with --url it is the key's own")
]
_PAGE = 100


@commands.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the profile", show_default=False)],
    team: Team = None,
    text_search_config: Annotated[
        str, typer.Option(help="Language whose words are brought to their stems, as PostgreSQL names it")
    ] = "english",
    description: Annotated[str | None, typer.Option(help="What it is for")] = None,
    url: UrlOption = None,
    key: KeyOption = None,
    as_json: Json = False,
) -> None:
    """Create a profile; its id is what memories and questions name."""
    values = {"name": name, "text_search_config": text_search_config, "description": description}
    data = decode_item(values, ProfileInput, "")
    if isinstance(data, StrataError):
        fail(data.detail.removeprefix("."), "See `strata profile create --help`.")
    if url is not None:
        created = with_server(
            url, key, lambda client: send(client, "POST", "/v1/profiles", json=msgspec.to_builtins(data))
        )
    else:
        wanted = _required(team)

        async def use(services: Services) -> Any:
            found = await services.tenancy.find_team(wanted)
            return msgspec.to_builtins(await services.tenancy.create_profile(OPERATOR, found.team_id, data))

        created = with_services(use)
    if as_json:
        print_json(created)
        return
    out.print(f"profile  {created['id']}", highlight=False)


@commands.command("list")
def list_all(team: Team = None, url: UrlOption = None, key: KeyOption = None, as_json: Json = False) -> None:
    """List a team's profiles."""
    if url is not None:
        profiles = with_server(url, key, _all_pages)
    else:
        wanted = _required(team)

        async def use(services: Services) -> list[Any]:
            found = await services.tenancy.find_team(wanted)
            page = await services.tenancy.list_team_profiles(found.team_id, None, 1_000_000)
            listed: list[Any] = msgspec.to_builtins(page.items)
            return listed

        profiles = with_services(use)
    if as_json:
        print_json(profiles)
        return
    print_table(
        ["profile", "name", "language", "created"],
        [
            [p["id"], p["name"], p["text_search_config"], p["created_at"][:16].replace("T", " ")]
            for p in profiles
        ],
        whole=("profile", "created"),
    )


async def _all_pages(client: Any) -> list[Any]:
    items: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = await send(client, "GET", "/v1/profiles", params={"limit": _PAGE, **cursor})
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        cursor = {"cursor": page["next_cursor"]}


def _required(team: str | None) -> str:
    if team is None:
        raise CommandError(
            "the team is missing", "Give --team with its name or id; `strata team list` shows them."
        )
    return team

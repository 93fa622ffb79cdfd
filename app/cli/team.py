"""``strata team``: tenants."""

from typing import Annotated, Literal

import typer

from app.cli.output import out, print_json, print_table
from app.cli.session import OPERATOR, with_services
from app.http.fields import PolicyName
from app.services import Services
from app.tenancy.schemas import TeamChange, TeamView

commands = typer.Typer(help="Teams: the tenants.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON")]


@commands.command()
def create(name: Annotated[str, typer.Argument(help="Name of the team")], as_json: Json = False) -> None:
    """Create a team and its first API key, which is shown this once."""
    team = with_services(lambda services: services.tenancy.create_team(OPERATOR, name, services.space_id))
    if as_json:
        print_json(
            {"team_id": team.team_id, "name": team.name, "api_key": team.api_key, "key_id": team.key_id}
        )
        return
    out.print(
        f"team     {team.team_id}\nAPI key  {team.api_key}\n\nThe key is not shown again.", highlight=False
    )


@commands.command("list")
def list_all(as_json: Json = False) -> None:
    """List every team."""
    page = with_services(lambda services: services.tenancy.list_teams(None, 1_000_000))
    if as_json:
        print_json(page.items)
        return
    print_table(
        ["team", "name", "status", "ranking policy", "created"],
        [
            [
                str(t.team_id),
                t.name,
                t.status,
                t.ranking_policy or "the default",
                f"{t.created_at:%Y-%m-%d %H:%M}",
            ]
            for t in page.items
        ],
    )


@commands.command()
def archive(team: Annotated[str, typer.Argument(help="Name or id")]) -> None:
    """Refuse the team's keys; its memories stay."""
    _set_status(team, "archived")


@commands.command()
def activate(team: Annotated[str, typer.Argument(help="Name or id")]) -> None:
    """Accept the team's keys again."""
    _set_status(team, "active")


def _set_status(team: str, status: Literal["active", "archived"]) -> None:
    changed = _change(team, TeamChange(status=status))
    out.print(f"{changed.name} is {changed.status}", highlight=False)


@commands.command("pin-policy")
def pin_policy(
    team: Annotated[str, typer.Argument(help="Name or id")],
    policy: Annotated[PolicyName, typer.Argument(help="Ranking policy")],
) -> None:
    """Rank the team's recalls by this policy wherever a request names none."""
    changed = _change(team, TeamChange(ranking_policy=policy))
    out.print(f"{changed.name} is ranked by {changed.ranking_policy}", highlight=False)


@commands.command("unpin-policy")
def unpin_policy(team: Annotated[str, typer.Argument(help="Name or id")]) -> None:
    """Rank the team's recalls by the service's default again."""
    changed = _change(team, TeamChange(ranking_policy=None))
    out.print(f"{changed.name} is ranked by the default", highlight=False)


def _change(team: str, change: TeamChange) -> TeamView:
    async def use(services: Services) -> TeamView:
        found = await services.tenancy.find_team(team)
        return await services.tenancy.change_team(OPERATOR, found.team_id, change)

    return with_services(use)


@commands.command()
def delete(
    team: Annotated[str, typer.Argument(help="Name or id")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask")] = False,
) -> None:
    """Erase a team and everything in it, for good; its audit log stays."""
    if not yes:
        typer.confirm(f"Erase team {team} with all its memories?", abort=True)

    async def use(services: Services) -> TeamView:
        found = await services.tenancy.find_team(team)
        await services.tenancy.delete_team(OPERATOR, found.team_id)
        return found

    out.print(f"{with_services(use).name} is erased", highlight=False)

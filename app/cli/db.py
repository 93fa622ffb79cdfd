"""``strata db``: migrations and checks, for DBAs."""

from typing import Annotated

import sqlalchemy as sa
import typer

from app.cli.output import fail, out, print_json, print_table
from app.cli.session import with_services
from app.db import migrate
from app.db.checks import check_database
from app.db.unit_of_work import Tenant
from app.db.urls import sqlalchemy_url
from app.runtime import (
    API_VARIABLE,
    OWNER_VARIABLE,
    DatabaseUrls,
    database_urls,
    embedding_service,
    ensure_space,
    explained_refusal,
)
from app.services import Services
from app.settings import load_settings

commands = typer.Typer(help="Migrations and checks of the database.", no_args_is_help=True)

_ALL = 1_000_000


def _owner_url(urls: DatabaseUrls) -> str:
    if urls.owner is None:
        fail(
            "the owner's URL is not set",
            "Set STRATA_OWNER_DATABASE_URL=postgresql://strata_owner:...@host/strata",
        )
    return urls.owner


@commands.command()
def upgrade(revision: Annotated[str, typer.Argument(help="Revision to upgrade to")] = "head") -> None:
    """Apply migrations and register the configured embedder's space."""
    settings = load_settings()
    with database_urls(settings) as urls, explained_refusal(OWNER_VARIABLE):
        migrate.upgrade(_owner_url(urls), revision)
        if revision == "head":
            descriptor = embedding_service(settings).descriptor
            space = ensure_space(_owner_url(urls), descriptor)
            out.print(f"embedding space {space}: {descriptor.key} ({descriptor.dimension})", highlight=False)
    out.print(
        f"database is at {migrate.head_revision() if revision == 'head' else revision}", highlight=False
    )


@commands.command()
def downgrade(revision: Annotated[str, typer.Argument(help="Revision to go back to, or base")]) -> None:
    """Undo migrations. Tables that the target does not have are dropped with their rows."""
    with database_urls(load_settings()) as urls, explained_refusal(OWNER_VARIABLE):
        migrate.downgrade(_owner_url(urls), revision)
    out.print(f"database is at {revision}", highlight=False)


@commands.command()
def current() -> None:
    """Print the revision that the database is at."""
    with database_urls(load_settings()) as urls:
        engine = sa.create_engine(sqlalchemy_url(urls.owner or urls.api), poolclass=sa.NullPool)
        variable = OWNER_VARIABLE if urls.owner else API_VARIABLE
        with explained_refusal(variable), engine.connect() as connection:
            out.print(migrate.current_revision(connection) or "none", highlight=False)


@commands.command()
def check(as_json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False) -> None:
    """Check versions, role and migrations; exit code 1 when something must be mended."""
    with database_urls(load_settings()) as urls:
        engine = sa.create_engine(sqlalchemy_url(urls.api), poolclass=sa.NullPool)
        with explained_refusal(API_VARIABLE), engine.connect() as connection:
            findings = check_database(connection)
    if as_json:
        print_json(
            [
                {"name": f.name, "ok": f.ok, "found": f.found, "remedy": "" if f.ok else f.remedy}
                for f in findings
            ]
        )
    else:
        print_table(
            ["check", "", "found"],
            [
                [f.name, "ok" if f.ok else "MEND", f.found + ("" if f.ok else f"\n{f.remedy}")]
                for f in findings
            ],
        )
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


@commands.command()
def refresh() -> None:
    """Make anew what older rules derived from memories, after an upgrade that changes the rules; safe while serving."""

    async def run(services: Services) -> int:
        made = 0
        for team in (await services.tenancy.list_teams(None, _ALL)).items:
            for profile in (await services.tenancy.list_team_profiles(team.team_id, None, _ALL)).items:
                made += await services.fragments.refresh_fingerprints(
                    Tenant(team.team_id, profile.id), profile.text_search_config
                )
        return made

    out.print(f"{with_services(run)} fingerprints made anew", highlight=False)


@commands.command()
def sql(
    revisions: Annotated[str, typer.Argument(help="Revision, or FROM:TO")] = "head",
) -> None:
    """Print the SQL of the migrations instead of running it."""
    typer.echo(migrate.offline_sql(revisions))

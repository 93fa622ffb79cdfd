"""``strata memory``: what a profile holds, and importing more."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import typer
from rich.markup import escape

from app.cli.access import (
    KeyOption,
    MemoryAccess,
    ProfileOption,
    Target,
    TeamOption,
    UrlOption,
    with_memory,
)
from app.cli.filters import Filters, instant
from app.cli.importing.runner import Import
from app.cli.importing.sources import find_files
from app.cli.importing.watch import Watch, print_summary, summary_json
from app.cli.output import CommandError, err, out, print_fields, print_json, print_table, report_error
from app.cli.text import age, one_line
from app.errors import StrataError
from app.memory.schemas import MAX_BATCH_ITEMS, SourceType

commands = typer.Typer(help="Memories of a profile.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON")]
FragmentId = Annotated[UUID, typer.Argument(help="Id of the fragment", show_default=False)]
_PAGE = 100
_SNIPPET = 100
INTERRUPTED = 130


@commands.command("import")
def import_files(
    paths: Annotated[
        list[Path],
        typer.Argument(
            exists=True, help="JSONL, Markdown or text: files, or folders of them", show_default=False
        ),
    ],
    profile: ProfileOption,
    team: TeamOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
    batch_size: Annotated[
        int,
        typer.Option(
            help="Fragments of a batch: one embedding pass, one transaction", min=1, max=MAX_BATCH_ITEMS
        ),
    ] = 256,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, store nothing")] = False,
    as_json: Json = False,
) -> None:
    """Store what files hold; nothing is stored twice.

    A JSONL row carries `content`, or `text` with an optional `title`; its `id` becomes the idempotency key; its other
    fields are those of the API: source, source_type, authority, labels, metadata, classification, valid_from, valid_to,
    recorded_at, recorded_to. Markdown and text are divided by heading and paragraph; path, headings and line range go
    into each piece's metadata.

    An import that was cut off goes on where it stopped when the command is repeated. The exit code is 1 when a row or
    a named file was refused; the rest is stored.
    """
    files = list(find_files(paths))
    with Watch(files) as watch:
        importing = Import(files, watch, batch_size=batch_size)
        code = _run(importing, None if dry_run else Target(profile, team, url, key))
    if as_json:
        print_json(summary_json(importing.summary, profile, watch.seconds, dry_run=dry_run))
    else:
        print_summary(importing.summary, watch.seconds, dry_run=dry_run)
    if code or importing.summary.failed:
        raise typer.Exit(code or 1)


def _run(importing: Import, target: Target | None) -> int:
    """Import; the exit code that a failure of the whole calls for, after telling it."""
    try:
        if target is None:
            asyncio.run(importing.run(None))
        else:
            with_memory(target, importing.run, embedder=True)
    except KeyboardInterrupt:
        err.print("interrupted; repeat the command to go on where it stopped", highlight=False)
        return INTERRUPTED
    except (StrataError, CommandError) as error:
        if not importing.summary.items:
            raise
        if isinstance(error, StrataError):
            report_error(error)
        else:
            err.print("[bold red]error[/]", escape(str(error)), highlight=False, soft_wrap=True)
        err.print(
            "      What is stored stays; repeat the command to go on where it stopped.", highlight=False
        )
        return 1
    return 0


@commands.command("list")
def list_all(
    profile: ProfileOption,
    team: TeamOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
    status: Annotated[Literal["active", "retracted"] | None, typer.Option(help="Only these")] = None,
    source_type: Annotated[SourceType | None, typer.Option(help="Only these")] = None,
    label: Annotated[str | None, typer.Option(help="Only those with this label")] = None,
    created_from: Annotated[
        datetime | None, typer.Option(parser=instant, help="Created at this time or later")
    ] = None,
    created_to: Annotated[
        datetime | None, typer.Option(parser=instant, help="Created before this time")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many, oldest first; 0: all", min=0)] = 20,
    as_json: Json = False,
) -> None:
    """List fragments, oldest first. A time is a date or RFC 3339 with an offset."""
    filters = Filters(status, source_type, label, created_from, created_to)

    async def use(access: MemoryAccess) -> tuple[list[dict[str, Any]], bool]:
        return await _collect(access, filters, limit)

    fragments, more = with_memory(Target(profile, team, url, key), use)
    if as_json:
        print_json(fragments)
        return
    now = datetime.now(UTC)
    print_table(
        ["fragment", "status", "age", "source", "content"],
        [
            [
                str(fragment["id"]),
                fragment["status"],
                age(fragment["recorded_at"], now),
                fragment["source"] or "",
                one_line(fragment["content"], _SNIPPET),
            ]
            for fragment in fragments
        ],
        whole=("fragment", "age"),
    )
    if more:
        out.print(f"\nMore than {limit}; see more with --limit.", highlight=False)


async def _collect(access: MemoryAccess, filters: Filters, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """The first ``limit`` fragments (0: all), and whether there are more."""
    fragments: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        wanted = min(_PAGE, limit - len(fragments)) if limit else _PAGE
        page = await access.list_page(filters, wanted, cursor)
        fragments += page["items"]
        cursor = page["next_cursor"]
        if cursor is None or len(fragments) == limit:
            return fragments, cursor is not None


@commands.command()
def show(
    fragment: FragmentId,
    profile: ProfileOption,
    team: TeamOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
    as_json: Json = False,
) -> None:
    """Show one fragment with all that is known of it."""
    found = with_memory(Target(profile, team, url, key), lambda access: access.get(fragment))
    if as_json:
        print_json(found)
        return
    print_fields({name: value for name, value in found.items() if name not in ("content", "metadata")})
    print_fields(found["metadata"], prefix="metadata.")
    out.print()
    out.print(found["content"], markup=False, highlight=False)


@commands.command()
def retract(
    fragment: FragmentId,
    profile: ProfileOption,
    team: TeamOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
    as_json: Json = False,
) -> None:
    """Withdraw a fragment: it stays readable and is never recalled again."""
    found = with_memory(Target(profile, team, url, key), lambda access: access.retract(fragment))
    if as_json:
        print_json(found)
        return
    out.print(f"{found['id']} is {found['status']}", highlight=False)

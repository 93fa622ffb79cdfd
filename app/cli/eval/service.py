"""The service that a command of the evaluation asks, with progress shown while it does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from app.cli.output import CommandError, err
from app.evaluation.api import Api, embedded_api, remote_api
from app.logs import configure_logging
from app.settings import Settings, load_settings

SERVICE: Final = "service"
Result = TypeVar("Result")
Say = Callable[[str, int, int], None]


def with_api(
    directory: Path,
    base_url: str | None,
    key: str | None,
    use: Callable[[Api, Say], Awaitable[Result]],
    *,
    settings: Settings | None = None,
) -> Result:
    """Open the service, show progress, run ``use``.

    Args:
        directory: Of the run; an embedded service lives in it.
        base_url: A running server; an embedded one if None.
        key: The API key for a running server.
        use: What the command does with the service and a way to tell its progress.
        settings: Configuration; the environment's if None.
    """
    used = settings or load_settings()
    configure_logging(used.model_copy(update={"log_level": "warning", "log_format": "console"}))

    async def run() -> Result:
        with _progress() as bar:
            task = bar.add_task("starting", total=None)

            def say(stage: str, done: int, total: int) -> None:
                bar.update(task, description=stage, completed=done, total=total)

            async with _opened(directory, base_url, key, used) as api:
                return await use(api, say)

    return asyncio.run(run())


def titled(say: Say, title: str) -> Say:
    """Progress with a headline before every stage."""
    return lambda stage, done, total: say(f"{title}: {stage}", done, total)


@asynccontextmanager
async def _opened(
    directory: Path, base_url: str | None, key: str | None, settings: Settings
) -> AsyncIterator[Api]:
    if base_url is None:
        async with embedded_api((directory / SERVICE).absolute(), settings) as api:
            yield api
        return
    if key is None:
        raise CommandError("--base-url needs an API key", "Set STRATA_API_KEY, or give --key.")
    async with remote_api(base_url, key) as api:
        yield api


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
    )

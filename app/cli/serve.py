"""``strata serve``: the API."""

import asyncio
import signal
from typing import Annotated

import typer
import uvicorn

from app.asgi import configure_logging, create_app
from app.cli.output import err
from app.jobs.worker import run as run_jobs
from app.runtime import running_services
from app.settings import Settings, load_settings


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on", min=0, max=65_535)] = 8080,
    demo: Annotated[bool, typer.Option("--demo", help="Load the demo memories once and print a key")] = False,
) -> None:
    """Serve the REST API. Without STRATA_DATABASE_URL, an embedded PostgreSQL runs in STRATA_DATA_DIR."""
    settings = load_settings()
    configure_logging(settings)
    app = create_app(settings)
    err.print(f"Strata on http://{host}:{port} (documentation: /docs, readiness: /readyz)", highlight=False)
    uvicorn.run(app, host=host, port=port, log_config=None, access_log=False, timeout_graceful_shutdown=10)


def worker() -> None:
    """Run background jobs without the API."""
    settings = load_settings()
    configure_logging(settings)
    err.print("Strata worker: waiting for jobs", highlight=False)

    async def work() -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(_work(settings))
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, task.cancel)
        await asyncio.gather(task, return_exceptions=True)
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error

    asyncio.run(work())


async def _work(settings: Settings) -> None:
    async with running_services(settings) as services:
        await run_jobs(services)

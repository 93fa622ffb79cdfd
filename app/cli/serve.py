"""``strata serve``: the API."""

import asyncio
import logging
import signal
import socket
from functools import partial
from typing import Annotated

import structlog
import typer
import uvicorn

from app.asgi import create_app, startup_error
from app.cli.output import CommandError, err, report_error
from app.demo.loading import load_demo
from app.http.problems import to_error
from app.jobs.worker import run as run_jobs
from app.logs import configure_logging
from app.runtime import running_services
from app.services import Services
from app.settings import Settings, load_settings

_log = structlog.get_logger()


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on", min=0, max=65_535)] = 8080,
    demo: Annotated[bool, typer.Option("--demo", help="Load the demo memories once and print a key")] = False,
) -> None:
    """Serve the REST API. Without STRATA_DATABASE_URL, an embedded PostgreSQL runs in STRATA_DATA_DIR."""
    settings = load_settings()
    configure_logging(settings)
    # Bound before anything is started: a port that is taken is told at once, and port 0 becomes the one that is free.
    with _bound(host, port) as listener:
        address = _address(listener)
        app = create_app(settings, on_ready=partial(_show_demo, address) if demo else None)
        err.print(f"Strata on {address} (documentation: /docs, readiness: /readyz)", highlight=False)
        server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=10)
        )
        # What kept the application from starting is told by the command, in one sentence.
        logging.getLogger("uvicorn.error").addFilter(lambda _: startup_error(app) is None)
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            # Ctrl-C: the server has shut down by itself and passes it on.
            return
        except SystemExit:
            if (error := startup_error(app)) is not None:
                raise error from None
            raise


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CommandError(f"cannot listen on {host}: {error.strerror}", "Choose another --host.") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(where)
    except OSError as error:
        listener.close()
        raise CommandError(
            f"cannot listen on {host} port {port}: {error.strerror}", "Choose another --host or --port."
        ) from error
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - an address to show, not to bind
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


async def _show_demo(address: str, services: Services) -> None:
    """Load the demo and print how to ask it; the service goes on without it when that fails."""
    try:
        demo = await load_demo(services)
    except Exception as exception:  # noqa: BLE001 - whatever it is, it is told and the service goes on
        error = to_error(exception)
        if error.code == "internal_error":
            _log.exception("demo_not_loaded")
        err.print("[bold red]The demo could not be loaded.[/]")
        report_error(error)
        return
    added = f"{demo.stored} loaded now" if demo.stored else "all there already"
    err.print(f"\nDemo: {demo.memories} memories, {added}. Ask them:\n", highlight=False)
    # Not through the console, which would fold it: this is to be pasted.
    typer.echo(
        f"curl -s {address}/v1/profiles/{demo.profile_id}/recall \\\n"
        f"  -H 'Authorization: Bearer {demo.api_key}' -H 'Content-Type: application/json' \\\n"
        """  -d '{"query": "what did we decide about retries", "limit": 3}'\n""",
        err=True,
    )


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

"""Running services for one command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from app.logs import configure_logging, reset_logging
from app.runtime import running_services
from app.services import Services
from app.settings import Settings, load_settings
from app.tenancy.audit import Actor

Result = TypeVar("Result")
OPERATOR = Actor("operator", "strata")


def with_services(
    use: Callable[[Services], Awaitable[Result]], *, embedder: bool = False, settings: Settings | None = None
) -> Result:
    """Start services, run ``use``, stop them.

    Args:
        use: What the command does.
        embedder: Load the model first.
        settings: Configuration; the environment's if None.
    """
    used = settings or load_settings()
    configure_logging(used.model_copy(update={"log_level": "warning", "log_format": "console"}))

    async def run() -> Result:
        async with running_services(used) as services:
            if embedder:
                await services.embeddings.start()
            return await use(services)

    try:
        return asyncio.run(run())
    finally:
        reset_logging()

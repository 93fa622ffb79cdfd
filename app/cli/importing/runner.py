"""Storing what files hold, batch by batch, so that an import that was cut off goes on where it stopped.

Nothing marks how far an import came: every fragment has a key or is known by its content, so a repeated import finds
what is stored already and stores the rest.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import msgspec

from app.cli.access import MemoryAccess
from app.cli.importing.sources import Item, Refused, Skipped, SourceFile, read_file
from app.cli.output import CommandError
from app.errors import StrataError, first_failure
from app.memory.service import Stored

MAX_BATCH_BYTES: Final = 4 * 1024 * 1024
LISTED_ERRORS: Final = 1_000
BATCHES_IN_FLIGHT: Final = 2
"""While one batch is stored, the next one is embedded."""

PAUSES: Final = (1.0, 2.0, 5.0, 10.0, 20.0)
"""Seconds before each repetition of a batch that the service could not take just now."""


class Summary(msgspec.Struct, kw_only=True):
    """What an import did.

    Attributes:
        files: Files that were read.
        items: Rows and pieces found in them.
        stored: New fragments.
        duplicates: Items whose key or content was there already, or came twice.
        failed: Items that were refused; ``errors`` lists the first thousand.
    """

    files: int = 0
    items: int = 0
    stored: int = 0
    duplicates: int = 0
    failed: int = 0
    errors: list[Refused] = msgspec.field(default_factory=list)
    skipped: list[Skipped] = msgspec.field(default_factory=list)


class Listener(Protocol):
    """Whoever watches an import; called from any thread."""

    def began(self) -> None:
        """Everything is ready; reading starts."""

    def advanced(self, size: int, items: int) -> None:
        """Bytes of the input and items are done."""

    def refused(self, refused: Refused) -> None:
        """An item was refused."""

    def waiting(self, reason: str, seconds: float) -> None:
        """A batch will be repeated after a pause."""


class Import:
    """One import.

    Args:
        files: What was found to import, in order.
        listener: Who watches.
        batch_size: Items of a batch.
        pauses: Seconds before each repetition of a batch.
    """

    def __init__(
        self,
        files: Iterable[SourceFile | Skipped],
        listener: Listener,
        *,
        batch_size: int,
        pauses: tuple[float, ...] = PAUSES,
    ) -> None:
        self.summary = Summary()
        self._events = self._read(files)
        self._listener = listener
        self._batch_size = batch_size
        self._pauses = pauses

    async def run(self, access: MemoryAccess | None) -> Summary:
        """Import everything.

        Args:
            access: Where to store; ``None`` to check only.

        Raises:
            StrataError: a batch could not be stored at all; `summary` tells what was.
            CommandError: the same, without an answer from the server.
        """
        self._listener.began()
        slots = asyncio.Semaphore(BATCHES_IN_FLIGHT)

        async def store(batch: list[Item]) -> None:
            try:
                await self._store(access, batch)
            finally:
                slots.release()

        try:
            async with asyncio.TaskGroup() as group:
                while batch := await asyncio.to_thread(self._next_batch):
                    await slots.acquire()
                    group.create_task(store(batch))
        except ExceptionGroup as failures:
            raise first_failure(failures) from None
        return self.summary

    def _read(self, files: Iterable[SourceFile | Skipped]) -> Iterator[Item | Refused | Skipped]:
        for file in files:
            if isinstance(file, Skipped):
                yield file
                continue
            self.summary.files += 1
            for event in read_file(file):
                if isinstance(event, Skipped):
                    self.summary.files -= 1
                    # A file that was asked for by its name and is not imported is a failure.
                    yield Refused(event.path, event.reason, event.size) if file.named else event
                else:
                    yield event

    def _next_batch(self) -> list[Item]:
        batch: list[Item] = []
        size = 0
        for event in self._events:
            if isinstance(event, Item):
                self.summary.items += 1
                batch.append(event)
                size += event.size
                if len(batch) == self._batch_size or size >= MAX_BATCH_BYTES:
                    break
            elif isinstance(event, Refused):
                self.summary.items += 1
                self._refuse(event)
                self._listener.advanced(event.size, 1)
            else:
                self.summary.skipped.append(event)
                self._listener.advanced(event.size, 0)
        return batch

    async def _store(self, access: MemoryAccess | None, batch: list[Item]) -> None:
        if access is not None:
            outcomes = await self._stored(access, batch)
            for item, outcome in zip(batch, outcomes, strict=True):
                if outcome.error is not None:
                    self._refuse(Refused(item.location, outcome.error.detail, item.size))
                elif outcome.duplicate:
                    self.summary.duplicates += 1
                else:
                    self.summary.stored += 1
        self._listener.advanced(sum(item.size for item in batch), len(batch))

    async def _stored(self, access: MemoryAccess, batch: list[Item]) -> list[Stored]:
        fragments = [item.data for item in batch]
        for pause in self._pauses:
            try:
                return await access.store(fragments)
            except (StrataError, CommandError) as error:
                if error.retry_after is None:
                    raise
                seconds = max(pause, error.retry_after)
                self._listener.waiting(str(error), seconds)
                await asyncio.sleep(seconds)
        return await access.store(fragments)

    def _refuse(self, refused: Refused) -> None:
        self.summary.failed += 1
        if len(self.summary.errors) < LISTED_ERRORS:
            self.summary.errors.append(refused)
        self._listener.refused(refused)

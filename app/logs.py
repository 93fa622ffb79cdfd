"""Log lines on standard error, of Strata and of its libraries alike: one JSON object each, or one line for people.

No line holds memory content or a secret. Exceptions are therefore told by type, place and SQLSTATE and never by their
message: a driver's message quotes the row or the value that it could not take.
"""

import logging
import sys
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import structlog
from structlog.tracebacks import ExceptionDictTransformer
from structlog.types import EventDict, ExcInfo, WrappedLogger

from app.settings import Settings

_HANDLER: Final = "strata"
_frames: Final = ExceptionDictTransformer(show_locals=False)


class _StandardError(logging.Handler):
    """Writes to what standard error is when a line is written."""

    def __init__(self) -> None:
        super().__init__()
        self.name = _HANDLER

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        sys.stderr.write(self.format(record) + "\n")


def configure_logging(settings: Settings) -> None:
    """Send log lines to standard error at the configured level and in the configured format.

    Lines of libraries are kept from ``warning`` on: below, they tell what passes through them.
    """
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    renderers = _json_renderers() if settings.log_format == "json" else _console_renderers()
    common: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_messages,
    ]
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *common, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
    _reset_libraries()
    handler = _StandardError()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, _first_line, *common],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(max(level, logging.WARNING))


def reset_logging() -> None:
    """Undo `configure_logging`."""
    structlog.reset_defaults()
    _reset_libraries()


def _reset_libraries() -> None:
    """Take Strata's handler away from the libraries' log lines."""
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if handler.name == _HANDLER]:
        root.removeHandler(handler)
        root.setLevel(logging.WARNING)


def _json_renderers() -> list[Any]:
    return [structlog.processors.JSONRenderer()]


def _console_renderers() -> list[Any]:
    return [_exception_as_text, structlog.dev.ConsoleRenderer()]


def _without_messages(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace ``exc_info`` by the exception's types and places, and by what the database says besides its message."""
    exc_info = _exc_info(event.pop("exc_info", None))
    if exc_info is not None:
        event["exception"] = [_told(stack) for stack in _frames(exc_info)]
        event.update(_database_facts(exc_info[1]))
    return event


def _exc_info(value: Any) -> ExcInfo | None:
    if isinstance(value, BaseException):
        return type(value), value, value.__traceback__
    if isinstance(value, tuple) and value[0] is not None:
        return value
    current = sys.exc_info() if value else None
    return None if current is None or current[0] is None else current


def _told(stack: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "type": stack["exc_type"],
        "frames": [f"{frame['filename']}:{frame['lineno']} {frame['name']}" for frame in stack["frames"]],
    }
    if stack.get("exceptions"):
        told["exceptions"] = [[_told(inner) for inner in group] for group in stack["exceptions"]]
    return told


def _database_facts(error: BaseException | None) -> dict[str, str]:
    for link in _chain(error):
        if isinstance(link, psycopg.Error) and link.sqlstate is not None:
            facts = {
                "sqlstate": link.sqlstate,
                "table": link.diag.table_name,
                "column": link.diag.column_name,
                "constraint": link.diag.constraint_name,
            }
            return {name: value for name, value in facts.items() if value is not None}
    return {}


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _exception_as_text(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    stacks = event.pop("exception", None)
    if stacks is not None:
        event["exception"] = "\n".join(_lines(stacks))
    return event


def _lines(stacks: list[dict[str, Any]], indent: str = "  ") -> Iterator[str]:
    for stack in stacks:
        yield indent + stack["type"]
        yield from (f"{indent}  {frame}" for frame in stack["frames"])
        for group in stack.get("exceptions", ()):
            yield from _lines(group, indent + "    ")


def _first_line(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Keep a library's sentence; asyncio, for one, appends the repr of an exception, message included."""
    event["event"] = str(event["event"]).partition("\n")[0]
    return event

"""Log lines: one a fault, by type and place, without any message that could quote a memory."""

import asyncio
import json
import logging

import psycopg
import pytest
import structlog

from app.logs import configure_logging, reset_logging
from app.settings import Settings

SECRET = "the quetzal nests above the boiler room"


@pytest.fixture
def configured():
    def configure(log_format, level="debug"):
        configure_logging(Settings(log_format=log_format, log_level=level))

    yield configure
    reset_logging()


def fail():
    try:
        raise psycopg.errors.CheckViolation(f"Failing row contains ({SECRET}).")
    except psycopg.Error as error:
        raise ExceptionGroup(SECRET, [ValueError(SECRET)]) from error


def test_an_exception_is_told_without_its_message(configured, capsys):
    configured("json")
    try:
        fail()
    except ExceptionGroup:
        structlog.get_logger().exception("it_failed", team="t")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert SECRET not in printed.err
    entry = json.loads(printed.err)
    assert (entry["event"], entry["level"], entry["team"]) == ("it_failed", "error", "t")
    assert entry["sqlstate"] == "23514"
    group, cause = entry["exception"]
    assert group["type"] == "ExceptionGroup"
    assert group["exceptions"][0][0]["type"] == "ValueError"
    assert group["frames"][-1].endswith(" fail")
    assert cause["type"] == "CheckViolation"


def test_people_read_it_in_lines(configured, capsys):
    configured("console")
    try:
        fail()
    except ExceptionGroup:
        structlog.get_logger().exception("it_failed")
    printed = capsys.readouterr().err
    assert SECRET not in printed
    assert "it_failed" in printed.splitlines()[0]
    assert "  ExceptionGroup" in printed.splitlines()
    assert "      ValueError" in printed.splitlines()


def test_lines_of_libraries_look_the_same(configured, capsys):
    configured("json")
    logger = logging.getLogger("some.library")
    logger.info("below warning: not kept")
    logger.warning("the first line\nException(%r)", SECRET)
    try:
        fail()
    except ExceptionGroup:
        logger.exception("failed")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["event"], first["level"], first["logger"]) == ("the first line", "warning", "some.library")
    assert second["exception"][0]["type"] == "ExceptionGroup"
    assert SECRET not in json.dumps([first, second])


def test_a_task_that_nobody_awaits_does_not_tell_its_message(configured, capsys):
    configured("json")

    async def forget():
        task = asyncio.ensure_future(asyncio.to_thread(fail))
        await asyncio.wait([task])

    asyncio.run(forget())
    entry = json.loads(capsys.readouterr().err)
    assert entry["event"] == "Task exception was never retrieved"
    assert SECRET not in json.dumps(entry)


def test_lower_levels_are_left_out_and_reset_undoes_all(configured, capsys):
    configured("json", level="error")
    structlog.get_logger().warning("quiet")
    logging.getLogger("some.library").warning("quiet")
    assert capsys.readouterr().err == ""
    reset_logging()
    assert [handler for handler in logging.getLogger().handlers if handler.name == "strata"] == []

from pathlib import Path

import pytest

from app.db.embedded.errors import EmbeddedPostgresError, diagnose, excerpt

DIRECTORY = Path("/data/postgres")
LOG = Path("/data/postgres.log")
STAMP = "2026-03-01 12:00:00.123 UTC [4711] "


def test_an_error_reads_as_two_sentences() -> None:
    error = EmbeddedPostgresError("It rains.", "Take an umbrella.")
    assert (error.message, error.hint, str(error)) == (
        "It rains.",
        "Take an umbrella.",
        "It rains. Take an umbrella.",
    )


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            'FATAL:  could not write lock file "postmaster.pid": No space left on device',
            "The disk that holds /data/postgres is full, so the embedded PostgreSQL cannot start.",
        ),
        (
            'FATAL:  could not resize shared memory segment "/PostgreSQL.1" to 16 bytes: No space left on device',
            "The shared memory of this machine (/dev/shm) is too small for the embedded PostgreSQL in /data/postgres.",
        ),
        (
            "initdb: error: could not write file: Disk quota exceeded",
            "The disk quota for /data/postgres is used up, so the embedded PostgreSQL cannot start.",
        ),
        (
            "FATAL:  could not map anonymous shared memory: Cannot allocate memory",
            "This machine has too little memory free for the embedded PostgreSQL in /data/postgres.",
        ),
        (
            "initdb: error: could not look up effective user ID 12345: user does not exist",
            "The user that runs Strata has a number but no name, which PostgreSQL refuses.",
        ),
        (
            STAMP + 'FATAL:  could not open file "postgresql.conf": Permission denied',
            (
                "The embedded PostgreSQL in /data/postgres lacks a permission: "
                'FATAL:  could not open file "postgresql.conf": Permission denied'
            ),
        ),
        (
            STAMP + "PANIC:  could not locate a valid checkpoint record",
            (
                "The embedded PostgreSQL in /data/postgres does not start, its data may be damaged: "
                "PANIC:  could not locate a valid checkpoint record"
            ),
        ),
    ],
)
def test_known_causes_are_told(output: str, message: str) -> None:
    error = diagnose(output, directory=DIRECTORY, log=LOG)
    assert error.message == message
    assert error.hint.endswith(".")


def test_braces_in_a_log_are_kept_as_they_are() -> None:
    error = diagnose("FATAL:  {directory} {0}", directory=DIRECTORY, log=LOG)
    assert error.message.endswith("damaged: FATAL:  {directory} {0}")


def test_an_excerpt_holds_the_telling_lines_without_time_stamps() -> None:
    log = "\n".join(
        [
            STAMP + "LOG:  starting PostgreSQL 18.6",
            STAMP + 'LOG:  invalid value for parameter "shared_buffers": "plenty"',
            STAMP + 'FATAL:  configuration file "x" contains errors',
            "pg_ctl: could not start server",
        ]
    )
    assert excerpt(log) == (
        'LOG:  invalid value for parameter "shared_buffers": "plenty" | FATAL:  configuration file "x" contains errors'
    )


def test_an_excerpt_of_other_text_holds_its_last_six_lines() -> None:
    assert excerpt("\n".join("abcdefgh")) == "c | d | e | f | g | h"


def test_an_excerpt_of_nothing_says_so() -> None:
    assert excerpt(" \n") == "it printed nothing."

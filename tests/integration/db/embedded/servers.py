"""Servers of embedded data directories, and what is asked of them."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from app.db.embedded import EmbeddedPostgres, EmbeddedPostgresError

ROOT = os.geteuid() == 0
SMALL = {"shared_buffers": "16MB", "max_connections": "20"}
# Holds a claim on the server of a data directory until its standard input ends.
HOLDER = """
    import sys
    from app.db.embedded import EmbeddedPostgres
    with EmbeddedPostgres(sys.argv[1], parameters={"shared_buffers": "16MB", "max_connections": "20"}):
        print("ready", flush=True)
        sys.stdin.read()
"""

# The same as an ordinary user, for tests that run as root: everything is loaded before the rights are given up.
AS_NOBODY = """
    import os, pwd, sys
    import psycopg
    from app.db.embedded import EmbeddedPostgres, EmbeddedPostgresError
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)
    try:
        with EmbeddedPostgres(sys.argv[1], parameters={"shared_buffers": "16MB", "max_connections": "20"}) as server:
            with psycopg.connect(server.superuser_url()) as connection:
                print(connection.execute("SELECT 6 * 7").fetchone()[0])
    except EmbeddedPostgresError as error:
        print(error.message)
        print(error.hint)
"""


def copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


def create_notes(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE note (text text)")


def start_holder(data_dir: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER), str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextmanager
def holders(data_dir: Path, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Start processes at the same time that use one data directory; ended at exit, if they have not ended yet."""
    processes = [start_holder(data_dir) for _ in range(count)]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield processes
    finally:
        for process in processes:
            process.communicate()


def leave(process: subprocess.Popen[str]) -> None:
    process.communicate()
    assert process.returncode == 0


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def select_one(data_dir: Path) -> int:
    """Ask the running server of a directory, without any claim on it."""
    with psycopg.connect(
        host=str(data_dir / "postgres"), port=5432, user="postgres", dbname="postgres"
    ) as connection:
        return connection.execute("SELECT 1").fetchone()[0]


def server(data_dir: Path, **options: object) -> EmbeddedPostgres:
    return EmbeddedPostgres(data_dir, **{"parameters": SMALL, **options})


def failure(data_dir: Path, **options: object) -> EmbeddedPostgresError:
    """Return the error of a start; each is one sentence of what is wrong and one of how to mend it."""
    with pytest.raises(EmbeddedPostgresError) as caught:
        server(data_dir, **options).start()
    assert str(caught.value) == f"{caught.value.message} {caught.value.hint}"
    assert caught.value.hint.endswith(".")
    return caught.value


def notes(embedded: EmbeddedPostgres) -> list[str]:
    with psycopg.connect(embedded.superuser_url()) as connection:
        return [row[0] for row in connection.execute("SELECT text FROM note ORDER BY text")]


def show(embedded: EmbeddedPostgres, parameter: str) -> str:
    with psycopg.connect(embedded.superuser_url()) as connection:
        return connection.execute(f"SHOW {parameter}").fetchone()[0]


def add_note(embedded: EmbeddedPostgres, text: str) -> None:
    with psycopg.connect(embedded.superuser_url()) as connection:
        connection.execute("INSERT INTO note VALUES (%s)", (text,))


def server_user(data_dir: Path) -> str:
    return (data_dir / "postgres").owner()

"""Why an embedded server refuses to start, told so that a person can mend it."""

import os
import pwd
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from app.db.embedded.account import choose_account
from tests.integration.db.embedded.servers import (
    AS_NOBODY,
    ROOT,
    create_notes,
    failure,
    notes,
    server,
    server_user,
)
from tests.support import servers_of


class TestRefusals:
    def test_another_major_version(self, bare: Path) -> None:
        (bare / "postgres" / "PG_VERSION").write_text("17\n")
        error = failure(bare)
        assert "was written by PostgreSQL 17, but this Strata brings PostgreSQL 18" in error.message
        assert "pg_dumpall > strata.sql" in error.hint
        assert "psql -f strata.sql" in error.hint

    def test_a_foreign_directory(self, data_dir: Path) -> None:
        (data_dir / "postgres").mkdir(parents=True)
        (data_dir / "postgres" / "holiday.jpg").write_bytes(b"picture")
        error = failure(data_dir)
        assert error.message == f"{data_dir}/postgres is not empty and holds no PostgreSQL data."
        assert (data_dir / "postgres" / "holiday.jpg").read_bytes() == b"picture"

    def test_a_file_in_the_way(self, data_dir: Path) -> None:
        data_dir.write_text("a file")
        error = failure(data_dir)
        assert error.message == f"{data_dir} is in the way: File exists."

    @pytest.mark.parametrize("content", ["", "eighteen", "18beta"])
    def test_a_damaged_version_file(self, bare: Path, content: str) -> None:
        (bare / "postgres" / "PG_VERSION").write_text(content)
        error = failure(bare)
        assert f"is damaged: its PG_VERSION says {content!r}" in error.message

    def test_a_damaged_data_directory(self, own: Path) -> None:
        control = own / "postgres" / "global" / "pg_control"
        control.write_bytes(bytes(control.stat().st_size))
        error = failure(own)
        assert "its data may be damaged" in error.message
        assert "FATAL:" in error.message
        assert error.hint.startswith(f"Read {own}/postgres.log, then restore")

    def test_a_lost_control_file(self, own: Path) -> None:
        (own / "postgres" / "global" / "pg_control").unlink()
        error = failure(own)
        assert "could not find the database system" in error.message
        assert "global/pg_control" in error.message

    @pytest.mark.skipif(not ROOT, reason="only root may give a directory to another user")
    def test_a_data_directory_of_another_user(self, bare: Path) -> None:
        shutil.chown(bare / "postgres", "root")
        error = failure(bare)
        assert error.message == (
            f"The data directory {bare}/postgres belongs to root, but PostgreSQL would run as "
            "embedded_postgres and accepts only its own."
        )
        assert f"chown -R embedded_postgres {bare}/postgres" in error.hint

    @pytest.mark.skipif(
        ROOT, reason="root may write everywhere; test_an_ordinary_user_without_permission covers it"
    )
    def test_a_directory_that_is_not_writable(self, data_dir: Path) -> None:
        data_dir.mkdir(mode=0o555)
        error = failure(data_dir)
        assert (
            error.message
            == f"The user {pwd.getpwuid(os.geteuid()).pw_name} may not use {data_dir}/postgres.lock: Permission denied."
        )

    def test_a_copied_directory_that_is_open_to_all_is_closed(self, existing: Path) -> None:
        (existing / "postgres").chmod(0o755)
        with server(existing) as embedded:
            assert notes(embedded) == []
        assert (existing / "postgres").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not ROOT, reason="only root may start programs as other users")
class TestUsers:
    @staticmethod
    def run(data_dir: Path) -> list[str]:
        command = [sys.executable, "-c", textwrap.dedent(AS_NOBODY), str(data_dir)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    def test_the_server_runs_as_that_user_and_later_for_root_too(self, data_dir: Path) -> None:
        data_dir.mkdir()
        shutil.chown(data_dir, "nobody")
        assert self.run(data_dir) == ["42"]
        assert server_user(data_dir) == "nobody"
        with server(data_dir, initialise=create_notes) as embedded:
            assert notes(embedded) == []
            assert psutil.Process(servers_of(data_dir)[0]).username() == "nobody"
        assert self.run(data_dir) == ["42"]

    def test_directories_above_are_opened_for_passing_through_alone(self, data_dir: Path) -> None:
        data_dir.parent.chmod(0o700)
        with server(data_dir, initialise=create_notes) as embedded:
            assert notes(embedded) == []
        assert data_dir.parent.stat().st_mode & 0o777 == 0o701

    def test_programs_installed_under_a_strict_umask_are_opened(self, data_dir: Path) -> None:
        programs = data_dir / "bin"
        programs.mkdir(parents=True, mode=0o700)
        (programs / "postgres").touch(mode=0o700)
        (data_dir / "errcodes.txt").touch(mode=0o600)
        choose_account(data_dir).grant_programs(data_dir)
        modes = [
            path.stat().st_mode & 0o777
            for path in (programs, programs / "postgres", data_dir / "errcodes.txt")
        ]
        assert modes == [0o755, 0o755, 0o644]

    def test_an_ordinary_user_without_permission(self, data_dir: Path) -> None:
        data_dir.mkdir(mode=0o755)
        assert self.run(data_dir) == [
            f"The user nobody may not use {data_dir}/postgres.lock: Permission denied.",
            f"Let nobody read and write {data_dir}, or point STRATA_DATA_DIR at a directory of its own.",
        ]

    def test_a_data_directory_that_root_made(self, bare: Path) -> None:
        shutil.chown(bare, "nobody")
        message, hint = self.run(bare)
        assert message == (
            f"The data directory {bare}/postgres belongs to embedded_postgres, but PostgreSQL would run as "
            "nobody and accepts only its own."
        )
        assert hint.startswith("Run Strata as embedded_postgres, or hand the directory over")

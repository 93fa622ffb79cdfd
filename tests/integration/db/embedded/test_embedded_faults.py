"""What an embedded server survives: crashes, and a full disk."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.integration.db.embedded.servers import (
    ROOT,
    add_note,
    copy,
    create_notes,
    failure,
    holders,
    kill,
    notes,
    server,
    server_user,
)
from tests.support import servers_of


class TestCrashes:
    def test_committed_data_survives_a_killed_server(self, own: Path) -> None:
        embedded = server(own)
        embedded.start()
        add_note(embedded, "committed")
        (pid,) = servers_of(own)
        os.kill(pid, signal.SIGKILL)
        embedded.stop()
        with server(own) as recovered:
            assert notes(recovered) == ["committed"]

    def test_start_brings_back_a_server_that_died(self, own: Path) -> None:
        with server(own) as embedded:
            add_note(embedded, "before")
            os.kill(servers_of(own)[0], signal.SIGKILL)
            embedded.start()
            assert notes(embedded) == ["before"]

    def test_server_processes_that_outlive_their_postmaster_are_ended(self, own: Path) -> None:
        with server(own) as embedded:
            (pid,) = servers_of(own)
            # A stopped process does not notice the end of its parent.
            straggler = next(
                child for child in psutil.Process(pid).children() if "checkpointer" in child.cmdline()[0]
            )
            straggler.suspend()
            os.kill(pid, signal.SIGKILL)
            embedded.start()
            assert not straggler.is_running() or straggler.status() == psutil.STATUS_ZOMBIE
            assert notes(embedded) == []

    @pytest.mark.parametrize(
        "content", ["", "garbage\n", "{other}\n{directory}\n1700000000\n5432\n", "{dead}\n{directory}\n"]
    )
    def test_a_stale_pid_file_is_no_obstacle(self, existing: Path, content: str) -> None:
        # The number in the file may meanwhile be that of another program of the same user.
        other = subprocess.Popen(["sleep", "60"], **({"user": server_user(existing)} if ROOT else {}))
        ended = subprocess.Popen(["true"])
        ended.wait()
        path = existing / "postgres" / "postmaster.pid"
        path.write_text(content.format(other=other.pid, dead=ended.pid, directory=path.parent))
        shutil.chown(path, server_user(existing))
        try:
            with server(existing) as embedded:
                assert notes(embedded) == []
            assert other.poll() is None
        finally:
            other.kill()
            other.wait()

    def test_a_server_that_is_starting_is_waited_for(self, existing: Path) -> None:
        with holders(existing, 1) as (only,):
            (pid,) = servers_of(existing)
            kill(only)
            pid_file = existing / "postgres" / "postmaster.pid"
            ready = pid_file.read_text()
            pid_file.write_text(ready.replace("ready   ", "starting"))
            error = failure(existing, start_timeout=0.5)
            assert error.message.startswith(
                f"The embedded PostgreSQL in {existing}/postgres is still starting (process {pid})"
            )
            assert servers_of(existing) == [pid]
            pid_file.write_text(ready)
        with server(existing) as embedded:
            assert servers_of(existing) == [pid]
            assert notes(embedded) == []

    def test_a_lock_that_is_never_released_is_reported(self, data_dir: Path) -> None:
        data_dir.mkdir()
        blocker = subprocess.Popen(
            ["flock", str(data_dir / "postgres.lock"), "sleep", "60"], start_new_session=True
        )
        try:
            while (
                subprocess.run(
                    ["flock", "--nonblock", str(data_dir / "postgres.lock"), "true"], check=False
                ).returncode
                == 0
            ):
                time.sleep(0.02)
            error = failure(data_dir, start_timeout=0.2)
        finally:
            os.killpg(blocker.pid, signal.SIGKILL)
            blocker.wait()
        assert error.message.startswith("Another Strata process has been starting or stopping")


class TestFullDisk:
    def test_at_the_first_start(self, small_disk: Callable[[str], Path]) -> None:
        data_dir = small_disk("20m")
        error = failure(data_dir)
        assert error.message == (
            f"The disk that holds {data_dir}/postgres is full, so the embedded PostgreSQL cannot start."
        )
        assert error.hint.startswith("Free at least 200 MB there, or point STRATA_DATA_DIR at a larger disk")
        assert not (data_dir / "postgres").exists()
        assert not (data_dir / ".postgres-initdb").exists()

    def test_at_a_later_start_nothing_is_lost(self, made: Path, small_disk: Callable[[str], Path]) -> None:
        data_dir = small_disk("120m")
        copy(made / "postgres", data_dir / "postgres")
        with server(data_dir) as embedded:
            add_note(embedded, "kept")
        filler = data_dir / "filler"
        with filler.open("wb") as file, pytest.raises(OSError, match="No space left"):  # noqa: PT012  one loop
            while True:
                file.write(bytes(65536))
                file.flush()
        error = failure(data_dir)
        assert error.message.startswith(f"The disk that holds {data_dir}/postgres is full")
        filler.unlink()
        with server(data_dir) as embedded:
            assert notes(embedded) == ["kept"]

    def test_the_data_directory_may_be_a_mount_point_itself(self, small_disk: Callable[[str], Path]) -> None:
        mount = small_disk("120m")
        base = mount.parent / "linked"
        base.mkdir()
        (base / "postgres").symlink_to(mount)
        with server(base, initialise=create_notes) as embedded:
            assert notes(embedded) == []
        assert (mount / "PG_VERSION").exists()

"""The embedded PostgreSQL with real servers: sharing between processes, crashes, parameters, explained failures."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
import sqlalchemy as sa

from app.db.embedded import EmbeddedPostgres, EmbeddedPostgresError
from app.db.embedded.account import choose_account
from tests.support import open_directory, servers_of

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


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """The path of a data directory that does not exist yet."""
    with open_directory() as base:
        yield base / "data"


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A data directory of a completed first start with an empty table `note`: to be used, not changed."""
    with open_directory() as base:
        with EmbeddedPostgres(base, parameters=SMALL, initialise=create_notes):
            pass
        yield base


@pytest.fixture
def existing(made: Path) -> Iterator[Path]:
    """The data directory `made`, with no server before and after the test."""
    assert servers_of(made) == []
    yield made
    assert servers_of(made) == []


@pytest.fixture
def own(made: Path, data_dir: Path) -> Path:
    """A copy of the data directory `made`, to be changed or damaged."""
    copy(made, data_dir)
    return data_dir


@pytest.fixture
def bare(made: Path, data_dir: Path) -> Path:
    """A data directory of which only the version file is there, owned by the user that runs the server."""
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "PG_VERSION").write_text("18\n")
    shutil.chown(data_dir / "postgres", server_user(made))
    return data_dir


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


class TestSharing:
    def test_two_processes_that_start_at_once_share_one_server(self, data_dir: Path) -> None:
        with holders(data_dir, 2):
            assert len(servers_of(data_dir)) == 1
            assert select_one(data_dir) == 1
        assert servers_of(data_dir) == []

    def test_the_last_one_to_leave_stops_the_server(self, existing: Path) -> None:
        with holders(existing, 2) as (first, second):
            running = servers_of(existing)
            leave(first)
            assert servers_of(existing) == running
            assert select_one(existing) == 1
            leave(second)
            assert servers_of(existing) == []

    def test_a_killed_process_counts_as_gone(self, existing: Path) -> None:
        with holders(existing, 2) as (first, second):
            kill(first)
            assert select_one(existing) == 1
            leave(second)
            assert servers_of(existing) == []

    def test_a_killed_process_does_not_take_the_server_from_the_others(self, existing: Path) -> None:
        with holders(existing, 3) as (first, second, third):
            kill(first)
            leave(second)
            assert select_one(existing) == 1
            leave(third)
            assert servers_of(existing) == []

    def test_a_server_left_over_by_killed_processes_is_joined_and_then_stopped(self, existing: Path) -> None:
        with holders(existing, 1) as (only,):
            kill(only)
        left_over = servers_of(existing)
        assert len(left_over) == 1
        with server(existing) as embedded:
            assert servers_of(existing) == left_over
            assert notes(embedded) == []
        assert servers_of(existing) == []

    def test_two_claims_in_one_process_are_two_users(self, existing: Path) -> None:
        with server(existing) as outer:
            with server(existing) as inner:
                assert inner.superuser_url() == outer.superuser_url()
            assert notes(outer) == []
        assert servers_of(existing) == []

    def test_a_process_that_forgets_to_stop_stops_at_its_exit(self, existing: Path) -> None:
        script = (
            "import sys; from app.db.embedded import EmbeddedPostgres; EmbeddedPostgres(sys.argv[1]).start()"
        )
        subprocess.run([sys.executable, "-c", script, str(existing)], check=True)
        assert servers_of(existing) == []

    def test_start_and_stop_may_be_repeated(self, existing: Path) -> None:
        embedded = server(existing)
        embedded.stop()
        for _ in range(2):
            embedded.start()
            embedded.start()
            assert notes(embedded) == []
            embedded.stop()
            embedded.stop()
            assert servers_of(existing) == []

    def test_a_forked_child_does_not_stop_the_server_of_its_parent(self, existing: Path) -> None:
        with server(existing) as embedded:
            child = os.fork()
            if child == 0:
                embedded.stop()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            assert notes(embedded) == []


class TestFirstStart:
    def test_initialise_is_called_once(self, data_dir: Path) -> None:
        calls: list[str] = []
        for _ in range(2):
            with server(data_dir, initialise=calls.append) as embedded:
                assert calls == [embedded.superuser_url()]

    def test_an_interrupted_initialise_is_repeated(self, own: Path) -> None:
        (own / "postgres" / "strata-initialised").unlink()

        def fail(url: str) -> None:
            assert url.startswith("postgresql://postgres@/postgres?host=")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            server(own, initialise=fail).start()
        assert servers_of(own) == []
        calls: list[str] = []
        with server(own, initialise=calls.append):
            assert len(calls) == 1

    def test_the_remains_of_a_killed_initdb_are_replaced(self, data_dir: Path) -> None:
        remains = data_dir / ".postgres-initdb"
        remains.mkdir(parents=True)
        (remains / "PG_VERSION").write_text("18\n")
        with server(data_dir, initialise=create_notes) as embedded:
            assert notes(embedded) == []
        assert not remains.exists()

    def test_the_server_listens_on_a_private_socket_alone(self, existing: Path) -> None:
        with server(existing) as embedded, psycopg.connect(embedded.superuser_url()) as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
            assert connection.execute("SELECT inet_server_addr()").fetchone() == (None,)
            assert (existing / "postgres").stat().st_mode & 0o777 == 0o700
            assert (existing / "postgres" / ".s.PGSQL.5432").stat().st_mode & 0o777 == 0o700

    def test_full_text_parsing_knows_letters_and_dashes_beyond_ascii(self, existing: Path) -> None:
        with server(existing) as embedded, psycopg.connect(embedded.superuser_url()) as connection:
            query = (
                "SELECT to_tsvector('simple', 'naïve—Größe')::text, lower('GRÖSSE'), pg_encoding_to_char(encoding) \
                FROM pg_database WHERE datname = 'postgres'"
            )
            assert connection.execute(query).fetchone() == ("'größe':2 'naïve':1", "grösse", "UTF8")


class TestUrls:
    def test_psycopg_and_sqlalchemy_take_the_url(self, own: Path) -> None:
        with server(own) as embedded:
            with psycopg.connect(embedded.superuser_url()) as connection:
                connection.execute('CREATE ROLE "re@der/1" LOGIN')
            url = embedded.url("postgres", "re@der/1")
            with psycopg.connect(url) as connection:
                assert connection.execute("SELECT current_user").fetchone() == ("re@der/1",)
            engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"))
            with engine.connect() as connection:
                assert connection.scalar(sa.text("SELECT current_user")) == "re@der/1"
            engine.dispose()

    def test_there_is_no_url_without_a_server(self, data_dir: Path) -> None:
        with pytest.raises(RuntimeError, match="no URL before start"):
            server(data_dir).superuser_url()

    @pytest.mark.parametrize("name", ["d" * 120, "a,b", 'it\'s $HOME "quoted" ünïcode'])
    def test_any_path_works(self, made: Path, data_dir: Path, name: str) -> None:
        data_dir.mkdir()
        copy(made, data_dir / name)
        with server(data_dir / name) as embedded, server(data_dir / name) as other:
            assert notes(embedded) == notes(other) == []
            with psycopg.connect(embedded.superuser_url()) as connection:
                sockets = Path(connection.info.host)
        assert not (sockets / ".s.PGSQL.5432").exists()
        assert sockets.exists() == (sockets == data_dir / name / "postgres")


class TestParameters:
    def test_the_parameters_are_in_force(self, existing: Path) -> None:
        expected = {
            "jit": "off",
            "log_timezone": "UTC",
            "maintenance_work_mem": "256MB",
            "max_connections": "200",
            "max_wal_size": "2GB",
            "random_page_cost": "1.1",
            "shared_buffers": "256MB",
            "synchronous_commit": "on",
            "TimeZone": "UTC",
            "wal_compression": "pglz",
            "work_mem": "16MB",
        }
        given = {
            "shared_buffers": "256MB",
            "maintenance_work_mem": "256MB",
        }  # these depend on the machine's memory
        with EmbeddedPostgres(existing, parameters=given) as embedded:
            assert {name: show(embedded, name) for name in expected} == expected

    def test_changed_parameters_apply_at_the_next_start(self, existing: Path) -> None:
        later = server(existing, parameters={**SMALL, "work_mem": "8MB"})
        with server(existing) as embedded:
            assert show(embedded, "work_mem") == "16MB"
            with later:  # another process uses the server: it is not restarted
                assert show(later, "work_mem") == "16MB"
        with later:
            assert show(later, "work_mem") == "8MB"

    def test_a_left_over_server_is_restarted_for_changed_parameters(self, existing: Path) -> None:
        with holders(existing, 1) as (only,):
            kill(only)
        with server(existing, parameters={**SMALL, "work_mem": "9MB"}) as embedded:
            assert show(embedded, "work_mem") == "9MB"

    def test_what_an_operator_sets_with_alter_system_stays(self, own: Path) -> None:
        with (
            server(own) as embedded,
            psycopg.connect(embedded.superuser_url(), autocommit=True) as connection,
        ):
            connection.execute("ALTER SYSTEM SET work_mem = '5MB'")
        with server(own, parameters={**SMALL, "work_mem": "8MB"}) as embedded:
            assert show(embedded, "work_mem") == "5MB"

    def test_a_refused_parameter_is_named(self, existing: Path) -> None:
        error = failure(existing, parameters={"shared_buffers": "plenty"})
        assert 'invalid value for parameter "shared_buffers": "plenty"' in error.message
        assert "Correct the named parameter" in error.hint


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


@pytest.fixture
def small_disk(data_dir: Path) -> Iterator[Callable[[str], Path]]:
    """Give a function that mounts a file system of a size at `data_dir`."""
    if not ROOT:
        pytest.skip("only root may mount a small file system")
    data_dir.mkdir()

    def mount(size: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(data_dir)]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        if result.returncode != 0:
            pytest.skip(f"file systems cannot be mounted here: {result.stderr.strip()}")
        return data_dir

    yield mount
    if data_dir.is_mount():
        subprocess.run(["umount", str(data_dir)], check=True)


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

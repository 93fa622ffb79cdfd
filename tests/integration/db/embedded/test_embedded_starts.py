"""First starts of the embedded PostgreSQL, its URLs and its parameters."""

from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from app.db.embedded import EmbeddedPostgres
from tests.integration.db.embedded.servers import (
    SMALL,
    copy,
    create_notes,
    failure,
    holders,
    kill,
    notes,
    server,
    show,
)
from tests.support import servers_of


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

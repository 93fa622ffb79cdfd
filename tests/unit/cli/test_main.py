"""Expected failures of a command: one sentence and a remedy on standard error, exit code 1."""

import socket
import sys

import pytest

from app.cli import main

SECRET = "password-in-a-url"
README = "See the configuration table in the README."
CHECK_URL = "Check STRATA_DATABASE_URL."


@pytest.fixture
def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def failure(capsys, monkeypatch, *arguments, **settings):
    """Message and remedy of a command that cannot work."""
    monkeypatch.delenv("STRATA_DATABASE_URL", raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(f"STRATA_{name.upper()}", str(value))
    monkeypatch.setattr(sys, "argv", ["strata", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert SECRET not in printed.err
    lines = printed.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error ")
    return lines[0].removeprefix("error "), lines[1].strip()


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("database_url", f"mysql://u:{SECRET}@h/d", "a database URL starts with postgresql://"),
        (
            "database_url",
            f"postgresql://u:{SECRET}@h:port/d",
            "a database URL looks like postgresql://user:password@host:port/database",
        ),
        (
            "owner_database_url",
            f"postgresql://u:{SECRET}@h:5432:1/d",
            "a database URL looks like postgresql://user:password@host:port/database",
        ),
        ("embedder", "magic", "Input should be 'sentence-transformers', 'hash' or 'openai'"),
        ("pool_size", "0", "Input should be greater than or equal to 1"),
        ("pool_timeout", "soon", "Input should be a valid number, unable to parse string as a number"),
        ("worker", "maybe", "Input should be a valid boolean, unable to interpret input"),
        ("log_level", "loud", "Input should be 'debug', 'info', 'warning' or 'error'"),
    ],
)
def test_a_value_that_a_setting_does_not_take(capsys, monkeypatch, name, value, fault):
    told = failure(capsys, monkeypatch, "db", "current", **{name: value})
    assert told == (f"STRATA_{name.upper()}: {fault}", README)


def test_every_wrong_setting_is_named(capsys, monkeypatch):
    message, _ = failure(capsys, monkeypatch, "db", "current", pool_size="no", log_format="xml")
    assert message == (
        "STRATA_POOL_SIZE: Input should be a valid integer, unable to parse string as an integer; "
        "STRATA_LOG_FORMAT: Input should be 'console' or 'json'"
    )


@pytest.mark.parametrize("arguments", [("team", "list"), ("db", "check"), ("db", "current")])
def test_a_database_that_nobody_serves(capsys, monkeypatch, closed_port, arguments):
    url = f"postgresql://strata_api:{SECRET}@127.0.0.1:{closed_port}/strata"
    message, remedy = failure(capsys, monkeypatch, *arguments, database_url=url, embedder="hash")
    assert message.startswith("the database cannot be reached: connection")
    assert remedy == CHECK_URL


def test_an_owner_database_that_nobody_serves(capsys, monkeypatch, closed_port):
    url = f"postgresql://strata_owner:{SECRET}@127.0.0.1:{closed_port}/strata"
    settings = {"database_url": url, "owner_database_url": url, "embedder": "hash"}
    message, remedy = failure(capsys, monkeypatch, "db", "upgrade", **settings)
    assert message.startswith("the database cannot be reached: connection")
    assert remedy == "Check STRATA_OWNER_DATABASE_URL."


def test_an_owner_url_that_is_missing(capsys, monkeypatch):
    settings = {"database_url": f"postgresql://strata_api:{SECRET}@127.0.0.1/strata"}
    assert failure(capsys, monkeypatch, "db", "upgrade", **settings) == (
        "the owner's URL is not set",
        "Set STRATA_OWNER_DATABASE_URL=postgresql://strata_owner:...@host/strata",
    )


def test_an_embedder_whose_settings_are_missing(capsys, monkeypatch):
    settings = {"database_url": f"postgresql://strata_api:{SECRET}@127.0.0.1/strata"}
    told = failure(capsys, monkeypatch, "team", "list", embedder="openai", embedding_model="m", **settings)
    message = (
        "STRATA_EMBEDDER=openai needs STRATA_EMBEDDING_BASE_URL, STRATA_EMBEDDING_MODEL,"
        " STRATA_EMBEDDING_DIMENSION"
    )
    assert told == (message, README)


def test_an_address_that_cannot_be_listened_on(capsys, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = failure(capsys, monkeypatch, "serve", "--port", str(port), embedder="hash")
    assert told == (
        f"cannot listen on 127.0.0.1 port {port}: Address already in use",
        "Choose another --host or --port.",
    )


def test_a_data_directory_that_is_a_file(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    message, remedy = failure(
        capsys, monkeypatch, "team", "list", data_dir=tmp_path / "file", embedder="hash"
    )
    assert message == f"{tmp_path}/file is in the way: File exists."
    assert remedy == "Move it away, or point STRATA_DATA_DIR at another directory."

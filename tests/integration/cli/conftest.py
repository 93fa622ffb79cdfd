"""The `strata` command in this process, on the test database."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import structlog

from app.cli import main

Run = Callable[..., "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def strata(
    database_urls: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Runs a command: ``strata("team", "list")``."""
    monkeypatch.setenv("STRATA_DATABASE_URL", database_urls.api)
    monkeypatch.setenv("STRATA_OWNER_DATABASE_URL", database_urls.owner)
    monkeypatch.setenv("STRATA_EMBEDDER", "hash")
    for name in ("STRATA_URL", "STRATA_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["strata", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        return Outcome(code if isinstance(code, int) else int(code is not None), printed.out, printed.err)

    yield run
    structlog.reset_defaults()


@dataclass(frozen=True)
class Home:
    """A team with one profile."""

    team: str
    profile: str
    api_key: str


@pytest.fixture
def home(strata: Run) -> Home:
    """A team with one profile, made by commands."""
    name = f"team {uuid4()}"
    team = strata("team", "create", name, "--json").json
    profile = strata("profile", "create", "notes", "--team", name, "--json").json
    return Home(name, profile["id"], team["api_key"])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with a Markdown file, a text and rows."""
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text(
        "# Retries\n\nAt most three attempts.\n\n## Budget\n\nTen seconds a request.\n"
    )
    (folder / "deep" / "b.txt").write_text("Billing is owned by Edda.\n")
    (folder / "rows.jsonl").write_text(
        '{"id": "r1", "text": "Payments run in eu-north.", "title": "Hosting"}\n'
        "\n"
        '{"id": 2, "content": "Deploys stop on Friday at noon.", "labels": ["policy"]}\n'
    )
    return folder

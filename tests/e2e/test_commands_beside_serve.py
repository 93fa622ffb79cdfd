"""Commands beside a running service on one data directory, as a stranger types them; imports that are cut off."""

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.processes import PATIENCE, Member, Running, Stage, wait_until
from tests.support import servers_of

ROWS = 15_000


def command(stage: Stage, *arguments: str, code: int = 0, **settings: object) -> str:
    """What a command printed; it must end with ``code``."""
    running = stage.start(*arguments, **settings)
    assert running.wait() == code, running.output
    return running.output


def member_by_commands(stage: Stage) -> Member:
    team: dict[str, Any] = json.loads(command(stage, "team", "create", "acme", "--json"))
    profile = json.loads(command(stage, "profile", "create", "notes", "--team", "acme", "--json"))
    return Member(team["api_key"], profile["id"])


def http(service: Running, member: Member) -> httpx.Client:
    return httpx.Client(base_url=service.url, headers=member.headers, timeout=PATIENCE)


def folder_of_notes(stage: Stage) -> Path:
    folder = stage.directory / "notes"
    folder.mkdir()
    (folder / "decisions.md").write_text(
        "# Decisions\n\n## Retries\n\nAt most three attempts per call.\n\n## Storage\n\nWe use PostgreSQL.\n"
    )
    (folder / "owners.jsonl").write_text('{"id": "o1", "text": "Billing is owned by Edda."}\n')
    return folder


def test_a_team_is_made_filled_and_asked_beside_a_running_service(stage: Stage) -> None:
    service = stage.serve()
    member = member_by_commands(stage)
    folder = folder_of_notes(stage)
    imported = ("memory", "import", str(folder), "--profile", member.profile_id, "--json")
    assert json.loads(command(stage, *imported))["stored"] == 3

    with http(service, member) as client:
        answer = client.post(member.recall, json={"query": "who owns billing", "limit": 1}).json()
        assert answer["results"][0]["fragment"]["content"] == "Billing is owned by Edda."
        assert client.get(member.fragments).json()["items"][0]["source"] == "decisions.md"

    through_server = {"url": service.url, "api_key": member.key}
    again = json.loads(command(stage, *imported, **through_server))
    assert (again["stored"], again["duplicates"]) == (0, 3)
    asked = ("recall", "how many attempts", "--profile", member.profile_id)
    assert "At most three attempts per call." in command(stage, *asked, **through_server)
    assert "meaning" in command(stage, *asked, "--explain", **through_server)
    listed = command(stage, "memory", "list", "--profile", member.profile_id, "--json", **through_server)
    assert len(json.loads(listed)) == 3
    assert json.loads(command(stage, "profile", "list", "--json", **through_server))[0]["name"] == "notes"
    assert "invalid_key" in command(stage, *asked, code=1, url=service.url, api_key="strata_no_key")


@pytest.mark.parametrize(("cut", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_an_import_that_is_cut_off_goes_on_and_stores_nothing_twice(
    stage: Stage, cut: signal.Signals, code: int
) -> None:
    service = stage.serve()
    member = member_by_commands(stage)
    rows = stage.directory / "rows.jsonl"
    rows.write_text(
        "".join(f'{{"id": "row-{n}", "text": "Note {n} of the harbour log."}}\n' for n in range(ROWS))
    )
    arguments = (
        "memory",
        "import",
        str(rows),
        "--profile",
        member.profile_id,
        "--batch-size",
        "40",
        "--json",
    )

    with http(service, member) as client:
        importing = stage.start(*arguments)
        wait_until(
            "the first rows", lambda: client.get(member.fragments, params={"limit": 1}).json()["items"]
        )
        importing.process.send_signal(cut)
        assert importing.wait() == code, importing.output

        before = keys_of(client, member)
        assert 0 < len(before) < ROWS
        summary = json.loads(command(stage, *arguments))
        assert (summary["stored"], summary["duplicates"]) == (ROWS - len(before), len(before))
        after = keys_of(client, member)
        assert sorted(after) == sorted(f"row-{n}" for n in range(ROWS))


def keys_of(client: httpx.Client, member: Member) -> list[str]:
    """Idempotency keys of every fragment of the profile."""
    keys: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = client.get(member.fragments, params={"limit": "100", **cursor}).json()
        keys += [item["idempotency_key"] for item in page["items"]]
        if page["next_cursor"] is None:
            return keys
        cursor = {"cursor": page["next_cursor"]}


def test_an_import_without_a_service_leaves_no_server_behind(stage: Stage) -> None:
    member = member_by_commands(stage)
    folder = folder_of_notes(stage)
    arguments = ("memory", "import", str(folder), "--profile", member.profile_id)
    assert "stored             3" in command(stage, *arguments)
    assert "known              3" in command(stage, *arguments)
    assert servers_of(stage.directory) == []


def test_control_c_ends_the_service_and_its_database(stage: Stage) -> None:
    service = stage.serve()
    assert servers_of(stage.directory) != []
    service.process.send_signal(signal.SIGINT)
    assert service.wait() == 0
    assert servers_of(stage.directory) == []

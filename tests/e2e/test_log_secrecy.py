"""What a service logs at the most talkative level: no memory content, no question, no key, also when it fails."""

import json

import httpx
import pytest

from tests.e2e.external import ExternalPostgres
from tests.e2e.processes import PATIENCE, Stage

CONTENT = "The quetzal nests above the boiler room."
QUESTION = "where does the wombat sleep"


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_session_with_internal_errors(stage: Stage, external: ExternalPostgres, log_format: str) -> None:
    stage.secrets |= {CONTENT, "quetzal", QUESTION, "wombat"}
    service = stage.serve(database_url=external.url(), log_format=log_format)
    member = stage.member(service)
    with (
        httpx.Client(base_url=service.url, headers=member.headers, timeout=PATIENCE) as http,
        external.superuser() as outsider,
    ):
        body = {"content": CONTENT, "source": "quetzal notes", "labels": ["quetzal"]}
        http.post(member.fragments, json=body).raise_for_status()
        http.post(member.recall, json={"query": QUESTION, "explain": True}).raise_for_status()
        assert http.post(member.fragments, json={"content": CONTENT, "wombat": 1}).status_code == 422
        assert (
            http.get(member.fragments, headers={"Authorization": f"Bearer {member.key}x"}).status_code == 401
        )
        # PostgreSQL quotes the whole row when a constraint fails, and SQLAlchemy the parameters of a statement.
        outsider.execute("ALTER TABLE fragments ADD CONSTRAINT no_birds CHECK (source <> 'bird') NOT VALID")
        failed = http.post(member.fragments, json={"content": f"{CONTENT} Again.", "source": "bird"})
        assert (failed.status_code, failed.json()["code"]) == (500, "internal_error")
        assert "quetzal" not in failed.text
        outsider.execute("ALTER TABLE fragments RENAME COLUMN content TO text")
        assert http.post(member.fragments, json={"content": f"{CONTENT} Later."}).status_code == 500
        assert http.post(member.recall, json={"query": QUESTION}).status_code == 500
    stage.end()
    lines = service.output.splitlines()[1:]
    assert [line for line in lines if "no_birds" in line] != []
    if log_format == "json":
        faults = [entry for entry in map(json.loads, lines) if entry["event"] == "unhandled_exception"]
        assert [entry["sqlstate"] for entry in faults] == ["23514", "42703", "42703"]
        assert [entry["exception"][0]["type"] for entry in faults] == [
            "IntegrityError",
            "ProgrammingError",
            "ProgrammingError",
        ]

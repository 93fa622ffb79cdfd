"""Same state, same question, same policy: the same bytes, whoever answers and whatever was done to the files below."""

import json
from typing import Any

import httpx
import pytest

from app.evaluation.formats.loading import load_set
from app.evaluation.importing import fragment_of
from app.evaluation.shipped import BROAD
from app.runtime import DATABASE_NAME
from tests.e2e.external import ExternalPostgres
from tests.e2e.processes import PATIENCE, Running, Stage

TIMES = 100
POLICIES = ("strata-v1", "documented-v1")
QUESTIONS = (
    "When does the visitor desk at Linden Hall currently close?",
    "Which pier should I use for the ferry to Skar now?",
    "the of and",
    "PROJ-123 crane",
)


@pytest.fixture
def asked(stage: Stage, external: ExternalPostgres) -> tuple[list[Running], str, dict[str, str]]:
    """Two services on one database, a profile with the documents of the broad suite, and a key."""
    one = stage.serve(database_url=external.url(), owner_database_url=external.owner_url, log_level="warning")
    two = stage.serve(database_url=external.url(), log_level="warning")
    member = stage.member(one)
    items = [fragment_of(document) for document in load_set(BROAD).documents]
    # Copies in other words of the same tokens, and of equal rank: their order must come from somewhere else.
    items += [
        {"content": f"{word} crane PROJ-123 stands idle."} for word in ("Grey", "Green", "Great", "Grand")
    ]
    with httpx.Client(base_url=one.url, headers=member.headers, timeout=PATIENCE) as http:
        stored = http.post(member.batch, json={"items": items}).raise_for_status().json()["results"]
    assert {item["status"] for item in stored} == {"created"}
    return [one, two], member.recall, member.headers


def answer(http: httpx.Client, path: str, question: str, policy: str, limit: int = 10) -> bytes:
    body = {"query": question, "policy": policy, "limit": limit, "explain": True}
    return http.post(path, json=body).raise_for_status().content


def test_the_same_question_is_answered_with_the_same_bytes(
    external: ExternalPostgres, asked: tuple[list[Running], str, dict[str, str]]
) -> None:
    services, path, headers = asked
    clients = [httpx.Client(base_url=one.url, headers=headers, timeout=PATIENCE) for one in services]
    first: dict[tuple[str, str], bytes] = {}

    def again(times: int) -> None:
        for policy in POLICIES:
            for question in QUESTIONS:
                found = {answer(http, path, question, policy) for http in clients for _ in range(times)}
                assert found == {first.setdefault((policy, question), next(iter(found)))}

    again(TIMES // len(clients))
    assert all(
        json.loads(found)["results"] for (_, question), found in first.items() if "the of" not in question
    )
    with external.superuser(DATABASE_NAME) as connection:
        for statement in ("VACUUM (FULL, ANALYZE)", "VACUUM", f"REINDEX DATABASE {DATABASE_NAME}"):
            connection.execute(statement)
            again(2)
    for http in clients:
        http.close()


def test_the_first_of_one_is_the_first_of_fifty(asked: tuple[list[Running], str, dict[str, str]]) -> None:
    services, path, headers = asked
    broad = [case.query for case in load_set(BROAD).cases[::5]]
    with httpx.Client(base_url=services[0].url, headers=headers, timeout=PATIENCE) as http:
        for question in (*QUESTIONS, *broad):
            lists: dict[int, Any] = {
                limit: json.loads(answer(http, path, question, "strata-v1", limit))["results"]
                for limit in (1, 50)
            }
            assert lists[1] == lists[50][:1], question

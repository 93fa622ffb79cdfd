"""`strata serve --demo` with the real model: loaded once, and its questions answered."""

import re
from typing import Any

import httpx
import pytest

from app.demo import load_memories, load_questions
from tests.e2e.processes import PATIENCE, Member, Running, Stage, wait_until

WANTED = 24
_CURL = re.compile(r"curl -s (\S+)/v1/profiles/(\S+)/recall \\\n +-H 'Authorization: Bearer (\S+)'")


def started(stage: Stage) -> tuple[Running, Member]:
    """A service with the demo, and the member that its printed curl line stands for."""
    service = stage.start("serve", "--demo", "--port", "0", embedder="sentence-transformers")
    wait_until("the curl line", lambda: service.ended or _CURL.search(service.output))
    found = _CURL.search(service.output)
    assert found is not None, service.output
    assert found[1] == service.url
    return service, Member(found[3], found[2])


def recalled(client: httpx.Client, member: Member, body: dict[str, Any]) -> list[str]:
    """Slugs of the first three memories."""
    answer = client.post(member.recall, json={**body, "limit": 3}, headers=member.headers)
    assert answer.status_code == 200, answer.text
    return [hit["fragment"]["idempotency_key"] for hit in answer.json()["results"]]


@pytest.mark.slow
def test_the_demo_is_loaded_once_and_answers_its_questions(stage: Stage) -> None:
    memories = len(load_memories())
    service, member = started(stage)
    assert f"Demo: {memories} memories, {memories} loaded now." in service.output

    missed = []
    with httpx.Client(base_url=service.url, timeout=PATIENCE) as client:
        for question in load_questions():
            body: dict[str, Any] = {"query": question.query}
            if question.valid_at is not None:
                body["valid_at"] = question.valid_at.isoformat()
            found = recalled(client, member, body)
            if not set(question.expected) <= set(found):
                missed.append(
                    f"{question.query}: wanted {', '.join(question.expected)}, found {', '.join(found)}"
                )
    print("\n".join(["", f"{len(missed)} of {len(load_questions())} questions missed", *missed]))  # noqa: T201 - read by people
    assert len(load_questions()) - len(missed) >= WANTED

    service.terminate()
    service.wait()
    again, later = started(stage)
    assert f"Demo: {memories} memories, all there already." in again.output
    assert later.profile_id == member.profile_id
    with httpx.Client(base_url=again.url, timeout=PATIENCE) as client:
        old = client.get(member.fragments, headers=member.headers)
        assert (old.status_code, old.json()["code"]) == (401, "revoked_key")
        assert len(recalled(client, later, {"query": "retries"})) == 3
        stored = client.get(later.fragments, params={"limit": 100}, headers=later.headers).json()
        rest = client.get(
            later.fragments, params={"limit": 100, "cursor": stored["next_cursor"]}, headers=later.headers
        ).json()
    assert len(stored["items"]) + len(rest["items"]) == memories
    assert rest["next_cursor"] is None

"""An optional part of a recall that fails is logged, counted and named; the fragments are answered all the same."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from app.asgi import create_app
from app.db.roles import API_ROLE
from app.settings import Settings
from tests.integration.conftest import OPERATOR, TestDatabase, bearer, opened_services


@pytest.fixture
async def http(fresh_database: TestDatabase, settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A service on a database of its own, whose rights a test may take away."""
    async with opened_services(fresh_database, settings) as services:
        transport = httpx.ASGITransport(app=create_app(settings, services))
        async with httpx.AsyncClient(transport=transport, base_url="http://strata.test") as client:
            created = await client.post("/v1/admin/teams", json={"name": "team"}, headers=OPERATOR)
            client.headers.update(bearer(created.json()["api_key"]))
            yield client


async def filled(http: httpx.AsyncClient) -> str:
    """A profile with a fact, a claim and their evidence."""
    profile = (await http.post("/v1/profiles", json={"name": "notes"})).json()["id"]
    path = f"/v1/profiles/{profile}"
    body = {"evidence": [{"content": "Ada likes green tea."}]}
    done = (await http.post(f"{path}/remember", json=body)).json()
    assert [claim["outcome"] for claim in done["claims"]] == ["promoted"]
    later = {"evidence": [{"content": "Ada likes black tea."}], "auto_promote": False}
    done = (await http.post(f"{path}/remember", json=later)).json()
    assert [claim["outcome"] for claim in done["claims"]] == ["validated"]
    return path


def failures(part: str) -> float:
    return REGISTRY.get_sample_value("strata_recall_parts_failed_total", {"part": part}) or 0.0


@pytest.mark.parametrize(
    ("tables", "degraded", "kinds"),
    [
        (("facts",), ["facts"], {"claim", "fragment"}),
        (("claims",), ["claims", "clarifications"], {"fact", "fragment"}),
        (("facts", "claims"), ["facts", "claims"], {"fragment"}),
        (("claim_conflicts",), ["clarifications"], {"fact", "claim", "fragment"}),
    ],
    ids=["facts", "claims", "both", "clarifications"],
)
async def test_a_part_that_fails_is_named(
    http: httpx.AsyncClient,
    fresh_database: TestDatabase,
    tables: tuple[str, ...],
    degraded: list[str],
    kinds: set[str],
) -> None:
    path = await filled(http)
    asked: dict[str, Any] = {"query": "does Ada like tea", "limit": 10}
    whole = (await http.post(f"{path}/recall", json=asked)).json()
    assert (whole["degraded"], {hit["kind"] for hit in whole["results"]}) == (
        [],
        {"fact", "claim", "fragment"},
    )
    with psycopg.connect(fresh_database.superuser, autocommit=True) as connection:
        for table in tables:
            connection.execute(f"REVOKE SELECT ON {table} FROM {API_ROLE}")  # noqa: S608 - no input
    before = [failures(part) for part in degraded]
    with capture_logs() as logged:
        answer = await http.post(f"{path}/recall", json=asked)
    assert answer.status_code == 200, answer.text
    assert answer.json()["degraded"] == degraded
    assert {hit["kind"] for hit in answer.json()["results"]} == kinds
    assert [line["part"] for line in logged if line["event"] == "recall_part_failed"] in (
        degraded,
        degraded[::-1],
    )
    assert [failures(part) for part in degraded] == [count + 1 for count in before]
    assert "green" not in str(logged)

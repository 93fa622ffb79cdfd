"""The database goes away before each statement of a change in turn: afterwards all of it is there, or nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
import sqlalchemy as sa

from app.asgi import create_app
from app.services import Services
from app.settings import Settings
from tests.integration.conftest import Member, TestDatabase, opened_services
from tests.integration.knowledge.conftest import Talk
from tests.integration.knowledge.programs import new_profile, violations

TABLES = (
    "fragments", "claims", "claim_evidence", "facts", "fact_versions", "fact_support", "claim_conflicts",
    "remember_runs", "search_documents", "vectors", "lexeme_statistics", "collection_statistics", "audit_log",
)  # fmt: skip
MOST_STATEMENTS = 120


class Fault:
    """Ends the server process of a connection right before its n-th statement from now on."""

    def __init__(self, services: Services, superuser: psycopg.Connection[Any]) -> None:
        self._superuser = superuser
        self._left = 0
        sa.event.listen(services.database.engine.sync_engine, "before_cursor_execute", self._before)

    def arm(self, statement: int) -> None:
        self._left = statement

    @property
    def struck(self) -> bool:
        """Whether the statement was reached; a fault that was not is disarmed."""
        struck, self._left = self._left == 0, 0
        return struck

    def _before(self, connection: Any, _: Any, statement: str, *__: Any) -> None:
        # A connection that is dead when its transaction begins is replaced; that is another test's subject.
        if self._left == 0 or "set_config('strata.team_id'" in statement:
            return
        self._left -= 1
        if self._left == 0:
            pid = connection.connection.driver_connection.info.backend_pid
            [ended] = (
                self._superuser.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,)).fetchone() or ()
            )
            assert ended


@pytest.fixture
def tables(database_urls: TestDatabase) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_urls.superuser, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def own(database_urls: TestDatabase, settings: Settings) -> AsyncIterator[Services]:
    """Services of this test's own, whose connections may be cut."""
    async with opened_services(database_urls, settings) as services:
        yield services


@pytest.fixture
def fault(own: Services, tables: psycopg.Connection[Any]) -> Fault:
    return Fault(own, tables)


@pytest.fixture
async def talk_of(
    own: Services, settings: Settings, member: Member
) -> AsyncIterator[Callable[[], Awaitable[Talk]]]:
    """Makes a talk with an empty profile."""
    transport = httpx.ASGITransport(app=create_app(settings, own))
    async with httpx.AsyncClient(transport=transport, base_url="http://strata.test") as http:

        async def make() -> Talk:
            profile = await new_profile(http, member)
            return Talk(http, Member(**{**vars(member), "profile_id": profile}))

        yield make


def stored(tables: psycopg.Connection[Any], talk: Talk) -> dict[str, list[str]]:
    """Every row of the profile, and of the team's audit, as text."""
    rows = {}
    for table in TABLES:
        column, value = (
            ("team_id", talk.member.team_id)
            if table == "audit_log"
            else ("profile_id", talk.member.profile_id)
        )
        found = tables.execute(f"SELECT t::text FROM {table} t WHERE {column} = %s", (value,))  # noqa: S608
        rows[table] = sorted(row[0] for row in found)
    return rows


async def evidenced(talk: Talk, value: str) -> tuple[str, str]:
    fragment = await talk.fragment(f"Ada works at {value}. [{uuid4().hex}]", authority="primary")
    claim = await talk.claim("Ada", "works_at", value, fragment)
    assert await talk.verify(claim) == "validated"
    return fragment, claim


async def superseding(talk: Talk) -> tuple[str, str]:
    await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.", extract_conf=0.86)
    _, claim = await evidenced(talk, "Initech")
    return "POST", f"claims/{claim}/promote"


async def disputing(talk: Talk) -> tuple[str, str]:
    await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.")
    _, claim = await evidenced(talk, "Initech")
    return "POST", f"claims/{claim}/promote"


async def accepting(talk: Talk) -> tuple[str, str]:
    _, path = await disputing(talk)
    assert (await talk.post(path)).status_code == 409
    return "POST", path.replace("promote", "confirm")


async def verifying(talk: Talk) -> tuple[str, str]:
    fragment = await talk.fragment("Ada likes tea.")
    return "POST", f"claims/{await talk.claim('Ada', 'likes', 'tea', fragment)}/verify"


async def retracting(talk: Talk) -> tuple[str, str]:
    made = await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.")
    return "POST", f"fragments/{made['fragment']}/retract"


async def deleting(talk: Talk) -> tuple[str, str]:
    made = await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.")
    return "DELETE", f"fragments/{made['fragment']}"


async def unclaiming(talk: Talk) -> tuple[str, str]:
    made = await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.")
    return "DELETE", f"claims/{made['claim_id']}"


BODIES: dict[Any, Any] = {accepting: {"decision": "accept_claim"}}


@pytest.mark.parametrize(
    "prepare", [superseding, disputing, accepting, verifying, retracting, deleting, unclaiming]
)
async def test_a_change_is_there_wholly_or_not_at_all(
    talk_of: Callable[[], Awaitable[Talk]], fault: Fault, tables: psycopg.Connection[Any], prepare: Any
) -> None:
    talk = await talk_of()
    method, path = await prepare(talk)
    before = stored(tables, talk)
    for statement in range(1, MOST_STATEMENTS):
        fault.arm(statement)
        answer = await talk.client.request(
            method, f"{talk.member.path}/{path}", json=BODIES.get(prepare), headers=talk.member.owner
        )
        if not fault.struck:
            break
        assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable"), answer.text
        assert stored(tables, talk) == before, f"statement {statement}"
    else:
        pytest.fail("the change never came to its end")
    assert answer.status_code in {200, 204, 409}, answer.text
    after = stored(tables, talk)
    assert after["audit_log"] != before["audit_log"]
    assert violations(tables, str(talk.member.profile_id)) == []
    assert statement > 6, "a fault was tried before every statement"


async def test_remember_loses_no_evidence_and_comes_to_its_end(
    talk_of: Callable[[], Awaitable[Talk]], fault: Fault, tables: psycopg.Connection[Any]
) -> None:
    body = {"evidence": [{"content": "Ada likes tea."}]}
    for statement in range(1, MOST_STATEMENTS):
        talk = await talk_of()
        headers = {**talk.member.owner, "Idempotency-Key": "once"}
        fault.arm(statement)
        cut = await talk.client.post(f"{talk.member.path}/remember", json=body, headers=headers)
        struck = fault.struck
        fragments = (await talk.get("fragments"))["items"]
        assert len(fragments) in {0, 1}
        assert violations(tables, str(talk.member.profile_id)) == []
        assert cut.status_code == (503 if struck else 200), cut.text
        done = (await talk.client.post(f"{talk.member.path}/remember", json=body, headers=headers)).json()
        assert done["status"] == "completed"
        assert [item["outcome"] for item in done["claims"]] in (["promoted"], ["already_promoted"])
        if fragments:
            assert [f["id"] for f in (await talk.get("fragments"))["items"]] == [f["id"] for f in fragments]
        assert len((await talk.get("facts", status="active"))["items"]) == 1
        if not struck:
            break
    else:
        pytest.fail("it never came to its end")
    assert statement > 25

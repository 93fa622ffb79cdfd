"""Sending bad input as the owner of a team, and what every refusal looks like."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from tests.integration.conftest import OPERATOR, Member
from tests.integration.http.route_table import OPERATOR as NEEDS_OPERATOR
from tests.integration.http.route_table import ROUTES, Route

BY_NAME = {route.operation: route for route in ROUTES}
WITH_BODY = tuple(route for route in ROUTES if route.body is not None)
WITH_IDS = tuple(route for route in ROUTES if "{" in route.path)
LISTS = tuple(route for route in ROUTES if route.operation.lower().startswith(("list", "adminlist")))
JSON = {"Content-Type": "application/json"}
JARGON = re.compile(r"`|[Rr]egex|msgspec|Expected|\\[ux]|NoneType|Traceback|Literal|datetime\b")
NOBODY = "00000000-0000-7000-8000-000000000000"
TABLES = (
    "profiles",
    "api_keys",
    "fragments",
    "idempotency_records",
    "audit_log",
    "search_documents",
    "vectors",
)


@dataclass(frozen=True)
class Sender:
    """Sends as the owner of one team, and counts what the team has stored."""

    client: httpx.AsyncClient
    member: Member
    fragment_id: str
    key_id: str
    database: psycopg.AsyncConnection[Any]

    async def __call__(
        self, route: Route, content: bytes | None = None, query: str = "", **headers: str
    ) -> httpx.Response:
        path = route.path.format(
            team_id=self.member.team_id,
            profile_id=self.member.profile_id,
            fragment_id=self.fragment_id,
            key_id=self.key_id,
            claim_id=NOBODY,
            fact_id=NOBODY,
        )
        caller = OPERATOR if route.needs == NEEDS_OPERATOR else self.member.owner
        types = JSON if content is not None else {}
        return await self.client.request(
            route.method, path + query, content=content, headers={**caller, **types, **headers}
        )

    async def stored(self) -> list[int]:
        counts = []
        for table in TABLES:
            statement = f"SELECT count(*) FROM {table} WHERE team_id = %s"  # noqa: S608 - names above
            cursor = await self.database.execute(statement, (self.member.team_id,))
            counts.append((await cursor.fetchone())[0])
        cursor = await self.database.execute("SELECT count(*) FROM teams")
        return [*counts, (await cursor.fetchone())[0]]


def assert_refused(
    answer: httpx.Response, path: str | None = None, code: str = "validation_failed", status: int = 422
) -> None:
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-request-id"] == problem["request_id"]
    assert (problem["code"], problem["status"]) == (code, status)
    assert problem["title"]
    assert problem["detail"]
    if path is not None:
        assert [error["path"] for error in problem["errors"]] == [path]
    words = [problem["detail"], *(error["message"] for error in problem.get("errors", []))]
    assert not any(JARGON.search(text) for text in words), words


async def all_refused(send: Sender, route: Route, cases: Iterable[tuple[bytes, dict[str, Any]]]) -> None:
    """Each body is refused as expected, and after all of them nothing is stored."""
    before = await send.stored()
    for body, expected in cases:
        with naming(body[:200]):
            assert_refused(await send(route, body), **expected)
    assert await send.stored() == before


@contextmanager
def naming(case: Any) -> Iterator[None]:
    """A failure inside says which case it was."""
    try:
        yield
    except AssertionError as error:
        error.add_note(f"case: {case!r}")
        raise


def by_name(cases: list[Any]) -> list[Any]:
    """Cases of one route each, for one test each."""
    names = dict.fromkeys(name for name, *_ in cases)
    return [pytest.param(name, [rest for first, *rest in cases if first == name], id=name) for name in names]


def operation(value: Any) -> str | None:
    return value.operation if isinstance(value, Route) else None


def body_of(route: Route, **changed: Any) -> bytes:
    r"""A working body with some fields changed; a lone surrogate leaves as the escape ``\ud83d``."""
    return json.dumps({**(route.sent() or {}), **changed}).encode()

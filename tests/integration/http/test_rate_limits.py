"""Requests a minute: counted for each key, told with the time to wait."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from app.asgi import create_app
from app.http.rate_limits import RateLimiter
from app.services import Services
from app.settings import Settings
from tests.integration.conftest import Member


@pytest.fixture
async def limited(services: Services, settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """The service with three requests a minute."""
    app = create_app(settings, replace(services, rate_limiter=RateLimiter(3)))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://strata.test") as http:
        yield http


async def test_a_key_above_its_limit_waits_and_others_do_not(
    limited: httpx.AsyncClient, member: Member
) -> None:
    for _ in range(3):
        assert (await limited.get(member.path, headers=member.reader)).status_code == 200
    answer = await limited.get(member.path, headers=member.reader)
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert (await limited.get(member.path, headers=member.owner)).status_code == 200
    assert (await limited.get("/livez")).status_code == 200


async def test_without_a_limit_nobody_waits(client: httpx.AsyncClient, member: Member) -> None:
    answers = [await client.get(member.path, headers=member.reader) for _ in range(10)]
    assert {answer.status_code for answer in answers} == {200}

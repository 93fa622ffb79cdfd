"""What the tests of bad input share."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.integration.conftest import TestDatabase
from tests.integration.http.refusals import Sender


@pytest.fixture(scope="module")
async def send(
    client: httpx.AsyncClient, make_member: Any, database_urls: TestDatabase
) -> AsyncIterator[Sender]:
    member = await make_member()
    fragment = await client.post(
        f"{member.path}/fragments", json={"content": "the one that is there"}, headers=member.owner
    )
    key = await client.post("/v1/keys", json={"name": "spare"}, headers=member.owner)
    async with await psycopg.AsyncConnection.connect(database_urls.superuser, autocommit=True) as database:
        yield Sender(client, member, fragment.json()["id"], key.json()["id"], database)

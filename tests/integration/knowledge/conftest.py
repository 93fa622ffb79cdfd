"""What the tests of knowledge share: a profile to talk to, one call a step."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.integration.conftest import Member

CERTAIN = {"extract_conf": 0.95, "resolution_conf": 0.9}


@dataclass(frozen=True)
class Talk:
    """A profile, by its routes."""

    client: httpx.AsyncClient
    member: Member

    async def post(self, path: str, body: Any = None) -> httpx.Response:
        return await self.client.post(f"{self.member.path}/{path}", json=body, headers=self.member.owner)

    async def get(self, path: str, **parameters: Any) -> Any:
        answer = await self.client.get(
            f"{self.member.path}/{path}", params=parameters, headers=self.member.owner
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def fragment(self, content: str, **fields: Any) -> str:
        body = {"content": content, "authority": "secondary", **fields}
        answer = await self.post("fragments", body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def claim(self, subject: str, predicate: str, value: str, *fragments: str, **fields: Any) -> str:
        body = {
            "subject": subject,
            "predicate": predicate,
            "object": value,
            "supported_by": list(fragments),
            **CERTAIN,
            **fields,
        }
        answer = await self.post("claims", body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def verify(self, claim: str) -> str:
        answer = await self.post(f"claims/{claim}/verify")
        assert answer.status_code == 200, answer.text
        return str(answer.json()["status"])

    async def promote(self, claim: str) -> httpx.Response:
        return await self.post(f"claims/{claim}/promote")

    async def fact(self, subject: str, predicate: str, value: str, text: str, **fields: Any) -> Any:
        """A promoted claim out of one good piece of evidence."""
        quality = fields.pop("authority", "primary")
        fragment = await self.fragment(f"{text} [{uuid4().hex}]", authority=quality)
        claim = await self.claim(subject, predicate, value, fragment, **fields)
        assert await self.verify(claim) == "validated"
        answer = await self.promote(claim)
        assert answer.status_code == 200, answer.text
        return {**answer.json(), "fragment": fragment}


@pytest.fixture
def talk(client: httpx.AsyncClient, member: Member) -> Talk:
    return Talk(client, member)

"""Many clients, one truth: the database lets no two active facts share a place, whoever comes when."""

import asyncio
import random
from collections import Counter

import httpx
import sqlalchemy as sa

from app.db.unit_of_work import Tenant, UnitOfWork
from app.services import Services
from tests.integration.knowledge.conftest import CERTAIN, Talk

CLAIMS = 200
CLIENTS = 16


async def test_two_hundred_conflicting_claims_leave_one_fact(talk: Talk, services: Services) -> None:
    employers = [f"employer{number}" for number in range(CLAIMS)]
    fragments = await fragments_about(talk, employers)
    claims: list[str] = []
    for start in range(0, CLAIMS, CLIENTS):
        chunk = range(start, min(start + CLIENTS, CLAIMS))
        made = await asyncio.gather(
            *(
                talk.claim(
                    "Ada",
                    "works_at",
                    employers[n],
                    fragments[n],
                    extract_conf=0.86 + (n % 20) / 200,
                )
                for n in chunk
            )
        )
        claims += made
        assert set(await asyncio.gather(*map(talk.verify, made))) == {"validated"}
    random.Random(4).shuffle(claims)
    waiting = iter(claims)
    outcomes: Counter[str] = Counter()

    async def client() -> None:
        for claim in waiting:
            answer = await talk.promote(claim)
            outcomes[answer.json().get("outcome") or answer.json()["code"]] += 1

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    assert sum(outcomes.values()) == CLAIMS
    assert set(outcomes) <= {"promoted", "rejected_weaker", "comparable_disputed"}, outcomes
    tenant = Tenant(talk.member.team_id, talk.member.profile_id)
    async with services.database.tenant(tenant) as unit:
        facts = await states_of(unit, "facts")
        states = await states_of(unit, "claims")
    assert facts["active"] == 1
    assert sum(facts.values()) == outcomes["promoted"]
    assert states.get("superseded", 0) == outcomes["promoted"]
    assert states.get("rejected", 0) == outcomes["rejected_weaker"]
    assert states.get("disputed", 0) == outcomes["comparable_disputed"]
    [active] = (await talk.get("facts", status="active"))["items"]
    best = 0.35 * (0.86 + 19 / 200) + 0.35 * CERTAIN["resolution_conf"] + 0.15  # one source of the two
    assert abs(active["truth_score"] - best) < 1e-6


async def states_of(unit: UnitOfWork, table: str) -> dict[str, int]:
    rows = await unit.execute(sa.text(f"SELECT status, count(*) FROM {table} GROUP BY status"))  # noqa: S608
    return {row.status: row.count for row in rows}


async def fragments_about(talk: Talk, employers: list[str]) -> list[str]:
    items = [{"content": f"Ada works at {name}.", "authority": "primary"} for name in employers]
    answer = await talk.post("fragments/batch", {"items": items})
    return [item["id"] for item in answer.json()["results"]]


async def test_one_claim_promoted_by_all_becomes_one_fact(talk: Talk) -> None:
    fragment = await talk.fragment("Ada likes tea.")
    claim = await talk.claim("Ada", "likes", "tea", fragment)
    await talk.verify(claim)
    answers = await asyncio.gather(*(talk.promote(claim) for _ in range(CLIENTS)))
    assert {answer.status_code for answer in answers} == {200}
    assert Counter(answer.json()["outcome"] for answer in answers) == {
        "promoted": 1,
        "already_promoted": CLIENTS - 1,
    }
    assert len({answer.json()["fact"]["id"] for answer in answers}) == 1


async def test_the_same_claim_sent_by_all_is_one_claim(talk: Talk) -> None:
    fragment = await talk.fragment("Ada likes tea.")
    body = {"subject": "Ada", "predicate": "likes", "object": "tea", "supported_by": [fragment]}
    answers = await asyncio.gather(*(talk.post("claims", body) for _ in range(CLIENTS)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum(not answer.json()["duplicate"] for answer in answers) == 1


async def test_a_retraction_meets_promotions(talk: Talk) -> None:
    """Whatever comes first: a fact whose only evidence is retracted is not active in the end."""

    async def round_of(number: int) -> None:
        fragment = await talk.fragment(f"Ada likes tea{number}.")
        claim = await talk.claim("Ada", "likes", f"tea{number}", fragment)
        await talk.verify(claim)
        answers: list[httpx.Response] = list(
            await asyncio.gather(
                talk.promote(claim), talk.post(f"fragments/{fragment}/retract"), talk.promote(claim)
            )
        )
        assert {answer.status_code for answer in answers} <= {200, 409}
        assert answers[1].status_code == 200

    await asyncio.gather(*(round_of(number) for number in range(20)))
    assert (await talk.get("facts", status="active"))["items"] == []
    waiting = (await talk.get("facts", status="needs_revalidation", limit=100))["items"]
    validated = (await talk.get("claims", status="validated"))["items"]
    assert len(waiting) <= 20
    assert validated == []

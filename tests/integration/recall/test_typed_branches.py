"""Facts and claims are found by keyword and by meaning, in their own profile, while they stand."""

from datetime import UTC, datetime
from typing import Any

import httpx

from app.db.unit_of_work import Tenant
from app.indexing.models import Kind
from app.lexical.analysis import Analyzer
from app.recall.policy import get_policy
from app.recall.repository import Filters
from app.recall.typed import TypedCandidate, typed_branch
from app.services import Services
from tests.integration.conftest import Member


async def promoted(client: httpx.AsyncClient, member: Member, *, promote: bool = True, **claim: Any) -> Any:
    async def post(path: str, body: Any = None) -> Any:
        answer = await client.post(f"{member.path}/{path}", json=body, headers=member.owner)
        assert answer.is_success, answer.text
        return answer.json()

    content = f"{claim['subject']} {claim['predicate'].replace('_', ' ')} {claim['object']}."
    fragment = (await post("fragments", {"content": content, "authority": "primary"}))["id"]
    body = {"supported_by": [fragment], "extract_conf": 0.9, "resolution_conf": 0.9, **claim}
    made = (await post("claims", body))["id"]
    assert (await post(f"claims/{made}/verify"))["status"] == "validated"
    if not promote:
        return {"claim": made, "fragment": fragment}
    return {**(await post(f"claims/{made}/promote")), "fragment": fragment}


async def search(
    services: Services, member: Member, kind: Kind, question: str, **filters: Any
) -> list[TypedCandidate]:
    return await typed_branch(
        services.database,
        services.knowledge.recalled,
        Tenant(member.team_id, member.profile_id),
        kind,
        Analyzer.for_config("english").query(question),
        vector=await services.embeddings.embed_query(question),
        space_id=services.space_id,
        policy=get_policy(None),
        filters=Filters(**filters),
        depth=10,
    )


async def test_an_active_fact_is_found_both_ways(
    client: httpx.AsyncClient, services: Services, member: Member
) -> None:
    made = await promoted(
        client, member, subject="Ada", predicate="likes", object="green tea", labels=["taste"]
    )
    other = await promoted(client, member, subject="Bob", predicate="uses", object="Postgres")
    found = {item.memory.view.object: item for item in await search(services, member, Kind.FACT, "green tea")}
    tea = found["green tea"]
    assert (tea.keyword_rank, tea.semantic_rank) == (1, 1)
    assert tea.memory.text == "Ada likes green tea taste"
    assert (tea.memory.status, tea.memory.authority_state) == ("active", "authoritative")
    assert tea.memory.score == made["fact"]["truth_score"]
    assert [str(ref) for ref in tea.memory.evidence_ids] == [made["fragment"]]
    assert (found["Postgres"].keyword_rank, str(found["Postgres"].memory.id)) == (0, other["fact"]["id"])
    assert await search(services, member, Kind.CLAIM, "green tea") == []
    await client.post(f"{member.path}/fragments/{made['fragment']}/retract", headers=member.owner)
    left = await search(services, member, Kind.FACT, "green tea")
    assert [item.memory.view.object for item in left] == ["Postgres"]


async def test_a_validated_claim_is_found_until_it_is_a_fact(
    client: httpx.AsyncClient, services: Services, member: Member
) -> None:
    made = await promoted(
        client, member, promote=False, subject="Ada", predicate="likes", object="milk", extract_conf=0.8
    )
    [claim] = await search(services, member, Kind.CLAIM, "who likes milk?")
    assert (str(claim.memory.id), claim.memory.score, claim.memory.status) == (
        made["claim"],
        0.8,
        "validated",
    )
    assert [str(ref) for ref in claim.memory.evidence_ids] == [made["fragment"]]
    await client.post(f"{member.path}/claims/{made['claim']}/promote", headers=member.owner)
    assert await search(services, member, Kind.CLAIM, "who likes milk?") == []
    assert len(await search(services, member, Kind.FACT, "who likes milk?")) == 1


async def test_times_narrow_the_branches(
    client: httpx.AsyncClient, services: Services, member: Member
) -> None:
    await promoted(
        client,
        member,
        subject="Ada",
        predicate="likes",
        object="tea since 2020",
        valid_from="2020-01-01T00:00:00Z",
    )
    early, late = datetime(2019, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)
    assert await search(services, member, Kind.FACT, "tea", valid_at=early) == []
    assert len(await search(services, member, Kind.FACT, "tea", valid_at=late)) == 1
    assert await search(services, member, Kind.FACT, "tea", known_at=late) == []


async def test_other_profiles_find_nothing(
    client: httpx.AsyncClient, services: Services, member: Member
) -> None:
    made = await promoted(client, member, subject="Ada", predicate="likes", object="tea")
    other = Tenant(member.team_id, member.other_profile_id)
    read = await services.knowledge.recalled.read(other, Kind.FACT, [made["fact"]["id"]])
    assert read == {}

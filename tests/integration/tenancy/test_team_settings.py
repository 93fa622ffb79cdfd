"""A team's settings: the ranking policy that it pins, and where the pin shows."""

from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa

from app.cli.direct import DirectMemory
from app.db.unit_of_work import Tenant
from app.recall.schemas import RecallInput
from app.services import Services
from tests.integration.conftest import OPERATOR, Member

QUESTION = {"query": "Who repairs the harbour crane?"}


async def pin(client: httpx.AsyncClient, member: Member, policy: str | None) -> dict[str, Any]:
    answer = await client.patch("/v1/team", json={"ranking_policy": policy}, headers=member.owner)
    assert answer.status_code == 200, answer.text
    changed: dict[str, Any] = answer.json()
    return changed


async def asked(client: httpx.AsyncClient, member: Member, route: str = "recall", **fields: Any) -> Any:
    answer = await client.post(f"{member.path}/{route}", json=QUESTION | fields, headers=member.reader)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("route", ["recall", "context"])
async def test_the_pin_ranks_what_names_no_policy(
    client: httpx.AsyncClient, member: Member, make_member: Any, route: str
) -> None:
    assert (await asked(client, member, route))["policy"] == "strata-v1"
    assert (await pin(client, member, "documented-v1"))["ranking_policy"] == "documented-v1"
    assert (await asked(client, member, route))["policy"] == "documented-v1"
    assert (await asked(client, member, route, policy="strata-v1"))["policy"] == "strata-v1"
    other = await make_member()
    assert (await asked(client, other, route))["policy"] == "strata-v1"
    assert (await pin(client, member, None))["ranking_policy"] is None
    assert (await asked(client, member, route))["policy"] == "strata-v1"


async def test_the_pin_is_shown_by_the_team_and_by_the_list_of_policies(
    client: httpx.AsyncClient, member: Member
) -> None:
    await pin(client, member, "documented-v1")
    team = (await client.get("/v1/team", headers=member.restricted)).json()
    assert (team["team_id"], team["ranking_policy"]) == (str(member.team_id), "documented-v1")
    listed = (await client.get("/v1/recall-policies", headers=member.reader)).json()["items"]
    assert {one["name"]: one["default"] for one in listed} == {"strata-v1": False, "documented-v1": True}


@pytest.mark.parametrize("caller", ["reader", "writer", "restricted"])
async def test_only_an_administrator_of_the_whole_team_pins(
    client: httpx.AsyncClient, member: Member, caller: str
) -> None:
    body = {"ranking_policy": "documented-v1"}
    answer = await client.patch("/v1/team", json=body, headers=getattr(member, caller))
    assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")
    assert (await client.get("/v1/team", headers=member.owner)).json()["ranking_policy"] is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"ranking_policy": "nobody-v9"}, "ranking_policy"),
        ({"ranking_policy": 1}, "ranking_policy"),
        ({"name": "a team does not rename itself"}, "name"),
        ({"status": "archived"}, "status"),
    ],
)
async def test_what_is_no_setting_is_refused_with_its_field(
    client: httpx.AsyncClient, member: Member, body: dict[str, Any], field: str
) -> None:
    answer = await client.patch("/v1/team", json=body, headers=member.owner)
    assert answer.status_code == 422, answer.text
    assert field in answer.text


async def test_the_operator_pins_too_and_every_change_is_audited(
    client: httpx.AsyncClient, member: Member
) -> None:
    path = f"/v1/admin/teams/{member.team_id}"
    answer = await client.patch(path, json={"ranking_policy": "documented-v1"}, headers=OPERATOR)
    assert answer.json()["ranking_policy"] == "documented-v1"
    renamed = await client.patch(path, json={"status": "active"}, headers=OPERATOR)
    assert renamed.json()["ranking_policy"] == "documented-v1"
    await pin(client, member, None)
    entries = (await client.get("/v1/audit", headers=member.owner)).json()["items"]
    told = [(entry["actor_type"], entry["details"]) for entry in entries if entry["action"] == "team.change"]
    assert told == [
        ("key", {"fields": ["ranking_policy"], "ranking_policy": None}),
        ("operator", {"fields": ["status"]}),
        ("operator", {"fields": ["ranking_policy"], "ranking_policy": "documented-v1"}),
    ]


async def test_a_pin_that_this_version_does_not_know_gives_way_and_is_told(
    client: httpx.AsyncClient, services: Services, member: Member
) -> None:
    async with services.database.tenant(Tenant(member.team_id)) as unit:
        await unit.execute(
            sa.text("UPDATE teams SET ranking_policy = 'later-v9' WHERE team_id = :team"),
            {"team": member.team_id},
        )
    answer = await asked(client, member)
    assert (answer["policy"], answer["degraded"]) == ("strata-v1", ["pinned_policy"])
    named = await asked(client, member, policy="documented-v1")
    assert (named["policy"], named["degraded"]) == ("documented-v1", [])


async def test_commands_on_the_database_keep_the_pin(
    client: httpx.AsyncClient, services: Services, member: Member
) -> None:
    await pin(client, member, "documented-v1")
    located = await services.tenancy.locate_profile(UUID(str(member.profile_id)), member.team_id)
    answer = await DirectMemory(services, located).recall(RecallInput(query=QUESTION["query"]))
    assert answer["policy"] == "documented-v1"

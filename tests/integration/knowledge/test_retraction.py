"""What becomes of claims and facts when their evidence goes, and what is left when everything is forgotten."""

from typing import Any

import httpx
import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from app.db.unit_of_work import Tenant
from app.services import Services
from tests.integration.conftest import OPERATOR, Member, TestDatabase
from tests.integration.knowledge.conftest import Talk

FILLED = {
    "fragments", "claims", "claim_evidence", "facts", "fact_versions", "fact_support", "claim_conflicts", "remember_runs",
    "search_documents", "vectors", "lexeme_statistics", "collection_statistics", "idempotency_records",
    "procrastinate_jobs",
}  # fmt: skip


async def withdraw(talk: Talk, fragment: str, how: str) -> None:
    path = f"{talk.member.path}/fragments/{fragment}"
    if how == "retract":
        answer = await talk.client.post(f"{path}/retract", headers=talk.member.owner)
    else:
        answer = await talk.client.delete(path, headers=talk.member.owner)
    assert answer.is_success, answer.text


@pytest.mark.parametrize("how", ["retract", "delete"])
async def test_a_fact_without_support_waits_for_revalidation(talk: Talk, how: str) -> None:
    made = await talk.fact("Ada", "likes", "tea", "Ada likes tea.")
    fact = made["fact"]["id"]
    await withdraw(talk, made["fragment"], how)
    assert (await talk.get(f"facts/{fact}"))["status"] == "needs_revalidation"
    history = (await talk.get(f"facts/{fact}/history"))["versions"]
    assert [item["reason"] for item in history] == ["promoted", "support_lost"]
    assert (await talk.get("facts", valid_at="2026-01-01T00:00:00Z"))["items"] == []
    known = await talk.get("facts", known_at=made["fact"]["recorded_at"])
    assert [item["id"] for item in known["items"]] == [fact], "what was believed then is not unsaid"
    refused = await talk.post(f"facts/{fact}/revalidate")
    assert refused.json()["errors"] == [
        {"path": "support", "message": "has 0 of quality 0, needs 1 entailing source"}
    ]


async def test_a_fact_with_enough_support_left_stays(talk: Talk) -> None:
    made = await talk.fact("Ada", "likes", "tea", "Ada likes tea.")
    again = await talk.fact("Ada", "likes", "tea", "Indeed Ada likes tea.")
    assert again["outcome"] == "confirmed"
    await withdraw(talk, made["fragment"], "retract")
    assert (await talk.get(f"facts/{made['fact']['id']}"))["status"] == "active"
    await withdraw(talk, again["fragment"], "retract")
    assert (await talk.get(f"facts/{made['fact']['id']}"))["status"] == "needs_revalidation"


async def test_the_number_of_sources_counts_where_no_quality_does(talk: Talk) -> None:
    one = await talk.fragment("Ada works at Acme.")
    two = await talk.fragment("Yes, Ada works at Acme.")
    claim = await talk.claim("Ada", "works_at", "Acme", one, two)
    await talk.verify(claim)
    fact = (await talk.promote(claim)).json()["fact"]["id"]
    await withdraw(talk, one, "retract")
    assert (await talk.get(f"facts/{fact}"))["status"] == "needs_revalidation"


async def test_new_evidence_makes_it_active_again(talk: Talk) -> None:
    made = await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.")
    await withdraw(talk, made["fragment"], "retract")
    again = await talk.fact("Ada", "works_at", "Acme", "Sure, Ada works at Acme.")
    assert (again["outcome"], again["fact"]["id"]) == ("confirmed", made["fact"]["id"])
    assert again["fact"]["status"] == "active"
    history = (await talk.get(f"facts/{made['fact']['id']}/history"))["versions"]
    assert [item["reason"] for item in history] == ["promoted", "support_lost", "revalidated"]


async def test_revalidation_needs_support_and_a_free_place(talk: Talk, services: Services) -> None:
    one = await talk.fragment("Ada works at Acme.", authority="primary")
    claim = await talk.claim("Ada", "works_at", "Acme", one)
    await talk.verify(claim)
    fact = (await talk.promote(claim)).json()["fact"]["id"]
    active = await talk.post(f"facts/{fact}/revalidate")
    assert active.json()["code"] == "conflict"
    tenant = Tenant(talk.member.team_id, talk.member.profile_id)
    async with services.database.tenant(tenant) as unit:
        await unit.execute(sa.text("UPDATE claim_evidence SET verdict = 'neutral'"))
    two = await talk.fragment("Unrelated.")
    await withdraw(talk, two, "retract")
    assert await talk.verify(claim) == "superseded"
    assert (await talk.get(f"facts/{fact}"))["status"] == "active"


async def test_a_validated_claim_without_evidence_is_a_candidate_again(talk: Talk) -> None:
    fragment = await talk.fragment("Ada likes tea.")
    claim = await talk.claim("Ada", "likes", "tea", fragment)
    await talk.verify(claim)
    await withdraw(talk, fragment, "retract")
    view = await talk.get(f"claims/{claim}")
    assert (view["status"], view["verdict"], view["source_quality"]) == ("candidate", "insufficient", 0.0)
    assert view["evidence"][0]["available"] is False
    cited = await talk.post(
        "claims", {"subject": "a", "predicate": "likes", "object": "b", "supported_by": [fragment]}
    )
    assert cited.json()["code"] == "supporting_fragment_missing"


async def test_deleting_a_claim_checks_its_fact(talk: Talk) -> None:
    made = await talk.fact("Ada", "likes", "tea", "Ada likes tea.")
    answer = await talk.client.delete(
        f"{talk.member.path}/claims/{made['claim_id']}", headers=talk.member.owner
    )
    assert answer.status_code == 204
    assert (await talk.get(f"facts/{made['fact']['id']}"))["status"] == "needs_revalidation"


async def test_retracting_a_fact_is_final(talk: Talk) -> None:
    made = await talk.fact("Ada", "likes", "tea", "Ada likes tea.")
    path = f"facts/{made['fact']['id']}"
    first, second = await talk.post(f"{path}/retract"), await talk.post(f"{path}/retract")
    assert first.json() == second.json()
    assert first.json()["status"] == "retracted"
    assert (await talk.post(f"{path}/revalidate")).json()["code"] == "conflict"
    anew = await talk.fact("Ada", "likes", "tea", "Ada really likes tea.")
    assert anew["outcome"] == "promoted"


async def test_trace_leads_back_to_the_evidence(talk: Talk) -> None:
    old = await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.", extract_conf=0.86)
    new = await talk.fact("Ada", "works_at", "Initech", "Ada works at Initech.")
    trace = await talk.get(f"trace/fact/{old['fact']['id']}")
    assert trace["promoted_from_claim"]["id"] == old["claim_id"]
    assert [item["id"] for item in trace["supporting_fragments"]] == [old["fragment"]]
    assert {(item["relation"], item["id"]) for item in trace["related"]} == {
        ("superseded_by_fact", new["fact"]["id"]),
        ("superseded_by_claim", new["claim_id"]),
        ("contradicted_by_claim", new["claim_id"]),
    }
    assert {"relation": "supported_by", "source": old["claim_id"], "target": old["fragment"]} in trace[
        "edges"
    ]
    await withdraw(talk, new["fragment"], "delete")
    trace = await talk.get(f"trace/claim/{new['claim_id']}", include_fragments="false")
    assert trace["missing_fragment_ids"] == [new["fragment"]]
    assert trace["supporting_fragments"] == []
    assert {(item["relation"], item["id"]) for item in trace["related"]} == {
        ("promotes_to_fact", new["fact"]["id"]),
        ("supersedes_fact", old["fact"]["id"]),
        ("contradicts_fact", old["fact"]["id"]),
    }
    bounded = await talk.get(f"trace/fact/{old['fact']['id']}", max_related=1)
    assert (len(bounded["related"]), bounded["truncated"]) == (1, True)


def counts(urls: TestDatabase, member: Member) -> dict[str, int]:
    """Rows of a profile in every table that has a column for it, and its jobs; tables without any are left out."""
    found = {}
    with psycopg.connect(urls.superuser) as connection:
        tables = connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE a.attname = 'profile_id' AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
            " AND c.relnamespace = 'public'::regnamespace ORDER BY 1"
        ).fetchall()
        for (table,) in tables:
            statement = sql.SQL("SELECT count(*) FROM {} WHERE profile_id = %s").format(sql.Identifier(table))
            [(found[table],)] = connection.execute(statement, (member.profile_id,)).fetchall()
        [(found["procrastinate_jobs"],)] = connection.execute(
            "SELECT count(*) FROM procrastinate_jobs WHERE args->>'profile_id' = %s",
            (str(member.profile_id),),
        ).fetchall()
    return {table: rows for table, rows in found.items() if rows}


@pytest.mark.parametrize("what", ["profile", "team"])
async def test_forgetting_leaves_nothing_but_the_audit(
    talk: Talk, services: Services, client: httpx.AsyncClient, database_urls: TestDatabase, what: str
) -> None:
    await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.")
    fragment = await talk.fragment("Ada works at Initech.", authority="primary")
    claim = await talk.claim("Ada", "works_at", "Initech", fragment)
    await talk.verify(claim)
    assert (await talk.promote(claim)).json()["code"] == "comparable_disputed"
    keyed = {**talk.member.owner, "Idempotency-Key": "once"}
    await client.post(
        f"{talk.member.path}/remember", json={"evidence": [{"content": "Ada likes tea."}]}, headers=keyed
    )
    large = {"evidence": [{"content": f"Ada likes tea{number}."} for number in range(30)]}
    assert (await talk.post("remember", large)).status_code == 202
    await talk.client.post(
        f"{talk.member.path}/recall", json={"query": "where does Ada work"}, headers=talk.member.owner
    )
    filled = counts(database_urls, talk.member)
    assert set(filled) >= FILLED
    assert filled["claim_conflicts"] == 1
    if what == "profile":
        answer = await client.delete(talk.member.path, headers=talk.member.owner)
    else:
        answer = await client.delete(f"/v1/admin/teams/{talk.member.team_id}", headers=OPERATOR)
    assert answer.status_code == 204, answer.text
    kept = counts(database_urls, talk.member)
    assert set(kept) <= {"audit_log"}, kept
    async with services.database.tenant(Tenant(talk.member.team_id)) as unit:
        entries: list[Any] = list(
            (await unit.execute(sa.text("SELECT action, details FROM audit_log"))).all()
        )
    assert {"fact.promoted", "claim.comparable_disputed", "profile.delete"} <= {row.action for row in entries}
    assert "Acme" not in str(entries)
    assert "Ada" not in str(entries)

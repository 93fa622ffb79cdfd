"""Claims through verification and promotion, and everything that a fact already there can mean for them."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.integration.conftest import Member
from tests.integration.knowledge.conftest import CERTAIN, Talk


async def test_a_claim_becomes_a_fact(talk: Talk) -> None:
    made = await talk.fact("Ada", "likes", "green tea", "Ada likes green tea.")
    assert made["outcome"] == "promoted"
    assert made["claim_status"] == "superseded"
    fact = made["fact"]
    assert (fact["subject"], fact["predicate"], fact["object"]) == ("Ada", "likes", "green tea")
    assert (fact["status"], fact["authority_state"], fact["kind"]) == (
        "active",
        "authoritative",
        "multi_valued",
    )
    assert fact["truth_score"] == pytest.approx(0.35 * 0.95 + 0.35 * 0.9 + 0.15 + 0.15)
    listed = await talk.get("facts")
    assert [item["id"] for item in listed["items"]] == [fact["id"]]
    claim = await talk.get(f"claims/{made['claim_id']}")
    assert (claim["status"], claim["fact_id"], claim["verdict"]) == ("superseded", fact["id"], "entailed")
    again = await talk.promote(made["claim_id"])
    assert (again.status_code, again.json()["outcome"]) == (200, "already_promoted")


async def test_every_gate_that_refuses_is_told(talk: Talk) -> None:
    fragment = await talk.fragment("Ada works at Acme.")
    claim = await talk.claim("Ada", "works_at", "Acme", fragment, extract_conf=0.5, resolution_conf=0.6)
    unverified = await talk.promote(claim)
    assert (unverified.status_code, unverified.json()["code"]) == (409, "needs_claim_validated")
    assert await talk.verify(claim) == "validated"
    refused = await talk.promote(claim)
    assert (refused.status_code, refused.json()["code"]) == (409, "gate_rejected")
    assert refused.json()["errors"] == [
        {"path": "extract_conf", "message": "is 0.5, needs 0.85"},
        {"path": "resolution_conf", "message": "is 0.6, needs 0.75"},
        {
            "path": "support",
            "message": "has 1 of quality 0.75, needs 2 entailing sources or one of quality 0.95",
        },
    ]
    assert (await talk.get("facts"))["items"] == []


async def test_a_second_source_opens_the_support_gate(talk: Talk) -> None:
    first = await talk.fragment("Ada works at Acme.")
    claim = await talk.claim("Ada", "works_at", "Acme", first)
    await talk.verify(claim)
    assert (await talk.promote(claim)).json()["code"] == "gate_rejected"
    unrelated = await talk.fragment("The weather at Acme is fine.")
    await talk.claim("ada", "works_at", "ACME", unrelated)
    assert await talk.verify(claim) == "validated"
    assert (await talk.promote(claim)).json()["code"] == "gate_rejected", "an unrelated source is no support"
    second = await talk.fragment("At Acme, Ada works as an engineer.")
    assert await talk.claim("ada", "works_at", "ACME", second) == claim
    await talk.verify(claim)
    assert (await talk.promote(claim)).json()["outcome"] == "promoted"


async def test_an_unknown_predicate_is_never_promoted_until_the_team_adds_a_policy(
    talk: Talk, client: httpx.AsyncClient, member: Member
) -> None:
    fragment = await talk.fragment("Ada commutes by bicycle.")
    claim = await talk.claim("Ada", "commutes_by", "bicycle", fragment)
    assert await talk.verify(claim) == "validated"
    refused = await talk.promote(claim)
    assert (refused.status_code, refused.json()["code"]) == (422, "predicate_not_policed")
    body = {"predicate": "commutes_by", "kind": "single_current"}
    denied = await client.post("/v1/predicates", json=body, headers=member.writer)
    assert denied.status_code == 403
    added = await client.post("/v1/predicates", json=body, headers=member.owner)
    assert (added.status_code, added.json()["built_in"]) == (201, False)
    assert (await client.post("/v1/predicates", json=body, headers=member.owner)).json()["code"] == "conflict"
    taken = await client.post("/v1/predicates", json={**body, "predicate": "likes"}, headers=member.owner)
    assert taken.json()["code"] == "conflict"
    listed = (await client.get("/v1/predicates", headers=member.reader)).json()["items"]
    assert [item["predicate"] for item in listed if not item["built_in"]] == ["commutes_by"]
    assert len(listed) == 15
    assert (await talk.promote(claim)).json()["outcome"] == "promoted"
    audit = (await client.get("/v1/audit", headers=member.owner)).json()["items"]
    assert "predicate.create" in {entry["action"] for entry in audit}
    assert "bicycle" not in str(audit)


async def test_the_same_statement_confirms_the_fact(talk: Talk) -> None:
    made = await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.")
    again = await talk.fact("ADA", "works_at", "acme", "Surely Ada works at acme!", extract_conf=0.9)
    assert (again["outcome"], again["fact"]["id"]) == ("confirmed", made["fact"]["id"])
    assert again["fact"]["last_confirmed_at"] is not None
    assert len((await talk.get("facts"))["items"]) == 1


async def test_a_weaker_claim_is_rejected(talk: Talk) -> None:
    made = await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.")
    fragment = await talk.fragment("Ada works at Initech.", authority="primary")
    claim = await talk.claim("Ada", "works_at", "Initech", fragment, extract_conf=0.86)
    await talk.verify(claim)
    refused = await talk.promote(claim)
    assert (refused.status_code, refused.json()["code"]) == (409, "rejected_weaker")
    assert refused.json()["errors"] == [{"path": "fact", "message": made["fact"]["id"]}]
    assert (await talk.get(f"claims/{claim}"))["status"] == "rejected"
    assert (await talk.post(f"claims/{claim}/verify")).json()["code"] == "conflict"


async def test_a_stronger_claim_supersedes_and_closes_the_validity(talk: Talk) -> None:
    old = await talk.fact(
        "Ada", "works_at", "Acme", "Ada works at Acme since 2019.", valid_from="2019-01-01T00:00:00Z",
        extract_conf=0.86,
    )  # fmt: skip
    new = await talk.fact(
        "Ada", "works_at", "Initech", "Ada works at Initech since 2024.", valid_from="2024-01-01T00:00:00Z"
    )
    assert new["superseded"] == [old["fact"]["id"]]
    past = await talk.get(f"facts/{old['fact']['id']}")
    assert (past["status"], past["valid_to"], past["superseded_by"]) == (
        "superseded",
        "2024-01-01T00:00:00Z",
        new["fact"]["id"],
    )
    history = await talk.get(f"facts/{old['fact']['id']}/history")
    assert [(item["version"], item["reason"], item["valid_to"]) for item in history["versions"]] == [
        (1, "promoted", None),
        (2, "superseded", "2024-01-01T00:00:00Z"),
    ]


async def disputed(talk: Talk) -> tuple[Any, str]:
    made = await talk.fact("Ada", "works_at", "Acme", "Ada works at Acme.")
    fragment = await talk.fragment("Ada works at Initech.", authority="primary")
    claim = await talk.claim("Ada", "works_at", "Initech", fragment)
    await talk.verify(claim)
    refused = await talk.promote(claim)
    assert (refused.status_code, refused.json()["code"]) == (409, "comparable_disputed")
    return made, claim


async def test_a_comparable_claim_asks(talk: Talk) -> None:
    made, claim = await disputed(talk)
    [question] = (await talk.get("clarifications", subject="ada"))["items"]
    assert question["id"] == f"clarify:{claim}"
    assert question["question"] == "Which is so: Ada works at Initech, or Ada works at Acme?"
    assert [fact["id"] for fact in question["conflicting_facts"]] == [made["fact"]["id"]]
    assert question["options"] == ["accept_claim", "keep_existing", "reject_claim"]
    assert (await talk.get("clarifications", predicate="likes"))["items"] == []
    assert await talk.verify(claim) == "disputed", "verifying again decides no conflict"


async def test_accepting_supersedes_once(talk: Talk) -> None:
    made, claim = await disputed(talk)
    stale = await talk.post(
        f"claims/{claim}/confirm", {"decision": "accept_claim", "conflicting_facts": [str(uuid4())]}
    )
    assert (stale.status_code, stale.json()["code"]) == (409, "conflict")
    body = {"decision": "accept_claim", "conflicting_facts": [made["fact"]["id"]]}
    answers = await asyncio.gather(*(talk.post(f"claims/{claim}/confirm", body) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    [won] = [answer.json() for answer in answers if answer.status_code == 200]
    assert (won["outcome"], won["claim_status"], won["superseded"]) == (
        "promoted",
        "superseded",
        [made["fact"]["id"]],
    )
    active = (await talk.get("facts", status="active"))["items"]
    assert [fact["object"] for fact in active] == ["Initech"]
    assert (await talk.get("clarifications"))["items"] == []


@pytest.mark.parametrize("decision", ["keep_existing", "reject_claim"])
async def test_keeping_and_rejecting_end_the_dispute(talk: Talk, decision: str) -> None:
    made, claim = await disputed(talk)
    answer = (await talk.post(f"claims/{claim}/confirm", {"decision": decision})).json()
    assert (answer["outcome"], answer["claim_status"]) == ("rejected", "rejected")
    kept = await talk.get(f"facts/{made['fact']['id']}")
    assert kept["status"] == "active"
    assert (kept["last_confirmed_at"] is not None) is (decision == "keep_existing")
    repeated = await talk.post(f"claims/{claim}/confirm", {"decision": decision})
    assert repeated.json()["code"] == "conflict"


async def test_accepting_does_not_open_the_gates(talk: Talk) -> None:
    fragment = await talk.fragment("Ada does not work at Acme.", authority="primary")
    claim = await talk.claim("Ada", "works_at", "Acme", fragment)
    assert await talk.verify(claim) == "disputed"
    [question] = (await talk.get("clarifications"))["items"]
    assert question["conflicting_facts"] == []
    refused = await talk.post(f"claims/{claim}/confirm", {"decision": "accept_claim"})
    assert (refused.json()["code"], (await talk.get("facts"))["items"]) == ("gate_rejected", [])


async def test_earlier_and_later_values_do_not_collide(talk: Talk) -> None:
    now = await talk.fact(
        "Ada", "works_at", "Acme", "Ada works at Acme since 2020.", valid_from="2020-01-01T00:00:00Z"
    )
    past = await talk.fact(
        "Ada", "works_at", "Initech", "Ada worked at Initech from 2015 to 2018.", extract_conf=0.86,
        valid_from="2015-01-01T00:00:00Z", valid_to="2019-01-01T00:00:00Z",
    )  # fmt: skip
    assert (past["outcome"], past["fact"]["status"]) == ("past", "superseded")
    at = await talk.get("facts", valid_at="2016-06-01T00:00:00Z")
    assert [fact["id"] for fact in at["items"]] == [past["fact"]["id"]]
    at = await talk.get("facts", valid_at="2021-06-01T00:00:00Z")
    assert [fact["id"] for fact in at["items"]] == [now["fact"]["id"]]


async def test_a_denial_collides_with_the_same_value_only(talk: Talk) -> None:
    made = await talk.fact("Ada", "likes", "tea", "Ada likes tea.", extract_conf=0.8)
    await talk.fact("Ada", "likes", "milk", "Ada likes milk.")
    denied = await talk.fact("Ada", "likes", "tea", "Ada does not like tea.", polarity="-")
    assert denied["superseded"] == [made["fact"]["id"]]
    active = (await talk.get("facts", status="active"))["items"]
    assert sorted((fact["object"], fact["polarity"]) for fact in active) == [("milk", "+"), ("tea", "-")]


async def test_versions_give_way_and_appended_facts_do_not(
    talk: Talk, client: httpx.AsyncClient, member: Member
) -> None:
    for predicate, kind in (("release_is", "versioned"), ("noted", "append_only")):
        body = {"predicate": predicate, "kind": kind}
        assert (await client.post("/v1/predicates", json=body, headers=member.owner)).status_code == 201
    await talk.fact("Strata", "release_is", "v2", "Strata release is v2.", extract_conf=0.99)
    await talk.fact("Strata", "release_is", "v3", "Strata release is v3.", extract_conf=0.8)
    for text in ("Ada noted rain.", "Again Ada noted rain."):
        await talk.fact("Ada", "noted", "rain", text)
    active = (await talk.get("facts", status="active"))["items"]
    assert sorted(fact["object"] for fact in active) == ["rain", "rain", "v3"]


async def test_bitemporal_questions(talk: Talk) -> None:
    old = await talk.fact(
        "Ada", "works_at", "Acme", "Ada works at Acme since 2019.", valid_from="2019-01-01T00:00:00Z",
        extract_conf=0.86,
    )  # fmt: skip
    before = old["fact"]["recorded_at"]
    new = await talk.fact(
        "Ada", "works_at", "Initech", "Ada works at Initech since 2024.", valid_from="2024-01-01T00:00:00Z"
    )

    async def answer(**times: str) -> list[str]:
        found = await talk.get("facts", predicate="works_at", subject="Ada", **times)
        return [fact["object"] for fact in found["items"]]

    assert await answer(valid_at="2025-01-01T00:00:00Z") == ["Initech"]
    assert await answer(valid_at="2022-01-01T00:00:00Z") == ["Acme"]
    assert await answer(valid_at="2018-01-01T00:00:00Z") == []
    assert await answer(valid_at="2025-01-01T00:00:00Z", known_at=before) == ["Acme"]
    assert await answer(known_at=before) == ["Acme"]
    assert await answer(known_at=new["fact"]["recorded_at"]) == ["Initech"]
    assert await answer(known_at="2001-01-01T00:00:00Z") == []
    mixed = await talk.client.get(
        f"{talk.member.path}/facts",
        params={"status": "active", "known_at": before},
        headers=talk.member.owner,
    )
    assert mixed.status_code == 422


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"supported_by": [str(uuid4())]}, 404, "supporting_fragment_missing"),
        ({"supported_by": []}, 422, "validation_failed"),
        ({"extract_conf": 1.5}, 422, "validation_failed"),
        (
            {"valid_from": "2024-01-01T00:00:00Z", "valid_to": "2023-01-01T00:00:00Z"},
            422,
            "validation_failed",
        ),
        ({"predicate": "Works At"}, 422, "validation_failed"),
        ({"subject": "\u200b"}, 422, "validation_failed"),
        ({"span_start": 0, "span_end": 5_000}, 422, "validation_failed"),
        ({"span_start": 3}, 422, "validation_failed"),
        ({"polarity": "maybe"}, 422, "validation_failed"),
        ({"unknown": 1}, 422, "validation_failed"),
    ],
)
async def test_bad_claims_are_refused(talk: Talk, change: dict[str, Any], status: int, code: str) -> None:
    fragment = await talk.fragment("Ada works at Acme.")
    body = {
        "subject": "Ada",
        "predicate": "works_at",
        "object": "Acme",
        "supported_by": [fragment],
        **CERTAIN,
    }
    answer = await talk.post("claims", {**body, **change})
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert (await talk.get("claims"))["items"] == []


async def test_what_a_predicate_consists_of_is_told(talk: Talk) -> None:
    body = {"subject": "Ada", "predicate": "works at", "object": "Acme", "supported_by": [str(uuid4())]}
    answer = await talk.post("claims", body)
    assert answer.json()["errors"] == [
        {
            "path": "predicate",
            "message": "must consist of lower-case letters, digits and underscores, and begin with a letter",
        }
    ]


async def test_a_confidence_that_is_no_number_is_refused(talk: Talk) -> None:
    answer = await talk.client.post(
        f"{talk.member.path}/claims",
        content=b'{"subject":"a","predicate":"likes","object":"b","supported_by":[],"extract_conf":NaN}',
        headers={**talk.member.owner, "Content-Type": "application/json"},
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "malformed_json")


async def test_another_profiles_fragment_is_missing(talk: Talk, client: httpx.AsyncClient) -> None:
    other = f"/v1/profiles/{talk.member.other_profile_id}/fragments"
    made = await client.post(other, json={"content": "Ada works at Acme."}, headers=talk.member.owner)
    body = {"subject": "Ada", "predicate": "works_at", "object": "Acme", "supported_by": [made.json()["id"]]}
    answer = await talk.post("claims", body)
    assert (answer.status_code, answer.json()["code"]) == (404, "supporting_fragment_missing")


async def test_identity_by_key_and_by_content(talk: Talk) -> None:
    fragment = await talk.fragment("Ada likes tea and milk.")
    body = {
        "subject": "Ada", "predicate": "likes", "object": "tea", "supported_by": [fragment], "idempotency_key": "k",
    }  # fmt: skip
    first, again = await talk.post("claims", body), await talk.post("claims", body)
    assert (again.json()["id"], again.json()["duplicate"]) == (first.json()["id"], True)
    other = await talk.post("claims", {**body, "object": "milk"})
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    same = await talk.post("claims", {**body, "subject": " ADA ", "idempotency_key": None})
    assert same.json() == {"id": first.json()["id"], "duplicate": True, "status": "candidate"}


async def test_classification_is_the_strictest_of_the_evidence(talk: Talk) -> None:
    one = await talk.fragment("Ada likes tea.", classification={"confidentiality": "confidential"})
    two = await talk.fragment(
        "Yes, Ada likes tea.", classification={"pii": "sensitive", "retention": "permanent"}
    )
    claim = await talk.claim("Ada", "likes", "tea", one)
    assert await talk.claim("Ada", "likes", "tea", two) == claim
    assert (await talk.get(f"claims/{claim}"))["classification"] == {
        "confidentiality": "confidential",
        "retention": "permanent",
        "pii": "sensitive",
    }

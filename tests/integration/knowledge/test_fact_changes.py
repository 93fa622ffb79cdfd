"""Facts that change without a new claim, and the corners where claims, times and facts meet."""

from typing import Any
from uuid import uuid4

import pytest

from tests.integration.knowledge.conftest import Talk

Y2010, Y2012, Y2015, Y2018, Y2020 = (f"{year}-01-01T00:00:00Z" for year in (2010, 2012, 2015, 2018, 2020))


async def employed(talk: Talk, value: str, **fields: Any) -> Any:
    """A fact about Ada's employer; its evidence has the times that it names."""
    times = {name: fields[name] for name in ("valid_from", "valid_to") if name in fields}
    fragment = await talk.fragment(f"Ada works at {value}. [{uuid4().hex}]", authority="primary", **times)
    claim = await talk.claim("Ada", "works_at", value, fragment, **fields)
    assert await talk.verify(claim) == "validated"
    answer = await talk.promote(claim)
    assert answer.status_code == 200, answer.text
    return {**answer.json(), "fragment": fragment}


async def remove(talk: Talk, fragment: str) -> None:
    answer = await talk.client.delete(f"{talk.member.path}/fragments/{fragment}", headers=talk.member.owner)
    assert answer.status_code == 204, answer.text


async def test_an_earlier_time_with_the_same_value_is_a_fact_of_its_own(talk: Talk) -> None:
    now = await employed(talk, "Acme", valid_from=Y2020)
    then = await employed(talk, "Acme", valid_from=Y2010, valid_to=Y2012)
    assert (then["outcome"], then["fact"]["status"]) == ("past", "superseded")
    assert then["fact"]["superseded_by"] == now["fact"]["id"]
    for at, found in (("2011-06-01T00:00:00Z", ["Acme"]), ("2016-06-01T00:00:00Z", [])):
        listed = await talk.get("facts", valid_at=at)
        assert [fact["object"] for fact in listed["items"]] == found


async def test_a_waiting_fact_is_not_revived_beside_an_active_one(talk: Talk) -> None:
    """One place, one active fact: what could only be revived next to another one is past."""
    waiting = await employed(talk, "Acme")
    await remove(talk, waiting["fragment"])
    active = await employed(talk, "Initech", valid_from=Y2015)
    assert active["superseded"] == [waiting["fact"]["id"]]
    other = await employed(talk, "Acme", valid_from=Y2010, valid_to=Y2012)
    assert other["outcome"] == "past"
    assert [f["object"] for f in (await talk.get("facts", status="active"))["items"]] == ["Initech"]


async def test_a_past_fact_without_support_waits_and_comes_back_as_past(talk: Talk) -> None:
    old = await employed(talk, "Acme", valid_from=Y2015, extract_conf=0.86)
    fact = old["fact"]["id"]
    await employed(talk, "Initech", valid_from=Y2020)
    asked = {"valid_at": Y2018}
    assert [f["id"] for f in (await talk.get("facts", **asked))["items"]] == [fact]
    await remove(talk, old["fragment"])
    assert (await talk.get(f"facts/{fact}"))["status"] == "needs_revalidation"
    assert (await talk.get("facts", **asked))["items"] == [], "nothing supports that it ever was so"
    refused = await talk.post(f"facts/{fact}/revalidate")
    assert (refused.status_code, refused.json()["code"]) == (409, "gate_rejected")
    assert (await talk.get("facts", status="active"))["items"][0]["object"] == "Initech"


async def test_a_waiting_fact_that_is_superseded_goes_on_waiting(talk: Talk) -> None:
    old = await employed(talk, "Acme")
    await remove(talk, old["fragment"])
    new = await employed(talk, "Initech")
    past = await talk.get(f"facts/{old['fact']['id']}")
    assert (past["status"], past["superseded_by"]) == ("needs_revalidation", new["fact"]["id"])
    again = await employed(talk, "Acme", extract_conf=0.99)
    assert again["outcome"] == "promoted"
    assert again["fact"]["id"] != old["fact"]["id"]


async def test_accepting_is_refused_when_other_facts_conflict_by_now(talk: Talk) -> None:
    first = await employed(talk, "Acme")
    fragment = await talk.fragment("Ada works at Initech.", authority="primary")
    claim = await talk.claim("Ada", "works_at", "Initech", fragment)
    await talk.verify(claim)
    assert (await talk.promote(claim)).json()["code"] == "comparable_disputed"
    second = await employed(talk, "Umbrella", extract_conf=0.99)
    [question] = (await talk.get("clarifications"))["items"]
    assert question["conflicting_facts"] == []
    assert question["question"] == (
        "Is it so: Ada works at Initech? What it conflicted with is no longer believed."
    )
    stale = {"decision": "accept_claim", "conflicting_facts": [first["fact"]["id"]]}
    assert (await talk.post(f"claims/{claim}/confirm", stale)).json()["code"] == "conflict"
    unseen = await talk.post(f"claims/{claim}/confirm", {"decision": "accept_claim"})
    assert (unseen.status_code, unseen.json()["code"]) == (409, "conflict")
    assert unseen.json()["errors"] == [{"path": "fact", "message": second["fact"]["id"]}]
    [question] = (await talk.get("clarifications"))["items"]
    assert [fact["id"] for fact in question["conflicting_facts"]] == [second["fact"]["id"]]
    seen = await talk.post(f"claims/{claim}/confirm", {"decision": "accept_claim"})
    assert seen.json()["superseded"] == [second["fact"]["id"]]


async def test_a_dispute_with_a_retracted_fact_can_be_verified_away(talk: Talk) -> None:
    first = await employed(talk, "Acme")
    fragment = await talk.fragment("Ada works at Initech.", authority="primary")
    claim = await talk.claim("Ada", "works_at", "Initech", fragment)
    await talk.verify(claim)
    await talk.promote(claim)
    await talk.post(f"facts/{first['fact']['id']}/retract")
    assert await talk.verify(claim) == "validated"
    assert (await talk.promote(claim)).json()["outcome"] == "promoted"


async def test_a_fact_is_known_from_its_promotion_on(talk: Talk) -> None:
    fragment = await talk.fragment("Ada likes tea.")
    claim = await talk.claim("Ada", "likes", "tea", fragment)
    await talk.verify(claim)
    between = (await talk.get(f"claims/{claim}"))["updated_at"]
    fact = (await talk.promote(claim)).json()["fact"]
    assert fact["recorded_at"] > between
    assert (await talk.get("facts", known_at=between))["items"] == []
    early = await talk.fact("Bob", "likes", "tea", "Bob likes tea.", recorded_at=Y2012)
    assert early["fact"]["recorded_at"] == Y2012
    assert [f["id"] for f in (await talk.get("facts", known_at=Y2015))["items"]] == [early["fact"]["id"]]


async def test_what_was_believed_hides_what_came_later(talk: Talk) -> None:
    old = (await employed(talk, "Acme", extract_conf=0.86))["fact"]
    new = (await employed(talk, "Initech"))["fact"]
    [then] = (await talk.get("facts", known_at=old["recorded_at"]))["items"]
    assert (then["id"], then["status"], then["valid_to"]) == (old["id"], "active", None)
    assert (then["superseded_by"], then["recorded_to"]) == (None, None)
    stands = await talk.get(f"facts/{old['id']}")
    assert stands["superseded_by"] == new["id"]
    versions = (await talk.get(f"facts/{old['id']}/history", known_at=old["recorded_at"]))["versions"]
    assert [version["reason"] for version in versions] == ["promoted"]
    ended = await talk.get(f"facts/{old['id']}/history", valid_at="2100-01-01T00:00:00Z")
    assert [version["reason"] for version in ended["versions"]] == ["promoted"], (
        "the later version ends before"
    )


async def test_one_of_several_values_becomes_another(talk: Talk) -> None:
    old = (await talk.fact("Strata", "uses", "MySQL", "Strata uses MySQL."))["fact"]
    new = (await talk.fact("Strata", "uses", "Postgres", "Strata uses Postgres."))["fact"]
    done = await talk.post(f"facts/{old['id']}/supersede", {"by": new["id"], "valid_to": Y2020})
    assert done.status_code == 200, done.text
    assert (done.json()["status"], done.json()["superseded_by"]) == ("superseded", new["id"])
    assert done.json()["valid_to"] == Y2020
    trace = await talk.get(f"trace/fact/{new['id']}")
    assert {"relation": "supersedes_fact", "source": new["id"], "target": old["id"]} in trace["edges"]
    again = await talk.post(f"facts/{old['id']}/supersede", {"by": new["id"]})
    assert again.json()["code"] == "conflict"
    back = await talk.post(f"facts/{new['id']}/supersede", {"by": old["id"]})
    assert back.json()["code"] == "conflict", "a past fact replaces nothing"


async def test_a_fact_cannot_supersede_itself(talk: Talk) -> None:
    fact = (await talk.fact("Ada", "likes", "tea", "Ada likes tea."))["fact"]["id"]
    answer = await talk.post(f"facts/{fact}/supersede", {"by": fact})
    assert (answer.status_code, answer.json()["code"]) == (422, "self_supersession")
    missing = await talk.post(f"facts/{fact}/supersede", {"by": str(uuid4())})
    assert (missing.status_code, missing.json()["code"]) == (404, "fact_not_found")
    assert (await talk.get(f"facts/{fact}"))["status"] == "active"


async def test_confirming_keeps_the_strictest_classification(talk: Talk) -> None:
    made = await talk.fact("Ada", "likes", "tea", "Ada likes tea.")
    secret = await talk.fragment(
        "Ada likes tea, in confidence.", authority="primary", classification={"confidentiality": "restricted"}
    )
    claim = await talk.claim("Ada", "likes", "tea", secret)
    await talk.verify(claim)
    done = (await talk.promote(claim)).json()
    assert (done["outcome"], done["fact"]["id"]) == ("confirmed", made["fact"]["id"])
    assert done["fact"]["classification"]["confidentiality"] == "restricted"


async def test_an_unknown_kind_of_policy_has_its_code(talk: Talk) -> None:
    answer = await talk.client.post(
        "/v1/predicates", json={"predicate": "rides", "kind": "bitemporal"}, headers=talk.member.owner
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_policy")


@pytest.mark.parametrize("subject", ["\ufdfa" * 256, "".join(chr(0x10000 + n) for n in range(256))])
async def test_the_longest_subjects_fit_the_index(talk: Talk, subject: str) -> None:
    fragment = await talk.fragment(f"{subject} likes tea.", authority="primary")
    claim = await talk.claim(subject, "likes", "tea", fragment)
    await talk.verify(claim)
    assert (await talk.promote(claim)).status_code in {200, 409}
    listed = await talk.client.get(
        f"{talk.member.path}/claims", params={"subject": subject}, headers=talk.member.owner
    )
    assert [item["id"] for item in listed.json()["items"]] == [claim]


async def test_a_trace_without_related_items_still_has_its_origin(talk: Talk) -> None:
    early = await talk.fragment("Ada likes tea, says Bob.")
    other = await talk.claim("Ada", "likes", "tea", early, valid_from=None, modality="quoted")
    made = await talk.fact("Ada", "likes", "tea", "Ada likes tea.")
    await talk.verify(other)
    trace = await talk.get(f"trace/fact/{made['fact']['id']}", max_related=0)
    assert trace["promoted_from_claim"]["id"] == made["claim_id"]
    assert (trace["related"], trace["supporting_claims"]) == ([], [])

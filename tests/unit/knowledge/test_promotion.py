"""The gates one by one, the truth score, and what a claim meets behind the gates."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.knowledge.policies import BUILT_IN, KINDS, PredicatePolicy
from app.knowledge.promotion import (
    Candidate,
    Refusal,
    Standing,
    Support,
    closed_validity,
    decide,
    gate,
    relation,
    rivals,
    slot,
    truth_score,
)

Y = {year: datetime(year, 1, 1, tzinfo=UTC) for year in range(2010, 2026)}
WORKS_AT = BUILT_IN["works_at"]
CLAIM = Candidate(
    subject="Ada",
    predicate="works_at",
    object="Acme",
    polarity="+",
    modality="assertion",
    verdict="entailed",
    extract_conf=0.9,
    resolution_conf=0.8,
    valid_from=None,
    valid_to=None,
    support=Support(2, 0.75),
)


def fact(number: int = 1, **fields: Any) -> Standing:
    values = {
        "object": "Initech", "polarity": "+", "status": "active", "truth_score": 0.7, "valid_from": None, "valid_to": None,
    }  # fmt: skip
    return Standing(id=UUID(int=number), **{**values, **fields})


@pytest.mark.parametrize(
    ("predicate", "kind", "extract", "resolution", "assertion", "sources", "quality"),
    [
        ("born_on", "single_current", 0.90, 0.80, True, 1, 0.95),
        ("died_on", "single_current", 0.90, 0.80, True, 1, 0.95),
        ("works_at", "single_current", 0.85, 0.75, True, 2, 0.95),
        ("identity_is", "single_current", 0.85, 0.75, True, 1, 0.95),
        ("profile_fact", "single_current", 0.85, 0.75, True, 1, 0.95),
        ("likes", "multi_valued", 0.70, 0.60, False, 1, None),
        ("prefers", "multi_valued", 0.70, 0.60, False, 1, None),
        ("uses", "multi_valued", 0.70, 0.60, False, 1, None),
        ("knows", "multi_valued", 0.75, 0.60, True, 1, None),
        ("has_skill", "multi_valued", 0.80, 0.60, True, 1, None),
        ("works_on", "multi_valued", 0.75, 0.65, True, 1, None),
        ("has_goal", "multi_valued", 0.75, 0.65, True, 1, None),
        ("relationship_to", "multi_valued", 0.75, 0.65, True, 1, None),
        ("corrected", "append_only", 0.80, 0.70, True, 1, None),
    ],
)
def test_the_built_in_policies(  # noqa: PLR0917 - one argument a column
    predicate: str,
    kind: str,
    extract: float,
    resolution: float,
    assertion: bool,  # noqa: FBT001
    sources: int,
    quality: Any,
) -> None:
    assert BUILT_IN[predicate] == PredicatePolicy(
        predicate=predicate,
        kind=kind,
        min_extract=extract,
        min_resolution=resolution,
        requires_assertion=assertion,
        requires_entailed=True,
        min_sources=sources,
        min_quality=quality,
    )
    assert len(BUILT_IN) == 14


def test_a_claim_that_brings_everything_passes() -> None:
    assert gate(WORKS_AT, CLAIM) == []


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"extract_conf": 0.84}, Refusal("extract_conf", "is 0.84, needs 0.85")),
        ({"resolution_conf": 0.7}, Refusal("resolution_conf", "is 0.7, needs 0.75")),
        ({"modality": "quoted"}, Refusal("modality", "is quoted, needs assertion")),
        ({"verdict": "neutral"}, Refusal("entailment", "is neutral, needs entailed")),
        (
            {"support": Support(1, 0.75)},
            Refusal("support", "has 1 of quality 0.75, needs 2 entailing sources or one of quality 0.95"),
        ),
    ],
)
def test_each_gate_refuses_by_itself(change: dict[str, Any], refusal: Refusal) -> None:
    assert gate(WORKS_AT, replace(CLAIM, **change)) == [refusal]


def test_all_refusals_are_told_at_once() -> None:
    worst = replace(
        CLAIM,
        extract_conf=0.0,
        resolution_conf=0.0,
        modality="question",
        verdict="contradicted",
        support=Support(0, 0.0),
    )
    assert [refusal.gate for refusal in gate(WORKS_AT, worst)] == [
        "extract_conf",
        "resolution_conf",
        "modality",
        "entailment",
        "support",
    ]


def test_the_least_that_a_policy_asks_for_is_enough() -> None:
    least = replace(CLAIM, extract_conf=0.85, resolution_conf=0.75, support=Support(1, 0.95))
    assert gate(WORKS_AT, least) == []
    likes = replace(least, predicate="likes", modality="proposal", extract_conf=0.7, resolution_conf=0.6)
    assert gate(BUILT_IN["likes"], replace(likes, support=Support(1, 0.5))) == []


@settings(deadline=None)
@given(st.floats(0, 1), st.sampled_from(sorted(BUILT_IN)))
def test_no_source_never_passes(quality: float, predicate: str) -> None:
    """Dense-Mem's hole: a quality threshold of nought let claims through that nothing supports."""
    policy = replace(BUILT_IN[predicate], min_quality=0.0)
    assert not Support(0, quality).passes(policy)
    assert not Support(0, quality).quality_met(policy)


@pytest.mark.parametrize(
    ("support", "score"),
    [
        (Support(2, 0.95), 0.35 * 0.9 + 0.35 * 0.8 + 0.15 + 0.15),
        (Support(2, 0.75), 0.35 * 0.9 + 0.35 * 0.8 + 0.15),
        (Support(1, 0.95), 0.35 * 0.9 + 0.35 * 0.8 + 0.15),
        (Support(1, 0.75), 0.35 * 0.9 + 0.35 * 0.8),
    ],
)
def test_the_truth_score(support: Support, score: float) -> None:
    assert truth_score(WORKS_AT, replace(CLAIM, support=support)) == pytest.approx(score, abs=1e-9)


@settings(deadline=None)
@given(
    st.floats(0, 1), st.floats(0, 1), st.integers(0, 5), st.floats(0, 1), st.sampled_from(sorted(BUILT_IN))
)
def test_the_truth_score_lies_between_nought_and_one(
    extract: float, resolution: float, sources: int, quality: float, predicate: str
) -> None:
    claim = replace(
        CLAIM, extract_conf=extract, resolution_conf=resolution, support=Support(sources, quality)
    )
    assert 0.0 <= truth_score(BUILT_IN[predicate], claim) <= 1.0


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("single_current", {}, "excludes"),
        ("single_current", {"object": " ACME. "}, "same"),
        ("single_current", {"object": "acme", "polarity": "-"}, "excludes"),
        ("single_current", {"polarity": "-"}, "unrelated"),
        ("versioned", {}, "succeeds"),
        ("versioned", {"object": "Acme"}, "same"),
        ("multi_valued", {}, "unrelated"),
        ("multi_valued", {"object": "Acme", "polarity": "-"}, "excludes"),
        ("append_only", {"object": "Acme"}, "unrelated"),
    ],
)
def test_relations_of_one_time(kind: str, fields: dict[str, Any], expected: str) -> None:
    assert relation(replace(WORKS_AT, kind=kind), CLAIM, fact(**fields)) == expected


@pytest.mark.parametrize("value", ["Acme", "Initech"])
@pytest.mark.parametrize(
    ("claim", "standing", "expected"),
    [
        ((2015, None), (2010, 2015), "succeeds"),
        ((2010, 2015), (2015, None), "precedes"),
        ((2010, 2016), (2015, None), None),
        ((None, None), (2010, 2015), None),
        ((2014, None), (2010, 2015), None),
    ],
)
def test_relations_of_two_times(
    value: str, claim: tuple[Any, Any], standing: tuple[Any, Any], expected: str | None
) -> None:
    said = replace(CLAIM, valid_from=Y.get(claim[0]), valid_to=Y.get(claim[1]))
    other = fact(object=value, valid_from=Y.get(standing[0]), valid_to=Y.get(standing[1]))
    same_time = "same" if value == "Acme" else "excludes"
    assert relation(WORKS_AT, said, other) == (expected or same_time)


def test_decisions() -> None:
    score = truth_score(WORKS_AT, CLAIM)
    first, waiting = UUID(int=1), UUID(int=2)

    def of(*facts: Standing, **options: Any) -> tuple[str, tuple[UUID, ...], tuple[UUID, ...]]:
        decision = decide(WORKS_AT, CLAIM, facts, **options)
        return decision.action, decision.facts, decision.superseded

    assert of() == ("create", (), ())
    assert of(fact(truth_score=score + 0.01)) == ("reject", (first,), ())
    assert of(fact(truth_score=score)) == ("dispute", (first,), ())
    assert of(fact(truth_score=score + 5e-7)) == ("dispute", (first,), ())
    assert of(fact(truth_score=score - 0.01)) == ("create", (), (first,))
    assert of(fact(truth_score=1.0), accepted=True) == ("create", (), (first,))
    assert of(fact(truth_score=1.0, status="needs_revalidation")) == ("create", (), (first,))
    assert of(fact(object="Acme", truth_score=1.0)) == ("confirm", (first,), ())
    revived = fact(2, object="Acme", status="needs_revalidation")
    assert of(fact(truth_score=0.1), revived) == ("confirm", (waiting,), (first,))


def test_a_claim_of_an_earlier_time_becomes_past() -> None:
    past = replace(CLAIM, valid_from=Y[2010], valid_to=Y[2012])
    later = fact(valid_from=Y[2015])
    decision = decide(WORKS_AT, past, [later])
    assert (decision.action, decision.facts) == ("past", (later.id,))
    waiting = fact(2, object="Acme", status="needs_revalidation")
    assert decide(WORKS_AT, past, [later, waiting]).action == "past", "nothing is revived beside it"


standings = st.builds(
    Standing,
    id=st.uuids(),
    object=st.sampled_from(["Acme", "Initech", "Umbrella"]),
    polarity=st.sampled_from("+-"),
    status=st.sampled_from(["active", "needs_revalidation"]),
    truth_score=st.floats(0, 1),
    valid_from=st.none() | st.sampled_from([Y[2011], Y[2015]]),
    valid_to=st.none() | st.sampled_from([Y[2016], Y[2020]]),
)


@settings(deadline=None)
@given(
    st.sampled_from(KINDS),
    st.lists(standings, max_size=4, unique_by=lambda item: item.id),
    st.sampled_from("+-"),
    st.none() | st.sampled_from([Y[2010], Y[2016]]),
    st.none() | st.sampled_from([Y[2018], Y[2022]]),
    st.booleans(),
)
def test_no_decision_leaves_two_active_facts_in_one_place(  # noqa: PLR0917 - one argument a dimension
    kind: str,
    facts: list[Standing],
    polarity: str,
    since: datetime | None,
    until: datetime | None,
    accepted: bool,  # noqa: FBT001
) -> None:
    policy = replace(WORKS_AT, kind=kind)
    places = {
        slot(policy, item.object, item.polarity, item.id): item for item in facts if item.status == "active"
    }
    standing = [item for item in facts if item.status != "active"] + list(places.values())
    claim = replace(CLAIM, polarity=polarity, valid_from=since, valid_to=until)
    decision = decide(policy, claim, standing, accepted=accepted)
    new = UUID(int=99)
    left = {
        item.id: item for item in standing if item.id not in decision.superseded and item.status == "active"
    }
    taken = [slot(policy, item.object, item.polarity, item.id) for item in left.values()]
    if decision.action == "create" or (decision.action == "confirm" and decision.facts[0] not in left):
        taken.append(slot(policy, claim.object, claim.polarity, new))
    assert len(taken) == len(set(taken))
    assert not set(decision.superseded) & set(decision.facts)
    if accepted:
        assert decision.action not in {"reject", "dispute"}
        assert set(rivals(policy, claim, standing)) <= set(decision.superseded)


@pytest.mark.parametrize(
    ("since", "until", "successor", "end"),
    [
        (None, None, None, 2025),
        (None, None, 2020, 2020),
        (2015, 2018, 2020, 2018),
        (2022, None, 2020, 2022),
    ],
)
def test_the_end_of_a_superseded_fact(
    since: int | None, until: int | None, successor: int | None, end: int
) -> None:
    times = [None if year is None else Y[year] for year in (since, until, successor)]
    assert closed_validity(*times, Y[2025]) == Y[end]

"""Gates, admission, tiers and time, as documented and as cured."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recall import admission, gating, temporal, tiers
from app.recall.cues import QueryIntent

A, B, C = (UUID(int=number) for number in (1, 2, 3))
SPELLED = {"pr-56": frozenset({"=pr-56"}), "2e4b0cc": frozenset({"2e4b0cc"})}
NOON = datetime(2026, 7, 15, 12, tzinfo=UTC)


def test_the_documented_gate_wants_every_anchor_in_one_fragment():
    texts = {A: "PR #56 changed it", B: "commit 2e4b0cc", C: "PR 56 is commit 2e4b0cc"}
    gate = gating.all_anchors(("pr-56", "2e4b0cc"), texts)
    assert gate.passed == {C}
    assert gate.held[A] == ("pr-56",)
    assert gating.all_anchors((), texts).passed == {A, B, C}


def test_split_evidence_passes_the_coverage_gate_together():
    held = {A: frozenset({"=pr-56"}), B: frozenset({"2e4b0cc"}), C: frozenset[str]()}
    gate = gating.by_coverage(SPELLED, {"=pr-56": 1, "2e4b0cc": 1}, held, common=20)
    assert gate.passed == {A, B}
    assert gate.unmatched == ()


def test_a_fragment_with_every_anchor_leaves_no_room_for_parts():
    held = {A: frozenset({"=pr-56"}), C: frozenset({"=pr-56", "2e4b0cc"})}
    assert gating.by_coverage(SPELLED, {"=pr-56": 2, "2e4b0cc": 1}, held, common=20).passed == {C}


def test_anchors_that_no_memory_holds_gate_nothing_and_are_named():
    held = {A: frozenset({"=pr-56"}), B: frozenset[str]()}
    gate = gating.by_coverage(SPELLED, {"=pr-56": 1}, held, common=20)
    assert (gate.passed, gate.unmatched) == ({A}, ("2e4b0cc",))
    nothing = gating.by_coverage(SPELLED, {}, {A: frozenset(), B: frozenset()}, common=20)
    assert (nothing.passed, nothing.unmatched) == ({A, B}, ("pr-56", "2e4b0cc"))


def test_a_common_anchor_gates_nothing():
    held = {A: frozenset({"=pr-56"}), B: frozenset[str]()}
    assert gating.by_coverage(SPELLED, {"=pr-56": 21}, held, common=20).passed == {A, B}


def test_spellings_of_an_anchor():
    terms = frozenset({"=pr-56", "=#56", "=v1.2", "=1.2", "=2e4b0cc9", "=2e4b0cc", "word"})
    found = gating.spellings(
        ("pr-56", "v1.2", "2e4b0cc9", "absent"), terms, {"=pr-56": 1, "=#56": 9, "=1.2": 1}
    )
    assert found == {
        "pr-56": {"=pr-56"},
        "v1.2": {"=1.2"},
        "2e4b0cc9": {"=2e4b0cc9", "=2e4b0cc"},
    }
    assert gating.spellings(("pr-56",), terms, {"=#56": 9})["pr-56"] == {"=#56"}


@given(st.dictionaries(st.uuids(), st.frozensets(st.sampled_from(["=pr-56", "2e4b0cc"])), min_size=1))
def test_the_coverage_gate_never_empties_a_list(held):
    gate = gating.by_coverage(SPELLED, {"=pr-56": 1, "2e4b0cc": 1}, held, common=20)
    assert gate.passed
    documented = {ref for ref, terms in held.items() if len(terms) == 2}
    assert not documented or gate.passed == documented


@pytest.mark.parametrize(
    ("query", "text", "admitted"),
    [
        ("owns billing", "billing owned by Ann", True),
        ("Who owns the billing service team?", "billing team is Ann", True),
        ("Who owns the billing service team?", "billing is Ann", False),
        ("current owner", "billing owner Ann", True),
        ("job UNT-013 owner", "UNT-013 owner Ann", True),
        ("job UNT-013 owner", "UNT-014 owner Ann", False),
        ("SHP-2 and miRNA roles", "SHP-2 and miRNA interact", True),
        ("SHP-2 and miRNA roles", "SHP2 roles with miRNA", False),
    ],
)
def test_documented_admission(query, text, admitted):
    assert admission.documented(query, text) is admitted


def test_natural_identifiers_refuse_no_fact_by_the_gate_of_fragments():
    query, text = "SHP-2 and miRNA roles", "SHP2 roles with miRNA"
    assert admission.by_gate(query, text, ())
    assert not admission.by_gate("job UNT-013", "UNT-014 failed", ("unt-013",))


def test_tiers():
    ordinary, authority = QueryIntent(), QueryIntent(authority=True)
    source = QueryIntent(evidence_source=True, authority=True)
    assert tiers.of_fragment(source, ()) == 0.5
    assert tiers.of_fragment(ordinary, ("unt-013",)) == 0.75
    assert tiers.of_fragment(authority, ("unt-013",)) == 2.0
    assert tiers.of_fragment(ordinary, ()) == 2.0
    assert (tiers.of_fact("authoritative"), tiers.of_fact("overlay"), tiers.CLAIM) == (1.0, 1.25, 1.5)
    assert [tiers.public(tier) for tier in (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)] == [
        "2",
        "2",
        "1",
        "1.25",
        "1.5",
        "2",
    ]


def test_a_fact_with_the_same_anchors_keeps_its_place():
    typed = frozenset({"unt-013"})
    assert tiers.of_fragment(QueryIntent(), ("unt-013",), typed_anchors=typed) == 2.0
    assert tiers.of_fragment(QueryIntent(), ("unt-013", "pr-5"), typed_anchors=typed) == 0.75


def test_windows_are_half_open():
    end = NOON + timedelta(days=1)
    assert temporal.within(NOON, end, NOON)
    assert not temporal.within(NOON, end, end)
    assert not temporal.within(NOON, end, NOON - timedelta(microseconds=1))
    assert temporal.within(None, None, NOON)
    assert temporal.within(NOON, end, None)


def test_what_orders_facts_in_time():
    def moment(**fields):
        values = {
            "valid_from": None,
            "valid_to": None,
            "recorded_at": NOON,
            "triple": "",
            "evidence": (),
            "as_of": NOON,
        }
        return temporal.typed_time(**{**values, **fields})

    assert moment(valid_from=NOON - timedelta(days=3)) == NOON - timedelta(days=3)
    assert moment(triple="owner as of June 27, 2026") == datetime(2026, 6, 27, tzinfo=UTC)
    assert moment(evidence=("dated 2026-06-01", "dated 2026-06-05")) == datetime(2026, 6, 5, tzinfo=UTC)
    assert moment() == NOON
    assert moment(valid_from=NOON - timedelta(days=3), valid_to=NOON) is None
    newer, older = moment(), moment(valid_from=NOON - timedelta(days=3))
    assert sorted([None, older, newer], key=temporal.order_key) == [newer, older, None]

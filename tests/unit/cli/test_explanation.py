"""The explanation of a recall as people read it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.explanation import bar, contributions, fields, print_explanation, selection

IDS = ["01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002"]


def test_weighted_evidence_makes_up_the_score() -> None:
    fusion = {"semantic_weight": 0.5, "keyword_weight": 0.75, "reason": "because"}
    candidate = {"semantic_evidence": 4.0, "keyword_evidence": 8.0, "final_score": 8.0}
    assert contributions(candidate, fusion) == {"meaning": 2.0, "words": 6.0}
    assert contributions({**candidate, "final_score": 9.5}, fusion) == {
        "meaning": 2.0,
        "words": 6.0,
        "other": 1.5,
    }


def test_ranks_make_up_the_score_of_reciprocal_rank_fusion() -> None:
    candidate = {"semantic_rank": 1, "keyword_rank": 0, "final_score": 1 / 61}
    assert contributions(candidate, {"rule": "reciprocal rank", "k": 60}) == {"meaning": 1 / 61, "words": 0.0}


def test_an_unknown_fusion_has_no_parts() -> None:
    assert contributions({"final_score": 1.0}, {"rule": "something new"}) == {}


def test_a_bar_shows_the_parts_in_proportion() -> None:
    assert bar({"meaning": 2.0, "words": 6.0}, 8.0, 8).plain == "██▓▓▓▓▓▓"
    assert bar({"meaning": 1.0, "words": 1.0}, 8.0, 8).plain == "█▓      "
    assert bar({"meaning": 4.0, "other": -2.0}, 8.0, 8).plain == "████    "
    assert bar({}, 0.0, 3).plain == "   "


@given(st.dictionaries(st.sampled_from(["meaning", "words", "other"]), st.floats(-5, 10), max_size=3))
def test_a_bar_has_its_width(parts: dict[str, float]) -> None:
    largest = sum(max(value, 0.0) for value in parts.values())
    assert len(bar(parts, largest, 24).plain) == 24


def test_fields_are_told_by_name_without_the_known_and_the_unset() -> None:
    values = {"coverage": 0.5, "id": "x", "note": "", "cue_bonus": {"recent": True}, "marks": [1, 2.25]}
    assert fields(values, ["id"]) == "coverage 0.5 · cue bonus (recent yes) · marks 1, 2.25"


@pytest.mark.parametrize(
    ("selected_by", "told"),
    [
        ([], "none was selected"),
        ([["retri"]], "each holds retri"),
        ([["retri", "budget"]], "each holds retri or budget"),
        ([["retri", "budget"], ["bill"]], "each holds (retri or budget) and bill"),
        ("something new", "selected by something new"),
    ],
)
def test_how_candidates_were_selected(selected_by: Any, told: str) -> None:
    assert selection(selected_by) == told


def answer(**explain: Any) -> dict[str, Any]:
    hit = {
        "rank": 1, "kind": "fragment", "id": IDS[0], "final_score": 8.0, "semantic_rank": 2, "keyword_rank": 1,
        "fragment": {"content": "Retries [sic] are capped.", "source": "adr.md"},
    }  # fmt: skip
    candidates = [
        {
            "id": IDS[0], "semantic_rank": 2, "semantic_score": 0.4, "keyword_rank": 1, "keyword_score": 3.25,
            "base_score": 8.0, "final_score": 8.0, "semantic_evidence": 4.0, "keyword_evidence": 8.0,
            "coverage": 1.0, "gate": {"verdict": "admitted"},
        },
        {"id": IDS[1], "semantic_rank": 1, "keyword_rank": 0, "base_score": 2.0, "final_score": 2.0},
    ]  # fmt: skip
    told = {
        "query": {"terms": ["what", "retri"], "identifiers": ["adr-19"]},
        "keyword": {
            "memories": 1_234, "terms": [{"term": "retri", "memories": 12, "weight": 2.5}],
            "selected_by": [["retri"]], "exact": True, "note": "a note", "candidates": 12,
        },
        "semantic": {"exact": True, "graph": 0, "mean": 0.1, "deviation": 0.09, "candidates": 100},
        "fusion": {"semantic_weight": 0.5, "keyword_weight": 0.75, "reason": "words stand out"},
        "candidates": candidates,
    }  # fmt: skip
    return {"results": [hit], "policy": "strata-v1", "explain": {**told, **explain}}


def test_the_whole_view_names_what_decided(capsys: pytest.CaptureFixture[str]) -> None:
    print_explanation(answer(), "what about retries")
    told = capsys.readouterr().out
    for part in (
        "words that count: retri",
        "words that do not (they only ask, or no memory holds them): what",
        "identifiers: adr-19",
        "12 candidates of 1,234 memories; each holds retri",
        "a note",
        "100 candidates; every vector compared; cosine 0.10 ± 0.09 over the profile",
        "words stand out",
        "semantic weight 0.5 · keyword weight 0.75",
        "meaning 2.000 (#2, cosine 0.40)  words 6.000 (#1, BM25 3.25)",
        "Retries [sic] are capped.",
        "adr.md · coverage 1 · gate (verdict admitted)",
        "1 more candidates; next:",
        IDS[1],
    ):
        assert part in told


def test_a_section_that_nobody_foresaw_is_printed_too(capsys: pytest.CaptureFixture[str]) -> None:
    print_explanation(answer(hard_gate={"anchors": ["adr-19"]}, remark="text"), "q")
    told = capsys.readouterr().out
    assert "hard gate" in told
    assert "anchors adr-19" in told
    assert "remark" in told


def test_an_answer_without_an_explanation_is_still_shown(capsys: pytest.CaptureFixture[str]) -> None:
    bare = answer()
    del bare["explain"]
    print_explanation(bare, "q")
    assert "Retries [sic] are capped." in capsys.readouterr().out


def test_what_was_left_out_and_why_is_told_under_what_it_yielded_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scores = {"semantic_rank": 1, "keyword_rank": 0, "semantic_score": 0.5, "final_score": 1 / 61}
    note = {"rule": "dates", "amount": 0.5, "cue": "dated 2026-07-01"}
    kept = {**scores, "id": IDS[0], "adjustments": [note], "dropped": None, "yields_to": None}
    gone = {**scores, "id": IDS[1], "adjustments": [], "dropped": "revised: older", "yields_to": IDS[0]}
    hit = {**scores, "id": IDS[0], "rank": 1, "kind": "fragment", "fragment": {"content": "Tea at four."}}
    hit |= {"duplicates": [], "yielded": [IDS[1]]}
    explain = {"fusion": {"rule": "reciprocal rank", "k": 60}, "candidates": [kept, gone]}
    print_explanation({"results": [hit], "explain": explain}, "When is tea?")
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "dates +0.5: dated 2026-07-01" in lines
    assert f"yields to it: {IDS[1]}" in lines
    assert "left out: 1" in lines
    assert any(line.startswith("-  revised: older (stands under 1)") for line in lines)

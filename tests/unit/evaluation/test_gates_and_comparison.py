from random import Random

import msgspec
import pytest

from app.evaluation.comparison import Incomparable, bootstrap_interval, compare, identical_rankings
from app.evaluation.gates import NAMES, Gate, GateError, check_gates, parse_gate
from app.evaluation.scorer import READINGS, AxisScore, CaseScore
from app.evaluation.summary import summarise
from app.evaluation.traces import RankedRef, Trace

CONFIG = {
    "seed_hash": "sha256:1",
    "suite_hash": "sha256:2",
    "scorer_revision": "s1",
    "import_method": "i1",
    "scoring": {"gain": "linear", "k": 0},
}


def axis(recall=1.0, rank=1, bad=0, bad_rank=None, *, scored=True):
    return AxisScore(
        scored=scored,
        k=5,
        relevant_total=1,
        recall_at_k=recall,
        required_recall_at_k=recall,
        mrr=1 / rank if rank else 0.0,
        ndcg_at_k=recall,
        first_required_rank=rank,
        bad_at_k=bad,
        first_bad_rank=bad_rank,
    )


def case(name, *, slices=("all-cases",), weight=1.0, ranked=None, latency=10.0, **axes):
    found = {"ranked": ranked or axis(), **axes}
    return CaseScore(
        case_id=name,
        slices=list(slices),
        weight=weight,
        axes={
            one: dict.fromkeys(READINGS, found.get(one, AxisScore()))
            for one in ("ranked", "context", "evidence", "dream")
        },
        answerable=True,
        abstained=False,
        latency_ms=latency,
        recall_curves={"fused": [0.0, 1.0]},
    )


def trace(name, *documents, score=1.0):
    return Trace(
        case_id=name,
        query="?",
        latency_ms=1.0,
        ranked_refs=[
            RankedRef(rank=rank, type="fragment", id=f"{name}{rank}", source_doc_ids=[document], score=score)
            for rank, document in enumerate(documents, start=1)
        ],
    )


def test_there_are_sixteen_gates():
    assert len(NAMES) == 16
    assert NAMES[:5] == (
        "min-recall-at-k",
        "min-required-rank1-rate",
        "max-average-bad-at-k",
        "max-bad-rank1-rate",
        "min-context-recall-at-k",
    )
    assert NAMES[-1] == "max-dream-bad-rank1-rate"


@pytest.mark.parametrize("name", NAMES)
def test_every_gate_fails_closed_where_nothing_was_scored(name):
    summary = summarise("set", "p", [case("c", ranked=axis(scored=False))])
    outcome = check_gates(summary, [Gate(name=name, value=0.0 if name.startswith("min") else 1.0)]).outcomes[
        0
    ]
    assert not outcome.passed
    assert outcome.reason.startswith("nothing was scored on the ")


@pytest.mark.parametrize("part", ["", "odd/"])
@pytest.mark.parametrize("name", NAMES)
def test_every_gate_passes_at_its_bound_and_fails_beyond_it_for_all_cases_and_for_a_slice(name, part):
    middling = axis(0.5, 1, bad=2, bad_rank=1)
    axes = dict.fromkeys(("ranked", "context", "evidence", "dream"), middling)
    # The other slice is perfect, so that a bound that looked at it would pass.
    others = dict.fromkeys(axes, axis())
    scores = [case("c1", slices=["odd"], **axes)] + ([case("c2", slices=["even"], **others)] if part else [])
    measure = name.removeprefix("min-").removeprefix("max-")
    for one in ("context-", "evidence-", "dream-"):
        measure = measure.removeprefix(one)
    found = {"recall-at-k": 0.5, "required-rank1-rate": 1.0, "average-bad-at-k": 2.0, "bad-rank1-rate": 1.0}[
        measure
    ]
    beyond = found + 0.01 if name.startswith("min-") else found - 0.01
    gates = [parse_gate(f"{part}{name}={value}") for value in (found, beyond)]
    outcomes = check_gates(summarise("set", "p", scores), gates).outcomes
    assert [(outcome.passed, outcome.found) for outcome in outcomes] == [(True, found), (False, found)]


def test_a_gate_reads_the_scores_that_it_is_told_to():
    strict, projected = axis(0.0, None), axis(1.0)
    score = case("c")
    axes = score.axes | {"ranked": {"strict": strict, "projected": projected}}
    summary = summarise("set", "p", [msgspec.structs.replace(score, axes=axes)])
    gate = [parse_gate("min-recall-at-k=1")]
    assert not check_gates(summary, gate).passed
    assert check_gates(summary, gate, "projected").passed


@pytest.mark.parametrize(
    ("gate", "passed", "found"),
    [
        ("min-recall-at-k=.75", True, 0.75),
        ("min-recall-at-k=.76", False, 0.75),
        ("min-required-rank1-rate=.5", True, 0.5),
        ("max-average-bad-at-k=.99", False, 1.0),
        ("max-bad-rank1-rate=.5", True, 0.5),
        ("odd/min-recall-at-k=.6", False, 0.5),
        ("even/min-recall-at-k=1", True, 1.0),
        ("nowhere/min-recall-at-k=0", False, None),
        ("min-context-recall-at-k=.1", True, 0.25),
    ],
)
def test_gates_hold_for_all_cases_and_for_slices(gate, passed, found):
    scores = [
        case("c1", slices=["odd"], ranked=axis(0.5, 2, bad=2, bad_rank=1), context=axis(0.25, 3)),
        case("c2", slices=["even"]),
    ]
    result = check_gates(summarise("set", "p", scores), [parse_gate(gate)])
    assert (result.passed, result.outcomes[0].found) == (passed, found)


@pytest.mark.parametrize(
    "text", ["recall=1", "min-recall-at-k", "min-recall-at-k=x", "slice/=1", "min-recall-at-k=1.2.3"]
)
def test_a_gate_that_cannot_be_read_is_refused(text):
    with pytest.raises(GateError):
        parse_gate(text)


def test_means_are_weighted_and_leave_out_what_has_no_meaning():
    scores = [
        case("c1", weight=3.0, ranked=axis(1.0)),
        case("c2", ranked=axis(0.0, None)),
        case("c3", ranked=axis(None, None)),
    ]
    found = summarise("set", "p", scores).overall.axes["ranked"]["strict"]
    assert (found.scored_cases, found.recall_at_k, found.required_rank1_rate) == (3, 0.75, 0.75)


def test_quantiles_and_curves():
    block = summarise(
        "set", "p", [case(f"c{number}", latency=float(number)) for number in range(1, 101)]
    ).overall
    assert block.latency_ms == {"p50": 50.0, "p95": 95.0, "max": 100.0}
    assert block.recall_curves["fused"][:3] == [0.0, 1.0, 1.0]


def test_a_comparison_tells_changes_by_measure_slice_and_case():
    before = [case("c1", slices=["s"], ranked=axis(0.5, 2)), case("c2"), case("c3", ranked=axis(1.0, 1))]
    after = [
        case("c1", slices=["s"], ranked=axis(1.0, 1)),
        case("c2"),
        case("c3", ranked=axis(0.0, None, bad=1, bad_rank=1)),
    ]
    traces = [trace("c1", "a"), trace("c2", "b"), trace("c3", "c")]
    changed = [trace("c1", "z"), trace("c2", "b"), trace("c3", "x")]
    found = compare(CONFIG, CONFIG, (before, after), (traces, changed), tolerance=0.1)
    recall = found.overall["ranked"]["strict"]["recall_at_k"]
    assert (recall.cases, recall.better, recall.worse) == (3, 1, 1)
    assert recall.delta == pytest.approx(-1 / 6)
    assert recall.low <= recall.delta <= recall.high
    assert found.slices["s"]["recall_at_k"].delta == 0.5
    assert [change.case_id for change in found.changes] == ["c3", "c1"]
    assert found.changes[0].first_required_rank == (1, None)
    assert found.identical_rankings == pytest.approx(1 / 3)
    named = {(one.slice, one.measure) for one in found.regressions}
    assert ("", "recall_at_k") in named
    assert ("", "average_bad_at_k") in named
    assert not any(part == "s" for part, _ in named)


def test_without_a_tolerance_nothing_is_a_regression():
    found = compare(CONFIG, CONFIG, ([case("c")], [case("c", ranked=axis(0.0, None))]), ([], []))
    assert found.regressions == []


@pytest.mark.parametrize("name", ["seed_hash", "suite_hash", "scorer_revision", "import_method", "scoring"])
def test_runs_that_differ_in_what_must_agree_are_not_compared(name):
    with pytest.raises(Incomparable, match=name):
        compare(CONFIG, CONFIG | {name: "other"}, ([], []), ([], []))


def test_runs_of_other_cases_are_not_compared():
    with pytest.raises(Incomparable, match="1 cases are in one run only, the first: 'c2'"):
        compare(CONFIG, CONFIG, ([case("c1")], [case("c1"), case("c2")]), ([], []))


def test_the_interval_is_reproducible_holds_the_mean_and_narrows_with_more_cases():
    chance = Random(4)
    few = [chance.gauss(0.1, 0.3) for _ in range(30)]
    many = few * 20
    low, high = bootstrap_interval(few, [1.0] * len(few))
    assert bootstrap_interval(few, [1.0] * len(few)) == (low, high)
    assert low < sum(few) / len(few) < high
    narrow = bootstrap_interval(many, [1.0] * len(many))
    assert narrow[1] - narrow[0] < (high - low) / 3


def test_clones_are_equal_by_documents_and_scores():
    first = [trace("c1", "a", "b"), trace("c2", "a")]
    assert identical_rankings(first, [trace("c2", "a"), trace("c1", "a", "b")]) == 1.0
    assert identical_rankings(first, [trace("c1", "b", "a"), trace("c2", "a")]) == 0.5
    assert identical_rankings(first, [trace("c1", "a", "b", score=2.0), trace("c2", "a")]) == 0.5

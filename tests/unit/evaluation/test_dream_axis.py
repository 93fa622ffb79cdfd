"""Hypotheses as an axis of their own: judged, expected, scored where they came, and closed to gates where they did not."""

import json

import pytest

from app.evaluation.formats.judged import InvalidSet, Judged, Scoring
from app.evaluation.formats.loading import load_set
from app.evaluation.formats.rows import Ref
from app.evaluation.gates import check_gates, parse_gate
from app.evaluation.scorer import CaseView, Facts, score_case
from app.evaluation.summary import summarise
from app.evaluation.traces import ImportedDocument, RankedRef, Trace

MANIFEST = {
    "schema_version": "dense-mem.eval.seed.v1",
    "seed_id": "guesses",
    "expected_dreams_file": "expected_dreams.jsonl",
    "counts": {"corpus": 2, "cases": 1, "qrels": 1, "expected_dreams": 2},
}
SOURCES = [{"type": "fragment", "source_doc_id": "d1"}, {"type": "fragment", "source_doc_id": "d2"}]
DREAMS = [
    {"source_doc_id": "h1", "case_id": "c", "hypothesis": "The pump slows the mill.", "source_refs": SOURCES},
    {"source_doc_id": "h2", "hypothesis": "The mill slows the pump.", "source_refs": SOURCES, "bad": True},
]
QREL = {
    "case_id": "c",
    "required_dream_refs": [{"type": "dream", "source_doc_id": "h1", "grade": 3}],
    "bad_dream_refs": [{"type": "dream", "source_doc_id": "h2"}],
}


def write(folder, dreams=DREAMS, qrel=QREL, **manifest):
    rows = {
        "corpus": [
            {"source_doc_id": "d1", "content": "The pump moved."},
            {"source_doc_id": "d2", "content": "The mill slowed."},
        ],
        "cases": [
            {"case_id": "c", "query": "What slows the mill?", "include_dreams": True, "slices": ["why"]}
        ],
        "qrels": [qrel],
        "expected_dreams": dreams,
    }
    for name, found in rows.items():
        text = "".join(json.dumps(row) + "\n" for row in found)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "seed_manifest.json").write_text(json.dumps(MANIFEST | manifest), encoding="utf-8")
    return folder


def test_expected_dreams_are_read_with_their_judgements(tmp_path):
    judged = load_set(write(tmp_path))
    assert [(dream.source_doc_id, dream.bad) for dream in judged.dreams] == [("h1", False), ("h2", True)]
    assert judged.cases[0].include_dreams
    assert [(item.role, item.ref.source_doc_id) for item in judged.judgements["c"]["dream"]] == [
        ("required", "h1"),
        ("bad", "h2"),
    ]


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        (
            {"dreams": [DREAMS[0] | {"source_refs": SOURCES[:1]}, DREAMS[1]]},
            "expected_dreams.jsonl:1: Expected `array` of length >= 2 - at `$.source_refs`",
        ),
        (
            {"dreams": [DREAMS[0], DREAMS[0]]},
            "expected_dreams.jsonl:2: dream 'h1' is there already, in line 1",
        ),
        (
            {"dreams": [DREAMS[0] | {"source_refs": [SOURCES[0], {"type": "fragment", "source_doc_id": "d9"}]}, DREAMS[1]]},
            "expected_dreams.jsonl:1: there is no document 'd9'",
        ),
        (
            {"dreams": [DREAMS[0] | {"case_id": "c9"}, DREAMS[1]]},
            "expected_dreams.jsonl:1: there is no case 'c9'",
        ),
        (
            {"qrel": QREL | {"bad_dream_refs": [{"type": "dream", "source_doc_id": "d1"}]}},
            "qrels.jsonl:1: there is no dream 'd1'",
        ),
        (
            {"counts": {"expected_dreams": 3}},
            "seed_manifest.json:1: counts.expected_dreams is 3, expected_dreams.jsonl holds 2",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_dreams_is_named(tmp_path, changed, wanted):
    with pytest.raises(InvalidSet) as caught:
        load_set(write(tmp_path, **changed))
    assert wanted in [str(problem) for problem in caught.value.problems]


def scored(dream_refs):
    judged = [
        Judged(ref=Ref(type="dream", source_doc_id="h1", grade=3), role="required", grade=3),
        Judged(ref=Ref(type="dream", source_doc_id="h2"), role="bad"),
    ]
    documents = {
        name: ImportedDocument(source_doc_id=name, refs={"dream": [f"{name}-id"]}) for name in ("h1", "h2")
    }
    names = {"h1-id": ["h1"], "h2-id": ["h2"]}
    facts = Facts(documents=documents, names=names, groups={}, spaces={})
    trace = Trace(case_id="c", query="?", ranked_refs=[], latency_ms=1.0, dream_refs=dream_refs)
    return score_case(CaseView("c", 3, ("why",), 1.0, {"dream": judged}), trace, facts, Scoring())


def dream(rank, name):
    return RankedRef(rank=rank, type="dream", id=f"{name}-id", source_doc_ids=[name])


def test_dreams_that_came_are_scored_as_every_other_axis():
    score = scored([dream(1, "h2"), dream(2, "h1")])
    found = score.axes["dream"]["strict"]
    assert (found.scored, found.recall_at_k, found.mrr, found.bad_at_k, found.first_bad_rank) == (
        True, 1.0, 0.5, 1, 1,
    )  # fmt: skip
    row = score.flat()
    assert (row["dream_scored"], row["dream_first_required_rank"]) == (True, 2)
    summary = summarise("set", "p", [score])
    gates = [parse_gate("min-dream-recall-at-k=1"), parse_gate("why/max-dream-bad-rank1-rate=.5")]
    assert [outcome.passed for outcome in check_gates(summary, gates).outcomes] == [True, False]


def test_dreams_that_nobody_asked_for_are_not_scored_and_a_gate_on_them_fails():
    score = scored(None)
    assert score.flat()["dream_scored"] is False
    result = check_gates(summarise("set", "p", [score]), [parse_gate("max-dream-average-bad-at-k=5")])
    assert not result.passed
    assert result.outcomes[0].reason == "nothing was scored on the dream axis of this run"


def test_dreams_that_were_asked_for_and_did_not_come_are_scored_as_nothing():
    score = scored([]).axes["dream"]["strict"]
    assert (score.scored, score.recall_at_k, score.missing_required_refs) == (True, 0.0, ["dream:h1"])

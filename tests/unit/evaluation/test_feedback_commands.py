"""From recorded recalls to a seed directory, by the commands that a person uses."""

import json

import pytest
from typer.testing import CliRunner

from app.cli.eval import commands
from app.cli.output import CommandError
from app.evaluation.artifacts import RunDirectory
from app.evaluation.formats.loading import load_set
from app.evaluation.suites.writing import SeedDraft
from app.evaluation.traces import RankedRef, Trace


def run(*arguments, code=0, keys=None):
    result = CliRunner().invoke(commands, [str(one) for one in arguments], input=keys)
    if isinstance(result.exception, CommandError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def seed(tmp_path):
    draft = SeedDraft(
        "house", "A house.", licence="Free for all.\n", sources=[{"name": "house", "license": "free"}]
    )
    draft.corpus += [{"source_doc_id": f"d{number}", "content": f"Text {number}."} for number in (1, 2, 3)]
    for name in ("r1", "r2"):
        draft.add_case(
            {"case_id": name, "query": f"Question {name}?", "limit": 4},
            {"case_id": name, "required_refs": [{"type": "fragment", "source_doc_id": "d3"}]},
        )
    draft.write(tmp_path / "seed")
    return tmp_path / "seed"


@pytest.fixture
def recorded(tmp_path):
    traces = [
        Trace(
            case_id=name,
            query=f"Question {name}?",
            latency_ms=1.0,
            ranked_refs=[
                RankedRef(rank=rank, type="fragment", id=f"f{rank}", source_doc_ids=[f"d{rank}"])
                for rank in (1, 2)
            ],
            raw={"results": [{"id": "f1", "kind": "fragment", "fragment": {"content": "Text [1]."}}]},
        )
        for name in ("r1", "r2")
    ]
    RunDirectory(tmp_path / "run").write_rows("recall_traces.jsonl", traces)
    return tmp_path / "run"


@pytest.fixture
def proposed(tmp_path, seed, recorded):
    reviews = tmp_path / "reviews.jsonl"
    reviews.write_text('{"recall_id": "r1", "answer_supported": true, "quality": "high"}\n', encoding="utf-8")
    file = tmp_path / "candidates.jsonl"
    told = run("cases-from-feedback", recorded, "--seed", seed, "--out", file, "--reviews", reviews)
    assert told.endswith("2 candidates, 1 labelled, none accepted yet\n")
    return file


def rows(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_reviews_of_no_trace_are_refused(tmp_path, seed, recorded):
    reviews = tmp_path / "reviews.jsonl"
    reviews.write_text('{"recall_id": "r9"}\n', encoding="utf-8")
    with pytest.raises(CommandError, match="1 reviews name no trace, the first: 'r9'"):
        run("cases-from-feedback", recorded, "--seed", seed, "--out", tmp_path / "c", "--reviews", reviews)


def test_decisions_are_not_overwritten(seed, recorded, proposed):
    with pytest.raises(CommandError, match="is there already"):
        run("cases-from-feedback", recorded, "--seed", seed, "--out", proposed)


def test_a_person_sees_what_came_back_mends_the_labels_and_decides(proposed):
    told = run("review-cases", proposed, keys="b 2\na\na\nr d3\na\n")
    assert "Question r1?" in told
    assert "1 of 2 · feedback_r1 · quality high, answer supported" in told
    assert "  1  Text [1].\n     fragment of d1" in told
    assert "     bad: fragment of d2" in told
    assert "no nothing is required: say what answers it, or that nothing does" in told
    assert told.endswith("2 accepted, 0 refused, 0 undecided\n")
    first, second = rows(proposed)
    assert first["qrel"]["bad_refs"][0]["source_doc_id"] == "d2"
    assert second["qrel"]["required_refs"][0]["source_doc_id"] == "d3"


def test_a_review_that_is_left_is_taken_up_where_it_was(proposed):
    assert run("review-cases", proposed, keys="what?\nn\nq\n").endswith(
        "0 accepted, 1 refused, 1 undecided\n"
    )
    told = run("review-cases", proposed, keys="s\n")
    assert "Question r1?" not in told
    assert told.endswith("0 accepted, 1 refused, 1 undecided\n")


def test_decisions_can_be_named_and_a_wrong_one_changes_nothing(proposed):
    before = proposed.read_bytes()
    with pytest.raises(CommandError, match="feedback_r2: nothing is required"):
        run("review-cases", proposed, "--accept", "feedback_r1", "--accept", "feedback_r2")
    with pytest.raises(CommandError, match="there is no candidate 'r1'"):
        run("review-cases", proposed, "--refuse", "r1")
    assert proposed.read_bytes() == before
    told = run("review-cases", proposed, "--accept", "feedback_r1", "--refuse", "feedback_r2")
    assert told == "1 accepted, 1 refused, 0 undecided\n"


def test_accepted_cases_become_a_valid_seed_directory(tmp_path, seed, proposed):
    out = tmp_path / "accepted"
    with pytest.raises(CommandError, match="no candidate is accepted"):
        run("cases-to-seed", proposed, "--seed", seed, "--out", out)
    run("review-cases", proposed, keys="a\n0\na\n")
    told = run("cases-to-seed", proposed, "--seed", seed, "--out", out)
    assert f"{out}: 2 cases, 3 documents, sha256:" in told
    run("validate", out)
    made = load_set(out)
    assert made.name == "accepted"
    assert [(case.case_id, case.task_type, case.limit) for case in made.cases] == [
        ("feedback_r1", "recall", 4),
        ("feedback_r2", "no_answer", 4),
    ]
    assert (out / "licenses.md").read_text(encoding="utf-8") == "Free for all.\n"
    assert made.manifest["sources"] == [{"name": "house", "license": "free"}]
    with pytest.raises(CommandError, match="holds a set already"):
        run("cases-to-seed", proposed, "--seed", seed, "--out", out)


def test_a_label_that_names_no_document_is_told_and_nothing_is_written(tmp_path, seed, proposed):
    run("review-cases", proposed, keys="r d9\na\nn\n")
    told = run("cases-to-seed", proposed, "--seed", seed, "--out", tmp_path / "accepted", code=2)
    assert "qrels.jsonl:1: there is no document 'd9'" in told
    assert not (tmp_path / "accepted").exists()

"""``strata eval`` as a stranger types it: whole runs, runs that are killed, and servers that die under a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.evaluation.suites.hardcases import generate
from tests.e2e.processes import Running, Stage, wait_until

WHOLE = 300.0


def evaluate(stage: Stage, *arguments: object, **settings: object) -> Running:
    return stage.start("eval", *map(str, arguments), log_level="warning", **settings)


def ended(running: Running, code: int = 0) -> str:
    assert running.process.wait(timeout=WHOLE) == code, running.output
    return running.output


@pytest.fixture
def seed(stage: Stage) -> Path:
    """24 questions over 72 documents, some of them with claims."""
    generate(stage.directory / "seed", preset="small")
    return stage.directory / "seed"


def rows(directory: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / name).read_bytes().splitlines()]


def partial(directory: Path) -> int:
    path = directory / "recall_traces.jsonl.partial"
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def outcome(directory: Path) -> tuple[list[Any], list[Any], Any]:
    """What a run came to, without what differs between any two runs: ids and times."""
    orders = [
        (
            trace["case_id"],
            [(ref["type"], ref.get("source_doc_ids"), ref["score"]) for ref in trace["ranked_refs"]],
        )
        for trace in rows(directory, "recall_traces.jsonl")
    ]
    scores = [
        {name: value for name, value in row.items() if name != "latency_ms"}
        for row in rows(directory, "retrieval_scores.jsonl")
    ]
    summary = json.loads((directory / "summary.json").read_bytes())
    for block in (summary["overall"], *summary["slices"].values()):
        del block["latency_ms"]
    return orders, scores, summary


def test_the_quick_suites_end_with_a_gate_table_and_the_reports_path(stage: Stage) -> None:
    told = ended(evaluate(stage, "suites", "--quick", "--out", stage.directory / "runs"))
    assert "All sets" in told
    assert "Gates" in told
    assert "FAILED" not in told
    report = stage.directory / "runs" / "report.html"
    assert told.rstrip().endswith(str(report))
    page = report.read_text(encoding="utf-8")
    for name in ("broad", "hardcases", "documented-v1", "strata-v1", "gates passed"):
        assert name in page


def test_a_gate_on_an_axis_that_nothing_was_asked_on_fails_the_run(stage: Stage, seed: Path) -> None:
    told = ended(
        evaluate(
            stage, "baseline", "--seed", seed, "--out", stage.directory / "run", "--min-dream-recall-at-k", 0,
            "--gate", "related_dream/max-dream-bad-rank1-rate=1", "--min-recall-at-k", 0.5,
        ),
        code=3,
    )  # fmt: skip
    assert "nothing was scored on the dream axis of this run" in told
    assert "nothing was scored on the dream axis of this slice 'related_dream'" in told
    result = json.loads((stage.directory / "run" / "gate_result.json").read_bytes())
    assert [one["passed"] for one in result["outcomes"]] == [True, False, False]
    assert all(
        row["dream_scored"] is False for row in rows(stage.directory / "run", "retrieval_scores.jsonl")
    )


def test_a_run_that_is_killed_goes_on_to_the_same_result(stage: Stage, seed: Path) -> None:
    whole, cut = stage.directory / "whole", stage.directory / "cut"
    ended(evaluate(stage, "baseline", "--seed", seed, "--out", whole))
    first = evaluate(stage, "baseline", "--seed", seed, "--out", cut)
    wait_until("some answers", lambda: first.ended or partial(cut) >= 3)
    first.kill()
    answered = partial(cut)
    assert 3 <= answered < 24
    assert not (cut / "summary.json").exists()
    refused = ended(evaluate(stage, "report", cut, "--out", stage.directory / "report"), code=1)
    assert "was cut off" in refused
    assert "Repeat its command to finish it." in refused
    ended(evaluate(stage, "baseline", "--seed", seed, "--out", cut))
    assert outcome(cut) == outcome(whole)
    kept = rows(cut, "recall_traces.jsonl")
    assert len(kept) == 24
    compared = ended(evaluate(stage, "compare", "--baseline-run", whole, "--candidate-run", cut))
    assert "0 cases changed" in compared
    comparison = json.loads((cut / "comparison.json").read_bytes())
    assert comparison["identical_rankings"] == 1.0


class _Remote:
    """Runs of one seed against a server that can be killed."""

    def __init__(self, stage: Stage, seed: Path) -> None:
        self._stage, self._seed = stage, seed
        self.whole, self.cut = stage.directory / "whole", stage.directory / "cut"
        self.service = stage.serve(log_level="warning")
        self._key = stage.member(self.service).key

    def baseline(self, out: Path, url: str) -> Running:
        """A run, or what is left of one."""
        arguments = ("baseline", "--seed", self._seed, "--out", out, "--base-url", url)
        return evaluate(self._stage, *arguments, api_key=self._key)

    def started_twice(self) -> Running:
        """A second run, after one that has ended."""
        ended(self.baseline(self.whole, self.service.url))
        return self.baseline(self.cut, self.service.url)


def test_a_run_whose_server_is_killed_says_so_and_goes_on_with_the_next_one(stage: Stage, seed: Path) -> None:
    remote = _Remote(stage, seed)
    whole, cut = remote.whole, remote.cut
    run = remote.started_twice()
    wait_until("some answers", lambda: run.ended or partial(cut) >= 3)
    remote.service.kill()
    told = ended(run, code=1)
    assert "error the service does not answer: " in told
    assert "Repeat the command with the same --out to go on where it stopped." in told
    assert 3 <= partial(cut) < 24
    assert not (cut / "recall_traces.jsonl").exists()
    ended(remote.baseline(cut, stage.serve(log_level="warning").url))
    assert outcome(cut) == outcome(whole)


def test_an_import_whose_server_is_killed_goes_on_to_the_same_result(stage: Stage, seed: Path) -> None:
    remote = _Remote(stage, seed)
    whole, cut = remote.whole, remote.cut
    run = remote.started_twice()
    # The profile is made; its documents are on their way.
    wait_until("the import", lambda: run.ended or (cut / "import_state.json").is_file())
    remote.service.kill()
    ended(run, code=1)
    assert not (cut / "knowledge_mapping.json").exists()
    ended(remote.baseline(cut, stage.serve(log_level="warning").url))
    assert outcome(cut) == outcome(whole)
    mapping = json.loads((cut / "knowledge_mapping.json").read_bytes())
    assert len(mapping["documents"]) == 72
    assert mapping["refused_promotions"] == []

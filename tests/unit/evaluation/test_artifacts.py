import resource
from contextlib import contextmanager

import pytest

from app.evaluation.artifacts import PARTIAL, TRACES, RunDirectory, TraceLog
from app.evaluation.errors import EvaluationError
from app.evaluation.traces import Trace


def trace(name, query="?"):
    return Trace(case_id=name, query=query, ranked_refs=[], latency_ms=1.0)


@contextmanager
def room_for(size):
    """Files beyond this size cannot be written, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_an_artifact_that_cannot_be_written_leaves_the_old_one_and_nothing_else(tmp_path):
    run = RunDirectory(tmp_path)
    run.write("summary.json", {"old": True})
    with (
        room_for(100),
        pytest.raises(EvaluationError, match=r"summary\.json cannot be written: File too large"),
    ):
        run.write("summary.json", {"new": "x" * 1_000})
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
    assert run.read("summary.json", dict) == {"old": True}


def test_a_trace_torn_by_a_full_disk_is_asked_again(tmp_path):
    run = RunDirectory(tmp_path)
    with TraceLog(run, []) as log:
        log.append(trace("c1"))
        size = (tmp_path / PARTIAL).stat().st_size
        with room_for(size + 20), pytest.raises(EvaluationError) as caught:
            log.append(trace("c2", "x" * 1_000))
    assert "repeat the command" in caught.value.remedy
    assert [one.case_id for one in run.partial_traces()] == ["c1"]
    with TraceLog(run, run.partial_traces()) as log:
        log.append(trace("c2"))
        log.finish([trace("c1"), trace("c2")])
    assert [one.case_id for one in run.traces()] == ["c1", "c2"]
    assert [path.name for path in tmp_path.iterdir()] == [TRACES]


def test_a_run_that_was_cut_off_is_not_taken_for_a_whole_one(tmp_path):
    run = RunDirectory(tmp_path)
    with TraceLog(run, []) as log:
        log.append(trace("c1"))
    with pytest.raises(EvaluationError, match="was cut off"):
        run.traces()


def test_a_missing_artifact_is_named(tmp_path):
    with pytest.raises(EvaluationError, match=r"has no summary\.json"):
        RunDirectory(tmp_path).read("summary.json", dict)


def test_a_row_that_cannot_be_read_is_named_with_its_line(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"a": \n', encoding="utf-8")
    with pytest.raises(EvaluationError, match=r"rows\.jsonl:2: Input data was truncated"):
        RunDirectory(tmp_path).read_rows("rows.jsonl", dict)

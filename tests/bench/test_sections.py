"""The quick form of every section runs to its end, and its figures have sane shapes. No figure is judged."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.bench.context import QUICK, Context
from app.bench.corpus import QUERY_KINDS
from app.bench.report import SectionResult
from app.bench.suite import SECTIONS, run_section

MakeContext = Callable[..., Context]
pytestmark = pytest.mark.slow


def ran(name: str, context: Context) -> SectionResult:
    said: list[str] = []
    object.__setattr__(context, "say", said.append)
    result = run_section(name, context)
    assert result.skipped == ""
    assert result.seconds > 0
    assert said
    for table in result.tables:
        assert table.rows
        for row in table.rows:
            assert {column.key for column in table.columns} <= set(row)
    return result


def column(result: SectionResult, table: int, key: str) -> list[Any]:
    return [row[key] for row in result.tables[table].rows]


def assert_ordered(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert 0 < row["p50"] <= row["p95"]
        assert row["p95"] <= row.get("p99", row["p95"])


def test_latency(make_context: MakeContext) -> None:
    result = ran("latency", make_context())
    floors, recalls = result.tables
    assert [row["what"] for row in floors.rows] == [
        "SELECT 1, bare connection",
        "GET /livez",
        "GET /v1/health",
    ]
    assert_ordered(floors.rows)
    assert [(row["rows"], row["kind"]) for row in recalls.rows] == [
        (rows, kind) for rows in QUICK.latency_rows for kind in QUERY_KINDS
    ]
    assert_ordered(recalls.rows)
    assert set(column(result, 1, "errors")) == {0}
    for row in recalls.rows:
        assert row["ratio"] == pytest.approx(row["p50"] / row["sql_p50"])


def test_concurrency(make_context: MakeContext) -> None:
    result = ran("concurrency", make_context())
    assert column(result, 0, "clients") == list(QUICK.load_clients)
    assert column(result, 0, "errors") == [0, 0]
    assert all(rate > 0 for rate in column(result, 0, "per_second"))
    assert_ordered(result.tables[0].rows)


def test_growth(make_context: MakeContext) -> None:
    result = ran("growth", make_context())
    assert sorted(set(column(result, 0, "total"))) == list(QUICK.growth_totals)
    assert column(result, 0, "growth")[:4] == [1.0] * 4
    assert set(column(result, 0, "errors")) == {0}


def test_size(make_context: MakeContext) -> None:
    result = ran("size", make_context())
    by_part = {(row["table"], row["part"]): row for row in result.tables[0].rows}
    assert by_part["vectors", "rows"]["bytes"] > QUICK.size_rows * 2 * 64
    assert by_part["fragments", "rows"]["bytes"] > QUICK.size_rows * 100
    assert by_part["search_documents", "search_documents_lexemes_idx"]["bytes"] > 0
    total = by_part.pop(("all", ""))
    assert total["bytes"] >= sum(row["bytes"] for row in by_part.values()) > 0
    assert total["per_fragment"] == total["bytes"] / QUICK.size_rows


def test_ingest(make_context: MakeContext) -> None:
    result = ran("ingest", make_context())
    assert [(row["embedder"], row["way"]) for row in result.tables[0].rows] == [
        ("hash", "embedder alone"),
        ("hash", "one by one"),
        ("hash", "batches of 100"),
        ("hash", "batches of 1,000"),
        ("hash", "batches of 1,000, 2 clients"),
        ("hash", "strata memory import"),
        ("sentence-transformers", "embedder alone"),
        ("sentence-transformers", "one by one"),
        ("sentence-transformers", "batches of 100"),
        ("sentence-transformers", "strata memory import"),
    ]
    assert all(rate > 0 for rate in column(result, 0, "rate"))
    assert column(result, 1, "found") == [1.0, 1.0]


def test_ann(make_context: MakeContext) -> None:
    result = ran("ann", make_context())
    sizes, crowd = result.tables
    assert [row["profile"] for row in sizes.rows] == ["100", "1,000", "11,000"]
    assert [row["search"] for row in sizes.rows] == ["exact", "exact", "HNSW"]
    for row in (*sizes.rows, *crowd.rows):
        assert row["queries"] >= 100
        assert row["fewest"] == row["wanted"] == 100
        assert 0 <= row["least_100"] <= row["mean_100"] <= 1
        if row["search"] == "exact":
            assert (row["least_10"], row["least_100"]) == (1.0, 1.0)


def test_quality(make_context: MakeContext, tmp_path: Path) -> None:
    write_set(tmp_path / "sets" / "tiny")
    context = make_context(datasets=tmp_path / "sets")
    summary, details = ran("quality", context).tables
    assert [row["set"] for row in summary.rows] == ["tiny", "mean"]
    assert (summary.rows[0]["documents"], summary.rows[0]["queries"]) == (5, 3)
    # Every question shares its words with the one right document of its own scope.
    assert summary.rows[0]["keyword"] == summary.rows[0]["strata-v1"] == 1.0
    assert [row["system"] for row in details.rows] == ["keyword", "semantic", "documented-v1", "strata-v1"]
    assert all(row["R@100"] == 1.0 for row in details.rows)


def write_set(folder: Path) -> None:
    """Two scopes; the excluded twin of a document would take the first place; one document is empty."""
    folder.mkdir(parents=True)
    documents = [
        ("d1", "a", "Retries are capped at three."),
        ("d2", "a", "Retries are capped at three for every job."),
        ("d3", "b", "Backups run at two in the morning."),
        ("d4", "b", "Invoices are sent on the first of the month."),
        ("d5", "b", " "),
    ]
    queries = [
        ("q1", {"scope": "a", "exclude": ["d1"]}, "how are retries capped"),
        ("q2", {"scope": "b"}, "when do backups run"),
        ("q3", {"scope": "b"}, "when are invoices sent"),
    ]
    (folder / "corpus.jsonl").write_text(
        "".join(
            json.dumps({"id": name, "text": text, "metadata": {"scope": scope}}) + "\n"
            for name, scope, text in documents
        ),
        encoding="utf-8",
    )
    (folder / "queries.jsonl").write_text(
        "".join(
            json.dumps({"id": name, "text": text, "metadata": metadata}) + "\n"
            for name, metadata, text in queries
        ),
        encoding="utf-8",
    )
    (folder / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td2\t1\nq2\td3\t1\nq3\td4\t1\n", encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("name", "needs"), [("quality", "STRATA_DATASETS_DIR"), ("peer", "STRATA_BENCH_HOTMEM_PYTHON")]
)
def test_what_is_missing_is_said(make_context: MakeContext, name: str, needs: str) -> None:
    result = run_section(name, make_context())
    assert needs in result.skipped
    assert result.tables == []


def test_every_section_is_tested() -> None:
    here = sys.modules[__name__]
    tested = {name.removeprefix("test_") for name in vars(here) if name.startswith("test_")}
    assert set(SECTIONS) - {"peer"} <= tested

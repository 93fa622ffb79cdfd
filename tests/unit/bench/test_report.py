"""Tables and the JSON file."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from app.bench.report import (
    Column,
    Machine,
    Report,
    SectionResult,
    Table,
    format_value,
    machine,
    render,
    save,
    versions,
)

TABLE = Table(
    title="Latency, ms",
    columns=[Column("rows", "rows"), Column("kind", "question"), Column("p50", "p50", 1)],
    rows=[
        {"rows": 100_000, "kind": "rare words", "p50": 8.449},
        {"rows": 1_000, "kind": "identifier", "p50": None},
    ],
    note="One client.",
)


def test_a_table_shows_every_row_with_aligned_numbers() -> None:
    console = Console(file=io.StringIO(), width=60, color_system=None)
    console.print(render(TABLE))
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert lines == [
        "Latency, ms",
        "   rows  question    p50",
        "100,000  rare words  8.4",
        "  1,000  identifier    –",
    ]


def test_values_are_written_for_people() -> None:
    assert format_value(1_234.5678, 2) == "1,234.57"
    assert format_value(1_234, 2) == "1,234"
    assert format_value(True, 2) == "yes"
    assert format_value(False, 2) == "no"
    assert format_value(None, 2) == "–"
    assert format_value("exact", 2) == "exact"


def test_the_file_is_named_by_its_start_and_holds_every_figure(tmp_path: Path) -> None:
    report = Report(
        started_at=datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC),
        revision="abc+",
        machine=Machine(system="Linux", processor="x", cores=2, memory_bytes=1, load=0.5),
        versions={"python": "3.11"},
        settings={"scale": "quick"},
        sections=[
            SectionResult(name="latency", seconds=1.5, tables=[TABLE]),
            SectionResult(name="peer", seconds=0.0, skipped="no peer"),
        ],
    )
    path = save(report, tmp_path / "results")
    assert path.name == "2026-03-04T050607Z.json"
    saved = json.loads(path.read_text())
    assert saved["revision"] == "abc+"
    assert saved["sections"][0]["tables"][0]["rows"][0] == {
        "rows": 100_000,
        "kind": "rare words",
        "p50": 8.449,
    }
    assert saved["sections"][1]["skipped"] == "no peer"


def test_machine_and_versions_are_told() -> None:
    here = machine()
    assert here.cores >= 1
    assert here.memory_bytes > 0
    assert versions()["litestar"].startswith("2.")

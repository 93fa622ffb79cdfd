"""Reading retrieval sets, and saying where they are wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.bench.datasets import DatasetError, find_datasets, load_dataset

DOCUMENTS = [
    {"id": "d1", "title": "Retries", "text": "Three at most.", "metadata": {"scope": "a"}},
    {"id": "d2", "text": "Backups run at night.", "metadata": {"scope": "b"}},
    {"id": "d3", "text": "Logs are kept for a month.", "metadata": {"scope": "a"}},
]
QUERIES = [
    {"id": "q1", "text": "how many retries", "metadata": {"scope": "a", "exclude": ["d3"]}},
    {"id": "q2", "text": "when do backups run", "category": "time", "metadata": {"scope": "b"}},
    {"id": "q3", "text": "nobody judged this", "metadata": {"scope": "b", "exclude": "d2"}},
]
JUDGEMENTS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\n"


def write(
    folder: Path, documents: Any = DOCUMENTS, queries: Any = QUERIES, judgements: str = JUDGEMENTS
) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in (("corpus.jsonl", documents), ("queries.jsonl", queries)):
        text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "qrels.tsv").write_text(judgements, encoding="utf-8")
    return folder


def test_a_set_is_read(tmp_path: Path) -> None:
    dataset = load_dataset(write(tmp_path / "tiny"))
    assert dataset.name == "tiny"
    assert [document.content for document in dataset.documents][:2] == [
        "Retries\nThree at most.",
        "Backups run at night.",
    ]
    assert [query.id for query in dataset.queries] == ["q1", "q2"]
    assert dataset.queries[0].exclude == {"d3"}
    assert dataset.queries[1].category == "time"
    assert dataset.judgements == {"q1": {"d1": 2}, "q2": {"d2": 1}}
    assert {scope: [d.id for d in found] for scope, found in dataset.by_scope().items()} == {
        "a": ["d1", "d3"],
        "b": ["d2"],
    }


def test_a_single_excluded_document_may_stand_without_a_list(tmp_path: Path) -> None:
    dataset = load_dataset(write(tmp_path / "tiny", judgements=JUDGEMENTS + "q3\td2\t1\n"))
    assert dataset.queries[2].exclude == {"d2"}


def test_fewer_queries_are_spread_over_the_file(tmp_path: Path) -> None:
    queries = [{"id": f"q{number}", "text": "x"} for number in range(10)]
    judgements = "".join(f"q{number}\td1\t1\n" for number in range(10))
    dataset = load_dataset(write(tmp_path / "tiny", queries=queries, judgements=judgements), max_queries=3)
    assert [query.id for query in dataset.queries] == ["q0", "q3", "q6"]


def test_only_folders_with_all_three_files_are_sets(tmp_path: Path) -> None:
    write(tmp_path / "b")
    write(tmp_path / "a")
    write(tmp_path / "c")
    (tmp_path / "c" / "qrels.tsv").unlink()
    (tmp_path / "README.md").write_text("x", encoding="utf-8")
    assert [folder.name for folder in find_datasets(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"documents": '{"id": "d1", "text": "x"}\n{"id": "d2"}\n'}, "corpus.jsonl:2: Object missing"),
        ({"documents": '{"id": "d1", "text": "x"}\n\n{"id": \n'}, "corpus.jsonl:3: "),
        (
            {"documents": '{"id": "d1", "text": "x"}\n{"id": "d1", "text": "y"}\n'},
            "corpus.jsonl:2: the id 'd1'",
        ),
        ({"documents": ""}, "corpus.jsonl:1: the file is empty"),
        ({"queries": '{"id": 7, "text": "x"}\n'}, "queries.jsonl:1: Expected `str`"),
        ({"judgements": "q1\td1\t1\nq9\td1\t1\n"}, "qrels.tsv:2: there is no query 'q9'"),
        ({"judgements": "q1\td9\t1\n"}, "qrels.tsv:1: there is no document 'd9'"),
        ({"judgements": "q1\td1\n"}, "qrels.tsv:1: needs query id"),
        ({"judgements": "q1\td1\thigh\n"}, "qrels.tsv:1: the grade 'high'"),
    ],
)
def test_a_fault_is_named_with_its_file_and_line(tmp_path: Path, files: dict[str, str], message: str) -> None:
    folder = write(tmp_path / "tiny", **files)
    with pytest.raises(DatasetError, match=re.escape(message)):
        load_dataset(folder)

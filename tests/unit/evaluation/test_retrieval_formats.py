from pathlib import Path

import pytest

from app.evaluation.formats.judged import InvalidSet
from app.evaluation.formats.loading import load_set


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


CORPUS = '{"id": "a", "title": "Tea", "text": "Green tea.", "metadata": {"scope": "s1", "year": 2}}\n{"_id": "b", "text": "Black tea.", "metadata": {"scope": "s1"}}\n'
QUERIES = '{"id": "q1", "text": "Which tea?", "category": "drinks", "metadata": {"scope": "s1", "exclude": "b"}}\n{"id": "q2", "text": "Unjudged?", "metadata": {"scope": "s1"}}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\ta\t2\n"


def test_a_beir_folder_is_read(tmp_path):
    judged = load_set(write(tmp_path, corpus__jsonl=CORPUS, queries__jsonl=QUERIES, qrels__tsv=QRELS))
    assert judged.form == "beir"
    assert [(document.source_doc_id, document.content) for document in judged.documents] == [
        ("a", "Tea\nGreen tea."),
        ("b", "Black tea."),
    ]
    assert judged.documents[0].metadata == {"year": 2}
    assert [(case.case_id, case.scope, case.exclude, case.slices) for case in judged.cases] == [
        ("q1", "s1", ["b"], ["drinks"])
    ]
    assert [(item.role, item.grade) for item in judged.judgements["q1"]["ranked"]] == [("required", 2)]
    assert judged.scoring.gain == "linear"


def test_beir_problems_are_named_with_their_lines(tmp_path):
    write(
        tmp_path,
        corpus__jsonl=CORPUS + '{"text": "no id"}\n' + CORPUS.splitlines()[0] + "\n",
        queries__jsonl=QUERIES,
        qrels__tsv=QRELS + "q1\tz\t1\nq1\ta\t1\nq3\ta\tmuch\nq1 a 1\n",
    )
    with pytest.raises(InvalidSet) as caught:
        load_set(tmp_path)
    assert [str(problem) for problem in caught.value.problems] == [
        "corpus.jsonl:3: has no id",
        "corpus.jsonl:4: document 'a' is there already, in line 1",
        "qrels.tsv:3: there is no document 'z'",
        "qrels.tsv:4: judges document 'a' for query 'q1' a second time",
        "qrels.tsv:5: there is no query 'q3'",
        "qrels.tsv:5: the grade 'much' is no whole number",
        "qrels.tsv:6: needs query id, document id and grade, tab-separated",
    ]


MEMORIES = """\
{"memory_id": "m1", "fact": "Rent is due on the first.", "namespace": "home", "identifier": "home.rent"}
{"memory_id": "m2", "fact": "The rent is due on day one.", "namespace": "home", "duplicate_of": "m1"}
{"memory_id": "m3", "fact": "Rent a car in Faro.", "namespace": "travel", "created_at": "2026-01-10T09:00:00Z"}
"""
QUESTIONS = """\
{"query_id": "q1", "query": "When is rent due?", "category": "exact", "relevance": {"m1": 3, "m2": 3, "m3": 1}}
{"query_id": "q2", "query": "Where to rent a car?", "category": "exact", "relevance": {"m3": 2, "m1": 0}}
{"query_id": "q3", "query": "Who won?", "category": "none", "relevance": {}}
"""


def test_graded_fixtures_are_read(tmp_path):
    write(tmp_path, corpus__jsonl=MEMORIES, queries__jsonl=QUESTIONS)
    judged = load_set(tmp_path)
    assert (judged.form, judged.scoring.gain, judged.scoring.k) == ("graded", "linear", 5)
    assert [document.duplicate_group for document in judged.documents] == ["m1", "m1", None]
    assert [document.space for document in judged.documents] == ["home", "home", "travel"]
    assert judged.documents[0].metadata == {}
    assert [(item.role, item.grade) for item in judged.judgements["q1"]["ranked"]] == [
        ("required", 3),
        ("required", 3),
        ("partial", 1),
    ]
    assert judged.judgements["q3"]["ranked"] == ()
    assert judged.cases[2].task_type == "no_answer"
    assert {case.scope for case in judged.cases} == {""}


def test_scoped_fixtures_ask_where_the_best_memory_lives(tmp_path):
    write(tmp_path, corpus__jsonl=MEMORIES, queries__jsonl=QUESTIONS)
    judged = load_set(tmp_path, scoped=True)
    assert [case.scope for case in judged.cases] == ["home", "travel", "home"]


def test_fixtures_with_an_unknown_memory_are_refused(tmp_path):
    write(
        tmp_path,
        corpus__jsonl=MEMORIES,
        queries__jsonl='{"query_id": "q", "query": "x?", "relevance": {"m9": 4}}\n',
    )
    with pytest.raises(InvalidSet) as caught:
        load_set(tmp_path)
    assert [str(problem) for problem in caught.value.problems] == [
        "queries.jsonl:1: Expected `int` <= 3 - at `$.relevance[...]`"
    ]

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from app.evaluation.formats.judged import InvalidSet
from app.evaluation.formats.loading import load_set
from app.evaluation.formats.rows import Manifest
from app.evaluation.formats.seeds import seed_files

DOCUMENTS = [
    {"source_doc_id": "d1", "content": "The kettle is red.", "labels": ["required"]},
    {"source_doc_id": "d2", "content": "The kettle was blue."},
]
CASES = [
    {"case_id": "c1", "query": "Which colour is the kettle?", "slices": ["colour", "adversarial"], "limit": 5}
]
QRELS = [
    {
        "case_id": "c1",
        "required_refs": [{"type": "fragment", "source_doc_id": "d1", "grade": 3}],
        "bad_refs": [{"type": "fragment", "source_doc_id": "d2"}],
    }
]
MANIFEST = {
    "schema_version": "dense-mem.eval.seed.v1",
    "seed_id": "kettles",
    "corpus_file": "corpus.jsonl",
    "cases_file": "cases.jsonl",
    "qrels_file": "qrels.jsonl",
    "counts": {"corpus": 2, "cases": 1, "qrels": 1, "docs_per_case": 2},
}


def write_seed(folder: Path, **changed: Any) -> Path:
    parts = {"corpus": DOCUMENTS, "cases": CASES, "qrels": QRELS, **changed}
    manifest = parts.pop("manifest", MANIFEST)
    for name, rows in parts.items():
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "seed_manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def problems(folder: Path, **options: Any) -> list[str]:
    with pytest.raises(InvalidSet) as caught:
        load_set(folder, **options)
    return [str(problem) for problem in caught.value.problems]


def test_a_valid_seed_is_read(tmp_path):
    judged = load_set(write_seed(tmp_path))
    assert (judged.name, judged.form, judged.scoring.gain) == ("kettles", "seed", "exponential")
    assert [document.source_doc_id for document in judged.documents] == ["d1", "d2"]
    assert [(item.role, item.grade) for item in judged.judgements["c1"]["ranked"]] == [
        ("required", 3),
        ("bad", 1),
    ]


def test_the_hash_follows_the_rule(tmp_path):
    write_seed(tmp_path, manifest=MANIFEST | {"licenses_file": "licenses.md"})
    (tmp_path / "licenses.md").write_text("free", encoding="utf-8")
    wanted = b""
    for name in ("seed_manifest.json", "corpus.jsonl", "cases.jsonl", "qrels.jsonl", "licenses.md"):
        wanted += f"file:{name}\n".encode() + (tmp_path / name).read_bytes() + b"\n"
    assert load_set(tmp_path).hash == "sha256:" + hashlib.sha256(wanted).hexdigest()


def test_the_hash_reads_named_files_in_their_order():
    manifest = Manifest(
        schema_version="dense-mem.eval.seed.v1",
        seed_id="x",
        answers_file="a",
        hard_negatives_file="h",
        transforms_file="t",
        expected_dreams_file="e",
        licenses_file="l",
    )
    assert seed_files(manifest) == [
        "seed_manifest.json", "corpus.jsonl", "cases.jsonl", "qrels.jsonl", "a", "h", "t", "e", "l",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        (
            {"corpus": [*DOCUMENTS, DOCUMENTS[0]]},
            ["corpus.jsonl:3: document 'd1' is there already, in line 1", "seed_manifest.json:1: counts.corpus is 2, corpus.jsonl holds 3"],
        ),
        (
            {"corpus": [DOCUMENTS[0], DOCUMENTS[1] | {"colour": "blue"}]},
            ["corpus.jsonl:2: Object contains unknown field `colour`", "qrels.jsonl:1: there is no document 'd2'"],
        ),
        (
            {"corpus": [DOCUMENTS[0], '{"source_doc_id": "d2", ']},
            ["corpus.jsonl:2: Input data was truncated", "qrels.jsonl:1: there is no document 'd2'"],
        ),
        (
            {"cases": [CASES[0] | {"limit": 51}]},
            ["cases.jsonl:1: Expected `int` <= 50 - at `$.limit`", "qrels.jsonl:1: there is no case 'c1'"],
        ),
        (
            {"cases": [CASES[0] | {"valid_at": "2026-01-01"}]},
            ["cases.jsonl:1: Invalid RFC3339 encoded datetime - at `$.valid_at`", "qrels.jsonl:1: there is no case 'c1'"],
        ),
        (
            {"qrels": [QRELS[0] | {"bad_refs": []}]},
            ["qrels.jsonl:1: an adversarial case needs bad refs"],
        ),
        (
            {"qrels": [QRELS[0] | {"required_refs": [{"type": "fragment"}]}]},
            ["qrels.jsonl:1: a fragment ref names either id or source_doc_id"],
        ),
        (
            {"qrels": [QRELS[0] | {"required_refs": []}]},
            ["qrels.jsonl:1: requires nothing, and the case's task_type is not 'no_answer'"],
        ),
        (
            {"qrels": [QRELS[0] | {"bad_refs": QRELS[0]["required_refs"]}]},
            ["qrels.jsonl:1: the fragment 'd1' is relevant and bad at once"],
        ),
        (
            {"cases": [*CASES, {"case_id": "c2", "query": "And now?"}]},
            ["cases.jsonl:2: case 'c2' has no judgement", "seed_manifest.json:1: counts.cases is 1, cases.jsonl holds 2"],
        ),
        (
            {"corpus": [DOCUMENTS[0], DOCUMENTS[1] | {"valid_from": "2026-02-01T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"}]},
            ["corpus.jsonl:2: a time span ends before it begins"],
        ),
        (
            {"qrels": [QRELS[0] | {"required_refs": [{"type": "claim", "source_doc_id": "d1"}]}]},
            ["qrels.jsonl:1: requires a claim of 'd1', which has no claims"],
        ),
        (
            {
                "corpus": [DOCUMENTS[0] | {"claims": [{"subject": "kettle", "predicate": "is", "object": "red"}]}, DOCUMENTS[1]],
                "qrels": [QRELS[0] | {"required_refs": [{"type": "fact", "source_doc_id": "d1"}]}],
            },
            ["qrels.jsonl:1: requires a fact of 'd1', which is not promoted"],
        ),
        (
            {"qrels": [QRELS[0], QRELS[0]]},
            ["qrels.jsonl:2: judgement of case 'c1' is there already, in line 1", "seed_manifest.json:1: counts.qrels is 1, qrels.jsonl holds 2"],
        ),
        ({"manifest": MANIFEST | {"corpus_file": "../corpus.jsonl"}}, None),
        ({"manifest": MANIFEST | {"answers_file": "answers.jsonl"}}, ["answers.jsonl:0: cannot be read: No such file or directory"]),
        ({"manifest": MANIFEST | {"schema_version": "v2"}}, ["seed_manifest.json:1: Invalid enum value 'v2' - at `$.schema_version`"]),
    ],
)  # fmt: skip
def test_everything_wrong_is_named_with_file_and_line(tmp_path, changed, wanted):
    found = problems(write_seed(tmp_path, **changed))
    if wanted is None:
        assert found[0] == "../corpus.jsonl:0: lies outside the set's folder"
    else:
        assert found == wanted


def test_a_suite_must_name_cases(tmp_path):
    suite = tmp_path / "suite.jsonl"
    suite.write_text(
        '{"case_id": "c1", "weight": 2.0, "slices": ["s"]}\n{"case_id": "c9"}\n', encoding="utf-8"
    )
    assert problems(write_seed(tmp_path), suite=suite) == ["suite.jsonl:2: there is no case 'c9'"]
    suite.write_text('{"case_id": "c1", "weight": 2.0, "slices": ["s"]}\n', encoding="utf-8")
    judged = load_set(tmp_path, suite=suite)
    assert judged.weight_of(judged.cases[0]) == 2.0
    assert judged.slices_of(judged.cases[0]) == ("colour", "adversarial", "s")


def test_a_folder_that_is_no_set_says_what_it_needs(tmp_path):
    assert problems(tmp_path) == [
        f"{tmp_path.name}:0: needs seed_manifest.json, or corpus.jsonl and queries.jsonl with or without qrels.tsv"
    ]

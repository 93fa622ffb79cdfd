import filecmp
from collections import Counter

import msgspec
import pytest

from app.evaluation.formats.loading import load_set
from app.evaluation.shipped import BROAD, guard_suites
from app.evaluation.suites.hardcases import KINDS, PRESETS, generate

CATEGORIES = (
    "obsolete_correction", "explicit_negation", "alias_collision", "temporal_validity", "quoted_false_claim", "scope_collision",
    "authority_conflict", "retraction", "unit_trap", "conditional_exception", "metadata_identifier", "split_evidence",
    "near_duplicates", "revisions", "unanswerable",
)  # fmt: skip


def test_broad_has_sixteen_cases_of_each_category_half_of_them_paraphrases_and_a_held_out_part():
    judged = load_set(BROAD)
    assert len(judged.cases) == 304
    counted = Counter((case.slices[0], case.slices[1]) for case in judged.cases)
    halves = {(name, half): 8 for name in CATEGORIES for half in ("half:plain", "half:paraphrase")}
    held_out = {(name, "half:heldout"): 8 if name == "revisions" else 4 for name in CATEGORIES}
    assert counted == halves | held_out


def test_every_broad_case_has_required_and_bad_references_as_its_category_needs():
    judged = load_set(BROAD)
    for case in judged.cases:
        roles = Counter(item.role for item in judged.judgements[case.case_id]["ranked"])
        category = case.slices[0]
        assert bool(roles["required"]) == (category != "unanswerable"), case.case_id
        if category == "split_evidence":
            assert roles["required"] == 2
        if category == "near_duplicates":
            assert roles["acceptable"] == 1
        assert roles["bad"] or roles["acceptable"], case.case_id


def test_the_halves_of_broad_share_no_document():
    judged = load_set(BROAD)
    halves = {"half:plain": set(), "half:paraphrase": set(), "half:heldout": set()}
    for case in judged.cases:
        halves[case.slices[1]] |= {
            item.ref.source_doc_id for item in judged.judgements[case.case_id]["ranked"]
        }
    assert sum(map(len, halves.values())) == len(set().union(*halves.values()))
    contents = [document.content for document in judged.documents]
    assert len(set(contents)) == len(contents) == 456


@pytest.mark.parametrize("preset", PRESETS)
def test_hardcases_has_every_kind_and_is_valid(tmp_path, preset):
    generate(tmp_path, preset=preset, draw=3)
    judged = load_set(tmp_path)
    counted = Counter(case.slices[0] for case in judged.cases)
    assert set(counted) == set(KINDS)
    assert max(counted.values()) - min(counted.values()) <= 1
    shape = {"small": (24, 72), "standard": (120, 360), "large": (600, 1_800), "thousand": (1_000, 4_000)}
    assert (len(judged.cases), len(judged.documents)) == shape[preset]
    contents = [document.content for document in judged.documents]
    assert len(set(contents)) == len(contents)
    for case in judged.cases:
        roles = Counter(item.role for item in judged.judgements[case.case_id]["ranked"])
        assert roles == {"required": 1, "bad": 2}


def test_a_draw_is_reproducible_and_another_one_is_other_text(tmp_path):
    for name, draw in (("one", 1), ("again", 1), ("two", 2)):
        generate(tmp_path / name, draw=draw)
    files = [
        "corpus.jsonl",
        "cases.jsonl",
        "qrels.jsonl",
        "expected_dreams.jsonl",
        "seed_manifest.json",
        "licenses.md",
    ]
    same, differing, _ = filecmp.cmpfiles(tmp_path / "one", tmp_path / "again", files, shallow=False)
    assert (sorted(same), differing) == (sorted(files), [])
    first, second = load_set(tmp_path / "one"), load_set(tmp_path / "two")
    assert first.hash != second.hash
    assert not {case.query for case in first.cases} & {case.query for case in second.cases}


def test_the_answer_of_a_metadata_case_names_its_identifier_in_metadata_alone(tmp_path):
    generate(tmp_path, preset="standard")
    judged = load_set(tmp_path)
    documents = {document.source_doc_id: document for document in judged.documents}
    hidden = ("metadata_identifier", "scope_identifier", "config_path", "branch_and_run")
    for case in judged.cases:
        if case.slices[0] not in hidden:
            continue
        answer = documents[f"{case.case_id}_answer"]
        told = [value for value in answer.metadata.values() if value in case.query]
        assert told, case.case_id
        assert not any(value in answer.content for value in told)
        drafts = [documents[f"{case.case_id}_decoy{number}"] for number in (1, 2)]
        assert any(value in draft.content for value in told for draft in drafts)


def test_a_fact_is_required_where_authority_is_asked(tmp_path):
    generate(tmp_path, preset="small")
    rows = [
        msgspec.json.decode(line)
        for line in (tmp_path / "qrels.jsonl").read_bytes().splitlines()
        if b'"authority_identifier' in line
    ]
    assert [row["required_refs"][0]["type"] for row in rows] == ["fact"] * 4


def test_the_guarded_suites_are_there_only_while_they_are_used():
    with guard_suites() as suites:
        assert {name: len(judged.cases) for name, judged in suites.items()} == {"broad": 304, "hardcases": 24}

import json
import re
from datetime import UTC, datetime
from importlib import resources

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.demo import DemoMemory, DemoQuestion, _parse, load_memories, load_questions

MEMORIES = load_memories()
BY_ID = {memory.id: memory for memory in MEMORIES}
RFC3339_UTC = re.compile(r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")


def row(**changes):
    base = {
        "id": "a-1",
        "content": "x",
        "source": "s",
        "source_type": "manual",
        "authority": "unknown",
        "labels": [],
        "metadata": {},
        "recorded_at": "2026-01-01T00:00:00Z",
    }
    return json.dumps(base | changes)


def raw_rows():
    text = resources.files("app.demo").joinpath("memories.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def test_there_are_about_150_memories_with_unique_ids_and_contents():
    assert 140 <= len(MEMORIES) <= 170
    assert len(BY_ID) == len(MEMORIES)
    assert len({memory.content for memory in MEMORIES}) == len(MEMORIES)


def test_every_time_is_written_as_rfc_3339_in_utc_and_lies_in_the_stated_span():
    for raw in raw_rows():
        for key in ("recorded_at", "valid_from", "valid_to"):
            if key in raw:
                assert RFC3339_UTC.match(raw[key]), (raw["id"], key)
    recorded = [memory.recorded_at for memory in MEMORIES]
    assert min(recorded) >= datetime(2025, 1, 1, tzinfo=UTC)
    assert max(recorded) < datetime(2026, 11, 16, tzinfo=UTC)


def test_limits_of_the_api_hold():
    for memory in MEMORIES:
        assert len(memory.source) <= 256
        assert len(memory.labels) <= 20
        assert all(len(label) <= 64 for label in memory.labels)
        assert len(set(memory.labels)) == len(memory.labels)
        assert len(json.dumps(memory.metadata, ensure_ascii=True)) <= 4096


def test_every_source_type_and_authority_occurs():
    assert {memory.source_type for memory in MEMORIES} == {
        "conversation",
        "document",
        "observation",
        "manual",
    }
    assert {memory.authority for memory in MEMORIES} == {
        "authoritative",
        "primary",
        "secondary",
        "inferred",
        "unknown",
    }


def test_billing_changes_hands_without_gap_or_overlap():
    chain = [BY_ID[f"billing-owner-{name}"] for name in ("femi", "bram", "edda")]
    assert [memory.metadata["owner"] for memory in chain] == ["Femi", "Bram", "Edda"]
    assert chain[0].valid_to == chain[1].valid_from
    assert chain[1].valid_to == chain[2].valid_from == datetime(2026, 6, 1, tzinfo=UTC)
    assert chain[2].valid_to is None


def test_pull_request_214_has_several_memories():
    assert sum("PR #214" in memory.content for memory in MEMORIES) >= 5


def test_some_identifiers_are_in_the_metadata_only():
    fault = BY_ID["scanner-firmware-fault"]
    assert fault.metadata["ticket"] == "SUP-8841"
    assert all("SUP-8841" not in memory.content for memory in MEMORIES)


def test_meeting_notes_are_longer_than_a_model_window():
    assert sorted(memory.id for memory in MEMORIES if len(memory.content.split()) > 400) == [
        "planning-q1-2027",
        "retro-summer-2026",
    ]


@pytest.mark.parametrize("script", [r"[\u3040-\u30ff]", r"[\u4e00-\u9fff]", r"[\u0370-\u03ff]", r"[äöüß]"])
def test_other_scripts_are_there(script):
    assert any(re.search(script, memory.content) for memory in MEMORIES)


def test_questions_refer_to_memories_that_exist_and_are_valid_at_the_asked_time():
    questions = load_questions()
    assert 20 <= len(questions) <= 30
    assert len({question.query for question in questions}) == len(questions)
    for question in questions:
        for expected in question.expected:
            memory = BY_ID[expected]
            if question.valid_at is not None:
                assert memory.valid_from is None or memory.valid_from <= question.valid_at
                assert memory.valid_to is None or question.valid_at < memory.valid_to


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "Not A Slug"}, "rows.jsonl:1: Expected `str` matching regex"),
        ({"content": ""}, "rows.jsonl:1: Expected `str` of length >= 1 - at `$.content`"),
        ({"source": "s" * 257}, "rows.jsonl:1: Expected `str` of length <= 256 - at `$.source`"),
        ({"labels": ["l"] * 21}, "rows.jsonl:1: Expected `array` of length <= 20 - at `$.labels`"),
        ({"labels": ["l" * 65]}, "rows.jsonl:1: Expected `str` of length <= 64 - at `$.labels[0]`"),
        ({"metadata": {"k": "v" * 4096}}, "rows.jsonl:1: metadata of a-1 exceeds 4096 bytes"),
        (
            {"recorded_at": "2026-01-01T00:00:00"},
            "rows.jsonl:1: Expected `datetime` with a timezone component",
        ),
        ({"recorded_at": "2026-01-01T00:00:00+02:00"}, "rows.jsonl:1: a-1 has a time that is not in UTC"),
        ({"authority": "hearsay"}, "rows.jsonl:1: Invalid enum value 'hearsay' - at `$.authority`"),
        ({"colour": "red"}, "rows.jsonl:1: Object contains unknown field `colour`"),
        (
            {"valid_from": "2026-02-01T00:00:00Z", "valid_to": "2026-02-01T00:00:00Z"},
            "rows.jsonl:1: a-1 ends before it begins to be valid",
        ),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused_with_its_line(changes, message):
    with pytest.raises(msgspec.ValidationError) as caught:
        _parse("rows.jsonl", row(**changes), DemoMemory)
    assert str(caught.value).startswith(message)


def test_a_line_that_is_not_json_is_refused_with_its_number():
    with pytest.raises(msgspec.ValidationError, match=r"^rows\.jsonl:2: "):
        _parse("rows.jsonl", row() + "\nnot json\n", DemoMemory)


@given(query=st.text(min_size=1, max_size=50), expected=st.lists(st.just("a-1"), min_size=1, max_size=3))
def test_any_question_text_survives_the_round_trip(query, expected):
    line = json.dumps({"query": query, "expected": expected}, ensure_ascii=False)
    (question,) = _parse("rows.jsonl", line + "\n", DemoQuestion)
    assert question.query == query
    assert question.expected == tuple(expected)

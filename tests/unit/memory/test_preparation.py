"""What is decided about a fragment before any database is asked."""

import hashlib
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import StrataError
from app.memory.models import AUTHORITIES
from app.memory.preparation import (
    QUALITY,
    Times,
    check,
    checked_times,
    content_hash,
    secondary_texts,
)
from app.memory.schemas import FragmentInput

NOW = datetime(2026, 6, 1, tzinfo=UTC)
EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)


def fragment(**fields: Any) -> FragmentInput:
    return FragmentInput(content="x", **fields)


def test_the_hash_is_that_of_the_folded_text() -> None:
    assert content_hash(" Cafe\u0301\r\n at\u00a0noon ") == hashlib.sha256("Café at noon".encode()).digest()


@given(st.text(), st.text(alphabet=" \t\n\r\u00a0\u2003", min_size=1, max_size=4))
def test_white_space_and_form_do_not_count(text: str, space: str) -> None:
    padded = space + space.join(text.split(" ")) + space
    assert content_hash(padded) == content_hash(unicodedata.normalize("NFD", padded))
    assert content_hash(f"{space}{text}{space}") == content_hash(text)


@given(st.lists(st.text(alphabet="abcABC", min_size=1, max_size=4), min_size=1, max_size=4))
def test_words_and_their_case_count(words: list[str]) -> None:
    text = " ".join(words)
    assert content_hash("\n".join(words)) == content_hash(text)
    assert (content_hash(text) == content_hash(text.swapcase())) is False


def test_every_authority_has_a_quality() -> None:
    assert set(QUALITY) == set(AUTHORITIES)


def test_times_come_from_fields_then_from_metadata_then_from_now() -> None:
    assert checked_times(fragment(), NOW) == Times(None, None, NOW, None)
    metadata = {
        "validFrom": "2026-01-01",
        "valid_to": "2026-02-01T02:00:00+02:00",
        "recordedAt": "2026-01-01T00:00:00Z",
    }
    assert checked_times(fragment(metadata=metadata), NOW) == Times(EARLY, LATE, EARLY, None)
    field = EARLY + timedelta(days=3)
    assert checked_times(fragment(valid_from=field, metadata=metadata), NOW).valid_from == field
    both = {"valid_from": "2026-01-01", "validFrom": "2020-01-01"}
    assert checked_times(fragment(metadata=both), NOW).valid_from == EARLY
    empty = {"valid_from": "", "validFrom": None, "valid_to": None}
    assert checked_times(fragment(metadata=empty), NOW) == Times(None, None, NOW, None)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"valid_from": LATE, "valid_to": EARLY}, "valid_to"),
        ({"valid_from": EARLY, "valid_to": EARLY}, "valid_to"),
        ({"valid_from": EARLY, "valid_to": EARLY.astimezone(timezone(timedelta(hours=2)))}, "valid_to"),
        ({"recorded_at": LATE, "recorded_to": EARLY}, "recorded_to"),
        ({"recorded_to": EARLY}, "recorded_to"),
        ({"metadata": {"valid_to": "soon"}}, "metadata.valid_to"),
        ({"metadata": {"validTo": 5}}, "metadata.validTo"),
        ({"metadata": {"recorded_at": "2026-01-01T00:00:00"}}, "metadata.recorded_at"),
        ({"metadata": {"recordedTo": "2026-13-01"}}, "metadata.recordedTo"),
        ({"metadata": {"valid_from": "9999-12-31T23:00:00-05:00"}}, "metadata.valid_from"),
    ],
)
def test_times_that_cannot_be_are_named(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(StrataError) as raised:
        checked_times(fragment(**fields), NOW)
    assert [error.path for error in raised.value.errors] == [path]


def test_a_moment_may_be_recorded_and_withdrawn_at_once() -> None:
    assert checked_times(fragment(recorded_at=EARLY, recorded_to=EARLY), NOW).recorded_to == EARLY


def test_content_is_measured_in_bytes() -> None:
    check(FragmentInput(content="é" * 32_768))
    with pytest.raises(StrataError) as raised:
        check(FragmentInput(content="é" * 32_768 + "x"))
    assert [error.path for error in raised.value.errors] == ["content"]
    with pytest.raises(StrataError) as raised:
        check(fragment(metadata={"a": "x" * 5_000}))
    assert [error.path for error in raised.value.errors] == ["metadata"]


def test_secondary_texts_are_those_that_say_something() -> None:
    metadata = {"b": [1, {"deep": "PROJ-123"}], "a": None, "flag": True, "score": 0.5, "empty": ""}
    assert secondary_texts("docs/adr.md", ["red"], metadata) == [
        "docs/adr.md", "red", "a", "b", "1", "deep", "PROJ-123", "empty", "flag", "score", "0.5",
    ]  # fmt: skip
    assert secondary_texts(None, [], {}) == []

"""Cursors and ids: what is not exactly ours is refused."""

import re
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import StrataError
from app.http.cursors import decode_cursor, encode_cursor, page_of, parse_id


@given(st.uuids())
def test_a_cursor_leads_back_to_its_id(last_id: UUID) -> None:
    cursor = encode_cursor(last_id)
    assert len(cursor) == 22
    assert decode_cursor(cursor) == last_id
    assert parse_id(str(last_id), "id") == parse_id(str(last_id).upper(), "id") == last_id


def test_no_cursor_is_the_beginning() -> None:
    assert decode_cursor(None) is None


@given(st.text(max_size=30))
def test_any_other_text_is_no_cursor(text: str) -> None:
    if re.fullmatch(r"[A-Za-z0-9_-]{21}[AQgw]", text, re.ASCII):
        assert decode_cursor(text) is not None
        return
    with pytest.raises(StrataError) as raised:
        decode_cursor(text)
    assert [fault.path for fault in raised.value.errors] == ["cursor"]


@pytest.mark.parametrize("junk", ["!", "=", "\n", " ", "é"])
def test_junk_in_a_cursor_is_not_skipped(junk: str) -> None:
    with pytest.raises(StrataError):
        decode_cursor(encode_cursor(UUID(int=1)) + junk)


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "0" * 32, "0x" + "0" * 30, "{00000000-0000-0000-0000-000000000000}",
        "urn:uuid:00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-00000000000",
        "00000000-0000-0000-0000-0000000000000", "0000_0000-0000-0000-0000-00000000000", "００００００００-0000-0000-0000-000000000000",
        "00000000-0000-0000-0000-000000000000\n", " 00000000-0000-0000-0000-000000000000",
    ],
)  # fmt: skip
def test_other_spellings_are_no_ids(text: str) -> None:
    with pytest.raises(StrataError) as raised:
        parse_id(text, "fragment_id")
    assert [(fault.path, fault.message) for fault in raised.value.errors] == [
        ("fragment_id", "must be a UUID")
    ]


def test_a_page_has_a_cursor_when_more_was_read() -> None:
    ids = [UUID(int=n) for n in range(4)]
    full = page_of(ids, 3, lambda found: found)
    assert (full.items, full.next_cursor) == (ids[:3], encode_cursor(ids[2]))
    last = page_of(ids[:3], 3, lambda found: found)
    assert (last.items, last.next_cursor) == (ids[:3], None)
    assert page_of([], 3, lambda found: found).next_cursor is None

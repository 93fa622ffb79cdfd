"""Bodies: strict, with the path of what is wrong; a batch's items apart from one another."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import StrataError
from app.http.bodies import decode, decode_item, decode_raw
from app.http.fields import Instant, Label, Limit, QueryText


class Inner(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    at: Instant | None = None
    labels: list[Label] = []


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    text: QueryText
    limit: Limit = 10
    inner: Inner = Inner()
    many: list[Inner] = []
    metadata: dict[str, Any] = {}


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    items: Annotated[list[msgspec.Raw], msgspec.Meta(max_length=3)]


def fault(body: bytes, kind: type = Outer, path: str = "") -> tuple[str, list[str]]:
    with pytest.raises(StrataError) as raised:
        decode(body, kind, path)
    return raised.value.code, [error.path for error in raised.value.errors]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"text": "x", "limit": "5"}', "limit"),
        (b'{"text": "x", "limit": true}', "limit"),
        (b'{"text": "x", "limit": 1.0}', "limit"),
        (b'{"text": "x", "limit": null}', "limit"),
        (b'{"text": "x", "inner": {"at": 1700000000}}', "inner.at"),
        (b'{"text": "x", "inner": {"at": "2026-01-01T00:00:00"}}', "inner.at"),
        (b'{"text": "x", "inner": {"nope": 1}}', "inner.nope"),
        (b'{"text": "x", "inner": {"labels": ["a", " "]}}', "inner.labels[1]"),
        (b'{"text": "x", "many": [{}, {"at": "soon"}]}', "many[1].at"),
        (b'{"text": "x", "many": [{"at": "0001-01-01T00:00:00+14:00"}]}', "many[0].at"),
        (b'{"text": "x", "metadata": {"a": [1, {"b": 1e999}]}}', "metadata.a[1].b"),
        (b'{"text": "\\ud83d"}', "text"),
        (b'{"text": "x", "metadata": {"a": "\\udfff"}}', "metadata.a"),
        (b'{"text": "x", "metadata": {"a": {"\\ud83d": 1}}}', "metadata.a"),
        (b"[]", "body"),
        (b"{}", "text"),
    ],
)
def test_a_fault_has_its_path(body: bytes, path: str) -> None:
    assert fault(body) == ("validation_failed", [path])
    prefixed = {"body": "items[3]"}.get(path, f"items[3].{path}")
    assert fault(body, path="items[3]") == ("validation_failed", [prefixed])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"text": "x"}{}',
        b'{"text": NaN}',
        b'{"text": "\xff"}',
        b"\xef\xbb\xbf{}",
        b"{\"text\": 'x'}",
    ],
)
def test_what_is_no_json_has_no_path_but_the_items(body: bytes) -> None:
    assert fault(body) == ("malformed_json", [])
    assert fault(body, path="items[3]") == ("malformed_json", ["items[3]"])


@pytest.mark.parametrize(
    "nested", [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000]
)
def test_nesting_is_bounded(nested: bytes) -> None:
    assert fault(b'{"text": "x", "metadata": {"a": ' + nested + b"}}")[0] == "malformed_json"


def test_numbers_of_thousands_of_digits_are_refused() -> None:
    assert fault(b'{"text": "x", "limit": ' + b"9" * 5_000 + b"}") == ("validation_failed", ["limit"])


def test_times_come_in_utc_wherever_they_stand() -> None:
    body = b'{"text": "x", "inner": {"at": "2026-01-01T01:00:00+17:30"}, "many": [{"at": "2026-01-01T00:00:00-23:59"}]}'
    decoded = decode(body, Outer)
    assert decoded.inner.at == datetime(2025, 12, 31, 7, 30, tzinfo=UTC)
    assert [value.at.utcoffset().total_seconds() for value in (decoded.inner, *decoded.many)] == [0, 0]


def test_a_bad_item_leaves_the_others() -> None:
    body = b'{"items": [{"text": "good"}, {"text": "\\ud83d"}, {"text": "a \\\\ud83d \\ud83d\\ude00"}]}'
    items = [decode_raw(raw, Outer, f"items[{n}]") for n, raw in enumerate(decode(body, Batch).items)]
    assert [getattr(item, "text", None) for item in items] == ["good", None, "a \\ud83d 😀"]
    assert isinstance(items[1], StrataError)
    assert [error.path for error in items[1].errors] == ["items[1].text"]
    assert fault(b'{"items": [1, 2, 3, "\\ud83d"]}', Batch) == ("validation_failed", ["items[3]"])


def test_parsed_values_are_judged_alike() -> None:
    assert decode_item({"text": "x", "limit": 3}, Outer, "") == Outer(text="x", limit=3)
    for value, path in (
        ({"text": "\ud83d"}, "text"),
        ({"text": "x", "limit": 99}, "limit"),
        ({"text": "x", "inner": {"at": "9999-12-31T23:59:59-14:00"}}, "inner.at"),
        ({"text": "x", "metadata": {"a": float("nan")}}, "metadata.a"),
        (5, "body"),
    ):
        found = decode_item(value, Outer, "")
        assert isinstance(found, StrataError)
        assert [error.path for error in found.errors] == [path]


def test_parsed_values_that_contain_themselves_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    found = decode_item({"text": "x", "metadata": {"a": endless}}, Outer, "")
    assert isinstance(found, StrataError)
    assert found.code == "malformed_json"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_every_value_of_json_passes_through_metadata(value: Any) -> None:
    for ascii_only in (True, False):
        text = json.dumps({"text": "x", "metadata": {"value": value}}, ensure_ascii=ascii_only)
        assert decode(text.encode(), Outer).metadata == {"value": value}


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: f'{{"text": "{text}"}}'.encode()))
def test_any_bytes_decode_or_are_refused(body: bytes) -> None:
    found = outcome(body)
    if isinstance(found, StrataError):
        assert found.code in {"malformed_json", "validation_failed"}
        assert found.detail
    else:
        found.text.encode()
        assert "\x00" not in found.text


def outcome(body: bytes) -> Outer | StrataError:
    try:
        return decode(body, Outer)
    except StrataError as error:
        return error


@given(
    st.lists(st.sampled_from(["a", "\\", "\\\\", "\\n", "\\ud83d", "\\ude00", "\\u00e9", "é"]), max_size=8)
)
def test_escapes_are_read_as_the_standard_library_reads_them(parts: list[str]) -> None:
    body = f'{{"text": "x{"".join(parts)}"}}'
    try:
        expected = json.loads(body)["text"]
        expected.encode()
    except (ValueError, UnicodeEncodeError):
        assert fault(body.encode())[0] in {"malformed_json", "validation_failed"}
    else:
        assert decode(body.encode(), Outer).text == expected

"""Messages about fields: plain words, the right path, and the values that are allowed."""

from typing import Annotated, Literal
from uuid import UUID

import msgspec
import pytest
from msgspec import Meta

from app.errors import FieldError
from app.http.fields import KEY_PATTERN, OPTIONAL_TEXT_PATTERN, TEXT_PATTERN, Instant
from app.http.messages import allowed_values, field_error, joined


class Small(msgspec.Struct, forbid_unknown_fields=True):
    colour: Literal["red", "blue"] | None = None


class Whole(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=3, pattern=TEXT_PATTERN)] = "x"
    long: Annotated[str, Meta(min_length=2)] = "xx"
    note: Annotated[str, Meta(pattern=OPTIONAL_TEXT_PATTERN)] = ""
    key: Annotated[str, Meta(pattern=KEY_PATTERN)] = "x"
    items: Annotated[list[int], Meta(min_length=1, max_length=2)] = msgspec.field(default_factory=lambda: [1])
    pair: Annotated[list[int], Meta(min_length=2)] = msgspec.field(default_factory=lambda: [1, 2])
    count: Annotated[int, Meta(ge=1, le=50)] = 1
    share: Annotated[float, Meta(ge=0, le=1)] = 0
    flag: bool = False
    at: Instant | None = None
    id: UUID | None = None
    size: Literal["s", "m"] = "s"
    sizes: list[Literal["s", "m"]] = []
    small: Small = msgspec.field(default_factory=Small)
    many: list[Small] = []
    free: dict[str, int] = {}


@pytest.mark.parametrize(
    ("body", "path", "message"),
    [
        ('{"name": ""}', "name", "must not be empty"),
        ('{"name": "abcd"}', "name", "must have at most 3 characters"),
        ('{"name": " "}', "name", "must not be blank and must not contain NUL characters"),
        ('{"long": "x"}', "long", "must have at least 2 characters"),
        ('{"note": "\\u0000"}', "note", "must not contain NUL characters"),
        ('{"key": "ü"}', "key", "must consist of printable ASCII characters"),
        ('{"items": []}', "items", "must not be empty"),
        ('{"items": [1, 2, 3]}', "items", "must have at most 2 items"),
        ('{"items": [1, "2"]}', "items[1]", "must be a whole number, not text"),
        ('{"items": 5}', "items", "must be a list, not a whole number"),
        ('{"pair": [1]}', "pair", "must have at least 2 items"),
        ('{"count": 0}', "count", "must be at least 1"),
        ('{"count": 51}', "count", "must be at most 50"),
        ('{"count": 1.5}', "count", "must be a whole number, not a decimal number"),
        ('{"count": true}', "count", "must be a whole number, not true or false"),
        ('{"count": null}', "count", "must be a whole number, not null"),
        ('{"share": 1.5}', "share", "must be at most 1"),
        ('{"share": -0.5}', "share", "must be at least 0"),
        ('{"flag": 1}', "flag", "must be true or false, not a whole number"),
        ('{"at": 5}', "at", "must be an RFC 3339 time or null, not a whole number"),
        ('{"at": "x"}', "at", "must be an RFC 3339 time with a UTC offset, as in 2026-01-31T09:30:00Z"),
        ('{"at": "2026-01-01T00:00:00"}', "at", "must have a UTC offset, as in 2026-01-31T09:30:00Z"),
        ('{"id": "x"}', "id", "must be a UUID"),
        ('{"size": "xl"}', "size", "must be one of m, s"),
        ('{"sizes": ["s", "xl"]}', "sizes[1]", "must be one of m, s"),
        ('{"small": {"colour": "green"}}', "small.colour", "must be one of blue, red"),
        ('{"many": [{}, {"colour": "green"}]}', "many[1].colour", "must be one of blue, red"),
        ('{"small": {"size": 1}}', "small.size", "is not a known field"),
        ('{"nope": 1}', "nope", "is not a known field"),
        ('{"free": {"a": "x"}}', "free", "must be a whole number, not text"),
        ("[]", "body", "must be an object, not a list"),
    ],
)
def test_each_rule_has_its_words(body: str, path: str, message: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.json.decode(body, type=Whole)
    assert field_error(str(raised.value), Whole) == FieldError(path, message)


def test_a_path_is_put_before() -> None:
    missing = "Object missing required field `content`"
    assert field_error(missing, path="items[3]") == FieldError("items[3].content", "is required")
    wrong = "Expected `str`, got `int` - at `$.labels[2]`"
    assert field_error(wrong, path="items[3]") == FieldError(
        "items[3].labels[2]", "must be text, not a whole number"
    )
    assert field_error("Expected `object`, got `null`", path="items[3]").path == "items[3]"


def test_a_message_that_nobody_foresaw_is_kept() -> None:
    assert field_error("Something new happened - at `$.a`") == FieldError("a", "something new happened")


def test_allowed_values_are_found_by_path() -> None:
    assert allowed_values(Whole, "many[0].colour") == ["blue", "red"]
    assert allowed_values(Literal["a", "b"] | None, "") == ["a", "b"]
    assert (
        allowed_values(Whole, "count")
        == allowed_values(Whole, "nope.nope")
        == allowed_values(None, "x")
        == []
    )


def test_joining() -> None:
    assert [joined("", "a"), joined("a", "b"), joined("a[0]", "b"), joined("a", "")] == [
        "a",
        "a.b",
        "a[0].b",
        "a",
    ]

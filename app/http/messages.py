"""What is wrong with a field, in plain words: msgspec's messages name its own types and quote its patterns."""

import re
from collections.abc import Callable
from typing import Any, Final

from msgspec import inspect

from app.errors import FieldError
from app.http.fields import PATTERN_MESSAGES

_AT_PATH: Final = re.compile(r"^(?P<message>.*?)(?: - at `(?P<where>(?:key in )?[^`]*)`)?$", re.DOTALL)
_STEP: Final = re.compile(r"\[[^\]]*\]|[^.\[\]]+")
_TYPE_NAMES: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a decimal number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "datetime": "an RFC 3339 time",
    "uuid": "a UUID",
}
_EXAMPLE_TIME: Final = "2026-01-31T09:30:00Z"


def joined(path: str, field: str) -> str:
    """Path of a field inside ``path``."""
    return f"{path}.{field}".strip(".")


def field_error(message: str, kind: Any = None, path: str = "") -> FieldError:
    """Path and plain message out of one of msgspec's messages.

    Args:
        message: As msgspec words it, with or without its ``- at `$.a[0]` `` ending.
        kind: Type that was decoded; tells the allowed values of an enumeration.
        path: Where the value stands in the request.
    """
    match = _AT_PATH.match(message)
    text, where = (match["message"], match["where"] or "") if match else (message, "")
    inside = where.removeprefix("key in ").removeprefix("$").replace("[...]", "")
    for prefix, words in _FIELD_WORDS:
        if text.startswith(prefix):
            return FieldError(_place(path, joined(inside, text.rsplit("`", 2)[1])), words)
    return FieldError(_place(path, inside), _words(text, kind, inside))


def _place(path: str, inside: str) -> str:
    whole = f"{path}{inside}" if inside.startswith(("[", ".")) or not path else f"{path}.{inside}"
    return whole.strip(".") or "body"


_FIELD_WORDS: Final = (
    ("Object contains unknown field", "is not a known field"),
    ("Object missing required field", "is required"),
)


def _words(text: str, kind: Any, inside: str) -> str:
    for pattern, rule in PATTERN_MESSAGES.items():
        if repr(pattern) in text or pattern in text:
            return rule
    if text.startswith("Invalid enum value"):
        allowed = allowed_values(kind, inside)
        return f"must be one of {', '.join(allowed)}" if allowed else "is not one of the allowed values"
    for form, words in _FORMS:
        if match := form.fullmatch(text):
            return words(match)
    return text[:1].lower() + text[1:]


def _length(match: re.Match[str]) -> str:
    number = int(match["number"])
    if match["operator"] == ">=":
        return "must not be empty" if number == 1 else f"must have at least {number} {_units(match)}"
    return f"must have at most {number} {_units(match)}"


def _units(match: re.Match[str]) -> str:
    return "characters" if match["type"] == "str" else "items"


def _bound(match: re.Match[str]) -> str:
    return f"must be at {'least' if match['operator'] == '>=' else 'most'} {float(match['number']):.12g}"


def _type(match: re.Match[str]) -> str:
    expected = " or ".join(_named(name.strip()) for name in match["expected"].split("|"))
    return f"must be {expected}, not {_named(match['got'])}" if match["got"] else f"must be {expected}"


def _named(name: str) -> str:
    return _TYPE_NAMES.get(name, name)


_FORMS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"Expected `(?P<type>str|array)` of length (?P<operator>[<>]=) (?P<number>\d+)"), _length),
    (re.compile(r"Expected `(?:int|float)` (?P<operator>[<>]=) (?P<number>-?[\d.]+)"), _bound),
    (
        re.compile(r"Expected `datetime` with a timezone component"),
        lambda _: f"must have a UTC offset, as in {_EXAMPLE_TIME}",
    ),
    (
        re.compile(r"Invalid RFC3339 encoded datetime"),
        lambda _: f"must be an RFC 3339 time with a UTC offset, as in {_EXAMPLE_TIME}",
    ),
    (re.compile(r"Invalid UUID"), lambda _: "must be a UUID"),
    (re.compile(r"(?:Number|Integer value) out of range"), lambda _: "holds a number that is too large"),
    (re.compile(r"Expected `(?P<expected>[^`]+)`(?:, got `(?P<got>[^`]+)`)?"), _type),
)


def allowed_values(kind: Any, inside: str) -> list[str]:
    """Values of the enumeration at a path inside ``kind``; empty when there is none."""
    if kind is None:
        return []
    nodes = [inspect.type_info(kind)]
    for step in _STEP.findall(inside):
        nodes = [found for node in _alternatives(nodes) for found in _entered(node, step)]
    return [str(value) for node in _alternatives(nodes) for value in getattr(node, "values", ())]


def _alternatives(nodes: list[inspect.Type]) -> list[inspect.Type]:
    return [
        choice
        for node in nodes
        for choice in (node.types if isinstance(node, inspect.UnionType) else (node,))
    ]


def _entered(node: inspect.Type, step: str) -> list[inspect.Type]:
    if isinstance(node, inspect.StructType):
        return [field.type for field in node.fields if field.encode_name == step]
    if isinstance(node, inspect.ListType) and step.startswith("["):
        return [node.item_type]
    return []

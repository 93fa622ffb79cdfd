"""Request bodies: decoded once, strictly, from the bytes to the type that the route declares.

A number in quotes is no number, and a Unix timestamp no time. Of a key that stands twice in one object the last value
counts, as in every common JSON parser.
"""

import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec
from litestar import Request

from app.errors import FieldError, StrataError, invalid
from app.http.fields import in_utc
from app.http.messages import field_error, joined

Body = TypeVar("Body")
_SURROGATE: Final = "must be Unicode text: it holds half of a surrogate pair"
_NO_NUMBER: Final = "must be a number that fits into 64 bits of floating point"
# Read from left to right, so that in `\\ud83d` the second backslash escapes nothing.
_ESCAPE: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u(?P<half>[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
_DECODERS: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}


class JsonRequest(Request[Any, Any, Any]):
    """A request whose body is decoded by the type of the handler's ``data``."""

    async def json(self) -> Any:
        """Body as the type that the handler declares."""
        field = self.route_handler.parsed_data_field
        if field is None:
            raise LookupError("this route takes no body")
        return await self.decoded(field.annotation)

    async def decoded(self, kind: type[Body]) -> Body:
        """Body as ``kind``.

        Raises:
            StrataError: ``unsupported_media_type``, ``malformed_json``, or ``validation_failed`` with the field's path.
        """
        media_type, _ = self.content_type
        if media_type and media_type != "application/json" and not media_type.endswith("+json"):
            raise StrataError(
                "unsupported_media_type", "the Content-Type of the body must be application/json"
            )
        body = await self.body()
        if not body:
            raise invalid("body", "is required")
        return decode(body, kind)


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    if kind not in _DECODERS:
        _DECODERS[kind] = msgspec.json.Decoder(kind)
    return _DECODERS[kind]


def decode(body: bytes, kind: type[Body], path: str = "") -> Body:
    """JSON text as ``kind``.

    Args:
        body: One JSON value in UTF-8.
        kind: Struct type. Fields of type ``msgspec.Raw`` are not looked into.
        path: Where the value stands in the request.

    Raises:
        StrataError: ``malformed_json``, or ``validation_failed`` with the field's path.
    """
    try:
        decoded: Body = _decoder(kind).decode(body)
    except msgspec.ValidationError as error:
        if str(error).startswith("Number out of range"):
            return _decode_unusual(body, kind, path)
        raise _refused(field_error(str(error), kind, path)) from None
    except RecursionError:
        raise _malformed("the body is nested too deeply", path) from None
    except ValueError:  # msgspec's, UTF-8's, or Python's about a number of thousands of digits
        return _decode_unusual(body, kind, path)
    return _in_utc(decoded, path)


def decode_raw(value: msgspec.Raw, kind: type[Body], path: str) -> Body | StrataError:
    """One item of a batch out of its JSON text, or why it is refused; the others are none the worse for it."""
    try:
        return decode(bytes(value), kind, path)
    except StrataError as error:
        return error


def decode_item(value: Any, kind: type[Body], path: str) -> Body | StrataError:
    """The same for a value that is parsed already."""
    try:
        if fault := _first_fault(value, path):
            return _refused(fault)
        return _in_utc(msgspec.convert(value, kind), path)
    except StrataError as error:
        return error
    except msgspec.ValidationError as error:
        return _refused(field_error(str(error), kind, path))
    except RecursionError:
        return _malformed("the value is nested too deeply", path)


def _in_utc(value: Body, path: str) -> Body:
    """The same value with every time in UTC; free JSON objects are left alone."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            _in_utc(item, f"{path}[{index}]")
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if isinstance(item, datetime):
                msgspec.structs.force_setattr(value, name, in_utc(item, joined(path, name)))
            elif isinstance(item, msgspec.Struct | list):
                _in_utc(item, joined(path, name))
    return value


def _decode_unusual(body: bytes, kind: type[Body], path: str) -> Body:
    r"""What the strict decoder refuses: faults of grammar, numbers out of range, escapes such as a lone ``\ud83d``.

    Half a surrogate pair is written as the bytes that it would have: no field takes them, but a ``msgspec.Raw`` passes
    them on, so that one such item does not spoil a batch.
    """
    rewritten = _ESCAPE.sub(_unescaped, body)
    if rewritten != body:
        with suppress(ValueError):
            decoded: Body = _decoder(kind).decode(rewritten)
            return _in_utc(decoded, path)
    try:
        value = json.loads(rewritten.decode(errors="surrogatepass"), parse_constant=_refuse_constant)
        fault = _first_fault(value, path)
    except RecursionError:
        raise _malformed("the body is nested too deeply", path) from None
    except ValueError:
        fault = None
    raise _malformed("the body is not one JSON value in UTF-8", path) if fault is None else _refused(fault)


def _unescaped(escape: re.Match[bytes]) -> bytes:
    if escape["half"] is None:
        return escape[0]
    return chr(int(escape["half"], 16)).encode(errors="surrogatepass")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _first_fault(value: Any, path: str) -> FieldError | None:
    """First text or number, in document order, that JSON in UTF-8 cannot carry."""
    return next(_faults(value, path), None)


def _faults(value: Any, path: str) -> Iterator[FieldError]:
    if isinstance(value, str):
        if _has_surrogate(value):
            yield FieldError(path or "body", _SURROGATE)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield FieldError(path or "body", _NO_NUMBER)
    elif isinstance(value, dict):
        for key, item in value.items():
            if _has_surrogate(key):
                yield FieldError(path or "body", _SURROGATE)
            else:
                yield from _faults(item, joined(path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _faults(item, f"{path}[{index}]")


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _refused(error: FieldError) -> StrataError:
    return invalid(error.path, error.message)


def _malformed(detail: str, path: str) -> StrataError:
    errors = (FieldError(path, detail),) if path else ()
    return StrataError("malformed_json", detail, errors=errors)

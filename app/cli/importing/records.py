"""Rows of JSONL files and pieces of documents as fragments to store. Pure functions.

A row carries ``content``, or ``text`` with an optional ``title``; its ``id`` becomes the idempotency key; every other
field is one of the API's. What is no known field is refused, never dropped.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from app.cli.importing.documents import Document, Piece
from app.errors import StrataError
from app.http.bodies import decode_item
from app.memory import preparation
from app.memory.schemas import FragmentInput

MAX_TITLE_CHARACTERS: Final = 100
"""Of a heading in the metadata; the piece that it heads has it whole."""

MAX_LABELS: Final = 20
MAX_LABEL_CHARACTERS: Final = 64
MAX_KEY_CHARACTERS: Final = 128
_LABEL_FIELDS: Final = ("tags", "labels", "keywords")


class RowError(Exception):
    """A row that cannot be stored; the message says why."""


def fragment_of_row(line: bytes) -> FragmentInput:
    """The fragment that one line of a JSONL file describes.

    Raises:
        RowError: it is no JSON object, or breaks a rule of the API.
    """
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RowError(f"not JSON: {error}") from None
    except RecursionError:
        raise RowError("not JSON: nested too deeply") from None
    if not isinstance(row, dict):
        raise RowError("must be a JSON object")
    return checked(_with_key(_with_content(row)))


def checked(values: dict[str, Any]) -> FragmentInput:
    """A fragment out of plain values, checked by every rule that needs no database.

    Raises:
        RowError: a rule is broken; the message starts with the field's path.
    """
    item = decode_item(values, FragmentInput, "")
    try:
        if isinstance(item, StrataError):
            raise item
        preparation.check(item)
        preparation.checked_times(item, datetime.now(UTC))
    except StrataError as error:
        detail = error.detail.removeprefix(".")
        if detail.endswith("is not a known field"):
            detail += "; data of your own goes under metadata"
        raise RowError(detail) from None
    return item


def fragments_of_document(path: str, document: Document) -> Iterator[tuple[Piece, FragmentInput | RowError]]:
    """The fragments of a document's pieces.

    Args:
        path: The document's path relative to what was imported; it is the fragments' source.
        document: The divided document.
    """
    labels = _labels(document.front_matter)
    for piece in document.pieces:
        try:
            yield piece, _fragment_of_piece(path, piece, document.front_matter, labels)
        except RowError as error:
            yield piece, error


def _with_content(row: dict[str, Any]) -> dict[str, Any]:
    if "content" in row:
        for name in ("text", "title"):
            if name in row:
                raise RowError(f"has both content and {name}; {name} would be lost")
        return row
    rest = {name: value for name, value in row.items() if name not in ("text", "title")}
    text, title = row.get("text"), row.get("title")
    if not isinstance(text, str):
        raise RowError("needs content, or text with an optional title")
    if title is not None and not isinstance(title, str):
        raise RowError("title must be a string")
    return {**rest, "content": f"{title}\n{text}" if title else text}


def _with_key(row: dict[str, Any]) -> dict[str, Any]:
    if "id" not in row:
        return row
    key = row["id"]
    if "idempotency_key" in row:
        raise RowError("has both id and idempotency_key")
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise RowError("id must be a string or an integer")
    if not 1 <= len(str(key)) <= MAX_KEY_CHARACTERS:
        raise RowError(f"id must have 1 to {MAX_KEY_CHARACTERS} characters")
    return {**{name: value for name, value in row.items() if name != "id"}, "idempotency_key": str(key)}


def _labels(front_matter: dict[str, Any]) -> list[str]:
    """Tags of the front matter that can be labels; all of it is in the metadata anyway."""
    found: list[str] = []
    for name in _LABEL_FIELDS:
        value = front_matter.get(name)
        values = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
        found += [tag.strip() for tag in values if isinstance(tag, str)]
    return [tag for tag in dict.fromkeys(found) if 0 < len(tag) <= MAX_LABEL_CHARACTERS][:MAX_LABELS]


def _fragment_of_piece(
    path: str, piece: Piece, front_matter: dict[str, Any], labels: list[str]
) -> FragmentInput:
    metadata: dict[str, Any] = {"path": path, "lines": f"{piece.first_line}-{piece.last_line}"}
    if piece.headings:
        metadata["headings"] = [title[:MAX_TITLE_CHARACTERS] for title in piece.headings]
    if front_matter:
        metadata["front_matter"] = front_matter
    # The same piece of the same file has the same key, wherever its lines have moved.
    digest = hashlib.sha256(path.encode() + b"\0" + preparation.content_hash(piece.content)).hexdigest()
    return checked(
        {
            "content": piece.content,
            "source": path,
            "source_type": "document",
            "labels": labels,
            "metadata": metadata,
            "idempotency_key": f"file:{digest}",
        }
    )

"""Rows and pieces as fragments."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from app.cli.importing.documents import markdown
from app.cli.importing.records import RowError, fragment_of_row, fragments_of_document
from app.memory.schemas import FragmentInput


def row(**values: Any) -> FragmentInput:
    return fragment_of_row(msgspec.json.encode(values))


def test_a_row_has_content_or_text_with_a_title() -> None:
    assert row(content="as it is").content == "as it is"
    assert row(text="body").content == "body"
    assert row(title="Head", text="body").content == "Head\nbody"
    assert row(title=None, text="body").content == "body"
    assert row(title="", text="body").content == "body"


def test_the_id_becomes_the_idempotency_key() -> None:
    assert row(id="doc/1", content="x").idempotency_key == "doc/1"
    assert row(id=17, content="x").idempotency_key == "17"
    assert row(idempotency_key="k", content="x").idempotency_key == "k"
    assert row(content="x").idempotency_key is None


def test_other_fields_are_those_of_the_api() -> None:
    item = row(
        text="x",
        source="mail",
        source_type="conversation",
        authority="primary",
        labels=["a", "b"],
        metadata={"scope": {"deep": [1]}},
        classification={"pii": "sensitive"},
        valid_from="2026-01-31T09:30:00+01:00",
    )
    assert (item.source, item.source_type, item.authority) == ("mail", "conversation", "primary")
    assert (item.labels, item.metadata) == (["a", "b"], {"scope": {"deep": [1]}})
    assert item.classification.pii == "sensitive"
    assert item.valid_from == datetime(2026, 1, 31, 8, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"content": "x", "mood": 1}', "mood is not a known field; data of your own goes under metadata"),
        ('{"content": "x", "text": "y"}', "has both content and text; text would be lost"),
        ('{"content": "x", "title": "y"}', "has both content and title; title would be lost"),
        ('{"title": "y"}', "needs content, or text with an optional title"),
        ('{"text": 5}', "needs content, or text with an optional title"),
        ('{"text": "x", "title": 5}', "title must be a string"),
        ('{"text": "x", "id": true}', "id must be a string or an integer"),
        ('{"text": "x", "id": ""}', "id must have 1 to 128 characters"),
        ('{"text": "x", "id": "a", "idempotency_key": "b"}', "has both id and idempotency_key"),
        ("[1]", "must be a JSON object"),
        ('{"text": "\u200b"}', "content must not be blank and must not contain NUL characters"),
        (
            '{"text": "x", "metadata": {"valid_to": "soon"}}',
            "metadata.valid_to must be an RFC 3339 time or a date",
        ),
        (
            '{"text": "x", "valid_from": "2026-02-01T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"}',
            "valid_to must be after valid_from",
        ),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused_by_name(line: str, message: str) -> None:
    with pytest.raises(RowError) as caught:
        fragment_of_row(line.encode())
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "line", [b"{", b"nonsense", b'{"text": "\xff"}', b"[" * 50_000, b'{"text": "\\ud83d"}']
)
def test_what_is_no_json_is_refused(line: bytes) -> None:
    with pytest.raises(RowError, match="not JSON"):
        fragment_of_row(line)


def fragments(path: str, text: str) -> list[FragmentInput]:
    found = [fragment for _, fragment in fragments_of_document(path, markdown(text))]
    assert all(isinstance(fragment, FragmentInput) for fragment in found)
    return [fragment for fragment in found if isinstance(fragment, FragmentInput)]


def test_a_piece_carries_its_provenance() -> None:
    [one, two] = fragments("docs/a.md", "---\ntags: [x, y]\n---\n# A\n\ntext\n\n## B\n\nmore")
    assert one.content == "# A\n\ntext"
    assert (one.source, one.source_type, one.labels) == ("docs/a.md", "document", ["x", "y"])
    assert one.metadata == {
        "path": "docs/a.md",
        "lines": "4-6",
        "headings": ["A"],
        "front_matter": {"tags": ["x", "y"]},
    }
    assert two.metadata["headings"] == ["A", "B"]
    assert two.metadata["lines"] == "8-10"


def test_a_piece_keeps_its_key_when_only_its_lines_move() -> None:
    before, after = fragments("a.md", "# A\n\ntext"), fragments("a.md", "\n\n# A\n\ntext")
    assert before[0].idempotency_key == after[0].idempotency_key
    assert before[0].metadata["lines"] != after[0].metadata["lines"]
    changed, elsewhere = fragments("a.md", "# A\n\ntexts"), fragments("b.md", "# A\n\ntext")
    assert len({before[0].idempotency_key, changed[0].idempotency_key, elsewhere[0].idempotency_key}) == 3


def test_long_headings_are_shortened_in_the_metadata_alone() -> None:
    [item] = fragments("a.md", "# " + "long " * 100 + "\n\ntext")
    assert item.metadata["headings"] == ["long " * 20]
    assert item.content == "# " + "long " * 99 + "long \n\ntext"


def test_a_piece_that_cannot_be_stored_is_told_with_its_place() -> None:
    [(piece, error)] = fragments_of_document("x" * 257, markdown("\n\ntext"))
    assert piece.first_line == 3
    assert isinstance(error, RowError)
    assert str(error) == "source must have at most 256 characters"

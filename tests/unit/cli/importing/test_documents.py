"""Markdown and plain text: pieces, their headings and their line ranges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.importing.documents import Document, Piece, markdown, plain_text

# Fillers that are letters by their category and yet invisible.
FILLERS = "\u115f\u1160\u3164\uffa0"
ANY_TEXT = st.text(
    st.characters(
        categories=["L", "N", "P", "S", "Zs"], exclude_characters=FILLERS, include_characters="\n\t"
    ),
    max_size=300,
)
WORDS = st.lists(
    st.sampled_from(["retry", "the", "budget.", "A-1", "`x`", "*very*", "日本"]), min_size=1, max_size=60
)
BLOCKS = st.one_of(
    st.sampled_from(
        [
            "# One", "## Two", "### Three #", "Setext\n===", "---", "- a\n- b\n\n  c", "1. x\n   ```\n   y\n   ```",
            "| a | b |\n|---|---|\n| 1 | 2 |", "```sh\nmake run\n\n# not a heading\n```", "    indented", "> quoted",
            "<div>\n<p>\n</div>", "[ref]: https://example.org", "Do this:", "", "~~~\nnever closed",
        ]
    ),
    WORDS.map(" ".join),
    WORDS.map(lambda words: "\n".join(words * 6)),
    ANY_TEXT,
)  # fmt: skip
DOCUMENTS = st.lists(BLOCKS, max_size=14).map("\n\n".join)


def visible(text: str) -> str:
    return "".join(text.split())


def assert_faithful(text: str, document: Document) -> None:
    """Every visible character is in exactly one piece, in order, and each piece is where it says."""
    assert visible("".join(piece.content for piece in document.pieces)) == visible(text)
    lines = text.split("\n")
    last = 1
    for piece in document.pieces:
        assert 1 <= piece.first_line <= piece.last_line <= len(lines)
        assert piece.first_line >= last
        assert piece.content in "\n".join(lines[piece.first_line - 1 : piece.last_line])
        last = piece.last_line


@given(DOCUMENTS.filter(lambda text: not text.startswith("---")))
def test_no_markdown_is_lost_and_line_ranges_are_right(text: str) -> None:
    assert_faithful(text, markdown(text))


@given(st.one_of(ANY_TEXT, DOCUMENTS))
def test_no_plain_text_is_lost_and_line_ranges_are_right(text: str) -> None:
    assert_faithful(text, plain_text(text))


@given(DOCUMENTS)
def test_line_ranges_count_front_matter(body: str) -> None:
    text = "---\ntitle: T\ntags: [a]\n---\n" + body
    document = markdown(text)
    assert document.front_matter == {"title": "T", "tags": ["a"]}
    blank = "\n" * 4 + body
    assert_faithful(blank, document)


def test_sections_are_cut_at_headings_and_know_their_trail() -> None:
    text = "intro\n\n# Guide\n\n## Install `it`\n\nType this.\n\n## Use\n\nAsk.\n\n# End\n"
    assert markdown(text).pieces == (
        Piece("intro", 1, 1, ()),
        Piece("# Guide\n\n## Install `it`\n\nType this.", 3, 7, ("Guide", "Install it")),
        Piece("## Use\n\nAsk.", 9, 11, ("Guide", "Use")),
        Piece("# End", 13, 13, ("End",)),
    )


def test_code_stays_whole_with_the_sentence_that_announces_it() -> None:
    before = "word " * 230 + "end."
    code = "```\n" + "x = 1\n\n" * 400 + "```"
    text = f"# H\n\n{before}\n\nRun this:\n\n{code}\n\nAfter.\n"
    pieces = markdown(text).pieces
    assert [piece.content for piece in pieces] == [f"# H\n\n{before}", f"Run this:\n\n{code}", "After."]
    assert pieces[1].first_line == 5


def test_code_inside_a_long_list_stays_whole() -> None:
    code = "  ```\n" + "  y = 2\n" * 200 + "  ```"
    text = "- " + "word " * 200 + f"\n\n{code}\n- last\n"
    assert [piece.content for piece in markdown(text).pieces] == [
        "- " + ("word " * 200).strip(),
        code,
        "- last",
    ]


def test_a_heading_never_stands_alone_before_its_text() -> None:
    table = "| a |\n|---|\n" + "| some words |\n" * 120
    assert [piece.first_line for piece in markdown(f"# Table\n\n{table}").pieces] == [1]


def test_a_long_paragraph_is_cut_at_sentences() -> None:
    text = "This sentence has six words here. " * 60
    pieces = markdown(text).pieces
    assert len(pieces) == 2
    assert all(piece.content.endswith("here.") for piece in pieces)
    assert {(piece.first_line, piece.last_line) for piece in pieces} == {(1, 1)}


@pytest.mark.parametrize(
    "front_matter",
    [
        "- a list",
        "just words",
        "a: &x 1\nb: *x",
        "a: [",
        "!!python/object:os.system x",
        "",
        "a: " + "b" * 2_000,
    ],
)
def test_front_matter_that_is_no_plain_mapping_is_kept_as_text(front_matter: str) -> None:
    text = f"---\n{front_matter}\n---\n\nbody\n"
    document = markdown(text)
    assert document.front_matter == {}
    assert_faithful(text, document)


def test_front_matter_becomes_plain_json_values() -> None:
    document = markdown("---\ndate: 2026-03-01\n1: one\nnested: {deep: [true, null]}\n---\ntext")
    assert document.front_matter == {"date": "2026-03-01", "1": "one", "nested": {"deep": [True, None]}}
    assert document.pieces == (Piece("text", 6, 6, ()),)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_counts_as_one_line(end: str) -> None:
    text = end.join(["# A", "", "one", "two", "", "# B", "three"])
    assert markdown(text).pieces == (
        Piece("# A\n\none\ntwo", 1, 4, ("A",)),
        Piece("# B\nthree", 6, 7, ("B",)),
    )


def test_plain_paragraphs_are_packed() -> None:
    text = "one\n\ntwo\n\n" + "w " * 700 + "\n\nlast"
    assert [(piece.first_line, piece.last_line) for piece in plain_text(text).pieces] == [
        (1, 3),
        (5, 5),
        (5, 7),
    ]


@pytest.mark.parametrize("text", ["", "\n \n", "\u200b\u200b"])
def test_a_blank_text_has_no_pieces(text: str) -> None:
    assert markdown(text).pieces == ()
    assert plain_text(text).pieces == ()

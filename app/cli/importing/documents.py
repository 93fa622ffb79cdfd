"""Markdown and plain text, divided into pieces with their provenance. Pure functions.

Markdown is cut at its headings, then at its blocks: a paragraph, a list item, a table, a block of code. Code and tables
stay whole, code with the sentence that announces it. A piece's content is the file's own text, so its line range can be
checked against the file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import yaml
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from app.cli.importing import spans
from app.cli.importing.spans import Span
from app.http.fields import TEXT_PATTERN

_PARSER: Final = MarkdownIt("commonmark").enable("table")
_FRONT_MATTER: Final = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
MAX_FRONT_MATTER: Final = 1_500
"""Bytes of JSON; it goes into the metadata of every piece, which hold 4,096."""

_WHOLE: Final = ("fence", "code_block", "html_block", "table")
_CODE: Final = ("fence", "code_block")
_VISIBLE: Final = re.compile(TEXT_PATTERN)


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of a document.

    Attributes:
        content: The lines as they stand in the file, without blank ones around them.
        first_line: One-based number of its first line.
        last_line: The same of its last one.
        headings: Titles of the sections that it stands in, outermost first.
    """

    content: str
    first_line: int
    last_line: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A document's pieces in order, and what its front matter says."""

    pieces: tuple[Piece, ...]
    front_matter: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Section:
    span: Span
    headings: tuple[str, ...]
    nodes: tuple[SyntaxTreeNode, ...]


def plain_text(text: str) -> Document:
    """Divide a plain text by paragraphs."""
    text = _with_line_feeds(text)
    pieces = _pieces(text, spans.line_starts(text), spans.pack(spans.paragraphs(text)), ())
    return Document(tuple(pieces), {})


def markdown(text: str) -> Document:
    """Divide a Markdown text by headings and blocks.

    Front matter that is a YAML mapping is returned apart; any other is text like the rest, so that nothing is lost.
    """
    text = _with_line_feeds(text)
    front_matter, start = _front_matter(text)
    starts = spans.line_starts(text)
    # Blank lines in place of the front matter keep the line numbers those of the file.
    masked = "\n" * text.count("\n", 0, start) + text[start:]
    nodes = [node for node in SyntaxTreeNode(_PARSER.parse(masked)).children if node.map is not None]
    pieces: list[Piece] = []
    for section in _sections(nodes, starts, start, len(text)):
        packed = spans.pack(_blocks(text, starts, section.nodes, section.span))
        pieces.extend(_pieces(text, starts, packed, section.headings))
    return Document(tuple(pieces), front_matter)


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _front_matter(text: str) -> tuple[dict[str, Any], int]:
    """Front matter and the offset after it; nothing and 0 when there is none that can be read."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, 0
    try:
        # Aliases can make a small text expand without bound.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(match[1], Loader=yaml.SafeLoader)):
            return {}, 0
        value = msgspec.to_builtins(yaml.safe_load(match[1]), str_keys=True)
    except (yaml.YAMLError, TypeError, ValueError, RecursionError):
        return {}, 0
    if not isinstance(value, dict) or not value or len(msgspec.json.encode(value)) > MAX_FRONT_MATTER:
        return {}, 0
    return value, match.end()


def _sections(
    nodes: Sequence[SyntaxTreeNode], starts: Sequence[int], start: int, end: int
) -> Iterator[_Section]:
    """Parts between headings. Headings that follow each other directly begin one section, with the last one's trail."""
    trail: dict[int, str] = {}
    members: list[SyntaxTreeNode] = []
    only_headings = True
    for node in nodes:
        if node.type == "heading":
            if members and not only_headings:
                cut = starts[_lines(node)[0]]
                yield _Section(Span(start, cut), _titles(trail), tuple(members))
                start, members = cut, []
            level = int(node.tag[1:])
            trail = {depth: title for depth, title in trail.items() if depth < level}
            trail[level] = _title(node)
            only_headings = True
        else:
            only_headings = False
        members.append(node)
    yield _Section(Span(start, end), _titles(trail), tuple(members))


def _titles(trail: dict[int, str]) -> tuple[str, ...]:
    return tuple(trail[level] for level in sorted(trail) if trail[level])


def _title(node: SyntaxTreeNode) -> str:
    """Heading as plain text, without marks of emphasis, code and links."""
    return "".join(
        part.content if part.type in ("text", "code_inline") else " "
        for part in node.walk()
        if part.type in ("text", "code_inline", "softbreak")
    ).strip()


def _blocks(
    text: str, starts: Sequence[int], nodes: Sequence[SyntaxTreeNode], within: Span
) -> Iterator[Span]:
    """Spans of sibling blocks, the larger ones divided; together they cover ``within``."""
    bounds = [starts[_lines(node)[0]] for node in nodes]
    before = ""
    for index, node in enumerate(nodes):
        span = Span(
            bounds[index] if index else within.start,
            bounds[index + 1] if index + 1 < len(nodes) else within.end,
        )
        first, *rest = _divided(text, starts, node, span)
        glued = before == "heading" or (before == "announcement" and node.type in _CODE)
        yield Span(first.start, first.end, glued=glued)
        yield from rest
        before = "heading" if node.type == "heading" else ""
        if text[span.start : span.end].rstrip().endswith(":"):
            before = "announcement"
    if not nodes:
        yield from spans.divide(text, within)


def _divided(text: str, starts: Sequence[int], node: SyntaxTreeNode, span: Span) -> Iterator[Span]:
    if node.type in _WHOLE:
        yield from spans.divide(text, span, spans.WHOLE_CHARACTERS)
        return
    children = [child for child in node.children if child.map is not None and child.type != "inline"]
    if len(span) > spans.TARGET_CHARACTERS and children:
        yield from _blocks(text, starts, children, span)
    else:
        yield from spans.divide(text, span)


def _lines(node: SyntaxTreeNode) -> tuple[int, int]:
    if node.map is None:
        raise AssertionError("only block nodes, which know their lines, come here")
    return node.map


def _pieces(
    text: str, starts: Sequence[int], packed: Sequence[Span], headings: tuple[str, ...]
) -> Iterator[Piece]:
    for span in packed:
        kept = spans.trimmed(text, span)
        if kept is None:
            continue
        content = text[kept.start : kept.end]
        if _VISIBLE.match(content):
            yield Piece(content, *spans.line_range(starts, kept), headings)

"""Dividing a text into pieces of sensible size. Pure functions over character offsets; no character is ever lost.

A *span* is a half-open range of offsets. A text is cut where its structure allows it, then neighbouring spans are packed
into pieces of up to `TARGET_CHARACTERS`: about what an embedding model of 256 tokens reads at once.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

TARGET_CHARACTERS: Final = 1_200
"""Length that a piece is filled up to."""

SMALL_CHARACTERS: Final = 200
"""A last piece below this length joins the one before it."""

WHOLE_CHARACTERS: Final = 15_000
"""Length up to which a code block or a table stays whole: its UTF-8 always fits one fragment (65,536 bytes)."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")
_PARAGRAPH_END: Final = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)*")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text.

    Attributes:
        start: Offset of its first character.
        end: Offset after its last one.
        glued: It must stay with the span before it, as code does with the sentence that announces it.
    """

    start: int
    end: int
    glued: bool = False

    def __len__(self) -> int:
        return self.end - self.start


def divide(text: str, span: Span, limit: int = TARGET_CHARACTERS) -> Iterator[Span]:
    """Cut a span into parts of at most ``limit`` characters, at the best place that each part offers.

    The best place is the last end of a line in the part's second half, else the last end of a sentence, else the last
    white space, else the limit itself.
    """
    start = span.start
    while span.end - start > limit:
        cut = _best_cut(text, start, start + limit)
        yield Span(start, cut)
        start = cut
    yield Span(start, span.end)


def paragraphs(text: str) -> Iterator[Span]:
    """Paragraphs of a plain text, the blank lines after each included; long ones divided."""
    start = 0
    for match in _PARAGRAPH_END.finditer(text):
        yield from divide(text, Span(start, match.end()))
        start = match.end()
    yield from divide(text, Span(start, len(text)))


def pack(parts: Iterable[Span]) -> list[Span]:
    """Join neighbouring spans into pieces of up to the target length; a longer span stays as it is."""
    pieces: list[Span] = []
    for span in _glued(parts):
        last = pieces[-1] if pieces else None
        if last is not None and len(last) + len(span) <= TARGET_CHARACTERS:
            pieces[-1] = Span(last.start, span.end)
        else:
            pieces.append(span)
    if len(pieces) > 1 and len(pieces[-1]) < SMALL_CHARACTERS and len(pieces[-2]) <= TARGET_CHARACTERS:
        pieces[-2:] = [Span(pieces[-2].start, pieces[-1].end)]
    return pieces


def _glued(parts: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in parts:
        if span.glued and joined and len(joined[-1]) + len(span) <= WHOLE_CHARACTERS:
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(Span(span.start, span.end))
    return joined


def line_starts(text: str) -> list[int]:
    """Offset of each line, and of the end of the text; lines end with a line feed."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return starts if starts[-1] == len(text) else [*starts, len(text)]


def trimmed(text: str, span: Span) -> Span | None:
    """A span without blank lines at its ends and white space at its very end; ``None`` for a blank one."""
    part = text[span.start : span.end]
    end = span.start + len(part.rstrip())
    if end == span.start:
        return None
    leading = len(part) - len(part.lstrip())
    # The first line keeps its indentation: it may be code.
    line = part.rfind("\n", 0, leading) + 1
    return Span(span.start + line, end)


def line_range(starts: Sequence[int], span: Span) -> tuple[int, int]:
    """One-based numbers of the first and the last line of a span that is not empty."""
    return bisect_right(starts, span.start), bisect_right(starts, span.end - 1)


def _best_cut(text: str, start: int, end: int) -> int:
    middle = start + max(1, (end - start) // 2)
    if (line_end := text.rfind("\n", middle, end)) >= 0:
        return line_end + 1
    sentences = [match.end() for match in _SENTENCE_END.finditer(text, middle, end)]
    if sentences:
        return sentences[-1]
    for offset in range(end - 1, middle, -1):
        if text[offset].isspace():
            return offset + 1
    return end

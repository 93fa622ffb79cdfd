"""Memories as short texts for a terminal. Pure functions."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

_UNITS: Final = (
    (365.25 * 86_400, "y"),
    (30.44 * 86_400, "mo"),
    (86_400.0, "d"),
    (3_600.0, "h"),
    (60.0, "min"),
)
_SPACE: Final = re.compile(r"\s+")
_WORD: Final = re.compile(r"\w+")
_SHORT_WORD: Final = 2
_STEP: Final = 20
ELLIPSIS: Final = "…"


def age(then: str | None, now: datetime) -> str:
    """How long ago an RFC 3339 time was, in its largest unit: ``3 d``, ``5 mo``; in the future: ``in 2 h``."""
    if then is None:
        return ""
    seconds = (now - datetime.fromisoformat(then)).total_seconds()
    for length, unit in _UNITS:
        if abs(seconds) >= length:
            amount = f"{int(abs(seconds) // length)} {unit}"
            return amount if seconds > 0 else f"in {amount}"
    return "now"


def number(value: float) -> str:
    """A score with four digits that tell: ``23.07``, ``0.01639``."""
    return f"{value:#.4g}"


def one_line(text: str, width: int) -> str:
    """The beginning of a text as one line of at most ``width`` characters."""
    folded = _SPACE.sub(" ", text).strip()
    return folded if len(folded) <= width else folded[: width - 1].rstrip() + ELLIPSIS


def snippet(text: str, query: str, width: int) -> str:
    """The part of a text that holds the most of the query's words, as one line of about ``width`` characters."""
    folded = _SPACE.sub(" ", text).strip()
    words = {word.casefold() for word in _WORD.findall(query) if len(word) > _SHORT_WORD}
    if len(folded) <= width or not words:
        return one_line(folded, width)
    places = [(match.start(), match[0].casefold()) for match in _WORD.finditer(folded)]
    found = [(start, word) for start, word in places if word in words]
    best = max(
        range(0, len(folded) - width // 2, _STEP), key=lambda start: (_held(found, start, width), -start)
    )
    if best == 0:
        return one_line(folded, width)
    # Begin with a whole word.
    begin = next((start for start, _ in places if start >= best), best)
    return ELLIPSIS + one_line(folded[begin:], width - 1)


def _held(found: Sequence[tuple[int, str]], start: int, width: int) -> int:
    return len({word for place, word in found if start <= place < start + width})


def memory_of(hit: Mapping[str, Any]) -> Mapping[str, Any]:
    """The memory that a hit of a recall's answer carries under the name of its kind."""
    memory = hit.get(hit.get("kind", "fragment"))
    return memory if isinstance(memory, Mapping) else {}


def content_of(hit: Mapping[str, Any]) -> str:
    """The text of a hit: a fragment's content, or what else its memory says in words."""
    memory = memory_of(hit)
    if "content" in memory:
        return str(memory["content"])
    return " ".join(str(memory[name]) for name in ("subject", "predicate", "object") if name in memory)

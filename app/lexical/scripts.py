"""Scripts: which runs of a text are written without spaces, and the n-grams that stand for their words.

Han, kana, bopomofo and Hangul runs are cut into characters, Thai, Lao, Khmer and Myanmar runs into clusters of a
base character and its marks. A run of two or more units is represented by overlapping bigrams (as Lucene's
CJKAnalyzer does); its unigrams are stored too, so that a query of one character finds something.
"""

from enum import StrEnum
from itertools import pairwise
from typing import Final

import regex


class Script(StrEnum):
    """Groups of scripts that a caller may want to count apart."""

    LATIN = "latin"
    CYRILLIC = "cyrillic"
    GREEK = "greek"
    ARABIC = "arabic"
    HEBREW = "hebrew"
    HAN = "han"
    KANA = "kana"
    HANGUL = "hangul"
    SOUTH_EAST_ASIAN = "south_east_asian"
    DIGIT = "digit"
    EMOJI = "emoji"
    OTHER = "other"


_CJK: Final = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}ー]&&[\p{L}\p{M}\p{Nl}]"
_SEA: Final = r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&[\p{L}\p{M}]"
_EMOJI: Final = (
    r"\p{Regional_Indicator}{2}"
    r"|\p{Extended_Pictographic}\p{Emoji_Modifier}?(?:\u200d\p{Extended_Pictographic}\p{Emoji_Modifier}?)*"
)
_SEGMENTS: Final = regex.compile(
    rf"(?P<cjk>[{_CJK}]+)|(?P<sea>[{_SEA}]+)|(?P<emoji>{_EMOJI})"
    rf"|(?P<other>[^[{_CJK}][{_SEA}]\p{{Extended_Pictographic}}\p{{Regional_Indicator}}]+|\p{{Regional_Indicator}})",
    regex.V1,
)
_CLUSTERS: Final = regex.compile(r"\P{M}\p{M}*|\p{M}+")
_MARK: Final = regex.compile(r"\p{M}")
_EMOJI_BASE: Final = regex.compile(r"\p{Extended_Pictographic}")

_BY_NAME: Final = (
    (regex.compile(r"\p{Latin}"), Script.LATIN),
    (regex.compile(r"\p{Nd}"), Script.DIGIT),
    (regex.compile(r"\p{Han}"), Script.HAN),
    (regex.compile(r"[\p{Hiragana}\p{Katakana}ー]"), Script.KANA),
    (regex.compile(r"\p{Hangul}"), Script.HANGUL),
    (regex.compile(r"\p{Cyrillic}"), Script.CYRILLIC),
    (regex.compile(r"\p{Greek}"), Script.GREEK),
    (regex.compile(r"\p{Arabic}"), Script.ARABIC),
    (regex.compile(r"\p{Hebrew}"), Script.HEBREW),
    (regex.compile(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"), Script.SOUTH_EAST_ASIAN),
    (regex.compile(r"\p{Extended_Pictographic}|\p{Regional_Indicator}"), Script.EMOJI),
)


def segments(text: str) -> list[tuple[str, str]]:
    """Cut a text into runs ``(kind, run)``, kind one of ``cjk``, ``sea``, ``emoji``, ``other``; nothing is lost."""
    if text.isascii():
        return [("other", text)]
    return [(match.lastgroup or "other", match.group()) for match in _SEGMENTS.finditer(text)]


def units(run: str) -> list[str]:
    """The characters of an unspaced run, each with its combining marks."""
    return list(_CLUSTERS.findall(run)) if _MARK.search(run) else list(run)


def bigrams(characters: list[str]) -> list[str]:
    """Overlapping pairs of the given units, in order; empty for fewer than two."""
    return [first + second for first, second in pairwise(characters)]


def emoji_bases(sequence: str) -> list[str]:
    """The pictographs of an emoji sequence without skin tones and joiners (a flag stands for itself)."""
    return list(_EMOJI_BASE.findall(sequence)) or [sequence]


def script_of(token: str) -> Script:
    """The script of a token's first character."""
    head = token[:1]
    if head.isascii():
        return Script.LATIN if head.isalpha() else Script.DIGIT if head.isdigit() else Script.OTHER
    return next((script for pattern, script in _BY_NAME if pattern.match(head)), Script.OTHER)

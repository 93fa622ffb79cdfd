"""Unicode normalisation: what makes two spellings of one word the same string.

Two steps, because identifiers need the letter case that words do not:

* :func:`clean` works on a whole text and keeps the case (NFKC, invisible characters removed, one apostrophe);
* :func:`casefold` and :func:`fold` work on one word (case, then accents and letter variants).

Everything here is a pure function of its argument; no input raises, lone surrogates included.
"""

import re
import sys
import unicodedata
from typing import Final

import regex

# Default-ignorable characters: soft hyphen, joiners, directional marks, variation selectors, tags, tatweel.
# The zero-width joiner (200D) is handled apart, because emoji sequences need it.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_JOINER: Final = "\u200d"
_STRAY_JOINER: Final = regex.compile(
    rf"(?<![\p{{Extended_Pictographic}}\p{{Emoji_Modifier}}]){_JOINER}|{_JOINER}(?!\p{{Extended_Pictographic}})"
)
_APOSTROPHES: Final = re.compile("[\u2018\u2019\u201b\u02bc\u02b9\u055a\u05f3\uff07\u00b4]")
_HYPHENS: Final = re.compile("[\u2010\u2011\u2043\ufe63\uff0d]")
# NFKC would glue these to the word before them ("Foo™" -> "FooTM").
_MARKS: Final = re.compile("[\u2120\u2122\u00a9\u00ae]")

# Combining marks that are optional in writing: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowel
# signs. Vowel signs of Indic and South-East Asian scripts are letters to their readers and stay; so does the
# breve of Cyrillic short i, a letter of its own.
_ACCENTS: Final = re.compile(
    "(?<![\u0438\u0418])\u0306|[\u0300-\u0305\u0307-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_LETTERS: Final[dict[str, str]] = {
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t",
    "ĸ": "k", "ŋ": "n", "ſ": "s", "ƒ": "f",
    # Arabic and Persian: one code point for each letter, however the keyboard wrote it.
    "ٱ": "ا", "ى": "ي", "ی": "ي", "ې": "ي", "ک": "ك", "ڪ": "ك", "ۀ": "ه", "ە": "ه", "ہ": "ه", "ھ": "ه", "ة": "ه",
}  # fmt: skip
_FOLD: Final[dict[int, str]] = {ord(letter): plain for letter, plain in _LETTERS.items()} | {
    point: str(unicodedata.decimal(chr(point)))
    for point in range(0x80, sys.maxunicode + 1)
    if unicodedata.category(chr(point)) == "Nd"
}


def clean(text: str) -> str:
    """Bring a text into compatibility form, its letter case kept.

    NFKC (full-width forms, ligatures, half-width katakana, superscripts), one apostrophe and one hyphen, invisible
    characters and tatweel removed; a zero-width joiner survives only inside an emoji sequence.
    """
    if text.isascii():
        return text
    text = _MARKS.sub(" ", text)
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", _APOSTROPHES.sub("'", text))
    text = _INVISIBLE.sub("", _HYPHENS.sub("-", _APOSTROPHES.sub("'", text)))
    if _JOINER in text:
        text = _STRAY_JOINER.sub("", text)
    return text


def casefold(word: str) -> str:
    """Fold the letter case of one cleaned word, in NFC (``ß`` -> ``ss``, ``İ`` -> ``i``)."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", word.casefold().replace("i\u0307", "i"))


def fold(word: str) -> str:
    """Fold accents, letter variants and non-ASCII digits of one case-folded word; idempotent."""
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word)).translate(_FOLD)
    return unicodedata.normalize("NFC", bare)

r"""Anchors: exact identifiers found in text, in three sets. Pure functions.

The grammar is Dense-Mem's of July 2026 (its recall page and `reference`): :func:`broad` extraction, from which

- :func:`hard` anchors gate fragments: pull request and issue numbers, hex tokens, versions, scopes, underscore names,
  names of source and configuration files, project paths;
- :func:`ranking` anchors add to a score and to the tier: the hard ones, an entity word with its id (``job UNT-013``),
  ``.db`` and ``.exe`` names;
- :func:`strong` anchors admit facts and claims: anything with ``/ : _ .`` or a hyphen before a digit.

Its faults are kept on purpose: all-letter words of hexadecimal letters (``defaced``) are anchors, ``pull 3 records``
is a pull request, a bare ``PROJ-123`` is none. :func:`exact` is the mended set of ``strata-v1``.

Normal form: quotes, brackets and final dots stripped, ``\`` as ``/``, lower case, no leading ``./``, ``//`` as ``/``.
"""

import re
from typing import Final

_REFERENCE: Final = re.compile(
    r"(?<![\w])(?:pull[_ ]requests?(?:_number)?|pr_number|issue_number|gh_issue|pr|pull|issue|gh)\s*[:#_\-]?\s*#?"
    r"(\d{1,8})(?![\w])",
    re.IGNORECASE,
)
_HEX: Final = re.compile(r"(?<![\w])[0-9a-f]{7,40}(?![\w])", re.IGNORECASE)
_VERSION: Final = re.compile(
    r"(?<![\w])v\d+(?:\.\d+){1,4}(?:[\-+][0-9a-z][0-9a-z.\-+]*)?(?![\w])", re.IGNORECASE
)
_SCOPE: Final = re.compile(r"(?<![\w:/.\-])[a-z][\w\-]+:[a-z][\w\-]*[\w](?![\w:/])", re.IGNORECASE)
_OTHER: Final = re.compile(r"\.{0,2}[/\\]?\w+(?:[./\\_:\-]+\w+)*")
_KEPT: Final = re.compile(r"[/_:.]|v\d|-\d")
_CAMEL: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_MIN_CAMEL: Final = 5
_ENTITY: Final = re.compile(
    r"(?<![\w])(?:account|bug|issue|job|project|queue|service|task|ticket)s?\s*[:#]?\s*"
    r"([a-z][a-z0-9]*(?:-[a-z0-9]+)*-\d+)(?![\w\-])",
    re.IGNORECASE,
)
_EXTENSIONS: Final = frozenset(
    [
        "bash",
        "c",
        "cc",
        "cfg",
        "conf",
        "cpp",
        "cs",
        "css",
        "env",
        "go",
        "h",
        "hpp",
        "html",
        "java",
        "js",
        "json",
        "jsx",
        "kt",
        "md",
        "php",
        "py",
        "rb",
        "rs",
        "scss",
        "sh",
        "sql",
        "toml",
        "ts",
        "tsx",
        "xml",
        "yaml",
        "yml",
    ]
)
_PROJECT_WORDS: Final = frozenset(
    [
        "bugfix",
        "chore",
        "cmd",
        "codex",
        "docs",
        "exp",
        "feature",
        "fix",
        "github",
        "gitlab",
        "hotfix",
        "internal",
        "origin",
        "pkg",
        "refs",
        "release",
        "src",
        "test",
        "tests",
        "web",
    ]
)
_PROGRAM: Final = re.compile(r"[\w\-]+\.(?:db|exe)")
_NUMBERED: Final = re.compile(r"(?:pr-|#)\d{1,8}")
_HYPHEN_DIGIT: Final = re.compile(r"-\d")
_EDGES: Final = "\"'`()[]{}<>,;!?"

_KEY: Final = re.compile(r"(?<![\w\-/.])[A-Z][A-Z0-9]*[A-Z](?:-[A-Z0-9]+)*-\d{2,}(?![\w\-])")
_HEX_CONTEXT: Final = re.compile(
    r"\b(?:commits?|sha|revisions?|hash|changesets?|rev)\s*[:#]?\s*([0-9a-f]{7,40})\b", re.IGNORECASE
)


def normal(token: str) -> str:
    """Normal form of a token."""
    token = token.strip(_EDGES).rstrip(".").replace("\\", "/").lower()
    return re.sub(r"/{2,}", "/", token).removeprefix("./")


def broad(text: str) -> tuple[str, ...]:
    """Everything that could become an anchor, in normal form, in order of the rules, without repeats."""
    found: dict[str, None] = {}
    for match in _REFERENCE.finditer(text):
        number = int(match[1])
        found |= {f"pr-{number}": None, f"#{number}": None}
    for pattern in (_HEX, _VERSION, _SCOPE):
        found |= dict.fromkeys(normal(match.group()) for match in pattern.finditer(text))
    # The words of a reference ("pr_number: 12") are no names of their own.
    for match in _OTHER.finditer(_REFERENCE.sub(" ", text)):
        token = match.group().strip(_EDGES)
        if _KEPT.search(normal(token)) or (len(token) >= _MIN_CAMEL and _CAMEL.search(token)):
            found[normal(token)] = None
    found.pop("", None)
    return tuple(found)


def hard(text: str) -> tuple[str, ...]:
    """Anchors that a fragment must hold, every one of them."""
    tokens = broad(text)
    kept = [token for token in tokens if _is_hard(token)]
    return tuple(token for token in kept if not (token[0] == "#" and f"pr-{token[1:]}" in kept))


def ranking(text: str) -> tuple[str, ...]:
    """Hard anchors, ids qualified by an entity word, and names of programs and databases."""
    found = dict.fromkeys(hard(text))
    found |= dict.fromkeys(match[1].lower() for match in _ENTITY.finditer(text))
    found |= dict.fromkeys(token for token in broad(text) if _PROGRAM.fullmatch(token))
    return tuple(found)


def strong(text: str) -> tuple[str, ...]:
    """Anchors that a fact or claim must hold when the question has any."""
    return tuple(token for token in broad(text) if _is_strong(token))


def exact(text: str, *, strict_hex: bool = True, bare_keys: bool = True) -> tuple[str, ...]:
    """Anchors of ``strata-v1``: the ranking ones with the cures.

    A hexadecimal token needs a digit and a letter, or a word such as "commit" before it; a bare ``KEY-123`` of capital
    letters counts (two digits at least: ``SHP-2`` is a protein). Whether an anchor gates is decided by whether the
    profile holds it (:mod:`app.recall.gating`).
    """
    named = {match[1].lower() for match in _HEX_CONTEXT.finditer(text)}
    found = dict.fromkeys(
        token
        for token in ranking(text)
        if not strict_hex or not _HEX.fullmatch(token) or token in named or _is_mixed(token)
    )
    if bare_keys:
        found |= dict.fromkeys(match.group().lower() for match in _KEY.finditer(text))
    return tuple(found)


class AnchorText:
    """A text that can be asked whether it holds an anchor."""

    __slots__ = ("_text", "_tokens")

    def __init__(self, text: str) -> None:
        self._text = text.lower().replace("\\", "/")
        self._tokens = frozenset(broad(text))

    def holds(self, anchor: str) -> bool:
        """Whether the anchor is one of the text's own, or stands in it as a whole."""
        if anchor in self._tokens:
            return True
        if anchor not in self._text:
            return False
        return re.search(rf"(?<![\w]){re.escape(anchor)}(?![\w])", self._text) is not None

    def holds_any(self, anchors: tuple[str, ...]) -> bool:
        """Whether it holds one of them."""
        return any(map(self.holds, anchors))

    def holds_all(self, anchors: tuple[str, ...]) -> bool:
        """Whether it holds every one; true when there is none."""
        return all(map(self.holds, anchors))


# --- the detector of the overfetch ---------------------------------------------------------------------------------

_ISO_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_LEGACY_WORD: Final = re.compile(r"(?=.*[a-z])[a-z][a-z0-9]{3,}")
_HAS_DIGIT: Final = re.compile(r"\d")


def legacy(text: str) -> tuple[str, ...]:
    """Tokens of the older digit-oriented detector, which decides the overfetch's floor and "identifiers match".

    A token with a digit that is no ISO date and either has a hyphen or is four or more lower-case letters and digits,
    a letter first.
    """
    tokens = (token.strip(_EDGES + ".:") for token in text.split())
    return tuple(dict.fromkeys(token for token in tokens if _is_legacy(token)))


def legacy_match(query_tokens: tuple[str, ...], content: str) -> bool:
    """Whether every legacy token of a question is a whole token of the content; true without any."""
    if not query_tokens:
        return True
    held = {token.strip(_EDGES + ".:").lower() for token in content.split()}
    return all(token.lower() in held for token in query_tokens)


def _is_legacy(token: str) -> bool:
    if _HAS_DIGIT.search(token) is None or _ISO_DATE.fullmatch(token):
        return False
    return "-" in token or _LEGACY_WORD.fullmatch(token) is not None


# --- parts of the grammar ------------------------------------------------------------------------------------------


def _is_mixed(token: str) -> bool:
    return any(map(str.isdigit, token)) and any(map(str.isalpha, token))


def _is_file(name: str) -> bool:
    stem, dot, extension = name.rpartition(".")
    return bool(dot) and extension in _EXTENSIONS and bool(stem or name.startswith("."))


def _is_hard(token: str) -> bool:
    if (
        _NUMBERED.fullmatch(token)
        or _HEX.fullmatch(token)
        or _VERSION.fullmatch(token)
        or _SCOPE.fullmatch(token)
    ):
        return True
    return "_" in token or _is_file(token) or _is_project_path(token)


def _is_project_path(token: str) -> bool:
    if "/" not in token:
        return False
    parts = [part for part in token.split("/") if part]
    first = parts[0].removeprefix(".") if parts else ""
    return first in _PROJECT_WORDS or any("_" in part or _is_file(part) for part in parts)


def _is_strong(token: str) -> bool:
    if _NUMBERED.fullmatch(token) or _HEX.fullmatch(token) or _VERSION.fullmatch(token):
        return True
    return any(mark in token for mark in "/:_.") or _HYPHEN_DIGIT.search(token) is not None

r"""Identifiers: names that people copy exactly, kept as one term beside the words they are made of.

``PROJ-123``, ``v1.6.2``, ``user_id``, ``feedback:read``, ``scripts/ci-check.sh``, ``C:\logs\a.txt``, ``2e4b0cc``,
``C++``, ``.NET``, ``PR #56``, UUIDs, e-mail addresses, URLs, error codes. A term is :data:`MARK` followed by the
canonical, lower-cased form, so that it never collides with a word. Different spellings of one thing share a form:
``PR 56`` and ``pull request #56`` both give ``=pr-56`` and ``=#56``; ``v1.6.2`` also gives ``=1.6.2``; a long hash
also gives its first seven digits; a URL loses its scheme; a path its leading ``./``.

An identifier is *strong* when it is unlike any ordinary word, so that an exact match is worth fetching by itself
(``singer/songwriter``, ``10:30`` and ``2023-05-08`` are whole terms, but weak).
"""

import hashlib
import re
from typing import Final, NamedTuple

from app.lexical.normalize import fold
from app.lexical.scripts import segments

MARK: Final = "="
"""First character of every identifier term."""

MAX_TERM_CHARACTERS: Final = 120
"""Longer terms keep their beginning and a digest of the whole (4-byte characters: 480 bytes, limit 2,046)."""

_MAX_RUN: Final = 400
_MAX_PIECES: Final = 16
_SHORT_HASH: Final = 7
_MIN_CAMEL: Final = 5
_DIGEST_BYTES: Final = 8


class Identifier(NamedTuple):
    """One identifier: its term (with :data:`MARK`) and whether an exact match alone is worth fetching."""

    term: str
    strong: bool


def bounded(term: str) -> str:
    """Shorten a huge term to its beginning and a digest, so that equal texts stay equal terms."""
    if len(term) <= MAX_TERM_CHARACTERS:
        return term
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
    return term[: MAX_TERM_CHARACTERS - 1 - len(digest)] + "~" + digest


# A run is what may belong to one identifier; brackets, quotes, commas, equal signs and the like end it.
_RUN: Final = re.compile(r"[\w.@:/\\#+~&\-]+")
_URL: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]{0,30}://|www\.)[^\s<>\"'`()\[\]{}|\\^]+")
_EMAIL: Final = re.compile(r"[\w.+\-]+@([\w\-]+(?:\.[\w\-]+)+)")
_HANDLE: Final = re.compile(r"@[A-Za-z]\w[\w.\-]*")
_REFERENCE: Final = re.compile(
    r"(?P<kind>pr|pull|pull[_\-]?requests?|merge[_\-]?requests?|mr|gh|issues?|gh_issue)(?:_?number)?[:_/\-]?#?(?P<number>[0-9]{1,8})",
    re.IGNORECASE,
)
_ASSIGNED: Final = re.compile(
    r"\b(?P<kind>pr|pull_request|issue|gh_issue)_number[\"']?[=:][\"']?(?P<number>[0-9]{1,8})\b",
    re.IGNORECASE,
)
_HASHED: Final = re.compile(r"#(?:[0-9]{1,8}|[^\W\d][\w\-]+)")
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEX: Final = re.compile(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,128}")
_VERSION: Final = re.compile(
    r"v?([0-9]+(?:\.[0-9]+){1,4}(?:[\-+.]?(?:[a-z][a-z0-9]*|[0-9]+)(?:[\-+.][a-z0-9]+)*)?)"
)
_DECIMAL: Final = re.compile(r"[0-9]+\.[0-9]+")
_DATE_OR_TIME: Final = re.compile(
    r"[0-9]{4}([\-/.])[0-9]{1,2}\1[0-9]{1,2}(?:t[0-9:.+z\-]*)?|[0-9]{1,2}([\-/.])[0-9]{1,2}\2[0-9]{4}"
    r"|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}|[0-9]{1,2}(?::[0-9]{2}){1,2}"
)
_IPV6: Final = re.compile(r"(?=.*[0-9a-f])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}")
_SUFFIXED: Final = re.compile(r"[a-z]\w*\+\+|[a-z]#")
_FLAG: Final = re.compile(r"--[a-z][\w\-]+")
_LEADING_DOT: Final = re.compile(r"\.[a-z][\w\-]*(?:\.[\w\-]+)*")
_SCOPE: Final = re.compile(r"[a-z][\w\-]+(?:::?[a-z][\w.\-]+)+")
_DIGIT: Final = re.compile(r"[0-9]")
_DIGITS_ONLY: Final = re.compile(r"[0-9\-]+")
_DOTTED: Final = re.compile(r"[\w\-]+(?:\.[\w\-]+)+")
_SENTENCE_JOIN: Final = re.compile(r"[^\W_]*[a-z]\.[A-Z][a-z]*")
_ABBREVIATION: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_HYPHENATED: Final = re.compile(r"\w+(?:-\w+)+")
_CODE: Final = re.compile(
    r"[A-Z]{1,6}[0-9]{3,}[A-Z0-9]*|[A-Za-z]+[0-9]+[A-Za-z]+[0-9][A-Za-z0-9]*|0[xX][0-9A-Fa-f]+"
)
_CAMEL: Final = re.compile(r"[^\W\d_]*(?:[a-z][A-Z]|[A-Z]{2}[a-z]{2})[^\W_]*")
_AMPERSAND: Final = re.compile(r"[a-z]{1,4}(?:&[a-z]{1,4})+")
_WORD_RUN: Final = re.compile(r"[^\W\d_]+")
_PROSE: Final = re.compile(
    r"[^\w@#+./\\:&-]*(?:[A-Z]?[a-z]+|[A-Z]+|[0-9]{1,4})?(?:[-',;][a-z]+)*[^\w@#+/\\:&-]*"
)
_CLEAR_PATH: Final = re.compile(r"[~/.]|[a-z]:/|.*[/].*[/]|.*[_.0-9\-]")

_PULL: Final = frozenset(
    {"pr", "prs", "pull", "pullrequest", "pullrequests", "mergerequest", "mergerequests", "mr", "gh"}
)


def extract(text: str) -> list[Identifier]:
    """Find every identifier of a cleaned text (:func:`app.lexical.normalize.clean`), in order, without repeats."""
    chunks = text.split()
    found: dict[str, bool] = {}
    for position, chunk in enumerate(chunks):
        runs = [run for kind, run in segments(chunk) if kind == "other"]
        names = [name for run in runs for name in of_chunk(run)]
        for term, strong in (*names, *of_reference(chunks, position)):
            found[term] = found.get(term, False) or strong
    return [Identifier(term, strong) for term, strong in found.items()]


def of_chunk(chunk: str) -> list[Identifier]:
    """The identifiers inside a chunk of cleaned text without white space and unspaced scripts."""
    if _PROSE.fullmatch(chunk):
        return []
    found: dict[str, bool] = {}
    rest = chunk
    if "://" in chunk or "www." in chunk:
        for match in _URL.finditer(chunk):
            _add(found, _url(match.group().rstrip(".,;:!?*_~&")))
        rest = _URL.sub(" ", chunk)
    for match in _ASSIGNED.finditer(rest):
        _add(found, _numbered(match))
    for run in _RUN.findall(rest):
        _add(found, _run(run))
    return [Identifier(bounded(MARK + fold(form)), strong) for form, strong in found.items()]


# --- references of several words -----------------------------------------------------------------------------------

_NUMBER: Final = re.compile(
    r"[(\[{\"'<]*(?P<mark>#?)(?P<number>[0-9]{1,8})(?:[^\w%°.:/\\\-]|[.:;!?)\]}\"'>]+$|$)"
)
_NOUN: Final = re.compile(r"(?:^|[^\w])(?P<noun>[A-Za-z]+(?:[_\-][A-Za-z]+)*)[:#]*$")
_HASH_FREE: Final = frozenset({"pr", "prs", "mr", "gh", "issue", "issues"})
_HASH_ONLY: Final = frozenset({"pull"})
_NUMBER_NOUN: Final = re.compile(
    r"(?:pr|pull_request|issue|gh_issue|pull)(?:_number)?|gh|mr|issues|prs", re.IGNORECASE
)
_HTTP: Final = frozenset({"http", "https", "status", "error"})
_HTTP_STATUS: Final = re.compile(r"[1-5][0-9]{2}")


def of_reference(chunks: list[str], position: int) -> list[Identifier]:
    """The identifier that the number at ``position`` forms with the words before it (``PR 56``, ``HTTP 503``)."""
    match = _NUMBER.match(chunks[position]) if position else None
    if match is None:
        return []
    before = position - 1
    if chunks[before] in {"#", ":", "no.", "No.", "number"} and before:
        before -= 1
    noun_match = _NOUN.search(chunks[before])
    if noun_match is None:
        return []
    noun = noun_match["noun"].lower()
    previous = chunks[before - 1].lower() if before else ""
    return _reference(
        noun, previous, match["number"], marked=bool(match["mark"]) or chunks[position - 1] == "#"
    )


def _reference(noun: str, previous: str, number: str, *, marked: bool) -> list[Identifier]:
    """Forms for a noun, the word before it and a number; empty when the three form no reference."""
    forms: list[str] = []
    if noun in {"request", "requests"} and previous.endswith(("pull", "merge")):
        forms = [f"pr-{int(number)}", f"#{int(number)}"]
    elif _NUMBER_NOUN.fullmatch(noun) and (marked or noun not in _HASH_ONLY):
        kind = "pr" if noun.partition("_")[0] in _PULL else "issue"
        kind = "issue" if "issue" in noun else kind
        forms = [f"{kind}-{int(number)}", f"#{int(number)}"]
    elif _HTTP_STATUS.fullmatch(number) and (
        noun in {"http", "https"} or (noun in _HTTP and previous.startswith("http"))
    ):
        forms = [f"http-{number}"]
    return [Identifier(MARK + form, strong=True) for form in forms]


# --- one run -------------------------------------------------------------------------------------------------------


def _add(found: dict[str, bool], forms: list[tuple[str, bool]]) -> None:
    for form, strong in forms:
        found[form] = found.get(form, False) or strong


def _url(url: str) -> list[tuple[str, bool]]:
    """A URL without its scheme and final slash, its host, and the identifiers in its path."""
    bare = url.lower().partition("://")[2] or url.lower()
    whole = bare.removeprefix("www.").rstrip("/")
    if not whole:
        return []
    host, _, path = whole.partition("/")
    forms = [(whole, True), (host.rpartition("@")[2].partition(":")[0], whole == host)]
    original = url.partition("://")[2] or url
    pieces = re.split(r"[/?&=#;,]", original[len(original) - len(path) :] if path else "")
    for piece in pieces[:_MAX_PIECES]:
        forms += _simple(piece.strip(".:-+&"))
    forms += _path_reference(path)
    return [form for form in forms if form[0]]


def _path_reference(path: str) -> list[tuple[str, bool]]:
    """``.../pull/56`` and ``.../issues/412`` of a forge's address."""
    match = re.search(r"(?:^|/)(pull|issues|merge_requests)/([0-9]{1,8})(?![^/?#])", path)
    if match is None:
        return []
    kind = "issue" if match[1] == "issues" else "pr"
    return [(f"{kind}-{int(match[2])}", True), (f"#{int(match[2])}", True)]


def _run(run: str) -> list[tuple[str, bool]]:
    """Forms of a maximal run of identifier characters, and of the pieces it is made of."""
    run = _strip(run)
    if not run or len(run) > _MAX_RUN:
        return []
    forms = _whole(run)
    pieces = re.split(r"[:/\\@&.]", run)
    if len(pieces) > 1 and not _is_number_like(run.lower()):
        if "/" in run or "\\" in run:
            pieces.append(_strip(re.split(r"[/\\]", run)[-1].partition(":")[0]))
        if ":" in run:
            pieces.append(_strip(run.partition(":")[0]))
        for piece in pieces[:_MAX_PIECES]:
            forms += _simple(_strip(piece))
    return forms


def _strip(run: str) -> str:
    """Remove punctuation that belongs to the sentence: any at the end, all but ``. # @ ~ / --`` at the front."""
    if run.isalnum():
        return run
    run = run.rstrip(".:@/\\&~-")
    if run.endswith("+") and not run.endswith("++"):
        run = run.rstrip("+")
    if run.endswith("#") and not _SUFFIXED.fullmatch(run.lower()):
        run = run.rstrip("#")
    head = len(run) - len(run.lstrip(":+&-#@.~/\\"))
    prefix = run[:head]
    if prefix.endswith("--") and run[head : head + 1].isalpha():
        return "--" + run[head:]
    for kept in ("../", "./", "~/", "/", "\\\\", ".", "#", "@"):
        if prefix == kept or (
            prefix.endswith(kept) and prefix[-len(kept) - 1 : -len(kept)] not in {".", kept[:1]}
        ):
            return kept + run[head:]
    return run[head:]


def _is_number_like(low: str) -> bool:
    return _DATE_OR_TIME.fullmatch(low) is not None or _VERSION.fullmatch(low) is not None


def _whole(run: str) -> list[tuple[str, bool]]:
    """Forms of a run that may hold separators."""
    low = run.lower()
    if "@" in low:
        return _address(low)
    if "/" in low or "\\" in low:
        return _path(run, low)
    if ":" in low:
        return _colon(low)
    return _simple(run)


def _address(low: str) -> list[tuple[str, bool]]:
    email = _EMAIL.fullmatch(low)
    if email is not None:
        return [(low, True), (email[1], False)]
    return [(low, True)] if _HANDLE.fullmatch(low) or "/" in low else []


def _path(run: str, low: str) -> list[tuple[str, bool]]:
    """A slash or backslash path in canonical form: forward slashes, no leading ``./``, ``~/`` or ``/``."""
    reference = _REFERENCE.fullmatch(run)
    if reference is not None:
        return _numbered(reference)
    slashed = re.sub(r"/{2,}", "/", low.replace("\\", "/"))
    canonical = re.sub(r"^(?:\.{0,2}|~)/", "", slashed)
    strong = _CLEAR_PATH.match(slashed) is not None and not re.fullmatch(r"[0-9/.,\-]+", slashed)
    forms = [(canonical, strong)]
    bare = re.sub(r"(?::[0-9]+){1,2}$", "", canonical)
    if bare != canonical:
        forms.append((bare, strong))
    forms += _path_reference(canonical)
    return [form for form in forms if form[0]]


def _colon(low: str) -> list[tuple[str, bool]]:
    if _SCOPE.fullmatch(low) or _IPV6.fullmatch(low):
        return [(low, not _DATE_OR_TIME.fullmatch(low))]
    return [(low, not _DATE_OR_TIME.fullmatch(low) and ("." in low or any(map(str.isalpha, low))))]


def _numbered(reference: re.Match[str]) -> list[tuple[str, bool]]:
    noun = re.sub(r"[_\-]", "", reference["kind"].lower())
    kind = "pr" if noun in _PULL else "issue"
    number = int(reference["number"])
    return [(f"{kind}-{number}", True), (f"#{number}", True)]


def _simple(run: str) -> list[tuple[str, bool]]:
    """Forms of a run without slash, backslash, colon and at sign."""
    low = run.lower()
    if _WORD_RUN.fullmatch(run):
        return [(low, True)] if len(run) >= _MIN_CAMEL and _CAMEL.fullmatch(run) else _hash(low)
    if not low or run.isdigit() or _DECIMAL.fullmatch(low):
        return []
    reference = _REFERENCE.fullmatch(run)
    if reference is not None:
        return _numbered(reference)
    if low[0] == "#" or low[-1] in "#+":
        return [(low.lstrip("0") or low, True)] if _HASHED.fullmatch(low) or _SUFFIXED.fullmatch(low) else []
    return _hash(low) or _number(low) or _name(run, low)


def _hash(low: str) -> list[tuple[str, bool]]:
    if not _HEX.fullmatch(low) or low.isdigit():
        return []
    return [(low, True)] if len(low) == _SHORT_HASH else [(low, True), (low[:_SHORT_HASH], True)]


def _number(low: str) -> list[tuple[str, bool]]:
    """UUIDs, dates, decimals and versions."""
    if _UUID.fullmatch(low):
        return [(low, True)]
    if _DATE_OR_TIME.fullmatch(low):
        return [(low, False)]
    version = _VERSION.fullmatch(low)
    if version is None:
        return []
    return [(low, True)] if low == version[1] else [(low, True), (version[1], True)]


def _is_underscored(low: str) -> bool:
    """``user_id``, ``__init__`` and ``_private``, but not the emphasis of ``_word_``."""
    inner = low.strip("_")
    if not inner:
        return False
    return "_" in inner or low.startswith("__") or (low[0] == "_" and low[-1] != "_")


def _name(run: str, low: str) -> list[tuple[str, bool]]:
    """Names in the conventions of programs: leading dots, flags, underscores, dots, hyphens, capitals, codes."""
    strong: bool | None = None
    if _is_underscored(low) or _LEADING_DOT.fullmatch(low) or _FLAG.fullmatch(low):
        strong = True
    elif _ABBREVIATION.fullmatch(low):
        strong = None
    elif _DOTTED.fullmatch(low):
        strong = not _SENTENCE_JOIN.fullmatch(run)
    elif _HYPHENATED.fullmatch(low) and _DIGIT.search(low):
        strong = not _DIGITS_ONLY.fullmatch(low)
    elif _AMPERSAND.fullmatch(low):
        strong = False
    elif _CODE.fullmatch(run) or (_CAMEL.fullmatch(run) and len(run) >= _MIN_CAMEL):
        strong = True
    return [] if strong is None else [(low, strong)]

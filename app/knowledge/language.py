"""What the grammar and the rule verifier both know of English: sentences, negation, hedges, quotes, verbs, dates.

Pure data and functions; offsets are characters of the text that was given.
"""

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple


class Sentence(NamedTuple):
    """One sentence with its place in the text."""

    text: str
    start: int
    end: int


_SENTENCE: Final = re.compile(r"[^\s].*?(?:[.!?]+[\"'”’)]*(?=\s|$)|(?=\n)|$)", re.DOTALL)
_ABBREVIATION: Final = re.compile(
    r"\b(?:mr|mrs|ms|dr|prof|st|vs|e\.g|i\.e|etc|inc|ltd|jr|sr|no)\.$", re.IGNORECASE
)

LONGEST_SENTENCE: Final = 1_000
_LONGEST_ABBREVIATION: Final = 8

NEGATION: Final = re.compile(
    r"\b(?:not|never|no longer|cannot|neither|nor|without|isn['’]?t|aren['’]?t|wasn['’]?t|weren['’]?t|"
    r"do(?:es)?n['’]?t|didn['’]?t|won['’]?t|can['’]?t|couldn['’]?t|wouldn['’]?t|hasn['’]?t|haven['’]?t|hadn['’]?t|"
    r"used to|stopped|quit|ceased|refuses? to|dislike[sd]?|hate[sd]?|avoid(?:s|ed)?|detest(?:s|ed)?|"
    r"loathe[sd]?|dropped|abandoned|moved away from|denies|denied|false that|untrue|nobody|no one|none|"
    r"nothing|instead of|rather than|(?:fired|resigned|laid off|retired) from)\b",
    re.IGNORECASE,
)
HEDGE: Final = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|presumably|allegedly|apparently|reportedly|might|may|could|seems?|"
    r"appears? to|i (?:think|guess|believe|suppose|assume)|not sure|unsure|uncertain|unclear|likely|rumou?red|whether|"
    r"wonder(?:s|ed|ing)?|doubt(?:s|ed|ful)?|almost|nearly|hardly|barely|supposedly|hopefully)\b",
    re.IGNORECASE,
)
HYPOTHETICAL: Final = re.compile(
    r"\b(?:if|unless|would|suppose|supposing|imagine|in case|assuming|hypothetically|were to|what if)\b",
    re.IGNORECASE,
)
# What is wanted or to come is not so yet.
UNREALISED: Final = re.compile(
    r"\b(?:will|shall|(?:is|are|am|was|were) (?:going|about) to|(?:want|hope|plan|intend|aim|wish|aspire|expect|tr)"
    r"(?:s|es|ed|ing|y|ies|ied|ying)? to|appl(?:y|ies|ied|ying) (?:for|to)|would like)\b",
    re.IGNORECASE,
)
PROPOSAL: Final = re.compile(
    r"\b(?:should|let['’]?s|how about|we could|i suggest|propose[sd]?)\b", re.IGNORECASE
)
REPORT: Final = re.compile(
    r"\b(?:said|says|told|tells|claims?|claimed|according to|wrote|writes|stated|states|asked|heard that)\b",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"[\"“«](?P<text>[^\"”»]{2,})[\"”»]")
_QUESTION: Final = re.compile(
    r"^(?:who|what|when|where|why|which|how|is|are|was|were|do|does|did|can|could|should|would|has|have)\b[^.!]*\?$",
    re.IGNORECASE,
)
STOP: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "i",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "our",
        "she",
        "that",
        "the",
        "their",
        "them",
        "they",
        "this",
        "to",
        "us",
        "was",
        "we",
        "were",
        "will",
        "with",
        "you",
        "your",
    ]
)

# Verbs and phrases that say a predicate; matched by stem at a word's beginning. A predicate that is not listed is
# recognised by its own words.
CUES: Final[dict[str, tuple[str, ...]]] = {
    "prefers": ("prefer", "favor", "favour", "rather"),
    "likes": ("like", "love", "enjoy", "fond of", "fan of", "adore", " into ", "dislike", "hate", "can't stand",
        "cannot stand", "detest", "loathe"),
    "uses": ("use", "using", "relies on", "rely on", "runs on", "run on", "built on", "powered by", "deploy", "based on", "built with",
        "depends on", "depend on", "switched to", "migrated to", "avoid", "dropped", "abandoned", "moved away from"),
    "knows": ("know", "familiar with", "acquainted with", "met"),
    "has_skill": ("skilled", "fluent", "good at", "expert", "proficient", "speak", "can ", "experience", "expertise"),
    "works_on": ("work", "maintain", "lead", "led ", "build", "develop", "contribut", "assigned to"),
    "works_at": ("work", "employ", "join", "hired", "job at", "position at", "engineer at"),
    "identity_is": ("am ", "is ", "'m ", "was ", "name", "call", "work"),
    "profile_fact": ("live", "moved", "based in", "located", "is ", "has ", "have ", "resid", "born in"),
    "has_goal": ("want", "plan", "aim", "hope", "goal", "intend", "aspire", "going to"),
    "relationship_to": (
        "wife", "husband", "partner", "brother", "sister", "mother", "father", "parent", "son", "daughter", "child",
        "friend", "colleague", "manager", "boss", "report", "married", "cousin", "uncle", "aunt", "mentor",
        "engaged to", "dating", "related to",
    ),
    "born_on": ("born", "birthday", "birth"),
    "died_on": ("died", "death", "passed away"),
    "corrected": ("actually", "correct", "instead", "rather than", "not "),
}  # fmt: skip
_FIRST_PERSON: Final = frozenset(
    ("i", "i'm", "i've", "i'd", "i'll", "we're", "we've", "me", "my", "mine", "myself", "we", "our", "us")
)
USER: Final = "user"
_WORD: Final = re.compile(r"[^\W_]+(?:['’.+#-]?[^\W_]+)*[+#]*")


def sentences(text: str) -> list[Sentence]:
    """Sentences of a text; a full stop after a known abbreviation or inside a number ends none.

    What is longer than ``LONGEST_SENTENCE`` is cut between words: the cost of reading a text stays in line with its
    length, whatever it is.
    """
    found: list[Sentence] = []
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        previous = found[-1] if found else None
        if (
            previous is not None
            and end - previous.start <= LONGEST_SENTENCE
            and _ABBREVIATION.search(previous.text[-_LONGEST_ABBREVIATION:])
            and "\n" not in text[previous.end : start]
        ):
            start = found.pop().start
        while end - start > LONGEST_SENTENCE:
            cut = text.rfind(" ", start + 1, start + LONGEST_SENTENCE)
            cut = start + LONGEST_SENTENCE if cut < 0 else cut
            found.append(Sentence(text[start:cut], start, cut))
            start = cut + len(text[cut:end]) - len(text[cut:end].lstrip())
        if start < end:
            found.append(Sentence(text[start:end], start, end))
    return found


def is_question(sentence: str) -> bool:
    """Whether a sentence asks."""
    stripped = sentence.rstrip("\"'”’) ")
    return stripped.endswith("?") or bool(_QUESTION.match(stripped))


def is_quoted(sentence: str, text: str) -> bool:
    """Whether a part of a sentence stands in quotation marks of several words, or is somebody's report."""
    folded = text.casefold()
    for quote in _QUOTED.finditer(sentence):
        inside = quote["text"].casefold()
        if folded in inside and len(inside.split()) > len(folded.split()) + 1:
            return True
    return bool(REPORT.search(sentence))


def content_words(text: str) -> list[str]:
    """Words that carry a meaning, case-folded and without an English plural or possessive ending."""
    words = [match[0].casefold().replace("’", "'") for match in _WORD.finditer(text)]
    kept = [word for word in words if word not in STOP]
    return [stem(word) for word in kept or words]


def stem(word: str) -> str:
    """A word without possessive, plural and common verb endings; light, and the same for both sides."""
    word = word.removesuffix("'s")
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word  # noqa: PLR2004 - a stem keeps three letters


def first_person(words: list[str]) -> bool:
    """Whether somebody speaks of themselves."""
    return any(word in _FIRST_PERSON for word in words)


def raw_words(text: str) -> list[str]:
    """Words, case-folded."""
    return [match[0].casefold().replace("’", "'") for match in _WORD.finditer(text)]


def holds_cue(predicate: str, sentence: str) -> bool:
    """Whether a sentence has a verb or phrase of a predicate."""
    folded = " " + sentence.casefold().replace("’", "'") + " "
    cues = CUES.get(predicate)
    if cues is None:
        stems = set(content_words(sentence))
        return all(word in stems for word in content_words(predicate.replace("_", " ")))
    return any(re.search(rf"(?:\b|(?<=\s)){re.escape(cue)}", folded) for cue in cues)


_MONTHS: Final = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH: Final = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS)
DATE: Final = re.compile(
    rf"(?P<iso>\b\d{{4}}-\d{{2}}-\d{{2}}\b)"
    rf"|(?:\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b(?P<month>{_MONTH})\.?\s+"
    rf"(?:(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+)?(?P<year>(?:19|20)\d{{2}})\b"
    rf"|\b(?P<plain>(?:19|20)\d{{2}})\b",
    re.IGNORECASE,
)


def date_of(match: re.Match[str], *, end: bool = False) -> datetime | None:
    """First instant (UTC) of the day, month or year that a match of ``DATE`` names; ``end``: of the one after it."""
    try:
        if match["iso"]:
            start = datetime.fromisoformat(match["iso"]).replace(tzinfo=UTC)
            return datetime.fromtimestamp(start.timestamp() + 86_400, UTC) if end else start
        if match["plain"]:
            return datetime(int(match["plain"]) + end, 1, 1, tzinfo=UTC)
        month = [name[:3] for name in _MONTHS].index(match["month"][:3].casefold()) + 1
        year, day = int(match["year"]), match["day"] or match["day2"]
        if day:
            start = datetime(year, month, int(day), tzinfo=UTC)
            return datetime.fromtimestamp(start.timestamp() + 86_400, UTC) if end else start
        total = year * 12 + month - 1 + end
        return datetime(total // 12, total % 12 + 1, 1, tzinfo=UTC)
    except ValueError:
        return None

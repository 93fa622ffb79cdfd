"""Deterministic extraction: claims out of English sentences by a documented grammar. Pure functions.

Each sentence is read as ``[opening] subject [adverb] verb object [time]``:

* subject: ``I``, ``we``, ``my team`` (all become the speaker, else ``user``), ``the user``, a name of one to four
  capitalised words, or ``the``/``our`` and up to three words; ``he``, ``she``, ``they``, ``it`` stand for the subject
  of the sentence before;
* verb: one of `VERBS`, each with its predicate, denied by ``not``, ``n't``, ``never``, ``no longer``, ``stopped``,
  ``used to``;
* object: what follows, up to a comma, a conjunction with a new clause, a reason, or a time; ``and``/``or`` lists of
  likes, uses, skills and the like give one claim each;
* time: ``since X``, ``from X to Y``, ``between X and Y``, ``until X``, ``in X``, where ``X`` is a day, month or year.

A question, a quotation, a hedge, a supposition and a proposal become claims of that modality with lower confidence, so
that the gates keep them from being facts. What no pattern reads is evidence and nothing else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from app.knowledge import language
from app.knowledge.language import DATE, Sentence, date_of

MODEL: Final = "grammar-v1"
MAX_CLAIMS: Final = 50
_STATED, _DOUBTFUL = 0.9, 0.5
_NAMED, _PRONOUN = 0.9, 0.65


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One claim read out of a text; ``start`` and ``end`` are the characters of its sentence."""

    subject: str
    predicate: str
    object: str
    polarity: str
    modality: str
    valid_from: datetime | None
    valid_to: datetime | None
    start: int
    end: int
    extract_conf: float
    resolution_conf: float


# (predicate, verb phrase); {s} stands for the endings of the third person. Earlier entries win.
VERBS: Final[tuple[tuple[str, str], ...]] = (
    ("born_on", r"(?:was|were|am|is) born (?:on|in)"),
    ("died_on", r"(?:died|passed away) (?:on|in)"),
    ("works_at", (r"(?:work(?:s|ed|ing)? (?:at|for)|(?:is|am|are|was) (?:employed (?:by|at)|working (?:at|for))|joined"
     r"|(?:has|have|got|took) a (?:job|position) (?:at|with))")),
    ("works_on", (r"(?:work(?:s|ed|ing)? on|(?:is|am|are|was) (?:working on|building|leading|maintaining|developing|"
     r"assigned to)|maintain(?:s|ed)?|lead(?:s)?|led|contribut(?:es?|ed) to|develop(?:s|ed)?)")),
    ("has_skill", (r"(?:(?:is|am|are) (?:good at|skilled (?:in|at)|fluent in|proficient (?:in|with)|"
     r"experienced (?:in|with)|an? expert (?:in|at|on))|speak(?:s)?|can (?:speak|program in|code in|play|write)|"
     r"(?:has|have) (?:experience|expertise) (?:with|in))")),
    ("has_goal", (r"(?:(?:want|plan|hope|aim|intend|aspire)(?:s|ed)? to|(?:is|am|are) (?:planning|hoping|aiming|going) to"
     r"|(?:the|my|our|his|her|their)? ?goal is to|(?:has|have) (?:the|a) goal (?:of|to))")),
    ("prefers", r"(?:prefer(?:s|red)?|would rather (?:use|have)|favou?r(?:s|ed)?)"),
    ("likes", r"(?:like(?:s|d)?|love(?:s|d)?|enjoy(?:s|ed)?|adore(?:s|d)?|(?:is|am|are) (?:fond of|a fan of|into))"),
    ("-likes", r"(?:dislike(?:s|d)?|hate(?:s|d)?|can(?:no|['’])t stand|detest(?:s|ed)?|loathe(?:s|d)?)"),
    ("uses", (r"(?:use(?:s|d)?|(?:is|am|are) using|rel(?:y|ies|ied) on|run(?:s)? on|(?:is|are) (?:built (?:on|with)|"
     r"powered by|based on)|depends? on|deploy(?:s|ed)? (?:to|on)|switched to|migrated to)")),
    ("-uses", r"(?:avoid(?:s|ed)?|moved away from|dropped|abandoned)"),
    ("knows", r"(?:know(?:s)?|knew|(?:is|am|are) (?:familiar|acquainted) with|met)"),
    ("relationship_to", (r"(?:(?:is|am|are|was) (?:married to|engaged to|dating|related to|friends with)|reports? to|"
     r"manages?)")),
    ("profile_fact", (r"(?:live(?:s|d)? (?:in|at)|(?:is|am|are) (?:based|located) in|moved to|(?:is|am|are) from|"
     r"reside(?:s|d)? in)")),
    ("identity_is", r"(?:(?:is|am|was) (?:called|named)|work(?:s|ed)? as|(?:is|am)(?= (?:an? |the [\w ]{2,40} of )))"),
)  # fmt: skip
_LISTED: Final = frozenset(("likes", "uses", "prefers", "knows", "has_skill", "works_on"))
_DATED: Final = frozenset(("born_on", "died_on"))
_NAMES: Final = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,3}")
_KEEP_VERB: Final = frozenset(("profile_fact", "relationship_to"))

_SUBJECT: Final = (
    r"(?P<subject>I|[Ww]e|[Mm]y (?:team|company|project)|[Tt]he [a-z]+(?: [a-z]+){0,2}?|[Oo]ur [a-z]+(?: [a-z]+){0,2}?|"
    r"[Hh]e|[Ss]he|[Tt]hey|[Ii]t|(?:[A-Z][\w.'’-]*)(?: (?:of |the |van |von |de )?[A-Z][\w.'’-]*){0,3})"
)
_ADVERB: Final = (
    r"(?:(?:really|always|usually|often|also|still|currently|now|mostly|just|absolutely|already|generally) )*"
)
_DENIAL: Final = (
    r"(?P<denial>(?:do(?:es)?|did|is|am|are|was|were|can|will|would|has|have) ?(?:not|n['’]t) (?:ever |really |yet )?|"
    r"never |no longer |not |(?:has |have )?(?:stopped|quit) |used to )?"
)
_AUXILIARY: Final = r"(?P<aux>(?:has|have|had) (?:been )?|will |do |does )?"
_OPENING: Final = re.compile(
    r"(?:and|but|so|also|yes|no|well|actually|currently|today|now|ok|okay|hi|hello|note that|fyi|maybe|perhaps|possibly|"
    r"probably|if|does|do|did|i (?:think|guess|believe|suppose)(?: that)?|[\w ]{2,40}? (?:said|says|told me|claims)(?: that)?)[,:]? ",
    re.IGNORECASE,
)
_OPENINGS: Final = 4
_PATTERNS: Final = tuple(
    (
        predicate,
        re.compile(
            rf"^{_SUBJECT}['’]?(?P<short>m|s|re|ve)? ?{_ADVERB}{_DENIAL}{_ADVERB}{_AUXILIARY}{_ADVERB}"
            rf"(?P<verb>{verb}) (?P<object>.+)$",
        ),
    )
    for predicate, verb in VERBS
)
# A contraction is spelled out, a gerund after "stopped" and a bare participle brought to a form that VERBS has.
_CONTRACTIONS: Final = (
    (re.compile(r"\b(I)['’]m\b"), r"\1 am"),
    (re.compile(r"\b(\w+)['’]re\b"), r"\1 are"),
    (re.compile(r"\b(\w+)['’]ve\b"), r"\1 have"),
    (re.compile(r"\b([Hh]e|[Ss]he|[Ii]t)['’]s\b"), r"\1 is"),
)
_BETWEEN: Final = re.compile(
    r"\b(am|is|are|was|were|have|has) (?:really|always|usually|often|also|still|currently|now|mostly|just|already|generally) "
)
# Where a clause with a subject of its own begins: a name is one when a verb follows, not a preposition.
_CLAUSE: Final = re.compile(
    r"(?:,? (?:but|and|while) |; )(?=(?:I|we|he|she|they|it|[A-Z]\w+(?: [A-Z]\w+){0,2}) "
    r"(?!(?:in|on|at|for|with|as|to|of|and|or|too|since|from|by|over|until|during)\b)[a-z]\w*)"
)
_NOT: Final = re.compile(r"\b(is|are|was|am) (?:not|no longer|never) ")
_FAVOURITE: Final = re.compile(
    r"^(?P<owner>my|our|(?:[A-Z]\w+)['’]s) favou?rite (?P<what>[\w ]{2,40}?) (?:is|are) (?P<object>.+)$",
    re.IGNORECASE,
)
_RELATION: Final = re.compile(
    r"^(?P<owner>my|our|(?:[A-Z]\w+)['’]s) (?P<role>wife|husband|partner|brother|sister|mother|father|son|daughter|friend|"
    r"colleague|manager|boss|mentor|cousin|uncle|aunt)(?:['’]s name)? is (?:called |named )?(?P<object>[A-Z][\w.'’ -]+)$",
    re.IGNORECASE,
)
_RELATED: Final = re.compile(
    r"^(?P<object>[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,3}) is (?P<owner>[Mm]y|[Oo]ur|[A-Z]\w+['’]s) (?P<role>wife|husband|partner|"
    r"brother|sister|mother|father|son|daughter|friend|colleague|manager|boss|mentor|cousin|uncle|aunt)$"
)
_GOAL: Final = re.compile(
    r"^(?P<owner>my|our|(?:[A-Z]\w+)['’]s) (?:main |biggest |next )?(?:goal|aim|plan) is to (?P<object>.+)$",
    re.IGNORECASE,
)
_NAME: Final = re.compile(
    r"^(?:please )?(?:my name is|i am called|call me) (?P<object>[A-Z][\w.'’ -]+)$", re.IGNORECASE
)
_CUT: Final = re.compile(
    r"\s*(?:,|;|:|\(| - | – | — |\b(?:because|although|though|but|while|when|where|which|who|so that|since it|as it|"
    r"instead of|rather than|every|these days|at the moment|right now|nowadays|anymore|any more)\b)",
    re.IGNORECASE,
)
_X: Final = r"(?:\d{4}-\d{2}-\d{2}|(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?(?:[A-Z][a-z]{2,8}\.? )?(?:\d{1,2}(?:st|nd|rd|th)?,? )?(?:19|20)\d{2})"
_TIMES: Final = (
    ("range", re.compile(rf"\b(?:from|between) (?P<a>{_X}) (?:to|until|till|and|through) (?P<b>{_X})")),
    ("since", re.compile(rf"\b(?:since|as of|starting(?: in)?|beginning(?: in)?) (?P<a>{_X})")),
    ("until", re.compile(rf"\b(?:until|till|up to|through) (?P<a>{_X})")),
    ("during", re.compile(rf"\b(?:in|during) (?P<a>{_X})")),
)
_EVENT: Final = re.compile(r"\b(?:joined|moved|switched|migrated|met|started)\b")
_AND: Final = re.compile(r"(?:, and |, or |, | and | or | as well as )")
_MAX_OBJECT: Final = 200
_PRONOUNS: Final = frozenset(("he", "she", "they", "it"))
_SELF: Final = frozenset(("i", "we", "my team", "my company", "my project"))


def extract(text: str, speaker: str | None = None) -> list[Extracted]:
    """Claims that the grammar reads, in order, at most ``MAX_CLAIMS``; ``speaker`` is who says ``I``."""
    found: list[Extracted] = []
    topic: str | None = None
    for sentence in language.sentences(text):
        read = list(_read(sentence, speaker or language.USER, topic))
        found += read
        topic = read[0].subject if read else _first_name(sentence.text) or topic
    return list(dict.fromkeys(found))[:MAX_CLAIMS]


def _first_name(sentence: str) -> str | None:
    match = re.match(r"(?:[A-Z][a-z]+)(?: [A-Z][a-z]+){0,3}\b", sentence)
    return match[0] if match and match[0].casefold() not in language.STOP else None


def _read(sentence: Sentence, speaker: str, topic: str | None) -> Iterator[Extracted]:
    plain = _spelled_out(sentence.text)
    modality = _modality(plain)
    beside: list[str] = []
    for part in _clauses(plain):
        if _NAMES.fullmatch(part):
            beside.append(part)  # "Ada and Bob like tea": two subjects of one verb
            continue
        for found in _read_clause(part, sentence, speaker, topic, modality):
            yield from (replace(found, subject=name) for name in beside)
            yield found
        beside = []


def _spelled_out(text: str) -> str:
    plain = text.strip().rstrip(".!?\"'”’) ").lstrip("\"'“‘(- *")
    for pattern, replacement in _CONTRACTIONS:
        plain = pattern.sub(replacement, plain)
    return plain


def _clauses(text: str) -> list[str]:
    """Clauses with a subject of their own."""
    return [part for part in _CLAUSE.split(text) if part]


def _modality(text: str) -> str:
    if language.is_question(text + "?") and re.match(
        r"(?i)(?:who|what|when|where|why|which|how|is|are|do|does|did|can|could|should|would|has|have|will)\b",
        text,
    ):
        return "question"
    if language.REPORT.search(text):
        return "quoted"
    undated = DATE.sub(" ", text)
    if language.HEDGE.search(undated) or re.search(
        r"(?i)\b(?:if|unless|suppose|imagine|what if|would(?! rather))\b", undated
    ):
        return "speculation"
    return "proposal" if language.PROPOSAL.search(text) else "assertion"


def _read_clause(
    clause: str, sentence: Sentence, speaker: str, topic: str | None, modality: str
) -> Iterator[Extracted]:
    body, since, until = _timed(clause)
    if _EVENT.search(body):
        until = None
    base = Extracted(
        subject=speaker,
        predicate="",
        object="",
        polarity="+",
        modality=modality,
        valid_from=since,
        valid_to=until,
        start=sentence.start,
        end=sentence.end,
        extract_conf=_STATED if modality == "assertion" else _DOUBTFUL,
        resolution_conf=_NAMED,
    )
    special = _special(body, base, speaker)
    if special is not None:
        yield special
        return
    denied_state = _NOT.search(body)
    flat = _BETWEEN.sub(r"\1 ", body)
    flat = _NOT.sub(r"\1 ", flat, count=1) if denied_state else flat
    flat = re.sub(r"\b(stopped|quit) (\w+?)(?:ing)\b", _infinitive, flat)
    flat = _opened(flat)
    for name, pattern in _PATTERNS:
        match = pattern.match(flat)
        if match is None or clause.rstrip().endswith("?"):
            continue
        subject, sure = _subject(match["subject"], speaker, topic)
        objects = _objects(name.lstrip("-"), match)
        if subject is None or not objects:
            return
        denied = bool(denied_state) ^ bool(match["denial"]) ^ name.startswith("-")
        for item in objects:
            yield replace(
                base,
                subject=subject,
                predicate=name.lstrip("-"),
                object=item,
                polarity="-" if denied else "+",
                resolution_conf=sure,
            )
        return


def _opened(text: str) -> str:
    """A clause without the words before its subject: each is taken off once, so that none is tried in two ways."""
    for _ in range(_OPENINGS):
        opening = _OPENING.match(text)
        if opening is None:
            break
        text = text[opening.end() :]
    return text


def _infinitive(match: re.Match[str]) -> str:
    stem = match[2]
    if stem.endswith(("us", "lik", "lov", "hat", "driv")):
        stem += "e"
    return f"{match[1]} {stem}"


def _special(body: str, base: Extracted, speaker: str) -> Extracted | None:
    """Forms that begin with what belongs to somebody."""
    if match := _NAME.match(body):
        return replace(base, predicate="identity_is", object=match["object"].strip())
    if match := _FAVOURITE.match(body):
        item = _trimmed(match["object"])
        owner = _owner(match["owner"], speaker)
        return replace(base, subject=owner, predicate="prefers", object=f"{item} as {match['what']}")
    if match := _GOAL.match(body):
        owner = _owner(match["owner"], speaker)
        return replace(base, subject=owner, predicate="has_goal", object=_trimmed(match["object"]))
    if match := _RELATION.match(body) or _RELATED.match(body):
        owner = _owner(match["owner"], speaker)
        name = match["object"].strip()
        return replace(base, subject=name, predicate="relationship_to", object=f"{match['role']} of {owner}")
    return None


def _owner(owner: str, speaker: str) -> str:
    return speaker if owner.casefold() in ("my", "our") else re.sub(r"['’]s$", "", owner)


def _subject(text: str, speaker: str, topic: str | None) -> tuple[str | None, float]:
    """Who is meant, and how surely."""
    folded = text.casefold()
    if folded in _SELF or folded == "the user":
        return (speaker if folded != "the user" else language.USER), _NAMED
    if folded in _PRONOUNS:
        return topic, _PRONOUN
    if folded in language.STOP or folded in ("this", "that", "there", "what", "who", "let's", "let’s"):
        return None, 0.0
    return text.strip(), _NAMED


def _objects(predicate: str, match: re.Match[str]) -> list[str]:
    text = match["object"]
    cut = _CUT.split(text, maxsplit=1)[0] if predicate not in _LISTED else _list_cut(text)
    if predicate in _DATED:
        cut = cut.partition(" and ")[0]
    items = _AND.split(cut) if predicate in _LISTED else [cut]
    trimmed = [_trimmed(item) for item in items]
    if predicate in _KEEP_VERB:
        verb = re.sub(r"^(?:is|am|are|was) ", "", match["verb"])
        trimmed = [f"{verb} {item}" for item in trimmed if item]
    return [item for item in trimmed if item and len(item) <= _MAX_OBJECT]


def _list_cut(text: str) -> str:
    """As `_CUT`, but commas go on where the last item of the list is joined by a conjunction."""
    listed = re.match(r"(?:[^,;]{1,60}, )+(?:[^,;]{1,60} )?(?:and|or) [^,;]+", text) or re.match(
        r"[^,;]+", text
    )
    head = listed[0] if listed else text
    return re.split(
        r"(?i)\s*(?:;|\(|\b(?:because|although|though|but|while|when|where|which|so that|instead of|rather than|over|every|"
        r"these days|at the moment|right now|nowadays|anymore|any more)\b)",
        head,
        maxsplit=1,
    )[0]


def _trimmed(text: str) -> str:
    cut = _CUT.split(text, maxsplit=1)[0]
    return re.sub(r"(?i)^(?:to use|using|to|the use of) ", "", cut.strip(" .!?\"'”“")).strip()


def _timed(clause: str) -> tuple[str, datetime | None, datetime | None]:
    """The clause without its time, and the time: from, to (exclusive)."""
    if re.search(r"(?i)\b(?:(?:born|died|passed away) (?:on|in)|(?:plan|want|hope|aim|intend)\w*) ", clause):
        return clause, None, None
    for kind, pattern in _TIMES:
        match = pattern.search(clause)
        if match is None:
            continue
        first = DATE.search(match["a"])
        last = DATE.search(match["b"]) if kind == "range" else None
        if first is None or (kind == "range" and last is None):
            continue
        rest = (clause[: match.start()] + clause[match.end() :]).strip(" ,")
        start = date_of(first) if kind != "until" else None
        end_match = {"range": last, "until": first, "during": first}.get(kind)
        end = date_of(end_match, end=True) if end_match is not None else None
        if start is not None and end is not None and end <= start:
            continue
        return re.sub(r"\s{2,}", " ", rest), start, end
    return clause, None, None

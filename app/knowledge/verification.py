"""Rule verifier: does the cited span say what the claim says? Deterministic, and a function of its arguments alone.

A claim is entailed by the first sentence of the span that holds its subject, its object and a verb of its predicate,
unless that sentence asks, quotes, hedges, supposes or wishes; it is contradicted when the clause with the object denies
what the claim affirms, or the other way round. A time that the claim names must be named by the span, or be the
fragment's own. In doubt the evidence is insufficient, never entailing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.knowledge import language
from app.knowledge.language import Sentence
from app.knowledge.statements import term_key

_DAY: Final = timedelta(days=1)
_SURE, _OPEN = 0.9, 0.5
_BORDER: Final = re.compile(
    r"(?:,\s*)?\bbut\b|;|,\s*(?:and|while|whereas)\b|,\s*(?=not\b)|\band\s+(?=not\b)"
    r"|\s(?=(?:instead of|rather than|without)\b)",
    re.IGNORECASE,
)
# "and" begins a clause where a new subject and its verb follow one that has a verb already.
_AND: Final = re.compile(r"(?<=[^\W\d_])\s+and\s+(?=(?:I|we|he|she|they|it|[A-Z][\w'’-]*)\s+[a-z])")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_JOINING: Final = frozenset(("and", "or", "the", "both", "my", "our"))
_SUBJECT: Final = re.compile(r"\s*(?:I|[Ww]e|[Hh]e|[Ss]he|[Tt]hey|[Ii]t|[A-Z][\w'’-]*)\b")
_PRONOUNS: Final = frozenset(("he", "she", "they", "it"))
# What belongs to somebody tells about them ("Ada's goal"), or about somebody else ("Ada's brother works").
_OF_POSSESSION: Final = frozenset(
    ("relationship_to", "identity_is", "profile_fact", "prefers", "has_goal", "born_on", "died_on")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimText:
    """What a claim says."""

    subject: str
    predicate: str
    object: str
    polarity: str
    modality: str
    speaker: str | None
    valid_from: datetime | None
    valid_to: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceText:
    """A fragment that a claim cites, and where in it.

    Attributes:
        span: First and one past the last character; None for the whole content.
        times: The fragment's own times.
    """

    content: str
    span: tuple[int, int] | None = None
    speaker: str | None = None
    times: tuple[datetime, ...] = ()

    @property
    def cited(self) -> str:
        """The text that must say it."""
        return self.content if self.span is None else self.content[slice(*self.span)]


@dataclass(frozen=True, slots=True)
class Judgement:
    """``entailed``, ``contradicted``, ``neutral`` or ``insufficient``, the reasons, and a confidence (0 to 1)."""

    verdict: str
    confidence: float
    reasons: tuple[str, ...] = ()


def judge(claim: ClaimText, evidence: EvidenceText) -> Judgement:
    """Judge one piece of evidence."""
    best = Judgement("insufficient", _SURE, ("object_not_in_span",))
    found: list[Judgement] = []
    listed = language.sentences(evidence.cited)
    for position, sentence in enumerate(listed):
        missing = _missing(claim, evidence, sentence, listed[:position])
        if not missing:
            found.append(_sentence_judgement(claim, evidence, sentence))
        elif missing != ("object_not_in_span",):
            best = Judgement("neutral", _OPEN, missing)
    for verdict in ("contradicted", "entailed", "insufficient"):
        for judgement in found:
            if judgement.verdict == verdict:
                return judgement
    return best


def combined(verdicts: Sequence[str]) -> str:
    """Verdict of a claim out of those of its active evidence: a contradiction outweighs any support."""
    for verdict in ("contradicted", "entailed", "neutral"):
        if verdict in verdicts:
            return verdict
    return "insufficient"


def _missing(
    claim: ClaimText, evidence: EvidenceText, sentence: Sentence, before: Sequence[Sentence]
) -> tuple[str, ...]:
    """What a sentence lacks to be about the claim at all."""
    words = set(language.content_words(sentence.text))
    if language.first_person(language.raw_words(sentence.text)):
        words.add(language.USER)  # "my manager" is "manager of user"
    if not set(language.content_words(claim.object)) <= words:
        return ("object_not_in_span",)
    missing = []
    if not _names_subject(claim, evidence, sentence, before, words) or _is_of_another(claim, sentence.text):
        missing.append("subject_not_in_span")
    if not language.holds_cue(claim.predicate, sentence.text):
        missing.append("predicate_not_in_span")
    return tuple(missing)


def _names_subject(
    claim: ClaimText,
    evidence: EvidenceText,
    sentence: Sentence,
    before: Sequence[Sentence],
    words: set[str],
) -> bool:
    raw = language.raw_words(sentence.text)
    speakers = {term_key(name) for name in (claim.speaker, evidence.speaker) if name}
    key = term_key(claim.subject)
    if (key in (language.USER, "the user", "i", "me") or key in speakers) and language.first_person(raw):
        return True
    wanted = set(language.content_words(claim.subject))
    if wanted <= words:
        return claim.predicate in _OF_POSSESSION or not _only_possesses(claim.subject, sentence.text)
    # A pronoun stands for who the sentence before was about.
    pronoun = bool(raw) and raw[0] in _PRONOUNS
    return pronoun and bool(before) and wanted <= set(language.content_words(before[-1].text))


def _only_possesses(subject: str, sentence: str) -> bool:
    """Whether a subject stands in a sentence as an owner and no other way."""
    mentions = re.findall(rf"\b{re.escape(subject)}(?P<owner>['’]s?\b)?", sentence, re.IGNORECASE)
    return bool(mentions) and all(mentions)


def _is_of_another(claim: ClaimText, sentence: str) -> bool:
    """Whether the clause with the object has a subject and a verb of its own, and the subject is somebody else."""
    clause = _clause(sentence, claim.object)
    if clause == sentence or not _SUBJECT.match(clause) or not language.holds_cue(claim.predicate, clause):
        return False
    raw = language.raw_words(clause)
    if not raw or raw[0] in _PRONOUNS or language.first_person(raw[:1]):
        return False
    return not set(language.content_words(claim.subject)) <= set(language.content_words(clause))


def _sentence_judgement(claim: ClaimText, evidence: EvidenceText, sentence: Sentence) -> Judgement:
    doubts = _doubts(claim, sentence)
    if doubts:
        return Judgement("insufficient", _SURE, doubts)
    denied = _denied(claim, sentence.text)
    if denied != (claim.polarity == "-"):
        return Judgement("contradicted", _SURE, ("negated" if denied else "affirmed",))
    if outside := _times_outside(claim, evidence):
        return Judgement("insufficient", _SURE, outside)
    return Judgement("entailed", _SURE, ("stated",))


def _doubts(claim: ClaimText, sentence: Sentence) -> tuple[str, ...]:
    """Why a sentence that holds the claim's words does not state it; a claim that is a quotation may be one."""
    text = sentence.text
    plain = _without(text, claim)
    clause = _without(_clause(text, claim.object), claim)
    checks = (
        ("question", language.is_question(text)),
        ("quotation", claim.modality != "quoted" and language.is_quoted(text, claim.object)),
        ("hedged", bool(language.HEDGE.search(plain))),
        ("hypothetical", bool(language.HYPOTHETICAL.search(plain))),
        ("proposal", bool(language.PROPOSAL.search(plain))),
        ("unrealised", claim.predicate != "has_goal" and bool(language.UNREALISED.search(clause))),
    )
    return tuple(reason for reason, holds in checks if holds)


def _without(text: str, claim: ClaimText) -> str:
    """The sentence without the claim's own terms and dates: a song called Maybe is no doubt, May 2024 is a month."""
    folded = language.DATE.sub(" ", text).casefold()
    return folded.replace(claim.object.casefold(), " ").replace(claim.subject.casefold(), " ")


def _denied(claim: ClaimText, sentence: str) -> bool:
    """Whether the clause with the object is denied: an odd number of negations; "not only" none, "neither nor" one."""
    clause = _clause(sentence, claim.object).replace("’", "'")
    clause = re.sub(re.escape(claim.object), " ", clause, flags=re.IGNORECASE)
    clause = re.sub(r"(?i)\bnot only\b", " ", clause)
    found = [match[0].casefold() for match in language.NEGATION.finditer(clause)]
    if "neither" in found:
        found = [word for word in found if word != "nor"]
    if claim.valid_to is not None:
        found = [word for word in found if word != "used to"]  # what has ended was so before
    return len(found) % 2 == 1


def _clause(sentence: str, wanted: str) -> str:
    """The part of a sentence between clause borders in which the object stands; else the whole sentence."""
    parts = [clause for part in _BORDER.split(sentence) for clause in _coordinated(part)]
    terms = set(language.content_words(wanted))
    for part in parts:
        if terms <= set(language.content_words(part)):
            return part
    return sentence


def _coordinated(text: str) -> list[str]:
    """Clauses that "and" joins; names that it joins ("Ada and Bob work") are one subject."""
    found = [""]
    for part in _AND.split(text):
        found[-1] = f"{found[-1]} and {part}" if found[-1] else part
        if any(word[0].islower() and word not in _JOINING for word in _LETTERS.findall(found[-1])):
            found.append("")
    return [part for part in found if part]


def _times_outside(claim: ClaimText, evidence: EvidenceText) -> tuple[str, ...]:
    named = [
        moment
        for match in language.DATE.finditer(evidence.cited)
        for moment in (language.date_of(match), language.date_of(match, end=True))
        if moment is not None
    ]
    known = [*named, *evidence.times]
    outside = []
    for name, value in (("valid_from", claim.valid_from), ("valid_to", claim.valid_to)):
        if value is not None and not any(abs(value - moment) <= _DAY for moment in known):
            outside.append(f"{name}_not_in_span")
    return tuple(outside)

"""What makes two statements the same, and which facts a statement can collide with. Pure functions.

Subjects and objects are compared after Unicode NFKC, case folding, runs of white space folded to one space, and outer
quotes and full stops taken off; what is longer than ``LONGEST_KEY`` bytes then is compared by its digest. The stored
text is always the one that was sent.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

_SPACE: Final = re.compile(r"\s+")
_WRAPPING: Final = " \"'“”‘’«»`.,;"
_SEPARATOR: Final = "\x1f"
# Compatibility forms fold to up to 18 characters, and an index entry takes 2,704 bytes.
LONGEST_KEY: Final = 1_024


class Statement(Protocol):
    """Subject, predicate and object, affirmed (``+``) or denied (``-``)."""

    @property
    def subject(self) -> str: ...  # noqa: D102
    @property
    def predicate(self) -> str: ...  # noqa: D102
    @property
    def object(self) -> str: ...  # noqa: D102
    @property
    def polarity(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class StatementText:
    """A statement by itself."""

    subject: str
    predicate: str
    object: str
    polarity: str

    @classmethod
    def of(cls, row: Any) -> "StatementText":
        """Statement of a row's columns by name."""
        return cls(row["subject"], row["predicate"], row["object"], row["polarity"])


def term_key(text: str) -> str:
    """What a subject or an object is compared by."""
    folded = _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
    key = folded.strip(_WRAPPING) or folded
    return key if len(key.encode()) <= LONGEST_KEY else f"sha256:{digest(key).hex()}"


def digest(*parts: str) -> bytes:
    """SHA-256 (32 bytes) of several texts, whose borders count."""
    return hashlib.sha256(_SEPARATOR.join(parts).encode()).digest()


def claim_hash(statement: Statement, modality: str, valid_from: datetime | None) -> bytes:
    """Identity of a claim that has no idempotency key: what it says, how it says it, and from when on."""
    since = "" if valid_from is None else str(valid_from.timestamp())
    return digest(
        term_key(statement.subject),
        statement.predicate,
        term_key(statement.object),
        statement.polarity,
        modality,
        since,
    )


def sentence_of(statement: Statement) -> str:
    """The statement as it is indexed and embedded: ``Ada works at Acme``, ``Ada not likes tea``."""
    verb = statement.predicate.replace("_", " ")
    return f"{statement.subject} {'not ' if statement.polarity == '-' else ''}{verb} {statement.object}"

"""Writing lexemes as PostgreSQL ``tsvector`` literals, each profile in a space of its own.

Every lexeme is prefixed by five characters drawn from its profile's id, so that each profile owns its posting lists
in the shared GIN index and never reads another's.
"""

import base64
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from app.lexical.analysis import AnalyzedDocument

PREFIX_LENGTH: Final = 5
_TAIL_BYTES: Final = 4


def space_prefix(profile_id: UUID) -> str:
    """Five URL-safe base64 characters (30 bits) of the id's last four bytes, which are random in a UUIDv7."""
    return base64.urlsafe_b64encode(profile_id.bytes[-_TAIL_BYTES:]).decode("ascii")[:PREFIX_LENGTH]


def prefixed(terms: Iterable[str], prefix: str) -> list[str]:
    """The terms as they are stored for the profile of the given prefix, in the same order."""
    return [prefix + term for term in terms]


def tsvector_literal(document: AnalyzedDocument, prefix: str) -> str:
    """The text of a ``tsvector`` value (to be bound as a parameter and cast), positions without weights."""
    # Most terms hold nothing to escape and stand once: those are written without a call each.
    return " ".join(
        [
            f"'{prefix}{term}':{positions[0]}"
            if len(positions) == 1 and term.isalnum()
            else f"{quoted(prefix + term)}:{','.join(map(str, positions))}"
            for term, positions in document.lexemes.items()
        ]
    )


def quoted(lexeme: str) -> str:
    """A lexeme as it is written in a ``tsvector`` or ``tsquery`` value."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"

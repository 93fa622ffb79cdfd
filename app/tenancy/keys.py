"""API keys: ``strata_<prefix>_<secret>``. The prefix finds the row; only a digest of the whole key is stored.

The secret has 256 random bits, so a plain SHA-256 digest is as safe as a slow password hash and costs nothing.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final

_KEY: Final = re.compile(r"strata_([a-z2-7]{13})_([A-Za-z0-9_-]{43})", re.ASCII)
_PREFIX_BYTES: Final = 8
_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made: its text is shown once and never stored."""

    text: str
    prefix: str
    digest: bytes


def new_key() -> NewKey:
    """A fresh random key."""
    prefix = base64.b32encode(secrets.token_bytes(_PREFIX_BYTES)).decode().rstrip("=").lower()
    text = f"strata_{prefix}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    return NewKey(text, prefix, digest_of(text))


def digest_of(text: str) -> bytes:
    """SHA-256 digest (32 bytes) of a whole key."""
    return hashlib.sha256(text.encode()).digest()


def prefix_of(text: str) -> str | None:
    """Public prefix of a key, or ``None`` when the text has not the form of one."""
    match = _KEY.fullmatch(text)
    return match[1] if match else None


def matches(text: str, digest: bytes) -> bool:
    """Whether a presented key is the one whose digest is stored; takes the same time either way."""
    return hmac.compare_digest(digest_of(text), digest)

"""Typed claims of a seed: the one place that knows whether and how the service takes them."""

from typing import Final

UNAVAILABLE: Final = (
    "the service takes no typed claims: documents were imported as evidence alone, and references to claims and facts "
    "are unmapped"
)

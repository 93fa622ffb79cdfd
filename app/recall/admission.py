"""Which facts and claims may answer a question: their words or identifiers must meet. Pure functions.

Documented rule (Dense-Mem, July 2026). A question without broad tokens must share one significant term with the
triple and its search text if it has at most two such terms, else two. A question with broad tokens asks for all of its
strong anchors and at least one broad token; so "SHP-2 and miRNA" refuses facts that natural language would admit.
``strata-v1`` asks for the same anchors as the gate of fragments; other tokens are words like any.
"""

import re
from typing import Final

from app.recall import anchors

_WORD: Final = re.compile(r"[^\W_]{3,}")
_INSIGNIFICANT: Final = frozenset(
    {
        *(
            "about",
            "after",
            "and",
            "are",
            "before",
            "can",
            "current",
            "for",
            "from",
            "how",
            "into",
            "latest",
            "not",
        ),
        *("now", "the", "this", "what", "when", "which", "with"),
    }
)
_FEW: Final = 2


def significant_terms(text: str) -> frozenset[str]:
    """Words of three letters or more that say something."""
    return frozenset(_WORD.findall(text.lower())) - _INSIGNIFICANT


def shares_terms(query: str, text: str) -> bool:
    """Whether a text shares one significant term with a short question, two with a longer one."""
    asked = significant_terms(query)
    needed = 1 if len(asked) <= _FEW else 2
    return len(asked & significant_terms(text)) >= needed


def documented(query: str, text: str) -> bool:
    """Whether a fact or claim is admitted by the documented rule; ``text`` is its triple with its search text."""
    tokens = anchors.broad(query)
    if not tokens:
        return shares_terms(query, text)
    held = anchors.AnchorText(text)
    return held.holds_all(anchors.strong(query)) and held.holds_any(tokens)


def by_gate(query: str, text: str, gating: tuple[str, ...]) -> bool:
    """Whether it is admitted by the anchors that gate fragments; without any, by shared terms."""
    if gating:
        return anchors.AnchorText(text).holds_any(gating)
    return shares_terms(query, text)

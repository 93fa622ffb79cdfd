"""The hard gate: which fragments may answer a question that names exact identifiers. Pure functions.

- :func:`all_anchors` (``documented-v1``): one fragment must hold every hard anchor; matches are not combined.
- :func:`by_coverage` (``strata-v1``): among the fragments, those whose set of anchors is not a proper part of
  another's pass. When one fragment holds them all, that is the documented gate; when the evidence is split over
  several, each part survives. Anchors that the profile does not hold gate nothing and are named instead.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from app.lexical.identifiers import MARK
from app.recall.anchors import AnchorText

_SHORT_HASH: Final = 7
_HEX: Final = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Gate:
    """Outcome of a gate.

    Attributes:
        passed: fragments that may answer; ``None`` when nothing gates.
        held: the anchors that each candidate holds.
        unmatched: anchors that no memory of the profile holds.
    """

    passed: frozenset[UUID] | None
    held: Mapping[UUID, tuple[str, ...]]
    unmatched: tuple[str, ...] = ()

    def passes(self, ref: UUID) -> bool:
        """Whether a fragment may answer."""
        return self.passed is None or ref in self.passed


def all_anchors(anchors: Sequence[str], texts: Mapping[UUID, str]) -> Gate:
    """Pass the fragments whose text holds every anchor; all of them when there is no anchor."""
    held: dict[UUID, tuple[str, ...]] = {}
    for ref, text in texts.items():
        asked = AnchorText(text) if anchors else None
        held[ref] = () if asked is None else tuple(anchor for anchor in anchors if asked.holds(anchor))
    return Gate(frozenset(ref for ref, found in held.items() if len(found) == len(anchors)), held)


def by_coverage(
    spellings: Mapping[str, frozenset[str]],
    documents: Mapping[str, int],
    held_terms: Mapping[UUID, frozenset[str]],
    *,
    common: int,
) -> Gate:
    """Pass the fragments that cover the question's anchors best.

    Args:
        spellings: for each anchor the index terms that stand for it (``v1.2`` and ``1.2``).
        documents: how many memories of the profile hold each term; absent means none.
        held_terms: the index terms that each candidate holds.
        common: an anchor that more memories hold than this tells them not apart, and gates nothing.
    """
    known = {
        anchor: terms
        for anchor, terms in spellings.items()
        if any(documents.get(term, 0) > 0 for term in terms)
    }
    unmatched = tuple(anchor for anchor in spellings if anchor not in known)
    rare = {
        anchor: terms
        for anchor, terms in known.items()
        if min(documents[term] for term in terms if documents.get(term, 0) > 0) <= common
    }
    held = {
        ref: tuple(anchor for anchor, wanted in rare.items() if wanted & terms)
        for ref, terms in held_terms.items()
    }
    covers = {frozenset(found) for found in held.values() if found}
    best = {cover for cover in covers if not any(cover < other for other in covers)}
    if not best:
        return Gate(frozenset(held), held, unmatched)
    return Gate(frozenset(ref for ref, found in held.items() if frozenset(found) in best), held, unmatched)


def spellings(
    anchors: Sequence[str], terms: frozenset[str], documents: Mapping[str, int]
) -> dict[str, frozenset[str]]:
    """The index terms that stand for each anchor; anchors that the index cannot tell are left out.

    A number of a pull request or an issue counts with its noun where the profile has it so, else bare (``#56``); a
    version also without its ``v``, a hash also by its first seven digits.

    Args:
        anchors: anchors of the question, in normal form.
        terms: the question's index terms, scored ones and identifiers.
        documents: how many memories hold each term.
    """
    found: dict[str, frozenset[str]] = {}
    for anchor in anchors:
        forms = [f"{MARK}{form}" for form in _forms(anchor, documents)]
        standing = frozenset(
            term for form in forms for term in (form, form.removeprefix(MARK)) if term in terms
        )
        if standing:
            # The marked term is the identifier itself; the bare one only stands in where there is none.
            marked = frozenset(
                term for term in standing if term.startswith(MARK) and documents.get(term, 0) > 0
            )
            found[anchor] = marked or standing
    return found


def _forms(anchor: str, documents: Mapping[str, int]) -> list[str]:
    number = anchor.removeprefix("pr-").removeprefix("#")
    if anchor != number and number.isdigit():
        nouns = [f"pr-{number}", f"issue-{number}"]
        known = [noun for noun in nouns if documents.get(MARK + noun, 0) > 0]
        return known or [*nouns, f"#{number}"]
    if anchor[0] == "v" and anchor[1:2].isdigit():
        return [anchor, anchor[1:]]
    if len(anchor) > _SHORT_HASH and _HEX.fullmatch(anchor):
        return [anchor, anchor[:_SHORT_HASH]]
    return [anchor]

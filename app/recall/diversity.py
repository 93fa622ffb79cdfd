"""Diversity of a ranked list: near-duplicates share a slot, or maximal marginal relevance. Pure functions.

What near-duplicates are is told in :mod:`app.lexical.fingerprint`; their fingerprints are made when they are stored.

MMR (Carbonell and Goldstein, SIGIR 1998) with HotMem's details: relevance is the min-max of the scores in the pool (1
for all of a constant pool), the similarity to what is chosen starts at 0 and never goes below it, ties keep the first
order; what lies beyond the pool follows unchanged.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from app.lexical.fingerprint import Fingerprint, are_near_duplicates

_Item = TypeVar("_Item")


def collapse(
    items: Sequence[_Item], fingerprint_of: Callable[[_Item], Fingerprint]
) -> list[tuple[_Item, list[_Item]]]:
    """Items in order, each with the later ones that say the same."""
    groups: list[tuple[_Item, list[_Item]]] = []
    leaders: list[Fingerprint] = []
    for item in items:
        own = fingerprint_of(item)
        home = next((place for place, known in enumerate(leaders) if are_near_duplicates(known, own)), None)
        if home is None:
            groups.append((item, []))
            leaders.append(own)
        else:
            groups[home][1].append(item)
    return groups


def mmr(
    scores: Sequence[float],
    similarity: Callable[[int, int], float],
    *,
    trade_off: float = 0.5,
    pool: int = 50,
) -> list[int]:
    """Positions of the scored items in the order of maximal marginal relevance.

    Args:
        scores: first-stage scores, best first.
        similarity: cosine of two items by position, 0 when unknown.
        trade_off: 1 is relevance alone, 0 novelty alone.
        pool: how many of the first are reordered.
    """
    size = min(pool, len(scores))
    head = scores[:size]
    low, spread = (min(head), max(head) - min(head)) if head else (0.0, 0.0)
    relevance = [1.0 if not spread else (score - low) / spread for score in head]
    nearest = [0.0] * size
    left, chosen = list(range(size)), list[int]()
    while left:
        best = max(left, key=lambda i: (trade_off * relevance[i] - (1 - trade_off) * nearest[i], -i))
        left.remove(best)
        chosen.append(best)
        for other in left:
            nearest[other] = max(nearest[other], similarity(best, other))
    return [*chosen, *range(size, len(scores))]

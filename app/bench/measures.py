"""Retrieval measures, computed by ir-measures (its nDCG, recall and reciprocal rank are trec_eval's)."""

from collections.abc import Mapping, Sequence
from typing import Final

MEASURES: Final = ("nDCG@10", "R@5", "R@10", "R@100", "RR@10")


def evaluate(
    rankings: Mapping[str, Sequence[str]], judgements: Mapping[str, Mapping[str, int]]
) -> dict[str, float]:
    """Means over the ranked queries, by the names in `MEASURES`.

    Args:
        rankings: Query id to document ids, best first; an empty ranking counts as nothing found.
        judgements: Query id to document id to grade.

    Raises:
        ImportError: ir-measures is not installed (extra ``bench``).
    """
    import ir_measures  # noqa: PLC0415 - an extra: the other sections do without it

    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    judged = [
        ir_measures.Qrel(query, document, grade)
        for query in rankings
        for document, grade in judgements[query].items()
    ]
    # Scores only carry the order: trec_eval sorts by score and would break ties in its own way.
    scored = [
        ir_measures.ScoredDoc(query, document, float(-place))
        for query, ranking in rankings.items()
        for place, document in enumerate(ranking)
    ]
    found = ir_measures.calc_aggregate(measures, judged, scored)
    return {str(measure): float(found[measure]) for measure in measures}

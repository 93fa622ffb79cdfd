"""Rows of claims and facts as callers see them."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from app.knowledge.schemas import ClaimView, EvidenceView, FactVersionView, FactView
from app.memory.schemas import Classification

_DIMENSIONS: Final = ("confidentiality", "retention", "pii")
_CLAIM_FIELDS: Final = tuple(
    name for name in ClaimView.__struct_fields__ if name not in ("classification", "evidence")
)
_FACT_FIELDS: Final = tuple(name for name in FactView.__struct_fields__ if name != "classification")


def _classification(row: Any) -> Classification:
    return Classification(**{name: row[name] for name in _DIMENSIONS})


def claim_view(row: Any, evidence: Sequence[Any] = ()) -> ClaimView:
    """View of a claim's columns by name, and of its evidence's."""
    return ClaimView(
        classification=_classification(row),
        evidence=[evidence_view(item) for item in evidence],
        **{name: row[name] for name in _CLAIM_FIELDS},
    )


def evidence_view(row: Any) -> EvidenceView:
    """View of one piece of evidence."""
    available = row["fragment_status"] == "active"
    return EvidenceView(
        available=available,
        **{name: row[name] for name in EvidenceView.__struct_fields__ if name != "available"},
    )


def fact_view(row: Any) -> FactView:
    """View of a fact's columns by name."""
    return FactView(classification=_classification(row), **{name: row[name] for name in _FACT_FIELDS})


def version_view(row: Any) -> FactVersionView:
    """View of one version."""
    return FactVersionView(**{name: row[name] for name in FactVersionView.__struct_fields__})


def by_claim(rows: Sequence[Any]) -> dict[UUID, list[Any]]:
    """Rows of evidence by their claim."""
    grouped: dict[UUID, list[Any]] = {}
    for row in rows:
        grouped.setdefault(row["claim_id"], []).append(row)
    return grouped

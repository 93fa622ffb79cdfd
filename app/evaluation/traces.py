"""What a run records of each case, and what imported documents became. Plain data, saved as JSON."""

from typing import Any

import msgspec

from app.evaluation.formats.rows import RefType


class RankedRef(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One returned item.

    Attributes:
        rank: One-based.
        source_doc_ids: Documents that it was imported from; several when their contents are equal.
        semantic_rank: One-based rank in the branch, 0 when it was not found there; the same of ``keyword_rank``.
        parent_type: Of evidence: the item that it supports.
    """

    rank: int
    type: RefType
    id: str
    source_doc_ids: list[str] = []
    status: str = ""
    tier: str = ""
    score: float | None = None
    final_score: float | None = None
    semantic_rank: int = 0
    keyword_rank: int = 0
    parent_type: str = ""
    parent_id: str = ""


class Arms(msgspec.Struct, kw_only=True, frozen=True):
    """Ids in the order of each branch alone and of their fusion, best first, as deep as the explanation goes."""

    fused: list[str] = []
    keyword: list[str] = []
    semantic: list[str] = []


class Trace(msgspec.Struct, kw_only=True, frozen=True):
    """One case as it was answered.

    Attributes:
        context_refs: Items of the assembled context, in its order; ``None`` when none was assembled. The same of
            ``context_evidence_refs`` and ``dream_refs``: ``None`` is "not asked", an empty list "nothing came".
        latency_ms: Of the primary recall alone, as the caller saw it.
        raw: The recall's answer, its candidates cut to the first ones and the judged ones.
    """

    case_id: str
    query: str
    ranked_refs: list[RankedRef]
    latency_ms: float
    context_refs: list[RankedRef] | None = None
    context_evidence_refs: list[RankedRef] | None = None
    dream_refs: list[RankedRef] | None = None
    context_block_chars: int = 0
    abstained: bool = False
    arms: Arms = Arms()
    raw: dict[str, Any] = {}


def texts_of(trace: Trace) -> dict[str, str]:
    """What the results of a trace say, by id: a fragment's content, a fact's or claim's three parts."""
    found: dict[str, str] = {}
    for hit in trace.raw.get("results", []):
        item = hit.get(hit["kind"]) or {}
        said = [str(item[name]) for name in ("subject", "predicate", "object") if name in item]
        found[hit["id"]] = str(item.get("content", " ".join(said)))
    return found


class ImportedDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What one document became.

    Attributes:
        refs: Ids by type; a type that is not there is unmapped.
    """

    source_doc_id: str
    scope: str = ""
    refs: dict[RefType, list[str]] = {}


class Mapping(msgspec.Struct, kw_only=True, frozen=True):
    """``knowledge_mapping.json``: from documents to what the service made of them.

    Attributes:
        profiles: Profile id by scope.
        refused_promotions: Claims that the service's gates kept from becoming facts, with what they said.
    """

    documents: list[ImportedDocument]
    profiles: dict[str, str]
    refused_promotions: list[str] = []

    def by_document(self) -> dict[str, ImportedDocument]:
        """Documents by their names."""
        return {document.source_doc_id: document for document in self.documents}

    def by_id(self) -> dict[str, list[str]]:
        """Document names by the id of what they became."""
        found: dict[str, list[str]] = {}
        for document in self.documents:
            for ids in document.refs.values():
                for name in ids:
                    found.setdefault(name, []).append(document.source_doc_id)
        return found

"""Importing a judged set into fresh profiles, through the public API."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final
from uuid import uuid4

import msgspec

from app.evaluation.api import Api
from app.evaluation.errors import EvaluationError
from app.evaluation.formats.judged import JudgedSet
from app.evaluation.formats.rows import Document, RefType
from app.evaluation.traces import ImportedDocument, Mapping
from app.evaluation.typed import recorded_of, remember

# Part of what makes two runs comparable: raise it when the same document would be imported differently.
IMPORT_METHOD: Final = "strata-import-3: fragments/batch, and remember for typed claims"
Progress = Callable[[str, int, int], None]

_BATCH_ITEMS: Final = 250
_BATCH_BYTES: Final = 4_000_000
_AUTHORITIES: Final = frozenset({"authoritative", "primary", "secondary", "inferred", "unknown"})
_SOURCE_TYPES: Final = frozenset({"conversation", "document", "observation", "manual"})
# A seed's own bookkeeping says which document is the answer; in the index it would be found by the words of a question.
_ANSWER_KEYS: Final = frozenset({"case_id", "role", "category"})
_ANSWER_LABELS: Final = frozenset({"eval", "required", "acceptable", "bad", "hard_negative"})
_LABELS: Final = 20
_SOURCE: Final = 256
_PRIMARY: Final = 0.95
_SECONDARY: Final = 0.75


class ImportState(msgspec.Struct, kw_only=True):
    """What an import has done; kept so that one that was cut off goes on where it stopped.

    Attributes:
        profiles: Profile id by scope.
        documents: What became of the documents so far.
        refused: Promotions that the service's gates refused so far.
    """

    seed_hash: str
    import_method: str
    profiles: dict[str, str] = {}
    documents: list[ImportedDocument] = []
    refused: list[str] = []


async def import_set(
    api: Api, judged: JudgedSet, state: ImportState, save: Callable[[ImportState], None], progress: Progress
) -> Mapping:
    """Store every document, in order, each scope in its profile.

    Args:
        api: The service.
        judged: The set.
        state: What an earlier attempt did; filled here.
        save: Keeps the state: before a profile is used, and every few hundred documents.
        progress: Told the stage, how many documents are stored, and of how many.

    Raises:
        EvaluationError: the service refused a document, or does not answer.
    """
    total = len(judged.documents)
    presumed = presumed_time(judged)
    known = {document.source_doc_id for document in state.documents}
    saved = len(known)
    for scope, found in judged.scopes.items():
        if scope not in state.profiles:
            name = f"eval {judged.name} {scope}".strip()[:60]
            made = await api.send("POST", "/v1/profiles", {"name": f"{name} {uuid4()}"})
            state.profiles[scope] = made["id"]
            save(state)
        left = [_dated(document, presumed) for document in found if document.source_doc_id not in known]
        # Some public sets hold empty documents; the service stores none, and they become nothing.
        state.documents += [
            ImportedDocument(source_doc_id=document.source_doc_id, scope=scope)
            for document in left
            if not document.content.strip()
        ]
        for batch in _batches([document for document in left if document.content.strip()]):
            await _import_batch(api, scope, batch, state)
            if len(state.documents) - saved >= _BATCH_ITEMS:
                save(state)
                saved = len(state.documents)
            progress("import", len(state.documents), total)
    return Mapping(
        documents=list(state.documents),
        profiles=dict(state.profiles),
        refused_promotions=list(state.refused),
    )


async def _import_batch(api: Api, scope: str, batch: Sequence[Document], state: ImportState) -> None:
    profile = state.profiles[scope]
    became = await _store(api, profile, batch, state.refused)
    for document in batch:
        refs = became[document.source_doc_id]
        if document.retracted:
            for name in refs["fragment"]:
                await api.send("POST", f"/v1/profiles/{profile}/fragments/{name}/retract")
    state.documents += [
        ImportedDocument(
            source_doc_id=document.source_doc_id, scope=scope, refs=became[document.source_doc_id]
        )
        for document in batch
    ]


def presumed_time(judged: JudgedSet) -> datetime | None:
    """When a set was recorded whose documents do not tell and whose cases ask what was known at a time.

    It is the earliest of those times: what such a case asks for was known. ``None`` where a document tells, where no case
    asks, or where that time is still to come.
    """
    asked = [case.known_at for case in judged.cases if case.known_at is not None]
    if not asked or any(recorded_of(document) is not None for document in judged.documents):
        return None
    earliest = min(asked)
    return earliest if earliest <= datetime.now(UTC) else None


def _dated(document: Document, presumed: datetime | None) -> Document:
    return document if presumed is None else msgspec.structs.replace(document, recorded_at=presumed)


def fragment_of(document: Document) -> dict[str, Any]:
    """Body of the fragment that a document becomes.

    The title is the source. What says which document is the answer stays out: the labels ``required``, ``hard_negative``
    and their like, and the metadata keys ``case_id``, ``role`` and ``category``. An authority that is none of the
    service's words is read from the source's quality.
    """
    body: dict[str, Any] = {
        "content": document.content,
        "source_type": document.source_type if document.source_type in _SOURCE_TYPES else "document",
        "authority": _authority(document),
        "labels": [label for label in document.labels if label not in _ANSWER_LABELS][:_LABELS],
        "metadata": {key: value for key, value in document.metadata.items() if key not in _ANSWER_KEYS},
        "idempotency_key": document.source_doc_id,
    }
    if document.title:
        body["source"] = document.title[:_SOURCE]
    for name in ("valid_from", "valid_to", "recorded_at", "recorded_to"):
        value = getattr(document, name)
        if value is not None:
            body[name] = value.isoformat()
    return body


def _authority(document: Document) -> str:
    if document.authority in _AUTHORITIES:
        return document.authority
    quality = document.source_quality
    if quality is None:
        return "unknown"
    return "primary" if quality >= _PRIMARY else "secondary" if quality >= _SECONDARY else "inferred"


async def _store(
    api: Api, profile: str, batch: Sequence[Document], refused: list[str]
) -> dict[str, dict[RefType, list[str]]]:
    """What each document of a batch became; the batch is of one kind, with claims or without."""
    bodies = [fragment_of(document) for document in batch]
    if batch[0].claims:
        done = await remember(api, profile, batch, bodies)
        refused += done.refused
        return done.refs
    answer = await api.send("POST", f"/v1/profiles/{profile}/fragments/batch", {"items": bodies})
    became: dict[str, dict[RefType, list[str]]] = {}
    for document, outcome in zip(batch, answer["results"], strict=True):
        if outcome["status"] == "error":
            said = outcome["error"]["detail"]
            raise EvaluationError(f"document {document.source_doc_id!r} was refused: {said}")
        became[document.source_doc_id] = {"fragment": [outcome["id"]]}
    return became


def _batches(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Batches in order, each of documents with claims or of ones without, within the batch route's items and bytes."""
    for _, alike in groupby(documents, key=lambda document: bool(document.claims)):
        batch: list[Document] = []
        size = 0
        for document in alike:
            weight = len(document.content.encode())
            if batch and (len(batch) == _BATCH_ITEMS or size + weight > _BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(document)
            size += weight
        yield batch

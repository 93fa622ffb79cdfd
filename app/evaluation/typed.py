"""Documents with typed claims, through the service's ``remember`` route: evidence and claims that point at it by index.

One request holds documents of one ``auto_promote``, in their order, and few enough to be answered at once. A claim that the
service's gates keep from becoming a fact stays a claim: that is what the service does with the seed, and is told.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from app.evaluation.api import RESUME, Api
from app.evaluation.errors import EvaluationError
from app.evaluation.formats.rows import Claim, Document, RefType

REMEMBER: Final = "/v1/profiles/{profile_id}/remember"
# From here on the service queues a request instead of answering it.
_ITEMS: Final = 20
_BYTES: Final = 60_000
_PAUSE: Final = 0.5
_PATIENCE: Final = 1_200
_RECORDED: Final = ("recorded_at", "recordedAt")
_FAILED: Final = frozenset({"invalid", "claim_error"})


@dataclass(frozen=True, slots=True)
class Part:
    """One document with some of its claims; ``first`` is the position of the first of them in the document."""

    document: Document
    claims: Sequence[Claim]
    first: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """What documents became: ids by type for each name, and promotions that were refused, with document and reason."""

    refs: dict[str, dict[RefType, list[str]]]
    refused: list[str]


def requests_of(documents: Sequence[Document]) -> Iterator[list[Part]]:
    """Documents in requests of one ``auto_promote`` each, in order; many claims of one document need several."""
    held: list[Part] = []
    items = size = 0
    for document in documents:
        for first in range(0, max(1, len(document.claims)), _ITEMS - 1):
            part = Part(document, document.claims[first : first + _ITEMS - 1], first)
            more = 1 + len(part.claims)
            weight = len(msgspec.json.encode(document))
            full = items + more > _ITEMS or size + weight > _BYTES
            if held and (full or held[0].document.auto_promote != document.auto_promote):
                yield held
                held, items, size = [], 0, 0
            held.append(part)
            items, size = items + more, size + weight
    if held:
        yield held


async def remember(
    api: Api, profile: str, documents: Sequence[Document], evidence: Sequence[dict[str, Any]]
) -> Remembered:
    """Store documents with their claims, verified, and promoted where the seed says so.

    Args:
        api: The service.
        profile: Its profile.
        documents: In order.
        evidence: Body of the fragment that each becomes.

    Raises:
        EvaluationError: evidence or a claim was refused, or the service does not answer.
    """
    bodies = {document.source_doc_id: body for document, body in zip(documents, evidence, strict=True)}
    done = Remembered({}, [])
    for parts in requests_of(documents):
        body = {
            "evidence": [bodies[part.document.source_doc_id] for part in parts],
            "claims": [
                _claim(part.document, claim, index)
                for index, part in enumerate(parts)
                for claim in part.claims
            ],
            "auto_promote": parts[0].document.auto_promote,
            "extraction": "none",
        }
        path = REMEMBER.format(profile_id=profile)
        _note(done, parts, await _completed(api, path, await api.send("POST", path, body)))
    return done


def _claim(document: Document, claim: Claim, index: int) -> dict[str, Any]:
    # What a document says was known when the document was.
    values = msgspec.structs.asdict(claim) | {"recorded_at": recorded_of(document), "evidence": [index]}
    return {name: msgspec.to_builtins(value) for name, value in values.items() if value is not None}


def recorded_of(document: Document) -> Any:
    """When a document was recorded: its field, else the metadata that its fragment reads; ``None`` when neither tells."""
    told = (document.metadata[name] for name in _RECORDED if name in document.metadata)
    return document.recorded_at or next(told, None)


async def _completed(api: Api, path: str, answer: dict[str, Any]) -> dict[str, Any]:
    """A run that a worker of the service works on is waited for."""
    waited = 0.0
    while answer["status"] != "completed":
        if waited >= _PATIENCE:
            raise EvaluationError(
                f"the run {answer['run_id']} is {answer['status']} for {waited:.0f} s; is a worker running?",
                RESUME,
            )
        await asyncio.sleep(_PAUSE)
        waited += _PAUSE
        answer = await api.send("GET", f"{path}/{answer['run_id']}")
    return answer


def _note(done: Remembered, parts: Sequence[Part], answer: dict[str, Any]) -> None:
    for part, stored in zip(parts, answer["evidence"], strict=True):
        if stored["id"] is None:
            said = stored["error"]["detail"]
            raise EvaluationError(f"document {part.document.source_doc_id!r} was refused: {said}")
        _add(done, part.document, "fragment", stored["id"])
    documents = [part.document for part in parts for _ in part.claims]
    for outcome in answer["claims"]:
        document = documents[outcome["index"]]
        named = f"{document.source_doc_id}: {outcome['outcome']}"
        if outcome["outcome"] in _FAILED:
            said = outcome["error"]["detail"]
            raise EvaluationError(
                f"a claim of document {document.source_doc_id!r} was refused: {said}", RESUME
            )
        if outcome["claim_id"] is not None:
            _add(done, document, "claim", outcome["claim_id"])
        if outcome["fact_id"] is not None:
            _add(done, document, "fact", outcome["fact_id"])
        elif document.auto_promote:
            reasons = [reason["message"] for reason in outcome["reasons"]]
            done.refused.append(": ".join([named, "; ".join(reasons)]) if reasons else named)


def _add(done: Remembered, document: Document, kind: RefType, name: str) -> None:
    ids = done.refs.setdefault(document.source_doc_id, {}).setdefault(kind, [])
    if name not in ids:
        ids.append(name)

"""Typed claims of a seed: the one place that knows whether and how the service takes them."""

from collections.abc import Sequence
from typing import Any, Final, Self

from app.evaluation.api import Api
from app.evaluation.errors import EvaluationError
from app.evaluation.formats.rows import Claim, Document, RefType

CLAIMS: Final = "/v1/profiles/{profile_id}/claims"
UNAVAILABLE: Final = (
    "the service takes no typed claims: documents were imported as evidence alone, and references to claims and facts "
    "are unmapped"
)


class TypedKnowledge:
    """Stores a document's claims, has them verified, and promotes them where the seed says so.

    A promotion that the service's gates refuse leaves the claim, and the fact unmapped.

    Args:
        api: The service.
        available: Whether it takes claims.
    """

    def __init__(self, api: Api, *, available: bool) -> None:
        self._api = api
        self.available = available
        self.note = "" if available else UNAVAILABLE
        self._refused: list[str] = []

    @classmethod
    async def of(cls, api: Api) -> Self:
        """What the service at hand can do, by its OpenAPI document."""
        return cls(api, available=CLAIMS in await api.routes())

    @property
    def refused(self) -> Sequence[str]:
        """Promotions that the service refused, told with document and reason."""
        return self._refused

    async def remember(self, profile: str, document: Document, fragment_id: str) -> dict[RefType, list[str]]:
        """Ids of the claims and facts that the document's claims became, by type; empty without claims.

        Raises:
            EvaluationError: a claim was refused, or the service does not answer.
        """
        refs: dict[RefType, list[str]] = {}
        if not self.available:
            return refs
        for number, claim in enumerate(document.claims):
            path = CLAIMS.format(profile_id=profile)
            made = await self._api.send(
                "POST", path, _body(claim, fragment_id, f"{document.source_doc_id}#{number}")
            )
            refs.setdefault("claim", []).append(made["id"])
            await self._api.send("POST", f"{path}/{made['id']}/verify")
            if document.auto_promote:
                fact = await self._promote(f"{path}/{made['id']}/promote", document.source_doc_id)
                if fact is not None:
                    refs.setdefault("fact", []).append(fact)
        return refs

    async def _promote(self, path: str, document: str) -> str | None:
        try:
            outcome = await self._api.send("POST", path)
        except EvaluationError as error:
            if error.status != _CONFLICT:
                raise
            self._refused.append(f"{document}: {error}")
            return None
        fact: str = outcome["fact"]["id"]
        return fact


_CONFLICT: Final = 409
_LONGEST_KEY: Final = 128


def _body(claim: Claim, fragment_id: str, key: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "subject": claim.subject,
        "predicate": claim.predicate,
        "object": claim.object,
        "extract_conf": claim.extract_conf,
        "resolution_conf": claim.resolution_conf,
        "supported_by": [fragment_id],
        "idempotency_key": key[-_LONGEST_KEY:],
    }
    if claim.modality is not None:
        body["modality"] = claim.modality
    for name in ("valid_from", "valid_to"):
        value = getattr(claim, name)
        if value is not None:
            body[name] = value.isoformat()
    return body

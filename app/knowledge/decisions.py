"""What a decision about a claim or a fact is given, and how it is refused."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from app.errors import FieldError, StrataError, not_found
from app.knowledge.index import Vectors
from app.knowledge.promotion import Refusal

_DETAILS: Final = {
    "rejected_weaker": "an active fact that excludes this claim has a higher truth score; the claim is rejected",
    "comparable_disputed": "an active fact that excludes this claim is about as well founded; the claim is disputed"
    " until somebody confirms one of them",
    "conflict": "other facts conflict with the claim by now; read its clarification and decide again",
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A claim or fact that is to be decided about, and the vectors of its statement."""

    id: UUID
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Refused:
    """A claim that was not promoted: the problem code, why, and what that made of the claim.

    An outcome, not an exception: some refusals change the claim or its conflicts, and the change is to be committed.
    """

    code: str
    claim_id: UUID
    claim_status: str
    reasons: tuple[Refusal, ...] = ()
    facts: tuple[UUID, ...] = ()

    def error(self) -> StrataError:
        """The problem that the caller is answered with."""
        errors = [FieldError(reason.gate, reason.message) for reason in self.reasons]
        errors += [FieldError("fact", str(fact)) for fact in self.facts]
        told = "; ".join(f"{reason.gate} {reason.message}" for reason in self.reasons)
        return StrataError(self.code, told or _DETAILS[self.code], errors=tuple(errors))


def fact_not_found() -> StrataError:
    """No such fact, or another profile's."""
    return StrataError("fact_not_found", not_found("fact").detail)

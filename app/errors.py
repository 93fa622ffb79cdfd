"""What can go wrong, by stable code. Services raise these; the HTTP layer renders them, the command line prints them."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One row of the error table: HTTP status, short title, and what the caller can do."""

    status: int
    title: str
    remedy: str


CODES: Final[dict[str, ErrorCode]] = {
    "missing_key": ErrorCode(401, "No API key", "Send `Authorization: Bearer strata_...`."),
    "invalid_key": ErrorCode(
        401, "Unknown API key", "Check the key; a key is shown only once, at its creation."
    ),
    "expired_key": ErrorCode(401, "Expired API key", "Create or rotate a key."),
    "revoked_key": ErrorCode(401, "Revoked API key", "Create a new key."),
    "invalid_operator_token": ErrorCode(401, "Not the operator", "Send the token of STRATA_OPERATOR_TOKEN."),
    "missing_scope": ErrorCode(403, "Scope missing", "Use a key that has the scope named in the detail."),
    "team_archived": ErrorCode(403, "Team archived", "Ask the operator to reactivate the team."),
    "not_found": ErrorCode(
        404, "Not found", "Check the id; ids of other teams and profiles are not found either."
    ),
    "claim_not_found": ErrorCode(404, "No such claim", "Check the id and the profile."),
    "fact_not_found": ErrorCode(404, "No such fact", "Check the id and the profile."),
    "supporting_fragment_missing": ErrorCode(
        404, "Supporting fragment missing", "Cite active fragments of the same profile."
    ),
    "method_not_allowed": ErrorCode(
        405, "Method not allowed", "See the OpenAPI document for the methods of a path."
    ),
    "conflict": ErrorCode(409, "Conflict", "Read the current state and decide again."),
    "name_taken": ErrorCode(409, "Name taken", "Choose another name; case does not tell names apart."),
    "idempotency_key_reused": ErrorCode(
        409, "Idempotency key used for something else", "Use a new key for a new request."
    ),
    "request_in_progress": ErrorCode(
        409, "Same request in progress", "Repeat it after the time in Retry-After."
    ),
    "embedding_space_mismatch": ErrorCode(
        409, "Other embedding space", "Start the service with the team's embedder, or re-embed the team."
    ),
    "needs_claim_validated": ErrorCode(409, "Claim not validated", "Verify the claim first."),
    "gate_rejected": ErrorCode(
        409, "A gate refuses the claim", "Mend what `errors` lists: one entry for each gate."
    ),
    "comparable_disputed": ErrorCode(
        409,
        "Disputed with a comparable fact",
        "Decide with the claim's confirm route; see its clarification.",
    ),
    "rejected_weaker": ErrorCode(
        409, "Weaker than an active fact", "Bring better evidence in a new claim, or let the fact stand."
    ),
    "payload_too_large": ErrorCode(413, "Body too large", "Send fewer items; see the limits in the README."),
    "unsupported_media_type": ErrorCode(415, "Not JSON", "Send `Content-Type: application/json`."),
    "malformed_json": ErrorCode(422, "Malformed JSON", "Send one JSON value, in UTF-8."),
    "validation_failed": ErrorCode(422, "Invalid request", "Mend the fields listed under `errors`."),
    "self_supersession": ErrorCode(
        422, "A fact cannot supersede itself", "Name another active fact of the profile in `by`."
    ),
    "predicate_not_policed": ErrorCode(
        422, "Predicate without a policy", "Use a listed predicate, or add a policy for this one."
    ),
    "unsupported_policy": ErrorCode(
        422, "Unknown kind of policy", "Use single_current, multi_valued, versioned or append_only."
    ),
    "rate_limited": ErrorCode(429, "Too many requests", "Repeat after the time in Retry-After."),
    "internal_error": ErrorCode(500, "Internal error", "Report it with the request id."),
    "verifier_malformed_response": ErrorCode(
        502, "The verifier's answer is malformed", "Repeat it; check the model if it persists."
    ),
    "verifier_provider": ErrorCode(
        503,
        "The verifier's server failed",
        "Repeat after the time in Retry-After; check the server if it persists.",
    ),
    "verifier_rate_limit": ErrorCode(429, "The verifier is busy", "Repeat after the time in Retry-After."),
    "verifier_timeout": ErrorCode(504, "The verifier took too long", "Repeat after the time in Retry-After."),
    "database_unavailable": ErrorCode(503, "Database unavailable", "Repeat after the time in Retry-After."),
    "database_busy": ErrorCode(503, "Database busy", "Repeat after the time in Retry-After."),
    "embedder_unavailable": ErrorCode(503, "Embedder unavailable", "Repeat after the time in Retry-After."),
    "recall_branch_failed": ErrorCode(
        503, "A required branch failed", "Repeat after the time in Retry-After."
    ),
    "not_ready": ErrorCode(503, "Not ready", "Wait until /readyz answers 200."),
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field; ``path`` as in ``items[3].content``."""

    path: str
    message: str


class StrataError(Exception):
    """An error with a stable code.

    Attributes:
        code: A key of ``CODES``.
        detail: One sentence for people; never memory content, never a secret.
        errors: Field errors, for ``validation_failed``.
        retry_after: Seconds after which the same request may succeed.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        errors: tuple[FieldError, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        if code not in CODES:
            raise LookupError(f"unknown error code {code!r}")
        self.code = code
        self.detail = detail
        self.errors = errors
        self.retry_after = retry_after


def not_found(what: str) -> StrataError:
    """The answer for everything that is not there or not the caller's: the two look the same."""
    return StrataError("not_found", f"no such {what}")


def invalid(path: str, message: str) -> StrataError:
    """One invalid field."""
    return StrataError("validation_failed", f"{path} {message}", errors=(FieldError(path, message),))


def first_failure(group: ExceptionGroup[Exception]) -> Exception:
    """The first exception that a task group collected.

    Task groups are caught with a plain ``except`` and this: what is raised inside ``except*`` comes out wrapped in a
    group again on Python 3.11.2.
    """
    failure: Exception = group
    while isinstance(failure, ExceptionGroup):
        failure = failure.exceptions[0]
    return failure

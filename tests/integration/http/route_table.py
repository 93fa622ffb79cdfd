"""Every route of the service, once: what it needs, what it is sent, what its owner gets."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4


@dataclass(frozen=True)
class Route:
    """One operation. ``path`` may hold the names of ids: profile, fragment, claim, fact, key, team.

    A ``status`` of 409 tells that the caller is let in and the state of the item refuses, one of 404 that the item which
    the body names is not there.
    """

    operation: str
    method: str
    path: str
    needs: str  # a scope, or "operator"
    status: int = 200
    body: dict[str, Any] | None = None
    whole_team: bool = False
    missing: str = "not_found"  # code of an item that nobody has

    @property
    def of_profile(self) -> bool:
        return "{profile_id}" in self.path

    def sent(self) -> dict[str, Any] | None:
        """A body that works, with names and contents that nobody has used."""
        if self.body is None:
            return None
        fresh = {FRESH: f"{FRESH} {uuid4()}", FRESH_NAME: f"fresh_{uuid4().hex}"}
        return {
            name: fresh.get(value, value) if isinstance(value, str) else value
            for name, value in self.body.items()
        }


FRESH = "fresh text"
NOBODY = "019a0000-0000-7000-8000-000000000001"
FRESH_NAME = "fresh_name"
_PROFILE = "/v1/profiles/{profile_id}"
_FRAGMENT = _PROFILE + "/fragments/{fragment_id}"
_CLAIM = _PROFILE + "/claims/{claim_id}"
_FACT = _PROFILE + "/facts/{fact_id}"
_TEAM = "/v1/admin/teams/{team_id}"
READ, WRITE, ADMIN, OPERATOR = "memory:read", "memory:write", "admin", "operator"

ROUTES = (
    Route("createProfile", "POST", "/v1/profiles", WRITE, 201, {"name": FRESH}, whole_team=True),
    Route("listProfiles", "GET", "/v1/profiles", READ),
    Route("getProfile", "GET", _PROFILE, READ),
    Route("deleteProfile", "DELETE", _PROFILE, ADMIN, 204, whole_team=True),
    Route("getTeam", "GET", "/v1/team", READ),
    Route("changeTeam", "PATCH", "/v1/team", ADMIN, 200, {"ranking_policy": None}, whole_team=True),
    Route("createKey", "POST", "/v1/keys", ADMIN, 201, {"name": "key"}, whole_team=True),
    Route("listKeys", "GET", "/v1/keys", ADMIN, whole_team=True),
    Route("rotateKey", "POST", "/v1/keys/{key_id}/rotate", ADMIN, 201, {}, whole_team=True),
    Route("revokeKey", "DELETE", "/v1/keys/{key_id}", ADMIN, whole_team=True),
    Route("listAudit", "GET", "/v1/audit", ADMIN, whole_team=True),
    Route("createFragment", "POST", _PROFILE + "/fragments", WRITE, 201, {"content": FRESH}),
    Route(
        "createFragments", "POST", _PROFILE + "/fragments/batch", WRITE, 200, {"items": [{"content": "x"}]}
    ),
    Route("listFragments", "GET", _PROFILE + "/fragments", READ),
    Route("getFragment", "GET", _FRAGMENT, READ),
    Route("retractFragment", "POST", _FRAGMENT + "/retract", WRITE),
    Route("deleteFragment", "DELETE", _FRAGMENT, WRITE, 204),
    Route(
        "createClaim",
        "POST",
        _PROFILE + "/claims",
        WRITE,
        201,
        {"subject": "Ada", "predicate": "likes", "object": FRESH, "supported_by": ["{fragment_id}"]},
    ),
    Route("listClaims", "GET", _PROFILE + "/claims", READ),
    Route("getClaim", "GET", _CLAIM, READ, missing="claim_not_found"),
    Route("verifyClaim", "POST", _CLAIM + "/verify", WRITE, missing="claim_not_found"),
    Route("promoteClaim", "POST", _CLAIM + "/promote", WRITE, 409, missing="claim_not_found"),
    Route(
        "confirmClaim",
        "POST",
        _CLAIM + "/confirm",
        WRITE,
        409,
        {"decision": "reject_claim"},
        missing="claim_not_found",
    ),
    Route("deleteClaim", "DELETE", _CLAIM, WRITE, 204, missing="claim_not_found"),
    Route("listClarifications", "GET", _PROFILE + "/clarifications", READ),
    Route("listFacts", "GET", _PROFILE + "/facts", READ),
    Route("getFact", "GET", _FACT, READ, missing="fact_not_found"),
    Route("getFactHistory", "GET", _FACT + "/history", READ, missing="fact_not_found"),
    Route("revalidateFact", "POST", _FACT + "/revalidate", WRITE, 409, missing="fact_not_found"),
    Route("retractFact", "POST", _FACT + "/retract", WRITE, missing="fact_not_found"),
    Route(
        "supersedeFact",
        "POST",
        _FACT + "/supersede",
        WRITE,
        404,
        {"by": NOBODY},
        missing="fact_not_found",
    ),
    Route("traceFact", "GET", _PROFILE + "/trace/fact/{fact_id}", READ, missing="fact_not_found"),
    Route("traceClaim", "GET", _PROFILE + "/trace/claim/{claim_id}", READ, missing="claim_not_found"),
    Route("remember", "POST", _PROFILE + "/remember", WRITE, 200, {"evidence": [{"content": "x"}]}),
    Route("importMemories", "POST", _PROFILE + "/import", WRITE, 200, {"evidence": [{"content": "x"}]}),
    Route("getRememberRun", "GET", _PROFILE + "/remember/{run_id}", READ),
    Route("listPredicates", "GET", "/v1/predicates", READ),
    Route(
        "createPredicate",
        "POST",
        "/v1/predicates",
        ADMIN,
        201,
        {"predicate": FRESH_NAME, "kind": "multi_valued"},
        whole_team=True,
    ),
    Route("recall", "POST", _PROFILE + "/recall", READ, 200, {"query": "fresh"}),
    Route("assembleContext", "POST", _PROFILE + "/context", READ, 200, {"query": "fresh"}),
    Route("listRecallPolicies", "GET", "/v1/recall-policies", READ),
    Route("adminCreateTeam", "POST", "/v1/admin/teams", OPERATOR, 201, {"name": FRESH}),
    Route("adminListTeams", "GET", "/v1/admin/teams", OPERATOR),
    Route("adminGetTeam", "GET", _TEAM, OPERATOR),
    Route("adminChangeTeam", "PATCH", _TEAM, OPERATOR, 200, {"name": FRESH}),
    Route("adminDeleteTeam", "DELETE", _TEAM, OPERATOR, 204),
    Route("adminCreateKey", "POST", _TEAM + "/keys", OPERATOR, 201, {"name": "key"}),
    Route("adminListKeys", "GET", _TEAM + "/keys", OPERATOR),
    Route("adminRevokeKey", "DELETE", _TEAM + "/keys/{key_id}", OPERATOR),
)
KEY_ROUTES = tuple(route for route in ROUTES if route.needs != OPERATOR)
OPERATOR_ROUTES = tuple(route for route in ROUTES if route.needs == OPERATOR)
PUBLIC = ("livez", "readyz", "health", "metrics")

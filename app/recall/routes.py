"""Routes of recall."""

from litestar import Controller, get, post
from litestar.params import JSONBody

from app.http.guards import READ
from app.http.injection import Injected
from app.recall.assembly import assembled, request_of
from app.recall.policy import POLICIES, chosen_policy
from app.recall.schemas import ContextInput, ContextResult, PolicyList, PolicyView, RecallInput, RecallResult
from app.services import Services
from app.tenancy.authentication import Caller


class RecallController(Controller):
    """Questions to a profile."""

    path = "/v1/profiles/{profile_id:str}"
    tags = ("recall",)

    @post(
        path="/recall",
        operation_id="recall",
        summary="Recall memories",
        guards=[READ],
        status_code=200,
    )
    async def recall(
        self, services: Injected[Services], caller: Injected[Caller], data: JSONBody[RecallInput]
    ) -> RecallResult:
        """One ranked list for a question, explained on request."""
        return await services.recall.recall(
            caller.tenant,
            space_id=caller.embedding_space_id,
            text_search_config=caller.text_search_config,
            pinned_policy=caller.ranking_policy,
            request=data,
        )

    @post(
        path="/context",
        operation_id="assembleContext",
        summary="Assemble a context",
        guards=[READ],
        status_code=200,
    )
    async def context(
        self, services: Injected[Services], caller: Injected[Caller], data: JSONBody[ContextInput]
    ) -> ContextResult:
        """The hits of one recall as a text for a prompt, in ranked order, marked as data."""
        found = await services.recall.recall(
            caller.tenant,
            space_id=caller.embedding_space_id,
            text_search_config=caller.text_search_config,
            pinned_policy=caller.ranking_policy,
            request=request_of(data),
        )
        return assembled(data, found)


class PolicyController(Controller):
    """Ranking policies."""

    path = "/v1/recall-policies"
    tags = ("recall",)

    @get(operation_id="listRecallPolicies", summary="List ranking policies", guards=[READ])
    async def policies(self, caller: Injected[Caller]) -> PolicyList:
        """Every policy with all of its switches and weights."""
        default, _ = chosen_policy(None, caller.ranking_policy)
        return PolicyList(
            items=[
                PolicyView(
                    name=policy.name,
                    default=policy.name == default.name,
                    summary=policy.summary,
                    settings=policy.description,
                )
                for policy in POLICIES.values()
            ]
        )

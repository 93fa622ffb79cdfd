"""Route of recall."""

from litestar import Controller, post
from litestar.params import JSONBody

from app.http.guards import READ
from app.http.injection import Injected
from app.http.problems import PROBLEMS
from app.recall.schemas import RecallInput, RecallResult
from app.services import Services
from app.tenancy.authentication import Caller


class RecallController(Controller):
    """Questions to a profile."""

    path = "/v1/profiles/{profile_id:str}/recall"
    tags = ("recall",)

    @post(
        operation_id="recall", responses=PROBLEMS, summary="Recall memories", guards=[READ], status_code=200
    )
    async def recall(
        self, services: Injected[Services], caller: Injected[Caller], data: JSONBody[RecallInput]
    ) -> RecallResult:
        """One ranked list for a question, explained on request."""
        return await services.recall.recall(
            caller.tenant,
            space_id=caller.embedding_space_id,
            text_search_config=caller.text_search_config,
            request=data,
        )

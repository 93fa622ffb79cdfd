"""The OpenAPI document: as committed, complete, and kept by every answer, whatever is sent."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.integration.conftest import OPERATOR, Member
from tests.integration.http.openapi_snapshot import FILE, document, rendered

DOCUMENT = document()
OPERATIONS = [
    (path, method) for path, methods in sorted(DOCUMENT["paths"].items()) for method in sorted(methods)
]
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)


def test_the_document_is_the_committed_one() -> None:
    assert FILE.read_text() == rendered(), (
        "the API changed: if that is meant, run `python -m tests.integration.http.openapi_snapshot` and commit"
    )


async def test_the_service_serves_the_document(client: httpx.AsyncClient) -> None:
    assert (await client.get("/docs/openapi.json")).json() == DOCUMENT


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_an_operation_is_described(path: str, method: str) -> None:
    operation = DOCUMENT["paths"][path][method]
    assert operation["operationId"].isidentifier()
    assert operation["summary"]
    assert operation["description"]
    assert operation["tags"]
    assert "400" not in operation["responses"]
    names = {parameter["name"] for parameter in operation.get("parameters", [])}
    assert names >= {part[1:-1] for part in path.split("/") if part.startswith("{")}
    secured = path.startswith("/v1/") and path != "/v1/health"
    assert operation.get("security") == ([{"apiKey": []}] if secured else None)
    if secured:
        assert operation["responses"].keys() >= {"401", "403", "404", "422", "429", "503"}


def test_operation_ids_are_unique() -> None:
    ids = [DOCUMENT["paths"][path][method]["operationId"] for path, method in OPERATIONS]
    assert len(ids) == len(set(ids))


def test_a_batch_holds_fragments() -> None:
    operation = DOCUMENT["paths"]["/v1/profiles/{profile_id}/fragments/batch"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["items"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/FragmentInput"},
        "minItems": 1,
        "maxItems": 1000,
    }


@dataclass(frozen=True)
class Fuzzed:
    """A team to send anything to, and ids of its own that reach behind the first check."""

    client: httpx.AsyncClient
    member: Member
    ids: dict[str, str]


@pytest.fixture(scope="module")
async def fuzzed(client: httpx.AsyncClient, make_member: Any) -> Fuzzed:
    member = await make_member()
    stored = await client.post(f"{member.path}/fragments", json={"content": "known"}, headers=member.owner)
    key = await client.post("/v1/keys", json={"name": "spare"}, headers=member.owner)
    return Fuzzed(
        client,
        member,
        {
            "profile_id": str(member.profile_id),
            "fragment_id": stored.json()["id"],
            "key_id": key.json()["id"],
            "team_id": str(member.team_id),
        },
    )


def cases(path: str, method: str) -> st.SearchStrategy[Any]:
    operation = SCHEMA[path][method.upper()]
    return st.one_of(operation.as_strategy(generation_mode=mode) for mode in modes(path, method))


def modes(path: str, method: str) -> Iterator[GenerationMode]:
    yield GenerationMode.POSITIVE
    operation = DOCUMENT["paths"][path][method]
    if operation.get("parameters") or operation.get("requestBody"):
        yield GenerationMode.NEGATIVE


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
async def test_anything_sent_is_answered_as_described(
    fuzzed: Fuzzed, path: str, method: str, data: st.DataObject
) -> None:
    case = data.draw(cases(path, method))
    destructive = method == "delete" and not path.endswith(("{fragment_id}", "{key_id}"))
    if not destructive and data.draw(st.booleans()):
        case.path_parameters = {
            name: fuzzed.ids.get(name, value) for name, value in case.path_parameters.items()
        }
    caller = OPERATOR if path.startswith("/v1/admin") else fuzzed.member.owner
    sent = case.as_transport_kwargs(base_url="http://strata.test", headers=caller)
    sent.pop("cookies", None)
    if "data" in sent:
        sent["content"] = sent.pop("data")
    case.validate_response(await fuzzed.client.request(**sent), checks=CHECKS)

"""Every route by caller: who is let in, and what the others are told."""

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import httpx
import pytest
import sqlalchemy as sa

from app.asgi import create_app
from app.db.unit_of_work import Tenant
from app.http.guards import RequiresOperator, RequiresScope
from app.services import Services
from app.settings import Settings
from app.tenancy import keys
from tests.integration.conftest import OPERATOR, Member, bearer
from tests.integration.http.route_table import KEY_ROUTES, OPERATOR_ROUTES, PUBLIC, ROUTES, Route

Send = Callable[..., Awaitable[httpx.Response]]


@dataclass(frozen=True)
class World:
    """Two teams; the callers below belong to `mine` unless they say otherwise."""

    mine: Member
    other: Member
    headers: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
async def world(client: httpx.AsyncClient, services: Services, make_member: Any) -> World:
    mine, other, archived = await make_member(), await make_member(), await make_member()
    patched = await client.patch(
        f"/v1/admin/teams/{archived.team_id}", json={"status": "archived"}, headers=OPERATOR
    )
    assert patched.status_code == 200

    async def key(**fields: Any) -> tuple[str, str]:
        body = {"name": "key", "scopes": ["memory:read", "memory:write", "admin"], **fields}
        made = (await client.post("/v1/keys", json=body, headers=mine.owner)).json()
        return made["id"], made["api_key"]

    expired_id, expired = await key()
    async with services.database.tenant(Tenant(mine.team_id)) as unit:
        await unit.execute(
            sa.text("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = :id"),
            {"id": expired_id},
        )
    revoked_id, revoked = await key()
    await client.delete(f"/v1/keys/{revoked_id}", headers=mine.owner)
    _, scopeless = await key(scopes=["feedback:write"])
    _, restricted = await key(profile_id=str(mine.other_profile_id))
    known_prefix = keys.prefix_of(scopeless)
    return World(
        mine,
        other,
        {
            "nobody": {},
            "basic": {"Authorization": "Basic c3RyYXRhOnN0cmF0YQ=="},
            "empty bearer": {"Authorization": "Bearer "},
            "malformed": {"Authorization": "Bearer strata_nonsense"},
            "not ascii": {"Authorization": b"Bearer strata_\xff\xfe"},
            "unknown": bearer(keys.new_key().text),
            "wrong secret": bearer(f"strata_{known_prefix}_{'A' * 43}"),
            "operator token": OPERATOR,
            "expired": bearer(expired),
            "revoked": bearer(revoked),
            "archived team": archived.owner,
            "scopeless": bearer(scopeless),
            "restricted": bearer(restricted),
            "owner": mine.owner,
            "other team": other.owner,
        },
    )


@pytest.fixture
async def send(client: httpx.AsyncClient, world: World) -> Send:
    """Sends a route's request; where it may get through, with fresh rows of `member`, so that no case spoils another."""

    async def sending(route: Route, caller: str, member: Member | None = None) -> httpx.Response:
        owner = (member or world.mine).owner
        values = {
            "team_id": str((member or world.mine).team_id),
            "fragment_id": str(uuid4()),
            "key_id": str(uuid4()),
            "claim_id": str(uuid4()),
            "fact_id": str(uuid4()),
            "run_id": str(uuid4()),
        }
        values["profile_id"] = str((member or world.mine).profile_id)
        body = route.sent()
        if caller not in LET_IN:
            return await client.request(
                route.method, route.path.format(**values), json=body, headers=world.headers[caller]
            )
        if route.operation == "deleteProfile":
            made = await client.post("/v1/profiles", json={"name": str(uuid4())}, headers=owner)
            values["profile_id"] = made.json()["id"]
        if route.operation == "adminDeleteTeam":
            made = await client.post("/v1/admin/teams", json={"name": str(uuid4())}, headers=OPERATOR)
            values["team_id"] = made.json()["team_id"]
        if "{fragment_id}" in route.path:
            path = f"/v1/profiles/{values['profile_id']}/fragments"
            values["fragment_id"] = (
                await client.post(path, json={"content": str(uuid4())}, headers=owner)
            ).json()["id"]
        if "{key_id}" in route.path:
            values["key_id"] = (await client.post("/v1/keys", json={"name": "key"}, headers=owner)).json()[
                "id"
            ]
        if "{claim_id}" in route.path or "{fact_id}" in route.path or "supported_by" in (body or {}):
            values |= await knowledge(client, f"/v1/profiles/{values['profile_id']}", owner)
        if "{run_id}" in route.path:
            path = f"/v1/profiles/{values['profile_id']}/remember"
            made = await client.post(path, json={"evidence": [{"content": str(uuid4())}]}, headers=owner)
            values["run_id"] = made.json()["run_id"]
        if body is not None and "supported_by" in body:
            body["supported_by"] = [values["fragment_id"]]
        return await client.request(
            route.method, route.path.format(**values), json=body, headers=world.headers[caller]
        )

    return sending


LET_IN = {"owner", "other team", "operator token"}


async def knowledge(client: httpx.AsyncClient, path: str, owner: dict[str, str]) -> dict[str, str]:
    """A fragment, a candidate of a claim, and a fact."""

    async def post(route: str, body: Any = None) -> Any:
        answer = await client.post(f"{path}/{route}", json=body, headers=owner)
        assert answer.is_success, answer.text
        return answer.json()

    name = f"fresh-{uuid4().hex}"
    fragment = (await post("fragments", {"content": f"Ada likes {name} and {name}2."}))["id"]
    claim = {"subject": "Ada", "predicate": "likes", "supported_by": [fragment], "extract_conf": 0.9}
    candidate = (await post("claims", {**claim, "object": name}))["id"]
    other = (await post("claims", {**claim, "object": f"{name}2"}))["id"]
    await post(f"claims/{other}/verify")
    fact = (await post(f"claims/{other}/promote"))["fact"]["id"]
    return {"fragment_id": fragment, "claim_id": candidate, "fact_id": fact}


def operation(route: Route) -> str:
    return route.operation


def assert_problem(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("route", KEY_ROUTES, ids=operation)
@pytest.mark.parametrize(
    ("caller", "status", "code"),
    [
        ("nobody", 401, "missing_key"),
        ("basic", 401, "missing_key"),
        ("empty bearer", 401, "missing_key"),
        ("malformed", 401, "invalid_key"),
        ("not ascii", 401, "invalid_key"),
        ("unknown", 401, "invalid_key"),
        ("wrong secret", 401, "invalid_key"),
        ("operator token", 401, "invalid_key"),
        ("expired", 401, "expired_key"),
        ("revoked", 401, "revoked_key"),
        ("archived team", 403, "team_archived"),
        ("scopeless", 403, "missing_scope"),
    ],
)
async def test_callers_without_the_right_are_refused(
    send: Send, route: Route, caller: str, status: int, code: str
) -> None:
    answer = await send(route, caller)
    assert_problem(answer, status, code)
    assert ("www-authenticate" in answer.headers) == (status == 401)


@pytest.mark.parametrize("route", KEY_ROUTES, ids=operation)
async def test_the_owner_is_served(send: Send, route: Route) -> None:
    answer = await send(route, "owner")
    assert answer.status_code == route.status, answer.text
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("route", KEY_ROUTES, ids=operation)
async def test_ids_of_another_team_do_not_exist(send: Send, world: World, route: Route) -> None:
    answer = await send(route, "other team", world.mine)
    if "{" in route.path:
        assert_problem(answer, 404, "not_found")
    elif route.method == "GET":
        mine = {str(world.mine.team_id), str(world.mine.profile_id), str(world.mine.other_profile_id)}
        assert not any(known in answer.text for known in mine)


@pytest.mark.parametrize("route", KEY_ROUTES, ids=operation)
async def test_a_key_of_one_profile_reaches_no_other(send: Send, world: World, route: Route) -> None:
    answer = await send(route, "restricted")
    if route.of_profile:
        assert_problem(answer, 404, "not_found")
    elif route.whole_team:
        assert_problem(answer, 403, "missing_scope")
    elif route.operation == "listProfiles":
        assert [item["id"] for item in answer.json()["items"]] == [str(world.mine.other_profile_id)]
    else:
        assert answer.status_code == route.status


@pytest.mark.parametrize("route", [r for r in KEY_ROUTES if "{" in r.path], ids=operation)
async def test_ids_that_nobody_has_do_not_exist(
    client: httpx.AsyncClient, world: World, route: Route
) -> None:
    values = {name: str(uuid4()) for name in ("fragment_id", "key_id", "claim_id", "fact_id", "run_id")}
    only = route.path.count("{") == 1
    values["profile_id"] = str(uuid4() if only else world.mine.profile_id)
    answer = await client.request(
        route.method, route.path.format(**values), json=route.sent(), headers=world.mine.owner
    )
    assert_problem(answer, 404, "not_found" if only else route.missing)


async def test_a_revoked_key_is_refused_by_the_next_request(
    client: httpx.AsyncClient, member: Member
) -> None:
    made = (await client.post("/v1/keys", json={"name": "short-lived"}, headers=member.owner)).json()
    headers = bearer(made["api_key"])
    assert (await client.get(member.path, headers=headers)).status_code == 200
    await client.delete(f"/v1/keys/{made['id']}", headers=member.owner)
    assert_problem(await client.get(member.path, headers=headers), 401, "revoked_key")


async def test_the_scheme_is_read_whatever_its_case(client: httpx.AsyncClient, member: Member) -> None:
    key = member.owner["Authorization"].removeprefix("Bearer ")
    assert (await client.get(member.path, headers={"authorization": f"bEARER  {key} "})).status_code == 200


@pytest.mark.parametrize("route", OPERATOR_ROUTES, ids=operation)
@pytest.mark.parametrize("caller", ["nobody", "basic", "unknown", "not ascii", "owner"])
async def test_operator_routes_want_the_operator(send: Send, route: Route, caller: str) -> None:
    assert_problem(await send(route, caller), 401, "invalid_operator_token")


@pytest.mark.parametrize("route", OPERATOR_ROUTES, ids=operation)
async def test_the_operator_is_served(send: Send, route: Route) -> None:
    answer = await send(route, "operator token")
    assert answer.status_code == route.status, answer.text


@pytest.mark.parametrize("route", [r for r in OPERATOR_ROUTES if "{" in r.path], ids=operation)
async def test_teams_that_nobody_has_do_not_exist(client: httpx.AsyncClient, route: Route) -> None:
    path = route.path.format(team_id=uuid4(), key_id=uuid4())
    answer = await client.request(route.method, path, json=route.sent(), headers=OPERATOR)
    assert_problem(answer, 404, "not_found")


@pytest.fixture(scope="module")
async def without_operator(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    """The service as it is when STRATA_OPERATOR_TOKEN is not set."""
    settings = Settings(embedder="hash", worker=False)
    app = create_app(settings, replace(services, settings=settings))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://strata.test") as http:
        yield http


@pytest.mark.parametrize("route", OPERATOR_ROUTES, ids=operation)
@pytest.mark.parametrize("token", ["None", "", "x"])
async def test_without_a_configured_token_there_is_no_operator(
    without_operator: httpx.AsyncClient, route: Route, token: str
) -> None:
    path = route.path.format(team_id=uuid4(), key_id=uuid4())
    answer = await without_operator.request(route.method, path, json=route.sent(), headers=bearer(token))
    assert_problem(answer, 401, "invalid_operator_token")


@functools.cache
def handlers() -> list[tuple[str, Any]]:
    """Paths and handlers of the service; Litestar's own OPTIONS answers name the methods and nothing else."""
    return [
        (route.path.replace(":str", ""), handler)
        for route in create_app(Settings(embedder="hash", worker=False)).routes
        for handler in route.route_handlers
        if handler.http_methods != {"OPTIONS"}
    ]


@pytest.mark.parametrize(("path", "handler"), handlers())
def test_every_route_declares_who_may_call_it(path: str, handler: Any) -> None:
    guards = [
        guard for guard in handler.resolve_guards() if isinstance(guard, RequiresScope | RequiresOperator)
    ]
    public = handler.opt.get("public") is True
    assert len(guards) == (0 if public else 1), path
    assert public or handler.operation_id is not None


@pytest.mark.parametrize("route", ROUTES, ids=operation)
def test_the_table_says_what_each_route_declares(route: Route) -> None:
    [(path, handler)] = [found for found in handlers() if found[1].operation_id == route.operation]
    assert (route.path, {route.method}) == (path, handler.http_methods)
    [guard] = handler.resolve_guards()
    if isinstance(guard, RequiresOperator):
        assert route.needs == "operator"
    else:
        assert (route.needs, route.whole_team) == (guard.scope, guard.whole_team)


def test_the_table_holds_every_route() -> None:
    declared = {handler.operation_id for path, handler in handlers() if not path.startswith("/docs")}
    assert declared == {route.operation for route in ROUTES} | set(PUBLIC)

"""Bad ids, limits, cursors, filters, header values, paths and methods: each is named, and never means no filter."""

import re
from uuid import uuid4

import pytest

from tests.integration.conftest import OPERATOR
from tests.integration.http.refusals import (
    BY_NAME,
    LISTS,
    NEEDS_OPERATOR,
    NOBODY,
    WITH_IDS,
    Sender,
    assert_refused,
    body_of,
    naming,
    operation,
)
from tests.integration.http.route_table import Route

NO_IDS = (
    "x",
    "0",
    "%00",
    "%ff",
    "%zz",
    "%",
    "%ed%a0%80",
    "{id}",
    "0x" + "0" * 30,
    "0" * 32,
    "１" * 32,
    "a" * 5_000,
)


@pytest.mark.parametrize("route", WITH_IDS, ids=operation)
async def test_a_malformed_id_is_named(send: Sender, route: Route) -> None:
    parameters = re.findall(r"{(\w+)}", route.path)
    ids = dict.fromkeys(parameters, NOBODY)
    ids |= {"profile_id": str(send.member.profile_id), "team_id": str(send.member.team_id)}
    caller = OPERATOR if route.needs == NEEDS_OPERATOR else send.member.owner
    for parameter in parameters:
        for wrong in NO_IDS:
            path = route.path.format(**{**ids, parameter: wrong})
            with naming(path[:200]):
                answer = await send.client.request(route.method, path, json=route.sent(), headers=caller)
                assert_refused(answer, parameter)


@pytest.mark.parametrize(
    "limit",
    [
        "0",
        "-1",
        "51",
        "1000000000",
        '"x"',
        '"5"',
        "1.5",
        "1.0",
        "true",
        "null",
        "1e400",
        "9" * 30,
        "9" * 5_000,
        "[]",
    ],
)
async def test_a_bad_recall_limit_is_named(send: Sender, limit: str) -> None:
    body = b'{"query": "x", "limit": ' + limit.encode() + b"}"
    assert_refused(await send(BY_NAME["recall"], body), "limit")


BAD_QUERIES = (
    *((f"?limit={limit}", "limit") for limit in ("0", "-1", "101", "1000000000", "x", "", "1.5", "true", "9" * 30, "%00")),
    *((f"?cursor={cursor}", "cursor") for cursor in ("", "x", "%00", "é", "AAAA", "!" * 22, "A" * 22 + "%0A", "A" * 65)),
    ("?surprise=1", "surprise"),
    ("?Limit=1", "Limit"),
    ("?team_id=1", "team_id"),
)  # fmt: skip


@pytest.mark.parametrize("route", LISTS, ids=operation)
async def test_a_bad_query_parameter_is_named(send: Sender, route: Route) -> None:
    for query, path in BAD_QUERIES:
        with naming(query):
            assert_refused(await send(route, query=query), path)


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("label=", "label"),
        ("label=a%00b", "label"),
        ("label=" + "l" * 65, "label"),
        ("status=deleted", "status"),
        ("status=", "status"),
        ("source_type=rumour", "source_type"),
        *((f"{field}={time}", field) for field in ("created_from", "created_to") for time in ("", "soon", "2026-01-01", "2026-01-01T00:00:00", "10000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "1767225600", "%00")),
    ],
)  # fmt: skip
async def test_a_bad_filter_is_named_and_never_no_filter(send: Sender, query: str, path: str) -> None:
    assert_refused(await send(BY_NAME["listFragments"], query=f"?{query}"), path)


@pytest.mark.parametrize("name", ["createFragment", "createFragments"])
@pytest.mark.parametrize("key", [b"", b" ", b"  x", b"a\x00b", b"k" * 129, "ü".encode(), b"\xff"])
async def test_a_bad_idempotency_key_is_named(send: Sender, name: str, key: bytes) -> None:
    before = await send.stored()
    assert_refused(
        await send(BY_NAME[name], body_of(BY_NAME[name]), **{"Idempotency-Key": key}), "Idempotency-Key"
    )
    assert await send.stored() == before


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/",
        "/v1/nope",
        "/v1/profiles/%2e%2e/x/y",
        "/v2/profiles",
        "/v1//profiles/x/y",
        "/%00",
        "/%ff",
    ],
)
async def test_an_unknown_path_is_a_problem_too(send: Sender, path: str) -> None:
    assert_refused(await send.client.get(path, headers=send.member.owner), code="not_found", status=404)


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/v1/profiles"), ("DELETE", "/v1/profiles"), ("POST", "/livez"), ("BREW", "/v1/keys")],
)
async def test_a_wrong_method_names_the_right_ones(send: Sender, method: str, path: str) -> None:
    answer = await send.client.request(method, path, headers=send.member.owner)
    assert_refused(answer, code="method_not_allowed", status=405)
    assert answer.headers["allow"]


async def test_of_a_key_that_stands_twice_each_value_is_checked_and_the_last_counts(send: Sender) -> None:
    path, content = BY_NAME["createFragment"], str(uuid4())
    stored = await send(path, f'{{"content": "first", "content": "{content}"}}'.encode())
    fragment = await send.client.get(
        f"{send.member.path}/fragments/{stored.json()['id']}", headers=send.member.owner
    )
    assert fragment.json()["content"] == content
    for limits in ('"limit": 0, "limit": 1', '"limit": 1, "limit": 0'):
        assert_refused(await send(BY_NAME["recall"], f'{{"query": "x", {limits}}}'.encode()), "limit")


@pytest.mark.parametrize("given", ["abc-1.2_3", "a" * 64])
async def test_a_request_keeps_a_well_formed_id_of_its_own(send: Sender, given: str) -> None:
    answer = await send.client.get("/livez", headers={"X-Request-Id": given})
    assert answer.headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "a" * 65, "a b", "a\tb", "ä", "<x>"])
async def test_an_ill_formed_request_id_is_replaced(send: Sender, given: str) -> None:
    answer = await send.client.get("/livez", headers={"X-Request-Id": given.encode()})
    assert answer.headers["x-request-id"] != given
    assert re.fullmatch(r"[0-9a-f-]{36}", answer.headers["x-request-id"])

r"""Bad input on every route that takes text, times, ids or limits: told by field, in plain words, and nothing stored."""

import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from tests.integration.conftest import OPERATOR, Member, TestDatabase
from tests.integration.http.route_table import OPERATOR as NEEDS_OPERATOR
from tests.integration.http.route_table import ROUTES, Route

BY_NAME = {route.operation: route for route in ROUTES}
WITH_BODY = tuple(route for route in ROUTES if route.body is not None)
WITH_IDS = tuple(route for route in ROUTES if "{" in route.path)
LISTS = tuple(route for route in ROUTES if route.operation.lower().startswith(("list", "adminlist")))
JSON = {"Content-Type": "application/json"}
JARGON = re.compile(r"`|[Rr]egex|msgspec|Expected|\\[ux]|NoneType|Traceback|Literal|datetime\b")
NOBODY = "00000000-0000-7000-8000-000000000000"
TABLES = (
    "profiles",
    "api_keys",
    "fragments",
    "idempotency_records",
    "audit_log",
    "search_documents",
    "vectors",
)


@dataclass(frozen=True)
class Sender:
    """Sends as the owner of one team, and counts what the team has stored."""

    client: httpx.AsyncClient
    member: Member
    fragment_id: str
    key_id: str
    database: psycopg.AsyncConnection[Any]

    async def __call__(
        self, route: Route, content: bytes | None = None, query: str = "", **headers: str
    ) -> httpx.Response:
        path = route.path.format(
            team_id=self.member.team_id,
            profile_id=self.member.profile_id,
            fragment_id=self.fragment_id,
            key_id=self.key_id,
            claim_id=NOBODY,
            fact_id=NOBODY,
        )
        caller = OPERATOR if route.needs == NEEDS_OPERATOR else self.member.owner
        types = JSON if content is not None else {}
        return await self.client.request(
            route.method, path + query, content=content, headers={**caller, **types, **headers}
        )

    async def stored(self) -> list[int]:
        counts = []
        for table in TABLES:
            statement = f"SELECT count(*) FROM {table} WHERE team_id = %s"  # noqa: S608 - names above
            cursor = await self.database.execute(statement, (self.member.team_id,))
            counts.append((await cursor.fetchone())[0])
        cursor = await self.database.execute("SELECT count(*) FROM teams")
        return [*counts, (await cursor.fetchone())[0]]


@pytest.fixture(scope="module")
async def send(
    client: httpx.AsyncClient, make_member: Any, database_urls: TestDatabase
) -> AsyncIterator[Sender]:
    member = await make_member()
    fragment = await client.post(
        f"{member.path}/fragments", json={"content": "the one that is there"}, headers=member.owner
    )
    key = await client.post("/v1/keys", json={"name": "spare"}, headers=member.owner)
    async with await psycopg.AsyncConnection.connect(database_urls.superuser, autocommit=True) as database:
        yield Sender(client, member, fragment.json()["id"], key.json()["id"], database)


def assert_refused(
    answer: httpx.Response, path: str | None = None, code: str = "validation_failed", status: int = 422
) -> None:
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-request-id"] == problem["request_id"]
    assert (problem["code"], problem["status"]) == (code, status)
    assert problem["title"]
    assert problem["detail"]
    if path is not None:
        assert [error["path"] for error in problem["errors"]] == [path]
    words = [problem["detail"], *(error["message"] for error in problem.get("errors", []))]
    assert not any(JARGON.search(text) for text in words), words


async def all_refused(send: Sender, route: Route, cases: Iterable[tuple[bytes, dict[str, Any]]]) -> None:
    """Each body is refused as expected, and after all of them nothing is stored."""
    before = await send.stored()
    for body, expected in cases:
        with naming(body[:200]):
            assert_refused(await send(route, body), **expected)
    assert await send.stored() == before


@contextmanager
def naming(case: Any) -> Iterator[None]:
    """A failure inside says which case it was."""
    try:
        yield
    except AssertionError as error:
        error.add_note(f"case: {case!r}")
        raise


def by_name(cases: list[Any]) -> list[Any]:
    """Cases of one route each, for one test each."""
    names = dict.fromkeys(name for name, *_ in cases)
    return [pytest.param(name, [rest for first, *rest in cases if first == name], id=name) for name in names]


def operation(value: Any) -> str | None:
    return value.operation if isinstance(value, Route) else None


def body_of(route: Route, **changed: Any) -> bytes:
    r"""A working body with some fields changed; a lone surrogate leaves as the escape ``\ud83d``."""
    return json.dumps({**(route.sent() or {}), **changed}).encode()


# --- what is no JSON object --------------------------------------------------------------------------------------


NO_OBJECTS: tuple[tuple[bytes, str | None, str | None], ...] = (
    (b"", "body", "validation_failed"),
    (b"null", "body", "validation_failed"),
    (b"[]", "body", "validation_failed"),
    (b'"text"', "body", "validation_failed"),
    (b"5", "body", "validation_failed"),
    (b"{", None, "malformed_json"),
    (b"name=x", None, "malformed_json"),
    (b'{"name": "x"} {}', None, None),
    (b"{'name': 'x'}", None, "malformed_json"),
    (b'{"name": NaN}', None, None),
    (b'{"name": -Infinity}', None, None),
    (b'\xef\xbb\xbf{"name": "x"}', None, "malformed_json"),
    ('{"name": "x"}'.encode("utf-16"), None, "malformed_json"),
    (b'{"surprise": true}', "surprise", "validation_failed"),
    (b'{"surprise": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", None, None),
    (b'{"surprise": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}", None, None),
)


@pytest.mark.parametrize("route", WITH_BODY, ids=operation)
async def test_what_is_no_json_object_is_refused(send: Sender, route: Route) -> None:
    before = await send.stored()
    for body, path, code in NO_OBJECTS:
        with naming(body[:40]):
            answer = await send(route, body)
            # The decoder stops at the first fault: the grammar, or a field that the route does not know.
            assert answer.json()["code"] in {code or "malformed_json", code or "validation_failed"}
            assert_refused(answer, path, answer.json()["code"])
    assert await send.stored() == before


@pytest.mark.parametrize("route", WITH_BODY, ids=operation)
async def test_another_content_type_is_refused(send: Sender, route: Route) -> None:
    before = await send.stored()
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json"):
        with naming(media_type):
            answer = await send(route, body_of(route), **{"Content-Type": media_type})
            assert_refused(answer, code="unsupported_media_type", status=415)
    assert await send.stored() == before


@pytest.mark.parametrize(
    "media_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/ld+json"]
)
async def test_spellings_of_json_are_taken(send: Sender, media_type: str) -> None:
    answer = await send(BY_NAME["recall"], b'{"query": "x"}', **{"Content-Type": media_type})
    assert answer.status_code == 200


@pytest.mark.parametrize("route", WITH_BODY, ids=operation)
async def test_a_body_above_eight_megabytes_is_refused(send: Sender, route: Route) -> None:
    before = await send.stored()
    body = b'{"name": "' + b"x" * 8_388_608 + b'"}'
    assert_refused(await send(route, body), code="payload_too_large", status=413)
    assert await send.stored() == before


async def test_a_body_that_grows_above_eight_megabytes_is_refused(send: Sender) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b"x" * 1_048_576

    path = f"{send.member.path}/recall"
    answer = await send.client.post(path, content=chunks(), headers={**send.member.owner, **JSON})
    assert_refused(answer, code="payload_too_large", status=413)


# --- text --------------------------------------------------------------------------------------------------------

BLANK = ("", "   ", "\t\n\u00a0", "\u200b", "\u2060\ufeff\u200d", "\u00ad", "\u3164\uffa0")
NOT_TEXT = ("a\x00b", "a\ud83d b", "\udc00", 5, True, ["x"], {"a": 1})


def text_cases() -> list[Any]:
    required = [
        ("createProfile", "name", 100),
        ("createKey", "name", 100),
        ("adminCreateTeam", "name", 100),
        ("adminChangeTeam", "name", 100),
        ("adminCreateKey", "name", 100),
        ("createFragment", "content", 65_536),
        ("createFragment", "idempotency_key", 128),
        ("recall", "query", 4_096),
    ]
    optional = [("createProfile", "description", 1_000), ("createFragment", "source", 256)]
    cases = [(name, {field: text}, field) for name, field, _ in required for text in (*BLANK, *NOT_TEXT)]
    cases += [(name, {field: text}, field) for name, field, _ in optional for text in NOT_TEXT]
    cases += [(name, {field: "é" * (most + 1)}, field) for name, field, most in (*required, *optional)]
    cases += [
        (name, {"labels": ["fine", text]}, "labels[1]")
        for name in ("createFragment", "recall")
        for text in (*BLANK, *NOT_TEXT, "l" * 65)
    ]
    cases += [(name, {"labels": ["l"] * 21}, "labels") for name in ("createFragment", "recall")]
    cases += [
        ("createFragment", {"content": "é" * 32_769}, "content"),  # 65,538 bytes of UTF-8
        ("createFragment", {"labels": "l"}, "labels"),
        ("createFragment", {"labels": None}, "labels"),
        ("createFragment", {"content": None}, "content"),
        ("createFragment", {"source_type": "rumour"}, "source_type"),
        ("createFragment", {"authority": "high"}, "authority"),
        ("createFragment", {"classification": {"pii": "maybe"}}, "classification.pii"),
        ("createFragment", {"classification": {"secrecy": "high"}}, "classification.secrecy"),
        ("createFragment", {"classification": None}, "classification"),
        ("createFragment", {"surprise": 1}, "surprise"),
        ("createProfile", {"text_search_config": "klingon"}, "text_search_config"),
        ("createProfile", {"text_search_config": "english\x00"}, "text_search_config"),
        ("createKey", {"scopes": []}, "scopes"),
        ("createKey", {"scopes": ["memory:read"] * 5}, "scopes"),
        ("createKey", {"scopes": ["memory:read", "root"]}, "scopes[1]"),
        ("createKey", {"scopes": "admin"}, "scopes"),
        ("createKey", {"profile_id": "not-an-id"}, "profile_id"),
        ("createKey", {"profile_id": str(uuid4())}, "profile_id"),
        ("createKey", {"team_id": str(uuid4())}, "team_id"),
        ("adminCreateKey", {"scopes": ["root"]}, "scopes[0]"),
        ("adminChangeTeam", {"status": "deleted"}, "status"),
        ("adminChangeTeam", {"name": None}, "name"),
        ("rotateKey", {"grace_seconds": -1}, "grace_seconds"),
        ("rotateKey", {"grace_seconds": 604_801}, "grace_seconds"),
        ("rotateKey", {"grace_seconds": "60"}, "grace_seconds"),
        ("recall", {"policy": "best"}, "policy"),
        ("recall", {"explain": "yes"}, "explain"),
        ("recall", {"explain": 1}, "explain"),
        ("recall", {"source_types": []}, "source_types"),
        ("recall", {"source_types": ["rumour"]}, "source_types[0]"),
        ("recall", {"labels": []}, "labels"),
        ("recall", {"team_id": str(uuid4())}, "team_id"),
        ("recall", {"profile_id": str(uuid4())}, "profile_id"),
    ]
    return cases


@pytest.mark.parametrize(("name", "cases"), by_name(text_cases()))
async def test_a_bad_field_is_named(send: Sender, name: str, cases: list[Any]) -> None:
    route = BY_NAME[name]
    await all_refused(send, route, ((body_of(route, **changed), {"path": path}) for changed, path in cases))


@pytest.mark.parametrize(
    "name",
    [
        "createProfile",
        "createKey",
        "createFragment",
        "createFragments",
        "recall",
        "adminCreateTeam",
        "adminCreateKey",
    ],
)
async def test_a_missing_field_is_named(send: Sender, name: str) -> None:
    [field] = BY_NAME[name].body
    await all_refused(send, BY_NAME[name], [(b"{}", {"path": field})])


@pytest.mark.parametrize("name", ["createProfile", "createFragment"])
@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ('{"a": "x\\u0000y"}', "metadata"),
        ('{"a\\u0000b": 1}', "metadata"),
        ('{"a": [{"b": ["\\u0000"]}]}', "metadata"),
        ('{"a": "\\ud83d"}', "metadata.a"),
        ('{"a": [1, "\\udfff"]}', "metadata.a[1]"),
        ('{"\\ud83d": 1}', "metadata"),
        ('{"a": 1e400}', "metadata.a"),
        ('{"a": -1e400}', "metadata.a"),
        (f'{{"a": {"9" * 5_000}}}', "metadata"),
        (f'{{"a": "{"x" * 4_096}"}}', "metadata"),
        ('{"a": ' + "[" * 40 + "]" * 40 + "}", "metadata"),
        ('{"a": ' * 900 + "1" + "}" * 900, "metadata"),
        ("[]", "metadata"),
        ('"text"', "metadata"),
        ("null", "metadata"),
    ],
    ids=lambda value: value[:20],
)
async def test_bad_metadata_is_named(send: Sender, name: str, metadata: str, path: str) -> None:
    route = BY_NAME[name]
    body = body_of(route)[:-1] + b', "metadata": ' + metadata.encode() + b"}"
    await all_refused(send, route, [(body, {"path": path})])


# --- times -------------------------------------------------------------------------------------------------------

NO_TIMES = (
    "yesterday", "", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
    "2026-01-01T25:00:00Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "-0044-03-15T00:00:00Z",
    "2026-01-01T00:00:00+99:00", "infinity", "十万年前", "2026-01-01T00:00:00Z\x00", 1_767_225_600, 1.5, True, [],
)  # fmt: skip
OUT_OF_CALENDAR = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00")


def time_cases() -> list[Any]:
    every = [
        *(("createFragment", field) for field in ("valid_from", "valid_to", "recorded_at", "recorded_to")),
        *((name, "expires_at") for name in ("createKey", "rotateKey", "adminCreateKey")),
        *(("recall", field) for field in ("valid_at", "known_at")),
    ]
    stored = [(name, field) for name, field in every if name != "recall"]
    cases = [(name, {field: time}, field) for name, field in every for time in NO_TIMES]
    cases += [(name, {field: time}, field) for name, field in stored for time in OUT_OF_CALENDAR]
    cases += [
        (name, {"expires_at": "2020-01-01T00:00:00Z"}, "expires_at")
        for name in ("createKey", "rotateKey", "adminCreateKey")
    ]
    early, late = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    cases += [
        ("createFragment", {"valid_from": late, "valid_to": early}, "valid_to"),
        ("createFragment", {"valid_from": early, "valid_to": early}, "valid_to"),
        ("createFragment", {"valid_from": early, "valid_to": "2026-01-01T01:00:00+01:00"}, "valid_to"),
        ("createFragment", {"recorded_at": late, "recorded_to": early}, "recorded_to"),
        ("createFragment", {"recorded_to": early}, "recorded_to"),
        ("createFragment", {"metadata": {"valid_from": late, "valid_to": early}}, "valid_to"),
        ("createFragment", {"valid_from": late, "metadata": {"validTo": early}}, "valid_to"),
        ("createFragment", {"metadata": {"recordedTo": early}}, "recorded_to"),
    ]
    for key in (
        "valid_from",
        "validFrom",
        "valid_to",
        "validTo",
        "recorded_at",
        "recordedAt",
        "recorded_to",
        "recordedTo",
    ):
        for time in (
            "soon",
            "2026-01-01T00:00:00",
            "2026-02-30",
            1_767_225_600,
            True,
            [],
            {},
            *OUT_OF_CALENDAR,
        ):
            cases.append(("createFragment", {"metadata": {key: time}}, f"metadata.{key}"))
    return cases


@pytest.mark.parametrize(("name", "cases"), by_name(time_cases()))
async def test_a_bad_time_is_named(send: Sender, name: str, cases: list[Any]) -> None:
    route = BY_NAME[name]
    await all_refused(send, route, ((body_of(route, **changed), {"path": path}) for changed, path in cases))


# --- ids, limits, cursors, filters -------------------------------------------------------------------------------

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


# --- batches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"items": []}', "items"),
        (b'{"items": {}}', "items"),
        (b'{"items": null}', "items"),
        (b'{"items": [' + b"1," * 1_000 + b"1]}", "items"),
        (b'{"items": [{"content": "x"}], "profile_id": "x"}', "profile_id"),
    ],
    ids=["empty", "object", "null", "1001 items", "unknown field"],
)
async def test_a_bad_batch_is_named(send: Sender, body: bytes, path: str) -> None:
    await all_refused(send, BY_NAME["createFragments"], [(body, {"path": path})])


def item_cases() -> list[Any]:
    cases = [
        (changed, path) for name, changed, path in (*text_cases(), *time_cases()) if name == "createFragment"
    ]
    return [
        (json.dumps({"content": "x", **changed}).encode(), f"items[1].{path}") for changed, path in cases
    ] + [
        (b"null", "items[1]"),
        (b"[]", "items[1]"),
        (b'"text"', "items[1]"),
        (b"{}", "items[1].content"),
        (b'{"content": "\xff"}', "items[1]"),
        (b'{"content": "x", "metadata": {"a": 1e400}}', "items[1].metadata.a"),
        (b'{"content": "x", "metadata": {"a": ' + b"[" * 200 + b"]" * 200 + b"}}", "items[1].metadata"),
    ]


async def test_a_bad_item_spoils_no_other(send: Sender) -> None:
    """The bad items of all kinds one after the other, each between two good ones."""
    for body, path in item_cases():
        first, last = str(uuid4()), str(uuid4())
        items = b'{"items": [{"content": "%s"}, %s, {"content": "%s"}]}' % (
            first.encode(),
            body,
            last.encode(),
        )
        answer = await send(BY_NAME["createFragments"], items)
        assert answer.status_code == 200, (body, answer.text)
        results = answer.json()["results"]
        assert [item["status"] for item in results] == ["created", "error", "created"], (body, answer.text)
        assert [item["index"] for item in results] == [0, 1, 2]
        error = results[1]["error"]
        assert error["code"] in {"validation_failed", "malformed_json"}
        assert [fault["path"] for fault in error["errors"]] == [path], body
        assert not JARGON.search(error["detail"]), error


# --- paths and methods -------------------------------------------------------------------------------------------


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

r"""Bad bodies and bad text on every route that takes them: told by field, in plain words, and nothing stored."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from tests.integration.http.refusals import (
    BY_NAME,
    JSON,
    WITH_BODY,
    Sender,
    all_refused,
    assert_refused,
    body_of,
    by_name,
    naming,
    operation,
)
from tests.integration.http.route_table import Route

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

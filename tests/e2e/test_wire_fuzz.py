"""Bytes that no client should send, to every route that takes a body: refused, never a 5xx."""

import json
import random
import re
import socket
from urllib.parse import urlsplit
from uuid import UUID

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.e2e.processes import OPERATOR_TOKEN, PATIENCE, Member, Running, Stage

BODIES = [
    {
        "content": "The kettle is green.",
        "labels": ["a"],
        "metadata": {"k": [1, None]},
        "valid_from": "2026-01-01T00:00:00Z",
    },
    {"items": [{"content": "The cup is blue."}, {"content": ""}]},
    {"query": "which kettle", "limit": 3, "explain": True},
    {"name": "a name", "scopes": ["memory:read"], "text_search_config": "english"},
    {"evidence": [{"content": "Ann owns billing."}], "claims": [], "auto_promote": False},
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
VALID = st.sampled_from([json.dumps(body).encode() for body in BODIES])
PAYLOADS = st.one_of(
    st.binary(max_size=200),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.builds(lambda body, end: body[: end % len(body)], VALID, st.integers(0, 10_000)),
    st.builds(
        lambda body, at, byte: body[: at % len(body)] + byte + body[at % len(body) :],
        VALID,
        st.integers(0, 10_000),
        st.binary(min_size=1, max_size=4),
    ),
)
TYPES = st.sampled_from(
    [
        "application/json",
        "application/json; charset=utf-16",
        "text/plain",
        "multipart/form-data",
        "application/x-www-form-urlencoded",
        "",
        "\x01",
    ]
)


def body_routes(service: Running, member: Member) -> list[tuple[str, str]]:
    """Method and path of every route that takes a body, for this member; other ids are made up."""
    document = httpx.get(f"{service.url}/docs/openapi.json").raise_for_status().json()
    return [
        (method.upper(), re.sub(r"{\w+}", str(UUID(int=0)), path.replace("{profile_id}", member.profile_id)))
        for path, item in document["paths"].items()
        for method in item
        if method in {"post", "put", "patch"}
    ]


def test_fuzzed_bodies(stage: Stage) -> None:
    service = stage.serve()
    member = stage.member(service)
    routes = body_routes(service, member)
    assert ("POST", member.recall) in routes
    assert ("POST", member.batch) in routes
    assert len(routes) >= 9
    tokens = {True: OPERATOR_TOKEN, False: member.key}
    with httpx.Client(base_url=service.url, timeout=PATIENCE) as http:

        @settings(
            max_examples=250,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.sampled_from(routes), PAYLOADS, TYPES)
        def send(route: tuple[str, str], body: bytes, media_type: str) -> None:
            method, path = route
            headers = {
                "Authorization": f"Bearer {tokens['/admin/' in path]}",
                "Content-Type": media_type,
            }
            answer = http.request(method, path, content=body, headers=headers)
            assert answer.status_code < 500, (route, body, media_type, answer.text)

        send()
        cut_off(service, member)
        assert http.get("/livez").status_code == 200
        assert http.get("/readyz").status_code == 200
    stage.end()
    assert "unhandled_exception" not in service.output


def cut_off(service: Running, member: Member) -> None:
    """Say that a long body comes, send a part of it, and hang up; then bytes that are no HTTP at all."""
    host, port = urlsplit(service.url).hostname, urlsplit(service.url).port
    generator = random.Random(7)
    for path in (member.fragments, member.batch, member.recall):
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {member.key}\r\n"
            "Content-Type: application/json\r\n"
        ).encode()
        for rest in (
            b'Content-Length: 1000\r\n\r\n{"content": "half',
            b'Transfer-Encoding: chunked\r\n\r\n10\r\n{"content": "hal',
            b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
            b"Content-Length: minus one\r\n\r\n{}",
            generator.randbytes(64) + b"\r\n\r\n",
        ):
            with socket.create_connection((host, port), timeout=PATIENCE) as connection:
                connection.sendall(head + rest)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(65_536)
                assert not answer.startswith(b"HTTP/1.1 5"), (rest, answer)

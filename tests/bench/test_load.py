"""The load generator against a server that answers what it is told."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from app.bench.load import Call, Load, Loop, recall_calls, run, run_apart


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = 503 if self.path == "/busy" else 200
        self.server.seen.append((self.path, self.headers["Authorization"], body))  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        made.seen = []  # type: ignore[attr-defined]
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def load(server: ThreadingHTTPServer, *loops: Loop, seconds: float | None = None) -> Load:
    port = server.server_address[1]
    return Load(
        host="127.0.0.1", port=port, loops=list(loops), seconds=seconds, headers={"Authorization": "Bearer x"}
    )


def test_every_call_is_made_in_order_as_often_as_wanted(server: ThreadingHTTPServer) -> None:
    calls = [Call("POST", "/a", "1"), Call("POST", "/b", "2")]
    result = run_apart(load(server, Loop(name="loop", calls=calls, rounds=2)))
    assert server.seen == [  # type: ignore[attr-defined]
        ("/a", "Bearer x", b"1"),
        ("/b", "Bearer x", b"2"),
        ("/a", "Bearer x", b"1"),
        ("/b", "Bearer x", b"2"),
    ]
    assert len(result.seconds_of("loop")) == 4
    assert result.errors == []
    assert result.cpu_milliseconds_per_call > 0


def test_refusals_and_lost_connections_are_errors(server: ThreadingHTTPServer) -> None:
    result = run(
        load(
            server,
            Loop(name="busy", calls=[Call("POST", "/busy", "no room")]),
            Loop(name="fine", calls=[Call("POST", "/a", "1")]),
        )
    )
    assert result.errors == ["POST /busy: 503 no room"]
    assert len(result.seconds_of("busy")) == len(result.seconds_of("fine")) == 1


def test_a_timed_load_ends_and_its_pace_is_kept(server: ThreadingHTTPServer) -> None:
    result = run(
        load(
            server,
            Loop(name="paced", calls=[Call("POST", "/a", "1")], period=0.1),
            Loop(name="free", calls=[Call("POST", "/b", "1")]),
            seconds=0.55,
        )
    )
    assert 1 <= len(result.seconds_of("paced")) <= 6
    assert len(result.seconds_of("free")) > len(result.seconds_of("paced"))


def test_recall_calls_are_what_the_route_takes() -> None:
    [call] = recall_calls("p", ["Grüße?"], limit=3)
    assert (call.method, call.path, call.body) == (
        "POST",
        "/v1/profiles/p/recall",
        '{"query":"Grüße?","limit":3}',
    )

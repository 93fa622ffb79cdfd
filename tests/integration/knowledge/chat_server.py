"""An OpenAI-compatible chat server on loopback whose answers, faults and delays the test writes down."""

import json
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

API_KEY = "key-of-the-chat-server"
MODEL = "judge-1"


@dataclass
class Reply:
    """One answer.

    Attributes:
        content: What the model says: JSON-encoded unless it is a string or None (a refusal).
        raw: The whole body instead.
        drip: Seconds between the bytes of the body.
    """

    content: Any = None
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    delay: float = 0.0
    drip: float = 0.0

    @property
    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        said = (
            self.content
            if self.content is None or isinstance(self.content, str)
            else json.dumps(self.content)
        )
        return json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]}).encode()


class ChatServer:
    """Answers with what was put into ``replies``, in order, then with ``otherwise``.

    Attributes:
        requests: Paths, headers and decoded bodies received so far.
        most: Most requests that were under way at once.
    """

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.otherwise = Reply({})
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.most = 0
        self._under_way = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server._answer(self, body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def _answer(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        with self._lock:
            self.requests.append((handler.path, dict(handler.headers), body))
            self._under_way += 1
            self.most = max(self.most, self._under_way)
            reply = self.replies.popleft() if self.replies else self.otherwise
        try:
            time.sleep(reply.delay)
            handler.send_response(reply.status)
            for name, value in (("Content-Type", "application/json"), *reply.headers):
                handler.send_header(name, value)
            handler.end_headers()
            for start in range(0, len(reply.body), 1 if reply.drip else 1 << 20):
                handler.wfile.write(reply.body[start : start + (1 if reply.drip else 1 << 20)])
                time.sleep(reply.drip)
        except OSError:
            """The client has given up."""
        finally:
            with self._lock:
                self._under_way -= 1

    def stop(self) -> None:
        """Go down: connections are refused."""
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """A running server."""
    server = ChatServer()
    try:
        yield server
    finally:
        server.stop()


def verdict(name: str, confidence: float = 0.9) -> Reply:
    """A judgement of the model."""
    return Reply({"verdict": name, "confidence": confidence, "rationale": "It says so."})

"""An OpenAI-compatible embedding server whose answers wait until the test lets them go."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from app.embeddings.hash_backend import HashEmbedder

API_KEY = "key-of-the-embedding-server"
MODEL = "slow-model"


class EmbeddingServer:
    """Serves hash vectors over HTTP.

    Attributes:
        open_gate: While it is not set, requests wait.
        texts: Texts received so far.
    """

    def __init__(self) -> None:
        self.open_gate = threading.Event()
        self.open_gate.set()
        self.texts: list[str] = []
        self._embedder = HashEmbedder()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
                authorised = self.headers["Authorization"] == f"Bearer {API_KEY}"
                server.texts.extend(asked)
                server.open_gate.wait(timeout=60)
                self.send_response(200 if authorised else 401)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps({"data": server._answers(asked)}).encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._handler = Handler
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._http.server_address[1]
        self._serving = False
        self.resume()

    @property
    def settings(self) -> dict[str, object]:
        """Settings of a Strata that embeds here."""
        return {
            "embedder": "openai",
            "embedding_base_url": f"http://127.0.0.1:{self.port}",
            "embedding_model": MODEL,
            "embedding_dimension": self._embedder.descriptor.dimension,
            "embedding_api_key": API_KEY,
        }

    def resume(self) -> None:
        """Serve, again on the same port after `stop`."""
        if not self._serving:
            if self._http.socket.fileno() == -1:
                self._http = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler)
            threading.Thread(target=self._http.serve_forever, args=(0.05,)).start()
            self._serving = True

    def stop(self) -> None:
        """Go down: connections are refused."""
        if self._serving:
            self.open_gate.set()
            self._http.shutdown()
            self._http.server_close()
            self._serving = False

    def _answers(self, texts: list[str]) -> list[dict[str, object]]:
        vectors = self._embedder.embed_documents(texts)
        return [{"index": index, "embedding": vector.tolist()} for index, vector in enumerate(vectors)]


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    """A running server."""
    server = EmbeddingServer()
    try:
        yield server
    finally:
        server.stop()

import importlib.util
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def healthcheck():
    path = Path(__file__).parents[3] / "deploy" / "healthcheck.py"
    spec = importlib.util.spec_from_file_location("healthcheck", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def answering(status, body):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status if self.path == "/readyz" else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body", "code", "line"),
    [
        (200, b'{"status":"ready"}', 0, '200 {"status":"ready"}\n'),
        (503, b'{"database":"down"}', 1, '503 {"database":"down"}\n'),
    ],
)
def test_exit_code_follows_readiness(healthcheck, capsys, monkeypatch, *, status, body, code, line):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with answering(status, body) as port:
        assert healthcheck.main(port) == code
    assert capsys.readouterr().out == line


def test_nobody_listening_is_a_failure(healthcheck, capsys):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert healthcheck.main(unused.getsockname()[1]) == 1
    assert capsys.readouterr().out.startswith("not reachable: ")


def test_an_answer_that_is_not_http_is_a_failure(healthcheck, capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk():
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-hello\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        assert healthcheck.main(server.getsockname()[1]) == 1
        thread.join()
    assert capsys.readouterr().out.startswith("not reachable: ")

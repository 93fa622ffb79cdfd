"""Behind a proxy that gives a connection to another client after each transaction."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from app.db.embedded.account import choose_account
from app.db.roles import API_ROLE
from app.runtime import DATABASE_NAME
from tests.e2e.external import API_PASSWORD, ExternalPostgres
from tests.e2e.jobs import job_is_done
from tests.e2e.processes import PATIENCE, Stage, wait_until

PGBOUNCER = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")


@contextmanager
def transaction_pool(external: ExternalPostgres, directory: Path) -> Iterator[str]:
    """Run pgbouncer in transaction mode with two server connections; its URL for the API role."""
    assert PGBOUNCER is not None
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    [host] = parse_qs(urlsplit(external.url()).query)["host"]
    configuration = directory / "pgbouncer.ini"
    users = directory / "users.txt"
    users.write_text(f'"{API_ROLE}" "{API_PASSWORD}"\n', encoding="utf-8")
    configuration.write_text(
        f"[databases]\n{DATABASE_NAME} = host={host} port=5432\n"
        "[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {users}\n"
        "pool_mode = transaction\ndefault_pool_size = 2\n",
        encoding="utf-8",
    )
    account = choose_account(external.data_dir / "postgres")
    with (directory / "pgbouncer.log").open("wb") as log:
        process = subprocess.Popen(
            [PGBOUNCER, str(configuration)],
            stdout=log,
            stderr=log,
            cwd=directory,
            **account.process_options(),
        )
    try:
        wait_until("pgbouncer to listen", lambda: accepts(port))
        yield f"postgresql://{API_ROLE}:{API_PASSWORD}@127.0.0.1:{port}/{DATABASE_NAME}"
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed")
async def test_the_service_works_behind_a_transaction_pool(stage: Stage, external: ExternalPostgres) -> None:
    with transaction_pool(external, stage.directory) as url:
        service = stage.serve(database_url=url)
        member, other = stage.member(service), stage.member(service)
        async with httpx.AsyncClient(base_url=service.url, timeout=PATIENCE) as http:
            for number in range(12):
                for team in (member, other):
                    body = {"items": [{"content": f"Kettle {number} belongs to {team.profile_id}."}]}
                    stored = await http.post(
                        team.batch, json=body, headers=team.headers | {"Idempotency-Key": f"k{number}"}
                    )
                    assert stored.json()["results"][0]["status"] == "created"
                    asked = {"query": f"whom does kettle {number} belong to", "limit": 50}
                    answer = await http.post(team.recall, json=asked, headers=team.headers)
                    contents = [hit["fragment"]["content"] for hit in answer.json()["results"]]
                    assert f"Kettle {number} belongs to {team.profile_id}." in contents
                    assert all(content.endswith(f"{team.profile_id}.") for content in contents)
        await job_is_done(external, member)
        stage.end()

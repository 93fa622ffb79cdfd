"""API keys: made, listed, rotated, ended; their secrets are shown once and found nowhere else."""

import asyncio
import json
import logging
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
import sqlalchemy as sa
import structlog

from app.db.unit_of_work import Tenant
from app.services import Services
from app.tenancy import keys
from tests.integration.conftest import OPERATOR, Member, TestDatabase, bearer


async def create(client: httpx.AsyncClient, member: Member, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/v1/keys", json={"name": "key", **fields}, headers=member.owner)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def status(client: httpx.AsyncClient, member: Member, key: str) -> tuple[int, str | None]:
    answer = await client.get(member.path, headers=bearer(key))
    return answer.status_code, answer.json().get("code")


async def listed(client: httpx.AsyncClient, member: Member) -> dict[str, dict[str, Any]]:
    answer = await client.get("/v1/keys?limit=100", headers=member.owner)
    return {item["id"]: item for item in answer.json()["items"]}


async def test_a_key_is_shown_once_and_listed_without_its_secret(
    client: httpx.AsyncClient, member: Member
) -> None:
    made = await create(client, member, name="billing", scopes=["memory:read"])
    assert re.fullmatch(r"strata_[a-z2-7]{13}_[A-Za-z0-9_-]{43}", made["api_key"])
    assert made["prefix"] == keys.prefix_of(made["api_key"])
    item = (await listed(client, member))[made["id"]]
    assert item == {name: value for name, value in made.items() if name != "api_key"}
    assert set(item) == {
        "id", "name", "prefix", "scopes", "profile_id", "created_at", "expires_at", "revoked_at", "rotated_from",
    }  # fmt: skip


async def test_a_key_reads_and_writes_unless_told_otherwise(
    client: httpx.AsyncClient, member: Member
) -> None:
    made = await create(client, member)
    assert made["scopes"] == ["memory:read", "memory:write"]
    assert (await create(client, member, scopes=["admin", "admin"]))["scopes"] == ["admin"]


async def test_the_database_holds_a_digest_and_no_secret(
    client: httpx.AsyncClient, member: Member, database_urls: TestDatabase
) -> None:
    made = await create(client, member)
    with psycopg.connect(database_urls.superuser) as connection:
        row = connection.execute(
            "SELECT digest, k::text FROM api_keys AS k WHERE id = %s", (made["id"],)
        ).fetchone()
    assert row is not None
    assert row[0] == keys.digest_of(made["api_key"])
    assert made["api_key"].rsplit("_", 1)[1] not in row[1]


async def test_a_rotation_without_grace_ends_the_old_key_at_once(
    client: httpx.AsyncClient, member: Member
) -> None:
    old = await create(
        client, member, name="billing", scopes=["memory:read"], profile_id=str(member.profile_id)
    )
    answer = await client.post(f"/v1/keys/{old['id']}/rotate", json={}, headers=member.owner)
    new = answer.json()
    assert answer.status_code == 201
    assert {name: new[name] for name in ("name", "scopes", "profile_id", "rotated_from")} == {
        "name": "billing",
        "scopes": ["memory:read"],
        "profile_id": str(member.profile_id),
        "rotated_from": old["id"],
    }
    assert new["api_key"] != old["api_key"]
    assert await status(client, member, old["api_key"]) == (401, "revoked_key")
    assert await status(client, member, new["api_key"]) == (200, None)
    again = await client.post(f"/v1/keys/{old['id']}/rotate", json={}, headers=member.owner)
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


async def test_a_rotation_with_grace_lets_the_old_key_go_on(
    client: httpx.AsyncClient, member: Member
) -> None:
    old = await create(client, member)
    answer = await client.post(
        f"/v1/keys/{old['id']}/rotate", json={"grace_seconds": 3_600}, headers=member.owner
    )
    for key in (old["api_key"], answer.json()["api_key"]):
        assert await status(client, member, key) == (200, None)
    ends = datetime.fromisoformat((await listed(client, member))[old["id"]]["expires_at"])
    assert timedelta(minutes=59) < ends - datetime.now(UTC) <= timedelta(hours=1)


async def test_a_rotation_never_lengthens_the_old_key(client: httpx.AsyncClient, member: Member) -> None:
    soon = (datetime.now(UTC) + timedelta(minutes=5)).isoformat().replace("+00:00", "Z")
    later = (datetime.now(UTC) + timedelta(days=5)).isoformat().replace("+00:00", "Z")
    old = await create(client, member, expires_at=soon)
    answer = await client.post(
        f"/v1/keys/{old['id']}/rotate",
        json={"grace_seconds": 86_400, "expires_at": later},
        headers=member.owner,
    )
    assert (await listed(client, member))[old["id"]]["expires_at"] == soon
    assert answer.json()["expires_at"] == later


async def test_a_key_may_rotate_itself(client: httpx.AsyncClient, member: Member) -> None:
    own = await create(client, member, scopes=["admin"])
    answer = await client.post(f"/v1/keys/{own['id']}/rotate", json={}, headers=bearer(own["api_key"]))
    assert answer.status_code == 201
    headers = bearer(answer.json()["api_key"])
    assert (await client.get("/v1/keys", headers=headers)).status_code == 200
    assert (await client.get("/v1/keys", headers=bearer(own["api_key"]))).status_code == 401


async def test_rotations_of_one_key_at_once_have_one_winner(
    client: httpx.AsyncClient, member: Member
) -> None:
    old = await create(client, member)
    answers = await asyncio.gather(
        *(client.post(f"/v1/keys/{old['id']}/rotate", json={}, headers=member.owner) for _ in range(4))
    )
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]


async def test_a_revocation_can_be_repeated_and_is_audited_once(
    client: httpx.AsyncClient, member: Member
) -> None:
    made = await create(client, member)
    first = await client.delete(f"/v1/keys/{made['id']}", headers=member.owner)
    again = await client.delete(f"/v1/keys/{made['id']}", headers=member.owner)
    assert first.json() == again.json()
    assert first.json()["revoked_at"] is not None
    entries = (await client.get("/v1/audit?limit=100", headers=member.owner)).json()["items"]
    assert sum(entry["action"] == "key.revoke" for entry in entries) == 1


async def test_a_restricted_key_sees_one_profile(client: httpx.AsyncClient, member: Member) -> None:
    listing = await client.get("/v1/profiles", headers=member.restricted)
    assert [item["id"] for item in listing.json()["items"]] == [str(member.other_profile_id)]
    other = f"/v1/profiles/{member.other_profile_id}"
    assert (await client.get(other, headers=member.restricted)).status_code == 200
    stored = await client.post(f"{other}/fragments", json={"content": "mine"}, headers=member.restricted)
    assert stored.status_code == 201
    assert (await client.get(member.path, headers=member.restricted)).status_code == 404
    made = await client.post("/v1/profiles", json={"name": "third"}, headers=member.restricted)
    assert (made.status_code, made.json()["code"]) == (403, "missing_scope")


async def test_a_restricted_admin_key_administers_nothing(client: httpx.AsyncClient, member: Member) -> None:
    made = await create(client, member, scopes=["admin"], profile_id=str(member.profile_id))
    headers = bearer(made["api_key"])
    for method, path in (
        ("GET", "/v1/keys"),
        ("POST", "/v1/keys"),
        ("GET", "/v1/audit"),
        ("DELETE", member.path),
    ):
        answer = await client.request(method, path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")


async def test_a_key_cannot_be_bound_to_another_teams_profile(
    client: httpx.AsyncClient, make_member: Any
) -> None:
    mine, other = await make_member(), await make_member()
    body = {"name": "key", "profile_id": str(other.profile_id)}
    answer = await client.post("/v1/keys", json=body, headers=mine.owner)
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"path": "profile_id", "message": "is no profile of this team"}]


async def test_keys_of_a_deleted_profile_or_team_are_unknown(
    client: httpx.AsyncClient, make_member: Any
) -> None:
    member = await make_member()
    erased = await client.delete(f"/v1/profiles/{member.other_profile_id}", headers=member.owner)
    assert erased.status_code == 204
    assert (await client.get("/v1/profiles", headers=member.restricted)).json()["code"] == "invalid_key"
    await client.delete(f"/v1/admin/teams/{member.team_id}", headers=OPERATOR)
    assert (await client.get("/v1/profiles", headers=member.owner)).json()["code"] == "invalid_key"


async def test_an_archived_team_comes_back_with_its_keys(client: httpx.AsyncClient, make_member: Any) -> None:
    member = await make_member()
    path = f"/v1/admin/teams/{member.team_id}"
    for state, expected in (("archived", (403, "team_archived")), ("active", (200, None))):
        changed = await client.patch(path, json={"status": state}, headers=OPERATOR)
        assert changed.json()["status"] == state
        key = member.owner["Authorization"].removeprefix("Bearer ")
        assert await status(client, member, key) == expected


async def test_two_keys_with_one_prefix_are_told_apart(
    client: httpx.AsyncClient, services: Services, make_member: Any
) -> None:
    """A prefix of 64 random bits may meet another team's; the digest decides."""
    mine, other = await make_member(), await make_member()
    made = await create(client, mine)
    twin = f"strata_{made['prefix']}_{'A' * 43}"
    async with services.database.tenant(Tenant(other.team_id)) as unit:
        await unit.execute(
            sa.text(
                "INSERT INTO api_keys (team_id, id, name, prefix, digest, scopes)"
                " VALUES (:team, :id, 'twin', :prefix, :digest, ARRAY['memory:read'])"
            ),
            {"team": other.team_id, "id": uuid4(), "prefix": made["prefix"], "digest": keys.digest_of(twin)},
        )
    for key, member in ((made["api_key"], mine), (twin, other)):
        listing = (await client.get("/v1/profiles", headers=bearer(key))).json()["items"]
        assert str(member.profile_id) in {item["id"] for item in listing}


@pytest.mark.parametrize("names", [("Atlas", "atlas"), ("Straße", "STRASSE"), ("Ärger", "ÄRGER")])
async def test_names_are_unique_whatever_their_case(
    client: httpx.AsyncClient, member: Member, names: tuple[str, str]
) -> None:
    first, second = names
    assert (await client.post("/v1/profiles", json={"name": first}, headers=member.owner)).status_code == 201
    again = await client.post("/v1/profiles", json={"name": second}, headers=member.owner)
    if first.lower() == second.lower():
        assert (again.status_code, again.json()["code"]) == (409, "name_taken")
    else:
        assert again.status_code == 201


async def test_teams_of_one_name_at_once_have_one_winner(client: httpx.AsyncClient) -> None:
    name = f"race {uuid4()}"
    answers = await asyncio.gather(
        *(client.post("/v1/admin/teams", json={"name": name}, headers=OPERATOR) for _ in range(4))
    )
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]


# --- what must not be told ---------------------------------------------------------------------------------------


async def everything(client: httpx.AsyncClient, member: Member, secret_content: str) -> list[str]:
    """Every action of keys and fragments, good and refused; returns the secrets that were shown."""
    made = await create(client, member)
    rotated = await client.post(
        f"/v1/keys/{made['id']}/rotate", json={"grace_seconds": 60}, headers=member.owner
    )
    admin = await client.post(
        f"/v1/admin/teams/{member.team_id}/keys", json={"name": "key"}, headers=OPERATOR
    )
    path = f"{member.path}/fragments"
    body = {
        "content": secret_content,
        "source": f"{secret_content} source",
        "labels": [secret_content],
        "metadata": {secret_content: secret_content},
        "idempotency_key": secret_content,
    }
    stored = await client.post(path, json=body, headers={**member.owner, "Idempotency-Key": "x"})
    await client.post(path, json={**body, "content": f"{secret_content} too"}, headers=member.owner)
    await client.post(path, json={**body, "surprise": secret_content}, headers=member.owner)
    await client.post(f"{path}/batch", json={"items": [body, {"content": 5}]}, headers=member.owner)
    await client.post(f"{member.path}/recall", json={"query": secret_content}, headers=member.owner)
    await client.post(f"{path}/{stored.json()['id']}/retract", headers=member.owner)
    await client.delete(f"{path}/{stored.json()['id']}", headers=member.owner)
    await client.get(member.path, headers=bearer(f"{made['api_key']}x"))
    await client.delete(f"/v1/keys/{made['id']}", headers=member.owner)
    return [made["api_key"], rotated.json()["api_key"], admin.json()["api_key"]]


async def test_audit_entries_name_the_action_and_hold_no_content_and_no_secret(
    client: httpx.AsyncClient, member: Member, database_urls: TestDatabase
) -> None:
    content = f"platypus-{uuid4().hex}"
    secrets = await everything(client, member, content)
    with psycopg.connect(database_urls.superuser) as connection:
        rows = connection.execute(
            "SELECT action, entity_type, actor_type, actor_id, request_id, details, a::text FROM audit_log AS a"
            " WHERE team_id = %s ORDER BY id",
            (member.team_id,),
        ).fetchall()
    text = "\n".join(row[-1] for row in rows)
    assert content not in text
    for secret in secrets:
        assert secret.rsplit("_", 1)[1] not in text
    assert {row[0] for row in rows} == {
        "team.create", "profile.create", "key.create", "key.rotate", "key.revoke",
        "fragment.create", "fragment.retract", "fragment.delete",
    }  # fmt: skip
    assert {(row[0], row[2]) for row in rows if row[2] == "operator"} == {
        ("team.create", "operator"),
        ("key.create", "operator"),
    }
    assert all(UUID(row[3]) for row in rows if row[2] == "key")
    assert all(row[4] for row in rows)


@pytest.fixture
def log_lines() -> Any:
    """Everything that is logged meanwhile, through structlog and through logging."""
    lines: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    def collect(_logger: Any, _method: str, event: Any) -> str:
        lines.append(json.dumps(event, default=str))
        raise structlog.DropEvent

    before, root, handler = structlog.get_config(), logging.getLogger(), Collector(level=logging.DEBUG)
    level = root.level
    structlog.configure(processors=[structlog.processors.format_exc_info, collect])
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield lines
    root.removeHandler(handler)
    root.setLevel(level)
    structlog.configure(**before)


async def test_logs_hold_no_content_and_no_secret(
    client: httpx.AsyncClient, member: Member, log_lines: list[str]
) -> None:
    content = f"platypus-{uuid4().hex}"
    secrets = await everything(client, member, content)
    text = "\n".join(log_lines)
    assert content not in text
    for secret in secrets:
        assert secret.rsplit("_", 1)[1] not in text


async def test_metrics_name_routes_and_no_ids(client: httpx.AsyncClient, member: Member) -> None:
    await everything(client, member, "in passing")
    await client.get("/v1/of-nobody")
    text = (await client.get("/metrics")).text
    assert (
        'strata_http_requests_total{method="POST",route="/v1/profiles/{profile_id}/recall",status="200"}'
        in text
    )
    assert 'route="unmatched",status="404"' in text
    assert str(member.profile_id) not in text
    assert "of-nobody" not in text

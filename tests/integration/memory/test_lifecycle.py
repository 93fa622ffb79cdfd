"""A fragment from its first write to its end: as stored, retracted, deleted; long ones; times; odd text."""

import json
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
import sqlalchemy as sa
from pgvector import HalfVector

from app.db.unit_of_work import Database, Tenant
from app.memory.schemas import FragmentInput
from app.recall.schemas import RecallInput
from app.services import Services
from app.settings import Settings
from app.tenancy.audit import SYSTEM
from app.tenancy.schemas import ProfileInput
from tests.integration.conftest import Member, TestDatabase, opened_services

DERIVED = {"search_documents": "id", "vectors": "ref_id"}


async def add(client: httpx.AsyncClient, member: Member, content: str, **fields: Any) -> str:
    answer = await client.post(
        f"{member.path}/fragments", json={"content": content, **fields}, headers=member.owner
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def read(client: httpx.AsyncClient, member: Member, fragment_id: str) -> httpx.Response:
    return await client.get(f"{member.path}/fragments/{fragment_id}", headers=member.owner)


async def recalled(
    client: httpx.AsyncClient, member: Member, query: str, **fields: Any
) -> list[dict[str, Any]]:
    answer = await client.post(
        f"{member.path}/recall", json={"query": query, "limit": 50, **fields}, headers=member.owner
    )
    assert answer.status_code == 200, answer.text
    hits: list[dict[str, Any]] = answer.json()["results"]
    return hits


async def derived_rows(services: Services, member: Member, fragment_id: str) -> dict[str, int]:
    async with services.database.tenant(Tenant(member.team_id, member.profile_id)) as unit:
        counts = {}
        for table, column in DERIVED.items():
            found = await unit.execute(
                sa.text(f"SELECT count(*) FROM {table} WHERE {column} = :id"),  # noqa: S608 - names above
                {"id": UUID(fragment_id)},
            )
            counts[table] = found.scalar_one()
        return counts


async def test_a_fragment_reads_back_as_it_was_sent(client: httpx.AsyncClient, member: Member) -> None:
    sent = {
        "source": "docs/adr/17.md",
        "source_type": "document",
        "authority": "authoritative",
        "labels": ["adr", "retries"],
        "metadata": {"path": "docs/adr/17.md", "lines": [3, 9], "draft": False, "score": 0.5, "none": None},
        "classification": {"confidentiality": "confidential", "retention": "permanent", "pii": "none"},
        "idempotency_key": "adr-17",
        "valid_from": "2026-01-01T00:00:00Z",
        "valid_to": "2026-02-01T00:00:00Z",
        "recorded_at": "2026-01-02T00:00:00Z",
        "recorded_to": "2026-03-01T00:00:00Z",
    }
    fragment_id = await add(client, member, "Retries are capped at three.\n", **sent)
    stored = (await read(client, member, fragment_id)).json()
    assert {name: stored[name] for name in sent} == sent
    assert stored["content"] == "Retries are capped at three.\n"
    assert (stored["id"], stored["profile_id"]) == (fragment_id, str(member.profile_id))
    assert (stored["status"], stored["retracted_at"], stored["source_quality"]) == ("active", None, 0.95)


@pytest.mark.parametrize(
    ("authority", "quality"),
    [("authoritative", 0.95), ("primary", 0.95), ("secondary", 0.75), ("inferred", 0.5), ("unknown", 0.5)],
)
async def test_source_quality_follows_the_authority(
    client: httpx.AsyncClient, member: Member, authority: str, quality: float
) -> None:
    fragment_id = await add(client, member, f"said with {authority}", authority=authority)
    assert (await read(client, member, fragment_id)).json()["source_quality"] == quality


@pytest.mark.parametrize(
    "content",
    [
        "<|endoftext|>",
        "外币汇率换算",
        "สวัสดีชาวโลก",
        "emoji 👩‍👩‍👧‍👦 and e\u0301",
        "\u202ertl\u202c",
        "'; DROP TABLE fragments; --",
        "%s %(x)s :x {x} $1",
        "\\x00 \\u0000",
        "\x01\x07\x1b[31m",
        "\U0010ffff\ufffe",
        "x" * 65_536,
        "ж" * 32_768,
        "a b " * 16_384,
    ],
    ids=lambda content: ascii(content[:20]),
)
async def test_odd_text_is_stored_verbatim_and_found(
    client: httpx.AsyncClient, member: Member, content: str
) -> None:
    fragment_id = await add(client, member, content)
    assert (await read(client, member, fragment_id)).json()["content"] == content
    assert [hit["id"] for hit in await recalled(client, member, content[:4_096].strip())] == [fragment_id]


@pytest.mark.parametrize(
    "metadata",
    [
        {"big": 2**63, "bigger": 10**300, "float": 1e300, "tiny": 5e-324, "negative": -0.0},
        {"": "empty key", "a.b": {"c": []}},
        {"deep": [[[[[[[[1]]]]]]]]},
        {"escaped": "\\u0000 is text"},
    ],
)
async def test_metadata_reads_back_with_the_same_meaning(
    client: httpx.AsyncClient, member: Member, metadata: dict[str, Any]
) -> None:
    fragment_id = await add(client, member, "with metadata", metadata=metadata)
    # 1e300 comes back as a one with three hundred zeros: the same number.
    read_back = (await read(client, member, fragment_id)).json(parse_int=float)["metadata"]
    assert read_back == json.loads(json.dumps(metadata), parse_int=float)


@pytest.mark.parametrize("form", ["fields", "snake", "camel"])
async def test_times_are_taken_from_fields_and_from_metadata(
    client: httpx.AsyncClient, member: Member, form: str
) -> None:
    names = {
        "fields": ("valid_from", "valid_to", "recorded_at", "recorded_to"),
        "snake": ("valid_from", "valid_to", "recorded_at", "recorded_to"),
        "camel": ("validFrom", "validTo", "recordedAt", "recordedTo"),
    }[form]
    times = dict(
        zip(
            names,
            (
                "2026-01-01T01:00:00+01:00",
                "2026-02-01T00:00:00Z",
                "2026-01-05T00:00:00Z",
                "2026-06-01T00:00:00Z",
            ),
            strict=True,
        )
    )
    fragment_id = await add(
        client, member, "a dated rule", **(times if form == "fields" else {"metadata": times})
    )
    stored = (await read(client, member, fragment_id)).json()
    assert stored["valid_from"] == "2026-01-01T00:00:00Z"
    assert stored["recorded_to"] == "2026-06-01T00:00:00Z"
    assert stored["metadata"] == ({} if form == "fields" else times)

    async def found(**at: str) -> bool:
        return bool(await recalled(client, member, "dated rule", **at))

    assert await found()
    assert await found(valid_at="2026-01-01T00:00:00Z")
    assert not await found(valid_at="2025-12-31T23:59:59.999999Z")
    assert not await found(valid_at="2026-02-01T00:00:00Z")
    assert await found(known_at="2026-01-05T00:00:00Z")
    assert not await found(known_at="2026-06-01T00:00:00Z")


async def test_a_date_in_metadata_means_its_first_moment_in_utc(
    client: httpx.AsyncClient, member: Member
) -> None:
    fragment_id = await add(client, member, "a day", metadata={"valid_from": "2026-03-04", "valid_to": ""})
    stored = (await read(client, member, fragment_id)).json()
    assert (stored["valid_from"], stored["valid_to"]) == ("2026-03-04T00:00:00Z", None)


@pytest.mark.parametrize("offset", ["+15:59", "+17:16", "-23:59", "+23:59"])
async def test_any_offset_of_rfc_3339_is_read(client: httpx.AsyncClient, member: Member, offset: str) -> None:
    """PostgreSQL itself takes none of 16 hours or more."""
    hours = {"+15:59": "08:01", "+17:16": "06:44", "-23:59": "23:59", "+23:59": "00:01"}[offset]
    day = "2026-05-02" if offset == "-23:59" else "2026-05-01"
    time = f"2026-05-02T00:00:00{offset}"
    fragment_id = await add(
        client,
        member,
        "offsets",
        valid_from=time,
        recorded_at="2020-01-01T00:00:00Z",
        metadata={"valid_to": None},
    )
    assert (await read(client, member, fragment_id)).json()["valid_from"] == f"{day}T{hours}:00Z"
    assert [hit["id"] for hit in await recalled(client, member, "offsets", valid_at=time, known_at=time)] == [
        fragment_id
    ]
    answer = await client.get(
        f"{member.path}/fragments", params={"created_from": time, "created_to": time}, headers=member.owner
    )
    assert answer.status_code == 200
    await client.post(
        "/v1/keys", json={"name": "k", "expires_at": f"2999-01-01T00:00:00{offset}"}, headers=member.owner
    )


async def test_a_field_goes_before_metadata(client: httpx.AsyncClient, member: Member) -> None:
    fragment_id = await add(
        client,
        member,
        "two times",
        valid_from="2026-01-01T00:00:00Z",
        metadata={"valid_from": "2020-01-01T00:00:00Z"},
    )
    assert (await read(client, member, fragment_id)).json()["valid_from"] == "2026-01-01T00:00:00Z"


async def test_the_ends_of_the_calendar_read_back_under_any_time_zone(
    client: httpx.AsyncClient, member: Member, database_urls: TestDatabase
) -> None:
    ends = {"valid_from": "0001-01-01T00:00:00Z", "valid_to": "9999-12-31T23:59:59.999999Z"}
    fragment_id = await add(client, member, "for ever", **ends)
    stored = (await read(client, member, fragment_id)).json()
    assert {name: stored[name] for name in ends} == ends

    statement = sa.text("SELECT valid_from::text, valid_to FROM fragments WHERE id = :id")
    with psycopg.connect(database_urls.superuser, autocommit=True) as connection:
        for zone in ("Asia/Tokyo", "America/Los_Angeles"):
            connection.execute(
                f"ALTER ROLE strata_api IN DATABASE {database_urls.name} SET timezone = '{zone}'"
            )
            database = Database.connect(database_urls.api, pool_size=1, pool_timeout=1)
            try:
                async with database.tenant(Tenant(member.team_id, member.profile_id)) as unit:
                    start, end = (await unit.execute(statement, {"id": UUID(fragment_id)})).one()
            finally:
                await database.close()
                connection.execute(f"ALTER ROLE strata_api IN DATABASE {database_urls.name} RESET timezone")
            assert (start, end.isoformat()) == ("0001-01-01 00:00:00+00", "9999-12-31T23:59:59.999999+00:00")


LONG = (
    "The falcon nests in the north tower. "
    + " ".join(f"Entry {n}: the quarterly report was filed by office {n % 89} on time." for n in range(300))
    + " The otter sleeps under the south bridge."
)


async def test_words_far_apart_in_a_long_text_are_found(client: httpx.AsyncClient, member: Member) -> None:
    fragment_id = await add(client, member, LONG)
    await add(client, member, "nothing about animals here")
    assert (await read(client, member, fragment_id)).json()["content"] == LONG
    for query in ("where does the falcon nest", "otter bridge"):
        [hit] = [hit for hit in await recalled(client, member, query) if hit["id"] == fragment_id]
        assert hit["keyword_rank"] == 1


@pytest.mark.slow
async def test_meaning_far_apart_in_a_long_text_is_found(fresh_database: TestDatabase) -> None:
    """With the real model: its window is 256 tokens, so one vector would know the beginning only."""
    settings = Settings(embedder="sentence-transformers", embedding_threads=1, worker=False)
    async with opened_services(fresh_database, settings) as services:
        team = (await services.tenancy.create_team(SYSTEM, "readers", services.space_id)).team_id
        profile = await services.tenancy.create_profile(SYSTEM, team, ProfileInput(name="library"))
        tenant = Tenant(team, profile.id)
        prepared = await services.fragments.prepare(tenant, services.space_id, [FragmentInput(content=LONG)])
        async with services.database.tenant(tenant) as unit:
            [stored] = await services.fragments.store(unit, SYSTEM, "english", prepared)
        nearest = []
        for query in ("a falcon's nest in a tower", "an otter asleep below a bridge"):
            vector = HalfVector(await services.embeddings.embed_query(query))
            async with services.database.tenant(tenant) as unit:
                windows = await unit.execute(
                    sa.text("SELECT window_index FROM vectors ORDER BY embedding <=> :question"),
                    {"question": vector},
                )
                nearest.append(list(windows.scalars()))
            result = await services.recall.recall(
                tenant,
                space_id=services.space_id,
                text_search_config="english",
                request=RecallInput(query=query),
            )
            assert [(hit.id, hit.semantic_rank) for hit in result.results] == [(stored.id, 1)]
        count = len(nearest[0])
        assert count >= 15
        assert [order[0] for order in nearest] == [0, count - 1]


async def test_a_retracted_fragment_is_readable_and_never_recalled(
    client: httpx.AsyncClient, services: Services, member: Member
) -> None:
    fragment_id = await add(client, member, "the launch is on Monday")
    kept = await add(client, member, "the launch party is on Tuesday")
    [hit] = [hit for hit in await recalled(client, member, "launch Monday") if hit["id"] == fragment_id]
    assert (hit["semantic_rank"], hit["keyword_rank"]) == (1, 1)

    path = f"{member.path}/fragments/{fragment_id}/retract"
    first = await client.post(path, headers=member.owner)
    again = await client.post(path, headers=member.owner)
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json() == (await read(client, member, fragment_id)).json()
    assert first.json()["status"] == "retracted"
    assert first.json()["retracted_at"] == first.json()["recorded_to"]
    assert [hit["id"] for hit in await recalled(client, member, "the launch is on Monday")] == [kept]
    assert await derived_rows(services, member, fragment_id) == {"search_documents": 0, "vectors": 0}


async def test_a_fragment_recorded_in_the_future_can_be_retracted(
    client: httpx.AsyncClient, member: Member
) -> None:
    fragment_id = await add(client, member, "announced early", recorded_at="2999-01-01T00:00:00Z")
    answer = await client.post(f"{member.path}/fragments/{fragment_id}/retract", headers=member.owner)
    assert (answer.status_code, answer.json()["recorded_to"]) == (200, "2999-01-01T00:00:00Z")


async def test_a_deleted_fragment_is_gone_from_everywhere(
    client: httpx.AsyncClient, services: Services, member: Member
) -> None:
    await add(client, member, "the bicycle stays")
    fragment_id = await add(client, member, "the unicycle leaves", idempotency_key="u")
    assert await derived_rows(services, member, fragment_id) == {"search_documents": 1, "vectors": 1}
    path = f"{member.path}/fragments/{fragment_id}"
    answer = await client.delete(path, headers=member.owner)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await read(client, member, fragment_id)).status_code == 404
    assert (await client.delete(path, headers=member.owner)).status_code == 404
    assert (await client.post(f"{path}/retract", headers=member.owner)).status_code == 404
    assert await derived_rows(services, member, fragment_id) == {"search_documents": 0, "vectors": 0}
    assert fragment_id not in {hit["id"] for hit in await recalled(client, member, "unicycle leaves")}
    async with services.database.tenant(Tenant(member.team_id, member.profile_id)) as unit:
        left = await unit.execute(
            sa.text(
                "SELECT lexeme, sum(documents) FROM lexeme_statistics GROUP BY 1 HAVING sum(documents) <> 0"
            )
        )
        assert {row.lexeme for row in left} == {"bicycl", "stay"}
    assert await add(client, member, "the unicycle leaves", idempotency_key="u") != fragment_id


async def test_a_retracted_fragment_can_be_deleted(client: httpx.AsyncClient, member: Member) -> None:
    fragment_id = await add(client, member, "withdrawn, then erased")
    await client.post(f"{member.path}/fragments/{fragment_id}/retract", headers=member.owner)
    path = f"{member.path}/fragments/{fragment_id}"
    assert (await client.delete(path, headers=member.owner)).status_code == 204
    assert (await read(client, member, fragment_id)).status_code == 404

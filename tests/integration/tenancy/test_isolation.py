"""Two teams with two profiles each, all holding the same words: nothing of one ever shows in another."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from app.db.unit_of_work import Database, Statement, Tenant
from app.services import Services
from app.tenancy.authentication import Authentication
from tests.integration.conftest import OPERATOR, Member, TestDatabase

CONTENTS = ("The harbour crane PROJ-123 was repaired.", "Retries are capped at three.", "Nora owns billing.")
QUERIES = ("harbour crane", "PROJ-123", "who owns billing", "Retries are capped at three.")
BY_TEAM = ("teams", "profiles", "api_keys", "audit_log")
BY_PROFILE = (
    "fragments", "idempotency_records", "search_documents", "lexeme_statistics", "collection_statistics",
    "vectors", "vector_placements",
)  # fmt: skip


@dataclass(frozen=True)
class Space:
    """One profile with its fragments."""

    member: Member
    profile_id: UUID
    fragments: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"/v1/profiles/{self.profile_id}"

    @property
    def tenant(self) -> Tenant:
        return Tenant(self.member.team_id, self.profile_id)


@pytest.fixture(scope="module")
async def spaces(client: httpx.AsyncClient, make_member: Any, database_urls: TestDatabase) -> list[Space]:
    made = []
    for member in (await make_member(), await make_member()):
        for profile_id in (member.profile_id, member.other_profile_id):
            answer = await client.post(
                f"/v1/profiles/{profile_id}/fragments/batch",
                json={"items": [{"content": content, "labels": ["port"]} for content in CONTENTS]},
                headers={**member.owner, "Idempotency-Key": "the same for all"},
            )
            ids = tuple(result["id"] for result in answer.json()["results"])
            made.append(Space(member, profile_id, ids))
    # A row in every table: nobody here is large enough to be placed in a graph.
    with psycopg.connect(database_urls.superuser, autocommit=True) as connection:
        for space in made:
            connection.execute(
                "INSERT INTO vector_placements (team_id, profile_id, space_id, graph, vectors) VALUES (%s, %s, 99, 1, 0)",
                (space.member.team_id, space.profile_id),
            )
    return made


PAIRS = [(mine, other) for mine in range(4) for other in range(4) if mine != other]


def foreign_ids(spaces: list[Space], mine: Space) -> set[str]:
    others = [space for space in spaces if space is not mine]
    return {known for space in others for known in (*space.fragments, str(space.profile_id))}


# --- over HTTP ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mine", range(4))
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("policy", ["strata-v1", "documented-v1"])
async def test_recall_finds_the_own_copy_in_both_branches(
    client: httpx.AsyncClient, spaces: list[Space], mine: int, query: str, policy: str
) -> None:
    space = spaces[mine]
    answer = await client.post(
        f"{space.path}/recall",
        json={"query": query, "limit": 50, "explain": True, "policy": policy},
        headers=space.member.owner,
    )
    hits = answer.json()["results"]
    assert {hit["id"] for hit in hits} <= set(space.fragments)
    assert min(hit["semantic_rank"] or 99 for hit in hits) == 1
    assert min(hit["keyword_rank"] or 99 for hit in hits) == 1
    assert not any(known in answer.text for known in foreign_ids(spaces, space))


async def test_the_same_words_score_the_same_in_every_space(
    client: httpx.AsyncClient, spaces: list[Space]
) -> None:
    """Statistics that leaked from one space to another would show in the scores."""
    scores = set()
    for space in spaces:
        answer = await client.post(
            f"{space.path}/recall", json={"query": "harbour crane"}, headers=space.member.owner
        )
        scores.add(tuple(hit["score"] for hit in answer.json()["results"]))
    assert len(scores) == 1


@pytest.mark.parametrize("mine", range(4))
async def test_lists_hold_the_own_rows(client: httpx.AsyncClient, spaces: list[Space], mine: int) -> None:
    space = spaces[mine]
    listing = await client.get(f"{space.path}/fragments?label=port", headers=space.member.owner)
    assert [item["id"] for item in listing.json()["items"]] == list(space.fragments)
    assert {item["profile_id"] for item in listing.json()["items"]} == {str(space.profile_id)}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("method", "suffix"), [("GET", ""), ("POST", "/retract"), ("DELETE", "")])
async def test_a_fragment_is_reached_through_its_own_profile_alone(
    client: httpx.AsyncClient, spaces: list[Space], pair: tuple[int, int], method: str, suffix: str
) -> None:
    space, theirs = spaces[pair[0]], spaces[pair[1]]
    for fragment_id in theirs.fragments:
        path = f"{space.path}/fragments/{fragment_id}{suffix}"
        answer = await client.request(method, path, headers=space.member.owner)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        kept = await client.get(f"{theirs.path}/fragments/{fragment_id}", headers=theirs.member.owner)
        assert kept.json()["status"] == "active"


@pytest.mark.parametrize(
    ("method", "suffix", "body"),
    [
        ("GET", "", None),
        ("DELETE", "", None),
        ("GET", "/fragments", None),
        ("POST", "/fragments", {"content": "planted"}),
        ("POST", "/fragments/batch", {"items": [{"content": "planted"}]}),
        ("POST", "/recall", {"query": "harbour"}),
    ],
)
async def test_another_teams_profile_does_not_exist(
    client: httpx.AsyncClient, spaces: list[Space], method: str, suffix: str, body: Any
) -> None:
    theirs, headers = spaces[2], spaces[0].member.owner
    answer = await client.request(method, theirs.path + suffix, json=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    listing = await client.get(f"{theirs.path}/fragments", headers=theirs.member.owner)
    assert len(listing.json()["items"]) == len(CONTENTS)


async def test_a_team_in_a_body_or_a_query_is_refused(client: httpx.AsyncClient, spaces: list[Space]) -> None:
    mine, theirs = spaces[0], spaces[2]
    for field in ("team_id", "profile_id"):
        value = str(getattr(theirs.tenant, field))
        body = {"query": "harbour", field: value}
        answer = await client.post(f"{mine.path}/recall", json=body, headers=mine.member.owner)
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, field)
        answer = await client.get(f"{mine.path}/fragments?{field}={value}", headers=mine.member.owner)
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, field)


async def test_erasing_a_profile_or_a_team_leaves_the_others_whole(
    client: httpx.AsyncClient, make_member: Any, database_urls: TestDatabase
) -> None:
    erased, kept = await make_member(), await make_member()
    for member in (erased, kept):
        for profile_id in (member.profile_id, member.other_profile_id):
            await client.post(
                f"/v1/profiles/{profile_id}/fragments",
                json={"content": "the same words"},
                headers={**member.owner, "Idempotency-Key": "k"},
            )

    with psycopg.connect(database_urls.superuser, autocommit=True) as connection:

        def counts(column: str, value: UUID) -> dict[str, int]:
            tables = BY_PROFILE if column == "profile_id" else (*BY_TEAM, *BY_PROFILE)
            found = {}
            for table in tables:
                statement = sql.SQL("SELECT count(*) FROM {} WHERE {} = %s")
                row = connection.execute(
                    statement.format(sql.Identifier(table), sql.Identifier(column)), (value,)
                ).fetchone()
                assert row is not None
                found[table] = row[0]
            return found

        before_team = counts("team_id", kept.team_id)
        before_profile = counts("profile_id", erased.other_profile_id)
        assert before_profile["vectors"] == before_profile["fragments"] == 1
        answer = await client.delete(f"/v1/profiles/{erased.profile_id}", headers=erased.owner)
        assert answer.status_code == 204
        assert set(counts("profile_id", erased.profile_id).values()) == {0}
        assert counts("profile_id", erased.other_profile_id) == before_profile

        answer = await client.delete(f"/v1/admin/teams/{erased.team_id}", headers=OPERATOR)
        assert answer.status_code == 204
        left = counts("team_id", erased.team_id)
        assert left.pop("audit_log") > 0
        assert set(left.values()) == {0}
        assert counts("team_id", kept.team_id) == before_team


# --- in SQL, as the API role -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def api(database_urls: TestDatabase) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_urls.api) as connection:
        yield connection


def bind(connection: psycopg.Connection, team: UUID | None, profile: UUID | None) -> None:
    connection.rollback()
    connection.execute(
        "SELECT set_config('strata.team_id', %s, true), set_config('strata.profile_id', %s, true)",
        (str(team or ""), str(profile or "")),
    )


def rows(connection: psycopg.Connection, table: str, condition: str = "true") -> list[tuple[Any, ...]]:
    statement = sql.SQL("SELECT * FROM {} WHERE {}").format(sql.Identifier(table), sql.SQL(condition))
    return connection.execute(statement).fetchall()


@pytest.mark.parametrize("table", [*BY_TEAM, *BY_PROFILE])
def test_a_table_shows_the_bound_tenant_and_nobody_else(
    api: psycopg.Connection, spaces: list[Space], table: str
) -> None:
    mine, sibling, theirs = spaces[0], spaces[1], spaces[2]
    team, profile = mine.member.team_id, mine.profile_id
    bind(api, None, None)
    assert rows(api, table) == []
    bind(api, None, profile)
    assert rows(api, table) == []
    bind(api, team, profile)
    assert rows(api, table) != []
    assert rows(api, table, f"team_id IS DISTINCT FROM '{team}'") == []
    if table in BY_PROFILE:
        assert rows(api, table, f"profile_id IS DISTINCT FROM '{profile}'") == []
        bind(api, team, None)
        assert rows(api, table) == []
        bind(api, team, theirs.profile_id)
        assert rows(api, table) == []
        bind(api, theirs.member.team_id, profile)
        assert rows(api, table) == []
        bind(api, team, sibling.profile_id)
        assert rows(api, table, f"profile_id = '{profile}'") == []


def test_no_table_of_the_tenants_shows_a_row_without_a_context(
    api: psycopg.Connection, spaces: list[Space]
) -> None:
    assert spaces
    bind(api, None, None)
    tables = api.execute(
        "SELECT table_name FROM information_schema.columns WHERE column_name = 'team_id'"
        " AND has_table_privilege(format('public.%I', table_name), 'SELECT')"
    ).fetchall()
    assert {name for (name,) in tables} >= {*BY_TEAM, *BY_PROFILE}
    assert [name for (name,) in tables if rows(api, name)] == []


@pytest.mark.parametrize("context", ["not a uuid", "' OR true", "00000000-0000-0000-0000-000000000000"])
def test_a_made_up_context_shows_nothing(api: psycopg.Connection, spaces: list[Space], context: str) -> None:
    assert spaces
    for table in (*BY_TEAM, *BY_PROFILE):
        api.rollback()
        api.execute(
            "SELECT set_config('strata.team_id', %s, true), set_config('strata.profile_id', %s, true)",
            (context, context),
        )
        if context.startswith("0"):
            assert rows(api, table) == []
        else:
            with pytest.raises(psycopg.errors.InvalidTextRepresentation):
                rows(api, table)


@pytest.mark.parametrize("table", [*BY_TEAM, *BY_PROFILE])
def test_rows_of_another_tenant_cannot_be_written(
    api: psycopg.Connection, spaces: list[Space], database_urls: TestDatabase, table: str
) -> None:
    mine, theirs = spaces[0], spaces[2]
    name = sql.Identifier(table)
    with psycopg.connect(database_urls.superuser) as superuser:
        found = superuser.execute(
            sql.SQL("SELECT to_jsonb(t) FROM {} AS t WHERE team_id = %s").format(name),
            (theirs.member.team_id,),
        ).fetchone()
    assert found is not None
    bind(api, mine.member.team_id, mine.profile_id)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        api.execute(
            sql.SQL("INSERT INTO {0} SELECT * FROM jsonb_populate_record(NULL::{0}, %s)").format(name),
            (psycopg.types.json.Jsonb(found[0]),),
        )
    for statement in (
        "UPDATE {} SET team_id = team_id WHERE team_id = %s",
        "DELETE FROM {} WHERE team_id = %s",
    ):
        bind(api, mine.member.team_id, mine.profile_id)
        if table == "audit_log":
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
                api.execute(sql.SQL(statement).format(name), (theirs.member.team_id,))
        else:
            changed = api.execute(sql.SQL(statement).format(name), (theirs.member.team_id,))
            assert changed.rowcount == 0
    if table != "audit_log":
        bind(api, mine.member.team_id, mine.profile_id)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            api.execute(sql.SQL("UPDATE {} SET team_id = %s").format(name), (theirs.member.team_id,))
    api.rollback()


@pytest.mark.parametrize("table", ["vectors_s1", "vectors_s1_g0", "vectors_s1_g1"])
def test_partitions_cannot_be_read_past_their_parent(
    api: psycopg.Connection, spaces: list[Space], table: str
) -> None:
    bind(api, spaces[0].member.team_id, spaces[0].profile_id)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
        rows(api, table)
    api.rollback()


SEARCHES = {
    "keyword": (
        "SELECT id FROM keyword_search(1::smallint, %(q)s::tsquery, ARRAY[%(q)s::tsquery], ARRAY[1.0::float8],"
        " 1.2, .75, 5, NULL, NULL, NULL, NULL, 10)"
    ),
    "semantic": "SELECT id FROM semantic_search(1::smallint, 1::smallint, %(v)s::halfvec, NULL, NULL, NULL, NULL, 10)",
}


@pytest.fixture(scope="module")
async def question(services: Services, spaces: list[Space]) -> dict[str, Any]:
    """What finds the harbour crane, in the terms of the first space and of the third."""
    vector = await services.embeddings.embed_query("harbour crane")
    async with services.database.tenant(spaces[2].tenant) as unit:
        lexemes = await unit.execute(sa.text("SELECT tsvector_to_array(lexemes) FROM search_documents"))
        terms = sorted({term for row in lexemes.scalars() for term in row if term.endswith("crane")})
    return {"q": f"'{terms[0]}'", "v": str(vector.tolist())}


@pytest.mark.parametrize("branch", SEARCHES)
def test_searches_answer_the_bound_tenant_alone(
    api: psycopg.Connection, spaces: list[Space], question: dict[str, Any], branch: str
) -> None:
    """The question is spelt in the third space's own terms; only that space may have it answered."""
    theirs = spaces[2]
    for team, profile in ((None, None), (theirs.member.team_id, None), (None, theirs.profile_id)):
        bind(api, team, profile)
        assert api.execute(SEARCHES[branch], question).fetchall() == []
    for space in spaces:
        bind(api, space.member.team_id, space.profile_id)
        found = {str(row[0]) for row in api.execute(SEARCHES[branch], question)}
        assert found <= set(space.fragments)
        if space is theirs:
            assert theirs.fragments[0] in found
        elif branch == "keyword":
            assert found == set()
    api.rollback()


@pytest.mark.parametrize("branch", SEARCHES)
async def test_searches_through_the_service_see_one_tenant(
    services: Services, spaces: list[Space], question: dict[str, Any], branch: str
) -> None:
    statement = Statement(SEARCHES[branch], question)
    async with services.database.reading(Tenant(spaces[0].member.team_id, spaces[2].profile_id)) as unit:
        assert await unit.fetch(statement) == []
    async with services.database.reading(spaces[2].tenant) as unit:
        found = await unit.fetch(statement)
    assert {str(row[0]) for row in found} <= set(spaces[2].fragments)


# --- contexts do not outlive their transaction -------------------------------------------------------------------


@pytest.fixture
async def one_connection(database_urls: TestDatabase) -> AsyncIterator[Database]:
    """Pools of one: everybody uses the connection that the one before has used."""
    database = Database.connect(database_urls.api, pool_size=1, pool_timeout=1)
    yield database
    await database.close()


async def context_left(database: Database) -> tuple[Any, ...]:
    names = ("team_id", "profile_id", "operator", "key_prefix")
    settings = ", ".join(f"coalesce(current_setting('strata.{name}', true), '')" for name in names)
    left = set()
    for engine in (database.engine, database.readers):
        async with engine.connect() as connection:
            left.add(tuple((await connection.execute(sa.text(f"SELECT {settings}"))).one()))
            assert (await connection.execute(sa.text("SELECT count(*) FROM fragments"))).scalar_one() == 0
            assert (await connection.execute(sa.text("SELECT count(*) FROM teams"))).scalar_one() == 0
    [context] = left
    return context


async def test_nothing_of_a_context_is_left_on_the_connection(
    one_connection: Database, spaces: list[Space]
) -> None:
    tenant, nothing = spaces[0].tenant, ("", "", "", "")
    async with one_connection.tenant(tenant) as unit:
        assert (await unit.execute(sa.text("SELECT count(*) FROM fragments"))).scalar_one() == 3
    assert await context_left(one_connection) == nothing
    with pytest.raises(RuntimeError, match="half-way"):
        async with one_connection.tenant(tenant):
            raise RuntimeError("half-way")
    assert await context_left(one_connection) == nothing
    with pytest.raises(sa.exc.DBAPIError):
        async with one_connection.tenant(tenant) as unit:
            await unit.execute(sa.text("SELECT 1 / 0"))
    assert await context_left(one_connection) == nothing
    async with one_connection.reading(tenant) as unit:
        [row] = await unit.fetch(Statement("SELECT count(*) FROM fragments"))
        assert row == (3,)
    assert await context_left(one_connection) == nothing
    with pytest.raises(sa.exc.DBAPIError):
        async with one_connection.reading(tenant) as unit:
            await unit.fetch(Statement("SELECT 1 / 0"))
    assert await context_left(one_connection) == nothing
    async with one_connection.operator() as connection:
        assert (await connection.execute(sa.text("SELECT count(*) FROM teams"))).scalar_one() >= 2
        for table in ("profiles", "api_keys", "audit_log", "fragments"):
            count = await connection.execute(sa.text(f"SELECT count(*) FROM {table}"))  # noqa: S608 - names above
            assert count.scalar_one() == 0
    assert await context_left(one_connection) == nothing


async def test_a_tenant_after_another_on_one_connection_sees_its_own_rows(
    one_connection: Database, spaces: list[Space]
) -> None:
    for space in (*spaces, *spaces[::-1]):
        async with one_connection.tenant(space.tenant) as unit:
            found = (await unit.execute(sa.text("SELECT id FROM fragments ORDER BY id"))).scalars()
            assert [str(fragment_id) for fragment_id in found] == list(space.fragments)
        async with one_connection.reading(space.tenant) as unit:
            found = await unit.fetch(Statement("SELECT id FROM fragments ORDER BY id"))
            assert [str(row[0]) for row in found] == list(space.fragments)


async def test_a_key_lookup_leaves_no_context(one_connection: Database, spaces: list[Space]) -> None:
    header = spaces[0].member.owner["Authorization"]
    caller = await Authentication(one_connection).authenticate(header, spaces[0].profile_id)
    assert caller.tenant == spaces[0].tenant
    assert await context_left(one_connection) == ("", "", "", "")

"""A read's statement carries its tenant: row-level security sees it, and it sees nothing else."""

from uuid import UUID

import pytest
import sqlalchemy as sa

from app.db.unit_of_work import Statement, Tenant, bound
from app.services import Services

TEAM, PROFILE = UUID(int=1), UUID(int=2)
READ = "SELECT current_setting('strata.team_id', true), current_setting('strata.profile_id', true), %s"


def test_positional_parameters_follow_the_binding() -> None:
    sql, parameters = bound(Statement("SELECT %s", ("x",)), Tenant(TEAM, PROFILE))
    assert parameters == (str(TEAM), str(PROFILE), "x")
    assert sql.index("set_config('strata.team_id', %s, true)") < sql.index("SELECT %s")


def test_named_parameters_keep_their_names() -> None:
    sql, parameters = bound(Statement("SELECT %(word)s", {"word": "x"}), Tenant(TEAM))
    assert parameters == {"word": "x", "bound_team": str(TEAM), "bound_profile": ""}
    assert "set_config('strata.profile_id', %(bound_profile)s, true)" in sql


@pytest.mark.parametrize(("tenant", "profile"), [(Tenant(TEAM, PROFILE), str(PROFILE)), (Tenant(TEAM), "")])
async def test_the_statement_sees_its_tenant_and_the_next_one_does_not(
    services: Services, tenant: Tenant, profile: str
) -> None:
    async with services.database.reading(tenant) as unit:
        assert await unit.fetch(Statement(READ, ("x",))) == [(str(TEAM), profile, "x")]
        reader = unit._reader  # noqa: SLF001 - what is left on its connection is the question
        assert await reader.rows(Statement(READ, ("y",))) in [[("", "", "y")], [(None, None, "y")]]


async def test_rows_keep_the_order_of_the_statement(services: Services) -> None:
    statement = Statement("SELECT n FROM generate_series(1, 2000) AS n ORDER BY n %% 7, n DESC", ())
    async with services.database.reading(Tenant(TEAM, PROFILE)) as unit:
        found = [n for (n,) in await unit.fetch(statement)]
    assert found == sorted(range(1, 2001), key=lambda n: (n % 7, -n))


async def test_a_failing_statement_raises_the_wrapped_error(services: Services) -> None:
    with pytest.raises(sa.exc.DBAPIError, match="division by zero"):
        async with services.database.reading(Tenant(TEAM, PROFILE)) as unit:
            await unit.fetch(Statement("SELECT 1 / 0", ()))

"""Times and filters of a command line."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
import typer

from app.cli.filters import Filters, instant


def test_an_instant_is_a_date_or_a_time_with_an_offset() -> None:
    assert instant("2026-03-15") == datetime(2026, 3, 15, tzinfo=UTC)
    assert instant("2026-03-15T09:00:00Z") == datetime(2026, 3, 15, 9, tzinfo=UTC)
    assert instant("2026-03-15T09:00:00+02:00") == datetime(
        2026, 3, 15, 9, tzinfo=timezone(timedelta(hours=2))
    )


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "2026-03-15T09:00:00", "20260315"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="must"):
        instant(text)


def test_only_filters_that_are_set_become_parameters() -> None:
    filters = Filters(status="active", created_from=datetime(2026, 3, 15, tzinfo=UTC))
    assert filters.parameters == {"status": "active", "created_from": "2026-03-15T00:00:00+00:00"}
    assert filters.values["label"] is None

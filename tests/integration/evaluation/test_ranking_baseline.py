"""The guard: a change of the ranking of shipped cases that nobody accepted fails here, and is told by category."""

from dataclasses import replace

import pytest

from app.asgi import create_app
from app.evaluation.accepting import check, read_baseline
from app.evaluation.api import api_of
from app.evaluation.scorer import SCORER_REVISION
from app.recall import policy

OPERATOR_TOKEN = "operator-token-of-the-tests"


def quiet(_title):
    return lambda _stage, _done, _total: None


@pytest.fixture
async def api(services, settings):
    async with api_of(create_app(settings, services), OPERATOR_TOKEN) as found:
        yield found


async def test_the_ranking_is_the_accepted_one(api, tmp_path):
    baseline = read_baseline()
    assert baseline.scorer_revision == SCORER_REVISION
    assert all(accepted.reason for accepted in baseline.reasons)
    told = await check(api, tmp_path, quiet)
    assert not told, "\n" + told


async def test_a_changed_weight_is_caught_and_told(api, tmp_path, monkeypatch):
    changed = replace(policy.POLICIES["documented-v1"], rrf_k=1)
    monkeypatch.setitem(policy.POLICIES, "documented-v1", changed)
    told = await check(api, tmp_path, quiet, "hardcases")
    lines = told.splitlines()
    assert lines[0] == "The ranking of shipped cases changed."
    assert next(line for line in lines if line.startswith("hardcases/")).startswith(
        "hardcases/documented-v1: "
    )
    assert "hardcases/strata-v1" not in told
    assert "    overall                  " in told
    # A case with its question, what answers it and what must not come, before and now.
    was = next(place for place, line in enumerate(lines) if line.startswith("      was "))
    assert lines[was - 1].endswith(("?", "."))
    assert "+" in lines[was]
    assert lines[was + 1].startswith("      is  ")
    assert lines[was] != lines[was + 1]
    assert "What to do:" in lines
    assert 'strata eval accept --reason "why"' in told

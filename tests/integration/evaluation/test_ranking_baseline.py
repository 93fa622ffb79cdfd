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
    assert told.startswith("The ranking of shipped cases changed.")
    assert "hardcases/documented-v1: " in told
    assert "    overall                  " in told
    assert "hardcases/strata-v1" not in told
    assert 'strata eval accept --reason "why"' in told

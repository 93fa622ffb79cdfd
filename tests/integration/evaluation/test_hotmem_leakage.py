"""HotMem's cases with a profile for each of its projects: nothing of another project comes, where without it something does."""

import os
from pathlib import Path

import pytest

from app.asgi import create_app
from app.evaluation.api import api_of
from app.evaluation.formats.loading import load_set
from app.evaluation.runner import RunOptions, import_once, run_cases

OPERATOR_TOKEN = "operator-token-of-the-tests"
FOLDER = Path(os.environ.get("STRATA_DATASETS_DIR", "")) / "hotmem"

pytestmark = pytest.mark.skipif(
    not os.environ.get("STRATA_DATASETS_DIR") or not FOLDER.is_dir(),
    reason="HotMem's cases are read from STRATA_DATASETS_DIR, which does not hold them",
)


@pytest.fixture
async def api(services, settings):
    async with api_of(create_app(settings, services), OPERATOR_TOKEN) as found:
        yield found


async def block_of(api, judged, directory, policy):
    def quiet(_stage, _done, _total):
        pass

    mapping = await import_once(api, judged, directory / "import", quiet)
    run = await run_cases(
        api, judged, mapping, directory / policy, options=RunOptions(policy=policy), progress=quiet
    )
    return run.summary


@pytest.mark.parametrize("policy", ["strata-v1", "documented-v1"])
async def test_nothing_leaks_between_profiles(api, tmp_path, policy):
    judged = load_set(FOLDER, scoped=True)
    assert (len(judged.cases), len(judged.scopes)) == (48, 5)
    summary = await block_of(api, judged, tmp_path, policy)
    assert summary.overall.leakage == 0.0
    assert all(block.leakage in {0.0, None} for block in summary.slices.values())
    assert summary.overall.axes["ranked"]["strict"].scored_cases == 42


async def test_the_measure_sees_leakage_where_all_share_one_profile(api, tmp_path):
    summary = await block_of(api, load_set(FOLDER), tmp_path, "strata-v1")
    assert summary.overall.leakage > 0.1

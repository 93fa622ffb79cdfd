"""What goes wrong in and around a run: each is told in a sentence, and nothing half is taken for whole."""

import json
import resource
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from app.asgi import create_app
from app.cli.eval import commands
from app.cli.output import CommandError
from app.evaluation.api import api_of
from app.evaluation.artifacts import PARTIAL, RUN_CONFIG, SCORES, SUMMARY, TRACES, RunDirectory
from app.evaluation.errors import EvaluationError
from app.evaluation.formats.loading import load_set
from app.evaluation.runner import RunOptions, import_once, read_run, rescore, run_cases
from app.evaluation.suites.hardcases import generate

OPERATOR_TOKEN = "operator-token-of-the-tests"


def quiet(_stage, _done, _total):
    pass


@contextmanager
def room_for(size):
    """This process's files beyond this size cannot be written, as on a full disk; the database is another process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
async def api(services, settings):
    async with api_of(create_app(settings, services), OPERATOR_TOKEN) as found:
        yield found


@pytest.fixture
def seed(tmp_path):
    generate(tmp_path / "seed", preset="small")
    return load_set(tmp_path / "seed")


@pytest.fixture
async def mapping(api, seed, tmp_path):
    return await import_once(api, seed, tmp_path / "import", quiet)


@pytest.fixture
def ask(api, seed, mapping):
    """Runs the cases into a directory."""

    async def asking(directory, **options):
        return await run_cases(api, seed, mapping, directory, options=RunOptions(**options), progress=quiet)

    return asking


def command(*arguments, code=0):
    result = CliRunner().invoke(commands, [str(one) for one in arguments])
    if isinstance(result.exception, CommandError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def names(directory):
    return {path.name for path in directory.iterdir()}


async def test_a_disk_that_fills_up_under_a_run_ends_it_and_the_repetition_completes_it(ask, tmp_path):
    whole = await ask(tmp_path / "whole")
    longest = max(map(len, (tmp_path / "whole" / TRACES).read_bytes().splitlines()))
    with room_for(4 * longest), pytest.raises(EvaluationError) as caught:
        await ask(tmp_path / "run")
    assert f"{PARTIAL} cannot be written: " in str(caught.value)
    assert "make room and repeat the command" in caught.value.remedy
    assert not names(tmp_path / "run") & {TRACES, SCORES, SUMMARY}
    assert 0 < len(RunDirectory(tmp_path / "run").partial_traces()) < 24
    with pytest.raises(EvaluationError, match="was cut off"):
        read_run(tmp_path / "run")
    again = await ask(tmp_path / "run")
    assert [score.axes for score in again.scores] == [score.axes for score in whole.scores]
    assert PARTIAL not in names(tmp_path / "run")


async def test_scoring_again_on_a_full_disk_leaves_no_half_run(ask, seed, tmp_path):
    await ask(tmp_path / "run")
    with room_for(2_000), pytest.raises(EvaluationError, match="cannot be written: File too large"):
        rescore(seed, RunDirectory(tmp_path / "run"), tmp_path / "again", RunOptions())
    assert not names(tmp_path / "again") & {TRACES, SCORES, SUMMARY}
    assert not [name for name in names(tmp_path / "again") if name.endswith(".writing")]
    with pytest.raises(EvaluationError, match="has no "):
        read_run(tmp_path / "again")


async def test_a_set_that_cannot_be_written_is_no_set(tmp_path):
    with room_for(5_000), pytest.raises(CommandError, match="cannot be written: File too large"):
        command("hardcases", "--out", tmp_path / "drawn", "--preset", "small")
    told = command("validate", tmp_path / "drawn", code=2)
    assert "needs seed_manifest.json" in told.replace("\n", " ")


async def test_runs_are_compared_by_command_and_a_fall_beyond_the_tolerance_fails(ask, tmp_path):
    await ask(tmp_path / "one", policy="strata-v1")
    await ask(tmp_path / "two", policy="documented-v1")
    both = ("compare", "--baseline-run", tmp_path / "one", "--candidate-run", tmp_path / "two")
    told = command(*both)
    assert "documented-v1 against strata-v1" in told
    assert "nDCG@k by slice" in told
    assert (tmp_path / "two" / "comparison.json").is_file()
    assert "regression ndcg_at_k of all cases: -" in command(*both, "--max-regression", "0", code=4)
    assert "regression" not in command(*both, "--max-regression", "5")
    same = command(
        "compare", "--baseline-run", tmp_path / "one", "--candidate-run", tmp_path / "one", "--json"
    )
    assert json.loads(same)["identical_rankings"] == 1.0


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("scorer_revision", "another", "was scored by 'another'"),
        ("import_method", "another", "the runs differ in import_method: 'strata-import-3"),
        ("seed_hash", "sha256:another", "the runs differ in seed_hash: "),
    ],
)
async def test_runs_of_another_kind_are_not_compared(ask, tmp_path, name, value, wanted):
    await ask(tmp_path / "one")
    await ask(tmp_path / "two")
    path = tmp_path / "two" / RUN_CONFIG
    config = json.loads(path.read_bytes())
    path.write_text(json.dumps(config | {name: value}), encoding="utf-8")
    with pytest.raises(CommandError) as caught:
        command("compare", "--baseline-run", tmp_path / "one", "--candidate-run", tmp_path / "two")
    assert wanted in str(caught.value)
    assert caught.value.remedy
    assert "comparison.json" not in names(tmp_path / "two")


async def test_a_directory_that_holds_an_import_of_another_set_is_refused(api, seed, tmp_path):
    await import_once(api, seed, tmp_path / "run", quiet)
    generate(tmp_path / "other", preset="small", draw=2)
    with pytest.raises(EvaluationError, match="is of another set or import") as caught:
        await import_once(api, load_set(tmp_path / "other"), tmp_path / "run", quiet)
    assert caught.value.remedy == "Give another --out."


async def test_a_run_whose_artifact_is_of_another_version_says_so(ask, tmp_path):
    await ask(tmp_path / "run")
    path = tmp_path / "run" / SUMMARY
    path.write_text('{"name": "x"}', encoding="utf-8")
    with pytest.raises(EvaluationError, match=r"summary\.json:1: Object missing required field") as caught:
        read_run(tmp_path / "run")
    assert caught.value.remedy == "Is it of this version of Strata?"

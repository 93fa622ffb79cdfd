import json

import pytest
from typer.testing import CliRunner

from app.cli.eval import commands
from app.cli.output import CommandError
from app.evaluation.shipped import BROAD


def run(*arguments, code=0):
    result = CliRunner().invoke(commands, [str(one) for one in arguments])
    if isinstance(result.exception, CommandError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def test_a_valid_set_is_described():
    found = json.loads(run("validate", BROAD, "--json").output)
    assert found["problems"] == {}
    described = found["valid"][0]
    assert (described["name"], described["documents"], described["cases"]) == ("broad", 456, 304)


def test_an_invalid_set_ends_with_code_2_and_every_problem(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(
        '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n', encoding="utf-8"
    )
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "x?"}\n', encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("q\tb\t1\n", encoding="utf-8")
    output = run("validate", tmp_path, code=2).output
    assert f"{tmp_path}/corpus.jsonl:2: document 'a' is there already, in line 1" in output
    assert f"{tmp_path}/qrels.tsv:1: there is no document 'b'" in output


def test_nothing_is_started_for_an_invalid_set(tmp_path):
    (tmp_path / "seed").mkdir()
    result = run("baseline", "--seed", tmp_path / "seed", "--out", tmp_path / "out", code=2)
    assert "nothing was imported" in result.output
    assert not (tmp_path / "out").exists()


def test_a_draw_is_written_and_valid(tmp_path):
    run("hardcases", "--out", tmp_path, "--preset", "small", "--draw", 5)
    run("validate", tmp_path)


def test_an_unknown_preset_and_gate_are_refused(tmp_path):
    with pytest.raises(CommandError, match="there is no preset 'huge'"):
        run("hardcases", "--out", tmp_path, "--preset", "huge")
    with pytest.raises(CommandError, match="is no gate"):
        run("baseline", "--seed", BROAD, "--out", tmp_path, "--gate", "recall=1")


def test_every_gate_is_an_option():
    output = CliRunner().invoke(commands, ["candidate", "--help"], env={"COLUMNS": "200"}).output
    for name in ("--min-recall-at-k", "--max-context-bad-rank1-rate", "--min-evidence-required-rank1-rate"):
        assert name in output


def test_an_acceptance_needs_a_reason():
    with pytest.raises(CommandError, match="the reason is blank"):
        run("accept", "--reason", "  ")

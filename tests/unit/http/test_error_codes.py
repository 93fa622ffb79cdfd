"""The table of error codes: told in the README, and the same in every answer."""

import re
from http import HTTPStatus
from pathlib import Path

import pytest

from app.errors import CODES, StrataError
from app.http.problems import problem_of

README = Path(__file__).parents[3] / "README.md"
_ROW = re.compile(r"^\| (\d{3}) \| `([a-z_]+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def test_the_readme_has_one_row_for_each_code() -> None:
    rows = sorted(_ROW.findall(README.read_text()))
    assert rows == sorted((str(row.status), code, row.title, row.remedy) for code, row in CODES.items())


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_fit_for_a_table(code: str) -> None:
    row = CODES[code]
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    assert HTTPStatus(row.status) >= HTTPStatus.BAD_REQUEST
    assert row.title[0].isupper()
    assert not row.title.endswith(".")
    assert row.remedy.endswith(".")
    assert "|" not in row.title + row.remedy


@pytest.mark.parametrize("code", CODES)
def test_a_problem_carries_code_status_and_title(code: str) -> None:
    problem = problem_of(StrataError(code, "what happened"), "request-1")
    assert (problem.code, problem.status, problem.title) == (code, CODES[code].status, CODES[code].title)
    assert (problem.detail, problem.request_id) == ("what happened", "request-1")


def test_an_unknown_code_is_a_fault_of_the_program() -> None:
    with pytest.raises(LookupError, match="no_such_code"):
        StrataError("no_such_code", "x")

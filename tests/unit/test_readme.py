"""The README's tables say what the code says."""

from pathlib import Path

import pytest

from app.settings import Settings

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_has_its_row(name: str) -> None:
    assert f"| `STRATA_{name.upper()}` |" in README
    assert str(Settings.model_fields[name].description) in README


def test_no_row_names_a_setting_that_is_gone() -> None:
    rows = [line.split("`")[1] for line in README.splitlines() if line.startswith("| `STRATA_")]
    assert {row.removeprefix("STRATA_").lower() for row in rows} == set(Settings.model_fields)

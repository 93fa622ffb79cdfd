import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.embedded.parameters import default_parameters, render_parameters

GIB = 1024**3


def test_a_machine_with_room_gets_the_full_values() -> None:
    assert default_parameters(24 * GIB) == {
        "effective_cache_size": "12288MB",
        "jit": "off",
        "lc_messages": "C",
        "log_timezone": "UTC",
        "maintenance_work_mem": "256MB",
        "max_connections": "200",
        "max_wal_size": "2GB",
        "random_page_cost": "1.1",
        "shared_buffers": "256MB",
        "synchronous_commit": "on",
        "timezone": "UTC",
        "wal_compression": "on",
        "work_mem": "16MB",
    }


@pytest.mark.parametrize(
    ("memory", "shared_buffers", "maintenance_work_mem", "effective_cache_size"),
    [
        (GIB, "128MB", "64MB", "512MB"),
        (GIB // 16, "16MB", "32MB", "64MB"),
        (2 * GIB, "256MB", "128MB", "1024MB"),
    ],
)
def test_a_small_machine_gets_less(
    memory: int, shared_buffers: str, maintenance_work_mem: str, effective_cache_size: str
) -> None:
    parameters = default_parameters(memory)
    assert parameters["shared_buffers"] == shared_buffers
    assert parameters["maintenance_work_mem"] == maintenance_work_mem
    assert parameters["effective_cache_size"] == effective_cache_size


def test_parameters_are_written_sorted_and_quoted() -> None:
    lines = render_parameters(
        {"work_mem": "16MB", "pgvector.note": "it's a \\ slash", "jit": "off"}
    ).splitlines()
    assert lines[1:] == ["jit = 'off'", "pgvector.note = 'it''s a \\\\ slash'", "work_mem = '16MB'"]


@pytest.mark.parametrize("name", ["", "Work_Mem", "a b", "a=b", "a.b.c", "1st", "a\n", "include 'x'"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a PostgreSQL parameter"):
        render_parameters({name: "on"})


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\0b"])
def test_a_value_that_would_end_its_line_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="parameter work_mem has a line break or a NUL"):
        render_parameters({"work_mem": value})


@given(st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"])))
def test_a_value_never_leaves_its_quotes(value: str) -> None:
    text = render_parameters({"search_path": value}).split("\n", 1)[1]
    quoted = text.removeprefix("search_path = '").removesuffix("'\n")
    assert quoted.replace("\\\\", "").replace("''", "").count("'") == 0
    assert quoted.replace("''", "'").replace("\\\\", "\\") == value

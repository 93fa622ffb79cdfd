"""Rows to the structs that leave a service."""

from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

View = TypeVar("View", bound=msgspec.Struct)


def view_of(kind: type[View], row: sa.Row[Any]) -> View:
    """Struct of the row's columns that have the names of its fields."""
    columns = row._mapping  # noqa: SLF001 - SQLAlchemy's documented name
    return kind(**{name: columns[name] for name in kind.__struct_fields__})

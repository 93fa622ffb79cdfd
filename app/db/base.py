"""Declarative base and the column types that every table shares."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.orm import DeclarativeBase, mapped_column

NAMING_CONVENTION = {
    "pk": "%(table_name)s_pkey",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ck": "%(table_name)s_%(constraint_name)s_check",
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
}

TeamId = Annotated[UUID, mapped_column(pg.UUID(as_uuid=True), primary_key=True)]
RowId = Annotated[UUID, mapped_column(pg.UUID(as_uuid=True), primary_key=True)]
ProfileId = Annotated[UUID, mapped_column(pg.UUID(as_uuid=True), nullable=False)]
Timestamp = Annotated[datetime, mapped_column(sa.DateTime(timezone=True), server_default=sa.func.now())]
OptionalTimestamp = Annotated[datetime | None, mapped_column(sa.DateTime(timezone=True))]
JsonObject = Annotated[dict[str, Any], mapped_column(pg.JSONB, server_default=sa.text("'{}'::jsonb"))]


class Base(DeclarativeBase):
    """All models; migrations are compared against its metadata in the tests."""

    metadata = sa.MetaData(naming_convention=NAMING_CONVENTION)


def one_of(column: str, values: tuple[str, ...], name: str | None = None) -> sa.CheckConstraint:
    """Check constraint that a text column holds one of ``values`` (program constants, never input)."""
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=name or column)

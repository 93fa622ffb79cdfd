"""Tables that recall searches. All of it can be rebuilt from the memories; nothing here is the only copy."""

from enum import IntEnum
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, OptionalTimestamp, ProfileId, RowId, TeamId, Timestamp


class Kind(IntEnum):
    """What a search document or a vector was derived from."""

    FRAGMENT = 1
    CLAIM = 2
    FACT = 3


class EmbeddingSpace(Base):
    """One embedding descriptor; vectors of two spaces are never compared. A global table without tenant rows."""

    __tablename__ = "embedding_spaces"
    __table_args__ = (sa.UniqueConstraint("key", "dimension"),)

    id: Mapped[int] = mapped_column(sa.SmallInteger, sa.Identity(), primary_key=True)
    key: Mapped[str] = mapped_column(sa.Text)
    dimension: Mapped[int] = mapped_column(sa.SmallInteger)
    graphs: Mapped[int] = mapped_column(sa.SmallInteger)
    created_at: Mapped[Timestamp]


class SearchDocument(Base):
    """Lexemes of one active memory, with what the branches filter by."""

    __tablename__ = "search_documents"
    __table_args__ = (
        sa.Index("search_documents_profile_idx", "team_id", "profile_id", "kind", "id"),
        sa.Index("search_documents_lexemes_idx", "lexemes", postgresql_using="gin"),
    )

    team_id: Mapped[TeamId]
    id: Mapped[RowId]
    profile_id: Mapped[ProfileId]
    kind: Mapped[int] = mapped_column(sa.SmallInteger)
    lexemes: Mapped[str] = mapped_column(pg.TSVECTOR)
    length: Mapped[int] = mapped_column(sa.Integer)
    fingerprint: Mapped[bytes | None] = mapped_column(sa.LargeBinary)
    source_type: Mapped[str] = mapped_column(sa.Text)
    labels: Mapped[list[str]] = mapped_column(pg.ARRAY(sa.Text), server_default=sa.text("'{}'::text[]"))
    valid_from: Mapped[OptionalTimestamp]
    valid_to: Mapped[OptionalTimestamp]
    recorded_at: Mapped[Timestamp]
    recorded_to: Mapped[OptionalTimestamp]


# A value of each row of a SELECT from fragments. A subquery, and not a join: it is always a look-up by the primary key.
FINGERPRINT_OF_FRAGMENT: Final = "(SELECT d.fingerprint FROM search_documents d WHERE d.team_id = fragments.team_id AND d.id = fragments.id)"


class LexemeStatistic(Base):
    """A change of one lexeme's document frequency; the frequency is the sum of its rows. Append-only, compacted."""

    __tablename__ = "lexeme_statistics"

    team_id: Mapped[TeamId]
    profile_id: Mapped[UUID] = mapped_column(pg.UUID(as_uuid=True), primary_key=True)
    kind: Mapped[int] = mapped_column(sa.SmallInteger, primary_key=True)
    lexeme: Mapped[str] = mapped_column(sa.Text, primary_key=True)
    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Identity(), primary_key=True)
    documents: Mapped[int] = mapped_column(sa.Integer)


class CollectionStatistic(Base):
    """A change of a profile's totals; the totals are the sum of its rows. Append-only, compacted."""

    __tablename__ = "collection_statistics"

    team_id: Mapped[TeamId]
    profile_id: Mapped[UUID] = mapped_column(pg.UUID(as_uuid=True), primary_key=True)
    kind: Mapped[int] = mapped_column(sa.SmallInteger, primary_key=True)
    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Identity(), primary_key=True)
    documents: Mapped[int] = mapped_column(sa.Integer)
    tokens: Mapped[int] = mapped_column(sa.BigInteger)
    tokens_squared: Mapped[int] = mapped_column(sa.BigInteger)
    vectors: Mapped[int] = mapped_column(sa.Integer)


class VectorPlacement(Base):
    """The HNSW graph that a large profile's vectors are moved to; a profile without a row is searched exactly."""

    __tablename__ = "vector_placements"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["team_id", "profile_id"], ["profiles.team_id", "profiles.id"], ondelete="CASCADE"
        ),
    )

    team_id: Mapped[TeamId]
    profile_id: Mapped[UUID] = mapped_column(pg.UUID(as_uuid=True), primary_key=True)
    space_id: Mapped[int] = mapped_column(sa.SmallInteger, primary_key=True)
    graph: Mapped[int] = mapped_column(sa.SmallInteger)
    vectors: Mapped[int] = mapped_column(sa.BigInteger)
    updated_at: Mapped[Timestamp]


class Vector(Base):
    """One embedded window of one memory; partitioned by space, then by graph."""

    __tablename__ = "vectors"
    __table_args__ = {"postgresql_partition_by": "LIST (space_id)"}  # noqa: RUF012

    team_id: Mapped[TeamId]
    profile_id: Mapped[UUID] = mapped_column(pg.UUID(as_uuid=True), primary_key=True)
    kind: Mapped[int] = mapped_column(sa.SmallInteger, primary_key=True)
    ref_id: Mapped[UUID] = mapped_column(pg.UUID(as_uuid=True), primary_key=True)
    window_index: Mapped[int] = mapped_column(sa.SmallInteger, primary_key=True)
    space_id: Mapped[int] = mapped_column(sa.SmallInteger, primary_key=True)
    graph: Mapped[int] = mapped_column(sa.SmallInteger, primary_key=True)
    embedding: Mapped[object] = mapped_column(HALFVEC())

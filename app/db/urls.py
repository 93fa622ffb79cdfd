"""PostgreSQL URLs: one spelling in, the spelling of each consumer out."""

import sqlalchemy as sa

SCHEMES = ("postgresql://", "postgres://", "postgresql+psycopg://")


def sqlalchemy_url(url: str) -> sa.URL:
    """URL for SQLAlchemy's psycopg dialect.

    Raises:
        ValueError: the URL is not a PostgreSQL one; the message never repeats it, since it may hold a password.
    """
    if not url.startswith(SCHEMES):
        raise ValueError("a database URL starts with postgresql://")
    try:
        return sa.make_url(url).set(drivername="postgresql+psycopg")
    except (ValueError, sa.exc.ArgumentError):
        raise ValueError("a database URL looks like postgresql://user:password@host:port/database") from None


def libpq_url(url: str) -> str:
    """The same URL as libpq and psycopg read it."""
    return sqlalchemy_url(url).set(drivername="postgresql").render_as_string(hide_password=False)

"""Alembic migrations; see README.md for what each one locks."""

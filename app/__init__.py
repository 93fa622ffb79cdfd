"""Strata: a PostgreSQL-backed, multi-tenant memory backend for AI products."""

from importlib.metadata import version

__version__ = version("strata-memory")

"""Strata: a PostgreSQL-backed, multi-tenant memory backend for AI products."""

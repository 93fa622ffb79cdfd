"""The plans of statements that run as the API role, bound to their tenant as the service binds them."""

from typing import Any
from uuid import UUID

import psycopg
from pgvector.psycopg import register_vector

from app.db.roles import API_ROLE
from app.db.unit_of_work import Statement, Tenant, bound

TEAM = UUID(int=1)


class Plans:
    """Runs statements of one team and returns all plans that ran, those inside functions included.

    Args:
        connection: A superuser's; the API role's from here on.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._messages: list[str] = []
        connection.execute("VACUUM ANALYZE")
        register_vector(connection)
        connection.execute("LOAD 'auto_explain'")
        for name, value in (
            ("log_min_duration", "0"),
            ("log_nested_statements", "on"),
            ("log_analyze", "on"),
        ):
            connection.execute(f"SET auto_explain.{name} = {value}")
        connection.execute("SET client_min_messages = log")
        connection.execute(f"SET SESSION AUTHORIZATION {API_ROLE}")
        connection.add_notice_handler(lambda notice: self._messages.append(notice.message_primary or ""))

    def of(self, profile: UUID, statement: Statement) -> str:
        """The plans of a statement that finds something."""
        self._messages.clear()
        rows = self._connection.execute(*bound(statement, Tenant(TEAM, profile))).fetchall()
        assert rows, "the statement found nothing, its plan proves nothing"
        return "\n".join(self._messages)

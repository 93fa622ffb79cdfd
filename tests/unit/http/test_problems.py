"""Exceptions to coded errors: what the caller may know of each."""

import pytest
import sqlalchemy as sa
from litestar.exceptions import (
    ClientException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from app.embeddings.errors import EmbedderUnavailable
from app.errors import FieldError, StrataError
from app.http.problems import to_error


class DriverError(Exception):
    def __init__(self, sqlstate: str | None) -> None:
        super().__init__("secret detail of a row")
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("sqlstate", "code"),
    [
        ("57014", "database_busy"),
        ("55P03", "database_busy"),
        ("40001", "database_busy"),
        ("40P01", "database_busy"),
        ("25P03", "database_busy"),
        ("08006", "database_unavailable"),
        ("57P01", "database_unavailable"),
        ("57P03", "database_unavailable"),
        ("53300", "database_unavailable"),
        ("53100", "database_unavailable"),
        ("23503", "conflict"),
        ("42501", "internal_error"),
        ("22P02", "internal_error"),
    ],
)
def test_states_of_the_database(sqlstate: str, code: str) -> None:
    error = to_error(sa.exc.DBAPIError("SELECT 1", {}, DriverError(sqlstate)))
    assert error.code == code
    assert "secret" not in error.detail
    assert (error.retry_after is not None) == code.startswith("database_")


def test_a_lost_connection_has_no_state() -> None:
    assert to_error(sa.exc.OperationalError("SELECT 1", {}, DriverError(None))).code == "database_unavailable"
    assert to_error(ConnectionRefusedError()).code == "database_unavailable"
    assert to_error(sa.exc.TimeoutError()).code == "database_busy"


@pytest.mark.parametrize(
    ("exception", "code"),
    [
        (StrataError("conflict", "x"), "conflict"),
        (NotFoundException(), "not_found"),
        (MethodNotAllowedException(), "method_not_allowed"),
        (RequestEntityTooLarge(), "payload_too_large"),
        (ClientException(), "validation_failed"),
        (EmbedderUnavailable("down", retry_after=3), "embedder_unavailable"),
        (RuntimeError("secret"), "internal_error"),
        (RecursionError(), "internal_error"),
    ],
)
def test_other_exceptions(exception: Exception, code: str) -> None:
    error = to_error(exception)
    assert error.code == code
    assert "secret" not in error.detail


def test_faults_of_parameters_are_named() -> None:
    exception = ValidationException(
        extra=[
            {"key": "limit", "message": "Expected `int` >= 1", "source": "query"},
            {"key": "idempotency_key", "message": "Expected `str` of length >= 1", "source": "header"},
            {"key": "profile_id", "message": "'profile_id'"},
        ]
    )
    assert to_error(exception).errors == (
        FieldError("limit", "must be at least 1"),
        FieldError("Idempotency-Key", "must not be empty"),
    )
    missing = ValidationException(extra=[{"key": "data", "message": "'data'", "source": "body"}])
    assert to_error(missing).errors == (FieldError("body", "is required"),)

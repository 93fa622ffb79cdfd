"""Times that cannot be read, that lie outside of the calendar, or that end before they begin."""

from typing import Any

import pytest

from tests.integration.http.refusals import (
    BY_NAME,
    Sender,
    all_refused,
    body_of,
    by_name,
)

NO_TIMES = (
    "yesterday", "", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
    "2026-01-01T25:00:00Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "-0044-03-15T00:00:00Z",
    "2026-01-01T00:00:00+99:00", "infinity", "十万年前", "2026-01-01T00:00:00Z\x00", 1_767_225_600, 1.5, True, [],
)  # fmt: skip
OUT_OF_CALENDAR = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00")


def time_cases() -> list[Any]:
    every = [
        *(("createFragment", field) for field in ("valid_from", "valid_to", "recorded_at", "recorded_to")),
        *((name, "expires_at") for name in ("createKey", "rotateKey", "adminCreateKey")),
        *(("recall", field) for field in ("valid_at", "known_at")),
    ]
    stored = [(name, field) for name, field in every if name != "recall"]
    cases = [(name, {field: time}, field) for name, field in every for time in NO_TIMES]
    cases += [(name, {field: time}, field) for name, field in stored for time in OUT_OF_CALENDAR]
    cases += [
        (name, {"expires_at": "2020-01-01T00:00:00Z"}, "expires_at")
        for name in ("createKey", "rotateKey", "adminCreateKey")
    ]
    early, late = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    cases += [
        ("createFragment", {"valid_from": late, "valid_to": early}, "valid_to"),
        ("createFragment", {"valid_from": early, "valid_to": early}, "valid_to"),
        ("createFragment", {"valid_from": early, "valid_to": "2026-01-01T01:00:00+01:00"}, "valid_to"),
        ("createFragment", {"recorded_at": late, "recorded_to": early}, "recorded_to"),
        ("createFragment", {"recorded_to": early}, "recorded_to"),
        ("createFragment", {"metadata": {"valid_from": late, "valid_to": early}}, "valid_to"),
        ("createFragment", {"valid_from": late, "metadata": {"validTo": early}}, "valid_to"),
        ("createFragment", {"metadata": {"recordedTo": early}}, "recorded_to"),
    ]
    for key in (
        "valid_from",
        "validFrom",
        "valid_to",
        "validTo",
        "recorded_at",
        "recordedAt",
        "recorded_to",
        "recordedTo",
    ):
        for time in (
            "soon",
            "2026-01-01T00:00:00",
            "2026-02-30",
            1_767_225_600,
            True,
            [],
            {},
            *OUT_OF_CALENDAR,
        ):
            cases.append(("createFragment", {"metadata": {key: time}}, f"metadata.{key}"))
    return cases


@pytest.mark.parametrize(("name", "cases"), by_name(time_cases()))
async def test_a_bad_time_is_named(send: Sender, name: str, cases: list[Any]) -> None:
    route = BY_NAME[name]
    await all_refused(send, route, ((body_of(route, **changed), {"path": path}) for changed, path in cases))

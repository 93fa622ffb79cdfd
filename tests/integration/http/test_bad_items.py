"""Bad batches, and bad items that leave the others of their batch alone."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.integration.http.refusals import (
    BY_NAME,
    JARGON,
    Sender,
    all_refused,
)
from tests.integration.http.test_bad_input import text_cases
from tests.integration.http.test_bad_times import time_cases


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"items": []}', "items"),
        (b'{"items": {}}', "items"),
        (b'{"items": null}', "items"),
        (b'{"items": [' + b"1," * 1_000 + b"1]}", "items"),
        (b'{"items": [{"content": "x"}], "profile_id": "x"}', "profile_id"),
    ],
    ids=["empty", "object", "null", "1001 items", "unknown field"],
)
async def test_a_bad_batch_is_named(send: Sender, body: bytes, path: str) -> None:
    await all_refused(send, BY_NAME["createFragments"], [(body, {"path": path})])


def item_cases() -> list[Any]:
    cases = [
        (changed, path) for name, changed, path in (*text_cases(), *time_cases()) if name == "createFragment"
    ]
    return [
        (json.dumps({"content": "x", **changed}).encode(), f"items[1].{path}") for changed, path in cases
    ] + [
        (b"null", "items[1]"),
        (b"[]", "items[1]"),
        (b'"text"', "items[1]"),
        (b"{}", "items[1].content"),
        (b'{"content": "\xff"}', "items[1]"),
        (b'{"content": "x", "metadata": {"a": 1e400}}', "items[1].metadata.a"),
        (b'{"content": "x", "metadata": {"a": ' + b"[" * 200 + b"]" * 200 + b"}}", "items[1].metadata"),
    ]


async def test_a_bad_item_spoils_no_other(send: Sender) -> None:
    """The bad items of all kinds one after the other, each between two good ones."""
    for body, path in item_cases():
        first, last = str(uuid4()), str(uuid4())
        items = b'{"items": [{"content": "%s"}, %s, {"content": "%s"}]}' % (
            first.encode(),
            body,
            last.encode(),
        )
        answer = await send(BY_NAME["createFragments"], items)
        assert answer.status_code == 200, (body, answer.text)
        results = answer.json()["results"]
        assert [item["status"] for item in results] == ["created", "error", "created"], (body, answer.text)
        assert [item["index"] for item in results] == [0, 1, 2]
        error = results[1]["error"]
        assert error["code"] in {"validation_failed", "malformed_json"}
        assert [fault["path"] for fault in error["errors"]] == [path], body
        assert not JARGON.search(error["detail"]), error

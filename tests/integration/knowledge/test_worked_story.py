"""The worked story of the README, told again: the same requests, and answers that say what is printed there."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.integration.conftest import Member

DOCUMENT = Path(__file__).parents[3] / "README.md"
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_CLOCK = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def steps() -> Iterator[tuple[list[str], Any]]:
    """Each ``s ...`` command of the story, split as a shell does, and the JSON printed below it."""
    story = DOCUMENT.read_text().split("## A worked story")[1].split("\n## ")[0]
    for block in re.findall(r"```\n(.*?)```", story, re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            if step.startswith("s "):
                command, _, printed = step.strip().rpartition("\n")
                whole = re.sub(r",?\.\.\.(?=[}\]])", "", printed)
                yield shlex.split(command)[1:], json.loads(whole)


class Told:
    """Ids and clock times of the document, and what stands for them today."""

    def __init__(self) -> None:
        self.today: dict[str, str] = {}

    def translated(self, text: str) -> str:
        for then, now in self.today.items():
            text = text.replace(then, now)
        return text

    def agrees(self, printed: Any, answered: Any) -> bool:
        """Whether an answer holds what is printed; new ids and times are learnt on the way."""
        if isinstance(printed, dict):
            return all(name in answered and self.agrees(printed[name], answered[name]) for name in printed)
        if isinstance(printed, list):
            return len(printed) == len(answered) and all(map(self.agrees, printed, answered))
        if isinstance(printed, str) and isinstance(answered, str):
            for pattern in (_ID, _CLOCK):
                pairs = zip(pattern.findall(printed), pattern.findall(answered), strict=False)
                for then, now in pairs:
                    self.today.setdefault(then, now)
            return self.translated(printed) == answered
        return bool(printed == answered)


async def test_the_story_is_true(client: httpx.AsyncClient, member: Member) -> None:
    told, profile, asked = Told(), "", 0
    for words, printed in steps():
        method = "POST" if "-d" in words or "-X" in words else "GET"
        body = json.loads(told.translated(words[words.index("-d") + 1])) if "-d" in words else None
        [address] = [word for word in words if word.startswith("$")]
        path = told.translated(address.replace("$URL", "").replace("$P", profile))
        answer = await client.request(method, path, json=body, headers=member.owner)
        assert told.agrees(printed, answer.json()), f"{words}\n{printed}\n{answer.text}"
        if path == "/v1/profiles":
            profile = f"/v1/profiles/{answer.json()['id']}"
        asked += 1
    assert asked == 23

"""docs/knowledge.md says what the program does."""

import re
from pathlib import Path

from app.knowledge.extraction import VERBS
from app.knowledge.policies import BUILT_IN

DOCUMENT = (Path(__file__).parents[3] / "docs" / "knowledge.md").read_text()


def rows(heading: str) -> list[list[str]]:
    section = DOCUMENT.split(f"## {heading}")[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]


def test_the_gates() -> None:
    told = {}
    for predicates, kind, extract, resolution, assertion, support in rows("Gates"):
        sources, _, quality = support.partition(" / ")
        row = (kind, float(extract), float(resolution), assertion == "yes", int(sources))
        for predicate in re.findall(r"`(\w+)`", predicates):
            told[predicate] = (*row, float(quality) if quality else None)
    assert told == {
        name: (p.kind, p.min_extract, p.min_resolution, p.requires_assertion, p.min_sources, p.min_quality)
        for name, p in BUILT_IN.items()
    }


def test_the_grammar_reads_the_predicates_that_are_listed() -> None:
    told = {name for row in rows("Remember") for name in re.findall(r"`(\w+)`", row[0])}
    assert told == {predicate.lstrip("-") for predicate, _ in VERBS}

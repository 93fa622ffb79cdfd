"""Writing seed directories: rows in, files with a manifest whose counts agree out."""

from pathlib import Path
from typing import Any, Final

import msgspec

from app.evaluation.formats.rows import SEED_SCHEMA
from app.evaluation.formats.seeds import MANIFEST

_LICENCE: Final = "Written for Strata; under Strata's own licence.\n"


class SeedDraft:
    """A seed directory in the making.

    Args:
        seed_id: Its name.
        description: One sentence.
    """

    def __init__(self, seed_id: str, description: str) -> None:
        self.seed_id, self.description = seed_id, description
        self.corpus: list[dict[str, Any]] = []
        self.cases: list[dict[str, Any]] = []
        self.qrels: list[dict[str, Any]] = []
        self.dreams: list[dict[str, Any]] = []

    def add_case(self, case: dict[str, Any], qrel: dict[str, Any]) -> None:
        """Add a question with its judgement."""
        self.cases.append(case)
        self.qrels.append(qrel)

    def write(self, folder: Path) -> None:
        """Write the files."""
        parts = {
            "corpus": self.corpus,
            "cases": self.cases,
            "qrels": self.qrels,
            "expected_dreams": self.dreams,
        }
        named = {part: rows for part, rows in parts.items() if rows}
        manifest = {
            "schema_version": SEED_SCHEMA,
            "seed_id": self.seed_id,
            "description": self.description,
            **{f"{part}_file": f"{part}.jsonl" for part in named},
            "licenses_file": "licenses.md",
            "counts": {part: len(rows) for part, rows in named.items()},
            "sources": [{"name": self.seed_id, "license": "as Strata"}],
        }
        folder.mkdir(parents=True, exist_ok=True)
        for part, rows in named.items():
            lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
            (folder / f"{part}.jsonl").write_bytes(lines)
        (folder / "licenses.md").write_text(_LICENCE, encoding="utf-8")
        (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")

"""Writing seed directories: rows in, files with a manifest whose counts agree out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from app.evaluation.artifacts import RunDirectory
from app.evaluation.formats.rows import SEED_SCHEMA
from app.evaluation.formats.seeds import MANIFEST

_LICENCE: Final = "Written for Strata; under Strata's own licence.\n"


class SeedDraft:
    """A seed directory in the making.

    Args:
        seed_id: Its name.
        description: One sentence.
        sources: Where the documents come from; Strata itself if None.
        licence: Text of the licence file.
    """

    def __init__(
        self,
        seed_id: str,
        description: str,
        *,
        sources: Sequence[dict[str, Any]] | None = None,
        licence: str = _LICENCE,
    ) -> None:
        self.seed_id, self.description = seed_id, description
        self.sources = sources if sources is not None else [{"name": seed_id, "license": "as Strata"}]
        self.licence = licence
        self.corpus: list[dict[str, Any]] = []
        self.cases: list[dict[str, Any]] = []
        self.qrels: list[dict[str, Any]] = []
        self.dreams: list[dict[str, Any]] = []

    def add_case(self, case: dict[str, Any], qrel: dict[str, Any]) -> None:
        """Add a question with its judgement."""
        self.cases.append(case)
        self.qrels.append(qrel)

    def write(self, folder: Path) -> None:
        """Write the files, the manifest last: a folder that was cut off in the middle is no set.

        Raises:
            EvaluationError: the disk is full, or refuses for another reason.
        """
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
            "sources": list(self.sources),
        }
        target = RunDirectory(folder)
        (folder / MANIFEST).unlink(missing_ok=True)
        for part, rows in named.items():
            target.write_rows(f"{part}.jsonl", rows)
        target.write_bytes("licenses.md", self.licence.encode())
        target.write_bytes(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")

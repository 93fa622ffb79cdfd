"""Retrieval sets from disk: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv`` in a folder each.

A document is ``{id, title?, text, metadata?}``, a query ``{id, text, category?, metadata?}``, a judgement a line of query
id, document id and grade. ``metadata.scope`` puts documents and queries into one of several profiles;
``metadata.exclude`` names the documents that a query must not return.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

CORPUS: Final = "corpus.jsonl"
QUERIES: Final = "queries.jsonl"
JUDGEMENTS: Final = "qrels.tsv"
_HEADER: Final = ["query-id", "corpus-id", "score"]
_Row = TypeVar("_Row")


class DatasetError(Exception):
    """A file that does not hold what it must; the message begins with ``file:line``."""


class Document(msgspec.Struct, frozen=True):
    """One document."""

    id: str
    text: str
    title: str | None = None
    metadata: dict[str, Any] = {}

    @property
    def content(self) -> str:
        """Title, line end, text."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    @property
    def scope(self) -> str:
        """Profile that holds it; empty in a set that has only one."""
        return str(self.metadata.get("scope", ""))


class Query(msgspec.Struct, frozen=True):
    """One question."""

    id: str
    text: str
    category: str | None = None
    metadata: dict[str, Any] = {}

    @property
    def scope(self) -> str:
        """Profile that is asked."""
        return str(self.metadata.get("scope", ""))

    @property
    def exclude(self) -> frozenset[str]:
        """Documents that are left out of its results."""
        named = self.metadata.get("exclude", [])
        return frozenset([named] if isinstance(named, str) else named)


@dataclass(frozen=True, slots=True)
class Dataset:
    """One retrieval set.

    Attributes:
        queries: Those that have a judgement.
        judgements: Query id to document id to grade.
    """

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    judgements: dict[str, dict[str, int]]

    def by_scope(self) -> dict[str, list[Document]]:
        """Documents of each profile."""
        scopes: dict[str, list[Document]] = {}
        for document in self.documents:
            scopes.setdefault(document.scope, []).append(document)
        return scopes


def find_datasets(directory: Path) -> list[Path]:
    """Folders that hold a set, by name."""
    return sorted(
        folder
        for folder in directory.iterdir()
        if all((folder / name).is_file() for name in (CORPUS, QUERIES, JUDGEMENTS))
    )


def load_dataset(folder: Path, *, max_queries: int | None = None) -> Dataset:
    """Read a set.

    Args:
        folder: Holds the three files; its name is the set's.
        max_queries: Keep so many queries at most, evenly spread over the file.

    Raises:
        DatasetError: a row cannot be read, repeats an id, or names a document or query that is not there.
    """
    documents = _unique(folder / CORPUS, Document)
    queries = _unique(folder / QUERIES, Query)
    judgements = _judgements(folder / JUDGEMENTS, set(documents), set(queries))
    judged = [query for query in queries.values() if query.id in judgements]
    if max_queries is not None and len(judged) > max_queries:
        judged = [judged[number * len(judged) // max_queries] for number in range(max_queries)]
    return Dataset(folder.name, tuple(documents.values()), tuple(judged), judgements)


def _unique(path: Path, kind: type[_Row]) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}
    for number, line in _lines(path):
        try:
            row = msgspec.json.decode(line, type=kind)
        except msgspec.MsgspecError as error:
            raise DatasetError(f"{path}:{number}: {error}") from error
        name = str(getattr(row, "id"))  # noqa: B009 - both kinds of rows have one
        if name in rows:
            raise DatasetError(f"{path}:{number}: the id {name!r} is there already")
        rows[name] = row
    if not rows:
        raise DatasetError(f"{path}:1: the file is empty")
    return rows


def _judgements(path: Path, documents: set[str], queries: set[str]) -> dict[str, dict[str, int]]:
    judgements: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        fields = next(csv.reader([line], delimiter="\t", quoting=csv.QUOTE_NONE))
        if number == 1 and fields == _HEADER:
            continue
        if len(fields) != len(_HEADER):
            raise DatasetError(f"{path}:{number}: needs query id, document id and grade, tab-separated")
        query, document, grade = fields
        if query not in queries:
            raise DatasetError(f"{path}:{number}: there is no query {query!r}")
        if document not in documents:
            raise DatasetError(f"{path}:{number}: there is no document {document!r}")
        try:
            judgements.setdefault(query, {})[document] = int(grade)
        except ValueError as error:
            raise DatasetError(f"{path}:{number}: the grade {grade!r} is no whole number") from error
    return judgements


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, line.rstrip("\n")

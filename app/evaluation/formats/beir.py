"""BEIR-style folders: ``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv``.

A document is ``{id, title?, text, metadata?}`` (``_id`` as BEIR itself writes it is read too), a query ``{id, text,
category?, metadata?}``, a judgement a line of query id, document id and whole grade, tab-separated. ``metadata.scope``
puts documents and queries into one of several profiles, ``metadata.exclude`` names what a query must not return. Queries
without a judgement are not asked.
"""

import csv
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from app.evaluation.formats.judged import InvalidSet, JudgedSet, Scoring, graded
from app.evaluation.formats.reading import Reader, hash_files
from app.evaluation.formats.rows import Case, Document

CORPUS: Final = "corpus.jsonl"
QUERIES: Final = "queries.jsonl"
QRELS: Final = "qrels.tsv"
HEADER: Final = ["query-id", "corpus-id", "score"]
LONGEST_QUERY: Final = 4_096


class _DocumentRow(msgspec.Struct, forbid_unknown_fields=True, rename={"own_id": "_id"}):
    text: str
    id: str = ""
    own_id: str = ""
    title: str | None = None
    metadata: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return self.id or self.own_id


class _QueryRow(msgspec.Struct, forbid_unknown_fields=True, rename={"own_id": "_id"}):
    text: Annotated[str, Meta(min_length=1)]
    id: str = ""
    own_id: str = ""
    category: str | None = None
    metadata: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return self.id or self.own_id


def load_beir(folder: Path, *, max_queries: int | None = None) -> JudgedSet:
    """Read and check a folder.

    Args:
        folder: Its name is the set's.
        max_queries: Keep so many judged queries, evenly spread over the file.

    Raises:
        InvalidSet: with everything that is wrong.
    """
    reader = Reader(folder)
    document_rows = reader.rows(CORPUS, _DocumentRow)
    query_rows = reader.rows(QUERIES, _QueryRow)
    for file, rows in ((CORPUS, document_rows), (QUERIES, query_rows)):
        for line, row in rows:
            if not row.name:
                reader.say(file, line, "has no id")
        if not rows and not reader.problems:
            reader.say(file, 0, "holds no rows")
    documents = reader.unique(CORPUS, document_rows, lambda row: row.name, "document")
    queries = reader.unique(QUERIES, query_rows, lambda row: row.name, "query")
    grades = _grades(reader, documents, queries)
    if reader.problems:
        raise InvalidSet(reader.problems)
    judged = [row for name, row in queries.items() if name in grades]
    if max_queries is not None and len(judged) > max_queries:
        judged = [judged[number * len(judged) // max_queries] for number in range(max_queries)]
    return JudgedSet(
        name=folder.resolve().name,
        form="beir",
        hash=hash_files(folder, [CORPUS, QUERIES, QRELS]),
        documents=tuple(_document(row) for row in documents.values()),
        cases=tuple(_case(row) for row in judged),
        judgements={row.name: graded(grades[row.name], relevant_from=1) for row in judged},
        scoring=Scoring(gain="linear"),
        manifest={
            "seed_id": folder.resolve().name,
            "counts": {"corpus": len(documents), "cases": len(judged), "qrels": len(grades)},
            "queries_of_file": len(queries),
        },
        suite={},
    )


def _grades(reader: Reader, documents: Any, queries: Any) -> dict[str, dict[str, int]]:
    content = reader.bytes_of(QRELS)
    grades: dict[str, dict[str, int]] = {}
    for number, line in enumerate((content or b"").decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        fields = next(csv.reader([line], delimiter="\t", quoting=csv.QUOTE_NONE))
        if number == 1 and fields == HEADER:
            continue
        if len(fields) != len(HEADER):
            reader.say(QRELS, number, "needs query id, document id and grade, tab-separated")
            continue
        query, document, grade = fields
        reader.known(QRELS, number, [query], queries, "query")
        reader.known(QRELS, number, [document], documents, "document")
        if document in grades.get(query, {}):
            reader.say(QRELS, number, f"judges document {document!r} for query {query!r} a second time")
        try:
            grades.setdefault(query, {})[document] = int(grade)
        except ValueError:
            reader.say(QRELS, number, f"the grade {grade!r} is no whole number")
    if content is not None and not grades:
        reader.say(QRELS, 0, "holds no judgements")
    return grades


def _document(row: _DocumentRow) -> Document:
    kept = {name: value for name, value in row.metadata.items() if name != "scope"}
    return Document(
        source_doc_id=row.name,
        content=f"{row.title}\n{row.text}" if row.title else row.text,
        metadata=kept,
        scope=str(row.metadata.get("scope", "")),
    )


def _case(row: _QueryRow) -> Case:
    excluded = row.metadata.get("exclude", [])
    return Case(
        case_id=row.name,
        # The service refuses longer questions; what asks for something stands at their beginning.
        query=row.text[:LONGEST_QUERY],
        slices=[row.category] if row.category else [],
        scope=str(row.metadata.get("scope", "")),
        exclude=[excluded] if isinstance(excluded, str) else list(excluded),
    )

"""HotMem's graded fixtures: ``corpus.jsonl`` of memories, ``queries.jsonl`` with grades 0 to 3 beside each question.

Its definitions: grades of 2 and 3 are relevant, grade 1 counts in nDCG alone, gain is the grade, depth 5, and a question
without grades has no answer. The fact alone is imported: identifier and namespace are HotMem's keys, not its text.
"""

from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from app.evaluation.formats.beir import CORPUS, QUERIES
from app.evaluation.formats.judged import InvalidSet, JudgedSet, Scoring, graded
from app.evaluation.formats.reading import Reader, hash_files
from app.evaluation.formats.rows import Case, Document, Instant
from app.evaluation.formats.seeds import NO_ANSWER

DEPTH: Final = 5
RELEVANT_FROM: Final = 2


class _Memory(msgspec.Struct, forbid_unknown_fields=True):
    memory_id: Annotated[str, Meta(min_length=1)]
    fact: Annotated[str, Meta(min_length=1)]
    identifier: str = ""
    importance: float = 0.5
    namespace: str = ""
    tags: list[str] = []
    created_at: Instant | None = None
    duplicate_of: str | None = None


class _Question(msgspec.Struct, forbid_unknown_fields=True):
    query_id: Annotated[str, Meta(min_length=1)]
    query: Annotated[str, Meta(min_length=1)]
    relevance: dict[str, Annotated[int, Meta(ge=0, le=3)]]
    category: str = ""
    notes: str = ""


def load_graded(folder: Path, *, scoped: bool = False) -> JudgedSet:
    """Read and check the fixtures.

    Args:
        folder: Holds both files.
        scoped: One profile for each namespace, every question asked in the one of its best-graded memory (a question
            without an answer in the largest); else one profile for all.

    Raises:
        InvalidSet: with everything that is wrong.
    """
    reader = Reader(folder)
    memory_rows, question_rows = reader.rows(CORPUS, _Memory), reader.rows(QUERIES, _Question)
    memories = reader.unique(CORPUS, memory_rows, lambda row: row.memory_id, "memory")
    questions = reader.unique(QUERIES, question_rows, lambda row: row.query_id, "query")
    for line, memory in memory_rows:
        names = [] if memory.duplicate_of is None else [memory.duplicate_of]
        reader.known(CORPUS, line, names, memories, "memory")
    for line, question in question_rows:
        reader.known(QUERIES, line, question.relevance, memories, "memory")
    for file, rows in ((CORPUS, memory_rows), (QUERIES, question_rows)):
        if not rows and not reader.problems:
            reader.say(file, 0, "holds no rows")
    if reader.problems:
        raise InvalidSet(reader.problems)
    spaces = [memory.namespace for memory in memories.values()]
    largest = max(sorted(set(spaces)), key=spaces.count)
    leaders = {memory.duplicate_of for memory in memories.values()}
    name = folder.resolve().name + ("-scoped" if scoped else "")
    return JudgedSet(
        name=name,
        form="graded",
        hash=hash_files(folder, [CORPUS, QUERIES]),
        documents=tuple(_document(row, leaders, scoped=scoped) for row in memories.values()),
        cases=tuple(
            _case(row, _home(row, memories, largest) if scoped else "") for row in questions.values()
        ),
        judgements={
            key: graded(row.relevance, relevant_from=RELEVANT_FROM) for key, row in questions.items()
        },
        scoring=Scoring(gain="linear", k=DEPTH),
        manifest={
            "seed_id": name,
            "counts": {"corpus": len(memories), "cases": len(questions), "qrels": len(questions)},
            "scoped": scoped,
        },
        suite={},
    )


def _home(question: _Question, memories: dict[str, _Memory], largest: str) -> str:
    """Namespace of the best-graded memory; the largest one without any."""
    if not question.relevance:
        return largest
    best = max(question.relevance, key=lambda name: (question.relevance[name], name))
    return memories[best].namespace


def _document(row: _Memory, leaders: set[str | None], *, scoped: bool) -> Document:
    group = row.duplicate_of or (row.memory_id if row.memory_id in leaders else None)
    return Document(
        source_doc_id=row.memory_id,
        content=row.fact,
        labels=row.tags,
        recorded_at=row.created_at,
        scope=row.namespace if scoped else "",
        duplicate_group=group,
        space=row.namespace,
    )


def _case(row: _Question, scope: str) -> Case:
    return Case(
        case_id=row.query_id,
        query=row.query,
        task_type="recall" if row.relevance else NO_ANSWER,
        slices=[row.category] if row.category else [],
        expected_behavior=row.notes,
        limit=DEPTH,
        scope=scope,
    )

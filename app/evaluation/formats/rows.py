"""Rows of a seed directory (schema ``dense-mem.eval.seed.v1``), as they stand in its files.

Fields marked *own* extend the schema: a seed without them is read alike. Every row refuses fields that it does not know.
"""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

SEED_SCHEMA: Final = "dense-mem.eval.seed.v1"
Instant = Annotated[datetime, Meta(tz=True)]
Name = Annotated[str, Meta(min_length=1, max_length=128)]
Text = Annotated[str, Meta(min_length=1)]
Confidence = Annotated[float, Meta(ge=0, le=1)]
RefType = Literal["fragment", "claim", "fact", "dream"]


class Row(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True, omit_defaults=True):
    """A row of a seed file."""


class Source(Row, kw_only=True, frozen=True):
    """Where documents come from, and under which licence."""

    name: Text
    license: Text
    notes: str = ""
    url: str = ""


class Manifest(Row, kw_only=True, frozen=True):
    """``seed_manifest.json``: names of the files, and what each must hold."""

    schema_version: Literal["dense-mem.eval.seed.v1"]
    seed_id: Name
    description: str = ""
    generated_at: Instant | None = None
    corpus_file: Text = "corpus.jsonl"
    cases_file: Text = "cases.jsonl"
    qrels_file: Text = "qrels.jsonl"
    answers_file: str | None = None
    hard_negatives_file: str | None = None
    transforms_file: str | None = None
    expected_dreams_file: str | None = None
    licenses_file: str | None = None
    embedding_provider: str = ""
    embedding_model: str = ""
    counts: dict[str, int] = {}
    sources: list[Source] = []


class Claim(Row, kw_only=True, frozen=True):
    """A typed statement that a document supports."""

    subject: Text
    predicate: Text
    object: Text
    extract_conf: Confidence = 0.0
    resolution_conf: Confidence = 0.0
    modality: str | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None


class Document(Row, kw_only=True, frozen=True):
    """A row of the corpus.

    Attributes:
        valid_from: Validity and record times of the fragment (*own*; the seed's metadata may carry them instead).
        scope: Profile that holds it; empty: the set's only one (*own*).
        duplicate_group: Documents that say the same share one (*own*).
        retracted: Withdrawn after the import (*own*).
        space: What it belongs to within its profile, for leakage; not imported (*own*).
    """

    source_doc_id: Name
    content: Text
    title: str = ""
    source_dataset: str = ""
    source_type: str = ""
    authority: str = ""
    source_quality: Confidence | None = None
    labels: list[str] = []
    metadata: dict[str, Any] = {}
    claims: list[Claim] = []
    auto_promote: bool = False
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    recorded_at: Instant | None = None
    recorded_to: Instant | None = None
    scope: str = ""
    duplicate_group: str | None = None
    retracted: bool = False
    space: str = ""


class Case(Row, kw_only=True, frozen=True):
    """A question with the conditions under which it is asked.

    Attributes:
        task_type: ``no_answer`` says that the corpus holds no answer (*own*).
        scope: Profile that is asked (*own*).
        exclude: Documents that are left out of what came back (*own*).
    """

    case_id: Name
    query: Annotated[str, Meta(min_length=1, max_length=65_536)]
    task_type: str = "recall"
    difficulty: str = ""
    slices: list[str] = []
    expected_behavior: str = ""
    valid_at: Instant | None = None
    known_at: Instant | None = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 10
    include_dreams: bool = False
    scope: str = ""
    exclude: list[str] = []


class Ref(Row, kw_only=True, frozen=True):
    """One judged item: of a type, known by its source document or by its own id."""

    type: RefType
    id: str | None = None
    source_doc_id: str | None = None
    grade: int = 0
    reason: str = ""


class Qrel(Row, kw_only=True, frozen=True):
    """Judgements of one case, per axis."""

    case_id: Name
    required_refs: list[Ref] = []
    acceptable_refs: list[Ref] = []
    bad_refs: list[Ref] = []
    required_evidence_refs: list[Ref] = []
    bad_evidence_refs: list[Ref] = []
    required_dream_refs: list[Ref] = []
    acceptable_dream_refs: list[Ref] = []
    bad_dream_refs: list[Ref] = []


class Answer(Row, kw_only=True, frozen=True):
    """What a correct answer says; kept for readers and answer graders, the retrieval scorer does not use it."""

    case_id: Name
    reference_answer: str = ""
    must_include: list[str] = []
    must_not_include: list[str] = []
    expected_behavior: str = ""
    groundedness_policy: str = ""


class HardNegative(Row, kw_only=True, frozen=True):
    """Why a document is a decoy of a case."""

    case_id: Name
    category: str = ""
    source_doc_id: Name
    reason: str = ""


class Transform(Row, kw_only=True, frozen=True):
    """How a case's documents were made."""

    case_id: Name
    category: str = ""
    transform: str = ""
    docs_per_case: int = 0
    required_doc_id: str = ""


class ExpectedDream(Row, kw_only=True, frozen=True):
    """A hypothesis that dreaming over the corpus should come to, or should not (``bad``)."""

    source_doc_id: Name
    case_id: str = ""
    hypothesis: Text
    source_refs: Annotated[list[Ref], Meta(min_length=2)]
    bad: bool = False
    labels: list[str] = []
    metadata: dict[str, Any] = {}


class SuiteEntry(Row, kw_only=True, frozen=True):
    """A case of a suite: its weight in every mean, and slices beside the case's own."""

    case_id: Name
    weight: Annotated[float, Meta(gt=0)] = 1.0
    slices: list[str] = []

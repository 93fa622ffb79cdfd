"""One run: import a set, ask every case under one policy, score, gate; every artifact on disk."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec

from app.errors import first_failure
from app.evaluation import artifacts, importing
from app.evaluation.api import Api
from app.evaluation.artifacts import RunConfig, RunDirectory, TraceLog
from app.evaluation.errors import EvaluationError
from app.evaluation.formats.judged import AXES, JudgedSet
from app.evaluation.formats.rows import Case, SuiteEntry
from app.evaluation.gates import Gate, GateResult, check_gates
from app.evaluation.importing import IMPORT_METHOD, ImportState
from app.evaluation.scorer import SCORER_REVISION, CaseScore, CaseView, Facts, Reading, score_case
from app.evaluation.summary import CURVE_DEPTH, Summary, summarise
from app.evaluation.traces import Arms, RankedRef, Trace
from app.evaluation.traces import Mapping as KnowledgeMapping

STATE: Final = "import_state.json"
MOST: Final = 50
_KEPT_CANDIDATES: Final = 10
CONTEXT: Final = "/v1/profiles/{profile_id}/context"
NO_CONTEXT: Final = {
    "context": "the service assembles no context",
    "evidence": "the service assembles no context, so no evidence came back",
}
NO_DREAMS: Final = {"dream": "the service has no dreams"}
_MOST_CONTEXT: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a set is run.

    Attributes:
        policy: Name of a ranking policy of the service.
        recall_options: Fields beside the case's own that every recall carries.
        gates: Bounds to hold it against, in ``reading``.
        concurrency: Questions at once; latencies are those of one caller only at 1.
    """

    mode: str = "baseline"
    policy: str = "strata-v1"
    seed: str = ""
    load: Mapping[str, Any] = field(default_factory=dict)
    recall_options: Mapping[str, Any] = field(default_factory=dict)
    gates: Sequence[Gate] = ()
    reading: Reading = "strict"
    concurrency: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A finished run."""

    directory: Path
    config: RunConfig
    summary: Summary
    gates: GateResult
    scores: list[CaseScore]


async def import_once(
    api: Api, judged: JudgedSet, directory: Path, progress: importing.Progress
) -> KnowledgeMapping:
    """Import a set, or read what an earlier attempt in the same directory imported.

    Raises:
        EvaluationError: the directory is of another set, or the import failed.
    """
    run = RunDirectory(directory)
    state = ImportState(seed_hash=judged.hash, import_method=IMPORT_METHOD)
    if run.has(STATE):
        found = run.read(STATE, ImportState)
        if (found.seed_hash, found.import_method) != (state.seed_hash, state.import_method):
            raise EvaluationError(f"{directory} is of another set or import", "Give another --out.")
        state = found
    if run.has(artifacts.MAPPING):
        return run.mapping()
    mapping = await importing.import_set(
        api, judged, state, lambda current: run.write(STATE, current), progress
    )
    run.write(artifacts.MAPPING, mapping)
    return mapping


async def run_cases(
    api: Api,
    judged: JudgedSet,
    mapping: KnowledgeMapping,
    directory: Path,
    *,
    options: RunOptions,
    progress: importing.Progress,
) -> RunResult:
    """Ask every case, score and gate; goes on where an earlier attempt in the directory stopped.

    Raises:
        EvaluationError: the directory is of another run, or the service fails.
    """
    run = RunDirectory(directory)
    config = await _config(api, judged, options)
    if run.has(artifacts.RUN_CONFIG):
        _must_be_same(run.config(), config, directory)
        config = run.config()
    _check_mapping(judged, mapping)
    run.write(artifacts.RUN_CONFIG, config)
    run.write(artifacts.SEED_MANIFEST, judged.manifest)
    run.write_rows(artifacts.SUITE, suite_rows(judged))
    run.write(artifacts.MAPPING, mapping)
    if not run.has(artifacts.TRACES):
        asker = _Asker(api, judged, mapping, options, context=not config.axes["context"])
        await _ask_all(asker, judged, run, options=options, progress=progress)
    return score_run(judged, run, config, options)


def rescore(judged: JudgedSet, traced: RunDirectory, directory: Path, options: RunOptions) -> RunResult:
    """Score saved traces again, offline, into another directory.

    Raises:
        EvaluationError: the traces are of another set, or not whole.
    """
    # Another scorer's configuration is read on purpose: that is what scoring again is for.
    config = traced.read(artifacts.RUN_CONFIG, RunConfig)
    if config.seed_hash != judged.hash:
        raise EvaluationError(
            f"the traces are of {config.seed_hash}, the set is {judged.hash}", "Name the set that was run."
        )
    config = msgspec.structs.replace(
        config,
        mode=options.mode,
        suite_hash=suite_hash(judged),
        scorer_revision=SCORER_REVISION,
        scoring=judged.scoring,
        cases=len(judged.cases),
        started_at=datetime.now(UTC),
    )
    run = RunDirectory(directory)
    mapping, traces = traced.mapping(), traced.traces()
    run.write(artifacts.RUN_CONFIG, config)
    run.write(artifacts.SEED_MANIFEST, judged.manifest)
    run.write_rows(artifacts.SUITE, suite_rows(judged))
    run.write(artifacts.MAPPING, mapping)
    run.write_rows(artifacts.TRACES, traces)
    return score_run(judged, run, config, options)


def score_run(judged: JudgedSet, run: RunDirectory, config: RunConfig, options: RunOptions) -> RunResult:
    """Score and gate the traces of a run directory.

    Raises:
        EvaluationError: a case has no trace.
    """
    scores = score_all(judged, run.mapping(), run.traces())
    summary = summarise(config.name, config.policy, scores)
    gates = check_gates(summary, options.gates, options.reading)
    run.write_rows(artifacts.SCORES, [score.flat() for score in scores])
    run.write(artifacts.SUMMARY, summary)
    run.write(artifacts.GATES, gates)
    return RunResult(directory=run.path, config=config, summary=summary, gates=gates, scores=scores)


def read_run(directory: Path) -> RunResult:
    """A finished run from its directory.

    Raises:
        EvaluationError: it is not whole, or of another scorer's revision.
    """
    run = RunDirectory(directory)
    config = run.config()
    run.traces()
    return RunResult(
        directory=directory,
        config=config,
        summary=run.read(artifacts.SUMMARY, Summary),
        gates=run.read(artifacts.GATES, GateResult),
        scores=[CaseScore.from_flat(row) for row in run.read_rows(artifacts.SCORES, dict[str, Any])],
    )


def score_all(judged: JudgedSet, mapping: KnowledgeMapping, traces: Sequence[Trace]) -> list[CaseScore]:
    """Scores of every case, in order.

    Raises:
        EvaluationError: a case has no trace.
    """
    facts = facts_of(judged, mapping)
    by_case = {trace.case_id: trace for trace in traces}
    missing = [case.case_id for case in judged.cases if case.case_id not in by_case]
    if missing:
        raise EvaluationError(f"{len(missing)} cases have no trace, the first: {missing[0]!r}")
    return [
        score_case(_view(judged, case), by_case[case.case_id], facts, judged.scoring) for case in judged.cases
    ]


def facts_of(judged: JudgedSet, mapping: KnowledgeMapping) -> Facts:
    """What the scorer needs to know of a set's documents."""
    return Facts(
        documents=mapping.by_document(),
        names=mapping.by_id(),
        groups={
            document.source_doc_id: document.duplicate_group
            for document in judged.documents
            if document.duplicate_group
        },
        spaces={document.source_doc_id: document.space for document in judged.documents if document.space},
    )


def suite_rows(judged: JudgedSet) -> list[SuiteEntry]:
    """The suite as it was run: every case with its weight and slices."""
    return [
        SuiteEntry(case_id=case.case_id, weight=judged.weight_of(case), slices=list(judged.slices_of(case)))
        for case in judged.cases
    ]


def suite_hash(judged: JudgedSet) -> str:
    """``sha256:<hex>`` of the suite's rows."""
    digest = hashlib.sha256()
    for row in suite_rows(judged):
        digest.update(msgspec.json.encode(row) + b"\n")
    return f"sha256:{digest.hexdigest()}"


def _view(judged: JudgedSet, case: Case) -> CaseView:
    return CaseView(
        case_id=case.case_id,
        limit=case.limit,
        slices=judged.slices_of(case),
        weight=judged.weight_of(case),
        judgements=judged.judgements[case.case_id],
    )


async def _config(api: Api, judged: JudgedSet, options: RunOptions) -> RunConfig:
    started = datetime.now(UTC)
    health = await api.health()
    unasked = NO_DREAMS | ({} if CONTEXT in await api.routes() else NO_CONTEXT)
    kept = ("version", "embedding", "migration")
    return RunConfig(
        run_id=f"{started:%Y%m%dT%H%M%SZ}_{options.mode}",
        mode=options.mode,
        name=judged.name,
        form=judged.form,
        seed=options.seed,
        load=dict(options.load),
        seed_hash=judged.hash,
        suite_hash=suite_hash(judged),
        scorer_revision=SCORER_REVISION,
        import_method=IMPORT_METHOD,
        scoring=judged.scoring,
        policy=options.policy,
        recall_options=dict(options.recall_options),
        service={name: health[name] for name in kept if name in health} | {"embedded": api.embedded},
        axes={axis: unasked.get(axis, "") for axis in AXES},
        cases=len(judged.cases),
        documents=len(judged.documents),
        started_at=started,
    )


def _must_be_same(found: RunConfig, wanted: RunConfig, directory: Path) -> None:
    names = ("seed_hash", "suite_hash", "import_method", "policy", "recall_options", "scoring", "service")
    differing = [name for name in names if getattr(found, name) != getattr(wanted, name)]
    if differing:
        raise EvaluationError(
            f"{directory} holds a run with another {' and '.join(differing)}", "Give another --out."
        )


def _check_mapping(judged: JudgedSet, mapping: KnowledgeMapping) -> None:
    """Every required reference must have become something, unless its document is empty."""
    documents = mapping.by_document()
    empty = {document.source_doc_id for document in judged.documents if not document.content.strip()}
    for case in judged.cases:
        judgements = judged.judgements[case.case_id]
        for item in (*judgements["ranked"], *judgements["evidence"]):
            ref = item.ref
            if item.role != "required" or ref.source_doc_id is None or ref.source_doc_id in empty:
                continue
            made = documents.get(ref.source_doc_id)
            # A promotion that the gates refuse is what the service does with this seed; it is scored as missing.
            expected = ref.type in ("fragment", "claim")
            if expected and (made is None or not made.refs.get(ref.type)):
                raise EvaluationError(
                    f"case {case.case_id!r} requires the {ref.type} of {ref.source_doc_id!r}, and the import made none"
                )


async def _ask_all(
    asker: "_Asker",
    judged: JudgedSet,
    run: RunDirectory,
    *,
    options: RunOptions,
    progress: importing.Progress,
) -> None:
    known = run.partial_traces()
    traces = {trace.case_id: trace for trace in known}
    waiting = iter([case for case in judged.cases if case.case_id not in traces])
    with TraceLog(run, known) as log:

        async def worker() -> None:
            for case in waiting:
                trace = await asker.ask(case)
                log.append(trace)
                traces[case.case_id] = trace
                progress("recall", len(traces), len(judged.cases))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(options.concurrency):
                    group.create_task(worker())
        except ExceptionGroup as failures:
            raise first_failure(failures) from None
        log.finish([traces[case.case_id] for case in judged.cases])


class _Asker:
    """Asks cases and turns answers into traces."""

    def __init__(
        self, api: Api, judged: JudgedSet, mapping: KnowledgeMapping, options: RunOptions, *, context: bool
    ) -> None:
        self._context_asked = context
        self._api, self._judged, self._mapping, self._options = api, judged, mapping, options
        self._names = mapping.by_id()
        self._documents = mapping.by_document()

    async def ask(self, case: Case) -> Trace:
        """One case, answered and traced."""
        wanted = max(case.limit, self._judged.scoring.k)
        body: dict[str, Any] = {
            "query": case.query,
            "limit": min(MOST, wanted + len(case.exclude)),
            "policy": self._options.policy,
            "explain": True,
            **self._options.recall_options,
        }
        times = {
            name: value.isoformat()
            for name in ("valid_at", "known_at")
            if (value := getattr(case, name)) is not None
        }
        body |= times
        profile = self._mapping.profiles[case.scope]
        path = f"/v1/profiles/{profile}/recall"
        start = perf_counter()
        answer = await self._api.send("POST", path, body)
        latency = (perf_counter() - start) * 1_000
        context = await self._context(profile, case, times) if self._context_asked else {}
        kept = [hit for hit in answer["results"] if not self._excluded(hit["id"], case)][:wanted]
        return Trace(
            case_id=case.case_id,
            query=case.query,
            ranked_refs=[self._ref(hit, rank) for rank, hit in enumerate(kept, start=1)],
            latency_ms=round(latency, 3),
            abstained=answer["abstained"],
            arms=self._arms(answer, case),
            raw=self._cut(answer, case),
            **context,
        )

    async def _context(self, profile: str, case: Case, times: Mapping[str, str]) -> dict[str, Any]:
        """What the assembled context holds: its items, the evidence beside them, and its length."""
        body = {
            "query": case.query,
            "limit": min(_MOST_CONTEXT, max(case.limit, self._judged.scoring.k)),
            "policy": self._options.policy,
            **times,
        }
        answer = await self._api.send("POST", CONTEXT.format(profile_id=profile), body)
        items = [item for item in answer["items"] if not self._excluded(item["id"], case)]
        refs = [
            RankedRef(
                rank=rank,
                type=item["type"],
                id=item["id"],
                source_doc_ids=self._names.get(item["id"], []),
                score=item["score"],
            )
            for rank, item in enumerate(items, start=1)
        ]
        evidence = [(item, fragment) for item in items for fragment in item["evidence_fragments"]]
        return {
            "context_refs": refs,
            "context_evidence_refs": [
                RankedRef(
                    rank=rank,
                    type="fragment",
                    id=fragment["id"],
                    source_doc_ids=self._names.get(fragment["id"], []),
                    parent_type=item["type"],
                    parent_id=item["id"],
                )
                for rank, (item, fragment) in enumerate(evidence, start=1)
            ],
            "context_block_chars": len(answer["context_block"]),
        }

    def _excluded(self, name: str, case: Case) -> bool:
        return bool(case.exclude) and any(doc in case.exclude for doc in self._names.get(name, ()))

    def _ref(self, hit: Mapping[str, Any], rank: int) -> RankedRef:
        item = hit.get(hit["kind"]) or {}
        return RankedRef(
            rank=rank,
            type=hit["kind"],
            id=hit["id"],
            source_doc_ids=self._names.get(hit["id"], []),
            status=item.get("status", ""),
            tier=hit["tier"],
            score=hit["score"],
            final_score=hit["final_score"],
            semantic_rank=hit["semantic_rank"],
            keyword_rank=hit["keyword_rank"],
        )

    def _arms(self, answer: Mapping[str, Any], case: Case) -> Arms:
        candidates = _candidates(answer)

        def order(key: Callable[[Mapping[str, Any]], int]) -> list[str]:
            found = [one for one in candidates if key(one) and not self._excluded(one["id"], case)]
            return [one["id"] for one in sorted(found, key=key)][:CURVE_DEPTH]

        # What was returned comes first: it has been through every later step.
        hits = [hit["id"] for hit in answer["results"]]
        fused = dict.fromkeys([*hits, *(one["id"] for one in candidates)])
        return Arms(
            fused=[name for name in fused if not self._excluded(name, case)][:CURVE_DEPTH],
            keyword=order(lambda one: int(one.get("keyword_rank") or 0)),
            semantic=order(lambda one: int(one.get("semantic_rank") or 0)),
        )

    def _cut(self, answer: dict[str, Any], case: Case) -> dict[str, Any]:
        """The answer with the candidates that tell something: the first, and those that are judged."""
        explain = answer.get("explain")
        if not explain or "candidates" not in explain:
            return answer
        judged = {
            name
            for item in self._judged.judgements[case.case_id]["ranked"]
            if (made := self._documents.get(item.ref.source_doc_id or ""))
            for names in made.refs.values()
            for name in names
        }
        kept = [
            {"place": place, **one}
            for place, one in enumerate(explain["candidates"], start=1)
            if place <= _KEPT_CANDIDATES or one["id"] in judged
        ]
        return answer | {
            "explain": explain | {"candidates": kept, "candidates_in_all": len(explain["candidates"])}
        }


def _candidates(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (answer.get("explain") or {}).get("candidates", [])
    return found

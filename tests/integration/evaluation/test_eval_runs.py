import json
from datetime import UTC, datetime

import httpx
import msgspec
import pytest

from app.asgi import create_app
from app.evaluation.api import Api, api_of
from app.evaluation.artifacts import (
    GATES,
    MAPPING,
    PARTIAL,
    RUN_CONFIG,
    SCORES,
    SEED_MANIFEST,
    SUITE,
    SUMMARY,
    TRACES,
    RunDirectory,
)
from app.evaluation.errors import EvaluationError
from app.evaluation.formats.loading import load_set
from app.evaluation.gates import Gate
from app.evaluation.report.render import write_report
from app.evaluation.runner import RunOptions, import_once, read_run, rescore, run_cases
from app.evaluation.scorer import SCORER_REVISION
from app.evaluation.shipped import compare_runs
from app.evaluation.suites.writing import SeedDraft

OPERATOR_TOKEN = "operator-token-of-the-tests"


def quiet(_stage, _done, _total):
    pass


@pytest.fixture
async def api(services, settings):
    async with api_of(create_app(settings, services), OPERATOR_TOKEN) as found:
        yield found


@pytest.fixture
def seed(tmp_path):
    """Four questions: a plain one, one about a withdrawn document, one about what was known then, one without an answer."""
    draft = SeedDraft("harbour", "A harbour.")
    draft.corpus += [
        {"source_doc_id": "pier", "content": "The ferry leaves from pier 4.", "labels": ["required", "sea"]},
        {"source_doc_id": "old", "content": "The ferry leaves from pier 9.", "retracted": True},
        {
            "source_doc_id": "april",
            "content": "The bridge opens in May.",
            "recorded_at": "2026-04-01T00:00:00Z",
            "metadata": {"role": "required", "office": "works"},
        },
        {
            "source_doc_id": "june",
            "content": "The bridge opens in August. The bridge uses lamp-7.",
            "recorded_at": "2026-06-01T00:00:00Z",
            "auto_promote": True,
            "claims": [
                {
                    "subject": "The bridge",
                    "predicate": "uses",
                    "object": "lamp-7",
                    "extract_conf": 0.9,
                    "resolution_conf": 0.9,
                }
            ],
        },
    ]

    def case(name, query, required, bad=(), kind="fragment", **more):
        named = [{"type": kind, "source_doc_id": one, "grade": 3} for one in required]
        wrong = [{"type": "fragment", "source_doc_id": one} for one in bad]
        draft.add_case(
            {"case_id": name, "query": query, "limit": 3, "slices": [name], **more},
            {"case_id": name, "required_refs": named, "bad_refs": wrong},
        )

    case("plain", "From which pier does the ferry leave?", ["pier"], ["old"])
    case("then", "When does the bridge open?", ["april"], ["june"], known_at="2026-05-01T00:00:00Z")
    case("typed", "Which lamp does the bridge use, lamp-7?", ["june"], kind="fact")
    case("nothing", "Who owns the lighthouse?", [], task_type="no_answer")
    draft.write(tmp_path / "seed")
    return load_set(tmp_path / "seed")


async def finished(api, seed, directory, **options):
    mapping = await import_once(api, seed, directory, quiet)
    return await run_cases(api, seed, mapping, directory, options=RunOptions(**options), progress=quiet)


async def test_a_run_leaves_every_artifact_with_the_documented_fields(api, seed, tmp_path):
    run = await finished(api, seed, tmp_path / "run", gates=[Gate(name="min-recall-at-k", value=0.1)])
    directory = RunDirectory(tmp_path / "run")
    for name in (RUN_CONFIG, SEED_MANIFEST, SUITE, MAPPING, TRACES, SCORES, SUMMARY, GATES):
        assert directory.has(name), name
    assert not directory.has(PARTIAL)
    config = directory.config()
    assert (config.seed_hash, config.scorer_revision, config.policy) == (
        seed.hash,
        SCORER_REVISION,
        "strata-v1",
    )
    assert config.axes["ranked"] == ""
    assert config.axes == {"ranked": "", "context": "", "evidence": "", "dream": "the service has no dreams"}
    trace = json.loads((tmp_path / "run" / TRACES).read_bytes().splitlines()[0])
    assert trace.keys() >= {
        "case_id", "query", "ranked_refs", "context_refs", "context_evidence_refs", "dream_refs", "latency_ms",
        "context_block_chars", "raw",
    }  # fmt: skip
    assert trace["ranked_refs"][0]["source_doc_ids"] == ["pier"]
    assert trace["raw"]["explain"]["candidates"][0]["place"] == 1
    assert run.gates.passed


async def test_documents_keep_their_times_lose_what_tells_the_answer_and_can_be_withdrawn(
    api, seed, tmp_path
):
    run = await finished(api, seed, tmp_path / "run")
    by_case = {score.case_id: score.axes["ranked"]["strict"] for score in run.scores}
    assert (by_case["plain"].first_required_rank, by_case["plain"].bad_at_k) == (1, 0)
    assert (by_case["then"].first_required_rank, by_case["then"].bad_at_k) == (1, 0)
    mapping = RunDirectory(tmp_path / "run").mapping()
    profile = mapping.profiles[""]
    ids = {one.source_doc_id: one.refs["fragment"][0] for one in mapping.documents}
    pier = await api.send("GET", f"/v1/profiles/{profile}/fragments/{ids['pier']}")
    assert pier["labels"] == ["sea"]
    april = await api.send("GET", f"/v1/profiles/{profile}/fragments/{ids['april']}")
    assert april["metadata"] == {"office": "works"}
    assert datetime.fromisoformat(april["recorded_at"]) == datetime(2026, 4, 1, tzinfo=UTC)
    old = await api.send("GET", f"/v1/profiles/{profile}/fragments/{ids['old']}")
    assert old["status"] == "retracted"


async def test_claims_become_claims_and_facts_and_context_is_scored(api, seed, tmp_path):
    run = await finished(api, seed, tmp_path / "run")
    mapping = RunDirectory(tmp_path / "run").mapping()
    assert mapping.refused_promotions == []
    june = mapping.by_document()["june"].refs
    assert {kind: len(ids) for kind, ids in june.items()} == {"fragment": 1, "claim": 1, "fact": 1}
    context = run.summary.overall.axes["context"]["strict"]
    assert context.scored_cases == 3
    assert run.summary.overall.axes["evidence"]["strict"].scored_cases == 0
    traces = {trace.case_id: trace for trace in RunDirectory(tmp_path / "run").traces()}
    assert traces["plain"].context_refs[0].source_doc_ids == ["pier"]
    assert traces["plain"].context_block_chars > 0


async def test_saved_traces_are_scored_again_offline_to_the_same_scores(api, seed, tmp_path):
    run = await finished(api, seed, tmp_path / "run")
    again = rescore(seed, RunDirectory(tmp_path / "run"), tmp_path / "again", RunOptions())
    assert again.scores == run.scores
    assert read_run(tmp_path / "again").scores == run.scores


async def test_a_run_of_another_scorer_is_refused_and_can_be_scored_again(api, seed, tmp_path):
    run = await finished(api, seed, tmp_path / "run")
    directory = RunDirectory(tmp_path / "run")
    directory.write(RUN_CONFIG, msgspec.structs.replace(run.config, scorer_revision="another"))
    with pytest.raises(EvaluationError, match="was scored by 'another'") as caught:
        read_run(tmp_path / "run")
    assert "--traces" in caught.value.remedy
    assert rescore(seed, directory, tmp_path / "new", RunOptions()).scores == run.scores


class Dying(httpx.AsyncBaseTransport):
    """A network that breaks after some recalls."""

    def __init__(self, app, recalls):
        self._inner = httpx.ASGITransport(app=app)
        self.recalls = recalls

    async def handle_async_request(self, request):
        if request.url.path.endswith("/recall"):
            if self.recalls == 0:
                raise httpx.ConnectError("gone")
            self.recalls -= 1
        return await self._inner.handle_async_request(request)


async def test_a_run_goes_on_where_a_dying_server_left_it(services, settings, member, seed, tmp_path):
    transport = Dying(create_app(settings, services), recalls=2)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://strata.test", headers=member.owner
    ) as http:
        api = Api(http, embedded=False)
        with pytest.raises(EvaluationError, match="does not answer") as caught:
            await finished(api, seed, tmp_path / "run")
        assert "Repeat the command" in caught.value.remedy
        directory = RunDirectory(tmp_path / "run")
        assert [trace.case_id for trace in directory.partial_traces()] == ["plain", "then"]
        assert not directory.has(TRACES)
        transport.recalls = 2
        run = await finished(api, seed, tmp_path / "run")
        assert [score.case_id for score in run.scores] == ["plain", "then", "typed", "nothing"]
        assert transport.recalls == 0


class Counting(httpx.AsyncBaseTransport):
    """A network that breaks before a batch, and counts the documents that it carried."""

    def __init__(self, app, batches):
        self._inner = httpx.ASGITransport(app=app)
        self.batches, self.items = batches, 0

    async def handle_async_request(self, request):
        if request.url.path.endswith("/batch"):
            if self.batches == 0:
                raise httpx.ConnectError("gone")
            self.batches -= 1
            self.items += len(json.loads(request.content)["items"])
        return await self._inner.handle_async_request(request)


async def test_an_import_goes_on_with_the_documents_that_are_not_stored_yet(
    services, settings, member, tmp_path
):
    draft = SeedDraft("many", "Many documents.")
    draft.corpus += [{"source_doc_id": f"d{number}", "content": f"Crate {number}."} for number in range(600)]
    draft.add_case(
        {"case_id": "c", "query": "Crate 599?"},
        {"case_id": "c", "required_refs": [{"type": "fragment", "source_doc_id": "d599"}]},
    )
    draft.write(tmp_path / "seed")
    judged = load_set(tmp_path / "seed")
    transport = Counting(create_app(settings, services), batches=2)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://strata.test", headers=member.owner
    ) as http:
        api = Api(http, embedded=False)
        with pytest.raises(EvaluationError, match="does not answer"):
            await import_once(api, judged, tmp_path / "run", quiet)
        assert transport.items == 500
        assert not RunDirectory(tmp_path / "run").has(MAPPING)
        transport.batches = 1
        mapping = await import_once(api, judged, tmp_path / "run", quiet)
    assert transport.items == 600
    assert [one.source_doc_id for one in mapping.documents] == [f"d{number}" for number in range(600)]
    assert len({one.refs["fragment"][0] for one in mapping.documents}) == 600


async def test_a_directory_of_another_run_is_refused(api, seed, tmp_path):
    await finished(api, seed, tmp_path / "run")
    with pytest.raises(EvaluationError, match="another policy"):
        await finished(api, seed, tmp_path / "run", policy="documented-v1")


async def test_an_unknown_policy_is_told_in_the_services_words(api, seed, tmp_path):
    with pytest.raises(EvaluationError, match="policy"):
        await finished(api, seed, tmp_path / "run", policy="nobody-v9")


async def test_two_policies_are_compared_and_reported(api, seed, tmp_path):
    mapping = await import_once(api, seed, tmp_path / "import", quiet)
    runs = [
        await run_cases(
            api, seed, mapping, tmp_path / policy, options=RunOptions(policy=policy), progress=quiet
        )
        for policy in ("documented-v1", "strata-v1")
    ]
    compare_runs(*runs)
    path = write_report(tmp_path, [(seed, runs)])
    page = path.read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    for name in ("http://", "https://", "<script", "<link"):
        # Namespaces of SVG are names, no addresses that a browser would ask.
        assert not [part for part in page.split(name)[1:] if not part.startswith("www.w3.org")], name
    assert "not scored: the service has no dreams" in page
    assert "## harbour" in (tmp_path / "report.md").read_text(encoding="utf-8")

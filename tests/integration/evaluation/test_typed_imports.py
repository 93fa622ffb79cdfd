"""Typed claims of a seed through ``remember``: what they become, in which order, and as of when they are known."""

import asyncio
from contextlib import suppress

import pytest

from app.asgi import create_app
from app.evaluation.api import api_of
from app.evaluation.artifacts import RunDirectory
from app.evaluation.errors import EvaluationError
from app.evaluation.formats.loading import load_set
from app.evaluation.importing import IMPORT_METHOD
from app.evaluation.runner import RunOptions, import_once, run_cases
from app.evaluation.suites.writing import SeedDraft
from app.jobs.worker import run as run_jobs

OPERATOR_TOKEN = "operator-token-of-the-tests"


def quiet(_stage, _done, _total):
    pass


@pytest.fixture
async def api(services, settings):
    async with api_of(create_app(settings, services), OPERATOR_TOKEN) as found:
        yield found


def statement(owner, **more):
    return {
        "subject": "service HARBOUR-7 owner",
        "predicate": "uses",
        "object": owner,
        "extract_conf": 0.9,
        "resolution_conf": 0.9,
        **more,
    }


def document(name, content, claims, **more):
    return {"source_doc_id": name, "content": content, "claims": claims, **more}


def seed_of(folder, documents, cases):
    draft = SeedDraft("typed", "Typed claims.")
    draft.corpus += documents
    for name, query, kind, required, more in cases:
        draft.add_case(
            {"case_id": name, "query": query, "limit": 5, **more},
            {"case_id": name, "required_refs": [{"type": kind, "source_doc_id": required, "grade": 3}]},
        )
    draft.write(folder)
    return load_set(folder)


async def finished(api, seed, directory):
    mapping = await import_once(api, seed, directory, quiet)
    return await run_cases(api, seed, mapping, directory, options=RunOptions(), progress=quiet)


async def test_claims_are_known_from_when_their_document_was_recorded(api, tmp_path):
    text = "Since spring, service HARBOUR-7 owner uses {}."
    seed = seed_of(
        tmp_path / "seed",
        [
            document(
                "spring", text.format("owner-ada"), [statement("owner-ada")], auto_promote=True,
                recorded_at="2026-03-01T00:00:00Z",
            ),
            document(
                "summer", text.format("owner-bo"), [statement("owner-bo")], auto_promote=True,
                recorded_at="2026-06-01T00:00:00Z",
            ),
            document(
                "autumn", text.format("owner-cy"), [statement("owner-cy")],
                metadata={"recorded_at": "2026-09-01T00:00:00Z"},
            ),
        ],
        [
            ("then", "Which owner does service HARBOUR-7 use?", "fact", "spring", {"known_at": "2026-04-01T00:00:00Z"}),
            ("later", "Which owner does service HARBOUR-7 use?", "fact", "summer", {"known_at": "2026-07-01T00:00:00Z"}),
            ("last", "Which owner does service HARBOUR-7 use?", "claim", "autumn", {"known_at": "2026-10-01T00:00:00Z"}),
        ],
    )  # fmt: skip
    run = await finished(api, seed, tmp_path / "run")
    assert run.config.import_method == IMPORT_METHOD
    mapping = RunDirectory(tmp_path / "run").mapping()
    kinds = {one.source_doc_id: sorted(one.refs) for one in mapping.documents}
    assert kinds == {
        "spring": ["claim", "fact", "fragment"],
        "summer": ["claim", "fact", "fragment"],
        "autumn": ["claim", "fragment"],
    }
    profile = mapping.profiles[""]
    claim = await api.send(
        "GET", f"/v1/profiles/{profile}/claims/{mapping.by_document()['autumn'].refs['claim'][0]}"
    )
    assert (claim["status"], claim["recorded_at"][:10]) == ("validated", "2026-09-01")
    documents = {
        trace.case_id: {name for ref in trace.ranked_refs for name in ref.source_doc_ids}
        for trace in RunDirectory(tmp_path / "run").traces()
    }
    assert documents == {
        "then": {"spring"},
        "later": {"spring", "summer"},
        "last": {"spring", "summer", "autumn"},
    }
    assert {score.case_id: score.axes["ranked"]["strict"].recall_at_k for score in run.scores} == {
        "then": 1.0,
        "later": 1.0,
        "last": 1.0,
    }


async def test_a_promotion_that_the_gates_refuse_leaves_the_claim_and_is_told(api, tmp_path):
    seed = seed_of(
        tmp_path / "seed",
        [
            document(
                "weak",
                "service HARBOUR-7 owner uses owner-ada.",
                [statement("owner-ada", extract_conf=0.1)],
                auto_promote=True,
            )
        ],
        [("c", "Which owner does service HARBOUR-7 use?", "fact", "weak", {})],
    )
    run = await finished(api, seed, tmp_path / "run")
    mapping = RunDirectory(tmp_path / "run").mapping()
    assert sorted(mapping.documents[0].refs) == ["claim", "fragment"]
    assert len(mapping.refused_promotions) == 1
    assert mapping.refused_promotions[0].startswith("weak: gate_rejected: ")
    score = run.scores[0]
    assert score.unmapped_source_refs == ["fact:weak"]
    assert score.axes["ranked"]["strict"].recall_at_k == 0.0
    assert score.axes["ranked"]["projected"].recall_at_k == 1.0


async def test_confidences_that_a_seed_leaves_out_are_nought_and_not_the_services_own(api, tmp_path):
    claim = {"subject": "service HARBOUR-7 owner", "predicate": "uses", "object": "owner-ada"}
    seed = seed_of(
        tmp_path / "seed",
        [document("bare", "service HARBOUR-7 owner uses owner-ada.", [claim])],
        [("c", "HARBOUR-7", "claim", "bare", {})],
    )
    await finished(api, seed, tmp_path / "run")
    mapping = RunDirectory(tmp_path / "run").mapping()
    path = f"/v1/profiles/{mapping.profiles['']}/claims/{mapping.documents[0].refs['claim'][0]}"
    found = await api.send("GET", path)
    assert (found["extract_conf"], found["resolution_conf"]) == (0.0, 0.0)


async def test_a_claim_that_the_service_does_not_take_ends_the_import_with_its_document(api, tmp_path):
    seed = seed_of(
        tmp_path / "seed",
        [document("odd", "Ada likes tea.", [statement("tea") | {"predicate": "Not A Predicate"}])],
        [("c", "tea", "fragment", "odd", {})],
    )
    with pytest.raises(EvaluationError, match="a claim of document 'odd' was refused: "):
        await finished(api, seed, tmp_path / "run")
    assert not RunDirectory(tmp_path / "run").has("knowledge_mapping.json")


async def test_a_document_that_the_service_queues_is_waited_for(api, services, tmp_path):
    long = "service HARBOUR-7 owner uses owner-ada. " + "The quay is long. " * 3_600
    seed = seed_of(
        tmp_path / "seed",
        [document("long", long, [statement("owner-ada")], auto_promote=True, metadata={"pad": "y" * 3_000})],
        [("c", "Which owner does service HARBOUR-7 use?", "fact", "long", {})],
    )
    jobs = asyncio.create_task(run_jobs(services))
    try:
        await finished(api, seed, tmp_path / "run")
    finally:
        jobs.cancel()
        with suppress(asyncio.CancelledError):
            await jobs
    assert sorted(RunDirectory(tmp_path / "run").mapping().documents[0].refs) == ["claim", "fact", "fragment"]


async def test_a_set_that_tells_no_recorded_time_was_known_when_it_is_asked_about(api, tmp_path):
    text = "service HARBOUR-{} owner uses owner-ada."
    seed = seed_of(
        tmp_path / "seed",
        [
            document(
                f"d{number}",
                text.format(number),
                [statement("owner-ada") | {"subject": f"service HARBOUR-{number} owner"}],
                auto_promote=True,
            )
            for number in (7, 8)
        ],
        [
            (
                "c7",
                "Which owner does service HARBOUR-7 use?",
                "fact",
                "d7",
                {"known_at": "2026-06-30T00:00:00Z"},
            ),
            (
                "c8",
                "Which owner does service HARBOUR-8 use?",
                "fact",
                "d8",
                {"known_at": "2026-07-30T00:00:00Z"},
            ),
        ],
    )
    run = await finished(api, seed, tmp_path / "run")
    mapping = RunDirectory(tmp_path / "run").mapping()
    kept = await api.send(
        "GET", f"/v1/profiles/{mapping.profiles['']}/fragments/{mapping.documents[0].refs['fragment'][0]}"
    )
    assert kept["recorded_at"][:10] == "2026-06-30"
    assert [score.axes["ranked"]["strict"].recall_at_k for score in run.scores] == [1.0, 1.0]

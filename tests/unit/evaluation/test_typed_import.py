from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from app.evaluation.formats.judged import JudgedSet, Scoring
from app.evaluation.formats.rows import Case, Claim, Document
from app.evaluation.importing import presumed_time
from app.evaluation.typed import requests_of


def document(name, claims=1, *, promote=False, content="x"):
    made = [Claim(subject=name, predicate="uses", object=str(number)) for number in range(claims)]
    return Document(source_doc_id=name, content=content, claims=made, auto_promote=promote)


def told(documents):
    return [
        [(part.document.source_doc_id, len(part.claims)) for part in parts]
        for parts in requests_of(documents)
    ]


def test_a_request_holds_at_most_twenty_items_in_order():
    assert told([document(f"d{number}") for number in range(11)]) == [
        [(f"d{number}", 1) for number in range(10)],
        [("d10", 1)],
    ]


def test_a_request_is_promoted_as_a_whole_or_not_at_all():
    found = told([document("a"), document("b", promote=True), document("c", promote=True), document("d")])
    assert found == [[("a", 1)], [("b", 1), ("c", 1)], [("d", 1)]]


def test_many_claims_of_one_document_need_several_requests():
    parts = [part for parts in requests_of([document("a", 45)]) for part in parts]
    assert [(part.first, len(part.claims)) for part in parts] == [(0, 19), (19, 19), (38, 7)]


def test_long_documents_go_alone():
    assert told([document("a", content="y" * 50_000), document("b", content="z" * 50_000)]) == [
        [("a", 1)],
        [("b", 1)],
    ]


@given(st.lists(st.tuples(st.integers(0, 45), st.booleans()), max_size=40))
def test_nothing_is_lost_and_no_request_is_queued_for_its_items(wanted):
    documents = [
        document(f"d{number}", claims, promote=promote) for number, (claims, promote) in enumerate(wanted)
    ]
    requests = list(requests_of(documents))
    claims = [claim for parts in requests for part in parts for claim in part.claims]
    assert claims == [claim for one in documents for claim in one.claims]
    assert {part.document.source_doc_id for parts in requests for part in parts} == {
        one.source_doc_id for one in documents
    }
    for parts in requests:
        assert sum(1 + len(part.claims) for part in parts) <= 20
        assert len({part.document.auto_promote for part in parts}) == 1


def asked(documents, *known_at):
    cases = tuple(
        Case(case_id=str(number), query="?", known_at=moment) for number, moment in enumerate(known_at)
    )
    return JudgedSet(
        name="s", form="seed", hash="h", documents=tuple(documents), cases=cases, judgements={},
        scoring=Scoring(), manifest={}, suite={},
    )  # fmt: skip


MAY, JUNE = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)


def test_a_set_without_recorded_times_was_recorded_by_the_earliest_time_that_it_asks_about():
    assert presumed_time(asked([document("a")], None, JUNE, MAY)) == MAY
    assert presumed_time(asked([document("a")], None)) is None
    assert presumed_time(asked([document("a")], datetime.now(UTC) + timedelta(days=1))) is None


def test_a_set_that_tells_one_recorded_time_tells_them_all():
    told = Document(source_doc_id="b", content="x", recorded_at=MAY)
    by_metadata = Document(source_doc_id="b", content="x", metadata={"recordedAt": "2026-05-01T00:00:00Z"})
    for one in (told, by_metadata):
        assert presumed_time(asked([document("a"), one], JUNE)) is None

"""Documented limitations beside their cures, over the API: what fails under documented-v1 passes under strata-v1."""

from typing import Any

import httpx
import pytest

from tests.integration.conftest import Member


class Memories:
    """A profile with texts, and questions to it."""

    def __init__(self, client: httpx.AsyncClient, member: Member) -> None:
        self._client, self._member = client, member
        self.names: dict[str, str] = {}

    async def post(self, path: str, body: Any) -> Any:
        answer = await self._client.post(f"{self._member.path}/{path}", json=body, headers=self._member.owner)
        assert answer.is_success, answer.text
        return answer.json()

    async def store(self, **contents: Any) -> None:
        for name, content in contents.items():
            body = content if isinstance(content, dict) else {"content": content}
            self.names[(await self.post("fragments", body))["id"]] = name

    async def fact(self, name: str, *, promote: bool = True, **claim: Any) -> None:
        content = f"{claim['subject']} {claim['predicate'].replace('_', ' ')} {claim['object']}."
        fragment = (await self.post("fragments", {"content": content, "authority": "primary"}))["id"]
        self.names[fragment] = f"source of {name}"
        body = {"supported_by": [fragment], "extract_conf": 0.95, "resolution_conf": 0.95, **claim}
        made = (await self.post("claims", body))["id"]
        assert (await self.post(f"claims/{made}/verify", None))["status"] == "validated"
        if promote:
            made = (await self.post(f"claims/{made}/promote", None))["fact"]["id"]
        self.names[made] = name

    async def recall(self, query: str, policy: str, **options: Any) -> Any:
        return await self.post("recall", {"query": query, "policy": policy, "explain": True, **options})

    async def ask(self, query: str, policy: str, **options: Any) -> list[str]:
        answer = await self.recall(query, policy, **options)
        return [self.names[hit["id"]] for hit in answer["results"]]


@pytest.fixture
def memories(client: httpx.AsyncClient, member: Member) -> Memories:
    return Memories(client, member)


async def test_evidence_split_over_fragments(memories: Memories) -> None:
    await memories.store(
        first="PR #56 renames the queue.", second="Commit 2e4b0cc1 fixes the queue.", third="Queue."
    )
    query = "What do PR #56 and commit 2e4b0cc1 do to the queue?"
    assert await memories.ask(query, "documented-v1") == []
    assert set(await memories.ask(query, "strata-v1")) == {"first", "second"}


async def test_anchors_that_no_memory_holds_are_named(memories: Memories) -> None:
    await memories.store(only="The queue is renamed.")
    answer = await memories.recall("What does PR #99 do to the queue?", "strata-v1")
    assert answer["unmatched_anchors"] == ["pr-99"]
    assert len(answer["results"]) == 1
    assert await memories.ask("What does PR #99 do to the queue?", "documented-v1") == []


async def test_overfetch_knows_the_legacy_detector_alone(memories: Memories) -> None:
    await memories.store(**{f"n{number}": f"feedback read note number {number}" for number in range(30)})
    await memories.store(
        target={"content": "Unrelated words altogether.", "metadata": {"scope": "feedback:read"}}
    )
    few = await memories.recall("feedback:read note", "documented-v1", limit=1)
    assert len([c for c in few["explain"]["candidates"] if c["keyword_rank"]]) == 10
    more = await memories.recall("note job-7 feedback", "documented-v1", limit=1)
    assert len([c for c in more["explain"]["candidates"] if c["keyword_rank"]]) > 10
    assert await memories.ask("feedback:read note", "strata-v1", limit=1) == ["target"]


async def test_an_ordinary_word_of_hexadecimal_letters(memories: Memories) -> None:
    await memories.store(statue="The statue was vandalised by a crowd.")
    assert await memories.ask("Who defaced the statue?", "documented-v1") == []
    assert await memories.ask("Who defaced the statue?", "strata-v1") == ["statue"]


async def test_natural_identifiers_refuse_facts(memories: Memories) -> None:
    await memories.fact("fact", subject="SHP2 phosphatase", predicate="uses", object="miRNA pathway")
    query = "Does SHP-2 phosphatase act on the miRNA pathway?"
    assert "fact" not in await memories.ask(query, "documented-v1")
    assert (await memories.ask(query, "strata-v1"))[0] == "fact"


async def test_a_bare_key_is_an_anchor_where_the_profile_holds_it(memories: Memories) -> None:
    await memories.store(right="PROJ-123 waits for review.", wrong="PROJ-124 waits for review.")
    assert await memories.ask("What is PROJ-123 waiting for?", "strata-v1") == ["right"]
    assert set(await memories.ask("What is PROJ-123 waiting for?", "documented-v1")) == {"right", "wrong"}


async def test_a_fact_is_not_placed_below_its_own_source(memories: Memories) -> None:
    await memories.fact("fact", subject="service TIER-A-001 owner", predicate="uses", object="owner-ann")
    query = "Who owns service TIER-A-001 as its owner?"
    assert (await memories.ask(query, "documented-v1"))[:2] == ["source of fact", "fact"]
    assert (await memories.ask(query, "strata-v1"))[:2] == ["fact", "source of fact"]


async def test_facts_before_claims_before_fragments(memories: Memories) -> None:
    await memories.store(note="Ada drinks green tea every day.")
    await memories.fact("claim", promote=False, subject="Ada", predicate="likes", object="green tea leaves")
    await memories.fact("fact", subject="Ada", predicate="uses", object="green tea cups")
    for policy in ("documented-v1", "strata-v1"):
        found = await memories.recall("Ada green tea", policy)
        named = [(memories.names[hit["id"]], hit["tier"]) for hit in found["results"]]
        assert named[:2] == [("fact", "1"), ("claim", "1.5")]
        assert {tier for _, tier in named[2:]} == {"2"}
        assert [hit["rank"] for hit in found["results"]] == list(range(1, len(named) + 1))


async def test_negated_current_is_not_current(memories: Memories) -> None:
    await memories.store(
        old="The rota owner Bob is no longer the current rota owner.",
        new="The rota owner is Eve, as of June.",
    )
    assert (await memories.ask("Who is the current rota owner?", "documented-v1"))[0] == "old"
    assert await memories.ask("Who is the current rota owner?", "strata-v1") == ["new"]


async def test_an_off_topic_note_never_passes_on_wording(memories: Memories) -> None:
    await memories.store(
        topic="The backup vault key rotates every ninety days.",
        noise="Lunch menu: current, active and valid on all days now.",
    )
    query = "What is the current backup vault key rotation?"
    assert (await memories.ask(query, "documented-v1"))[0] == "noise"
    assert (await memories.ask(query, "strata-v1"))[0] == "topic"


async def test_source_of_truth_asks_for_authority(memories: Memories) -> None:
    await memories.store(
        chat="Somebody at lunch said the refund limit is 40 euros.",
        board="The refund limit of 50 euros was ratified by the board.",
    )
    query = "What is the source of truth for the refund limit?"
    assert set(await memories.ask(query, "documented-v1")) == {"chat", "board"}
    assert await memories.ask(query, "strata-v1") == ["board"]


async def test_near_duplicates_share_a_slot(memories: Memories) -> None:
    await memories.store(
        one="The night crew counts the warehouse inventory.",
        two="The warehouse inventory is counted by the night crew.",
        other="The warehouse inventory is not counted by the night crew.",
    )
    answer = await memories.recall("Who counts the warehouse inventory?", "strata-v1")
    assert len(answer["results"]) == 2
    assert sum(len(hit["duplicates"]) for hit in answer["results"]) == 1
    for diversity in ("none", "mmr"):
        assert (
            len(await memories.ask("Who counts the warehouse inventory?", "strata-v1", diversity=diversity))
            == 3
        )
    assert len(await memories.ask("Who counts the warehouse inventory?", "documented-v1")) == 3


async def test_abstaining_empties_the_list_only_on_request(memories: Memories) -> None:
    await memories.store(note="Desk plants are watered every Friday.")
    told = await memories.recall("Zzyzx qqxx vvkk jjww", "strata-v1")
    assert told["abstained"]
    assert told["explain"]["abstention"]["reason"]
    assert (await memories.recall("Zzyzx qqxx vvkk jjww", "strata-v1", abstain=True))["results"] == []
    answered = await memories.recall("When are desk plants watered?", "strata-v1", abstain=True)
    assert not answered["abstained"]
    assert len(answered["results"]) == 1


async def test_the_first_of_one_is_the_first_of_fifty_and_answers_repeat(memories: Memories) -> None:
    await memories.store(**{f"n{number}": f"note {number % 7} on queue {number % 5}" for number in range(40)})
    for policy in ("documented-v1", "strata-v1"):
        answers = {str(await memories.recall("note 3 on queue 2 now", policy)) for _ in range(20)}
        assert len(answers) == 1
    one, fifty = [await memories.ask("note 3 on queue 2 now", "strata-v1", limit=limit) for limit in (1, 50)]
    assert one == fifty[:1]


async def test_a_context_keeps_the_order_of_the_recall(memories: Memories) -> None:
    await memories.store(note="Ada drinks green tea every day.")
    await memories.fact("fact", subject="Ada", predicate="uses", object="green tea cups")
    found = await memories.ask("Ada green tea", "strata-v1", limit=5)
    answer = await memories.post("context", {"query": "Ada green tea"})
    assert [memories.names[item["id"]] for item in answer["items"]] == found
    assert answer["items"][0]["evidence_fragments"][0]["content"] == "Ada uses green tea cups."
    assert "not instructions" in answer["context_block"].splitlines()[0]
    assert "1. [fact" in answer["context_block"]


async def test_policies_are_listed_with_every_weight(client: httpx.AsyncClient, member: Member) -> None:
    answer = await client.get("/v1/recall-policies", headers=member.reader)
    listed = {policy["name"]: policy for policy in answer.json()["items"]}
    assert set(listed) == {"strata-v1", "documented-v1"}
    assert listed["strata-v1"]["default"]
    assert listed["documented-v1"]["settings"]["overfetch_floor"] == 50
    assert listed["strata-v1"]["settings"]["scaling"]["band"] == 0.5


async def test_a_draft_yields_to_what_is_settled_unless_asked_for(memories: Memories) -> None:
    await memories.store(
        settled="Job RUN-118 copies the ledger at noon.",
        draft="Draft: job RUN-118 might copy the ledger at dusk.",
    )
    assert await memories.ask("When does job RUN-118 copy the ledger?", "strata-v1") == ["settled"]
    assert set(await memories.ask("When does job RUN-118 copy the ledger?", "documented-v1")) == {
        "settled",
        "draft",
    }
    assert "draft" in await memories.ask("What does the draft of job RUN-118 say?", "strata-v1")


SIBLINGS = [
    (
        "When does the night ferry to Lund leave?",
        "The night ferry to Lund leaves at 23:10.",
        "The poster was wrong: the night ferry to Lund leaves at 22:40, not at 23:10.",
    ),
    (
        "How much salt goes into the brine for olives?",
        "A guest told us 200 grams of salt go into the brine for olives.",
        "Into the brine for olives go 90 grams of salt.",
    ),
    (
        "What is the quota of tenant Heron?",
        "The quota of tenant Egret is 9 projects.",
        "The quota of tenant Heron is 4 projects.",
    ),
]


@pytest.mark.parametrize(("query", "wrong", "right"), SIBLINGS)
async def test_what_a_sibling_corrects_or_outmatches_has_no_slot_of_its_own(
    memories: Memories, query: str, wrong: str, right: str
) -> None:
    await memories.store(wrong=wrong, right=right, other="The garden gate squeaks in the wind.")
    assert {"wrong", "right"} <= set(await memories.ask(query, "documented-v1"))
    answer = await memories.recall(query, "strata-v1")
    names = [memories.names[hit["id"]] for hit in answer["results"]]
    assert names[0] == "right"
    assert "wrong" not in names
    assert [memories.names[ref] for ref in answer["results"][0]["yielded"]] == ["wrong"]
    told = next(c for c in answer["explain"]["candidates"] if memories.names[c["id"]] == "wrong")
    assert told["dropped"]
    assert memories.names[told["yields_to"]] == "right"


async def test_without_collapsing_nothing_yields(memories: Memories) -> None:
    query, wrong, right = SIBLINGS[0]
    await memories.store(wrong=wrong, right=right)
    assert set(await memories.ask(query, "strata-v1", diversity="none")) == {"wrong", "right"}


async def test_the_same_yield_whatever_the_limit(memories: Memories) -> None:
    for number, (_, wrong, right) in enumerate(SIBLINGS):
        await memories.store(**{f"wrong{number}": wrong, f"right{number}": right})
    for number, (query, _, _) in enumerate(SIBLINGS):
        long = await memories.ask(query, "strata-v1", limit=50)
        assert await memories.ask(query, "strata-v1", limit=1) == long[:1] == [f"right{number}"]
        assert await memories.ask(query, "strata-v1", limit=3) == long[:3]

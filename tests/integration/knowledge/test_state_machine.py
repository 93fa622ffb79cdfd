"""No sequence of steps, and no interleaving of clients, breaks what must hold of fragments, claims and facts."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.integration.conftest import Member, TestDatabase
from tests.integration.knowledge.programs import STEPS, Program, new_profile, violations, with_policies

CLIENTS, PROGRAM = 8, 60
EXAMPLES, LONGEST = 25, 40
seeds = st.integers(0, 2**32 - 1).map(random.Random)


@pytest.fixture
def tables(database_urls: TestDatabase) -> Iterator[psycopg.Connection[Any]]:
    """What is stored, whoever it belongs to."""
    with psycopg.connect(database_urls.superuser, autocommit=True) as connection:
        yield connection


def machine_of(
    start: Callable[[], Program], call: Callable[[Any], Any], tables: psycopg.Connection[Any]
) -> type[RuleBasedStateMachine]:
    """A state machine whose steps are a program's; each run has a profile of its own."""

    class KnowledgeMachine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.program = start()

        @invariant()
        def nothing_is_broken(self) -> None:
            assert violations(tables, self.program.profile_id, self.program.fragments) == []

    for name, weight in STEPS:

        def step(self: KnowledgeMachine, choose: random.Random, name: str = name) -> None:
            call(getattr(self.program, name)(choose))

        step.__name__ = name
        for number in range(weight):
            setattr(KnowledgeMachine, f"{name}_{number}", rule(choose=seeds)(step))
    return KnowledgeMachine


async def test_no_sequence_of_steps_breaks_knowledge(
    client: httpx.AsyncClient, member: Member, tables: psycopg.Connection[Any]
) -> None:
    loop = asyncio.get_running_loop()
    await with_policies(client, member)
    taken: Counter[tuple[str, str]] = Counter()

    def call(step: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(step, loop).result()

    programs: list[Program] = []

    def start() -> Program:
        programs.append(Program(client, member, call(new_profile(client, member))))
        return programs[-1]

    await asyncio.to_thread(
        run_state_machine_as_test,
        machine_of(start, call, tables),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=LONGEST,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    for program in programs:
        taken.update(program.outcomes)
    assert {step for step, _ in taken} >= {name for name, _ in STEPS}, taken
    assert taken["establish", "promoted"] > 10, taken


@pytest.mark.parametrize("seed", [4, 16, 64])
async def test_no_interleaving_of_clients_breaks_knowledge(
    client: httpx.AsyncClient, member: Member, tables: psycopg.Connection[Any], seed: int
) -> None:
    await with_policies(client, member)
    profile = await new_profile(client, member)
    shared = Program(client, member, profile)
    names, weights = zip(*STEPS, strict=True)

    async def run(number: int) -> None:
        choose = random.Random(f"{seed}/{number}")
        for _ in range(PROGRAM):
            await getattr(shared, choose.choices(names, weights)[0])(choose)

    await asyncio.gather(*(run(number) for number in range(CLIENTS)))
    assert violations(tables, profile, shared.fragments) == []
    taken = Counter(shared.outcomes)
    assert taken["establish", "promoted"] > 10, taken
    assert sum(taken.values()) >= CLIENTS * PROGRAM * 0.8, taken


async def test_broken_knowledge_is_noticed(
    client: httpx.AsyncClient, member: Member, tables: psycopg.Connection[Any]
) -> None:
    """The checks are able to fail: with a guard of the database gone, each finds what it is there for."""
    await with_policies(client, member)
    program = Program(client, member, await new_profile(client, member))
    choose = random.Random(1)
    for _ in range(10):
        for step in ("contest", "settle"):
            await getattr(program, step)(choose)
    assert violations(tables, program.profile_id, program.fragments) == []
    active = "UPDATE facts SET status = 'active' WHERE profile_id = %s AND status = 'superseded'"
    breaks = {
        "active facts for": ("DROP INDEX facts_active_key", active),
        "rests on 0": ("UPDATE claim_evidence SET verdict = 'neutral' WHERE profile_id = %s",),
        "lost": ("DELETE FROM fragments WHERE profile_id = %s",),
        "entries differ": ("DELETE FROM vectors WHERE profile_id = %s",),
        "last version": ("UPDATE facts SET truth_score = 0 WHERE profile_id = %s",),
    }
    for sign, statements in breaks.items():
        with tables.transaction(force_rollback=True):
            for statement in statements:
                tables.execute(statement, (program.profile_id,) if "%s" in statement else None)
            found = violations(tables, program.profile_id, program.fragments)
        assert any(sign in line for line in found), (sign, found)

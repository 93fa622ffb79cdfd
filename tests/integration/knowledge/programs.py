"""Steps of random programs over one profile's knowledge, through its routes, and what must hold whatever they did."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
from psycopg.rows import dict_row

from tests.integration.conftest import Member

# Predicates with their kind, fewest sources and sufficient quality, written down apart from the program.
POLICIES: dict[str, tuple[str, int, float | None]] = {
    "works_at": ("single_current", 2, 0.95),
    "identity_is": ("single_current", 1, 0.95),
    "likes": ("multi_valued", 1, None),
    "release_is": ("versioned", 1, None),
    "noted": ("append_only", 1, None),
}
TEAM_PREDICATES = {name: POLICIES[name][0] for name in ("release_is", "noted")}
SUBJECTS = ("Ada", "Bob")
VALUES = ("acme", "initech", "umbrella")
TEXTS = {
    "works_at": "{s} {n}works at {v}.",
    "identity_is": "{s} is {n}called {v}.",
    "likes": "{s} {n}likes {v}.",
    "release_is": "{s} release is {n}{v}.",
    "noted": "{s} {n}noted {v}.",
}
REFUSALS = {
    404: {"supporting_fragment_missing", "claim_not_found", "fact_not_found", "not_found"},
    409: {
        "conflict", "gate_rejected", "rejected_weaker", "comparable_disputed", "needs_claim_validated",
        "request_in_progress",
    },
    422: {"self_supersession"},
}  # fmt: skip
PERIODS: tuple[tuple[str | None, str | None], ...] = (
    (None, None),
    (None, None),
    ("2015-01-01T00:00:00Z", "2018-01-01T00:00:00Z"),
    ("2020-01-01T00:00:00Z", None),
    (None, "2019-01-01T00:00:00Z"),
)


@dataclass(frozen=True)
class Said:
    """A fragment, and the statement that its text makes."""

    fragment: str
    subject: str
    predicate: str
    value: str
    polarity: str
    times: tuple[str | None, str | None]


@dataclass
class Program:
    """Takes steps, and remembers which fragments must be there afterwards.

    Attributes:
        fragments: Fragments that are to be found, with their states; None while a request decides.
    """

    client: httpx.AsyncClient
    member: Member
    profile_id: str
    said: list[Said] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    fragments: dict[str, str] = field(default_factory=dict)
    outcomes: list[tuple[str, str]] = field(default_factory=list)

    async def _send(self, step: str, method: str, path: str, body: Any = None) -> Any:
        answer = await self.client.request(
            method, f"/v1/profiles/{self.profile_id}/{path}", json=body, headers=self.member.owner
        )
        read = answer.json() if answer.content else {}
        if answer.is_success:
            self.outcomes.append((step, read.get("outcome", "done")))
            return read
        assert read["code"] in REFUSALS.get(answer.status_code, ()), f"{step}: {answer.text}"
        self.outcomes.append((step, read["code"]))
        return None

    async def observe(self, choose: random.Random) -> None:
        """Store a fragment that states something."""
        predicate = choose.choice(list(POLICIES))
        negated, times = choose.random() < 0.2, choose.choice(PERIODS)
        subject, value = choose.choice(SUBJECTS), choose.choice(VALUES)
        denial = "never " if predicate in ("works_at", "likes", "noted") else "not "
        text = TEXTS[predicate].format(s=subject, v=value, n=denial if negated else "")
        body = {
            "content": f"{text} [{uuid4().hex}]",
            "authority": choose.choice(("primary", "secondary")),
            "valid_from": times[0],
            "valid_to": times[1],
        }
        made = await self._send("observe", "POST", "fragments", body)
        self.fragments[made["id"]] = "active"
        self.said.append(Said(made["id"], subject, predicate, value, "-" if negated else "+", times))

    async def claim(self, choose: random.Random) -> None:
        """State what a fragment says, now and then on top of another fragment or against its polarity."""
        if not self.said:
            return
        one, other = choose.choice(self.said), choose.choice(self.said)
        polarity = one.polarity if choose.random() < 0.9 else "+-"[one.polarity == "+"]
        body = {
            "subject": one.subject,
            "predicate": one.predicate,
            "object": one.value,
            "polarity": polarity,
            "valid_from": one.times[0],
            "valid_to": one.times[1],
            "supported_by": list({one.fragment, other.fragment}),
            "extract_conf": choose.choice((0.7, 0.9, 0.9, 0.95)),
            "resolution_conf": 0.9,
        }
        if made := await self._send("claim", "POST", "claims", body):
            self.claims.append(made["id"])

    async def verify(self, choose: random.Random) -> None:
        """Verify a claim."""
        if self.claims:
            await self._send("verify", "POST", f"claims/{choose.choice(self.claims)}/verify")

    async def promote(self, choose: random.Random) -> None:
        """Promote a claim."""
        if self.claims:
            done = await self._send("promote", "POST", f"claims/{choose.choice(self.claims)}/promote")
            self._found(done)

    async def establish(self, choose: random.Random) -> None:
        """All the way from evidence to a fact, or to whatever refuses it."""
        await self.observe(choose)
        await self._established("establish", self.said[-1], choose.choice((0.9, 0.9, 0.95)))

    async def contest(self, choose: random.Random) -> None:
        """Two values for one single-valued key, equally well founded."""
        subject, values = choose.choice(SUBJECTS), choose.sample(VALUES, 2)
        for value in values:
            content = TEXTS["identity_is"].format(s=subject, v=value, n="")
            body = {"content": f"{content} [{uuid4().hex}]", "authority": "primary"}
            made = await self._send("observe", "POST", "fragments", body)
            self.fragments[made["id"]] = "active"
            self.said.append(Said(made["id"], subject, "identity_is", value, "+", (None, None)))
            await self._established("contest", self.said[-1], 0.9)

    async def _established(self, step: str, said: Said, sure: float) -> None:
        body = {
            "subject": said.subject,
            "predicate": said.predicate,
            "object": said.value,
            "polarity": said.polarity,
            "valid_from": said.times[0],
            "valid_to": said.times[1],
            "supported_by": [said.fragment],
            "extract_conf": sure,
            "resolution_conf": 0.9,
        }
        if made := await self._send("claim", "POST", "claims", body):
            self.claims.append(made["id"])
            await self._send("verify", "POST", f"claims/{made['id']}/verify")
            self._found(await self._send(step, "POST", f"claims/{made['id']}/promote"))

    async def confirm(self, choose: random.Random) -> None:
        """Decide about a claim, disputed or not."""
        if self.claims:
            decision = choose.choice(("accept_claim", "keep_existing", "reject_claim"))
            path = f"claims/{choose.choice(self.claims)}/confirm"
            self._found(await self._send("confirm", "POST", path, {"decision": decision}))

    async def settle(self, choose: random.Random) -> None:
        """Decide about what is asked, as somebody does who reads the clarifications."""
        asked = await self._send("read", "GET", "clarifications")
        for item in asked["items"][:1]:
            body = {
                "decision": choose.choice(("accept_claim", "accept_claim", "keep_existing")),
                "conflicting_facts": [fact["id"] for fact in item["conflicting_facts"]],
            }
            self._found(await self._send("settle", "POST", f"claims/{item['claim_id']}/confirm", body))

    async def remember(self, choose: random.Random) -> None:
        """Remember a sentence, with all that follows from it."""
        text = f"{choose.choice(SUBJECTS)} likes {choose.choice(VALUES)}. [{uuid4().hex}]"
        done = await self._send("remember", "POST", "remember", {"evidence": [{"content": text}]})
        self.fragments |= {item["id"]: "active" for item in done["evidence"]}
        self.claims += [item["claim_id"] for item in done["claims"] if item["claim_id"]]
        self.facts += [item["fact_id"] for item in done["claims"] if item["fact_id"]]

    async def retract_fragment(self, choose: random.Random) -> None:
        """Retract a fragment."""
        if self.said:
            ref = choose.choice(self.said).fragment
            if (
                await self._send("retract_fragment", "POST", f"fragments/{ref}/retract")
                and ref in self.fragments
            ):
                self.fragments[ref] = "retracted"

    async def delete_fragment(self, choose: random.Random) -> None:
        """Delete a fragment."""
        if self.said:
            ref = choose.choice(self.said).fragment
            self.fragments.pop(ref, None)
            await self._send("delete_fragment", "DELETE", f"fragments/{ref}")

    async def delete_claim(self, choose: random.Random) -> None:
        """Delete a claim."""
        if self.claims:
            await self._send("delete_claim", "DELETE", f"claims/{choose.choice(self.claims)}")

    async def revalidate(self, choose: random.Random) -> None:
        """Revalidate a fact."""
        if self.facts:
            await self._send("revalidate", "POST", f"facts/{choose.choice(self.facts)}/revalidate")

    async def retract_fact(self, choose: random.Random) -> None:
        """Retract a fact."""
        if self.facts:
            await self._send("retract_fact", "POST", f"facts/{choose.choice(self.facts)}/retract")

    async def supersede(self, choose: random.Random) -> None:
        """Let one fact take the place of another."""
        if self.facts:
            by = {"by": choose.choice(self.facts)}
            await self._send("supersede", "POST", f"facts/{choose.choice(self.facts)}/supersede", by)

    def _found(self, done: Any) -> None:
        if done and done["fact"]:
            self.facts.append(done["fact"]["id"])


STEPS: tuple[tuple[str, int], ...] = (
    ("establish", 5), ("contest", 2), ("observe", 4), ("claim", 4), ("verify", 4), ("promote", 4), ("confirm", 1),
    ("settle", 3),    ("remember", 1),
    ("retract_fragment", 2), ("delete_fragment", 1), ("delete_claim", 1), ("revalidate", 1), ("retract_fact", 1),
    ("supersede", 1),
)  # fmt: skip


def violations(
    connection: psycopg.Connection[Any], profile_id: str, fragments: dict[str, str] | None = None
) -> list[str]:
    """What does not hold in a profile, read from its tables past row-level security; ``fragments`` must be there."""

    def rows(statement: str) -> Sequence[dict[str, Any]]:
        with connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(statement, {"profile": profile_id}).fetchall()

    found = []
    facts = rows("SELECT * FROM facts WHERE profile_id = %(profile)s")
    active: dict[tuple[str, str], list[UUID]] = {}
    for fact in facts:
        one_value = POLICIES[fact["predicate"]][0] in ("single_current", "versioned")
        if fact["status"] == "active" and one_value and fact["polarity"] == "+":
            active.setdefault((fact["predicate"], fact["subject_key"]), []).append(fact["id"])
    found += [f"{len(ids)} active facts for {key}" for key, ids in active.items() if len(ids) > 1]
    support = {
        row["fact_id"]: (row["sources"], row["quality"])
        for row in rows(
            "SELECT s.fact_id, count(DISTINCT f.id) AS sources, max(f.source_quality) AS quality"
            " FROM fact_support s JOIN claim_evidence e USING (team_id, claim_id)"
            " JOIN fragments f ON f.team_id = e.team_id AND f.id = e.fragment_id"
            " WHERE s.profile_id = %(profile)s AND e.verdict = 'entailed' AND f.status = 'active'"
            " GROUP BY s.fact_id"
        )
    }
    for fact in facts:
        _, least, enough = POLICIES[fact["predicate"]]
        sources, quality = support.get(fact["id"], (0, 0.0))
        passes = sources >= least or (sources > 0 and enough is not None and quality >= enough)
        if fact["status"] in ("active", "superseded") and not passes:
            found.append(f"{fact['status']} fact {fact['id']} rests on {sources} of {quality}")
    stored = {
        str(r["id"]): r["status"] for r in rows("SELECT * FROM fragments WHERE profile_id = %(profile)s")
    }
    for ref, status in (fragments or {}).items():
        if stored.get(ref) != status:
            found.append(f"fragment {ref} is {stored.get(ref, 'lost')}, not {status}")
    found += _index_violations(rows, {fact["id"] for fact in facts if fact["status"] == "active"})
    found += _history_violations(rows, facts)
    return found + _conflict_violations(rows)


def _index_violations(rows: Any, active: set[UUID]) -> list[str]:
    """Search documents and vectors are those of what stands, no more and no fewer."""
    found = []
    claims = rows("SELECT id FROM claims WHERE profile_id = %(profile)s AND status = 'validated'")
    fragments = rows("SELECT id FROM fragments WHERE profile_id = %(profile)s AND status = 'active'")
    standing = {1: {row["id"] for row in fragments}, 2: {row["id"] for row in claims}, 3: active}
    for table, column in (("search_documents", "id"), ("vectors", "ref_id")):
        indexed: dict[int, set[UUID]] = {1: set(), 2: set(), 3: set()}
        for row in rows(f"SELECT kind, {column} AS id FROM {table} WHERE profile_id = %(profile)s"):  # noqa: S608
            indexed[row["kind"]].add(row["id"])
        found += [
            f"{table} of kind {kind}: {len(ids ^ standing[kind])} entries differ from what stands"
            for kind, ids in indexed.items()
            if ids != standing[kind]
        ]
    return found


def _history_violations(rows: Any, facts: Sequence[dict[str, Any]]) -> list[str]:
    """The last version of each fact is the fact, and no version is missing or out of order."""
    found = []
    versions: dict[UUID, list[dict[str, Any]]] = {}
    for row in rows("SELECT * FROM fact_versions WHERE profile_id = %(profile)s ORDER BY version"):
        versions.setdefault(row["fact_id"], []).append(row)
    for fact in facts:
        told = versions.get(fact["id"], [])
        if [row["version"] for row in told] != list(range(1, len(told) + 1)) or not told:
            found.append(f"versions of {fact['id']}: {[row['version'] for row in told]}")
        elif any(
            told[-1][name] != fact[name] for name in ("status", "valid_from", "valid_to", "truth_score")
        ):
            found.append(f"the last version of {fact['id']} differs from it")
        times = [row["recorded_at"] for row in told]
        if times != sorted(times) or times[-1:] > [datetime.now(UTC)]:
            found.append(f"versions of {fact['id']} are not in order of time")
    return found


def _conflict_violations(rows: Any) -> list[str]:
    """Conflicts are open only between disputed claims and facts that stand; promoted claims have their fact."""
    open_ones = rows(
        "SELECT c.id, c.status, f.status AS fact FROM claim_conflicts x"
        " JOIN claims c ON c.team_id = x.team_id AND c.id = x.claim_id"
        " JOIN facts f ON f.team_id = x.team_id AND f.id = x.fact_id"
        " WHERE x.profile_id = %(profile)s AND x.resolved_at IS NULL"
        " AND (c.status <> 'disputed' OR f.status IN ('superseded', 'retracted'))"
    )
    lost = rows(
        "SELECT c.id FROM claims c LEFT JOIN facts f ON f.team_id = c.team_id AND f.id = c.fact_id"
        " WHERE c.profile_id = %(profile)s AND c.status = 'superseded' AND f.id IS NULL"
    )
    return [f"an open conflict of a {row['status']} claim with a {row['fact']} fact" for row in open_ones] + [
        f"claim {row['id']} has lost its fact" for row in lost
    ]


async def new_profile(client: httpx.AsyncClient, member: Member) -> str:
    """A profile of the member's team, empty."""
    answer = await client.post("/v1/profiles", json={"name": uuid4().hex}, headers=member.owner)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def with_policies(client: httpx.AsyncClient, member: Member) -> None:
    """Give the member's team the predicates that the programs use and that are not built in."""
    for predicate, kind in TEAM_PREDICATES.items():
        body = {"predicate": predicate, "kind": kind}
        answer = await client.post("/v1/predicates", json=body, headers=member.owner)
        assert answer.status_code == 201, answer.text

"""``hardcases``: six kinds of question that recall finds hard, drawn afresh from a preset and a seed number.

Each case has one document that answers it and two that nearly do: one under a neighbouring identifier, and a draft that
names the right identifier in its text. The identifier of the answer stands in metadata alone, but for the kind in which a
promoted fact must win, and the one that asks for a hypothesis. The same preset and number give the same files, byte for
byte; another number is a held-out draw.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from app.evaluation.suites import wording
from app.evaluation.suites.writing import SeedDraft

_LETTERS: Final = "bcdfghjkmnpqrstvwxz"


@dataclass(frozen=True, slots=True)
class Preset:
    """A size of the suite.

    Attributes:
        cases: In all; the kinds share them as evenly as it goes.
        bystanders: Documents for each case that answer a question of its kind which nobody asks.
    """

    cases: int
    bystanders: int = 0


# The last one has the shape of Dense-Mem's local evaluation: 1,000 cases over 4,000 documents.
PRESETS: Final = {
    "small": Preset(24),
    "standard": Preset(120),
    "large": Preset(600),
    "thousand": Preset(1_000, bystanders=1),
}


@dataclass(frozen=True, slots=True)
class Plot:
    """One case before it is written down.

    Attributes:
        answer: Text and metadata of the document that answers.
        decoys: The same of those that nearly do.
        claim: Statement that the answer supports, and that must come back as a fact.
        dreams: Hypotheses: the one that is asked for, then one that is not.
    """

    kind: str
    query: str
    answer: tuple[str, dict[str, Any]]
    decoys: Sequence[tuple[str, dict[str, Any]]]
    claim: tuple[str, str, str] | None = None
    dreams: Sequence[str] = ()
    authority: str = "primary"
    title: str = field(default="")


def generate(folder: Path, *, preset: str = "standard", draw: int = 1) -> None:
    """Write the suite as a seed directory.

    Args:
        folder: Made if missing.
        preset: A key of `PRESETS`.
        draw: Seed number.
    """
    chance = Random(f"hardcases/{preset}/{draw}")  # noqa: S311 - reproducible draws, no secrets
    draft = SeedDraft(
        f"hardcases_{preset}_{draw}",
        "Generated cases: identifiers that only metadata holds, a fact with authority, related hypotheses.",
    )
    names = _Names(chance)
    told: set[str] = set()
    size = PRESETS[preset]
    for place, (kind, make) in enumerate(KINDS.items()):
        share, rest = divmod(size.cases, len(KINDS))
        for number in range(1, share + (place < rest) + 1):
            case_id = f"{kind}_{number:03d}"
            _write(draft, _untold(make, names, told), case_id, chance)
            draft.corpus += [
                _bystander(_untold(make, names, told), f"{case_id}_bystander{other}")
                for other in range(1, size.bystanders + 1)
            ]
    draft.write(folder)


def _untold(make: Callable[["_Names"], Plot], names: "_Names", told: set[str]) -> Plot:
    """A plot with texts that no other has: equal contents would be stored as one fragment."""
    while True:
        plot = make(names)
        texts = {text for text, _ in (plot.answer, *plot.decoys)}
        if not texts & told:
            told |= texts
            return plot


def _bystander(plot: Plot, name: str) -> dict[str, Any]:
    content, metadata = plot.answer
    return {
        "source_doc_id": name,
        "content": content,
        "metadata": metadata,
        "authority": plot.authority,
        "source_quality": 0.95,
    }


def _write(draft: SeedDraft, plot: Plot, case_id: str, chance: Random) -> None:
    answer = f"{case_id}_answer"
    rows: list[dict[str, Any]] = [
        {
            "source_doc_id": answer,
            "content": plot.answer[0],
            "metadata": plot.answer[1],
            "authority": plot.authority,
            "source_quality": 0.95,
        }
    ]
    if plot.claim is not None:
        subject, predicate, value = plot.claim
        rows[0] |= {
            "auto_promote": True,
            "claims": [
                {
                    "subject": subject,
                    "predicate": predicate,
                    "object": value,
                    "extract_conf": 0.95,
                    "resolution_conf": 0.95,
                }
            ],
        }
    for number, (content, metadata) in enumerate(plot.decoys, start=1):
        rows.append(
            {
                "source_doc_id": f"{case_id}_decoy{number}",
                "content": content,
                "metadata": metadata,
                "authority": "secondary",
                "source_quality": 0.75,
            }
        )
    # The order of import must not tell which is the answer.
    chance.shuffle(rows)
    draft.corpus += rows
    kind = "fact" if plot.claim is not None else "fragment"
    qrel: dict[str, Any] = {
        "case_id": case_id,
        "required_refs": [
            {
                "type": kind,
                "source_doc_id": answer,
                "grade": 3,
                "reason": "holds what is asked under this identifier",
            }
        ],
        "bad_refs": [
            {
                "type": "fragment",
                "source_doc_id": row["source_doc_id"],
                "reason": "nearly the same, of another or of a draft",
            }
            for row in rows
            if row["source_doc_id"] != answer
        ],
    }
    if plot.dreams:
        qrel |= {
            "required_dream_refs": [{"type": "dream", "source_doc_id": f"{case_id}_dream1", "grade": 3}],
            "bad_dream_refs": [{"type": "dream", "source_doc_id": f"{case_id}_dream2"}],
        }
        ids = [row["source_doc_id"] for row in rows]
        others = [name for name in ids if name != answer]
        for number, (hypothesis, sources) in enumerate(
            zip(plot.dreams, ([answer, others[0]], others), strict=True), start=1
        ):
            draft.dreams.append(
                {
                    "source_doc_id": f"{case_id}_dream{number}",
                    "case_id": case_id,
                    "hypothesis": hypothesis,
                    "source_refs": [{"type": "fragment", "source_doc_id": name} for name in sources],
                    "bad": number > 1,
                }
            )
    draft.add_case(
        {
            "case_id": case_id,
            "query": plot.query,
            "difficulty": "hard",
            "slices": [plot.kind, "adversarial"],
            "limit": 5,
            "include_dreams": bool(plot.dreams),
        },
        qrel,
    )


class _Names:
    """Draws names that no two cases of a suite share."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self._used: set[str] = set()

    def one(self, pool: Sequence[str]) -> str:
        """Any of a pool."""
        return self.chance.choice(pool)

    def fresh(self, make: Callable[[], str]) -> str:
        """A name that was not drawn before."""
        while (name := make()) in self._used:
            pass
        self._used.add(name)
        return name

    def subject(self) -> str:
        """A made-up component."""
        return f"{self.one(wording.PLACES)} {self.one(wording.PARTS)}"

    def key(self) -> tuple[str, str, str]:
        """A kind of thing with an identifier, and a neighbour of it."""
        kind = self.one(wording.KEYS)

        def make() -> str:
            return f"{self.one(wording.CODES)}-{self.chance.randint(100, 989)}"

        while True:
            name = make()
            letters, _, digits = name.partition("-")
            neighbour = f"{letters}-{int(digits) + self.chance.choice((1, 2, 10))}"
            if not {name, neighbour} & self._used:
                self._used |= {name, neighbour}
                return kind, name, neighbour

    def token(self, make: Callable[[], str]) -> tuple[str, str]:
        """A name and another one of the same make."""
        return self.fresh(make), self.fresh(make)


def _metadata_identifier(names: _Names) -> Plot:
    kind, key, neighbour = names.key()
    subject, finding, remedy = names.subject(), names.one(wording.FINDINGS), names.one(wording.REMEDIES)
    who = names.one(wording.PEOPLE)
    query = names.one(
        (
            f"What did {who} find about the {subject} under {kind} {key}?",
            f"{kind} {key}: what was wrong with the {subject}?",
            f"Tell me what {kind} {key} came to for the {subject}.",
        )
    )
    text = f"{who} looked at the {subject}: {finding}. It now {remedy}."
    other = names.one([one for one in wording.FINDINGS if one != finding])
    return Plot(
        "metadata_identifier",
        query,
        (text, {kind: key}),
        (
            (f"{who} looked at the {subject}: {other}. Nothing was changed.", {kind: neighbour}),
            (
                f"Draft for {kind} {key}: perhaps {other} in the {subject}; to be looked into.",
                {"state": "draft"},
            ),
        ),
    )


def _scope_identifier(names: _Names) -> Plot:
    def make() -> str:
        return f"{names.one(wording.OBJECTS)}_{names.one(wording.VERBS)}_{names.chance.choice(_LETTERS)}{names.chance.randint(2, 99)}"

    tool, other_tool = names.token(make)
    scope = f"{names.one(wording.OBJECTS)}:{names.one(wording.ACTIONS)}"
    subject, limit = names.subject(), names.chance.randint(3, 60)
    query = names.one(
        (
            f"How many calls a minute does {tool} allow on the {subject}?",
            f"What is the call limit of {tool} for the {subject}?",
        )
    )
    return Plot(
        "scope_identifier",
        query,
        (
            f"On the {subject}, callers of this tool may make {limit} calls a minute.",
            {"tool": tool, "scope": scope},
        ),
        (
            (
                f"On the {subject}, callers of this tool may make {limit + 7} calls a minute.",
                {"tool": other_tool, "scope": scope},
            ),
            (
                f"Draft: {tool} on the {subject} might get {limit + 30} calls a minute one day.",
                {"state": "draft"},
            ),
        ),
    )


def _config_path(names: _Names) -> Plot:
    def make() -> str:
        part = names.one(wording.PARTS)
        return f"{names.one(wording.FOLDERS)}/{part}/{names.one(wording.FILES)}_{names.chance.randint(1, 99)}.{names.one(wording.ENDINGS)}"

    path, other = names.token(make)
    subject, value = names.subject(), names.chance.randint(4, 90)
    query = names.one(
        (
            f"Which timeout does {path} set for the {subject}?",
            f"In {path}, how long does the {subject} wait before it gives up?",
        )
    )
    return Plot(
        "config_path",
        query,
        (
            f"The {subject} gives up after {value} seconds; the value was agreed with operations.",
            {"file": path},
        ),
        (
            (
                f"The {subject} gives up after {value + 5} seconds; the value was agreed with operations.",
                {"file": other},
            ),
            (
                f"Draft change to {path}: let the {subject} give up after {value + 40} seconds.",
                {"state": "draft"},
            ),
        ),
    )


def _authority_identifier(names: _Names) -> Plot:
    kind, key, neighbour = names.key()
    owner, wrong = names.chance.sample(wording.PEOPLE, 2)
    subject = names.subject()
    query = names.one(
        (
            f"Who is the authoritative approver of {kind} {key}?",
            f"Whose approval does {kind} {key} officially need?",
        )
    )
    return Plot(
        "authority_identifier",
        query,
        (f"By the signed register, {kind} {key} of the {subject} uses {owner} as approver.", {kind: key}),
        (
            (
                f"By the signed register, {kind} {neighbour} of the {subject} uses {wrong} as approver.",
                {kind: neighbour},
            ),
            (f"Somebody in the corridor thought that {wrong} approves {kind} {key}.", {"state": "hearsay"}),
        ),
        claim=(f"{kind} {key} approver", "uses", owner),
        authority="authoritative",
    )


def _branch_and_run(names: _Names) -> Plot:
    def make() -> str:
        return f"{names.one(wording.BRANCHES)}/{names.one(wording.TOPICS)}-{names.chance.randint(2, 99)}"

    def run() -> str:
        return "".join(names.chance.choice("0123456789abcdef") for _ in range(7)) + "4e"

    branch, other = names.token(make)
    commit, other_commit = names.token(run)
    subject, finding = names.subject(), names.one(wording.FINDINGS)
    query = names.one(
        (
            f"Why did run {commit} on {branch} fail for the {subject}?",
            f"What broke the {subject} in {branch} at {commit}?",
        )
    )
    second = names.one([one for one in wording.FINDINGS if one != finding])
    return Plot(
        "branch_and_run",
        query,
        (f"The {subject} failed its checks because {finding}.", {"branch": branch, "run": commit}),
        (
            (f"The {subject} failed its checks because {second}.", {"branch": other, "run": other_commit}),
            (f"Draft note on {branch}: the {subject} may fail when {second}.", {"state": "draft"}),
        ),
    )


def _related_dream(names: _Names) -> Plot:
    kind, key, neighbour = names.key()
    first, second = names.subject(), names.subject()
    who, other = names.chance.sample(wording.PEOPLE, 2)
    query = names.one(
        (
            f"What might connect {kind} {key} with the {second}?",
            f"Is there a likely link between {kind} {key} and the {second}?",
        )
    )
    return Plot(
        "related_dream",
        query,
        (f"{who} moved {kind} {key} onto the {second} and slowdowns began that week.", {kind: key}),
        (
            (f"{other} moved {kind} {neighbour} onto the {first} and nothing changed.", {kind: neighbour}),
            (f"Draft: {other} may look at the {first} next to {kind} {key}.", {"state": "draft"}),
        ),
        dreams=(
            f"{kind} {key} probably slows the {second} down.",
            f"{kind} {neighbour} probably slows the {first} down.",
        ),
    )


KINDS: Final[dict[str, Callable[[_Names], Plot]]] = {
    "metadata_identifier": _metadata_identifier,
    "scope_identifier": _scope_identifier,
    "config_path": _config_path,
    "authority_identifier": _authority_identifier,
    "branch_and_run": _branch_and_run,
    "related_dream": _related_dream,
}

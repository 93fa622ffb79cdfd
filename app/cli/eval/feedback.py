"""Cases from feedback: proposing them, a person's judgement of them, and the seed directory that comes of it."""

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.markup import escape

from app.cli.eval.shared import SetFolder, told
from app.cli.output import CommandError, out
from app.cli.text import snippet
from app.evaluation.artifacts import RunDirectory
from app.evaluation.errors import EvaluationError
from app.evaluation.feedback import (
    Candidate,
    Decision,
    Label,
    LabelError,
    Review,
    candidates,
    decided,
    labelled,
    unanswerable,
)
from app.evaluation.feedback_seed import write_accepted
from app.evaluation.formats.loading import load_set

_SNIPPET: Final = 160
_LABELS: Final[dict[str, Label]] = {"r": "required", "c": "acceptable", "b": "bad", "x": "none"}
_HELP: Final = (
    "a accept · n refuse · s skip · q quit · label an item by its rank, or a document by its name: "
    "r required, c acceptable, b bad, x no label (as in: r 2) · 0 nothing answers it"
)
CandidatesFile = Annotated[
    Path, typer.Argument(help="JSONL file of candidates", exists=True, dir_okay=False, show_default=False)
]


def cases_from_feedback(
    run: Annotated[Path, typer.Argument(help="Directory of a run with recorded traces", exists=True)],
    output: Annotated[Path, typer.Option("--out", help="JSONL file of candidate cases", dir_okay=False)],
    seed: SetFolder,
    reviews: Annotated[
        Path | None,
        typer.Option(help="JSONL of reviewed feedback; recall_id names the trace's case", exists=True),
    ] = None,
) -> None:
    """Turn recorded recalls and their reviews into candidate cases, for a person to judge with review-cases."""
    with told():
        if output.exists():
            raise EvaluationError(f"{output} is there already", "It may hold decisions: give another --out.")
        traces = RunDirectory(run).traces()
        rows = [] if reviews is None else RunDirectory(reviews.parent).read_rows(reviews.name, Review)
        unknown = sorted({row.recall_id for row in rows} - {trace.case_id for trace in traces})
        if unknown:
            raise CommandError(f"{len(unknown)} reviews name no trace, the first: {unknown[0]!r}")
        asked = {case.case_id: case for case in load_set(seed).cases}
        found = candidates(traces, {row.recall_id: row for row in rows}, asked)
        RunDirectory(output.parent).write_rows(output.name, found)
    proposed = sum(bool(one.qrel.required_refs or one.qrel.bad_refs) for one in found)
    out.print(
        f"{output}: {len(found)} candidates, {proposed} labelled, none accepted yet",
        highlight=False,
        soft_wrap=True,
    )


def review_cases(
    file: CandidatesFile,
    accept: Annotated[
        list[str] | None, typer.Option(help="Accept this case as it is labelled, and ask nothing; repeatable")
    ] = None,
    refuse: Annotated[
        list[str] | None, typer.Option(help="Refuse this case, and ask nothing; repeatable")
    ] = None,
) -> None:
    """Judge candidate cases one by one: see what came back, mend the labels, accept or refuse.

    Every decision is saved at once, so that the command may be left and repeated.
    """
    folder = RunDirectory(file.parent)
    with told():
        found = folder.read_rows(file.name, Candidate)
        if accept or refuse:
            _decide_named(found, accept or [], refuse or [])
            folder.write_rows(file.name, found)
        else:
            for place, candidate in enumerate(found):
                if candidate.decision is not None:
                    continue
                judged = _judged(candidate, f"{place + 1} of {len(found)}")
                if judged is None:
                    break
                found[place] = judged
                folder.write_rows(file.name, found)
    counted = {word: sum(one.decision == word for one in found) for word in ("accepted", "refused", None)}
    out.print(
        f"{counted['accepted']} accepted, {counted['refused']} refused, {counted[None]} undecided",
        highlight=False,
    )


def cases_to_seed(
    file: CandidatesFile,
    seed: SetFolder,
    output: Annotated[
        Path, typer.Option("--out", help="Folder to write the seed directory to", file_okay=False)
    ],
) -> None:
    """Write the accepted candidates as a seed directory, with the documents of the set that was asked."""
    with told():
        found = RunDirectory(file.parent).read_rows(file.name, Candidate)
        made = write_accepted(found, load_set(seed), seed, output)
    out.print(
        f"{output}: {len(made.cases)} cases, {len(made.documents)} documents, {made.hash}",
        highlight=False,
        soft_wrap=True,
    )


def _decide_named(found: list[Candidate], accept: list[str], refuse: list[str]) -> None:
    places = {candidate.case.case_id: place for place, candidate in enumerate(found)}
    wanted: list[tuple[str, Decision]] = [
        *((name, "accepted") for name in accept),
        *((name, "refused") for name in refuse),
    ]
    for name, decision in wanted:
        if name not in places:
            raise CommandError(f"there is no candidate {name!r}")
        try:
            found[places[name]] = decided(found[places[name]], decision)
        except LabelError as error:
            raise CommandError(f"{name}: {error}", "Label it: run the command without --accept.") from error


def _judged(candidate: Candidate, place: str) -> Candidate | None:
    """The candidate as a person leaves it; ``None`` to stop."""
    _show(candidate, place)
    while True:
        word, _, name = typer.prompt("judge").strip().partition(" ")
        if word == "q":
            return None
        if word == "s":
            return candidate
        try:
            if word in {"a", "n"}:
                return decided(candidate, "accepted" if word == "a" else "refused")
            if word == "0":
                candidate = unanswerable(candidate)
            elif word in _LABELS and name.strip():
                candidate = labelled(candidate, name.strip(), _LABELS[word])
            else:
                out.print(_HELP, highlight=False)
                continue
        except LabelError as error:
            out.print(f"[bold red]no[/] {escape(str(error))}", highlight=False)
            continue
        _show_labels(candidate)


def _show(candidate: Candidate, place: str) -> None:
    out.print(f"\n[bold]{escape(candidate.case.query)}[/]", highlight=False)
    out.print(f"{place} · {escape(candidate.case.case_id)} · {escape(candidate.why)}", highlight=False)
    for item in candidate.returned:
        names = " ".join(item.source_doc_ids) or item.id
        text = snippet(item.text, candidate.case.query, _SNIPPET)
        out.print(f"{item.rank:>3}  {escape(text)}\n     {item.type} of {escape(names)}", highlight=False)
    if not candidate.returned:
        out.print("     nothing came back")
    _show_labels(candidate)
    out.print(_HELP, highlight=False, style="dim")


def _show_labels(candidate: Candidate) -> None:
    qrel = candidate.qrel
    for label, refs in (
        ("required", qrel.required_refs),
        ("acceptable", qrel.acceptable_refs),
        ("bad", qrel.bad_refs),
    ):
        names = ", ".join(f"{ref.type} of {ref.source_doc_id or ref.id}" for ref in refs)
        if names:
            out.print(f"     {label}: {escape(names)}", highlight=False)
    if candidate.case.task_type == "no_answer":
        out.print("     nothing answers it")

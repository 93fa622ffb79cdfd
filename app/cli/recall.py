"""``strata recall``: ask a profile."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from app.cli.access import KeyOption, ProfileOption, Target, TeamOption, UrlOption, with_memory
from app.cli.explanation import print_explanation
from app.cli.filters import instant
from app.cli.output import fail, out, print_json, print_table
from app.cli.text import age, content_of, memory_of, number, snippet
from app.errors import StrataError
from app.http.bodies import decode_item
from app.http.fields import PolicyName
from app.recall.schemas import RecallInput

_SNIPPET = 160


def recall(
    question: Annotated[str, typer.Argument(help="What to ask", show_default=False)],
    profile: ProfileOption,
    team: TeamOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
    limit: Annotated[int, typer.Option(help="Results wanted, up to 50")] = 10,
    valid_at: Annotated[
        datetime | None, typer.Option(parser=instant, metavar="TIME", help="Only what held true at this time")
    ] = None,
    known_at: Annotated[
        datetime | None,
        typer.Option(parser=instant, metavar="TIME", help="Only what was recorded by this time"),
    ] = None,
    policy: Annotated[
        PolicyName | None, typer.Option(help="Ranking policy", show_default="the team's")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show why each result stands where it stands")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's answer")] = False,
) -> None:
    """Ask a profile; the best memories first. A TIME is a date or RFC 3339 with an offset."""
    values = {
        "query": question,
        "limit": limit,
        "valid_at": valid_at,
        "known_at": known_at,
        "policy": policy,
        "explain": explain,
    }
    request = decode_item(values, RecallInput, "")
    if isinstance(request, StrataError):
        fail(request.detail.removeprefix("."), "See `strata recall --help`.")
    answer = with_memory(
        Target(profile, team, url, key), lambda access: access.recall(request), embedder=True
    )
    if as_json:
        print_json(answer)
        return
    _print_notes(answer)
    if explain:
        print_explanation(answer, question)
    elif answer["results"]:
        _print_hits(answer["results"], question)


def _print_hits(hits: list[dict[str, Any]], question: str) -> None:
    now = datetime.now(UTC)
    print_table(
        ["", "score", "meaning", "words", "memory", "source", "age"],
        [
            [
                str(hit["rank"]),
                number(hit["final_score"]),
                _place(hit["semantic_rank"]),
                _place(hit["keyword_rank"]),
                snippet(content_of(hit), question, _SNIPPET),
                (memory_of(hit).get("source") or ""),
                age(memory_of(hit).get("recorded_at"), now),
            ]
            for hit in hits
        ],
        whole=("", "score", "meaning", "words", "age"),
    )


def _print_notes(answer: dict[str, Any]) -> None:
    if not answer["results"]:
        out.print("Nothing found.")
    elif answer.get("abstained"):
        out.print(
            "abstained: what was found does not answer the question; the nearest memories:", highlight=False
        )
    for name, told in (
        ("degraded", "did not take part"),
        ("unmatched_anchors", "no memory holds"),
    ):
        value = answer.get(name)
        if value:
            out.print(
                f"{name.replace('_', ' ')}: {told} {', '.join(map(str, value))}",
                highlight=False,
                markup=False,
            )


def _place(rank: int) -> str:
    return f"#{rank}" if rank else "-"

"""An explained recall for people: how the question was read, what each branch did, and what makes up each score.

The explanation is a plain JSON object that grows with the ranking rules. What this module knows gets a place of its
own; every other field is printed with its name, so that nothing new stays hidden.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.text import Text

from app.cli.output import out, print_table
from app.cli.text import content_of, memory_of, number, one_line, snippet

Json = Mapping[str, Any]
_BAR: Final = 24
_SNIPPET: Final = 90
_NEXT: Final = 3
_DROPPED: Final = 10
_STYLES: Final = {"meaning": ("█", "cyan"), "words": ("▓", "yellow"), "other": ("░", "magenta")}
_TOLERANCE: Final = 1e-6

_QUERY_FIELDS: Final = ("terms", "identifiers", "stop_words", "scripts")
_KEYWORD_FIELDS: Final = ("memories", "average_length", "terms", "selected_by", "exact", "note", "candidates")
_SEMANTIC_FIELDS: Final = ("memories", "exact", "graph", "mean", "deviation", "candidates")
_CANDIDATE_FIELDS: Final = (
    "id", "semantic_rank", "semantic_score", "keyword_rank", "keyword_score", "base_score", "final_score",
    "semantic_evidence", "keyword_evidence", "adjustments", "dropped", "yields_to",
)  # fmt: skip
_SECTIONS: Final = ("query", "keyword", "semantic", "fusion", "candidates")


def contributions(candidate: Json, fusion: Json) -> dict[str, float]:
    """What makes up a candidate's final score, in its own unit; empty for a fusion that this module does not know.

    The parts add up to ``final_score``: what neither branch explains (adjustments) is ``other``.
    """
    if "semantic_weight" in fusion and "semantic_evidence" in candidate:
        parts = {
            "meaning": fusion["semantic_weight"] * candidate["semantic_evidence"],
            "words": fusion.get("keyword_weight", 1.0) * candidate.get("keyword_evidence", 0.0),
        }
    elif "k" in fusion:
        parts = {
            name: 1 / (fusion["k"] + candidate[rank]) if candidate.get(rank) else 0.0
            for name, rank in (("meaning", "semantic_rank"), ("words", "keyword_rank"))
        }
    else:
        return {}
    other = candidate["final_score"] - sum(parts.values())
    return parts if abs(other) < _TOLERANCE else {**parts, "other": other}


def bar(parts: Mapping[str, float], largest: float, width: int = _BAR) -> Text:
    """A score as a bar of its positive parts; ``largest`` fills the width."""
    text = Text()
    drawn = total = 0.0
    for name, value in parts.items():
        sign, style = _STYLES.get(name, _STYLES["other"])
        total += max(value, 0.0)
        cells = round(total / largest * width) if largest > 0 else 0
        text.append(sign * int(cells - drawn), style=style)
        drawn = max(drawn, cells)
    text.append(" " * (width - int(drawn)))
    return text


def fields(values: Json, known: Iterable[str] = ()) -> str:
    """Names and values on one line, without those that have a place of their own and those that are not set."""
    left = {name: value for name, value in values.items() if name not in set(known)}
    return " · ".join(
        f"{name.replace('_', ' ')} {_value(value)}"
        for name, value in left.items()
        if value not in (None, "", [], {})
    )


def print_explanation(answer: Json, question: str) -> None:
    """Print an answer with its explanation."""
    explain = answer.get("explain") or {}
    fusion: Json = explain.get("fusion") or {}
    keyword: Json = explain.get("keyword") or {}
    _print_query(explain.get("query") or {}, keyword)
    _print_keyword(keyword)
    _print_semantic(explain.get("semantic") or {})
    _section("fusion", str(fusion.get("reason", "")), fields(fusion, ("reason",)))
    for name, value in explain.items():
        if name not in _SECTIONS:
            _section(name.replace("_", " "), fields(value) if isinstance(value, dict) else _value(value))
    out.print()
    _print_hits(answer, explain, question)


def _print_query(query: Json, keyword: Json) -> None:
    terms: Sequence[str] = query.get("terms") or []
    scored = [term["term"] for term in keyword.get("terms") or []]
    left_out = [term for term in terms if term not in scored]
    identifiers = query.get("identifiers")
    _section(
        "question",
        f"words that count: {', '.join(scored) or 'none'}",
        f"words that do not (they only ask, or no memory holds them): {', '.join(left_out)}"
        if left_out
        else "",
        f"identifiers: {', '.join(identifiers)}" if identifiers else "",
        fields(query, _QUERY_FIELDS),
    )


def selection(selected_by: Any) -> str:
    """The keyword branch's choice of candidates in words: groups of terms, of each of which one must be there."""
    if not selected_by:
        return "none was selected"
    if not isinstance(selected_by, list) or not all(isinstance(group, list) for group in selected_by):
        return f"selected by {_value(selected_by)}"
    groups = [" or ".join(group) for group in selected_by]
    if len(groups) > 1:
        groups = [f"({group})" if " or " in group else group for group in groups]
    return f"each holds {' and '.join(groups)}"


def _print_keyword(keyword: Json) -> None:
    if not keyword:
        return
    groups = keyword.get("selected_by")
    selecting = (
        {term for group in groups if isinstance(group, list) for term in group}
        if isinstance(groups, list)
        else set()
    )
    _section(
        "words",
        f"{_count(keyword.get('candidates'))} candidates of {_count(keyword.get('memories'))} memories; {selection(groups)}",
        str(keyword.get("note") or ""),
        ""
        if keyword.get("exact", True)
        else "the best ten are not proven to be those of an exhaustive search",
        fields(keyword, _KEYWORD_FIELDS),
    )
    terms: Sequence[Json] = keyword.get("terms") or []
    if terms:
        out.print()
        print_table(
            ["          word", "in memories", "weight", "selects"],
            [
                [
                    f"          {term['term']}",
                    _count(term.get("memories")),
                    _value(term.get("weight", "")),
                    "yes" if term["term"] in selecting else "",
                ]
                for term in terms
            ],
        )
        out.print()


def _print_semantic(semantic: Json) -> None:
    if not semantic:
        return
    compared = "every vector compared" if semantic.get("exact") else f"through graph {semantic.get('graph')}"
    spread = ""
    if "mean" in semantic and "deviation" in semantic:
        spread = f"cosine {semantic['mean']:.2f} ± {semantic['deviation']:.2f} over the profile"
    _section(
        "meaning",
        f"{_count(semantic.get('candidates'))} candidates; {compared}; {spread}".removesuffix("; "),
        fields(semantic, _SEMANTIC_FIELDS),
    )


def _print_hits(answer: Json, explain: Json, question: str) -> None:
    candidates = {candidate["id"]: candidate for candidate in explain.get("candidates") or []}
    hits: Sequence[Json] = answer["results"]
    fusion: Json = explain.get("fusion") or {}
    largest = max((hit["final_score"] for hit in hits), default=0.0)
    for hit in hits:
        candidate: Json = candidates.pop(hit["id"], hit)
        _print_candidate(f"{hit['rank']:>3}", candidate, fusion, largest)
        source = memory_of(hit).get("source")
        out.print(Text("     " + snippet(content_of(hit), question, _SNIPPET)), soft_wrap=True)
        told = [
            f"{hit.get('kind', '')} {hit['id']}",
            *([source] if source else []),
            fields(candidate, _CANDIDATE_FIELDS),
        ]
        out.print(Text("     " + " · ".join(part for part in told if part), style="dim"), soft_wrap=True)
        for line in reasons(hit, candidate):
            out.print(Text(f"     {line}", style=_STYLES["other"][1]), soft_wrap=True)
    _print_dropped([candidate for candidate in candidates.values() if candidate.get("dropped")], hits)
    left = [candidate for candidate in candidates.values() if not candidate.get("dropped")]
    if left:
        out.print(f"\n{len(left)} more candidates; next:", highlight=False)
        for candidate in left[:_NEXT]:
            _print_candidate("   ", candidate, fusion, largest)
            out.print(Text(f"     {candidate['id']}", style="dim"))


def reasons(hit: Json, candidate: Json) -> list[str]:
    """What moved a hit, and what has no slot of its own beside it; one line each."""
    lines = [
        f"{note['rule']} {note['amount']:+.3g}: {note['cue']}" for note in candidate.get("adjustments") or []
    ]
    for name, told in (("duplicates", "says the same"), ("yielded", "yields to it")):
        if refs := hit.get(name):
            lines.append(f"{told}: {', '.join(refs)}")
    return lines


def _print_dropped(dropped: Sequence[Json], hits: Sequence[Json]) -> None:
    if not dropped:
        return
    ranks = {hit["id"]: hit["rank"] for hit in hits}
    out.print(f"\nleft out: {len(dropped)}", highlight=False)
    for candidate in dropped[:_DROPPED]:
        rival = ranks.get(candidate.get("yields_to"))
        place = f" (stands under {rival})" if rival else ""
        text = Text(f"  -  {candidate['dropped']}{place}", style=_STYLES["other"][1])
        text.append(f"  {number(candidate['final_score'])} · {candidate['id']}", style="dim")
        out.print(text, soft_wrap=True)


def _print_candidate(rank: str, candidate: Json, fusion: Json, largest: float) -> None:
    parts = contributions(candidate, fusion)
    text = Text(f"{rank}  {number(candidate['final_score'])}  ")
    text.append_text(bar(parts or {"other": candidate["final_score"]}, largest))
    for name, rank_field, score_field, unit in (
        ("meaning", "semantic_rank", "semantic_score", "cosine"),
        ("words", "keyword_rank", "keyword_score", "BM25"),
    ):
        place = f"#{candidate[rank_field]}" if candidate.get(rank_field) else "not ranked"
        score = candidate.get(score_field)
        part = f" {number(parts[name])}" if name in parts else ""
        measured = "" if score is None else f", {unit} {score:.2f}"
        text.append(f"  {name}{part} ({place}{measured})", style=_STYLES[name][1])
    if "other" in parts:
        text.append(f"  other {number(parts['other'])}", style=_STYLES["other"][1])
    out.print(text, soft_wrap=True)


def _section(name: str, *lines: str) -> None:
    told = [line for line in lines if line]
    for index, line in enumerate(told):
        out.print(
            Text(f"{name if not index else '':<10}", style="bold").append(line, style="not bold"),
            soft_wrap=True,
        )


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, dict):
        return "(" + fields(value) + ")"
    if isinstance(value, list):
        return ", ".join(_value(item) for item in value)
    return one_line(str(value), 200)


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"

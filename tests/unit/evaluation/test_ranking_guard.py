from app.evaluation.guard import GuardedRun, Note, difference, notes_of
from app.evaluation.shipped import guard_suites

NOTES = {"broad": {"c": Note(query="Which?", marks={"d1": "+", "d2": "-"})}}


def run(rankings, ndcg=1.0, seed="sha256:a", bad=0.0):
    measures = {"ndcg_at_k": ndcg, "average_bad_at_k": bad}
    return GuardedRun(seed_hash=seed, rankings=rankings, categories={"overall": measures, "traps": measures})


def told(before, after, notes=NOTES):
    lines = difference({"broad/p": before}, {"broad/p": after}, notes).splitlines()
    return lines[lines.index("", 2) + 1 :]


def test_the_same_rankings_differ_in_nothing():
    runs = {"broad/p": run({"c": ["d1", "d2"]})}
    assert difference(runs, runs) == ""


def test_a_change_is_told_by_category_and_case_with_what_to_do():
    lines = told(run({"c": ["d1", "d2"]}), run({"c": ["d2", "d1"]}, ndcg=0.5, bad=1.0))
    assert lines[:6] == [
        "broad/p: 1 of 1 cases are answered in another order",
        "    overall                  ndcg_at_k 1.000 -> 0.500 (worse)  average_bad_at_k 0.000 -> 1.000 (worse)",
        "    traps                    ndcg_at_k 1.000 -> 0.500 (worse)  average_bad_at_k 0.000 -> 1.000 (worse)",
        "    c: Which?",
        "      was +d1, -d2",
        "      is  -d2, +d1",
    ]
    assert "What to do:" in lines
    assert any('strata eval accept --reason "why"' in line for line in lines)
    assert any("`strata eval guard` shows this again" in line for line in lines)


def test_the_headline_says_what_is_compared():
    found = difference({"broad/p": run({"c": ["d1"]})}, {"broad/p": run({"c": []})})
    assert found.splitlines()[0] == "The ranking of shipped cases changed."
    assert "app/evaluation/suites/baseline.json" in found
    assert "      is  nothing" in found


def test_a_change_below_the_judged_places_says_so():
    lines = told(run({"c": ["d1", "d2"]}), run({"c": ["d1", "d3"]}))
    assert lines[1] == "    no measure of any category moved: only places below the judged ones did"


def test_a_changed_suite_and_runs_that_come_and_go_are_told():
    found = difference(
        {"a/p": run({}), "b/p": run({})}, {"a/p": run({}, seed="sha256:other"), "c/p": run({})}
    )
    assert "a/p: the suite itself changed (sha256:a to sha256:other)" in found
    assert "b/p: no longer run" in found
    assert "c/p: not in the baseline" in found


def test_the_worst_of_the_changed_cases_are_listed_first_and_long_lists_are_cut():
    notes = {"broad": {f"c{number:02}": Note(query="?", marks={"x": "+"}) for number in range(20)}}
    before = {name: ["x", "y"] for name in notes["broad"]}
    after = {name: ["y", "x"] for name in before} | {"c17": list("abcdefg"), "c03": ["x", "z"]}
    lines = told(run(before), run(after), notes)
    cases = [line.strip() for line in lines if line.endswith(": ?")]
    assert cases[:2] == ["c17: ?", "c00: ?"]
    assert "c03: ?" not in cases
    assert "      is  a, b, c, d, e, 2 more" in lines
    assert "    and 12 more" in lines


def test_notes_mark_what_answers_and_what_must_not_come():
    with guard_suites() as suites:
        notes = notes_of(suites["hardcases"])
    note = notes["authority_identifier_001"]
    assert note.query == next(
        case.query for case in suites["hardcases"].cases if case.case_id == "authority_identifier_001"
    )
    assert note.marks == {
        "fact of authority_identifier_001_answer": "+",
        "authority_identifier_001_decoy1": "-",
        "authority_identifier_001_decoy2": "-",
    }

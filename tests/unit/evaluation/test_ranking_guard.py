from app.evaluation.guard import GuardedRun, difference


def run(rankings, ndcg=1.0, seed="sha256:a"):
    return GuardedRun(
        seed_hash=seed,
        rankings=rankings,
        categories={"overall": {"ndcg_at_k": ndcg}, "traps": {"ndcg_at_k": ndcg}},
    )


def test_the_same_rankings_differ_in_nothing():
    runs = {"broad/p": run({"c": ["d1", "d2"]})}
    assert difference(runs, runs) == ""


def test_a_change_is_told_by_category_and_case_with_what_to_do():
    told = difference({"broad/p": run({"c": ["d1", "d2"]})}, {"broad/p": run({"c": ["d2", "d1"]}, ndcg=0.5)})
    assert told.splitlines()[:8] == [
        "The ranking of shipped cases changed.",
        "",
        "broad/p: 1 of 1 cases are answered in another order",
        "    overall                  ndcg_at_k 1.000 -> 0.500",
        "    traps                    ndcg_at_k 1.000 -> 0.500",
        "    c",
        "      was d1, d2",
        "      is  d2, d1",
    ]
    assert 'strata eval accept --reason "why"' in told


def test_a_change_below_the_judged_places_says_so():
    told = difference({"b/p": run({"c": ["d1", "d2"]})}, {"b/p": run({"c": ["d1", "d3"]})})
    assert "no measure of any category moved" in told


def test_a_changed_suite_and_runs_that_come_and_go_are_told():
    told = difference({"a/p": run({}), "b/p": run({})}, {"a/p": run({}, seed="sha256:other"), "c/p": run({})})
    assert "a/p: the suite itself changed (sha256:a to sha256:other)" in told
    assert "b/p: no longer run" in told
    assert "c/p: not in the baseline" in told


def test_only_the_first_changed_cases_are_listed():
    before = {f"c{number:02}": ["x"] for number in range(20)}
    after = {name: ["y"] for name in before}
    assert "    and 8 more" in difference({"b/p": run(before)}, {"b/p": run(after)}).splitlines()

"""Commands of a team's settings."""


def listed(strata, name):
    teams = strata("team", "list", "--json").json
    return next(team for team in teams if team["name"] == name)


def test_a_team_pins_a_ranking_policy_and_lets_it_go(strata, home):
    pinned = strata("team", "pin-policy", home.team, "documented-v1")
    assert (pinned.code, pinned.out) == (0, f"{home.team} is ranked by documented-v1\n")
    assert listed(strata, home.team)["ranking_policy"] == "documented-v1"
    answer = strata("recall", "anything", "--profile", home.profile, "--team", home.team, "--json").json
    assert answer["policy"] == "documented-v1"
    assert strata("team", "unpin-policy", home.team).out == f"{home.team} is ranked by the default\n"
    assert listed(strata, home.team)["ranking_policy"] is None


def test_a_policy_that_there_is_not_cannot_be_pinned(strata, home):
    refused = strata("team", "pin-policy", home.team, "nobody-v9")
    assert refused.code == 2
    assert "'strata-v1', 'documented-v1'" in refused.err
    assert listed(strata, home.team)["ranking_policy"] is None

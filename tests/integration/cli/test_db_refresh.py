"""``strata db refresh``, and recall before it ran."""

import json

import psycopg
import pytest

CONTENTS = {
    "one": "The night crew counts the warehouse inventory.",
    "two": "The warehouse inventory is counted by the night crew.",
    "other": "The warehouse inventory is not counted by the night crew.",
}
STORED = "SELECT f.content, d.fingerprint FROM search_documents d JOIN fragments f USING (team_id, id)"


@pytest.fixture
def ids(strata, home, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"content": content}) + "\n" for content in CONTENTS.values()))
    assert strata("memory", "import", rows, "--profile", home.profile).code == 0
    listed = strata("memory", "list", "--profile", home.profile, "--json").json
    stored = {item["content"]: item["id"] for item in listed}
    return {name: stored[content] for name, content in CONTENTS.items()}


def fingerprints(superuser, home):
    with psycopg.connect(superuser) as connection:
        return dict(connection.execute(f"{STORED} WHERE f.profile_id = %s", (home.profile,)).fetchall())


@pytest.mark.parametrize("spoiled", [None, b"\0\xff"])
def test_what_older_rules_made_is_made_anew_and_never_misleads_recall(
    strata, home, ids, database_urls, spoiled
):
    made = fingerprints(database_urls.superuser, home)
    assert sorted(made) == sorted(CONTENTS.values())
    assert [stored[0] for stored in made.values()] == [1, 1, 1]

    with psycopg.connect(database_urls.superuser) as connection:
        connection.execute(
            "UPDATE search_documents SET fingerprint = %s WHERE profile_id = %s", (spoiled, home.profile)
        )
    hits = strata("recall", "Who counts the warehouse inventory?", "--profile", home.profile, "--json").json[
        "results"
    ]
    together = {hit["id"]: {hit["id"], *hit["duplicates"]} for hit in hits}
    assert sorted(map(sorted, together.values())) == sorted(
        [sorted([ids["one"], ids["two"]]), [ids["other"]]]
    )

    assert strata("db", "refresh").out == "3 fingerprints made anew\n"
    assert fingerprints(database_urls.superuser, home) == made
    assert strata("db", "refresh").out == "0 fingerprints made anew\n"

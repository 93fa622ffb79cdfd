"""`strata memory`, `profile` and `recall` in this process."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest


def test_an_import_is_found_by_recall_and_repeating_it_stores_nothing(
    strata: Any, home: Any, notes: Path
) -> None:
    first = strata("memory", "import", notes, "--profile", home.profile, "--json")
    assert first.code == 0, first.err
    assert (first.json["files"], first.json["items"]) == (3, 5)
    assert (first.json["stored"], first.json["duplicates"], first.json["failed"]) == (5, 0, 0)

    again = strata("memory", "import", notes, "--profile", home.profile, "--json")
    assert (again.json["stored"], again.json["duplicates"], again.json["failed"]) == (0, 5, 0)

    answer = strata("recall", "who owns billing", "--profile", home.profile, "--json").json
    hit = answer["results"][0]["fragment"]
    assert hit["content"] == "Billing is owned by Edda."
    assert (hit["source"], hit["metadata"]) == ("deep/b.txt", {"path": "deep/b.txt", "lines": "1-1"})


def test_provenance_and_fields_are_stored(strata: Any, home: Any, notes: Path) -> None:
    strata("memory", "import", notes, "--profile", home.profile)
    listed = strata("memory", "list", "--profile", home.profile, "--json").json
    by_content = {fragment["content"]: fragment for fragment in listed}
    assert set(by_content) == {
        "# Retries\n\nAt most three attempts.",
        "## Budget\n\nTen seconds a request.",
        "Billing is owned by Edda.",
        "Hosting\nPayments run in eu-north.",
        "Deploys stop on Friday at noon.",
    }
    budget = by_content["## Budget\n\nTen seconds a request."]
    assert budget["metadata"] == {"path": "a.md", "lines": "5-7", "headings": ["Retries", "Budget"]}
    assert budget["source_type"] == "document"
    assert by_content["Hosting\nPayments run in eu-north."]["idempotency_key"] == "r1"
    assert by_content["Deploys stop on Friday at noon."]["labels"] == ["policy"]


def test_bad_rows_are_named_and_counted_and_the_rest_is_stored(
    strata: Any, home: Any, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        '{"id": "a", "text": "first"}\n{"id": "b", "text": "second", "mood": "good"}\n'
        '{"id": "a", "text": "another text under the same id"}\n{"text": "first"}\n'
    )
    outcome = strata("memory", "import", rows, "--profile", home.profile, "--json")
    assert outcome.code == 1
    summary = outcome.json
    assert (summary["stored"], summary["duplicates"], summary["failed"]) == (1, 1, 2)
    assert [(error["location"], error["reason"]) for error in summary["errors"]] == [
        (f"{rows}:2", "mood is not a known field; data of your own goes under metadata"),
        (f"{rows}:3", "this idempotency_key belongs to another content"),
    ]
    assert f"refused {rows}:2: mood is not a known field" in outcome.err


def test_a_named_file_that_is_no_text_is_an_error_but_one_in_a_folder_is_not(
    strata: Any, home: Any, notes: Path
) -> None:
    (notes / "bad.txt").write_bytes(b"\xff\xfe\x00")
    folder = strata("memory", "import", notes, "--profile", home.profile)
    assert folder.code == 0
    assert f"binary, no text: {notes}/bad.txt" in folder.out
    named = strata("memory", "import", notes / "bad.txt", "--profile", home.profile)
    assert named.code == 1
    assert f"refused {notes}/bad.txt: binary, no text" in named.err


def test_a_dry_run_checks_and_stores_nothing(strata: Any, home: Any, notes: Path) -> None:
    outcome = strata("memory", "import", notes, "--profile", home.profile, "--dry-run")
    assert outcome.code == 0
    assert "to store           5" in outcome.out
    assert strata("memory", "list", "--profile", home.profile, "--json").json == []


@pytest.mark.parametrize("size", [1, 2, 1_000])
def test_every_batch_size_stores_the_same(strata: Any, home: Any, notes: Path, size: int) -> None:
    outcome = strata("memory", "import", notes, "--profile", home.profile, "--batch-size", size, "--json")
    assert (outcome.code, outcome.json["stored"]) == (0, 5)


def test_a_profile_is_found_by_its_id_alone_or_in_the_named_team(strata: Any, home: Any, notes: Path) -> None:
    other = f"team {uuid4()}"
    strata("team", "create", other)
    assert strata("memory", "list", "--profile", home.profile, "--team", home.team).code == 0
    wrong = strata("memory", "import", notes, "--profile", home.profile, "--team", other)
    assert wrong.code == 1
    assert "no such profile (not_found)" in wrong.err
    unknown = strata("memory", "list", "--profile", uuid4())
    assert (unknown.code, "no such profile" in unknown.err) == (1, True)


def test_listing_is_filtered_and_limited(strata: Any, home: Any, notes: Path) -> None:
    strata("memory", "import", notes, "--profile", home.profile)
    listing = ("memory", "list", "--profile", home.profile)
    assert len(strata(*listing, "--limit", 2, "--json").json) == 2
    assert len(strata(*listing, "--limit", 0, "--json").json) == 5
    assert len(strata(*listing, "--source-type", "document", "--json").json) == 3
    assert len(strata(*listing, "--label", "policy", "--json").json) == 1
    assert strata(*listing, "--created-to", "2020-01-01", "--json").json == []
    assert "More than 2; see more with --limit." in strata(*listing, "--limit", 2).out
    bad = strata(*listing, "--created-to", "2020-01-01T00:00:00")
    assert (bad.code, "must have a UTC offset" in bad.err) == (2, True)


def test_a_retracted_fragment_is_shown_and_not_recalled(strata: Any, home: Any, notes: Path) -> None:
    strata("memory", "import", notes, "--profile", home.profile)
    at = ("--profile", home.profile)
    found = strata("recall", "billing", *at, "--limit", 1, "--json").json["results"][0]["id"]
    assert strata("memory", "retract", found, *at).out == f"{found} is retracted\n"
    shown = strata("memory", "show", found, *at)
    assert "Billing is owned by Edda." in shown.out
    assert "retracted" in shown.out
    assert strata("memory", "show", found, *at, "--json").json["status"] == "retracted"
    assert found not in [hit["id"] for hit in strata("recall", "billing", *at, "--json").json["results"]]
    assert strata("memory", "list", *at, "--status", "retracted", "--json").json[0]["id"] == found
    missing = strata("memory", "retract", uuid4(), *at)
    assert (missing.code, "no such fragment" in missing.err) == (1, True)


def test_recall_prints_a_table_and_an_explanation(strata: Any, home: Any, notes: Path) -> None:
    strata("memory", "import", notes, "--profile", home.profile)
    table = strata("recall", "retry attempts", "--profile", home.profile)
    assert table.code == 0
    assert "At most three attempts." in table.out
    for policy in ("strata-v1", "documented-v1"):
        explained = strata(
            "recall", "retry attempts", "--profile", home.profile, "--explain", "--policy", policy
        )
        assert "words that count: attempt" in explained.out
        assert "5 candidates; every vector compared" in explained.out


def test_recall_judges_its_arguments_as_the_api_does(strata: Any, home: Any) -> None:
    at = ("--profile", home.profile)
    assert strata("recall", "anything", *at).out == "Nothing found.\n"
    blank = strata("recall", " ", *at)
    assert (blank.code, "query must not be blank" in blank.err) == (1, True)
    assert strata("recall", "x", *at, "--limit", 51).code == 1
    assert strata("recall", "x", *at, "--policy", "none").code == 2
    assert strata("recall", "x", *at, "--valid-at", "then").code == 2


def test_validity_narrows_recall(strata: Any, home: Any, tmp_path: Path) -> None:
    rows = tmp_path / "owners.jsonl"
    rows.write_text(
        '{"text": "Billing is owned by Bram.", "valid_to": "2026-04-01T00:00:00Z"}\n'
        '{"text": "Billing is owned by Edda.", "valid_from": "2026-04-01T00:00:00Z"}\n'
    )
    strata("memory", "import", rows, "--profile", home.profile)
    question = ("recall", "who owns billing", "--profile", home.profile, "--json", "--valid-at")
    for day, owner in (("2026-03-31", "Bram"), ("2026-04-01", "Edda")):
        found = [hit["fragment"]["content"] for hit in strata(*question, day).json["results"]]
        assert found == [f"Billing is owned by {owner}."]


def test_profiles_are_created_and_listed(strata: Any, home: Any) -> None:
    created = strata(
        "profile", "create", "日本", "--team", home.team, "--text-search-config", "simple", "--json"
    ).json
    listed = strata("profile", "list", "--team", home.team, "--json").json
    assert [profile["name"] for profile in listed] == ["notes", "日本"]
    assert listed[1] == created
    assert created["text_search_config"] == "simple"
    taken = strata("profile", "create", "NOTES", "--team", home.team)
    assert (taken.code, "name_taken" in taken.err) == (1, True)
    unknown = strata("profile", "create", "x", "--team", home.team, "--text-search-config", "klingon")
    assert (unknown.code, "text_search_config must be one of" in unknown.err) == (1, True)
    assert "Give --team" in strata("profile", "list").err
    assert "name must not be blank" in strata("profile", "create", " ", "--team", home.team).err


def test_a_server_needs_a_key_and_must_answer(strata: Any, home: Any) -> None:
    at = ("memory", "list", "--profile", home.profile, "--url")
    assert "Set STRATA_API_KEY" in strata(*at, "http://127.0.0.1:9").err
    nobody = strata(*at, "http://127.0.0.1:9", "--key", "k")
    assert (nobody.code, "nothing answers at http://127.0.0.1:9" in nobody.err) == (1, True)
    assert "error" in strata(*at, "nonsense", "--key", "k").err

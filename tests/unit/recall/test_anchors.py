"""Every example and counter-example of the three anchor sets, and what must hold of any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recall import anchors

NATURAL = (
    "TCR/CD3", "H2A.Z", "Smc5/6", "Fz/PCP-dependent", "interleukin-2", "α-MyHC/CFA", "singer/songwriter",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("PR #56", "pr-56"),
        ("pull request 7", "pr-7"),
        ("pr_number: 12", "pr-12"),
        ("gh_issue-9", "pr-9"),
        ("pr56", "pr-56"),
        ("pull 3 records", "pr-3"),
        ("issue 2 warnings", "pr-2"),
        ("2e4b0cc", "2e4b0cc"),
        ("v1.2.3", "v1.2.3"),
        ("v1.2.3-rc.1", "v1.2.3-rc.1"),
        ("feedback:read", "feedback:read"),
        ("recall_memory", "recall_memory"),
        (".textlintrc.json", ".textlintrc.json"),
        ("scripts/ci-check.sh", "scripts/ci-check.sh"),
        ("exp/foo-bar", "exp/foo-bar"),
        (".github/workflow", ".github/workflow"),
        ("src\\app\\main", "src/app/main"),
    ],
)
def test_hard_anchors(text, anchor):
    assert anchors.hard(text) == (anchor,)
    assert anchor in anchors.ranking(text)


@pytest.mark.parametrize(
    "text", [*NATURAL, "v2", "#56", "PROJ-123", "SHP-2", "ordinary words", "https://example.org"]
)
def test_natural_language_forms_are_no_hard_anchors(text):
    assert anchors.hard(text) == ()


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("job UNT-013", "unt-013"),
        ("service OBS-001", "obs-001"),
        ("account TMP-001", "tmp-001"),
        ("queue NEG-001", "neg-001"),
        ("issue DM-412", "dm-412"),
        ("service TIER-M-001", "tier-m-001"),
        ("ticket: #AB-12", None),
        ("task #AB-12", "ab-12"),
        ("thumbs.db", "thumbs.db"),
        ("smsvchost.exe", "smsvchost.exe"),
    ],
)
def test_ranking_anchors(text, anchor):
    assert anchors.ranking(text) == (() if anchor is None else (anchor,))
    assert anchors.hard(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "MicroRNA", "mRNAs", "miRNA", "SHP-2", "U.S.", "singer/songwriter", "PROJ-123", "policy TMP-001",
        "runbook AUT-001", "tenant CND-001", "notice RET-001",
    ],
)  # fmt: skip
def test_counter_examples_of_ranking_anchors(text):
    assert anchors.ranking(text) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SHP-2", ("shp-2",)),
        ("TCR/CD3", ("tcr/cd3",)),
        ("U.S.", ("u.s",)),
        ("ordinary words", ()),
        ("miRNA", ()),
    ],
)
def test_strong_anchors_are_wider_than_ranking_ones(text, expected):
    assert anchors.strong(text) == expected


def test_broad_extraction_names_a_reference_twice():
    assert anchors.broad("PR #56") == ("pr-56", "#56")
    assert anchors.broad("MicroRNA and v2 of U.S. teams") == ("microrna", "v2", "u.s")


@pytest.mark.parametrize("word", ["defaced", "effaced", "acceded", "20260710"])
def test_words_of_hexadecimal_letters_are_anchors_as_documented_and_none_by_the_exact_set(word):
    assert anchors.hard(word) == (word,)
    assert anchors.exact(word) == ()
    assert anchors.exact(f"commit {word}") == (word,)


def test_bare_keys_are_anchors_of_the_exact_set_alone():
    assert anchors.ranking("PROJ-123") == ()
    assert anchors.exact("what blocks PROJ-123?") == ("proj-123",)
    assert anchors.exact("SHP-2 and IL-6") == ()
    assert anchors.exact("PROJ-123", bare_keys=False) == ()


def test_the_exact_set_keeps_every_true_identifier():
    text = "PR #56, commit 2e4b0cc, v1.2.3, feedback:read, recall_memory, scripts/ci-check.sh, job UNT-013, thumbs.db"
    assert set(anchors.exact(text)) == set(anchors.ranking(text))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("What failed in UNT-013?", ("UNT-013",)),
        ("job abc1 of 2026-07-10", ("abc1",)),
        ("feedback:read", ()),
        ("recall_memory", ()),
        ("abc", ()),
        ("a1b", ()),
    ],
)
def test_the_legacy_detector(text, tokens):
    assert anchors.legacy(text) == tokens


def test_legacy_tokens_match_as_whole_tokens_and_always_without_any():
    assert anchors.legacy_match(("UNT-013",), "the job unt-013, again")
    assert not anchors.legacy_match(("UNT-013",), "the job UNT-0134")
    assert anchors.legacy_match((), "anything")


def test_a_text_holds_an_anchor_in_any_spelling_and_never_a_neighbour():
    text = anchors.AnchorText("See pull request 56 in scripts\\ci-check.sh for job UNT-013.")
    assert text.holds_all(("pr-56", "scripts/ci-check.sh", "unt-013"))
    assert not text.holds_any(("pr-5", "unt-01", "unt-0134", "check.sh.bak"))


@given(st.text(max_size=200))
def test_the_sets_are_nested_and_a_text_holds_its_own_anchors(text):
    broad, hard, ranking = anchors.broad(text), anchors.hard(text), anchors.ranking(text)
    assert set(hard) <= set(ranking)
    assert set(hard) <= set(broad)
    assert set(anchors.strong(text)) <= set(broad)
    assert anchors.AnchorText(text).holds_all(broad)
    assert all(token == anchors.normal(token) for token in hard)

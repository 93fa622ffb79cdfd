"""Question words are told apart from what is asked for."""

import pytest

from app.lexical.analysis import Analyzer
from app.lexical.questions import QUESTION_WORDS
from app.lexical.words import CONFIGURATIONS


@pytest.mark.parametrize(
    ("question", "asked_for"),
    [
        ("what did we decide about retries", {"decid", "retri"}),
        ("Who owns billing now?", {"own", "bill", "now"}),
        ("Why doesn't the build pass?", {"build", "pass"}),
        ("When was Marie's flight?", {"mari", "flight"}),
    ],
)
def test_asked_for_are_the_terms_that_are_no_question_words(question: str, asked_for: set[str]) -> None:
    analyzed = Analyzer.for_config("english").query(question)
    assert set(analyzed.terms) - analyzed.asking == asked_for


def test_a_name_that_looks_like_a_question_word_elsewhere_is_asked_for() -> None:
    analyzed = Analyzer.for_config("english").query("what is WHO-12 about")
    assert "=who-12" not in analyzed.asking
    assert "=who-12" in analyzed.terms


def test_other_languages_have_their_own_words() -> None:
    german = Analyzer.for_config("german").query("Wer hat die Rechnung bezahlt?")
    assert set(german.terms) - german.asking == {"rechnung", "bezahlt"}


def test_a_configuration_without_a_list_drops_nothing() -> None:
    assert Analyzer.for_config("simple").query("who are you").asking == frozenset()


def test_lists_belong_to_configurations_that_exist() -> None:
    assert set(QUESTION_WORDS) <= CONFIGURATIONS

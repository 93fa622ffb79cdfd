import pytest

from app.lexical.stopwords import STOP_WORDS
from app.lexical.words import CONFIGURATIONS, WordAnalyzer

SIMPLE = WordAnalyzer("simple")


def slots(analyzer, text):
    return [slot for token in analyzer.tokens(text) for slot in token.slots]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000 of 12,34", [("1000",), ("of",), ("12",), ("34",)]),
        ("0.05 v1.6.2", [("0.05",), ("v1", "1"), ("6",), ("2",)]),
        ("U.S. e.g.", [("us",), ("eg",)]),
        ("what's we're don't", [("what",), ("we",), ("dont",)]),
        ("O'Brien", [("o", "obrien"), ("brien",)]),
        ("e-mail", [("e", "email"), ("mail",)]),
        ("PROJ-123", [("proj",), ("123",)]),
        ("user_id", [("user",), ("id",)]),
        ("HTTPServerError", [("httpservererror", "http"), ("server",), ("error",)]),
        ("mRNAs B12", [("mrnas", "rnas"), ("b12", "12")]),
        ("größterWert", [("großterwert".replace("ß", "ss"), "grosster"), ("wert",)]),
        ("हिन्दी भाषा", [("हिन्दी",), ("भाषा",)]),
    ],
)
def test_words_and_parts(text, expected):
    assert slots(SIMPLE, text) == expected


def test_a_joined_word_stands_at_the_first_piece_that_is_no_stop_word():
    assert slots(WordAnalyzer("english"), "on-line") == [("line", "onlin")]
    assert slots(WordAnalyzer("english"), "as-is") == [("asi",)]


def test_a_stop_word_is_a_token_without_slots():
    assert [(token.surface, token.slots) for token in WordAnalyzer("english").tokens("The end")] == [
        ("The", ()),
        ("end", (("end",),)),
    ]


def test_an_accent_that_decides_about_the_stem_gives_both_stems():
    assert WordAnalyzer("french").terms("première") == ("premi", "premier")
    assert WordAnalyzer("french").terms("général") == ("general",)
    assert WordAnalyzer("english").terms("résumés") == WordAnalyzer("english").terms("resumes")


def test_stop_word_lists_belong_to_configurations_and_are_short():
    assert set(STOP_WORDS) < CONFIGURATIONS
    assert len(STOP_WORDS["english"]) == 33
    assert max(map(len, STOP_WORDS.values())) < 100

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lexical.scripts import Script, bigrams, emoji_bases, script_of, segments, units


def test_segments_separate_unspaced_scripts_from_the_rest():
    assert segments("配置的rerank精排ok") == [
        ("cjk", "配置的"),
        ("other", "rerank"),
        ("cjk", "精排"),
        ("other", "ok"),
    ]
    assert segments("สวัสดีhi") == [("sea", "สวัสดี"), ("other", "hi")]
    assert segments("ロボット・한국어") == [("cjk", "ロボット"), ("other", "・"), ("cjk", "한국어")]
    assert segments("no unspaced script") == [("other", "no unspaced script")]


def test_emoji_sequences_are_segments_of_their_own():
    assert segments("a👩\u200d🔬👍🏽🇩🇪b") == [
        ("other", "a"),
        ("emoji", "👩\u200d🔬"),
        ("emoji", "👍🏽"),
        ("emoji", "🇩🇪"),
        ("other", "b"),
    ]
    assert emoji_bases("👩🏽\u200d🔬") == ["👩", "🔬"]
    assert emoji_bases("🇩🇪") == ["🇩🇪"]


def test_a_unit_keeps_its_combining_marks():
    assert units("สวัสดี") == ["ส", "วั", "ส", "ดี"]
    assert bigrams(units("สวัสดี")) == ["สวั", "วัส", "สดี"]
    assert bigrams(["一"]) == []


@pytest.mark.parametrize(
    ("token", "script"),
    [
        ("word", Script.LATIN),
        ("élan", Script.LATIN),
        ("42", Script.DIGIT),
        ("мир", Script.CYRILLIC),
        ("λόγος", Script.GREEK),
        ("كتاب", Script.ARABIC),
        ("שלום", Script.HEBREW),
        ("学习", Script.HAN),
        ("ータ", Script.KANA),
        ("한국", Script.HANGUL),
        ("ไทย", Script.SOUTH_EAST_ASIAN),
        ("🔬", Script.EMOJI),
        ("हिन्दी", Script.OTHER),
        ("", Script.OTHER),
    ],
)
def test_script_of(token, script):
    assert script_of(token) is script


@given(st.text(alphabet=st.characters(codec=None)))
def test_segments_lose_nothing(text):
    assert "".join(run for _, run in segments(text)) == text

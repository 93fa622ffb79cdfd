import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lexical.normalize import casefold, clean, fold

ANY_TEXT = st.text(alphabet=st.characters(codec=None))


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("plain ASCII `code`", "plain ASCII `code`"),
        ("ＰＯＳＴＧＲＥＳ　１８", "POSTGRES 18"),
        ("ﾃﾞｰﾀﾍﾞｰｽ", "データベース"),
        ("ﬁle oﬃce", "file office"),
        ("cafe\u0301", "café"),
        ("What\u2019s l\u2018eau O\u02bcBrien", "What's l'eau O'Brien"),
        ("co\u00adopera\u200btion\ufeff", "cooperation"),
        ("\u202eabc\u202c", "abc"),
        ("كـــتاب", "كتاب"),
        ("Foo™ Bar®", "Foo  Bar "),
        ("❤\ufe0f", "❤"),
        ("👩\u200d🔬 a\u200db", "👩\u200d🔬 ab"),
    ],
)
def test_clean(raw, cleaned):
    assert clean(raw) == cleaned


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
        ("Café", "cafe"),
        ("Ærøskøbing", "aeroskobing"),
        ("Łódź", "lodz"),
        ("Đà", "da"),
        ("ёлка", "елка"),
        ("мой", "мой"),
        ("كِتَابٌ", "كتاب"),
        ("کتابی", "كتابي"),
        ("שָׁלוֹם", "שלום"),
        ("हिन्दी", "हिन्दी"),
        ("٢٠٢٤", "2024"),
    ],
)
def test_case_and_accents_fold_to_one_form(word, folded):
    assert fold(casefold(clean(word))) == folded


@given(ANY_TEXT)
def test_no_text_raises_and_folding_twice_changes_nothing(text):
    folded = fold(casefold(clean(text)))
    assert fold(folded) == folded


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing(text):
    once = clean(text)
    assert clean(once) == once

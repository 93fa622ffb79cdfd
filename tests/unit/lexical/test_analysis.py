from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lexical.analysis import MAX_POSITION, MAX_POSITIONS, Analyzer
from app.lexical.scripts import Script
from app.lexical.words import CONFIGURATIONS

ENGLISH = Analyzer.for_config("english")
SIMPLE = Analyzer.for_config("simple")
ANY_TEXT = st.text(alphabet=st.characters(codec=None))
WORDY = st.lists(
    st.sampled_from(
        ["PR", "56", "#56", "user_id", "getUserById", "the", "Café", "O'Brien", "don't", "机器学习", "一", "สวัสดี", "👩\u200d🔬", "👍🏽",
         "v1.6.2", "C++", "1,000", "U.S.", "http", "503", "https://a.example/b", "\ud83d", "x" * 3000, "Straße", "mRNAs", ".", "a/b"]
    )
).map(" ".join)  # fmt: skip


def matches(analyzer, text, question):
    return bool(set(analyzer.query(question).terms) & set(analyzer.document(text).lexemes))


def test_words_are_stemmed_and_stop_words_dropped():
    document = ENGLISH.document("The engines of the aircraft are running")
    assert document.lexemes == {"engin": [1], "aircraft": [2], "run": [3]}
    assert document.length == 3


def test_simple_keeps_every_word_as_it_is():
    assert SIMPLE.document("The engines").lexemes == {"the": [1], "engines": [2]}


def test_parts_of_a_compound_stand_beside_the_whole():
    assert ENGLISH.document("user_id").lexemes == {"=user_id": [1], "user": [1], "id": [2]}
    camel = ENGLISH.document("getUserById")
    assert camel.lexemes == {"=getuserbyid": [1], "getuserbyid": [1], "get": [1], "user": [2], "id": [3]}
    assert camel.length == 3
    assert matches(ENGLISH, "utf8 text", "utf-8")


def test_a_query_scores_a_camel_case_name_once_and_fetches_it():
    query = ENGLISH.query("NullPointerException")
    assert query.terms == ("nullpointerexcept", "null", "pointer", "except")
    assert query.identifiers == ("=nullpointerexception",)


def test_secondary_terms_are_found_but_neither_lengthen_nor_repeat():
    document = ENGLISH.document("deploy failed", ["deploy.log", "ci", "ci"])
    assert document.length == 2
    assert document.lexemes["deploy"] == [1]
    assert document.lexemes["=deploy.log"] == [3]
    assert document.lexemes["ci"] == [5]
    assert document.secondary == {"=deploy.log", "log", "ci"}


@pytest.mark.parametrize(
    "text", ["the", "to be or not to be", "", "   ", "?!", "(", ":*", "&", "|", "\\", "<->", "\u200b"]
)
def test_stop_words_and_punctuation_alone_ask_for_nothing(text):
    assert ENGLISH.query(text).terms == ()


def test_query_counts():
    query = ENGLISH.query("What is the 配置 of rerank, rerank?")
    assert query.terms == ("what", "配置", "rerank")
    assert query.counts == (1, 1, 2)
    assert query.groups == (("what",), ("配置",), ("rerank",), ("rerank",))
    assert (query.tokens, query.stop_words, query.single_characters) == (7, 3, 0)
    assert query.scripts == {Script.LATIN: 6, Script.HAN: 1}
    assert ENGLISH.query("x y word z").single_character_share == 0.75
    assert ENGLISH.query("").single_character_share == 0.0


def test_unspaced_scripts_are_stored_as_bigrams_and_unigrams_and_asked_as_bigrams():
    document = ENGLISH.document("机器学习")
    assert document.lexemes == {
        "机器": [1],
        "机": [1],
        "器学": [2],
        "器": [2],
        "学习": [3],
        "学": [3],
        "习": [3],
    }
    assert document.length == 3
    assert ENGLISH.query("机器学习").terms == ("机器", "器学", "学习")
    assert ENGLISH.query("学").terms == ("学",)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("机器学习算法", "学习"),
        ("我们最近配置的 rerank 精排是什么模型", "rerank"),
        ("我们最近配置的rerank精排是什么模型", "精排"),
        ("データベースを設計する", "ﾃﾞｰﾀ"),
        ("한국어 검색", "검색"),
        ("ภาษาไทยและอังกฤษ", "ไทย"),
        ("meet at the café", "CAFE"),
        ("meet at the cafe", "café"),
        ("Die Straße ist nass", "strasse"),
        ("İstanbul", "istanbul"),
        ("O’Brien called", "obrien"),
        ("O'Brien called", "o’brien"),
        ("What’s your password policies?", "what"),
        ("we don’t know", "dont know"),
        ("the U.S. office", "US"),
        ("at 5 p.m. sharp", "pm"),
        ("send an e-mail", "email"),
        ("send an email", "e-mails"),
        ("they co-operate", "cooperation"),
        ("the on-line shop", "online"),
        ("PROJ\u2011123 is done", "PROJ-123"),
        ("1,000 genomes", "1000 genome"),
        ("great work 👍🏽", "👍"),
        ("a scientist 👩\u200d🔬", "👩\u200d🔬"),
        ("love ❤\ufe0f", "❤"),
        ("السَّلامُ عليكم", "السلام"),
        ("שָׁלוֹם", "שלום"),
        ("team:foobar", "foobar"),
        ("in interleukin-2 therapy", "interleukin"),
        ("a singer/songwriter", "songwriters"),
        ("merged in pull request 56", "PR #56"),
    ],
)
def test_storing_and_asking_meet(text, question):
    assert matches(ENGLISH, text, question)


@pytest.mark.parametrize(
    ("config", "text", "question"),
    [
        ("german", "Häuser am See", "Haus"),
        ("german", "Häuser am See", "hauser"),
        ("french", "une soirée passée", "soiree"),
        ("french", "l’eau minérale", "eau"),
        ("spanish", "las canciones", "cancion"),
        ("russian", "новые книги", "книга"),
        ("turkish", "IŞIK", "ışık"),
        ("turkish", "İSTANBUL'da", "istanbul"),
        ("turkish", "ID-123 KAYDI", "id-123"),
        ("arabic", "الكِتَاب", "كتاب"),
    ],
)
def test_other_languages(config, text, question):
    assert matches(Analyzer.for_config(config), text, question)


def test_frequency_survives_the_position_limits():
    document = SIMPLE.document("word " * 300 + "filler " * 17_000 + "late late late")
    assert document.length == 17_303
    assert len(document.lexemes["word"]) == MAX_POSITIONS
    assert document.lexemes["late"] == [MAX_POSITION - 2, MAX_POSITION - 1, MAX_POSITION]


def test_the_vector_stays_below_a_megabyte():
    document = SIMPLE.document(" ".join(f"{'x' * 90}{number}" for number in range(15_000)))
    size = sum(len(term.encode()) + 6 + 4 + 2 * len(places) for term, places in document.lexemes.items())
    assert 900_000 < size <= 1_000_000
    assert document.length == 30_000


def test_unknown_configuration_lists_the_valid_ones():
    with pytest.raises(
        ValueError, match=r"unknown text-search configuration 'klingon'; valid: arabic, .*, yiddish"
    ):
        Analyzer.for_config("klingon")


def test_every_configuration_analyses():
    assert {
        name for name in CONFIGURATIONS if Analyzer.for_config(name).query("Berlin 2024").terms
    } == CONFIGURATIONS
    assert Analyzer.for_config("english") is ENGLISH


def test_threads_share_an_analyzer():
    texts = [
        f"running engines {number} of aeroplanes and relational databases item{number}"
        for number in range(400)
    ]
    expected = [Analyzer("english").document(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(Analyzer("english").document, texts)) == expected


@pytest.mark.parametrize("config", ["english", "simple", "french", "turkish", "german"])
@given(text=ANY_TEXT | WORDY)
def test_every_text_finds_itself(config, text):
    analyzer = Analyzer.for_config(config)
    query, document = analyzer.query(text), analyzer.document(text)
    assert set(query.terms) <= set(document.lexemes)
    assert set(query.identifiers) <= set(document.lexemes)
    assert {term for group in query.groups for term in group} <= set(query.terms)
    assert len(query.terms) == len(set(query.terms)) == len(query.counts)
    assert query.tokens >= query.stop_words


@given(content=ANY_TEXT | WORDY, secondary=st.lists(ANY_TEXT | WORDY, max_size=3))
def test_documents_respect_the_limits_of_a_tsvector(content, secondary):
    document = ENGLISH.document(content, secondary)
    for term, positions in document.lexemes.items():
        assert 0 < len(term.encode()) <= 2_040
        assert "\0" not in term
        assert positions == sorted(set(positions))
        assert positions[0] >= 1
        assert positions[-1] <= MAX_POSITION
        assert len(positions) <= MAX_POSITIONS
    assert document == Analyzer("english").document(content, secondary)
    assert document.length == ENGLISH.document(content).length

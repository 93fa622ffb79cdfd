"""The synthetic corpus."""

from collections import Counter

import pytest

from app.bench.corpus import COMMON, LONG_QUESTION, QUERY_KINDS, Corpus, QueryKind, identifier


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus(seed=7)


def test_the_same_seed_gives_the_same_texts(corpus: Corpus) -> None:
    again = Corpus(seed=7)
    texts = corpus.fragments(50)
    assert again.fragments(50) == texts
    for kind in QUERY_KINDS:
        assert again.questions(kind, 5, texts) == corpus.questions(kind, 5, texts)
    assert Corpus(seed=8).fragments(50) != texts


def test_fragments_have_eight_to_twenty_words_and_every_fourth_an_identifier(corpus: Corpus) -> None:
    texts = corpus.fragments(400)
    assert len(set(texts)) == 400
    for index, text in enumerate(texts):
        named = identifier(index) in text
        assert named == (index % 4 == 0)
        words = text.replace(identifier(index), "").split() if named else text.split()
        assert 8 <= len(words) <= 20


def test_identifiers_differ_by_fragment() -> None:
    made = [identifier(index) for index in range(0, 4_000, 4)]
    assert len(set(made)) == 1_000
    assert made[:3] == ["KIT-1000", "v4.1004.2", "order_id_1008"]


def test_words_follow_zipfs_law(corpus: Corpus) -> None:
    assert len(set(corpus.vocabulary)) == 20_000
    texts = corpus.fragments(4_000)
    counts = Counter(word for text in texts for word in text.rstrip(".").lower().split())
    first, tenth, hundredth = (counts[corpus.vocabulary[rank - 1]] for rank in (1, 10, 100))
    assert 8 < first / tenth < 12
    assert 8 < tenth / hundredth < 12


def test_later_fragments_do_not_repeat_the_first(corpus: Corpus) -> None:
    assert not set(corpus.fragments(200)) & set(corpus.fragments(200, first=200))


@pytest.mark.parametrize("kind", QUERY_KINDS)
def test_questions_are_distinct(corpus: Corpus, kind: QueryKind) -> None:
    asked = corpus.questions(kind, 150, corpus.fragments(500))
    assert len(set(asked)) == 150


def test_every_word_of_a_common_question_is_common(corpus: Corpus) -> None:
    common = set(corpus.vocabulary[:COMMON])
    for question in corpus.questions("common words", 50, []):
        assert set(question.split()) <= common
        assert len(question.split()) >= 3


def test_rare_words_come_from_a_fragment(corpus: Corpus) -> None:
    texts = corpus.fragments(300)
    stored = {word for text in texts for word in text.rstrip(".").lower().split()}
    ranks = {word: rank for rank, word in enumerate(corpus.vocabulary)}
    for question in corpus.questions("rare words", 50, texts):
        words = question.split()
        assert len(words) == 3
        assert set(words) <= stored
        assert ranks[words[-1]] >= 50


def test_an_identifier_question_names_a_stored_identifier(corpus: Corpus) -> None:
    stored = {identifier(index) for index in range(0, 300, 4)}
    for question in corpus.questions("identifier", 50, corpus.fragments(300)):
        assert sum(name in question for name in stored) >= 1


def test_a_long_question_is_long_and_fits_the_route(corpus: Corpus) -> None:
    for question in corpus.questions("long question", 20, []):
        assert len(question.split()) == LONG_QUESTION
        assert len(question) <= 4_096

import hashlib
import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from app.embeddings.hash_backend import CACHED_GRAMS, HashEmbedder
from app.embeddings.protocol import check_vectors

ANY_TEXT = st.text(st.characters(), max_size=60)  # lone surrogates too


@pytest.fixture(scope="module")
def embedder():
    return HashEmbedder()


def nonzero(vector):
    return {int(index): round(float(vector[index]), 6) for index in np.flatnonzero(vector)}


@pytest.mark.parametrize(("text", "bucket"), [("", 62), ("a", 33), ("ab", 32), ("abc", 50)])
def test_golden_single_grams(embedder, text, bucket):
    assert nonzero(embedder.embed_query([text])[0]) == {bucket: 1.0}


def test_golden_sentence(embedder):
    plus, minus = 0.258199, -0.258199
    assert nonzero(embedder.embed_documents(["Alice prefers tea"])[0]) == {
        17: plus,
        21: minus,
        24: plus,
        30: minus,
        32: minus,
        36: -0.516398,
        43: plus,
        46: minus,
        50: plus,
        52: plus,
        53: plus,
        59: plus,
    }


def recipe(text):
    """hotmem-hash-v1 step by step."""
    text = text.lower()
    buckets = [0.0] * 64
    for start in range(max(1, len(text) - 2)):
        digest = hashlib.md5(text[start : start + 3].encode(), usedforsecurity=False).digest()
        buckets[digest[15] & 63] += -1.0 if digest[7] & 1 else 1.0
    norm = math.sqrt(sum(value * value for value in buckets))
    return [value / norm if norm else 0.0 for value in buckets]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
@example("İstanbul naïve ÅNGSTRÖM")
@example("机器学习算法 and 😀")
def test_follows_the_recipe(embedder, text):
    expected = recipe(text)
    assume(any(expected))
    assert embedder.embed_query([text])[0].tolist() == np.asarray(expected, dtype=np.float32).tolist()


@given(st.lists(ANY_TEXT, min_size=1, max_size=8))
@example(["a\ud83d b", "<|endoftext|>", "a\x00b"])
def test_any_text_has_length_one_and_no_batch_changes_it(embedder, texts):
    vectors = check_vectors(embedder.embed_documents(texts), 64, len(texts), normalized=True)
    for text, vector in zip(texts, vectors, strict=True):
        assert HashEmbedder().embed_query([text])[0].tobytes() == vector.tobytes()


def test_grams_that_cancel_each_other_count_as_one_gram(embedder):
    letters = "abcdefghij"
    texts = [a + b + c + d for a in letters for b in letters for c in letters for d in letters]
    cancelled = [text for text in texts if not any(recipe(text))]
    assert 30 < len(cancelled) < 200  # about one in 128
    for text, vector in zip(cancelled, embedder.embed_documents(cancelled), strict=True):
        digest = hashlib.md5(text.encode(), usedforsecurity=False).digest()
        assert nonzero(vector) == {digest[15] & 63: -1.0 if digest[7] & 1 else 1.0}


def test_the_gram_cache_is_bounded_and_survives_being_emptied():
    embedder = HashEmbedder()
    before = embedder.embed_query(["quiet"])[0].tobytes()
    codes = embedder._codes  # noqa: SLF001 - the bound has no other sign
    for number in range(CACHED_GRAMS + 10):
        codes[f"{number:07d}"]
    assert len(codes) <= CACHED_GRAMS
    assert embedder.embed_query(["quiet"])[0].tobytes() == before


def test_every_text_is_one_window_and_nothing_is_unknown(embedder):
    long = "x" * 70_000
    assert embedder.windows(["", long]) == [[""], [long]]
    assert embedder.token_statistics("机器学习").unknown_share == 0.0
    assert embedder.token_statistics("abcd").tokens == 2
    assert embedder.descriptor.key == "hotmem-hash-v1"


def test_no_texts_give_no_vectors(embedder):
    assert embedder.embed_documents([]).shape == (0, 64)

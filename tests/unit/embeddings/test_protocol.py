import numpy as np
import pytest

from app.embeddings.errors import EmbeddingError, InvalidVectorError
from app.embeddings.protocol import BatchLimit, TokenStatistics, check_vectors, replace_surrogates


def test_good_vectors_come_back_as_float32():
    vectors = check_vectors([[1, 0], [0.5, 0.5]], 2, 2)
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[1.0, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("array", "shape"),
    [
        ([[1.0, 2.0, 3.0]], r"\(1, 3\)"),
        ([[1.0, 2.0]] * 2, r"\(2, 2\)"),
        ([1.0, 2.0], r"\(2,\)"),
        ([], r"\(0,\)"),
    ],
)
def test_another_shape_is_refused_with_both_shapes(array, shape):
    with pytest.raises(EmbeddingError, match=rf"shape {shape}; expected \(1, 2\)"):
        check_vectors(array, 2, 1)


@pytest.mark.parametrize("array", [[[1.0], [1.0, 2.0]], [["x", "y"]]])
def test_no_array_of_numbers_is_refused(array):
    with pytest.raises(EmbeddingError, match="no rectangular array of numbers"):
        check_vectors(array, 2, len(array))


@pytest.mark.parametrize("bad", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [1e300, 1.0]])
def test_unusable_rows_are_named(bad):
    with pytest.raises(InvalidVectorError, match="2 of 4 vectors are unusable: row 1") as caught:
        check_vectors([[1.0, 0.0], bad, [0.0, 1.0], bad], 2, 4)
    assert caught.value.indexes == (1, 3)


def test_promised_length_one_is_checked():
    assert check_vectors([[1.0005, 0.0]], 2, 1, normalized=True).shape == (1, 2)
    with pytest.raises(InvalidVectorError, match=r"row 0 has length 1\.1"):
        check_vectors([[1.1, 0.0]], 2, 1, normalized=True)


def test_no_vectors_for_no_texts():
    assert check_vectors(np.empty((0, 2)), 2, 0).shape == (0, 2)


def test_token_shares():
    statistics = TokenStatistics(tokens=8, unknown=2, single_characters=4, lettered=5, letters=12)
    assert statistics.unknown_share == 0.25
    assert statistics.single_character_share == 0.5
    assert statistics.letters_per_token == 2.4
    assert TokenStatistics(tokens=3).letters_per_token is None
    assert TokenStatistics(tokens=0).unknown_share == 0.0
    assert TokenStatistics(tokens=0).single_character_share == 0.0


def test_batch_limit_counts_padding_and_always_admits_one_text():
    limit = BatchLimit(texts=3, characters=100)
    assert limit.admits(1, 5000)
    assert limit.admits(2, 50)
    assert not limit.admits(2, 51)
    assert not limit.admits(4, 1)


def test_lone_surrogates_are_replaced_one_for_one():
    assert replace_surrogates("deploy the \ud83d service\udc00") == "deploy the \ufffd service\ufffd"
    assert replace_surrogates("😀 stays") == "😀 stays"

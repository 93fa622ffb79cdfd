"""Synthetic vectors of the ANN section."""

import numpy as np

from app.bench.ann import clustered


def test_vectors_and_questions_are_unit_length_around_shared_centres() -> None:
    vectors, questions = clustered(np.random.default_rng(1), 1_000, 384, 50)
    assert vectors.shape == (1_000, 384)
    assert questions.shape == (50, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    similarities = questions @ vectors.T
    # Around the same centre .67 on average (1 / (1 + .7 ** 2)), elsewhere none.
    nearest = np.sort(similarities, axis=1)[:, -10:]
    assert 0.5 < float(nearest.mean()) < 0.8
    assert abs(float(np.median(similarities))) < 0.05

"""Embeddings remembered across runs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from app.bench.cached_embedder import CachedEmbedder
from app.embeddings.hash_backend import HashEmbedder
from app.embeddings.protocol import Vectors

TEXTS = ["Retries are capped at three.", "Backups run at night.", "Retries are capped at three."]


class CountingEmbedder(HashEmbedder):
    """The hash embedder, telling what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return super().embed_documents(texts)


def test_a_second_run_asks_for_what_is_new(tmp_path: Path) -> None:
    first = CountingEmbedder()
    cached = CachedEmbedder(first, tmp_path)
    vectors = cached.embed_documents(TEXTS)
    np.testing.assert_array_equal(vectors, HashEmbedder().embed_documents(TEXTS))
    assert first.asked == TEXTS[:2]
    cached.close()

    second = CountingEmbedder()
    cached = CachedEmbedder(second, tmp_path)
    np.testing.assert_array_equal(cached.embed_documents([*TEXTS, "New."])[:3], vectors)
    assert second.asked == ["New."]
    cached.close()


def test_everything_else_is_the_inner_embedders(tmp_path: Path) -> None:
    inner = HashEmbedder()
    for _ in range(2):
        cached = CachedEmbedder(inner, tmp_path)
        assert cached.descriptor == inner.descriptor
        assert cached.batch_limit == inner.batch_limit
        assert cached.windows(TEXTS) == inner.windows(TEXTS)
        assert cached.token_statistics(TEXTS[0]) == inner.token_statistics(TEXTS[0])
        assert cached.embed_documents([]).shape == (0, 64)
        cached.close()


def test_questions_and_documents_are_kept_apart(tmp_path: Path) -> None:
    class Shifted(HashEmbedder):
        def embed_query(self, texts: Sequence[str]) -> Vectors:
            return -super().embed_query(texts)

    cached = CachedEmbedder(Shifted(), tmp_path)
    np.testing.assert_array_equal(cached.embed_query(TEXTS), -cached.embed_documents(TEXTS))
    np.testing.assert_array_equal(cached.embed_query(TEXTS), -cached.embed_documents(TEXTS))
    cached.close()

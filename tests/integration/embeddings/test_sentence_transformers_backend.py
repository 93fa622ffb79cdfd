import asyncio
import itertools

import numpy as np
import pytest

from app.embeddings.protocol import check_vectors
from app.embeddings.sentence_transformers_backend import SentenceTransformersEmbedder
from app.embeddings.service import EmbeddingService

FILLER = (
    "The committee met on Tuesday and went through the minutes of the last meeting, which were accepted. "
    "The garden in front of the office was mown, and the new chairs for the canteen have arrived. "
)


@pytest.fixture(scope="module")
def minilm():
    embedder = SentenceTransformersEmbedder(threads=1)
    embedder.load()
    return embedder


def test_the_space_is_known_before_the_model_is_loaded():
    embedder = SentenceTransformersEmbedder()
    assert embedder.descriptor.key == "sentence-transformers/all-MiniLM-L6-v2/rev:sha256.53aa51172d14/norm:l2"
    assert embedder.descriptor.dimension == 384


def test_vectors_have_length_one_and_no_batch_changes_them(minilm):
    texts = [
        "tea",
        "Alice prefers tea to coffee.",
        FILLER * 3,
        "<|endoftext|>",
        "PROJ-123 failed",
        "机器学习算法",
    ]
    batch = check_vectors(minilm.embed_documents(texts), 384, 6, normalized=True)
    single = np.concatenate([minilm.embed_documents([text]) for text in texts])
    assert np.abs(batch - single).max() < 1e-6
    assert np.array_equal(minilm.embed_documents(texts), batch)
    assert minilm.embed_documents([]).shape == (0, 384)


def test_known_vector(minilm):
    assert minilm.embed_query(["hello"])[0][:4].tolist() == pytest.approx(
        [-0.06277183, 0.05495878, 0.05216484, 0.08579004], abs=1e-5
    )


def test_meaning_is_near(minilm):
    query = minilm.embed_query(["Who likes a hot drink?"])[0]
    near, far = minilm.embed_documents(["Alice prefers tea.", "The invoice was paid in March."])
    assert float(query @ near) > float(query @ far) + 0.1


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00\x01\x02",
        "a\ud83d b",
        "\udc00",
        "<|endoftext|>",
        "[PAD] [SEP] [UNK]",
        "x" * 5_000,
        "😀" * 600,
    ],
)
def test_odd_texts_do_not_raise(minilm, text):
    windows = minilm.windows([text])[0]
    assert windows[0] == text[: len(windows[0])]
    check_vectors(minilm.embed_documents(windows), 384, len(windows), normalized=True)
    assert minilm.token_statistics(text).tokens >= 0


def test_windows_fit_the_model_and_cover_the_text(minilm):
    text = FILLER * 40
    [windows] = minilm.windows([text])
    assert len(windows) == 8
    assert all(minilm.token_statistics(window).tokens <= 254 for window in windows)
    start = reached = 0
    for window in windows:
        start = text.rindex(window, start, reached + len(window))
        reached = start + len(window)
    assert reached == len(text)
    # Neighbours share words: the end of one is in the next.
    assert all(first[-60:] in second for first, second in itertools.pairwise(windows))


def test_a_text_of_exactly_the_window_is_one_window(minilm):
    assert len(minilm.windows(["word " * 254])[0]) == 1
    assert len(minilm.windows(["word " * 255])[0]) == 2


def test_what_stands_beyond_the_window_is_found(minilm):
    late = "Dr. Okafor keeps the spare key of the laboratory in the blue cupboard."
    text = FILLER * 12 + late + " " + FILLER * 2
    [windows] = minilm.windows([text])
    assert late not in windows[0]
    vectors = minilm.embed_documents(windows)
    cut = minilm.embed_documents([text])[0]
    query = minilm.embed_query(["Where is the key to the lab?"])[0]
    scores = vectors @ query
    assert late in windows[int(scores.argmax())]
    assert float(scores.max()) > float(query @ cut) + 0.2


def test_unknown_tokens_tell_that_the_model_cannot_read_the_text(minilm):
    assert minilm.token_statistics("Who owns billing now?").unknown_share == 0.0
    chinese = minilm.token_statistics("机器学习算法")
    assert (chinese.tokens, chinese.unknown, chinese.single_characters) == (6, 4, 6)


async def test_the_service_runs_the_model_off_the_event_loop(minilm):
    service = EmbeddingService(minilm)
    await service.start()
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.ensure_future(tick())
    documents, *queries = await asyncio.gather(
        service.embed_documents([FILLER * 20, "short"]),
        *(service.embed_query(f"question {number}") for number in range(10)),
    )
    ticking.cancel()
    assert [rows.shape for rows in documents] == [(4, 384), (1, 384)]
    assert np.abs(np.stack(queries) - minilm.embed_query([f"question {n}" for n in range(10)])).max() < 1e-6
    assert ticks > 100
    await service.close()

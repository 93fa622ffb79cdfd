"""The `sentence-transformers` embedder: a transformer or static model that runs in this process."""

import json
import math
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from app.embeddings.artifact import Artifact, find_artifact
from app.embeddings.descriptor import EmbeddingDescriptor
from app.embeddings.errors import EmbedderConfigurationError
from app.embeddings.protocol import BatchLimit, TokenStatistics, Vectors, replace_surrogates
from app.embeddings.token_windows import TokenWindows, overhead

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

# About a sentence, so that one cut by a window's edge is whole in the next; costs an eighth more windows. On 300 chat
# sessions of 10,000 characters and 20 questions, best window counting, nDCG@10 was .66, .62, .63 with overlaps of 0, 32,
# 64 tokens (no difference at 20 questions), against .34 with the text cut at the first window.
DEFAULT_OVERLAP: Final = 32
# A static model averages over any length, but the average of a long text says little.
STATIC_WINDOW: Final = 512
# Four full windows of English: larger batches are no faster on a CPU, and a query waits for one batch at most.
_BATCH_LIMIT: Final = BatchLimit(texts=64, characters=4_096)


class SentenceTransformersEmbedder:
    """Embeds with a sentence-transformers model, L2-normalised, by default all-MiniLM-L6-v2 from its package.

    Args:
        model: A directory with a manifest (see `app.embeddings.artifact`), a name on the Hugging Face hub, or None for
            the packaged all-MiniLM-L6-v2.
        revision: Revision of a hub model.
        device: Torch device.
        threads: Torch threads; torch's own choice if None. In force for the thread that loads the model.
        batch_size: Texts that go through the model together.
        window_tokens: Tokens of a window; the model's maximum if None.
        overlap: Tokens that neighbouring windows share.
    """

    inline: Final = False

    def __init__(
        self,
        model: str | None = None,
        *,
        revision: str | None = None,
        device: str = "cpu",
        threads: int | None = None,
        batch_size: int = 32,
        window_tokens: int | None = None,
        overlap: int = DEFAULT_OVERLAP,
    ) -> None:
        self._name = model
        self._revision = revision
        self._device = device
        self._threads = threads
        self._batch_size = batch_size
        self._window_tokens = window_tokens
        self._overlap = overlap
        self._lock = threading.Lock()
        self._loaded: _LoadedModel | None = None

    @cached_property
    def descriptor(self) -> EmbeddingDescriptor:
        """The model's space; reads the model's files on first use, and loads a hub model."""
        artifact = self._artifact
        dimension = artifact.dimension or self._model.dimension
        return EmbeddingDescriptor(
            implementation=artifact.implementation,
            model=artifact.model,
            dimension=dimension,
            revision=artifact.revision,
            preprocessing=artifact.preprocessing,
        )

    @property
    def batch_limit(self) -> BatchLimit:
        """Batches of some tenths of a second on one CPU core."""
        return _BATCH_LIMIT

    def load(self) -> None:
        """Load the model (some seconds); later calls return at once."""
        # The first pass through a model allocates its buffers; better here than in the first recall.
        self.embed_query(["warm up"])

    def windows(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts by the model's tokenizer."""
        return self._model.windows.split(texts)

    def token_statistics(self, text: str) -> TokenStatistics:
        """Count a text's tokens by the model's tokenizer."""
        return self._model.windows.statistics(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed documents with the model's document prefix: float32[n, dimension]."""
        return self._embed(texts, self._model.document_prefix)

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions with the model's query prefix: float32[n, dimension]."""
        return self._embed(texts, self._model.query_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        model = self._model
        if not texts:
            return np.empty((0, model.dimension), dtype=np.float32)
        vectors = model.transformer.encode(
            [replace_surrogates(text) for text in texts],
            prompt=prefix,
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )
        return np.asarray(vectors, dtype=np.float32)

    @cached_property
    def _artifact(self) -> Artifact:
        return find_artifact(self._name, self._revision)

    @property
    def _model(self) -> "_LoadedModel":
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> "_LoadedModel":
        artifact = self._artifact
        transformer = _read_model(artifact, device=self._device, threads=self._threads)
        model = _LoadedModel(
            transformer, artifact=artifact, window_tokens=self._window_tokens, overlap=self._overlap
        )
        if artifact.dimension not in (None, model.dimension):
            raise EmbedderConfigurationError(
                f"the model in {artifact.directory} has {model.dimension} dimensions, its manifest says "
                f"{artifact.dimension}"
            )
        return model


class _LoadedModel:
    """A model in memory with its windows and prefixes."""

    def __init__(
        self,
        transformer: "SentenceTransformer",
        *,
        artifact: Artifact,
        window_tokens: int | None,
        overlap: int,
    ) -> None:
        self.transformer = transformer
        self.dimension = int(transformer.get_embedding_dimension())
        prompts = transformer.prompts
        self.query_prefix = _first(artifact.query_prefix, prompts.get("query"))
        self.document_prefix = _first(artifact.document_prefix, prompts.get("document"))
        tokenizer = _fast_tokenizer(transformer)
        longest = transformer.max_seq_length
        static = longest is None or math.isinf(longest)
        limit = window_tokens or (STATIC_WINDOW if static else int(longest))
        if not static:
            limit = min(limit, int(longest)) - overhead(tokenizer, (self.query_prefix, self.document_prefix))
        self.windows = TokenWindows(tokenizer, limit=limit, overlap=overlap, short=limit if static else 0)


def _first(*choices: str | None) -> str:
    return next((choice for choice in choices if choice is not None), "")


def _read_model(artifact: Artifact, *, device: str, threads: int | None) -> "SentenceTransformer":
    # Importing torch takes seconds: only when a model is really wanted, and in the embedding thread.
    import torch  # noqa: PLC0415
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding  # noqa: PLC0415
    from transformers.utils import logging as transformers_logging  # noqa: PLC0415

    transformers_logging.disable_progress_bar()
    if threads is not None:
        torch.set_num_threads(threads)
    directory = str(artifact.directory)
    try:
        if _is_model2vec(artifact):
            return SentenceTransformer(modules=[StaticEmbedding.load(directory), Normalize()], device=device)
        return SentenceTransformer(directory, device=device, local_files_only=True)
    except Exception as error:
        raise EmbedderConfigurationError(f"cannot load the model in {directory}: {error}") from error


def _is_model2vec(artifact: Artifact) -> bool:
    """Whether a directory is a bare model2vec model, which lacks sentence-transformers' list of modules."""
    if (artifact.directory / "modules.json").exists():
        return False
    config = artifact.directory / "config.json"
    return not config.exists() or json.loads(config.read_bytes()).get("model_type") == "model2vec"


def _fast_tokenizer(transformer: "SentenceTransformer") -> "Tokenizer":
    from tokenizers import Tokenizer  # noqa: PLC0415 - see _read_model

    tokenizer = transformer.tokenizer
    tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(tokenizer, Tokenizer):
        raise EmbedderConfigurationError(
            f"the model's tokenizer {type(tokenizer).__name__} gives no offsets; a fast tokenizer is needed"
        )
    return tokenizer

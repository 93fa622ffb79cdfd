"""Makes the embedder that a configuration names."""

from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from app.embeddings.errors import EmbedderConfigurationError
from app.embeddings.hash_backend import HashEmbedder
from app.embeddings.openai_backend import OpenAIEmbedder
from app.embeddings.protocol import AsyncEmbedder, Embedder
from app.embeddings.sentence_transformers_backend import DEFAULT_OVERLAP, SentenceTransformersEmbedder

EmbedderName = Literal["sentence-transformers", "hash", "openai"]
EMBEDDER_NAMES: Final[tuple[str, ...]] = get_args(EmbedderName)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderOptions:
    """What the embedders can be told; each reads what concerns it.

    Attributes:
        model: sentence-transformers: directory or hub name, the packaged all-MiniLM-L6-v2 if None. openai: model name.
        revision: Revision of a hub model; openai: revision in the descriptor.
        batch_size: Texts that go through a model, or in one request, together.
        window_tokens: sentence-transformers: tokens of a window, the model's maximum if None.
        window_overlap: sentence-transformers: tokens that neighbouring windows share.
        device: sentence-transformers: torch device.
        threads: sentence-transformers: torch threads.
        base_url: openai: address up to and without `/v1`.
        api_key: openai: bearer token.
        dimension: openai: components of a vector.
        connect_timeout: openai: seconds to reach the server.
        read_timeout: openai: seconds to wait for an answer.
        attempts: openai: tries of one request, the first included.
        concurrency: openai: requests under way at once.
        window_characters: openai: characters of a window.
        query_prefix: openai: put before questions.
        document_prefix: openai: put before documents.
    """

    model: str | None = None
    revision: str | None = None
    batch_size: int = 32
    window_tokens: int | None = None
    window_overlap: int = DEFAULT_OVERLAP
    device: str = "cpu"
    threads: int | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dimension: int | None = None
    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    attempts: int = 4
    concurrency: int = 4
    window_characters: int = 6_000
    query_prefix: str = ""
    document_prefix: str = ""


def create_embedder(name: EmbedderName, options: EmbedderOptions | None = None) -> Embedder | AsyncEmbedder:
    """Make an embedder; cheap, models are loaded by the service's `start`.

    Raises:
        EmbedderConfigurationError: An option that this embedder needs is missing or wrong.
    """
    options = options or EmbedderOptions()
    if name == "hash":
        return HashEmbedder()
    if name == "sentence-transformers":
        return SentenceTransformersEmbedder(
            options.model,
            revision=options.revision,
            device=options.device,
            threads=options.threads,
            batch_size=options.batch_size,
            window_tokens=options.window_tokens,
            overlap=options.window_overlap,
        )
    if name == "openai":
        return _create_openai(options)
    raise EmbedderConfigurationError(f"unknown embedder {name!r}; known are {', '.join(EMBEDDER_NAMES)}")


def _create_openai(options: EmbedderOptions) -> OpenAIEmbedder:
    if not options.base_url or not options.model or not options.dimension:
        raise EmbedderConfigurationError("the openai embedder needs base_url, model and dimension")
    try:
        return OpenAIEmbedder(
            base_url=options.base_url,
            model=options.model,
            dimension=options.dimension,
            api_key=options.api_key,
            revision=options.revision or "",
            batch_size=options.batch_size,
            concurrency=options.concurrency,
            attempts=options.attempts,
            connect_timeout=options.connect_timeout,
            read_timeout=options.read_timeout,
            window_characters=options.window_characters,
            query_prefix=options.query_prefix,
            document_prefix=options.document_prefix,
        )
    except ValueError as error:
        raise EmbedderConfigurationError(f"the openai embedder's {error}") from error

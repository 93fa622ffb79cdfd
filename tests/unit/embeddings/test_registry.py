import pytest

from app.embeddings.errors import EmbedderConfigurationError
from app.embeddings.hash_backend import HashEmbedder
from app.embeddings.openai_backend import OpenAIEmbedder
from app.embeddings.registry import EMBEDDER_NAMES, EmbedderOptions, create_embedder
from app.embeddings.sentence_transformers_backend import SentenceTransformersEmbedder


def test_each_name_makes_its_embedder():
    options = EmbedderOptions(base_url="http://localhost:1", model="some/model@x", dimension=7, revision="r1")
    assert EMBEDDER_NAMES == ("sentence-transformers", "hash", "openai")
    assert isinstance(create_embedder("hash"), HashEmbedder)
    assert isinstance(create_embedder("sentence-transformers"), SentenceTransformersEmbedder)
    remote = create_embedder("openai", options)
    assert isinstance(remote, OpenAIEmbedder)
    assert remote.descriptor.key == "openai/some--model--x/rev:r1/norm:l2"
    assert remote.descriptor.dimension == 7


def test_prefixes_are_part_of_the_space():
    def key(**prefixes):
        options = EmbedderOptions(base_url="http://localhost:1", model="m", dimension=7, **prefixes)
        return create_embedder("openai", options).descriptor.key

    keys = {key(), key(query_prefix="query: "), key(document_prefix="query: "), key(query_prefix="q: ")}
    assert len(keys) == 4
    assert key() == "openai/m/norm:l2"


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(
        EmbedderConfigurationError, match="'word2vec'; known are sentence-transformers, hash, openai"
    ):
        create_embedder("word2vec")


@pytest.mark.parametrize("missing", ["base_url", "model", "dimension"])
def test_openai_needs_address_model_and_dimension(missing):
    fields = {"base_url": "http://localhost:1", "model": "m", "dimension": 3}
    del fields[missing]
    with pytest.raises(EmbedderConfigurationError, match="needs base_url, model and dimension"):
        create_embedder("openai", EmbedderOptions(**fields))


@pytest.mark.parametrize(
    "address", ["localhost:1", "ftp://host", "http://user:pw@host", "http://", "http://h:x"]
)
def test_other_addresses_are_refused_without_repeating_them(address):
    with pytest.raises(EmbedderConfigurationError, match="address") as caught:
        create_embedder("openai", EmbedderOptions(base_url=address, model="m", dimension=3))
    assert "pw" not in str(caught.value)


def test_the_key_is_not_shown():
    assert "sk-secret" not in repr(EmbedderOptions(api_key="sk-secret"))

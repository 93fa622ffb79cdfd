"""Reading judged files: every row that cannot be read is a problem with file, line and reason; nothing is dropped."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from app.evaluation.formats.judged import Problem

_Row = TypeVar("_Row")
Lines = list[tuple[int, _Row]]


class Reader:
    """Reads the files of one folder and collects what is wrong with them.

    Args:
        folder: Holds the files; a name that leads out of it is a problem.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[Problem] = []

    def say(self, file: str, line: int, reason: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(file, line, reason))

    def bytes_of(self, file: str) -> bytes | None:
        """Content of a file; ``None``, and a problem, when it cannot be read."""
        path = self.folder / file
        if not path.resolve().is_relative_to(self.folder.resolve()):
            self.say(file, 0, "lies outside the set's folder")
            return None
        try:
            return path.read_bytes()
        except OSError as error:
            self.say(file, 0, f"cannot be read: {error.strerror}")
            return None

    def value(self, file: str, kind: type[_Row]) -> _Row | None:
        """The one JSON value of a file."""
        content = self.bytes_of(file)
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self.say(file, 1, str(error))
            return None

    def rows(self, file: str, kind: type[_Row]) -> Lines[_Row]:
        """Rows of a JSONL file with their lines; blank lines are passed over."""
        content = self.bytes_of(file)
        found: Lines[_Row] = []
        for number, line in enumerate((content or b"").split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                found.append((number, msgspec.json.decode(line, type=kind)))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                self.say(file, number, str(error))
        return found

    def unique(self, file: str, rows: Lines[_Row], key: Callable[[_Row], str], what: str) -> dict[str, _Row]:
        """Rows by key; a repeated key is a problem and the first row stays."""
        found: dict[str, _Row] = {}
        lines: dict[str, int] = {}
        for line, row in rows:
            name = key(row)
            if name in found:
                self.say(file, line, f"{what} {name!r} is there already, in line {lines[name]}")
                continue
            found[name] = row
            lines[name] = line
        return found

    def known(self, file: str, line: int, names: Iterable[str], known: Any, what: str) -> None:
        """Each name must be known."""
        for name in names:
            if name not in known:
                self.say(file, line, f"there is no {what} {name!r}")


def hash_files(folder: Path, files: Sequence[str]) -> str:
    """``sha256:<hex>`` over files in the given order: ``file:<base name>`` and a line end, the bytes, a line end."""
    digest = hashlib.sha256()
    for file in files:
        path = folder / file
        digest.update(f"file:{path.name}\n".encode())
        digest.update(path.read_bytes())
        digest.update(b"\n")
    return f"sha256:{digest.hexdigest()}"

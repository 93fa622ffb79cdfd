"""Files to import: which there are, and what each holds, read as a stream.

JSONL is read line by line, whatever the file's size; Markdown and text are read whole, up to `MAX_TEXT_BYTES`.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.cli.importing import documents, records
from app.cli.importing.records import RowError
from app.memory.schemas import FragmentInput

MAX_TEXT_BYTES: Final = 16 * 1024 * 1024
MAX_LINE_BYTES: Final = 1024 * 1024
"""More than any row that the API takes can need."""

ROWS: Final = frozenset({".jsonl", ".ndjson"})
MARKDOWN: Final = frozenset({".md", ".markdown", ".mdown", ".mkd"})
TEXT: Final = frozenset({".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org"})
_SNIFFED_BYTES: Final = 8_192


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to import.

    Attributes:
        path: Where it is.
        name: Its path relative to the argument that it was found under; the file's name for an argument itself.
        size: Bytes.
        named: It was an argument itself, so that not importing it is an error.
    """

    path: Path
    name: str
    size: int
    named: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A fragment to store, where it comes from, and how many bytes of the input it took."""

    location: str
    data: FragmentInput
    size: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A row or piece that cannot be stored."""

    location: str
    reason: str
    size: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not imported."""

    path: str
    reason: str
    size: int = 0


def find_files(arguments: Iterable[Path]) -> Iterator[SourceFile | Skipped]:
    """Files under the arguments, each folder's by name; no folder is entered twice, so that link loops end.

    Hidden files and folders are skipped. In folders only the known kinds of files are taken; an argument that is a
    file is taken whatever its name.
    """
    entered: set[tuple[int, int]] = set()
    for argument in arguments:
        if argument.is_dir():
            yield from _in_folder(argument, argument, entered)
        else:
            yield _checked(argument, argument.name, named=True)


def read_file(file: SourceFile) -> Iterator[Item | Refused | Skipped]:
    """What a file holds; a file that cannot be read is skipped with the reason."""
    try:
        with file.path.open("rb") as opened:
            start = opened.read(_SNIFFED_BYTES)
        if b"\0" in start:
            yield Skipped(str(file.path), "binary, no text", file.size)
        elif file.path.suffix.lower() in ROWS:
            yield from _rows(file)
        else:
            yield from _document(file)
    except OSError as error:
        yield Skipped(str(file.path), f"cannot be read: {error.strerror}", file.size)


def _in_folder(folder: Path, root: Path, entered: set[tuple[int, int]]) -> Iterator[SourceFile | Skipped]:
    try:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in entered:
            return
        entered.add((status.st_dev, status.st_ino))
        entries = sorted(folder.iterdir())
    except OSError as error:
        yield Skipped(str(folder), f"cannot be read: {error.strerror}")
        return
    for entry in entries:
        if entry.name.startswith("."):
            yield Skipped(str(entry), "hidden")
        elif entry.is_dir():
            yield from _in_folder(entry, root, entered)
        elif entry.suffix.lower() in ROWS | MARKDOWN | TEXT:
            yield _checked(entry, entry.relative_to(root).as_posix())
        else:
            yield Skipped(str(entry), "no Markdown, text or JSONL by its name")


def _checked(path: Path, name: str, *, named: bool = False) -> SourceFile | Skipped:
    try:
        status = path.stat()
    except OSError as error:
        return Skipped(str(path), f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return Skipped(str(path), "no regular file")
    if path.suffix.lower() not in ROWS and status.st_size > MAX_TEXT_BYTES:
        return Skipped(str(path), f"larger than {MAX_TEXT_BYTES // 2**20} MiB", status.st_size)
    try:
        os.fsencode(name).decode()
    except UnicodeDecodeError:
        return Skipped(str(path), "its name is not UTF-8", status.st_size)
    return SourceFile(path, name, status.st_size, named)


def _rows(file: SourceFile) -> Iterator[Item | Refused]:
    with file.path.open("rb") as opened:
        number = 0
        while line := opened.readline(MAX_LINE_BYTES + 1):
            number += 1
            size, location = len(line), f"{file.path}:{number}"
            if size > MAX_LINE_BYTES:
                while line and not line.endswith(b"\n"):
                    line = opened.readline(MAX_LINE_BYTES)
                    size += len(line)
                yield Refused(location, f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB", size)
                continue
            row = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not row.strip():
                continue
            try:
                yield Item(location, records.fragment_of_row(row), size)
            except RowError as error:
                yield Refused(location, str(error), size)


def _document(file: SourceFile) -> Iterator[Item | Refused | Skipped]:
    try:
        text = file.path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Skipped(str(file.path), f"not UTF-8 (byte {error.start})", file.size)
        return
    if "\0" in text:
        yield Skipped(str(file.path), "binary, no text", file.size)
        return
    divide = documents.markdown if file.path.suffix.lower() in MARKDOWN else documents.plain_text
    document = divide(text)
    if not document.pieces:
        yield Skipped(str(file.path), "empty", file.size)
        return
    for piece, fragment in records.fragments_of_document(file.name, document):
        location = f"{file.path}:{piece.first_line}"
        size = file.size // len(document.pieces)
        if isinstance(fragment, RowError):
            yield Refused(location, str(fragment), size)
        else:
            yield Item(location, fragment, size)

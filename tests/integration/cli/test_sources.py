"""Files to import: which are found, what each holds, what is skipped and why."""

import os
from pathlib import Path

import pytest

from app.cli.importing import sources
from app.cli.importing.sources import Item, Refused, Skipped, SourceFile, find_files, read_file


def names(*arguments: Path) -> list[str]:
    return [file.name for file in find_files(arguments) if isinstance(file, SourceFile)]


def skips(*arguments: Path) -> dict[str, str]:
    return {Path(file.path).name: file.reason for file in find_files(arguments) if isinstance(file, Skipped)}


def read(path: Path) -> list[Item | Refused | Skipped]:
    return list(read_file(SourceFile(path, path.name, path.stat().st_size)))


def test_a_folder_is_read_by_name_with_paths_relative_to_it(notes: Path) -> None:
    assert names(notes) == ["a.md", "deep/b.txt", "rows.jsonl"]
    assert names(notes / "deep" / "b.txt", notes / "deep") == ["b.txt", "b.txt"]


def test_other_kinds_and_hidden_ones_are_skipped_by_name(notes: Path) -> None:
    (notes / "logo.png").write_bytes(b"\x89PNG")
    (notes / ".git").mkdir()
    (notes / ".git" / "config.txt").write_text("x")
    assert names(notes) == ["a.md", "deep/b.txt", "rows.jsonl"]
    assert skips(notes) == {"logo.png": "no Markdown, text or JSONL by its name", ".git": "hidden"}


def test_a_named_file_is_taken_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "NOTES").write_text("text")
    [file] = find_files([tmp_path / "NOTES"])
    assert isinstance(file, SourceFile)
    assert (file.name, file.named) == ("NOTES", True)


def test_link_loops_end_and_linked_folders_are_read_once(notes: Path) -> None:
    (notes / "deep" / "up").symlink_to(notes, target_is_directory=True)
    (notes / "again").symlink_to(notes / "deep", target_is_directory=True)
    (notes / "self.md").symlink_to(notes / "self.md")
    (notes / "gone.md").symlink_to(notes / "nowhere.md")
    assert names(notes) == ["a.md", "again/b.txt", "rows.jsonl"]
    assert skips(notes) == {
        "self.md": "cannot be read: Too many levels of symbolic links",
        "gone.md": "cannot be read: No such file or directory",
    }


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert skips(tmp_path) == {"pipe.txt": "no regular file"}


def test_a_text_that_is_too_large_is_skipped(tmp_path: Path) -> None:
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(sources.MAX_TEXT_BYTES + 1)
    assert skips(tmp_path) == {"large.txt": "larger than 16 MiB"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"caf\xe9", "not UTF-8 (byte 3)"),
        ("text".encode("utf-16"), "binary, no text"),
        (b"x" * 10_000 + b"\0", "binary, no text"),
        (b"\n\n", "empty"),
        (b"", "empty"),
    ],
)
def test_a_text_that_cannot_be_read_is_skipped_with_the_reason(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "x.md"
    path.write_bytes(content)
    assert read(path) == [Skipped(str(path), reason, len(content))]


def test_binary_rows_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\x00\x01")
    assert read(path) == [Skipped(str(path), "binary, no text", 2)]


def test_rows_are_located_by_line_and_a_bad_one_does_not_hold_up_the_others(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "one"}\r\n\n{"text": 2}\n{"text": "\xff"}\n{"text": "three"}')
    events = read(path)
    assert [(event.location, type(event)) for event in events if not isinstance(event, Skipped)] == [
        (f"{path}:1", Item),
        (f"{path}:3", Refused),
        (f"{path}:4", Refused),
        (f"{path}:5", Item),
    ]


def test_an_endless_line_is_refused_and_the_next_one_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": "' + b"x" * (3 * 2**20) + b'"}\n{"text": "two"}\n')
    first, second = read(path)
    assert first == Refused(f"{path}:1", "the line is longer than 1 MiB", 3 * 2**20 + 13)
    assert isinstance(second, Item)
    assert second.location == f"{path}:2"


def test_pieces_are_located_by_their_first_line(notes: Path) -> None:
    assert [event.location for event in read(notes / "a.md") if isinstance(event, Item)] == [
        f"{notes}/a.md:1",
        f"{notes}/a.md:5",
    ]

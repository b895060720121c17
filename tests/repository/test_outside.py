"""Files of the caller's: what names them, what is left out, what cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ai_lessons.errors import InvalidEntry, NotFound, UsageError
from ai_lessons.repository import outside
from real_world import put_file, put_program


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.md", "a.md", "sub/c.md", ".hidden/d.md", "node_modules/e.md", ".f.md"):
        put_file(tmp_path / name, name)
    (tmp_path / "link.md").symlink_to("a.md")
    return tmp_path


def names(found: list[outside.Outside]) -> list[str]:
    return [one.name for one in found]


def test_a_folder_gives_its_files_sorted_without_hidden_ones_links_and_installed_parts(folder: Path) -> None:
    assert names(outside.expand([str(folder)], folder, recursive=True)) == ["a.md", "b.md", "sub/c.md"]


def test_a_folder_needs_recursive(folder: Path) -> None:
    with pytest.raises(UsageError) as error:
        outside.expand(["."], folder, recursive=False)
    assert "--recursive" in error.value.hint


def test_a_glob_and_a_file_name_each_file_once_in_the_order_given(folder: Path) -> None:
    assert names(outside.expand(["b.md", "*.md"], folder, recursive=False)) == ["b.md", "a.md", "link.md"]


def test_a_file_whose_name_looks_like_a_glob_is_itself(folder: Path) -> None:
    (folder / "[x].md").write_text("x")
    assert names(outside.expand(["[x].md"], folder, recursive=False)) == ["[x].md"]


@pytest.mark.parametrize("pattern", ["gone.md", "*.txt"])
def test_what_names_nothing_is_an_error(folder: Path, pattern: str) -> None:
    with pytest.raises(NotFound):
        outside.expand([pattern], folder, recursive=False)


def test_reading_gives_bytes_and_the_execute_bit(folder: Path) -> None:
    script = put_program(folder / "run.sh", b"#!/bin/sh\n")
    assert outside.read(script) == (b"#!/bin/sh\n", True)
    assert outside.read(folder / "a.md") == (b"a.md", False)


def test_a_file_over_the_limit_is_not_read(folder: Path) -> None:
    with pytest.raises(InvalidEntry, match="more than 3"):
        outside.read(folder / "a.md", limit=3)


def test_a_named_pipe_is_no_file_and_does_not_hang(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(InvalidEntry, match="not a regular file"):
        outside.read(folder / "pipe")

"""Which manifests and lock files around a folder are read, and which are named instead."""

import os
from pathlib import Path

from ai_lessons.connectors.manifests import MANIFESTS, manifests
from real_world import Git, put_file


def put(root: Path, *paths: str) -> None:
    for path in paths:
        put_file(root / path, f"a=={len(path)}\n")


def found(cwd: Path) -> list[tuple[str, int]]:
    files, left_out = manifests(cwd)
    assert left_out == []
    return [(file.path, file.distance) for file in files]


def test_the_nearest_folders_come_first_and_others_do_not_count(git_repo: Path) -> None:
    put(
        git_repo,
        "uv.lock",
        "app/go.mod",
        "app/deep/go.mod",
        "web/package-lock.json",
        "app/deep/below/Cargo.lock",
    )
    assert found(git_repo / "app/deep") == [
        ("app/deep/go.mod", 0),
        ("app/go.mod", 1),
        ("uv.lock", 2),
    ]


def test_links_and_other_names_are_not_read(git_repo: Path) -> None:
    put(git_repo, "requirements-dev.txt", "poetry.txt")
    (git_repo / "uv.lock").symlink_to(git_repo / "requirements-dev.txt")
    assert found(git_repo) == [("requirements-dev.txt", 0)]


def test_outside_of_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    put(tmp_path, "uv.lock", "here/go.mod", "here/below/go.mod")
    assert found(tmp_path / "here") == [("go.mod", 0)]
    assert found(tmp_path / "nowhere") == []


def test_pipes_and_folders_are_nothing_to_read_and_huge_files_are_named(git_repo: Path) -> None:
    os.mkfifo(git_repo / "uv.lock")
    put(git_repo, "Cargo.lock", "go.mod", "requirements.txt/uv.lock")
    with (git_repo / "Cargo.lock").open("wb") as file:
        file.truncate((8 << 20) + 1)
    files, left_out = manifests(git_repo)
    assert [file.path for file in files] == ["go.mod"]
    assert left_out == ["Cargo.lock:1: larger than 8388608 bytes"]


def test_the_number_of_files_is_bounded(git_repo: Path) -> None:
    put(git_repo, *(f"requirements-{n:02}.txt" for n in range(MANIFESTS.most_files + 4)))
    files, left_out = manifests(git_repo)
    assert len(files) == MANIFESTS.most_files
    assert left_out == [f"requirements-{len(files)}.txt and others: {len(files)} files were read"]


def test_bytes_that_are_no_text_are_read_as_far_as_they_go(git_repo: Path, git: Git) -> None:
    (git_repo / "requirements.txt").write_bytes(b"a==1\n\xff\xfe\nb==2\n")
    (file,), _ = manifests(git_repo)
    assert file.text.splitlines()[::2] == ["a==1", "b==2"]

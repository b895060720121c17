"""Files of the caller's: what names them, what is left out, what cannot be read."""

import os
from pathlib import Path

import pytest

from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Refused
from ai_lessons.git import external_files
from real_world import put_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.md", "a.md", "sub/c.md", ".hidden/d.md", "node_modules/e.md", ".f.md"):
        put_file(tmp_path / name, name)
    (tmp_path / "link.md").symlink_to("a.md")
    return tmp_path


def names(found: list[external_files.Outside]) -> list[str]:
    return [one.name for one in found]


def test_a_folder_gives_its_files_sorted_without_hidden_ones_links_and_installed_parts(
    folder: Path,
) -> None:
    assert names(external_files.expand([str(folder)], folder, recursive=True)) == [
        "a.md",
        "b.md",
        "sub/c.md",
    ]


def test_a_glob_and_a_file_name_each_file_once_in_the_order_given(folder: Path) -> None:
    assert names(external_files.expand(["b.md", "*.md"], folder, recursive=False)) == [
        "b.md",
        "a.md",
        "link.md",
    ]


def test_a_file_whose_name_looks_like_a_glob_is_itself(folder: Path) -> None:
    (folder / "[x].md").write_text("x")
    assert names(external_files.expand(["[x].md"], folder, recursive=False)) == ["[x].md"]


@pytest.mark.parametrize("pattern", ["gone.md", "*.txt"])
def test_what_names_nothing_is_an_error(folder: Path, pattern: str) -> None:
    with pytest.raises(NotFound):
        external_files.expand([pattern], folder, recursive=False)


def test_a_file_over_the_limit_is_not_read_and_a_named_pipe_is_no_file_and_does_not_hang(
    folder: Path,
) -> None:
    with pytest.raises(InvalidEntry, match="more than 3"):
        external_files.read(folder / "a.md", limit=3)
    os.mkfifo(folder / "pipe")
    with pytest.raises(InvalidEntry, match="not a regular file"):
        external_files.read(folder / "pipe")


# --- links, devices and pipes of a folder that somebody else made ---


@pytest.fixture
def cloned(tmp_path: Path) -> Path:
    """A project with links out of it to a secret, one that stays inside, a pipe and a link to a device."""
    put_file(tmp_path / "home/secret.md", "TOPSECRET")
    code = put_file(tmp_path / "code/docs/ok.md", "ok").parents[1]
    (code / "docs/file.md").symlink_to(tmp_path / "home/secret.md")
    (code / "docs/inside.md").symlink_to("ok.md")
    (code / "docs/folder").symlink_to(tmp_path / "home")
    (code / "docs/root").symlink_to("/")
    (code / "out").symlink_to(tmp_path / "home")
    (code / "docs/zero.md").symlink_to("/dev/zero")
    os.mkfifo(code / "docs/pipe.md")
    return code


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("docs/*.md", {"ok.md", "inside.md", "pipe.md"}), ("**/*.md", {"ok.md", "inside.md", "pipe.md"}),
        ("docs/**/*", {"ok.md", "inside.md", "pipe.md"}), ("d*/f*/*", None), ("*/*/*/hostname", None),
        ("o*/secret.md", None), ("[d]ocs/[f]ile.md", None),
    ],
)  # fmt: skip
def test_a_glob_matches_nothing_that_a_link_leads_out_to(
    cloned: Path, pattern: str, found: set[str] | None
) -> None:
    if found is None:
        with pytest.raises(NotFound):
            external_files.named(pattern, cloned)
    else:
        assert {one.name for one in external_files.named(pattern, cloned)} == found


def test_a_glob_leaves_hidden_files_out_unless_it_names_them(folder: Path) -> None:
    assert names(external_files.expand(["**/*.md"], folder, recursive=False)) == [
        "a.md",
        "b.md",
        "link.md",
        "node_modules/e.md",
        "sub/c.md",
    ]
    assert names(external_files.expand([".*/*.md"], folder, recursive=False)) == [".hidden/d.md"]


@pytest.mark.parametrize(
    "said", ["docs/file.md", "docs/folder", "docs/folder/secret.md", "out/*.md", "./docs/root"]
)
@pytest.mark.parametrize("git_folder", [True, False])
def test_a_path_that_leads_out_of_the_code_by_a_link_is_refused(
    cloned: Path, said: str, git_folder: bool
) -> None:
    if git_folder:
        (cloned / ".git").mkdir()
    with pytest.raises(Refused, match="by a link") as error:
        external_files.expand([said], cloned, recursive=True)
    assert "name the place that it leads to" in error.value.hint


def test_a_path_into_a_repository_elsewhere_is_held_to_that_repository(
    cloned: Path, tmp_path: Path
) -> None:
    (cloned / ".git").mkdir()
    with pytest.raises(Refused):
        external_files.named(str(cloned / "docs/file.md"), tmp_path / "home")
    assert external_files.named("../code/docs/inside.md", tmp_path / "home") == [
        cloned / "docs/inside.md"
    ]


def test_a_link_that_lies_in_no_repository_is_followed_for_the_person_who_names_it(
    tmp_path: Path,
) -> None:
    put_file(tmp_path / "dotfiles/notes.md", "mine")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/notes.md").symlink_to(tmp_path / "dotfiles/notes.md")
    (file,) = external_files.named(str(tmp_path / "home/notes.md"), tmp_path / "dotfiles")
    assert external_files.read(file)[0] == b"mine"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full"])
def test_a_device_is_no_file_by_whatever_link(tmp_path: Path, device: str) -> None:
    (tmp_path / "settings.json").symlink_to(device)
    for file in (tmp_path / "settings.json", Path(device)):
        with pytest.raises(InvalidEntry, match="not a regular file"):
            external_files.read(file)


def test_a_pipe_is_read_where_it_was_asked_for_and_no_further_than_the_limit() -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"12345")
    os.close(theirs)
    with pytest.raises(InvalidEntry, match="more than 4"):
        external_files.read(Path(f"/dev/fd/{ours}"), 4, pipes=True)
    os.close(ours)


def test_what_must_lie_within_a_folder_may_be_a_link_that_stays_there(cloned: Path) -> None:
    assert external_files.read(cloned / "docs/inside.md", within=cloned)[0] == b"ok"
    for name in ("docs/file.md", "out/secret.md", "docs/zero.md"):
        with pytest.raises(Refused):
            external_files.read(cloned / name, within=cloned)


def test_a_write_replaces_no_link_and_no_folder_and_keeps_the_mode(tmp_path: Path) -> None:
    target = put_file(tmp_path / "target", "theirs")
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "folder").mkdir()
    for name, error in (("link", Refused), ("folder", Conflict)):
        with pytest.raises(error):
            external_files.write(tmp_path / name, b"ours")
    target.chmod(0o600)
    external_files.write(target, b"ours")
    external_files.write(tmp_path / "a/b/new", b"ours")
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"ours", 0o600)
    assert (tmp_path / "a/b/new").read_bytes() == b"ours"


def test_the_names_of_a_project_are_not_read_through_a_link_out_of_it(tmp_path: Path) -> None:
    put_file(tmp_path / "private/package.json", '{"name": "private-product"}')
    (tmp_path / "code/.git").mkdir(parents=True)
    (tmp_path / "code/package.json").symlink_to(tmp_path / "private/package.json")
    assert external_files.names_of(tmp_path / "code") == ["code"]

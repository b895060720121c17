"""Code repositories: their files and manifests, and where imported files come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge.layout import blob_id, slug
from ai_lessons.knowledge.manifests import LARGEST, Manifest, is_manifest
from ai_lessons.repository import git, outside
from ai_lessons.repository.files import read_file
from ai_lessons.repository.worktree import locate, read_head

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Code(NamedTuple):
    """A code repository: its name, and its files as paths from its top. `whole`: every project here is about it."""

    name: str
    files: tuple[str, ...]
    whole: bool

    def is_of(self, project: str) -> bool:
        """Whether an entry of this project is about this code."""
        return self.whole or outside.same_name(project, self.name)


def around(cwd: Path, worktree: Path, knowledge: Path) -> Code | None:
    """The code that entries are about, no ignored files: around the knowledge, else around `cwd`; None if neither."""
    inside = worktree != knowledge
    top = worktree if inside else outside.top_of(cwd)
    if top is None or top == knowledge:
        return None
    try:
        place = locate(top)
    except AiLessonsError:
        return None
    done = git.run(place, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if done.code:
        return None
    paths = dict.fromkeys(done.out.decode("utf-8", "surrogateescape").split("\0"))
    ours = f"{knowledge.relative_to(top).as_posix()}/" if inside else ""
    files = tuple(path for path in paths if path and not (ours and path.startswith(ours)))
    return Code(outside.name_of(top), files, inside)


MOST_FILES = 50


def manifests(cwd: Path) -> tuple[list[Manifest], list[str]]:
    """The files, nearest first, from `cwd` up to the top of git; and why others are left out."""
    inside = outside.top_of(cwd)
    folders = [folder for folder in (cwd, *cwd.parents) if folder.is_relative_to(inside)] if inside else [cwd]
    top = folders[-1]
    texts: list[Manifest] = []
    left_out: list[str] = []
    for distance, folder in enumerate(folders):
        for file in sorted(path for path in folder.glob("*") if is_manifest(path.name)):
            path = file.relative_to(top).as_posix()
            if file.is_symlink() or not file.is_file():
                continue
            if len(texts) == MOST_FILES:
                return texts, [*left_out, f"{path} and others: {MOST_FILES} files were read"]
            try:
                text = read_file(top, path, LARGEST)[0].decode("utf-8", "replace")
            except AiLessonsError as error:
                left_out.append(error.message)
            else:
                texts.append(Manifest(path, text, distance))
    return texts, left_out


class Sources:
    """Where the files of an import come from; each repository is read once, at one HEAD. For one thread."""

    def __init__(self) -> None:
        self._tops: dict[Path, tuple[Path, Path | None]] = {}
        self._heads: dict[Path, tuple[str, Mapping[str, str]] | None] = {}

    def ref(self, path: Path, data: bytes) -> str | None:
        """HEAD of the file's repository, `-dirty` behind it unless it holds `data` there; None without one."""
        real, top = self._place(path)
        if top is None:
            return None
        if top not in self._heads:
            self._heads[top] = _head(top)
        head = self._heads[top]
        if head is None:
            return None
        commit, blobs = head
        blob = blobs.get(str(real.relative_to(top)))
        # a checkout with CRLF is as committed, too
        same = blob in {blob_id(data), blob_id(data.replace(b"\r\n", b"\n"))}
        return commit if same else f"{commit}-dirty"

    def project(self, path: Path) -> str | None:
        """The name of the top folder of the file's repository, fit to be a project; None outside of any."""
        _, top = self._place(path)
        return slug(top.name) if top is not None else None

    def _place(self, path: Path) -> tuple[Path, Path | None]:
        """The file without links, and the top folder of its worktree; each folder is looked up once."""
        if path.is_symlink() or path.name in {"", ".."}:
            path = path.resolve()
        if path.parent not in self._tops:
            folder = path.parent.resolve()
            self._tops[path.parent] = (folder, outside.top_of(folder))
        folder, top = self._tops[path.parent]
        return folder / path.name, top


def _head(top: Path) -> tuple[str, Mapping[str, str]] | None:
    """The commit that is checked out, and its blobs by path; None before the first, or if it is not accepted."""
    try:
        place = locate(top)
        commit = read_head(place).commit
    except AiLessonsError:
        return None
    return (commit, git.files_of(place, commit)) if commit else None

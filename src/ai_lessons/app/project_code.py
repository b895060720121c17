"""The code that the entries of a repository are about: where it is, its names and its files.

Globs of files (`applies_to`) are matched with it. What entries say of single places in it is no
concern of this module.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError
from ai_lessons.git import external_files, plumbing
from ai_lessons.git.worktree import locate
from ai_lessons.model import layout

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.git.worktree import Worktree


class ProjectCode:
    """The code below one top folder of git.

    `knowledge`: the entries' folder if it is in it, such as `.ai/reference/`. Then all entries are
    about this code (`whole`).
    """

    def __init__(self, top: Path, knowledge: str = "") -> None:
        """Raises as `locate`: git's folder is not there, or not to be trusted."""
        self.top, self.whole = top, bool(knowledge)
        self.worktree: Worktree = locate(top)
        self._not_code = knowledge or ".git/"

    @cached_property
    def name(self) -> str:
        """What its remote or its folder is called."""
        return external_files.name_of(self.top)

    @cached_property
    def names(self) -> list[str]:
        """What the project is called: by its remote, its package, its folder."""
        return external_files.names_of(self.top)

    def is_called(self, name: str) -> bool:
        """Whether the project has this name."""
        if external_files.same_name(self.name, name):
            # the other names are read from TOML files
            return True
        return any(external_files.same_name(known_name, name) for known_name in self.names)

    def holds(self, project: str) -> bool:
        """Whether entries of this project are about this code."""
        return self.whole or self.is_called(project)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Every file of it that git does not ignore, without the entries."""
        listing = plumbing.run(
            self.worktree, "ls-files", "-z", "--cached", "--others", "--exclude-standard"
        )
        if listing.code:
            return ()
        paths = []
        for name in dict.fromkeys(listing.names):
            if not name.startswith(self._not_code):
                paths.append(name)
        return tuple(paths)

    def unmatched(self, applies_to: object, project: str) -> list[str]:
        """A note for each glob of an entry that names no file, if this is its project's code."""
        if not self.holds(project):
            return []
        notes = []
        for glob in layout.globs(applies_to):
            if not any(layout.matches(glob, path) for path in self.paths):
                notes.append(f"applies_to {glob} names no file of {self.name}")
        return notes


def code_around(repo: RepositorySession) -> ProjectCode | None:
    """The code that entries of this repository may be about; None: there is none here.

    It is the code around the knowledge, else around the caller's folder.
    """
    knowledge = repo.store.worktree.prefix
    top: Path | None = repo.store.worktree.top
    if not knowledge:
        top = external_files.top_of(repo.options.cwd)
    if top is None or (not knowledge and top.resolve() == repo.store.root.resolve()):
        return None
    try:
        repo.options.limits.refuse_place(top)
        return ProjectCode(top, knowledge)
    except AiLessonsError:
        # a repository of another user, or of a form that is not read
        return None


def unmatched(repo: RepositorySession, applies_to: object, project: str) -> list[str]:
    """Notes for a person who writes globs that name no file of the code here."""
    if not layout.globs(applies_to):
        return []
    code = code_around(repo)
    if code is None:
        return []
    return code.unmatched(applies_to, project)

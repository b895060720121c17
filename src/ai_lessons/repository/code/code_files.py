"""The files of the code repository that somebody stands in, to tell which names still lead somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.repository import git
from ai_lessons.repository.code import code_folder
from ai_lessons.repository.worktree import locate

if TYPE_CHECKING:
    from pathlib import Path


class Code(NamedTuple):
    """A code repository: its name, and its files as paths from its top. `whole`: every project here is about it."""

    name: str
    files: tuple[str, ...]
    whole: bool

    def is_of(self, project: str) -> bool:
        """Whether an entry of this project is about this code."""
        return self.whole or code_folder.same_name(project, self.name)


def around(cwd: Path, worktree: Path, knowledge: Path) -> Code | None:
    """The code that entries are about: the repository that the knowledge is a folder of, else the one around `cwd`.

    None where there is neither, we do not accept the repository, or git does not tell. Ignored files do not count.
    """
    inside = worktree != knowledge
    top = worktree if inside else code_folder.top_of(cwd)
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
    own = f"{knowledge.relative_to(top).as_posix()}/" if inside else None
    files = tuple(path for path in paths if path and not (own and path.startswith(own)))
    return Code(code_folder.name_of(top), files, inside)

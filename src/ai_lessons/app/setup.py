"""Makes a repository ready for use: the folder, git's hooks, the catalog.

Begin with `init_repository`; the files come from `scaffold`.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.app.scaffold import clone, hooks_dir, init
from ai_lessons.app.workspace import RepositorySession
from ai_lessons.errors import UsageError
from ai_lessons.git import hooks as git_hooks
from ai_lessons.model import USER
from ai_lessons.model.entries import Filter

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.app.options import Options


class Initialised(NamedTuple):
    """What `init` did. `created` False means the repository was already there and complete.

    `entries` are in it now; `cloned` is the address that it was cloned from. `hosts`: agent hosts
    of this machine that are not connected; `connected`: what was changed for that. `question`: one
    that an entry here is known to answer.
    """

    path: str
    created: bool
    adopted: int
    hooks: tuple[str, ...]
    commit: str | None
    notes: tuple[str, ...] = ()
    entries: int = 0
    cloned: str = ""
    hosts: tuple[str, ...] = ()
    connected: tuple[Any, ...] = ()
    question: str = ""


# What an entry of the starter set answers, by its words and by its meaning
_STARTERS_ANSWER = "a merge lost a file"


def init_repository(
    path: Path,
    options: Options,
    *,
    from_url: str | None = None,
    hooks: bool = True,
    team: bool = False,
    starters: bool = False,
) -> Initialised:
    """Make a repository at `path` from the template, or clone `from_url` there.

    Doing it twice changes nothing.

    `starters` brings the starter set, of which the rules wait as proposals.
    Raises UsageError: starters for a clone. Refused: starters for a folder of a bigger repository.
    StorageFailed: the place cannot be written; Unreachable: the URL does not answer.
    """
    if from_url and starters:
        raise UsageError(
            "a clone brings its own entries, and no starter set",
            hint="leave --from or --starters out",
        )
    if from_url:
        made = clone(from_url, path)
    else:
        separate = _is_of_the_user(path, options)
        made = init(path, team=team, with_starters=starters, separate=separate)
    lines: tuple[str, ...] = ()
    cloned = question = ""
    with closing(RepositorySession(made.root, options)) as repo:
        if hooks and not repo.store.is_folder_of_bigger_repo:
            lines = git_hooks.carry_out(made.root, hooks_dir(), "install")
        repo.current()
        notes, entries = (*made.notes, *repo.notes()), repo.catalog.count(Filter(status=None))
        if from_url and made.created:
            cloned = from_url
        if cloned and entries:
            notes += _meaning_of_a_clone(repo, entries)
    if starters and made.created:
        question = _STARTERS_ANSWER
    return Initialised(
        str(made.root),
        made.created,
        made.adopted,
        lines,
        made.commit,
        notes,
        entries,
        cloned,
        question=question,
    )


def _is_of_the_user(path: Path, options: Options) -> bool:
    """Whether the user's own tier is at this path: it is no part of a project around it."""
    for place in options.places.known:
        if place.name == USER and place.root.resolve() == path.resolve():
            return True
    return False


def _meaning_of_a_clone(repo: RepositorySession, entries: int) -> tuple[str, ...]:
    """Take the vectors that the origin has, and begin to compute what they lack."""
    notes = (*app.vector_sharing.fetch(repo, "origin"), *app.vector_sharing.take_in(repo))
    if repo.has_index and not repo.indexing.missing:
        return notes
    return (*notes, *app.vector_progress.begin(repo, entries))

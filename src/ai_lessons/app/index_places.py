"""Where the index of a repository keeps its notes, and the packs of vectors that came to it.

Opens no index.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ai_lessons.errors import AiLessonsError
from ai_lessons.git import side_ref
from ai_lessons.model.config import DEFAULT_MODEL
from ai_lessons.model.layout import slug
from ai_lessons.search.model_files import PINNED
from ai_lessons.search.pack_files import JUDGED_PACKS, Judgements, PackFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.app.open_repository import OpenRepository
    from ai_lessons.app.options import Options
    from ai_lessons.git.worktree import Worktree

SUFFIX: Final = ".vectors"


def cache_folder(options: Options, state_dir: Path) -> Path:
    """Where the index of a repository is, with its notes, if its own place cannot hold one."""
    return options.cache_dir / "index" / sha256(str(state_dir).encode()).hexdigest()[:12]


def notes_folder(repo: OpenRepository) -> Path:
    """Where the index of a repository keeps its notes."""
    state_dir = repo.store.state_dir
    elsewhere = cache_folder(repo.options, state_dir)
    if elsewhere.exists():
        return elsewhere
    return state_dir


def left_packs(repo: OpenRepository) -> list[str]:
    """A sentence about each pack of vectors that came and is not used."""
    left = Judgements(notes_folder(repo) / JUDGED_PACKS).left()
    packs: list[str] = []
    for pack, reason in left.items():
        packs.append(f"pack {pack[:10]} of shared vectors is left: {reason}")
    return packs


def model_of(repo: OpenRepository) -> str:
    """The model that the settings name."""
    named = repo.reading_config.model
    if named == DEFAULT_MODEL:
        return PINNED.name
    return named


def family_of(model: str) -> str:
    """The part of a ref that stands for a model: vectors of different ones are never compared."""
    return slug(model)


class GitPacks:
    """The packs that came to a repository with git, from whatever remote."""

    def __init__(self, worktree: Worktree, model: str) -> None:
        self._worktree, self._family = worktree, family_of(model)

    def state(self) -> str:
        """The commits that hold them; empty for none."""
        results = []
        for remote, commit in self._tips().items():
            results.append(f"{remote} {commit}")
        return " ".join(results)

    def _tips(self) -> dict[str, str]:
        try:
            return side_ref.tips(self._worktree, self._family)
        except AiLessonsError:
            # a ref that somebody damaged by hand: vectors can be computed
            return {}

    def files(self) -> Sequence[PackFile]:
        """Each of them once."""
        sizes = dict[str, int]()
        for remote in self._tips():
            listed = side_ref.listed(self._worktree, remote, self._family)
            sizes |= {file.blob: file.size for file in listed.files if file.name.endswith(SUFFIX)}
        files = []
        for blob, size in sizes.items():
            files.append(PackFile(blob, size))
        return files

    def read(self, pack: PackFile) -> bytes:
        """The bytes of one of them."""
        return next(side_ref.contents(self._worktree, [pack.id]))

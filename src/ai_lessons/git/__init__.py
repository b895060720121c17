"""The repository on disk: files, git objects, commits, sync. The only importer of dulwich.

Decides nothing about approval and knows nothing of search. Begin with `store` (a job that changes
files), then `commit` (how jobs become commits) and `sync`. Imports `model`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons import submodules

if TYPE_CHECKING:
    from ai_lessons.git import approval_branch as approval_branch
    from ai_lessons.git import files as files
    from ai_lessons.git import store as store
    from ai_lessons.git import worktree as worktree
else:
    __getattr__ = submodules(__name__)

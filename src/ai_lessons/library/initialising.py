"""Making a knowledge repository, from the template or from an address, and making it ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import UsageError
from ai_lessons.library import secret_gate
from ai_lessons.library.parts import Parts
from ai_lessons.library.reports import Initialised
from ai_lessons.repository import git_hooks as client_hooks
from ai_lessons.repository import scaffold

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.library.options import Options


def init(path: Path, options: Options, *, from_url: str | None, hooks: bool, team: bool, starters: bool) -> Initialised:
    """See `wiring.init_repository`."""
    if from_url and starters:
        raise UsageError("a clone brings its own entries, and no starter set", hint="leave --from or --starters out")
    if from_url:
        made = scaffold.clone(from_url, path)
    else:
        made = scaffold.init(path, team=team, with_starters=starters, unwanted=secret_gate.why_not)
    parts = Parts(made.root, options)
    try:
        bigger = parts.store.is_folder_of_bigger_repo
        lines = client_hooks.install_hooks(made.root, scaffold.hooks_dir()) if hooks and not bigger else ()
        parts.current()
        notes = (*made.notes, *parts.notes())
    finally:
        parts.close()
    return Initialised(str(made.root), made.created, made.adopted, lines, made.commit, notes)

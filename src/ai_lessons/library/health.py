"""What state everything is in: the doctor's checks, statistics, and scripts whose outside file moved on."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, GitMissing
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import Kind, Relation
from ai_lessons.knowledge.relations import clusters
from ai_lessons.library import usefulness
from ai_lessons.library.reports import Check, Stale, Stats
from ai_lessons.repository import git, git_hooks, scaffold
from ai_lessons.repository.store import AUTOCOMMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ai_lessons.library.parts import Parts

LOW_SPACE = 200 * 1024 * 1024
"""Bytes free below which the doctor warns: the index and a model take about half of it."""


def doctor(parts: Parts) -> tuple[Check, ...]:
    """See `Admin.doctor`. A check that fails is a line of the answer, never the end of it."""
    names: list[tuple[str, Callable[[Parts], Check]]] = [
        ("repository", _repository), ("git", _git), ("identity", _identity), ("pending", _pending),
        ("entries", _entries), ("approval", _approval), ("hooks", _hooks), ("catalog", _catalog),
        ("index", _index), ("model", _model), ("config", _config), ("disk", _disk),
    ]  # fmt: skip
    return tuple(_checked(parts, name, look) for name, look in names)


def _checked(parts: Parts, name: str, look: Callable[[Parts], Check]) -> Check:
    try:
        return look(parts)
    except AiLessonsError as error:
        return Check(name, "error", error.message, error.hint)


def _repository(parts: Parts) -> Check:
    head = parts.store.head()
    where = str(parts.store.root)
    if head.ref is None:
        return Check("repository", "warning", f"{where}, detached HEAD: writes wait", "git switch main")
    branch = head.ref.removeprefix("refs/heads/")
    commit = head.commit[:10] if head.commit else "no commit yet"
    return Check("repository", "ok", f"{where}, {branch} at {commit}")


def _git(_: Parts) -> Check:
    try:
        return Check("git", "ok", git.run_outside("--version").text.strip())
    except GitMissing as error:
        return Check("git", "error", error.message, error.hint)


def _identity(parts: Parts) -> Check:
    who = git.identity(parts.store.worktree, "COMMITTER")
    if not who:
        return Check(
            "identity", "error", "git does not know who you are: writes wait for a commit",
            "git config --global user.name NAME; git config --global user.email ADDRESS",
        )  # fmt: skip
    return Check("identity", "ok", str(who))


def _pending(parts: Parts) -> Check:
    damaged = parts.store.journal.damaged()
    if damaged:
        return Check(
            "pending", "warning", f"notes of writes that cannot be read: {', '.join(damaged)}",
            f"the files are in place: commit what `git status` lists, rm {parts.store.state_dir}/journal/*.damaged",
        )  # fmt: skip
    swept = _taken_away(parts)
    if swept:
        return Check(
            "pending", "warning", f"writes that were taken away before their commit: {swept}",
            "ai-lessons admin recover --list",
        )  # fmt: skip
    waiting = parts.store.pending()
    if waiting:
        return Check("pending", "warning", f"writes that wait for a commit: {len(waiting)}", "ai-lessons admin save")
    stated = parts.reading_config.autocommit
    if parts.store.commits(stated):
        return Check("pending", "ok", "every write is committed")
    ignored = "; git.autocommit counts for nothing in a folder of a bigger repository" if stated else ""
    return Check(
        "pending", "ok", f"commits are yours to make{ignored}", f"git config {AUTOCOMMIT} true" if stated else ""
    )


def _taken_away(parts: Parts) -> int:
    journal = parts.store.journal
    return len(journal.swept()) + len(journal.missing(parts.store.root))


def _entries(parts: Parts) -> Check:
    sizes = parts.current().sizes()
    total = sum(sizes.entries.values())
    left_out = sizes.unreadable + len(parts.skipped)
    if left_out:
        return Check("entries", "error", f"{total} readable, {left_out} left out", "ai-lessons admin validate")
    return Check("entries", "ok", f"{total} readable")


def _approval(parts: Parts) -> Check:
    view = parts.rules.view()
    if view is None or view.tip is None:
        return Check("approval", "ok", "no approval branch yet, so no rule is in force")
    if view.alarms:
        return Check("approval", "warning", "; ".join(alarm.message for alarm in view.alarms), view.alarms[0].hint)
    count = sum(one.in_force for one in view.verdicts.values())
    return Check("approval", "ok", f"{count} rule{'' if count == 1 else 's'} in force by {view.policy.require}")


def _hooks(parts: Parts) -> Check:
    lines = git_hooks.hooks_status(parts.store.root, scaffold.hooks_dir())
    if parts.store.is_folder_of_bigger_repo:
        return Check("hooks", "ok", "the hooks of this git repository are its own business")
    missing = [line for line in lines if "installed" not in line or "not installed" in line]
    if missing:
        return Check("hooks", "warning", "; ".join(lines), "ai-lessons admin hooks install")
    return Check("hooks", "ok", "; ".join(lines))


def _catalog(parts: Parts) -> Check:
    catalog = parts.current()
    if catalog.in_memory:
        return Check(
            "catalog", "warning", f"{parts.store.state_dir} cannot be written: rebuilt by every command",
            f"make it writable: chmod -R u+w {parts.store.state_dir}",
        )  # fmt: skip
    return Check("catalog", "ok", f"generation {catalog.generation}")


def _index(parts: Parts) -> Check:
    parts.current()
    status = parts.index.status()
    current = parts.index.current(parts.indexing.generation)
    detail = f"{status.entries} entries, {status.passages} passages, {status.vectors} vectors"
    if current is None or status.vectors < status.passages:
        return Check("index", "warning", f"{detail}; the next search adds what is missing", "ai-lessons admin reindex")
    return Check("index", "ok", detail)


def _model(parts: Parts) -> Check:
    from ai_lessons.index import model_files

    found = model_files.find(parts.options.cache_dir, parts.options.model_dir)
    if found is None:
        return Check(
            "model", "warning", "not on this machine: search works on text alone", "ai-lessons admin model pull"
        )
    return Check("model", "ok", f"{found.path} ({found.source})")


def _config(parts: Parts) -> Check:
    config = parts.config
    return Check("config", "ok", f"format {config.format}")


def _disk(parts: Parts) -> Check:
    free = shutil.disk_usage(parts.store.root).free
    said = f"{free / 1e9:.1f} GB free"
    if free < LOW_SPACE:
        return Check("disk", "warning", said, "make room: writes, index and model need space")
    writable = os.access(parts.store.root, os.W_OK)
    return Check("disk", "ok" if writable else "error", said if writable else f"{parts.store.root} is read-only")


def stats(parts: Parts) -> Stats:
    """See `Admin.stats`."""
    sizes = parts.current().sizes()
    state = parts.store.state_dir
    status = parts.index.status()
    most, least = usefulness.judged(parts)
    return Stats(
        entries=sizes.entries,
        projects=sizes.projects,
        tags=sizes.tags,
        files=sizes.files,
        unreadable=sizes.unreadable,
        bytes=sizes.bytes,
        catalog_bytes=sum(file.stat().st_size for file in state.glob("catalog.sqlite*")),
        index_bytes=status.bytes,
        passages=status.passages,
        vectors=status.vectors,
        pending=len(parts.store.pending()),
        taken_away=_taken_away(parts),
        commits_30_days=_recent_commits(parts),
        oldest=sizes.oldest,
        newest=sizes.newest,
        most_useful=most,
        least_useful=least,
        damaged_events=usefulness.damaged(parts),
        ablation=usefulness.ablation(parts),
        clusters=_clusters(parts),
    )


def _clusters(parts: Parts) -> tuple[int, ...]:
    pairs = [(one.source, one.target) for one in parts.catalog.edges() if one.relation == Relation.RELATED_TO]
    known = parts.catalog.many({end for pair in pairs for end in pair})
    return tuple(len(one) for one in clusters(pair for pair in pairs if {*pair} <= known.keys()))


def _recent_commits(parts: Parts) -> int:
    done = git.run(
        parts.store.worktree, "rev-list", "--count", "--since=30.days", "HEAD", "--", ".", cwd=parts.store.root
    )
    return int(done.text) if not done.code else 0


def stale(parts: Parts) -> tuple[Stale, ...]:
    """See `Admin.stale`."""
    return tuple(_stale(parts))


def _stale(parts: Parts) -> Iterator[Stale]:
    for light in parts.current().select(Filter(kinds=frozenset({Kind.SCRIPT}), status=None)):
        where = light.details.get("path")
        if not where or parts.store.exists(light.path):
            continue
        file = Path(os.path.expanduser(str(where)))
        reason = _staleness(parts, light.path, file)
        if reason:
            yield Stale(light.handle, light.title, str(file), reason)


def _staleness(parts: Parts, path: str, file: Path) -> str:
    if not file.is_file():
        return "gone"
    changed = file.stat().st_mtime
    described = (parts.store.root / f"{path}.md").stat().st_mtime
    if changed <= described:
        return ""
    return f"changed {datetime.fromtimestamp(changed, UTC):%Y-%m-%d %H:%M} UTC, after its description"

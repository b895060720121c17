"""The doctor's checks, statistics, stale scripts, and the parameters that learn."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from statistics import median
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, NotFound, Refused
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import Kind, Light, Relation
from ai_lessons.knowledge.relations import clusters
from ai_lessons.learning.choose import measured
from ai_lessons.learning.events import RESET, Event
from ai_lessons.learning.fold import DEFINITIONS, ParameterState
from ai_lessons.library import setup
from ai_lessons.library.refreshing import is_url, known_sources, source_mark, source_of
from ai_lessons.library.reports import Check, Stale, Stats
from ai_lessons.repository import git, git_hooks, outside, scaffold
from ai_lessons.repository.loose_files import loose
from ai_lessons.repository.store import AUTOCOMMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.agent_hosts import Where

    Finding = tuple[str, str, str]  # State (ok, warning or error), what was found, and what mends it; see `Check`

LOW_SPACE = 200 * 1024 * 1024  # Bytes free below which the doctor warns: the index and a model take about half of it


def doctor(library: Library, agents: Where | None = None, event: bytes = b"") -> tuple[Check, ...]:
    """The state of everything the tool stands on, each with what to do; a check that fails is a line of it.

    `agents` and `event`: as `setup.hosts` takes them; without them hosts of agents are not looked at.
    """
    repo, results = library.primary, list[Check]()
    checks = {**CHECKS}
    if agents:
        checks["agents"] = partial(_agents, agents, event)
    for name, look in checks.items():
        try:
            results.append(Check(name, *look(repo)))
        except AiLessonsError as error:
            results.append(Check(name, "error", error.message, error.hint))
    return tuple(results)


def _repository(repo: RepositorySession) -> Finding:
    head, where = repo.store.head(), str(repo.store.root)
    if head.ref is None:
        return "warning", f"{where}, detached HEAD: writes wait", "git switch main"
    commit = head.commit[:10] if head.commit else "no commit yet"
    return "ok", f"{where}, {head.ref.removeprefix('refs/heads/')} at {commit}", ""


def _identity(repo: RepositorySession) -> Finding:
    if who := git.identity(repo.store.worktree, "COMMITTER"):
        return "ok", str(who), ""
    remedy = "git config --global user.name NAME; git config --global user.email ADDRESS"
    return "error", "git does not know who you are: writes wait for a commit", remedy


def _pending(repo: RepositorySession) -> Finding:
    if damaged := repo.store.journal.damaged():
        damage = f"notes of writes that cannot be read: {', '.join(damaged)}"
        remedy = f"commit what `git status` lists, rm {repo.store.state_dir}/journal/*.damaged"
        return "warning", damage, f"the files are in place: {remedy}"
    if swept := _taken_away(repo):
        return "warning", f"writes that were taken away before their commit: {swept}", "ai-lessons admin recover --list"
    if waiting := repo.store.pending():
        return "warning", f"writes that wait for a commit: {len(waiting)}", "ai-lessons admin save"
    stated = repo.reading_config.autocommit
    if repo.store.commits(stated):
        return "ok", "every write is committed", ""
    ignored = "; git.autocommit counts for nothing in a folder of a bigger repository" if stated else ""
    return "ok", f"commits are yours to make{ignored}", f"git config {AUTOCOMMIT} true" if stated else ""


def _taken_away(repo: RepositorySession) -> int:
    journal = repo.store.journal
    return len(journal.swept()) + len(journal.missing(repo.store.root))


def _entries(repo: RepositorySession) -> Finding:
    sizes = repo.current().sizes()
    total = sum(sizes.entries.values())
    if left_out := sizes.unreadable + len(repo.skipped):
        return "error", f"{total} readable, {left_out} left out", "ai-lessons admin validate"
    return "ok", f"{total} readable", ""


def _approval(repo: RepositorySession) -> Finding:
    view = repo.rules.view()
    if view is None or view.tip is None:
        return "ok", "no approval branch yet, so no rule is in force", ""
    if view.alarms:
        return "warning", "; ".join(alarm.message for alarm in view.alarms), view.alarms[0].hint
    count = sum(verdict.in_force for verdict in view.verdicts.values())
    return "ok", f"{count} rule{'' if count == 1 else 's'} in force by {view.policy.require}", ""


def _hooks(repo: RepositorySession) -> Finding:
    lines = git_hooks.carry_out(repo.store.root, scaffold.hooks_dir(), "status")
    if repo.store.is_folder_of_bigger_repo:
        return "ok", "the hooks of this git repository are its own business", ""
    missing = any("installed" not in line or "not installed" in line for line in lines)
    return ("warning" if missing else "ok"), "; ".join(lines), "ai-lessons admin hooks install" if missing else ""


def _agents(at: Where, event: bytes, _repo: RepositorySession) -> Finding:
    targets = {
        target.runs: (target.works, f"{host.name}, {target.place}: {target.answered}")
        for host in setup.hosts(at, event)
        for target in host.targets
        if target.runs
    }
    if broken := [answer for works, answer in targets.values() if not works]:
        return "warning", "; ".join(broken), "ai-lessons admin hosts --install"
    return "ok", "; ".join(answer for _, answer in targets.values()) or "no agent host calls ours", ""


def _catalog(repo: RepositorySession) -> Finding:
    catalog, folder = repo.current(), repo.store.state_dir
    if catalog.in_memory:
        return "warning", f"{folder} cannot be written: rebuilt by every command", f"chmod -R u+w {folder}"
    return "ok", f"generation {catalog.generation}", ""


def _index(repo: RepositorySession) -> Finding:
    repo.current()
    status = repo.index.status()
    detail = f"{status.entries} entries, {status.passages} passages, {status.vectors} vectors"
    if repo.index.current(repo.indexing.generation) is None or status.vectors < status.passages:
        return "warning", f"{detail}; the next search adds what is missing", "ai-lessons admin reindex"
    return "ok", detail, ""


def _model(repo: RepositorySession) -> Finding:
    from ai_lessons.index import model_files

    location = model_files.find(repo.options.cache_dir, repo.options.model_dir)
    if location is None:
        return "warning", "not on this machine: search works on text alone", "ai-lessons admin model pull"
    return "ok", f"{location.path} ({location.source})", ""


def _disk(repo: RepositorySession) -> Finding:
    free = shutil.disk_usage(repo.store.root).free
    if free < LOW_SPACE:
        return "warning", f"{free / 1e9:.1f} GB free", "make room: writes, index and model need space"
    if not os.access(repo.store.root, os.W_OK):
        return "error", f"{repo.store.root} is read-only", ""
    return "ok", f"{free / 1e9:.1f} GB free", ""


def _files(repo: RepositorySession) -> Finding:
    if problems := loose(repo.store):
        return "warning", "; ".join(problems), "ai-lessons admin save --edits; move or remove what is no entry"
    return "ok", "every file is an entry, and in a commit", ""


# The doctor's checks by the name of their line, in their order
CHECKS: Mapping[str, Callable[[RepositorySession], Finding]] = {
    "repository": _repository, "git": lambda _: ("ok", git.run(None, "--version").text.strip(), ""),
    "identity": _identity, "pending": _pending, "files": _files, "entries": _entries, "approval": _approval,
    "hooks": _hooks, "catalog": _catalog, "index": _index, "model": _model,
    "config": lambda repo: ("ok", f"format {repo.config.format}", ""), "disk": _disk,
}  # fmt: skip


def stats(library: Library) -> Stats:
    """Counts and sizes."""
    repo = library.primary
    sizes = repo.current().sizes()
    state = repo.store.state_dir
    status = repo.index.status()
    most, least = repo.usages.judged()
    cache = repo.usages.cache
    pairs = [(edge.source, edge.target) for edge in repo.catalog.edges() if edge.relation == Relation.RELATED_TO]
    lights = repo.catalog.many({end for pair in pairs for end in pair})
    recent = git.run(
        repo.store.worktree, "rev-list", "--count", "--since=30.days", "HEAD", "--", ".", cwd=repo.store.root
    )
    return Stats(
        **sizes._asdict(),
        catalog_bytes=sum(file.stat().st_size for file in state.glob("catalog.sqlite*")),
        index_bytes=status.bytes,
        passages=status.passages,
        vectors=status.vectors,
        pending=len(repo.store.pending()),
        taken_away=_taken_away(repo),
        commits_30_days=0 if recent.code else int(recent.text),
        most_useful=most,
        least_useful=least,
        damaged_events=cache.damaged() if cache else 0,
        ablation=measured(cache.in_sessions()) if cache else None,
        clusters=tuple(len(cluster) for cluster in clusters(pair for pair in pairs if {*pair} <= lights.keys())),
        approval_lead_time=_lead_time(repo),
    )


def _lead_time(repo: RepositorySession) -> int | None:
    view = repo.rules.known()
    verdicts = [verdict for verdict in view.verdicts.values() if verdict.in_force] if view else []
    merged = {x.evidence.commit: x.evidence.at for x in verdicts if x.evidence.how in {"merge", "self-merge"}}
    if not merged:
        return None
    asked = "".join(f"{merge}^2\n" for merge in merged).encode()  # of a batch the first proposal stands for all
    done = git.run(repo.store.worktree, "log", "--no-walk=unsorted", "--format=%ct", "--stdin", stdin=asked)
    times = zip(merged.values(), done.out.split(), strict=False)
    return round(median(max(at - int(proposed), 0) for at, proposed in times)) if not done.code else None


GONE = "gone"


def stale(repo: RepositorySession) -> Iterator[Stale]:
    """Docs and scripts whose file outside the repository changed since it was read, or is gone."""
    sources = known_sources(repo)
    for light in repo.current().select(Filter(kinds=frozenset({Kind.DOC, Kind.SCRIPT}), status=None)):
        if reason := _moved_on(repo, light, sources):
            yield Stale(light.handle, light.title, str(source_of(repo, light)), reason)


def told_of_scripts(library: Library, lights: Iterable[Light]) -> list[str]:
    """A sentence about each of these scripts whose file outside the repository changed since it was read."""
    sentences = []
    for light in lights:
        if light.kind is Kind.SCRIPT and light.details.get("path"):
            repo = library.holding(light.id)[0]
            if reason := _moved_on(repo, light, known_sources(repo)):
                sentences.append(f"[{light.handle}] {reason}")
    return sentences


def _moved_on(repo: RepositorySession, light: Light, sources: frozenset[str]) -> str:
    """What became of the file that an entry was read from; empty where it is as it was, a page, or not known here."""
    where, hashed = source_of(repo, light), light.details.get("content_hash")
    if not where or is_url(where):
        return ""
    file, was_read = outside.expanded(where), bool(hashed) and source_mark(light.id, where) in sources
    if light.kind is Kind.DOC and not (was_read and file.is_absolute() and file.parent.is_dir()):
        return ""  # a snapshot, whose source may be on another machine
    if not file.is_file():
        return GONE
    if was_read:
        try:
            same = f"sha256:{sha256(outside.read(file)[0]).hexdigest()}" == hashed
        except AiLessonsError as error:
            return error.message
        refresh = f"changed since it was read: ai-lessons contribute refresh-resource {light.handle}"
        return "" if same else refresh
    changed = file.stat().st_mtime
    late = changed > (repo.store.root / f"{light.path}.md").stat().st_mtime
    return f"changed {datetime.fromtimestamp(changed, UTC):%Y-%m-%d %H:%M} UTC, after its description" if late else ""


def params(library: Library, name: str | None = None) -> tuple[ParameterState, ...]:
    """The parameters that learn, or one of them. Raises NotFound: no such parameter."""
    if name is not None and name not in DEFINITIONS:
        raise NotFound("parameter", name, hint="one of: " + ", ".join(DEFINITIONS))
    return tuple(state for state in library.primary.usages.parameters().values() if name in {None, state.name})


def params_reset(library: Library, name: str | None = None) -> tuple[ParameterState, ...]:
    """Forget what one parameter, or all, learned, and their bounds. Raises NotFound, Refused: no events here."""
    params(library, name)
    repo = library.primary
    repo.refuse_other_formats()
    if not repo.usages.recording:
        raise Refused("this repository records no events", hint="record them: ai-lessons admin config set events true")
    repo.usages.record([Event("", "", RESET, parameter) for parameter in ([name] if name else DEFINITIONS)])
    return params(library, name)

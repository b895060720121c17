"""The doctor, what waits, and statistics."""

from __future__ import annotations

import os
import shutil
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app, extensions
from ai_lessons.app import outdated, program_hooks, scaffold, vector_progress
from ai_lessons.app.kept_files import taken_away
from ai_lessons.app.validation import attribute_problems, entry_files
from ai_lessons.errors import AiLessonsError
from ai_lessons.git import hooks, plumbing
from ai_lessons.git.approval_branch import branch_name
from ai_lessons.git.store import AUTOCOMMIT
from ai_lessons.git.uncommitted import ignored_entries, loose
from ai_lessons.model import layout
from ai_lessons.model.config import DEFAULT_MODEL
from ai_lessons.model.entries import Filter, Kind, Relation, handle
from ai_lessons.model.languages import is_english
from ai_lessons.model.links import clusters
from ai_lessons.model.texts import first_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ai_lessons.app.learned import Effect, Judged, KeptRule
    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.model import Where

    # State (ok, warning or error), what was found, and what mends it; see `Check`
    Finding = tuple[str, str, str]


class Check(NamedTuple):
    """One line of `doctor`: `state` is ok, warning or error.

    `remedy` the command or action that mends it.
    """

    name: str
    state: str
    detail: str
    remedy: str = ""


class Stats(NamedTuple):
    """Sizes (bytes) and counts; `clusters`: sizes of groups that `related_to` joins.

    `ablation` None: not known yet.

    `approval_lead_time`: median seconds from the last commit of a proposal to the merge that
    approved it; None: no rule in force came by a merge. `kept`: the rules that checks saw, the
    least followed first.
    """

    entries: Mapping[str, int]
    projects: int
    tags: int
    files: int
    unreadable: int
    bytes: int
    catalog_bytes: int
    index_bytes: int
    passages: int
    vectors: int
    pending: int
    taken_away: int
    commits_30_days: int
    oldest: str | None
    newest: str | None
    most_useful: tuple[Judged, ...] = ()
    least_useful: tuple[Judged, ...] = ()
    damaged_events: int = 0
    ablation: Effect | None = None
    clusters: tuple[int, ...] = ()
    approval_lead_time: int | None = None
    kept: tuple[KeptRule, ...] = ()


# Bytes free below which the doctor warns: the index and a model take about half of it
LOW_SPACE = 200 * 1024 * 1024


def doctor(library: Library, agents: Where | None = None, event: bytes = b"") -> tuple[Check, ...]:
    """The state of everything the tool stands on, each with what to do.

    A check that fails is a line of it.

    `agents` and `event`: as `setup.hosts` takes them; without them hosts of agents are not looked
    at.
    """
    repo, results = library.primary, list[Check]()
    checks = {**CHECKS}
    for name, place in extensions.named("doctor").items():
        checks[name] = extensions.load(place)
    if agents:
        checks["agents"] = partial(_agents, agents, event)
    for name, look in checks.items():
        try:
            finding = look(repo)
            # a feature has perhaps nothing to say
            if finding is not None:
                results.append(Check(name, *finding))
        except AiLessonsError as error:
            results.append(Check(name, "error", error.message, error.hint))
    return tuple(results)


def status(library: Library) -> tuple[Check, ...]:
    """What waits in this repository: for a commit, a decision, a look or others.

    Each with what to do.
    """
    repo = library.primary
    entries = sum(repo.current().sizes().entries.values())
    waiting = len(app.pending_rules.pending_rules(library))
    changed = len({row.entry.id for row in outdated.by_features(repo)})
    away = outdated.unseen(repo)
    if away:
        not_here = f"; not compared, because the code of {', '.join(away)} is not here"
    else:
        not_here = ""
    state, where, remedy = _repository(repo)
    added = []
    for name, place in extensions.named("status").items():
        finding = extensions.load(place)(repo)
        if finding is not None:
            added.append(Check(name, *finding))
    return (
        Check("repository", state, f"{where}, entries: {entries:,}", remedy),
        Check("writes", *_pending(repo)),
        Check("meaning", *vector_progress.standing(repo)),
        _counted(
            "proposals",
            waiting,
            f"wait{'s' * (waiting == 1)} for a person",
            "ai-lessons admin review-rules",
        ),
        _counted(
            "stale",
            changed,
            f"speak{'s' * (changed == 1)} of code that changed{not_here}",
            "ai-lessons review",
        ),
        _conflicts(library),
        _shared(repo),
        *added,
    )


def _counted(name: str, number: int, what: str, remedy: str) -> Check:
    return Check(
        name, "warning" if number else "ok", f"{number or 'none'} {what}", remedy if number else ""
    )


def _conflicts(library: Library) -> Check:
    try:
        torn = len(app.sharing.conflicts(library).entries)
    except AiLessonsError:
        # nothing is shared, or not to be compared: the next line says so
        torn = 0
    return _counted("conflicts", torn, "changed on both sides", "ai-lessons admin conflicts")


def _shared(repo: RepositorySession) -> Check:
    done = plumbing.run(
        repo.store.worktree, "rev-list", "--count", "--left-right", "@{upstream}...HEAD"
    )
    if done.code:
        return Check("shared", "ok", "not shared: this branch follows no remote branch")
    theirs, ours = done.text.split()
    detail = f"commits to send: {ours}, to fetch: {theirs}, as of the last fetch"
    return Check("shared", "ok" if ours == theirs == "0" else "warning", detail, "ai-lessons sync")


def _repository(repo: RepositorySession) -> Finding:
    head, where = repo.store.head(), str(repo.store.root)
    if head.ref is None and (repo.store.worktree.top / ".jj").is_dir():
        detail = f"{where}, of jj, which keeps HEAD detached: nothing is committed here"
        return (
            "warning",
            detail,
            "commit the files with jj, or keep entries in a repository of their own: admin init",
        )
    if head.ref is None:
        return "warning", f"{where}, detached HEAD: writes wait", "git switch main"
    if head.commit:
        commit = head.commit[:10]
    else:
        commit = "no commit yet"
    return "ok", f"{where}, {head.ref.removeprefix('refs/heads/')} at {commit}", ""


def _identity_check(repo: RepositorySession) -> Finding:
    if who := plumbing.identity(repo.store.worktree, "COMMITTER"):
        return "ok", str(who), ""
    remedy = "git config --global user.name NAME; git config --global user.email ADDRESS"
    return "error", "git does not know who you are: writes wait for a commit", remedy


def _pending(repo: RepositorySession) -> Finding:
    if damaged := repo.store.journal.damaged():
        damage = f"notes of writes that cannot be read: {', '.join(damaged)}"
        remedy = f"commit what `git status` lists, rm {repo.store.state_dir}/journal/*.damaged"
        return "warning", damage, f"the files are in place: {remedy}"
    if swept := len(taken_away(repo)):
        return (
            "warning",
            f"writes that were taken away before their commit: {swept}",
            "ai-lessons admin recover --list",
        )
    if waiting := repo.store.pending():
        # no commit without a branch
        if repo.store.head().ref:
            remedy = "ai-lessons admin save"
        else:
            remedy = _repository(repo)[2]
        return "warning", f"writes that wait for a commit: {len(waiting)}", remedy
    if repo.store.protected:
        return (
            "ok",
            "the remote takes no pushes to this branch, so nothing is committed on it",
            "git switch -c BRANCH",
        )
    stated = repo.reading_config.autocommit
    if repo.store.commits(stated):
        return "ok", "every write is committed", ""
    if notes := repo.store.ignored([layout.CONFIG_PATH]):
        return "warning", notes[0], ""
    if stated:
        ignored = "; git.autocommit counts for nothing in a folder of a bigger repository"
    else:
        ignored = ""
    return (
        "ok",
        f"commits are yours to make{ignored}",
        f"git config {AUTOCOMMIT} true" if stated else "",
    )


def _entries_check(repo: RepositorySession) -> Finding:
    catalog, remedy = repo.current(), "ai-lessons admin validate"
    total = sum(catalog.sizes().entries.values())
    if left_out := [*catalog.left_out(), *(row.partition(": ")[0] for row in repo.skipped)]:
        return (
            "error",
            f"{total} readable, {len(left_out)} left out: {first_of(left_out, 3)}",
            remedy,
        )
    if any(attribute_problems(repo.store, [path for path, _ in entry_files(repo.store, [])])):
        return "warning", f"{total} readable; attributes would change their text", remedy
    return "ok", f"{total} readable", ""


def _approval(repo: RepositorySession) -> Finding:
    view = repo.rules.view()
    missing, _, remedy = repo.rules.missing().partition(": ")
    if missing:
        return "warning", missing, remedy
    if view is None or view.tip is None:
        return "ok", "no approval branch yet, so no rule is in force", ""
    if view.alarms:
        return "warning", "; ".join(alarm.message for alarm in view.alarms), view.alarms[0].hint
    count = sum(verdict.in_force for verdict in view.verdicts.values())
    ways = "ai-lessons admin approve-rule ID for each, or for a team that rebases: admin config set approval.require forge"
    if view.lapsed:
        # merges in other words, squashes and rebases counted in earlier editions
        names = ", ".join(
            f"{handle(Kind.RULE, rule)} {path}" for rule, path in sorted(view.lapsed.items())
        )
        return (
            "warning",
            f"served by an earlier edition, and not approved as of today: {names}",
            ways,
        )
    forges = set()
    for verdict in view.verdicts.values():
        for change in verdict.unapproved:
            if change.evidence.how == "squash" and change.evidence.by:
                forges.add(change.evidence.by.email.casefold())
    if forges:
        line = ",".join(sorted({*forges, *view.policy.forges}))
        detail = f"looks squashed by a forge that is not known here: {', '.join(sorted(forges))}"
        return (
            "warning",
            detail,
            f"if you know it: ai-lessons admin config set approval.forges {line}",
        )
    if waiting := [
        handle(Kind.RULE, rule)
        for rule, verdict in sorted(view.verdicts.items())
        if verdict.unapproved
    ]:
        return "warning", f"on {branch_name(view.ref)} without approval: {', '.join(waiting)}", ways
    if view.ref.startswith("refs/remotes/"):
        where = f" on {branch_name(view.ref)}"
    else:
        where = ""
    return (
        "ok",
        f"{count} rule{'' if count == 1 else 's'} in force by {view.policy.require}{where}",
        "",
    )


def _hooks(repo: RepositorySession) -> Finding:
    lines = hooks.carry_out(repo.store.root, scaffold.hooks_dir(), "status")
    if repo.store.is_folder_of_bigger_repo:
        return "ok", "the hooks of this git repository are its own business", ""
    missing = any("installed" not in line or "not installed" in line for line in lines)
    return (
        ("warning" if missing else "ok"),
        "; ".join(lines),
        "ai-lessons admin hooks install" if missing else "",
    )


def _agents(at: Where, event: bytes, _repo: RepositorySession) -> Finding:
    targets = {}
    for host in program_hooks.hosts(at, event):
        for target in host.targets:
            if target.runs:
                targets[target.runs] = (
                    target.works,
                    f"{host.name}, {target.place}: {target.answered}",
                )
    if broken := [answer for works, answer in targets.values() if not works]:
        return "warning", "; ".join(broken), "ai-lessons admin hosts --install"
    return (
        "ok",
        "; ".join(answer for _, answer in targets.values()) or "no agent host is connected",
        "",
    )


def _catalog(repo: RepositorySession) -> Finding:
    catalog, folder = repo.current(), repo.store.state_dir
    if catalog.in_memory:
        return (
            "warning",
            f"{folder} cannot be written: rebuilt by every command",
            f"chmod -R u+w {folder}",
        )
    return "ok", "up to date", ""


def _index(repo: RepositorySession) -> Finding:
    repo.current()
    note = repo.indexing.find_place()
    status = repo.index.status()
    detail = f"{status.entries} entries, {status.passages} passages, {status.vectors} vectors"
    if note:
        return "warning", f"{note}; {detail}", "AI_LESSONS_INDEX_DIR names a folder on a local disk"
    if left := repo.index.shared.left():
        named = ", ".join(f"{pack[:10]} ({reason})" for pack, reason in left.items())
        return (
            "warning",
            f"{detail}; packs of shared vectors that are left: {named}",
            vector_progress.REMOVE_PACKS,
        )
    if repo.index.current(repo.indexing.generation) is None or status.vectors < status.passages:
        return (
            "warning",
            f"{detail}; the next search adds what is missing",
            "ai-lessons admin reindex",
        )
    return "ok", detail, ""


MULTILINGUAL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"


def _model(repo: RepositorySession) -> Finding:
    from ai_lessons.search import model_files

    location = model_files.find(repo.options.cache_dir, repo.options.model_dir)
    if location is None:
        return (
            "warning",
            "not on this machine: search works on text alone",
            "ai-lessons admin model pull",
        )
    # 500 entries tell which languages a library has
    if repo.reading_config.model == DEFAULT_MODEL:
        summaries = repo.catalog.select(Filter(limit=500))
    else:
        summaries = []
    if 2 * sum(is_english(f"{summary.title}\n{summary.snippet}") for summary in summaries) < len(
        summaries
    ):
        setting = f"ai-lessons admin config set search.model {MULTILINGUAL}"
        return (
            "warning",
            f"{DEFAULT_MODEL} reads English, and most texts here are in other languages",
            setting,
        )
    return "ok", f"{location.path} ({location.source})", ""


def _disk(repo: RepositorySession) -> Finding:
    free = shutil.disk_usage(repo.store.root).free
    if free < LOW_SPACE:
        return (
            "warning",
            f"{free / 1e9:.1f} GB free",
            "make room: writes, index and model need space",
        )
    if not os.access(repo.store.root, os.W_OK):
        return "error", f"{repo.store.root} is read-only", ""
    return "ok", f"{free / 1e9:.1f} GB free", ""


def _secrets_check(repo: RepositorySession) -> Finding:
    repo.current()
    paths = []
    for summary in app.edited_files.with_secrets(repo):
        paths.append(summary.path)
    if not paths:
        return "ok", "no entry holds what looks like one", ""
    detail = f"what looks like a secret is masked in every answer: {first_of(paths, 3)}"
    return (
        "warning",
        detail,
        "take it out, and change it where it counts: ai-lessons admin validate",
    )


def _files_check(repo: RepositorySession) -> Finding:
    problems = loose(repo.store)
    saved = any(problem.startswith("in no commit") for problem in problems)
    if problems:
        remedy = (
            f"{'ai-lessons admin save --edits; ' if saved else ''}move or remove what is no entry"
        )
    else:
        remedy = ""
    if hidden := ignored_entries(repo.store):
        problems += [
            f"entries that git ignores: {len(hidden):,}; {note}"
            for note in repo.store.ignored(hidden[:1])
        ]
    if problems:
        return "warning", "; ".join(problems), remedy
    return "ok", "every file is an entry, and in a commit", ""


# The doctor's checks by the name of their line, in their order
CHECKS: Mapping[str, Callable[[RepositorySession], Finding]] = {
    "repository": _repository, "git": lambda _: ("ok", plumbing.run(None, "--version").text.strip(), ""),
    "identity": _identity_check, "pending": _pending, "files": _files_check, "entries": _entries_check,
    "secrets": _secrets_check,
    "approval": _approval, "hooks": _hooks, "catalog": _catalog, "index": _index, "model": _model,
    "config": lambda repo: ("ok", f"format {repo.config.format}", ""), "disk": _disk,
}  # fmt: skip


def stats(library: Library) -> Stats:
    """Counts and sizes."""
    repo = library.primary
    sizes = repo.current().sizes()
    state = repo.store.state_dir
    status = repo.index.status()
    learned = repo.learned.figures()
    pairs = []
    for edge in repo.catalog.edges():
        if edge.relation == Relation.RELATED_TO:
            pairs.append((edge.source, edge.target))
    summaries = repo.catalog.many({end for pair in pairs for end in pair})
    recent = plumbing.run(
        repo.store.worktree,
        "rev-list",
        "--count",
        "--since=30.days",
        "HEAD",
        "--",
        ".",
        cwd=repo.store.root,
    )
    if recent.code:
        commits_30_days = 0
    else:
        commits_30_days = int(recent.text)
    return Stats(
        **sizes._asdict(),
        catalog_bytes=sum(file.stat().st_size for file in state.glob("catalog.sqlite*")),
        index_bytes=status.bytes,
        passages=status.passages,
        vectors=status.vectors,
        pending=len(repo.store.pending()),
        taken_away=len(taken_away(repo)),
        commits_30_days=commits_30_days,
        most_useful=learned.most_useful,
        least_useful=learned.least_useful,
        damaged_events=learned.damaged_events,
        ablation=learned.ablation,
        clusters=tuple(
            len(cluster)
            for cluster in clusters(pair for pair in pairs if {*pair} <= summaries.keys())
        ),
        approval_lead_time=_lead_time(repo),
        kept=learned.kept,
    )


def _lead_time(repo: RepositorySession) -> int | None:
    view = repo.rules.view(readable=True)
    if view:
        verdicts = [verdict for verdict in view.verdicts.values() if verdict.in_force]
    else:
        verdicts = []
    merged = {}
    for x in verdicts:
        if x.evidence.how in {"merge", "line", "signed"}:
            merged[x.evidence.commit] = x.evidence.at
    if not merged:
        return None
    # the first proposal of a batch stands for all
    asked = "".join(f"{merge}^2\n" for merge in merged).encode()
    done = plumbing.run(
        repo.store.worktree, "log", "--no-walk=unsorted", "--format=%ct", "--stdin", stdin=asked
    )
    times = zip(merged.values(), done.out.split(), strict=False)
    if not done.code:
        return round(median(max(at - int(proposed), 0) for at, proposed in times))
    return None

"""Checks: validation and repair of files, the doctor, statistics, stale entries, learning parameters."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from hashlib import sha256
from shlex import quote as for_shell
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.app import anchors, authorship, editing, meaning, secrets, setup
from ai_lessons.app.answers import Judged, KeptRule, Stale, Written
from ai_lessons.app.link_effects import superseded_by
from ai_lessons.app.resources import source_of
from ai_lessons.app.trust import is_url, known_sources, source_mark
from ai_lessons.app.usage import JUDGED
from ai_lessons.app.write_checks import texts_of
from ai_lessons.approval.state import odd_commits
from ai_lessons.errors import (
    AiLessonsError,
    InvalidEntry,
    NotFound,
    Problem,
    Refused,
    UnsupportedRepository,
)
from ai_lessons.git import files, hooks, plumbing
from ai_lessons.git.commit import ignored_entries, loose
from ai_lessons.git.encodings import ATTRIBUTE
from ai_lessons.git.store import AUTOCOMMIT, Change, Store
from ai_lessons.git.worktree import branch_name, locate, walk
from ai_lessons.learning.selection import Effect, measured
from ai_lessons.learning.statistics import (
    DEFINITIONS,
    RESET,
    SCRIPT_FAILED,
    SCRIPT_OK,
    Event,
    ParameterState,
)
from ai_lessons.model import checks, expression, frontmatter, layout, markdown
from ai_lessons.model.check_drafts import fitting
from ai_lessons.model.check_forms import checks_of, text_checks
from ai_lessons.model.checks import day_of
from ai_lessons.model.config import DEFAULT_MODEL, parse_config, unknown_keys
from ai_lessons.model.entries import (
    Entry,
    EntrySummary,
    Filter,
    Kind,
    Relation,
    handle,
    json_fields,
)
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import blob_id
from ai_lessons.model.links import clusters
from ai_lessons.model.rule_checks import EXTRA, runs
from ai_lessons.model.texts import codec_of, decode, first_of, is_english, one_line
from ai_lessons.search.catalog_update import join, units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.git.store import PendingCommit
    from ai_lessons.model import Where

    # State (ok, warning or error), what was found, and what mends it; see `Check`
    Finding = tuple[str, str, str]


class Report(NamedTuple):
    """Outcome of `validate`: every problem left, what `--fix` mended, and how many files were read.

    `notes` name files that no job takes care of, which is no problem of any file.
    """

    problems: tuple[Problem, ...]
    fixed: tuple[str, ...]
    files: int
    notes: tuple[str, ...] = ()


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


@json_fields(entry=True)
class Outdated(NamedTuple):
    """An entry to look at again.

    `reason`: not_followed, never_broken, check_fits, quoted, about, review_by, asked, applies_to, repeats,
    source, failing, or never_helpful.
    """

    entry: EntrySummary
    reason: str
    detail: str


def validate(
    library: Library, paths: Sequence[str] = (), *, fix: bool = False, content: bool = False
) -> Report:
    """Every problem of every file, or of those named and below the folders named.

    `fix` mends what is safe to.

    `content`: what `review` finds is a problem, too. Raises NotFound: a path that does not exist.
    """
    repo = library.primary
    if fix:
        repo.refuse_other_formats()
    places = [_inside(repo, path) for path in paths]
    report = _report(repo, places)
    if not places:
        # a commit that git would not have written cannot approve a rule: name it
        notes: list[str] = []
        try:
            commits = odd_commits(repo.store.worktree, ref) if (ref := repo.rules.ref()) else ()
            odd = [Problem(f"commit {name[:10]}", what) for name, what in commits]
            notes, hidden = app.review.coming(repo)
            odd += hidden
        except UnsupportedRepository as error:
            odd = [Problem("approval branch", error.message)]
        report = report._replace(
            problems=(*report.problems, *odd), notes=(*report.notes, *notes, *loose(repo.store))
        )
    changes, fixed = _mends(repo, places) if fix else ([], [])
    if changes:
        repo.write(f"Mend {fixed[0]}" if len(fixed) == 1 else f"Mend {len(fixed)} files", changes)
        report = _report(repo, places)._replace(fixed=tuple(fixed), notes=report.notes)
    if content:
        asked = (
            (repo.file_of(outdated.entry), outdated.detail)
            for outdated in _Review(repo).everything()
        )
        old = (
            Problem(path, f"to be reviewed: {reason}")
            for path, reason in asked
            if _concerns(path, places)
        )
        return report._replace(problems=(*report.problems, *old))
    return report


def _inside(repo: RepositorySession, path: str) -> str:
    """A path of the caller's, or one relative to the repository, as the latter.

    Empty for the repository itself.
    """
    root = repo.store.root
    if (repo.options.cwd / path).resolve() == root or path == ".":
        return ""
    for inside in (repo.inside(path), path.rstrip("/")):
        if (
            inside
            and not inside.startswith("/")
            and ".." not in inside.split("/")
            and repo.store.exists(inside)
        ):
            return inside
    raise NotFound("file in the repository", path, hint=f"name a file or folder below {root}")


def _report(repo: RepositorySession, places: Sequence[str]) -> Report:
    store = repo.store
    skipped: list[str] = []
    read = list(_read(store, skipped))
    entries = [entry for _, entry, _ in read if entry]
    problems = [problem for _, _, of_file in read for problem in of_file]
    problems += (
        Problem(path, why or "cannot be read")
        for path, _, why in (row.partition(": ") for row in skipped)
    )
    for entry in entries:
        faults, file = checks.check_entry(entry), entry.side_path or entry.path
        if faults and store.exists(file):
            # the text is read again, for the lines, only where something is wrong
            faults = checks.check_entry(entry, store.read(file).decode("utf-8", "replace"))
        problems += faults
    problems += checks.check_together(entries)
    if store.exists(layout.CONFIG_PATH):
        problems += _of_settings(store)
    problems += _of_attributes(store, [path for path, _, _ in read])
    shown = [problem for problem in problems if _concerns(problem.path, places)]
    shown.sort(key=lambda problem: (problem.path, problem.line, problem.message))
    rules = (
        entry for entry in entries if entry.kind is Kind.RULE and _concerns(entry.path, places)
    )
    unproven = []
    for rule in rules:
        if not all(map(runs, text_checks(checks_of(rule.fields)))):
            unproven.append(rule.path)
    if unproven:
        notes = [f"not proven, {EXTRA}: {', '.join(unproven)}"]
    else:
        notes = []
    notes += _unreasoned([entry for entry in entries if _concerns(entry.path, places)])
    return Report(
        tuple(shown), (), sum(_concerns(path, places) for path, _, _ in read), tuple(notes)
    )


def _unreasoned(entries: Sequence[Entry]) -> Iterator[str]:
    """Names the rules that came in without a reason, which nobody stated since."""
    rules = (entry for entry in entries if entry.kind is Kind.RULE and "rationale" in entry.fields)
    paths = []
    for rule in rules:
        if not rule.rationale:
            paths.append(rule.path)
    if paths:
        yield f"no reason is stated (rationale): {first_of(paths, 3)}"


def _of_attributes(store: Store, paths: Sequence[str]) -> Iterator[Problem]:
    """Attributes by which plain git writes or stores other bytes of entries than we do."""
    named = dict[str, list[str]]()
    for path, attributes in plumbing.attributes_of(
        store.worktree, paths, ATTRIBUTE, "ident"
    ).items():
        encoding = attributes.get(ATTRIBUTE, "UTF-8")
        if encoding not in {"set", "unset", "UTF-8"} and not codec_of(encoding):
            yield Problem(
                path, f"git writes it in {one_line(encoding)}, which is no encoding that we read"
            )
        for name, value in attributes.items():
            if value not in {"unset", "UTF-8"}:
                named.setdefault(name if value == "set" else f"{name}={value}", []).append(path)
    for words, every in named.items():
        what = f"{words} is stated of {len(every)} entries ({every[0]}): git would change their text, so take it out"
        yield Problem(".gitattributes", what)


def _of_settings(store: Store) -> Iterator[Problem]:
    text = ""
    try:
        text = decode(store.read(layout.CONFIG_PATH), layout.CONFIG_PATH)
        yield from unknown_keys(text)
        name = parse_config(text).model
        if name != DEFAULT_MODEL:
            from ai_lessons.search.embedding import dimensions_of

            dimensions_of(name)
    except InvalidEntry as error:
        yield from error.problems
    except NotFound as error:
        # no such model
        line = next(
            (n for n, row in enumerate(text.split("\n"), 1) if row.strip().startswith("model:")), 0
        )
        yield Problem(layout.CONFIG_PATH, f"{error.message}: {error.hint}", line)
    except AiLessonsError as error:
        yield Problem(layout.CONFIG_PATH, error.message)


def _concerns(path: str, places: Sequence[str]) -> bool:
    return not places or any(
        not place or path == place or path.startswith(place + "/") for place in places
    )


def _read(store: Store, skipped: list[str]) -> Iterator[tuple[str, Entry | None, list[Problem]]]:
    """The path of every file of an entry, what it is if it can be read, and what is wrong."""
    for path, side_path in _files(store, skipped):
        try:
            data, side = store.read(path), store.read(side_path) if side_path else None
            entry = read_entry(path, data, side)
            yield path, entry, secrets.problems(entry.fields, texts_of(path, data, side))
        except InvalidEntry as error:
            yield (
                path,
                None,
                [p if p.path else Problem(path, p.message, p.line) for p in error.problems],
            )
        except AiLessonsError as error:
            yield path, None, [Problem(path, error.message)]


def _entries(store: Store) -> list[Entry]:
    entries: list[Entry] = []
    for _, entry, _ in _read(store, []):
        if entry:
            entries.append(entry)
    return entries


def _files(store: Store, skipped: list[str]) -> Iterator[tuple[str, str | None]]:
    """Paths of entries, each with its side file if it has one."""
    for folder, rows in walk(store.root, skipped):
        for unit in units(folder, (row[0] for row in rows)):
            path = join(folder, unit.name)
            if layout.place(path) is not None:
                yield path, join(folder, unit.side) if unit.side else None


def _mends(repo: RepositorySession, places: Sequence[str]) -> tuple[list[Change], list[str]]:
    changes: list[Change] = []
    lines: list[str] = []
    taken: set[str] = set()
    for entry in _entries(repo.store):
        if not _concerns(entry.path, places) or entry.kind is Kind.RULE:
            continue
        for fix in checks.fixes(entry):
            if fix.path in taken:
                moved = []
            else:
                moved = _move(repo, entry, fix.path)
            with suppress(InvalidEntry):
                # it would bring a secret into git, which the report names
                repo.refuse_secrets(moved)
                changes += moved
                taken.update([fix.path] if moved else [])
                if moved:
                    lines += [f"{entry.path} -> {fix.path}"]
    return changes, lines


def _move(repo: RepositorySession, entry: Entry, target: str) -> list[Change]:
    """The changes that move an entry's files; none if the place is taken."""
    store = repo.store
    if store.exists(entry.path):
        pairs = [(entry.path, target)]
    else:
        pairs = []
    if entry.side_path:
        pairs.append((entry.side_path, layout.side_of(target)))
    if any(store.exists(new) for _, new in pairs):
        return []
    moves: list[Change] = []
    for old, new in pairs:
        data = store.read(old)
        moves.append(Change(new, data, executable=repo.executable(old), expect=None))
        moves.append(Change(old, None, expect=blob_id(data)))
    return moves


def adopt(library: Library, paths: Sequence[str]) -> tuple[Written, ...]:
    """Write id, kind and title into plain files (or those below folders) that state none, in one commit.

    Raises NotFound: nothing there to adopt.
    """
    repo = library.primary
    places = []
    for path in paths:
        places.append(_inside(repo, path))
    plain, changes = list[Entry](), list[Change]()
    for entry in _entries(repo.store):
        if (
            entry.derived
            and entry.kind is not Kind.RULE
            and not entry.faults
            and _concerns(entry.path, places)
        ):
            with suppress(InvalidEntry):
                # frontmatter that cannot be changed stays; the id follows from the path
                if written := _identity(repo, entry):
                    changes += written
                    plain.append(entry)
    if not changes:
        raise NotFound(
            "plain file to adopt at",
            ", ".join(paths) or ".",
            hint="everything there states its id already",
        )
    if len(plain) == 1:
        what = plain[0].path
    else:
        what = f"{len(plain)} files"
    return repo.written([e.id for e in plain], repo.write(f"Adopt {what}", changes))


def _identity(repo: RepositorySession, entry: Entry) -> list[Change]:
    fields: dict[str, Any] = frontmatter.identity(entry)
    is_script = entry.kind is Kind.SCRIPT
    if is_script and entry.side_path is None:
        text = markdown.render(
            fields, frontmatter.body_of(frontmatter.description(entry.code.encode()))
        )
        return [Change(layout.side_of(entry.path), text.encode(), expect=None)]
    if not is_script and not layout.is_markdown(entry.path):
        return []
    target = entry.side_path or entry.path
    old = repo.store.read(target)
    return [
        Change(target, markdown.edit(decode(old, target), fields).encode(), expect=blob_id(old))
    ]


# How long what was looked at is not asked about again
REST = timedelta(days=180)
# A script whose last runs, so many, all failed is asked about
SAID_AGAIN = 2  # Sessions that were about a rule, from which a check that fits is offered
FAILURES = 3


def review(library: Library) -> tuple[Outdated, ...]:
    """Active entries that may have gone stale, once for each reason.

    See `_Review.everything`, and `editing.keep`.
    """
    return tuple(_Review(library.primary).everything())


class _Review:
    """One look at everything. The folders and logs it asks are asked once."""

    def __init__(self, repo: RepositorySession) -> None:
        self._repo = repo
        self._today: date = repo.options.now().astimezone(UTC).date()

    def everything(self) -> Iterator[Outdated]:
        """Entries with what there is to say of them.

        Not followed, whose code changed most, then the oldest first.
        """
        catalog = self._repo.current()
        self._tallies = self._repo.usages.tallies()
        self._cache = self._repo.usages.cache
        self._asked = authorship.questions(self._repo)
        self._repeated = editing.repetitions(self._repo)
        self._gone = {entry.handle: entry for entry in stale(self._repo)}
        self._speaking = {summary.id: summary for summary in anchors.outdated(self._repo)}
        self._code = anchors.code_around(self._repo)
        summaries = {summary.id: summary for summary in catalog.select(Filter(sort="created"))}
        drafts = []
        for x in summaries.values():
            if x.kind is Kind.LESSON and x.from_ == authorship.AI and not x.reviewed:
                drafts.append(x.id)
        texts = (
            (entry_id, _QUOTE.match(text)) for entry_id, text in catalog.openings(drafts).items()
        )
        self._quotes = {entry_id: quote[1] for entry_id, quote in texts if quote}
        self._kept = self._repo.usages.kept(
            rule for rule in summaries.values() if rule.kind is Kind.RULE
        )
        not_followed = [rule for rule, kept in self._kept.items() if kept.sessions.not_followed]
        not_followed.sort(key=lambda rule: -self._kept[rule].sessions.not_followed)
        first = [*not_followed, *self._speaking]
        for summary in ({entry_id: summaries[entry_id] for entry_id in first} | summaries).values():
            findings = list(self._findings(summary))
            if findings and (
                summary.kind is Kind.RULE or superseded_by(self._repo, summary.id) is None
            ):
                yield from findings

    def _check_that_fits(self, rule: EntrySummary, needed: int) -> Iterator[Outdated]:
        """The check that the words of a rule name, where people have to say it time and again."""
        kept = self._kept.get(rule.id)
        if needed < SAID_AGAIN and not (kept and kept.sessions.not_followed):
            return
        text = self._repo.catalog.openings([rule.id]).get(rule.id, "")
        if check := fitting(rule.title, text, rule.applies_to or ()):
            command = (
                f"ai-lessons contribute update {rule.handle} --check {for_shell(json.dumps(check))}"
            )
            why = (
                f"{needed} sessions were about it, and nothing checks it"
                if needed
                else "nothing checks it"
            )
            yield Outdated(rule, "check_fits", f"{why}: {command}")

    def _findings(self, summary: EntrySummary) -> Iterator[Outdated]:
        by, seen = day_of(summary.review_by), day_of(summary.reviewed)
        rests = seen is not None and self._today < seen + REST
        if by is not None and by <= self._today and not (rests and seen is not None and by <= seen):
            yield Outdated(summary, "review_by", f"it was to be reviewed by {by}")
        yield from (
            Outdated(summary, "asked", f"an agent asks: {question}")
            for day, question in self._asked.get(summary.id, ())
            if seen is None or str(seen) < day
        )
        if summary.id in self._speaking:
            yield Outdated(summary, "about", self._speaking[summary.id].warning)
        if rests:
            return
        if kept := self._kept.get(summary.id):
            if kept.sessions.not_followed:
                yield Outdated(summary, "not_followed", kept.line)
            elif kept.sessions.kept_untold:
                yield Outdated(summary, "never_broken", kept.line)
        tally = self._tallies.get(summary.id)
        if summary.kind is Kind.RULE and not summary.check:
            yield from self._check_that_fits(summary, tally.needed if tally else 0)
        if quote := self._quotes.get(summary.id):
            yield Outdated(
                summary,
                "quoted",
                f'an agent wrote it from what a person said: "{one_line(quote, 160)}"',
            )
        for fault in (
            self._code.unmatched(summary.applies_to, summary.project) if self._code else ()
        ):
            yield Outdated(summary, "applies_to", fault)
        if summary.id in self._repeated:
            yield Outdated(summary, "repeats", self._repeated[summary.id])
        # A lesson that was shown so often and never helped is asked about
        if summary.kind is Kind.LESSON and tally and not tally.helpful and tally.injected >= 10:
            yield Outdated(
                summary, "never_helpful", f"it was shown {tally.injected} times and never helped"
            )
        if summary.handle in self._gone:
            doc = self._gone[summary.handle]
            if doc.reason == GONE:
                what = "its source is gone"
            else:
                what = "its source has changed"
            yield Outdated(summary, "source", f"{what}: {doc.path}")
        if (
            summary.kind is Kind.SCRIPT
            and self._cache
            and tally
            and tally.script_failed >= FAILURES
        ):
            runs = []
            for _, word in self._cache.history(summary.id):
                if word in {SCRIPT_OK, SCRIPT_FAILED}:
                    runs.append(word)
            if SCRIPT_OK not in runs[-FAILURES:]:
                yield Outdated(summary, "failing", f"its last {FAILURES} runs failed")


# With what the text of a draft begins
_QUOTE = expression(r"\s*+> *+([^\n]*\w[^\n]*)")
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
    if agents:
        checks["agents"] = partial(_agents, agents, event)
    for name, look in checks.items():
        try:
            results.append(Check(name, *look(repo)))
        except AiLessonsError as error:
            results.append(Check(name, "error", error.message, error.hint))
    return tuple(results)


def status(library: Library) -> tuple[Check, ...]:
    """What waits in this repository: for a commit, a decision, a look or others.

    Each with what to do.
    """
    repo = library.primary
    entries = sum(repo.current().sizes().entries.values())
    waiting, changed = len(app.review.pending_rules(library)), len(anchors.outdated(repo))
    away = anchors.elsewhere(repo)
    if away:
        not_here = f"; not compared, because the code of {', '.join(away)} is not here"
    else:
        not_here = ""
    state, where, remedy = _repository(repo)
    return (
        Check("repository", state, f"{where}, entries: {entries:,}", remedy),
        Check("writes", *_pending(repo)),
        Check("meaning", *meaning.standing(repo)),
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


class KeptFile(NamedTuple):
    """A file that was taken away before its commit.

    `when` it was written is ISO 8601 in UTC; `text` is what it held.

    `id` and `handle` are empty where the file is no entry, or another one beside an entry.
    """

    path: str
    id: str
    handle: str
    title: str
    when: str
    text: str


def taken_away(repo: RepositorySession) -> list[tuple[PendingCommit, tuple[KeptFile, ...]]]:
    """Jobs with files that are in no commit and were taken away, newest first.

    None of which the entry is here.
    """
    store, catalog = repo.store, repo.current()
    swept = (job for job in store.journal.kept() if not job.root)
    jobs = [(job, tuple(_kept(repo, job))) for job in (*swept, *store.journal.missing(store.root))]
    for job, paths in store.lost():
        files = []
        for file in _kept(repo, job):
            if file.path in paths:
                files.append(file)
        moved = catalog.many(file.id for file in files)
        if missing := tuple(
            file for file in files if file.id not in moved or moved[file.id].path == file.path
        ):
            jobs.append((job, missing))
    return sorted(jobs, key=lambda pair: pair[0].name, reverse=True)


def _kept(repo: RepositorySession, job: PendingCommit) -> Iterator[KeptFile]:
    when = datetime.fromtimestamp(job.when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for noted in (noted for noted in job.paths if noted.size is not None):
        data = repo.store.content(job, noted.path) or b""
        text = data.decode("utf-8", "replace")
        try:
            entry = read_entry(noted.path, data)
        except AiLessonsError:
            yield KeptFile(noted.path, "", "", job.subject, when, text)
        else:
            yield KeptFile(
                noted.path, entry.id, handle(entry.kind, entry.id), entry.title, when, text
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
    if any(_of_attributes(repo.store, [path for path, _ in _files(repo.store, [])])):
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
    lines = hooks.carry_out(repo.store.root, setup.hooks_dir(), "status")
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
    for host in setup.hosts(at, event):
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
            meaning.REMOVE_PACKS,
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
    "approval": _approval, "hooks": _hooks, "catalog": _catalog, "index": _index, "model": _model,
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
    if cache:
        damaged_events = cache.damaged()
    else:
        damaged_events = 0
    ablation = None
    if cache:
        ablation = measured(cache.in_sessions())
    return Stats(
        **sizes._asdict(),
        catalog_bytes=sum(file.stat().st_size for file in state.glob("catalog.sqlite*")),
        index_bytes=status.bytes,
        passages=status.passages,
        vectors=status.vectors,
        pending=len(repo.store.pending()),
        taken_away=len(taken_away(repo)),
        commits_30_days=commits_30_days,
        most_useful=most,
        least_useful=least,
        damaged_events=damaged_events,
        ablation=ablation,
        clusters=tuple(
            len(cluster)
            for cluster in clusters(pair for pair in pairs if {*pair} <= summaries.keys())
        ),
        approval_lead_time=_lead_time(repo),
        kept=_kept_rules(repo),
    )


def _kept_rules(repo: RepositorySession) -> tuple[KeptRule, ...]:
    """The rules in force that checks saw in sessions, the least followed first."""
    rules = repo.current().select(Filter(kinds=frozenset({Kind.RULE})))
    kept = []
    for rule in repo.usages.kept(rules).values():
        if rule.sessions.in_scope or rule.sessions.ignored:
            kept.append(rule)
    kept.sort(key=_least_followed)
    return tuple(kept[:JUDGED])


def _least_followed(rule: KeptRule) -> tuple[int, int, int, str]:
    sessions = rule.sessions
    return -sessions.not_followed, -sessions.broken, -sessions.in_scope, rule.handle


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


GONE = "gone"


def stale(repo: RepositorySession) -> Iterator[Stale]:
    """Docs and scripts whose file outside the repository changed since it was read, or is gone."""
    sources = known_sources(repo.store.state_dir)
    for summary in repo.current().select(
        Filter(kinds=frozenset({Kind.DOC, Kind.SCRIPT}), status=None)
    ):
        if reason := _moved_on(repo, summary, sources):
            yield Stale(summary.handle, summary.title, str(source_of(repo, summary)), reason)


def told_of_sources(library: Library, summaries: Iterable[EntrySummary]) -> list[str]:
    """A sentence about each of these entries whose file outside the repository changed, or is not read here."""
    sentences = []
    for summary in summaries:
        if summary.script_path or summary.source_path:
            repo = library.holding(summary.id)[0]
            sources = known_sources(repo.store.state_dir)
            reason = _moved_on(repo, summary, sources) or _unread(repo, summary, sources)
            if reason:
                sentences += [f"[{summary.handle}] {reason}"]
    return sentences


def _unread(repo: RepositorySession, summary: EntrySummary, sources: frozenset[str]) -> str:
    """That the code of a script lies in a file that nobody here let be read.

    Empty for all others.
    """
    where = summary.script_path
    if summary.kind is not Kind.SCRIPT or not where or repo.store.exists(summary.path):
        return ""
    if source_mark(summary.id, where) in sources:
        return ""
    return f"its code is in {where}, which is read once you trust it: ai-lessons admin trust-script {summary.handle}"


def _moved_on(repo: RepositorySession, summary: EntrySummary, sources: frozenset[str]) -> str:
    """What became of the file that an entry was read from.

    Empty where it is as it was, a page, or not on this machine.

    Of a snapshot the file is compared whoever made it; of one that was made elsewhere only where it
    is surely the same.
    """
    where, hashed = source_of(repo, summary), summary.content_hash
    if not where or is_url(where):
        return ""
    file, ours = files.expanded(where), source_mark(summary.id, where) in sources
    in_place = where == summary.script_path
    if not in_place and not (hashed and file.is_absolute() and file.parent.is_dir()):
        # a snapshot, whose source may be on another machine
        return ""
    if not file.is_file():
        if in_place or ours:
            return GONE
        return ""
    if not in_place or (hashed and ours):
        try:
            same = f"sha256:{sha256(files.read(file)[0]).hexdigest()}" == hashed
        except AiLessonsError as error:
            if ours:
                return error.message
            return ""
        if same or not (ours or _is_the_source(file, summary.source_ref)):
            return ""
        return f"changed since it was read: ai-lessons contribute refresh {summary.handle}"
    changed = file.stat().st_mtime
    late = changed > (repo.store.root / f"{summary.path}.md").stat().st_mtime
    if late:
        return f"changed {datetime.fromtimestamp(changed, UTC):%Y-%m-%d %H:%M} UTC, after its description"
    return ""


def _is_the_source(file: Path, ref: str) -> bool:
    """Whether a file of this name is the one that was read elsewhere.

    Its repository has the commit of that time.
    """
    commit = ref.partition("-")[0]
    top = files.top_of(file.parent)
    if not commit or top is None:
        return not commit
    try:
        return not plumbing.run(locate(top), "cat-file", "-e", f"{commit}^{{commit}}").code
    except AiLessonsError:
        # a repository that is not accepted, such as another user's
        return False


def params(library: Library, name: str | None = None) -> tuple[ParameterState, ...]:
    """The parameters that learn, or one of them. Raises NotFound: no such parameter."""
    if name is not None and name not in DEFINITIONS:
        raise NotFound("parameter", name, hint="one of: " + ", ".join(DEFINITIONS))
    usages = library.primary.usages
    elsewhere = app.counted_elsewhere.of_parameters(usages)
    states = (state for state in usages.parameters().values() if name in {None, state.name})
    params = []
    for state in states:
        params.append(state._replace(elsewhere=elsewhere.get(state.name, "")))
    return tuple(params)


def params_reset(library: Library, name: str | None = None) -> tuple[ParameterState, ...]:
    """Forget what one parameter, or all, learned. Raises NotFound, Refused: no events here."""
    params(library, name)
    repo = library.primary
    repo.refuse_other_formats()
    if not repo.usages.recording:
        raise Refused(
            "this repository records no events",
            hint="record them: ai-lessons admin config set events true",
        )
    repo.usages.record(
        [Event("", "", RESET, parameter) for parameter in ([name] if name else DEFINITIONS)]
    )
    return params(library, name)

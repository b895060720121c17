"""Checking files, mending what is safe to mend, adopting plain files, and what a person should look at again."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem, UnsupportedRepository
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.index.catalog_survey import join, units
from ai_lessons.knowledge import checks, frontmatter, layout, markdown
from ai_lessons.knowledge.checks import day_of
from ai_lessons.knowledge.config import DEFAULT_MODEL, parse_config, unknown_keys
from ai_lessons.knowledge.entries import Entry, Kind, Light
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.globs import matches, stated
from ai_lessons.knowledge.texts import decode
from ai_lessons.learning.events import SCRIPT_FAILED, SCRIPT_OK
from ai_lessons.library import comparing, secret_scan, statements
from ai_lessons.library.gate import texts_of
from ai_lessons.library.health import GONE, stale
from ai_lessons.library.relating import superseded_by
from ai_lessons.library.reports import Outdated, Report, Written
from ai_lessons.repository import code_repository
from ai_lessons.repository.approval.approval_history import odd_commits
from ai_lessons.repository.loose_files import loose
from ai_lessons.repository.store import Change, Store, blob_id
from ai_lessons.repository.worktree import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession


def validate(library: Library, paths: Sequence[str] = (), *, fix: bool = False, content: bool = False) -> Report:
    """Every problem of every file, or of those named and below the folders named; `fix` mends what is safe to.

    `content`: what `review` finds is a problem, too. Raises NotFound: a path that does not exist.
    """
    repo = library.primary
    if fix:
        repo.refuse_other_formats()
    places = [_inside(repo, path) for path in paths]
    report = _report(repo, places)
    if not places:  # commits that are not as git writes them prove nothing
        try:
            commits = odd_commits(repo.store.worktree, ref) if (ref := repo.rules.ref()) else ()
            odd = [Problem(f"commit {name[:10]}", what) for name, what in commits]
        except UnsupportedRepository as error:
            odd = [Problem("approval branch", error.message)]
        report = report._replace(problems=(*report.problems, *odd), notes=tuple(loose(repo.store)))
    changes, fixed = _mends(repo, places) if fix else ([], [])
    if changes:
        repo.write(f"Mend {fixed[0]}" if len(fixed) == 1 else f"Mend {len(fixed)} files", changes)
        report = _report(repo, places)._replace(fixed=tuple(fixed), notes=report.notes)
    if content:
        asked = ((repo.file_of(outdated.entry), outdated.detail) for outdated in _Review(repo).everything())
        old = (Problem(path, f"to be reviewed: {reason}") for path, reason in asked if _concerns(path, places))
        return report._replace(problems=(*report.problems, *old))
    return report


def _inside(repo: RepositorySession, path: str) -> str:
    """A path of the caller's, or one relative to the repository, as the latter; empty for the repository itself."""
    root = repo.store.root
    if (repo.options.cwd / path).resolve() == root or path == ".":
        return ""
    for inside in (repo.inside(path), path.rstrip("/")):
        if inside and not inside.startswith("/") and ".." not in inside.split("/") and repo.store.exists(inside):
            return inside
    raise NotFound("file in the repository", path, hint=f"name a file or folder below {root}")


def _report(repo: RepositorySession, places: Sequence[str]) -> Report:
    store = repo.store
    skipped: list[str] = []
    read = list(_read(store, skipped))
    entries = [entry for _, entry, _ in read if entry]
    problems = [problem for _, _, of_file in read for problem in of_file]
    problems += (Problem(path, why or "cannot be read") for path, _, why in (row.partition(": ") for row in skipped))
    for entry in entries:
        faults, file = checks.check_entry(entry), entry.side_path or entry.path
        if faults and store.exists(file):  # the text is read again, for the lines, only where something is wrong
            faults = checks.check_entry(entry, store.read(file).decode("utf-8", "replace"))
        problems += faults
    problems += checks.check_together(entries)
    if store.exists(layout.CONFIG_PATH):
        problems += _of_settings(store)
    shown = [problem for problem in problems if _concerns(problem.path, places)]
    shown.sort(key=lambda problem: (problem.path, problem.line, problem.message))
    return Report(tuple(shown), (), sum(_concerns(path, places) for path, _, _ in read))


def _of_settings(store: Store) -> Iterator[Problem]:
    text = ""
    try:
        text = decode(store.read(layout.CONFIG_PATH), layout.CONFIG_PATH)
        yield from unknown_keys(text)
        name = parse_config(text).model
        if name != DEFAULT_MODEL:
            from ai_lessons.index.embedding import dimensions_of

            dimensions_of(name)
    except InvalidEntry as error:
        yield from error.problems
    except NotFound as error:  # no such model
        line = next((n for n, row in enumerate(text.split("\n"), 1) if row.strip().startswith("model:")), 0)
        yield Problem(layout.CONFIG_PATH, f"{error.message}: {error.hint}", line)
    except AiLessonsError as error:
        yield Problem(layout.CONFIG_PATH, error.message)


def _concerns(path: str, places: Sequence[str]) -> bool:
    return not places or any(not place or path == place or path.startswith(place + "/") for place in places)


def _read(store: Store, skipped: list[str]) -> Iterator[tuple[str, Entry | None, list[Problem]]]:
    """The path of every file of an entry, what it is if it can be read, and what is wrong."""
    for path, side_path in _files(store, skipped):
        try:
            data, side = store.read(path), store.read(side_path) if side_path else None
            entry = read_entry(path, data, side)
            yield path, entry, secret_scan.problems(entry.fields, texts_of(path, data, side))
        except InvalidEntry as error:
            yield path, None, [p if p.path else Problem(path, p.message, p.line) for p in error.problems]
        except AiLessonsError as error:
            yield path, None, [Problem(path, error.message)]


def _entries(store: Store) -> list[Entry]:
    return [entry for _, entry, _ in _read(store, []) if entry]


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
            moved = [] if fix.path in taken else _move(repo, entry, fix.path)
            with suppress(InvalidEntry):  # it would bring a secret into git, which the report names
                repo.refuse_secrets(moved)
                changes += moved
                taken.update([fix.path] if moved else [])
                lines += [f"{entry.path} -> {fix.path}"] if moved else []
    return changes, lines


def _move(repo: RepositorySession, entry: Entry, target: str) -> list[Change]:
    """The changes that move an entry's files; none if the place is taken."""
    store = repo.store
    pairs = [(entry.path, target)] if store.exists(entry.path) else []
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
    places = [_inside(repo, path) for path in paths]
    plain = [e for e in _entries(repo.store) if e.derived and e.kind is not Kind.RULE and _concerns(e.path, places)]
    changes = [change for entry in plain for change in _identity(repo, entry)]
    if not changes:
        raise NotFound("plain file to adopt at", ", ".join(paths) or ".", hint="everything there states its id already")
    what = plain[0].path if len(plain) == 1 else f"{len(plain)} files"
    return repo.written([e.id for e in plain], repo.write(f"Adopt {what}", changes))


def _identity(repo: RepositorySession, entry: Entry) -> list[Change]:
    fields: dict[str, Any] = frontmatter.identity(entry)
    is_script = entry.kind is Kind.SCRIPT
    if is_script and entry.side_path is None:
        text = markdown.render(fields, frontmatter.body_of(frontmatter.description(entry.code.encode())))
        return [Change(layout.side_of(entry.path), text.encode(), expect=None)]
    if not is_script and not layout.is_markdown(entry.path):
        return []
    target = entry.side_path or entry.path
    old = repo.store.read(target)
    return [Change(target, markdown.edit(decode(old, target), fields).encode(), expect=blob_id(old))]


REST = timedelta(days=180)  # How long what was looked at is not asked about again
INJECTIONS = 10  # A lesson that was shown so often and never helped is asked about
FAILURES = 3  # A script whose last runs, so many, all failed is asked about


def review(library: Library) -> tuple[Outdated, ...]:
    """Active entries that may have gone stale, the oldest first, once for each reason. See `editing.keep`."""
    return tuple(_Review(library.primary).everything())


class _Review:
    """One look at everything. The folders and logs it asks are asked once."""

    def __init__(self, repo: RepositorySession) -> None:
        self._repo = repo
        self._today: date = repo.options.now().astimezone(UTC).date()

    def everything(self) -> Iterator[Outdated]:
        """Entries with what there is to say of them, the oldest first."""
        catalog = self._repo.current()
        self._tallies = self._repo.usages.tallies()
        self._cache = self._repo.usages.cache
        self._asked = statements.questions(self._repo)
        self._repeated = comparing.repetitions(self._repo)
        self._gone = {entry.handle: entry for entry in stale(self._repo)}
        self._code = code_repository.around(
            self._repo.options.cwd, self._repo.store.worktree.top, self._repo.store.root
        )
        for light in catalog.select(Filter(sort="created")):
            findings = list(self._findings(light))
            if findings and (light.kind is Kind.RULE or superseded_by(self._repo, light.id) is None):
                yield from findings

    def _findings(self, light: Light) -> Iterator[Outdated]:
        by, seen = day_of(light.details.get("review_by")), day_of(light.details.get("reviewed"))
        rests = seen is not None and self._today < seen + REST
        if by is not None and by <= self._today and not (rests and seen is not None and by <= seen):
            yield Outdated(light, "review_by", f"it was to be reviewed by {by}")
        yield from (
            Outdated(light, "asked", f"an agent asks: {question}")
            for day, question in self._asked.get(light.id, ())
            if seen is None or str(seen) < day
        )
        if rests:
            return
        patterns = stated(light.details.get("applies_to"))
        if patterns and self._code is not None and self._code.is_of(light.project):
            for pattern in patterns:
                if not any(matches(pattern, path) for path in self._code.files):
                    yield Outdated(light, "applies_to", f"applies_to {pattern} names no file of {self._code.name}")
        if light.id in self._repeated:
            yield Outdated(light, "repeats", self._repeated[light.id])
        tally = self._tallies.get(light.id)
        if light.kind is Kind.LESSON and tally and not tally.helpful and tally.injected >= INJECTIONS:
            yield Outdated(light, "never_helpful", f"it was shown {tally.injected} times and never helped")
        if light.handle in self._gone:
            doc = self._gone[light.handle]
            what = "its source is gone" if doc.reason == GONE else "its source has changed"
            yield Outdated(light, "source", f"{what}: {doc.path}")
        if light.kind is Kind.SCRIPT and self._cache and tally and tally.script_failed >= FAILURES:
            runs = [word for _, word in self._cache.history(light.id) if word in {SCRIPT_OK, SCRIPT_FAILED}]
            if SCRIPT_OK not in runs[-FAILURES:]:
                yield Outdated(light, "failing", f"its last {FAILURES} runs failed")

"""Checking files, mending what is safe to mend, and writing down what plain files leave unsaid."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem
from ai_lessons.knowledge import checks, drafts, layout, markdown
from ai_lessons.knowledge.config import parse_config, unknown_keys
from ai_lessons.knowledge.entries import Entry, Kind
from ai_lessons.knowledge.reading import read_entry
from ai_lessons.knowledge.texts import decode
from ai_lessons.library import secret_scan
from ai_lessons.library.checking import texts_of
from ai_lessons.library.reports import Report
from ai_lessons.repository.approval.approval_history import odd_commits
from ai_lessons.repository.store import Change, blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.library.parts import Parts
    from ai_lessons.library.writes import Written
    from ai_lessons.repository.store import Store


def validate(parts: Parts, paths: Sequence[str], *, fix: bool, content: bool = False) -> Report:
    """See `Admin.validate`. Reads every file itself: rules of the working tree, too, which no other job shows."""
    wanted = [_inside(parts, path) for path in paths]
    report = _look(parts, wanted)
    if not wanted:
        report = replace(report, problems=(*report.problems, *_commit_problems(parts)))
    changes, fixed = _mends(parts, wanted) if fix else ([], [])
    if changes:
        parts.write(f"Mend {fixed[0]}" if len(fixed) == 1 else f"Mend {len(fixed)} files", changes)
        report = replace(_look(parts, wanted), fixed=tuple(fixed))
    if content:
        from ai_lessons.library import reviewing

        stale = (one for one in reviewing.problems(parts) if _concerns(one.path, wanted))
        return replace(report, problems=(*report.problems, *stale))
    return report


def _inside(parts: Parts, path: str) -> str:
    """A path of the caller's, or one relative to the repository, as the latter; empty for the repository itself."""
    root = parts.store.root
    if (parts.options.cwd / path).resolve() == root or path == ".":
        return ""
    for inside in (parts.inside(path), path.rstrip("/")):
        if inside and not inside.startswith("/") and ".." not in inside.split("/") and parts.store.exists(inside):
            return inside
    raise NotFound("file in the repository", path, hint=f"name a file or folder below {root}")


def _look(parts: Parts, wanted: Sequence[str]) -> Report:
    entries, problems, files = _read_all(parts.store)
    problems += [problem for entry in entries for problem in _entry_problems(parts.store, entry)]
    problems += checks.check_together(entries)
    problems += _config_problems(parts.store)
    shown = [problem for problem in problems if _concerns(problem.path, wanted)]
    shown.sort(key=lambda problem: (problem.path, problem.line, problem.message))
    return Report(tuple(shown), (), sum(_concerns(path, wanted) for path in files))


def _commit_problems(parts: Parts) -> list[Problem]:
    """Commits of the approval branch and of proposals that are not as git writes them, and so prove nothing."""
    ref = parts.rules.ref()
    return (
        [Problem(f"commit {name[:10]}", what) for name, what in odd_commits(parts.store.worktree, ref)] if ref else []
    )


def _entry_problems(store: Store, entry: Entry) -> list[Problem]:
    """Each with its line: the text is read again only where something is wrong."""
    found = checks.check_entry(entry)
    file = entry.side_path or entry.path
    if not found or not store.exists(file):
        return found
    return checks.check_entry(entry, store.read(file).decode("utf-8", "replace"))


def _concerns(path: str, wanted: Sequence[str]) -> bool:
    return not wanted or any(not one or path == one or path.startswith(one + "/") for one in wanted)


def _config_problems(store: Store) -> list[Problem]:
    if not store.exists(layout.CONFIG_PATH):
        return []
    found: list[Problem] = []
    try:
        text = decode(store.read(layout.CONFIG_PATH), layout.CONFIG_PATH)
        found += unknown_keys(text)
        parse_config(text)
    except InvalidEntry as error:
        found += error.problems
    return found


def _read_all(store: Store) -> tuple[list[Entry], list[Problem], list[str]]:
    """Every entry, why files give none, and the path of every file that was looked at."""
    skipped: list[str] = []
    entries: list[Entry] = []
    problems: list[Problem] = []
    looked: list[str] = []
    for path, side_path in _files(store, skipped):
        looked.append(path)
        try:
            data, side = store.read(path), store.read(side_path) if side_path else None
            entries.append(read_entry(path, data, side))
            problems += secret_scan.problems(entries[-1].fields, texts_of(path, data, side))
        except InvalidEntry as error:
            problems += [p if p.path else Problem(path, p.message, p.line) for p in error.problems]
        except AiLessonsError as error:
            problems.append(Problem(path, error.message))
    for line in skipped:
        path, _, reason = line.partition(": ")
        problems.append(Problem(path, reason or "cannot be read"))
    return entries, problems, looked


def _files(store: Store, skipped: list[str]) -> Iterator[tuple[str, str | None]]:
    """Paths of entries, each with its side file if it has one."""
    for folder, rows in store.scan(skipped):
        paths = {f"{folder}/{row[0]}" if folder else row[0] for row in rows}
        for path in sorted(paths):
            where = layout.place(path)
            if where is None:
                continue
            is_script = where.kind is Kind.SCRIPT
            if is_script and layout.is_markdown(path) and path.rpartition(".")[0] in paths:
                continue
            side = layout.side_of(path)
            yield path, side if is_script and side in paths else None


def _mends(parts: Parts, wanted: Sequence[str]) -> tuple[list[Change], list[str]]:
    entries, _, _ = _read_all(parts.store)
    changes: list[Change] = []
    said: list[str] = []
    taken: set[str] = set()
    for entry in entries:
        if not _concerns(entry.path, wanted) or entry.kind is Kind.RULE:
            continue
        for fix in checks.fixes(entry):
            moved = [] if fix.path in taken else _move(parts, entry, fix.path)
            if moved and _may_be_committed(parts, moved):
                taken.add(fix.path)
                changes += moved
                said.append(f"{entry.path} -> {fix.path}")
    return changes, said


def _may_be_committed(parts: Parts, changes: Sequence[Change]) -> bool:
    """No secret comes into git with it; the report names the one that would."""
    try:
        parts.refuse_secrets(changes)
    except InvalidEntry:
        return False
    return True


def _move(parts: Parts, entry: Entry, target: str) -> list[Change]:
    """The changes that move an entry's files; none if the place is taken."""
    store = parts.store
    pairs = [(entry.path, target)] if store.exists(entry.path) else []
    if entry.side_path:
        pairs.append((entry.side_path, layout.side_of(target)))
    if any(store.exists(new) for _, new in pairs):
        return []
    moves: list[Change] = []
    for old, new in pairs:
        data = store.read(old)
        moves.append(Change(new, data, executable=parts.executable(old), expect=None))
        moves.append(Change(old, None, expect=blob_id(data)))
    return moves


def adopt(parts: Parts, paths: Sequence[str]) -> tuple[Written, ...]:
    """See `Admin.adopt`."""
    wanted = [_inside(parts, path) for path in paths]
    entries, _, _ = _read_all(parts.store)
    plain = [e for e in entries if e.derived and e.kind is not Kind.RULE and _concerns(e.path, wanted)]
    changes = list(_identities(parts, plain))
    if not changes:
        raise NotFound("plain file to adopt at", ", ".join(paths) or ".", hint="everything there states its id already")
    what = plain[0].path if len(plain) == 1 else f"{len(plain)} files"
    return parts.written([e.id for e in plain], parts.write(f"Adopt {what}", changes))


def _identities(parts: Parts, plain: Iterable[Entry]) -> Iterator[Change]:
    for entry in plain:
        fields: dict[str, Any] = drafts.identity(entry)
        is_script = entry.kind is Kind.SCRIPT
        if is_script and entry.side_path is None:
            text = markdown.render(fields, drafts.body_of(drafts.description(entry.code.encode())))
            yield Change(layout.side_of(entry.path), text.encode(), expect=None)
        elif is_script or layout.is_markdown(entry.path):
            target = entry.side_path or entry.path
            old = parts.store.read(target)
            new = markdown.edit(decode(old, target), fields).encode()
            yield Change(target, new, expect=blob_id(old))

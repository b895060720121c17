"""The check of every file.

Its problems, what `--fix` mends, and plain files that become entries.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app import effects, secrets
from ai_lessons.app.write_checks import texts_of
from ai_lessons.approval.state import odd_commits
from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem, UnsupportedRepository
from ai_lessons.git import plumbing
from ai_lessons.git.encodings import ATTRIBUTE
from ai_lessons.git.store import Change, Store
from ai_lessons.git.uncommitted import loose
from ai_lessons.git.worktree import walk
from ai_lessons.model import checks, frontmatter, layout, markdown
from ai_lessons.model.config import DEFAULT_MODEL, parse_config, unknown_keys
from ai_lessons.model.entries import Entry, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import blob_id
from ai_lessons.model.texts import codec_of, decode, first_of, one_line
from ai_lessons.search.catalog_survey import join, units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.app.written import Written


class Report(NamedTuple):
    """Outcome of `validate`: every problem left, what `--fix` mended, and how many files were read.

    `notes` name files that no job takes care of, which is no problem of any file.
    """

    problems: tuple[Problem, ...]
    fixed: tuple[str, ...]
    files: int
    notes: tuple[str, ...] = ()


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
    places = []
    for path in paths:
        places.append(_inside(repo, path))
    report = _report(repo, places)
    if not places:
        # a commit that git would not have written cannot approve a rule: name it
        notes: list[str] = []
        try:
            odd = []
            ref = repo.rules.ref()
            if ref:
                for name, what in odd_commits(repo.store.worktree, ref):
                    odd.append(Problem(f"commit {name[:10]}", what))
            # what a pull request does is asked of the whole repository alone
            from ai_lessons.app import rule_audit

            notes, hidden = rule_audit.coming(repo)
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
        from ai_lessons.app.outdated import Review

        asked = (
            (repo.file_of(outdated.entry), outdated.detail)
            for outdated in Review(repo).everything()
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
    problems += attribute_problems(store, [path for path, _, _ in read])
    shown = [problem for problem in problems if _concerns(problem.path, places)]
    shown.sort(key=lambda problem: (problem.path, problem.line, problem.message))
    looked_at = [entry for entry in entries if _concerns(entry.path, places)]
    notes = [*_unproven(looked_at), *_unreasoned(looked_at)]
    return Report(
        tuple(shown), (), sum(_concerns(path, places) for path, _, _ in read), tuple(notes)
    )


def _unproven(entries: Sequence[Entry]) -> Iterator[str]:
    """Names the entries of which something that they state could not be tried here."""
    paths: dict[str, list[str]] = {}
    for entry in entries:
        for reason in effects.unproven(entry):
            paths.setdefault(reason, []).append(entry.path)
    for reason, every in paths.items():
        yield f"not proven, {reason}: {', '.join(every)}"


def _unreasoned(entries: Sequence[Entry]) -> Iterator[str]:
    """Names the rules that came in without a reason, which nobody stated since."""
    rules = (entry for entry in entries if entry.kind is Kind.RULE and "rationale" in entry.fields)
    paths = []
    for rule in rules:
        if not rule.rationale:
            paths.append(rule.path)
    if paths:
        yield f"no reason is stated (rationale): {first_of(paths, 3)}"


def attribute_problems(store: Store, paths: Sequence[str]) -> Iterator[Problem]:
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
    for path, side_path in entry_files(store, skipped):
        data, side = b"", None
        try:
            data = store.read(path)
            if side_path:
                side = store.read(side_path)
            entry = read_entry(path, data, side)
            problems = secrets.problems(entry.fields, texts_of(path, data, side))
            if layout.is_markdown(side_path or path):
                text = (data if side is None else side).decode("utf-8", "replace")
                problems += checks.doubts(entry, text)
            yield path, entry, problems
        except InvalidEntry as error:
            named = [p if p.path else Problem(path, p.message, p.line) for p in error.problems]
            # a merge that was left in the frontmatter is no YAML, and is why
            named += [
                Problem(path, message, line)
                for line, message in checks.text_doubts(data.decode("utf-8", "replace"))
            ]
            yield path, None, named
        except AiLessonsError as error:
            yield path, None, [Problem(path, error.message)]


def _entries(store: Store) -> list[Entry]:
    entries: list[Entry] = []
    for _, entry, _ in _read(store, []):
        if entry:
            entries.append(entry)
    return entries


def entry_files(store: Store, skipped: list[str]) -> Iterator[tuple[str, str | None]]:
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

"""The gate before every write: bytes become an entry only if the format allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import InvalidEntry, Refused, UsageError
from ai_lessons.knowledge.checks import check_entry
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.layout import check_path, side_of
from ai_lessons.knowledge.texts import decode
from ai_lessons.library import secret_scan

if TYPE_CHECKING:
    from ai_lessons.knowledge.entries import Entry


def checked(path: str, data: bytes, side: bytes | None = None, *, was: Entry | None = None) -> Entry:
    """The entry that these bytes would be at `path` (`side`: the Markdown of a script; `was`: what it is now).

    Raises InvalidEntry with every problem that `validate --fix` does not mend, Refused for another entry than it was.
    """
    entry = read_entry(path, data, side)
    if was is not None:
        _same_entry(was, entry)
    text = decode(data if side is None else side, path)
    problems = [problem for problem in check_entry(entry, text) if not problem.fixable]
    before = was.path + was.body + was.code if was else ""
    problems += secret_scan.problems(entry.fields, texts_of(path, data, side), before)
    if problems:
        raise InvalidEntry(problems)
    return entry


def texts_of(path: str, data: bytes, side: bytes | None) -> list[tuple[str, str]]:
    """The files of an entry as (path, text)."""
    files = [(path, data)] + ([] if side is None else [(side_of(path), side)])
    return [(name, content.decode("utf-8", "replace")) for name, content in files]


def project_name(name: str) -> str:
    """The name itself, if a project can have it: one plain folder name. Raises UsageError."""
    hint = "a project is the name of one folder, such as jira-api"
    if "/" in name:
        raise UsageError(f"{name!r} cannot be a project: it has a slash", hint=hint)
    try:
        check_path(name)
    except Refused as error:
        raise UsageError(f"{name!r} cannot be a project: {error.message.partition(': ')[2]}", hint=hint) from error
    return name


def _same_entry(old: Entry, new: Entry) -> None:
    """An edit leaves id and kind alone. A plain file may say what it is, but not that it is a rule."""
    if new.kind is Kind.RULE and old.kind is not Kind.RULE:
        raise Refused(
            f"{old.path} cannot become a rule by an edit: rules are proposed, and a person approves them",
            hint="ai-lessons contribute suggest-rule",
        )
    if new.kind is not old.kind and not old.derived:
        raise Refused(f"{old.path} is a {old.kind} and stays one", hint=f"add a {new.kind}, and delete this {old.kind}")
    if new.id != old.id and not old.derived:
        hint = "leave the line `id:` as it is"
        raise Refused(f"{old.path} keeps its id {old.id}: links and history name it", hint=hint)

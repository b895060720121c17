"""The anchors that an entry gets when it is written: what `--about`, a text or a session names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.additions import Addition, NewText
from ai_lessons.errors import Refused, UsageError
from ai_lessons.features.anchors.anchors import MOST, sorted_out
from ai_lessons.features.anchors.code_folder import CodeFolder, code_around
from ai_lessons.features.anchors.named_in_text import named_in_text, quotes_anything
from ai_lessons.features.anchors.resolving import resolved
from ai_lessons.model.entries import ABOUT, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.features.anchors.anchors import Anchor

# The keys under which a session of an agent says what it did, in place of what a person names
EDITED, PROGRAMS = "edited", "programs"
_WITH_GLOBS = frozenset({Kind.RULE, Kind.LESSON})


class _Named(NamedTuple):
    """What people or a session name: places and packages, globs of files, and commands."""

    code: list[str]
    globs: list[str]
    commands: list[str]


def addition(repo: RepositorySession, new_text: NewText) -> Addition:
    """What an entry is about: what is named, else what its text names in backticks.

    Raises UsageError: it is no anchor, or too many. NotFound: it is not in the code here; names the
    nearest.
    """
    options = new_text.options
    texts: Sequence[str] = options.get("about", ())
    if options.get("no_about"):
        if texts:
            raise UsageError("--about names code, --no-about none: give one of them")
        return Addition({ABOUT: []})
    if EDITED in options:
        texts = of_session(repo, options[EDITED], options.get(PROGRAMS, ()), new_text.project)
        if not texts and new_text.kind is Kind.RULE:
            # its text quotes a session: names in that are not what the rule is about
            return Addition()
    if texts:
        return _of_names(repo, texts, new_text)
    return _of_text(repo, new_text)


def _of_names(repo: RepositorySession, texts: Iterable[str], new_text: NewText) -> Addition:
    named = _sorted_out(repo, texts)
    number = len(named.code) + len(named.commands)
    if number > MOST:
        hint = "name what the entry stands or falls with"
        raise UsageError(f"{number} anchors, more than {MOST}", hint=hint)
    if named.globs and new_text.kind not in _WITH_GLOBS:
        raise UsageError(
            f"this is a {new_text.kind}: only lessons and rules are about files by a glob"
        )
    items: list[dict[str, str]] = []
    if named.code:
        items += _fields_of(_resolved_here(repo, named.code, new_text.project))
    for command in named.commands:
        items.append({"command": command})
    return Addition({ABOUT: items}, tuple(named.globs))


def _sorted_out(repo: RepositorySession, texts: Iterable[str]) -> _Named:
    """A name with `*`, `?`, `[` or `{` is a glob, unless a file here is called so."""
    code, globs, commands = sorted_out(texts)
    true_globs = []
    for glob in globs:
        if os.path.lexists(repo.options.cwd / glob):
            code.append(glob)
        else:
            true_globs.append(glob)
    return _Named([text for text in code if text], true_globs, commands)


def _resolved_here(repo: RepositorySession, names: Iterable[str], project: str) -> list[Anchor]:
    """The anchors of these names, as the code around the caller has them."""
    code = code_around(repo)
    if code is None:
        raise Refused(
            "there is no code here to look at",
            hint="call it in the git repository that the entry speaks of",
        )
    try:
        chosen = [resolved(code, name, repo.options.cwd) for name in names]
        return _with_repository(code, chosen, project)
    finally:
        code.close()


def _of_text(repo: RepositorySession, new_text: NewText) -> Addition:
    """What a text names in backticks, with a note that says so."""
    if not quotes_anything(new_text.text):
        return Addition()
    code = code_around(repo)
    if code is None:
        return Addition()
    try:
        chosen = _with_repository(code, named_in_text(code, new_text.text), new_text.project)
    finally:
        code.close()
    if not chosen:
        return Addition()
    names = ", ".join(map(str, chosen))
    # nobody asked for these, so the writer is told how to leave them out
    note = f"speaks of {names}, as its text does (--no-about leaves that out)"
    return Addition({ABOUT: _fields_of(chosen)}, notes=(note,))


def _with_repository(code: CodeFolder, chosen: Iterable[Anchor], project: str) -> list[Anchor]:
    """The anchors, each once; where the entry is of another project, in which code they are."""
    if code.project.holds(project):
        return list(dict.fromkeys(chosen))
    placed = []
    for anchor in chosen:
        if anchor.package:
            placed.append(anchor)
        else:
            placed.append(anchor._replace(repository=code.project.names[0]))
    return list(dict.fromkeys(placed))


def _fields_of(chosen: Iterable[Anchor]) -> list[dict[str, str]]:
    fields: list[dict[str, str]] = []
    for anchor in chosen:
        fields.append(anchor.fields)
    return fields


def of_session(
    repo: RepositorySession, edited: Iterable[str], programs: Iterable[str], project: str
) -> list[str]:
    """Anchors for what a session taught: the files it edited, and versions like those in use.

    Empty where the caller's folder is not the code of the project.
    """
    code = code_around(repo)
    if code is None or not code.project.holds(project):
        return []
    names: list[str] = []
    for file in edited:
        path = os.path.relpath(code.top / file, code.top)
        if path in code.project.paths and path not in names:
            names.append(path)
    pins = code.pins()
    code.close()
    for program in programs:
        version, _ = pins.get(f"pypi/{program}", ("", ""))
        # a range (">=8") does not say which version is in use
        if version.startswith("@"):
            names.append(f"pypi/{program}^{version[1:]}")
    return names[:MOST]

"""The names of people, projects and hosts that belong to where an entry comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge.entries import GLOBAL_PROJECT
from ai_lessons.knowledge.evaluation import Names
from ai_lessons.library.options import ENTERPRISE, PROJECT
from ai_lessons.repository.commit_builder import author_here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.session import Parts

REVISIONS = 10
"""Commits of an entry whose authors are asked for."""

_WHO = re.compile(r"\s*(.*?)\s*<([^<>@\s]*)@([^<>@\s]*)>")
_PUBLIC = re.compile(
    r"^(?:aol|gmail|googlemail|gmx|hotmail|icloud|live|mac|mail|me|msn|outlook|pm|posteo|proton|protonmail|web|yahoo"
    r"|yandex|zoho|qq|163|126)\.[a-z.]{2,6}$|(?:^|\.)noreply\.|(?:^|\.)(?:example|invalid|local|localhost|test)(?:\.|$)",
    re.IGNORECASE,
)
_LOGIN = 4
"""Letters from which on the first half of an address is taken for a name."""


def place_of(parts: Parts) -> str:
    """What the code project around a project's repository is called: its top folder."""
    root = parts.store.root
    return (root.parent.parent if root.parent.name == ".ai" else root).name


def names_of(parts: Parts, target: Parts, entry: Entry, more: Sequence[str] = (), *, strict: bool = False) -> Names:
    """Who wrote the entry and works here, their hosts, and the code project or enterprise that it comes from.

    `strict`, for a text without names: also the project of the entry, unless the target knows one of that
    name. `more` are names that the caller knows.
    """
    tier = parts.options.tier
    who = [author_here(parts.store.worktree), *_authors(parts, entry)]
    found = [match for match in map(_WHO.match, dict.fromkeys(who)) if match]
    projects = [*more]
    projects += [place_of(parts)] if tier == PROJECT else []
    projects += [tier.removeprefix(ENTERPRISE)] if tier.startswith(ENTERPRISE) else []
    if strict and entry.project not in {"", GLOBAL_PROJECT} and not _knows(target, entry.project):
        projects.append(entry.project)
    people = [match[1] for match in found if " " in match[1]] + [match[2] for match in found if _is_login(match[2])]
    return Names(
        people=tuple(dict.fromkeys(people)),
        projects=tuple(dict.fromkeys(projects)),
        hosts=tuple(dict.fromkeys(match[3] for match in found if not _PUBLIC.search(match[3]))),
    )  # fmt: skip


def _is_login(word: str) -> bool:
    return len(word) >= _LOGIN and not word.isdecimal() and "+" not in word


def _authors(parts: Parts, entry: Entry) -> list[str]:
    try:
        return [f"{one.author} <{one.email}>" for one in parts.history.log(entry.file, REVISIONS)]
    except AiLessonsError:
        return []


def _knows(target: Parts, project: str) -> bool:
    from ai_lessons.index.catalog_reading import Filter

    return bool(target.catalog.select(Filter(project=project, status=None, limit=1)))

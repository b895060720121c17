"""The copy that a promotion makes of an entry: its files, its path, its links and its scope."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app import alike_entries
from ai_lessons.app.trust import Trust, file_of_script, interpreter_of
from ai_lessons.errors import Refused
from ai_lessons.git.plumbing import identity
from ai_lessons.model import (
    ENTERPRISE,
    PROJECT,
    USER,
    expression,
    frontmatter,
    layout,
    lessons,
    markdown,
)
from ai_lessons.model.entries import GLOBAL_PROJECT, Entry, EntrySummary, Kind, Link, Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.app.workspace import RepositorySession

_SOURCE = expression(r"^source:[ \t]*\r?\n(?:[ \t][^\n]*\n)+", re.MULTILINE)


class SourceEntry(NamedTuple):
    """An entry with the text of the file that holds its frontmatter, and of a script the bytes of its code.

    A script's code is in `entry` also where it lies outside of the repository.
    """

    entry: Entry
    text: str
    code: bytes | None = None
    executable: bool = False

    @property
    def whole(self) -> str:
        """All its files as one text: what a policy looks at, and what a person releases."""
        if self.code is None:
            return self.text
        return f"{self.text}\n{self.entry.code}"


class TargetCopy(NamedTuple):
    """The copy as it shall be: its files by path, and which of them can be run."""

    entry: Entry
    files: Mapping[str, bytes]
    executable: tuple[str, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """What the files say, with empty lines in the place of `source`.

        We wrote that, so no author can revise it.
        """
        file = self.entry.side_path or self.entry.path
        texts = {}
        for path, data in self.files.items():
            texts[path] = data.decode("utf-8", "replace")
        texts[file] = _SOURCE.sub(lambda match: "\n" * match[0].count("\n"), texts[file], count=1)
        return texts


def source_entry(repo: RepositorySession, summary: EntrySummary) -> SourceEntry:
    """An entry with its files, also the code outside.

    Raises NotFound, StorageFailed; Refused: that is not trusted.
    """
    entry, text = repo.load(summary.id)
    if entry.derived or not text:
        identity = frontmatter.identity(entry)
    else:
        identity = {}
    text = markdown.edit(text, identity)
    if entry.kind is not Kind.SCRIPT:
        return SourceEntry(entry, text)
    file, code = file_of_script(repo.store, entry)
    trusted = file.is_relative_to(repo.store.root) or Trust(repo.options.state_dir).knows(
        code, interpreter_of(entry)
    )
    if not trusted:
        # a pulled file may name any path
        raise Refused(
            (
                f"{summary.handle} names a file outside its repository that this machine does "
                f"not trust: {file}"
            ),
            hint=f"read it, then allow it: ai-lessons admin trust-script {summary.handle}",
        )
    entry = entry._replace(code=code.decode("utf-8", "replace"))
    return SourceEntry(entry, text, code, os.access(file, os.X_OK))


def copy_files(path: str, text: str, code: bytes | None) -> dict[str, bytes]:
    """The files of an entry at `path`; the last one has its frontmatter."""
    if code is None:
        return {path: text.encode()}
    return {path: code, layout.side_of(path): text.encode()}


def copy_path(entry: Entry, target: RepositorySession, entry_id: str, created: str) -> str:
    """Where new entries of its kind go; a resource to where it lies now, beside what is there."""
    project = entry.project or GLOBAL_PROJECT
    if not entry.kind.is_resource:
        return layout.new_path(entry.kind, project, entry.title, entry_id, created)
    path = entry.path
    if layout.place(path) is None or f"/{entry.kind.folder}/" not in path:
        path = layout.resource_path(entry.kind, project, entry.versions, path.rpartition("/")[2])
    if entry.kind is Kind.DOC and not layout.is_markdown(path):
        # only Markdown can say where it comes from
        path += ".md"
    taken = any(map(target.store.exists, (path, layout.side_of(path))))
    if taken:
        return layout.beside(path, entry_id)
    return path


def copy_links(entry: Entry, target: RepositorySession) -> list[Link]:
    """The links of the copy that lead to something in the target, the one to its original last."""
    kept = []
    for link in entry.links:
        summaries = target.catalog.many(
            [link.target, *alike_entries.promoted_from(target, link.target)]
        )
        if link.target in summaries:
            kept.append(link)
        elif summaries:
            # what it leads to was promoted before, under another id
            kept.append(link._replace(target=next(iter(summaries))))
    return list(dict.fromkeys([*kept, Link(Relation.DERIVED_FROM.value, entry.id)]))


def scope_of(repo: RepositorySession, entry: Entry) -> str:
    """The scope that the original has, as groove writes one."""
    stated, tier = entry.fields.get("scope"), repo.options.tier
    if isinstance(stated, str) and lessons.is_scope(stated):
        return stated
    if tier == PROJECT:
        return f"{lessons.PROJECT}:{place_of(repo)}"
    person = (identity(repo.store.worktree, "AUTHOR") or "").partition(" <")[0]
    if tier == USER:
        return f"{lessons.USER}:{person or 'unknown'}"
    return lessons.GLOBAL


def place_of(repo: RepositorySession) -> str:
    """The name of the code project around a repository, or of a tier's enterprise; else empty."""
    root, tier = repo.store.root, repo.options.tier
    if tier == PROJECT:
        return (root.parent.parent if root.parent.name == ".ai" else root).name
    if tier.startswith(ENTERPRISE):
        return tier.removeprefix(ENTERPRISE)
    return ""

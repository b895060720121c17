"""Import of docs and scripts: where each file goes and what its frontmatter says, in one commit."""

from __future__ import annotations

import re
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import Conflict, InvalidEntry, Problem, Unreachable, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import frontmatter, layout, markdown
from ai_lessons.knowledge.bundle import noting
from ai_lessons.knowledge.cutting import estimate_tokens
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, UNVERSIONED, Entry, Kind
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.passages import split
from ai_lessons.knowledge.texts import decode
from ai_lessons.library import secret_scan
from ai_lessons.library.gate import Planned, checked, new_files, project_name
from ai_lessons.library.refreshing import Incoming, as_doc, refreshed_text, remember_sources, take, take_page, web
from ai_lessons.library.reports import Imported, PassagePreview, ResourceDraft
from ai_lessons.library.running import content, interpreter_of
from ai_lessons.repository import outside
from ai_lessons.repository.code_repository import Sources
from ai_lessons.repository.store import AS_IT_IS, Change, blob_id
from ai_lessons.repository.trust import Trust, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.outside import Outside
    from ai_lessons.repository.web import Web


_SOURCES = {Kind.DOC: ("source_path", "source_url"), Kind.SCRIPT: ("path",)}  # Keys that say where a text came from
_PAGES_A_COMMIT = 25


def add_resources(library: Library, draft: ResourceDraft) -> Imported:
    """Snapshots of docs, or scripts, in one commit. Files inside the repository are described where they are.

    A doc from the same place as one before brings that up to date. What cannot become an entry is skipped with the
    reason; of one file alone it is raised.
    """
    repo = library.primary
    if draft.urls:
        return _add_pages(repo, draft)
    files, planner = _files(repo, draft), Planner(repo, draft)
    each = ((str(file.path), partial(planner.plan, file)) for file in repo.options.each("reading", files))
    return planner.bring(each, alone=len(files) == 1)


def _add_pages(repo: RepositorySession, draft: ResourceDraft) -> Imported:
    """Pages of the web, some in each commit: what is there stays there if the next does not come, and is asked no more.

    A page that is named itself is asked again, unless it is as it was. Raises as `Web.page` where it is one alone.
    """
    if draft.paths or draft.kind is not Kind.DOC:
        raise UsageError("a page is a doc, and is added without files", hint="--type doc --url U")
    asked, public = web(repo.options, allow_private=draft.allow_private), web(repo.options)
    typed = [url.split("/")[:3] for url in draft.urls]  # Scheme, host and port: only those may be private
    maps = [url for url in draft.urls if url.endswith(".xml")]
    if maps and not draft.recursive:
        raise UsageError(f"{maps[0]} is a sitemap", hint="add --recursive to take every page in it")
    named = [url.partition("#")[0] for url in draft.urls if url not in maps]
    listed = [page for sitemap in maps for page in asked.sitemap(sitemap)]
    urls = list(dict.fromkeys(named + listed))
    if draft.title and len(urls) > 1:
        raise UsageError(f"one title for {len(urls)} pages", hint="leave --title out: each page has its own")
    done, planner = Imported((), 0, (), None), Planner(repo, draft)
    waiting = iter(repo.options.each("reading", urls))
    while batch := list(islice(waiting, _PAGES_A_COMMIT)):
        by = ((url, asked if url.split("/")[:3] in typed else public) for url in batch)
        each = ((url, partial(planner.page, url, client, named)) for url, client in by)
        part = planner.bring(each, alone=len(urls) == 1)
        done = Imported(
            done.written + part.written, done.unchanged + part.unchanged, done.skipped + part.skipped,
            part.commit or done.commit, (*done.notes, *part.notes),
        )  # fmt: skip
    return done


def _files(repo: RepositorySession, draft: ResourceDraft) -> list[Outside]:
    if draft.in_place and draft.kind is not Kind.SCRIPT:
        raise UsageError("only a script can stay where it is: a doc is a snapshot", hint="leave --in-place out")
    if draft.project:
        project_name(draft.project)
    for pattern in draft.paths:  # before any look at it: whether a file is there is nothing to tell either
        repo.options.limits.refuse_place(repo.options.cwd / outside.expanded(re.split(r"[*?\[]", pattern)[0]))
    files = outside.expand(draft.paths, repo.options.cwd, recursive=draft.recursive)
    if not files:
        raise UsageError(f"no files in {', '.join(draft.paths)}", hint="hidden files and links are not taken")
    if draft.title and len(files) > 1:
        raise UsageError(f"one title for {len(files)} files", hint="leave --title out: each file has its own")
    return files


class Planner:
    """Decides for one import what each file or page becomes. Asks each source repository once."""

    def __init__(self, repo: RepositorySession, draft: ResourceDraft) -> None:
        self._repo, self._draft, self._sources = repo, draft, Sources()
        self._versions = tuple(sorted({v for v in draft.versions if v != UNVERSIONED}))
        self._now = repo.options.now()
        self._taken: set[str] = set()
        self._inside: dict[Path, bool] = {}
        docs = repo.current().select(Filter(kinds=frozenset({Kind.DOC}), status=None))
        self._known = {
            (str(light.details[key]), frozenset(light.versions)): light
            for light in docs
            for key in _SOURCES[Kind.DOC]
            if light.details.get(key)
        }

    def bring(self, plans: Iterable[tuple[str, Callable[[], Planned]]], *, alone: bool) -> Imported:
        """What is wanted, each behind its name, as it is planned: in one commit, or skipped unless it is `alone`."""
        planned: dict[str, Planned] = {}
        skipped: list[tuple[str, str]] = []
        for name, plan in plans:
            with noting(name, skipped, alone=alone):
                result = plan()
                planned[result.entry.id] = result
        fresh = [result.entry for result in planned.values() if result.changes]
        done = self._repo.bring(planned.values(), f"Add {len(fresh)} {self._draft.kind}s", skipped)
        entries = (result.entry for result in planned.values())
        places = ((result.id, result.fields.get(key)) for result in entries for key in _SOURCES[result.kind])
        remember_sources(self._repo, [(entry_id, str(place)) for entry_id, place in places if place])
        if self._draft.kind is Kind.SCRIPT:  # they may run on this machine
            marks = [(entry.path, fingerprint(content(self._repo, entry)[1], interpreter_of(entry))) for entry in fresh]
            Trust(self._repo.options.state_dir).add_all(marks)
        return done

    def plan(self, file: Outside) -> Planned:
        """What the file becomes. Raises AiLessonsError: it cannot become an entry, or cannot be read."""
        folder, root = file.path.parent, self._repo.store.root
        if folder not in self._inside:
            self._inside[folder] = any(path.is_relative_to(root) for path in (folder, folder.resolve()))
        inside = self._repo.inside(str(file.path)) if self._inside[folder] else None
        if inside is not None:
            return self._describe(inside)
        came = take(file, self._sources, self._repo.options.limits)
        return self._script(came) if self._draft.kind is Kind.SCRIPT else self._doc(came)

    def page(self, url: str, asked: Web, named: Sequence[str]) -> Planned:
        """What the page becomes; one that is here already is asked for only if it is `named`. Raises as `take_page`."""
        light = self._known.get((url, frozenset(self._versions)))
        entry = self._repo.load(light.id)[0] if light else None
        if entry and url not in named:
            return Planned(entry, ())
        came = take_page(asked, url, entry.fields if entry else {}, self._now)
        if came is None and entry:
            return Planned(entry, ())
        if came is None:
            raise Unreachable(f"{url}: the server says that it has not changed, and it is not here")
        return self._doc(came)

    def _home(self, came: Incoming, name: str) -> str:
        project = self._draft.project or (self._sources.project(came.file.path) if came.source_path else None)
        project = project or GLOBAL_PROJECT
        return layout.resource_path(self._draft.kind, project, self._versions, name)

    def _doc(self, came: Incoming) -> Planned:
        light = self._known.get((came.source, frozenset(self._versions)))
        if light is not None:  # it is brought up to date, its identity stays
            entry, old = self._repo.load(light.id)
            new = refreshed_text(old, entry, came, self._new_words(entry, came.data))
            changes = (Change(entry.path, new.encode(), expect=blob_id(old.encode())),) if new != old else ()
            return Planned(entry, changes)
        source = as_doc(came.file.path, came.data)
        foreign = {k: v for k, v in source.fields.items() if k not in frontmatter.OWN_KEYS}
        fields = frontmatter.doc_fields(
            frontmatter.new_id(self._now), frontmatter.stamp(self._now), title=self._draft.title or source.title,
            source_path=came.source_path, source_ref=came.source_ref, content_hash=came.hash, **came.said,
            versions=self._versions, tags=sorted({*self._draft.tags, *source.tags}),
        )  # fmt: skip
        name = came.file.name if layout.is_markdown(came.file.name) else came.file.name + ".md"
        path = self._place(came, name)
        allowed = secret_scan.fields(self._draft.allow_secrets, text=source.body)
        data = markdown.render(fields | foreign | allowed, source.body).encode()
        return Planned(checked(path, data), new_files(path, data))

    def _new_words(self, entry: Entry, data: bytes) -> dict[str, Any]:
        """Title, tags and allowed secrets of the draft as far as the entry does not have them yet."""
        changes: dict[str, Any] = {}
        if self._draft.title and self._draft.title != entry.title:
            changes["title"] = self._draft.title
        if set(self._draft.tags) - set(entry.tags):
            changes["tags"] = sorted({*entry.tags, *self._draft.tags})
        text = data.decode("utf-8", "replace")
        return changes | secret_scan.fields(self._draft.allow_secrets, existing=entry.fields, text=text)

    def _script(self, came: Incoming) -> Planned:
        if b"\0" in came.data and not came.executable:
            raise InvalidEntry([Problem(str(came.file.path), "holds a NUL byte and is not executable: not a script")])
        fields = frontmatter.script_fields(
            frontmatter.new_id(self._now), frontmatter.stamp(self._now), title=self._draft.title or came.file.path.name,
            source_ref=came.source_ref, path=came.source_path if self._draft.in_place else None,
            content_hash=came.hash if self._draft.in_place else None,
            versions=self._versions, tags=sorted(set(self._draft.tags)),
        )  # fmt: skip
        fields |= secret_scan.fields(self._draft.allow_secrets, text=came.data.decode("utf-8", "replace"))
        if existing := self._script_there(came):
            return existing
        path = self._place(came, came.file.name)
        side = markdown.render(fields, frontmatter.body_of(frontmatter.description(came.data))).encode()
        if self._draft.in_place:
            side_path = layout.side_of(path)
            return Planned(checked(side_path, side), new_files(side_path, side))
        runs = came.executable or came.data.startswith(b"#!")
        return Planned(checked(path, came.data, side), new_files(path, came.data, side, runs=runs))

    def _script_there(self, came: Incoming) -> Planned | None:
        """The script itself, if it was imported before and has not changed since."""
        path, store = self._home(came, came.file.name), self._repo.store
        side_path = layout.side_of(path)
        files = [side_path] if self._draft.in_place else [path, side_path]
        if path in self._taken or layout.place(path) is None or not all(map(store.exists, files)):
            return None
        data = [store.read(file) for file in files]
        entry = read_entry(files[0], *data)
        same = entry.fields.get("path") == came.source_path if self._draft.in_place else data[0] == came.data
        return Planned(entry, ()) if same else None

    def _place(self, came: Incoming, name: str) -> str:
        path = self._home(came, name)
        layout.check_path(path)
        paths = {path, layout.side_of(path)} if self._draft.kind is Kind.SCRIPT else {path}
        if paths & self._taken:
            raise Conflict(f"{path} is taken by another file of this import", hint="import them one folder at a time")
        if any(map(self._repo.store.exists, paths)):
            raise Conflict(
                f"{path} is there already, with another content or from another source",
                hint="update it with `ai-lessons contribute edit`, or choose another --project or --version",
            )
        self._taken |= paths
        return path

    def _describe(self, path: str) -> Planned:
        """A file that lies in the repository: its frontmatter is written down where it is, its text stays."""
        if layout.place(path) is None:
            raise UsageError(f"{path} is no place for an entry", hint="docs/reference/file-format.md names the folders")
        store, is_script = self._repo.store, self._draft.kind is Kind.SCRIPT
        data = store.read(path)
        side_path = layout.side_of(path) if is_script else None
        side = store.read(side_path) if side_path and store.exists(side_path) else None
        entry = read_entry(path, data, side)
        if entry.kind is not self._draft.kind:
            raise Conflict(f"{path} is a {entry.kind}, not a {self._draft.kind}", hint=f"--type {entry.kind}")
        changes: dict[str, Any] = {}
        if entry.derived:  # an id that others link to already stays
            changes = frontmatter.identity(entry) | {"created": frontmatter.stamp(self._now)}
            if not self._repo.catalog.edges(entry.id):
                changes["id"] = frontmatter.new_id(self._now)
            if source := self._sources.ref(store.root / path, data):
                changes["source_ref"] = source
        versions = self._versions or (() if self._draft.versions else frontmatter.versions_of_place(entry.path))
        if versions and set(versions) != set(entry.versions):
            changes["versions"] = list(versions)
        changes |= self._new_words(entry, data)
        as_it_is = (Change(path, AS_IT_IS, expect=blob_id(data)),) if is_script else ()
        if not changes:
            return Planned(entry, ())
        target, old = (side_path, side) if side_path else (path, data)
        new = markdown.edit(decode(old or b"", target), changes).encode()
        changed = checked(path, data, new) if is_script else checked(path, new)
        return Planned(changed, (*as_it_is, Change(target, new, expect=None if old is None else blob_id(old))))


def preview(library: Library, draft: ResourceDraft) -> tuple[PassagePreview, ...]:
    """How `add_resources` would cut the files into passages. Writes nothing."""
    repo = library.primary
    previews = []
    for file in _files(repo, draft):
        data, _ = outside.read(file.path)
        if draft.kind is Kind.SCRIPT:
            entry = read_entry(layout.resource_path(Kind.SCRIPT, GLOBAL_PROJECT, (), file.path.name), data)
        else:
            entry = as_doc(file.path, data)
        previews += [
            PassagePreview(file.name, passage.heading, estimate_tokens(passage.text), passage.text)
            for passage in split(entry, repo.reading_config.chunking)
        ]
    return tuple(previews)

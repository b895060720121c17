"""What adding resources would write: a path, a title and a text for each, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.app import secrets
from ai_lessons.app.repeated_docs import notes_on_repeated
from ai_lessons.app.resource_texts import (
    DOCUMENTS,
    Incoming,
    as_doc,
    refreshed_text,
    take,
    take_page,
)
from ai_lessons.app.running import content, interpreter_of
from ai_lessons.app.trust import Trust, fingerprint, remember_sources
from ai_lessons.app.write_checks import Planned, checked, new_files, noting
from ai_lessons.connectors.manifests import Sources
from ai_lessons.errors import Conflict, InvalidEntry, Problem, Refused, Unreachable, UsageError
from ai_lessons.git.store import AS_IT_IS, Change
from ai_lessons.model import expression, frontmatter, layout, markdown
from ai_lessons.model.entries import GLOBAL_PROJECT, UNVERSIONED, Entry, Filter, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import blob_id
from ai_lessons.model.markup import MARKUPS
from ai_lessons.model.texts import decode
from ai_lessons.model.versions import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ai_lessons.app.answers import Imported, ResourceDraft
    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.connectors.web import Web
    from ai_lessons.git.external_files import Outside

_PAGE_NAMES = expression(
    r"(?i)readme|news|faq|install|changes|changelog|history|hacking|contributing|todo"
)
"""Files without a suffix that people write for people."""


_OF_BUILDS = expression(
    r"(?i)(?:cmakelists|meson_options|robots|(?:.*[-_.])?requirements(?:[-_.].*)?)\.txt"
)
"""Texts by their suffix that programs read."""


_RELEASE = expression(r"(?i)v?\d+(?:\.(?:\d+|x))*(?:-?(?:a|b|rc|alpha|beta)\.?\d*)?")
"""How a folder is called that holds the files of one version: `v1`, `2.4.x`, `3.0-rc1`."""


# Keys that say where a text came from
_SOURCES = {Kind.DOC: ("source_path", "source_url"), Kind.SCRIPT: ("path", "source_path")}


def _is_document(name: str) -> bool:
    """Whether a file of a folder is a page that people read, and not what a project is built with."""
    suffix = Path(name).suffix.lower()
    if not suffix:
        return _PAGE_NAMES.fullmatch(name) is not None
    return suffix in {*layout.DOC_SUFFIXES, *DOCUMENTS, *MARKUPS} and not _OF_BUILDS.fullmatch(name)


class Planner:
    """Decides for one import what each file or page becomes. Asks each source repository once."""

    def __init__(self, repo: RepositorySession, draft: ResourceDraft) -> None:
        self._repo, self._draft, self._sources = repo, draft, Sources()
        self._versions = tuple(sorted({v for v in draft.versions if v not in {UNVERSIONED, AUTO}}))
        self._now = repo.options.now()
        self._taken: set[str] = set()
        docs = repo.current().select(Filter(kinds=frozenset({Kind.DOC}), status=None))
        self._known = {
            (source, frozenset(summary.versions)): summary
            for summary in docs
            for key in _SOURCES[Kind.DOC]
            if (source := getattr(summary, key))
        }

    def bring(self, plans: Iterable[tuple[str, Callable[[], Planned]]], *, alone: bool) -> Imported:
        """What is wanted, each behind its name, as it is planned.

        In one commit, or skipped unless it is `alone`.
        """
        planned: dict[str, Planned] = {}
        skipped: list[tuple[str, str]] = []
        for name, plan in plans:
            with noting(name, skipped, alone=alone):
                result = plan()
                planned[result.entry.id] = result
        fresh = [result.entry for result in planned.values() if result.changes]
        done = self._repo.bring(planned.values(), f"Add {len(fresh)} {self._draft.kind}s", skipped)
        here = set()
        for summary in self._known.values():
            here.add(summary.id)
        notes = notes_on_repeated(self._repo, [entry for entry in fresh if entry.id not in here])
        done = done._replace(notes=(*done.notes, *notes))
        entries = (result.entry for result in planned.values())
        places = (
            (result.id, result.fields.get(key))
            for result in entries
            for key in _SOURCES[result.kind]
        )
        remember_sources(
            self._repo.store.state_dir,
            [(entry_id, str(place)) for entry_id, place in places if place],
        )
        if self._draft.kind is Kind.SCRIPT:
            # they may run on this machine
            marks = []
            for entry in fresh:
                marks.append(
                    (entry.path, fingerprint(content(self._repo, entry)[1], interpreter_of(entry)))
                )
            Trust(self._repo.options.state_dir).add_all(marks)
        return done

    def plan(self, file: Outside) -> Planned:
        """What the file becomes.

        Raises AiLessonsError: it cannot become an entry, or cannot be read.
        """
        if AUTO in self._draft.versions:
            self._versions = next(
                ((at.name,) for at in file.path.parents if _RELEASE.fullmatch(at.name)), ()
            )
        inside = self._repo.inside(str(file.path))
        if inside is not None:
            return self._describe(inside)
        if (
            self._draft.kind is Kind.DOC
            and self._draft.recursive
            and not _is_document(file.path.name)
        ):
            raise Refused(
                "no document, by its name", hint="name the file itself, without --recursive"
            )
        came = take(file, self._sources, self._repo.options.limits)
        if self._draft.kind is Kind.SCRIPT:
            return self._script(came)
        return self._doc(came)

    def page(self, url: str, asked: Web, named: Sequence[str]) -> Planned:
        """What the page becomes; one that is here already is asked for only if it is `named`.

        Raises as `take_page`.
        """
        summary = self._known.get((url, frozenset(self._versions)))
        entry = None
        if summary:
            entry = self._repo.load(summary.id)[0]
        if entry and url not in named:
            return Planned(entry, ())
        came = take_page(asked, url, entry.fields if entry else {}, self._now)
        if came is None and entry:
            return Planned(entry, ())
        if came is None:
            raise Unreachable(f"{url}: the server says that it has not changed, and it is not here")
        return self._doc(came)

    def _home(self, came: Incoming, name: str) -> str:
        project = self._draft.project or (
            self._sources.project(came.file.path) if came.source_path else None
        )
        project = project or GLOBAL_PROJECT
        return layout.resource_path(self._draft.kind, project, self._versions, name)

    def _doc(self, came: Incoming) -> Planned:
        summary = self._known.get((came.source, frozenset(self._versions)))
        if summary is not None:
            # the doc is there: it gets the new text and keeps its id
            entry, old = self._repo.load(summary.id)
            body = as_doc(came.file.path, came.data).body
            new = refreshed_text(old, entry, came, body, self._new_words(entry, came.data))
            if new == old:
                return Planned(entry, ())
            checked(entry.file, new.encode(), was=entry)
            return Planned(entry, (Change(entry.path, new.encode(), expect=blob_id(old.encode())),))
        source = as_doc(came.file.path, came.data)
        foreign = {k: v for k, v in source.fields.items() if k not in frontmatter.OWN_KEYS}
        fields = frontmatter.doc_fields(
            frontmatter.new_id(self._now), frontmatter.stamp(self._now), title=self._draft.title or source.title,
            source_path=came.source_path, source_ref=came.source_ref, content_hash=came.hash, **came.said,
            versions=self._versions, tags=sorted({*self._draft.tags, *source.tags}),
        )  # fmt: skip
        name = self._name_of(came.file)
        path = self._place(came, name)
        allowed = secrets.fields(self._draft.allow_secrets, text=source.body)
        data = markdown.render(fields | foreign | allowed, source.body).encode()
        return Planned(checked(path, data), new_files(path, data))

    def _name_of(self, file: Outside) -> str:
        """The name of a doc; the folder that its version is called by is that of the version."""
        folder, slash, below = file.name.partition("/")
        if slash and AUTO in self._draft.versions and _RELEASE.fullmatch(folder):
            name = below
        else:
            name = file.name
        if layout.is_markdown(name):
            return name
        return name + ".md"

    def _new_words(self, entry: Entry, data: bytes) -> dict[str, Any]:
        """Title, tags and allowed secrets of the draft as far as the entry does not have them yet."""
        changes: dict[str, Any] = {}
        if self._draft.title and self._draft.title != entry.title:
            changes["title"] = self._draft.title
        if set(self._draft.tags) - set(entry.tags):
            changes["tags"] = sorted({*entry.tags, *self._draft.tags})
        text = data.decode("utf-8", "replace")
        return changes | secrets.fields(self._draft.allow_secrets, existing=entry.fields, text=text)

    def _script(self, came: Incoming) -> Planned:
        if b"\0" in came.data and not came.executable:
            raise InvalidEntry(
                [
                    Problem(
                        str(came.file.path), "holds a NUL byte and is not executable: not a script"
                    )
                ]
            )
        source_path = None
        if not self._draft.in_place:
            source_path = came.source_path
        fields = frontmatter.script_fields(
            frontmatter.new_id(self._now), frontmatter.stamp(self._now), title=self._draft.title or came.file.path.name,
            source_ref=came.source_ref, path=came.source_path if self._draft.in_place else None,
            source_path=source_path, content_hash=came.hash,
            versions=self._versions, tags=sorted(set(self._draft.tags)),
        )  # fmt: skip
        fields |= secrets.fields(
            self._draft.allow_secrets, text=came.data.decode("utf-8", "replace")
        )
        if existing := self._script_there(came):
            return existing
        path = self._place(came, came.file.name)
        if self._draft.in_place:
            # its own words describe it, as they are when they are read
            side_path, side = layout.side_of(path), markdown.render(fields, "").encode()
            return Planned(checked(side_path, side), new_files(side_path, side))
        side = markdown.render(
            fields, frontmatter.body_of(frontmatter.description(came.data))
        ).encode()
        runs = came.executable or came.data.startswith(b"#!")
        return Planned(checked(path, came.data, side), new_files(path, came.data, side, runs=runs))

    def _script_there(self, came: Incoming) -> Planned | None:
        """The script itself, if it was imported before and has not changed since."""
        path, store = self._home(came, came.file.name), self._repo.store
        side_path = layout.side_of(path)
        if self._draft.in_place:
            files = [side_path]
        else:
            files = [path, side_path]
        if path in self._taken or layout.place(path) is None or not all(map(store.exists, files)):
            return None
        data = []
        for file in files:
            data.append(store.read(file))
        entry = read_entry(files[0], *data)
        if self._draft.in_place:
            same = entry.fields.get("path") == came.source_path
        else:
            same = data[0] == came.data
        if same:
            return Planned(entry, ())
        return None

    def _place(self, came: Incoming, name: str) -> str:
        path = self._home(came, name)
        layout.check_path(path)
        if self._draft.kind is Kind.SCRIPT:
            paths = {path, layout.side_of(path)}
        else:
            paths = {path}
        if paths & self._taken:
            raise Conflict(
                f"{path} is taken by another file of this import",
                hint="import them one folder at a time",
            )
        if any(map(self._repo.store.exists, paths)):
            raise Conflict(
                f"{path} is there already, with another content or from another source",
                hint=(
                    "update it with `ai-lessons contribute edit`, or choose another --project "
                    "or --version"
                ),
            )
        self._taken |= paths
        return path

    def _describe(self, path: str) -> Planned:
        """A file that lies in the repository.

        Its frontmatter is written down where it is, its text stays.
        """
        if layout.place(path) is None:
            raise UsageError(
                f"{path} is no place for an entry",
                hint="docs/reference/file-format.md names the folders",
            )
        store, is_script = self._repo.store, self._draft.kind is Kind.SCRIPT
        data = store.read(path)
        side_path = layout.side_of(path) if is_script else None
        side = store.read(side_path) if side_path and store.exists(side_path) else None
        entry = read_entry(path, data, side)
        if entry.kind is not self._draft.kind:
            raise Conflict(
                f"{path} is a {entry.kind}, not a {self._draft.kind}", hint=f"--type {entry.kind}"
            )
        changes: dict[str, Any] = {}
        if entry.derived:
            # an id that others link to already stays
            changes = frontmatter.identity(entry) | {"created": frontmatter.stamp(self._now)}
            if not self._repo.catalog.edges(entry.id):
                changes["id"] = frontmatter.new_id(self._now)
            if source := self._sources.ref(store.root / path, data):
                changes["source_ref"] = source
        versions = self._versions or (
            () if self._draft.versions else frontmatter.versions_of_place(entry.path)
        )
        if versions and set(versions) != set(entry.versions):
            changes["versions"] = list(versions)
        changes |= self._new_words(entry, data)
        as_it_is = (Change(path, AS_IT_IS, expect=blob_id(data)),) if is_script else ()
        if not changes:
            return Planned(entry, ())
        target, old = (side_path, side) if side_path else (path, data)
        new = markdown.edit(decode(old or b"", target), changes).encode()
        changed = checked(path, data, new) if is_script else checked(path, new)
        return Planned(
            changed, (*as_it_is, Change(target, new, expect=None if old is None else blob_id(old)))
        )

"""What adding resources would write: a path, a title and a text for each, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app import secrets
from ai_lessons.app.repeated_docs import notes_on_repeated
from ai_lessons.app.trust import remember_sources
from ai_lessons.app.write_checks import Planned, checked, new_files, noting
from ai_lessons.connectors.manifests import Sources
from ai_lessons.errors import Conflict, Refused, Unreachable, UsageError
from ai_lessons.features.intake import facts
from ai_lessons.features.intake.incoming import (
    DOCUMENTS,
    Incoming,
    as_doc,
    refreshed_text,
    take,
    take_page,
)
from ai_lessons.git.store import Change
from ai_lessons.model import expression, frontmatter, layout, markdown
from ai_lessons.model.entries import GLOBAL_PROJECT, UNVERSIONED, Entry, Filter, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import blob_id
from ai_lessons.model.markup import MARKUPS
from ai_lessons.model.texts import decode
from ai_lessons.model.versions import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.app.written import Imported
    from ai_lessons.features.intake.web import Web
    from ai_lessons.git.external_files import Outside
    from ai_lessons.model.entries import EntrySummary

# Files without a suffix that people write for people.
_PAGE_NAMES = expression(
    r"(?i)readme|news|faq|install|changes|changelog|history|hacking|contributing|todo"
)


# Texts by their suffix that programs read.
_OF_BUILDS = expression(
    r"(?i)(?:cmakelists|meson_options|robots|(?:.*[-_.])?requirements(?:[-_.].*)?)\.txt"
)


# How a folder is called that holds the files of one version: `v1`, `2.4.x`, `3.0-rc1`.
_RELEASE = expression(r"(?i)v?\d+(?:\.(?:\d+|x))*(?:-?(?:a|b|rc|alpha|beta)\.?\d*)?")


def _is_document(name: str) -> bool:
    """Whether a file of a folder is a page that people read, and not what a project is built with."""
    suffix = Path(name).suffix.lower()
    if not suffix:
        return _PAGE_NAMES.fullmatch(name) is not None
    return suffix in {*layout.DOC_SUFFIXES, *DOCUMENTS, *MARKUPS} and not _OF_BUILDS.fullmatch(name)


class ResourceDraft(NamedTuple):
    """What to import.

    `paths` are files, folders (with `recursive`) or globs of the caller's file system.

    `urls` are pages, or (with `recursive`) sitemaps; of private addresses only with
    `allow_private`. `exclude`: globs of files to leave.
    """

    kind: Kind
    paths: Sequence[str] = ()
    title: str | None = None
    versions: Sequence[str] = ()
    project: str | None = None
    tags: Sequence[str] = ()
    recursive: bool = False
    in_place: bool = False
    allow_secrets: Sequence[tuple[str, str]] = ()
    urls: Sequence[str] = ()
    allow_private: bool = False
    exclude: Sequence[str] = ()


class Described(NamedTuple):
    """A file of the repository as an entry.

    Its frontmatter stands in the file `path`, whose `text` is None where there is no such file yet.
    """

    entry: Entry
    path: str
    text: bytes | None

    def change(self, new: bytes) -> Change:
        """The write of a new text."""
        before = None
        if self.text is not None:
            before = blob_id(self.text)
        return Change(self.path, new, expect=before)


class Planner:
    """Decides for one import what each file or page becomes: docs. Asks each source repository once.

    A feature whose entries are of another kind has a class below it (`planners` of its row).
    """

    # Keys that say where a text came from
    source_keys = ("source_path", "source_url")

    def __init__(self, repo: RepositorySession, draft: ResourceDraft) -> None:
        self._repo, self._draft, self._sources = repo, draft, Sources()
        self._versions = tuple(sorted({v for v in draft.versions if v not in {UNVERSIONED, AUTO}}))
        self._now = repo.options.now()
        self._taken: set[str] = set()
        self._known: dict[tuple[str, frozenset[str]], EntrySummary] = {}
        catalog = repo.current()
        sources = facts.sources(catalog)
        for doc in catalog.select(Filter(kinds=frozenset({Kind.DOC}), status=None)):
            source = sources.get(doc.id, facts.NOWHERE)
            for place in (source.path, source.url):
                if place:
                    self._known[place, frozenset(doc.versions)] = doc

    def bring(self, plans: Iterable[tuple[str, Callable[[], Planned]]], *, alone: bool) -> Imported:
        """Write what is planned, each behind its name, in one commit.

        What cannot be planned is skipped, unless it is `alone`.
        """
        planned: dict[str, Planned] = {}
        skipped: list[tuple[str, str]] = []
        for name, plan in plans:
            with noting(name, skipped, alone=alone):
                result = plan()
                planned[result.entry.id] = result
        fresh = [result.entry for result in planned.values() if result.changes]
        done = self._repo.bring(planned.values(), f"Add {len(fresh)} {self._draft.kind}s", skipped)
        places = []
        for result in planned.values():
            for key in self.source_keys:
                place = result.entry.fields.get(key)
                if place:
                    places.append((result.entry.id, str(place)))
        remember_sources(self._repo.store.state_dir, places)
        return self.written(done, fresh)

    def written(self, done: Imported, fresh: Sequence[Entry]) -> Imported:
        """The answer once the entries are there: which of the new ones say what others say already."""
        here = {doc.id for doc in self._known.values()}
        new = [entry for entry in fresh if entry.id not in here]
        return done._replace(notes=(*done.notes, *notes_on_repeated(self._repo, new)))

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
        return self.incoming(take(file, self._sources, self._repo.options.limits))

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
        return self.incoming(came)

    def _home(self, came: Incoming, name: str) -> str:
        project = self._draft.project or (
            self._sources.project(came.file.path) if came.source_path else None
        )
        project = project or GLOBAL_PROJECT
        return layout.resource_path(self._draft.kind, project, self._versions, name)

    def incoming(self, came: Incoming) -> Planned:
        """What a text that came becomes. Raises as `plan`."""
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

    def _place(self, came: Incoming, name: str) -> str:
        path = self._home(came, name)
        layout.check_path(path)
        paths = set(self.paths_of(path))
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

    def paths_of(self, path: str) -> Iterable[str]:
        """The files of the repository that an entry at `path` takes."""
        return {path}

    def _describe(self, path: str) -> Planned:
        """A file that lies in the repository.

        Its frontmatter is written down where it is, its text stays.
        """
        if layout.place(path) is None:
            raise UsageError(
                f"{path} is no place for an entry",
                hint="docs/reference/file-format.md names the folders",
            )
        data = self._repo.store.read(path)
        described = self.described(path, data)
        entry = described.entry
        if entry.kind is not self._draft.kind:
            raise Conflict(
                f"{path} is a {entry.kind}, not a {self._draft.kind}", hint=f"--type {entry.kind}"
            )
        changes = self._new_identity(entry, data)
        versions = self._versions
        if not versions and not self._draft.versions:
            versions = frontmatter.versions_of_place(entry.path)
        if versions and set(versions) != set(entry.versions):
            changes["versions"] = list(versions)
        changes |= self._new_words(entry, data)
        if not changes:
            return Planned(entry, ())
        text = decode(described.text or b"", described.path)
        new = markdown.edit(text, changes).encode()
        return self.rewritten(path, data, described, new)

    def _new_identity(self, entry: Entry, data: bytes) -> dict[str, Any]:
        """What a file gets that says nothing of itself yet."""
        if not entry.derived:
            return {}
        changes = frontmatter.identity(entry) | {"created": frontmatter.stamp(self._now)}
        # an id that others link to already stays
        if not self._repo.catalog.edges(entry.id):
            changes["id"] = frontmatter.new_id(self._now)
        source = self._sources.ref(self._repo.store.root / entry.path, data)
        if source:
            changes["source_ref"] = source
        return changes

    def described(self, path: str, data: bytes) -> Described:
        """A file of the repository: its frontmatter stands in it."""
        return Described(read_entry(path, data), path, data)

    def rewritten(self, path: str, data: bytes, described: Described, new: bytes) -> Planned:  # noqa: ARG002  # a script stays
        """The same file with new frontmatter."""
        return Planned(checked(path, new), (described.change(new),))

"""Docs and scripts from files, web pages and installed packages, and their refresh from where they came."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from hashlib import sha256
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from ai_lessons import extensions
from ai_lessons.app import decision_docs, meaning, secrets
from ai_lessons.app.answers import Imported, ResourceDraft
from ai_lessons.app.running import content, interpreter_of
from ai_lessons.app.sources import allow_source, source_of
from ai_lessons.app.trust import Trust, fingerprint, is_url, remember_sources
from ai_lessons.app.write_checks import Planned, checked, new_files
from ai_lessons.connectors import decision_records
from ai_lessons.connectors.exporters import noting
from ai_lessons.connectors.manifests import Sources
from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
    InvalidEntry,
    NotFound,
    Problem,
    Refused,
    Unreachable,
    UsageError,
)
from ai_lessons.git import external_files
from ai_lessons.git.external_files import Outside, expanded
from ai_lessons.git.files import READ_LIMIT
from ai_lessons.git.history import unified
from ai_lessons.git.store import AS_IT_IS, Change
from ai_lessons.model import expression, frontmatter, layout, markdown
from ai_lessons.model.chunks import estimate_tokens, split
from ai_lessons.model.entries import GLOBAL_PROJECT, UNVERSIONED, Entry, EntrySummary, Filter, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import blob_id, project_name
from ai_lessons.model.markup import MARKUPS, without_marks
from ai_lessons.model.texts import decode
from ai_lessons.model.versions import AUTO
from ai_lessons.model.yaml_edit import REMOVE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ai_lessons.app.open_repository import Limits, Options
    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.connectors.web import Web


class PassagePreview(NamedTuple):
    """How one passage of a file would be cut.

    Its heading path, size in estimated tokens and first words.
    """

    path: str
    heading: str
    tokens: int
    text: str


class Refreshed(NamedTuple):
    """One doc looked at again.

    `changed` says its file was rewritten; `diff` is a unified diff of the body.
    """

    handle: str
    title: str
    path: str
    changed: bool = False
    old_ref: str | None = None
    new_ref: str | None = None
    added: int = 0
    removed: int = 0
    diff: str = ""
    warning: str = ""


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

DOCUMENTS = (".html", ".htm", ".pdf", ".docx")
"""How names end of what only the extra `intake` can read."""

# Bytes of such a document; of its text less is taken
_LARGEST = 64 * 1024 * 1024


class Incoming(NamedTuple):
    """One file as it came: its bytes, and what is known of where it came from.

    `said`: keys of a page of the web.
    """

    file: Outside
    data: bytes
    executable: bool = False
    source_path: str | None = None
    source_ref: str | None = None
    said: Mapping[str, str] = MappingProxyType({})

    @property
    def hash(self) -> str:
        """What `content_hash` says of a snapshot of these bytes."""
        return f"sha256:{sha256(self.data).hexdigest()}"

    @property
    def source(self) -> str:
        """What names the place it came from."""
        return self.source_path or self.said["source_url"]


def take(
    file: Outside, sources: Sources, limits: Limits, source_path: str | None = None
) -> Incoming:
    """Read a file of the caller's, which its snapshot may name already.

    Raises as `files.read`; Refused.
    """
    limits.refuse_place(file.path)
    if file.path.suffix.lower() in DOCUMENTS:
        most = _LARGEST
    else:
        most = READ_LIMIT
    data, executable = external_files.read(file.path, most)
    limits.refuse_content(file.path, data)
    path, home = file.path, Path.home()
    if path.is_relative_to(home):
        portable = f"~/{path.relative_to(home).as_posix()}"
    else:
        portable = str(path)
    return Incoming(file, data, executable, source_path or portable, sources.ref(path, data))


def as_doc(path: Path, data: bytes) -> Entry:
    """A source as an entry; frontmatter that cannot be read is text.

    Raises InvalidEntry, UsageError: it is no text.
    """
    suffix, name = path.suffix.lower(), path.name
    if suffix in DOCUMENTS:
        unix = _extra().convert(path.name, suffix, data).encode()
    else:
        unix = data.replace(b"\r\n", b"\n")
        if suffix in MARKUPS:
            unix = (
                _by_docutils(path.name, unix) or MARKUPS[suffix](decode(unix, str(path)))
            ).encode()
    if suffix in {*DOCUMENTS, *MARKUPS}:
        name += ".md"
    elif not name.lower().endswith(layout.DOC_SUFFIXES):
        name += ".txt"
    decode(unix, str(path))
    return read_entry(layout.resource_path(Kind.DOC, GLOBAL_PROJECT, (), name), unix)


def _by_docutils(name: str, data: bytes) -> str:
    """The text of a page of reStructuredText by the extra `intake`.

    "": that is not here, or does not read it.
    """
    with suppress(ImportError, InvalidEntry):
        if name.lower().endswith(".rst"):
            return without_marks(
                str(import_module("ai_lessons.connectors.web").convert(name, ".rst", data))
            )
    return ""


def web(options: Options, *, allow_private: bool = False) -> Web:
    """What asks for pages. Raises UsageError: the extra that does is not installed.

    Unreachable: offline.
    """
    if options.offline:
        raise Unreachable(
            "a page is on the network, and offline was asked for", hint="unset AI_LESSONS_OFFLINE"
        )
    asked: Web = _extra().Web(allow_private=allow_private)
    return asked


def take_page(asked: Web, url: str, fields: Mapping[str, Any], now: datetime) -> Incoming | None:
    """A page as Markdown; None where it is as its doc's fields say.

    Raises as `Web.page`; InvalidEntry: no text.
    """
    before = fields.get("source_date")
    if isinstance(before, datetime):
        since = format_datetime(before, usegmt=True)
    else:
        since = ""
    if fields.get("etag"):
        modified = ""
    else:
        modified = since
    page = asked.page(url, etag=str(fields.get("etag") or ""), modified=modified)
    if page is None:
        return None
    address = urlsplit(url)
    path = Path(unquote(address.path).strip("/") or "index")
    if path.suffix.lower() != page.suffix:
        path = path.with_name(path.name + page.suffix)
    text = as_doc(path, page.data)
    try:
        changed = parsedate_to_datetime(page.modified)
    except ValueError:
        # none, or not as the standard has it
        changed = now
    fields = {"source_url": url, "source_date": frontmatter.stamp(changed), "etag": page.etag}
    name = f"{address.hostname}/{path.as_posix()}.md"
    return Incoming(
        Outside(Path(path.name + ".md"), name), frontmatter.body_of(text.body).encode(), said=fields
    )


def _extra() -> Any:
    try:
        return import_module("ai_lessons.connectors.web")
    except ImportError as error:
        raise UsageError(
            f"web pages, HTML, PDF and Word documents need {error.name}, which is not installed",
            hint="in the sources of ai-lessons: pip install '.[intake]'",
        ) from error


# --- read again ---


def refresh(
    library: Library,
    refs: Sequence[str],
    *,
    every: bool = False,
    allow_secrets: Sequence[tuple[str, str]] = (),
    allow_private: bool = False,
) -> tuple[Refreshed, ...]:
    """Read docs again from where they came, in one commit; `every` means all that name a source.

    What features take in (`refresh` of a feature takes the repository) comes in commits of its own.
    Raises UsageError: neither names nor `every`. Unless `every`, where each is a warning: NotFound:
    no source, or it is gone. InvalidEntry: what came is no text of an entry, or holds a secret.
    Refused: see `allow_source`.
    """
    repo = library.primary
    catalog = repo.current()
    if every == bool(refs):
        raise UsageError("say which docs to refresh", hint="name them, or give --all alone")
    if every:
        summaries = catalog.select(Filter(kinds=frozenset({Kind.DOC, Kind.SCRIPT}), status=None))
        summaries = [summary for summary in summaries if source_of(repo, summary)]
    else:
        summaries = list({summary.id: summary for summary in map(repo.resolve, refs)}.values())
    looked: list[tuple[Refreshed, tuple[Change, ...]]] = []
    sources = Sources()
    pages = any(is_url(source_of(repo, summary) or "") for summary in summaries)
    asked = None
    if pages:
        asked = web(repo.options, allow_private=allow_private)
    for summary in repo.options.each("refreshing", summaries):
        try:
            looked.append(_look_at(repo, sources, asked, summary, allow_secrets))
        except AiLessonsError as error:
            if not every:
                raise
            looked.append(
                (Refreshed(summary.handle, summary.title, summary.path, warning=error.message), ())
            )
    refreshed = list(_write_refreshed(repo, looked))
    if every:
        for _, refresh_others in extensions.added("refresh"):
            refreshed += refresh_others(repo)
    return tuple(refreshed)


def _write_refreshed(
    repo: RepositorySession, looked: Sequence[tuple[Refreshed, tuple[Change, ...]]]
) -> tuple[Refreshed, ...]:
    """Write what has changed in one commit; the answers, with why the commit waits if it does."""
    answers = tuple(answer for answer, _ in looked)
    changes = []
    for _, several in looked:
        for change in several:
            changes.append(change)
    if not changes:
        return answers
    titles = []
    for answer, several in looked:
        if several:
            titles.append(answer.title)
    repo.keep_edits([change.path for change in changes])
    applied = repo.write(
        f"Refresh {f'doc: {titles[0]}' if len(titles) == 1 else f'{len(titles)} docs'}", changes
    )
    if not applied.waiting:
        return answers
    return tuple(
        answer._replace(
            warning="; ".join(filter(None, (answer.warning, f"waiting: {applied.waiting}")))
        )
        if answer.changed
        else answer
        for answer in answers
    )


def _look_at(
    repo: RepositorySession,
    sources: Sources,
    asked: Web | None,
    summary: EntrySummary,
    allow: Sequence[tuple[str, str]],
) -> tuple[Refreshed, tuple[Change, ...]]:
    entry, old = repo.load(summary.id)
    source = source_of(repo, summary)
    answer = Refreshed(summary.handle, summary.title, summary.path)
    of_package = summary.source_ref.startswith("pkg:")
    if not source and summary.kind.is_resource and not of_package:
        # a file of the repository is no copy: an edit of it is what the next search finds
        return answer._replace(warning="its file here is its source, and is read as it is"), ()
    if not source:
        raise NotFound(
            "source of",
            summary.handle,
            hint="only what was added from a file or a page can be refreshed",
        )
    file = allow_source(repo, summary, source)
    if asked is not None and is_url(source):
        page = take_page(asked, source, entry.fields, repo.options.now())
        if page is None:
            return answer, ()
        incoming, path = page, page.file.path
    else:
        path = expanded(source)
        incoming = take(Outside(file, path.name), sources, repo.options.limits, source)
    old_ref = entry.fields.get("source_ref")
    # uncommitted changes there (`-dirty`) are no move
    heads = []
    for ref in (old_ref, incoming.source_ref):
        if ref:
            heads.append(str(ref).partition("-")[0])
    if len(set(heads)) > 1:
        warning = "its source's repository has moved on"
    else:
        warning = ""
    answer = answer._replace(old_ref=old_ref, new_ref=incoming.source_ref, warning=warning)
    if entry.fields.get("content_hash") == incoming.hash:
        return answer, ()
    body = _text_of(entry, old, path, incoming.data)
    code = entry.kind is Kind.SCRIPT and repo.store.exists(entry.path)
    new = refreshed_text(
        old, entry, incoming, body, secrets.fields(allow, existing=entry.fields, text=body)
    )
    before, after = (
        (entry.code.encode(), incoming.data) if code else (entry.body.encode(), body.encode())
    )
    diff = unified(summary.path, before, after)
    added, removed = (sum(line.startswith(sign) for line in diff.split("\n")[2:]) for sign in "+-")
    answer = answer._replace(changed=True, added=added, removed=removed, diff=diff)
    described = Change(entry.file, new.encode(), expect=blob_id(old.encode()))
    if not code:
        checked(entry.file, new.encode(), was=entry)
        return answer, (described,)
    checked(entry.path, incoming.data, new.encode(), was=entry)
    copy = Change(entry.path, incoming.data, expect=blob_id(repo.store.read(entry.path)))
    return answer, (copy, described)


def _text_of(entry: Entry, old: str, path: Path, data: bytes) -> str:
    """What is kept of a source beside a script's code.

    Of a doc its text, of a script what it says of itself.

    What a person wrote of a script (in `old`, the file that describes it) stays.
    """
    if entry.kind is not Kind.SCRIPT:
        return as_doc(path, data).body
    stated = markdown.parse(old).body
    is_its_own = stated.strip() == frontmatter.description(entry.code.encode())
    if stated.strip() and is_its_own:
        return frontmatter.body_of(frontmatter.description(data))
    return stated


def refreshed_text(
    old: str, entry: Entry, incoming: Incoming, body: str, extra: Mapping[str, Any]
) -> str:
    """The text of a snapshot brought up to date with its source (`body`), and with what else it shall say."""
    new = old
    if entry.fields.get("content_hash") != incoming.hash:
        changed = {
            **extra,
            "content_hash": incoming.hash,
            "source_ref": incoming.source_ref or REMOVE,
        }
        changed |= {key: value or REMOVE for key, value in incoming.said.items()}
        if decision_records.FORM in entry.tags:
            # what a record says of itself may be what changed
            changed["status"] = (
                decision_records.status_in(incoming.file.name, incoming.data) or REMOVE
            )
        new = markdown.edit(old, changed, body)
    elif extra:
        new = markdown.edit(old, dict(extra))
    return new


# Keys that say where a text came from
_SOURCES = {Kind.DOC: ("source_path", "source_url"), Kind.SCRIPT: ("path", "source_path")}


def kind_of(cwd: Path, paths: Sequence[str]) -> Kind:
    """What files are added as where no kind is stated.

    Scripts if each begins with `#!`, else docs.
    """
    named = []
    for path in paths:
        named.append(external_files.typed(expanded(path), cwd))
    scripts = bool(named) and all(
        path.is_file() and external_files.read(path)[0].startswith(b"#!") for path in named
    )
    if scripts:
        return Kind.SCRIPT
    return Kind.DOC


def add_resources(library: Library, draft: ResourceDraft) -> Imported:
    """Snapshots of docs, or scripts, in one commit.

    Files inside the repository are described where they are.

    A doc from the same place as one before brings that up to date. What cannot become an entry is
    skipped with the reason; of one file alone it is raised.
    """
    repo = library.primary
    if draft.urls:
        return meaning.after_import(repo, _add_pages(repo, draft))
    files, planner = _files(repo, draft), Planner(repo, draft)
    each = (
        (str(file.path), partial(planner.plan, file))
        for file in repo.options.each("reading", files)
    )
    return meaning.after_import(repo, planner.bring(each, alone=len(files) == 1))


def _add_pages(repo: RepositorySession, draft: ResourceDraft) -> Imported:
    """Pages of the web, some in each commit.

    What is there stays there if the next does not come, and is asked no more.

    A page that is named itself is asked again, unless it is as it was. Raises as `Web.page` where
    it is one alone.
    """
    if draft.paths or draft.kind is not Kind.DOC:
        raise UsageError("a page is a doc, and is added without files", hint="--type doc --url U")
    asked, public = web(repo.options, allow_private=draft.allow_private), web(repo.options)
    # Scheme, host and port: only those may be private
    typed = []
    for url in draft.urls:
        typed.append(url.split("/")[:3])
    maps = []
    for url in draft.urls:
        if asked.is_sitemap(url):
            maps.append(url)
    if maps and not draft.recursive:
        raise UsageError(f"{maps[0]} is a sitemap", hint="add --recursive to take every page in it")
    named = []
    for url in draft.urls:
        if url not in maps:
            named.append(url.partition("#")[0])
    listed = []
    for sitemap in maps:
        for page in asked.sitemap(sitemap):
            listed.append(page)
    urls = list(dict.fromkeys(named + listed))
    if draft.title and len(urls) > 1:
        raise UsageError(
            f"one title for {len(urls)} pages", hint="leave --title out: each page has its own"
        )
    done, planner = Imported((), 0, (), None), Planner(repo, draft)
    waiting = iter(repo.options.each("reading", urls))
    # a commit for some pages at a time: what was read is kept if the next page fails, and history
    # stays short
    while batch := list(islice(waiting, 25)):
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
        raise UsageError(
            "only a script can stay where it is: a doc is a snapshot", hint="leave --in-place out"
        )
    if draft.project:
        project_name(draft.project)
    for pattern in draft.paths:
        # before any look: even whether a file is there must not be told of a forbidden place
        repo.options.limits.refuse_place(
            repo.options.cwd / external_files.expanded(re.split(r"[*?\[]", pattern)[0])
        )
    files = external_files.expand(draft.paths, repo.options.cwd, recursive=draft.recursive)
    if draft.exclude and not (
        files := [file for file in files if not _is_excluded(file, draft, repo.options.cwd)]
    ):
        raise UsageError("--exclude leaves nothing")
    if not files:
        raise UsageError(
            f"no files in {', '.join(draft.paths)}", hint="hidden files and links are not taken"
        )
    if draft.title and len(files) > 1:
        raise UsageError(
            f"one title for {len(files)} files", hint="leave --title out: each file has its own"
        )
    return files


def _is_excluded(file: Outside, draft: ResourceDraft, cwd: Path) -> bool:
    """Whether a glob leaves the file out.

    By its name below the folder that was named, or by its path from here.
    """
    names = [
        file.name,
        *([file.path.relative_to(cwd).as_posix()] if file.path.is_relative_to(cwd) else []),
    ]
    globs = []
    for glob in draft.exclude:
        if "/" not in glob.rstrip("/"):
            globs.append(f"**/{glob}")
        else:
            globs.append(glob)
    return layout.any_match(globs, names)


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
        notes = decision_docs.repeated(
            self._repo, [entry for entry in fresh if entry.id not in here]
        )
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


def preview(library: Library, draft: ResourceDraft) -> tuple[PassagePreview, ...]:
    """How `add_resources` would cut the files into passages. Writes nothing."""
    repo = library.primary
    previews = []
    for file in _files(repo, draft):
        data, _ = external_files.read(file.path)
        if draft.kind is Kind.SCRIPT:
            entry = read_entry(
                layout.resource_path(Kind.SCRIPT, GLOBAL_PROJECT, (), file.path.name), data
            )
        else:
            entry = as_doc(file.path, data)
        previews += [
            PassagePreview(file.name, passage.heading, estimate_tokens(passage.text), passage.text)
            for passage in split(entry, repo.reading_config.chunking)
        ]
    return tuple(previews)


# --- what moved on ---

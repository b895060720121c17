"""Docs and scripts as they come from files and pages, and read again from where they came, in one commit."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Refused, Unreachable, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import frontmatter, layout, markdown
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Entry, Kind, Light
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.markdown import REMOVE
from ai_lessons.knowledge.markup import MARKUPS
from ai_lessons.knowledge.texts import decode
from ai_lessons.library import packages, secret_scan
from ai_lessons.library.gate import checked
from ai_lessons.library.reports import Refreshed
from ai_lessons.repository import outside
from ai_lessons.repository.code_repository import Sources
from ai_lessons.repository.files import READ_LIMIT
from ai_lessons.repository.history import unified
from ai_lessons.repository.outside import Outside, expanded
from ai_lessons.repository.store import Change, blob_id
from ai_lessons.repository.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.library.opened import Library
    from ai_lessons.library.options import Limits, Options
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.web import Web

DOCUMENTS = (".html", ".htm", ".pdf", ".docx")
"""How names end of what only the extra `intake` can read."""

_LARGEST = 64 * 1024 * 1024  # Bytes of such a document; of its text less is taken


@dataclass(frozen=True, slots=True)
class Incoming:
    """One file as it came: its bytes, and what is known of where it came from. `said`: keys of a page of the web."""

    file: Outside
    data: bytes
    executable: bool = False
    source_path: str | None = None
    source_ref: str | None = None
    said: Mapping[str, str] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """What `content_hash` says of a snapshot of these bytes."""
        return f"sha256:{sha256(self.data).hexdigest()}"

    @property
    def source(self) -> str:
        """What names the place it came from."""
        return self.source_path or self.said["source_url"]


def take(file: Outside, sources: Sources, limits: Limits, source_path: str | None = None) -> Incoming:
    """Read a file of the caller's, which its snapshot may name already. Raises as `outside.read`; Refused."""
    limits.refuse_place(file.path)
    most = _LARGEST if file.path.suffix.lower() in DOCUMENTS else READ_LIMIT
    data, executable = outside.read(file.path, most)
    limits.refuse_content(file.path, data)
    path, home = file.path, Path.home()
    portable = f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)
    return Incoming(file, data, executable, source_path or portable, sources.ref(path, data))


def as_doc(path: Path, data: bytes) -> Entry:
    """A source as an entry; frontmatter that cannot be read is text. Raises InvalidEntry, UsageError: it is no text."""
    suffix, name = path.suffix.lower(), path.name
    if suffix in DOCUMENTS:
        unix = _extra("documents").convert(path.name, suffix, data).encode()
    else:
        unix = data.replace(b"\r\n", b"\n")
        if suffix in MARKUPS:
            unix = MARKUPS[suffix](decode(unix, str(path))).encode()
    if suffix in {*DOCUMENTS, *MARKUPS}:
        name += ".md"
    elif not name.lower().endswith(layout.DOC_SUFFIXES):
        name += ".txt"
    try:
        return read_entry(layout.resource_path(Kind.DOC, GLOBAL_PROJECT, (), name), unix)
    except InvalidEntry:
        text = decode(unix, str(path))
        return Entry("", Kind.DOC, path.stem, "", GLOBAL_PROJECT, body=text)


def is_url(source: str) -> bool:
    """Whether a source is a page and no file."""
    return source.startswith(("https://", "http://"))


def web(options: Options, *, allow_private: bool = False) -> Web:
    """What asks for pages. Raises UsageError: the extra that does is not installed. Unreachable: offline."""
    if options.offline:
        raise Unreachable("a page is on the network, and offline was asked for", hint="unset AI_LESSONS_OFFLINE")
    asked: Web = _extra("web").Web(allow_private=allow_private)
    return asked


def take_page(asked: Web, url: str, fields: Mapping[str, Any], now: datetime) -> Incoming | None:
    """A page as Markdown; None where it is as its doc's fields say. Raises as `Web.page`; InvalidEntry: no text."""
    before = fields.get("source_date")
    since = format_datetime(before, usegmt=True) if isinstance(before, datetime) else ""
    page = asked.page(url, etag=str(fields.get("etag") or ""), modified="" if fields.get("etag") else since)
    if page is None:
        return None
    address = urlsplit(url)
    path = Path(unquote(address.path).strip("/") or "index")
    path = path if path.suffix.lower() == page.suffix else path.with_name(path.name + page.suffix)
    text = as_doc(path, page.data)
    try:
        changed = parsedate_to_datetime(page.modified)
    except ValueError:  # none, or not as the standard has it
        changed = now
    fields = {"source_url": url, "source_date": frontmatter.stamp(changed), "etag": page.etag}
    name = f"{address.hostname}/{path.as_posix()}.md"
    return Incoming(Outside(Path(path.name + ".md"), name), frontmatter.body_of(text.body).encode(), said=fields)


def _extra(name: str) -> Any:
    try:
        return import_module(f"ai_lessons.repository.{name}")
    except ImportError as error:
        raise UsageError(
            f"web pages, HTML, PDF and Word documents need {error.name}, which is not installed",
            hint="pip install 'ai-lessons[intake]'",
        ) from error


# --- read again ---

SOURCE = "source"


def refresh(
    library: Library,
    refs: Sequence[str],
    *,
    every: bool = False,
    allow_secrets: Sequence[tuple[str, str]] = (),
    allow_private: bool = False,
) -> tuple[Refreshed, ...]:
    """Read docs again from where they came, in one commit; `every` means all that name a source.

    Docs of a package that is installed in another version come anew beside the old, in a commit of their own.
    Raises UsageError: neither names nor `every`. Unless `every`, where each is a warning: NotFound: no source, or it is
    gone. InvalidEntry: what came is no text of an entry, or holds a secret. Refused: see `allow_source`.
    """
    repo = library.primary
    catalog = repo.current()
    if every == bool(refs):
        raise UsageError("say which docs to refresh", hint="name them, or give --all alone")
    if every:
        lights = catalog.select(Filter(kinds=frozenset({Kind.DOC, Kind.SCRIPT}), status=None))
        lights = [light for light in lights if source_of(repo, light)]
    else:
        lights = list({light.id: light for light in map(repo.resolve, refs)}.values())
    looked: list[tuple[Refreshed, Change | None]] = []
    sources = Sources()
    pages = any(is_url(source_of(repo, light) or "") for light in lights)
    asked = web(repo.options, allow_private=allow_private) if pages else None
    for light in repo.options.each("refreshing", lights):
        try:
            looked.append(_look_at(repo, sources, asked, light, allow_secrets))
        except AiLessonsError as error:
            if not every:
                raise
            looked.append((Refreshed(light.handle, light.title, light.path, warning=error.message), None))
    moved_on = packages.refresh(repo) if every else []
    changes = [change for _, change in looked if change]
    if not changes:
        return (*(answer for answer, _ in looked), *moved_on)
    title = next(answer.title for answer, change in looked if change)
    repo.keep_edits([change.path for change in changes])
    applied = repo.write(f"Refresh {f'doc: {title}' if len(changes) == 1 else f'{len(changes)} docs'}", changes)
    late = [f"waiting: {applied.waiting}"] if applied.waiting else []
    answers = (
        answer._replace(warning="; ".join(filter(None, (answer.warning, *late)))) if answer.changed else answer
        for answer, _ in looked
    )
    return (*answers, *moved_on)


def _look_at(
    repo: RepositorySession, sources: Sources, asked: Web | None, light: Light, allow: Sequence[tuple[str, str]]
) -> tuple[Refreshed, Change | None]:
    entry, old = repo.load(light.id)
    source = source_of(repo, light)
    if not source:
        raise NotFound("source of", light.handle, hint="only docs from a file, and scripts in place, can be refreshed")
    real = allow_source(repo, light, source)
    answer = Refreshed(light.handle, light.title, light.path)
    if asked is not None and is_url(source):
        page = take_page(asked, source, entry.fields, repo.options.now())
        if page is None:
            return answer, None
        incoming, path = page, page.file.path
    else:
        path = expanded(source)
        incoming = take(Outside(real, path.name), sources, repo.options.limits, source)
    old_ref = entry.fields.get("source_ref")
    # uncommitted changes there (`-dirty`) are no move
    heads = [str(ref).partition("-")[0] for ref in (old_ref, incoming.source_ref) if ref]
    warning = "its source's repository has moved on" if len(set(heads)) > 1 else ""
    answer = answer._replace(old_ref=old_ref, new_ref=incoming.source_ref, warning=warning)
    if entry.fields.get("content_hash") == incoming.hash:
        return answer, None
    body = _text_of(entry, path, incoming.data)
    new = refreshed_text(old, entry, incoming, secret_scan.fields(allow, existing=entry.fields, text=body))
    diff = unified(light.path, entry.body.encode(), body.encode())
    added, removed = (sum(line.startswith(sign) for line in diff.split("\n")[2:]) for sign in "+-")
    answer = answer._replace(changed=True, added=added, removed=removed, diff=diff)
    return answer, Change(entry.file, new.encode(), expect=blob_id(old.encode()))


def source_of(repo: RepositorySession, light: Light) -> str | None:
    """The file or page that a doc is a snapshot of, or where a script is kept in place; None for anything else."""
    if light.kind is Kind.DOC:
        source = light.details.get("source_path") or light.details.get("source_url")
    else:
        source = light.details.get("path") if light.kind is Kind.SCRIPT and not repo.store.exists(light.path) else None
    return str(source) if source else None


def _text_of(entry: Entry, path: Path, data: bytes) -> str:
    """What is kept of a source: of a doc its text, of a script what it says of itself."""
    if entry.kind is Kind.SCRIPT:
        return frontmatter.body_of(frontmatter.description(data))
    return as_doc(path, data).body


def allow_source(repo: RepositorySession, light: Light, source: str) -> Path:
    """The file behind the source of an entry, without links, once it may be read here: a pull may bring any path.

    Raises:
        Refused: the entry was not added here from that file, and there is no terminal to ask on, or the answer is no.
    """
    real = _real(source)
    if source_mark(light.id, source) not in known_sources(repo):
        ask = repo.options.ask_source
        if ask is None or not ask(f"{light.handle} {light.title}", source, real):
            raise Refused(
                f"{light.handle} was not added on this machine from {source}, so that file is not read",
                hint=f"look at the path; then, at a terminal: ai-lessons contribute refresh-resource {light.handle}",
            )
        remember_sources(repo, [(light.id, source)])
    return Path(real)


def known_sources(repo: RepositorySession) -> frozenset[str]:
    """What was added, or was let be read again, in this clone, each by its `source_mark`."""
    return Trust(repo.store.state_dir, SOURCE).marks()


def remember_sources(repo: RepositorySession, sources: Sequence[tuple[str, str]]) -> None:
    """Let docs and scripts that were added here be read again from where they came, each as (id, path)."""
    Trust(repo.store.state_dir, SOURCE).add_all((source, source_mark(entry_id, source)) for entry_id, source in sources)


def source_mark(entry_id: str, source: str) -> str:
    """Names an entry with this path and the file behind it."""
    return sha256("\0".join((entry_id, source, _real(source))).encode(errors="replace")).hexdigest()


def _real(source: str) -> str:
    """The file that a path leads to, without links; a page, and a path that no file can have, lead to themselves."""
    return source if "\0" in source or is_url(source) else os.path.realpath(expanded(source))


def refreshed_text(old: str, entry: Entry, incoming: Incoming, extra: Mapping[str, Any]) -> str:
    """The text of a snapshot brought up to date with its source, and with what else it shall say.

    Raises InvalidEntry: what came is no text, or breaks the format.
    """
    new = old
    if entry.fields.get("content_hash") != incoming.hash:
        changed = {**extra, "content_hash": incoming.hash, "source_ref": incoming.source_ref or REMOVE}
        changed |= {key: value or REMOVE for key, value in incoming.said.items()}
        new = markdown.edit(old, changed, _text_of(entry, incoming.file.path, incoming.data))
    elif extra:
        new = markdown.edit(old, dict(extra))
    if new != old:
        checked(entry.file, new.encode(), was=entry)
    return new

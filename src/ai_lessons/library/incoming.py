"""A file or a page on its way in: its bytes, where it came from, and the doc that it is as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ai_lessons.errors import InvalidEntry, Unreachable, UsageError
from ai_lessons.knowledge import frontmatter, layout
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Entry, Kind
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.markup import MARKUPS
from ai_lessons.knowledge.texts import decode
from ai_lessons.repository import outside
from ai_lessons.repository.files import READ_LIMIT
from ai_lessons.repository.outside import Outside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.library.options import Limits, Options
    from ai_lessons.repository.sources import Sources
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


def take_page(asked: Web, url: str, known: Mapping[str, Any], now: datetime) -> Incoming | None:
    """A page as Markdown; None where it is as its doc's fields say. Raises as `Web.page`; InvalidEntry: no text."""
    before = known.get("source_date")
    since = format_datetime(before, usegmt=True) if isinstance(before, datetime) else ""
    page = asked.page(url, etag=str(known.get("etag") or ""), modified="" if known.get("etag") else since)
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
    said = {"source_url": url, "source_date": frontmatter.stamp(changed), "etag": page.etag}
    name = f"{address.hostname}/{path.as_posix()}.md"
    return Incoming(Outside(Path(path.name + ".md"), name), frontmatter.body_of(text.body).encode(), said=said)


def _extra(name: str) -> Any:
    try:
        return import_module(f"ai_lessons.repository.{name}")
    except ImportError as error:
        raise UsageError(
            f"web pages, HTML, PDF and Word documents need {error.name}, which is not installed",
            hint="pip install 'ai-lessons[intake]'",
        ) from error

"""The text of a resource: read from a file, a page or a document of another format."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from ai_lessons.errors import InvalidEntry, Unreachable, UsageError
from ai_lessons.git import external_files
from ai_lessons.git.external_files import Outside
from ai_lessons.git.files import READ_LIMIT
from ai_lessons.model import decision_status, frontmatter, layout, markdown
from ai_lessons.model.entries import GLOBAL_PROJECT, Entry, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.markup import MARKUPS, without_marks
from ai_lessons.model.texts import decode
from ai_lessons.model.yaml_edit import REMOVE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.app.options import Limits, Options
    from ai_lessons.connectors.manifests import Sources
    from ai_lessons.features.intake.web import Web

# How names end of what only the extra `intake` can read.
DOCUMENTS = (".html", ".htm", ".pdf", ".docx")


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
        unix = _extra("documents").convert(path.name, suffix, data).encode()
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
                str(
                    import_module("ai_lessons.features.intake.documents").convert(
                        name, ".rst", data
                    )
                )
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
    asked: Web = _extra("web").Web(allow_private=allow_private)
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


def _extra(module: str) -> Any:
    """A module of ours that needs the extra `intake`. Raises UsageError: that is not installed."""
    try:
        return import_module(f"ai_lessons.features.intake.{module}")
    except ImportError as error:
        raise UsageError(
            f"web pages, HTML, PDF and Word documents need {error.name}, which is not installed",
            hint="in the sources of ai-lessons: pip install '.[intake]'",
        ) from error


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
        if decision_status.TAG in entry.tags:
            # what a record says of itself may be what changed
            changed["status"] = (
                decision_status.status_in(incoming.file.name, incoming.data) or REMOVE
            )
        new = markdown.edit(old, changed, body)
    elif extra:
        new = markdown.edit(old, dict(extra))
    return new

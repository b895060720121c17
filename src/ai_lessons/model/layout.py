"""Paths of entries: path to place, place to path, and names that are safe to write. Pure."""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha1, sha256
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import Refused, UsageError
from ai_lessons.model.entries import GLOBAL_PROJECT, HANDLE_LENGTH, SHARED, UNVERSIONED, Kind, ulid

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx")
DOC_SUFFIXES = (*MARKDOWN_SUFFIXES, ".txt", ".rst", ".adoc")
SIDE_SUFFIX = ".md"
CONFIG_PATH = ".ai-lessons/config.yaml"
SLUG_LENGTH = 50
NAME_BYTES = 255
PATH_BYTES = 1024

# Vowels and accents that are parts of words
_MARK = "[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e\u0eb1-\u0ecd\u1000-\u109f\u1780-\u17d3]"
_KIND_FOLDERS = {kind.folder: kind for kind in Kind}
_NEVER_IN_ROOT = frozenset(
    ("readme", "contributing", "changelog", "license", "security", "agents", "claude", "codeowners")
)
_WINDOWS_CHARACTERS = frozenset('<>:"|?*\\')
_WINDOWS_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?", re.IGNORECASE)
_GIT_SHORT_NAME = re.compile(r"git~[0-9]+", re.IGNORECASE)


class Place(NamedTuple):
    """Project, kind and version folder of a path. `kind` is None if the frontmatter decides."""

    project: str
    kind: Kind | None
    bucket: str | None = None


def place(path: str) -> Place | None:
    """Read a repository-relative path with `/`; None if no file of that name can be an entry.

    Below `scripts/` every file qualifies, side files (`X.md` beside `X`) included: telling those apart needs the
    other names of the folder, which the caller has.
    """
    if path.startswith(".") or "/." in path or "__pycache__/" in path:
        return None
    parts = path.split("/")
    if len(parts) == 1:
        stem, _, suffix = path.lower().rpartition(".")
        entry = "." + suffix in MARKDOWN_SUFFIXES and stem not in _NEVER_IN_ROOT
        return Place(GLOBAL_PROJECT, None) if entry else None
    kind = _KIND_FOLDERS.get(parts[1]) if len(parts) > 2 else None
    if kind is not None:
        suffixes = DOC_SUFFIXES if kind is Kind.DOC else MARKDOWN_SUFFIXES
        entry = kind is Kind.SCRIPT or path.lower().endswith(suffixes)
        return Place(parts[0], kind, parts[2] if kind.is_resource and len(parts) > 3 else None) if entry else None
    if not path.lower().endswith((*MARKDOWN_SUFFIXES, ".rst", ".adoc") if parts[0] == "docs" else MARKDOWN_SUFFIXES):
        return None
    if parts[0] == Kind.RULE.folder:  # fail closed: a `rules` folder without a project holds rules, not docs
        return Place(GLOBAL_PROJECT, Kind.RULE)
    return Place(parts[0], None)


def is_markdown(path: str) -> bool:
    """True where the file may carry frontmatter."""
    return path.lower().endswith(MARKDOWN_SUFFIXES)


def side_of(path: str) -> str:
    """The Markdown file beside a script that holds its frontmatter."""
    return path + SIDE_SUFFIX


def slug(title: str, keep: str = "") -> str:
    """Lower-case words of any script joined by `-`, Latin without accents, cut between words; never empty.

    At most `SLUG_LENGTH` characters. A word may end in the marks of `keep`.
    """
    folded = unicodedata.normalize("NFKD", title.casefold())
    plain = unicodedata.normalize("NFC", re.sub(r"(?<=[a-z])[\u0300-\u036f]+", "", folded))
    words = re.findall(rf"(?:[^\W_]|{_MARK})+[{keep}]*" if keep else rf"(?:[^\W_]|{_MARK})+", plain)
    longer = [prefix for prefix in accumulate(words, lambda kept, word: f"{kept}-{word}") if len(prefix) <= SLUG_LENGTH]
    return longer[-1] if longer else "".join(words)[:SLUG_LENGTH] or "entry"


def new_path(kind: Kind, project: str, title: str, entry_id: str, created: str) -> str:
    """The file of a new entry that is no resource; a lesson lies in the month of `created` (ISO 8601).

    Flat folders make every commit slower.
    """
    folder = f"{kind.folder}/{created[:7]}" if kind is Kind.LESSON else kind.folder
    return f"{project}/{folder}/{slug(title)}-{entry_id[-HANDLE_LENGTH:].lower()}.md"


def resource_path(kind: Kind, project: str, versions: Sequence[str], file_name: str) -> str:
    """A doc's or script's file; `file_name` may hold folders of its own, kept below the version bucket."""
    return f"{project}/{kind.folder}/{bucket(versions)}/{file_name}"


def bucket(versions: Sequence[str]) -> str:
    """The folder that follows from the versions: the only one, `shared` for several, `unversioned` for none.

    A version that cannot be a folder name (`release/1.0`) gets `-` for what does not fit.
    """
    if not versions:
        return UNVERSIONED
    if len(set(versions)) > 1:
        return SHARED
    name = "".join("-" if _is_odd(c) or c == "/" else c for c in versions[0]).strip(" .")
    return name if name and not _WINDOWS_DEVICE.fullmatch(name) else f"v-{name}"


def relocated(path: str, project: str | None, versions: Sequence[str] | None) -> str:
    """Where the entry at `path` belongs if its project or versions become these (None: stay as they are).

    Files outside the layout of kind folders stay where they are, but for a change of project.
    """
    parts = path.split("/")
    where = place(path)
    if len(parts) > 1 and project is not None:
        parts[0] = project
    if versions is not None and where and where.kind is not None and where.kind.is_resource:
        parts[2 : 3 if where.bucket else 2] = [bucket(versions)]
    return "/".join(parts)


def derived_id(path: str) -> str:
    """The id of a file that states none: a ULID of time zero whose random part is 10 bytes of the path's SHA-256.

    Stable as long as the file stays where it is; a move makes another id, which is why `adopt` writes one down.
    """
    return ulid(0, sha256(path.encode("utf-8", "surrogateescape")).digest()[:10])


def blob_id(data: bytes) -> str:
    """Git's name for a content: SHA-1 of `blob`, its length and the bytes."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def check_path(path: str, *, hidden: bool = False) -> None:
    """Refuse a path that is not safe to write. Does not look at links.

    `hidden` allows names with a leading dot (our own `.ai-lessons/`), but never git's own folder. Raises Refused: the
    path is absolute, has `..` or an empty part, a hidden, control, bidirectional, Windows or git-lookalike name, or is
    too long.
    """
    reason = _path_fault(path) or next(filter(None, (_name_fault(n, hidden=hidden) for n in path.split("/"))), "")
    if reason:
        raise Refused(f"{path!r} cannot be a path in a knowledge repository: {reason}")


def project_name(name: str) -> str:
    """The name itself, if a project can have it: one plain folder name. Raises UsageError."""
    return plain_name(name, "a project", "a project is the name of one folder, such as jira-api")


def plain_name(name: str, what: str, hint: str) -> str:
    """The name itself, if a file or folder can have it. Raises UsageError: it cannot be `what`."""
    fault = "it has a slash" if "/" in name else ""
    try:
        check_path(name)
    except Refused as error:
        fault = error.message.partition(": ")[2]
    if fault:
        raise UsageError(f"{name!r} cannot be {what}: {fault}", hint=hint)
    return name


def _path_fault(path: str) -> str:
    if not path:
        return "it is empty"
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        return "it is absolute"
    if len(path.encode("utf-8", "surrogateescape")) > PATH_BYTES:
        return f"it is longer than {PATH_BYTES} bytes"
    return ""


def _name_fault(name: str, *, hidden: bool) -> str:
    if name in {"", ".", ".."}:
        return f"{name or 'an empty name'!r} is not a name"
    if any(map(_is_odd, name)):
        return "it holds a character that is invisible, turns text around or is forbidden on Windows"
    folded = unicodedata.normalize("NFKC", name).casefold().rstrip(" .")
    if folded == ".git" or _GIT_SHORT_NAME.fullmatch(folded):
        return f"{name!r} is git's own folder to some file systems"
    if name.startswith(".") and not hidden:
        return f"{name!r} is hidden"
    if name[-1] in " ." or _WINDOWS_DEVICE.fullmatch(name):
        return f"{name!r} cannot be a file on Windows"
    if len(name.encode("utf-8", "surrogateescape")) > NAME_BYTES:
        return f"a name is longer than {NAME_BYTES} bytes"
    return ""


def _is_odd(character: str) -> bool:
    return character in _WINDOWS_CHARACTERS or unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}

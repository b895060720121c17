"""Paths: of an entry to its place and back, names that are safe to write, and globs in linear time. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from hashlib import sha1, sha256
from itertools import accumulate, islice
from typing import NamedTuple

from ai_lessons.errors import Refused, UsageError
from ai_lessons.model import expression
from ai_lessons.model.entries import GLOBAL_PROJECT, HANDLE_LENGTH, SHARED, UNVERSIONED, Kind, ulid

MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx")
DOC_SUFFIXES = (*MARKDOWN_SUFFIXES, ".txt", ".rst", ".adoc")
SIDE_SUFFIX = ".md"
CONFIG_PATH = ".ai-lessons/config.yaml"


class PathLimits(NamedTuple):
    """Sizes of names and globs, in characters unless stated."""

    # Characters: a list of files stays readable
    slug_length: int = 50
    # NAME_MAX of all common file systems
    name_bytes: int = 255
    # Characters of a pattern; a longer one names nothing
    longest_glob: int = 500
    # What the braces of one pattern may come to; with more it names nothing
    most_alternatives: int = 64


PATH_LIMITS = PathLimits()


# Vowels and accents that are parts of words
_MARK = "[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e\u0eb1-\u0ecd\u1000-\u109f\u1780-\u17d3]"
_KIND_FOLDERS = {kind.folder: kind for kind in Kind}
_NEVER_IN_ROOT = frozenset(
    ("readme", "contributing", "changelog", "license", "security", "agents", "claude", "codeowners")
)
_WINDOWS_CHARACTERS = frozenset('<>:"|?*\\')
_WINDOWS_DEVICE = expression(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?", re.IGNORECASE
)
_GIT_SHORT_NAME = expression(r"git~[0-9]+", re.IGNORECASE)


class Place(NamedTuple):
    """Project, kind and version folder of a path. `kind` is None if the frontmatter decides."""

    project: str
    kind: Kind | None
    bucket: str | None = None


def place(path: str) -> Place | None:
    """Read a repository-relative path with `/`; None if no file of that name can be an entry.

    Below `scripts/` every file qualifies, side files (`X.md` beside `X`) included: telling those
    apart needs the other names of the folder, which the caller has.
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
        return (
            Place(parts[0], kind, parts[2] if kind.is_resource and len(parts) > 3 else None)
            if entry
            else None
        )
    if not path.lower().endswith(
        (*MARKDOWN_SUFFIXES, ".rst", ".adoc") if parts[0] == "docs" else MARKDOWN_SUFFIXES
    ):
        return None
    if parts[0] == Kind.RULE.folder:
        # fail closed: a `rules` folder without a project holds rules, not docs
        return Place(GLOBAL_PROJECT, Kind.RULE)
    return Place(parts[0], None)


def is_markdown(path: str) -> bool:
    """True where the file may carry frontmatter."""
    return path.lower().endswith(MARKDOWN_SUFFIXES)


def side_of(path: str) -> str:
    """The Markdown file beside a script that holds its frontmatter."""
    return path + SIDE_SUFFIX


def slug(title: str, keep: str = "") -> str:
    """Lower-case words of any script joined by `-`, Latin without accents, cut between words.

    Never empty.

    At most `PATH_LIMITS.slug_length` characters. A word may end in the marks of `keep`.
    """
    folded = unicodedata.normalize("NFKD", title.casefold())
    plain = unicodedata.normalize("NFC", re.sub(r"(?<=[a-z])[\u0300-\u036f]+", "", folded))
    words = re.findall(rf"(?:[^\W_]|{_MARK})+[{keep}]*" if keep else rf"(?:[^\W_]|{_MARK})+", plain)
    longer = [
        prefix
        for prefix in accumulate(words, lambda kept, word: f"{kept}-{word}")
        if len(prefix) <= PATH_LIMITS.slug_length
    ]
    if longer:
        return longer[-1]
    return "".join(words)[: PATH_LIMITS.slug_length] or "entry"


def new_path(kind: Kind, project: str, title: str, entry_id: str, created: str) -> str:
    """The file of a new entry that is no resource.

    A lesson lies in the month of `created` (ISO 8601).
    """
    # git writes the tree of a folder anew for every commit, so thousands of files in one folder
    # make each slower
    if kind is Kind.LESSON:
        folder = f"{kind.folder}/{created[:7]}"
    else:
        folder = kind.folder
    return f"{project}/{folder}/{slug(title)}-{entry_id[-HANDLE_LENGTH:].lower()}.md"


def resource_path(kind: Kind, project: str, versions: Sequence[str], file_name: str) -> str:
    """A doc's or script's file.

    `file_name` may hold folders of its own, kept below the version bucket.
    """
    return f"{project}/{kind.folder}/{bucket(versions)}/{file_name}"


def bucket(versions: Sequence[str]) -> str:
    """The folder that follows from the versions.

    The only one, `shared` for several, `unversioned` for none.

    A version that cannot be a folder name (`release/1.0`) gets `-` for what does not fit.
    """
    if not versions:
        return UNVERSIONED
    if len(set(versions)) > 1:
        return SHARED
    name = "".join("-" if _is_odd(c) or c == "/" else c for c in versions[0]).strip(" .")
    if name and not _WINDOWS_DEVICE.fullmatch(name):
        return name
    return f"v-{name}"


def relocated(path: str, project: str | None, versions: Sequence[str] | None) -> str:
    """Where the entry at `path` belongs if its project or versions become these.

    None of either: it stays as it is. Files outside the layout of kind folders stay where they are,
    but for a change of project.
    """
    parts = path.split("/")
    where = place(path)
    if len(parts) > 1 and project is not None:
        parts[0] = project
    if versions is not None and where and where.kind is not None and where.kind.is_resource:
        parts[2 : 3 if where.bucket else 2] = [bucket(versions)]
    return "/".join(parts)


def derived_id(path: str) -> str:
    """The id of a file that states none.

    A ULID of time zero whose random part is 10 bytes of the path's SHA-256.

    Stable as long as the file stays where it is; a move makes another id, which is why `adopt`
    writes one down.
    """
    return ulid(0, sha256(path.encode("utf-8", "surrogateescape")).digest()[:10])


def blob_id(data: bytes) -> str:
    """Git's name for a content: SHA-1 of `blob`, its length and the bytes."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def check_path(path: str, *, hidden: bool = False) -> None:
    """Refuse a path that is not safe to write. Does not look at links.

    `hidden` allows names with a leading dot (our own `.ai-lessons/`), but never git's own folder.
    Raises Refused: the path is absolute, has `..` or an empty part, a hidden, control,
    bidirectional, Windows or git-lookalike name, or is too long.
    """
    reason = _path_fault(path) or next(
        filter(None, (_name_fault(n, hidden=hidden) for n in path.split("/"))), ""
    )
    if reason:
        raise Refused(f"{path!r} cannot be a path in a knowledge repository: {reason}")


def project_name(name: str) -> str:
    """The name itself, if a project can have it: one plain folder name. Raises UsageError."""
    return plain_name(name, "a project", "a project is the name of one folder, such as jira-api")


def plain_name(name: str, what: str, hint: str) -> str:
    """The name itself, if a file or folder can have it. Raises UsageError: it cannot be `what`."""
    if "/" in name:
        fault = "it has a slash"
    else:
        fault = ""
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
    if len(path.encode("utf-8", "surrogateescape")) > 1024:
        # PATH_MAX of macOS, the smallest
        return "it is longer than 1024 bytes"
    return ""


def _name_fault(name: str, *, hidden: bool) -> str:
    if name in {"", ".", ".."}:
        return f"{name or 'an empty name'!r} is not a name"
    if any(map(_is_odd, name)):
        return (
            "it holds a character that is invisible, turns text around or is forbidden on Windows"
        )
    folded = unicodedata.normalize("NFKC", name).casefold().rstrip(" .")
    if folded == ".git" or _GIT_SHORT_NAME.fullmatch(folded):
        return f"{name!r} is git's own folder to some file systems"
    if name.startswith(".") and not hidden:
        return f"{name!r} is hidden"
    if name[-1] in " ." or _WINDOWS_DEVICE.fullmatch(name):
        return f"{name!r} cannot be a file on Windows"
    if len(name.encode("utf-8", "surrogateescape")) > PATH_LIMITS.name_bytes:
        return f"a name is longer than {PATH_LIMITS.name_bytes} bytes"
    return ""


def _is_odd(character: str) -> bool:
    return character in _WINDOWS_CHARACTERS or unicodedata.category(character) in {
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Zl",
        "Zp",
    }


# --- globs of `applies_to` and of checks ---

_DEEP = "**"
# The innermost that let choose: braces without a comma are letters.
_BRACES = expression(r"(?<!\\)\{((?:[^{},\\]|\\.)*,(?:[^{}\\]|\\.)*)\}", re.DOTALL)

_COMMA = expression(r"(?<!\\),")
_SIGN = expression(r"\\(.)|\[\^", re.DOTALL)


def matches(pattern: str, path: str) -> bool:
    """Whether the pattern names the file.

    `path` is relative to the root of the project, with `/`.
    """
    parts = []
    for part in path.split("/"):
        if part not in {"", "."}:
            parts.append(part)
    if ".." in parts:
        # whose place is not known
        return False
    return bool(parts) and any(_in_order(rows, parts) for rows in _compiled(pattern.strip()))


def any_match(patterns: Iterable[str], paths: Iterable[str]) -> bool:
    """Whether one of the patterns names one of the files."""
    globs = list(patterns)
    return any(matches(pattern, path) for path in paths for pattern in globs)


EXACT, BELOW, BY_NAME, BY_KIND, ANYTHING = 4, 3, 2, 1, 0


def specificity(patterns: Iterable[str], paths: Iterable[str]) -> int:
    """How closely the patterns that match name one of the files.

    `EXACT`: its path, `BELOW`: a folder of it, `BY_NAME`: a part of its name, `BY_KIND`: its
    extension, or `ANYTHING`.
    """
    files = list(paths)
    matching = (pattern for pattern in patterns if any(matches(pattern, path) for path in files))
    return max(map(_specific, matching), default=ANYTHING)


def _specific(pattern: str) -> int:
    *folders, name = pattern.strip().strip("/").split("/")
    plain = []
    for part in (*folders, name):
        plain.append(not _MAGIC.intersection(part))
    if all(plain) and not pattern.endswith("/"):
        if folders or pattern.startswith("/"):
            return EXACT
        return BY_NAME
    if any(plain[: len(folders)]) or (plain[-1] and pattern.endswith("/")):
        return BELOW
    stem = name.rpartition(".")[0] or name
    if re.search(r"\w", re.sub(r"\[[^]]{0,255}\]", "", stem)):
        return BY_NAME
    if "." in name:
        return BY_KIND
    return ANYTHING


_MAGIC = frozenset("*?[{\\")


def stated(value: object) -> list[str]:
    """The patterns that an entry states, as a list whatever it wrote."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [pattern for pattern in value if isinstance(pattern, str)]
    return []


def globs(value: object) -> list[str]:
    """The globs that an entry states.

    Those of a list with commas, which other tools write, each by itself.
    """
    globs: list[str] = []
    for pattern in stated(value):
        for glob in divided(pattern):
            globs.append(glob)
    return globs


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> tuple[tuple[str, ...], ...]:
    """The pattern's alternatives, each what the folders and the name must be."""
    if not pattern or len(pattern) > PATH_LIMITS.longest_glob:
        return ()
    several = list(islice(_alternatives(pattern), PATH_LIMITS.most_alternatives + 1))
    if len(several) <= PATH_LIMITS.most_alternatives:
        return tuple(tuple(_rows(alternative)) for alternative in several)
    return ()


def divided(pattern: str) -> list[str]:
    """The globs of a list with commas, as Copilot and Cursor write it.

    Commas within braces or brackets divide none.
    """
    parts, deep = [""], 0
    for sign in re.findall(r"\\.|\[!?\]?[^\]]{0,255}\]|.", pattern, re.DOTALL):
        deep = max(0, deep + (sign == "{") - (sign == "}"))
        if sign == "," and not deep:
            parts.append("")
        else:
            parts[-1] += sign
    globs: list[str] = []
    for part in parts:
        if part.strip():
            globs.append(part.strip())
    return globs


def _alternatives(pattern: str) -> Iterator[str]:
    """The pattern with its braces resolved each way."""
    braces = _BRACES.search(pattern)
    if braces is None:
        yield pattern
        return
    for choice in _COMMA.split(braces[1]):
        yield from _alternatives(pattern[: braces.start()] + choice + pattern[braces.end() :])


def _rows(pattern: str) -> list[str]:
    parts = []
    for part in pattern.split("/"):
        if part not in {"", "."}:
            parts.append(part)
    if len(parts) == 1 and "/" not in pattern:
        parts.insert(0, _DEEP)
    if pattern.endswith("/") and parts and parts[-1] != _DEEP:
        parts.append(_DEEP)
    if parts[-1:] == [_DEEP]:
        # `docs/**` names what is below, not the folder itself
        parts.append("*")
    return parts


@lru_cache(maxsize=1024)
def _segment(part: str) -> re.Pattern[str]:
    """As `fnmatch` has it, whose patterns never go back behind a star.

    It knows no backslash and no `[^a]`.
    """

    def plain(match: re.Match[str]) -> str:
        character = match[1] or "[!"
        if character in "*?[":
            return f"[{character}]"
        return character

    return re.compile(translate(_SIGN.sub(plain, part)))


def _in_order(segments: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the folders and the name are the wanted ones in order.

    The usual walk: after a mismatch the last `**` takes one more. An earlier one never needs to.
    """
    want = have = 0
    last, taken = -1, 0

    def fits(segment: str, name: str) -> bool:
        if _MAGIC.isdisjoint(segment):
            return segment == name
        return _segment(segment).match(name) is not None

    while have < len(names):
        if want < len(segments) and segments[want] == _DEEP:
            last, taken = want, have
            want += 1
        elif want < len(segments) and fits(segments[want], names[have]):
            want, have = want + 1, have + 1
        elif last >= 0:
            taken += 1
            want, have = last + 1, taken
        else:
            return False
    return all(segment == _DEEP for segment in segments[want:])


def beside(path: str, entry_id: str) -> str:
    """Another path for an entry whose own is taken."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.partition(".")
    return f"{folder}{slash}{stem}-{entry_id[-HANDLE_LENGTH:].lower()}{dot}{suffix}"

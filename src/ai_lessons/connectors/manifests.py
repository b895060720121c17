"""The lock files and manifests of the code that one works in.

Which versions of which packages it uses.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from ai_lessons.errors import AiLessonsError, Refused
from ai_lessons.git import external_files, plumbing
from ai_lessons.git.files import read_file
from ai_lessons.git.worktree import locate, read_head
from ai_lessons.model import expression
from ai_lessons.model.layout import blob_id, slug
from ai_lessons.model.texts import toml
from ai_lessons.model.versions import IN_USE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


# A package by its own name, and its version as `versions.score` takes it.
# `@2.32.3` in use, or a range.
Found = tuple[str, str]


# Bytes of a file that is read. Lock files of big projects have five million
LARGEST = 8 << 20


class ManifestLimits(NamedTuple):
    """Sizes of what is read of a project's manifests."""

    # Characters of a package's name or version; what is longer is left out
    longest_name: int = 200
    # Lock and manifest files of a code repository: a monorepo has hundreds, and each is parsed
    most_files: int = 50


MANIFESTS = ManifestLimits()

PYTHON = "python"


class Manifest(NamedTuple):
    """A lock or manifest file: path for people, text, and how near it is.

    0: in the caller's own folder.
    """

    path: str
    text: str
    distance: int = 0


class Use(NamedTuple):
    """What a project uses, and the file that says so. `version` is as `versions.score` takes it."""

    package: str
    version: str
    path: str


def in_use(
    manifests: Iterable[Manifest], projects: Iterable[str], aliases: Mapping[str, str] | None = None
) -> dict[str, tuple[Use, ...]]:
    """The versions in use of every project that is a package here, as the nearest files say, a lock file first.

    Packages of one name in several languages count all. `aliases` are other names of packages and projects.
    """
    by_name: dict[str, list[str]] = {}
    for project in projects:
        for name in names_of_project(project, aliases or {}):
            by_name.setdefault(name, []).append(project)
    uses_of: dict[str, set[Use]] = {}
    for uses in pins(manifests).values():
        for project in {
            match for name in names_of_package(uses[0].package) for match in by_name.get(name, ())
        }:
            uses_of.setdefault(project, set()).update(uses)
    return {
        project: tuple(sorted(uses, key=lambda use: (use.path, use.version)))
        for project, uses in sorted(uses_of.items())
    }


def packages(path: str, text: str) -> list[Found]:
    """What a file says, each once, in its order; nothing for a file that we cannot read."""
    reader = _reader(path.rpartition("/")[2])
    if reader is None:
        return []
    try:
        every = list(reader(text))
    except (ValueError, RecursionError):
        return []
    return list(
        dict.fromkeys(
            package
            for package in every
            if all(0 < len(part) <= MANIFESTS.longest_name for part in package)
        )
    )


def direct(path: str, text: str) -> list[str]:
    """The packages that a project asks for by name, as its `pyproject.toml` or `package.json` says, each once.

    Raises ValueError: the file cannot be read.
    """
    if path.endswith(".json"):
        whole = json.loads(text)
        return list(
            dict.fromkeys(
                name for key in ("dependencies", "devDependencies") for name in _at(whole, key)
            )
        )
    whole = toml(text)
    rows, poetry = _asked_of(whole), _at(whole, "tool", "poetry")
    tables = [_at(poetry, "dependencies")]
    tables += [_at(group, "dependencies") for group in _at(poetry, "group").values()]
    named = []
    for row in rows.splitlines():
        named.append(re.split(r"[\s\[<>=!~;@(]", row.strip(), maxsplit=1)[0])
    named += [name for table in tables for name in table if name != PYTHON]
    return list(dict.fromkeys(filter(None, map(normal, named))))


def _asked_of(whole: object) -> str:
    """The requirements of a `pyproject.toml`, one a line."""
    project = _at(whole, "project")
    lists = [project.get("dependencies"), *_at(project, "optional-dependencies").values()]
    lists += _at(whole, "dependency-groups").values()
    results = []
    for names in lists:
        if isinstance(names, list):
            for row in names:
                if isinstance(row, str):
                    results.append(row)
    return "\n".join(results)


def _at(table: object, *keys: str) -> Mapping[str, Any]:
    """A table inside of tables; an empty one where there is none."""
    for key in keys:
        if isinstance(table, dict):
            table = table.get(key)
        else:
            table = None
    if isinstance(table, dict):
        return table
    return {}


def normal(name: str) -> str:
    """A name as packages compare: case, and which mark stands between words, do not count."""
    return re.sub(r"[-_.\s]+", "-", name.casefold()).strip("-")


def pinned(name: str, version: str) -> str:
    """`NAME==VERSION` of a package of Python, which pip can take for no option, path or address.

    Raises Refused.
    """
    try:
        return f"{canonicalize_name(name, validate=True)}=={Version(version)}"
    except (InvalidName, InvalidVersion) as error:
        raise Refused(
            f"{name!r} {version!r} is no package of Python with a version: {error}"
        ) from error


def names_of_package(package: str) -> set[str]:
    """What a project about this package may be called.

    Also without scope, group, host or major version.
    """
    parts = []
    for part in re.split(r"[/:]", package):
        if part:
            parts.append(part)
    if len(parts) > 1 and re.fullmatch(r"v[0-9]+", parts[-1]):
        # a Go module ends in its major version, as in github.com/go-chi/chi/v5
        parts.pop()
    # Go: gopkg.in/yaml.v3
    if parts:
        last = re.sub(r"\.v[0-9]+$", "", parts[-1])
    else:
        last = ""
    pair = "-".join([*parts[-2:-1], last]).lstrip("@")
    # npm: there are many packages called @…/core
    if package.startswith("@"):
        alone = ""
    else:
        alone = last
    return {normal(package), normal(alone), normal(pair)} - {""}


def names_of_project(project: str, aliases: Mapping[str, str]) -> set[str]:
    """What the package that a project is about may be called.

    Also under an alias, and without a language's mark.
    """
    name = normal(project)
    other = set()
    for a, b in aliases.items():
        if normal(a) == name:
            other.add(normal(b))
    other |= {normal(a) for a, b in aliases.items() if normal(b) == name}
    bare = re.sub(r"^python-|-(?:python|py|js|rs|go)$", "", name)
    return {name, bare, *other} - {""}


def _requirements(text: str) -> Iterator[Found]:
    # each line costs up to a tenth of a millisecond
    for row in re.sub(r"\\\r?\n", " ", text).splitlines()[:5000]:
        plain = re.sub(r"(?:^|\s)#.*$|\s--?[a-z].*$", "", row[: 4 * MANIFESTS.longest_name]).strip()
        if not plain or plain.startswith("-"):
            continue
        try:
            requirement = Requirement(plain)
        except (InvalidRequirement, RecursionError):
            continue
        terms = sorted(requirement.specifier, key=str)
        pinned = []
        for term in terms:
            if term.operator in {"==", "==="} and not term.version.endswith("*"):
                pinned.append(term)
        if pinned:
            yield requirement.name, IN_USE + pinned[0].version
        elif terms:
            yield requirement.name, " ".join(map(str, terms))


_PAIR = expression(
    r"""(?m)^(name|version|requires-python|python-versions)\s*=\s*["']([^"']*)["']"""
)


def _locked_packages(text: str) -> Iterator[Found]:
    """`[[package]]` tables of uv, Poetry and Cargo, each with a name and a version."""
    for table in f"\n{text}".replace("\r\n", "\n").split("\n["):
        # what is looked for comes first, and lock files are long
        begin = table[: 4 * MANIFESTS.longest_name]
        stated = dict(reversed(_PAIR.findall(begin)))
        python = stated.get("requires-python") or stated.get("python-versions")
        if begin.startswith("[package]]") and "name" in stated and "version" in stated:
            yield stated["name"], IN_USE + stated["version"]
        elif python and begin.startswith(("metadata]", "\n")):
            yield PYTHON, python.replace(",", " ")


def _npm_lock(text: str) -> Iterator[Found]:
    """What lies directly in `node_modules` is what the project's own code sees.

    Deeper copies are others' business.
    """
    whole = json.loads(text)
    direct = _at(whole, "dependencies")
    if listed := _at(whole, "packages"):
        cut = {place.rpartition("node_modules/"): package for place, package in listed.items()}
        direct = {
            name: package for (head, inside, name), package in cut.items() if inside and not head
        }
    for name, package in direct.items():
        version = None
        if isinstance(package, dict):
            version = package.get("version")
        if isinstance(version, str) and version[:1].isdigit():
            # else a file or an address
            yield name, IN_USE + version


_ASKED_FOR = ("dependencies", "devDependencies")
_YAML_KEY = expression(r"( *)'?([^\s':]+)'?:(?: +'?([^\s'(_]+).*)?")


def _pnpm_lock(text: str) -> Iterator[Found]:
    """What the project itself asks for, by the indentation of its lines.

    Older files name no `importers`.
    """
    open_keys: list[tuple[int, str]] = []
    for match in map(_YAML_KEY.match, text.splitlines()):
        if match is None:
            continue
        indent = len(match[1])
        open_keys = [*((at, key) for at, key in open_keys if at < indent), (indent, match[2])]
        path = [key for _, key in open_keys]
        if path[:2] == ["importers", "."]:
            path = path[2:]
        here = (
            path[:1]
            and path[0] in _ASKED_FOR
            and (len(path) == 2 or (len(path) == 3 and path[2] == "version"))
        )
        if here and match[3] and match[3][0].isdigit():
            yield path[1], IN_USE + match[3]


_GO_UNTAGGED = expression(r"^v0\.0\.0-(?:0\.)?[0-9]{14}-")


def _go_mod(text: str) -> Iterator[Found]:
    block = ""
    for row in text.splitlines():
        words = row[: 4 * MANIFESTS.longest_name].partition("//")[0].split()
        if words[1:] == ["("]:
            block = words[0]
        elif words == [")"]:
            block = ""
        elif words[:1] == ["go"] and len(words) == 2 and words[1][:1].isdigit():
            yield "go", IN_USE + words[1]
        else:
            if block:
                named = words
            else:
                named = words[1:]
            if (
                (block or "".join(words[:1])) == "require"
                and len(named) == 2
                and not _GO_UNTAGGED.match(named[1])
            ):
                yield named[0], IN_USE + named[1].removesuffix("+incompatible")


_READERS: Sequence[tuple[str, str, Callable[[str], Iterable[Found]]]] = (
    ("uv.lock", PYTHON, _locked_packages),
    ("poetry.lock", PYTHON, _locked_packages),
    ("requirements*.txt", PYTHON, _requirements),
    ("package-lock.json", "javascript", _npm_lock),
    ("pnpm-lock.yaml", "javascript", _pnpm_lock),
    ("go.mod", "go", _go_mod),
    ("Cargo.lock", "rust", _locked_packages),
)


_LANGUAGES = {pattern: (language, order) for order, (pattern, language, _) in enumerate(_READERS)}


def _language(path: str) -> tuple[str, int]:
    """What the packages of a file are written in, and its place among the files that may say the same."""
    return _LANGUAGES.get(path.rpartition("/")[2], (PYTHON, len(_READERS)))


def _reader(name: str) -> Callable[[str], Iterable[Found]] | None:
    return next((reader for pattern, _, reader in _READERS if fnmatchcase(name, pattern)), None)


_REGISTRIES = {PYTHON: "pypi", "javascript": "npm", "go": "go", "rust": "cargo"}
# What states versions where no lock file does
_STATING = ("pyproject.toml", "package.json")


def stating(cwd: Path) -> list[Manifest]:
    """The lock and manifest files of the code around a folder, and what states versions without locks."""
    texts, folders = manifests(cwd)[0], folders_around(cwd)
    top = folders[-1]
    for distance, folder in enumerate(folders):
        for name in _STATING:
            if text := external_files.beginning(folder / name, top):
                texts.append(Manifest((folder / name).relative_to(top).as_posix(), text, distance))
    return texts


def folders_around(cwd: Path) -> list[Path]:
    """The folder and those above it, up to the top of git; outside of git it alone."""
    top = external_files.top_of(cwd)
    if top:
        return [folder for folder in (cwd, *cwd.parents) if folder.is_relative_to(top)]
    return [cwd]


def pins(files: Iterable[Manifest]) -> dict[str, list[Use]]:
    """What the nearest file pins, a lock file before others, by registry and name: `pypi/click`.

    None is empty.
    """
    uses: dict[str, list[Use]] = {}
    for manifest in sorted(
        files,
        key=lambda file: (file.distance, file.path.endswith(_STATING), _language(file.path)[1]),
    ):
        stated, language = packages(manifest.path, manifest.text), _language(manifest.path)[0]
        with suppress(ValueError, RecursionError):
            if manifest.path.endswith("package.json"):
                whole, language = json.loads(manifest.text), "javascript"
                asked = {**_at(whole, "devDependencies"), **_at(whole, "dependencies")}
                stated = []
                for x, y in asked.items():
                    if isinstance(y, str):
                        stated.append((x, IN_USE + y if y[:1].isdigit() else y))
            elif manifest.path.endswith("pyproject.toml"):
                stated = [*_requirements(_asked_of(toml(manifest.text)))]
        for package, version in stated:
            if len(package) <= MANIFESTS.longest_name >= len(version):
                named = uses.setdefault(f"{_REGISTRIES[language]}/{normal(package)}", [])
                if not named or named[0].path == manifest.path:
                    named.append(Use(package, version, manifest.path))
    return uses


def manifests(cwd: Path) -> tuple[list[Manifest], list[str]]:
    """The files, nearest first, from `cwd` up to the top of git; and why others are left out."""
    folders = folders_around(cwd)
    top = folders[-1]
    texts: list[Manifest] = []
    left_out: list[str] = []
    for distance, folder in enumerate(folders):
        for file in sorted(path for path in folder.glob("*") if _reader(path.name)):
            path = file.relative_to(top).as_posix()
            if file.is_symlink() or not file.is_file():
                continue
            if len(texts) == MANIFESTS.most_files:
                return texts, [
                    *left_out,
                    f"{path} and others: {MANIFESTS.most_files} files were read",
                ]
            try:
                text = read_file(top, path, LARGEST)[0].decode("utf-8", "replace")
            except AiLessonsError as error:
                left_out.append(error.message)
            else:
                texts.append(Manifest(path, text, distance))
    return texts, left_out


class Sources:
    """Where the files of an import come from; each repository is read once, at one HEAD.

    For one thread.
    """

    def __init__(self) -> None:
        self._tops: dict[Path, tuple[Path, Path | None]] = {}
        self._heads: dict[Path, tuple[str, Mapping[str, str]] | None] = {}

    def ref(self, path: Path, data: bytes) -> str | None:
        """HEAD of the file's repository, `-dirty` behind it unless it holds `data` there.

        None without one.
        """
        real, top = self._place(path)
        if top is None:
            return None
        if top not in self._heads:
            self._heads[top] = _head(top)
        head = self._heads[top]
        if head is None:
            return None
        commit, blobs = head
        blob = blobs.get(str(real.relative_to(top)))
        # a checkout with CRLF is as committed, too
        same = blob in {blob_id(data), blob_id(data.replace(b"\r\n", b"\n"))}
        if same:
            return commit
        return f"{commit}-dirty"

    def project(self, path: Path) -> str | None:
        """The name of the top folder of the file's repository, fit to be a project.

        None outside of any.
        """
        _, top = self._place(path)
        if top is not None:
            return slug(top.name, keep="+#")
        return None

    def _place(self, path: Path) -> tuple[Path, Path | None]:
        """The file without links, and the top folder of its worktree.

        Each folder is looked up once.
        """
        if path.is_symlink() or path.name in {"", ".."}:
            path = path.resolve()
        if path.parent not in self._tops:
            folder = path.parent.resolve()
            self._tops[path.parent] = (folder, external_files.top_of(folder))
        folder, top = self._tops[path.parent]
        return folder / path.name, top


def _head(top: Path) -> tuple[str, Mapping[str, str]] | None:
    """The commit that is checked out, and its blobs by path.

    None before the first, or if it is not accepted.
    """
    try:
        place = locate(top)
        commit = read_head(place).commit
    except AiLessonsError:
        return None
    if commit:
        return (commit, plumbing.files_of(place, commit))
    return None

"""How well an entry's versions fit the requested ones, and which versions lock and manifest files pin."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from ai_lessons.errors import Refused
from ai_lessons.model.entries import UNVERSIONED
from ai_lessons.model.markdown import toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from packaging.ranges import VersionRange

EXACT = 1.00
MORE = 0.95
FEWER = 0.85
OVERLAP = 0.75
NONE_STATED = 0.70

AUTO = "auto"  # Asks for the versions in use by the caller's own project

_COMMA = re.compile(r"\s*,\s*")
_BOUND = re.compile(r"[<>]|[!~]=")


def score(asked: Iterable[str], have: Iterable[str]) -> float | None:
    """The factor of design 7: 1.00 for the same versions, less the further apart, None where none is in common.

    A version is a release (`v3.5`, which is `3.5` and `3.5.0`), a series (`3.x`), a range (`>=1.4 <2`, `^1.2`), what is
    in use (`@3.5.1`, which `3.5` and `3` fit as well), or a name (`lts`, in any case). `1.10` is not near `1.9`, and
    `3` is not `3.5`. Nothing asked fits everything. An entry without versions fits everything a little; only such
    entries fit `unversioned`.
    """
    wanted_names, stated = _names(asked), _names(have) - {UNVERSIONED}
    if wanted_names == {UNVERSIONED}:
        return None if stated else EXACT
    wanted_names -= {UNVERSIONED}
    if not wanted_names or wanted_names == stated:
        return EXACT
    return _fit(wanted_names, stated) if stated else NONE_STATED


@lru_cache(maxsize=4096)
def _fit(asked: frozenset[str], stated: frozenset[str]) -> float | None:
    marked = (text.strip().partition(IN_USE) for text in asked)
    releases_in_use = [
        version for before, _, text in marked if text and not before and (version := _plain(text.strip())) is not None
    ]
    asked_set = _union(map(_parsed, asked))
    # what names the series of a release in use counts as that release
    stated_set = _union(
        _parsed("||".join(str(used) for used in releases_in_use if _names_series(text, used)) or text)
        for text in stated
    )
    if asked_set.names.isdisjoint(stated_set.names) and asked_set.releases.is_disjoint(stated_set.releases):
        return None
    return {(True, True): EXACT, (True, False): MORE, (False, True): FEWER}.get(
        (asked_set.within(stated_set), stated_set.within(asked_set)), OVERLAP
    )


def newest_first(versions: Iterable[str]) -> tuple[str, ...]:
    """Versions as people sort them: releases from the newest down, then names."""
    every = sorted(set(versions))
    if len(every) < 2:  # and nothing is loaded that compares
        return tuple(every)
    releases = {name: parsed for name in every if (parsed := release(name)) is not None}
    return (
        *sorted(releases, key=releases.__getitem__, reverse=True),
        *(name for name in every if name not in releases),
    )


def listed(text: str) -> tuple[str, ...]:
    """The versions of a list with commas, each once. Commas inside a range, as in `>=1.4,<2`, part nothing."""
    parts: list[str] = []
    for part in _COMMA.split(text.strip()):
        if parts and _BOUND.match(part) and _BOUND.match(parts[-1]):
            parts[-1] += f" {part}"
        elif part:
            parts.append(part)
    return tuple(dict.fromkeys(parts))


def _names(versions: Iterable[str]) -> frozenset[str]:
    """As they are compared: `V3` is `3`."""
    return frozenset(re.sub(r"^v(?=\d)", "", name.strip().casefold()) for name in versions if name.strip())


# --- versions as sets ---

IN_USE = "@"  # Before a release: it is in use. A version that names its series, `2.32` for 2.32.3, fits it, too
LONGEST = 100  # Characters; a longer one is a name, because long numbers are slow

_ALL = "*"
_RELEASE = r"v?[0-9][0-9a-z.+!_-]*"
_WILDCARD = re.compile(r"v?([0-9]+(?:\.[0-9]+)*)(?:\.[x*])+$")
_COMPARED = re.compile(rf"(>=|<=|={{1,3}}|!=|~=|>|<|\^|~)\s*({_RELEASE}|v?[0-9][0-9.]*\.[x*])")
_RELEASE_IN = re.compile(r"(?<![0-9.])v?([0-9]+(?:\.[0-9]+)*)")
_MOVING = frozenset({"latest", "newest", "current", "stable", "edge", "main", "master", "head", "next"})
_BETWEEN = re.compile(rf"({_RELEASE})\s+-\s+({_RELEASE})")


class VersionSet(NamedTuple):
    """Names, and all releases that are in some ranges."""

    names: frozenset[str]
    releases: VersionRange

    def within(self, other: VersionSet) -> bool:
        """Whether all of this is in the other."""
        return self.names <= other.names and self.releases.is_subset(other.releases)


def _union(sets: Iterable[VersionSet]) -> VersionSet:
    """What is in any of them, which are not none."""
    names, releases = zip(*sets, strict=True)
    return VersionSet(frozenset().union(*names), reduce(or_, releases))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> VersionSet:
    """One version as written; what is no release or range is a name."""
    from packaging.ranges import VersionRange  # noqa: PLC0415  # these take 15 ms to load
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415

    plain = text.strip().casefold().removeprefix(IN_USE).strip()
    releases = VersionRange.empty()
    if len(plain) <= LONGEST:
        with suppress(ValueError):
            parts = (_specifiers(part.strip()) for part in plain.split("||"))
            releases = reduce(or_, (SpecifierSet(part).to_range() for part in parts))
    return VersionSet(frozenset({plain} if releases.is_empty else ()), releases)


def release(text: str) -> Version | None:
    """The release that a version as people write it names: of `stable-2.16.1`, `^2.16` and `2.x` 2.16.1, 2.16 and 2."""
    plain = text.strip()[:LONGEST]
    match = _RELEASE_IN.search(plain)
    return _plain(plain) or (_version(match[1]) if match else None)


def nearest(asked: str, stored: Iterable[str]) -> str | None:
    """The stored version that comes nearest to one that is not stored; None: none of the same major version.

    Of the same minor version if there is one; the newest that is not above, else the next above. Where less is named
    (`2`, `2.16`), the newest of that series; of a name like `latest` the newest of all.
    """
    releases = {name: parsed for name in stored if (parsed := release(name)) is not None}
    target = release(asked)
    if target is None:
        return max(releases, key=releases.__getitem__, default=None) if asked.strip().casefold() in _MOVING else None
    same = {name: version for name, version in releases.items() if version.major == target.major}
    count = len(target.release)
    minor = {name: version for name, version in same.items() if count > 1 and version.release[:2] == target.release[:2]}
    pool = minor or same
    below = {
        name: version for name, version in pool.items() if version <= target or count == 1 or (count == 2 and minor)
    }
    if below:
        return max(below, key=below.__getitem__)
    return min(pool, key=pool.__getitem__, default=None)


def _names_series(text: str, used: Version) -> bool:
    """Whether the text is a plain release whose numbers are the first ones of what is used: 2 and 2.32 of 2.32.3."""
    named = _plain(text)
    count = len(named.release) if named else 0
    return named is not None and not named.is_prerelease and (used.release + (0,) * count)[:count] == named.release


def _plain(text: str) -> Version | None:
    """The release that this is; None for anything else, and for what is too long."""
    try:
        return _version(text) if len(text) <= LONGEST else None
    except ValueError:
        return None


def _version(text: str) -> Version:
    """Without its local part: `1.4+cu118` is a build of 1.4. Raises ValueError: none, or one of endless numbers."""
    from packaging.version import Version  # noqa: PLC0415  # it takes 8 ms to load

    return Version(Version(text).public)


def _specifiers(text: str) -> str:
    """A release, series or range as PEP 440 writes it. Raises ValueError: it is none."""
    if text == _ALL:
        return ">=0.dev0"
    if between := _BETWEEN.fullmatch(text):
        return f"{_specifier('>=', between[1])},{_specifier('<=', between[2])}"
    compared = _COMPARED.findall(text)
    if compared and not _COMPARED.sub("", text).strip(", "):
        return ",".join(_specifier(*comparison) for comparison in compared)
    return _specifier("==", text)


def _specifier(operator: str, text: str) -> str:
    series = _WILDCARD.match(text)
    version = _version(series[1] if series else text)
    first = f"{version}.dev0" if series else str(version)
    numbers = version.release
    kept = {
        "~=": max(len(numbers) - 1, 1),  # `~=1.4.2` is 1.4.2 and later of 1.4 (PEP 440)
        "~": 2,  # `~1.4.2` and `~1.4` are of 1.4, `~1` is of 1 (npm, Cargo)
        # `^1.4.2` is 1.4.2 and later of 1, `^0.4.2` of 0.4: the first number that is not 0 stays (npm, Cargo)
        "^": next((n for n, number in enumerate(numbers, 1) if number), len(numbers)),
    }
    if operator in kept:
        return f">={first},<{_next(numbers[: kept[operator]])}"
    if series and operator in {"<=", ">"}:
        return f"<{_next(numbers)}" if operator == "<=" else f">={_next(numbers)}.dev0"
    if operator in {"=", "==", "===", "!="}:
        return f"{'!=' if operator == '!=' else '=='}{version}{'.*' if series else ''}"
    return f"{operator}{first if operator == '>=' else version}"


def _next(numbers: Sequence[int]) -> str:
    return ".".join(map(str, (*numbers[:-1], numbers[-1] + 1)))


Found = tuple[str, str]
"""A package by its own name, and its version as `versions.score` takes it: `@2.32.3` in use, or a range."""

LARGEST = 8 << 20  # Bytes of a file that is read. Lock files of big projects have five million
LONGEST_NAME = 200  # Characters of a package's name or version; what is longer is left out
MOST_REQUIREMENTS = 5000  # Lines of a requirements file that are read; each costs up to a tenth of a millisecond
PYTHON = "python"


class Manifest(NamedTuple):
    """A lock or manifest file: path for people, text, and how near it is (0: the caller's own folder)."""

    path: str
    text: str
    distance: int = 0


class Use(NamedTuple):
    """What a project uses, and the file that says so. `version` is as `versions.score` takes it."""

    package: str
    version: str
    path: str


def is_manifest(name: str) -> bool:
    """Whether a file of this name is one that we can read."""
    return _reader(name) is not None


def in_use(
    manifests: Iterable[Manifest], projects: Iterable[str], aliases: Mapping[str, str] | None = None
) -> dict[str, tuple[Use, ...]]:
    """The versions in use of every project that is a package here, as the nearest files say, a lock file first.

    Packages of one name in several languages or folders count all. `aliases` are other names of packages and projects.
    """
    by_name: dict[str, list[str]] = {}
    for project in projects:
        for name in names_of_project(project, aliases or {}):
            by_name.setdefault(name, []).append(project)
    least: dict[tuple[str, ...], int] = {}
    uses_of: dict[str, set[Use]] = {}
    for manifest in sorted(manifests, key=lambda candidate: (candidate.distance, _language(candidate.path)[1])):
        (language, order), folder = _language(manifest.path), manifest.path.rpartition("/")[0]
        for package, version in packages(manifest.path, manifest.text):
            for project in {match for name in names_of_package(package) for match in by_name.get(name, ())}:
                nearest = least.setdefault((project,), manifest.distance)
                first = least.setdefault((project, language, folder), order)
                if (nearest, first) == (manifest.distance, order):
                    uses_of.setdefault(project, set()).add(Use(package, version, manifest.path))
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
    return list(dict.fromkeys(package for package in every if all(0 < len(part) <= LONGEST_NAME for part in package)))


def direct(path: str, text: str) -> list[str]:
    """The packages that a project asks for by name, as its `pyproject.toml` or `package.json` says, each once.

    Raises ValueError: the file cannot be read.
    """
    whole = json.loads(text) if path.endswith(".json") else toml(text)
    if path.endswith(".json"):
        return list(dict.fromkeys(name for key in ("dependencies", "devDependencies") for name in _at(whole, key)))
    project, poetry = _at(whole, "project"), _at(whole, "tool", "poetry")
    lists = [project.get("dependencies"), *_at(project, "optional-dependencies").values()]
    lists += _at(whole, "dependency-groups").values()
    rows = "\n".join(row for names in lists if isinstance(names, list) for row in names if isinstance(row, str))
    tables = [_at(poetry, "dependencies")]
    tables += [_at(group, "dependencies") for group in _at(poetry, "group").values()]
    named = [re.split(r"[\s\[<>=!~;@(]", row.strip(), maxsplit=1)[0] for row in rows.splitlines()]
    named += [name for table in tables for name in table if name != PYTHON]
    return list(dict.fromkeys(filter(None, map(normal, named))))


def _at(table: object, *keys: str) -> Mapping[str, Any]:
    """A table inside of tables; an empty one where there is none."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def normal(name: str) -> str:
    """A name as packages compare: case, and which mark stands between words, do not count."""
    return re.sub(r"[-_.\s]+", "-", name.casefold()).strip("-")


def pinned(name: str, version: str) -> str:
    """`NAME==VERSION` of a package of Python, which pip can take for no option, path or address. Raises Refused."""
    try:
        return f"{canonicalize_name(name, validate=True)}=={Version(version)}"
    except (InvalidName, InvalidVersion) as error:
        raise Refused(f"{name!r} {version!r} is no package of Python with a version: {error}") from error


def names_of_package(package: str) -> set[str]:
    """What a project about this package may be called: also without scope, group, host or major version."""
    parts = [part for part in re.split(r"[/:]", package) if part]
    if len(parts) > 1 and re.fullmatch(r"v[0-9]+", parts[-1]):
        parts.pop()  # Go: github.com/go-chi/chi/v5
    last = re.sub(r"\.v[0-9]+$", "", parts[-1]) if parts else ""  # Go: gopkg.in/yaml.v3
    pair = "-".join([*parts[-2:-1], last]).lstrip("@")
    alone = "" if package.startswith("@") else last  # npm: there are many packages called @…/core
    return {normal(package), normal(alone), normal(pair)} - {""}


def names_of_project(project: str, aliases: Mapping[str, str]) -> set[str]:
    """What the package that a project is about may be called: also under an alias, and without a language's mark."""
    name = normal(project)
    other = {normal(b) for a, b in aliases.items() if normal(a) == name}
    other |= {normal(a) for a, b in aliases.items() if normal(b) == name}
    bare = re.sub(r"^python-|-(?:python|py|js|rs|go)$", "", name)
    return {name, bare, *other} - {""}


def _requirements(text: str) -> Iterator[Found]:
    for row in re.sub(r"\\\r?\n", " ", text).splitlines()[:MOST_REQUIREMENTS]:
        plain = re.sub(r"(?:^|\s)#.*$|\s--?[a-z].*$", "", row[: 4 * LONGEST_NAME]).strip()
        if not plain or plain.startswith("-"):
            continue
        try:
            requirement = Requirement(plain)
        except (InvalidRequirement, RecursionError):
            continue
        terms = sorted(requirement.specifier, key=str)
        pinned = [term for term in terms if term.operator in {"==", "==="} and not term.version.endswith("*")]
        if pinned:
            yield requirement.name, IN_USE + pinned[0].version
        elif terms:
            yield requirement.name, " ".join(map(str, terms))


_PAIR = re.compile(r"""(?m)^(name|version|requires-python|python-versions)\s*=\s*["']([^"']*)["']""")


def _locked_packages(text: str) -> Iterator[Found]:
    """`[[package]]` tables of uv, Poetry and Cargo, each with a name and a version."""
    for table in f"\n{text}".replace("\r\n", "\n").split("\n["):
        begin = table[: 4 * LONGEST_NAME]  # what is looked for comes first, and lock files are long
        stated = dict(reversed(_PAIR.findall(begin)))
        python = stated.get("requires-python") or stated.get("python-versions")
        if begin.startswith("[package]]") and "name" in stated and "version" in stated:
            yield stated["name"], IN_USE + stated["version"]
        elif python and begin.startswith(("metadata]", "\n")):
            yield PYTHON, python.replace(",", " ")


def _npm_lock(text: str) -> Iterator[Found]:
    """What lies directly in `node_modules` is what the project's own code sees; deeper copies are others' business."""
    whole = json.loads(text)
    direct = _at(whole, "dependencies")
    if listed := _at(whole, "packages"):
        cut = {place.rpartition("node_modules/"): package for place, package in listed.items()}
        direct = {name: package for (head, inside, name), package in cut.items() if inside and not head}
    for name, package in direct.items():
        version = package.get("version") if isinstance(package, dict) else None
        if isinstance(version, str) and version[:1].isdigit():  # else a file or an address
            yield name, IN_USE + version


_ASKED_FOR = ("dependencies", "devDependencies")
_YAML_KEY = re.compile(r"( *)'?([^\s':]+)'?:(?: +'?([^\s'(_]+).*)?")


def _pnpm_lock(text: str) -> Iterator[Found]:
    """What the project itself asks for, by the indentation of its lines; older files name no `importers`."""
    open_keys: list[tuple[int, str]] = []
    for match in map(_YAML_KEY.match, text.splitlines()):
        if match is None:
            continue
        indent = len(match[1])
        open_keys = [*((at, key) for at, key in open_keys if at < indent), (indent, match[2])]
        path = [key for _, key in open_keys]
        path = path[2:] if path[:2] == ["importers", "."] else path
        here = path[:1] and path[0] in _ASKED_FOR and (len(path) == 2 or (len(path) == 3 and path[2] == "version"))
        if here and match[3] and match[3][0].isdigit():
            yield path[1], IN_USE + match[3]


_GO_UNTAGGED = re.compile(r"^v0\.0\.0-(?:0\.)?[0-9]{14}-")


def _go_mod(text: str) -> Iterator[Found]:
    block = ""
    for row in text.splitlines():
        words = row[: 4 * LONGEST_NAME].partition("//")[0].split()
        if words[1:] == ["("]:
            block = words[0]
        elif words == [")"]:
            block = ""
        elif words[:1] == ["go"] and len(words) == 2 and words[1][:1].isdigit():
            yield "go", IN_USE + words[1]
        else:
            named = words if block else words[1:]
            if (block or "".join(words[:1])) == "require" and len(named) == 2 and not _GO_UNTAGGED.match(named[1]):
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

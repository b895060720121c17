"""Packages where they are installed: of Python in `site-packages`, of npm in `node_modules`; and a wheel unpacked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import NotFound, Refused, StorageFailed, Unreachable
from ai_lessons.knowledge.manifests import pinned
from ai_lessons.repository import outside, programs
from ai_lessons.repository.files import READ_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PYPI, NPM = "pypi", "npm"
LARGEST_PAGE = 200_000  # Characters; a page that is longer is cut
LARGEST_WHEEL = 200 << 20  # Bytes, unpacked
PATIENCE = 120.0  # Seconds for the download of a wheel
_NAME = re.compile(r"(?:@[\w.-]+/)?\w[\w.-]*", re.ASCII)
_DOCS = re.compile(r"(?:^|/)docs?/.*\.(?:md|rst|txt)$", re.IGNORECASE)
_READMES = ("README.md", "readme.md", "Readme.md", "README.markdown", "README")


class Page(NamedTuple):
    """One page of documentation: its path below the folder of the version, its title and Markdown."""

    path: str
    title: str
    text: str


class Package(NamedTuple):
    """One package at one version, in the folder `place`. `ref` is its package URL (purl), as `source_ref` has it."""

    language: str
    name: str
    version: str
    place: Path
    licence: str = ""
    origin: str = ""
    distribution: Distribution | None = None

    @property
    def ref(self) -> str:
        """`pkg:pypi/click@8.1.7`."""
        return f"pkg:{self.language}/{self.name}@{self.version}"

    def pages(self) -> Iterator[Page]:
        """Its long description, the documentation among its files and its public API, in this order; none is empty."""
        for page in _of_python(self, self.distribution) if self.distribution else _of_npm(self):
            cut = page.text[:LARGEST_PAGE].replace("\0", "").strip()
            if cut:
                yield page._replace(text=cut + ("\n\n(cut here)\n" if len(page.text) > LARGEST_PAGE else "\n"))


def places(cwd: Path, active: Path | None, *, beside: bool = True) -> tuple[Path, ...]:
    """Where packages of the code at `cwd` are installed: in it, in the `active` environment, `beside` this program.

    Not `beside`: that place counts only if this program has no environment of its own.
    """
    top = outside.top_of(cwd)
    folders = [folder for folder in (cwd, *cwd.parents) if folder.is_relative_to(top)] if top else [cwd]
    roots = [folder / name for folder in folders for name in (".venv", "venv")] + ([active] if active else [])
    sites = [site for root in roots for site in sorted(root.glob("lib/python3*/site-packages"))]
    sites += [folder / "node_modules" for folder in folders]
    if beside or sys.prefix == sys.base_prefix:
        sites.append(Path(sysconfig.get_path("purelib")))
    return tuple(site for site in dict.fromkeys(sites) if site.is_dir())


def find(name: str, among: Iterable[Path], language: str = "") -> Package:
    """The package of this name in the first place that has it. Raises NotFound."""
    for place in among if _NAME.fullmatch(name) else ():
        package = _npm(place, name) if place.name == "node_modules" else _python(place, name)
        if package and language in {"", package.language}:
            return package
    hint = "install it, or name the version: contribute add-package NAME==VERSION"
    raise NotFound("installed package", name, hint=hint)


def fetch(name: str, version: str, commands: Iterable[list[str]], folder: Path) -> Package:
    """The package from the package index, unpacked below `folder`; nothing of it is installed or run.

    Raises NotFound: no such wheel. Refused: no name or no version. Unreachable: there is no pip. StorageFailed: it is
    damaged or too large.
    """
    requirement, reason = pinned(name, version), "there is no pip on this machine"
    for command in commands:
        options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--only-binary", ":all:"]
        argv = [*command, *options, "--dest", str(folder), "--", requirement]
        try:
            done = programs.run(argv, cwd=folder, env=dict(os.environ), timeout=PATIENCE)
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = str(error)
            continue
        wheel = next(iter(folder.glob("*.whl")), None)
        if wheel is None:
            reason = (done.stderr.decode(errors="replace").strip().splitlines() or [reason])[-1]
            continue
        try:
            with zipfile.ZipFile(wheel) as archive:
                if sum(member.file_size for member in archive.infolist()) > LARGEST_WHEEL:
                    raise StorageFailed(f"{wheel.name} is larger than {LARGEST_WHEEL >> 20} MB")
                archive.extractall(folder)
        except zipfile.BadZipFile as error:
            raise StorageFailed(f"{wheel.name} is damaged") from error
        return find(name, [folder], PYPI)
    raise Unreachable(f"{name} {version} is not installed, and not to be had: {reason[:200]}")


class _Bounded(PathDistribution):
    """A distribution whose METADATA, RECORD and the like are read as all files outside: plain ones, up to a size."""

    def read_text(self, filename: str | os.PathLike[str]) -> str:
        folder = Path(str(self._path))
        return outside.beginning(folder / filename, folder.parent, READ_LIMIT)


def _python(site: Path, name: str) -> Package | None:
    installed = next(iter(Distribution.discover(name=name, path=[str(site)])), None)
    if installed is None:
        return None
    if isinstance(installed, PathDistribution):
        installed = _Bounded(installed._path)  # noqa: SLF001 - it has no other name
    fields = installed.metadata.json
    project, version = str(fields.get("name", "")), str(fields.get("version", ""))
    try:
        pinned(project, version)
    except Refused:  # no name or version that can be read, or none that pip would take
        return None
    classes = (row.rpartition("::")[2].strip() for row in fields.get("classifier", ()) if row.startswith("License ::"))
    licence = fields.get("license_expression") or next(classes, "") or fields.get("license") or ""
    urls = [row.partition(",")[2].strip() for row in fields.get("project_url", ())] + [
        str(fields.get("home_page") or "")
    ]
    return Package(PYPI, project, version, site, _line(licence), next(filter(None, urls), ""), installed)


def _of_python(package: Package, distribution: Distribution) -> Iterator[Page]:
    from ai_lessons.repository.python_api import pages

    name = f"{package.name} {package.version}"
    yield Page("README.md", name, str(distribution.metadata.json.get("description") or ""))
    files = [Path(path) for path in distribution.files or () if ".." not in path.parts]
    files = [path for path in files if outside.leads_into(package.place / path, package.place)]
    for file in files:
        if _DOCS.search(file.as_posix()):
            yield Page(_markdown(file.as_posix()), f"{file.stem} ({name})", _read(package.place / file, package.place))
    code = [file for file in files if file.suffix == ".py"]
    plain = {top for top in {file.parts[0] for file in code} if _is_plain(package.place / top)}
    for module, text in pages(package.place, [file for file in code if file.parts[0] in plain]):
        yield Page(f"api/{module}.md", f"{module} ({name})", text)


def _npm(modules: Path, name: str) -> Package | None:
    if not outside.leads_into(modules / name, outside.top_of(modules) or modules.parent):
        return None
    manifest = _manifest(modules / name)
    if not isinstance(version := manifest.get("version"), str):
        return None
    repository = manifest.get("repository")
    origin = manifest.get("homepage") or (repository.get("url") if isinstance(repository, dict) else repository)
    return Package(NPM, name, version, modules / name, _line(manifest.get("license")), _line(origin))


def _of_npm(package: Package) -> Iterator[Page]:
    name, top = f"{package.name} {package.version}", package.place
    readme = next((top / file for file in _READMES if (top / file).is_file()), None)
    if readme:
        yield Page("README.md", name, _read(readme, top))
    for file in sorted(set(outside.matches(top, ("doc*", "**", "*")))):
        inner = file.relative_to(top).as_posix()
        if _DOCS.search(inner) and file.is_file() and "node_modules" not in inner:
            yield Page(_markdown(inner), f"{file.stem} ({name})", _read(file, top))
    manifest = _manifest(top)
    types = _read(top / str(manifest.get("types") or manifest.get("typings") or "index.d.ts"), top)
    if types:
        yield Page("types.md", f"types of {name}", f"# Types of {package.name}\n\n```typescript\n{types}\n```\n")


def _manifest(folder: Path) -> Mapping[str, object]:
    try:
        manifest = json.loads(_read(folder / "package.json", folder) or "{}")
    except (ValueError, RecursionError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _is_plain(top: Path) -> bool:
    """Whether a package holds nothing that its reader, which follows links, should not open."""
    below = (Path(place, name) for place, folders, names in os.walk(top) for name in (*folders, *names))
    return not any(
        path.is_symlink()
        or not (path.is_file() or path.is_dir())
        or (path.suffix in {".py", ".pyi"} and path.stat().st_size > READ_LIMIT)
        for path in (top, *below)
    )


def _read(file: Path, folder: Path) -> str:
    """A text of a package in this folder; empty where there is none, or none to be read."""
    return outside.beginning(file, folder, READ_LIMIT).replace("\r\n", "\n")


def _markdown(path: str) -> str:
    return path if path.lower().endswith(".md") else f"{path}.md"


def _line(value: object) -> str:
    return " ".join(str(value or "").split())[:100]

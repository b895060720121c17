"""Packages where they are installed, and what of them is documentation.

README, docs, public API.
"""

from __future__ import annotations

import ast
import logging
import os
import re
import sys
import sysconfig
import zipfile
import zlib
from contextlib import suppress
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from griffe import (
    AliasResolutionError,
    Class,
    CyclicAliasError,
    Function,
    GriffeLoader,
    LoadingError,
    Module,
    Object,
)

from ai_lessons.connectors.archives import Limits, files_within
from ai_lessons.connectors.manifests import folders_around, pinned
from ai_lessons.errors import NotFound, Refused, StorageFailed, Unreachable
from ai_lessons.git import external_files
from ai_lessons.git.files import READ_LIMIT
from ai_lessons.model import expression
from ai_lessons.model.texts import json_object

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping


# what it cannot read is left out of the page
logging.getLogger("griffe").setLevel(logging.CRITICAL)
_LEFT_OUT = expression(r"(?:^|\.)(?:_[^.]*|tests?|conftest)(?=\.|$)")
# Bytes of one file
_LARGEST = 4 << 20
# A minute: griffe walks over a block once for each statement in it
_STEPS = 100_000_000
# Raised for what Python cannot parse
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def pages(site: Path, files: Collection[Path]) -> Iterator[tuple[str, str]]:
    """(module, Markdown) of every public module among `files` below `site`.

    No private ones, no tests.

    Packages with a file that Python cannot parse, or that would take minutes, are left out.
    """
    loader = GriffeLoader(search_paths=[site], allow_inspection=False)
    paths = {site / file for file in files}
    for top in sorted({file.parts[0].removesuffix(".py") for file in files}):
        if _LEFT_OUT.search(top) or not top.isidentifier():
            continue
        try:
            if _steps(site, top) > _STEPS:
                continue
            loaded: Any = loader.load(top, try_relative_path=False)
            result = [
                (module.path, text)
                for module in _modules(loaded)
                if not isinstance(module.filepath, list)
                and module.filepath in paths
                and (text := _page(module))
            ]
        except (LoadingError, ImportError, *_UNREADABLE):
            # a script beside the package, or of another Python
            continue
        yield from result


def _steps(site: Path, top: str) -> int:
    """The most steps that griffe takes for the files of a package. Raises as Python's parser."""
    steps = 0
    for file in (*site.glob(f"{top}.py*"), *(site / top).rglob("*.py*")):
        if file.suffix in {".py", ".pyi"} and file.is_file():
            if file.stat().st_size > _LARGEST:
                return _STEPS + 1
            source = file.read_bytes()
            # parsing costs time, too: a short file cannot hold enough statements to matter
            if source.count(b"\n") + source.count(b";") > 1000:
                with suppress(SyntaxError, ValueError):
                    # griffe leaves such a file out
                    bodies = (getattr(node, "body", ()) for node in ast.walk(ast.parse(source)))
                    steps += sum(len(body) ** 2 for body in bodies if isinstance(body, list))
    return steps


def _modules(module: Module) -> Iterator[Module]:
    if not _LEFT_OUT.search(module.path):
        yield module
        for submodule in module.modules.values():
            if not submodule.is_alias:
                yield from _modules(submodule)


def _page(module: Module) -> str:
    """The module as Markdown; empty if nothing in it is documented."""
    rows = (row for member in _members(module) for row in _entry(member, member.name, "##"))
    blocks = []
    for block in (_docstring(module), *rows):
        if block:
            blocks.append(block)
    if blocks:
        return "\n\n".join([f"# {module.path}", *blocks]) + "\n"
    return ""


def _members(owner: Object) -> Iterator[Object]:
    """Public members that are defined here or in a private module without a page, in the order of the file."""
    for name, item in owner.members.items():
        member: Any = item
        if name.startswith("_"):
            continue
        if member.is_alias:
            try:
                member = member.final_target
            except (AliasResolutionError, CyclicAliasError):
                continue
            inside = member.path.split(".")[0] == owner.path.split(".")[0]
            hidden = _LEFT_OUT.search(member.module.path) and (
                owner.exports is None or name in owner.exports
            )
            if not (inside and hidden):
                continue
        yield member


def _entry(member: Object, name: str, level: str) -> Iterator[str]:
    """Heading, signature, docstring and members of a class, a function, or a documented attribute."""
    if isinstance(member, Class | Function):
        if isinstance(member, Class):
            keyword = "class"
        elif "async" in member.labels:
            keyword = "async def"
        else:
            keyword = "def"
        yield f"{level} {name}"
        yield f"```python\n{keyword} {member.signature()}\n```"
        yield _docstring(member)
        if isinstance(member, Class):
            for inner in _members(member):
                yield from _entry(inner, f"{name}.{inner.name}", f"{level}#")
    elif member.is_attribute and _docstring(member):
        yield f"{level} {name}"
        yield _docstring(member)


def _docstring(member: Object) -> str:
    if member.docstring:
        return member.docstring.value.strip()
    return ""


PYPI, NPM = "pypi", "npm"
# Characters; a page that is longer is cut
LARGEST_PAGE = 200_000
# What may come out of one
WHEEL = Limits(200 << 20, 64 << 20, 50_000)
_NAME = expression(r"(?:@[\w.-]+/)?\w[\w.-]*", re.ASCII)
_DOCS = expression(r"\A(?=.*\.(?:md|rst|txt)$)(?:.*?/)?docs?/", re.IGNORECASE)
_READMES = ("README.md", "readme.md", "Readme.md", "README.markdown", "README")


class Page(NamedTuple):
    """One page of documentation.

    Its path below the folder of the version, its title and Markdown.
    """

    path: str
    title: str
    text: str


class Package(NamedTuple):
    """One package at one version, in the folder `place`.

    `ref` is its package URL (purl), as `source_ref` has it.
    """

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
                yield page._replace(
                    text=cut + ("\n\n(cut here)\n" if len(page.text) > LARGEST_PAGE else "\n")
                )


def places(cwd: Path, active: Path | None, *, beside: bool = True) -> tuple[Path, ...]:
    """Where packages of the code at `cwd` are installed.

    In it, in the `active` environment, `beside` this program.

    Not `beside`: that place counts only if this program has no environment of its own.
    """
    folders = folders_around(cwd)
    roots = [folder / name for folder in folders for name in (".venv", "venv")] + (
        [active] if active else []
    )
    sites = []
    for root in roots:
        for site in sorted(root.glob("lib/python3*/site-packages")):
            sites.append(site)
    sites += [folder / "node_modules" for folder in folders]
    if beside or sys.prefix == sys.base_prefix:
        sites.append(Path(sysconfig.get_path("purelib")))
    return tuple(site for site in dict.fromkeys(sites) if site.is_dir())


def find(name: str, among: Iterable[Path], language: str = "") -> Package:
    """The package of this name in the first place that has it. Raises NotFound."""
    for place in among if _NAME.fullmatch(name) else ():
        if place.name == "node_modules":
            package = _npm(place, name)
        else:
            package = _python(place, name)
        if package and language in {"", package.language}:
            return package
    hint = "install it, or name the version: contribute add-package NAME==VERSION"
    raise NotFound("installed package", name, hint=hint)


def fetch(name: str, version: str, download: Callable[[str, str], str], folder: Path) -> Package:
    """The package from the package index, unpacked below `folder`.

    Nothing of it is installed or run.

    `download` brings the wheel of `NAME==VERSION` into a folder, and says where it lies. Raises
    Refused: no name or no version. Unreachable: no such wheel. StorageFailed: it is damaged or too
    large.
    """
    requirement = pinned(name, version)
    try:
        wheel = download(requirement, str(folder))
    except Unreachable as error:
        reason = error.message[:200]
        raise Unreachable(
            f"{name} {version} is not installed, and not to be had: {reason}"
        ) from error
    try:
        if Path(wheel).stat().st_size > WHEEL.whole:
            # its list of files is read as a whole
            raise StorageFailed(f"the wheel of {requirement} has more than {WHEEL.whole >> 20} MB")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, files_within(archive, WHEEL))
    except ValueError as error:
        raise StorageFailed(f"the wheel of {requirement} is not unpacked: {error}") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise StorageFailed(f"the wheel of {requirement} is damaged") from error
    return find(name, [folder], PYPI)


class _Bounded(PathDistribution):
    """A distribution whose METADATA, RECORD and the like are read as all files outside.

    Plain ones, up to a size.
    """

    def read_text(self, filename: str | os.PathLike[str]) -> str:
        folder = Path(str(self._path))
        return external_files.beginning(folder / filename, folder.parent, READ_LIMIT)


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
    except Refused:
        # no name or version that can be read, or none that pip would take
        return None
    classes = (
        row.rpartition("::")[2].strip()
        for row in fields.get("classifier", ())
        if row.startswith("License ::")
    )
    licence = fields.get("license_expression") or next(classes, "") or fields.get("license") or ""
    urls = [row.partition(",")[2].strip() for row in fields.get("project_url", ())] + [
        str(fields.get("home_page") or "")
    ]
    return Package(
        PYPI, project, version, site, _line(licence), next(filter(None, urls), ""), installed
    )


def _of_python(package: Package, distribution: Distribution) -> Iterator[Page]:

    name = f"{package.name} {package.version}"
    yield Page("README.md", name, str(distribution.metadata.json.get("description") or ""))
    files = []
    for path in distribution.files or ():
        if ".." not in path.parts:
            files.append(Path(path))
    files = [
        path for path in files if external_files.leads_into(package.place / path, package.place)
    ]
    for file in files:
        if _DOCS.search(file.as_posix()):
            yield Page(
                _markdown(file.as_posix()),
                f"{file.stem} ({name})",
                _read(package.place / file, package.place),
            )
    code = [file for file in files if file.suffix == ".py"]
    plain = set()
    for top in {file.parts[0] for file in code}:
        if _is_plain(package.place / top):
            plain.add(top)
    for module, text in pages(package.place, [file for file in code if file.parts[0] in plain]):
        yield Page(f"api/{module}.md", f"{module} ({name})", text)


def _npm(modules: Path, name: str) -> Package | None:
    if not external_files.leads_into(
        modules / name, external_files.top_of(modules) or modules.parent
    ):
        return None
    manifest = _manifest(modules / name)
    if not isinstance(version := manifest.get("version"), str):
        return None
    repository = manifest.get("repository")
    origin = manifest.get("homepage") or (
        repository.get("url") if isinstance(repository, dict) else repository
    )
    return Package(
        NPM, name, version, modules / name, _line(manifest.get("license")), _line(origin)
    )


def _of_npm(package: Package) -> Iterator[Page]:
    name, top = f"{package.name} {package.version}", package.place
    readme = next((top / file for file in _READMES if (top / file).is_file()), None)
    if readme:
        yield Page("README.md", name, _read(readme, top))
    for file in sorted(set(external_files.matches(top, ("doc*", "**", "*")))):
        inner = file.relative_to(top).as_posix()
        if _DOCS.search(inner) and file.is_file() and "node_modules" not in inner:
            yield Page(_markdown(inner), f"{file.stem} ({name})", _read(file, top))
    manifest = _manifest(top)
    types = _read(top / str(manifest.get("types") or manifest.get("typings") or "index.d.ts"), top)
    if types:
        yield Page(
            "types.md",
            f"types of {name}",
            f"# Types of {package.name}\n\n```typescript\n{types}\n```\n",
        )


def _manifest(folder: Path) -> Mapping[str, object]:
    return json_object(_read(folder / "package.json", folder))


def _is_plain(top: Path) -> bool:
    """Whether a package holds nothing that its reader, which follows links, should not open."""
    below = (
        Path(place, name) for place, folders, names in os.walk(top) for name in (*folders, *names)
    )
    return not any(
        path.is_symlink()
        or not (path.is_file() or path.is_dir())
        or (path.suffix in {".py", ".pyi"} and path.stat().st_size > READ_LIMIT)
        for path in (top, *below)
    )


def _read(file: Path, folder: Path) -> str:
    """A text of a package in this folder; empty where there is none, or none to be read."""
    return external_files.beginning(file, folder, READ_LIMIT).replace("\r\n", "\n")


def _markdown(path: str) -> str:
    if path.lower().endswith(".md"):
        return path
    return f"{path}.md"


def _line(value: object) -> str:
    return " ".join(str(value or "").split())[:100]

"""Docs of packages at the version that is installed or locked, one for each page and module, in one commit."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import InvalidEntry, NotFound, Problem, Refused, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.index.model_sources import download_commands
from ai_lessons.knowledge import frontmatter, layout, manifests, markdown
from ai_lessons.knowledge.bundle import noting
from ai_lessons.knowledge.entries import Kind, Light
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.manifests import Manifest, normal
from ai_lessons.knowledge.versions import IN_USE, newest_first
from ai_lessons.library.gate import Planned, checked, new_files
from ai_lessons.library.reports import Imported, Refreshed, Stale
from ai_lessons.repository import code_repository, outside, packages
from ai_lessons.repository.files import translated
from ai_lessons.repository.store import Change, blob_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.packages import Package, Page

MOST_PAGES = 500  # Of one package
_REQUEST = re.compile(r"(?:(npm|pypi):)?(@?[^@=\s]+)(?:(?:==|@)\s*(\S+))?")
_LOCK = re.compile(r"(?:uv|poetry)\.lock|requirements.*\.txt|package-lock\.json|pnpm-lock\.yaml")
_REF = re.compile(r"pkg:(\w+)/(.+)@(.+)")


class PackageRequest(NamedTuple):
    """A package to take docs of. `version` empty: the one that is installed; `language` empty: whichever has it."""

    name: str
    version: str = ""
    language: str = ""


def add(library: Library, names: Sequence[str], *, lock: str | None = None) -> Imported:
    """Docs of these packages, written `NAME`, `NAME==VERSION` or `npm:NAME`; with `lock` of what that file pins.

    `lock` empty means the nearest lock file of the code around. Of the packages in it those are taken that the project
    asks for itself. What is here already stays, or is brought up to date; what cannot be had is named.

    Raises UsageError: nothing is asked for. NotFound: no lock file. Of one package alone, what is in its way.
    """
    repo = library.primary
    requests = [_requested(name) for name in names]
    requests += _locked(repo, lock) if lock is not None else []
    if not requests:
        raise UsageError("no package is named", hint="contribute add-package click, or --locked in a project")
    return _add(repo, list(dict.fromkeys(requests)))


def _requested(text: str) -> PackageRequest:
    match = _REQUEST.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} names no package", hint="NAME, NAME==VERSION or npm:NAME")
    return PackageRequest(match[2], match[3] or "", match[1] or "")


def _locked(repo: RepositorySession, lock: str) -> Iterator[PackageRequest]:
    """What a lock file pins of the packages that the project beside it asks for; of all, where nothing says which."""
    cwd = repo.options.cwd
    if lock:
        path = outside.typed(outside.expanded(lock), cwd)
        locks = [Manifest(str(path), outside.read(path, manifests.LARGEST)[0].decode("utf-8", "replace"))]
    else:
        manifests_here = code_repository.manifests(cwd)[0]
        top = outside.top_of(cwd) or cwd
        nearest = [
            manifest._replace(path=str(top / manifest.path))
            for manifest in manifests_here
            if manifest.distance == manifests_here[0].distance
        ]
        locks = [manifest for manifest in nearest if _LOCK.fullmatch(Path(manifest.path).name)]
    pins: dict[PackageRequest, None] = {}
    for manifest in locks:
        folder, language = (
            Path(manifest.path).parent,
            "npm" if re.search(r"\.(?:json|yaml)$", manifest.path) else "pypi",
        )
        source = folder / ("package.json" if language == "npm" else "pyproject.toml")
        asked = None
        if source.is_file():
            text = outside.read(source, within=outside.top_of(folder) or folder)[0]
            try:
                asked = {normal(x) for x in manifests.direct(source.name, text.decode())}
            except (ValueError, RecursionError) as error:
                raise InvalidEntry([Problem(str(source), f"cannot be read: {error}"[:200])]) from error
        for name, version in manifests.packages(manifest.path, manifest.text):
            if name != manifests.PYTHON and version.startswith(IN_USE) and (asked is None or normal(name) in asked):
                pins[PackageRequest(name, version.removeprefix(IN_USE), language)] = None
    if not pins:
        hint = "uv.lock, poetry.lock, requirements.txt, package-lock.json and pnpm-lock.yaml are read"
        raise NotFound("lock file with packages of the project", lock or str(cwd), hint=hint)
    yield from pins


def _add(repo: RepositorySession, requests: Sequence[PackageRequest]) -> Imported:
    places = packages.places(repo.options.cwd, repo.options.virtual_env)
    planned: dict[str, Planned] = {}
    skipped: list[tuple[str, str]] = []
    taken: list[Package] = []
    repo.current()
    cache = repo.options.cache_dir
    with translated(str(cache), writing=True):
        cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="package-", dir=cache) as temporary:
        for number, request in enumerate(repo.options.each("reading packages", requests)):
            with noting(request.name, skipped, alone=len(requests) == 1):
                package = _obtain(repo, request, places, Path(temporary, str(number)))
                taken.append(package)
                for page_number, page in enumerate(package.pages()):
                    if page_number == MOST_PAGES:
                        skipped.append((f"{package.name} {package.version}", f"only {MOST_PAGES} pages are taken"))
                        break
                    with noting(f"{package.name} {package.version}: {page.path}", skipped):
                        made = _planned(repo, package, page)
                        planned[made.entry.path] = made
    names = [f"{package.name} {package.version}" for package in taken]
    many = f"Add docs of {names[0] if len(names) == 1 else f'{len(names)} packages'}"
    return repo.bring(planned.values(), many, skipped)


def _obtain(repo: RepositorySession, request: PackageRequest, places: Sequence[Path], folder: Path) -> Package:
    """The package as it is installed; another version of Python's from the package index. Raises as `packages`."""
    try:
        package = packages.find(request.name, places, request.language)
        if request.version in {"", package.version}:
            return package
        reason = f"{request.name} is installed as {package.version}, not as {request.version}"
    except NotFound as error:
        if not request.version or request.language == packages.NPM:
            raise
        reason = error.message
    if repo.options.offline or request.language == packages.NPM:
        raise Refused(reason, hint="install it first")
    folder.mkdir()
    return packages.fetch(request.name, request.version, download_commands(), folder)


def project_of(package: Package) -> str:
    """The project that a package's docs belong to: `click`, `types-node`."""
    return normal(re.sub(r"[@/]+", "-", package.name))


def _planned(repo: RepositorySession, package: Package, page: Page) -> Planned:
    """What a page becomes. Raises as `checked`."""
    path = layout.resource_path(Kind.DOC, project_of(package), (package.version,), page.path)
    layout.check_path(path)
    body = frontmatter.body_of(page.text)
    digest = f"sha256:{sha256(body.encode()).hexdigest()}"
    if repo.store.exists(path):
        old = repo.store.read(path)
        if f"content_hash: {digest}\n".encode() in old:
            return Planned(read_entry(path, old), ())
        data = markdown.edit(old.decode("utf-8", "replace"), {"content_hash": digest}, body).encode()
        return Planned(checked(path, data), (Change(path, data, expect=blob_id(old)),))
    now = repo.options.now()
    source = {"package": package.name, "licence": package.licence, "origin": package.origin}
    fields = frontmatter.doc_fields(
        frontmatter.new_id(now), frontmatter.stamp(now), title=page.title, source_ref=package.ref, content_hash=digest,
        versions=[package.version], source={key: value for key, value in source.items() if value},
    )  # fmt: skip
    data = markdown.render(fields, body).encode()
    return Planned(checked(path, data), new_files(path, data))


# --- what moved on ---


def moved_on(repo: RepositorySession) -> Iterator[tuple[Package, Light]]:
    """Packages whose installed version has no docs here while another one has, with a doc of the newest of those."""
    stored: dict[tuple[str, str], dict[str, Light]] = defaultdict(dict)
    for light in repo.current().select(Filter(kinds=frozenset({Kind.DOC}), status=None)):
        if match := _REF.fullmatch(str(light.details.get("source_ref") or "")):
            versions = stored[match[1], match[2]]
            versions[match[3]] = min(versions.get(match[3], light), light, key=lambda doc: (len(doc.path), doc.path))
    places = packages.places(repo.options.cwd, repo.options.virtual_env, beside=False) if stored else ()
    for (language, name), versions in sorted(stored.items()):
        try:
            package = packages.find(name, places, language)
        except NotFound:
            continue
        if package.version not in versions:
            yield package, versions[newest_first(versions)[0]]


def stale(repo: RepositorySession) -> Iterator[Stale]:
    """What moved on, for `list-stale`."""
    for package, light in moved_on(repo):
        reason = f"{package.version} is installed: ai-lessons contribute refresh-resource --all"
        yield Stale(light.handle, light.title, light.path, reason)


def refresh(repo: RepositorySession) -> list[Refreshed]:
    """Take docs of the installed version beside the old, of every package that moved on."""
    moved = list(moved_on(repo))
    if not moved:
        return []
    done = _add(repo, [PackageRequest(package.name, package.version, package.language) for package, _ in moved])
    new = {f"{project_of(package)}/": (package, light) for package, light in moved}
    answers = []
    for written in done.written:
        package, light = new[f"{written.path.split('/')[0]}/"]
        old = str(light.details.get("source_ref"))
        waiting = f"waiting: {done.notes[0]}" if done.notes else ""
        answers.append(
            Refreshed(written.handle, written.title, written.path, True, old, package.ref, warning=waiting)  # noqa: FBT003 - a tuple
        )
    return [*answers, *(Refreshed("", name, "", warning=reason) for name, reason in done.skipped)]

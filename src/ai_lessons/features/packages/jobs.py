"""Docs of installed packages.

Added, noticed where another version is installed, and taken in again.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app import vector_progress
from ai_lessons.app.write_checks import Planned, checked, new_files, noting
from ai_lessons.app.written import Refreshed, Stale
from ai_lessons.connectors import manifests
from ai_lessons.connectors.manifests import Manifest, normal
from ai_lessons.errors import InvalidEntry, NotFound, Problem, Refused, UsageError
from ai_lessons.features.packages import installed
from ai_lessons.features.packages.facts import docs_of_packages
from ai_lessons.git import external_files, files
from ai_lessons.git.store import Change
from ai_lessons.model import expression, frontmatter, layout, markdown
from ai_lessons.model.entries import Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import blob_id
from ai_lessons.model.versions import IN_USE, newest_first
from ai_lessons.search.model_files import download_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.app.written import Imported
    from ai_lessons.features.packages.installed import Package, Page
    from ai_lessons.model.entries import EntrySummary

# Of one package: one of generated code would fill the library
MOST_PAGES = 500
_REQUEST = expression(r"(?:(npm|pypi):)?(@?[^@=\s]+)(?:(?:==|@)\s*(\S+))?")
_LOCK = expression(r"(?:uv|poetry)\.lock|requirements.*\.txt|package-lock\.json|pnpm-lock\.yaml")


class PackageRequest(NamedTuple):
    """A package to take docs of.

    `version` empty: the one that is installed; `language` empty: whichever has it.
    """

    name: str
    version: str = ""
    language: str = ""


# --- what is asked for ---


def add(library: Library, names: Sequence[str], *, lock: str | None = None) -> Imported:
    """Docs of these packages, written `NAME`, `NAME==VERSION` or `npm:NAME`.

    With `lock` of what that file pins.

    `lock` empty means the nearest lock file of the code around. Of the packages in it those are
    taken that the project asks for itself. What is here already stays, or is brought up to date;
    what cannot be had is named.

    Raises UsageError: nothing is asked for. NotFound: no lock file. Of one package alone, what is
    in its way.
    """
    repo = library.primary
    requests = [_request(name) for name in names]
    if lock is not None:
        requests += _locked(repo, lock)
    if not requests:
        raise UsageError(
            "no package is named", hint="contribute add-package click, or --locked in a project"
        )
    return _add(repo, list(dict.fromkeys(requests)))


def _request(name: str) -> PackageRequest:
    match = _REQUEST.fullmatch(name.strip())
    if not match:
        raise UsageError(f"{name!r} names no package", hint="NAME, NAME==VERSION or npm:NAME")
    return PackageRequest(match[2], match[3] or "", match[1] or "")


def _locked(repo: RepositorySession, lock: str) -> list[PackageRequest]:
    """What a lock file pins of the packages that the project beside it asks for.

    Of all, where nothing says which.
    """
    cwd = repo.options.cwd
    requests: dict[PackageRequest, None] = {}
    for manifest in [_lock_file(lock, cwd)] if lock else _nearest_locks(cwd):
        folder = Path(manifest.path).parent
        is_npm = manifest.path.endswith((".json", ".yaml"))
        if is_npm:
            language = installed.NPM
        else:
            language = installed.PYPI
        asked = _asked_for(folder / ("package.json" if is_npm else "pyproject.toml"))
        for name, version in manifests.packages(manifest.path, manifest.text):
            is_pinned = name != manifests.PYTHON and version.startswith(IN_USE)
            if is_pinned and (asked is None or normal(name) in asked):
                requests[PackageRequest(name, version.removeprefix(IN_USE), language)] = None
    if not requests:
        hint = (
            "uv.lock, poetry.lock, requirements.txt, package-lock.json and pnpm-lock.yaml are read"
        )
        raise NotFound("lock file with packages of the project", lock or str(cwd), hint=hint)
    return list(requests)


def _lock_file(lock: str, cwd: Path) -> Manifest:
    path = external_files.typed(external_files.expanded(lock), cwd)
    data, _ = external_files.read(path, manifests.LARGEST)
    return Manifest(str(path), data.decode("utf-8", "replace"))


def _nearest_locks(cwd: Path) -> list[Manifest]:
    here, _ = manifests.manifests(cwd)
    top = external_files.top_of(cwd) or cwd
    locks = []
    for manifest in here:
        path = top / manifest.path
        if manifest.distance == here[0].distance and _LOCK.fullmatch(path.name):
            locks.append(manifest._replace(path=str(path)))
    return locks


def _asked_for(source: Path) -> set[str] | None:
    """The packages that a project names itself; None where it has no file that says so.

    Raises InvalidEntry: the file cannot be read.
    """
    if not source.is_file():
        return None
    folder = source.parent
    data, _ = external_files.read(source, within=external_files.top_of(folder) or folder)
    try:
        names = manifests.direct(source.name, data.decode())
    except (ValueError, RecursionError) as error:
        raise InvalidEntry([Problem(str(source), f"cannot be read: {error}"[:200])]) from error
    return set(map(normal, names))


# --- what is taken ---


def _add(repo: RepositorySession, requests: Sequence[PackageRequest]) -> Imported:
    """Take docs of these packages in, in one commit.

    What cannot be had is named, unless it is the only one.
    """
    repo.current()
    taking = _Taking(repo, alone=len(requests) == 1)
    cache = repo.options.cache_dir
    with files.translated(str(cache), writing=True):
        cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="package-", dir=cache) as temporary:
        for number, request in enumerate(repo.options.each("reading packages", requests)):
            taking.take(request, Path(temporary, str(number)))
    names = taking.names
    if len(names) == 1:
        what = names[0]
    else:
        what = f"{len(names)} packages"
    imported = repo.bring(taking.planned.values(), f"Add docs of {what}", taking.skipped)
    return vector_progress.after_import(repo, imported)


class _Taking:
    """Pages of several packages on their way in."""

    def __init__(self, repo: RepositorySession, *, alone: bool) -> None:
        self._repo, self._alone = repo, alone
        self._places = installed.places(repo.options.cwd, repo.options.virtual_env)
        # by path: a package may have a page twice
        self.planned: dict[str, Planned] = {}
        self.skipped: list[tuple[str, str]] = []
        self.names: list[str] = []

    def take(self, request: PackageRequest, folder: Path) -> None:
        """Plan the pages of a package; what is in the way is noted.

        `folder` is for what is fetched.
        """
        with noting(request.name, self.skipped, alone=self._alone):
            package = self._obtained(request, folder)
            name = f"{package.name} {package.version}"
            self.names.append(name)
            for number, page in enumerate(package.pages()):
                if number == MOST_PAGES:
                    self.skipped.append((name, f"only {MOST_PAGES} pages are taken"))
                    break
                with noting(f"{name}: {page.path}", self.skipped):
                    planned = _planned(self._repo, package, page)
                    self.planned[planned.entry.path] = planned

    def _obtained(self, request: PackageRequest, folder: Path) -> Package:
        """The package as it is installed; another version of Python's from the package index.

        Raises as `installed`.
        """
        try:
            package = installed.find(request.name, self._places, request.language)
        except NotFound as error:
            if not request.version or request.language == installed.NPM:
                raise
            reason = error.message
        else:
            if request.version in {"", package.version}:
                return package
            reason = f"{request.name} is installed as {package.version}, not as {request.version}"
        if self._repo.options.offline or request.language == installed.NPM:
            raise Refused(reason, hint="install it first")
        folder.mkdir()
        return installed.fetch(request.name, request.version, download_wheel, folder)


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
        return _up_to_date(path, repo.store.read(path), body, digest)
    now = repo.options.now()
    source = {"package": package.name, "licence": package.licence, "origin": package.origin}
    fields = frontmatter.doc_fields(
        frontmatter.new_id(now),
        frontmatter.stamp(now),
        title=page.title,
        source_ref=package.ref,
        content_hash=digest,
        versions=[package.version],
        source={key: value for key, value in source.items() if value},
    )
    data = markdown.render(fields, body).encode()
    return Planned(checked(path, data), new_files(path, data))


def _up_to_date(path: str, old: bytes, body: str, digest: str) -> Planned:
    """A page that is here: its text is replaced where the package has another one now."""
    if f"content_hash: {digest}\n".encode() in old:
        return Planned(read_entry(path, old), ())
    text = markdown.edit(old.decode("utf-8", "replace"), {"content_hash": digest}, body)
    data = text.encode()
    return Planned(checked(path, data), (Change(path, data, expect=blob_id(old)),))


# --- what moved on ---


class MovedOn(NamedTuple):
    """A package whose installed version has no docs here, while another one has.

    `summary` is one of the newest.
    """

    package: Package
    summary: EntrySummary
    ref: str


def moved_on(repo: RepositorySession) -> Iterator[MovedOn]:
    """The packages that moved on, as far as they are installed in the environment of the code around."""
    catalog = repo.current()
    docs = docs_of_packages(catalog)
    summaries = catalog.many(docs)
    # of each version the doc with the shortest path stands for all
    stored: dict[tuple[str, str], dict[str, EntrySummary]] = defaultdict(dict)
    for summary in sorted(summaries.values(), key=lambda doc: (len(doc.path), doc.path)):
        doc = docs[summary.id]
        stored[doc.language, doc.name].setdefault(doc.version, summary)
    if not stored:
        return
    places = installed.places(repo.options.cwd, repo.options.virtual_env, beside=False)
    for (language, name), versions in sorted(stored.items()):
        try:
            package = installed.find(name, places, language)
        except NotFound:
            continue
        if package.version not in versions:
            summary = versions[newest_first(versions)[0]]
            yield MovedOn(package, summary, docs[summary.id].ref)


def stale(repo: RepositorySession) -> Iterator[Stale]:
    """What moved on, for `review --stale`."""
    for package, summary, _ in moved_on(repo):
        reason = f"{package.version} is installed: ai-lessons contribute refresh --all"
        yield Stale(summary.handle, summary.title, summary.path, reason)


def refresh(repo: RepositorySession) -> list[Refreshed]:
    """Take docs of the installed version beside the old, of every package that moved on."""
    moved = {}
    for row in moved_on(repo):
        moved[project_of(row.package)] = row
    if not moved:
        return []
    requests = []
    for package, _, _ in moved.values():
        requests.append(PackageRequest(package.name, package.version, package.language))
    done = _add(repo, requests)
    if done.notes:
        waiting = f"waiting: {done.notes[0]}"
    else:
        waiting = ""
    answers = []
    for written in done.written:
        project, _, _ = written.path.partition("/")
        package, _, old_ref = moved[project]
        answers.append(
            Refreshed(
                written.handle,
                written.title,
                written.path,
                changed=True,
                old_ref=old_ref,
                new_ref=package.ref,
                warning=waiting,
            )
        )
    for name, reason in done.skipped:
        answers.append(Refreshed("", name, "", warning=reason))
    return answers

"""Where docs and scripts came from: whether that may be read again, and what became of it."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.app.outdated import Outdated, rests
from ai_lessons.app.trust import is_url, known_sources, real, remember_sources, source_mark
from ai_lessons.app.written import Stale
from ai_lessons.errors import AiLessonsError, Refused
from ai_lessons.features.intake import facts
from ai_lessons.git import external_files, plumbing
from ai_lessons.git.worktree import locate
from ai_lessons.model.entries import NO_LONGER, EntrySummary, Filter, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.features.intake.facts import Source
    from ai_lessons.search.catalog_reader import CatalogReader

GONE = "gone"


def source_of(repo: RepositorySession, summary: EntrySummary) -> str | None:
    """The file or page that an entry is a snapshot of, or where a script is kept in place.

    None: there is none.
    """
    source = facts.sources(repo.catalog).get(summary.id, facts.NOWHERE)
    return _place(repo, summary, source) or None


def _place(repo: RepositorySession, summary: EntrySummary, source: Source) -> str:
    if source.kept and not repo.store.exists(summary.path):
        return source.kept
    return source.path or source.url


def allow_source(repo: RepositorySession, summary: EntrySummary, source: str) -> Path:
    """The file behind the source of an entry, without links, once it may be read here.

    Raises:
        Refused: the entry was not added here from that file, and there is no terminal to ask on, or
        the answer is no.
    """
    file = real(source)
    # a pulled entry may name any file of this machine as its source, and the refreshed text is
    # shared
    if source_mark(summary.id, source) not in known_sources(repo.store.state_dir):
        ask = repo.options.ask_source
        if ask is None or not ask(f"{summary.handle} {summary.title}", source, file):
            raise Refused(
                (
                    f"{summary.handle} was not added on this machine from {source}, so that "
                    "file is not read"
                ),
                hint=(
                    "look at the path; then, at a terminal: ai-lessons contribute refresh "
                    f"{summary.handle}"
                ),
            )
        remember_sources(repo.store.state_dir, [(summary.id, source)])
    return Path(file)


# --- what became of them ---


def stale(repo: RepositorySession) -> Iterator[Stale]:
    """Docs and scripts whose file outside the repository changed since it was read, or is gone."""
    for summary, place, reason in _moved(repo):
        yield Stale(summary.handle, summary.title, place, reason)


def outdated(repo: RepositorySession) -> Iterator[Outdated]:
    """The same as reasons to look at an entry, but at what was looked at lately."""
    today = repo.options.now().astimezone(UTC).date()
    for summary, place, reason in _moved(repo):
        if rests(summary, today):
            continue
        if reason == GONE:
            what = "its source is gone"
        else:
            what = "its source has changed"
        yield Outdated(summary, "source", f"{what}: {place}")


def _moved(repo: RepositorySession) -> Iterator[tuple[EntrySummary, str, str]]:
    """Each entry whose source is not as it was, with where that is and what became of it."""
    read_here = known_sources(repo.store.state_dir)
    catalog = repo.current()
    sources = facts.sources(catalog)
    kinds = frozenset({Kind.DOC, Kind.SCRIPT})
    for summary in catalog.select(Filter(kinds=kinds, status=None)):
        source = sources.get(summary.id)
        if source is None:
            continue
        reason = _became(repo, summary, source, read_here)
        if reason:
            yield summary, _place(repo, summary, source), reason


def on_scripts(library: Library, shown: Sequence[EntrySummary]) -> Iterator[str]:
    """A sentence about each script in an answer whose file outside the repository changed."""
    for summary in shown:
        if summary.kind is Kind.SCRIPT:
            yield from on_entry(library, summary)


def on_entry(library: Library, summary: EntrySummary) -> Iterator[str]:
    """A sentence about an entry whose file outside the repository changed, or whose page did."""
    repo = library.holding(summary.id)[0]
    source = facts.sources(repo.catalog).get(summary.id, facts.NOWHERE)
    if not (source.kept or source.path):
        # a page is asked for only where somebody says so; another doc may know
        newer = _newer(library.reading.catalog, source)
        if newer:
            yield f"[{summary.handle}] its page changed: {newer}"
        return
    reason = _became(repo, summary, source, known_sources(repo.store.state_dir))
    if reason:
        yield f"[{summary.handle}] {reason}"


def _newer(catalog: CatalogReader, source: Source) -> str:
    """Which doc holds the newest text of this page, in words; empty where none holds another one."""
    if not source.url or not source.date:
        return ""
    of_page: dict[str, Source] = {}
    for entry_id, other in facts.sources(catalog).items():
        if other.url == source.url and other.date > source.date:
            of_page[entry_id] = other
    docs = catalog.many(of_page)
    current = [entry_id for entry_id, doc in docs.items() if doc.status not in NO_LONGER]
    newest = max(current, key=lambda entry_id: of_page[entry_id].date, default="")
    if not newest or of_page[newest].hash == source.hash:
        # it is as it was, or is so again
        return ""
    day = of_page[newest].date[: len("2026-11-29")]
    return f"[{docs[newest].handle}] in {docs[newest].project} has its text of {day}"


def became(repo: RepositorySession, summary: EntrySummary, read_here: frozenset[str]) -> str:
    """What became of the file that an entry was read from; empty where it is as it was.

    `read_here`: the marks of the files that were read on this machine.
    """
    source = facts.sources(repo.catalog).get(summary.id, facts.NOWHERE)
    return _became(repo, summary, source, read_here)


def _became(
    repo: RepositorySession, summary: EntrySummary, source: Source, read_here: frozenset[str]
) -> str:
    """What became of the file that an entry was read from.

    Empty where it is as it was, a page, or not on this machine.
    """
    place = _place(repo, summary, source)
    if not place or is_url(place):
        return ""
    file = external_files.expanded(place)
    is_ours = source_mark(summary.id, place) in read_here
    if place == source.kept:
        return _became_in_place(repo, summary, source, file, is_ours=is_ours)
    # the source of a snapshot may be on another machine
    if not source.hash or not file.is_absolute() or not file.parent.is_dir():
        return ""
    if not file.is_file():
        if is_ours:
            return GONE
        return ""
    return _changed(summary, source, file, is_ours=is_ours)


def _became_in_place(
    repo: RepositorySession, summary: EntrySummary, source: Source, file: Path, *, is_ours: bool
) -> str:
    """The same of a script that stays where it is."""
    if not file.is_file():
        return GONE
    if source.hash and is_ours:
        return _changed(summary, source, file, is_ours=True)
    # nobody here read it, so that only times can be compared
    changed = file.stat().st_mtime
    described = (repo.store.root / f"{summary.path}.md").stat().st_mtime
    if changed <= described:
        return ""
    return (
        f"changed {datetime.fromtimestamp(changed, UTC):%Y-%m-%d %H:%M} UTC, after its description"
    )


def _changed(summary: EntrySummary, source: Source, file: Path, *, is_ours: bool) -> str:
    """That a file has another content than what was read.

    Of a snapshot the file is compared whoever made it; of one that was made elsewhere only where it
    is surely the same.
    """
    try:
        data, _ = external_files.read(file)
    except AiLessonsError as error:
        if is_ours:
            return error.message
        return ""
    if f"sha256:{sha256(data).hexdigest()}" == source.hash:
        return ""
    if not is_ours and not _is_the_source(file, source.ref):
        return ""
    return f"changed since it was read: ai-lessons contribute refresh {summary.handle}"


def _is_the_source(file: Path, ref: str) -> bool:
    """Whether a file of this name is the one that was read elsewhere.

    Its repository has the commit of that time.
    """
    commit = ref.partition("-")[0]
    top = external_files.top_of(file.parent)
    if not commit or top is None:
        return not commit
    try:
        return not plumbing.run(locate(top), "cat-file", "-e", f"{commit}^{{commit}}").code
    except AiLessonsError:
        # a repository that is not accepted, such as another user's
        return False

"""Where docs and scripts came from: whether that may be read again, and what became of it."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.app.answers import Stale
from ai_lessons.app.trust import is_url, known_sources, real, remember_sources, source_mark
from ai_lessons.errors import AiLessonsError, Refused
from ai_lessons.git import external_files, plumbing
from ai_lessons.git.worktree import locate
from ai_lessons.model.entries import EntrySummary, Filter, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ai_lessons.app.workspace import Library, RepositorySession


def source_of(repo: RepositorySession, summary: EntrySummary) -> str | None:
    """The file or page that an entry is a snapshot of, or where a script is kept in place.

    None: there is none.
    """
    if summary.elsewhere and not repo.store.exists(summary.path):
        return summary.elsewhere
    if summary.kind in {Kind.DOC, Kind.SCRIPT}:
        return summary.source_path or summary.source_url or None
    return None


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


GONE = "gone"


def stale(repo: RepositorySession) -> Iterator[Stale]:
    """Docs and scripts whose file outside the repository changed since it was read, or is gone."""
    sources = known_sources(repo.store.state_dir)
    for summary in repo.current().select(
        Filter(kinds=frozenset({Kind.DOC, Kind.SCRIPT}), status=None)
    ):
        if reason := became(repo, summary, sources):
            yield Stale(summary.handle, summary.title, str(source_of(repo, summary)), reason)


def told_of_sources(library: Library, summaries: Iterable[EntrySummary]) -> list[str]:
    """A sentence about each of these entries whose file outside the repository changed."""
    sentences = []
    for summary in summaries:
        if summary.elsewhere or summary.source_path:
            repo = library.holding(summary.id)[0]
            sources = known_sources(repo.store.state_dir)
            reason = became(repo, summary, sources)
            if reason:
                sentences.append(f"[{summary.handle}] {reason}")
    return sentences


def became(repo: RepositorySession, summary: EntrySummary, sources: frozenset[str]) -> str:
    """What became of the file that an entry was read from.

    Empty where it is as it was, a page, or not on this machine.

    Of a snapshot the file is compared whoever made it; of one that was made elsewhere only where it
    is surely the same.
    """
    where, hashed = source_of(repo, summary), summary.content_hash
    if not where or is_url(where):
        return ""
    file, ours = external_files.expanded(where), source_mark(summary.id, where) in sources
    in_place = where == summary.elsewhere
    if not in_place and not (hashed and file.is_absolute() and file.parent.is_dir()):
        # a snapshot, whose source may be on another machine
        return ""
    if not file.is_file():
        if in_place or ours:
            return GONE
        return ""
    if not in_place or (hashed and ours):
        try:
            same = f"sha256:{sha256(external_files.read(file)[0]).hexdigest()}" == hashed
        except AiLessonsError as error:
            if ours:
                return error.message
            return ""
        if same or not (ours or _is_the_source(file, summary.source_ref)):
            return ""
        return f"changed since it was read: ai-lessons contribute refresh {summary.handle}"
    changed = file.stat().st_mtime
    late = changed > (repo.store.root / f"{summary.path}.md").stat().st_mtime
    if late:
        return f"changed {datetime.fromtimestamp(changed, UTC):%Y-%m-%d %H:%M} UTC, after its description"
    return ""


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

"""Looks again at where resources came from, and takes what changed there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons import extensions
from ai_lessons.app import secrets
from ai_lessons.app.answers import Refreshed
from ai_lessons.app.trust import is_url, known_sources, source_mark
from ai_lessons.app.write_checks import checked
from ai_lessons.connectors.manifests import Sources
from ai_lessons.errors import AiLessonsError, NotFound, UsageError
from ai_lessons.features.intake import facts
from ai_lessons.features.intake.incoming import as_doc, refreshed_text, take, take_page, web
from ai_lessons.features.intake.sources import allow_source, source_of
from ai_lessons.git.external_files import Outside, expanded
from ai_lessons.git.history import unified
from ai_lessons.git.store import Change
from ai_lessons.model import frontmatter, markdown
from ai_lessons.model.entries import Entry, EntrySummary, Filter, Kind
from ai_lessons.model.layout import blob_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.features.intake.web import Web


def refresh(
    library: Library,
    refs: Sequence[str],
    *,
    every: bool = False,
    allow_secrets: Sequence[tuple[str, str]] = (),
    allow_private: bool = False,
) -> tuple[Refreshed, ...]:
    """Read docs again from where they came, in one commit; `every` means all that name a source.

    What features take in (`refresh` of a feature takes the repository) comes in commits of its own.
    Raises UsageError: neither names nor `every`. Unless `every`, where each is a warning: NotFound:
    no source, or it is gone. InvalidEntry: what came is no text of an entry, or holds a secret.
    Refused: see `allow_source`.
    """
    repo = library.primary
    catalog = repo.current()
    if every == bool(refs):
        raise UsageError("say which docs to refresh", hint="name them, or give --all alone")
    if every:
        summaries = catalog.select(Filter(kinds=frozenset({Kind.DOC, Kind.SCRIPT}), status=None))
        summaries = [summary for summary in summaries if source_of(repo, summary)]
    else:
        # two names may mean one entry
        by_id = {summary.id: summary for summary in map(repo.resolve, refs)}
        summaries = list(by_id.values())
    looked: list[tuple[Refreshed, tuple[Change, ...]]] = []
    sources = Sources()
    pages = any(is_url(source_of(repo, summary) or "") for summary in summaries)
    asked = None
    if pages:
        asked = web(repo.options, allow_private=allow_private)
    for summary in repo.options.each("refreshing", summaries):
        try:
            looked.append(_look_at(repo, sources, asked, summary, allow_secrets))
        except AiLessonsError as error:
            if not every:
                raise
            looked.append(
                (Refreshed(summary.handle, summary.title, summary.path, warning=error.message), ())
            )
    refreshed = list(_write_refreshed(repo, looked))
    if every:
        for _, refresh_others in extensions.added("refresh"):
            refreshed += refresh_others(repo)
    return tuple(refreshed)


def reread(library: Library, summaries: Sequence[EntrySummary], *, named: bool) -> list[str]:
    """Read scripts that are kept elsewhere again; what was in the way, in sentences.

    Unless they are `named`, only those that somebody let be read here. Raises as `refresh` for those
    that are named.
    """
    repo = library.primary
    sources = facts.sources(repo.catalog)
    notes = []
    for summary in summaries:
        if not sources.get(summary.id, facts.NOWHERE).kept:
            continue
        place = source_of(repo, summary)
        read_here = known_sources(repo.store.state_dir)
        if not place or not (named or source_mark(summary.id, place) in read_here):
            continue
        try:
            refresh(library, [summary.handle])
        except AiLessonsError as error:
            if named:
                raise
            notes.append(f"{summary.handle}: {error.message}")
    return notes


def _write_refreshed(
    repo: RepositorySession, looked: Sequence[tuple[Refreshed, tuple[Change, ...]]]
) -> tuple[Refreshed, ...]:
    """Write what has changed in one commit; the answers, with why the commit waits if it does."""
    answers = tuple(answer for answer, _ in looked)
    changes = []
    for _, several in looked:
        for change in several:
            changes.append(change)
    if not changes:
        return answers
    titles = []
    for answer, several in looked:
        if several:
            titles.append(answer.title)
    repo.keep_edits([change.path for change in changes])
    applied = repo.write(
        f"Refresh {f'doc: {titles[0]}' if len(titles) == 1 else f'{len(titles)} docs'}", changes
    )
    if not applied.waiting:
        return answers
    waiting = f"waiting: {applied.waiting}"
    with_waiting: list[Refreshed] = []
    for answer in answers:
        if answer.changed and answer.warning:
            answer = answer._replace(warning=f"{answer.warning}; {waiting}")  # noqa: PLW2901
        elif answer.changed:
            answer = answer._replace(warning=waiting)  # noqa: PLW2901
        with_waiting.append(answer)
    return tuple(with_waiting)


def _look_at(
    repo: RepositorySession,
    sources: Sources,
    asked: Web | None,
    summary: EntrySummary,
    allow: Sequence[tuple[str, str]],
) -> tuple[Refreshed, tuple[Change, ...]]:
    entry, old = repo.load(summary.id)
    source = source_of(repo, summary)
    answer = Refreshed(summary.handle, summary.title, summary.path)
    of_package = str(entry.fields.get("source_ref") or "").startswith("pkg:")
    if not source and summary.kind.is_resource and not of_package:
        # a file of the repository is no copy: an edit of it is what the next search finds
        return answer._replace(warning="its file here is its source, and is read as it is"), ()
    if not source:
        raise NotFound(
            "source of",
            summary.handle,
            hint="only what was added from a file or a page can be refreshed",
        )
    file = allow_source(repo, summary, source)
    if asked is not None and is_url(source):
        page = take_page(asked, source, entry.fields, repo.options.now())
        if page is None:
            return answer, ()
        incoming, path = page, page.file.path
    else:
        path = expanded(source)
        incoming = take(Outside(file, path.name), sources, repo.options.limits, source)
    old_ref = entry.fields.get("source_ref")
    warning = _repository_moved(old_ref, incoming.source_ref)
    answer = answer._replace(old_ref=old_ref, new_ref=incoming.source_ref, warning=warning)
    if entry.fields.get("content_hash") == incoming.hash:
        return answer, ()
    body = _text_of(entry, old, path, incoming.data)
    code = entry.kind is Kind.SCRIPT and repo.store.exists(entry.path)
    new = refreshed_text(
        old, entry, incoming, body, secrets.fields(allow, existing=entry.fields, text=body)
    )
    before, after = entry.body.encode(), body.encode()
    if code:
        # what runs is what a reviewer must see
        before, after = entry.code.encode(), incoming.data
    diff = unified(summary.path, before, after)
    added, removed = (sum(line.startswith(sign) for line in diff.split("\n")[2:]) for sign in "+-")
    answer = answer._replace(changed=True, added=added, removed=removed, diff=diff)
    described = Change(entry.file, new.encode(), expect=blob_id(old.encode()))
    if not code:
        checked(entry.file, new.encode(), was=entry)
        return answer, (described,)
    checked(entry.path, incoming.data, new.encode(), was=entry)
    copy = Change(entry.path, incoming.data, expect=blob_id(repo.store.read(entry.path)))
    return answer, (copy, described)


def _repository_moved(old_ref: object, new_ref: str | None) -> str:
    """A warning where the repository of a source is at another commit than it was; else empty."""
    heads = set()
    for ref in (old_ref, new_ref):
        if ref:
            # uncommitted changes there (`-dirty`) are no move
            heads.add(str(ref).partition("-")[0])
    if len(heads) > 1:
        return "its source's repository has moved on"
    return ""


def _text_of(entry: Entry, old: str, path: Path, data: bytes) -> str:
    """What an entry keeps of a source: a doc its text, a script what it says of itself.

    What a person wrote of a script (in `old`, the file that describes it) stays.
    """
    if entry.kind is not Kind.SCRIPT:
        return as_doc(path, data).body
    stated = markdown.parse(old).body
    is_its_own = stated.strip() == frontmatter.description(entry.code.encode())
    if stated.strip() and is_its_own:
        return frontmatter.body_of(frontmatter.description(data))
    return stated

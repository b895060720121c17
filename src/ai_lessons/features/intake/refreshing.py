"""Looks again at where resources came from, and takes what changed there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import extensions
from ai_lessons.app import secrets
from ai_lessons.app.trust import is_url, known_sources, source_mark
from ai_lessons.app.write_checks import checked
from ai_lessons.app.written import Refreshed
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
    from ai_lessons.features.intake.incoming import Incoming
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
    repo.current()
    if every == bool(refs):
        raise UsageError("say which docs to refresh", hint="name them, or give --all alone")
    if every:
        summaries = _with_source(repo)
    else:
        # two names may mean one entry
        by_id = {summary.id: summary for summary in map(repo.resolve, refs)}
        summaries = list(by_id.values())
    asked = None
    if any(is_url(source_of(repo, summary) or "") for summary in summaries):
        asked = web(repo.options, allow_private=allow_private)
    look = _Look(repo, asked, allow_secrets)
    looked: list[Looked] = []
    for summary in repo.options.each("refreshing", summaries):
        try:
            looked.append(look.at(summary))
        except AiLessonsError as error:
            if not every:
                raise
            looked.append(Looked(_answer(summary)._replace(warning=error.message)))
    refreshed = list(_write_refreshed(repo, looked))
    if every:
        for _, refresh_others in extensions.added("refresh"):
            refreshed += refresh_others(repo)
    return tuple(refreshed)


def _with_source(repo: RepositorySession) -> list[EntrySummary]:
    """Every doc and script that came from somewhere."""
    kinds = frozenset({Kind.DOC, Kind.SCRIPT})
    summaries = []
    for summary in repo.current().select(Filter(kinds=kinds, status=None)):
        if source_of(repo, summary):
            summaries.append(summary)
    return summaries


def _answer(summary: EntrySummary) -> Refreshed:
    return Refreshed(summary.handle, summary.title, summary.path)


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


class Looked(NamedTuple):
    """The answer on one doc, and what is to be written."""

    answer: Refreshed
    changes: tuple[Change, ...] = ()


def _write_refreshed(repo: RepositorySession, looked: Sequence[Looked]) -> list[Refreshed]:
    """Write what has changed in one commit; the answers, with why the commit waits if it does."""
    answers: list[Refreshed] = []
    changes: list[Change] = []
    titles: list[str] = []
    for answer, changes_of_one in looked:
        answers.append(answer)
        changes += changes_of_one
        if changes_of_one:
            titles.append(answer.title)
    if not changes:
        return answers
    what = f"{len(titles)} docs"
    if len(titles) == 1:
        what = f"doc: {titles[0]}"
    repo.keep_edits([change.path for change in changes])
    applied = repo.write(f"Refresh {what}", changes)
    if not applied.waiting:
        return answers
    waiting = f"waiting: {applied.waiting}"
    return [_with_warning(answer, waiting) for answer in answers]


def _with_warning(answer: Refreshed, waiting: str) -> Refreshed:
    """The answer, if its doc changed, with what waits behind what was to be said already."""
    if not answer.changed:
        return answer
    if answer.warning:
        waiting = f"{answer.warning}; {waiting}"
    return answer._replace(warning=waiting)


class _Look:
    """Looks at one source after the other.

    `asked` asks for pages, `allow` are the secrets that may come in, with the reasons.
    """

    def __init__(
        self, repo: RepositorySession, asked: Web | None, allow: Sequence[tuple[str, str]]
    ) -> None:
        self._repo, self._asked, self._allow = repo, asked, allow
        self._sources = Sources()

    def at(self, summary: EntrySummary) -> Looked:
        """What became of the source of an entry, and what that changes. Raises as `refresh`."""
        repo = self._repo
        entry, old = repo.load(summary.id)
        source = source_of(repo, summary)
        answer = _answer(summary)
        of_package = str(entry.fields.get("source_ref") or "").startswith("pkg:")
        if not source and summary.kind.is_resource and not of_package:
            # a file of the repository is no copy: an edit of it is what the next search finds
            warning = "its file here is its source, and is read as it is"
            return Looked(answer._replace(warning=warning))
        if not source:
            hint = "only what was added from a file or a page can be refreshed"
            raise NotFound("source of", summary.handle, hint=hint)
        incoming = self._incoming(summary, entry, source)
        if incoming is None:
            return Looked(answer)
        old_ref = entry.fields.get("source_ref")
        answer = answer._replace(
            old_ref=old_ref,
            new_ref=incoming.source_ref,
            warning=_repository_moved(old_ref, incoming.source_ref),
        )
        if entry.fields.get("content_hash") == incoming.hash:
            return Looked(answer)
        path = incoming.file.path
        if not is_url(source):
            # how its name ends says what it is, also where a link leads to another name
            path = expanded(source)
        return self._changed(
            entry, old, incoming, _text_of(entry, old, path, incoming.data), answer
        )

    def _incoming(self, summary: EntrySummary, entry: Entry, source: str) -> Incoming | None:
        """What lies there now; None where a server says that it is as it was."""
        file = allow_source(self._repo, summary, source)
        if self._asked is not None and is_url(source):
            return take_page(self._asked, source, entry.fields, self._repo.options.now())
        outside = Outside(file, expanded(source).name)
        return take(outside, self._sources, self._repo.options.limits, source)

    def _changed(
        self, entry: Entry, old: str, incoming: Incoming, body: str, answer: Refreshed
    ) -> Looked:
        """The new text of an entry, with the diff that a reviewer sees."""
        allowed = secrets.fields(self._allow, existing=entry.fields, text=body)
        new = refreshed_text(old, entry, incoming, body, allowed)
        described = Change(entry.file, new.encode(), expect=blob_id(old.encode()))
        is_copy_of_code = entry.kind is Kind.SCRIPT and self._repo.store.exists(entry.path)
        if not is_copy_of_code:
            answer = _with_diff(answer, entry.body.encode(), body.encode())
            checked(entry.file, new.encode(), was=entry)
            return Looked(answer, (described,))
        # what runs is what a reviewer must see
        answer = _with_diff(answer, entry.code.encode(), incoming.data)
        checked(entry.path, incoming.data, new.encode(), was=entry)
        before = self._repo.store.read(entry.path)
        copy = Change(entry.path, incoming.data, expect=blob_id(before))
        return Looked(answer, (copy, described))


def _with_diff(answer: Refreshed, before: bytes, after: bytes) -> Refreshed:
    """The answer on a doc that changed, with the diff of its text."""
    diff = unified(answer.path, before, after)
    # below the two lines that name the file
    signs = [row[:1] for row in diff.split("\n")[2:]]
    return answer._replace(
        changed=True, added=signs.count("+"), removed=signs.count("-"), diff=diff
    )


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

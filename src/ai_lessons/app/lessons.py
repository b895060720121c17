"""Lessons that a user or an agent states, makes firm, or marks wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons import app
from ai_lessons.app import authorship
from ai_lessons.app.written import LessonDraft, Written
from ai_lessons.errors import Conflict, UsageError
from ai_lessons.model.entries import LESSONS, EntrySummary, Filter, Kind, Pattern, Status
from ai_lessons.model.layout import project_name
from ai_lessons.model.lessons import CONFIDENCE, place_of, title_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ai_lessons.app.workspace import Library, RepositorySession


def lesson(
    place: Callable[[str], tuple[RepositorySession, EntrySummary]], ref: str
) -> tuple[RepositorySession, EntrySummary]:
    """The lesson that is meant, and its repository, by `place`.

    Raises as that; UsageError: it is no lesson.
    """
    repo, summary = place(ref)
    if summary.kind is not Kind.LESSON:
        hint = f"ai-lessons recall show {summary.handle}"
        raise UsageError(f"{summary.handle} is a {summary.kind}, not a lesson", hint=hint)
    return repo, summary


def is_firm(summary: EntrySummary) -> bool:
    """Whether the user stated it in person, as far as this machine and git's history tell.

    See `authorship`.
    """
    return bool(summary.origin.firm)


def refuse_wrong(summary: EntrySummary) -> None:
    """What is marked wrong goes nowhere. Raises Conflict."""
    if summary.status == Status.WRONG:
        hint = f"if it is right after all: ai-lessons contribute update {summary.handle} --status active"
        raise Conflict(f"{summary.handle} is marked wrong, so it is not promoted", hint=hint)


def add(library: Library, pattern: Pattern, *, scope: str = "", by: str = "ai") -> Written:
    """A new lesson (added), unless it is there (unchanged).

    A person makes firm what an agent drafted (confirmed).

    Raises UsageError: the scope cannot be a folder. InvalidEntry: the pattern breaks the format.
    """
    repo = library.primary
    if repo.options.agent:
        by = "ai"
    at = place_of(scope)
    in_scope = Filter(
        kinds=LESSONS, project=project_name(at.project), status=None, scopes=frozenset((at.stated,))
    )
    same = [
        summary
        for summary in repo.current().select(in_scope)
        if summary.stated.pattern == str(pattern)
    ]
    active = [summary for summary in same if summary.status == Status.ACTIVE]
    if active and (by != "user" or any(map(is_firm, active))):
        return _unchanged(active[0], by)
    if active:
        # a person states what is written already, whoever wrote it: it is firm here from now on
        summary, entry = active[0], repo.load(active[0].id)[0]
        changes = {"from": authorship.USER, "confidence": CONFIDENCE["user"]}
        authorship.confirm(repo, entry._replace(fields={**entry.fields, **changes}))
        done = change(repo, summary, changes, "confirmed", f"Confirm lesson: {summary.title}")
        return done._replace(change="confirmed")
    draft = LessonDraft(
        title_of(pattern), project=at.project, scope=at.stated, confidence=CONFIDENCE[by], origin=by
    )
    written = app.editing.add_lesson(library, draft._replace(**pattern.parts))
    notes = [*written.notes]
    for summary in same:
        # those that are not active any more
        fields = repo.catalog.fields(summary.id)
        history = f"was promoted to {', '.join(promoted_to(fields)) or 'another place'}"
        if summary.status == Status.WRONG:
            history = "was marked wrong" + (f": {fields['reason']}" if fields.get("reason") else "")
        notes.append(f"{summary.handle} says the same and {history}")
    return written._replace(notes=tuple(notes), change="added", origin=by)


def wrong(library: Library, ref: str, reason: str = "", *, by: str = "ai") -> Written:
    """Mark a lesson as wrong: it leaves all results, its file and history stay.

    Again only changes the reason.

    Raises Refused: an agent calls, and a person stated it. NotFound; UsageError: it is not a
    lesson.
    """
    repo, summary = lesson(library.writing, ref)
    reason = " ".join(reason.split())
    settled = summary.status == Status.WRONG and not reason
    if is_firm(summary) and (by != "user" or repo.options.agent) and not settled:
        if reason:
            why = f" ({reason})"
        else:
            why = ""
        authorship.refuse(
            repo, summary, f"mark it wrong{why}", f"lesson wrong {summary.handle} --from user"
        )
    changes: dict[str, Any] = {"status": Status.WRONG.value} | (
        {"reason": reason} if reason else {}
    )
    left = promoted_to(repo.catalog.fields(summary.id))
    done = change(repo, summary, changes, "wrong", f"Mark lesson wrong: {summary.title}")
    repo.note_status(summary, Status.WRONG.value)
    notes = (f"it still stands in {name}: take it out there by hand" for name in left)
    return done._replace(notes=(*done.notes, *notes))


def promoted_to(fields: Mapping[str, Any]) -> list[str]:
    """The targets that a lesson was promoted to, as its frontmatter names them."""
    stated = fields.get("promoted_to")
    results: list[str] = []
    for name in stated if isinstance(stated, list) else [stated]:
        if name:
            results.append(str(name))
    return results


def change(
    repo: RepositorySession,
    summary: EntrySummary,
    changes: Mapping[str, Any],
    what: str,
    subject: str,
) -> Written:
    """Change keys of a lesson's frontmatter.

    Raises InvalidEntry: it breaks the format; Conflict: it was changed.
    """
    done = app.editing.change(repo, summary, changes, subject)
    origin = str(changes.get("from") or summary.stated.from_ or "")
    if app.editing.UNCHANGED in done.notes:
        return _unchanged(summary, origin)
    return done._replace(change=what, origin=origin)


def _unchanged(summary: EntrySummary, by: str) -> Written:
    names = summary.id, summary.handle, summary.kind, summary.title, summary.path
    return Written(*names, None, (), summary.tier, "unchanged", by)

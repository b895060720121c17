"""What the page changes: a person approves, edits and turns down as on the command line; agents are refused."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import quote

from ai_lessons import app
from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Refused, UsageError
from ai_lessons.features.look import drawing, pages, review_pages
from ai_lessons.model.events import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ai_lessons.app.workspace import Library
    from ai_lessons.errors import AiLessonsError

STATUSES = {NotFound: 404, Refused: 403, UsageError: 400, InvalidEntry: 400, Conflict: 409}


class Done(NamedTuple):
    """What is said of it, the page to go to, and the commit of a decision that can be taken back.

    `again`: nothing was saved, and this page shows what was typed, with this `status`.
    """

    messages: tuple[str, ...] = ()
    next: str = "review"
    undo: str = ""
    again: Callable[[Library], pages.Page] | None = None
    status: int = 303


class Notice(NamedTuple):
    """A sentence at the top of the next page, and the decision that its button takes back."""

    text: str
    undo: str = ""


Form: TypeAlias = "Callable[[Library, Mapping[str, str]], Done]"


def approve(library: Library, form: Mapping[str, str]) -> Done:
    """Approve the proposal as it was shown."""
    done = app.review.approve_rule(library, form.get("ref", ""), expect=form.get("commit", ""))
    return Done(_decided("Approved", [done]), _after(form), done.commit)


def _after(form: Mapping[str, str]) -> str:
    """The page of the proposal that stood behind the one that was decided about."""
    if form.get("after"):
        return f"review?ref={quote(form['after'])}"
    return "review"


def undo(library: Library, form: Mapping[str, str]) -> Done:
    """Take a decision back by the next one: what was decided about waits again."""
    done = app.review.take_back(library, form.get("commit", ""))
    return Done(
        (f"Taken back: {done.handle} {done.title} waits again", *done.warnings),
        f"review?ref={quote(done.branch)}",
    )


def approve_batch(library: Library, form: Mapping[str, str]) -> Done:
    """Approve all proposals of an import, with one merge, if they are those that were shown."""
    batch = form.get("batch", "")
    # a commit, its branch, and so on
    shown = form.get("shown", "").split()
    chosen = dict(zip(shown[1::2], shown[::2], strict=False))
    done = app.review.approve_rules(library, chosen, f"of batch {batch}")
    return Done(_decided("Approved", done))


def reject(library: Library, form: Mapping[str, str]) -> Done:
    """Turn the proposal down as it was shown, with a reason."""
    reason, commit = form.get("reason", ""), form.get("commit", "")
    done = app.review.reject_rule(library, form.get("ref", ""), reason=reason, expect=commit)
    return Done(_decided("Rejected", [done]), _after(form), done.commit)


def edit(library: Library, form: Mapping[str, str]) -> Done:
    """Another text of the proposal, as one more commit; it waits as before."""
    # as browsers end lines
    text = form.get("text", "").replace("\r\n", "\n")
    ref, commit = form.get("ref", ""), form.get("commit", "")
    try:
        done = app.review.edit_proposal(library, ref, lambda _old, _suffix: text, commit)
    except (InvalidEntry, Refused, Conflict, UsageError) as error:
        typed = drawing.Edit(text, commit, problem=_problem(error))
        return _typed_again(partial(review_pages.review, asked=form), typed, error, ref)
    if done is None:
        return Done(("Nothing was changed.",))
    return Done(
        (f"Edited {done.handle}: {done.title}", *done.warnings), f"review?ref={quote(done.branch)}"
    )


def edit_entry(library: Library, form: Mapping[str, str]) -> Done:
    """Another text of an entry's file, if it is the one that was shown; of a rule a proposal."""
    text, ref, mark = (
        form.get("text", "").replace("\r\n", "\n"),
        form.get("ref", ""),
        form.get("mark", ""),
    )
    page, now = partial(pages.entry, asked={"ref": ref, "edit": "yes"}), list[str]()

    def editor(old: str, _suffix: str) -> str | None:
        now.append(old)
        if pages.text_mark(old) == mark:
            return text
        return None

    try:
        done = app.editing.edit(library, ref, editor)
    except (InvalidEntry, Refused, Conflict, UsageError) as error:
        return _typed_again(page, drawing.Edit(text, mark, problem=_problem(error)), error)
    if pages.text_mark(now[0]) != mark:
        changed = Conflict(
            "the file was changed while you edited it; saving now puts your text in its place"
        )
        return _typed_again(
            page, drawing.Edit(text, pages.text_mark(now[0]), now[0], _problem(changed)), changed
        )
    if done is None:
        return Done(("Nothing was changed.",), drawing.href(ref))
    if done.proposed_on:
        return Done(
            (f"Proposed {done.handle}: {done.title}", *done.notes),
            f"review?ref={quote(done.proposed_on)}",
        )
    return Done((f"Saved {done.handle}: {done.title}", *done.notes), drawing.href(done.id))


def feedback(library: Library, form: Mapping[str, str]) -> Done:
    """How an entry did: its confidence learns from it."""
    ref, outcome = form.get("ref", ""), form.get("outcome", "")
    if outcome not in OUTCOMES:
        raise UsageError(f"an entry was {', '.join(OUTCOMES)}")
    repo, summary = library.holding(ref)
    notes = repo.learned.say(summary, outcome, form.get("note", ""))
    return Done((f"Noted: {summary.handle} was {outcome}", *notes), drawing.href(ref))


def _typed_again(
    job: Callable[[Library], pages.Page],
    typed: drawing.Edit,
    error: AiLessonsError,
    branch: str = "",
) -> Done:
    """The page with what was typed, unless the proposal of the `branch` is no more open, and another one is shown."""

    def page(library: Library) -> pages.Page:
        shown = job(library)
        proposal = shown.values.get("one")
        edited: drawing.Edit | None = typed
        if branch and (proposal is None or proposal.branch != branch):
            # what was typed belongs to no proposal that is shown
            edited = None
        return shown._replace(values={**shown.values, "edit": edited})

    return Done(again=page, status=status_of(error))


def status_of(error: AiLessonsError) -> int:
    """The status of an answer that says what went wrong."""
    for kind, status in STATUSES.items():
        if isinstance(error, kind):
            return status
    return 500


def _problem(error: AiLessonsError) -> str:
    if error.hint:
        return f"Nothing was saved: {error.message} ({error.hint})"
    return f"Nothing was saved: {error.message}"


def _decided(word: str, decisions: Iterable[app.review.Decided]) -> tuple[str, ...]:
    results = []
    for decision in decisions:
        for message in (f"{word} {decision.handle}: {decision.title}", *decision.notes):
            results.append(message)
    return tuple(results)


FORMS: Mapping[str, Form] = {
    "/review/approve": approve, "/review/approve-batch": approve_batch, "/review/reject": reject, "/review/edit": edit,
    "/review/undo": undo, "/entry/edit": edit_entry, "/entry/feedback": feedback,
}  # fmt: skip

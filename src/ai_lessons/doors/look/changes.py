"""What the page changes: proposals are approved, edited and turned down, as on the command line. Agents are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import quote

from ai_lessons import library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ai_lessons.library.opened import Library
    from ai_lessons.library.reports import Decided


class Done(NamedTuple):
    """What is said of it, and the page to go to."""

    said: tuple[str, ...]
    next: str = "/review"


Form: TypeAlias = "Callable[[Library, Mapping[str, str]], Done]"


def approve(opened: Library, given: Mapping[str, str]) -> Done:
    """Approve the proposal as it was shown."""
    done = library.review.approve_rule(opened, given.get("ref", ""), expect=given.get("commit", ""))
    return Done(_decided("Approved", [done]))


def approve_batch(opened: Library, given: Mapping[str, str]) -> Done:
    """Approve all proposals of an import, with one merge, if they are those that were shown."""
    batch = given.get("batch", "")
    shown = given.get("shown", "").split()  # a commit, its branch, and so on
    chosen = dict(zip(shown[1::2], shown[::2], strict=False))
    done = library.review.approve_rules(opened, chosen, f"of batch {batch}")
    return Done(_decided("Approved", done))


def reject(opened: Library, given: Mapping[str, str]) -> Done:
    """Turn the proposal down as it was shown, with a reason."""
    reason, commit = given.get("reason", ""), given.get("commit", "")
    done = library.review.reject_rule(opened, given.get("ref", ""), reason=reason, expect=commit)
    return Done(_decided("Rejected", [done]))


def edit(opened: Library, given: Mapping[str, str]) -> Done:
    """Another text of the proposal, as one more commit; it waits as before."""
    text = given.get("text", "").replace("\r\n", "\n")  # as browsers end lines
    done = library.review.edit_proposal(opened, given.get("ref", ""), lambda _old, _suffix: text)
    if done is None:
        return Done(("Nothing was changed.",))
    return Done((f"Edited {done.handle}: {done.title}", *done.warnings), f"/review?ref={quote(done.branch)}")


def _decided(word: str, done: Iterable[Decided]) -> tuple[str, ...]:
    return tuple(said for one in done for said in (f"{word} {one.handle}: {one.title}", *one.notes))


FORMS: Mapping[str, Form] = {"approve": approve, "approve-batch": approve_batch, "reject": reject, "edit": edit}

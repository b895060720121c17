"""What sharing a repository tells, as text for people. Pure: takes answers, returns text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import clean, count, line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.doors.terminal import View
    from ai_lessons.library.syncing import Conflicts, Recovered, Resolved, Synced, TornEntry, Undone

CHOOSE = "ai-lessons admin conflicts {} --take ours|theirs|edit"
INDENT = "    "


def synced(value: Synced, view: View) -> str:
    """What came in and went out; or what needs a person, with both versions and the next command."""
    place = line(f"{value.remote}/{value.branch}")
    rows = list(_proposals(value))
    if value.conflicts:
        many = count(len(value.conflicts), "file")
        head = f"{many} changed here and on {place} cannot be merged. Your branch and your files are as they were."
        kept = [f"Your side is kept on {line(value.kept)}, here and on {line(value.remote)}."]
        return "\n".join([head, *(entry for one in value.conflicts for entry in _torn(one, view)), "", *kept, *rows])
    if not (value.received or value.sent or rows):
        return f"Nothing new: {place} and this branch are the same."
    merged = [f"  merged: {view.place(path)}" for path in value.merged]
    moved = f"{place}: {count(value.received, 'commit')} came in, {count(value.sent, 'commit')} went out."
    return "\n".join([moved, *merged, *rows])


def _proposals(value: Synced) -> Iterator[str]:
    yield from (f"  proposal sent: {line(name)}" for name in value.proposals)
    yield from (f"  proposal arrived: {line(name)} (ai-lessons admin review-rules)" for name in value.arrived)


def _torn(one: TornEntry, view: View) -> Iterator[str]:
    """One conflict, both versions as changes of what they began with; indented, so that they cannot pass for ours."""
    yield ""
    yield f"{view.paint(f'[{line(one.id)}]', 'handle')} {line(one.title)}"
    yield f"  path: {view.place(one.path)}"
    yield f"  both changed: {line(', '.join(one.reasons))}"
    yield "  yours:"
    yield from _diff(one.our_diff, one.ours)
    yield "  theirs:"
    yield from _diff(one.their_diff, one.theirs)
    yield f"  choose: {CHOOSE.format(line(one.id))}"


def _diff(diff: str, text: str | None) -> Iterator[str]:
    if not diff:
        yield f"{INDENT}(no such file)" if text is None else f"{INDENT}(as it was)"
    rows = clean(diff).splitlines()
    yield from (f"{INDENT}{row}" for row in rows if not row.startswith(("--- ", "+++ ")))


def conflicts(value: Conflicts, view: View) -> str:
    """Every file that needs a person, with both versions."""
    if not value.entries:
        return f"No conflict with {line(value.theirs)}, as of the last sync."
    return "\n".join(row for one in value.entries for row in _torn(one, view)).lstrip("\n")


def resolved(value: Resolved, view: View) -> str:
    """What was chosen, and what is left or comes next."""
    head = f"{view.paint(f'[{line(value.id)}]', 'handle')} settled: {line(value.take)}"
    if value.left:
        names = ", ".join(line(one.id) for one in value.left)
        return (
            f"{head}\n{count(len(value.left), 'conflict')} left: {names}\nNext: {CHOOSE.format(names.split(', ')[0])}"
        )
    return f"{head}\nMerged in {line(value.commit or '')[:10]}. Share it: ai-lessons admin sync"


def recovered(value: Recovered, _view: View) -> str:
    """What was brought back, and what is still kept."""
    rows = [f"Brought back: {line(one.path)}" for one in value.brought]
    rows += [f"committed {line(commit)[:10]}" for commit in value.commits]
    rows += [f"{line(note)}" for note in value.notes]
    if value.kept:
        rows.append("Taken away before the commit, kept for 30 days:")
        rows += [
            f"  {f'{line(one.handle)}  ' if one.handle else ''}{line(one.title)}  ({line(one.path)}, {line(one.when)})"
            for one in value.kept
        ]
        rows.append("Bring it back: ai-lessons admin recover [ID]")
    return "\n".join(rows) or "Nothing was taken away."


def undone(values: Sequence[Undone], _view: View) -> str:
    """Each job that was taken back."""
    rows = []
    for one in values:
        rows.append(f"Undone: {line(one.subject)} ({line(one.undone)[:10]})")
        rows += [f"  {line(path)}" for path in one.paths[:10]]
        rows += [f"  and {len(one.paths) - 10} more"] if len(one.paths) > 10 else []
        rows += [f"  {line(note)}" for note in one.notes if note.startswith("waiting: ")]
    return "\n".join(rows)

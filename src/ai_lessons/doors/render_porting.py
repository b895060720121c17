"""What moving in, out and back tells, as text for people. Pure: takes answers, returns text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.render_jobs import FEW, WAITING, writes
from ai_lessons.doors.terminal import count, line, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.doors.terminal import View
    from ai_lessons.library.migrating import Migrated
    from ai_lessons.library.porting.import_bundle import Ported
    from ai_lessons.library.porting.porting_export import Exported
    from ai_lessons.library.restoring import Restored, Snapshot, Taken
    from ai_lessons.library.rule_answers import Suggested

REVIEW = "Rules count once a person has approved them: ai-lessons admin review-rules"
DRY = "Nothing was written. Without --dry-run this is what would be done."


def ported(value: Ported, view: View) -> str:
    """Each new entry where there are few, the sums, the proposals, then what was left out."""
    rows = [writes(value.written, view)] if 0 < len(value.written) <= FEW else []
    sums = [f"{count(len(value.written), 'entry')} added", f"{value.unchanged:,} here already"]
    sums += [f"{len(value.skipped):,} skipped", count(value.relations, "relation"), count(value.events, "event")]
    sums += [f"{count(len(value.queued), 'rule')} queued as proposals"]
    rows.append(", ".join(sums))
    rows += _waiting(value.notes) if not 0 < len(value.written) <= FEW else []
    rows += _queued(value.queued, view)
    rows += _some(f"skipped {line(where)}: {line(reason)}" for where, reason in value.skipped)
    return "\n".join([*rows, *([DRY] if value.dry_run else [])])


def _queued(values: Sequence[Suggested], view: View) -> Iterator[str]:
    yield from _some(
        f"{view.paint(f'[{line(one.handle)}]', 'handle')} {line(one.title)}"
        + (f" ({line(one.branch)})" if one.branch else "")
        for one in values
    )
    if values:
        yield REVIEW


def _some(said: Iterable[str]) -> Iterator[str]:
    rows = list(said)
    yield from (f"  {row}" for row in rows[:FEW])
    if len(rows) > FEW:
        yield f"  … and {len(rows) - FEW:,} more (--json names them all)"


def _waiting(notes: Sequence[str]) -> list[str]:
    return [f"  {line(note)}" for note in notes if note.startswith(WAITING)]


def exported(value: Exported, _view: View) -> str:
    """Which files were written, and what is in them."""
    rows = [f"{line(path)}: {line(done)}" for path, done in value.files]
    if value.form == "groove":
        kinds = [("lesson", value.lessons), ("rule", value.rules), ("doc", value.docs), ("script", value.scripts)]
        rows.append(", ".join([*(count(number, kind) for kind, number in kinds), count(value.events, "event")]))
    else:
        rows.append(f"{count(value.rules, 'rule')} in force")
    rows += _some(f"left out {line(path)}: {line(reason)}" for path, reason in value.skipped)
    return "\n".join(rows)


def migrated(value: Migrated, view: View) -> str:
    """What the migration did, and how to take it back."""
    if value.old == value.new:
        return f"This repository has format {value.new}, the newest one: nothing to migrate."
    rows = [f"{'From' if value.dry_run else 'Migrated from'} format {value.old} to {value.new}"]
    rows += [f"  {line(step)}" for step in value.steps]
    rows.append(f"{count(len(value.changed), 'file')} changed")
    rows += [*_some(map(line, value.changed)), *_waiting(value.notes), *_queued(value.queued, view)]
    if value.snapshot:
        rows.append(f"Before: {line(value.snapshot)}. Take it back: ai-lessons admin undo")
    return "\n".join([*rows, *([DRY] if value.dry_run else [])])


def taken(value: Taken, _view: View) -> str:
    """The tag, and how to keep it elsewhere."""
    name = line(value.name)
    return (
        f"Snapshot {name} of {line(value.commit)[:10]}\nTo keep it elsewhere, too: git push origin {name}\n"
        f"Back to it: ai-lessons admin restore --all --to {name}"
    )


def snapshots(values: Sequence[Snapshot], view: View) -> str:
    """One line a snapshot."""
    if not values:
        return "No snapshot yet. Every commit is one, too: git log"
    rows = [(line(one.name), line(one.commit)[:10], line(one.when), line(one.message)) for one in values]
    return "\n".join(table(("NAME", "COMMIT", "MADE", "SAYS"), rows, view, flexible=(3,)))


def restored(value: Restored, view: View) -> str:
    """Which files came back or went, and which rules wait."""
    when = line(value.when)
    if not (value.written or value.removed or value.queued):
        return f"Nothing to do: all is as it was in {line(value.source)[:10]} ({when})."
    head = f"{'As' if value.dry_run else 'Restored as'} of {line(value.source)[:10]} ({when})"
    rows = [head, f"{count(len(value.written), 'file')} brought back, {len(value.removed):,} removed"]
    rows += _some(view.place(path) for path in value.written)
    rows += _some(f"removed: {view.place(path)}" for path in value.removed)
    rows += [*_waiting(value.notes), *_queued(value.queued, view)]
    return "\n".join([*rows, *([DRY] if value.dry_run else [])])

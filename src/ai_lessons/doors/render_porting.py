"""What moving in, out and back tells, as text for people. Pure: takes answers, returns text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.render_jobs import FEW, WAITING, writes
from ai_lessons.doors.terminal import count, line, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.doors.terminal import View
    from ai_lessons.library.exporting import Exported
    from ai_lessons.library.import_bundle import Ported
    from ai_lessons.library.installing import Host, Target
    from ai_lessons.library.restoring import Migrated, Restored, Snapshot
    from ai_lessons.library.rules.rule_answers import Suggested

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


def migrated(value: Migrated, _view: View) -> str:
    """What the migration did, and how to take it back."""
    if value.old == value.new:
        return f"This repository has format {value.new}, the newest one: nothing to migrate."
    rows = [f"{'From' if value.dry_run else 'Migrated from'} format {value.old} to {value.new}"]
    rows += [f"  {line(step)}" for step in value.steps]
    rows.append(f"{count(len(value.changed), 'file')} changed")
    rows += [*_some(map(line, value.changed)), *_waiting(value.notes)]
    if value.snapshot:
        rows.append(f"Before: {line(value.snapshot)}. Take it back: ai-lessons admin undo")
    return "\n".join([*rows, *([DRY] if value.dry_run else [])])


def taken(value: Snapshot, _view: View) -> str:
    """The tag, and how to keep it elsewhere."""
    name = line(value.name)
    return (
        f"Snapshot {name} of {line(value.commit)[:10]}\nTo keep it elsewhere, too: git push origin {name}\n"
        f"Back to it: ai-lessons admin restore --all --to {name}"
    )


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


WAYS = {
    "session-start": "text at the start of a session",
    "edit": "text around an edit",
    "instructions": "instructions",
    "mcp": "MCP server",
}
NONE = "No agent host was found: no program on the path, no folder of one, no file of one here."


def hosts(found: Sequence[Host], view: View) -> str:
    """A line for each host, then for each the ways to its agent."""
    if not found:
        return NONE
    rows = [(host.name, ", ".join(host.found), _events(host), _ours(host)) for host in found]
    lines = table(("HOST", "FOUND", "HOOKS", "OURS"), rows, view, flexible=(1, 2))
    for host in found:
        lines += ["", view.paint(line(host.name), "heading"), *map(_target, host.targets)]
        lines += [f"  {view.paint('cannot be read:', 'warn')} {line(place)}" for place in host.unreadable]
    return "\n".join(lines)


def _events(host: Host) -> str:
    return ", ".join(dict.fromkeys(event for events in host.hooks.values() for event in events))


def _ours(host: Host) -> str:
    return ", ".join(dict.fromkeys(target.way for target in host.targets if target.ours))


def _target(target: Target) -> str:
    state = "ours is there" if target.ours else "nothing of ours" if target.there else "no file"
    return f"  {WAYS[target.way]}: {line(target.place)} ({state})"

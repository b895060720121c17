"""What sharing, moving in and out, and going back tell, as text for people. Pure: takes answers, returns text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ai_lessons.doors import render
from ai_lessons.doors.render_jobs import FEW, WAITING, beginning, some, writes
from ai_lessons.doors.render_rules import BATCH
from ai_lessons.doors.terminal import clean, count, line, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.doors.terminal import View
    from ai_lessons.library.exporting import Exported
    from ai_lessons.library.setup import Host, HostChange, Migrated
    from ai_lessons.library.syncing import Conflicts, Recovered, Resolved, Synced, TornEntry, Undone
    from ai_lessons.library.transfer import Ported

REVIEW = "Rules count once a person has approved them: ai-lessons admin review-rules"
DRY = "Nothing was written. Without --dry-run this is what would be done."


def ported(value: Ported, view: View) -> str:
    """Each new entry where there are few, the sums, the proposals, then what was left out."""
    rows = [writes(value.written, view)] if 0 < len(value.written) <= FEW else []
    fates = Counter(one.became for one in value.seen)
    sums = [f"{count(len(value.written), 'entry')} added", f"{value.unchanged:,} here already"]
    sums += [f"{fates['skipped']:,} skipped", count(value.relations, "relation"), count(value.events, "event")]
    sums += [f"{count(len(value.queued), 'rule')} queued as proposals"]
    sums += [f"{fates[fate]:,} {fate}" for fate in ("joined", "not recognised") if fates[fate]]
    rows.append(", ".join(sums))
    rows += beginning(WAITING, value.notes) if not 0 < len(value.written) <= FEW else []
    rows += some(
        view.named(one.handle, one.title) + (f" ({line(one.branch)})" if one.branch else "") for one in value.queued
    )
    rows += [REVIEW] if value.queued else []
    rows += [f"All of them with one merge: {BATCH} {value.batch}"] if value.batch and not value.dry_run else []
    for fate in ("skipped", "joined", "not recognised"):
        words = "the same as " if fate == "joined" else ""
        rows += some(
            f"{fate} {line(one.where)}" + (f": {words}{line(one.about)}" if one.about else "")
            for one in value.seen
            if one.became == fate
        )
    return "\n".join([*rows, *([DRY] if value.dry_run else [])])


def exported(value: Exported, _view: View) -> str:
    """Which files were written, and what is in them."""
    rows = [f"{line(path)}: {line(done)}" for path, done in value.files]
    if value.form in {"groove", "site"}:
        kinds = [("lesson", value.lessons), ("rule", value.rules), ("doc", value.docs), ("script", value.scripts)]
        events = [count(value.events, "event")] if value.form == "groove" else []
        rows.append(", ".join([*(count(number, kind) for kind, number in kinds), *events]))
    else:
        firm = [count(value.lessons, "lesson") + " of a person"] if value.lessons else []
        rows.append(" and ".join([f"{count(value.rules, 'rule')} in force", *firm]))
    rows += some(f"left out {line(path)}: {line(reason)}" for path, reason in value.skipped)
    return "\n".join(rows)


def migrated(value: Migrated, _view: View) -> str:
    """What the migration did, and how to take it back."""
    if value.old == value.new:
        return f"This repository has format {value.new}, the newest one: nothing to migrate."
    rows = [f"{'From' if value.dry_run else 'Migrated from'} format {value.old} to {value.new}"]
    rows += [f"  {line(step)}" for step in value.steps]
    rows.append(f"{count(len(value.changed), 'file')} changed")
    rows += [*some(map(line, value.changed)), *beginning(WAITING, value.notes)]
    if value.snapshot:
        rows.append(f"Before: {line(value.snapshot)}. Take it back: ai-lessons admin undo")
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
    rows = []
    for host in found:
        events = dict.fromkeys(event for events in host.hooks.values() for event in events)
        ours = dict.fromkeys(target.way for target in host.targets if target.ours)
        rows.append((host.name, ", ".join(host.found), ", ".join(events), ", ".join(ours)))
    lines = table(("HOST", "FOUND", "HOOKS", "OURS"), rows, view, flexible=(1, 2))
    for host in found:
        lines += ["", view.paint(line(host.name), "heading")]
        for target in host.targets:
            state = "ours is there" if target.ours else "nothing of ours" if target.there else "no file"
            lines.append(f"  {WAYS[target.way]}: {line(target.place)} ({state})")
        lines += [f"  {view.paint('cannot be read:', 'warn')} {line(place)}" for place in host.unreadable]
    return "\n".join(lines)


def host_diffs(values: Sequence[HostChange], view: View) -> str:
    """What changes in which files."""
    return "\n\n".join(render.diff(one.diff, view) for one in values if one.diff)


def connected(values: Sequence[HostChange], view: View) -> str:
    """What was done, a line for each file."""
    rows = [f"{line(one.host)}  {view.place(str(one.file))}: {line(one.done)}" for one in values]
    return "\n".join(rows) or "Nothing to do: the plugin of Claude Code is there already."


def host_change(one: HostChange) -> dict[str, str]:
    """The same as data."""
    return {"host": one.host, "file": str(one.file), "done": one.done, "diff": one.diff}


CHOOSE = "ai-lessons admin conflicts {} --take ours|theirs|edit"
INDENT = "    "


def synced(value: Synced, view: View) -> str:
    """What came in and went out; or what needs a person, with both versions and the next command."""
    place = line(f"{value.remote}/{value.branch}")
    rows = [f"  proposal sent: {line(name)}" for name in value.proposals]
    rows += [f"  proposal arrived: {line(name)} (ai-lessons admin review-rules)" for name in value.arrived]
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


def _torn(one: TornEntry, view: View) -> Iterator[str]:
    """One conflict, both versions as changes of what they began with; indented, so that they cannot pass for ours."""
    yield ""
    yield view.named(one.id, one.title)
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
        rows += beginning(WAITING, one.notes)
    return "\n".join(rows)

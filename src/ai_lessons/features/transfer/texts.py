"""What an import or an export did, as text. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ai_lessons.features.transfer.arriving import JOINED, OTHER, SKIPPED
from ai_lessons.interfaces.output import View, block, count, line
from ai_lessons.interfaces.text_jobs import BATCH, REVIEW_RULES, few, first_rows
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.features.transfer.exports import Exported
    from ai_lessons.features.transfer.jobs import Ported

OLD_FILES = (
    "What was taken in may stay: what an agent reads there word by word is told once."
    " To have it written from here instead, once it is approved:"
)
DRY = "Nothing was written. Without --dry-run this is what would be done."


def ported(value: Ported, view: View) -> str:
    """Each new entry where there are few, the sums, the proposals, then what was left out."""
    first = block(few(value.written, _sums(value), view), first_rows(_queued(value, view)))
    for fate in (SKIPPED, JOINED, OTHER):
        first = block(first, first_rows(_parts(value, fate)))
    rows = [first]
    if value.dry_run:
        return "\n".join([*rows, DRY])
    if value.old_files:
        commands = [line(file.command) for file in value.old_files]
        rows.append(block(OLD_FILES, first_rows(commands)))
    if value.queued and value.batch:
        rows.append(f"{REVIEW_RULES}; all of them with one merge: {BATCH} {line(value.batch)}")
    elif value.queued:
        rows.append(REVIEW_RULES)
    return "\n".join(rows)


def _sums(value: Ported) -> str:
    """How much of what came, without what did not."""
    fates = Counter(part.became for part in value.seen)
    sums = [count(len(value.written), "entry") + " added"]
    for number, words in (
        (value.unchanged, f"{value.unchanged:,} here already"),
        (fates[SKIPPED], f"{fates[SKIPPED]:,} skipped"),
        (value.relations, count(value.relations, "relation")),
        (value.events, count(value.events, "event")),
        (len(value.queued), count(len(value.queued), "rule") + " proposed"),
        (fates[JOINED], f"{fates[JOINED]:,} joined"),
        (fates[OTHER], f"{fates[OTHER]:,} not recognised"),
    ):
        if number:
            sums.append(words)
    return ", ".join(sums)


def _queued(value: Ported, view: View) -> Iterator[str]:
    """The proposals, each with its branch."""
    for rule in value.queued:
        if rule.branch:
            yield f"{view.named(rule)} ({line(rule.branch)})"
        else:
            yield view.named(rule)


def _parts(value: Ported, fate: str) -> Iterator[str]:
    """The parts of which this became, with the reason."""
    for part in value.seen:
        if part.became != fate:
            continue
        if not part.about:
            yield f"{fate} {line(part.where)}"
        elif fate == JOINED:
            yield f"{fate} {line(part.where)}: the same as {line(part.about)}"
        else:
            yield f"{fate} {line(part.where)}: {line(part.about)}"


def exported(value: Exported, _view: View) -> str:
    """Which files were written, and what is in them."""
    rows = [f"{line(path)}: {line(done)}" for path, done in value.files]
    if value.form in {"groove", "site", "okf"}:
        counts = [count(value.entries.get(kind, 0), kind) for kind in Kind]
        if value.form == "groove":
            counts.append(count(value.events, "event"))
        rows.append(", ".join(counts))
    else:
        words = f"{count(value.entries.get(Kind.RULE, 0), 'rule')} in force"
        lessons = value.entries.get(Kind.LESSON, 0)
        if lessons:
            words += f" and {count(lessons, 'lesson')} of a person"
        rows.append(words)
    left_out = (f"left out {line(path)}: {line(reason)}" for path, reason in value.skipped)
    return block("\n".join(rows), first_rows(left_out))

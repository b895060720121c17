"""What an import or an export did, as text. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ai_lessons.interfaces.output import View, block, count, line
from ai_lessons.interfaces.text_jobs import BATCH, REVIEW_RULES, few, first_rows
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from ai_lessons.features.transfer.jobs import Exported, Ported

OLD_FILES = (
    "What was taken in may stay: what an agent reads there word by word is told once."
    " To have it written from here instead, once it is approved:"
)
DRY = "Nothing was written. Without --dry-run this is what would be done."


def ported(value: Ported, view: View) -> str:
    """Each new entry where there are few, the sums, the proposals, then what was left out."""
    fates = Counter(part.became for part in value.seen)
    counts = {
        f"{value.unchanged:,} here already": value.unchanged,
        f"{fates['skipped']:,} skipped": fates["skipped"],
        count(value.relations, "relation"): value.relations,
        count(value.events, "event"): value.events,
        count(len(value.queued), "rule") + " proposed": len(value.queued),
        **{f"{fates[fate]:,} {fate}": fates[fate] for fate in ("joined", "not recognised")},
    }
    sums = [
        count(len(value.written), "entry") + " added",
        *(words for words, number in counts.items() if number),
    ]
    queued = (
        view.named(rule) + (f" ({line(rule.branch)})" if rule.branch else "")
        for rule in value.queued
    )
    rows = [block(few(value.written, ", ".join(sums), view), first_rows(queued))]
    for fate, words in (("skipped", ""), ("joined", "the same as "), ("not recognised", "")):
        seen = (part for part in value.seen if part.became == fate)
        texts = (
            f"{fate} {line(part.where)}" + (f": {words}{line(part.about)}" if part.about else "")
            for part in seen
        )
        rows[-1] = block(rows[-1], first_rows(texts))
    if value.batch:
        batch = f"; all of them with one merge: {BATCH} {line(value.batch)}"
    else:
        batch = ""
    if value.dry_run:
        return "\n".join([*rows, DRY])
    if value.old_files:
        commands = (line(file.command) for file in value.old_files)
        rows.append(block(OLD_FILES, first_rows(commands)))
    if value.queued:
        rows += [REVIEW_RULES + batch]
    return "\n".join(rows)


def exported(value: Exported, _view: View) -> str:
    """Which files were written, and what is in them."""
    rows = []
    for path, done in value.files:
        rows.append(f"{line(path)}: {line(done)}")
    if value.form in {"groove", "site", "okf"}:
        kinds = []
        for kind in Kind:
            kinds.append(count(value.entries.get(kind, 0), kind))
        if value.form == "groove":
            events = [count(value.events, "event")]
        else:
            events = []
        rows.append(", ".join([*kinds, *events]))
    else:
        lessons, rules = (value.entries.get(kind, 0) for kind in (Kind.LESSON, Kind.RULE))
        if lessons:
            firm = [count(lessons, "lesson") + " of a person"]
        else:
            firm = []
        rows.append(" and ".join([f"{count(rules, 'rule')} in force", *firm]))
    left = (f"left out {line(path)}: {line(reason)}" for path, reason in value.skipped)
    return block("\n".join(rows), first_rows(left))

"""What was done, what moved in and out, and how the repository stands, as text for people. Pure."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from ai_lessons.doors import render
from ai_lessons.doors.terminal import View, block, clean, columns, count, line, size, table
from ai_lessons.knowledge.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.library import exporting, indexing, opened, reports, setup, syncing, transfer

STYLES = {"ok": "good", "warning": "warn", "error": "bad"}
FEW = 10  # entries of an import are named one by one
PROPOSED = "proposed on "  # begins a note that nothing was written but a proposal, and on which branch
BATCH = "ai-lessons admin approve-rule --batch"
REVIEW_RULES = "Rules count once a person has approved them: ai-lessons admin review-rules"
DRY = "Nothing was written. Without --dry-run this is what would be done."
CHOOSE = "ai-lessons admin conflicts {} --take ours|theirs"
INDENT = "    "


def written(value: reports.Written, view: View) -> str:
    """Handle, title and path; of a rule, where it is proposed."""
    proposed = [line(note) for note in value.notes if note.startswith(PROPOSED)]
    return block(view.named(value.handle, value.title), proposed or [f"path: {view.place(value.path, value.tier)}"])


def writes(values: Sequence[reports.Written], view: View) -> str:
    """Several writes, one after the other."""
    return "\n".join(written(value, view) for value in values) or "Nothing to do."


def deleted(values: Sequence[reports.Written], view: View) -> str:
    """What is gone from the folder (git keeps its history); the removal of a rule is only proposed."""
    proposed = [any(note.startswith(PROPOSED) for note in value.notes) for value in values]
    words = ["Removal of" if waits else "Deleted" for waits in proposed]
    return "\n".join(f"{word} {written(value, view)}" for word, value in zip(words, values, strict=True))


def imported(value: reports.Imported, view: View) -> str:
    """An import: each entry where there are few, the sum where there are many, then what was left out."""
    added = f"{count(len(value.written), 'entry')} added"
    skipped = [f"skipped {line(path)}: {line(reason)}" for path, reason in value.skipped]
    return block(
        _few(value, f"{added}, {value.unchanged:,} unchanged, {len(skipped):,} skipped", view), first_rows(skipped)
    )


def _few(value: reports.Imported | transfer.Ported, sums: str, view: View) -> str:
    """The sums of an import, below its entries where there are few."""
    return f"{writes(value.written, view)}\n{sums}" if 0 < len(value.written) <= FEW else sums


def first_rows(texts: Iterable[str]) -> list[str]:
    """A few of these as rows of a block, and how many more there are."""
    rows = list(texts)
    return [*rows[:FEW], *([f"… and {len(rows) - FEW:,} more (--json names them all)"] if len(rows) > FEW else [])]


def previews(values: Sequence[reports.PassagePreview], view: View) -> str:
    """How files would be split: one line a passage."""
    header = ("#", "TOKENS", "HEADING", "BEGINS")
    blocks = []
    for path in dict.fromkeys(passage.path for passage in values):
        passages = [passage for passage in values if passage.path == path]
        rows = [
            (str(n), str(passage.tokens), passage.heading, passage.text[:100]) for n, passage in enumerate(passages, 1)
        ]
        title = (
            f"{line(path)}: {count(len(rows), 'passage')}, about {sum(passage.tokens for passage in passages):,} tokens"
        )
        blocks.append(f"{view.paint(title, 'heading')}\n{table(header, rows, view, flexible=(2, 3))}")
    return "\n\n".join(blocks) or "Nothing to split."


def refreshed(values: Sequence[reports.Refreshed], view: View) -> str:
    """Docs looked at again: what changed in each, and where its source stands now."""
    blocks = []
    for doc in values:
        state = f"changed, +{doc.added} -{doc.removed} lines" if doc.changed else "unchanged"
        source = f"source: {_short(doc.old_ref)} -> {_short(doc.new_ref)}" if doc.old_ref != doc.new_ref else ""
        warning = f"warning: {line(doc.warning)}" if doc.warning else ""
        blocks.append(block(f"{view.named(doc.handle, doc.title)}: {state}", (source, warning)))
    return "\n".join(blocks) or "No doc has a source to read again."


def _short(ref: str | None) -> str:
    if not ref:
        return "unknown"
    if ref.startswith("pkg:"):
        return line(ref)
    commit, dash, dirty = line(ref).partition("-")
    return commit[:10] + dash + dirty


def initialised(value: reports.Initialised, _view: View) -> str:
    """What `init` did and what to do next."""
    made = "Made a knowledge repository" if value.created else "The knowledge repository is complete"
    there = f"{count(value.adopted, 'file')} that lay there already, committed as they are" if value.adopted else ""
    done = block(f"{made}: {line(value.path)}", (there, *map(line, value.hooks)))
    return f'{done}\nNext: ai-lessons recall search "undo a commit"' if value.created else done


def report(value: reports.Report, _view: View) -> str:
    """Problems as `path:line: message`, then one line that sums up."""
    lines = [f"fixed {line(text)}" for text in value.fixed]
    lines += [f"{line(problem.path)}:{problem.line or 1}: {line(problem.message)}" for problem in value.problems]
    fixable = sum(problem.fixable for problem in value.problems)
    tail = f", {fixable} of them mended by: ai-lessons admin validate --fix" if fixable else ""
    return "\n".join([*lines, f"{count(value.files, 'file')} read, {count(len(value.problems), 'problem')}{tail}"])


def checks(values: Sequence[reports.Check], view: View) -> str:
    """One line a check, and below what is not well what to do about it."""
    rows = []
    for check in values:
        state = view.paint(line(check.state), STYLES.get(check.state, "warn"))
        detail = line(check.detail).replace(f"{view.home}/", "~/") if view.home else line(check.detail)
        rows.append((state, line(check.name), detail))
        rows += [("", "", f"-> {line(check.remedy)}")] if check.remedy and check.state != "ok" else []
    return columns(rows, view)


def stats(value: reports.Stats, view: View) -> str:
    """Counts and sizes."""
    rows = [(f"{kind}s", f"{number:,}") for kind, number in value.entries.items()]
    rows += [
        ("projects", f"{value.projects:,}"),
        ("tags", f"{value.tags:,}"),
        ("files", f"{value.files:,} ({size(value.bytes)})"),
        ("unreadable files", f"{value.unreadable:,}"),
        ("passages", f"{value.passages:,} ({value.vectors:,} with a vector)"),
        ("catalog", size(value.catalog_bytes)),
        ("index", size(value.index_bytes)),
        ("writes waiting for a commit", f"{value.pending:,}"),
        ("writes taken away before it", f"{value.taken_away:,}"),
        ("commits in 30 days", f"{value.commits_30_days:,}"),
        ("oldest entry", view.when(value.oldest or "-")),
        ("newest entry", view.when(value.newest or "-")),
    ]
    if value.approval_lead_time is not None:
        rows.append(("approval lead time", f"{timedelta(seconds=value.approval_lead_time)} (median)"))
    if value.clusters:
        rows.append(("related topics", f"{len(value.clusters):,} (the largest of {count(value.clusters[0], 'entry')})"))
    return "\n\n".join([pairs(dict(rows), view), *render.learned(value, view)])


def indexed(value: reports.Indexed, _view: View) -> str:
    """What a refresh of the index did."""
    lines = [f"{count(value.entries, 'entry')}, {count(value.passages, 'passage')}, {value.embedded:,} embedded"]
    lines += [f"rebuilt: {line(value.rebuilt)}"] if value.rebuilt else []
    if value.missing:
        lines.append(f"{count(value.missing, 'passage')} without a vector: found by text only until there is a model")
    return "\n".join(lines)


def stale(values: Sequence[reports.Stale], view: View) -> str:
    """Scripts whose file outside the repository moved on."""
    rows = [(resource.handle, resource.title, resource.path, resource.reason) for resource in values]
    return table(("ID", "TITLE", "PATH", "REASON"), rows, view, "Nothing is stale.", flexible=(2, 1))


def outdated(values: Sequence[reports.Outdated], view: View) -> str:
    """What a person should look at again, a line for each reason."""
    rows = [(finding.entry.handle, finding.entry.title, finding.detail) for finding in values]
    return table(("ID", "TITLE", "WHY"), rows, view, "Nothing is to be reviewed.", flexible=(1,))


def config(value: Mapping[str, object], view: View) -> str:
    """One key as its bare value (for scripts), several as a list."""
    if len(value) == 1:
        return _value(next(iter(value.values())))
    return pairs({key: _value(setting) for key, setting in value.items()}, view)


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else line("" if value is None else str(value))


def pairs(values: Mapping[str, str], view: View) -> str:
    """`name  value` in two aligned columns."""
    return columns([(line(name), line(text)) for name, text in values.items()], view)


def saved(value: tuple[Sequence[str], Sequence[str]], _view: View) -> str:
    """Commits that were made of waiting writes, and what still waits."""
    return "\n".join(_committed(*value)) or "Nothing waits for a commit."


def _committed(commits: Iterable[str], notes: Iterable[str]) -> list[str]:
    return [*(f"committed {line(commit)[:10]}" for commit in commits), *map(line, notes)]


def lines(values: Iterable[str], _view: View) -> str:
    """Lines as the library says them."""
    return "\n".join(map(clean, values)) or "Nothing to do."


def model(value: reports.ModelState, _view: View) -> str:
    """Where the model is."""
    there = f"present, {value.path} (from {value.source})"
    return f"{line(value.name)}: {line(there if value.present else 'not here: searches use full text alone')}"


def index_state(value: reports.IndexStatus, view: View) -> str:
    """What is in the index, and below it the shared one."""
    rows = {
        "model": line(value.model),
        "entries": f"{value.entries:,}",
        "passages": f"{value.passages:,} ({value.vectors:,} with a vector)",
        "size": size(value.bytes),
        "vectors": "every one is compared" if value.indexed is None else f"{value.indexed:,} in an index (IVF_SQ)",
        "outside the indices": f"{count(value.unindexed, 'passage')}, searched by reading",
    }
    return "\n\n".join(
        [pairs(rows, view), *([pairs(_shared(value.shared, value.model), view)] if value.shared else [])]
    )


def pushed(value: indexing.Pushed, view: View) -> str:
    """What lies there after a push."""
    head = f"{count(value.shared.entries, 'entry')} pushed: {line(value.shared.uri)}"
    return "\n".join([head, pairs(_shared(value.shared, value.shared.model), view), *map(line, value.notes)])


def pulled(value: indexing.Pulled, _view: View) -> str:
    """What came, and what was computed here."""
    summary = f"{count(value.came, 'vector')} came from {line(value.uri)}, {value.embedded:,} filled in here"
    missing = f"{value.missing:,} of {count(value.passages, 'passage')} are without a vector"
    return "\n".join([summary, *([missing] if value.missing else []), *map(line, value.notes)])


def _shared(value: reports.IndexStatus, model: str) -> dict[str, str]:
    if not value.model:
        return {"shared": f"nothing at {line(value.uri)}"}
    use = "the one used here" if value.model == model else "another than here: of no use"
    return {
        "shared": line(value.uri),
        "its model": f"{line(value.model)}, {use}",
        "its passages": f"{value.passages:,} of {count(value.entries, 'entry')} ({value.vectors:,} with a vector)",
    }


def tiers(states: Sequence[opened.TierState], view: View) -> str:
    """A line for each tier, and one below it where something is to be done."""
    rows = []
    for state in states:
        place = line(state.path).replace(view.home, "~", 1) if view.home else line(state.path)
        rows.append((line(state.tier), state.state, f"{place}  ({line(state.why)})".lstrip()))
        rows += [("", "", f"→ {line(state.hint)}")] if state.hint else []
    return columns(rows, view)


def ported(value: transfer.Ported, view: View) -> str:
    """Each new entry where there are few, the sums, the proposals, then what was left out."""
    fates = Counter(part.became for part in value.seen)
    sums = [f"{count(len(value.written), 'entry')} added", f"{value.unchanged:,} here already"]
    sums += [f"{fates['skipped']:,} skipped", count(value.relations, "relation"), count(value.events, "event")]
    sums += [f"{count(len(value.queued), 'rule')} proposed"]
    sums += [f"{fates[fate]:,} {fate}" for fate in ("joined", "not recognised") if fates[fate]]
    queued = (
        view.named(rule.handle, rule.title) + (f" ({line(rule.branch)})" if rule.branch else "")
        for rule in value.queued
    )
    rows = [block(_few(value, ", ".join(sums), view), first_rows(queued))]
    for fate, words in (("skipped", ""), ("joined", "the same as "), ("not recognised", "")):
        seen = (part for part in value.seen if part.became == fate)
        texts = (f"{fate} {line(part.where)}" + (f": {words}{line(part.about)}" if part.about else "") for part in seen)
        rows[-1] = block(rows[-1], first_rows(texts))
    batch = f"; all of them with one merge: {BATCH} {line(value.batch)}" if value.batch else ""
    rows += [DRY] if value.dry_run else [REVIEW_RULES + batch] if value.queued else []
    return "\n".join(rows)


def exported(value: exporting.Exported, _view: View) -> str:
    """Which files were written, and what is in them."""
    rows = [f"{line(path)}: {line(done)}" for path, done in value.files]
    if value.form in {"groove", "site"}:
        kinds = [count(value.entries.get(kind, 0), kind) for kind in Kind]
        events = [count(value.events, "event")] if value.form == "groove" else []
        rows.append(", ".join([*kinds, *events]))
    else:
        lessons, rules = (value.entries.get(kind, 0) for kind in (Kind.LESSON, Kind.RULE))
        firm = [count(lessons, "lesson") + " of a person"] if lessons else []
        rows.append(" and ".join([f"{count(rules, 'rule')} in force", *firm]))
    return block(
        "\n".join(rows), first_rows(f"left out {line(path)}: {line(reason)}" for path, reason in value.skipped)
    )


def migrated(value: setup.Migrated, _view: View) -> str:
    """What the migration did, and how to take it back."""
    if value.old == value.new:
        return f"This repository has format {value.new}, the newest one: nothing to migrate."
    rows = [block(f"Migrated from format {value.old} to {value.new}", map(line, value.steps))]
    rows.append(block(f"{count(len(value.changed), 'file')} changed", first_rows(map(line, value.changed))))
    rows += [f"Before: {line(value.snapshot)}. Take it back: ai-lessons admin undo"] if value.snapshot else []
    return "\n".join(rows)


def synced(value: syncing.Synced, view: View) -> str:
    """What came in and went out; or what needs a person, with both versions and the next command."""
    place = line(f"{value.remote}/{value.branch}")
    rows = [f"  proposal sent: {line(name)}" for name in value.proposals]
    arrived = (f"proposal arrived: {line(name)} (ai-lessons admin review-rules)" for name in value.arrived)
    rows += [f"  {row}" for row in first_rows(arrived)]
    if value.conflicts:
        many = count(len(value.conflicts), "file")
        head = f"{many} changed here and on {place} cannot be merged. Your branch and your files are as they were."
        kept = [f"Your side is kept on {line(value.kept)}, here and on {line(value.remote)}."]
        return "\n".join(
            [head, *(entry for conflict in value.conflicts for entry in _torn(conflict, view)), "", *kept, *rows]
        )
    if not (value.received or value.sent or rows):
        return f"Nothing new: {place} and this branch are the same."
    merged = [f"  merged: {view.place(path)}" for path in value.merged]
    moved = f"{place}: {count(value.received, 'commit')} came in, {count(value.sent, 'commit')} went out."
    return "\n".join([moved, *merged, *rows])


def _torn(conflict: syncing.TornEntry, view: View) -> Iterator[str]:
    """One conflict, both versions as changes of what they began with; indented, so that they cannot pass for ours."""
    yield ""
    yield view.named(conflict.id, conflict.title)
    yield f"  path: {view.place(conflict.path)}"
    yield f"  both changed: {line(', '.join(conflict.reasons))}"
    yield "  yours:"
    yield from _diff(conflict.our_diff, conflict.ours)
    yield "  theirs:"
    yield from _diff(conflict.their_diff, conflict.theirs)
    yield f"  choose: {CHOOSE.format(line(conflict.id))}"


def _diff(diff: str, text: str | None) -> Iterator[str]:
    if not diff:
        yield f"{INDENT}(no such file)" if text is None else f"{INDENT}(as it was)"
    rows = clean(diff).splitlines()
    yield from (f"{INDENT}{row}" for row in rows if not row.startswith(("--- ", "+++ ")))


def conflicts(value: syncing.Conflicts, view: View) -> str:
    """Every file that needs a person, with both versions."""
    if not value.entries:
        return f"No conflict with {line(value.theirs)}, as of the last sync."
    return "\n".join(row for conflict in value.entries for row in _torn(conflict, view)).lstrip("\n")


def resolved(value: syncing.Resolved, view: View) -> str:
    """What was chosen, and what is left or comes next."""
    head = f"{view.paint(f'[{line(value.id)}]', 'handle')} settled: {line(value.take)}"
    if value.left:
        names = ", ".join(map(line, value.left))
        return (
            f"{head}\n{count(len(value.left), 'conflict')} left: {names}\nNext: {CHOOSE.format(names.split(', ')[0])}"
        )
    return f"{head}\nMerged in {line(value.commit or '')[:10]}. Share it: ai-lessons admin sync"


def recovered(value: syncing.Recovered, _view: View) -> str:
    """What was brought back, and what is still kept."""
    rows = [f"Brought back: {line(file.path)}" for file in value.brought] + _committed(value.commits, value.notes)
    if value.kept:
        names = (f"{file.handle}  {file.title}" if file.handle else file.title for file in value.kept)
        kept = (
            f"{line(name)}  ({line(file.path)}, {line(file.when)})"
            for name, file in zip(names, value.kept, strict=True)
        )
        rows.append(block("Taken away before the commit, kept for 30 days:", kept))
        rows.append("Bring it back: ai-lessons admin recover [ID]")
    return "\n".join(rows) or "Nothing was taken away."


def undone(values: Sequence[syncing.Undone], _view: View) -> str:
    """Each job that was taken back."""
    blocks = []
    for step in values:
        head = f"Undone: {line(step.subject)} ({line(step.undone)[:10]})"
        blocks.append(block(head, first_rows(map(line, step.paths))))
    return "\n".join(blocks)

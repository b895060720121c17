"""What was done, and how the repository stands, as text for people. Pure: takes answers, returns text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors import render
from ai_lessons.doors.terminal import clean, columns, count, line, size, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.doors.terminal import View
    from ai_lessons.library import reports
    from ai_lessons.library.indexing import Pulled, Pushed
    from ai_lessons.library.opened import TierState
    from ai_lessons.library.reports import IndexStatus, Written

STYLES = {"ok": "good", "warning": "warn", "error": "bad"}
FEW = 10  # entries of an import are named one by one
WAITING = "waiting: "  # begins a note why a write has no commit yet
PROPOSED = "proposed on "  # begins a note that nothing was written but a proposal, and on which branch


def written(value: Written, view: View) -> str:
    """Handle, title, path, and what the write waits for if it is not committed yet; of a rule, where it is proposed."""
    proposed = beginning(PROPOSED, value.notes)
    rows = proposed or [f"  path: {view.place(value.path, value.tier)}", *beginning(WAITING, value.notes)]
    return "\n".join([view.named(value.handle, value.title), *rows])


def beginning(start: str, notes: Iterable[str]) -> list[str]:
    """The notes that begin like this, as lines below something."""
    return [f"  {line(note)}" for note in notes if note.startswith(start)]


def writes(values: Sequence[Written], view: View) -> str:
    """Several writes, one after the other."""
    return "\n".join(written(one, view) for one in values) or "Nothing to do."


def deleted(values: Sequence[Written], view: View) -> str:
    """What is gone from the folder (git keeps its history); the removal of a rule is only proposed."""
    words = ["Removal of" if beginning(PROPOSED, one.notes) else "Deleted" for one in values]
    return (
        "\n".join(f"{word} {written(one, view)}" for word, one in zip(words, values, strict=True)) or "Nothing to do."
    )


def imported(value: reports.Imported, view: View) -> str:
    """An import: each entry where there are few, the sum where there are many, then what was left out."""
    few = 0 < len(value.written) <= FEW
    added = count(len(value.written), "entry")
    lines = [writes(value.written, view)] if few else []
    lines.append(f"{added} added, {value.unchanged:,} unchanged, {len(value.skipped):,} skipped")
    lines += [] if few else beginning(WAITING, value.notes)
    return "\n".join([*lines, *some(f"skipped {line(path)}: {line(reason)}" for path, reason in value.skipped)])


def some(said: Iterable[str]) -> Iterator[str]:
    """A few of these as lines below something, and how many more there are."""
    rows = list(said)
    yield from (f"  {row}" for row in rows[:FEW])
    if len(rows) > FEW:
        yield f"  … and {len(rows) - FEW:,} more (--json names them all)"


def previews(values: Sequence[reports.PassagePreview], view: View) -> str:
    """How files would be split: one line a passage."""
    header = ("#", "TOKENS", "HEADING", "BEGINS")
    blocks = []
    for path in dict.fromkeys(one.path for one in values):
        passages = [one for one in values if one.path == path]
        rows = [(str(n), str(one.tokens), one.heading, one.text[:100]) for n, one in enumerate(passages, 1)]
        title = f"{line(path)}: {count(len(rows), 'passage')}, about {sum(one.tokens for one in passages):,} tokens"
        blocks.append("\n".join([view.paint(title, "heading"), *table(header, rows, view, flexible=(2, 3))]))
    return "\n\n".join(blocks) or "Nothing to split."


def refreshed(values: Sequence[reports.Refreshed], view: View) -> str:
    """Docs looked at again: what changed in each, and where its source stands now."""
    lines = []
    for one in values:
        state = f"changed, +{one.added} -{one.removed} lines" if one.changed else "unchanged"
        lines.append(f"{view.named(one.handle, one.title)}: {state}")
        if one.old_ref != one.new_ref:
            lines.append(f"  source: {_short(one.old_ref)} -> {_short(one.new_ref)}")
        if one.warning:
            lines.append(f"  warning: {line(one.warning)}")
    return "\n".join(lines) or "No doc has a source to read again."


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
    there = count(value.adopted, "file")
    lines = [f"{made}: {line(value.path)}"]
    lines += [f"  {there} that lay there already, committed as they are"] if value.adopted else []
    lines += [f"  {line(text)}" for text in value.hooks]
    return "\n".join([*lines, *(['Next: ai-lessons recall search "undo a commit"'] if value.created else [])])


def report(value: reports.Report, _view: View) -> str:
    """Problems as `path:line: message`, then one line that sums up."""
    lines = [f"fixed {line(text)}" for text in value.fixed]
    lines += [f"{line(one.path)}:{one.line}: {line(one.message)}" for one in value.problems]
    fixable = sum(one.fixable for one in value.problems)
    tail = f", {fixable} of them mended by: ai-lessons admin validate --fix" if fixable else ""
    return "\n".join([*lines, f"{count(value.files, 'file')} read, {count(len(value.problems), 'problem')}{tail}"])


def checks(values: Sequence[reports.Check], view: View) -> str:
    """One line a check, and below what is not well what to do about it."""
    rows = []
    for one in values:
        state = view.paint(line(one.state), STYLES.get(one.state, "warn"))
        rows.append((state, line(one.name), line(one.detail)))
        rows += [("", "", f"-> {line(one.remedy)}")] if one.remedy and one.state != "ok" else []
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
    if not values:
        return "Nothing is stale."
    rows = [(one.handle, one.title, one.path, one.reason) for one in values]
    return "\n".join(table(("ID", "TITLE", "PATH", "REASON"), rows, view, flexible=(2, 1)))


def outdated(values: Sequence[reports.Outdated], view: View) -> str:
    """What a person should look at again, a line for each reason."""
    if not values:
        return "Nothing is to be reviewed."
    rows = [(one.entry.handle, one.entry.title, one.detail) for one in values]
    return "\n".join(table(("ID", "TITLE", "WHY"), rows, view, flexible=(1,)))


def config(value: Mapping[str, object], view: View) -> str:
    """One key as its bare value (for scripts), several as a list."""
    if len(value) == 1:
        return _value(next(iter(value.values())))
    return pairs({key: _value(one) for key, one in value.items()}, view)


def setting(value: Mapping[str, str], _view: View) -> str:
    """What was set, as it would be written."""
    return "\n".join(f"{line(key)} = {line(text)}" for key, text in value.items())


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else line("" if value is None else str(value))


def pairs(values: Mapping[str, str], view: View) -> str:
    """`name  value` in two aligned columns."""
    return columns([(line(name), line(text)) for name, text in values.items()], view)


def saved(value: tuple[Sequence[str], Sequence[str]], _view: View) -> str:
    """Commits that were made of waiting writes, and what still waits."""
    commits, notes = value
    said = [*(f"committed {line(commit)[:10]}" for commit in commits), *map(line, notes)]
    return "\n".join(said) or "Nothing waits for a commit."


def lines(values: Iterable[str], _view: View) -> str:
    """Lines as the library says them."""
    return "\n".join(map(clean, values)) or "Nothing to do."


def model(value: reports.ModelState, _view: View) -> str:
    """Where the model is."""
    there = f"present, {value.path} (from {value.source})"
    return f"{line(value.name)}: {line(there if value.present else 'not here: searches use full text alone')}"


def index_state(value: IndexStatus, view: View) -> str:
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


def pushed(value: Pushed, view: View) -> str:
    """What lies there after a push."""
    head = f"{count(value.shared.entries, 'entry')} pushed: {line(value.shared.uri)}"
    return "\n".join([head, pairs(_shared(value.shared, value.shared.model), view), *map(line, value.notes)])


def pulled(value: Pulled, _view: View) -> str:
    """What came, and what was computed here."""
    came = f"{count(value.came, 'vector')} came from {line(value.uri)}, {value.embedded:,} filled in here"
    missing = f"{value.missing:,} of {count(value.passages, 'passage')} are without a vector"
    return "\n".join([came, *([missing] if value.missing else []), *map(line, value.notes)])


def _shared(value: IndexStatus, model: str) -> dict[str, str]:
    if not value.model:
        return {"shared": f"nothing at {line(value.uri)}"}
    use = "the one used here" if value.model == model else "another than here: of no use"
    return {
        "shared": line(value.uri),
        "its model": f"{line(value.model)}, {use}",
        "its passages": f"{value.passages:,} of {count(value.entries, 'entry')} ({value.vectors:,} with a vector)",
    }


def tiers(found: Sequence[TierState], view: View) -> str:
    """A line for each tier, and one below it where something is to be done."""
    rows = []
    for one in found:
        place = line(one.path).replace(view.home, "~", 1) if view.home else line(one.path)
        rows.append((line(one.name), one.state, f"{place}  ({line(one.why)})".lstrip()))
        rows += [("", "", f"→ {line(one.hint)}")] if one.hint else []
    return columns(rows, view)

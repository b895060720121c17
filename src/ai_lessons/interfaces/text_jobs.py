"""Answers of other jobs as text: what was written, moved, decided; how the repository stands.

Pure.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ai_lessons.app.answers import Answer, Hit
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces.output import block, clean, columns, count, line, size
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app import (
        answers,
        health,
        index_upkeep,
        migration,
        program_hooks,
        search_index,
        setup,
        sharing,
        validation,
    )
    from ai_lessons.app.answers import Context
    from ai_lessons.app.outdated import Outdated
    from ai_lessons.app.written import Imported, Skipped, Stale, Written
    from ai_lessons.interfaces.output import View

STYLES = {"ok": "good", "warning": "warn", "error": "bad"}
# entries of an import are named one by one
FEW = 10
BATCH = "ai-lessons admin approve-rule --batch"
REVIEW_RULES = "Rules count once a person has approved them: ai-lessons admin review-rules"
DRY = "Nothing was written. Without --dry-run this is what would be done."
CHOOSE = "ai-lessons admin conflicts {} --take mine|theirs"


def written(value: Written, view: View) -> str:
    """Handle, title and path; of a rule, where it is proposed."""
    place = f"path: {view.place(value.path, value.tier)}"
    if value.proposed_on:
        place = (
            f"proposed on {line(value.proposed_on)}; what is in force stays until a person takes it"
        )
    return block(view.named(value), [place])


def writes(values: Sequence[Written], view: View) -> str:
    """Several writes, one after the other."""
    return "\n".join(written(value, view) for value in values) or "Nothing to do."


def deleted(values: Sequence[Written], view: View) -> str:
    """What is gone from the folder (git keeps its history).

    The removal of a rule is only proposed.
    """
    words = []
    for value in values:
        if value.proposed_on:
            words.append("Removal of")
        else:
            words.append("Deleted")
    return "\n".join(
        f"{word} {written(value, view)}" for word, value in zip(words, values, strict=True)
    )


def imported(value: Imported, view: View) -> str:
    """An import: each entry where there are few, the sum where there are many, then what was left out."""
    added = f"{count(len(value.written), 'entry')} added"
    sums = f"{added}, {value.unchanged:,} unchanged, {len(value.skipped):,} skipped"
    return block(few(value.written, sums, view), first_rows(_skipped(value.skipped)))


def _skipped(skipped: Sequence[Skipped]) -> Iterator[str]:
    """A row for each reason; files that are left out for the same one stand in it together."""
    groups: dict[str, list[str]] = {}
    for path, reason in skipped:
        groups.setdefault(_PLACE.sub("", reason), []).append(path)
    for why, paths in groups.items():
        files = ", ".join(line(path) for path in paths[:FEW]) + (", …" if len(paths) > FEW else "")
        yield f"skipped {files if len(paths) == 1 else f'{len(paths):,} files ({files})'}: {line(why)}"


# Where in a file a reason is found
_PLACE = expression(r"^[^\s:]+:(?:\d+:)? ")


def few(written_now: Sequence[Written], sums: str, view: View) -> str:
    """The sums of an import, below its entries where there are few."""
    if 0 < len(written_now) <= FEW:
        return f"{writes(written_now, view)}\n{sums}"
    return sums


def first_rows(texts: Iterable[str]) -> list[str]:
    """A few of these as rows of a block, and how many more there are."""
    rows = list(texts)
    return [
        *rows[:FEW],
        *([f"… and {len(rows) - FEW:,} more (--json names them all)"] if len(rows) > FEW else []),
    ]


def initialised(value: setup.Initialised, view: View) -> str:
    """What `init` did and what to do next."""
    if value.created:
        made = "Made a knowledge repository"
    else:
        made = "The knowledge repository is complete"
    if value.cloned:
        made = f"Cloned {count(value.entries, 'entry')} of {line(value.cloned)}"
    if value.adopted:
        adopted = f"{count(value.adopted, 'file')} that lay there already, committed as they are"
    else:
        adopted = ""
    done = block(f"{made}: {line(value.path)}", (adopted, *map(line, value.hooks)))
    if value.question:
        following = f'search "{line(value.question)}"'
    elif value.entries:
        # nobody knows yet what these answer
        following = "recall list"
    else:
        following = 'add --title "what you learned" --content "…"'
    if value.path == view.root:
        other = ""
    else:
        other = f"--repo {line(value.path)} "
    rows = [done, *([connected(value.connected, view)] if value.connected else [])]
    if value.created:
        rows += [f"Next: ai-lessons {other}{following}"]
    if value.hosts and value.created:
        rows.append(
            f"Connect {' and '.join(map(line, value.hosts))}: ai-lessons admin hosts --install"
        )
    return "\n".join(rows)


def report(value: validation.Report, _view: View) -> str:
    """Problems as `path:line: message`, then one line that sums up."""
    lines = []
    for text in value.fixed:
        lines.append(f"fixed {line(text)}")
    lines += [
        f"{line(problem.path)}:{problem.line or 1}: {line(problem.message)}"
        for problem in value.problems
    ]
    fixable = sum(problem.fixable for problem in value.problems)
    if fixable:
        tail = f", {fixable} of them mended by: ai-lessons admin validate --fix"
    else:
        tail = ""
    return "\n".join(
        [
            *lines,
            f"{count(value.files, 'file')} read, {count(len(value.problems), 'problem')}{tail}",
        ]
    )


def checks(values: Sequence[health.Check], view: View) -> str:
    """One line a check, and below what is not well what to do about it."""
    rows = []
    for check in values:
        state = view.paint(line(check.state), STYLES.get(check.state, "warn"))
        if view.home:
            detail = line(check.detail).replace(f"{view.home}/", "~/")
        else:
            detail = line(check.detail)
        rows.append((state, line(check.name), detail))
        if check.remedy and check.state != "ok":
            rows += [("", "", f"-> {line(check.remedy)}")]
    return columns(rows, view)


def stats(value: health.Stats, view: View) -> str:
    """Counts and sizes."""
    rows = []
    for kind, number in value.entries.items():
        rows.append((f"{kind}s", f"{number:,}"))
    rows += [
        ("projects", f"{value.projects:,}"),
        ("tags", f"{value.tags:,}"),
        ("files", f"{value.files:,} ({size(value.bytes)})"),
        ("unreadable files", f"{value.unreadable:,}"),
        ("passages", f"{value.passages:,} ({value.vectors:,} with a vector)"),
        ("catalog", size(value.catalog_bytes)),
        ("index", size(value.index_bytes)),
        ("writes waiting for a commit", f"{value.pending:,}"),
        ("writes lost before their commit", f"{value.taken_away:,}"),
        ("commits in 30 days", f"{value.commits_30_days:,}"),
        ("oldest entry", view.when(value.oldest or "-")),
        ("newest entry", view.when(value.newest or "-")),
    ]
    if value.approval_lead_time is not None:
        rows.append(
            (
                "from a proposal to its approval",
                f"{timedelta(seconds=value.approval_lead_time)} (median)",
            )
        )
    if value.clusters:
        rows.append(
            (
                "related topics",
                f"{len(value.clusters):,} (the largest of {count(value.clusters[0], 'entry')})",
            )
        )
    return "\n\n".join([pairs(dict(rows), view), *interfaces_text.learned(value, view)])


def indexed(value: answers.Indexed, _view: View) -> str:
    """What a refresh of the index did."""
    if not (value.entries or value.embedded or value.rebuilt or value.missing):
        return "The index is up to date."
    lines = [
        (
            f"{count(value.entries, 'entry')}, {count(value.passages, 'passage')}, "
            f"{value.embedded:,} embedded"
        )
    ]
    if value.rebuilt:
        lines += [f"rebuilt: {line(value.rebuilt)}"]
    if value.missing:
        lines.append(
            f"{count(value.missing, 'passage')} without a vector: found by text only "
            "until they have one"
        )
    return "\n".join(lines)


def stale(values: Sequence[Stale], view: View) -> str:
    """What moved on that an entry speaks of: a file outside the repository, code, a package."""
    return (
        _reasoned([(resource, resource.reason) for resource in values], view) or "Nothing is stale."
    )


def outdated(values: Sequence[Outdated], view: View) -> str:
    """What a person should look at again, and below it why."""
    return (
        _reasoned([(finding.entry, finding.detail) for finding in values], view)
        or "Nothing is to be reviewed."
    )


def _reasoned(values: Sequence[tuple[Any, str]], view: View) -> str:
    """Each entry with its reasons below."""
    reasons = defaultdict[str, list[str]](list)
    for entry, reason in values:
        reasons[view.named(entry)].append(line(reason))
    results = []
    for name, rows in reasons.items():
        results.append(block(name, rows))
    return "\n".join(results)


def config(value: Mapping[str, object], view: View) -> str:
    """One key as its bare value (for scripts), several as a list."""
    if len(value) == 1:
        return _value(next(iter(value.values())))
    return pairs({key: _value(setting) for key, setting in value.items()}, view)


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return line("" if value is None else str(value))


def pairs(values: Mapping[str, str], view: View) -> str:
    """`name  value` in two aligned columns."""
    return columns([(line(name), line(text)) for name, text in values.items()], view)


def saved(value: tuple[Sequence[str], Sequence[str]], _view: View) -> str:
    """Commits that were made of waiting writes, and what still waits."""
    return "\n".join(_committed(*value)) or "Nothing waits for a commit."


def _committed(commits: Iterable[str], notes: Iterable[str]) -> list[str]:
    return [*(f"committed {line(commit)[:10]}" for commit in commits), *map(line, notes)]


def lines(values: Iterable[str], _view: View) -> str:
    """Lines of the library as they are."""
    return "\n".join(map(clean, values)) or "Nothing to do."


def model(value: search_index.ModelState, _view: View) -> str:
    """Where the model is."""
    state = f"present, {value.path} (from {value.source})"
    return f"{line(value.name)}: {line(state if value.present else 'not here: searches use full text alone')}"


def index_state(value: answers.IndexStatus, view: View) -> str:
    """What is in the index, and below it the shared one."""
    rows = {
        "model": line(value.model),
        "entries": f"{value.entries:,}",
        "passages": f"{value.passages:,} ({value.vectors:,} with a vector)",
        "size": size(value.bytes),
        "vectors": "compared one by one"
        if value.indexed is None
        else f"{value.indexed:,} in an index (IVF_SQ)",
        "not indexed yet": f"{count(value.unindexed, 'passage')}, read one by one",
    }
    if value.shared:
        shared = [pairs(_shared(value.shared, value.model), view)]
    else:
        shared = []
    return "\n\n".join([pairs(rows, view), *shared])


def pushed(value: index_upkeep.Pushed, view: View) -> str:
    """What lies there after a push."""
    head = f"{count(value.shared.entries, 'entry')} pushed: {line(value.shared.uri)}"
    return "\n".join(
        [head, pairs(_shared(value.shared, value.shared.model), view), *map(line, value.notes)]
    )


def pulled(value: index_upkeep.Pulled, _view: View) -> str:
    """What came, and what was computed here."""
    summary = f"{count(value.came, 'vector')} came from {line(value.uri)}, {value.embedded:,} filled in here"
    missing = f"{value.missing:,} of {count(value.passages, 'passage')} are without a vector"
    return "\n".join([summary, *([missing] if value.missing else []), *map(line, value.notes)])


def _shared(value: answers.IndexStatus, model: str) -> dict[str, str]:
    if not value.model:
        return {"shared": f"nothing at {line(value.uri)}"}
    if value.model == model:
        use = "the one used here"
    else:
        use = "another than here: of no use"
    return {
        "shared": line(value.uri),
        "its model": f"{line(value.model)}, {use}",
        "its passages": (
            f"{value.passages:,} of {count(value.entries, 'entry')} ({value.vectors:,} with a "
            "vector)"
        ),
    }


def migrated(value: migration.Migrated, _view: View) -> str:
    """What the migration did, and how to take it back."""
    if value.old == value.new:
        return f"This repository has format {value.new}, the newest one: nothing to migrate."
    rows = [block(f"Migrated from format {value.old} to {value.new}", map(line, value.steps))]
    rows.append(
        block(f"{count(len(value.changed), 'file')} changed", first_rows(map(line, value.changed)))
    )
    if value.snapshot:
        rows += [f"Before: {line(value.snapshot)}. Take it back: ai-lessons admin undo"]
    return "\n".join(rows)


def synced(value: sharing.Synced, view: View) -> str:
    """What came in and went out.

    Or what needs a person, with both versions and the next command.
    """
    place = line(f"{value.remote}/{value.branch}")
    rows = []
    for name in value.proposals:
        rows.append(f"  proposal sent: {line(name)}")
    arrived = (
        f"proposal arrived: {line(name)} (ai-lessons admin review-rules)" for name in value.arrived
    )
    rows += [f"  {row}" for row in first_rows(arrived)]
    if value.conflicts:
        many = count(len(value.conflicts), "file")
        head = f"{many} changed here and on {place} cannot be merged. Your branch and your files are as they were."
        kept = f"The last choice ends the sync. Your side is kept on {line(value.kept)}, here and on {line(value.remote)}."
        torn = (row for conflict in value.conflicts for row in _torn(conflict, view))
        return "\n".join([head, *torn, "", kept, *rows])
    if not (value.received or value.sent or rows):
        return f"Nothing new: {place} and this branch are the same."
    merged = []
    for path in value.merged:
        merged.append(f"  merged: {view.place(path)}")
    moved = f"{place}: {count(value.received, 'commit')} came in, {count(value.sent, 'commit')} went out."
    return "\n".join([moved, *merged, *rows])


def placed(files: Sequence[program_hooks.ManagedFile], view: View) -> str:
    """A line for each file of a host, and below it what to know of it."""
    rows = []
    for file in files:
        rows.append(f"{line(file.host)}: {view.short(file.path)}: {file.done}")
        if file.advice:
            rows.append(f"  {file.advice}")
    return "\n".join(rows)


def synced_tier(value: sharing.Synced, view: View, tier: str, cloned: str = "") -> str:
    """The same of a tier that is not the one that is written to."""
    text = synced(value, view)
    if cloned and not value.conflicts:
        text = line(cloned)
    return f"{line(tier)}: {text}"


def _torn(conflict: sharing.EntryConflict, view: View, most: int = 12) -> Iterator[str]:
    """One conflict: how both versions changed the common one.

    Indented, so that no text passes for a line of ours.

    Of each change the first `most` lines are shown.
    """
    yield ""
    yield f"{view.paint(f'[{line(conflict.id)}]', 'handle')} {line(conflict.title)}"
    yield f"  path: {view.place(conflict.path)}"
    yield f"  both changed: {line(', '.join(conflict.reasons))}"
    yield "  yours:"
    yield from _diff(conflict.our_diff, conflict.ours, most)
    yield "  theirs:"
    yield from _diff(conflict.their_diff, conflict.theirs, most)
    yield f"  choose: {CHOOSE.format(line(conflict.id))}"


def _diff(diff: str, text: str | None, most: int) -> Iterator[str]:
    if not diff:
        yield "    (no such file)" if text is None else "    (as it was)"
    rows = []
    for row in clean(diff).splitlines():
        if not row.startswith(("--- ", "+++ ")):
            rows.append(row)
    yield from (f"    {row}" for row in rows[:most])
    if len(rows) > most:
        yield f"    … {count(len(rows) - most, 'more line')}: ai-lessons admin conflicts ID"


def conflicts(value: sharing.Conflicts, view: View) -> str:
    """Every file that needs a person, with both versions."""
    if not value.entries:
        return f"No conflict with {line(value.theirs)}, as of the last sync."
    if len(value.entries) == 1:
        most = sys.maxsize
    else:
        most = 12
    return "\n".join(
        row for conflict in value.entries for row in _torn(conflict, view, most)
    ).lstrip("\n")


def resolved(value: sharing.Resolved, view: View) -> str:
    """What was chosen, and what is left or comes next."""
    if value.take == "ours":
        take = "mine"
    else:
        take = line(value.take)
    head = f"{view.paint(f'[{line(value.id)}]', 'handle')} settled: {take}"
    if value.left:
        names = f"{count(len(value.left), 'conflict')} left: {', '.join(map(line, value.left))}"
        return f"{head}\n{names}\nNext: {CHOOSE.format(line(value.left[0]))}"
    done = f"{head}\nMerged in {line(value.commit or '')[:10]}."
    if value.shared:
        return f"{done}\n{synced(value.shared, view)}"
    return done


def recovered(value: sharing.Recovered, _view: View) -> str:
    """What was brought back, and what is still kept."""
    rows = [f"Brought back: {line(file.path)}" for file in value.brought] + _committed(
        value.commits, value.notes
    )
    if value.kept:
        kept = (
            f"{line(f'{file.handle} {file.title}'.strip())}  ({line(file.path)}, {line(file.when)})"
            for file in value.kept
        )
        rows.append(block("Taken away before the commit, kept for 30 days:", kept))
        rows.append("Bring it back: ai-lessons admin recover [ID]")
    return "\n".join(rows) or "Nothing to recover."


def undone(values: Sequence[sharing.Undone], _view: View) -> str:
    """Each job that was taken back."""
    blocks = []
    for step in values:
        head = f"Undone: {line(step.subject)} ({line(step.undone)[:10]})"
        blocks.append(block(head, first_rows(map(line, step.paths))))
    return "\n".join(blocks)


WAYS = {
    "session-start": "text at the start of a session",
    "edit": "text around an edit",
    "instructions": "instructions",
    "mcp": "MCP server",
}
NO_HOST = "No agent host was found on this machine."


def hosts(installed: Sequence[program_hooks.Host], view: View) -> str:
    """For each host what shows that it is here, what calls its hooks, and the ways to its agent."""
    blocks = []
    for host in installed:
        events = dict.fromkeys(event for events in host.hooks.values() for event in events)
        ways = (
            f"{WAYS[target.way]}: {line(target.place)} "
            f"({_of_ours(target) if target.ours else 'nothing of ours' if target.there else 'no file'})"
            for target in host.targets
        )
        unreadable = (
            f"{view.paint('cannot be read:', 'warn')} {line(place)}" for place in host.unreadable
        )
        if events:
            heard = f"hooks: {line(', '.join(events))}"
        else:
            heard = ""
        head = f"{view.paint(line(host.name), 'heading')}  {line(', '.join(dict.fromkeys(host.found)))}"
        hooked = any(target.ours and target.way == "session-start" for target in host.targets)
        advice = _advice(host.name) if hooked else ""
        blocks.append(block(head, (heard, *ways, advice, *unreadable)))
    return "\n".join(blocks) or NO_HOST


def _advice(host: str) -> str:
    # loaded here: other answers need no host
    from ai_lessons.model import agent_hosts

    return agent_hosts.advice(host)


def _of_ours(target: program_hooks.Target) -> str:
    """That it is there, and what came back when it was run."""
    if target.works is None:
        return "ours is there"
    if target.works:
        return f"ours is there, and answers: {line(target.answered)}"
    return f"ours is there, but does not work: {line(target.answered)}; ai-lessons admin hosts --install"


def to_change(values: Sequence[program_hooks.HostChange], view: View) -> str:
    """What would change, a line for each file with the number of its lines."""
    rows = []
    for change in values:
        signs = Counter(row[:1] for row in change.diff.splitlines()[2:])
        if change.diff:
            rows.append(
                f"{line(change.host)}  {view.place(str(change.file))}: +{signs['+']} "
                f"-{signs['-']} lines"
            )
    return "\n".join([*rows, "Every line: -v"])


def connected(values: Sequence[program_hooks.HostChange], view: View) -> str:
    """What was done, a line for each file."""
    rows = []
    for change in values:
        rows.append(f"{line(change.host)}  {view.place(str(change.file))}: {line(change.done)}")
    hooked = ("hooks.json: written", "hooks.json: added", "hooks.json: brought up to date")
    for change in values:
        if f"{change.file.name}: {change.done}" in hooked:
            rows.append(_advice(change.host))
    rows = [row for row in rows if row]
    return "\n".join(rows) or "Nothing to do: the plugin of Claude Code is there already."


STATED_BY_FILE = "its file says "
STAMP = expression(r"\d{4}-\d\d-\d\dT[\d:]+(?:Z|[+-]\d\d:\d\d)")


def context(value: Context, view: View) -> str:
    """What to know before starting, as a search shows it but without scores, and of rules the text, too."""
    whole = (
        rule._replace(
            rationale='" | "'.join(dict.fromkeys(filter(None, (rule.rationale, rule.snippet))))
        )
        for rule in value.rules
    )
    hits = tuple(Hit(entry._replace(score=None)) for entry in (*whole, *value.lessons))
    text = "Nothing is known for this yet."
    if hits:
        text = interfaces_text.answer(Answer("", hits, approvals=value.approvals), view)
    return "\n\n".join(
        [text, *([interfaces_text.left_out(value.left_out, view)] if value.left_out else [])]
    )


RULE_STYLES = {"approve": "good", "revise": "warn", "reject": "bad"}

"""Lessons in the forms of the program `lesson`: a table, Markdown for an agent, and YAML for one. Pure."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import View, block, clean, clip, count, line, table
from ai_lessons.knowledge import origins
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Light, pattern_of
from ai_lessons.knowledge.patterns import title_of
from ai_lessons.knowledge.yaml_text import entry_lines, scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.knowledge.lesson_drafts import Candidate
    from ai_lessons.library import answers, harvest, lessons, replay, reports

FIRM = "[firm]"


def says(entry: Light) -> str:
    """The pattern of a lesson; a lesson of free text is told by its title."""
    return str(entry.details.get("pattern") or entry.title)


def _scope(entry: Light) -> str:
    return origins.named(entry.project, entry.details.get("scope"))


def rows(entries: Sequence[Light], view: View, *, every: bool = False) -> str:
    """One line a lesson; with `every` its status, too."""
    keys = ("from", "status") if every else ("from",)
    cells = [
        (entry.handle, _scope(entry), *(str(entry.details.get(k) or "") for k in keys), says(entry))
        for entry in entries
    ]
    return table(("ID", "SCOPE", *map(str.upper, keys), "PATTERN"), cells, view, "No lessons.")


def search_results(answer: answers.Answer, view: View) -> str:
    """What a search found, best first, in the form of a list."""
    if not answer.lessons:
        return f'Nothing found for "{line(answer.query)}".'
    return rows([hit.entry for hit in answer.lessons], view)


def loaded(value: lessons.Loaded, _view: View) -> str:
    """Markdown for an agent's context. `[firm]` marks what a person stated."""
    blocks = [f"## Lessons ({value.active} active)"]
    for group in value.groups:
        name = "Global" if group.scope == GLOBAL_PROJECT else line(group.scope)
        # no text gives itself the mark
        items = [f"- {line(says(entry)).replace(FIRM, '(firm)')}{_standing(entry)}" for entry in group.lessons]
        blocks.append("\n".join([f"### {name}", *items]))
    left_out = value.active - sum(len(group.lessons) for group in value.groups)
    if left_out:
        blocks.append(f"{left_out} more are left out: `lesson load --limit 0` has all, `lesson search` finds one")
    return "\n\n".join(blocks)


def _standing(entry: Light) -> str:
    """Who stated a lesson that claims to be a person's; nothing where git's history does not tell."""
    if entry.details.get("firm"):
        return f" {FIRM}"
    by = entry.details.get("stated_by") if entry.details.get("from") == "user" else ""
    return f" [stated by {line(str(by))}]" if by else ""


def shown(value: answers.Shown, _view: View) -> str:
    """One lesson as YAML."""
    entry, details, pattern = value.entry, value.entry.details, pattern_of(value.frontmatter)
    head = {"id": entry.handle, "scope": _scope(entry), "from": details.get("from"), "status": details.get("status")}
    yaml = [f"{key}: {scalar(text)}" for key, text in head.items() if text]
    yaml += [f"created: {str(details['created'])[:10]}"] if details.get("created") else []
    for key in ("reason", "promoted_to"):
        yaml += entry_lines(key, value.frontmatter[key]) if value.frontmatter.get(key) else []
    if pattern:
        quoted = partial(json.dumps, ensure_ascii=False)  # in double quotes, which YAML and JSON read alike
        parts = pattern.as_json().items()
        yaml += [f"pattern: {quoted(' '.join(str(pattern).split()))}", "parsed:"]
        yaml += [f"  {key}: {text if key == 'action' else quoted(text)}" for key, text in parts]
    if not pattern or entry.title != title_of(pattern):
        yaml += entry_lines("title", entry.title)
    yaml += entry_lines("text", value.body) if value.body.strip() else []
    return clean("\n".join(yaml))


def added(value: reports.Written, view: View) -> str:
    """A lesson that was stated."""
    firsts = {
        "added": f"Added lesson {line(value.handle)} (from {value.origin}): {line(value.title)}",
        "confirmed": f"Lesson {line(value.handle)} was there, and is firm now: {line(value.title)}",
    }
    first = firsts.get(value.change, f"Lesson {line(value.handle)} is there already: {line(value.title)}")
    return f"{first}\n  path: {view.place(value.path, value.tier)}"


def marked_wrong(value: reports.Written, _view: View) -> str:
    """A lesson that left the results."""
    lesson = line(value.handle)
    return f"Lesson {lesson} is marked wrong already" if value.change == "unchanged" else f"Deleted lesson {lesson}"


def promoted(value: reports.Written, view: View) -> str:
    """A lesson that stands in a skill or a tool now."""
    if value.change == "unchanged":
        return f"Lesson {line(value.handle)} stands in {view.place(value.target)} already"
    return f"Promoted lesson {line(value.handle)} to {view.place(value.target)}"


def searched(value: harvest.Harvest) -> str:
    """What a harvest went through."""
    read = f"{count(value.known + value.unknown, 'record')} read, {value.unknown:,} of a form that is not known"
    return f"{count(value.transcripts, 'transcript')}: {read}."


def held(value: harvest.Harvest) -> str:
    """What the transcripts hold, and what the drafts would have changed."""
    it = value.effect
    rows = [
        f"{count(it.sessions, 'session')}, {count(it.failures, 'failed command')}, {it.met:,} of a kind met before."
    ]
    if it.told:
        each = it.told / max(it.sessions, 1)
        rows.append(
            f"The drafts below would have warned before {it.warned:,} of them and helped at {it.helped:,} more, "
            f"told {each:.1f} times a session."
        )
    return "\n".join([*rows, searched(value)])


def harvested(value: harvest.Harvest, view: View) -> str:
    """What the transcripts hold, and the drafts, none of which is stored."""
    rows = [candidate(draft, view) for draft in value.candidates]
    head = f"{count(len(rows), 'draft')}, none is stored." if rows else "Nothing to propose."
    return "\n\n".join([f"{held(value)}\n{head}", *rows])


SEEN_SHOWN, LINES_SHOWN = 3, 6


def candidate(draft: Candidate, view: View) -> str:
    """One candidate in a few lines: what it would say, what happened, where it was seen."""
    parts = (("WHEN", draft.when), ("DO", draft.do or "(what helps is for you to say)"), ("BECAUSE", draft.because))
    changed = f"would have warned before {draft.warned}, helped at {draft.helped}, told {count(draft.told, 'time')}"
    content = [row for row in clean(draft.content).splitlines() if row and not row.startswith("~~~")]
    left = len(draft.evidence) - SEEN_SHOWN
    return block(
        view.named(draft.id, draft.title) + (f" ({line(draft.project)})" if draft.project else ""),
        (
            *(f"{name:8} {clip(line(text), 160)}" for name, text in parts),
            *(f"| {clip(row, 120)}" for row in content[:LINES_SHOWN]),
            *(f"worked   {clip(line(text), 120)}" for text in draft.done if not draft.do),
            changed if draft.told else "",
            *(f"seen     {place.date} {place.host} {view.place(place.place)}" for place in draft.evidence[:SEEN_SHOWN]),
            f"         and {left} more" if left > 0 else "",
        ),
    )


LABEL = 15  # Characters of what a figure is called


def replay_rows(value: replay.Replay) -> list[str]:
    """What would have been told in past sessions, a line each figure."""
    failed, sessions = max(value.failures, 1), max(value.sessions, 1)
    before, at = _share(value.before_right, value.before), _share(value.at_failures_right, value.at_failures)
    each = f"told {value.before / sessions:.1f} times a session before a command"
    return [
        f"{count(value.sessions, 'session')}, {count(value.calls, 'command')}, {value.failures:,} failed.",
        f"warned before  {_share(value.warned, failed)} of the failures; {each}, {before} of them rightly",
        f"at a failure   told at {_share(value.at_failures, failed)}; {at} of them say what worked next",
        f"either         {_share(value.helped, failed)} of the failures",
        f"characters     {value.characters / sessions:,.0f} a session",
    ]


def replayed(value: replay.Replay, view: View) -> str:
    """The same with what nothing helps with."""
    rows = replay_rows(value)
    if value.unhelped:
        rows += ["", view.paint("Nothing stored helps with:", "heading")]
        rows += [f"{failure.times:>5} x {clip(line(failure.failure), 140)}" for failure in value.unhelped]
    return "\n".join(rows)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "none"

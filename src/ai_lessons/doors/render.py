"""What was found, as text for people: searches, entries, lists, history. Pure: takes answers, returns text.

The groups of a search and their order are fixed (rules, scripts, lessons, docs, then the contribution prompt).
Everything that comes from files goes through `clean` or `line` on its way out.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ai_lessons.doors import render_usage
from ai_lessons.doors.terminal import View, clean, line, table
from ai_lessons.knowledge.entries import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.answers import Answer, Approval, Count, Hit, Listing, Related, Revision, Section, Shown

    More = Callable[[Hit], Sequence[str]]
    Frame = Callable[[str], str]

PROMPT_MARK = "\N{ELECTRIC LIGHT BULB}"
HEADER_KEYS = frozenset(
    {"id", "kind", "title", "tags", "versions", "links", "pattern", "confidence", "source", "status"}
)
"""Frontmatter that the header of `show` already says in its own lines."""


def nothing_more(_hit: Hit) -> tuple[str, ...]:
    """No further lines for a result."""
    return ()


def answer(found: Answer, view: View, more: More = nothing_more) -> str:
    """A search in groups by kind; a group without results is left out. `more` adds lines to each result."""
    bodies = {Kind.RULE: _rule, Kind.SCRIPT: _script, Kind.LESSON: _lesson}
    blocks = []
    for kind, hits in found.groups.items():
        if hits:
            lines = [view.paint(KINDS[kind].heading, "heading")]
            for hit in hits:
                told = (*bodies.get(kind, _doc)(hit, view), *more(hit))
                lines += [f"  {_headline(hit, view)}", *(f"    {text}" for text in told), *_factors(hit)]
            blocks.append("\n".join(lines))
    blocks = blocks or [f'Nothing found for "{line(found.query)}".']
    return "\n\n".join(blocks) + _prompt(found.prompt)


def resources(found: Answer, view: View, more: More = nothing_more) -> str:
    """A search of docs and scripts: one list, best first, in the long form of a result. `more` adds lines to each."""
    hits = sorted((*found.scripts, *found.docs), key=lambda hit: -(hit.entry.score or 0.0))
    blocks = []
    for hit in hits:
        entry = hit.entry
        score = "" if entry.score is None else f"(score: {entry.score:.3f}) "
        lines = [
            f"{_label(entry, view)} {score}{line(entry.title)}",
            f"  {_joined(('type', entry.kind), _versions(entry))}",
        ]
        if entry.kind is Kind.SCRIPT:
            lines.append(f"  path: {view.place(entry.path, entry.tier)}")
        blocks.append("\n".join([*lines, *(f"  {text}" for text in (*_snippet(hit), *more(hit))), *_factors(hit)]))
    blocks = blocks or [f'Nothing found for "{line(found.query)}".']
    return "\n\n".join(blocks) + _prompt(found.prompt)


def _prompt(text: str) -> str:
    return f"\n\n---\n{PROMPT_MARK} {clean(text)}" if text else ""


def _headline(hit: Hit, view: View) -> str:
    score = "" if hit.entry.score is None or hit.entry.kind is Kind.RULE else f"({hit.entry.score:.2f}) "
    return f"{_label(hit.entry, view)} {score}{line(hit.entry.title)}"


def _label(entry: Light, view: View) -> str:
    return view.paint(f"[{line(entry.handle)}]", "handle") + ("" if entry.tier == "user" else f" {line(entry.tier)}")


def _rule(hit: Hit, _view: View) -> list[str]:
    details = hit.entry.details
    applies = _joined(("applies to", ", ".join((*hit.entry.tags, *_texts(details.get("applies_to"))))))
    rationale = line(str(details.get("rationale") or ""))
    return [text for text in (applies, f'rationale: "{rationale}"' if rationale else "") if text]


def _script(hit: Hit, view: View) -> list[str]:
    return [_joined(_versions(hit.entry)) + f" | path: {view.place(hit.entry.path, hit.entry.tier)}", *_snippet(hit)]


def _lesson(hit: Hit, _view: View) -> list[str]:
    details = hit.entry.details
    known = _joined(*((key, details.get(key)) for key in ("confidence", "source")))
    return [text for text in (known, *_snippet(hit)) if text]


def _doc(hit: Hit, _view: View) -> list[str]:
    return [_joined(_versions(hit.entry), ("section", hit.heading)), *_snippet(hit)]


def _versions(entry: Light) -> tuple[str, str]:
    return "versions", ", ".join(entry.versions) or "unversioned"


def _snippet(hit: Hit) -> list[str]:
    text = line(hit.entry.snippet)
    return [f'"{text}"'] if text else []


def _factors(hit: Hit) -> list[str]:
    if not hit.factors:
        return []
    return ["    score: " + ", ".join(f"{line(name)} {value:.3g}" for name, value in hit.factors.items())]


def _joined(*pairs: tuple[str, object]) -> str:
    """`a: 1 | b: 2`, without the pairs that have no value."""
    return " | ".join(f"{line(name)}: {line(str(value))}" for name, value in pairs if value not in {None, ""})


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def shown(value: Shown, view: View, *, command: str = "show", call: str = "", frame: Frame = str) -> str:
    """One entry in full: header, approval, text, code, related entries, sections and how to go on.

    `call` is what shows one section, but for its number, with `{}` for the handle, where it is not the `command` of
    the command line. `frame` goes round each text.
    """
    call = (call or f"ai-lessons recall {command} {{}} --section ").format(line(value.entry.handle))
    blocks = ["\n".join(_header(value, view))]
    if value.approval and value.section is None:
        blocks.append("\n".join(_approval(value.approval, view)))
    if value.usage and (value.usage.last_used or value.usage.standing != 1.0) and value.section is None:
        blocks.append("\n".join(render_usage.usage(value.usage)))
    if value.section is not None:
        blocks.append(_position(value))
    blocks += [frame(clean(text).strip("\n")) for text in _texts_of(value) if text.strip()]
    if value.approval and value.approval.unapproved_change and value.section is None:
        warning = "An unapproved change exists; what is in force stands above. It would change this:"
        blocks.append(f"{view.paint(warning, 'warn')}\n{diff(value.approval.unapproved_change, view)}")
    if value.related and value.section is None:
        blocks.append(
            "\n".join([view.paint("Related:", "heading"), *(f"  {_edge(one, view)}" for one in value.related)])
        )
    if len(value.sections) > 1:
        blocks.append(_navigation(value, view, call))
    return "\n\n".join(blocks)


def _approval(given: Approval, view: View) -> list[str]:
    """Whether a rule is in force, and who approved it."""
    since = f"In force since {line(given.since)}" if given.in_force else "Not in force"
    facts = (
        ("approved by", given.approved_by),
        ("suggested by", given.suggested_by),
        ("commit", given.commit[:10]),
        ("evidence", f"{given.evidence} ({given.how})" if given.how else given.evidence),
    )
    rows = [_joined(pair) for pair in facts]
    return [view.paint(since, "good" if given.in_force else "bad"), *(f"  {row}" for row in rows if row)]


def _texts_of(value: Shown) -> tuple[str, ...]:
    """The text, and the code of a script unless it is the text already."""
    return (value.body,) if value.code in {"", value.body} or value.section is not None else (value.body, value.code)


def harmless(text: str) -> str:
    """A file as it stands, but for what a terminal would obey."""
    return clean(text).rstrip("\n")


def _header(value: Shown, view: View) -> list[str]:
    entry, details = value.entry, value.entry.details
    rows = [
        _joined(("kind", entry.kind), ("project", entry.project), ("tier", entry.tier)),
        _joined(*((key, details.get(key)) for key in ("confidence", "source", "status"))),
        _joined(("versions", ", ".join(entry.versions))),
        _joined(("tags", ", ".join(entry.tags))),
        f"id: {entry.id}",
        f"path: {view.place(entry.path, entry.tier)}",
        *(f"{line(str(key))}: {line(_plain(value.frontmatter[key]))}" for key in _other_keys(value.frontmatter)),
        *_pattern(value.frontmatter.get("pattern")),
    ]
    return [f"{_label(entry, view)} {line(entry.title)}", *(f"  {row}" for row in rows if row)]


def _other_keys(frontmatter: Mapping[str, Any]) -> list[str]:
    return [key for key in frontmatter if key not in HEADER_KEYS]


def _plain(value: object) -> str:
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _pattern(pattern: object) -> list[str]:
    if not isinstance(pattern, dict):
        return []
    words = {"when": "WHEN", "do": "DO", "dont": "DO NOT", "because": "BECAUSE"}
    return [f"{words[key]} {line(str(pattern[key]))}" for key in words if pattern.get(key)]


def _edge(edge: Related, view: View) -> str:
    arrow = "->" if edge.outgoing else "<-"
    weight = "" if edge.weight is None else f" ({edge.weight:g})"
    if edge.entry is None:
        return f"{line(edge.relation)} {arrow} {line(edge.target)} (not found){weight}"
    return f"{line(edge.relation)} {arrow} {_label(edge.entry, view)} {line(edge.entry.title)}{weight}"


def _position(value: Shown) -> str:
    heading = next((one.heading for one in value.sections if one.number == value.section), "")
    return f"Section {value.section} of {len(value.sections)}: {line(heading)}".rstrip(": ")


def _navigation(value: Shown, view: View, call: str) -> str:
    if value.section is None:
        rows = [_section(one) for one in value.sections]
        return "\n".join([view.paint("Sections:", "heading"), *rows, f"One of them: {call}{value.sections[0].number}"])
    numbers = [one.number for one in value.sections]
    at = numbers.index(value.section) if value.section in numbers else 0
    steps = [("Previous", numbers[at - 1])] if at > 0 else []
    steps += [("Next", numbers[at + 1])] if at + 1 < len(numbers) else []
    return "\n".join(f"{name}: {call}{number}" for name, number in steps)


def _section(one: Section) -> str:
    return f"  {one.number:>3}  {'  ' * max(one.level - 1, 0)}{line(one.heading)}"


def listing(value: Listing, view: View) -> str:
    """Entries as a table, and how many there are beyond a limit."""
    if not value.entries:
        return "No entries."
    header = ("ID", "KIND", "PROJECT", "VERSIONS", "TITLE", "TAGS")
    rows = [
        (e.handle, e.kind.value, e.project, ", ".join(e.versions), e.title, ", ".join(e.tags)) for e in value.entries
    ]
    lines = table(header, rows, view, flexible=(5, 3, 4, 2))
    hidden = value.total - len(value.entries)
    return "\n".join([*lines, f"… and {hidden:,} more (--limit 0 shows all)"] if hidden > 0 else lines)


def counts(values: Sequence[Count], view: View, *, what: str) -> str:
    """Tags, versions or projects with the number of entries of each kind."""
    if not values:
        return f"No {what}s."
    kinds = tuple(Kind)
    header = (what.upper(), "ENTRIES", *(kind.folder.upper() for kind in kinds))
    rows = [(one.name, str(one.total), *(str(one.by_kind.get(kind, 0)) for kind in kinds)) for one in values]
    return "\n".join(table(header, rows, view, flexible=(0,)))


def related(values: Iterable[Related], view: View) -> str:
    """Entries reached over the graph, indented by how far away they are."""
    lines = ["  " * (edge.depth - 1) + _edge(edge, view) for edge in values]
    return "\n".join(lines) or "No related entries."


def log(values: Iterable[Revision], view: View) -> str:
    """Commits that touched an entry, as given (newest first)."""
    lines = []
    for one in values:
        lines.append(
            f"{view.paint(line(one.commit)[:10], 'handle')} {line(one.when)} {line(one.author)}  {line(one.subject)}"
        )
        said = _joined(*one.trailers.items())
        lines += [f"    {said}"] if said else []
    return "\n".join(lines) or "No commits yet."


def diff(text: str, view: View) -> str:
    """A unified diff, coloured where there is colour."""
    if not text.strip():
        return "No difference."
    colours = {"+": "good", "-": "bad", "@": "handle"}
    rows = (clean(row) for row in text.rstrip("\n").split("\n"))
    return "\n".join(view.paint(row, colours[row[0]]) if row[:1] in colours else row for row in rows)

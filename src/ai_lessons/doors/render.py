"""What was found, as text for people: searches, entries, lists, history. Pure: takes answers, returns text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import View, clean, count, line, table
from ai_lessons.knowledge.entries import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library import answers
    from ai_lessons.library.answers import Answer, Approval, Hit, Shown
    from ai_lessons.library.reports import Feedback, Stats

    More = Callable[[Hit], Sequence[str]]
    Frame = Callable[[str], str]

PROMPT_MARK = "\N{ELECTRIC LIGHT BULB}"
HEADER_KEYS = frozenset(
    {"id", "kind", "title", "tags", "versions", "links", "pattern", "confidence", "source", "status", "path"}
)  # Frontmatter that the header of `show` already says in its own lines


def answer(found: Answer, view: View, more: More = lambda _hit: ()) -> str:
    """A search in groups by kind; a group without results is left out. `more` adds lines to each result."""
    blocks = []
    for kind, hits in found.groups.items():
        lines = [view.paint(KINDS[kind].heading, "heading")]
        for hit in hits:
            told = filter(None, (*_body(hit, view), *more(hit)))
            score = "" if hit.entry.score is None or kind is Kind.RULE else f"({hit.entry.score:.2f}) "
            lines.append(f"  {_label(hit.entry, view)} {score}{line(hit.entry.title)}")
            lines += [*(f"    {text}" for text in told), *_factors(hit)]
        blocks += ["\n".join(lines)] if hits else []
    return _told(blocks, found)


def resources(found: Answer, view: View, more: More = lambda _hit: ()) -> str:
    """A search of docs and scripts: one list, best first, in the long form of a result. `more` adds lines to each."""
    blocks = []
    for hit in sorted((*found.scripts, *found.docs), key=lambda hit: -(hit.entry.score or 0.0)):
        entry = hit.entry
        score = "" if entry.score is None else f"(score: {entry.score:.3f}) "
        told = [_joined(("type", entry.kind), _versions(entry), *_place(hit))]
        told += [f"path: {_where(entry, view)}"] if entry.kind is Kind.SCRIPT else []
        lines = [f"  {text}" for text in (*told, *_snippet(hit), *more(hit))]
        blocks.append("\n".join([f"{_label(entry, view)} {score}{line(entry.title)}", *lines, *_factors(hit)]))
    return _told(blocks, found)


def _where(entry: Light, view: View) -> str:
    """Where its file is; a script that is kept elsewhere is there."""
    kept = entry.details.get("path") if entry.kind is Kind.SCRIPT else None
    return line(str(kept)) if kept else view.place(entry.path, entry.tier)


def _told(blocks: Sequence[str], found: Answer) -> str:
    prompt = f"\n\n---\n{PROMPT_MARK} {clean(found.prompt)}" if found.prompt else ""
    return ("\n\n".join(blocks) or f'Nothing found for "{line(found.query)}".') + prompt


def _label(entry: Light, view: View) -> str:
    return view.paint(f"[{line(entry.handle)}]", "handle") + ("" if entry.tier == "user" else f" {line(entry.tier)}")


def _body(hit: Hit, view: View) -> list[str]:
    """What a search says of a result below its title."""
    entry, details = hit.entry, hit.entry.details
    if entry.kind is Kind.RULE:
        rationale = line(str(details.get("rationale") or ""))
        applies = _joined(("applies to", ", ".join((*entry.tags, *_texts(details.get("applies_to"))))))
        return [applies, f'rationale: "{rationale}"' if rationale else ""]
    if entry.kind is Kind.LESSON:
        return [_joined(*((key, details.get(key)) for key in ("confidence", "source"))), *_snippet(hit)]
    if entry.kind is Kind.SCRIPT:
        return [
            f"{_joined(_versions(entry), *_place(hit))} | path: {_where(entry, view)}",
            *_snippet(hit),
        ]
    return [_joined(_versions(entry), *_place(hit)), *_snippet(hit)]


def _versions(entry: Light) -> tuple[str, str]:
    return "versions", ", ".join(entry.versions) or "unversioned"


def _place(hit: Hit) -> tuple[tuple[str, str], ...]:
    """Where in which other versions the same is, and in which section of it the best passage."""
    section = f"{hit.section} {hit.heading}".strip() if hit.section else hit.heading
    return ("also in", ", ".join(hit.also_in)), ("section", section if hit.entry.kind is Kind.DOC else "")


def _snippet(hit: Hit) -> list[str]:
    text = line(hit.entry.snippet)
    return [f'"{text}"'] if text else []


def _factors(hit: Hit) -> list[str]:
    factors = ", ".join(f"{line(name)} {value:.3g}" for name, value in (hit.factors or {}).items())
    return [f"    score: {factors}"] if factors else []


def _joined(*pairs: tuple[str, object]) -> str:
    """`a: 1 | b: 2`, without the pairs that have no value."""
    return " | ".join(f"{line(name)}: {line(str(value))}" for name, value in pairs if value not in {None, ""})


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def shown(value: Shown, view: View, *, command: str = "show", call: str = "", frame: Frame = str) -> str:
    """One entry in full: header, approval, text, code, related entries, sections and how to go on.

    `call` shows a section (`{}`: the handle, the number follows) in place of `command`. `frame` goes round each text.
    """
    call = (call or f"ai-lessons recall {command} {{}} --section ").format(line(value.entry.handle))
    blocks = ["\n".join(_header(value, view))]
    whole = value.section is None
    if value.approval and whole:
        blocks.append("\n".join(_approval(value.approval, view)))
    if value.usage and (value.usage.tallies.last_used or value.usage.standing != 1.0) and whole:
        blocks.append("\n".join(usage(value.usage)))
    if not whole:
        heading = next((one.heading for one in value.sections if one.number == value.section), "")
        blocks.append(f"Section {value.section} of {len(value.sections)}: {line(heading)}".rstrip(": "))
    texts = (value.body, value.code if whole and value.code != value.body else "")
    blocks += [frame(clean(text).strip("\n")) for text in texts if text.strip()]
    if value.approval and value.approval.unapproved_change and whole:
        warning = "An unapproved change exists; what is in force stands above. It would change this:"
        blocks.append(f"{view.paint(warning, 'warn')}\n{diff(value.approval.unapproved_change, view)}")
    if value.related and whole:
        edges = [f"  {_edge(one, view)}" for one in value.related]
        blocks.append("\n".join([view.paint("Related:", "heading"), *edges]))
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


def _header(value: Shown, view: View) -> list[str]:
    entry, details = value.entry, value.entry.details
    others = {key: one for key, one in value.frontmatter.items() if key not in HEADER_KEYS}
    pattern = value.frontmatter.get("pattern")
    parts = pattern if isinstance(pattern, dict) else {}
    words = {"when": "WHEN", "do": "DO", "dont": "DO NOT", "because": "BECAUSE"}
    rows = [
        _joined(("kind", entry.kind), ("project", entry.project), ("tier", entry.tier)),
        _joined(*((key, details.get(key)) for key in ("confidence", "source", "status"))),
        _joined(("versions", ", ".join(entry.versions))),
        _joined(("tags", ", ".join(entry.tags))),
        f"id: {entry.id}",
        f"path: {_where(entry, view)}",
        *(f"{line(str(key))}: {line(_plain(one))}" for key, one in others.items()),
        *(f"{word} {line(str(parts[key]))}" for key, word in words.items() if parts.get(key)),
    ]
    return [f"{_label(entry, view)} {line(entry.title)}", *(f"  {row}" for row in rows if row)]


def _plain(value: object) -> str:
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _edge(edge: answers.Related, view: View) -> str:
    arrow = "->" if edge.outgoing else "<-"
    weight = "" if edge.weight is None else f" ({edge.weight:g})"
    found = f"{_label(edge.entry, view)} {line(edge.entry.title)}" if edge.entry else f"{line(edge.target)} (not found)"
    return f"{line(edge.relation)} {arrow} {found}{weight}"


def _navigation(value: Shown, view: View, call: str) -> str:
    if value.section is None:
        rows = [f"  {one.number:>3}  {'  ' * max(one.level - 1, 0)}{line(one.heading)}" for one in value.sections]
        return "\n".join([view.paint("Sections:", "heading"), *rows, f"One of them: {call}{value.sections[0].number}"])
    numbers = [one.number for one in value.sections]
    at = numbers.index(value.section) if value.section in numbers else 0
    steps = [("Previous", numbers[at - 1])] if at > 0 else []
    steps += [("Next", numbers[at + 1])] if at + 1 < len(numbers) else []
    return "\n".join(f"{name}: {call}{number}" for name, number in steps)


def listing(value: answers.Listing, view: View) -> str:
    """Entries as a table, and how many there are beyond a limit."""
    if not value.entries:
        return "No entries."
    header = ("ID", "KIND", "PROJECT", "VERSIONS", "TITLE", "TAGS")
    found = value.entries
    rows = [(e.handle, e.kind.value, e.project, ", ".join(e.versions), e.title, ", ".join(e.tags)) for e in found]
    lines = table(header, rows, view, flexible=(5, 3, 4, 2))
    hidden = value.total - len(found)
    return "\n".join([*lines, f"… and {hidden:,} more (--limit 0 shows all)"] if hidden > 0 else lines)


def counts(values: Sequence[answers.Count], view: View, *, what: str) -> str:
    """Tags, versions or projects with the number of entries of each kind."""
    if not values:
        return f"No {what}s."
    header = (what.upper(), "ENTRIES", *(kind.folder.upper() for kind in Kind))
    names = [f"{one.name} (newest)" if n == 0 and what == "version" else one.name for n, one in enumerate(values)]
    rows = [
        (name, str(one.total), *(str(one.by_kind.get(kind, 0)) for kind in Kind))
        for name, one in zip(names, values, strict=True)
    ]
    return "\n".join(table(header, rows, view, flexible=(0,)))


def related(values: Iterable[answers.Related], view: View) -> str:
    """Entries reached over the graph, indented by how far away they are."""
    lines = ["  " * (edge.depth - 1) + _edge(edge, view) for edge in values]
    return "\n".join(lines) or "No related entries."


def log(values: Iterable[answers.Revision], view: View) -> str:
    """Commits that touched an entry, as given (newest first)."""
    lines = []
    for one in values:
        commit = view.paint(line(one.commit)[:10], "handle")
        lines.append(f"{commit} {line(one.when)} {line(one.author)}  {line(one.subject)}")
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


def feedback(value: Feedback, view: View) -> str:
    """What was said of which entry, and how it stands with that."""
    head = f"{view.named(value.entry.handle, value.entry.title)}: {line(value.outcome)}"
    return "\n".join([head, *(f"  {row}" for row in usage(value.usage))])


def why_told(values: Sequence[answers.ToldEarlier], view: View) -> str:
    """A line for each entry that was told: when, why, and what came of it."""
    rows = [
        f"{view.named(one.handle, one.title)}  {line(one.moment)}: {line(one.why or 'holds here')}"
        + (f"; {line(one.outcome)} since" if one.outcome else "")
        for one in values
    ]
    return "\n".join(rows) or "Nothing was told in this session."


def usage(value: answers.Usage) -> list[str]:
    """Two lines: how sure it is by now, and what happened to it."""
    had = value.tallies
    counts = (
        ("injected", had.injected), ("helpful", had.helpful), ("ignored", had.ignored),
        ("contradicted", had.contradicted), ("runs", had.script_ok), ("failed runs", had.script_failed),
        ("seen to help", had.followed + had.worked), ("seen to fail again", had.recurred),
    )  # fmt: skip
    said = ", ".join(f"{name} {number:,}" for name, number in counts if number or name == "helpful")
    last = f" | last used: {line(had.last_used)}" if had.last_used else ""
    return [f"learned confidence: {value.confidence:.2f} (alpha {value.alpha:g}, beta {value.beta:g})", said + last]


def left_out(values: Sequence[answers.Left], view: View) -> str:
    """Lessons that fitted and did not come, each with the reason."""
    rows = [f"  {view.named(one.entry.handle, one.entry.title)}: {line(one.detail)}" for one in values]
    return "\n".join([view.paint("Left out:", "heading"), *rows]) if rows else "No lesson was left out."


def params(values: Sequence[answers.Parameter], view: View) -> str:
    """Parameters that learn: where each stands, within which bounds, and how sure that is."""
    header = ("PARAMETER", "VALUE", "BOUNDS", "UNCERTAINTY", "SEEN", "WHAT IT IS")
    rows = [
        (
            one.name, f"{one.value:.3g}", f"{one.low:g} to {one.high:g}", f"{one.uncertainty:.2f}",
            f"{one.observations:,}", one.help,
        )
        for one in values
    ]  # fmt: skip
    return "\n".join(table(header, rows, view, flexible=(5,)))


def learned(value: Stats, view: View) -> list[str]:
    """What `stats` says of use: blocks, only those that have something to say."""
    blocks = []
    for title, some in (("Most useful:", value.most_useful), ("Least useful:", value.least_useful)):
        rows = [
            f"  {view.named(one.handle, one.title)}: helpful {one.helpful:,}, ignored {one.ignored:,}, "
            f"contradicted {one.contradicted:,}, confidence {one.confidence:.2f}"
            for one in some
        ]
        blocks += ["\n".join([view.paint(title, "heading"), *rows])] if rows else []
    if value.ablation:
        one = value.ablation
        blocks.append(
            f"Showing a lesson changed the share of sessions that went well by {one.difference:+.0%}\n"
            f"  95 % interval {one.low:+.0%} to {one.high:+.0%}, from {one.shown:,} sessions with and "
            f"{one.left_out:,} without"
        )
    if value.damaged_events:
        blocks.append(f"{count(value.damaged_events, 'line')} of event logs cannot be read and count for nothing")
    return blocks

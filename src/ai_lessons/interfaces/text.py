"""Answers of reading jobs as text for people: searches, entries, lists, history, graphs, lessons.

Pure.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ai_lessons.interfaces.output import block, clean, clip, count, line, table
from ai_lessons.model import USER
from ai_lessons.model.entries import KINDS, UNVERSIONED, Confidence, Kind, Source, Status
from ai_lessons.model.lessons import vouching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app import agent_sessions, answers, health
    from ai_lessons.app.answers import Answer, Approval, Hit, Shown
    from ai_lessons.interfaces.output import View
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.model.links import Line

    Frame = Callable[..., str]

PROMPT_MARK = "\N{ELECTRIC LIGHT BULB}"
WORDS = {"when": "WHEN", "do": "DO", "dont": "DO NOT", "because": "BECAUSE", "rationale": "Why:"}
SAID_ELSEWHERE = frozenset({
    "id", "kind", "title", "tags", "versions", "links", "pattern", "rationale", "confidence", "source", "status",
    "path",
})  # fmt: skip  # frontmatter that `show` says in lines of its own
HASHES = frozenset({"content_hash", "source_ref"})
# cells of a title in a drawing
WIDEST = 60
GONE = "not found"
USUAL = (Confidence.MEDIUM.value, Source.OBSERVED.value)
CHANGE = "a change of this rule that is not in force"
SECTION_CALL = "ai-lessons recall show {} --section "


def answer(result: Answer, view: View) -> str:
    """A search in groups by kind; one line where nothing is near."""
    if result.nothing or result.weak:
        if result.prompt:
            prompt = f"\n{PROMPT_MARK} {clean(result.prompt)}"
        else:
            prompt = ""
        return (_nothing(result, view) if result.nothing else _unsure(result, view)) + prompt
    if view.framed:
        shown = result.paid
    else:
        shown = result.hits
    kinds = dict.fromkeys(hit.entry.kind for hit in shown)
    results = []
    for kind in kinds:
        results.append(
            block(
                view.paint(KINDS[kind].heading, "heading"),
                (_hit(hit, result, view) for hit in shown if hit.entry.kind is kind),
            )
        )
    return "\n\n".join(results)


def _nothing(result: Answer, view: View) -> str:
    """The line that stands for an answer.

    What is nearest is data, so that an agent gets no more than its handle.
    """
    if result.notes:
        why = line(result.notes[0])
    else:
        why = ""
    if not result.weak:
        # beside it stands the reason
        named = line(clip(result.query, 80))
        return f'Nothing found for "{named}"' + (f": {why}" if why else ".")
    if view.framed:
        return why
    return f"{why}: {line(clip(result.nearest, 80))}"


def _unsure(result: Answer, view: View) -> str:
    """One line with what may be an answer: whoever reads on pays for no more than titles."""
    titles = (
        f"{_label(hit.entry, view, hit.entry.score)} {line(clip(hit.entry.title, 36))}"
        for hit in result.hits
    )
    return f"Unsure, perhaps: {'; '.join(titles)}"


def _hit(hit: Hit, result: Answer, view: View) -> str:
    """A result in two lines, its title and what it says.

    Where the view is verbose, all that is known of it.
    """
    entry = hit.entry
    lesson, rule = entry.kind is Kind.LESSON, entry.kind is Kind.RULE
    title = f"{_label(entry, view, entry.score)} {view.mark(line(entry.title), result.query)}"
    factors = ", ".join(f"{line(name)} {value:.3g}" for name, value in hit.factors.items())
    extra = origin(entry, result.approvals) if view.framed else []
    extra += [f"score: {factors}"] if factors else []
    extra += warning(entry, view)
    text = line(entry.rationale if rule else entry.snippet)
    if view.framed or not view.verbose:
        facts = [word for word in sureness(entry) if word] if lesson else []
        facts += [vouching(entry.origin.weakest)] if lesson and entry.origin.weakest else []
        facts += [entry.status] if entry.kind is Kind.DOC and entry.status else []
        facts += [_versions(entry)[1]] if entry.kind.is_resource else []
        # the number of its section: a path of headings would take the place of the sentence
        section = (("section", str(hit.section)),) if hit.section and entry.kind is Kind.DOC else ()
        facts += [f"{name} {value}" for name, value in (*_place(hit)[:1], *section) if value]
        words = " | ".join(filter(None, [line(", ".join(facts)), f'"{text}"' if text else ""]))
        # 72 cells hold a sentence; a narrower terminal gets three rows of it
        return block(
            title,
            [
                view.mark(
                    view.clip(words, 4, rows=1 if (view.width or 0) >= 72 else 3), result.query
                ),
                *extra,
            ],
        )
    if rule:
        facts = [
            _joined(
                (
                    "applies to",
                    ", ".join(filter(None, (*entry.tags, _plain(entry.stated.applies_to or "")))),
                )
            )
        ]
    elif lesson:
        facts = [_joined(*zip(("confidence", "source"), sureness(entry), strict=False))]
        facts += [line(vouching(entry.origin.weakest))] if entry.origin.weakest else []
    else:
        facts = [_joined(_versions(entry), *_place(hit))]
    facts[0] += f" | path: {_where(entry, view)}" if entry.kind is Kind.SCRIPT else ""
    words = f'rationale: "{text}"' if rule else f'"{text}"'
    return block(title, [*facts, view.mark(words, result.query) if text else "", *extra])


def sureness(entry: EntrySummary) -> tuple[str, ...]:
    """How sure a lesson is and how it is known.

    Nothing where both are what every lesson begins with.
    """
    stated = (entry.confidence or "", entry.stated.source or "")
    if stated in {USUAL, ("", "")}:
        return ()
    return stated


def warning(entry: EntrySummary, view: View) -> list[str]:
    """What became of the code that it speaks of, unless that is as it was."""
    text = entry.beside.warning
    if text:
        return [view.paint(f"! {line(str(text))}", "warn")]
    return []


def origin(entry: EntrySummary, approvals: Mapping[str, Approval]) -> list[str]:
    """Who approved a rule, and who stated what a person stands behind."""
    if entry.kind is Kind.RULE:
        return [approved(approvals.get(entry.id))]
    by = entry.origin.stated_by
    if by:
        return [f"stated by {line(str(by))}"]
    return []


def approved(approval: Approval | None) -> str:
    """Who approved a rule, when, and who suggested it."""
    if approval is None:
        return "approval: not known"
    if approval.suggested_by:
        suggested = f" | suggested by {line(approval.suggested_by)}"
    else:
        suggested = ""
    return f"approved by {line(approval.approved_by) or 'an unknown person'} on {approval.approved_at[:10]}{suggested}"


def _where(entry: EntrySummary, view: View) -> str:
    """Where its file is, perhaps outside of the repository."""
    if entry.elsewhere:
        return line(entry.elsewhere)
    return view.place(entry.path, entry.tier)


def _label(entry: EntrySummary, view: View, score: float | None = None) -> str:
    """`[L-8F3K2A] (project, 0.84)`: the handle, the tier that is not the user's, and a score."""
    beside = [
        "" if entry.tier == "user" else line(entry.tier),
        "" if score is None else f"{score:.2f}",
    ]
    words = ", ".join(filter(None, beside))
    return view.paint(f"[{line(entry.handle)}]", "handle") + (f" ({words})" if words else "")


def titled(entry: EntrySummary, view: View) -> str:
    """An entry by its handle and title."""
    return f"{_label(entry, view)} {line(entry.title)}"


def _versions(entry: EntrySummary) -> tuple[str, str]:
    """Of a doc or script also that it states none; other kinds have no versions."""
    return "versions", ", ".join(entry.versions) or (UNVERSIONED if entry.kind.is_resource else "")


def _place(hit: Hit) -> tuple[tuple[str, str], ...]:
    """Where in which other versions the same is, and in which section of it the best passage."""
    if hit.section:
        section = f"{hit.section} {hit.heading}".strip()
    else:
        section = hit.heading
    return ("also in", ", ".join(hit.also_in)), (
        "section",
        section if hit.entry.kind is Kind.DOC else "",
    )


def _joined(*pairs: tuple[str, object]) -> str:
    """`a: 1 | b: 2`, without the pairs that have no value."""
    results = []
    for name, value in pairs:
        if value not in {None, ""}:
            results.append(f"{line(name)}: {line(str(value))}")
    return " | ".join(results)


def shown(
    value: Shown,
    view: View,
    *,
    call: str = SECTION_CALL,
    frame: Frame = lambda text, _what="": text,
) -> str:
    """One entry in full.

    Its text and code, what is related, what is known about it, its sections and how to go on.

    `call` shows a section (`{}`: the handle, the number follows). `frame` goes round each text;
    what it is comes second where it is not the entry's own.
    """
    entry, whole = value.entry, value.section is None
    call = call.format(line(entry.handle))
    title, approval = (
        f"{_label(entry, view)} {line(entry.title)}",
        value.approval if whole else None,
    )
    blocks = [title]
    if approval:
        by = f", approved by {line(approval.approved_by)}" if approval.approved_by else ""
        blocks = [
            (
                f"{title}\n  "
                f"{view.paint(f'In force since {view.when(approval.approved_at)}{by}', 'good')}"
            )
        ]
    if whole:
        pattern = value.frontmatter.get("pattern")
        parts = {"rationale": value.frontmatter.get("rationale")} | (
            pattern if isinstance(pattern, dict) else {}
        )
        blocks.append(
            "\n".join(
                f"{word} {line(str(parts[key]))}" for key, word in WORDS.items() if parts.get(key)
            )
        )
    else:
        heading = next(
            (section.heading for section in value.sections if section.number == value.section), ""
        )
        blocks.append(
            f"Section {value.section} of {len(value.sections)}: {line(heading)}".rstrip(": ")
        )
    blocks += [frame(text) for text in texts_of(value) if text]
    if approval and approval.unapproved_change:
        warning = (
            "An unapproved change exists; what is in force stands above. It would change this:"
        )
        change = frame(diff(approval.unapproved_change, view), CHANGE)
        blocks.append(f"{view.paint(warning, 'warn')}\n{change}")
    if value.related and whole:
        blocks.append(
            block(view.paint("Related:", "heading"), (_edge(edge, view) for edge in value.related))
        )
    blocks += [block(view.paint("About it:", "heading"), _about(value, view))] if whole else []
    blocks += [_navigation(value, view, call)] if len(value.sections) > 1 else []
    return "\n\n".join(filter(None, blocks))


def texts_of(value: Shown) -> tuple[str, str]:
    """Its text and its code, made harmless.

    Empty where there is none, or nothing that the other does not say.
    """
    if value.section is None and value.code != value.body:
        code = value.code
    else:
        code = ""
    body, code = (clean(text).strip("\n") if text.strip() else "" for text in (value.body, code))
    return body, code


def is_used(usage: answers.Usage | None) -> bool:
    """Whether anything happened to an entry that says how well it does."""
    return bool(usage and (usage.tallies.last_used or usage.standing != 1.0 or usage.elsewhere))


def _about(value: Shown, view: View) -> Iterator[str]:
    """What is known of an entry.

    Ids, hashes and the figures behind a confidence only where the view is verbose.
    """
    from ai_lessons.app.notes import described, keys_in_words

    entry, approval = value.entry, value.approval
    yield _joined(
        ("kind", entry.kind),
        ("project", entry.project),
        ("tier", "" if entry.tier == USER else entry.tier),
    )
    if entry.status == Status.ACTIVE:
        status = ""
    else:
        status = entry.status
    yield _joined(*zip(("confidence", "source"), sureness(entry), strict=False), ("status", status))
    if entry.origin.weakest:
        yield line(vouching(entry.origin.weakest))
    yield _joined(_versions(entry))
    yield _joined(("tags", ", ".join(entry.tags)))
    of_features = keys_in_words(value.frontmatter)
    for key, stated in value.frontmatter.items():
        rows = described(key, value.frontmatter)
        if rows:
            yield f"{line(str(key))}: {line(rows[0])}"
            for row in rows[1:]:
                yield f"  {line(row)}"
        elif (
            key not in SAID_ELSEWHERE
            and key not in of_features
            and (view.verbose or key not in HASHES)
        ):
            yield f"{line(str(key))}: {view.when(_plain(stated)) if key == 'created' else line(_plain(stated))}"
    if approval:
        yield _joined(("suggested by", approval.suggested_by))
    if value.usage and is_used(value.usage):
        yield from usage(value.usage, view)
    if value.kept:
        yield f"kept or not: {value.kept.line}"
    for key, words in of_features.items():
        yield _joined((key, ", ".join(words)))
    yield from warning(entry, view)
    if value.silent:
        yield view.paint(silent(value.entry.handle, value.silent), "warn")
    yield f"path: {_where(entry, view)}"
    if view.verbose:
        yield _joined(("id", entry.id), ("approved in", approval.commit[:10] if approval else ""))


def _plain(value: object) -> str:
    if isinstance(value, list | tuple) and all(isinstance(element, str) for element in value):
        return ", ".join(value)
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False)


def _edge(edge: answers.Related, view: View) -> str:
    if edge.outgoing:
        arrow = "->"
    else:
        arrow = "<-"
    entry = edge.entry
    if entry:
        target = f"{_label(entry, view)} {line(entry.title)}"
    else:
        target = f"{line(edge.target)} ({GONE})"
    return f"{line(edge.relation)} {arrow} {target}{weight_of(edge)}"


def _navigation(value: Shown, view: View, call: str) -> str:
    if value.section is None:
        rows = []
        for section in value.sections:
            rows.append(
                f"  {section.number:>3}  {'  ' * max(section.level - 1, 0)}{line(section.heading)}"
            )
        return "\n".join(
            [
                view.paint("Sections:", "heading"),
                *rows,
                f"One of them: {call}{value.sections[0].number}",
            ]
        )
    steps = (("Previous", value.section - 1), ("Next", value.section + 1))
    results = []
    for name, number in steps:
        if 0 < number <= len(value.sections):
            results.append(f"{name}: {call}{number}")
    return "\n".join(results)


def listing(value: answers.Listing, view: View) -> str:
    """Entries as a table, and how many there are beyond a limit."""
    header = ("ID", "KIND", "PROJECT", "VERSIONS", "TITLE", "TAGS")
    entries = value.entries
    if value.silent:
        results = []
        for e in entries:
            results.append(f"{view.named(e)}: {silent(e.handle, value.silent[e.id])}")
        return "\n".join(results)
    rows = []
    for e in entries:
        rows.append(
            (e.handle, e.kind.value, e.project, _versions(e)[1], e.title, ", ".join(e.tags))
        )
    drawn, hidden = (
        table(header, rows, view, "No entries.", flexible=(5, 3, 2, 4)),
        value.total - len(entries),
    )
    if rows and hidden > 0:
        return f"{drawn}\n… and {hidden:,} more (--limit 0 shows all)"
    return drawn


def counts(values: Sequence[answers.Count], view: View, *, what: str) -> str:
    """Tags, versions or projects with the number of entries of each kind."""
    header = (what.upper(), "ENTRIES", *(kind.folder.upper() for kind in Kind))
    names = []
    for n, tally in enumerate(values):
        if n == 0 and what == "version":
            names.append(f"{tally.name} (newest)")
        else:
            names.append(tally.name)
    rows = [
        (name, str(tally.total), *(str(tally.by_kind.get(kind, 0)) for kind in Kind))
        for name, tally in zip(names, values, strict=True)
    ]
    return table(header, rows, view, f"No {what}s.", flexible=(5, 4, 3, 2, 0))


def related(values: Iterable[answers.Related], view: View) -> str:
    """Entries reached over the graph, indented by how far away they are."""
    lines = []
    for edge in values:
        lines.append("  " * (edge.depth - 1) + _edge(edge, view))
    return "\n".join(lines) or "No related entries."


def log(values: Iterable[answers.Revision], view: View) -> str:
    """Commits that touched an entry, as given (newest first)."""
    blocks = []
    for revision in values:
        commit, when = view.paint(line(revision.commit)[:10], "handle"), view.when(revision.when)
        head = f"{commit} {when} {line(revision.author)}  {line(revision.subject)}"
        blocks.append(
            block(head, [_joined(*revision.trailers.items())] if view.verbose else [], "    ")
        )
    return "\n".join(blocks) or "No commits yet."


DIFF_COLOURS = {"+": "good", "-": "bad", "@": "handle"}


def diff(text: str, view: View) -> str:
    """A unified diff, coloured where there is colour."""
    if not text.strip():
        return "No difference."
    rows = (clean(row) for row in text.rstrip("\n").split("\n"))
    results = []
    for row in rows:
        results.append(view.paint(row, DIFF_COLOURS.get(row[:1], "")))
    return "\n".join(results)


def why_told(values: Sequence[answers.ToldEarlier], view: View) -> str:
    """A line for each entry that was told: when, why, and what came of it."""
    rows = []
    for entry in values:
        rows.append(
            f"{view.named(entry)}  {line(entry.moment)}: {line(entry.why or 'holds here')}"
            + (f"; {line(entry.outcome)} since" if entry.outcome else "")
            + (f"; {silent(entry.handle, entry.silent)}" if entry.silent else "")
        )
    return "\n".join(rows) or "Nothing was told: hooks remember sessions of the last seven days."


def silent(handle: str, why: str) -> str:
    """Why an entry is told no more, and the command that brings it back."""
    return f"hooks do not tell it any more: {line(why)} (ai-lessons contribute update {line(handle)} --status active)"


def sessions(values: Sequence[agent_sessions.SessionTold], view: View) -> str:
    """For each session its host, folder and time, and a line for each entry that was told in it."""
    rows = []
    for session in values:
        head = (
            session.session or "?",
            session.host or "unknown host",
            session.folder,
            view.when(session.at),
        )
        if session.failures:
            failed = count(session.failures, "failure")
        else:
            failed = ""
        if session.told:
            entries = why_told(session.told, view).split("\n")
        else:
            entries = ["nothing was told"]
        rows.append(block("  ".join(line(part) for part in (*head, failed) if part), entries))
    return "\n".join(rows) or "Hooks remember no session of the last seven days."


def usage(value: answers.Usage, view: View) -> list[str]:
    """Two lines: how sure it is by now, and what happened to it."""
    tallies = value.tallies
    counts = (
        ("injected", tallies.injected), ("helpful", tallies.helpful), ("ignored", tallies.ignored),
        ("contradicted", tallies.contradicted), ("runs", tallies.script_ok), ("failed runs", tallies.script_failed),
        ("seen to help", tallies.followed), ("seen to fail again", tallies.recurred),
    )  # fmt: skip
    counted = ", ".join(
        f"{name} {number:,}" for name, number in counts if number or name == "helpful"
    )
    if tallies.last_used:
        last = f" | last used: {view.when(tallies.last_used)}"
    else:
        last = ""
    if view.verbose:
        behind = f" (alpha {value.alpha:g}, beta {value.beta:g})"
    else:
        behind = ""
    elsewhere = value.elsewhere
    if elsewhere is None:
        counted_there = []
    else:
        counted_there = [f"another tool counted: {_counted_there(elsewhere)}"]
    return [f"learned confidence: {value.confidence:.2f}{behind}", counted + last, *counted_there]


def _counted_there(counted: answers.CountedElsewhere) -> str:
    names = ("injected", "helpful", "ignored", "contradicted")
    results = []
    for name, number in zip(names, counted, strict=False):
        results.append(f"{name} {number:,}")
    return ", ".join(results)


def left_out(values: Sequence[answers.Left], view: View) -> str:
    """Lessons that fitted and did not come, each with the reason."""
    rows = (f"{view.named(candidate.entry)}: {line(candidate.detail)}" for candidate in values)
    return block(view.paint("Left out:", "heading"), rows)


def learned(value: health.Stats, view: View) -> list[str]:
    """What `stats` says of use: blocks, only those that have something to say."""
    blocks = []
    for title, entries in (
        ("Most useful:", value.most_useful),
        ("Least useful:", value.least_useful),
    ):
        rows = (
            f"{view.named(entry)}: helpful {entry.helpful:,}, ignored {entry.ignored:,}, "
            f"contradicted {entry.contradicted:,}, confidence {entry.confidence:.2f}"
            for entry in entries
        )
        if entries:
            blocks += [block(view.paint(title, "heading"), rows)]
    if value.kept:
        rows = (f"{view.named(rule)}: {rule.line}" for rule in value.kept)
        blocks.append(block(view.paint("Kept or not, by rule:", "heading"), rows))
    if value.ablation:
        effect = value.ablation
        sure = f"95 % interval {effect.low:+.0%} to {effect.high:+.0%}"
        detail = f"{sure}, from {effect.shown:,} sessions with and {effect.left_out:,} without"
        head = f"Showing a lesson changed the share of sessions that went well by {effect.difference:+.0%}"
        blocks.append(block(head, [detail]))
    if value.damaged_events:
        blocks.append(
            f"{count(value.damaged_events, 'line')} of event logs cannot be read and "
            "count for nothing"
        )
    return blocks


def weight_of(link: answers.Related | Line) -> str:
    """The weight of a link, where it has one."""
    if link.weight is None:
        return ""
    return f" ({link.weight:g})"

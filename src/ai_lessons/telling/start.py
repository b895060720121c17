"""What holds in a folder, in the order in which a session is told it at its start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app
from ai_lessons.app.answers import Context
from ai_lessons.app.link_effects import farther_copies, suppressed, usages_of
from ai_lessons.errors import AiLessonsError
from ai_lessons.git import external_files
from ai_lessons.model import agent_hosts, command_forms, expression
from ai_lessons.model.entries import GLOBAL_PROJECT, EntrySummary, Filter, Kind
from ai_lessons.model.names import names_of_summary
from ai_lessons.model.outcomes import NotShown
from ai_lessons.model.statements import says
from ai_lessons.telling.filtering import STARTER
from ai_lessons.telling.matching import project_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.model.tallies import UsageTally


class StartLimits(NamedTuple):
    """How much is looked at when a session begins."""

    # A start of 6,000 characters has room for some 70 lines. What comes after so many is only counted,
    # so its code is not looked at, which costs a parse for each file.
    judged: int = 120
    # of one instruction file
    most_bytes: int = 200_000
    most_files: int = 50


LIMITS = StartLimits()


_TEXT_SUFFIXES = (".md", ".mdc")
_IMPORT = expression(r"(?m)(?:^|\s)@([\w./-]{1,200}\.\w{1,10})")
_INLINE_MARKS = expression(r"[*_`\\]+")
_BETWEEN_WORDS = expression(r"[#>\s-]+")


class _Place(NamedTuple):
    """An entry, and what decides on its place: see `_order`."""

    summary: EntrySummary
    prescribes: bool
    waits: bool
    needed: int

    @property
    def firm(self) -> bool:
        return self.summary.kind is Kind.RULE or bool(self.summary.origin.firm)


def at_the_start(library: Library, cwd: Path, host: str = "") -> Context:
    """Rules in force and lessons of the project of this folder and of `global`, in the order of design 17.

    What is always true comes before what names files or commands, what prescribes nothing last; then what most
    sessions needed, and rules and firm lessons before others. What an instruction file that the host reads holds word
    by word is left out.
    """
    repo = library.up_to_date()
    project = project_of(repo, cwd)
    summaries = holding(repo, project)
    texts = repo.catalog.openings([summary.id for summary in summaries])
    usages = usages_of(repo, summaries)
    left_out = _left_out(repo, summaries, project)
    remaining = [summary for summary in summaries if summary.id not in left_out]
    left_out |= _in_instructions(remaining, texts, cwd, host)
    places = []
    for summary in remaining:
        if summary.id not in left_out:
            places.append(_place(summary, texts.get(summary.id, ""), usages[summary.id]))
    ordered = []
    for place in sorted(places, key=_order):
        ordered.append(place.summary)
    entries, gone = _with_code(repo, ordered)
    left_out |= gone
    rules = [summary for summary in entries if summary.kind is Kind.RULE]
    if rules:
        approvals = app.history_of_entries.approvals_of(repo, rules)
    else:
        approvals = {}
    by_id = {summary.id: summary for summary in summaries}
    refused = tuple(NotShown(by_id[name], word, why) for name, (word, why) in left_out.items())
    needed = {place.summary.id: place.needed for place in places}
    why = {summary.id: _why(needed[summary.id]) for summary in entries}
    notes = tuple(repo.notes())
    pending = 0
    try:
        pending = sum(map(app.pending.count, repo.every))
    except AiLessonsError as error:
        notes = (*notes, f"the proposals cannot be counted: {error.message}")
    return Context(
        tuple(entries),
        why,
        texts,
        approvals,
        refused,
        notes=notes,
        project=project,
        pending=pending,
    )


def _why(needed: int) -> str:
    if not needed:
        return "holds here"
    return f"holds here, needed in {needed} session{'s' if needed > 1 else ''}"


def holding(repo: Reading, project: str | None) -> list[EntrySummary]:
    """The rules and lessons that hold in a project and everywhere. The catalog is up to date."""
    kinds = frozenset({Kind.RULE, Kind.LESSON})
    summaries: dict[str, EntrySummary] = {}
    for name in dict.fromkeys((project, GLOBAL_PROJECT)):
        if name:
            # Rules and lessons of a project among which the start chooses, the firm ones first
            query = Filter(kinds=kinds, project=name, sort="firm", limit=500)
            summaries |= {summary.id: summary for summary in repo.catalog.select(query)}
    return list(summaries.values())


def _left_out(
    repo: Reading, summaries: Sequence[EntrySummary], project: str | None
) -> dict[str, tuple[str, str]]:
    """By id, of entries that are not told unasked: a word and a sentence."""
    refused: dict[str, tuple[str, str]] = {}
    silent = app.link_effects.silent(repo, summaries)
    for summary in summaries:
        if STARTER in summary.tags:
            refused[summary.id] = "starter", "of the starter set, which is shown only on request"
        elif summary.id in silent:
            refused[summary.id] = "silent", silent[summary.id]
    lessons = [
        summary
        for summary in summaries
        if summary.kind is Kind.LESSON and summary.id not in refused
    ]
    refused |= suppressed(repo, lessons, project)
    if len(repo.every) > 1:
        for name in farther_copies(repo, summaries):
            refused.setdefault(name, ("copy", "a nearer tier has it, too"))
    return refused


def _place(summary: EntrySummary, text: str, usage: UsageTally) -> _Place:
    names_something = bool(
        summary.stated.applies_to or names_of_summary(summary) or summary.told_by
    )
    waits = names_something or bool(command_forms.forms_of(summary.stated.pattern))
    prescribes = bool(summary.stated.pattern) or says(summary.title, text)
    return _Place(summary, prescribes, waits, usage.tallies.needed)


def _order(place: _Place) -> tuple[bool, bool, int, bool]:
    return not place.prescribes, place.waits, -place.needed, not place.firm


def _with_code(
    repo: Reading, ordered: Sequence[EntrySummary]
) -> tuple[list[EntrySummary], dict[str, tuple[str, str]]]:
    """The entries with what became of their code.

    Lessons whose code is gone are left out, by id with the reason.
    """
    entries: list[EntrySummary] = []
    gone: dict[str, tuple[str, str]] = {}
    for summary in app.notes.with_verdicts(repo, ordered[: LIMITS.judged], unasked=True):
        if summary.kind is Kind.LESSON and summary.beside.silences:
            gone[summary.id] = summary.beside.verdict, summary.beside.warning
        else:
            entries.append(summary)
    return [*entries, *ordered[LIMITS.judged :]], gone


def _in_instructions(
    summaries: Iterable[EntrySummary], texts: dict[str, str], cwd: Path, host: str
) -> dict[str, tuple[str, str]]:
    """By id, of entries whose words stand in an instruction file of the project.

    A word and a sentence.
    """
    held = [(name, _words(text)) for name, text in instructions(cwd, host)]
    if not held:
        return {}
    refused: dict[str, tuple[str, str]] = {}
    for summary in summaries:
        title, rows = _words(summary.title), texts.get(summary.id, "").split("\n")
        # what only describes came from between the statements of a file, so it stands there row by
        # row
        parts = [_words(row) for row in rows]
        length = sum(map(len, parts))
        for name, words in held:
            # a text of some length is the entry: an import may put a heading or the file's name
            # into the title
            titled = title in words or (length > 0 and all(part in title for part in parts))
            if (length > 60 or titled) and all(part in words for part in parts):
                refused[summary.id] = "instructions", f"stands in {name}, which the host reads"
                break
    return refused


def instructions(cwd: Path, host: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the instruction files of a folder's project that a host reads.

    Of any host if it is unknown.

    Files that they import by `@path` inside the project come along.
    """
    top = external_files.top_of(cwd) or cwd
    names = list(agent_hosts.called(host).instructions)
    if not names:
        for other in agent_hosts.every():
            names += other.instructions
    seen: dict[str, None] = {}
    for name in names:
        # it grows on the way
        if name in seen or len(seen) >= LIMITS.most_files:
            continue
        seen[name] = None
        path = top / name
        if path.is_dir() and not path.is_symlink():
            below = sorted(file for file in path.rglob("*") if file.suffix in _TEXT_SUFFIXES)
            names += [file.relative_to(top).as_posix() for file in below[: LIMITS.most_files]]
            continue
        text = external_files.beginning(path, top, LIMITS.most_bytes)
        if text:
            yield name, text
            parent = Path(name).parent
            names += [(parent / link).as_posix() for link in _IMPORT.findall(text)]


def _words(text: str) -> str:
    """A text without what Markdown, a list or an export adds around its words."""
    plain = _INLINE_MARKS.sub("", text.casefold())
    return _BETWEEN_WORDS.sub(" ", plain).strip()

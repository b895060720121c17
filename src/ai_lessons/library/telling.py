"""What fits a moment of an agent's session: a start, a prompt, a tool about to run, a failure.

Here is found what may be told; `learning.choose.tell` decides which of it is.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ai_lessons import library
from ai_lessons.errors import AiLessonsError, NotFound, StorageFailed
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.command_patterns import BAR, LEAST_SESSIONS, called, seen_in
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Kind, Light, Moment
from ai_lessons.knowledge.globs import ANYTHING, BELOW, BY_KIND, BY_NAME, EXACT
from ai_lessons.learning.choose import FEW
from ai_lessons.learning.outcomes import carried_out
from ai_lessons.library.answers import Context, Query
from ai_lessons.library.contexts import Injecting, fit
from ai_lessons.repository import outside
from ai_lessons.repository.approval import approval_branch
from ai_lessons.repository.approval.approval_branch import PROPOSALS, branch_of, proposal_refs, signature
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from ai_lessons.library.opened import Library, Reading
    from ai_lessons.library.session import RepositorySession

AT_THE_START = 8  # Rules and lessons told when a session begins
_LOOKED_AT = 100
_TOLD = frozenset({Kind.RULE, Kind.LESSON})
_NAMES = {
    EXACT: "names this file", BELOW: "names its folder", BY_NAME: "names files called like it",
    BY_KIND: "about files of its kind, and about this edit", ANYTHING: "about this edit",
}  # fmt: skip


def at_the_start(opened: Library, cwd: Path) -> Context:
    """What to know in this folder: rules in force and firm lessons. Other lessons wait for what they are about."""
    repo = opened.reading
    repo.current()
    project = _project(repo, cwd)
    holding = library.contexts.holding(repo, project)
    fits = [fit(light, _holds(light), project, level=light.score or 0.0) for light in holding]
    # what is known of a command waits for that command
    fits = [candidate for candidate in fits if candidate.firm and not candidate.entry.details.get("seen")]
    offered = Injecting(repo, AT_THE_START).tell(Moment.BEGIN, fits, (), project)
    try:
        pending, notes = sum(map(pending_count, repo.every)), offered.notes
    except AiLessonsError as error:
        pending, notes = 0, (*offered.notes, f"the proposals cannot be counted: {error.message}")
    return offered._replace(project=project, pending=pending, notes=notes)


def pending_count(repo: RepositorySession) -> int:
    """How many proposals wait; with nothing new since the last question it reads a few small files."""
    worktree, ref = repo.store.worktree, repo.rules.ref()

    def key() -> str:
        """Everything that the number depends on."""
        refs = proposal_refs(worktree)
        rules = {name: commit for name, commit in refs.items() if branch_of(name).startswith(PROPOSALS)}
        return f"{ref} {approval_branch.key_of(worktree, read_ref(worktree, ref or '') or '', rules)} {signature(refs)}"

    if ref is None or not proposal_refs(worktree):
        return 0
    from ai_lessons.repository.approval import approval_memory

    place = approval_branch.folder(repo.store.state_dir) / "pending.json"
    noted = approval_memory.kept(place, key())
    if isinstance(noted, int):
        return noted
    try:
        with library.proposal_context.desk(repo) as at:
            count = at.count()
    except NotFound:
        return 0
    with suppress(StorageFailed):  # a repository that cannot be written is counted anew every time
        approval_memory.keep(place, key(), count)
    return count


def at_a_prompt(opened: Library, text: str, shown_before: Collection[str]) -> Context:
    """Lessons and rules that are about what a person asks for."""
    repo = opened.reading
    repo.current()
    project = _project(repo, repo.options.cwd)
    here = {project, GLOBAL_PROJECT}
    fits = [
        fit(light, f"about the prompt ({light.score:.2f})", project, chance=light.score or 0.0)
        for light in _about(repo, text)
        if light.kind is not Kind.RULE or light.project in here
    ]
    return Injecting(repo, None, FEW).tell(Moment.PROMPT, fits, shown_before, project)


def before_a_tool(
    opened: Library,
    paths: Sequence[str],
    servers: Collection[str],
    command: str,
    folders: Sequence[str],
    shown_before: Collection[str],
    text: str = "",
) -> Context:
    """Rules and lessons about a call that is to be made.

    They name a file that it touches (`paths`), are of a project called like its MCP server, or say of the command that
    it fails more often than not. `folders`: where it is called, and where the session began; `text`: what is written.
    What names every file, or every one of its kind, may come if it is about the text that is written.
    """
    repo = opened.reading
    catalog = repo.current()
    named = library.contexts.naming(repo, paths) if paths else []
    entries = {light.id: (light, near, _NAMES[near]) for light, near in named}
    likely = (
        {light.id: light.score or 0.0 for light in _about(repo, text)} if any(x <= BY_KIND for _, x in named) else {}
    )
    projects = {tally.name for tally in catalog.projects()} if servers else set()
    for server in projects.intersection(servers):
        for light in catalog.select(Filter(kinds=_TOLD, project=server, limit=_LOOKED_AT)):
            entries.setdefault(light.id, (light, BY_NAME, f"about {server}"))
    about = library.contexts.about_command(repo, called(command, folders[0]), folders) if command else []
    usages = repo.usages.several(about) if about else {}
    for light in about:
        seen, why = seen_in(light.details), "names this command"
        if carried_out(str(light.details.get("pattern") or ""), command):
            continue  # the line does already what it says
        if seen:
            tally = usages[light.id].tallies
            if seen.sessions < LEAST_SESSIONS or seen.chance(tally.held, tally.passed) <= BAR:
                continue
            why = f"failed in {seen.failures + tally.held} of {seen.calls + tally.held + tally.passed} calls"
        entries.setdefault(light.id, (light, EXACT, why))
    project = _project(repo, repo.options.cwd) if entries else None
    fits = [
        fit(match, why, project, level=near, chance=likely.get(match.id, 0.0)) for match, near, why in entries.values()
    ]
    return Injecting(repo, None, FEW).tell(Moment.BEFORE_TOOL, fits, shown_before, project)


def at_a_failure(
    opened: Library, error: str, shown_before: Collection[str] = (), folders: Sequence[str] = (), *, words: bool = False
) -> Context:
    """Entries that keep a failure like this one, else what ran next in transcripts; `words`: without the index."""
    repo = opened.reading
    repo.current()
    offered = library.contexts.helping(repo, error, shown_ids=shown_before, folders=folders, words=words)
    answered = offered.entries or any(refused.reason == "told" for refused in offered.left_out)
    cwd = folders[0] if folders else ""
    ran_next = "" if answered else library.harvest.ran_next(repo.options.state_dir, error, cwd)
    return offered._replace(ran_next=ran_next)


def _project(repo: Reading, cwd: Path) -> str | None:
    """The known project that the folder is: as its remote, its package or itself is called, in this order."""
    projects = [tally.name for tally in repo.catalog.projects()]
    names = outside.names_of(cwd)
    same = (project for name in names for project in projects if outside.same_name(project, name))
    return next((name for name in names if name in projects), None) or next(same, None)


def _holds(light: Light) -> str:
    where = "everywhere" if light.project == GLOBAL_PROJECT else f"in {light.project}"
    firm = "approved, " if light.kind is Kind.RULE else "stated by a person, " if light.details.get("firm") else ""
    return f"{firm}holds {where}"


def _about(repo: Reading, text: str) -> list[Light]:
    """Lessons and rules that may be about the text, likeliest first; the score says how probably."""
    if not text.strip():
        return []
    asked = Query(text, kinds=_TOLD, plain=True)
    return [hit.entry for hit in library.searching.find(repo, asked).hits]

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
    fits = [fit(one, _holds(one), project, level=one.score or 0.0) for one in holding]
    # what is known of a command waits for that command
    fits = [one for one in fits if one.firm and not one.entry.details.get("seen")]
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
            found = at.count()
    except NotFound:
        return 0
    with suppress(StorageFailed):  # a repository that cannot be written is counted anew every time
        approval_memory.keep(place, key(), found)
    return found


def at_a_prompt(opened: Library, text: str, told: Collection[str]) -> Context:
    """Lessons and rules that are about what a person asks for."""
    repo = opened.reading
    repo.current()
    project = _project(repo, repo.options.cwd)
    here = {project, GLOBAL_PROJECT}
    fits = [
        fit(one, f"about the prompt ({one.score:.2f})", project, chance=one.score or 0.0)
        for one in _found(repo, text)
        if one.kind is not Kind.RULE or one.project in here
    ]
    return Injecting(repo, None, FEW).tell(Moment.PROMPT, fits, told, project)


def before_a_tool(
    opened: Library,
    paths: Sequence[str],
    servers: Collection[str],
    command: str,
    folders: Sequence[str],
    told: Collection[str],
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
    found = {one.id: (one, near, _NAMES[near]) for one, near in named}
    likely = {one.id: one.score or 0.0 for one in _found(repo, text)} if any(x <= BY_KIND for _, x in named) else {}
    known = {tally.name for tally in catalog.projects()} if servers else set()
    for server in known.intersection(servers):
        for one in catalog.select(Filter(kinds=_TOLD, project=server, limit=_LOOKED_AT)):
            found.setdefault(one.id, (one, BY_NAME, f"about {server}"))
    about = library.contexts.about_command(repo, called(command, folders[0]), folders) if command else []
    usages = repo.usages.several(about) if about else {}
    for one in about:
        seen, why = seen_in(one.details), "names this command"
        if carried_out(str(one.details.get("pattern") or ""), command):
            continue  # the line does already what it says
        if seen:
            had = usages[one.id].tallies
            if seen.sessions < LEAST_SESSIONS or seen.chance(had.held, had.passed) <= BAR:
                continue
            why = f"failed in {seen.failures + had.held} of {seen.calls + had.held + had.passed} calls"
        found.setdefault(one.id, (one, EXACT, why))
    project = _project(repo, repo.options.cwd) if found else None
    fits = [fit(one, why, project, level=near, chance=likely.get(one.id, 0.0)) for one, near, why in found.values()]
    return Injecting(repo, None, FEW).tell(Moment.BEFORE_TOOL, fits, told, project)


def at_a_failure(
    opened: Library, error: str, told: Collection[str] = (), folders: Sequence[str] = (), *, words: bool = False
) -> Context:
    """Entries that keep a failure like this one, else what ran next in transcripts; `words`: without the index."""
    repo = opened.reading
    repo.current()
    offered = library.contexts.helping(repo, error, told=told, folders=folders, words=words)
    known = offered.entries or any(one.reason == "told" for one in offered.left_out)
    cwd = folders[0] if folders else ""
    ran_next = "" if known else library.harvest.ran_next(repo.options.state_dir, error, cwd)
    return offered._replace(ran_next=ran_next)


def _project(repo: Reading, cwd: Path) -> str | None:
    """The known project that the folder is: as its remote, its package or itself is called, in this order."""
    known = [tally.name for tally in repo.catalog.projects()]
    names = outside.names_of(cwd)
    same = (one for name in names for one in known if outside.same_name(one, name))
    return next((name for name in names if name in known), None) or next(same, None)


def _holds(light: Light) -> str:
    where = "everywhere" if light.project == GLOBAL_PROJECT else f"in {light.project}"
    firm = "approved, " if light.kind is Kind.RULE else "stated by a person, " if light.details.get("firm") else ""
    return f"{firm}holds {where}"


def _found(repo: Reading, text: str) -> list[Light]:
    """Lessons and rules that may be about the text, likeliest first; the score says how probably."""
    if not text.strip():
        return []
    asked = Query(text, kinds=_TOLD, plain=True)
    return [hit.entry for hit in library.searching.find(repo, asked).hits]

"""Imports: what files or folders of another tool hold becomes entries, and rules wait as proposals."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app import secrets, vector_progress
from ai_lessons.app.proposal_context import open_proposals
from ai_lessons.app.proposals import make
from ai_lessons.app.repeated_docs import notes_on_repeated
from ai_lessons.app.write_checks import Planned, new_files, noting
from ai_lessons.app.written import Imported, Skipped, Suggested, Written
from ai_lessons.features.transfer import (
    counted,
    decision_docs,
    decision_records,
    instruction_files,
)
from ai_lessons.features.transfer.arriving import ADDED, KNOWN, QUEUED, SKIPPED
from ai_lessons.features.transfer.folders import Asked, read_source
from ai_lessons.features.transfer.sorting import Sorting, sort
from ai_lessons.git import external_files
from ai_lessons.model import frontmatter
from ai_lessons.model.approval import BATCH
from ai_lessons.model.entries import HANDLE_LENGTH, Entry, Kind, handle
from ai_lessons.model.texts import first_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ai_lessons.app.proposal_context import ProposalContext
    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.features.transfer.arriving import Bundle
    from ai_lessons.features.transfer.sorting import Arrival


class SourcePart(NamedTuple):
    """A part of a source, and what became of it: one of `FATES`.

    `about`: its handle, its like or the reason.
    """

    where: str
    became: str
    about: str = ""


class OldFile(NamedTuple):
    """A file of instructions that was taken in, and the command that writes it from here once its rules are approved.

    It may stay as it is: what an agent reads there word by word is not told again.
    """

    path: str
    command: str


class Ported(NamedTuple):
    """What an import of another tool's file did, or would do (`dry_run`).

    `relations`, `params` and `events` count what came along; `queued` are rules, which wait as
    proposals; `batch` names several of them together; `seen` says of each part, or file that holds
    none, what became of it. `old_files` are the files of instructions that rules came from.
    """

    written: tuple[Written, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]
    commit: str | None
    notes: tuple[str, ...] = ()
    relations: int = 0
    params: int = 0
    events: int = 0
    queued: tuple[Suggested, ...] = ()
    batch: str = ""
    seen: tuple[SourcePart, ...] = ()
    old_files: tuple[OldFile, ...] = ()
    dry_run: bool = False


class ImportRequest(NamedTuple):
    """What is asked for.

    `form` is one that `folders` reads, or `adr`; `split_up` makes a rule of each statement, `rules`
    one of each accepted decision.
    """

    form: str
    project: str | None = None
    split_up: bool = False
    rules: bool = False
    dry_run: bool = False


def source_files(paths: Sequence[str], cwd: Path) -> list[Path]:
    """The files and folders that paths and globs name, each once.

    Raises NotFound: one of them names nothing.
    """
    places: dict[Path, None] = {}
    for path in paths:
        places |= dict.fromkeys(external_files.named(path, cwd))
    return list(places)


def import_files(
    library: Library,
    files: Sequence[Path],
    form: str,
    *,
    project: str | None = None,
    split_up: bool = False,
    rules: bool = False,
    dry_run: bool = False,
) -> Ported:
    """Take over what files or folders of another tool hold, see `ImportRequest`.

    Entries in one commit, rules as proposals.

    What is here already stays as it is, but for the state of a decision; damaged parts are left out
    and named. Raises as `folders.read_source`; InvalidEntry also if all is damaged.
    """
    asked = ImportRequest(form, project, split_up, rules, dry_run)
    repo = library.primary
    repo.refuse_other_formats()
    bundle = _bundle(repo, files, asked)
    name = first_of([file.name for file in files], 1)
    sorting = sort(repo, bundle, name)
    history = _take_history(repo, bundle, sorting, dry_run=dry_run)
    done, notes = _write(repo, sorting, asked, name)
    batch = frontmatter.new_id(repo.options.now())[-HANDLE_LENGTH:]
    trailers = [("Imported-from", secrets.masked(name)), (BATCH, batch)]
    queued = _propose_rules(repo, sorting, trailers, dry_run=dry_run)
    seen = _seen(sorting, bundle, [*done.written, *queued])
    old_files: tuple[OldFile, ...] = ()
    if queued:
        old_files = tuple(_old_files(bundle.stating, project, repo.options.cwd))
    if len(queued) < 2:
        # nothing is to be named together
        batch = ""
    return Ported(
        written=done.written,
        unchanged=sum(part.became == KNOWN for part in seen),
        skipped=tuple(Skipped(where, reason) for where, reason in sorting.skipped),
        commit=done.commit,
        notes=(*bundle.notes, *history.notes, *notes, *done.notes),
        relations=sum(len(arrival.entry.links) for arrival in sorting.fresh),
        params=history.params,
        events=history.events,
        queued=tuple(queued),
        batch=batch,
        seen=seen,
        old_files=old_files,
        dry_run=dry_run,
    )


def _bundle(repo: RepositorySession, files: Sequence[Path], asked: ImportRequest) -> Bundle:
    """What the files hold. Raises as `import_files`."""
    if asked.form == decision_records.FORM:
        return decision_docs.read(repo, files, asked.project, rules=asked.rules)
    return read_source(
        files,
        Asked(
            asked.form,
            asked.project,
            repo.options.now(),
            partial(repo.options.each, "reading"),
            asked.split_up,
            _here(repo),
        ),
    )


def _here(repo: RepositorySession) -> set[str]:
    """The ids of all entries, and of those that are proposed."""
    ids = {place.id for place in repo.current().locations()}
    if repo.rules.ref() is not None:
        with open_proposals(repo) as at:
            for proposal in at.every.proposals:
                ids.add(proposal.entry)
    return ids


class _History(NamedTuple):
    """What came along of events and numbers: how many, and notes."""

    events: int
    params: int
    notes: tuple[str, ...]


def _take_history(
    repo: RepositorySession, bundle: Bundle, sorting: Sorting, *, dry_run: bool
) -> _History:
    """Keep the events of what arrived, and what another tool counted of what is here then."""
    arrived = {arrival.entry.id for arrival in sorting.arrived}
    here = {arrival.entry.id for arrival in sorting.known}
    subjects = arrived | {parameter.name for parameter in repo.learned.parameters()}
    events, turned, notes = repo.events.take_over(bundle.events, subjects, dry_run=dry_run)
    counts = counted.take(repo, bundle.counted, bundle.params, arrived | here, dry_run=dry_run)
    return _History(events, turned + len(bundle.params), (*counts, *notes))


# --- entries ---


def _write(
    repo: RepositorySession, sorting: Sorting, asked: ImportRequest, name: str
) -> tuple[Imported, list[str]]:
    """Write what is new, and what changed of decisions that are here; with notes on both."""
    fresh = [arrival.entry for arrival in sorting.fresh]
    notes = notes_on_repeated(repo, fresh)
    if asked.form != decision_records.FORM:
        return _bring(repo, sorting.fresh, (), name, dry_run=asked.dry_run), notes
    updated = decision_docs.updates(repo, [arrival.entry for arrival in sorting.known])
    done = _bring(repo, sorting.fresh, updated, name, dry_run=asked.dry_run)
    notes += decision_docs.settle(repo, fresh, updated, dry_run=asked.dry_run)
    return done, notes


def _bring(
    repo: RepositorySession,
    fresh: Sequence[Arrival],
    updated: Sequence[Planned],
    name: str,
    *,
    dry_run: bool,
) -> Imported:
    """Write entries in one commit; what was here is not reported as new."""
    if dry_run:
        would_be = []
        for item, entry in fresh:
            named = handle(entry.kind, entry.id)
            would_be.append(Written(entry.id, named, entry.kind, entry.title, item.path, None))
        return Imported(tuple(would_be), 0, (), None)
    planned = []
    for item, entry in fresh:
        changes = new_files(item.path, item.data, item.side, runs=item.executable or None)
        planned.append(Planned(entry, changes))
    done = repo.bring([*planned, *updated], f"Import {len(fresh)} entries from {name}")
    old = {plan.entry.id for plan in updated}
    new = [written for written in done.written if written.id not in old]
    return vector_progress.after_import(repo, done._replace(written=tuple(new)))


# --- rules ---


def _propose_rules(
    repo: RepositorySession,
    sorting: Sorting,
    trailers: Sequence[tuple[str, str]],
    *,
    dry_run: bool,
) -> list[Suggested]:
    """Proposals for rules that are neither approved, proposed nor turned down.

    What failed is skipped, with why.
    """
    if not sorting.rules:
        return []
    # commits of the same second are listed by the names of their branches, which end in this part
    # of the id
    rules = sorted(sorting.rules, key=lambda arrival: arrival.entry.id[-HANDLE_LENGTH:])
    if repo.rules.ref() is None and not dry_run:
        reason = "there is no approval branch yet: commit something, then import again"
        for arrival in rules:
            sorting.skipped.append((arrival.item.where, reason))
        return []
    if repo.rules.ref() is None:
        return [_would_be(arrival.entry) for arrival in rules]
    made: list[Suggested] = []
    with open_proposals(repo) as at:
        new = _unknown(at, rules)
        for item, entry in repo.options.each("proposing", new):
            subject, files = f"Propose rule: {entry.title}", {item.path: item.data}
            with noting(item.where, sorting.skipped):
                made.append(make(at, entry, files, subject, trailers=trailers, dry_run=dry_run))
    return made


def _would_be(rule: Entry) -> Suggested:
    """A proposal that was not made."""
    return Suggested(rule.id, handle(Kind.RULE, rule.id), rule.title, rule.path, "", "")


def _unknown(at: ProposalContext, rules: Sequence[Arrival]) -> list[Arrival]:
    """The rules that nobody approved, proposed or turned down."""
    rejected = {rejection.entry for rejection in at.rejections}
    unknown = []
    for arrival in rules:
        rule = arrival.entry.id
        if rule not in rejected and not at.trunk.places(rule) and not at.about(rule):
            unknown.append(arrival)
    return unknown


# --- what became of each part ---


def _seen(
    sorting: Sorting, bundle: Bundle, reported: Sequence[Written | Suggested]
) -> tuple[SourcePart, ...]:
    """Every part of the source once, in its order."""
    rows = [SourcePart(*part) for part in bundle.left]
    for where, reason in sorting.skipped:
        rows.append(SourcePart(where, SKIPPED, reason))
    left_out = {where for where, _ in sorting.skipped}
    ids = {report.id for report in reported}
    for item, entry in (*sorting.arrived, *sorting.known):
        named = handle(entry.kind, entry.id)
        if entry.id not in ids:
            # the same part may have been skipped, with a reason
            if item.where not in left_out:
                rows.append(SourcePart(item.where, KNOWN, named))
        elif entry.kind is Kind.RULE:
            rows.append(SourcePart(item.where, QUEUED, named))
        else:
            rows.append(SourcePart(item.where, ADDED, named))
    return tuple(sorted(rows))


def _old_files(stating: Iterable[Path], project: str | None, cwd: Path) -> Iterator[OldFile]:
    """The files that rules came from, with the commands that write them from here.

    Paths as seen from `cwd`.
    """
    of_project = ""
    if project:
        of_project = f" --project {shlex.quote(project)}"
    for path in stating:
        target = instruction_files.export_place(path.as_posix())
        if target:
            file = shlex.quote(_from(cwd, path.as_posix()))
            place = shlex.quote(_from(cwd, target))
            command = f"rm {file} && ai-lessons admin export {place}{of_project}"
            yield OldFile(str(path), command)


def _from(cwd: Path, path: str) -> str:
    below = f"{cwd.as_posix()}/"
    return path.removeprefix(below)

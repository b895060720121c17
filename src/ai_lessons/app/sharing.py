"""Sync with a remote, the conflicts it may leave, and undo of our own commits."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.app import merged_proposals, vector_sharing, write_checks
from ai_lessons.app.arrivals import fast_forwarded
from ai_lessons.app.proposal_context import open_proposals, refuse_agents
from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
    InvalidEntry,
    NotFound,
    Refused,
    UnsavedEdits,
    UsageError,
)
from ai_lessons.git import conflicts as git_conflicts
from ai_lessons.git import external_files, plumbing, remote_branch
from ai_lessons.git import sync as git_sync
from ai_lessons.git.commit import bring_back
from ai_lessons.git.commits import RawCommit, commits
from ai_lessons.git.event_log import FOLDER
from ai_lessons.git.files import translated
from ai_lessons.git.identity import GitIdentity, address_of
from ai_lessons.git.merge_plan import IN_THE_WAY, plan
from ai_lessons.git.objects import EXECUTABLE, Draft, TreeEntry, changed, opened, text_of
from ai_lessons.git.store import AS_IT_IS, Applied, Change, Store
from ai_lessons.git.uncommitted import loose, uncommitted
from ai_lessons.model import merge
from ai_lessons.model.approval import PROPOSAL_TRAILER, is_rule, is_watched, made_by_agent, trailers
from ai_lessons.model.entries import HANDLE_LENGTH, id_end
from ai_lessons.model.layout import CONFIG_PATH, blob_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from dulwich.objects import ObjectID
    from dulwich.repo import Repo

    from ai_lessons.app.kept_files import KeptFile
    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.git.merge_plan import Trees

TRAILER: Final = "Undoes"
# The most commits, newest first, that are searched for jobs
LOOKED_AT: Final = 10_000
_OURS: Final = frozenset({"Entry", "Agent", "Session"})


def _reverted(
    store: Store, repo: Repo, count: int, decisions: list[str], of_people: list[str]
) -> tuple[list[Undone], list[Change], str]:
    """The last jobs, newest first, the changes that undo them, and what the job before them was.

    The changes are merges of the reverse of each job into the current tree. `of_people` gets those
    of no agent.

    Raises as `undo`.
    """
    tip, draft, jobs = store.head().commit, Draft(repo), list[Undone]()
    if tip is None:
        return [], [], ""
    before_them = ""
    head = now = draft.tree_of(tip)
    # events are a log, which stays as it is
    prefix, events = os.fsencode(store.prefix), os.fsencode(f"{store.prefix}{FOLDER}/")
    settled = git_conflicts.Decisions(store.state_dir).settled()
    for commit in _jobs(store, tip, decisions, settled):
        subject, after = commit.info.message.partition("\n")[0], draft.tree_of(commit.id)
        choices = None
        if len(commit.parents) > 1:
            choices = settled.get(commit.id)
        if choices:
            subject, reverse = _other_sides(store, draft, commit, choices)
        if len(jobs) == count:
            before_them = subject
            break
        if not choices:
            if commit.parents:
                parent = draft.tree_of(commit.parents[0])
            else:
                parent = draft.edit(None, {})
            reverse = {}
            for p, (_, was) in changed(store.worktree, after, parent).items():
                reverse[p] = was
        reverse = {
            p: was
            for p, was in reverse.items()
            if p.startswith(prefix) and not p.startswith(events)
        }
        paths = []
        for path in reverse:
            paths.append(os.fsdecode(path.removeprefix(prefix)))
        if paths and all(map(is_rule, paths)):
            # the proposal that a decision brought in
            decisions.append(subject)
            continue
        _refuse_decisions(subject, paths)
        before, now = (
            now,
            _merged(store, repo, draft, (after, now, draft.edit(after, reverse)), subject),
        )
        if now != before:
            jobs.append(Undone(commit.id, subject, tuple(paths), None))
            of_people += [] if made_by_agent(commit.info.message) else [subject]
    return jobs, _changes(store, repo, head, now), before_them


def _merged(store: Store, repo: Repo, draft: Draft, trees: Trees, subject: str) -> ObjectID:
    """The merge that takes a job back. Raises Conflict: a file was changed again after it."""
    merged = plan(store.worktree, repo, draft, trees)
    if merged.tree is None:
        path = merged.torn[0].path.removeprefix(store.prefix)
        hint = f"look at it: ai-lessons recall log {path}"
        raise Conflict(f"{path} was changed again after “{subject}”; nothing was undone", hint=hint)
    draft.save()
    return merged.tree


def _refuse_decisions(subject: str, paths: Iterable[str]) -> None:
    """Raises Refused: a job changed a rule, or what decides about rules."""
    for path in paths:
        if is_rule(path) or (is_watched(path) and path != CONFIG_PATH):
            raise Refused(
                (
                    f"“{subject}” changed {path}, and what decides about rules is not changed "
                    "by an undo"
                ),
                hint="propose the change: ai-lessons contribute edit R-…, or contribute delete R-…",
            )


def _other_sides(
    store: Store, draft: Draft, merge: RawCommit, choices: Mapping[str, str]
) -> tuple[str, dict[bytes, TreeEntry | None]]:
    """What to call the choices of a merge, and the versions that were not taken, by path."""
    after, not_taken, names = draft.tree_of(merge.id), dict[bytes, TreeEntry | None](), list[str]()
    for take, parent in (("ours", merge.parents[1]), ("theirs", merge.parents[0])):
        for path, pair in changed(store.worktree, after, draft.tree_of(parent)).items():
            taken, other = (side[1].decode() if side else None for side in pair)
            name = os.fsdecode(path)
            if take == "ours":
                key, whose = git_conflicts.choice_key(taken, other, name), "mine"
            else:
                key, whose = git_conflicts.choice_key(other, taken, name), "theirs"
            if choices.get(key) == take:
                not_taken[path] = pair[1]
                names.append(f"{whose} for {name}")
    return f"Settle a conflict: {', '.join(names)}", not_taken


def _jobs(
    store: Store, head: str, decisions: list[str], settled: Mapping[str, object]
) -> Iterator[RawCommit]:
    """Commits that were made here and can be undone, newest first.

    Subjects of decisions go to `decisions`.

    Of merges these are those that are `settled`: a person chose between two versions for them.
    """
    journalled = {
        commit for record in store.journal.records() for commit in record.jobs.values() if commit
    }
    email = address_of(GitIdentity(store.worktree).committer() or "")
    undone: set[str] = set()
    newest = commits(store.worktree, [head], newest=LOOKED_AT)
    here = _made_here(store, {commit.id: commit.parents for commit in newest})
    for commit in reversed(newest):
        pairs = trailers(commit.info.message)
        undone |= {value for key, value in pairs if key == TRAILER}
        by_user = commit.info.committer.email == email and not commit.info.odd
        keys = {key for key, _ in pairs}
        if by_user and PROPOSAL_TRAILER in keys:
            decisions.append(commit.info.message.partition("\n")[0])
            continue
        if commit.id in undone or TRAILER in keys:
            continue
        if len(commit.parents) > 1:
            if settled.get(commit.id):
                yield commit
            continue
        if commit.id in journalled or (by_user and keys & _OURS and commit.id in here):
            yield commit


def _made_here(store: Store, parents: Mapping[str, tuple[str, ...]]) -> set[str]:
    """The commits that were made in this clone, by git's reflog.

    Others came with a sync, maybe of the same person.
    """
    done = plumbing.run(
        store.worktree, "log", "-g", "--format=%H %gs", f"--max-count={LOOKED_AT}", "HEAD"
    )
    # where HEAD was, the newest first, and why
    rows = []
    for row in done.text.splitlines():
        rows.append(row.partition(" ")[::2])
    here: set[str] = set()
    for (commit, why), (before, _) in pairwise([*rows, ("", "")]):
        tip = commit
        while (
            (why.startswith("commit") or "(pick)" in why)
            and tip != before
            and tip in parents
            and tip not in here
        ):
            here.add(tip)
            tip = next(iter(parents[tip]), "")
    return here


def _changes(store: Store, repo: Repo, head: bytes, tree: bytes) -> list[Change]:
    """The changes from one tree to another. Raises UnsavedEdits: a file has uncommitted edits."""
    prefix = os.fsencode(store.prefix)
    differences = changed(store.worktree, head, tree)
    versions = {os.fsdecode(path.removeprefix(prefix)): pair for path, pair in differences.items()}
    changed_paths = {
        path.removeprefix(store.prefix) for _, path in plumbing.changed_files(store.worktree, ".")
    }
    edited = sorted(changed_paths & versions.keys())
    if edited:
        raise UnsavedEdits(
            f"{', '.join(edited[:3])} has edits that are in no commit",
            hint="commit them first: git commit",
        )
    changes = []
    for path, (_, new) in versions.items():
        data = None
        if new:
            data = text_of(store.worktree, repo, path, new[1].decode())
        expect = None
        if store.exists(path):
            expect = blob_id(store.read(path))
        changes.append(Change(path, data, new[0] == EXECUTABLE if new else None, expect))
    return changes


# What a sync did, and the files in conflict; interfaces show them as they are.
Synced = git_sync.Synced
EntryConflict = git_sync.EntryConflict


class SharedBeside(NamedTuple):
    """What a sync shared beside the repository itself: another tier, and what was done for it.

    `cloned`: that it is new here, from where.
    """

    tier: str
    synced: Synced
    notes: tuple[str, ...] = ()
    cloned: str = ""

    @property
    def needs_a_person(self) -> bool:
        """Whether a conflict or a refused push waits there."""
        return bool(self.synced.conflicts or self.synced.unsent)

    def in_words(self) -> tuple[str, ...]:
        """A sentence for what came and went, and the notes."""
        synced, place = self.synced, f"{self.synced.remote}/{self.synced.branch}"
        moved = f"{self.tier}, {place}: {synced.received} came in, {synced.sent} went out"
        if self.cloned:
            moved = f"{self.tier} {self.cloned}"
        if self.needs_a_person:
            moved = f"{self.tier} needs a look: ai-lessons --tier {self.tier} admin sync"
        return (*self.notes, moved, *synced.notes)


class Conflicts(NamedTuple):
    """The files that need a person, and where the other side comes from."""

    theirs: str
    entries: tuple[EntryConflict, ...]

    def as_json(self) -> tuple[EntryConflict, ...]:
        """The files alone."""
        return self.entries


class Resolved(NamedTuple):
    """One conflict decided.

    `commit` is the merge, None while others are undecided: `left`, what they are called.

    `shared`: the sync that stopped at the conflict, ended; None if it did not get through, and
    `notes` say why.
    """

    id: str
    path: str
    take: str
    left: tuple[str, ...]
    commit: str | None
    shared: Synced | None = None
    notes: tuple[str, ...] = ()


class Undone(NamedTuple):
    """A job taken back.

    The commit that was, its subject, the files, and the new commit (None while it waits).
    """

    undone: str
    subject: str
    paths: tuple[str, ...]
    commit: str | None
    notes: tuple[str, ...] = ()


@plumbing.once()
def sync(
    library: Library, remote: str | None = None, *, ask: bool = False, take: str = ""
) -> Synced:
    """Fetch, merge and push the checked-out branch, and send proposals.

    What waits is committed first.

    `ask`: a person is at the terminal to type a password. `take`: `theirs`, where the remote's
    branch was rewritten. Raises NotFound: no such remote. Conflict: no branch is checked out, a git
    command is half done, the remote's branch was rewritten or deleted, or others were faster too
    often. UnsavedEdits: an edit that is in no commit is in the way.
    Refused: the remote does not take pushes, or the histories have nothing in common. Unreachable:
    no answer.
    """
    repo = library.primary
    repo.refuse_other_formats()
    write_checks.refuse_waiting(repo)
    write_checks.refuse_sharing(repo, remote_branch.where(repo.store, remote).remote)
    before = repo.store.head().commit
    _, event_notes = repo.events.share(at_least=1)
    done = git_sync.sync(
        repo.store,
        remote=remote,
        ask=ask,
        take=take,
        proposals=lambda: _own_proposals(repo),
        progress=repo.options.progress,
        beside=lambda name: [vector_sharing.refspec(repo, name)],
    )
    repo.current()
    came = fast_forwarded(repo, before, done.place.tracking)
    vectors = vector_sharing.take_in(repo)
    if not done.conflicts:
        if remote:
            to = done.remote
        else:
            to = remote_branch.destination(repo.store, done.place).remote
        vectors += vector_sharing.share(repo, to, done.commit, ask=ask)
        vectors += merged_proposals.drop(repo, to, ask=ask)
    return done._replace(
        arrived=merged_proposals.still_open(repo, done.arrived),
        notes=(*came, *event_notes, *done.notes, *repo.notes(), *vectors),
    )


def _own_proposals(repo: RepositorySession) -> dict[str, str]:
    try:
        with open_proposals(repo) as at:
            proposals: dict[str, str] = {}
            for proposal in at.local():
                proposals[proposal.name] = proposal.commit
            return proposals
    except NotFound:
        # no approval branch yet, so nothing is proposed
        return {}


def merge_file(path: str, base: Path, ours: Path, theirs: Path) -> None:
    """Merge one file as git asks its merge driver to: what comes of it is written over `ours`.

    Raises Conflict: they have no merge. Those of `files.read`; StorageFailed: it cannot be written.
    """
    texts = []
    for file in (base, ours, theirs):
        texts.append(external_files.read(file)[0])
    merged = merge.merge_file(path, texts[0] or None, texts[1], texts[2])
    if merged.data is None:
        raise Conflict(
            f"{path}: both sides changed {', '.join(merged.conflicts)}",
            hint="git status tells what to do",
        )
    with translated(str(ours), writing=True):
        ours.write_bytes(merged.data)


def conflicts(library: Library, ref: str | None = None, *, remote: str | None = None) -> Conflicts:
    """The files that both sides changed and that have no merge, or one of them, as of the last fetch.

    Raises NotFound, Conflict, Refused: as `sync`, and NotFound: no such conflict.
    """
    repo = library.primary
    here = remote_branch.where(repo.store, remote)
    torn = git_sync.torn_now(repo.store, here)
    return Conflicts(here.name, torn if ref is None else (_find(repo, torn, ref),))


def resolve(library: Library, ref: str, take: str, *, remote: str | None = None) -> Resolved:
    """Choose whose becomes one file in conflict: `ours` or `theirs`.

    With the last of them decided the merge is made, and the sync that stopped there goes on to its
    end. Raises as `conflicts`; NotFound: no such conflict. UsageError: that cannot be chosen here.
    Refused: an agent would choose between two versions of a rule.
    """
    repo = library.primary
    repo.refuse_other_formats()
    here = remote_branch.where(repo.store, remote)
    entry = _find(repo, git_sync.torn_now(repo.store, here), ref)
    if IN_THE_WAY in entry.reasons and take != "ours":
        raise UsageError(
            f"{entry.path} cannot be both a file and a folder",
            hint="rename yours and commit it, or --take mine",
        )
    if merge.RULE in entry.reasons:
        refuse_agents(repo, "choose between two versions of")
    brought = git_sync.decide(repo.store, here, entry.path, take)
    if brought.torn:
        left = [conflict.id for conflict in git_sync.torn_now(repo.store, here)]
    else:
        left = []
    repo.current()
    settled = Resolved(
        entry.id, entry.path, take, tuple(left), None if brought.torn else brought.head
    )
    if settled.commit is None:
        return settled
    try:
        shared = sync(library, remote)
    except AiLessonsError as error:
        # the decision holds, whatever the remote says
        return settled._replace(notes=(f"not shared yet: {error.message}; again: ai-lessons sync",))
    return settled._replace(shared=shared, notes=shared.notes)


def _find(repo: RepositorySession, torn: Sequence[EntryConflict], ref: str) -> EntryConflict:
    names = {ref.strip(), repo.inside(ref) or ref}
    for entry in torn:
        if {entry.id, entry.path} & names or entry.id.casefold() == ref.strip().casefold():
            return entry
    ids = [entry.id for entry in torn]
    raise NotFound(
        "conflict", ref, suggestions=ids[:5], hint="" if ids else "see: ai-lessons admin conflicts"
    )


def undo(library: Library, count: int = 1) -> tuple[Undone, ...]:
    """Take back the last `count` jobs of ours by one commit: all or none.

    Raises NotFound: there are not so many. Conflict: a file was changed again since. UnsavedEdits:
    a file has edits in no commit. Refused: the last thing was a decision about a rule, or changed a
    rule, or waits for its commit.
    """
    repo = library.primary
    repo.refuse_other_formats()
    repo.save_first()
    decisions, of_people = list[str](), list[str]()
    with opened(repo.store.worktree) as git:
        jobs, changes, before_them = _reverted(repo.store, git, count, decisions, of_people)
    if of_people:
        command = "ai-lessons admin undo" + (f" {count}" if count > 1 else "")
        repo.options.refuse_agents(f"undo what a person did (“{of_people[0]}”)", command)
    if not jobs and decisions:
        hint = "what was approved can be removed again, a rule by a proposal: ai-lessons contribute delete ID"
        raise Refused(
            f"the last thing you did is a decision ({decisions[0]}), and decisions are not undone",
            hint=hint,
        )
    if len(jobs) < count:
        if jobs:
            left = f", only {len(jobs)} of the {count}"
        else:
            left = ""
        error = NotFound(
            "job to undo",
            str(count),
            hint="only jobs that were made here can be taken back: git log",
        )
        error.message = f"there is no job to undo{left}"
        raise error
    if decisions:
        stay = [f"“{decisions[0]}” stays: decisions about rules are not undone"]
    else:
        stay = []
    if before_them:
        stay += [f"the next undo takes back “{before_them}”"]
    if count == 1:
        what = jobs[0].subject
    else:
        what = f"{count} jobs"
    applied = repo.write(f"Undo: {what}", changes, [(TRAILER, job.undone) for job in jobs])
    repo.current()
    results = []
    for job in jobs:
        results.append(job._replace(commit=applied.commit, notes=(*stay, *applied.messages)))
    return tuple(results)


class Recovered(NamedTuple):
    """What is `kept`, what was `brought` back now, its commits, and what to know about it."""

    kept: tuple[KeptFile, ...]
    brought: tuple[KeptFile, ...] = ()
    commits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def recover(library: Library, refs: Sequence[str] = (), *, only_list: bool = False) -> Recovered:
    """Bring back files that a git command took away before their commit.

    All, or those of these ids or paths.

    Their bytes are kept for 30 days. `only_list`: bring back nothing. Raises NotFound: nothing like
    that is kept.
    Conflict: another text is at its place now. StorageFailed: the disk said no.
    """
    from ai_lessons.app.kept_files import taken_away

    repo = library.emptied_project() or library.primary
    if not only_list:
        repo.refuse_other_formats()
    store, swept = repo.store, taken_away(repo)
    chosen = swept
    if refs:
        chosen = [(job, every) for job, every in swept if _meant_by(refs, every)]
    for ref in refs:
        if not any(_meant_by([ref], every) for _, every in chosen):
            hint = "see what is kept: ai-lessons admin recover --list"
            raise NotFound("kept file", ref, hint=hint)
    if only_list:
        return Recovered(tuple(file for _, every in chosen for file in every))
    brought: list[KeptFile] = []
    for job, every in chosen:
        # one file of two versions: the newer one stands
        if not {file.path for file in every} & {file.path for file in brought}:
            bring_back(store, job, {file.path for file in every})
            brought += every
    saved = store.save()
    left = tuple(file for _, every in taken_away(repo) for file in every)
    return Recovered(left, tuple(brought), saved.commits, saved.messages)


def _meant_by(refs: Sequence[str], files: Sequence[KeptFile]) -> bool:
    """Whether one of these ids, handles or paths is that of one of the files."""
    for ref in refs:
        end = id_end(ref)
        for file in files:
            if ref == file.path:
                return True
            if file.id and len(end) >= HANDLE_LENGTH and file.id.endswith(end):
                return True
    return False


def save(
    library: Library, agreed: Callable[[Sequence[str]], bool] | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Commit every write that waits, and recorded events where they are shared.

    `agreed`: edits of entries by hand are committed, too, once it says yes to their paths. Edited
    rules and what is staged in part are left alone. The commits made, and notes on what still waits
    and why. Raises InvalidEntry: an edit breaks the format or holds a secret. Refused: a no, or
    commits are the user's to make; then no edit is committed.
    """
    repo = library.primary
    repo.refuse_other_formats()
    write_checks.refuse_waiting(repo)
    store = repo.store
    if agreed:
        edits = _commit_edits(library, agreed)
    else:
        edits = Applied()
    events, event_notes = repo.events.share(at_least=1)
    saved = store.save()
    left, damaged = store.pending(), store.journal.damaged()
    notes = [*event_notes, *edits.notes, *saved.messages]
    notes += [f"{commit[:10]} holds recorded events, no entry" for commit in events]
    notes += [f"not committed yet: {intent.subject}" for intent in left]
    notes += loose(store)
    if damaged:
        notes.append(
            f"{len(damaged)} notes of writes cannot be read; their files are in place: git status"
        )
    return (*edits.commits, *events, *saved.commits), tuple(notes)


def _commit_edits(library: Library, agreed: Callable[[Sequence[str]], bool]) -> Applied:
    """One commit of what the user did to files of entries; it may wait."""
    from ai_lessons.app.validation import validate

    repo = library.primary
    if not repo.store.commits(repo.config.autocommit):
        raise Refused("commits are yours to make here", hint=f"git -C {repo.store.root} commit")
    paths = uncommitted(repo.store).entries
    existing = []
    for path in paths:
        if repo.store.exists(path):
            existing.append(path)
    if existing:
        problems = [
            problem for problem in validate(library, existing).problems if not problem.fixable
        ]
    else:
        problems = []
    if problems:
        raise InvalidEntry(problems, hint="no edit was committed")
    if not paths:
        return Applied(notes=("no entry was edited by hand",))
    if not agreed(paths):
        raise Refused("no edit was committed")
    if len(paths) == 1:
        what = paths[0]
    else:
        what = f"{len(paths)} files"
    return repo.write(
        f"Save edits: {what}",
        [Change(path, AS_IT_IS if path in existing else None) for path in paths],
    )

"""Commits about proposals: a branch that proposes, and the merge or record that decides."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import ObjectID
from dulwich.refs import Ref

from ai_lessons.approval import outcomes, proposals, state
from ai_lessons.approval.proposals import rule_of
from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Problem, Refused, StorageFailed
from ai_lessons.git import branch_move, files, identity, objects, plumbing
from ai_lessons.git.approval_branch import HEADS, OTHERS, PROPOSALS, branch_of, proposal_refs
from ai_lessons.git.commits import person
from ai_lessons.git.journal import PendingChange
from ai_lessons.git.objects import (
    EXECUTABLE,
    PLAIN,
    Draft,
    TreeEntry,
    data_of,
    opened,
    read_commit,
    status_of,
    text_of,
)
from ai_lessons.git.store import Actor, Store, message_of
from ai_lessons.git.worktree import Worktree, checked_out_at, read_ref
from ai_lessons.model import approval
from ai_lessons.model.approval import TEXT_LIMIT, ApprovalLine, is_rule, stated_id
from ai_lessons.model.entries import HANDLE_LENGTH
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import check_path, derived_id, slug

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dulwich.repo import Repo

    from ai_lessons.approval.outcomes import Rejection
    from ai_lessons.approval.proposals import OpenProposal
    from ai_lessons.approval.state import Trunk

RULE = "rule"


class ProposalRequest(NamedTuple):
    """What to propose about an entry.

    `files` by path (None removes one), on a branch `stem` below `family`.
    """

    entry: str
    stem: str
    subject: str
    files: Mapping[str, bytes | None]
    trailers: Sequence[tuple[str, str]] = ()
    actor: Actor = Actor()
    family: str = PROPOSALS
    report: str = ""
    executable: Collection[str] = ()


class Made(NamedTuple):
    """The commit that was made, on which branch, and what the user should know."""

    branch: str
    commit: str
    notes: tuple[str, ...] = ()


def _tree_with(
    store: Store, draft: Draft, base: str, files: Mapping[str, TreeEntry | None]
) -> ObjectID:
    """The tree of a commit with these files set or (None) removed."""
    edits = {}
    for path, version in files.items():
        edits[os.fsencode(store.prefix + path)] = version
    return draft.edit(draft.tree_of(ObjectID(base.encode())), edits)


def propose(store: Store, repo: Repo, trunk: Trunk, request: ProposalRequest) -> Made:
    """Make a new branch with one commit. Raises Refused, Conflict, StorageFailed."""
    for path, data in request.files.items():
        if data is not None:
            check_path(path)
    with branch_move.committing(store):
        folder = request.family.rstrip("/")
        if read_ref(trunk.worktree, HEADS + folder) is not None:
            hint = f"git branch -m {folder} NEW-NAME"
            raise Conflict(f"a branch called {folder} is in the way of proposals", hint=hint)
        taken = set()
        for ref in proposal_refs(trunk.worktree):
            taken.add(branch_of(ref).casefold())
        branch = _free_name(request.family + request.stem, taken)
        draft, tip = Draft(repo), ObjectID(trunk.tip.encode())
        base = _base_of_proposal(repo, draft, tip, store.prefix, request.files)
        made = _commit_on(store, draft, branch, base.decode(), None, request)
    if base != tip:
        return made
    note = f"nothing is behind {trunk.name} yet: take it with `git merge --no-ff`, or ai-lessons admin approve-rule"
    return made._replace(notes=(*made.notes, note))


def _free_name(stem: str, taken: Collection[str]) -> str:
    """The name of a branch that no proposal has, here or on a remote; `taken` in small letters."""
    # A file system that does not tell capitals apart has one file for both branches
    if stem.casefold() not in taken:
        return stem
    number = 2
    while f"{stem}-{number}".casefold() in taken:
        number += 1
    return f"{stem}-{number}"


def _base_of_proposal(
    repo: Repo, draft: Draft, tip: ObjectID, prefix: str, files: Collection[str]
) -> ObjectID:
    """The commit to propose on: a parent of the tip where these files are the same, else the tip."""
    paths = [os.fsencode(prefix + path) for path in files]

    def versions(commit: ObjectID) -> list[TreeEntry | None]:
        tree = draft.tree_of(commit)
        return [draft.lookup(tree, path) for path in paths]

    # Begin one commit before the tip, so that a plain `git merge` makes a merge commit
    for parent in read_commit(repo.object_store, tip).parents:
        commit = ObjectID(parent.encode())
        # A shallow clone lacks it
        if commit in repo.object_store and versions(commit) == versions(tip):
            return commit
    return tip


def amend(store: Store, repo: Repo, proposal: OpenProposal, request: ProposalRequest) -> Made:
    """Add a commit to a proposal's branch; a remote's branch is made here first.

    Raises as `propose`.
    """
    ref = HEADS + proposal.name
    with branch_move.committing(store):
        old = read_ref(store.worktree, ref)
        if old not in {None, proposal.commit}:
            raise Conflict(
                f"{proposal.name} says something else than {proposal.branch}; nothing was changed"
            )
        place = checked_out_at(store.worktree, ref)
        if place:
            raise Conflict(
                f"{proposal.name} is checked out at {place}",
                hint="git switch to another branch first",
            )
        if proposal.is_rule:
            family = PROPOSALS
        else:
            family = OTHERS
        request = request._replace(family=family)
        return _commit_on(store, Draft(repo), proposal.name, proposal.commit, old, request)


def _commit_on(
    store: Store, draft: Draft, branch: str, base: str, old: str | None, request: ProposalRequest
) -> Made:
    """Commit on top of `base`, and move the branch there from `old`."""
    by, before = identity.Author(store.worktree), draft.tree_of(ObjectID(base.encode()))
    contents = {}
    for path, data in request.files.items():
        if data is not None:
            contents[path] = data
    # What has no content is removed
    files: dict[str, TreeEntry | None] = dict.fromkeys(request.files)
    for path, blob in objects.blobs(store.worktree, draft, contents).items():
        version = draft.lookup(before, os.fsencode(store.prefix + path))
        runs = path in request.executable or (version is not None and version[0] == EXECUTABLE)
        files[path] = (EXECUTABLE if runs else PLAIN, blob)
    about = [(approval.RULE_TRAILER, request.entry)]
    if request.family != PROPOSALS:
        # after a squash or rebase only the trailer tells where it was proposed
        about = [(approval.ENTRY_TRAILER, request.entry), (approval.PROPOSED_TRAILER, branch)]
    message = message_of(request.subject, [*request.trailers, *about], request.actor)
    tree = _tree_with(store, draft, base, files)
    text, author = approval.with_report(message, request.report), request.actor.author
    commit = by.write(draft, tree, [base], text, author or "")
    if old:
        log = f"commit: {request.subject}"
    else:
        log = f"branch: {request.subject}"
    branch_move.point(store.worktree, HEADS + branch, old, commit, log)
    return Made(branch, commit, by.notes)


@plumbing.once()
def approve(
    store: Store,
    repo: Repo,
    trunk: Trunk,
    several: Sequence[OpenProposal],
    title: str,
    *,
    what: str = RULE,
    sign: bool = False,
) -> Made:
    """Merge proposals (of `what`) in one commit, and delete their branches.

    `sign`: it has to be signed.

    Each proposal is a parent of its own, named in this order. Raises Refused, Conflict: one of them
    cannot be taken.
    """
    by, name = identity.Author(store.worktree), trunk.signers.line_name()
    if sign:
        trunk.signers.refuse_copy()

    def build(draft: Draft, tip: str) -> branch_move.BranchUpdate:
        taken: dict[str, TreeEntry | None] = {}
        lines: list[tuple[str, str]] = []
        trailers: list[tuple[str, str]] = []
        for as_read in several:
            proposal = _still_open(repo, store, trunk, as_read, tip)
            _refuse(proposal, trunk, by)
            changes = _tree_entries(proposal)
            for path in changes:
                if path in taken:
                    raise Conflict(f"two of these proposals are about {path}; nothing was approved")
            taken |= changes
            trailers += _decision_trailers(proposal)
            if proposal.is_rule:
                lines.append(_line(name, trunk, proposal))
        subject = _approval_subject(what, title, several)
        message = message_of(subject, [*trailers, *lines])
        tree = _tree_with(store, draft, tip, taken)
        parents = (tip, *(proposal.commit for proposal in several))
        commit = by.write(draft, tree, parents, message, by.committer() or "", sign=sign or None)
        return branch_move.BranchUpdate(commit, f"merge {several[0].branch}: {subject}")

    landing = branch_move.land(store, repo, trunk.ref, build)
    return Made(trunk.name, landing.commit, (*by.notes, *_drop_branches(store, several)))


def _approval_subject(what: str, title: str, several: Sequence[OpenProposal]) -> str:
    if len(several) > 1:
        return f"{approval.APPROVE} {what}s: {title}"
    if several[0].sort == "removal":
        return f"{approval.APPROVE} {what}: {title} (removal)"
    return f"{approval.APPROVE} {what}: {title}"


def _tree_entries(proposal: OpenProposal) -> dict[str, TreeEntry | None]:
    """What the files of a proposal become in the tree, by path; a rule is never a program."""
    entries: dict[str, TreeEntry | None] = {}
    for piece in proposal.pieces:
        if piece.done:
            continue
        mode = PLAIN
        if piece.mode == EXECUTABLE and not proposal.is_rule:
            mode = EXECUTABLE
        entries[piece.path] = None
        if piece.new:
            entries[piece.path] = (mode, ObjectID(piece.new.encode()))
    return entries


def reject(
    store: Store, repo: Repo, trunk: Trunk, proposal: OpenProposal, record: Rejection, name: str
) -> Made:
    """Commit a record (`name`: its ULID) to the approval branch; delete the proposal's.

    Raises Refused, Conflict.
    """
    by = identity.Author(store.worktree)
    path = outcomes.record_path(approval.REJECTED, name, record.title, record.at)
    subject = f"Reject {record.what}: {record.title}"

    def build(draft: Draft, tip: str) -> branch_move.BranchUpdate:
        _still_open(repo, store, trunk, proposal, tip)
        version = (PLAIN, objects.blobs(store.worktree, draft, {path: record.render()})[path])
        tree = _tree_with(store, draft, tip, {path: version})
        commit = by.write(draft, tree, (tip,), message_of(subject, _decision_trailers(proposal)))
        return branch_move.BranchUpdate(commit, f"commit: {subject}")

    landing = branch_move.land(store, repo, trunk.ref, build)
    return Made(trunk.name, landing.commit, (*by.notes, *_drop_branches(store, [proposal])))


class Decision(NamedTuple):
    """A decision about one proposal.

    Its commit, the proposal's name and last commit, and the entry.

    `taken`: of an approval, by path the files before and after; empty for a rejection.
    """

    commit: str
    name: str
    proposal: str
    entry: str
    taken: Mapping[str, tuple[TreeEntry | None, TreeEntry | None]]


def read_decision(store: Store, repo: Repo, trunk: Trunk, commit: str) -> Decision:
    """The decision of this commit. Raises NotFound: it decided about no proposal alone.

    Conflict: changed since.
    """
    try:
        decision = read_commit(repo.object_store, ObjectID(commit.encode()))
    except KeyError:
        raise NotFound("decision", commit) from None
    pairs = approval.trailers(decision.info.message)
    names = []
    entries = []
    for key, value in pairs:
        if key == approval.PROPOSAL_TRAILER:
            names.append(value)
        elif key in {approval.RULE_TRAILER, approval.ENTRY_TRAILER}:
            entries.append(value)
    entry = next(iter(entries), "")
    if len(names) != 1 or not entry or not decision.parents or not trunk.contains([commit]):
        raise NotFound("decision about one proposal", commit)
    draft = Draft(repo)
    tree, prefix = draft.tree_of(trunk.tip), os.fsencode(store.prefix)
    changes = objects.changed(store.worktree, decision.parents[0], commit)
    taken = {}
    for path, versions in changes.items():
        name = os.fsdecode(path.removeprefix(prefix))
        if draft.lookup(tree, path) != versions[1]:
            raise Conflict(f"{name} was changed again since this decision; nothing was taken back")
        taken[name] = versions
    if len(decision.parents) > 1:
        return Decision(commit, names[0], decision.parents[1], entry, taken)
    # A rejection adds one file, its record
    added = [new[1].decode() for _, new in taken.values() if new]
    record = None
    if added:
        record = outcomes.read_rejection(data_of(repo, added[0]))
    if record is None:
        raise NotFound("decision about one proposal", commit)
    return Decision(commit, names[0], record.commit, entry, {})


def reopen(store: Store, repo: Repo, trunk: Trunk, decision: Decision) -> Made:
    """Propose again what was decided about, in the name of its author.

    Raises Conflict: its branch is there.

    What was rejected comes as it was, what was approved on top of the approval branch, which must
    lack it by now.
    """
    by, draft, ref = identity.Author(store.worktree), Draft(repo), HEADS + decision.name
    with branch_move.committing(store):
        if read_ref(store.worktree, ref) is not None:
            raise Conflict(f"there is a branch {decision.name} again; nothing was changed")
        source = read_commit(repo.object_store, ObjectID(decision.proposal.encode()))
        files = {}
        for path, (_, after) in decision.taken.items():
            files[path] = after
        if files:
            tree = _tree_with(store, draft, trunk.tip, files)
        else:
            tree = draft.tree_of(decision.proposal)
        message = source.info.message.rstrip()
        if not approval.trailers(message):
            # git takes lines for trailers only behind an empty line
            message += "\n"
        # without the line a proposal that is reopened in the same second would be the commit that
        # was rejected
        message += f"\nReopens: {decision.commit}\n"
        if files:
            parents = [trunk.tip]
        else:
            parents = list(source.parents)
        commit = by.write(draft, tree, parents, message, str(source.info.author))
        branch_move.point(store.worktree, ref, None, commit, f"branch: Reopen {decision.name}")
    return Made(decision.name, commit, by.notes)


def approve_standing(
    store: Store,
    repo: Repo,
    trunk: Trunk,
    rule: str,
    text: tuple[str, str | None],
    title: str,
    *,
    sign: bool,
) -> Made:
    """Approve a text (path, blob, or None: its removal) that stands on the approval branch already.

    It takes a merge, which is what carries an approval, of an empty commit. Raises Refused,
    Conflict.
    """
    by, (path, blob) = identity.Author(store.worktree), text
    line = ApprovalLine(trunk.signers.line_name(), rule, path, blob)
    if sign:
        trunk.signers.refuse_copy()

    def build(draft: Draft, tip: str) -> branch_move.BranchUpdate:
        tree = draft.tree_of(ObjectID(tip.encode()))
        version = draft.lookup(tree, os.fsencode(store.prefix + path))
        standing = None
        if version:
            standing = version[1].decode()
        if standing != blob:
            raise Conflict(f"{path} was changed on {trunk.name} meanwhile; look at it again")
        subject = f"{approval.APPROVE_SUBJECT}: {title}"
        if not blob:
            subject += " (removal)"
        about = [(approval.RULE_TRAILER, rule)]
        proposal = by.write(draft, tree, [tip], message_of("Propose the rule as it stands", about))
        message = message_of(subject, [*about, (approval.APPROVES, str(line))])
        merge = by.write(
            draft, tree, [tip, proposal], message, by.committer() or "", sign=sign or None
        )
        return branch_move.BranchUpdate(merge, f"merge: {subject}")

    landing = branch_move.land(store, repo, trunk.ref, build)
    return Made(trunk.name, landing.commit, by.notes)


def _line(name: str, trunk: Trunk, proposal: OpenProposal) -> tuple[str, str]:
    """The trailer that says which text this approval puts in force."""
    piece = proposal.piece
    # where several files have one id the first path is its text, so the line has to name that one
    elsewhere = set(trunk.places(proposal.entry))
    for changed in proposal.pieces:
        elsewhere.discard(changed.path)
    if piece.new and elsewhere and min(elsewhere) < piece.path:
        raise Conflict(
            f"the rule also stands at {min(elsewhere)} on {trunk.name}",
            hint="remove one of the two files",
        )
    return approval.APPROVES, str(ApprovalLine(name, proposal.entry, piece.path, piece.new))


def _decision_trailers(proposal: OpenProposal) -> list[tuple[str, str]]:
    if proposal.is_rule:
        about = approval.RULE_TRAILER
    else:
        about = approval.ENTRY_TRAILER
    return [(approval.PROPOSAL_TRAILER, proposal.name), (about, proposal.entry)]


def _still_open(
    repo: Repo, store: Store, trunk: Trunk, proposal: OpenProposal, tip: str
) -> OpenProposal:
    """The proposal as it stands against the tip that is merged into. Raises Conflict."""
    if read_ref(store.worktree, proposal.ref) != proposal.commit:
        raise Conflict(f"{proposal.branch} was moved since it was read; look at it again")
    if tip == trunk.tip:
        now = trunk
    else:
        now = state.approval_of_branch(store.worktree, trunk.ref, trunk.signers)
    current = proposals.read_proposal(repo, now, proposal.ref, proposal.commit)
    if current is None or proposal.commit in now.contains([proposal.commit]):
        raise Conflict(f"{proposal.branch} was taken meanwhile; nothing was changed")
    return current


def _refuse(proposal: OpenProposal, trunk: Trunk, by: identity.Author) -> None:
    branch = proposal.branch
    if proposal.foreign:
        if proposal.is_rule:
            what = RULE
        else:
            what = "entry"
        raise Refused(
            f"{branch} is not only about its {what}: {proposal.smuggled}",
            hint=f"git diff ...{branch}",
        )
    if proposal.faults:
        hint = "propose it again on the text that is there now, and reject this one"
        raise Conflict(f"{branch} cannot be taken as it is: {proposal.faults[0]}", hint=hint)
    user = person((by.committer() or "").encode())
    # a server commits what others wrote: its own person is none who may approve it
    for made, people in (("wrote", proposal.suggested_by), ("committed", proposal.committed_by)):
        if trunk.view.policy.distinct and any(user.same(maker) for maker in people):
            name = user.name or user.email
            raise Refused(
                f"{name} {made} this proposal, and {trunk.name} asks for another person to approve it",
                hint="approval.distinct in the settings of the repository says so",
            )


def _drop_branches(store: Store, several: Sequence[OpenProposal]) -> list[str]:
    """Delete the branches of proposals here, and name those that are elsewhere."""
    notes = []
    refs = dict[str, str]()
    closed = {(proposal.commit, proposal.name) for proposal in several}
    for ref, commit in sorted(proposal_refs(store.worktree).items()):
        name = branch_of(ref)
        if (commit, name) not in closed:
            continue
        if not ref.startswith(HEADS):
            remote = ref.split("/")[2]
            notes.append(f"its branch is still on {remote}: git push {remote} --delete {name}")
        elif checked_out_at(store.worktree, ref):
            notes.append(f"{name} is checked out, so it was not deleted")
        else:
            refs[ref] = commit
    # git deletes a branch only if it is still at that commit
    deletions = {ref: f"delete {ref} {commit}\n" for ref, commit in refs.items()}
    if not _update_refs(store, [*deletions.values()]):
        # one has moved: then each by itself
        for ref, deletion in deletions.items():
            if not _update_refs(store, [deletion]):
                notes.append(f"{branch_of(ref)} moved meanwhile, so it was not deleted")
    return notes


def _update_refs(store: Store, rows: Sequence[str]) -> bool:
    stdin = "".join(rows).encode()
    return not plumbing.run(store.worktree, "update-ref", "--no-deref", "--stdin", stdin=stdin).code


class Edited(NamedTuple):
    """A rule changed in the working tree.

    Its `files` as git would store them, its `blobs` now and as checked out.
    """

    rule: str
    files: Mapping[str, bytes | None]
    blobs: Mapping[str, tuple[str | None, str | None]]


def edited(store: Store, repo: Repo, paths: Sequence[str] = ()) -> list[Edited]:
    """The edited, new and removed rules, or those of `paths` (relative to the root).

    Raises InvalidEntry, Conflict.
    """
    head = store.head()
    if head.commit is None:
        raise Conflict("nothing is committed yet, so there is nothing to propose a change of")
    prefix, committed = store.prefix, plumbing.files_of(store.worktree, head.commit)
    was = {}
    for from_top, blob in committed.items():
        path = from_top.removeprefix(prefix)
        if from_top.startswith(prefix) and is_rule(path):
            was[path] = blob
    now = _differing(store, repo, was)
    chosen = []
    for path in now:
        if not paths or any(_is_below(path, place.rstrip("/")) for place in paths):
            chosen.append(path)
    return _by_rule(store.worktree, repo, was, now, chosen)


def _is_below(path: str, place: str) -> bool:
    """Whether a file is this one, or below this folder ("": the root)."""
    return not place or path == place or path.startswith(f"{place}/")


def _differing(store: Store, repo: Repo, was: Mapping[str, str]) -> dict[str, str | None]:
    """Rule files on disk that were changed, and (None) those that are gone.

    Blobs as git would store them.
    """
    contents = {}
    gone = []
    for _, from_top in plumbing.changed_files(store.worktree, "."):
        path = from_top.removeprefix(store.prefix)
        if not is_rule(path):
            continue
        if store.exists(path):
            contents[path] = store.read(path, TEXT_LIMIT)
        elif path in was:
            gone.append(path)
    draft = Draft(repo)
    stored = objects.blobs(store.worktree, draft, contents)
    # The texts of rules are read from their blobs
    draft.save()
    differing: dict[str, str | None] = {}
    for path, blob in stored.items():
        if blob.decode() != was.get(path):
            differing[path] = blob.decode()
    return differing | dict.fromkeys(gone)


def _by_rule(
    worktree: Worktree,
    repo: Repo,
    was: Mapping[str, str],
    now: Mapping[str, str | None],
    chosen: Sequence[str],
) -> list[Edited]:
    before = {}
    unchanged = {}
    for path, committed in was.items():
        before[path] = rule_of(worktree, repo, path, committed)
        if path not in now:
            unchanged[before[path]] = path
    texts = {}
    rules = {}
    for path, blob in now.items():
        if blob:
            texts[path] = text_of(worktree, repo, path, blob)
            rules[path] = stated_id(texts[path]) or derived_id(path)
        else:
            rules[path] = before[path]
    problems = []
    for path in sorted(chosen):
        rule = rules[path]
        if before.get(path, rule) != rule:
            fault = (
                f"its id was {before[path]}; a rule keeps its id, and another rule is another file"
            )
            problems.append(Problem(path, fault))
        elif unchanged.get(rule, path) != path:
            fault = (
                f"it has the id of {unchanged[rule]}; take the line `id:` out if it is another rule"
            )
            problems.append(Problem(path, fault))
    if problems:
        raise InvalidEntry(problems)
    chosen_rules = {rules[path] for path in chosen}
    by_rule: dict[
        str, tuple[dict[str, bytes | None], dict[str, tuple[str | None, str | None]]]
    ] = {}
    for path in sorted(now):
        rule = rules[path]
        # A moved rule has two paths, and only one of them may be chosen
        if rule in chosen_rules:
            files, blobs = by_rule.setdefault(rule, ({}, {}))
            files[path] = texts.get(path)
            blobs[path] = (now[path], was.get(path))
    return [Edited(rule, files, blobs) for rule, (files, blobs) in by_rule.items()]


def put_back(store: Store, repo: Repo, edits: Sequence[Edited]) -> tuple[str, ...]:
    """Restore file and index entry of these edits to what is checked out.

    Returns notes on later edits, which stay.

    Raises Conflict: git is busy. StorageFailed.
    """
    worktree = store.worktree
    pairs: dict[str, tuple[str | None, str | None]] = {}
    for edit in edits:
        pairs |= edit.blobs

    def run(paths: Sequence[str], *command: str) -> None:
        flags = ("--quiet", "--pathspec-from-file=-", "--pathspec-file-nul")
        stdin = plumbing.listed(paths)
        done = plumbing.run(worktree, *command, *flags, cwd=worktree.root, stdin=stdin)
        branch_move.refuse_locked(worktree, done)
        if done.code:
            raise StorageFailed(f"git did not put everything back: {done.err}")

    def attempt() -> tuple[str, ...]:
        now = status_of(worktree, Draft(repo), map(PendingChange, pairs))
        blobs: dict[str, str | None] = dict.fromkeys(now.gone)
        for path, (_, blob) in now.files.items():
            blobs[path] = blob.decode()
        new, old, notes = [], [], []
        for path, (edited_blob, checked_out) in pairs.items():
            if blobs.get(path, "") != edited_blob:
                notes.append(f"your own edit of {path} stays as it is")
            elif checked_out is None:
                new.append(path)
            else:
                old.append(path)
        if new:
            run(new, "rm", "--cached", "-f", "--ignore-unmatch")
        for path in new:
            files.remove_file(store.root, path)
        if old:
            run(old, "checkout", "HEAD")
        return tuple(notes)

    with branch_move.committing(store), store.writing():
        return branch_move.until_done(store.worktree, attempt)


AUTHOR: Final = "ai-lessons starter set <starter-set@ai-lessons.invalid>"


def propose_starters(worktree: Worktree, start: str, rules: Mapping[str, bytes]) -> None:
    """Propose these rules (by path) on top of `start`, each on a branch of its own.

    Raises Refused, StorageFailed.
    """
    by = identity.Author(worktree)
    with opened(worktree) as repo:
        draft = Draft(repo)
        before = draft.tree_of(ObjectID(start.encode()))
        blobs = objects.blobs(worktree, draft, rules)
        for path, data in rules.items():
            rule = read_entry(path, data)
            tree = draft.edit(before, {os.fsencode(path): (PLAIN, blobs[path])})
            commit = by.write(draft, tree, [start], f"Propose rule: {rule.title}\n", author=AUTHOR)
            branch = f"{PROPOSALS}R-{rule.id[-HANDLE_LENGTH:]}-{slug(rule.title)}"
            repo.refs.add_if_new(Ref(f"refs/heads/{branch}".encode()), ObjectID(commit.encode()))

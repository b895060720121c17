"""Proposals: an entry of any kind on a branch of its own, and what speaks against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import UsageError
from ai_lessons.knowledge import frontmatter, layout, markdown
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Entry, Kind
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.library import gate, secret_scan
from ai_lessons.library.comparing import Said, alike, comparable, contradicted, same
from ai_lessons.library.gate import checked, project_name
from ai_lessons.library.proposal_context import ProposalContext, desk, entry_of
from ai_lessons.library.relating import refuse_wrong_kinds
from ai_lessons.library.reports import RuleDraft, Suggested, Written
from ai_lessons.repository import proposal_commits
from ai_lessons.repository.approval import rule_edits
from ai_lessons.repository.approval.approval_branch import OTHERS, PROPOSALS
from ai_lessons.repository.filters import text_of
from ai_lessons.repository.proposal_commits import ProposalRequest
from ai_lessons.repository.store import Change

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.approval.rule_edits import Edited


def make(
    at: ProposalContext,
    entry: Entry,
    files: Mapping[str, bytes | None],
    subject: str,
    *,
    report: str = "",
    trailers: Sequence[tuple[str, str]] = (),
    executable: Collection[str] = (),
    dry_run: bool = False,
    decided: bool = False,
) -> Suggested:
    """Propose an entry of any kind: a branch with one commit. The same proposal is not made twice.

    `files` are the entry's by path, None to remove one; `entry` is what they say (of a removal: said). `report`
    (Markdown) stands in the commit's message; `executable` are paths of programs; `decided` as in `repo.write`.
    Raises Refused, InvalidEntry (also where a secret would get into git), Conflict, StorageFailed.
    """
    handle = at.handle(entry.id, entry.kind.letter)
    for proposal in at.about(entry.id):
        new = {x.path: text_of(at.trunk.worktree, at.git, x.path, x.new) if x.new else None for x in proposal.pieces}
        if new == dict(files):
            notes = ("proposed already",)
            return Suggested(entry.id, handle, entry.title, entry.path, proposal.branch, proposal.commit, notes)
    if dry_run:
        return Suggested(entry.id, handle, entry.title, entry.path, "", "")
    at.repo.refuse_other_formats()
    if not decided:
        at.repo.guard([Change(path, data) for path, data in files.items()])
    allowed = gate.refuse(at.repo, files)
    gate.refuse(at.repo, {entry.path: report.encode()})
    warnings = objections(at, entry, handle).warnings if any(files.values()) else ()
    wish = ProposalRequest(
        entry=entry.id,
        stem=f"{handle}-{layout.slug(entry.title)}",
        subject=subject,
        files=files,
        trailers=[*trailers, *allowed],
        actor=gate.actor(at.repo),
        family=PROPOSALS if entry.kind is Kind.RULE else OTHERS,
        report=report,
        executable=executable,
    )
    made = proposal_commits.propose(at.repo.store, at.git, at.trunk, wish)
    return Suggested(entry.id, handle, entry.title, entry.path, made.branch, made.commit, (*warnings, *made.notes))


class Objections(NamedTuple):
    """What speaks against an entry: it contradicts, much the same is there, the same was turned down before."""

    contradictions: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()
    rejected_before: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """All of it, as sentences."""
        rejected = [f"the same was rejected {self.rejected_before}"] if self.rejected_before else []
        return (*rejected, *self.contradictions, *(f"much like {name}: update it?" for name in self.similar))


def objections(at: ProposalContext, entry: Entry, handle: str) -> Objections:
    """What speaks against an entry that is or would be proposed."""
    text, texts = comparable(entry, handle), at.compared(entry)
    names = {entry_id.id: entry_id.name for entry_id in texts if entry_id.id != entry.id}
    against = (f"it contradicts {names[entry_id]}" for entry_id in contradicted(at.repo, entry) if entry_id in names)
    return Objections(tuple(against), alike(text, texts), rejected_before(at, text))


def rejected_before(at: ProposalContext, text: Said) -> str:
    """When and why the same text was turned down; empty if it never was."""
    for rejection in reversed(at.rejections):
        old = entry_of(rejection.path, {path: text.encode() for path, text in rejection.texts().items()})
        if old is not None and same(text, comparable(old)):
            return f"on {rejection.at[:10]}: {rejection.reason or 'no reason was given'}"
    return ""


def suggest_rule(library: Library, draft: RuleDraft) -> Suggested:
    """A new rule as a proposal: one commit on a branch of its own; files, git's index and HEAD stay as they are.

    Raises UsageError, InvalidEntry, NotFound (a linked entry), Refused.
    """
    repo = library.primary
    if not draft.title.strip():
        raise UsageError("the rule has no title", hint="say in one line what to do: --title …")
    if not draft.rationale.strip():
        raise UsageError("the rule has no rationale", hint="say why, or nobody can judge it: --rationale …")
    with desk(repo) as at:
        created = repo.options.now()
        entry_id = frontmatter.new_id(created)
        links = frontmatter.resolved(draft.links, repo.resolve)
        refuse_wrong_kinds(repo, Kind.RULE, links)
        fields = frontmatter.rule_fields(
            entry_id,
            frontmatter.stamp(created),
            title=draft.title,
            rationale=draft.rationale,
            tags=draft.tags,
            applies_to=draft.applies_to,
            links=links,
        )
        fields |= secret_scan.fields(draft.allow_secrets)
        project = project_name(draft.project) if draft.project else GLOBAL_PROJECT
        path = layout.new_path(Kind.RULE, project, draft.title, entry_id, frontmatter.stamp(created))
        data = markdown.render(fields, frontmatter.body_of(draft.content)).encode()
        return make(at, checked(path, data), {path: data}, f"Propose rule: {draft.title}")


def removal(repo: RepositorySession, rule: str) -> Written:
    """The removal of the rule in force with this id as a proposal."""
    with desk(repo) as at:
        entry, _ = repo.load(rule)
        return as_written(
            make(at, entry, dict.fromkeys(sorted(at.trunk.places(rule))), f"Propose removal: {entry.title}")
        )


def propose_text(repo: RepositorySession, entry: Entry, path: str, text: str) -> Written:
    """A proposal of another text (or place) of a rule in force; the library's answer to an edit of one."""
    data = text.encode()
    with desk(repo) as at:
        old = {place: None for place in at.trunk.places(entry.id) if place != path}
        new = checked(path, data, was=entry)
        refuse_wrong_kinds(repo, Kind.RULE, (link[:2] for link in new.links if link not in entry.links))
        made = make(at, new, {**old, path: data}, f"Propose edit: {new.title}")
    return as_written(made)


def as_written(made: Suggested) -> Written:
    """A proposal as the answer of a job that writes entries."""
    note = f"proposed on {made.branch}; what is in force stays until a person takes it"
    return Written(made.id, made.handle, Kind.RULE, made.title, made.path, made.commit, (note, *made.warnings))


def propose(library: Library, paths: Sequence[str] = ()) -> tuple[Suggested, ...]:
    """Propose rules that were edited, made or removed in the working tree (or those at `paths`), and put these back.

    Raises InvalidEntry where a text breaks the format or took another rule's id; then nothing was proposed.
    """
    repo = library.primary

    def inside(path: str) -> str:
        place = repo.inside(path)
        if place is None and (repo.options.cwd / path).resolve() == repo.store.root:
            return ""
        return path.rstrip("/") if place is None else place

    with desk(repo) as at:
        edits = rule_edits.edited(repo.store, at.git, [inside(path) for path in paths])
        made = []
        for entry, files in [_text_of(at, edit) for edit in edits]:  # all are checked before the first is made
            what = "removal" if not any(files.values()) else "edit" if at.trunk.places(entry.id) else "rule"
            made.append(make(at, entry, files, f"Propose {what}: {entry.title}"))
        notes = rule_edits.put_back(repo.store, at.git, edits) if edits else ()
    if made and notes:
        made[-1] = made[-1]._replace(warnings=(*made[-1].warnings, *notes))
    return tuple(made)


def _text_of(at: ProposalContext, edit: Edited) -> tuple[Entry, Mapping[str, bytes | None]]:
    """The rule as it shall be, with id and kind written down, and the files that say so."""
    texts = {path: data for path, data in edit.files.items() if data is not None}
    if not texts:
        path = next(iter(edit.files))
        blob = edit.blobs[path][1]
        old = text_of(at.trunk.worktree, at.git, path, blob) if blob else b""
        return read_entry(path, old), edit.files
    path, data = next(iter(texts.items()))
    entry = read_entry(path, data)
    if entry.derived:
        data = markdown.edit(data.decode(), frontmatter.identity(entry)).encode()
    rule = checked(path, data)
    refuse_wrong_kinds(at.repo, Kind.RULE, (link[:2] for link in rule.links))
    return rule, {**edit.files, path: data}

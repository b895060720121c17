"""Makes proposals: an entry on a branch of its own, once nothing speaks against it.

Begin with `make`. What is proposed already is in `proposal_context`; deciding is in `review`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app
from ai_lessons.app import effects, secrets, write_checks
from ai_lessons.app.additions import NewText
from ai_lessons.app.alike_entries import alike, comparable, contradicted
from ai_lessons.app.proposal_context import entry_of, open_proposals
from ai_lessons.app.write_checks import checked, refuse_wrong_kinds
from ai_lessons.app.written import Suggested, Written
from ai_lessons.approval import decisions
from ai_lessons.approval.decisions import ProposalRequest
from ai_lessons.errors import UsageError
from ai_lessons.git.approval_branch import OTHERS, PROPOSALS
from ai_lessons.git.store import Change
from ai_lessons.model import frontmatter, layout, markdown
from ai_lessons.model.entries import GLOBAL_PROJECT, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import project_name
from ai_lessons.search.tokens import words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ai_lessons.app.alike_entries import ComparableText
    from ai_lessons.app.proposal_context import ProposalContext
    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.app.written import RuleDraft
    from ai_lessons.approval.decisions import Edited
    from ai_lessons.model.entries import Entry


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

    `files` are the entry's by path, None to remove one; `entry` is what they say (of a removal:
    said). `report` (Markdown) stands in the commit's message; `executable` are paths of programs;
    `decided` as in `repo.write`. Raises Refused, InvalidEntry (also where a secret would get into
    git), Conflict, StorageFailed.
    """
    handle = at.handle(entry.id, entry.kind.letter)
    suggested = partial(Suggested, entry.id, handle, entry.title, entry.path)
    for proposal in at.about(entry.id):
        proposed = {piece.path: at.read(piece.path, piece.new) for piece in proposal.pieces}
        if proposed == dict(files):
            return suggested(proposal.branch, proposal.commit, ("proposed already",))
    if dry_run:
        return suggested("", "")
    allowed = _refuse_unwritable(at, entry, files, report, decided=decided)
    warnings: tuple[str, ...] = ()
    if any(files.values()):
        # not of a removal
        warnings = objections(at, entry, handle).warnings
    family = OTHERS
    if entry.kind is Kind.RULE:
        family = PROPOSALS
    wish = ProposalRequest(
        entry=entry.id,
        stem=f"{handle}-{layout.slug(entry.title)}",
        subject=subject,
        files=files,
        trailers=[*trailers, *allowed],
        actor=write_checks.actor(at.repo),
        family=family,
        report=report,
        executable=executable,
    )
    made = decisions.propose(at.repo.store, at.git, at.trunk, wish)
    return suggested(made.branch, made.commit, (*warnings, *made.notes))


def _refuse_unwritable(
    at: ProposalContext,
    entry: Entry,
    files: Mapping[str, bytes | None],
    report: str,
    *,
    decided: bool,
) -> list[tuple[str, str]]:
    """Refuse what must not get into git.

    Of the secrets that were allowed return what the commit says. As `make`.
    """
    at.repo.refuse_other_formats()
    if not decided:
        at.repo.guard([Change(path, data) for path, data in files.items()])
    allowed = write_checks.refuse(at.repo, files)
    write_checks.refuse(at.repo, {entry.path: report.encode()})
    return allowed


class Objections(NamedTuple):
    """What speaks against an entry.

    It contradicts, much the same is there, the same was turned down before.
    """

    contradictions: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()
    rejected_before: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """All of it, as sentences."""
        sentences: list[str] = []
        if self.rejected_before:
            sentences.append(f"the same was rejected {self.rejected_before}")
        sentences += self.contradictions
        for name in self.similar:
            sentences.append(f"close to {name}: update it?")
        return tuple(sentences)


def objections(at: ProposalContext, entry: Entry, handle: str) -> Objections:
    """What speaks against an entry that is or would be proposed."""
    text, texts = comparable(entry, handle), at.compared(entry)
    names = {other.id: other.name for other in texts}
    contradictions: list[str] = []
    for entry_id in contradicted(at.repo, entry):
        if entry_id in names and entry_id != entry.id:
            contradictions.append(f"it contradicts {names[entry_id]}")
    return Objections(tuple(contradictions), alike(text, texts), rejected_before(at, text))


def rejected_before(at: ProposalContext, text: ComparableText) -> str:
    """When and why the same text was turned down; empty if it never was."""
    words = words_of(text.text)
    # the last one first
    for rejection in reversed(at.rejections):
        files = {path: content.encode() for path, content in rejection.texts().items()}
        old = entry_of(rejection.path, files)
        if old is not None and words == words_of(comparable(old).text):
            return f"on {rejection.at[:10]}: {rejection.reason or 'no reason was given'}"
    return ""


def suggest_rule(library: Library, draft: RuleDraft) -> Suggested:
    """A new rule as a proposal: one commit on a branch of its own.

    Files, git's index and HEAD stay as they are.

    Raises UsageError, InvalidEntry, NotFound (a linked entry), Refused.
    """
    repo = library.primary
    if not draft.title.strip():
        raise UsageError("the rule has no title", hint="say in one line what to do: --title …")
    if not draft.rationale.strip():
        raise UsageError(
            "the rule has no rationale", hint="say why, or nobody can judge it: --rationale …"
        )
    with open_proposals(repo) as at:
        created = repo.options.now()
        entry_id = frontmatter.new_id(created)
        links = frontmatter.resolved(draft.links, repo.resolve)
        refuse_wrong_kinds(repo.catalog, Kind.RULE, links)
        project = GLOBAL_PROJECT
        if draft.project:
            project = project_name(draft.project)
        text = " \n".join((draft.title, draft.rationale, draft.content))
        addition = app.additions.additions(repo, NewText(Kind.RULE, project, text, draft.options))
        fields = frontmatter.rule_fields(
            entry_id,
            frontmatter.stamp(created),
            title=draft.title,
            rationale=draft.rationale,
            tags=draft.tags,
            applies_to=[*dict.fromkeys((*draft.applies_to, *addition.globs))],
            links=links,
            **addition.fields,
        )
        fields |= secrets.fields(draft.allow_secrets)
        path = layout.new_path(
            Kind.RULE, project, draft.title, entry_id, frontmatter.stamp(created)
        )
        data = markdown.render(fields, frontmatter.body_of(draft.content)).encode()
        rule = checked(path, data)
        made = make(at, rule, {path: data}, f"Propose rule: {draft.title}")
    warnings = app.project_code.unmatched(repo, rule.fields.get("applies_to"), project)
    for reason in effects.unproven(rule):
        warnings.append(f"its check was not proven: {reason}")
    notes = addition.notes if draft.options else ()
    return made._replace(warnings=(*made.warnings, *warnings), notes=notes)


def removal(repo: RepositorySession, rule: str) -> Written:
    """The removal of the rule in force with this id as a proposal."""
    with open_proposals(repo) as at:
        entry, _ = repo.load(rule)
        files = dict.fromkeys(sorted(at.trunk.places(rule)))
        return as_written(make(at, entry, files, f"Propose removal: {entry.title}"))


def propose_text(repo: RepositorySession, entry: Entry, path: str, text: str) -> Written:
    """A proposal of another text (or place) of a rule in force.

    The library's answer to an edit of one.
    """
    data = text.encode()
    with open_proposals(repo) as at:
        old = {place: None for place in at.trunk.places(entry.id) if place != path}
        new = checked(path, data, was=entry)
        # a link that is there may stay, also one that would not be taken today
        added = [link[:2] for link in new.links if link not in entry.links]
        refuse_wrong_kinds(repo.catalog, Kind.RULE, added)
        made = make(at, new, {**old, path: data}, f"Propose edit: {new.title}")
    return as_written(made)


def as_written(made: Suggested) -> Written:
    """A proposal as the answer of a job that writes entries."""
    names = made.id, made.handle, Kind.RULE, made.title, made.path
    return Written(*names, made.commit, made.warnings, proposed_on=made.branch)


def propose(library: Library, paths: Sequence[str] = ()) -> tuple[Suggested, ...]:
    """Propose rules that were edited, made or removed in the working tree (or those at `paths`), and put these back.

    Raises InvalidEntry where a text breaks the format or took another rule's id; then nothing was proposed.
    """
    repo = library.primary

    def inside(path: str) -> str:
        place = repo.inside(path)
        if place is not None:
            return place
        if (repo.options.cwd / path).resolve() == repo.store.root:
            return ""
        # the name of an entry's folder or branch, which is looked for as it is
        return path.rstrip("/")

    with open_proposals(repo) as at:
        edits = decisions.edited(repo.store, at.git, list(map(inside, paths)))
        # all are checked before the first is made
        texts = [_text_of(at, edit) for edit in edits]
        made: list[Suggested] = []
        for entry, files in texts:
            if not any(files.values()):
                what = "removal"
            elif at.trunk.places(entry.id):
                what = "edit"
            else:
                what = "rule"
            made.append(make(at, entry, files, f"Propose {what}: {entry.title}"))
        notes: Sequence[str] = ()
        if edits:
            notes = decisions.put_back(repo.store, at.git, edits)
    if made and notes:
        made[-1] = made[-1]._replace(warnings=(*made[-1].warnings, *notes))
    return tuple(made)


def _text_of(at: ProposalContext, edit: Edited) -> tuple[Entry, Mapping[str, bytes | None]]:
    """The rule as it shall be, with id and kind written down, and the files that say so."""
    path, data = next(iter(edit.files.items()))
    for changed_path, changed in edit.files.items():
        if changed is not None:
            path, data = changed_path, changed
            break
    if data is None:
        # it was removed: the entry is what it was
        _, blob = edit.blobs[path]
        return read_entry(path, at.read(path, blob) or b""), edit.files
    entry = read_entry(path, data)
    if entry.derived:
        data = markdown.edit(data.decode(), frontmatter.identity(entry)).encode()
    rule = checked(path, data)
    refuse_wrong_kinds(at.repo.catalog, Kind.RULE, [link[:2] for link in rule.links])
    return rule, {**edit.files, path: data}

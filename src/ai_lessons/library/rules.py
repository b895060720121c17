"""Proposing rules: new ones, edits, removals, and what was edited in the working tree. Nothing here approves any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import InvalidEntry, NotFound, StorageFailed, UsageError
from ai_lessons.knowledge import drafts, layout, markdown
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Kind, Relation
from ai_lessons.knowledge.reading import read_entry
from ai_lessons.library.checking import checked, project_name
from ai_lessons.library.rule_answers import RuleDraft, Suggested
from ai_lessons.library.rule_desk import Desk, desk
from ai_lessons.library.rule_warnings import Said, alike, contradictions, said, same
from ai_lessons.library.writes import Written
from ai_lessons.repository import landing, proposing, rule_edits
from ai_lessons.repository.proposals import text_of
from ai_lessons.repository.proposing import Wish
from ai_lessons.repository.store import Actor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.parts import Parts
    from ai_lessons.repository.rule_edits import Edited

RULE_TRAILER = "Rule"
_LINK_TO = {Kind.SCRIPT: Relation.HAS_SCRIPT, Kind.DOC: Relation.HAS_DOC}


def suggest(parts: Parts, draft: RuleDraft) -> Suggested:
    """See `Contribute.suggest_rule`."""
    if not draft.title.strip():
        raise UsageError("the rule has no title", hint="say in one line what to do: --title …")
    if not draft.rationale.strip():
        raise UsageError("the rule has no rationale", hint="say why, or nobody can judge it: --rationale …")
    with desk(parts) as at:
        created = parts.options.now()
        entry_id = drafts.new_id(created)
        fields = drafts.rule_fields(
            entry_id,
            drafts.stamp(created),
            title=draft.title,
            rationale=draft.rationale,
            tags=draft.tags,
            applies_to=draft.applies_to,
            links=_links(parts, draft.links),
        )
        project = project_name(draft.project) if draft.project else GLOBAL_PROJECT
        path = layout.rule_path(project, draft.title, entry_id)
        data = markdown.render(fields, drafts.body_of(draft.content)).encode()
        return _propose(at, checked(path, data), {path: data}, f"Propose rule: {draft.title}")


def _links(parts: Parts, wanted: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """(relation, id) pairs; no relation: the one that fits the kind."""
    resolved = []
    for relation, ref in wanted:
        target = parts.resolve(ref)
        resolved.append((relation or _LINK_TO.get(target.kind, Relation.RELATED_TO), target.id))
    return resolved


def _propose(at: Desk, entry: Entry, files: Mapping[str, bytes | None], subject: str) -> Suggested:
    """Make the proposal of a rule; `entry` is the rule as it shall be, or as it was for a removal."""
    at.parts.refuse_other_formats()
    handle = at.handle(entry.id)
    warnings = warnings_about(at, entry, handle) if any(files.values()) else ()
    wish = Wish(
        rule=entry.id,
        stem=f"{handle}-{layout.slug(entry.title)}",
        subject=subject,
        files=files,
        trailers=[(RULE_TRAILER, entry.id)],
        actor=actor(at.parts),
    )
    made = proposing.propose(at.parts.store, at.repo, at.trunk, wish)
    return Suggested(entry.id, handle, entry.title, entry.path, made.branch, made.commit, (*warnings, *made.notes))


def actor(parts: Parts) -> Actor:
    """Who is working here, for the trailers."""
    return Actor(agent=parts.options.agent, session=parts.options.session)


def warnings_about(at: Desk, entry: Entry, handle: str) -> tuple[str, ...]:
    """What speaks against a rule: much the same is there, it was turned down before, it contradicts."""
    mine = said(entry, handle, "")
    others = at.others()
    similar = [f"much like {name}" for name in alike(mine, others, closeness(at, mine))]
    before = rejected_before(at, mine)
    known = {one.id: one for one in others}
    edges = [(e.source, e.target) for e in at.parts.catalog.edges(entry.id) if e.relation == Relation.CONTRADICTS]
    rejected = [f"the same was rejected {before}"] if before else []
    return (*rejected, *contradictions(entry, known, edges), *similar)


def closeness(at: Desk, mine: Said) -> Mapping[str, float]:
    """Cosine similarity of rules in force by id, if this process has the index open anyway; else nothing."""
    if not at.parts.has_index:
        return {}
    from ai_lessons.index.rows import Filter as Rows

    words = f"{mine.title}\n{mine.rationale}"
    try:
        found = at.parts.index.candidates(words, Rows(kinds=frozenset({Kind.RULE.value})), 20)
    except StorageFailed:
        return {}  # a damaged index is the next search's business; the words decide alone
    return {hit.entry_id: hit.score for hit in reversed(found.vectors)}


def rejected_before(at: Desk, mine: Said) -> str:
    """When and why the same text was turned down; empty if it never was."""
    for one in reversed(at.rejections):
        try:
            old = read_entry(one.path, one.text.encode())
        except InvalidEntry:
            continue
        if one.text and same(mine, said(old, "", "")):
            return f"on {one.at[:10]}: {one.reason or 'no reason was given'}"
    return ""


def propose_removal(parts: Parts, ref: str) -> Suggested:
    """See `Contribute.propose_removal`."""
    with desk(parts) as at:
        light = parts.resolve(ref)
        if light.kind is not Kind.RULE:
            raise UsageError(
                f"{light.handle} is a {light.kind}, not a rule", hint=f"ai-lessons contribute delete {ref}"
            )
        entry, _ = parts.load(light.id)
        places = at.trunk.places(light.id)
        if not places:
            raise NotFound("file of the rule on the approval branch", light.handle)
        return _propose(at, entry, dict.fromkeys(sorted(places)), f"Propose removal: {entry.title}")


def propose_text(parts: Parts, entry: Entry, path: str, text: str) -> Written:
    """A proposal of another text (or place) of a rule in force; the library's answer to an edit of one."""
    data = text.encode()
    with desk(parts) as at:
        old = {one: None for one in at.trunk.places(entry.id) if one != path}
        new = checked(path, data, was=entry)
        made = _propose(at, new, {**old, path: data}, f"Propose edit: {new.title}")
    return told(made)


def told(made: Suggested) -> Written:
    """A proposal as the answer of a job that writes entries."""
    note = f"proposed on {made.branch}; what is in force stays until a person takes it"
    return Written(made.id, made.handle, Kind.RULE, made.title, made.path, made.commit, (note, *made.warnings))


def propose(parts: Parts, paths: Sequence[str] = ()) -> tuple[Suggested, ...]:
    """See `Contribute.propose`."""
    with desk(parts) as at:
        inside = [_inside(parts, path) for path in paths]
        found = rule_edits.edited(parts.store, at.repo, inside)
        wanted = [(one, *_text_of(at, one)) for one in found]  # all are checked before the first is made
        made = [_propose_edit(at, entry, files) for _, entry, files in wanted]
        pairs = {path: pair for one in found for path, pair in one.blobs.items()}
        notes = landing.put_back(parts.store, at.repo, pairs) if pairs else ()
    if made and notes:
        last = made[-1]
        made[-1] = Suggested(
            last.id, last.handle, last.title, last.path, last.branch, last.commit, (*last.warnings, *notes)
        )
    return tuple(made)


def _inside(parts: Parts, path: str) -> str:
    inside = parts.inside(path)
    if inside is None and (parts.options.cwd / path).resolve() == parts.store.root:
        return ""
    return path.rstrip("/") if inside is None else inside


def _text_of(at: Desk, one: Edited) -> tuple[Entry, Mapping[str, bytes | None]]:
    """The rule as it shall be, with id and kind written down, and the files that say so."""
    texts = {path: data for path, data in one.files.items() if data is not None}
    if not texts:
        path = next(iter(one.files))
        blob = one.blobs[path][1]
        old = text_of(at.repo, blob) if blob else b""
        return read_entry(path, old), one.files
    path, data = next(iter(texts.items()))
    entry = read_entry(path, data)
    if entry.derived:
        data = markdown.edit(data.decode(), drafts.identity(entry)).encode()
    return checked(path, data), {**one.files, path: data}


def _propose_edit(at: Desk, entry: Entry, files: Mapping[str, bytes | None]) -> Suggested:
    """A proposal of what stands in the tree; one that says the same already is not made twice."""
    for one in at.waiting:
        if one.rule == entry.id and {p.path: text_of(at.repo, p.new) if p.new else None for p in one.pieces} == dict(
            files
        ):
            return Suggested(entry.id, at.handle(entry.id), entry.title, entry.path, one.branch, one.commit)
    gone = not any(files.values())
    new = not at.trunk.places(entry.id)
    what = "removal" if gone else "rule" if new else "edit"
    return _propose(at, entry, files, f"Propose {what}: {entry.title}")

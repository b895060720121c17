"""Jobs that write: lessons, resources, changes, links. Each is one commit, made or waiting when the job returns."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from ai_lessons.errors import NotFound, UsageError
from ai_lessons.knowledge import drafts, layout, markdown
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, UNVERSIONED, Kind, Pattern, Relation
from ai_lessons.library import changing, importing, refreshing, secret_scan
from ai_lessons.library.checking import checked, project_name
from ai_lessons.library.lessons import statements
from ai_lessons.library.relating import opposites, refuse_circle, refuse_wrong_kinds
from ai_lessons.repository.store import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.parts import Parts
    from ai_lessons.library.promotion.promotions import Promoted, PromotionRequest
    from ai_lessons.library.rules.rule_answers import RuleDraft, Suggested
    from ai_lessons.library.tiers.opened import Reading, Tiers
    from ai_lessons.library.writes import (
        Feedback,
        Imported,
        LessonDraft,
        PassagePreview,
        Refreshed,
        ResourceDraft,
        Written,
    )

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _where_it_lies(
    job: Callable[Concatenate[Contribute, str, _P], _T],
) -> Callable[Concatenate[Contribute, str, _P], _T]:
    """A job about one entry is done in the repository in which that lies."""

    @wraps(job)
    def done(self: Contribute, ref: str, /, *args: _P.args, **given: _P.kwargs) -> _T:
        return job(self._at(ref), ref, *args, **given)

    return done


_NOT_FIELDS = {"links", "content", "project", "allow_secrets"}


class Contribute:
    """Nothing here approves a rule: rules are proposed, and a person merges them."""

    def __init__(self, parts: Parts, tiers: Tiers | None = None) -> None:
        """`tiers`: an entry of another one is changed where it lies."""
        self._parts, self._tiers = parts, tiers

    @property
    def _reading(self) -> Reading:
        return self._tiers.reading if self._tiers else self._parts

    def _at(self, ref: str) -> Contribute:
        """The jobs of the repository in which an entry lies."""
        parts = self._writes_to(ref)
        return self if parts is self._parts else Contribute(parts, self._tiers)

    def _writes_to(self, ref: str) -> Parts:
        return self._tiers.writing(ref) if self._tiers else self._parts

    def add_lesson(self, draft: LessonDraft) -> Written:
        """A new lesson.

        Raises:
            InvalidEntry: it breaks the format (every problem is named); NotFound: a linked entry does not exist.
        """
        parts = self._parts
        if not draft.title.strip():
            raise UsageError("the lesson has no title", hint="say in one line what was observed: --title …")
        created = parts.options.now()
        entry_id = drafts.new_id(created)
        links = self._links(draft.links)
        said = {name: value for name, value in asdict(draft).items() if name not in _NOT_FIELDS}
        if parts.options.agent:
            said["origin"] = statements.AI  # whoever it says that it speaks for
        fields = drafts.lesson_fields(entry_id, drafts.stamp(created), links=links, **said)
        fields |= secret_scan.fields(draft.allow_secrets)
        project = project_name(draft.project) if draft.project else GLOBAL_PROJECT
        path = layout.lesson_path(project, draft.title, entry_id, drafts.stamp(created))
        done = self._new(path, fields, drafts.body_of(draft.content), f"Add lesson: {draft.title}")
        action = draft.do or draft.dont
        if not (draft.when and action and draft.because):
            return done
        parts.current()
        pattern = Pattern(draft.when, action, draft.because, negative=draft.dont is not None)
        return replace(done, notes=(*done.notes, *opposites(parts, done.id, pattern)))

    def _links(self, wanted: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        if not wanted:
            return []
        self._reading.current()
        found = drafts.resolved(wanted, self._reading.resolve)
        refuse_wrong_kinds(self._reading, Kind.LESSON, found)
        return found

    def _new(self, path: str, fields: Mapping[str, Any], body: str, subject: str) -> Written:
        data = markdown.render(fields, body).encode()
        entry = checked(path, data)
        applied = self._parts.write(subject, [Change(path, data, expect=None)], [("Entry", entry.id)])
        if entry.fields.get("from") == statements.USER:
            statements.remember(self._parts, statements.USER, entry)
        return self._parts.written_one(entry, applied)

    def add_resources(self, draft: ResourceDraft) -> Imported:
        """Snapshots of docs, or scripts, in one commit. Files inside the repository are described where they are.

        A doc that was imported from the same place before is brought up to date. Text is indexed at once where a
        search asks for it; see `importing` for what is skipped.
        """
        return importing.add(self._parts, draft)

    def preview(self, draft: ResourceDraft) -> tuple[PassagePreview, ...]:
        """How `add_resources` would cut the files into passages. Writes nothing."""
        return importing.preview(self._parts, draft)

    def refresh(
        self, refs: Sequence[str], *, every: bool = False, allow_secrets: Sequence[tuple[str, str]] = ()
    ) -> tuple[Refreshed, ...]:
        """Read docs again from where they came, in one commit; `every` means all that name a source."""
        return refreshing.refresh(self._parts, refs, every=every, allow_secrets=allow_secrets)

    @_where_it_lies
    def update(
        self,
        ref: str,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        versions: Sequence[str] | None = None,
        project: str | None = None,
        confidence: str | None = None,
        source: str | None = None,
        category: str | None = None,
        status: str | None = None,
        contexts: Sequence[str] | None = None,
        applies_to: Sequence[str] | None = None,
        content: str | None = None,
        allow_secrets: Sequence[tuple[str, str]] = (),
        only_resources: bool = False,
    ) -> Written:
        """Change what is given and nothing else; None leaves a key alone, an empty list removes it.

        New versions or another project move the file; its id stays.

        Raises:
            UsageError: nothing is given, or with `only_resources` it is a lesson or a rule.
        """
        self._parts.current()
        light = self._parts.resolve(ref)
        if only_resources:
            _refuse_others(light, "update")
        new_tags = None
        if tags is not None or add_tags or remove_tags:
            kept = set(light.tags if tags is None else tags) | set(add_tags)
            new_tags = sorted(kept - set(remove_tags))
        plain = [v for v in versions if v != UNVERSIONED] if versions is not None else None
        scalars = {
            "title": title, "confidence": confidence, "source": source, "category": category, "status": status,
        }  # fmt: skip
        lists = {"tags": new_tags, "versions": plain, "contexts": contexts, "applies_to": applies_to}
        changes: dict[str, Any] = {key: value for key, value in scalars.items() if value is not None}
        changes |= {k: list(v) if v else markdown.REMOVE for k, v in lists.items() if v is not None}
        changes |= secret_scan.fields(allow_secrets, there=self._parts.catalog.fields(light.id))
        if not changes and project is None and content is None:
            raise UsageError("nothing to change", hint="give at least one of --title, --tags, --version, …")
        subject = f"Update {light.kind}: {title or light.title}"
        done = changing.change(self._parts, light, changes, subject, content=content, project=project, versions=plain)
        self._parts.usages.note_status(light, status)
        return done

    @_where_it_lies
    def edit(self, ref: str, editor: Callable[[str, str], str | None]) -> Written | None:
        """Let `editor(text, suffix)` change the file's text; None if it gave up or changed nothing.

        An invalid result is not written.

        Raises:
            InvalidEntry: what came back breaks the format. Conflict: the file changed meanwhile.
        """
        self._parts.current()
        light = self._parts.resolve(ref)
        entry, text = self._parts.load(light.id)
        start = text or markdown.render(drafts.identity(entry), "")
        new_text = editor(start, ".md")
        if new_text is None or new_text == start:
            return None
        return changing.rewrite(self._parts, entry, text, new_text, entry.path, f"Edit {light.kind}: {light.title}")

    @_where_it_lies
    def keep(self, ref: str) -> Written:
        """Write down that an entry was looked at today and holds: `Admin.review` leaves it alone for half a year.

        Of a rule it is a proposal, as every edit of one.
        """
        self._parts.current()
        light = self._parts.resolve(ref)
        today = drafts.stamp(self._parts.options.now())[:10]
        return changing.change(self._parts, light, {"reviewed": today}, f"Keep {light.kind}: {light.title}")

    def delete(self, refs: Sequence[str], *, only_resources: bool = False) -> tuple[Written, ...]:
        """Remove entries, all in one commit. Git keeps their history, edits that were in no commit included.

        The removal of a rule is a proposal.

        Raises:
            UsageError: with `only_resources` one of them is a lesson or a rule; then nothing is removed.
        """
        if not refs:
            raise NotFound("entry", "", hint="name at least one")
        if only_resources:
            self._reading.current()
            for ref in refs:
                _refuse_others(self._reading.resolve(ref), "delete")
        places = self._by_place(refs)  # all are resolved before the first is deleted
        return tuple(one for parts, own in places for one in changing.delete(parts, own))

    def suggest_rule(self, draft: RuleDraft) -> Suggested:
        """A new rule as a proposal: one commit on a branch of its own. Files, git's index and HEAD stay as they are.

        Raises:
            UsageError: no title or rationale. InvalidEntry: it breaks the format. NotFound: a linked entry does not
            exist. Refused: git has no name for the user.
        """
        from ai_lessons.library.rules.suggesting import suggest

        return suggest(self._parts, draft)

    def propose(self, paths: Sequence[str] = ()) -> tuple[Suggested, ...]:
        """Make proposals of rules that were edited, made or removed in the working tree (or of those at `paths`).

        Then the working tree and git's index hold what is checked out again.

        Raises:
            InvalidEntry: a text breaks the format, or took another rule's id; then nothing was proposed.
        """
        from ai_lessons.library.rules.suggesting import propose

        return propose(self._parts, paths)

    def promote(self, ref: str, to: str, wanted: PromotionRequest | None = None) -> Promoted:
        """Bring an entry to another tier: a copy to the user's or the project's, a proposal to an enterprise's.

        Raises:
            See `promoting.promote`.
        """
        from ai_lessons.library.promotion.promoting import promote
        from ai_lessons.library.promotion.promotions import PromotionRequest

        if self._tiers is None:
            raise UsageError("only one repository is open, so nothing can be promoted")
        return promote(self._tiers, ref, to, wanted or PromotionRequest())

    @_where_it_lies
    def propose_removal(self, ref: str) -> Suggested:
        """The removal of a rule in force as a proposal.

        Raises:
            NotFound: no such rule in force. UsageError: not a rule.
        """
        from ai_lessons.library.rules.suggesting import propose_removal

        return propose_removal(self._parts, ref)

    def link(self, a: str, b: str, relation: str, weight: float | None = None) -> Written:
        """Write an edge from `a` to `b` into `a`. The same edge again only changes its weight.

        A symmetric relation that `b` states already is the same edge.

        Raises:
            UsageError: no such relation, one that does not join these kinds, or both are the same entry. Conflict: it
            would close a circle of a relation that makes no sense in one.
        """
        if relation not in set(Relation):
            raise UsageError(f"no relation {relation!r}", hint="one of: " + ", ".join(Relation))
        start, end = self._pair(a, b)
        refuse_wrong_kinds(self._reading, start.kind, [(relation, end.id)])
        refuse_circle(self._reading, start, relation, end)
        if Relation(relation).symmetric and self._says(end, relation, start):
            start, end = end, start
        entry, _ = self._reading.load(start.id)
        kept = [x for x in entry.links if (x.relation, x.target) != (relation, end.id)]
        links = drafts.link_items(kept, add=(relation, end.id, weight))
        subject = f"Link: {start.title} {relation} {end.title}"
        parts = self._writes_to(start.id)
        done = changing.change(parts, start, {"links": links}, subject)
        if relation in statements.SILENCING:
            statements.remember_link(parts, start.id, end.id)
        return done

    def _says(self, here: Light, relation: str, there: Light) -> bool:
        entry, _ = self._reading.load(here.id)
        return any((x.relation, x.target) == (relation, there.id) for x in entry.links)

    def unlink(self, a: str, b: str, relation: str | None = None) -> Written:
        """Take the edges between two entries away (of one relation, or all), in whichever of the two they stand.

        Raises:
            NotFound: there is none.
        """
        start, end = self._pair(a, b)
        for here, there in ((start, end), (end, start)):
            entry, _ = self._reading.load(here.id)
            edges = entry.links
            kept = [x for x in edges if x.target != there.id or relation not in {None, x.relation}]
            if len(kept) != len(edges):
                links = drafts.link_items(kept) or markdown.REMOVE
                subject = f"Unlink: {here.title} and {there.title}"
                return changing.change(self._writes_to(here.id), here, {"links": links}, subject)
        raise NotFound(f"link between {start.handle} and", end.handle, hint=f"ai-lessons recall related {start.handle}")

    def feedback(self, ref: str, outcome: str, note: str = "") -> Feedback:
        """Say that an entry was helpful, ignored or contradicted; its confidence moves by that. One event, no commit.

        Raises:
            UsageError: another word. NotFound, AmbiguousName: not one entry. Refused: events are not recorded here.
        """
        from ai_lessons.library.feedback import feedback

        return feedback(self._tiers.holding(ref) if self._tiers else self._parts, ref, outcome, note)

    def _by_place(self, refs: Sequence[str]) -> list[tuple[Parts, list[str]]]:
        """The repositories in which these entries lie, each with its own; without any the one that is written to."""
        found: dict[int, tuple[Parts, list[str]]] = {}
        for ref in refs:
            parts = self._writes_to(ref)
            found.setdefault(id(parts), (parts, []))[1].append(ref)
        return list(found.values()) or [(self._parts, [])]

    def _pair(self, a: str, b: str) -> tuple[Light, Light]:
        reading = self._reading
        reading.current()
        start, end = reading.resolve(a), reading.resolve(b)
        if start.id == end.id:
            raise UsageError("an entry cannot be linked to itself")
        return start, end


def _refuse_others(light: Light, job: str) -> None:
    """Refuse what is neither a doc nor a script."""
    if not light.kind.is_resource:
        hint = f"ai-lessons contribute {job} {light.handle}"
        raise UsageError(f"{light.handle} is a {light.kind}, neither a doc nor a script", hint=hint)

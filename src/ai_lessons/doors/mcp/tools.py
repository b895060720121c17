"""The tools as agents call them: parse, one library call, answer as text and as data. The server calls them in threads.

No `from __future__ import annotations` here: the SDK reads the signatures while it runs.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent
from pydantic import BeforeValidator, Field

from ai_lessons import library
from ai_lessons.doors import render, render_jobs, render_lessons, render_promoting, render_rules, render_usage
from ai_lessons.doors.mcp import calls, framing, shapes
from ai_lessons.doors.mcp.desk import SessionPool
from ai_lessons.doors.opening import whereabouts
from ai_lessons.doors.terminal import View, line
from ai_lessons.knowledge.entries import Category, Confidence, Kind, Relation, Source
from ai_lessons.library.answers import ContextQuery, Query
from ai_lessons.library.opened import Library
from ai_lessons.library.promotion.promotions import PromotionRequest
from ai_lessons.library.reports import LessonDraft, ResourceDraft
from ai_lessons.library.rules.rule_answers import RuleDraft

T = TypeVar("T")
Ctx = Context[Any, Any]

RESOURCE_KINDS = frozenset(kind for kind in Kind if kind.is_resource)
TIMEOUT = 120.0
"""Seconds that a script gets unless the agent asks for more: it is waiting."""


def as_words(value: object) -> object:
    """A list of words where a model wrote one text with commas."""
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


def as_tags(value: object) -> object:
    """Tags with weights where a model wrote only their names."""
    words = as_words(value)
    return dict.fromkeys(words) if isinstance(words, list) else value


def as_one(value: object) -> object:
    """A list where a model wrote one text."""
    return [value] if isinstance(value, str) else value


Words = Annotated[list[str], BeforeValidator(as_words)]
Paths = Annotated[list[str], BeforeValidator(as_one)]
Tags = Annotated[dict[str, float | None], BeforeValidator(as_tags), Field(description="tag: weight")]
Limit = Annotated[int, Field(ge=1, le=100)]
Resource = Annotated[Kind | None, Field(json_schema_extra={"enum": sorted(RESOURCE_KINDS)})]


class Tools:
    """Every tool is a method; `SessionPool` gives it the library."""

    def __init__(self, desk: SessionPool) -> None:
        self._desk = desk

    def search(
        self,
        query: str,
        context_tags: Tags = {},  # noqa: B006  # never changed, and the schema shows it
        type: Kind | None = None,  # noqa: A002  # the agreed name
        versions: Words = [],  # noqa: B006
        project: str | None = None,
        limit: Limit = 10,
    ) -> CallToolResult:
        """Search rules, scripts, lessons and docs by meaning and words.

        Call before a task and after an error.
        """
        kinds = frozenset({type}) if type else frozenset[Kind]()
        return self._search(Query(query, kinds, versions, project, (), context_tags, limit))

    def search_resources(
        self,
        query: str,
        type: Resource = None,  # noqa: A002
        versions: Words = [],  # noqa: B006
        limit: Limit = 10,
    ) -> CallToolResult:
        """Search docs and scripts only."""
        kinds = frozenset({type}) if type else RESOURCE_KINDS
        return self._search(Query(query, kinds, versions, limit=limit), only_resources=True)

    def _search(self, query: Query, *, only_resources: bool = False) -> CallToolResult:
        found = self._read(lambda opened: library.searching.search(opened, query._replace(approvals=True)))
        return answer(framing.search(found, self._root, only_resources=only_resources), shapes.ruled(found))

    def get_resource(self, resource_id: str, section: int | None = None) -> CallToolResult:
        """Read one search result of any kind in full, or one numbered section of it."""
        return self.get(resource_id, section)

    def get(self, id: str, section: int | None = None) -> CallToolResult:  # noqa: A002
        """Read one entry in full, or one numbered section of it."""
        value = self._read(lambda opened: library.browsing.show(opened, id, section=section))
        return answer(framing.shown(value, self._root), shapes.shown(value))

    def context(
        self,
        project: str | None = None,
        context_tags: Tags = {},  # noqa: B006
        paths: Annotated[Paths, Field(description="files about to be edited")] = [],  # noqa: B006
        query: str = "",
        budget: Limit | None = None,
    ) -> CallToolResult:
        """Rules and lessons for what you are about to do or edit."""
        wanted = ContextQuery(project, context_tags, paths, query, budget, approvals=True)
        found = self._read(lambda opened: library.contexts.context(opened, wanted))
        return answer(framing.context(found, self._root), shapes.ruled(found))

    def related(self, id: str, depth: Annotated[int, Field(ge=1, le=5)] = 1) -> CallToolResult:  # noqa: A002
        """Entries that links lead to, either way."""
        found = self._read(lambda opened: library.browsing.related(opened, id, depth))
        return answer(render.related(found, self._view), shapes.listed("related", found))

    def load_lessons(
        self,
        scope: str | None = None,
        limit: Annotated[int, Field(ge=1, le=1000)] = 100,
    ) -> CallToolResult:
        """The lessons that hold everywhere and those of one scope (a project), for the start of a session."""
        found = self._read(lambda opened: library.lessons.load(opened, scope, limit=limit))
        text = framing.loaded(found, self._root)
        return answer(text, shapes.framed(found))

    def list_pending(self) -> CallToolResult:
        """Proposals that wait for a person: rules, other entries, releases. None of them counts yet."""
        found = self._read(library.rule_review.pending_rules)
        return answer(framing.pending(found, self._root), shapes.pending(found))

    def stats(self) -> CallToolResult:
        """How much is kept, and what waits."""
        found = self._read(library.health.stats)
        return answer(render_jobs.stats(found, self._view), shapes.encoded(found))

    def add_lesson(
        self,
        ctx: Ctx,
        title: str,
        content: str = "",
        tags: Words = [],  # noqa: B006
        project: str = "",
        confidence: Confidence = Confidence.MEDIUM,
        source: Source = Source.OBSERVED,
        category: Category | None = None,
        contexts: Words = [],  # noqa: B006
        applies_to: Annotated[Paths, Field(description="globs of files")] = [],  # noqa: B006
        links: Annotated[Words, Field(description="ids")] = [],  # noqa: B006
        when: str | None = None,
        do: str | None = None,
        dont: str | None = None,
        because: str | None = None,
    ) -> CallToolResult:
        """Record one observation; when, do or dont, because make it a pattern.

        Owed after more than one attempt. If a task failed: title "[UNSOLVED] …".
        """
        draft = LessonDraft(
            title, content, tags, project, confidence.value, source.value, "ai", category.value if category else None,
            contexts, applies_to, [("", one) for one in links], when=when, do=do, dont=dont, because=because,
        )  # fmt: skip
        done = self._write(ctx, lambda opened: library.editing.add_lesson(opened, draft))
        return answer(told(render_jobs.written(done, self._view), done.notes), shapes.encoded(done))

    def add_resource(
        self,
        ctx: Ctx,
        type: Annotated[Kind, Field(json_schema_extra={"enum": sorted(RESOURCE_KINDS)})],  # noqa: A002
        path: Annotated[str, Field(description="file, folder (recursive) or glob")],
        title: str | None = None,
        versions: Words = [],  # noqa: B006
        project: str | None = None,
        tags: Words = [],  # noqa: B006
        recursive: bool = False,  # called by name
    ) -> CallToolResult:
        """Keep a doc or a script from the file system."""
        draft = ResourceDraft(type, (path,), title, versions, project, tags, recursive)
        done = self._write(ctx, lambda opened: library.importing.add_resources(opened, draft))
        return answer(told(render_jobs.imported(done, self._view), done.notes), shapes.encoded(done))

    def refresh_resource(
        self,
        ctx: Ctx,
        resource_id: str | None = None,
        all: bool = False,  # noqa: A002
    ) -> CallToolResult:
        """Read a doc (or all) again from where it came."""
        refs = (resource_id,) if resource_id else ()
        done = self._write(ctx, lambda opened: library.refreshing.refresh(opened, refs, every=all))
        return answer(render_jobs.refreshed(done, self._view), shapes.listed("refreshed", done))

    def suggest_rule(
        self,
        ctx: Ctx,
        title: str,
        rationale: str,
        content: str = "",
        tags: Words = [],  # noqa: B006
        linked_lessons: Words = [],  # noqa: B006
        linked_resources: Words = [],  # noqa: B006
        project: str = "",
        applies_to: Annotated[Paths, Field(description="globs of files")] = [],  # noqa: B006
    ) -> CallToolResult:
        """Propose a rule. It is in force only after a person approves it."""
        links = [("", one) for one in (*linked_lessons, *linked_resources)]
        draft = RuleDraft(title, rationale, content, tags, project, applies_to, links)
        done = self._write(ctx, lambda opened: library.suggesting.suggest_rule(opened, draft))
        return answer(render_rules.suggested(done, self._view), shapes.encoded(done))

    def link(
        self,
        ctx: Ctx,
        from_id: str,
        to_id: str,
        relation: Relation = Relation.RELATED_TO,
        weight: Annotated[float | None, Field(ge=0, le=1)] = None,
    ) -> CallToolResult:
        """Say how one entry stands to another."""
        done = self._write(ctx, lambda opened: library.editing.link(opened, from_id, to_id, relation.value, weight))
        return answer(told(render_jobs.written(done, self._view), done.notes), shapes.encoded(done))

    def record_outcome(
        self,
        ctx: Ctx,
        id: str,  # noqa: A002
        outcome: Literal["helpful", "ignored", "contradicted"],
        note: str = "",
    ) -> CallToolResult:
        """Say how an entry did: its confidence learns from it."""
        done = self._write(ctx, lambda opened: library.editing.feedback(opened, id, outcome, note))
        return answer(told(render_usage.feedback(done, self._view), done.notes), shapes.encoded(done))

    def mark_wrong(self, ctx: Ctx, id: str, reason: str = "") -> CallToolResult:  # noqa: A002
        """Take a lesson that is wrong out of all results; its file and history stay."""
        done = self._write(ctx, lambda opened: library.lesson_writing.wrong(opened, id, reason, by="ai"))
        return answer(told(render_lessons.marked_wrong(done, self._view), done.notes), shapes.encoded(done))

    def unlink(self, ctx: Ctx, from_id: str, to_id: str, relation: Relation | None = None) -> CallToolResult:
        """Take links between two entries away: of one relation, or all."""
        said = relation.value if relation else None
        done = self._write(ctx, lambda opened: library.editing.unlink(opened, from_id, to_id, said))
        return answer(told(render_jobs.written(done, self._view), done.notes), shapes.encoded(done))

    def promote(
        self,
        ctx: Ctx,
        id: str,  # noqa: A002
        to: Annotated[str, Field(description="enterprise:NAME; a rule also to user or project")],
        reason: str = "",
        dry_run: bool = False,  # called by name
    ) -> CallToolResult:
        """Propose an entry to an enterprise, with an evaluation; a person there decides.

        With dry_run only the evaluation. Copies between the user's and the project's tier are for people.
        """
        wanted = PromotionRequest(reason=reason, dry_run=dry_run, person=False)
        done = self._write(ctx, lambda opened: library.promoting.promote(opened, id, to, wanted))
        return answer(told(render_promoting.promoted(done, self._view), done.notes), shapes.encoded(done))

    def run_script(
        self,
        ctx: Ctx,
        resource_id: str,
        args: list[str] = [],  # noqa: B006
        timeout: Annotated[float, Field(gt=0, le=3600, description="seconds")] = TIMEOUT,
    ) -> CallToolResult:
        """Run a script that this machine trusts; gives exit code and output."""
        still = partial(self._desk.still, calls.wanted)

        def job(opened: Library) -> Any:
            return library.running.run_captured(opened, resource_id, args, timeout=timeout, interrupted=still)

        done = self._desk.run(job, agent=calls.agent(ctx))
        return answer(framing.ran(done), shapes.encoded(done))

    @property
    def _root(self) -> str:
        return whereabouts(self._desk.settings)

    @property
    def _view(self) -> View:
        settings = self._desk.settings
        return View(root=str(settings.repo), roots={tier.name: str(tier.path) for tier in settings.reads})

    def _read(self, job: Callable[[Library], T]) -> T:
        return self._desk.read(job, calls.wanted)

    def _write(self, ctx: Ctx, job: Callable[[Library], T]) -> T:
        progress = calls.Reported(ctx).show
        return self._desk.write(job, calls.wanted, agent=calls.agent(ctx), progress=progress)


def answer(text: str, data: dict[str, Any]) -> CallToolResult:
    """What the agent reads, and the same as data."""
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)


def told(text: str, notes: tuple[str, ...]) -> str:
    """The text of a write, and what else is to be known; why it waits is in the text already."""
    others = [f"note: {line(note)}" for note in notes if not note.startswith(("waiting: ", "proposed on "))]
    return "\n".join([text, *dict.fromkeys(others)])

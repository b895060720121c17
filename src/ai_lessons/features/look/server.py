"""The server of the page: who may ask, what is asked, and the two ways that things change.

On this machine only.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import signal
import stat
import time
import webbrowser
from collections import Counter, defaultdict
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import groupby
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from uvicorn import Server

from ai_lessons import app
from ai_lessons.app.options import no_progress
from ai_lessons.errors import AiLessonsError, Conflict, InvalidEntry, NotFound, Refused, UsageError
from ai_lessons.features.look import pages
from ai_lessons.features.look.pages import Page, href
from ai_lessons.interfaces.cli.contribute import OUTCOMES
from ai_lessons.interfaces.mcp.over_http import BODY_BYTES, ListenAddress, listening, served
from ai_lessons.interfaces.mcp.sessions import SessionPool
from ai_lessons.model.entries import Relation
from ai_lessons.model.links import Line, communities

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ai_lessons.app.workspace import Library
    from ai_lessons.features.look.pages import Asked
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.settings import Settings

HOST = "127.0.0.1"
PLAYING = "playing transcripts"
NOTHING = (
    "There is nothing here. The pages are below the address that `ai-lessons look` printed last."
)
ELSEWHERE = "This was asked from another page or under another name, so it is not done."
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # the address holds the secret
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STATUSES = {NotFound: 404, Refused: 403, UsageError: 400, InvalidEntry: 400, Conflict: 409}


# --- what is changed: proposals are approved, edited and turned down as on the command line; agents
# are refused ---


class Done(NamedTuple):
    """What is said of it, the page to go to, and the commit of a decision that can be taken back.

    `again`: nothing was saved, and this page shows what was typed, with this `status`.
    """

    messages: tuple[str, ...] = ()
    next: str = "review"
    undo: str = ""
    again: Callable[[Library], pages.Page] | None = None
    status: int = 303


class Notice(NamedTuple):
    """A sentence at the top of the next page, and the decision that its button takes back."""

    text: str
    undo: str = ""


Form: TypeAlias = "Callable[[Library, Mapping[str, str]], Done]"


def approve(opened: Library, form: Mapping[str, str]) -> Done:
    """Approve the proposal as it was shown."""
    done = app.review.approve_rule(opened, form.get("ref", ""), expect=form.get("commit", ""))
    return Done(_decided("Approved", [done]), _after(form), done.commit)


def _after(form: Mapping[str, str]) -> str:
    """The page of the proposal that stood behind the one that was decided about."""
    if form.get("after"):
        return f"review?ref={quote(form['after'])}"
    return "review"


def undo(opened: Library, form: Mapping[str, str]) -> Done:
    """Take a decision back by the next one: what was decided about waits again."""
    done = app.review.take_back(opened, form.get("commit", ""))
    return Done(
        (f"Taken back: {done.handle} {done.title} waits again", *done.warnings),
        f"review?ref={quote(done.branch)}",
    )


def approve_batch(opened: Library, form: Mapping[str, str]) -> Done:
    """Approve all proposals of an import, with one merge, if they are those that were shown."""
    batch = form.get("batch", "")
    # a commit, its branch, and so on
    shown = form.get("shown", "").split()
    chosen = dict(zip(shown[1::2], shown[::2], strict=False))
    done = app.review.approve_rules(opened, chosen, f"of batch {batch}")
    return Done(_decided("Approved", done))


def reject(opened: Library, form: Mapping[str, str]) -> Done:
    """Turn the proposal down as it was shown, with a reason."""
    reason, commit = form.get("reason", ""), form.get("commit", "")
    done = app.review.reject_rule(opened, form.get("ref", ""), reason=reason, expect=commit)
    return Done(_decided("Rejected", [done]), _after(form), done.commit)


def edit(opened: Library, form: Mapping[str, str]) -> Done:
    """Another text of the proposal, as one more commit; it waits as before."""
    # as browsers end lines
    text = form.get("text", "").replace("\r\n", "\n")
    ref, commit = form.get("ref", ""), form.get("commit", "")
    try:
        done = app.review.edit_proposal(opened, ref, lambda _old, _suffix: text, commit)
    except (InvalidEntry, Refused, Conflict, UsageError) as error:
        typed = pages.Edit(text, commit, problem=_problem(error))
        return _typed_again(partial(pages.review, asked=form), typed, error, ref)
    if done is None:
        return Done(("Nothing was changed.",))
    return Done(
        (f"Edited {done.handle}: {done.title}", *done.warnings), f"review?ref={quote(done.branch)}"
    )


def edit_entry(opened: Library, form: Mapping[str, str]) -> Done:
    """Another text of an entry's file, if it is the one that was shown; of a rule a proposal."""
    text, ref, mark = (
        form.get("text", "").replace("\r\n", "\n"),
        form.get("ref", ""),
        form.get("mark", ""),
    )
    page, now = partial(pages.entry, asked={"ref": ref, "edit": "yes"}), list[str]()

    def editor(old: str, _suffix: str) -> str | None:
        now.append(old)
        if pages.text_mark(old) == mark:
            return text
        return None

    try:
        done = app.editing.edit(opened, ref, editor)
    except (InvalidEntry, Refused, Conflict, UsageError) as error:
        return _typed_again(page, pages.Edit(text, mark, problem=_problem(error)), error)
    if pages.text_mark(now[0]) != mark:
        changed = Conflict(
            "the file was changed while you edited it; saving now puts your text in its place"
        )
        return _typed_again(
            page, pages.Edit(text, pages.text_mark(now[0]), now[0], _problem(changed)), changed
        )
    if done is None:
        return Done(("Nothing was changed.",), pages.href(ref))
    if done.proposed_on:
        return Done(
            (f"Proposed {done.handle}: {done.title}", *done.notes),
            f"review?ref={quote(done.proposed_on)}",
        )
    return Done((f"Saved {done.handle}: {done.title}", *done.notes), pages.href(done.id))


def feedback(opened: Library, form: Mapping[str, str]) -> Done:
    """How an entry did: its confidence learns from it."""
    ref, outcome = form.get("ref", ""), form.get("outcome", "")
    if outcome not in OUTCOMES:
        raise UsageError(f"an entry was {', '.join(OUTCOMES)}")
    done = app.editing.feedback(opened, ref, outcome, form.get("note", ""))
    return Done((f"Noted: {done.entry.handle} was {outcome}", *done.notes), pages.href(ref))


def _typed_again(
    job: Callable[[Library], pages.Page], typed: pages.Edit, error: AiLessonsError, branch: str = ""
) -> Done:
    """The page with what was typed, unless the proposal of the `branch` is no more open, and another one is shown."""

    def page(library: Library) -> pages.Page:
        shown = job(library)
        proposal = shown.values.get("one")
        same = not branch or (proposal is not None and proposal.branch == branch)
        return shown._replace(values={**shown.values, "edit": typed if same else None})

    return Done(again=page, status=_status(error))


def _status(error: AiLessonsError) -> int:
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)


def _problem(error: AiLessonsError) -> str:
    return f"Nothing was saved: {error.message}" + (f" ({error.hint})" if error.hint else "")


def _decided(word: str, decisions: Iterable[app.review.Decided]) -> tuple[str, ...]:
    results = []
    for decision in decisions:
        for message in (f"{word} {decision.handle}: {decision.title}", *decision.notes):
            results.append(message)
    return tuple(results)


# --- the page of what is linked: drawn by a program, and as lists for who has none ---

# Entries of a graph that are drawn, and those of its list: a page must stay light
DRAWN, LISTED = 5_000, 500


class Topic(NamedTuple):
    """Entries that hang together, the most linked first, and what they are about.

    A tag, or their project.
    """

    name: str
    entries: Sequence[EntrySummary]


class Drawing(NamedTuple):
    """What is drawn: topics, the links between their entries, and how many entries were too many.

    `unlinked`: the entries that are linked with nothing, by project; where nothing is linked, those
    are the topics.
    """

    topics: Sequence[Topic]
    links: Sequence[Line]
    confidence: dict[str, float]
    left_out: int
    unlinked: Sequence[Topic]

    @property
    def entries(self) -> dict[str, EntrySummary]:
        """All that is drawn, by id."""
        entries: dict[str, EntrySummary] = {}
        for topic in self.topics:
            for summary in topic.entries:
                entries[summary.id] = summary
        return entries


def graph(opened: Library, asked: Asked) -> Page:
    """What is linked: drawn, and as lists of topics, each entry with what it links."""
    drawn = _drawing(opened, asked)
    chosen = {}
    for key in ("ref", "project", "kind", "q", "depth"):
        chosen[key] = asked.get(key, "").strip()
    words = chosen["q"].casefold().split()
    every = drawn.entries

    def kept(summaries: Iterable[EntrySummary]) -> list[EntrySummary]:
        results: list[EntrySummary] = []
        for summary in summaries:
            if chosen["kind"] in {"", summary.kind.value} and all(
                word in summary.title.casefold() for word in words
            ):
                results.append(summary)
        return results

    summaries = kept(every.values())
    listed = set()
    for summary in summaries[:LISTED]:
        listed.add(summary.id)
    links = defaultdict(list)
    for link in drawn.links:
        for end, other, outgoing in (
            (link.source, link.target, True),
            (link.target, link.source, False),
        ):
            if end in listed and other in every:
                links[end].append((Relation(link.relation).words(outgoing=outgoing), every[other]))
    # topics may have one name
    members = defaultdict[str, list["EntrySummary"]](list)
    for topic in drawn.topics:
        members[topic.name] += [summary for summary in topic.entries if summary.id in listed]
    start = None
    if chosen["ref"]:
        start = every.get(app.entries.show(opened, chosen["ref"]).entry.id)
    values = {
        "title": "Graph", "topics": [Topic(*item) for item in members.items() if item[1]], "links": links,
        "chosen": chosen, "start": start, "total": len(summaries), "linked": len(drawn.links),
        "left_out": drawn.left_out, "LISTED": LISTED, "projects": app.entries.projects(opened),
        "unlinked": [Topic(topic.name, lights_of) for topic in drawn.unlinked if (lights_of := kept(topic.entries))],
    }  # fmt: skip
    return Page("graph.html", values)


def graph_data(opened: Library, asked: Asked) -> dict[str, Any]:
    """The same for the program that draws it."""
    drawn = _drawing(opened, asked)
    nodes = []
    for number, topic in enumerate(drawn.topics):
        for summary in topic.entries:
            nodes.append(
                {
                    "id": summary.id,
                    "handle": summary.handle,
                    "label": summary.title,
                    "kind": summary.kind.value,
                    "href": href(summary.id),
                    "project": summary.project,
                    "size": drawn.confidence.get(summary.id, 0.6),
                    "cluster": number,
                    "topic": topic.name if len(topic.entries) > 2 else "",
                }
            )
    lines = []
    for link in drawn.links:
        if {link.source, link.target} <= drawn.entries.keys():
            lines.append(
                {
                    "source": link.source,
                    "target": link.target,
                    "label": Relation(link.relation).words(),
                    "back": Relation(link.relation).words(outgoing=False),
                }
            )
    return {"nodes": nodes, "lines": lines}


def _drawing(opened: Library, asked: Asked) -> Drawing:
    refs = [asked["ref"]] if asked.get("ref") else []
    depth = int(asked["depth"]) if asked.get("depth") in {"1", "2", "3"} else 2
    project = asked.get("project") or None
    linking = app.link_effects.graph(opened, refs, depth=depth, most=DRAWN, project=project)
    linked = {end for link in linking.links for end in (link.source, link.target)}
    every = () if refs else app.entries.list_entries(opened, project=project).entries
    unlinked = _by_project(summary for summary in every if summary.id not in linked)
    confidence = dict(linking.confidence)
    if linking.links or refs:
        return Drawing(_topics(linking), linking.links, confidence, linking.left_out, unlinked)
    return Drawing(unlinked, (), confidence, 0, ())


def _by_project(summaries: Iterable[EntrySummary]) -> list[Topic]:
    projects = [
        Topic(project, list(entries))
        for project, entries in groupby(
            sorted(summaries, key=lambda summary: summary.project), lambda summary: summary.project
        )
    ]
    return sorted(projects, key=lambda topic: (-len(topic.entries), topic.name))


def _topics(drawn: app.link_effects.Graph) -> list[Topic]:
    """The groups of the graph, the largest first, named by the tag that marks them off, else by their project."""
    order = {}
    for position, summary in enumerate(drawn.entries):
        order[summary.id] = (position, summary)
    groups = [
        [summary for _, summary in sorted(order[member] for member in group if member in order)]
        for group in communities((link.source, link.target) for link in drawn.links)
    ]
    grouped = {summary.id for group in groups for summary in group}
    groups += [[summary] for summary in drawn.entries if summary.id not in grouped]
    every = Counter(tag for summary in drawn.entries for tag in summary.tags)
    topics, taken = [], set[str]()
    for group in filter(None, groups):
        tags = Counter(tag for summary in group for tag in summary.tags if tag not in taken)
        tag = max(tags, key=lambda name: (tags[name] ** 2 / every[name], name), default="")
        project = Counter(summary.project for summary in group).most_common(1)[0][0]
        if 3 * tags[tag] > len(group) > 1:
            name = tag
        else:
            name = project
        taken.add(name)
        topics.append(Topic(name, group))
    return topics


PAGES: Mapping[str, pages.Job] = {
    "/": pages.search, "/search": pages.search, "/entry/{ref:path}": pages.entry, "/review": pages.review,
    "/graph": graph, "/learning": pages.learning, "/tiers": pages.tiers,
    "/about": pages.about,
}  # fmt: skip

FORMS: Mapping[str, Form] = {
    "/review/approve": approve, "/review/approve-batch": approve_batch, "/review/reject": reject, "/review/edit": edit,
    "/review/undo": undo, "/entry/edit": edit_entry, "/entry/feedback": feedback,
}  # fmt: skip


# --- who may ask, and what is answered ---


class Guard:
    """Lets through only what knows the secret, with which each address begins, and comes from a page of ours."""

    def __init__(self, app: ASGIApp, secret: str, port: int) -> None:
        self._app, self._secret = app, secret.encode()
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the same 404 to all others.

        Every answer has the headers that keep a page to itself.
        """

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [
                    (name.lower().encode(), value.encode()) for name, value in HEADERS.items()
                ]
            await send(message)

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        secret, slash, path = scope["path"].removeprefix("/").partition("/")
        # in constant time: how long a comparison takes must not tell how much of a guess is right
        if not hmac.compare_digest(secret.encode(), self._secret):
            answer: ASGIApp = PlainTextResponse(NOTHING, 404)
        elif not slash:
            answer = RedirectResponse(f"{secret}/")
        else:
            # how the address was written says how far up the first page is: a reference may hold
            # `%2F`
            root = "../" * (scope["raw_path"].count(b"/") - 2) or "./"
            scope = {
                **scope,
                "path": f"/{path}",
                "raw_path": quote(f"/{path}").encode(),
                "state": {"root": root},
            }
            if self._ours(Request(scope)):
                answer = self._app
            else:
                answer = _message_page(ELSEWHERE, 403, root=root)
        await answer(scope, receive, guarded)

    def _ours(self, request: Request) -> bool:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if host not in self._hosts:
            return False
        if origin == "null":
            # as a form says it where no page may say its address
            return request.headers.get("sec-fetch-site") == "same-origin"
        return origin == f"http://{host}" or (origin is None and request.method != "POST")


def _message_page(text: str, status: int, hint: str = "", *, root: str) -> Response:
    return HTMLResponse(
        pages.render("message.html", text=text, hint=hint, status=status, root=root), status
    )


class Site:
    """The pages for one person."""

    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool
        self._done: list[Notice] = []
        self._played = pages.Played()
        # decisions of this page: no other commit is taken back here
        self._decisions: set[str] = set()

    def app(self) -> Starlette:
        """The pages, by their addresses."""
        sessions = Route("/sessions", self._sessions)
        shown = []
        for path, job in PAGES.items():
            shown.append(Route(path, self._page(job)))
        done = [Route(path, self._form(job), methods=["POST"]) for path, job in FORMS.items()]
        static = Mount("/static", StaticFiles(directory=pages.HERE / "static"))
        handlers: Any = dict.fromkeys((AiLessonsError, Exception, 404), self._failed)
        past = Route("/past", self._past)
        routes = [
            *done,
            *shown,
            sessions,
            past,
            Route("/health", self._health),
            Route("/graph.json", self._page(graph_data)),
            static,
        ]
        made = Starlette(routes=routes, exception_handlers=handlers)
        # it would lead to an address without the secret
        made.router.redirect_slashes = False
        return made

    def _page(self, job: pages.Job) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            part = request.headers.get("HX-Request") == "true"
            root = request.state.root
            asked = {
                **request.query_params,
                **request.path_params,
                "part": "yes" if part else "",
                "root": root,
            }
            return await self._shown(lambda opened: job(opened, asked), root, part=part)

        return endpoint

    async def _sessions(self, request: Request) -> Response:
        """What agents were told.

        With `replay` all is played again, behind the page, which says how far it is.
        """
        if request.query_params.get("replay"):
            if not self._played.running:
                self._played = pages.Played(running=True)
                Thread(target=self._play, name=PLAYING, daemon=True).start()
            # or a reload would play again
            return RedirectResponse(f"{request.state.root}sessions", 303)
        return await self._shown(
            lambda opened: pages.sessions(opened, self._played), request.state.root
        )

    async def _health(self, request: Request) -> Response:
        """What is well and what is not; each part is sent once it is known, because some take seconds."""
        asked = dict(request.query_params)

        def parts() -> Iterator[pages.Part]:
            for job in pages.HEALTH:
                try:
                    yield self._pool.read(partial(job, asked=asked))
                except AiLessonsError as error:
                    yield pages.Part("This cannot be told", error.message)

        page = pages.health(parts())
        values = {**page.values, **self._shared(request.state.root, part=False)}
        chunks = pages.stream(page.template, **values)
        headers = {"Cache-Control": "no-store"}
        return StreamingResponse(chunks, media_type="text/html", headers=headers)

    async def _past(self, request: Request) -> Response:
        """What past sessions say of a proposal, which the page asks for once it is there.

        Other pages need not wait.
        """
        job = partial(pages.past_of, request.query_params.get("ref", ""))
        return PlainTextResponse(await run_in_threadpool(self._pool.run, job, agent=""))

    def _play(self) -> None:
        def progress(_what: str, done: int, total: int) -> None:
            self._played = pages.Played(running=True, done=done, total=total)

        try:
            rows = self._pool.run(pages.replayed, agent="", progress=progress)
            self._played = pages.Played(rows=rows)
        except AiLessonsError as error:
            self._played = pages.Played(problem=error.message)

    async def _shown(
        self,
        job: Callable[[Library], pages.Page | dict[str, Any]],
        root: str,
        status: int = 200,
        *,
        part: bool = False,
    ) -> Response:
        page = await run_in_threadpool(self._pool.read, job)
        if not isinstance(page, pages.Page):
            return JSONResponse(page, headers={"Cache-Control": "no-store"})
        html = await run_in_threadpool(self._drawn, page, root, part=part)
        return HTMLResponse(
            html, status, headers={"Cache-Control": "no-store", "Vary": "HX-Request"}
        )

    def _drawn(self, page: pages.Page, root: str, *, part: bool) -> str:
        return pages.render(page.template, **page.values, **self._shared(root, part=part))

    def _shared(self, root: str, *, part: bool) -> dict[str, Any]:
        """What every page is drawn with; the notices are shown once."""
        done, self._done = ([], self._done) if part else (self._done, [])
        settings = self._pool.settings
        return {
            "root": root,
            "done": done,
            "agent": settings.agent,
            "repo": settings.repo,
            "part": part,
        }

    def _form(self, job: Form) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            form, root = {**request.query_params, **await _sent(request)}, request.state.root
            if job is undo and form.get("commit") not in self._decisions:
                raise Refused("here only what was decided on this page is taken back, and once")
            try:
                done = await run_in_threadpool(
                    self._pool.write,
                    lambda opened: job(opened, form),
                    agent="",
                    progress=no_progress,
                )
            except Conflict as error:
                # nothing was decided, and what is there now is shown
                self._done.append(Notice(error.message))
                return await self._shown(
                    lambda opened: pages.review(opened, form), root, STATUSES[Conflict]
                )
            if done.again:
                return await self._shown(done.again, root, done.status)
            self._decisions.discard(form.get("commit", ""))
            self._decisions |= {done.undo} - {""}
            self._done += [
                Notice(text, "" if n else done.undo) for n, text in enumerate(done.messages)
            ]
            return RedirectResponse(root + done.next, 303)

        return endpoint

    async def _failed(self, request: Request, error: Exception) -> Response:
        root = request.state.root
        if isinstance(error, HTTPException):
            return _message_page("There is no such page.", 404, root=root)
        if not isinstance(error, AiLessonsError):
            message = f"a bug in ai-lessons ({type(error).__name__})"
            return _message_page(message, 500, "its report is in the terminal of look", root=root)
        return _message_page(error.message, _status(error), error.hint, root=root)


async def _sent(request: Request) -> Mapping[str, str]:
    """What a form sent. Raises UsageError: it is too long."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > BODY_BYTES:
            raise UsageError("this is too long to be the text of an entry")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def serve(load: Callable[[], Settings], port: int, *, browser: bool) -> None:
    """Serve until Ctrl-C, with the address as the first line.

    AiLessonsError: nothing can listen, or be looked at.
    """
    pool = SessionPool(load)
    state = pool.settings.folders.state
    # what is slow the first time is done before anybody waits, and what cannot be looked at is said
    # on the terminal
    first = pool.read(lambda opened: pages.search(opened, {}))
    pages.render(first.template, **first.values)
    with (
        closing(pool),
        listening(ListenAddress(HOST, port)) as sock,
        _secret(state, port) as secret,
    ):
        bound = sock.getsockname()[1]
        address = f"http://{HOST}:{bound}/{secret}/"
        server = Server(served(Guard(Site(pool).app(), secret, bound)))
        # it takes Ctrl-C itself only once it serves
        signal.signal(signal.SIGINT, server.handle_exit)
        print(address, flush=True)
        if browser:
            # over a file for this user's eyes: what a program is called with, everybody can see
            webbrowser.open(
                _private(
                    state / "look.html", pages.render("greeting.html", address=address)
                ).as_uri()
            )
        server.run([sock])


@contextmanager
def _secret(state: Path, port: int) -> Iterator[str]:
    """The secret of a page.

    That of a chosen port stays the same for an hour after the page has ended.
    """
    file, secret = state / "look-secret", secrets.token_urlsafe(32)
    if not port:
        yield secret
        return
    with suppress(OSError):
        status = os.lstat(file)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
        # what others could read or write is no secret, and is made anew
        is_private = not status.st_mode & 0o077
        kept = re.fullmatch(
            r"(\d{1,5}) ([\w-]{43})", file.read_text(encoding="ascii", errors="replace")[:100]
        )
        # within an hour the page that is open in a browser goes on working
        is_new = 0 <= time.time() - status.st_mtime < 3600
        if is_ours and is_private and is_new and kept and int(kept[1]) == port:
            secret = kept[2]
    _private(file, f"{port} {secret}")
    try:
        yield secret
    finally:
        # the hour begins when the page ends
        file.touch()


def _private(file: Path, text: str) -> Path:
    """A file that only this user can read."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # one that is there keeps its permissions and its owner
    file.unlink(missing_ok=True)
    opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(opened, "w", encoding="utf-8") as out:
        out.write(text)
    return file

"""The server of the page: who may ask, and what is answered. On this machine only.

Begin with `serve` and `Site`.
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
from contextlib import closing, contextmanager, suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any
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
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from uvicorn import Server

from ai_lessons.app.options import no_progress
from ai_lessons.errors import AiLessonsError, Conflict, Refused, UsageError
from ai_lessons.features.look import drawing, pages, review_pages, state_pages
from ai_lessons.features.look.forms import FORMS, STATUSES, Notice, status_of, undo
from ai_lessons.features.look.graph import graph, graph_data
from ai_lessons.interfaces.mcp.over_http import HTTP, ListenAddress, listening, served
from ai_lessons.interfaces.mcp.sessions import SessionPool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ai_lessons.app.workspace import Library
    from ai_lessons.features.look.forms import Form
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

PAGES: Mapping[str, pages.Job] = {
    "/": pages.search, "/search": pages.search, "/entry/{ref:path}": pages.entry, "/review": review_pages.review,
    "/graph": graph, "/learning": state_pages.learning, "/tiers": state_pages.tiers,
    "/about": state_pages.about,
}  # fmt: skip


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
                for name, value in HEADERS.items():
                    message["headers"].append((name.lower().encode(), value.encode()))
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
        drawing.render("message.html", text=text, hint=hint, status=status, root=root), status
    )


class Site:
    """The pages for one person."""

    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool
        self._done: list[Notice] = []
        self._played = state_pages.Played()
        # decisions of this page: no other commit is taken back here
        self._decisions: set[str] = set()

    def app(self) -> Starlette:
        """The pages, by their addresses."""
        sessions = Route("/sessions", self._sessions)
        shown = []
        for path, job in PAGES.items():
            shown.append(Route(path, self._page(job)))
        done = [Route(path, self._form(job), methods=["POST"]) for path, job in FORMS.items()]
        static = Mount("/static", StaticFiles(directory=drawing.HERE / "static"))
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
            return await self._shown(lambda library: job(library, asked), root, part=part)

        return endpoint

    async def _sessions(self, request: Request) -> Response:
        """What agents were told.

        With `replay` all is played again, behind the page, which says how far it is.
        """
        if request.query_params.get("replay"):
            if not self._played.running:
                self._played = state_pages.Played(running=True)
                Thread(target=self._play, name=PLAYING, daemon=True).start()
            # or a reload would play again
            return RedirectResponse(f"{request.state.root}sessions", 303)
        return await self._shown(
            lambda library: state_pages.sessions(library, self._played), request.state.root
        )

    async def _health(self, request: Request) -> Response:
        """What is well and what is not; each part is sent once it is known, because some take seconds."""
        asked = dict(request.query_params)

        def parts() -> Iterator[pages.Part]:
            for job in state_pages.HEALTH:
                try:
                    yield self._pool.read(partial(job, asked=asked))
                except AiLessonsError as error:
                    yield pages.Part("This cannot be told", error.message)

        page = state_pages.health(parts())
        values = {**page.values, **self._shared(request.state.root, part=False)}
        chunks = drawing.stream(page.template, **values)
        headers = {"Cache-Control": "no-store"}
        return StreamingResponse(chunks, media_type="text/html", headers=headers)

    async def _past(self, request: Request) -> Response:
        """What past sessions say of a proposal, which the page asks for once it is there.

        Other pages need not wait.
        """
        job = partial(review_pages.past_of, request.query_params.get("ref", ""))
        return PlainTextResponse(await run_in_threadpool(self._pool.run, job, agent=""))

    def _play(self) -> None:
        def progress(_what: str, done: int, total: int) -> None:
            self._played = state_pages.Played(running=True, done=done, total=total)

        try:
            rows = self._pool.run(state_pages.replayed, agent="", progress=progress)
            self._played = state_pages.Played(rows=rows)
        except AiLessonsError as error:
            self._played = state_pages.Played(problem=error.message)

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
        return drawing.render(page.template, **page.values, **self._shared(root, part=part))

    def _shared(self, root: str, *, part: bool) -> dict[str, Any]:
        """What every page is drawn with; the notices are shown once."""
        done: list[Notice] = []
        if not part:
            # a part of a page has no place for them: they wait for the next whole one
            done, self._done = self._done, []
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
                    lambda library: job(library, form),
                    agent="",
                    progress=no_progress,
                )
            except Conflict as error:
                # nothing was decided, and what is there now is shown
                self._done.append(Notice(error.message))
                return await self._shown(
                    lambda library: review_pages.review(library, form), root, STATUSES[Conflict]
                )
            if done.again:
                return await self._shown(done.again, root, done.status)
            self._decisions.discard(form.get("commit", ""))
            self._decisions |= {done.undo} - {""}
            for number, text in enumerate(done.messages):
                # the first one says what was done, and has the button that takes it back
                self._done.append(Notice(text, "" if number else done.undo))
            return RedirectResponse(root + done.next, 303)

        return endpoint

    async def _failed(self, request: Request, error: Exception) -> Response:
        root = request.state.root
        if isinstance(error, HTTPException):
            return _message_page("There is no such page.", 404, root=root)
        if not isinstance(error, AiLessonsError):
            message = f"a bug in ai-lessons ({type(error).__name__})"
            return _message_page(message, 500, "its report is in the terminal of look", root=root)
        return _message_page(error.message, status_of(error), error.hint, root=root)


async def _sent(request: Request) -> Mapping[str, str]:
    """What a form sent. Raises UsageError: it is too long."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > HTTP.body_bytes:
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
    first = pool.read(lambda library: pages.search(library, {}))
    drawing.render(first.template, **first.values)
    with (
        closing(pool),
        listening(ListenAddress(HOST, port)) as sock,
        page_secret(state, port) as secret,
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
                    state / "look.html", drawing.render("greeting.html", address=address)
                ).as_uri()
            )
        server.run([sock])


@contextmanager
def page_secret(state: Path, port: int) -> Iterator[str]:
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

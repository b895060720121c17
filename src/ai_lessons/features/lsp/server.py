"""The language server.

What rules in force and lessons say of a file, as diagnostics and on hover in any editor.

The protocol is framed by hand: a few messages of it are needed, and pygls would bring four packages
and their start. Another sort of note is a function in `SOURCES`. Nothing is recorded or run.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import click

from ai_lessons import app, telling
from ai_lessons.app.answers import ContextQuery
from ai_lessons.app.reusable_library import ReusableLibrary
from ai_lessons.app.workspace import Library
from ai_lessons.errors import AiLessonsError
from ai_lessons.interfaces import library_options
from ai_lessons.interfaces.cli.command import Command
from ai_lessons.interfaces.host_watch import end_with_host
from ai_lessons.interfaces.output import line
from ai_lessons.model.code_comments import comment
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ai_lessons.app.notes import Touched
    from ai_lessons.interfaces.cli.call import Call
    from ai_lessons.model.entries import EntrySummary

    Data = dict[str, Any]

LOG = logging.getLogger(__name__)
# Severities of the protocol
ERROR, WARNING, INFORMATION, HINT = 1, 2, 3, 4
SOURCE = "ai-lessons"
# Codes of JSON-RPC
_PARSE_ERROR, _NO_METHOD, _INTERNAL = -32700, -32601, -32603
# Bytes of a message: an editor sends whole files
LARGEST = 64 << 20


class Note(NamedTuple):
    """What an entry says of a file, at a `row` of it from 0, up to the row `last`.

    None: of the whole file.

    `broken`: the row at which a comment may allow it; None: it is no broken rule.
    """

    handle: str
    severity: int
    text: str
    row: int | None = None
    last: int = 0
    broken: int | None = None

    def covers(self, first: int, last: int) -> bool:
        """Whether it is about one of these rows, and not about the whole file."""
        return self.row is not None and self.row <= last and first <= max(self.row, self.last)

    def diagnostic(self, rows: Sequence[str]) -> Data:
        """As the protocol has it: on its statement, or on the first character of the file."""
        first, last = self.row or 0, max(self.row or 0, self.last)
        text, ends = (rows[row] if row < len(rows) else "" for row in (first, last))
        if self.row is not None:
            begin = len(text) - len(text.lstrip())
            # characters are counted as UTF-16 does
            end = max(len(ends.rstrip().encode("utf-16-le", "replace")) // 2, begin + 1)
        else:
            begin, end = 0, 1
        places = {
            "start": {"line": first, "character": begin},
            "end": {"line": last, "character": end},
        }
        return {
            "range": places,
            "severity": self.severity,
            "code": self.handle,
            "source": SOURCE,
            "message": self.text,
        }


def speaking(library: Library, path: Path, text: str) -> Iterable[Note]:
    """Rules in force and lessons that name the file, whole.

    Those about code of it where each of that begins.
    """
    context = telling.context.find_context(library, ContextQuery(paths=[str(path)], approvals=True))
    place = _in_project(library, path)
    if place:
        hits = app.notes.touched(library, {place: range(1, text.count("\n") + 2)})
    else:
        hits = []
    named = {hit.entry.id for hit in hits}
    stated = [
        *((hit.entry, hit) for hit in hits),
        *((entry, None) for entry in context.entries if entry.id not in named),
    ]
    texts = library.reading.catalog.openings({entry.id for entry, _ in stated})
    for entry, hit in stated:
        rule, approval = entry.kind is Kind.RULE, context.approvals.get(entry.id)
        title = line(entry.title) + (f" (about {line(hit.what)})" if hit else "")
        words = (
            title,
            entry.rationale if rule else entry.stated.pattern,
            texts.get(entry.id),
            _changed(entry, hit),
        )
        if approval:
            by = f" (approved by {line(approval.approved_by)})"
        else:
            by = ""
        note = ": ".join(line(str(part)) for part in words if part) + by
        row = None
        if hit and hit.line > 1:
            row = hit.line - 1
        yield Note(entry.handle, INFORMATION if rule else HINT, note, row, row or 0)


def _changed(entry: EntrySummary, hit: Touched | None) -> str:
    """What became of the code that an entry speaks of, unless it is as it was."""
    if hit is None:
        return entry.beside.warning
    return hit.became


def breaking(library: Library, path: Path, _text: str) -> Iterable[Note]:
    """Statements of the file, as it is saved, that break a rule in force, and why the rule is there."""
    if _in_project(library, path) and path.is_file():
        for finding in app.notes.diagnostics(library, str(path)):
            severity = ERROR if finding.severe else WARNING
            first, last = finding.first - 1, finding.last - 1
            broken = first if finding.exact else None
            yield Note(finding.handle, severity, finding.message, first, last, broken)


def saved(library: Library, path: Path, text: str) -> Iterable[Note]:
    """What is wrong with the file of an entry, and what its words perhaps do not mean."""
    inside = next(
        (place for repo in library.reading.every if (place := repo.inside(str(path)))), ""
    )
    if inside and app.edited_files.is_entry(inside):
        for problem in app.edited_files.in_text(inside, text):
            row = max(problem.line - 1, 0)
            yield Note("file", WARNING, line(problem.message), row if problem.line else None, row)


def _in_project(library: Library, path: Path) -> str:
    """The path in the project that the editor has opened, of what a link leads to.

    Empty for a file elsewhere.
    """
    top = library.primary.options.cwd
    real = path.resolve()
    if real.is_relative_to(top.resolve()):
        return real.relative_to(top.resolve()).as_posix()
    if path.is_relative_to(top):
        return path.relative_to(top).as_posix()
    return ""


SOURCES: tuple[Callable[[Library, Path, str], Iterable[Note]], ...] = (saved, breaking, speaking)


class LanguageServer:
    """Answers the messages of one editor until it says `exit`."""

    def __init__(
        self, make: Callable[[Path], Library], receive: IO[bytes], send: IO[bytes]
    ) -> None:
        """`make` opens the library for a folder of the editor."""
        self._make, self._receive, self._send = make, receive, send
        self._folders: dict[Path, ReusableLibrary] = {}
        self._texts: dict[str, str] = {}
        self._shown: dict[str, list[Note]] = {}
        self._ended = False
        self._handlers: Mapping[str, Callable[[Data], Any]] = {
            "initialize": self._initialize,
            "shutdown": self._shutdown,
            "workspace/didChangeWorkspaceFolders": self._changed,
            "textDocument/hover": self._hover,
            "textDocument/codeAction": self._actions,
            "textDocument/didOpen": self._opened,
            "textDocument/didSave": self._saved,
            "textDocument/didClose": self._closed,
        }

    def serve(self) -> int:
        """The exit code: 0 where the editor shut the server down before it ended."""
        try:
            return self._served()
        finally:
            for library in self._folders.values():
                library.close()

    def _served(self) -> int:
        while (message := self._next()) is not None:
            method, number = str(message.get("method", "")), message.get("id")
            params = message.get("params")
            if not isinstance(params, dict):
                params = {}
            if method == "exit":
                break
            result: Any = None
            error: Data = {"code": _NO_METHOD, "message": f"no method {method}"}
            if handler := self._handlers.get(method):
                result, error = self._guarded(handler, params)
            if number is not None and method:
                # without a method it is an answer, and nothing was asked
                self._answer(number, result, error)
        if self._ended:
            return 0
        return 1

    def _guarded(self, handler: Callable[[Data], Any], params: Data) -> tuple[Any, Data]:
        """What a handler answers, or the error.

        An error of ours is told to the user, and answered with nothing.
        """
        try:
            return handler(params), {}
        except AiLessonsError as error:
            message = ". ".join(filter(None, (error.message, error.hint)))
            self._tell("window/logMessage", {"type": 2, "message": f"ai-lessons: {line(message)}"})
            return None, {}
        except Exception as error:
            # a bug costs the editor this one answer, and is in the log; the server goes on
            LOG.exception("a message of the editor")
            return None, {
                "code": _INTERNAL,
                "message": f"a bug in ai-lessons ({type(error).__name__})",
            }

    def _initialize(self, params: Data) -> Data:
        self._open(params.get("workspaceFolders") or [{"uri": params.get("rootUri") or ""}])
        sync = {"openClose": True, "change": 0, "save": {"includeText": True}}
        server = {"name": "ai-lessons", "version": version("ai-lessons")}
        workspace = {"workspaceFolders": {"supported": True, "changeNotifications": True}}
        capabilities = {"hoverProvider": True, "textDocumentSync": sync, "workspace": workspace}
        capabilities["codeActionProvider"] = {"codeActionKinds": ["quickfix"]}
        return {"capabilities": capabilities, "serverInfo": server}

    def _open(self, folders: Iterable[Data]) -> None:
        for folder in folders:
            root = _path(str(folder.get("uri")))
            if root is not None and root.is_dir() and root not in self._folders:
                self._folders[root] = ReusableLibrary(partial(self._make, root))

    def _changed(self, params: Data) -> None:
        """Folders were added to the window or taken from it; what is open is looked at again."""
        for folder in params["event"].get("removed", ()):
            root = _path(str(folder.get("uri")))
            if root in self._folders:
                self._folders.pop(root).close()
        self._open(params["event"].get("added", ()))
        for uri in list(self._texts):
            self._publish(uri)

    def _place(self, path: Path) -> tuple[ReusableLibrary, Path]:
        """The library of the innermost folder that holds the file, and where the file is as that folder is called.

        Folder and file may be named through links. A file elsewhere belongs to the first folder, or to ours.
        """
        if not self._folders:
            self._folders[Path.cwd()] = ReusableLibrary(partial(self._make, Path.cwd()))
        innermost = sorted(self._folders, key=lambda root: -len(root.parts))
        for root in innermost:
            if path.is_relative_to(root):
                return self._folders[root], path
        real = path.resolve()
        for root in innermost:
            if real.is_relative_to(root.resolve()):
                return self._folders[root], root / real.relative_to(root.resolve())
        return next(iter(self._folders.values())), path

    def _shutdown(self, _params: Data) -> None:
        self._ended = True

    def _opened(self, params: Data) -> None:
        self._texts[params["textDocument"]["uri"]] = params["textDocument"]["text"]
        self._publish(params["textDocument"]["uri"])

    def _saved(self, params: Data) -> None:
        uri = params["textDocument"]["uri"]
        self._texts[uri] = params.get("text") or self._texts.get(uri, "")
        self._publish(uri)

    def _closed(self, params: Data) -> None:
        uri = params["textDocument"]["uri"]
        self._texts.pop(uri, None)
        self._shown.pop(uri, None)
        self._tell("textDocument/publishDiagnostics", {"uri": uri, "diagnostics": []})

    def _publish(self, uri: str) -> None:
        self._shown[uri] = self._notes(uri)
        rows = self._texts.get(uri, "").splitlines()
        diagnostics = []
        for note in self._shown[uri]:
            diagnostics.append(note.diagnostic(rows))
        self._tell("textDocument/publishDiagnostics", {"uri": uri, "diagnostics": diagnostics})

    def _hover(self, params: Data) -> Data | None:
        """The notes on the line, and those on the whole file.

        Plain text: a title must load no picture.
        """
        row, uri = params["position"]["line"], params["textDocument"]["uri"]
        if uri in self._shown:
            notes = self._shown[uri]
        else:
            notes = self._notes(uri)
        rows = []
        for note in notes:
            if note.row is None or note.covers(row, row):
                rows.append(f"[{note.handle}] {note.text}")
        if rows:
            return {"contents": {"kind": "plaintext", "value": "\n".join(rows)}}
        return None

    def _actions(self, params: Data) -> list[Data]:
        """For each rule that is broken here the comment that allows it, above the statement.

        Its reason is left open.

        Without a reason it allows nothing yet, and whoever reviews the change sees it.
        """
        uri, span = params["textDocument"]["uri"], params["range"]
        rows, actions = self._texts.get(uri, "").splitlines(), []
        for note in self._shown.get(uri, ()):
            if note.broken is None or not note.covers(span["start"]["line"], span["end"]["line"]):
                continue
            if note.broken < len(rows):
                row = rows[note.broken]
            else:
                row = ""
            words = comment(urlsplit(uri).path, f"ai-lessons: allow {note.handle} because …")
            if words:
                place = {"line": note.broken, "character": 0}
                indent = row[: len(row) - len(row.lstrip())]
                edit = {"range": {"start": place, "end": place}, "newText": f"{indent}{words}\n"}
                title = f"Allow this to break {note.handle}, and say why"
                action = {
                    "title": title,
                    "kind": "quickfix",
                    "diagnostics": [note.diagnostic(rows)],
                }
                actions.append(action | {"edit": {"changes": {uri: [edit]}}})
        return actions

    def _notes(self, uri: str) -> list[Note]:
        named, text = _path(uri), self._texts.get(uri, "")
        if named is None:
            return []
        library, path = self._place(named)
        return library.do(
            lambda library: [note for source in SOURCES for note in source(library, path, text)]
        )

    def _next(self) -> Data | None:
        """The next message.

        None: the editor is gone, or sends what is no message of the protocol.
        """
        while True:
            length = -1
            while header := self._receive.readline(10_000).strip():
                name, _, value = header.partition(b":")
                if name.strip().lower() == b"content-length" and value.strip().isdigit():
                    length = int(value)
            if not 0 <= length <= LARGEST:
                return None
            body = self._receive.read(length)
            try:
                message = json.loads(body)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                return message
            if len(body) < length:
                return None
            self._answer(None, None, {"code": _PARSE_ERROR, "message": "not a JSON object"})

    def _answer(self, number: object, result: Any, error: Data) -> None:
        self._write({"id": number, **({"error": error} if error else {"result": result})})

    def _tell(self, method: str, params: Data) -> None:
        self._write({"method": method, "params": params})

    def _write(self, message: Data) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._send.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._send.flush()


def _path(uri: str) -> Path | None:
    """The file or folder of an address; None for what is not stored."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None


@click.command("lsp", cls=Command, examples=["", "--stdio"])
@click.option("--stdio", is_flag=True, help="As editors give it; there is no other way.")
def lsp(call: Call, stdio: bool) -> int:  # noqa: ARG001  # click names the option
    """Serve an editor by the language server protocol.

    The rules and lessons about the file that is open.

    Lines that break the check of a rule, entries that are about a symbol or the file, and those
    whose `applies_to` names it, as diagnostics and on hover. The editor starts this.
    """
    # what is printed meanwhile must not reach the editor, and programs that are started must not
    # read what it sends
    receive, send = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(sys.stderr.fileno(), 1)
    server = LanguageServer(
        lambda cwd: Library(call.root, library_options(call.settings)._replace(cwd=cwd)),
        receive,
        send,
    )
    try:
        end_with_host()
        return server.serve()
    except BrokenPipeError:
        return 1

"""The language server, as an editor speaks with it."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ai_lessons import settings
from ai_lessons.app.workspace import Library
from ai_lessons.features.lsp import server as lsp
from ai_lessons.interfaces import library_options
from interfaces.world import Run, environment
from real_world import Git, commit_all, put_file

PROGRAM = (sys.executable, "-c", "from ai_lessons.__main__ import main; main()", "lsp", "--stdio")
LESSON = """---
kind: lesson
title: Open one transaction
applies_to: ["*.sql"]
pattern:
  when: several statements change rows
  do: wrap them in one transaction
  because: half of them would stay
---
"""


def framed(*messages: Any) -> bytes:
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)


def answers(data: bytes) -> list[Any]:
    stream, found = io.BytesIO(data), []
    while head := stream.readline():
        assert head.startswith(b"Content-Length: ")
        stream.readline()
        found.append(json.loads(stream.read(int(head.split()[1]))))
    return found


def hover(uri: str, line: int = 0, number: int = 2) -> dict[str, Any]:
    place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 0}}
    return {"id": number, "method": "textDocument/hover", "params": place}


def opened(uri: str, text: str = "SELECT 1;\n") -> dict[str, Any]:
    language = "python" if uri.endswith(".py") else "sql"
    document = {"uri": uri, "languageId": language, "version": 1, "text": text}
    return {"method": "textDocument/didOpen", "params": {"textDocument": document}}


@pytest.fixture
def sql(knowledge: Path, run: Run) -> str:
    """The address of a file that a rule in force and a lesson are about."""
    put_file(knowledge / "shop/lessons/transactions.md", LESSON.encode())
    rule = [
        "--title",
        "Quote every value",
        "--rationale",
        "Names hold quotes",
        "--applies-to",
        "*.sql",
    ]
    done = run("contribute", "suggest-rule", *rule, "--json")
    assert run("admin", "approve-rule", done.json["handle"], "--yes").code == 0
    return (knowledge.parent / "code space/a b.sql").as_uri()


def talk(*messages: Any, raw: bytes = b"") -> tuple[int, list[Any]]:
    sent, loaded = io.BytesIO(), settings.load(os.environ)

    def make(cwd: Path) -> Library:
        return Library(loaded.repo, library_options(loaded)._replace(cwd=cwd))

    code = lsp.LanguageServer(make, io.BytesIO(raw + framed(*messages)), sent).serve()
    return code, answers(sent.getvalue())


def test_an_editor_shows_the_rules_and_lessons_about_the_file_that_is_open(sql: str) -> None:
    messages = [
        {
            "id": 1,
            "method": "initialize",
            "params": {"capabilities": {}, "processId": None, "rootUri": None},
        },
        {"method": "initialized", "params": {}},
        opened(sql),
        hover(sql),
        {"method": "textDocument/didClose", "params": {"textDocument": {"uri": sql}}},
        {"id": 3, "method": "shutdown"},
        {"method": "exit"},
    ]
    done = subprocess.run(
        PROGRAM, input=framed(*messages), env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    started, shown, hovered, cleared, ended = answers(done.stdout)
    assert started["result"]["capabilities"]["hoverProvider"] is True
    rule, lesson = shown["params"]["diagnostics"]
    assert rule["message"].startswith("Quote every value: Names hold quotes (approved by ")
    assert (rule["severity"], lesson["severity"]) == (3, 4)
    assert lesson["message"].startswith("Open one transaction: WHEN several statements")
    assert rule["code"].startswith("R-")
    assert hovered["result"]["contents"]["kind"] == "plaintext"
    assert f"[{rule['code']}] Quote every value" in hovered["result"]["contents"]["value"]
    assert cleared["params"]["diagnostics"] == []
    assert ended == {"jsonrpc": "2.0", "id": 3, "result": None}


def test_a_file_that_nothing_is_about_and_what_is_no_file_get_nothing(sql: str) -> None:
    other = sql.replace(".sql", ".txt")
    _, found = talk(
        opened(other), hover(other), opened("untitled:1"), hover("untitled:1", number=3)
    )
    assert [one.get("result", one.get("params", {}).get("diagnostics")) for one in found] == [
        [],
        None,
        [],
        None,
    ]


def test_what_is_no_message_or_no_method_is_answered_and_the_server_goes_on(
    knowledge: Path,
) -> None:
    raw = b"Content-Length: 3\r\n\r\n{,}" + framed(
        {"id": 7, "method": "textDocument/rename", "params": {}}
    )
    code, found = talk({"id": 8, "method": "shutdown"}, {"method": "exit"}, raw=raw)
    assert code == 0
    assert [(one["id"], one.get("error", {}).get("code")) for one in found] == [
        (None, -32700),
        (7, -32601),
        (8, None),
    ]
    malformed = {"id": 1, "method": "textDocument/hover", "params": {}}
    _, (bug,) = talk(malformed)
    assert bug["error"]["message"] == "a bug in ai-lessons (KeyError)"
    for gone in (b"", b"Content-Length: nine\r\n\r\n", b"Content-Length: 50\r\n\r\n{}", b"x\n" * 3):
        assert talk(raw=gone) == (1, []), "an editor that is gone ends it"


def test_without_a_repository_the_editor_is_told_in_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AI_LESSONS_REPO", str(tmp_path / "none"))
    _, found = talk(opened((tmp_path / "a.sql").as_uri()), hover((tmp_path / "a.sql").as_uri()))
    assert [one.get("method") for one in found] == ["window/logMessage", "window/logMessage", None]
    assert "no knowledge repository" in found[0]["params"]["message"]


CODE = """import os


def total(rows):
    print(
        rows)
    return sum(rows)


def vat(net):
    return net
"""


def forbids_print(run: Run, *more: str) -> str:
    """A rule in force that looks for `print`; its handle."""
    check = "{files: '**/*.py', regex: 'print\\(', bad: 'print(1)', good: 'log(1)'}"
    rule = [
        "--title",
        "Log, do not print",
        "--rationale",
        "Prints are lost",
        "--check",
        check,
        *more,
    ]
    handle = str(run("contribute", "suggest-rule", *rule, "--json").json["handle"])
    assert run("admin", "approve-rule", handle, "--yes").code == 0
    return handle


def test_what_breaks_a_check_and_what_is_about_a_symbol_stand_at_their_lines(
    knowledge: Path, hermetic: Path, git: Git, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = hermetic / "code"
    put_file(code / "shop/cart.py", CODE.encode())
    git(code, "init", "-q")
    commit_all(git, code, "Add the cart")
    monkeypatch.chdir(code)
    about = ["--title", "Totals are in cents", "--content", "All of them."]
    about += ["--about", "shop/cart.py::total", "--about", "shop/cart.py::vat"]
    assert run("contribute", "add-lesson", *about).code == 0
    rule = forbids_print(run, "--project", "code")
    uri = (code / "shop/cart.py").as_uri()
    begin = {"id": 1, "method": "initialize", "params": {"rootUri": code.as_uri()}}
    changed = CODE.replace("sum(rows)", "sum(rows) // 1")
    put_file(code / "shop/cart.py", changed.encode())
    save = {
        "method": "textDocument/didSave",
        "params": {"textDocument": {"uri": uri}, "text": changed},
    }
    here = {"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 0}}
    asked = {"textDocument": {"uri": uri}, "range": here, "context": {"diagnostics": []}}
    offer = {"id": 5, "method": "textDocument/codeAction", "params": asked}
    asks = (hover(uri, 5), hover(uri, 3), offer)
    _, (_, shown, again, at_print, at_symbol, offered) = talk(begin, opened(uri, CODE), save, *asks)
    places = {
        one["message"].partition(" (")[0]: [
            *one["range"]["start"].values(),
            *one["range"]["end"].values(),
        ]
        for one in shown["params"]["diagnostics"]
    }
    assert places["Log, do not print: Prints are lost"] == [4, 4, 5, 13], "the whole statement"
    totals = [
        one
        for one in again["params"]["diagnostics"]
        if one["message"].startswith("Totals are in cents (about ")
    ]
    assert [(one["range"]["start"]["line"], "changed" in one["message"]) for one in totals] == [
        (3, True),
        (9, False),
    ]
    assert "Prints are lost" in at_print["result"]["contents"]["value"]
    assert "Totals are in cents" in at_symbol["result"]["contents"]["value"]
    (action,) = offered["result"]
    (edit,) = action["edit"]["changes"][uri]
    assert edit["newText"] == f"    # ai-lessons: allow {rule} because …\n"
    allowed = changed.splitlines(keepends=True)
    allowed.insert(edit["range"]["start"]["line"], edit["newText"])
    put_file(code / "shop/cart.py", "".join(allowed).encode())
    assert "allowed without a reason" in run("check", "shop/cart.py").out
    put_file(code / "shop/cart.py", "".join(allowed).replace("…", "it is a demo").encode())
    assert run("check", "shop/cart.py").code == 0


def begun(window: Path, *names: str) -> dict[str, Any]:
    folders = [{"uri": (window / name).as_uri(), "name": name} for name in names]
    return {
        "id": 1,
        "method": "initialize",
        "params": {"rootUri": folders[0]["uri"], "workspaceFolders": folders},
    }


def test_a_file_is_looked_at_in_the_folder_that_holds_it_however_both_are_called_and_whenever_it_comes(
    knowledge: Path, run: Run, git: Git, hermetic: Path
) -> None:
    forbids_print(run)
    for name in ("shop", "till"):
        put_file(hermetic / name / "cart.py", CODE.encode())
        git(hermetic / name, "init", "-q")
        commit_all(git, hermetic / name, "Add the cart")
    (hermetic / "link").symlink_to("shop")
    for folders, name in (
        (("shop", "till"), "till"),
        (("till", "shop"), "shop"),
        (("link",), "link"),
        (("link",), "shop"),
        (("shop",), "link"),
    ):
        uri = (hermetic / name / "cart.py").as_uri()
        _, (greeting, shown) = talk(begun(hermetic, *folders), opened(uri, CODE))
        assert (
            greeting["result"]["capabilities"]["workspace"]["workspaceFolders"]["supported"] is True
        )
        assert [one["message"].partition(":")[0] for one in shown["params"]["diagnostics"]] == [
            "Log, do not print"
        ]
        assert shown["params"]["uri"] == uri, "as the editor calls it"
    till = {"uri": (hermetic / "till").as_uri(), "name": "till"}
    changes = [
        {"method": "workspace/didChangeWorkspaceFolders", "params": {"event": event}}
        for event in ({"added": [till], "removed": []}, {"added": [], "removed": [till]})
    ]
    _, (_, *came) = talk(begun(hermetic, "shop"), opened(f"{till['uri']}/cart.py", CODE), *changes)
    assert [len(one["params"]["diagnostics"]) for one in came] == [0, 1, 0]

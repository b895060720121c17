"""What names code or a package is told at the edit, the import or the install that it is about."""

from pathlib import Path

import pytest

from interfaces.agent_host import Host, add
from interfaces.world import Run
from real_world import Git, put_file

ABOUT = "about:\n  - code: cart.py::total\n"
CART = "def total(items):\n    return round(sum(items), 2)\n\n\ndef greet(name):\n    return name\n"


def before(host: Host, command: str, session: str) -> str:
    return host.hear("before_git_push", session_id=session, tool_input={"command": command})


def edit(host: Host, old: str, new: str, session: str, path: str = "cart.py") -> str:
    given = {"file_path": str(host.code / path), "old_string": old, "new_string": new}
    return host.hear("before_edit", tool_input=given, session_id=session)


def test_an_anchor_brings_its_lesson_to_the_edit_of_its_symbol_and_to_no_other(
    host: Host, knowledge: Path
) -> None:
    (host.code / "cart.py").write_text(CART)
    add(knowledge, "jira-api/lessons/a.md", "7AAAAA", "Round the sum, not each price", ABOUT)
    assert "Round the sum" in edit(
        host, "round(sum(items), 2)", "sum(round(i, 2) for i in items)", "a"
    )
    assert "Round the sum" not in edit(host, "return name", "return str(name)", "b")
    written = {"file_path": str(host.code / "cart.py"), "content": CART.replace("), 2)", "), 3)")}
    assert "Round the sum" in host.hear("before_write", tool_input=written, session_id="c")
    written["content"] = CART.replace("return name", "return str(name)")
    assert host.hear("before_write", tool_input=written, session_id="d") == ""
    assert edit(host, "round(sum(items), 2)", "0", "e", "other.py") == ""


def test_what_is_about_the_code_is_told_however_many_there_are_a_few_at_each_edit(
    host: Host, knowledge: Path
) -> None:
    about = "about:\n  - code: workflows/a.py::x\n"
    for n in range(7):
        add(knowledge, f"global/lessons/{n}.md", f"7FFFF{n}", f"Lesson {n}", about)
    told = [host.hear("before_edit").count("- [L-7FFFF") for _ in range(5)]
    assert told == [2, 2, 2, 1, 0]


def test_a_package_brings_its_lesson_where_it_is_imported_asked_for_or_installed(
    host: Host, knowledge: Path
) -> None:
    add(
        knowledge,
        "jira-api/lessons/a.md",
        "7AAAAA",
        "Pin it",
        "about:\n  - package: npm/@fast/http-kit<6\n",
    )
    for path, text, told in (
        ("src/a.ts", 'import x from "@fast/http-kit/core"', True), ("a.js", "y = require('@fast/http-kit')", True),
        ("package.json", '"dependencies": {"@fast/http-kit": "5"}', True), ("package.json", "{}", False),
        ("a.ts", 'import x from "@fast/http-kit-2"', False), ("a.ts", "// @fast/http-kit", False),
    ):  # fmt: skip
        assert ("Pin it" in edit(host, "x", text, text, path)) == told, text
    for command, told in (
        ("npm i -D '@fast/http-kit@5' x", True),
        ("git add @fast/http-kit", False),
        ("npm ci", False),
    ):
        assert ("Pin it" in before(host, command, session=command)) == told, command


def test_a_place_may_be_named_by_its_whole_path(
    run: Run, knowledge: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "shop"
    put_file(code / "src" / "cart.py", "def total():\n    return 1\n")
    git(code, "init", "-q")
    monkeypatch.chdir(code)
    words = ("add", "--title", "Carts", "--content", "C.", "--about", "src/cart.py", "--json")
    made = run("--repo", str(knowledge), *words).json["handle"]
    for place in ("src/cart.py", str(code / "src" / "cart.py")):
        said = run("--repo", str(knowledge), "recall", "about", place).out
        assert made in said
    elsewhere = str(code / "src" / "other.py")
    assert made not in run("--repo", str(knowledge), "recall", "about", elsewhere).out

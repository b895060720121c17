"""Each tool that writes files, by a stored event of its host or server: what it writes is judged, or asked about."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.features.checks.edits import broken_by
from ai_lessons.interfaces import agent_hook
from ai_lessons.model.edits import Edit
from ai_lessons.model.markdown import render
from ai_lessons.model.tool_calls import TOOLS, WRITES_NO_TEXT, call_of, known_tool
from app.world import World
from real_world import Git, commit_all, put_file

CALLS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "editing_calls.json").read_text()
)
BAD = "console.log(1)"
HIDDEN = {
    "serena-rename_symbol", "serena-safe_delete_symbol", "jetbrains-reformat_file",
    "jetbrains-replace_selected_text",
}  # fmt: skip
"""Calls that do not show what they write; those of `acme` are of tools that nobody knows."""

TAKE_AWAY = {
    "cursor-Delete": ("gone", 0),
    "serena-delete_lines": ("lines", 1),
    "text-editor-delete_text_file_contents": ("lines", 1),
}
"""Calls that write nothing new: how the file changes, and in which line first."""

NOTEBOOK = {"cells": [{"id": "c1", "cell_type": "code", "source": ["x=1\n", "y=2"]}], "nbformat": 4}


@pytest.fixture
def shop(world: World, git: Git, tmp_path: Path) -> Path:
    """Code with a rule in force that denies `console.log(` below `src`."""
    check = {
        "files": ["src/**"],
        "regex": r"console\.log\(",
        "bad": BAD,
        "good": "log(1)",
        "enforce": "deny",
    }
    fields = {
        "id": "01JD3Z8QK5W7M2X9V4T68F3K10",
        "kind": "rule",
        "title": "No log",
        "rationale": "R",
        "check": check,
    }
    git(world.root, "switch", "-qc", "rules/R-1")
    world.committed("global/rules/r.md", render(fields, ""))
    git(world.root, "switch", "-q", "main")
    git(world.root, "merge", "-q", "--no-ff", "-m", "Merge branch 'rules/R-1'", "rules/R-1")
    folder = tmp_path / "shop"
    put_file(folder / "src/x.ts", "old\nstays\n")
    put_file(folder / "lib/x.ts", "old\n")
    put_file(folder / "lib/bad.ts", f"{BAD}\n")
    put_file(folder / "src/n.ipynb", json.dumps(NOTEBOOK))
    git(folder, "init", "-q")
    commit_all(git, folder, "first")
    world.options = world.options._replace(cwd=folder)
    return folder


def why(world: World, shop: Path, event: dict[str, Any]) -> list[str]:
    """Why the hook of a host would refuse or ask at this event."""
    text = json.dumps(event).replace("CODE", str(shop)).replace("HOME", str(shop))
    parsed = agent_hook.parse(
        text.encode(), shop, "copilot" if "hookEventName" in event or "timestamp" in event else ""
    )
    assert parsed is not None
    return broken(world, shop, *parsed.edits)


def broken(world: World, shop: Path, *edits: Edit) -> list[str]:
    reading = (world.opened[-1] if world.opened else world.fresh()).reading
    reading.current()
    rules, _ = broken_by(reading, edits, shop, [])
    return [rule.why for rule in rules]


def test_each_stored_call_that_breaks_a_rule_is_seen_and_one_that_hides_what_it_writes_is_asked_about(
    world: World, shop: Path
) -> None:
    for name, event in CALLS.items():
        reasons = why(world, shop, event)
        if name in TAKE_AWAY:
            assert reasons == [], name
            continue
        hides = name in HIDDEN or name.startswith("acme")
        start = (
            "R-8F3K10 could not look at this edit: what"
            if hides
            else "this edit breaks R-8F3K10 at line"
        )
        assert [reason.startswith(start) for reason in reasons] == [True], (name, reasons)


def test_the_same_calls_pass_where_they_break_nothing(world: World, shop: Path) -> None:
    put_file(shop / "lib/bad.ts", "log(1)\n")
    for name, event in CALLS.items():
        if name not in HIDDEN and not name.startswith("acme"):
            harmless = json.loads(json.dumps(event).replace(BAD, "log(1)"))
            assert why(world, shop, harmless) == [], name


def test_each_tool_of_the_table_has_a_stored_call_or_another_name_of_one(
    world: World, shop: Path
) -> None:
    names = {row.names for event in CALLS.values() if (row := known_tool(str(event["tool_name"])))}
    missing = [
        row.names for row in TOOLS if row.names not in names and row.reading != WRITES_NO_TEXT
    ]
    assert missing == []


def test_a_call_that_only_takes_away_is_seen_as_that() -> None:
    for name, (how, first) in TAKE_AWAY.items():
        event = CALLS[name]
        (edit,) = call_of(event["tool_name"], event["tool_input"]).edits
        assert (edit.how, edit.first, edit.new) == (how, first, ""), name
        assert edit.path.endswith("src/x.ts")


@pytest.mark.parametrize(
    ("tool", "stated"),
    [
        ("mcp__github__create_issue", {"owner": "o", "repo": "r", "title": "t", "body": BAD}),
        ("mcp__notion__update_page", {"page_id": "1", "content": BAD}),
        ("mcp__jira__edit", {"issue": "A-1", "text": BAD}),
        ("mcp__filesystem__read_file", {"path": "src/x.ts"}),
        ("mcp__filesystem__create_directory", {"path": "src/y"}),
        (
            "mcp__filesystem__edit_file",
            {"path": "src/x.ts", "edits": [{"oldText": "old", "newText": BAD}], "dryRun": True},
        ),
        ("mcp__serena__find_symbol", {"relative_path": "src/x.ts", "name_path": "f"}),
        ("mcp__serena__write_memory", {"memory_name": "m", "content": BAD}),
        ("mcp__git__git_add", {"repo_path": ".", "files": ["src/x.ts"]}),
        (
            "mcp__plugin_ai-lessons_ai-lessons__add_lesson",
            {"title": "t", "content": BAD, "about": "src/x.ts"},
        ),
        ("mcp__playwright__browser_type", {"text": BAD}),
        ("mcp__figma__set_text_content", {"nodeId": "1", "text": BAD}),
        ("mcp__notion__append_block_children", {"block_id": "1", "children": [{"text": BAD}]}),
        ("Task", {"prompt": BAD, "description": "write src/x.ts"}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "src/x.ts"}),
    ],
)
def test_what_only_reads_or_writes_elsewhere_is_no_edit(tool: str, stated: dict[str, Any]) -> None:
    assert call_of(tool, stated).edits == ()


def test_a_command_is_one_by_whatever_server_and_key() -> None:
    for tool, stated in (
        ("mcp__desktop-commander__start_process", {"command": "git push", "timeout_ms": 1}),
        ("shell", {"command": ["bash", "-lc", "git push"], "workdir": "."}),
        ("exec_command", {"cmd": "git push"}),
        ("run_command", {"CommandLine": "git push"}),
        ("mcp__runner__run", {"command": "git", "args": ["push"]}),
    ):
        call = call_of(tool, stated)
        assert (call.command, call.edits) == ("git push", ()), tool
    assert (
        call_of("str_replace_editor", {"command": "create", "path": "a", "file_text": "x"}).command
        == ""
    )


def test_a_file_that_is_moved_into_the_scope_of_a_rule_is_new_to_it_and_one_that_stays_is_not(
    world: World, shop: Path
) -> None:
    put_file(shop / "src/bad.ts", f"{BAD}\nold\n")
    src, lib = str(shop / "src"), str(shop / "lib")
    into = Edit(f"{src}/y.ts", how="moved", was=f"{lib}/bad.ts")
    assert broken(world, shop, into) == ["this edit breaks R-8F3K10 at line 1"]
    assert broken(world, shop, into._replace(path=src)) == [
        "this edit breaks R-8F3K10 at line 1"
    ], "into a folder"
    assert broken(world, shop, Edit(f"{src}/y.ts", how="moved", was=f"{src}/bad.ts")) == []
    assert broken(world, shop, Edit(f"{src}/y.ts", "old", "new", was=f"{src}/bad.ts")) == []
    assert broken(world, shop, Edit(f"{lib}/y.ts", how="moved", was=f"{src}/bad.ts")) == []
    assert broken(world, shop, Edit(f"{src}/y.ts", how="copied", was=f"{src}/bad.ts")) != [], (
        "it is there twice then"
    )


def test_what_stays_around_an_edit_is_not_new(world: World, shop: Path) -> None:
    file = str(put_file(shop / "src/z.ts", f"a\n{BAD}\nb\n"))
    assert broken(world, shop, Edit(file, "", f"a\n{BAD}\nB\n", "part")) == [], (
        "a sketch shows what stays"
    )
    assert broken(world, shop, Edit(file, "", "c", "lines", "", 1, 1)) == []
    assert broken(world, shop, Edit(file, "", f"{BAD}", "lines", "", 3, 3)) == [
        "this edit breaks R-8F3K10 at line 3"
    ]
    assert broken(world, shop, Edit(file, "", "x\n", "appended")) == []
    assert broken(world, shop, Edit(file, "^b$", "x", "regex")) == []
    assert broken(world, shop, Edit(file, "(?<=a)b", BAD, "regex")) != [], (
        "an expression that RE2 does not read"
    )
    notebook = NOTEBOOK | {"cells": [{"id": "c1", "source": [f"{BAD}\n", "y"]}]}
    cells = str(put_file(shop / "src/m.ipynb", json.dumps(notebook)))
    assert broken(world, shop, Edit(cells, "c1", f"{BAD}\nz", "cell")) == []
    assert broken(world, shop, Edit(cells, "", BAD, "cell")) == [
        "this edit breaks R-8F3K10 at line 1"
    ], "a new cell"


def test_a_tool_that_hides_what_it_writes_is_asked_about_only_where_a_rule_may_look(
    world: World, shop: Path
) -> None:
    for path, asks in (
        ("", True), (str(shop), True), (str(shop / "src"), True), (str(shop / "src/**/*.ts"), True),
        (str(shop / "src/x.ts"), True), (str(shop / "lib"), False), (str(shop / "lib/x.ts"), False),
    ):  # fmt: skip
        assert bool(broken(world, shop, Edit(path, how="unseen"))) is asks, path


@pytest.mark.parametrize(
    "line",
    [
        f"cat > src/x.ts <<'EOF'\n{BAD}\nEOF", f"cat <<EOF > src/y.ts\n{BAD}\nEOF", f"cat >> src/x.ts <<X\n{BAD}\nX",
        f"tee src/x.ts <<'EOF'\n{BAD}\nEOF", f"cd src && cat > x.ts <<'E'\na\n{BAD}\nE\nnpm test", f"echo '{BAD}' > src/x.ts",
        f"printf '{BAD}\\n' >> src/x.ts", f"cat <<'E' | tee -a src/x.ts\n{BAD}\nE", "mv lib/bad.ts src/",
        "cp lib/bad.ts src/q.ts",
        "git mv lib/bad.ts src/q.ts", "mv lib src/lib", f"sed -i 's/old/{BAD}/' src/x.ts",
        f"perl -pi -e 's|old|{BAD}|' src/x.ts",
        f"python3 - <<'P'\nopen('src/x.ts', 'w').write('{BAD}')\nP",
        f"python -c \"from pathlib import Path; Path('src/x.ts').write_text('{BAD}')\"",
        f"node -e \"require('fs').writeFileSync('src/x.ts', '{BAD}')\"",
    ],
)  # fmt: skip
def test_what_a_command_line_shows_that_it_writes_is_judged(
    world: World, shop: Path, line: str
) -> None:
    event = {"hook_event_name": "PreToolUse", "session_id": "e", "cwd": "CODE", "tool_name": "Bash"}
    reasons = why(world, shop, event | {"tool_input": {"command": line}})
    assert [reason.startswith("this edit breaks R-8F3K10") for reason in reasons] == [True], reasons


@pytest.mark.parametrize(
    "line",
    [
        f"cat <<'EOF'\n{BAD}\nEOF", f"git commit -F - <<'E'\n{BAD}\nE", "mv lib/bad.ts lib/q.ts",
        f"grep '{BAD}' src/x.ts 2>/dev/null",
        f"python3 -c \"print(open('src/x.ts', encoding='utf-8').read(), '{BAD}')\"",
        f"echo '{BAD}' > lib/x.ts", f"echo '{BAD}' > $OUT", f"echo '{BAD}' >&2", "cp src/x.ts src/z.ts",
        f"sed 's/a/{BAD}/' src/x.ts",
    ],
)  # fmt: skip
def test_a_command_line_that_writes_nothing_into_the_scope_of_a_rule_passes(
    world: World, shop: Path, line: str
) -> None:
    event = {"hook_event_name": "PreToolUse", "session_id": "e", "cwd": "CODE", "tool_name": "Bash"}
    assert why(world, shop, event | {"tool_input": {"command": line}}) == []

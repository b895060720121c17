"""The program as hosts run it: a process, and lines of JSON over its standard streams."""

import os
import shutil
import sys
from pathlib import Path

import pytest

import ai_lessons
from ai_lessons.interfaces import mcp
from ai_lessons.interfaces.mcp.tools import DEFAULT
from interfaces.mcp_peer import PATIENCE, Peer, hello, message, piped, served
from interfaces.mcp_world import of_features_here, over_stdio
from interfaces.world import LESSON, Run, run_inside
from real_world import Git

MANY = 500
SKILL = "skill://{name}/{+path}"
NOISY = """
import os
from ai_lessons.app import search
from ai_lessons.interfaces.cli import main
real = search.search
def noisy(library, query):
    print("stray print")
    os.write(1, b"stray bytes\\n")
    os.system("echo stray child; cat")
    return real(library, query)
search.search = noisy
main()
"""


def ended(peer: Peer) -> int:
    """Close the client's end; the exit code of the server, which has nothing more to say."""
    assert peer.process.stdin
    assert peer.process.stdout
    peer.process.stdin.close()
    assert peer.process.stdout.read() == ""
    return peer.process.wait(PATIENCE)


def test_the_official_client_finds_everything(knowledge: Path) -> None:
    with over_stdio() as agent:
        assert list(agent.tools()) == of_features_here(DEFAULT)
        assert "[L-8F3K2A]" in agent.reads("search", query="workflow statuses")
        prompts = {one.name for one in agent.ask(agent.client.list_prompts).prompts}
        assert {"before_task", "after_task"} <= prompts
        templates = agent.ask(agent.client.list_resource_templates).resource_templates
        assert {one.uri_template for one in templates} == {
            "lessons://entry/{id}",
            "lessons://context/{project}",
            SKILL,
        }
        entry = agent.ask(agent.client.read_resource, f"lessons://entry/{LESSON}").contents[0].text
        assert "two statuses were gone" in entry


def test_nothing_but_the_protocol_is_on_stdout_of_the_command_of_the_command_line_too(
    knowledge: Path,
) -> None:
    with served("admin", "mcp", "--tools", "all", code=NOISY) as peer:
        peer.greet()
        assert len(peer.answer(peer.send("tools/list"))["result"]["tools"]) > len(DEFAULT)
        first = peer.answer(peer.call("search", query="workflow"))
        second = peer.answer(peer.call("search", query="statuses"))
        assert first["result"]["isError"] is second["result"]["isError"] is False
        assert ended(peer) == 0
    assert len(peer.came) == 4


NO_MESSAGES = [
    ("this is no JSON", None, -32700),
    ('{"jsonrpc":"2.0","id":{},"method":"ping"}', None, -32600),
    ('{"jsonrpc": "2.0", "id": 7, "method": "ping"', None, -32700),
    ("[" * 100_000, None, -32700),
    ("[1]", None, -32600),
    ('{"jsonrpc": "2.0", "id": "a-1", "method": 5}', "a-1", -32600),
    ('{"jsonrpc": "1.0", "id": 9, "method": "ping"}', 9, -32600),
]


def test_a_line_that_is_no_message_is_answered_with_an_error_and_a_broken_text_as_a_text(
    knowledge: Path, hermetic: Path, git: Git
) -> None:
    (hermetic / ".local").write_text("a file in the way of the log")
    with served(AI_LESSONS_AGENT="mine") as peer:
        peer.greet()
        for text, number, code in NO_MESSAGES:
            peer.write(f"\n{text}\n")
            answer = peer.read()
            assert (answer["id"], answer["error"]["code"]) == (number, code), text[:80]
            assert peer.answer(peer.send("ping"))["result"] == {}
        # half of a surrogate pair in a text
        assert "[L-8F3K2A]" in str(
            peer.answer(peer.call("search", query="workflow \ud83d statuses"))
        )
        done = peer.answer(
            peer.call("add_lesson", title="Half \udc4d of an emoji", content="Whole: \ud83d\udc4d.")
        )
        assert done["result"]["isError"] is False
        assert ended(peer) == 0
    for part in ("Half \ufffd of an emoji", "Whole: \U0001f44d.", "Agent: mine"):
        assert part in git(knowledge, "show", "HEAD")


def test_a_server_whose_program_was_upgraded_says_restart(knowledge: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(Path(ai_lessons.__file__).parent, site / "ai_lessons")
    with served(PYTHONPATH=os.pathsep.join([str(site), *filter(None, sys.path)])) as peer:
        peer.greet()
        assert peer.answer(peer.call("search", query="workflow"))["result"]["isError"] is False
        for file in site.glob("ai_lessons/app/*.py"):
            file.write_text("from ai_lessons.errors import no_longer_there\n")
        done = peer.answer(peer.call("add_lesson", title="T", content="C"))["result"]
        assert done["isError"] is True
        assert "restart this server" in done["content"][0]["text"]
        shutil.rmtree(site)
        assert "restart this server" in str(
            peer.answer(peer.call("add_lesson", title="T", content="C"))
        )


def test_a_server_sees_the_tiers_that_are_there_at_each_call(
    hermetic: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AI_LESSONS_REPO", raising=False)
    shop, user = hermetic / "shop", hermetic / ".ai/reference"
    git(hermetic, "init", "-q", str(shop))
    git(shop, "commit", "-q", "--allow-empty", "-m", "code")
    monkeypatch.chdir(shop)
    assert run_inside(["admin", "init", str(user)], shop).code == 0
    assert run_inside(["add", "--title", "Everywhere", "--content", "Of the user."], shop).code == 0
    git(shop, "switch", "-q", "-c", "knowledge")
    assert run_inside(["--tier", "project", "admin", "init"], shop).code == 0
    git(shop, "add", ".ai")
    git(shop, "commit", "-q", "-m", "knowledge")
    with served() as peer:
        peer.greet()

        def add(title: str) -> str:
            done = peer.answer(peer.call("add_lesson", title=title, content="C"))["result"]
            assert done["isError"] is False
            return str(done["content"][0]["text"])

        assert str(shop / ".ai") in add("In the project")
        git(shop, "add", ".ai")
        git(shop, "commit", "-q", "-m", "lesson")
        git(shop, "switch", "-q", "main")
        assert "Everywhere" in str(
            peer.answer(peer.call("search", query="everywhere"))["result"]["content"]
        )
        assert str(user) in add("In no project")
        git(shop, "switch", "-q", "knowledge")
        assert "In the project" in str(
            peer.answer(peer.call("search", query="project"))["result"]["content"]
        )
        monkeypatch.chdir(hermetic)
        shutil.rmtree(shop)
        assert str(user) in add("After the project was removed")


def test_requests_with_the_end_of_the_input_behind_them_are_all_answered_and_done_also_by_a_second_start(
    knowledge: Path, hermetic: Path, run: Run
) -> None:
    tools = []
    for turn in range(2):  # the second start answers the first messages before the SDK is loaded
        lessons = {
            number: {"title": f"Bear {turn} {number}", "content": "C."} for number in range(3, 8)
        }
        calls = [
            message(number, "tools/call", name="add_lesson", arguments=one)
            for number, one in lessons.items()
        ]
        answers = piped(hello() + message(2, "tools/list") + "".join(calls).rstrip("\n"))
        assert {number for number, answer in answers.items() if "result" in answer} == {
            0,
            *range(2, 8),
        }
        assert (hermetic / ".cache/ai-lessons/mcp-default.json").exists()
        tools.append(answers[2]["result"]["tools"])
        titles = [entry["title"] for entry in run("recall", "list", "--json").json]
        assert sum(title.startswith(f"Bear {turn}") for title in titles) == 5
    assert tools[0] == tools[1]


def test_help_and_version_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    for option, words in (
        ("--help", "Usage: ai-lessons-mcp [OPTIONS]"),
        ("--version", "ai-lessons-mcp "),
    ):
        assert mcp.run([option]) == 0
        assert capfd.readouterr().out.startswith(words)


def test_options_that_make_no_sense_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    for args, words in (
        (("--tools", "some"), "'some' is not one of 'default', 'all'"),
        (("--token-file", "x"), "--token-file and --allow-host are for --http"),
        (("--http", "nowhere"), "'nowhere' is no place to listen"),
        (("--http", "0.0.0.0:0"), "can be reached from other machines"),
        (("load",), "unexpected extra argument"),
    ):
        assert mcp.run(list(args)) == 2
        said = capfd.readouterr()
        assert words in said.err
        assert "hint: " in said.err
        assert said.out == ""

"""Decisions that a person stated once, told where they are needed again."""

from pathlib import Path

from ai_lessons.app import hints
from interfaces.agent_host import Host, add

ABOUT = "about:\n  - code: cart.py::total\n"
CART = "def total(items):\n    return round(sum(items), 2)\n\n\ndef greet(name):\n    return name\n"


def edit(host: Host, old: str, new: str, session: str, path: str = "cart.py") -> str:
    given = {"file_path": str(host.code / path), "old_string": old, "new_string": new}
    return host.hear("before_edit", tool_input=given, session_id=session)


def asks(host: Host, text: str, session: str = "s") -> str:
    return host.hear("session_start", hook_event_name="UserPromptSubmit", prompt=text, session_id=session)


def test_an_anchor_brings_its_lesson_to_the_edit_of_its_symbol_and_to_no_other(host: Host, knowledge: Path) -> None:
    (host.code / "cart.py").write_text(CART)
    add(knowledge, "jira-api/lessons/a.md", "7AAAAA", "Round the sum, not each price", ABOUT)
    assert "Round the sum" in edit(host, "round(sum(items), 2)", "sum(round(i, 2) for i in items)", "a")
    assert "Round the sum" not in edit(host, "return name", "return str(name)", "b")
    written = {"file_path": str(host.code / "cart.py"), "content": CART.replace("), 2)", "), 3)")}
    assert "Round the sum" in host.hear("before_write", tool_input=written, session_id="c")
    written["content"] = CART.replace("return name", "return str(name)")
    assert host.hear("before_write", tool_input=written, session_id="d") == ""
    assert edit(host, "round(sum(items), 2)", "0", "e", "other.py") == ""


def test_a_package_brings_its_lesson_where_it_is_imported_asked_for_or_installed(host: Host, knowledge: Path) -> None:
    add(knowledge, "jira-api/lessons/a.md", "7AAAAA", "Pin it", "about:\n  - package: npm/@fast/http-kit<6\n")
    for n, (path, text) in enumerate((
        ("src/a.ts", 'import x from "@fast/http-kit/core"'), ("a.js", "y = require('@fast/http-kit')"),
        ("package.json", '"dependencies": {"@fast/http-kit": "5"}'),
    )):  # fmt: skip
        assert "Pin it" in edit(host, "x", text, f"a{n}", path)
    for n, (path, text) in enumerate((
        ("a.ts", 'import x from "@fast/http-kit-2"'), ("a.ts", "// @fast/http-kit"), ("package.json", "{}"),
    )):  # fmt: skip
        assert edit(host, "x", text, f"b{n}", path) == ""
    for command, told in (
        ("npm i -D '@fast/http-kit@5' x", True),
        ("git add @fast/http-kit", False),
        ("npm ci", False),
    ):
        words = {"command": command}
        assert ("Pin it" in host.hear("before_make_test", tool_input=words, session_id=command)) == told


def test_a_prompt_brings_what_shares_its_rare_words(host: Host, knowledge: Path) -> None:
    title = "Checkpoints of Gemini are rewound with the agent of the checkpoint"
    add(knowledge, "jira-api/lessons/g.md", "7GGGGG", title, "", "A rewind reads the agent from the checkpoint.")
    add(knowledge, "jira-api/lessons/o.md", "7PPPPP", "Say hello in the greeting")
    told = asks(host, "check what happens on a rewind to a checkpoint of Gemini: is the agent the right one?")
    assert "L-7GGGGG" in told
    assert "L-7PPPPP" not in told
    assert asks(host, "please fix the failing build", "t") == ""


def test_the_start_names_first_what_sessions_needed_and_the_text_comes_when_it_does(
    host: Host, knowledge: Path
) -> None:
    for n in range(14):
        add(knowledge, f"jira-api/lessons/{n}.md", f"7AAA{n:02}", f"Number {n} of the many " + "x" * 60)
    add(knowledge, "jira-api/lessons/z.md", "7000ZZ", "Migrations of tables run in a window at night", "", "Ask Ada.")
    assert "7000ZZ" not in host.hear("session_start", session_id="1")
    for n in range(2):
        assert "Ask Ada." in asks(host, "run the migrations of both tables outside of the night window", f"p{n}")
    start = host.hear("session_start", session_id="2")
    assert start.splitlines()[3].startswith("- [L-7000ZZ] Migrations")
    assert "Ask Ada." not in start
    assert "Ask Ada." in asks(host, "are migrations of tables done in a window at night?", "2")


def test_what_is_said_again_to_a_session_that_was_told_is_noted(host: Host, knowledge: Path, hermetic: Path) -> None:
    add(knowledge, "jira-api/lessons/z.md", "7000ZZ", "Migrations of tables run in a window at night", "", "Ask Ada.")
    host.hear("session_start", session_id="s")
    again = "we should never run migrations of tables outside of the window at night, because orders stop"
    asks(host, again)
    logs = "".join(x.read_text() for x in (knowledge / ".git/ai-lessons/events").glob("*.jsonl"))
    assert (logs.count('"event":"unheeded"'), logs.count('"event":"needed"')) == (1, 1)
    asks(host, again)
    assert logs == "".join(x.read_text() for x in (knowledge / ".git/ai-lessons/events").glob("*.jsonl"))


def test_a_session_is_told_no_more_than_its_budget_after_the_start(host: Host, knowledge: Path) -> None:
    about = 'applies_to:\n  - "workflows/"\n'
    for n in range(20):
        add(knowledge, f"jira-api/lessons/{n}.md", f"7AAA{n:02}", f"Number {n}", about, "x" * 350)
    told = [host.hear("before_edit") for _ in range(8)]
    assert 2_000 < sum(map(len, told)) <= hints.MOST + 8 * 200
    assert told[-1] == ""


def test_what_names_a_command_is_told_before_it_once(host: Host, knowledge: Path) -> None:
    add(knowledge, "jira-api/lessons/a.md", "7AAAAA", "Open pull requests with `gh pr create --draft`")
    add(knowledge, "jira-api/lessons/b.md", "7BBBBB", "Never `git commit --amend` what was pushed")

    def before(command: str) -> str:
        return host.hear("before_make_test", tool_input={"command": command}, session_id="s")

    assert before("gh pr view") == ""
    assert "L-7BBBBB" in before("git commit --amend --no-edit")
    assert before("git commit --amend --no-edit") == ""
    assert "L-7AAAAA" in before("gh pr create --title x --draft")


RULE = "No, from now on we should use tox instead of make here, because make hides which test failed"


def test_at_the_end_the_agent_is_asked_once_for_what_a_person_stated(host: Host) -> None:
    asks(host, f"{RULE}, says bob@shop.example", "s")
    edit(host, "a", "b", "s", "tox.ini")
    told = host.hear("stop", session_id="s")
    assert (RULE in told, "bob" in told) == (True, False)
    assert "--about tox.ini;" in told
    assert host.hear("stop", session_id="s") == ""
    asks(host, RULE.replace("tox", "nox"), "s")
    assert host.hear("stop", session_id="s") == "", "once a session"


def test_at_the_end_nothing_is_asked_of_what_is_stored_or_pasted_or_a_task(host: Host, knowledge: Path) -> None:
    for n, text in enumerate(("fix the failing build", f"I got this feedback: {RULE}")):
        asks(host, text, f"s{n}")
        assert host.hear("stop", session_id=f"s{n}") == ""
    add(knowledge, "jira-api/lessons/t.md", "7TTTTT", "Use tox in place of make, which hides which test failed")
    asks(host, RULE, "stored")
    assert host.hear("stop", session_id="stored") == ""

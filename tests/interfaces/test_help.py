import re
import subprocess
import sys

import click
import pytest

from ai_lessons import extensions
from ai_lessons.interfaces.cli import command as cli_command
from ai_lessons.interfaces.cli import root
from ai_lessons.interfaces.cli.options import context_tags, new_link, words
from interfaces.world import PROGRAM, Run, environment

COMMANDS = {
    path: command
    for path, command in cli_command.walk(root)
    if not getattr(command, "alias_of", None)
}

OLDER = {
    path: command for path, command in cli_command.walk(root) if getattr(command, "alias_of", None)
}

GROUPS = ("recall", "contribute", "admin")


def help_of(capsys: pytest.CaptureFixture[str], *path: str) -> str:
    root.main([*path, "--help"], "ai-lessons", standalone_mode=False)
    return capsys.readouterr().out


@pytest.mark.parametrize("path", OLDER, ids=" ".join)
def test_an_older_name_says_what_it_does_and_shows_only_what_it_takes(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    command = OLDER[path]
    assert isinstance(command, cli_command.Command)
    text = help_of(capsys, *path)
    newer = COMMANDS[*path[:-1], str(command.alias_of)]
    assert isinstance(newer, cli_command.Command)
    assert command.help
    for example in command.typed(" ".join(("ai-lessons", *path))):
        assert f"\n  {example}\n" in text
    assert "lesson" not in text.partition("Options:")[2].replace("ai-lessons", "")
    assert "only-resources" not in text


def test_help_of_all_lists_every_command_the_older_names_and_the_short_forms(run: Run) -> None:
    text = run("admin", "help", "--all").out
    commands, _, others = text.partition("\nOlder names:\n")
    older, _, short = others.partition("\nShort forms:\n")
    for path, command in COMMANDS.items():
        if not command.hidden:
            assert f"\n{' '.join(path)} " in f"\n{commands}", path
    assert len(older.splitlines()) == len(OLDER)
    assert "recall search-resources recall search: Search docs and scripts" in " ".join(
        older.split()
    )
    assert "status admin status" in " ".join(short.split())
    rows = run("admin", "help", "--all", "--json").json
    assert {"command": "status", "help": "", "of": "admin status"} in rows
    assert run("admin", "help").out.startswith("Usage: ai-lessons [OPTIONS] COMMAND")


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_aligned_help_with_an_example_and_takes_json(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    command = COMMANDS[path]
    assert isinstance(command, cli_command.Command)
    assert command.help
    assert len(command.help.partition("\n\n")[0]) < 120
    text = help_of(capsys, *path)
    assert "\nExamples:\n  " in text
    for example in command.typed(" ".join(("ai-lessons", *path))):
        assert f"\n  {example}\n" in text
    options = text.partition("\nOptions:\n")[2].partition("\n\n")[0].splitlines()
    starts = {
        len(row) - len(row[2:].lstrip("-").partition("  ")[2].lstrip())
        for row in options
        if row.startswith("  -")
    }
    assert len(starts) == 1, text
    assert all(
        param.help
        for param in command.params
        if isinstance(param, click.Option) and not param.hidden
    )
    assert any("--json" in param.opts for param in command.params)


def test_the_program_alone_shows_everyday_commands_first(run: Run) -> None:
    done = run()
    assert done.code == 0
    everyday = done.out.partition("Every day:\n")[2].partition("\n\n")[0].splitlines()
    of_features = {row.example for row, _ in extensions.commands() if row.example}
    assert [row.split("  ")[1] for row in everyday if row.split("  ")[1] not in of_features] == [
        'search "how do I undo a commit"', "show L-8F3K2A", "add notes.md", "edit L-8F3K2A", "undo",
        "contribute add-resource page.md", "list", "review", "sync",
    ]  # fmt: skip
    assert done.out.index("Every day:") < done.out.index("All commands:")
    assert run("--version").out.startswith("ai-lessons ")


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_lists_its_commands_with_whole_sentences(run: Run, group: str) -> None:
    done = run(group)
    assert done.code == 0
    assert "..." not in done.out.partition("Commands:")[2]


def commands_in_help(run: Run, *words: str) -> list[str]:
    return re.findall(r"^  ([a-z][a-z-]+)  +[A-Z]", run(*words).out, re.MULTILINE)


def test_help_lists_forty_commands_and_with_all_every_one(run: Run) -> None:
    shown = [name for group in GROUPS for name in commands_in_help(run, group)]
    assert len(shown) <= 40
    assert not {name for name in shown if name.endswith("-resource")} - {"add-resource"}
    every = [name for group in GROUPS for name in commands_in_help(run, group, "--all", "--help")]
    below = {path[1] for path in COMMANDS if path[0] in GROUPS and not COMMANDS[path].hidden}
    assert sorted(every) == sorted(below)
    assert commands_in_help(run, "admin", "--all") == commands_in_help(
        run, "admin", "--all", "--help"
    )
    assert run("recall", "--all", "tags", "--help").out.startswith("Usage: ai-lessons recall tags")


def test_add_shows_its_few_common_options_before_the_others_and_has_a_second_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    same, second = help_of(capsys, "contribute", "add"), help_of(capsys, "contribute", "add-lesson")
    assert same.replace(" add ", " add-lesson ").split() == second.split()
    first, later = help_of(capsys, "add").partition("Options:\n")[2].split("\n\nMore:\n")
    options = re.findall(r"^  (--[a-z-]+)", first, re.MULTILINE)
    # `--about` is of a feature, which may be taken out
    assert [name for name in options if name != "--about"] == [
        "--title", "--content", "--file", "--tags", "--project", "--when", "--do", "--dont", "--because",
    ]  # fmt: skip
    assert "--confidence" in later


MCP_PROGRAM = (sys.executable, "-c", "from ai_lessons.interfaces.mcp import main; main()")


def test_a_list_is_split_at_commas_without_repetitions_and_tags_carry_weights_where_they_are_given() -> (
    None
):
    assert [words(text) for text in ("", "a", " a , b,,a ", "two words, x")] == [
        (), ("a",), ("a", "b"), ("two words", "x"),
    ]  # fmt: skip
    assert context_tags("reviewer,jira-api=1.5") == {"reviewer": None, "jira-api": 1.5}
    assert context_tags("a = 2 , b=.5,c=0") == {"a": 2.0, "b": 0.5, "c": 0.0}
    assert context_tags("") == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a=much", "the weight of 'a' must be a number from 0 to 999 like 1.5, not 'much'"),
        ("a=", "the weight of 'a'"), ("a=-1", "the weight of 'a'"), ("a=nan", "the weight of 'a'"),
        ("a=inf", "the weight of 'a'"), ("=2", "no tag before"), ("a,a=2", "'a' is given twice"),
    ],
)  # fmt: skip
def test_a_wrong_context_tag_is_named(text: str, complaint: str) -> None:
    with pytest.raises(click.BadParameter, match=complaint):
        context_tags(text)


def test_a_new_link_may_name_its_relation() -> None:
    assert new_link("L-1") == ("", "L-1")
    assert new_link("has-script = S-1") == ("has_script", "S-1")
    with pytest.raises(click.BadParameter, match="not one of"):
        new_link("likes=S-1")
    with pytest.raises(click.BadParameter, match="names no entry"):
        new_link("has_script=")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (PROGRAM, [b"search", b"Gr\xfc\xdfe"]), (PROGRAM, [b"--repo", b"\xff"]), (PROGRAM, [b"--", b"\xff"]),
        (PROGRAM, [b"\xff", b"--json"]), (MCP_PROGRAM, [b"--repo", b"\xff"]),
    ],
)  # fmt: skip
def test_bytes_that_are_no_text_are_an_error_of_usage(
    program: tuple[str, ...], words: list[bytes]
) -> None:
    done = subprocess.run(
        [*program, *words], env=environment(LC_ALL="C.UTF-8"), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"is no UTF-8 text" in done.stderr

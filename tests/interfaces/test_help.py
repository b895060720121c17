import re

import click
import pytest

from ai_lessons.interfaces.cli import command as cli_command
from ai_lessons.interfaces.cli import root
from interfaces.world import Run

COMMANDS = {path: command for path, command in cli_command.walk(root) if not getattr(command, "alias_of", None)}

GROUPS = ("recall", "contribute", "admin")


def help_of(capsys: pytest.CaptureFixture[str], *path: str) -> str:
    root.main([*path, "--help"], "ai-lessons", standalone_mode=False)
    return capsys.readouterr().out


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
        len(row) - len(row[2:].lstrip("-").partition("  ")[2].lstrip()) for row in options if row.startswith("  -")
    }
    assert len(starts) == 1, text
    assert all(param.help for param in command.params if isinstance(param, click.Option) and not param.hidden)
    assert any("--json" in param.opts for param in command.params)


def test_the_program_alone_shows_everyday_commands_first(run: Run) -> None:
    done = run()
    assert done.code == 0
    everyday = done.out.partition("Every day:\n")[2].partition("\n\n")[0].splitlines()
    assert [row.split("  ")[1] for row in everyday] == [
        'search "how do I undo a commit"', "show L-8F3K2A", "add notes.md", "edit L-8F3K2A", "undo",
        "contribute add-resource page.md", "run S-9XW2RB", "list", "review", "sync",
    ]  # fmt: skip
    assert done.out.index("Every day:") < done.out.index("All commands:")


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_lists_its_commands_with_whole_sentences(run: Run, group: str) -> None:
    done = run(group)
    assert done.code == 0
    assert "..." not in done.out.partition("Commands:")[2]


def test_add_is_a_second_name_of_add_lesson(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = help_of(capsys, "contribute", "add"), help_of(capsys, "contribute", "add-lesson")
    assert first.replace(" add ", " add-lesson ").split() == second.split()


def test_the_version_is_told(run: Run) -> None:
    assert run("--version").out.startswith("ai-lessons ")


def commands_in_help(run: Run, *words: str) -> list[str]:
    return re.findall(r"^  ([a-z][a-z-]+)  +[A-Z]", run(*words).out, re.MULTILINE)


def test_help_lists_forty_commands_and_with_all_every_one(run: Run) -> None:
    shown = [name for group in GROUPS for name in commands_in_help(run, group)]
    assert len(shown) <= 40
    assert not {name for name in shown if name.endswith("-resource")} - {"add-resource"}
    every = [name for group in GROUPS for name in commands_in_help(run, group, "--all", "--help")]
    below = {path[1] for path in COMMANDS if path[0] in GROUPS and not COMMANDS[path].hidden}
    assert sorted(every) == sorted(below)
    assert commands_in_help(run, "admin", "--all") == commands_in_help(run, "admin", "--all", "--help")
    assert run("recall", "--all", "tags", "--help").out.startswith("Usage: ai-lessons recall tags")


def test_add_shows_ten_options_before_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    first, later = help_of(capsys, "add").partition("Options:\n")[2].split("\n\nMore:\n")
    assert len(re.findall(r"^  --", first, re.MULTILINE)) == 10
    assert "--confidence" in later

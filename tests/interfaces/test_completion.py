import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from interfaces.world import PROGRAM, Run, environment
from real_world import put_file


def complete(
    line: str, kind: str = "bash", program: Sequence[str] = PROGRAM, **environ: str
) -> tuple[list[str], str]:
    """What the shell gets for a line whose last word (after the last blank) is being typed, and stderr."""
    name = line.split(" ", maxsplit=1)[0]
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    asked = {variable: f"{kind}_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        program, capture_output=True, text=True, check=False, env=environment(**asked, **environ)
    )
    return done.stdout.splitlines(), done.stderr


def values(line: str, **environ: str) -> list[str]:
    lines, err = complete(line, **environ)
    assert err == ""
    return [row.partition(",")[2] for row in lines if row]


def test_commands_are_completed_without_a_repository() -> None:
    assert values("ai-lessons re") == ["recall"]
    assert values("ai-lessons recall sh") == ["show"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ai-lessons recall show L-8F", ["L-8F3K2A"]),
        ("ai-lessons recall list --project jir", ["jira-api"]),
        ("ai-lessons recall list --tag work", ["workflows"]),
        ("ai-lessons recall search --version v", ["v3"]),
        ("ai-lessons contribute add --tags jira-api,work", ["jira-api,workflows"]),
        ("ai-lessons contribute link L-8F3K2A S-", ["S-9XW2RB"]),
        ("ai-lessons contribute add --confidence very", ["very-low", "very-high"]),
    ],
)
def test_real_values_of_the_repository_are_offered(
    knowledge: Path, line: str, expected: list[str]
) -> None:
    assert values(line) == expected


def test_the_repository_of_the_line_is_asked_and_titles_stand_beside_ids_where_the_shell_shows_them(
    knowledge: Path,
) -> None:
    line = f"ai-lessons --repo {knowledge} recall show D-4"
    assert values(line, AI_LESSONS_REPO="/nowhere") == ["D-4T7QZM"]
    assert complete(line, kind="zsh")[0] == ["plain", "D-4T7QZM", "Jira Workflows API"]


def test_a_completion_never_complains(tmp_path: Path) -> None:
    assert values("ai-lessons recall show L-", AI_LESSONS_REPO=str(tmp_path / "none")) == []
    for config in ("repo = 5\n", "not toml"):
        (tmp_path / "config.toml").write_text(config)
        assert (
            values("ai-lessons recall show L-", AI_LESSONS_CONFIG=str(tmp_path / "config.toml"))
            == []
        )


def test_what_a_shell_would_obey_is_never_offered(knowledge: Path) -> None:
    lesson = next((knowledge / "jira-api/lessons").rglob("*.md"))
    lesson.write_text(
        lesson.read_text().replace(
            "  - jira-api\n", '  - "$(touch pwned)"\n  - "a;b"\n  - jira-ok\n'
        )
    )
    assert values("ai-lessons recall list --tag $") == []
    assert values("ai-lessons recall list --tag a") == []
    assert values("ai-lessons recall list --tag jira-o") == ["jira-ok"]


@pytest.mark.parametrize(
    ("shell", "words"),
    [("bash", "complete -o nosort"), ("zsh", "#compdef"), ("fish", "--no-files")],
)
def test_each_shell_gets_its_script(run: Run, shell: str, words: str) -> None:
    done = run("admin", "completion", shell)
    assert (done.code, words in done.out, "_AI_LESSONS_COMPLETE" in done.out) == (0, True, True)


def test_the_shell_may_be_taken_from_the_environment(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "--no-files" in run("admin", "completion").out
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert run("admin", "completion").err.startswith("error: no completion for the shell 'tcsh'\n")
    monkeypatch.delenv("SHELL")
    assert run("admin", "completion").err.startswith(
        "error: $SHELL does not say which shell you use\n"
    )


@pytest.mark.plays("lesson_program")
@pytest.mark.parametrize(
    ("shell", "file"),
    [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", ".config/fish/completions/ai-lessons.fish")],
)
def test_set_up_twice_it_stands_there_once(run: Run, hermetic: Path, shell: str, file: str) -> None:
    start = put_file(hermetic / file, "alias ll='ls -l'\n")
    places = [start, *([start.with_name("lesson.fish")] if shell == "fish" else [])]
    done = run("admin", "completion", shell, "--install").out.splitlines()
    assert done == [f"{start}: added", *(f"{place}: written" for place in places[1:])]
    once = start.read_text()
    assert once.startswith("alias ll='ls -l'\n")
    assert "_AI_LESSONS_COMPLETE" in once
    assert "_LESSON_COMPLETE" in places[-1].read_text()
    again = "".join(f"{place}: already there\n" for place in places)
    assert run("admin", "completion", shell, "--install").out == again
    assert start.read_text() == once


@pytest.mark.plays("lesson_program")
def test_it_goes_where_the_shell_looks(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "zsh").mkdir()
    monkeypatch.setenv("ZDOTDIR", str(tmp_path / "zsh"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert run("admin", "completion", "zsh", "--install").out == f"{tmp_path}/zsh/.zshrc: written\n"
    assert run("admin", "completion", "fish", "--install").code == 0
    for name in ("ai-lessons", "lesson"):
        file = tmp_path / f"config/fish/completions/{name}.fish"
        assert f"complete --no-files --command {name}" in file.read_text()

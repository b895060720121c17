import json
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
    Interrupted,
    InvalidEntry,
    NotFound,
    Problem,
    Refused,
    StorageFailed,
    Unreachable,
    UsageError,
)
from ai_lessons.interfaces.cli import ending, root
from interfaces.world import PROGRAM, environment

Captured = pytest.CaptureFixture[str]


def end(error: BaseException, *args: str) -> int:
    def program() -> None:
        raise error

    return ending.run(program, args)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (AiLessonsError("x"), 1), (NotFound("entry", "x"), 3), (InvalidEntry([Problem("a", "b")]), 4),
        (Refused("no"), 8), (click.UsageError("bad"), 2), (click.ClickException("editor gone"), 1),
        (click.Abort(), 130), (KeyboardInterrupt(), 130), (RuntimeError("oops"), 70),
    ],
)  # fmt: skip
def test_every_error_has_its_exit_code(error: BaseException, code: int, capsys: Captured) -> None:
    assert end(error) == code
    assert capsys.readouterr().err


def test_a_command_may_return_its_own_exit_code() -> None:
    assert [ending.run(lambda: returned, ()) for returned in (None, 0, 7)] == [0, 0, 7]  # noqa: B023  # called at once


def test_message_and_hint_are_one_line_each_and_harmless_and_with_json_data_on_stderr(
    capsys: Captured,
) -> None:
    end(NotFound("entry", "x\x1b[2J", suggestions=["L-1"]))
    assert capsys.readouterr().err == "error: no entry 'x\\x1b[2J'\nhint: did you mean L-1?\n"
    assert end(NotFound("entry", "x", suggestions=["L-1"]), "recall", "show", "x", "--json") == 3
    done = capsys.readouterr()
    assert done.out == ""
    assert json.loads(done.err) == {
        "error": "NotFound",
        "message": "no entry 'x'",
        "hint": "did you mean L-1?",
    }
    end(
        NotFound("entry", "x"), "recall", "run-resource", "x", "--", "--json"
    )  # arguments of a script are not ours
    assert capsys.readouterr().err.startswith("error: no entry 'x'\nhint: ")


def test_a_bug_leaves_a_report_that_only_the_user_can_read(
    capsys: Captured, hermetic: Path
) -> None:
    assert end(RuntimeError("oops"), "recall", "list") == 70
    err = capsys.readouterr().err
    (report,) = (hermetic / ".local/state/ai-lessons/bugs").iterdir()
    assert (
        err
        == f"error: a bug in ai-lessons (RuntimeError: oops); attach this file when you report it: {report}\n"
    )
    text = report.read_text()
    assert "RuntimeError: oops" in text
    assert "arguments: ['recall', 'list']" in text
    assert report.stat().st_mode & 0o777 == 0o600


def test_a_bug_is_told_also_where_no_report_can_be_written(
    capsys: Captured, hermetic: Path
) -> None:
    (hermetic / ".local").write_text("a file in the way")
    assert end(RuntimeError("oops"), "-v") == 70
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "kind", [AiLessonsError, Conflict, Refused, StorageFailed, Unreachable, UsageError]
)
def test_no_error_is_without_a_next_step(kind: type[AiLessonsError], capsys: Captured) -> None:
    end(kind("x"))
    assert "\nhint: " in capsys.readouterr().err
    end(kind("x"), "--json")
    assert json.loads(capsys.readouterr().err)["hint"]


def test_an_interruption_says_what_is_safe(capsys: Captured) -> None:
    end(KeyboardInterrupt())
    assert capsys.readouterr().err.startswith(
        "error: interrupted\nhint: what was already written is kept"
    )
    end(Interrupted(" at embedding, 5 of 10"))
    assert capsys.readouterr().err.startswith("error: interrupted at embedding, 5 of 10\nhint: ")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("recal", "error: no command 'recal'\nhint: did you mean: ai-lessons recall?"),
        (
            "relatd x",
            "error: no command 'relatd'\nhint: did you mean: ai-lessons recall related?",
        ),
        ("find x", "error: no command 'find'\nhint: did you mean: ai-lessons search?"),
        ("rm x", "error: no command 'rm'\nhint: did you mean: ai-lessons delete?"),
        ("ls", "error: no command 'ls'\nhint: did you mean: ai-lessons list?"),
        (
            "recall list --foo",
            "error: No such option '--foo'\nhint: see ai-lessons recall list --help",
        ),
        ("search x --limti 3", "hint: see ai-lessons search --help"),
        (
            "search --foo",
            "hint: as a word: ai-lessons search -- --foo; else see ai-lessons search --help",
        ),
    ],
)
def test_what_is_mistyped_is_told_with_what_is_near(capsys: Captured, line: str, told: str) -> None:
    args = line.split()
    assert ending.run(lambda: root.main(args, "ai-lessons", standalone_mode=False), args) == 2
    assert capsys.readouterr().err.endswith(f"{told}\n")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    script = f"{shlex.join(PROGRAM)} recall search --help; echo $? >&2"
    reader = "exec 3>&1; { sleep 0.3; exec 1>&-; }"
    done = subprocess.run(
        ["bash", "-c", f"( {script} ) | true; {reader}"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.stderr.strip() in {"0", "1"}


def test_a_caller_that_closed_our_input_is_no_error() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join(PROGRAM)} contribute add --title T --content - <&-"],
        capture_output=True, text=True, check=False, env=environment(),
    )  # fmt: skip
    assert (done.returncode, "bug" in done.stderr) == (2, False), done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_below_the_output_is_told() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment(),
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: the output cannot be written: No space left on device\n")

import subprocess
import sys
from typing import Any

import click
import pytest

from ai_lessons.interfaces.cli.options import OneOf, context_tags, new_link, words
from ai_lessons.model.entries import Confidence
from interfaces.world import LESSON_PROGRAM, PROGRAM, environment

MCP_PROGRAM = (sys.executable, "-c", "from ai_lessons.interfaces.mcp import main; main()")


def convert(kind: click.ParamType[Any], text: str) -> Any:
    return kind.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ()), ("a", ("a",)), ("a,b", ("a", "b")), (" a , b,,a ", ("a", "b")), ("two words, x", ("two words", "x"))],
)
def test_a_list_is_split_at_commas_without_repetitions(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reviewer,jira-api=1.5", {"reviewer": None, "jira-api": 1.5}),
        ("a = 2 , b=.5", {"a": 2.0, "b": 0.5}),
        ("a=0", {"a": 0.0}),
        ("", {}),
    ],
)
def test_context_tags_carry_weights_where_they_are_given(text: str, expected: dict[str, float | None]) -> None:
    assert context_tags(text) == expected


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


def test_a_wrong_value_lists_the_right_ones() -> None:
    with pytest.raises(click.BadParameter, match="'sure' is not one of 'very-low', 'low', "):
        convert(OneOf(Confidence, "level"), "sure")


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
        (LESSON_PROGRAM, [b"\xff", b"--json"]), (MCP_PROGRAM, [b"--repo", b"\xff"]),
    ],
)  # fmt: skip
def test_bytes_that_are_no_text_are_an_error_of_usage(program: tuple[str, ...], words: list[bytes]) -> None:
    done = subprocess.run([*program, *words], env=environment(LC_ALL="C.UTF-8"), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"is no UTF-8 text" in done.stderr

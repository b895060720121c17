from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.search.ranking import fold, hidden_parts, with_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("setUserName", ["set", "User", "Name"]),
        ("HTTPServer and parseXML2Json", ["HTTP", "Server", "parse", "XML", "Json"]),
        ("setUserName getUserName", ["set", "User", "Name", "get"]),
        ("snake_case os.path.join --flag /usr/bin ORA-00942 utf8", []),
        ("plain words Only ONE Here, and is it so? - no. The end - all in all", []),
        ("E0382 TS2345 sha256", ["0382", "TS", "2345", "sha", "256"]),
        ("is_not is-not", ["is0not"]),
        ("--all, --no-verify and -i", ["0all", "0no0verify", "0i"]),
        ("a.b.c x/and/y.", ["a0b0c", "x0and0y"]),
        ("配置文件", ["配置", "置文", "文件"]),
        ("用git命令 npm包", ["命令", "git", "npm"]),
        ("", []),
    ],
)
def test_parts_of_words_the_tokenizer_would_keep_whole(text: str, parts: list[str]) -> None:
    assert hidden_parts(text) == parts


def test_parts_stand_below_the_text() -> None:
    assert with_parts("call setName") == "call setName\nset Name"
    assert with_parts("call it") == "call it"


def test_long_runs_take_no_longer_than_their_length() -> None:
    for run in ("a", "A", "aB", "1", "a.", "--a", "-", "is_", "E1"):
        hidden_parts(run * 50_000)


@given(st.text())
def test_the_text_stands_before_its_parts(text: str) -> None:
    assert with_parts(text).startswith(fold(text))

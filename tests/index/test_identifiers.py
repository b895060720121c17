from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.index.identifiers import hidden_parts, with_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("setUserName", ["set", "User", "Name"]),
        ("HTTPServer and parseXML2Json", ["HTTP", "Server", "parse", "XML", "Json"]),
        ("setUserName getUserName", ["set", "User", "Name", "get"]),
        ("snake_case a.b.c --flag /usr/bin", []),
        ("plain words Only ONE Here", []),
        ("配置文件", ["配置", "置文", "文件"]),
        ("", []),
    ],
)
def test_parts_of_words_the_tokenizer_would_keep_whole(text: str, parts: list[str]) -> None:
    assert hidden_parts(text) == parts


def test_parts_stand_below_the_text() -> None:
    assert with_parts("call setName") == "call setName\nset Name"
    assert with_parts("call it") == "call it"


@given(st.text())
def test_the_text_itself_is_never_changed(text: str) -> None:
    assert with_parts(text).startswith(text)

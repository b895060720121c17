"""What is the same to a reader is the same to the index, to phrases and to the judges, in every script."""

import re
import unicodedata

import pytest

from ai_lessons.search.ranking import Candidates, Match, fold, hidden_parts, pattern, shares, with_parts, words_of
from ai_lessons.search.terms import likeness, terms


def both_shares(question: str, candidates: Candidates) -> tuple[float, float]:
    held = shares(question, [candidates], lambda hit: hit.text)
    return max(held.held.values(), default=0.0), held.stored


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("o\ufb03ce", "office"), ("throt\u00adtle", "throttle"), ("na\u00efve", "naive"), ("isn\u2019t", "isn't"),
        ("\uff21\uff30\uff29", "API"), ("\uff76\uff9e", "\u30ac"), ("well\u2011known", "well-known"),
        (unicodedata.normalize("NFD", "L\u00fcftung"), "L\u00fcftung"),
    ],
)  # fmt: skip
def test_two_spellings_of_one_word_are_the_same(written: str, typed: str) -> None:
    assert fold(written) == fold(typed)
    assert with_parts(written) == with_parts(typed)
    assert words_of(written) == words_of(typed)
    assert re.search(pattern(typed), fold(f"before {written} after"))
    match = re.search(pattern(typed), fold(f"a {written} b"))
    assert match is not None
    assert match.start(1) == 2
    hit = Match("a", 0, 1.0, text=written)
    assert both_shares(typed, Candidates(text=(hit,))) == (1.0, 1.0)


@pytest.mark.parametrize("text", ["部署之前必须先备份数据库、否则无法回滚。", "ต้องสำรองฐานข้อมูลก่อนปรับใช้ระบบใหม่"])
def test_scripts_without_blanks_are_compared_by_their_characters(text: str) -> None:
    assert len(terms(text)) > 5
    assert likeness(text, text) == 1.0
    assert likeness(text, "今天的天气非常好、我们去公园散步吧。") < 0.2
    assert hidden_parts(text)


def test_a_question_shares_characters_with_a_text_of_its_script() -> None:
    hit = Match("a", 0, 1.0, text="部署前先备份数据库")
    assert both_shares("备份数据库", Candidates(text=(hit,))) == (1.0, 1.0)
    assert both_shares("天气非常好", Candidates(text=(hit,))) == (0.0, 0.0)
    mixed = Match("a", 0, 1.0, text="使用API调用")
    assert both_shares("API", Candidates(text=(mixed,))) == (1.0, 1.0)

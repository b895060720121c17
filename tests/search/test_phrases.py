"""Phrases, identifiers and filters, asked of a real table."""

import re
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_lessons.model.entries import Filter
from ai_lessons.search.answer_chance import shares
from ai_lessons.search.rows import Candidates, Match
from ai_lessons.search.terms import likeness, terms
from ai_lessons.search.tokens import fold, hidden_parts, pattern, with_parts, words_of
from search.index_world import World, entry

TEXTS = {
    "emphasis": "PUT replaces\n**the** _workflow_ as a whole", "apart": "the workflow is what PUT replaces",
    "flag": "git commit --no-verify skips the hooks", "words": "there is no way to verify this",
    "chinese": "使用git命令修改配置文件", "stop": "To be, or not to be", "odd": r"it's 100% a.b(c) C:\new [x] $1",
    "oracle": "ORA-00942: table or view does not exist", "rust": "error[E0382]: borrow of moved value",
    "snake": "call is_not(user_name) of os.path.join", "camel": "setUserName of HTTPServer", "all": "git add --all",
    "mail": "git log --author", "dotted": "see a.b.c in /etc/nginx/nginx.conf",
}  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("phrases")) as made:
        made.put(*(entry(name, text, title="Notes") for name, text in TEXTS.items()))
        made.refresh()
        yield made


def holding(world: World, *phrases: str) -> list[str]:
    return sorted(world.found(" ".join(phrases), Filter(phrases=phrases)))


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("replaces the workflow", ["emphasis"]), ("the workflow", ["apart", "emphasis"]), ("the workflo", []),
        ("--no-verify", ["flag"]), ("no verify", ["flag"]), ("git", ["all", "chinese", "flag", "mail"]),
        ("配置文件", ["chinese"]), ("配文", []), ("to be not", []), ("to be, or not to be", ["stop"]),
        ("it's 100% a.b(c)", ["odd"]), (r"C:\new [x] $1", ["odd"]), ("' OR 1=1 --", []),
        ("does not exist", ["oracle"]),
    ],
)  # fmt: skip
def test_a_phrase_is_found_word_by_word(world: World, phrase: str, found: list[str]) -> None:
    assert holding(world, phrase) == found


def test_all_phrases_have_to_be_there_by_meaning_too(world: World) -> None:
    assert holding(world, "the workflow", "PUT replaces") == ["apart", "emphasis"]
    assert holding(world, "the workflow", "as a whole") == ["emphasis"]
    assert world.near("the workflow", Filter(phrases=("as a whole",))) == ["emphasis"]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("user name of os path", "snake"), ("os.path.join", "snake"), ("setUserName", "camel"),
        ("http server", "camel"), ("--no-verify", "flag"), ("--author", "mail"), ("ORA-00942", "oracle"),
        ("00942", "oracle"), ("E0382", "rust"), ("error 0382", "rust"), ("a.b.c", "dotted"), ("nginx", "dotted"),
    ],
)  # fmt: skip
def test_an_identifier_is_found_whole_and_by_part(world: World, query: str, best: str) -> None:
    assert world.found(query)[:1] == [best]


def test_names_of_other_spelling_are_near(world: World) -> None:
    assert (
        set(world.found("user_name")[:2]) == set(world.found("userName")[:2]) == {"snake", "camel"}
    )


@pytest.mark.parametrize(
    "question",
    [
        "how do I find out whether somebody is borrowing a moved value in my program?",
        "What would be the reason for the hooks not being skipped by anything?",
    ],
)
def test_a_question_in_plain_words_needs_no_text_that_holds_all_of_them(
    world: World, question: str
) -> None:
    assert world.found(question)


def test_words_are_found_in_other_forms(world: World) -> None:
    assert world.found("skipping hook")[:1] == ["flag"]
    assert world.found("replaced workflows")[0] in {"emphasis", "apart"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(phrase=st.text(min_size=1, max_size=40))
def test_whatever_is_quoted_is_data(world: World, phrase: str) -> None:
    world.found(f"workflow {phrase}", Filter(phrases=(phrase,)))


@given(st.sampled_from(sorted(TEXTS.values())), st.data())
def test_any_run_of_words_of_a_text_is_found_in_it(text: str, data: st.DataObject) -> None:
    words = [(found.start(), found[0]) for found in re.finditer(r"\S+", text)]
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    phrase = " ".join(word for _, word in words[first : last + 1])
    assert words[first][0] in {match.start(1) for match in re.finditer(pattern(phrase), fold(text))}


def test_a_very_long_phrase_and_an_empty_one_do_no_harm(world: World) -> None:
    assert holding(world, "word " * 1000) == []
    assert pattern("") == pattern("  ") == ""


def test_projects_may_have_versions_of_their_own(tmp_path: Path, closing: ExitStack) -> None:
    world = closing.enter_context(World(tmp_path))
    made = [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2"), ("c", "2"), ("c", "")]
    world.put(*(entry(p + v, "text", project=p, versions=[v] if v else []) for p, v in made))
    world.refresh()
    one, two = frozenset({"1"}), frozenset({"2"})
    assert sorted(world.found("text", Filter(spelled_in={"a": one}))) == [
        "a1",
        "b1",
        "b2",
        "c",
        "c2",
    ]
    assert sorted(world.found("text", Filter(spelled_in={"a": one, "b": two}))) == [
        "a1",
        "b2",
        "c",
        "c2",
    ]
    assert sorted(world.found("text", Filter(spelled=one, spelled_in={"b": two}))) == [
        "a1",
        "b2",
        "c",
    ]
    assert sorted(world.found("text", Filter(spelled_in={"c": frozenset()}, project="c"))) == ["c"]


def test_the_hidden_parts_of_a_long_run_are_no_longer_than_the_run() -> None:
    """What is quadratic in time would not end here, and what is in memory is seen."""
    for run in ("a", "A", "aB", "1", "a.", "--a", "-", "is_", "E1"):
        text = run * 50_000
        assert sum(map(len, hidden_parts(text))) <= 2 * len(text), run


@given(st.text())
def test_the_text_stands_before_its_parts(text: str) -> None:
    assert with_parts(text).startswith(fold(text))


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


@pytest.mark.parametrize(
    "text", ["部署之前必须先备份数据库、否则无法回滚。", "ต้องสำรองฐานข้อมูลก่อนปรับใช้ระบบใหม่"]
)
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

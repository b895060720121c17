from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import UsageError
from ai_lessons.model.entries import Kind
from ai_lessons.search.catalog import Asked, parse_query


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("undo a commit", Asked("undo a commit")),
        ("  undo \n a\tcommit ", Asked("undo a commit")),
        ('undo "merge  commit" now', Asked("undo merge commit now", ("merge commit",))),
        ("“merge commit”", Asked("merge commit", ("merge commit",))),
        ('"a b" "a b"', Asked("a b a b", ("a b",))),
        ("undo tag:git", Asked("undo", tags=("git",))),
        ("tag:git,branches TAG:git undo", Asked("undo", tags=("git", "branches"))),
        ('tag:"two words"', Asked(tags=("two words",))),
        ("kind:lesson Type:Docs x", Asked("x", kinds=frozenset({Kind.LESSON, Kind.DOC}))),
        ("kind:rule,script", Asked(kinds=frozenset({Kind.RULE, Kind.SCRIPT}))),
        ('x project:"my shop"', Asked("x", project="my shop")),
        ("x project:a project:a", Asked("x", project="a")),
        ("x version:v2,v3 version:lts", Asked("x", versions=("v2", "v3", "lts"))),
        ('x version:">=1.4, <2" y', Asked("x y", versions=(">=1.4 <2",))),
        ("x version:>=1.4 <2 !=1.6 y", Asked("x y", versions=(">=1.4 <2 !=1.6",))),
        ("x version:^1.2 3 y", Asked("x 3 y", versions=("^1.2",))),
        # what only looks like syntax is text
        ("std::vector foo:bar https://x.y", Asked("std::vector foo:bar https://x.y")),
        ("mytag:git subkind:x", Asked("mytag:git subkind:x")),
        ("tag: git", Asked("tag: git")),
        ('tag:"" tag:, kind:" "', Asked('tag:"" tag:, kind:" "')),
        ('tag:"open', Asked('tag:"open')),
        ('say "open', Asked('say "open')),
        ('a 5" pipe', Asked('a 5" pipe')),
        ('"???" ""', Asked('"???" ""')),
        ('don"t "do it"now', Asked('don"t do it now', ("do it",))),
        ("mypy type:ignore", Asked("mypy type:ignore")),
        ("type:doc,ignore", Asked("type:doc,ignore")),
        ('"type:ignore"', Asked("type:ignore", ("type:ignore",))),
        ("", Asked()),
        (" \n", Asked()),
    ],
)
def test_a_query_is_taken_apart(query: str, asked: Asked) -> None:
    assert parse_query(query) == asked


def test_a_kind_that_does_not_exist_is_told_with_those_that_do() -> None:
    with pytest.raises(UsageError, match="no kind 'ignore'") as error:
        parse_query("mypy kind:ignore")
    assert error.value.hint == "one of: lesson, rule, doc, script; if it is text to be found, put it into quotes"


def test_two_projects_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="one project, so not in all of: a, b"):
        parse_query("x project:a project:b")


word = st.from_regex(r"[a-z_#.]{1,8}", fullmatch=True)
name = st.from_regex(r"[a-z][a-z0-9-]{0,7}", fullmatch=True)
phrase = st.lists(name, min_size=1, max_size=3).map(" ".join)


@given(
    st.lists(
        st.one_of(
            word.map(lambda w: ("word", w, w)),
            phrase.map(lambda p: ("phrase", f'"{p}"', p)),
            name.map(lambda n: ("tag", f"tag:{n}", n)),
            phrase.map(lambda p: ("tag", f'tag:"{p}"', p)),
            st.sampled_from(list(Kind)).map(lambda k: ("kind", f"kind:{k}", k)),
            name.map(lambda n: ("version", f"version:{n}", n)),
        ),
        max_size=8,
    )
)
def test_parts_come_back_out_in_their_order(parts: list[tuple[str, str, str]]) -> None:
    def of(*sorts: str) -> list[str]:
        return [value for sort, _, value in parts if sort in sorts]

    asked = parse_query(" ".join(written for _, written, _ in parts))
    assert asked.text == " ".join(of("word", "phrase"))
    assert asked.phrases == tuple(dict.fromkeys(of("phrase")))
    assert asked.tags == tuple(dict.fromkeys(of("tag")))
    assert asked.kinds == set(of("kind"))
    assert asked.versions == tuple(dict.fromkeys(of("version")))


@given(st.text(alphabet=st.characters(blacklist_characters='"“”„‟:')))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert parse_query(text) == Asked(" ".join(text.split()))


@given(st.text(alphabet='ab":,< tgkindverso1', max_size=60))
def test_nothing_is_lost_and_nothing_breaks(text: str) -> None:
    try:
        asked = parse_query(text)
    except UsageError:
        return
    kept = "".join((asked.text, *asked.tags, *asked.kinds, *asked.versions, asked.project or ""))
    assert set(text) - set(' ",') <= set(kept) | set(":tagkindverso")
    assert all(one in asked.text for one in asked.phrases)


def test_a_long_query_takes_no_longer_than_its_length() -> None:
    assert parse_query('"' + "a " * 200_000).phrases == ()
    assert len(parse_query("version:>=1 " + "<2 " * 50_000).versions) == 1

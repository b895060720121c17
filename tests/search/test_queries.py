import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import UsageError
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.search.catalog import parse_query


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("undo a commit", ("undo a commit", Filter())),
        ("  undo \n a\tcommit ", ("undo a commit", Filter())),
        ('undo "merge  commit" now', ("undo merge commit now", Filter(phrases=("merge commit",)))),
        ("“merge commit”", ("merge commit", Filter(phrases=("merge commit",)))),
        ("undo tag:git", ("undo", Filter(tags=("git",)))),
        ('tag:"two words"', ("", Filter(tags=("two words",)))),
        ("kind:lesson Type:Docs x", ("x", Filter(kinds=frozenset({Kind.LESSON, Kind.DOC})))),
        ('x project:"my shop"', ("x", Filter(project="my shop"))),
        ("x version:v2,v3 version:lts", ("x", Filter(versions=("v2", "v3", "lts")))),
        ('x version:">=1.4, <2" y', ("x y", Filter(versions=(">=1.4 <2",)))),
        ("x version:>=1.4 <2 !=1.6 y", ("x y", Filter(versions=(">=1.4 <2 !=1.6",)))),
        ("x version:^1.2 3 y", ("x 3 y", Filter(versions=("^1.2",)))),
        # what only looks like syntax is text
        ("std::vector foo:bar https://x.y", ("std::vector foo:bar https://x.y", Filter())),
        ('tag:"" tag:, kind:" "', ('tag:"" tag:, kind:" "', Filter())),
        ('tag:"open', ('tag:"open', Filter())),
        ('"???" ""', ('"???" ""', Filter())),
        ('don"t "do it"now', ('don"t do it now', Filter(phrases=("do it",)))),
        ("mypy type:ignore", ("mypy type:ignore", Filter())),
        ('"type:ignore"', ("type:ignore", Filter(phrases=("type:ignore",)))),
        ("", ("", Filter())),
    ],
)
def test_a_query_is_taken_apart(query: str, asked: tuple[str, Filter]) -> None:
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

    words, asked = parse_query(" ".join(written for _, written, _ in parts))
    assert words == " ".join(of("word", "phrase"))
    assert asked.phrases == tuple(dict.fromkeys(of("phrase")))
    assert asked.tags == tuple(dict.fromkeys(of("tag")))
    assert asked.kinds == set(of("kind"))
    assert asked.versions == tuple(dict.fromkeys(of("version")))


@given(st.text(alphabet=st.characters(blacklist_characters='"“”„‟:')))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert parse_query(text) == (" ".join(text.split()), Filter())


@given(st.text(alphabet='ab":,< tgkindverso1', max_size=60))
def test_nothing_is_lost_and_nothing_breaks(text: str) -> None:
    try:
        words, asked = parse_query(text)
    except UsageError:
        return
    kept = "".join((words, *asked.tags, *asked.kinds, *asked.versions, asked.project or ""))
    assert set(text) - set(' ",') <= set(kept) | set(":tagkindverso")
    assert all(one in words for one in asked.phrases)


def test_a_long_query_takes_no_longer_than_its_length() -> None:
    assert parse_query('"' + "a " * 200_000)[1].phrases == ()
    assert len(parse_query("version:>=1 " + "<2 " * 50_000)[1].versions) == 1

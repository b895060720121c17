"""Questions to the table, and vectors that stay in memory."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import UsageError
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.search import index_query, question_names, table, tokens
from ai_lessons.search.query_text import parse_query
from ai_lessons.search.rows import Match
from real_world import instead
from search.index_world import World, entry, many


@pytest.fixture
def world(tmp_path: Path, closing: ExitStack) -> World:
    """Forty entries of two passages, a quarter of them in a project of their own."""
    made = closing.enter_context(World(tmp_path))
    made.put(
        *many(30), *(entry(f"p{n}", f"number {n} of the project", project="own") for n in range(10))
    ).refresh()
    return made


def asked_of_the_table(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The filters of the questions that go to the table by vector from now on."""
    asked: list[str] = []
    real = table.Passages.by_vector

    def ask(self: table.Passages, vector: list[float], where: str, depth: int) -> tuple[Match, ...]:
        asked.append(where)
        return real(self, vector, where, depth)

    monkeypatch.setattr(table.Passages, "by_vector", ask)
    return asked


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(),
        Filter(project="own"),
        Filter(kinds=frozenset({Kind.LESSON})),
        Filter(ids=frozenset({"e00003", "p7"})),
    ],
    ids=["all", "a project", "nothing", "two"],
)
def test_from_the_second_question_on_vectors_are_compared_in_memory_with_the_same_answer(
    world: World, monkeypatch: pytest.MonkeyPatch, wanted: Filter
) -> None:
    asked = asked_of_the_table(monkeypatch)
    by_table = world.index.candidates("number 7 of the project", wanted, 20).vectors
    world.index.candidates("another question")
    in_memory = [
        world.index.candidates("number 7 of the project", wanted, 20).vectors for _ in range(2)
    ]
    assert len(asked) == 1
    for found in in_memory:
        assert [(hit.entry_id, hit.ordinal, hit.heading, hit.text) for hit in found] == [
            (hit.entry_id, hit.ordinal, hit.heading, hit.text) for hit in by_table
        ]
        assert [hit.score for hit in found] == pytest.approx(
            [hit.score for hit in by_table], abs=1e-5
        )


@pytest.mark.parametrize("wanted", [Filter(), Filter(project="own")], ids=["all", "a project"])
def test_from_the_second_question_on_texts_are_taken_from_memory_with_the_same_answer(
    world: World, closing: ExitStack, wanted: Filter
) -> None:
    by_table = world.index.candidates("number 7 of the project", wanted, 20).text
    world.index.candidates("another question")
    closing.enter_context(
        instead(
            "ai_lessons.search.table.Passages.by_text", lambda *_: pytest.fail("rows were read")
        )
    )
    assert world.index.candidates("number 7 of the project", wanted, 20).text == by_table
    assert len(by_table) > 1


def test_what_others_write_is_found_at_once_although_vectors_are_in_memory(world: World) -> None:
    reader = world.open()
    for _ in range(3):
        assert reader.candidates("a new thing altogether").vectors[0].entry_id != "new"
    world.put(entry("new", "a new thing altogether")).refresh()
    for _ in range(3):
        assert reader.candidates("a new thing altogether").vectors[0].entry_id == "new"
    world.remove("new")
    world.refresh()
    assert all(hit.entry_id != "new" for hit in reader.candidates("a new thing altogether").vectors)


def test_filters_without_end_are_answered_rightly(world: World) -> None:
    for n in range(2 * index_query.FILTERS + 3):
        name = f"e{n % 30:05}"
        assert world.near("number says word", Filter(ids=frozenset({name, f"none{n}"}))) == [name]


def test_passages_without_a_vector_are_not_compared(tmp_path: Path, closing: ExitStack) -> None:
    world = closing.enter_context(World(tmp_path))
    world.put(*many(4)).refresh()
    world.put(entry("late", "number 2 says word2")).refresh(seconds=0)
    for _ in range(3):
        assert "late" not in world.near("number 2 says word2")
        assert "late" in world.found("word2")


def test_a_question_that_has_begun_is_answered_although_its_table_goes_away(world: World) -> None:
    world.index.refresh("1", world.fingerprints, world.load)
    finish = world.index.query.begin("word7", Filter(), 10)
    other = world.open()
    world.refresh(other, full=True)
    assert [hit.entry_id for hit in finish().text] == ["e00007", "e00007"]


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
    assert (
        error.value.hint
        == "one of: lesson, rule, doc, script; if it is text to be found, put it into quotes"
    )


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


@pytest.mark.parametrize("name", ["10.0.0.1", "1.0.21", "v7.23", "2.3.4.5.6"])
def test_an_address_or_version_is_one_word_of_a_text_and_of_a_question(name: str) -> None:
    parts = tokens.hidden_parts(f"It is {name}, or not.")
    assert parts == tokens.hidden_parts(name) != []
    assert question_names.names(f"where is {name}") == (name,)
    assert question_names.names("how do I get from home to 10.0.0.1, with 1.2.3") == ("10.0.0.1",)
    assert tokens.is_number(name)
    assert tokens.hidden_parts(name.replace(".", ".1.", 1)) != parts
    assert question_names.names("pi is 3.14, see a.1.2.3.b and 12:30") == ("a.1.2.3.b",)

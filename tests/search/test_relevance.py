import pytest

from ai_lessons.search.model_files import PINNED
from ai_lessons.search.ranking import BAR, MOST, Candidates, Match, about, chance, holders, names

QUESTION = "how do I stop a container that hangs"


def candidates(
    *scores: float, text: str = "", model: str = PINNED.name, by_words: tuple[Match, ...] = ()
) -> Candidates:
    vectors = tuple(Match(f"e{n}", 0, score, "", text) for n, score in enumerate(scores))
    return Candidates(by_words, vectors, model=model)


def judged(found: Candidates, *, complete: bool = True, question: str = QUESTION) -> float:
    """The chance less the bar for it."""
    likely = chance(question, [found], 100, lambda hit: hit.text, complete=complete)[0].best
    assert 0 <= likely <= 1
    return likely - BAR


def test_the_chance_grows_with_the_similarity_and_with_the_words_that_are_held() -> None:
    by_vectors = [judged(candidates(score)) for score in (0.4, 0.6, 0.8)]
    texts = ("nothing of it", "a container", "stop a container that hangs")
    by_words = [judged(candidates(0.6, text=text)) for text in texts]
    assert by_vectors == sorted(by_vectors)
    assert by_words == sorted(by_words)
    assert by_vectors[0] < 0 < by_vectors[-1]


def test_a_passage_that_holds_all_words_is_near_whatever_the_model_says() -> None:
    hit = Match("a", 0, 7.0, "", "of the kangaroo")
    assert judged(candidates(0.4, by_words=(hit,)), question="kangaroo") > 0
    assert judged(candidates(0.4, by_words=(hit,)), question="kangaroos that hang") < 0


def test_a_sentence_that_the_model_does_not_read_leads_to_its_page() -> None:
    hits = (Match("a", 0, 9.0, text="A lock waits for the other writer, and so on."), Match("b", 0, 8.0, text="wait"))
    question = "a lock waits for  the other writer"
    assert holders(question, hits, lambda hit: hit.text, 0.5)[1] == {("a", 0)}
    assert holders(question, hits, lambda hit: hit.text)[1] == set()
    assert holders("waits", hits, lambda hit: hit.text, 0.5)[1] == set()


def test_while_vectors_are_missing_words_alone_may_tell() -> None:
    hit = Match("a", 0, 7.0, "", "stop a container that hangs")
    assert judged(Candidates((hit,))) > 0
    assert judged(Candidates((Match("a", 0, 7.0, "", "something else"),))) < 0
    assert judged(candidates(0.3, by_words=(hit,)), complete=False) > 0


def test_of_a_model_that_was_not_measured_nothing_is_too_far() -> None:
    assert judged(candidates(0.1, model="another")) >= 0


def test_a_question_without_words_that_are_looked_for_is_near_what_holds_it() -> None:
    assert judged(candidates(0.7), question="how is it") > 0


def test_the_nearest_of_many_says_less_than_that_of_few() -> None:
    found = candidates(0.62)
    chances = [chance(QUESTION, [found], 10**n, lambda hit: hit.text, complete=True)[0].best for n in range(7)]
    assert chances == sorted(chances, reverse=True)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does ENOENT mean", ("ENOENT",)),
        ("git push --force-with-lease refuses", ("--force-with-lease",)),
        ("ERR_ASSERTION and SPARK-31967", ("ERR_ASSERTION", "SPARK-31967")),
        ("setUserName in app.config.ts", ("setUserName", "app.config.ts")),
        ("error E0308 from str_replace", ("E0308", "str_replace")),
        ("set up well-known hosts with ls -l, e.g. for 2.16.1", ()),
        ("unzip my_file.txt and file1.gz", ()),
        ("WHY IS EVERYTHING LOUD", ()),
    ],
)
def test_names_are_codes_flags_functions_and_files(question: str, expected: tuple[str, ...]) -> None:
    assert sorted(set(names(question))) == sorted(expected)


def test_the_passages_that_hold_most_of_the_names_are_meant_unless_many_hold_them() -> None:
    hits = [Match(f"e{n}", 0, 1.0, "", "uses EJSON_5") for n in range(MOST + 1)]
    hits += [
        Match("a", 2, 1.0, "", "`enoent`, then"),
        Match("b", 0, 1.0, "", "ENOENT and EPERM"),
        Match("c", 0, 1.0, "", "XENOENT"),
    ]
    both = frozenset({("a", 2), ("b", 0)})
    assert holders("ENOENT, EPERM and EJSON_5", hits, lambda hit: hit.text)[1] == {("b", 0)}
    assert holders("ENOENT", hits, lambda hit: hit.text) == (both, both)
    assert holders("a grid with two columns in CSS", [Match("a", 0, 1.0, "", "CSS")], lambda hit: hit.text)[0] == set()
    any_of_them, meant = holders("EJSON_5", hits, lambda hit: hit.text)
    assert (len(any_of_them), meant) == (MOST + 1, frozenset())


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does ENOENT mean", ["ENOENT"]),
        ("why do I get ENOENT when reading many files", ["ENOENT"]),
        ("why do I get EOF when reading many files", []),
        ("what does EOF mean", ["EOF"]),
        ("dry up SCSS with mixins of theme.config.js", ["theme.config.js"]),
        ("print the average round trip time of five pings to the gateway of ACME", []),
    ],
)
def test_a_question_is_about_its_names_or_mentions_them(question: str, expected: list[str]) -> None:
    assert list(about(question, names(question))) == expected

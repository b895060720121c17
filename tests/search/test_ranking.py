from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model.entries import EntrySummary, Kind
from ai_lessons.model.languages import stem
from ai_lessons.search import answer_chance, question_names, ranking, snippets, tokens
from ai_lessons.search.answer_chance import chance
from ai_lessons.search.model_files import PINNED
from ai_lessons.search.question_names import holders
from ai_lessons.search.ranking import RankingFacts, blend, fuse
from ai_lessons.search.rows import Candidates, Match
from ai_lessons.search.snippets import snippet


def hit(entry_id: str, score: float, text: str = "") -> Match:
    return Match(entry_id, 0, score, "", text)


def test_an_entry_shows_its_best_passage_and_counts_once() -> None:
    text = (
        Match("a", 0, 2.0, "Intro", "first"),
        Match("a", 3, 8.0, "Setup", "second"),
        Match("b", 0, 5.0),
    )
    best = fuse(text, ())[0]
    assert best == Match("a", 3, 1.0, "Setup", "second")
    assert len(fuse(text, ())) == 2


def test_equal_scores_stand_by_id() -> None:
    assert [match.entry_id for match in fuse([hit(name, 1.0) for name in "zam"], ())] == [
        "a",
        "m",
        "z",
    ]


def test_of_equal_scores_the_one_that_holds_the_words_is_first() -> None:
    fused = fuse([hit("word", 1.0)], [hit("near", 1.0)])
    assert fused[0].score == fused[1].score
    facts = {match.entry_id: RankingFacts(match.entry_id, versioned=False) for match in fused}
    assert [row.match.entry_id for row in ranking.rank(fused, facts)] == ["word", "near"]


def test_vectors_count_less_the_more_of_what_was_found_is_parts_of_long_texts() -> None:
    def weight(*ordinals: int) -> float:
        hits = [Match(f"e{place}", ordinal, 1.0) for place, ordinal in enumerate(ordinals)]
        return ranking.weight_of_vectors(hits, hits)

    assert weight() == weight(0, 0, 0) == weight(0, 0, 0, 1) == 0.5
    assert weight(1, 2, 3) == weight(0, 1, 2, 3) == pytest.approx(0.35)
    assert 0.35 < weight(0, 1) < 0.5
    # a part that words put first stays in front of one that is nearer by its meaning
    text = [Match("words", 1, 9.0), Match("near", 1, 5.0), Match("other", 2, 0.1)]
    vectors = [Match("near", 1, 0.9), Match("words", 1, 0.75), Match("other", 2, 0.6)]
    long = ranking.weight_of_vectors(text, vectors)
    assert fuse(text, vectors)[0].entry_id == "near"
    assert fuse(text, vectors, weight=long)[0].entry_id == "words"


raw_hits = st.lists(
    st.builds(
        Match, st.sampled_from("abcdef"), st.integers(0, 3), st.floats(-1, 50, allow_nan=False)
    ),
    max_size=20,
    unique_by=lambda hit: (hit.entry_id, hit.ordinal),
)


def test_a_page_whose_title_says_it_stands_before_one_that_mentions_it() -> None:
    text = [
        Match("mentions", 0, 1.0, "1.0.3 > News"),
        Match("guide", 0, 0.96, "Crontab"),
        Match("far", 0, 0.1),
    ]
    assert fuse(text, ())[0].entry_id == "mentions"
    titles = {"mentions": "Changes in 1.0", "guide": "Periodic tasks", "far": "Else"}
    shares = question_names.headed(
        "run a task every Monday", text, lambda hit: f"{titles[hit.entry_id]} {hit.heading}"
    )
    assert {key[0]: round(share, 2) for key, share in shares.items()} == {
        "mentions": 0.0,
        "guide": 0.25,
        "far": 0.0,
    }
    assert fuse(text, (), headed=shares)[0].entry_id == "guide"


@pytest.mark.parametrize(
    ("path", "title", "question", "counts_less"),
    [
        (
            "p/docs/unversioned/history/changelog-1.0.rst.md",
            "Change history",
            "run a task every Monday",
            True,
        ),
        ("p/docs/unversioned/news.md", "What's New in 5.0", "run a task every Monday", True),
        ("p/docs/unversioned/changelog.md", "Changelog", "what changed in 5.0", False),
        ("p/docs/unversioned/exchange-logs.md", "Exchange logs", "run a task every Monday", False),
    ],
)
def test_a_list_of_changes_counts_less_unless_it_is_asked_for(
    path: str, title: str, question: str, counts_less: bool
) -> None:
    summary = EntrySummary("i", "D-1", Kind.DOC, title, "p", (), (), path)
    assert ranking.of_a_log(question, summary) == (ranking.LOG if counts_less else 1.0)


@given(raw_hits, raw_hits)
def test_scores_lie_between_nothing_and_one_and_fall(
    text: list[Match], vectors: list[Match]
) -> None:
    found = fuse(text, vectors)
    assert {match.entry_id for match in found} == {hit.entry_id for hit in (*text, *vectors)}
    assert all(-1e-9 <= match.score <= 1 + 1e-9 for match in found)
    assert all(one.score >= other.score for one, other in pairwise(found))


def test_other_versions_and_unknown_entries_are_left_out() -> None:
    facts = {
        "a": RankingFacts("a", versions=frozenset({"v1"}), asked={"v2"}),
        "b": RankingFacts("b", asked={"v2"}),
        "c": RankingFacts("c", versioned=False, asked={"v2"}),
    }
    ranked = ranking.rank([hit("a", 1.0), hit("b", 0.9), hit("c", 0.8), hit("gone", 0.7)], facts)
    assert {one.match.entry_id: round(one.score, 3) for one in ranked} == {"c": 0.8, "b": 0.63}
    facts = {"a": RankingFacts("a", versions=frozenset({"v1"})), "b": RankingFacts("b")}
    assert [one.score for one in ranking.rank([hit("a", 1.0), hit("b", 1.0)], facts)] == [
        1.0,
        1.0,
    ], "none is asked for"


LONG = (
    "Setting things up takes a while. "
    + "".join(f"So does part {n} of all that there is to do. " for n in range(9))
    + "The workflow endpoint replaces all transitions at once. "
    + "".join(f"More of it, {n}. " for n in range(60))
)


def test_a_snippet_stands_around_the_words_of_the_question() -> None:
    shown = snippet(LONG, "how do transitions of a workflow get replaced")
    assert "workflow endpoint replaces all transitions" in shown
    assert shown.startswith("The workflow endpoint")
    assert len(shown) <= 152


@given(st.text(alphabet="abc ing.-É", max_size=300), st.text(alphabet="abc ing", max_size=20))
def test_the_words_of_a_question_are_found_as_if_every_word_were_compared(
    text: str, query: str
) -> None:
    stems = {
        stem(word)
        for word in tokens.QUERY_WORD.findall(query.lower())
        if len(word) >= snippets.SENTENCES.short_word
    }
    words = [
        (m.start(), stem(m.group())) for m in tokens.QUERY_WORD.finditer(tokens.fold(text).lower())
    ]
    matches = list(tokens.stem_positions(text, stems))
    assert {(at, word) for at, word in words if word in stems} <= set(matches)
    assert all(
        word.startswith(other) or other.startswith(word)
        for at, other in matches
        for n, word in words
        if n == at
    )


PAGE = """\
# Worktrees

> **All** worktrees of a [repository](https://example.org/a_(b)) share `one` stash;
> see _also_ `git help worktree`. That is old.

## Removing one

- Remove a worktree whose folder is gone:

```sh
# tidy up
git worktree prune --dry-run
```

| option | what |
| --- | --- |
| `-n` | only print |
"""


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        (
            "zebra",
            "All worktrees of a repository share one stash; see also git help worktree. That is old.",
        ),
        (
            "how old is that",
            "That is old. Remove a worktree whose folder is gone: tidy up · git worktree prune",
        ),
        (
            "is a folder that is gone removed",
            "Remove a worktree whose folder is gone: tidy up · git worktree prune",
        ),
        ("prune", "git worktree prune --dry-run"),
        ("only print", "-n, only print"),
    ],
)
def test_a_snippet_begins_with_the_sentence_that_answers_and_has_no_marks(
    question: str, shown: str
) -> None:
    assert snippet(PAGE, question, 90, title="Worktrees").startswith(shown)


@pytest.mark.parametrize(
    ("text", "title", "shown"),
    [
        ("PUT replaces all. GET first.", "PUT replaces all", "GET first."),
        ("Stash: keeps changes", "stash", "keeps changes"),
        ("Stash keeps changes", "stash", "Stash keeps changes"),
        ("Only this", "Only this", ""),
        ("# Only this\n\n## Part", "Only this", "Part"),
        ("Title\n=====\n\ntext\nof two lines", "Title", "text of two lines"),
        ("e.g. Python and v1.2 of it. Then", "", "e.g. Python and v1.2 of it. Then"),
        (
            "see **/*.py and *.js, snake_case_name, 2*3*4",
            "",
            "see **/*.py and *.js, snake_case_name, 2*3*4",
        ),
        ("文は一つ。二つ目の文。", "", "文は一つ。 二つ目の文。"),
    ],
)
def test_a_short_text_is_its_own_snippet_without_the_title(
    text: str, title: str, shown: str
) -> None:
    assert snippet(text, "words", title=title) == shown


def test_a_snippet_of_a_script_shows_its_description_and_its_code_without_comment_signs() -> None:
    script = "#!/bin/sh\n##  Deletes merged branches,\n##  but not main.  ##\n\n#echo x\nfor b in $list; do\n"
    assert (
        snippet(script, "x", code=True)
        == "Deletes merged branches, but not main. echo x · for b in $list; do"
    )
    described = "Tidies **up**.\n\n```sh\ntidy --all\n```\n" + script
    assert snippet(described, "tidies", code=True).startswith(
        "Tidies up. tidy --all · Deletes merged"
    )
    module = (
        '#!/usr/bin/env python3\n"""Counts **kinds**."""\ndef __init__(self, **kind): a[0](kind)\n'
    )
    assert (
        snippet(module, "x", code=True)
        == "Counts **kinds**. def __init__(self, **kind): a[0](kind)"
    )


@given(
    st.text(alphabet="ab .:*_`[]()#|<>-\n\\é", max_size=400), st.text(alphabet="ab c", max_size=10)
)
def test_a_snippet_of_any_text_is_one_line_of_bounded_length(text: str, query: str) -> None:
    shown = snippet(text, query, title="a", code=len(text) % 2 == 0)
    assert "\n" not in shown
    assert len(shown) <= 152
    assert not shown.startswith("…")


def test_a_passage_found_by_meaning_alone_shows_its_beginning() -> None:
    assert snippet(LONG, "zebra").startswith("Setting things up")


def test_one_list_stays_as_it_is() -> None:
    hits = [hit("a", 3.0), hit("b", 1.0)]
    assert blend([(hits, 9), ([], 100)], 10) == tuple(hits)
    assert blend([(hits, 9)], 1) == tuple(hits[:1])
    assert blend([], 10) == ()


def test_the_only_hit_of_a_small_index_comes_nearer_to_its_like_in_a_large_one() -> None:
    # BM25 as LanceDB gave it for the same text: alone, and among 71 passages
    found = blend([([hit("small", 0.5753642)], 1), ([hit("large", 12.36793)], 71)], 10)
    scores = {one.entry_id: one.score for one in found}
    before = 0.5753642 / 12.36793
    assert 3 * before < scores["small"] / scores["large"] < 1


def test_scores_of_indexes_of_one_size_are_compared_and_of_equal_ones_that_of_the_nearer_index_is_first() -> (
    None
):
    found = blend([([hit("a", 2.0), hit("b", 1.0)], 50), ([hit("c", 1.5)], 50)], 10)
    assert [one.entry_id for one in found] == ["a", "c", "b"]
    lists = [([hit(name, 1.0)], 5) for name in "cab"]
    assert [one.entry_id for one in blend(lists, 9)] == ["c", "a", "b"]


LISTS = st.lists(
    st.tuples(st.lists(st.floats(0.01, 50), max_size=5), st.integers(0, 10_000_000)), max_size=3
)


@given(lists=LISTS, depth=st.integers(1, 12))
def test_the_order_of_each_list_stays_and_nothing_is_lost_or_made_up(
    lists: list[tuple[list[float], int]], depth: int
) -> None:
    several = [
        ([hit(f"{n}-{m}", score) for m, score in enumerate(sorted(scores, reverse=True))], passages)
        for n, (scores, passages) in enumerate(lists)
    ]
    found = blend(several, depth)
    assert len(found) == min(depth, sum(len(hits) for hits, _ in several))
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for n, (hits, _) in enumerate(several):
        own = [each.entry_id for each in found if each.entry_id.startswith(f"{n}-")]
        assert own == [each.entry_id for each in hits][: len(own)]


QUESTION = "how do I stop a container that hangs"


def candidates(
    *scores: float, text: str = "", model: str = PINNED.name, by_words: tuple[Match, ...] = ()
) -> Candidates:
    vectors = tuple(hit(f"e{n}", score, text) for n, score in enumerate(scores))
    return Candidates(by_words, vectors, model=model)


def judged(found: Candidates, *, complete: bool = True, question: str = QUESTION) -> float:
    """The chance less the bar for it."""
    likely = chance(question, [found], 100, lambda hit: hit.text, complete=complete)[0].best
    assert 0 <= likely <= 1
    return likely - answer_chance.BAR


def test_the_chance_grows_with_the_similarity_and_with_the_words_that_are_held() -> None:
    by_vectors = [judged(candidates(score)) for score in (0.4, 0.6, 0.8)]
    texts = ("nothing of it", "a container", "stop a container that hangs")
    by_words = [judged(candidates(0.6, text=text)) for text in texts]
    assert by_vectors == sorted(by_vectors)
    assert by_words == sorted(by_words)
    assert by_vectors[0] < 0 < by_vectors[-1]


def test_a_passage_that_holds_all_words_is_near_whatever_the_model_says() -> None:
    found = candidates(0.4, by_words=(hit("a", 7.0, "of the kangaroo"),))
    assert judged(found, question="kangaroo") > 0
    assert judged(found, question="kangaroos that hang") < 0


def test_a_sentence_that_the_model_does_not_read_leads_to_its_page() -> None:
    hits = (hit("a", 9.0, "A lock waits for the other writer, and so on."), hit("b", 8.0, "wait"))
    question = "a lock waits for  the other writer"
    assert holders(question, hits, lambda hit: hit.text, 0.5)[1] == {("a", 0)}
    assert holders(question, hits, lambda hit: hit.text)[1] == set()
    assert holders("waits", hits, lambda hit: hit.text, 0.5)[1] == set()


def test_while_vectors_are_missing_words_alone_may_tell() -> None:
    by_words = (hit("a", 7.0, "stop a container that hangs"),)
    assert judged(Candidates(by_words)) > 0
    assert judged(Candidates((hit("a", 7.0, "something else"),))) < 0
    assert judged(candidates(0.3, by_words=by_words), complete=False) > 0


def test_of_a_model_that_was_not_measured_nothing_is_too_far() -> None:
    assert judged(candidates(0.1, model="another")) >= 0


def test_a_question_without_words_that_are_looked_for_is_near_what_holds_it() -> None:
    assert judged(candidates(0.7), question="how is it") > 0


def test_the_nearest_of_many_says_less_than_that_of_few() -> None:
    found = candidates(0.62)
    chances = [
        chance(QUESTION, [found], 10**n, lambda hit: hit.text, complete=True)[0].best
        for n in range(7)
    ]
    assert chances == sorted(chances, reverse=True)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does ENOENT mean", ("ENOENT",)), ("git push --force-with-lease refuses", ("--force-with-lease",)),
        ("ERR_ASSERTION and SPARK-31967", ("ERR_ASSERTION", "SPARK-31967")),
        ("setUserName in app.config.ts", ("setUserName", "app.config.ts")),
        ("error E0308 from str_replace", ("E0308", "str_replace")),
        ("set up well-known hosts with ls -l, e.g. for 2.16.1", ()), ("unzip my_file.txt and file1.gz", ()),
        ("WHY IS EVERYTHING LOUD", ()),
    ],
)  # fmt: skip
def test_names_are_codes_flags_functions_and_files(
    question: str, expected: tuple[str, ...]
) -> None:
    assert sorted(set(question_names.names(question))) == sorted(expected)


def test_the_passages_that_hold_most_of_the_names_are_meant_unless_many_hold_them() -> None:
    hits = [hit(f"e{n}", 1.0, "uses EJSON_5") for n in range(answer_chance.MOST + 1)]
    hits += [
        hit("a", 1.0, "`enoent`, then"),
        hit("b", 1.0, "ENOENT and EPERM"),
        hit("c", 1.0, "XENOENT"),
    ]
    both = frozenset({("a", 0), ("b", 0)})
    assert holders("ENOENT, EPERM and EJSON_5", hits, lambda hit: hit.text)[1] == {("b", 0)}
    assert holders("ENOENT", hits, lambda hit: hit.text) == (both, both)
    assert (
        holders("a grid with two columns in CSS", [hit("a", 1.0, "CSS")], lambda hit: hit.text)[0]
        == set()
    )
    any_of_them, meant = holders("EJSON_5", hits, lambda hit: hit.text)
    assert (len(any_of_them), meant) == (answer_chance.MOST + 1, frozenset())


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does ENOENT mean", ["ENOENT"]), ("why do I get ENOENT when reading many files", ["ENOENT"]),
        ("why do I get EOF when reading many files", []), ("what does EOF mean", ["EOF"]),
        ("dry up SCSS with mixins of theme.config.js", ["theme.config.js"]),
        ("print the average round trip time of five pings to the gateway of ACME", []),
    ],
)  # fmt: skip
def test_a_question_is_about_its_names_or_mentions_them(question: str, expected: list[str]) -> None:
    assert list(question_names.about(question, question_names.names(question))) == expected

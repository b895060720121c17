"""What is an answer, what may be one, and what tells a word from an everyday one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model.languages import language_of
from ai_lessons.search import relevance
from ai_lessons.search.relevance import Telling


@pytest.mark.parametrize(
    ("scores", "chances", "listed", "bar"),
    [
        ([0.9, 0.5, 0.2], [0.9, 0.8, 0.8], [True, True, False], 0.36),
        ([0.9, 0.5], [0.9, 0.1], [True, False], 0.36),
        ([0.9, 0.5], [0.9, None], [True, True], 0.36),
        ([0.1], [0.01], [True], 0.04),
        ([], [], [], 0.0),
    ],
)
def test_what_is_far_below_the_best_is_no_answer_and_the_best_always_is(
    scores: list[float], chances: list[float | None], listed: list[bool], bar: float
) -> None:
    answers, least = relevance.answers(scores, chances)
    assert answers == listed
    assert least == pytest.approx(bar)


def test_beside_a_rule_that_answers_even_the_best_of_others_must_be_likely() -> None:
    assert relevance.answers([0.3], [0.1], 0.6)[0] == [False]
    assert relevance.answers([0.3], [0.3], 0.6)[0] == [True]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1) | st.none())))
def test_whatever_the_scores_the_first_is_kept_and_none_above_it_is_lost(
    pairs: list[tuple[float, float | None]],
) -> None:
    pairs.sort(key=lambda pair: -pair[0])
    listed, bar = relevance.answers([score for score, _ in pairs], [chance for _, chance in pairs])
    assert len(listed) == len(pairs)
    assert listed[:1] == [True] * bool(pairs)
    assert all(
        score >= bar
        for (score, _), is_listed in zip(pairs[1:], listed[1:], strict=True)
        if is_listed
    )


def test_everyday_words_numbers_and_asking_tell_nothing() -> None:
    words = {
        telling.word
        for telling in relevance.telling_words(
            "What was the necklace meant to remind him of in 2023?"
        ).values()
    }
    assert words == {"necklace"}
    assert relevance.telling_words("how do we write a message every day") == {}
    assert {x.word for x in relevance.telling_words("error 10061 of WireGuard").values()} >= {
        "10061",
        "wireguard",
    }


def test_a_form_of_a_word_counts_and_two_letters_of_a_script_without_blanks_are_half_a_reason() -> (
    None
):
    words = relevance.telling_words("two necklaces")
    assert [telling.word for telling in relevance.held(words, ["A necklace of pearls."])] == [
        "necklaces"
    ]
    assert relevance.held(words, ["Nothing of it."]) == []
    assert set(relevance.telling_words("部署").values()) == {Telling("部署", 0.5, expected=False)}


def test_of_another_language_the_forms_count_and_no_word_is_expected() -> None:
    question = "Wie heilen die Wunden nach einer Verbrennung?"
    words = relevance.telling_words(question)
    held = relevance.held(words, ["Eine Wunde."], language_of(question))
    assert {telling.word for telling in held} == {"wunden"}
    assert not any(telling.expected for telling in words.values())


def test_a_word_that_stands_nowhere_says_more_where_there_is_more() -> None:
    assert relevance.doubt(5_000, unheard=False) == relevance.BARS.doubt
    doubts = [relevance.doubt(passages, unheard=True) for passages in (0, 20, 800, 5_000)]
    assert doubts == sorted(doubts)
    assert doubts[0] == relevance.BARS.doubt


def test_a_word_is_rare_that_one_of_a_hundred_entries_holds() -> None:
    assert [relevance.is_rare(holding, 40) for holding in (0, 1, 2)] == [False, True, False]
    assert [relevance.is_rare(holding, 400) for holding in (4, 5)] == [True, False]


def test_entries_are_named_for_one_rare_word_or_two_halves() -> None:
    half, whole = Telling("部署", 0.5), Telling("necklace", 1.0)
    assert relevance.holders([(whole, ["a", "a"]), (half, ["b"])]) == {"a": 1}
    assert relevance.holders([(half, ["b"]), (half, ["b", "c"])]) == {"b": 1}

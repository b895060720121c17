"""What a person is shown of what people said: corrections of what an agent did, and nothing that a program wrote."""

import pytest

from ai_lessons.features.harvest.corrections import corrects, is_handed_on, is_repeated, may_hold

CORRECTIONS = (
    "No, we never edit a migration that is merged, because it ran in production: add a new one",
    "that is not correct, we don't ignore the whole folder, the settings should be committed",
    "we should use the typed id here instead of a string, so that it cannot be mixed up",
    "hmm, let's keep the totals in cents instead, our reports must not round twice",
    "Nein, wir benutzen hier immer pnpm statt npm, weil sonst die Sperrdatei nicht stimmt",
    "Non, nous devons toujours utiliser pnpm au lieu de npm, parce que sinon le verrou ne correspond pas",
    "No, debemos usar siempre pnpm en lugar de npm, porque si no el archivo no coincide",
    "不要用 npm。我们应该总是使用 pnpm。因为否则锁文件不对",
)


@pytest.mark.parametrize("text", CORRECTIONS)
def test_what_turns_down_what_the_agent_did_and_says_what_holds_is_sure(text: str) -> None:
    assert corrects(text, 1, acted=True)
    assert not corrects(text, 1, acted=False), "there was nothing yet that it could correct"
    assert may_hold(text)


@pytest.mark.parametrize(
    "text",
    [
        "commit this, then push and open a draft PR",
        "can you add some tests too?",
        "looks good, let's do 2 first",
        "do we need to write a plan, or are we good to go?",
        "why is the build failing? I don't see anything in the logs",
        "I got this feedback: we should use `rune` instead, because slicing by byte breaks all names",
        "High Severity: all callers must pass a context instead, otherwise the call never ends",
        "The function reads each file twice: it must not, as all of it fits into memory, "
        + "of any size and kind, " * 4,
        "You are a reviewer. "
        + "We should never merge what has no tests, because it breaks. " * 12,
    ],
)
def test_a_request_a_question_and_what_another_wrote_is_not(text: str) -> None:
    assert not corrects(text, 3, acted=True)


def test_a_long_text_that_names_neither_its_writer_nor_its_reader_is_handed_on() -> None:
    note = "The wrapper sources the file while nounset is active, so each undefined name ends the script at once; "
    assert is_handed_on(note + "the values that are needed can be read from it line by line")
    assert not is_handed_on(note + "please read the values that we need from it line by line")


@pytest.mark.parametrize(
    ("text", "other", "repeated"),
    [
        ("Fix orders.py and never change tests, we run all", "Fix cart.py and never change tests, we run all", True),
        ("Review it. We never approve, only comment", "Review it. We never approve, only comment", True),
        ("No, never commit to main", "No, never commit to main!", False),
        ("We should use tox here, make hides failures", "use tox instead, we never see what make failed", False),
    ],
)  # fmt: skip
def test_a_prompt_that_repeats_with_other_names_is_a_programs_unless_it_answers(
    text: str, other: str, repeated: bool
) -> None:
    assert is_repeated(text, other) is repeated

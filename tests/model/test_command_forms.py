"""Commands that a text names, those that a line calls, and which of them is to blame."""

from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model import command_forms
from ai_lessons.model.command_forms import blamed, called, fits, named_forms

WORD = st.text("abcdefghijklmnopqrstuvwxyz-./", min_size=1, max_size=12)


ARGUMENTS = st.lists(WORD, min_size=1, max_size=4)


def test_a_failure_is_the_fault_of_the_command_that_its_output_names() -> None:
    line = [("cd", "app"), ("python", "x.py")]
    assert blamed(line, "(eval):cd:1: no such file or directory: app") == 0
    assert blamed(line, "bash: line 1: cd: app: No such file or directory") == 0
    assert blamed(line, "python: can't open file 'x.py'") == 1
    assert blamed(line, "Traceback (most recent call last):\nKeyError: 'cd'") == 1


@given(st.text(max_size=200), ARGUMENTS, st.text(max_size=200))
def test_a_command_in_backticks_is_named_whatever_stands_around_it(
    before: str, words: list[str], after: str
) -> None:
    quoted = f"`make {' '.join(words)}`"
    (alone,) = named_forms(quoted)
    assert alone.words[0] == "make"
    assert fits([alone], called(f"make {' '.join(words)}", ""))
    around = f"{before.replace('`', '')} {quoted} {after.replace('`', '')}"
    assert alone.words in {form.words for form in named_forms(around)}


def test_what_a_lesson_warns_of_is_seen_through_shells_and_runners() -> None:
    forms = command_forms.named_forms("running `git push --force`")
    for line in (
        "bash -lc 'git push --force'", '"git" push --force', "timeout -k 1 5 git push --force", "git push --force",
        "sudo sh -c 'env A=1 git push --force'", "find . -exec git push --force ';'", "eval git push --force",
    ):  # fmt: skip
        assert command_forms.fits(forms, command_forms.runs(line, "/home/ann/shop")), line
    assert not command_forms.fits(
        forms, command_forms.runs("echo 'git push --force'", "/home/ann/shop")
    )

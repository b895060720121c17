"""What is telling in an output, and when two failures are alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model import failures, simple_commands
from ai_lessons.model.entries import Entry, Kind
from ai_lessons.model.failures import BAR, alike, quoted_in, rarity, shape, shown_in, telling
from ai_lessons.model.simple_commands import attempts, programs

ONE = "fatal: The current branch cart has no upstream branch."
WHOLE = f"{ONE}\nTo push the current branch and set the remote as upstream, use\n\n    git push -u origin cart\n"


def likely(one: str, other: str) -> float:
    kept = shape(one)
    return failures.chance(alike(kept, shape(other), rarity([kept])))


def test_names_paths_and_numbers_do_not_count() -> None:
    assert shape("cp: cannot stat '/tmp/a 1': No such file") == shape(
        'cp: cannot stat "b.txt": No such file'
    )
    assert shape("error at /srv/app/main.py:31: x7 failed") == (
        frozenset({"error", "at", "failed"}),
    )


def test_of_a_long_output_the_first_the_last_and_the_errors_tell() -> None:
    output = "noise\n" * 50 + "ValueError: bad\n" + "more\n" * 50 + "end\n"
    said = telling(f"Exit code 2\n\x1b[31mstart\x1b[0m\n{output}")
    assert said.splitlines() == ["start", "ValueError: bad", "more", "end"]


@pytest.mark.parametrize("kept", [ONE, WHOLE])
def test_the_same_failure_about_something_else_is_alike_also_if_a_line_of_it_was_kept(
    kept: str,
) -> None:
    assert likely(kept, WHOLE.replace("cart", "till")) >= BAR


@pytest.mark.parametrize(
    "other", ["", "fatal: not a git repository", "error: src refspec main does not match any"]
)
def test_another_failure_of_the_same_program_is_not(other: str) -> None:
    assert likely(WHOLE, other) < BAR


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        ("Traceback (most recent call last):\n  x\nKeyError: 'a'", True), ("bash: foo: command not found", True),
        ("3 passed in 0.1s", False), ("", False), ("docs/errors.md\ndocs/fatal.md", False),
    ],
)  # fmt: skip
def test_what_reads_like_an_error(said: str, failed: bool) -> None:
    assert failures.looks_failed(said) is failed


@given(st.text(), st.text())
def test_any_two_outputs_can_be_compared_either_way_round(one: str, other: str) -> None:
    weights = rarity([shape(one), shape(other)])
    much = alike(shape(one), shape(other), weights)
    assert 0 <= much <= 1.000001
    assert much == pytest.approx(alike(shape(other), shape(one), weights))
    assert not shape(one) or alike(shape(one), shape(one), weights) == pytest.approx(1)


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("git push", ("git",)), ("/usr/bin/git -C repo log", ("git",)),
        ("cd app && GIT_PAGER=cat git log | head -3", ("cd", "git", "head")),
        ("sudo -u postgres psql -c 'drop table x; rm y'", ("psql",)),
        ("timeout 5 ./build.sh > out 2>&1 &", ("build.sh",)), ("for f in *; do grep x $f; done", ("grep",)),
        ("cat > a.py <<'EOF'\nimport os; rm(x)\nEOF\npython3 a.py", ("cat", "python3")),
        ('git commit -m "fix | this; and that"', ("git",)), ("echo $(terraform output -raw id)", ("echo", "terraform")),
        ("a \\\n  --long", ("a",)), ("((((", ()), ("", ()),
    ],
)  # fmt: skip
def test_the_programs_of_a_line(command: str, found: tuple[str, ...]) -> None:
    assert programs(command) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("npm test -- --watch", ("npm test",)), ("make -j4 all > log", ("make all",)),
        ("python3 try_1.py", ("python3",)), ("grep -rn foo . | head", ()), ("ls missing; test -f x", ()),
        ("git status", ()), ("git push origin main", ("git push",)),
        ("cd app; pytest -q tests/a.py; pytest -q tests/a.py", ("pytest tests/a.py",)),
    ],
)  # fmt: skip
def test_what_may_fail_in_earnest(command: str, found: tuple[str, ...]) -> None:
    assert attempts(command) == found


@pytest.mark.parametrize(
    ("command", "adds"),
    [
        ('ai-lessons contribute add-lesson --title "x"', True), ("ai-lessons --repo k contribute add --file f", True),
        ('cd x && lesson add "WHEN a -> DO b -> BECAUSE c"', True),
        ("ai-lessons contribute add-resource --type script --path p", False),
        ("ai-lessons recall search lesson", False), ("git add lesson", False),
    ],
)  # fmt: skip
def test_writing_a_lesson_is_recognised(command: str, adds: bool) -> None:
    assert simple_commands.adds_a_lesson(command) is adds


@given(st.text(alphabet="ab -;|&()<>'\"$\n\\`!EOF=.", max_size=60))
def test_no_line_is_too_strange(command: str) -> None:
    assert all(name and not set(name) & set(" ;|&()'\"\n") for name in programs(command))
    assert len(attempts(command)) <= len(command)


@pytest.mark.parametrize(
    "question",
    [
        "$ git push\n! [rejected] main -> main (fetch first)", "Exit code 128\nfatal: bad object", ONE,
        "Process exited with code 2", "git push\n" + ONE, "ModuleNotFoundError: No module named 'yaml'",
        "src/a.ts(3,5): error TS2307: Cannot find 'x'", "zsh: command not found: uv",
        "no image 'a' here\ndocker: Error response from daemon: denied",
    ],
)  # fmt: skip
def test_a_question_may_be_a_failure_and_nothing_else(question: str) -> None:
    assert shown_in(question) == (question, True)
    fenced = "Why does this fail?\n\n```\n$ make\nerror: no rule\n```"
    assert shown_in(fenced) == ("$ make\nerror: no rule", True)


@pytest.mark.parametrize(
    "question",
    [
        "", "how do I handle ENOENT in node", "what does fatal: not a git repository mean",
        "why is it TypeError: x is undefined",
        "How do I handle errors in node?\nThe API throws Error: ENOENT: no such file, and I want to retry.",
        "error handling in node", "error budget policy\nof the payment service",
        "document the errors:\n- EACCES\n- ENOENT", "exit code 137 docker", "$ git push", "TypeError in react",
    ],
)  # fmt: skip
def test_a_question_in_words_that_names_an_error_is_no_failure(question: str) -> None:
    assert shown_in(question) == ("", False)


def test_a_line_that_names_a_command_and_a_message_may_be_one() -> None:
    assert shown_in("pytest says ImportError: no yaml") == (
        "$ pytest says\nImportError: no yaml",
        False,
    )


@given(st.text(max_size=40), st.text(max_size=200))
def test_a_failure_that_a_text_keeps_is_read_again(command: str, output: str) -> None:
    said = telling(output)
    if not said:
        return
    block = failures.in_block(command, said)
    assert failures.keeps_one(f"Do this.\n\n{block}")
    entry = Entry("x", Kind.LESSON, "t", "p/lessons/x.md", "p", body=block)
    assert list(failures.recorded(entry)) == [shape(said)]


def test_a_message_that_a_lesson_quotes_is_met_with_the_names_that_the_program_prints() -> None:
    quoted = [
        ("L", shape("Reverse accessor clashes with reverse accessor for")),
        ("short", shape("clashes with")),
    ]
    line = "shop.Cart.owner: (fields.E304) Reverse accessor 'User.cart_set' for 'shop.Cart.owner' clashes with reverse"
    output = "\n".join(
        (
            "Error: 2 issues",
            *map(str, range(20)),
            f"{line} accessor for 'shop.Cart.buyer'.",
            "2 issues",
        )
    )
    assert quoted_in(output, quoted) == {"L"}
    assert quoted_in(output.replace("clashes", "agrees"), quoted) == set()

"""A check that fits what a rule says in words: the command, or the habit, that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.features.checks import forms
from ai_lessons.features.checks.command_checks import form_of
from ai_lessons.model import expression
from ai_lessons.model.shell import program_of
from ai_lessons.model.statements import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Text in backticks is a command only with one of these: `except Exception` is code.
_PROGRAMS = (
    "apt apt-get black brew bun bundle cargo composer curl deno docker dotnet eslint flake8 gh git",
    "go gradle gradlew helm isort jest just kubectl make mise mvn mypy node nox npm npx pip pip3 pipx",
    "pnpm poetry pre-commit prek prettier pylint pyright pytest python python3 rake rm ruff rustup",
    "sed sudo task terraform tox tsc uv uvx vitest wget yarn",
)
_CODE = expression(r"`([^`\n]{2,120})`")
_INSTEAD = expression(r"(?i)\b(?:not|never|instead of|rather than|over)\W+(?:\w+\W+){0,2}$")
_FORBIDS = expression(r"(?i)\b(?:never|don't|do not|must not|forbidden|avoid)\b[^`]{0,40}$")
_TESTS = expression(
    r"(?i)\btests?\b.{0,40}\b(?:come|comes|with|change|changes|same)\b"
    r"|\b(?:features?|fix(?:es)?|changes?|code)\b.{0,30}\b(?:needs?|requires?|must have|comes? with)\b.{0,20}\btests?\b"
)
_BEFORE_END = expression(
    r"(?i)\bbefore\b.{0,30}\b(?:hand|done|finish|end|commit|push|review|pull request|pr)\w*"
)


def fitting(title: str, text: str, files: Sequence[str] = ()) -> dict[str, Any] | None:
    """The check that the words of a rule name; None where they name none, or it does not prove itself.

    `files`: globs of what the rule is about.

    >>> fitting("Run `mise run test`, not `go test`", "")["command"]
    'go test'
    """
    for sentence in [title, *sentences(text)]:
        for check in _drafts(sentence.replace("\u2019", "'"), list(files)):
            if not any(forms.faults({"check": check})):
                return check
    return None


def _drafts(sentence: str, files: list[str]) -> Iterator[dict[str, Any]]:
    """What a sentence may mean, the surest first."""
    commands = [match for match in _CODE.finditer(sentence) if _is_command(match[1])]
    for match in commands:
        before = sentence[: match.start()]
        # `make test`, where a sentence says "not `go test`"
        in_its_place = [other[1] for other in commands if other[1] != match[1]]
        if _INSTEAD.search(before) and in_its_place:
            samples = {"bad": match[1], "good": in_its_place[0]}
            yield {"command": match[1], "instead": in_its_place[0], **samples, "enforce": "deny"}
        elif _FORBIDS.search(before):
            yield {"command": match[1], "bad": match[1], "good": "git status", "enforce": "ask"}
    changed = files or ["src/**"]
    bad = [_sample(changed[0])]
    if _BEFORE_END.search(sentence) and commands:
        yield {"changed": changed, "ran": commands[0][1], "bad": bad, "enforce": "ask"}
    elif _TESTS.search(sentence):
        tests = {"changed": changed, "unless_changed": ["**/*test*", "**/test*/**"], "bad": bad}
        yield tests | {"good": [*bad, "tests/test_a.py"], "enforce": "ask"}


def _is_command(text: str) -> bool:
    words = text.split()
    if not words or program_of(words[0]) not in " ".join(_PROGRAMS).split():
        return False
    return form_of(text) is not None


def _sample(glob: str) -> str:
    """A path that a glob names."""
    return glob.replace("**/", "").replace("**", "a").replace("*", "a")

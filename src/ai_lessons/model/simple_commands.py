"""The commands that a line of a shell runs, as far as one can tell by looking at its words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    Json = Mapping[str, Any]


_STRINGS = expression(
    (
        r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1[^\n]*(?:\n.*?(?:^[ "
        r"\t]*\2$|\Z)|\Z)|'[^']*'|\"(?:\\.|[^\"\\])*(?:\"|\Z)"
    ),
    re.DOTALL | re.MULTILINE,
)


_ENDS = expression(r"\|\|?&?|&&?|;+|\n|[(){}`]|\$\(|(?<=\s)!(?=\s)")
_ASSIGNMENT = expression(r"[A-Za-z_]\w*=")
_REDIRECTION = expression(r"(?:(?<!\d)\d+|&)?[<>]+[&|]?[ \t]*[^\s|&;()]*")
_ARGUMENT = expression(r"[\w./~+@:-]+\Z")
# Words after which another program comes.
_BEFORE = frozenset({
    "sudo", "env", "time", "nice", "nohup", "exec", "command", "builtin", "xargs", "timeout", "stdbuf", "setsid",
    "if", "then", "else", "elif", "do", "while", "until", "!",
})  # fmt: skip


_NOT_PROGRAMS = frozenset(
    {"fi", "done", "esac", "for", "case", "in", "function", "select", "[[", "]]"}
)


# Of those words and their options, the ones that a value follows.
_WITH_VALUE = frozenset({"timeout", "-u", "-g", "-n", "-k", "-s", "-I", "-P"})


# Commands that only look: their failure is an answer, not a failed attempt.
ANSWERS_BY_FAILING = frozenset({
    "grep", "egrep", "fgrep", "rg", "ag", "test", "[", "diff", "cmp", "which", "type", "command", "ls", "cat", "head",
    "tail", "find", "fd", "stat", "file", "pgrep", "cd", "pwd", "echo", "printf", "true", "false", "sleep", "wc",
    "sort", "kill", "pkill", "git status", "git diff", "git log", "git show", "git branch", "git grep", "git rev-parse",
    "git check-ignore", "git ls-files", "git config",
})  # fmt: skip


_INTERPRETERS = expression(r"(?:python|pypy)[\d.]*|node|bash|sh|zsh|dash|ruby|perl|deno|bun")
_OUR_PROGRAM = expression(r"\bai-lessons\b")
_CONTRIBUTES = expression(r"\bcontribute\s+add(?:-lesson)?(?![\w-])")
_LESSON_ADD = expression(r"(?:^|[\s;&|(])lesson\s+add\b")


def simple_commands(command: str) -> list[list[str]]:
    """The words of every simple command of the line, its program first.

    Quoted texts count as no word.
    """
    text = _STRINGS.sub(" '' ", command.replace("\\\n", " "))
    parts = _ENDS.split(_REDIRECTION.sub(" ", text))
    return [words for part in parts if (words := _from_program(part.split()))]


def _from_program(words: list[str]) -> list[str]:
    skip = 0
    for at, word in enumerate(words):
        if skip:
            skip -= 1
        elif word in _WITH_VALUE:
            skip = 1
        elif not (word in _BEFORE or word.startswith("-") or _ASSIGNMENT.match(word)):
            if _ARGUMENT.match(word) and word not in _NOT_PROGRAMS:
                return words[at:]
            return []
    return []


def programs(command: str) -> tuple[str, ...]:
    """The names of the programs that the line runs, without their folders, each once, in order.

    >>> programs("cd app && GIT_PAGER=cat git log | head -3")
    ('cd', 'git', 'head')
    """
    return tuple(dict.fromkeys(base_name(words[0]) for words in simple_commands(command)))


def attempts(command: str) -> tuple[str, ...]:
    """The commands of a line that can fail in earnest, in a form that is the same for a second try.

    >>> attempts("cd app; ls; npm test -- --watch; python3 try_2.py")
    ('npm test', 'python3')
    """
    keys = []
    for words in simple_commands(command):
        name = base_name(words[0])
        # and the value that stands behind it
        if name == "git" and words[1:2] in (["-C"], ["-c"]):
            skip = 3
        else:
            skip = 1
        first = next(
            (word for word in words[skip:] if not word.startswith("-") and _ARGUMENT.match(word)),
            "",
        )
        key = f"{name} {first}".strip()
        if name in ANSWERS_BY_FAILING or key in ANSWERS_BY_FAILING:
            continue
        keys.append(name if _INTERPRETERS.fullmatch(name) else key)
    return tuple(dict.fromkeys(keys))


def adds_a_lesson(command: str) -> bool:
    """Whether the line adds a lesson."""
    # two steps: one pattern would look at the rest again at each name of it
    program = _OUR_PROGRAM.search(command)
    return bool(
        (program and _CONTRIBUTES.search(command, program.end())) or _LESSON_ADD.search(command)
    )


def base_name(program: str) -> str:
    """The name of a program without its folders."""
    return program.rstrip("/").rpartition("/")[2] or program

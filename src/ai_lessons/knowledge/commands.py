"""What a command line of a shell runs, as far as one can tell by looking: its programs, and what a failure means."""

from __future__ import annotations

import re

_STRINGS = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?^\s*\2$|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL | re.MULTILINE)
_ENDS = re.compile(r"\|\|?&?|&&?|;+|\n|[(){}`]|\$\(|(?<=\s)!(?=\s)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_REDIRECTION = re.compile(r"(?:\d*|&)[<>]+[&|]?[ \t]*[^\s|&;()]*")
_WORD = re.compile(r"[\w./~+@:-]+\Z")
_BEFORE = frozenset({
    "sudo", "env", "time", "nice", "nohup", "exec", "command", "builtin", "xargs", "timeout", "stdbuf", "setsid",
    "if", "then", "else", "elif", "do", "while", "until", "!",
})  # fmt: skip
"""Words after which another program comes."""

_NOT_PROGRAMS = frozenset({"fi", "done", "esac", "for", "case", "in", "function", "select", "[[", "]]"})
_WITH_VALUE = frozenset({"timeout", "-u", "-g", "-n", "-k", "-s", "-I", "-P"})
"""Of those words and their options, the ones that a value follows."""

ANSWERS_BY_FAILING = frozenset({
    "grep", "egrep", "fgrep", "rg", "ag", "test", "[", "diff", "cmp", "which", "type", "command", "ls", "cat", "head",
    "tail", "find", "fd", "stat", "file", "pgrep", "cd", "pwd", "echo", "printf", "true", "false", "sleep", "wc",
    "sort", "kill", "pkill", "git status", "git diff", "git log", "git show", "git branch", "git grep", "git rev-parse",
    "git check-ignore", "git ls-files", "git config",
})  # fmt: skip
"""What people and agents call to see something: that it fails is an answer, no failed attempt."""

_CHECKS = frozenset((
    "test", "tests", "check", "lint", "build", "typecheck", "pytest", "mypy", "ruff", "tsc", "tox", "nox", "eslint",
    "jest", "vitest",
))  # fmt: skip

_INTERPRETERS = re.compile(r"(?:python|pypy)[\d.]*|node|bash|sh|zsh|dash|ruby|perl|deno|bun")
_CONTRIBUTES = re.compile(
    r"\bai-lessons\b.*\bcontribute\s+add(?:-lesson)?(?![\w-])|(?:^|[\s;&|(])lesson\s+add\b", re.DOTALL
)


def simple_commands(command: str) -> list[list[str]]:
    """The words of every simple command of the line, its program first; quoted texts count as no word."""
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
            return words[at:] if _WORD.match(word) and word not in _NOT_PROGRAMS else []
    return []


def programs(command: str) -> tuple[str, ...]:
    """The names of the programs that the line runs, without their folders, each once, in order.

    >>> programs("cd app && GIT_PAGER=cat git log | head -3")
    ('cd', 'git', 'head')
    """
    return tuple(dict.fromkeys(_name(words[0]) for words in simple_commands(command)))


def attempts(command: str) -> tuple[str, ...]:
    """What of the line may succeed or fail in earnest, each in a form in which a second try looks the same.

    >>> attempts("cd app; ls; npm test -- --watch; python3 try_2.py")
    ('npm test', 'python3')
    """
    found = []
    for words in simple_commands(command):
        name = _name(words[0])
        first = next((word for word in words[1:] if not word.startswith("-") and _WORD.match(word)), "")
        key = f"{name} {first}".strip()
        if name in ANSWERS_BY_FAILING or key in ANSWERS_BY_FAILING:
            continue
        found.append(name if _INTERPRETERS.fullmatch(name) else key)
    return tuple(dict.fromkeys(found))


def is_check(attempt: str) -> bool:
    """Whether an attempt looks at what was written: tests, linters, a build."""
    return not _CHECKS.isdisjoint(re.split(r"[ :_-]", attempt))


def adds_a_lesson(command: str) -> bool:
    """Whether the line writes down what was learned."""
    return bool(_CONTRIBUTES.search(command))


def _name(program: str) -> str:
    return program.rstrip("/").rpartition("/")[2] or program

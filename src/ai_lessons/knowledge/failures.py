"""Output of failed commands, similarity of failures, and the programs of a command line. Pure."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from math import exp, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ai_lessons.knowledge.entries import Entry

BAR, SECOND = 0.25, 0.5  # Chance from which one lesson is told at a failure, and another beside it: see `bench.moment`
_BIAS, _SIMILARITY, _SHAPE = -6.7, 4.6, 4.4
_WORDS_BIAS, _WORDS_SHAPE = -3.45, 5.3  # The same where no vectors tell, from words alone

_FEW, _LINE, _OUTPUT = 6, 300, 20_000
SAME, COMPARED = 0.7, 50  # How alike two failures are that count as one; kinds of failures that one is compared with
_LONG_LINE, _ONE_LINE = 6, 0.8  # Words of a line that can tell by itself, and what it counts beside the whole
_ERROR = re.compile(
    r"(?i)\b\w*(?:error|exception)\b|\b(?-i:E[A-Z]{3,})\b|\b(?:fatal|panic|fail\w*|cannot|can't|unable|unknown|invalid|"
    r"unrecogni[sz]ed|not|no|denied|refused|missing|already|ambiguous|rejected|conflict|did you mean|usage)\b"
)
_SURE = re.compile(
    r"(?im)^(?:\S+: )*(?:error|fatal|panic)\b|\b[A-Z]\w*(?:Error|Exception):|^Traceback \(|: (?:command )?not found\b|"
    r"\b(?:No such file or directory|Permission denied|ERR!)"
)
_MESSAGE = (
    r"(?:(?i:fatal error|error|fatal|panic)(?:\[\w+\]| [A-Z]+\d+)?"
    r"|(?:\w+\.)*[A-Z]\w*(?:Error|Exception)(?: \[\w+\])?): *\S"
)
_IS_MESSAGE = re.compile(
    rf"(?:\S+: |line \d+: )*{_MESSAGE}|Traceback \(most recent|E {{3,}}\S|npm (?:ERR!|error) \S"
    r"|make(?:\[\d+\])?: \*\*\*|(?i:(?:\w+ ){0,4}exit(?:ed with)? (?:code|status):? -?[1-9]\d*)(?:$|[:.])"
    r"|(?:\S+: )+(?:.*: )?(?:(?:command )?not found(?:: \S+)?|No such file or directory)$"
)
_MAY_BE_MESSAGE = re.compile(
    r"(?i)(?:\S+: )+(?:\(\d+\) )?(?:error|fatal|panic|cannot|can't|could not|failed|unable|invalid|unknown)\b"
    r"|(?:.*: )?permission denied\b|error \w[^:]{0,40}: \S|.*\[rejected\]"
)
_MENTIONED = re.compile(rf"(?<!\w){_MESSAGE}")
_QUESTION = re.compile(r"(?i)(?:how|what|why|when|where|which|who|can|could|should|is|are|do|does|did)\b|.*\?$")
_EXIT = re.compile(r"\A\s*(?:Error: )?Exit code -?\d+\n")
_HOST = re.compile(
    r"(?i)tool_use_error|user doesn't want to (?:proceed|take this action)|interrupted by (?:the )?user|"
    r"requires? approval|permission to use|was (?:blocked|denied) by|cancelled: parallel tool call|"
    r"running in (?:the )?background|hook (?:error|blocked)"
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")
NAMES = re.compile(
    r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|`[^`'\n]*[`']|\u2018[^\u2019\n]*\u2019|“[^”\n]*”"  # quoted
    r"|(?<!\w)(?:[A-Za-z]:)?[\w.~+-]*(?:[/\\][\w.@~+*-]*)+"  # a path
)
_WORD = re.compile(r"[^\W\d_][\w-]+")
_BLOCK = re.compile(r"(?ms)^ {0,3}(`{3,}+|~{3,}+)[^\n]*\n\$ ([^\n]*)\n(.*?)(?:^ {0,3}\1|\Z)")
_SAID = re.compile(r"\"([^\"\n]{12,})\"|“([^”\n]{12,})”|`([^`\n]{12,})`|'([^'\n]{12,})'")


def telling(output: str) -> str:
    """The lines of an output that show the error: all of a short one, else the first, the last, and error lines."""
    text = _EXIT.sub("", _ESCAPES.sub("", output[:_OUTPUT] + output[_OUTPUT:][-_OUTPUT:]))
    lines = [line.strip()[:_LINE] for line in text.splitlines() if any(map(str.isalnum, line))]
    if len(lines) > _FEW:
        errors = [line for line in lines if _ERROR.search(line)]
        lines = [lines[0], *errors[:2], *errors[-2:], *lines[-2:]]
    return "\n".join(dict.fromkeys(lines))


def is_host(output: str) -> bool:
    """Whether the agent host wrote this in place of the output: no lesson about the command."""
    return bool(_HOST.search(output))


def parted(error: str) -> tuple[str, str]:
    """The command of a failure (empty if unknown) and its output."""
    command, newline, output = error.partition("\n")
    return (command[2:], output) if newline and command.startswith("$ ") else ("", error)


def looks_failed(output: str) -> bool:
    """Whether an output ends like an error; for commands whose exit code is unknown."""
    return bool(_SURE.search("\n".join(telling(output).splitlines()[-3:])))


def headline(output: str) -> str:
    """The line that shows the error best: the first that is surely one, else the last line."""
    lines = [line for line in telling(output).splitlines() if not line.startswith("Traceback (")]
    sure, likely = ([line for line in lines if pattern.search(line)] for pattern in (_SURE, _ERROR))
    return next(iter([*sure, *likely, *reversed(lines)]), "")


def shown_in(question: str) -> tuple[str, bool]:
    r"""The failure that a question to the search shows, as `$ command` and output, and whether it asks nothing else.

    Empty for a question in words, also one that names an error.

    >>> shown_in("how do I handle ENOENT: no such file in node")
    ('', False)
    >>> shown_in("$ git push\nfatal: not a git repository")
    ('$ git push\nfatal: not a git repository', True)
    """
    every = [line.strip() for line in question.splitlines()]
    lines = [line for line in every if line and not line.startswith(("```", "~~~"))]
    if len(lines) == 1:  # it may name a command before the message
        line = lines[0]
        if _QUESTION.match(line):
            return "", False
        if _IS_MESSAGE.match(line) or _MAY_BE_MESSAGE.match(line):
            return line, bool(_IS_MESSAGE.match(line))
        named = _MENTIONED.search(line)
        return (f"$ {line[: named.start()].strip()}\n{line[named.start() :]}", False) if named else ("", False)
    typed = next((n for n, line in enumerate(lines[:-1]) if line.startswith("$ ")), -1)
    if typed == 0 or (typed > 0 and _ERROR.search("\n".join(lines[typed + 1 :]))):
        return "\n".join(lines[typed:]), True
    first = 1 if lines and _QUESTION.match(lines[0]) else 0
    patterns = (_IS_MESSAGE,) if first else (_IS_MESSAGE, _MAY_BE_MESSAGE)
    failed = any(pattern.match(line) for pattern in patterns for line in lines[first:] if not _QUESTION.match(line))
    return ("\n".join(lines[first:]), True) if failed else ("", False)


Shape = tuple[frozenset[str], ...]
"""The words of each line of `telling`, without quoted names, paths and numbers."""


def shape(output: str) -> Shape:
    """The words of an output without names, paths and numbers.

    >>> [sorted(line) for line in shape("fatal: pathspec 'a.py' did not match any files")]
    [['any', 'did', 'fatal', 'files', 'match', 'not', 'pathspec']]
    """
    lines = (_WORD.findall(line) for line in NAMES.sub(" ", telling(output)).splitlines())
    words = (frozenset(word.lower() for word in line if not any(map(str.isdigit, word))) for line in lines)
    return tuple(dict.fromkeys(filter(None, words)))


def words_of(words: Shape) -> frozenset[str]:
    """The words of all lines."""
    return frozenset().union(*words)


def recorded(entry: Entry) -> Iterator[Shape]:
    """The shapes of the failures in an entry: `$ command` and output in a fenced block, quoted messages in its WHEN.

    The output of a command that succeeded has a shape, too; no failure is similar to it.
    """
    for block in _BLOCK.finditer(entry.body):
        yield shape(block[3])
    for match in _SAID.finditer(entry.pattern.when if entry.pattern else ""):
        yield shape(" ".join(filter(None, match.groups())))


def in_block(command: str, output: str) -> str:
    """A failure as a fenced block, see `recorded`."""
    first, further, _ = command.strip().partition("\n")
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", output))])
    return f"{fence}\n$ {first}{' …' * bool(further)}\n{output.strip()}\n{fence}\n"


def keeps_one(text: str) -> bool:
    """Whether a text has such a block."""
    return bool(_BLOCK.search(text))


def before_failure(body: str) -> str:
    """The text before the first such block; all of it without one."""
    match = _BLOCK.search(body)
    return body[: match.start()].strip() if match else body.strip()


def rarity(shapes: Collection[Shape]) -> dict[str, float]:
    """The weight of each word: the fewer failures have it, the higher."""
    counts = Counter(word for shape in shapes for word in words_of(shape))
    return {word: log((len(shapes) + 1) / (count + 0.5)) for word, count in counts.items()}


def alike(left: Shape, right: Shape, weights: Mapping[str, float]) -> float:
    """Similarity of two shapes, 0 to 1: of all their words, or of the two most similar lines.

    Weighted Jaccard index. Only long lines count, by less than the whole.
    """
    unknown = max(weights.values(), default=1.0)

    def shared(words: frozenset[str], other_words: frozenset[str]) -> float:
        either = sum(weights.get(word, unknown) for word in words | other_words)
        return sum(weights.get(word, unknown) for word in words & other_words) / either if either else 0.0

    long = ([line for line in lines if len(line) >= _LONG_LINE] for lines in (left, right))
    return max([shared(words_of(left), words_of(right)), *(_ONE_LINE * shared(*two) for two in product(*long))])


def chance(alike: float, similarity: float | None = None) -> float:
    """The chance that what helped at one failure helps at another, from their similarities of words and vectors.

    Logistic regression over labelled failures; see `bench.moment`.
    """
    by_words = _WORDS_BIAS + _WORDS_SHAPE * alike
    x = by_words if similarity is None else _BIAS + _SIMILARITY * similarity + _SHAPE * alike
    return 1 / (1 + exp(-x))


# --- what a command line of a shell runs, as far as one can tell by looking ---

_STRINGS = re.compile(
    r"(?<!<)<<-?\s*(['\"]?)([A-Za-z_]\w*)\1[^\n]*\n.*?(?:^\s*\2$|\Z)|'[^']*'|\"(?:\\.|[^\"\\])*(?:\"|\Z)",
    re.DOTALL | re.MULTILINE,
)
_ENDS = re.compile(r"\|\|?&?|&&?|;+|\n|[(){}`]|\$\(|(?<=\s)!(?=\s)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_REDIRECTION = re.compile(r"(?:(?<!\d)\d+|&)?[<>]+[&|]?[ \t]*[^\s|&;()]*")
_ARGUMENT = re.compile(r"[\w./~+@:-]+\Z")
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
"""Commands that only look: their failure is an answer, not a failed attempt."""

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
            return words[at:] if _ARGUMENT.match(word) and word not in _NOT_PROGRAMS else []
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
        skip = 3 if name == "git" and words[1:2] in (["-C"], ["-c"]) else 1  # and the value that stands behind it
        first = next((word for word in words[skip:] if not word.startswith("-") and _ARGUMENT.match(word)), "")
        key = f"{name} {first}".strip()
        if name in ANSWERS_BY_FAILING or key in ANSWERS_BY_FAILING:
            continue
        keys.append(name if _INTERPRETERS.fullmatch(name) else key)
    return tuple(dict.fromkeys(keys))


def adds_a_lesson(command: str) -> bool:
    """Whether the line adds a lesson."""
    return bool(_CONTRIBUTES.search(command))


def base_name(program: str) -> str:
    """The name of a program without its folders."""
    return program.rstrip("/").rpartition("/")[2] or program

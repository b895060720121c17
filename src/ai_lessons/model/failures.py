"""What a failed command printed: the lines that show the error, their shape, and how similar two failures are."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import exp, log
from typing import TYPE_CHECKING, Any

from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ai_lessons.model.entries import Entry

    Json = Mapping[str, Any]


# Chance from which one lesson is told at a failure, and another beside it: see `bench.moment`
BAR, SECOND = 0.25, 0.5


_BIAS, _SIMILARITY, _SHAPE = -6.7, 4.6, 4.4


# The same where no vectors tell, from words alone
_WORDS_BIAS, _WORDS_SHAPE = -3.45, 5.3


# Lines that are all read; characters of a line, and of each end of an output
_FEW, _LINE, OUTPUT_END = 6, 300, 20_000


# How alike two failures are that count as one; kinds of failures that one is compared with
SAME, COMPARED = 0.7, 50


# Words of a line that can tell by itself, and what it counts beside the whole
_LONG_LINE, _ONE_LINE = 6, 0.8


_ERROR = expression(
    r"(?i)\b\w*(?:error|exception)\b|\b(?-i:E[A-Z]{3,})\b|\b(?:fatal|panic|fail\w*|cannot|can't|unable|unknown|invalid|"
    r"unrecogni[sz]ed|not|no|denied|refused|missing|already|ambiguous|rejected|conflict|did you mean|usage)\b"
)


_SURE = expression(
    r"(?im)^(?:\S+: )*(?:error|fatal|panic)\b|\b[A-Z]\w*(?:Error|Exception):|^Traceback \(|: (?:command )?not found\b|"
    r"\b(?:No such file or directory|Permission denied|ERR!)"
)


_MESSAGE = (
    r"(?:(?i:fatal error|error|fatal|panic)(?:\[\w+\]| [A-Z]+\d+)?"
    r"|(?:\w{1,100}\.){0,20}[A-Z]\w{0,100}(?:Error|Exception)(?: \[\w+\])?): *\S"
)


_IS_MESSAGE = expression(
    rf"(?:\S+: |line \d+: )*{_MESSAGE}|Traceback \(most recent|E {{3,}}\S|npm (?:ERR!|error) \S"
    r"|make(?:\[\d+\])?: \*\*\*|(?i:(?:\w+ ){0,4}exit(?:ed with)? (?:code|status):? -?[1-9]\d*)(?:$|[:.])"
    r"|(?:\S+: )+(?:.*: )?(?:(?:command )?not found(?:: \S+)?|No such file or directory)$"
)


_MAY_BE_MESSAGE = expression(
    r"(?i)(?:\S+: )+(?:\(\d+\) )?(?:error|fatal|panic|cannot|can't|could not|failed|unable|invalid|unknown)\b"
    r"|(?:.*: )?permission denied\b|error \w[^:]{0,40}: \S|.*\[rejected\]"
)


_MENTIONED = expression(rf"(?<!\w){_MESSAGE}")
_QUESTION = expression(
    r"(?i)(?:how|what|why|when|where|which|who|can|could|should|is|are|do|does|did)\b|.*\?$"
)


_EXIT = expression(r"\A\s*(?:Error: )?Exit code -?\d+\n")


_DID_NOT_END = expression(
    r"(?i)\A\s*(?:error: )?(?:exit code -?\d+\s+|wall time: [\d.]+ seconds\s+)?(?:\[request interrupted by user"
    r"|the user doesn['\u2019]t want to (?:proceed|take this action)|user rejected tool use"
    r"|the user rejected (?:this tool call|permission to use)|(?:exec )?(?:command|patch) rejected by user"
    r"|(?:command |tool execution )?aborted by user\b|tool execution aborted\b|command was cancelled by user"
    r"|\[operation cancelled\] reason|permission to use \w+ (?:with command .{0,2000}? )?has been denied)"
)


_ESCAPES = expression(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")
NAMES = expression(
    r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|`[^`'\n]*[`']|\u2018[^\u2018\u2019\n]*\u2019|“[^“”\n]*”"  # quoted
    r"|(?<![\w.~+-])(?:[A-Za-z]:)?[\w.~+-]*(?:[/\\][\w.@~+*-]*)+"  # a path
)


_WORD = expression(r"[^\W\d_][\w-]+")
_BLOCK = expression(r"(?ms)^ {0,3}(`{3,}+|~{3,}+)[^\n]*\n\$ ([^\n]*)\n(.*?)(?:^ {0,3}\1|\Z)")
_SAID = expression(r"\"([^\"\n]{12,})\"|“([^“”\n]{12,})”|`([^`\n]{12,})`|'([^'\n]{12,})'")


def telling(output: str) -> str:
    """The lines of an output that show the error.

    All of a short one, else the first, the last, and error lines.
    """
    text = _EXIT.sub("", _both_ends(output))
    lines = []
    for line in text.splitlines():
        if any(map(str.isalnum, line)):
            lines.append(line.strip()[:_LINE])
    if len(lines) > _FEW:
        errors = [line for line in lines if _ERROR.search(line)]
        lines = [lines[0], *errors[:2], *errors[-2:], *lines[-2:]]
    return "\n".join(dict.fromkeys(lines))


def _both_ends(output: str) -> str:
    """The beginning and the end of a long output, without colours: an error stands in one of them."""
    return _ESCAPES.sub("", output[:OUTPUT_END] + output[OUTPUT_END:][-OUTPUT_END:])


def did_not_end(output: str) -> bool:
    """Whether a host wrote this of a call that a person refused or interrupted.

    The command itself has not failed.

    >>> did_not_end("The user doesn't want to proceed with this tool use.")
    True
    >>> did_not_end("error: failed to push some refs")
    False
    """
    return bool(_DID_NOT_END.match(output))


def parted(error: str) -> tuple[str, str]:
    """The command of a failure (empty if unknown) and its output."""
    command, newline, output = error.partition("\n")
    if newline and command.startswith("$ "):
        return (command[2:], output)
    return ("", error)


def looks_failed(output: str) -> bool:
    """Whether an output ends like an error; for commands whose exit code is unknown."""
    return bool(_SURE.search("\n".join(telling(output).splitlines()[-3:])))


def headline(output: str) -> str:
    """The line that shows the error best: the first that is surely one, else the last line."""
    lines = []
    for line in telling(output).splitlines():
        if not line.startswith("Traceback ("):
            lines.append(line)
    for pattern in (_SURE, _ERROR):
        for line in lines:
            if pattern.search(line):
                return line
    # Where no line has a word of errors, programs say last what went wrong
    return next(reversed(lines), "")


def shown_in(question: str) -> tuple[str, bool]:
    r"""The failure that a question to the search shows, and whether it asks nothing else.

    A failure is `$ command` and output. Empty for a question in words, also one that names an
    error.

    >>> shown_in("how do I handle ENOENT: no such file in node")
    ('', False)
    >>> shown_in("$ git push\nfatal: not a git repository")
    ('$ git push\nfatal: not a git repository', True)
    """
    lines = []
    for raw in question[: 2 * OUTPUT_END].splitlines():
        # Characters of a line of a question
        line = raw.strip()[:2_000]
        if line and not line.startswith(("```", "~~~")):
            lines.append(line)
    if len(lines) == 1:
        return _shown_in_line(lines[0])
    for typed, line in enumerate(lines[:-1]):
        if line.startswith("$ "):
            # Words before a command are a question about it, unless an error follows
            if typed == 0 or _ERROR.search("\n".join(lines[typed + 1 :])):
                return "\n".join(lines[typed:]), True
            break
    first, patterns = 0, [_IS_MESSAGE, _MAY_BE_MESSAGE]
    if lines and _QUESTION.match(lines[0]):
        # Below a question only what is surely a message counts as pasted
        first, patterns = 1, [_IS_MESSAGE]
    for line in lines[first:]:
        if _QUESTION.match(line):
            continue
        if any(pattern.match(line) for pattern in patterns):
            return "\n".join(lines[first:]), True
    return "", False


def _shown_in_line(line: str) -> tuple[str, bool]:
    if _QUESTION.match(line):
        return "", False
    is_message = bool(_IS_MESSAGE.match(line))
    if is_message or _MAY_BE_MESSAGE.match(line):
        return line, is_message
    named = _MENTIONED.search(line)
    if named is None:
        return "", False
    # What stands before the message may be the command: `npm test Error: no test specified`
    return f"$ {line[: named.start()].strip()}\n{line[named.start() :]}", False


# The words of each line of `telling`, without quoted names, paths and numbers.
Shape = tuple[frozenset[str], ...]


def shape(output: str) -> Shape:
    """The words of an output without names, paths and numbers.

    >>> [sorted(line) for line in shape("fatal: pathspec 'a.py' did not match any files")]
    [['any', 'did', 'fatal', 'files', 'match', 'not', 'pathspec']]
    """
    return _words_by_line(telling(output))


def _words_by_line(text: str) -> Shape:
    shapes: dict[frozenset[str], None] = {}
    for line in NAMES.sub(" ", text).splitlines():
        words = set()
        for word in _WORD.findall(line):
            # One with digits is of this failure alone: an address, a version, a count
            if not any(map(str.isdigit, word)):
                words.add(word.lower())
        if words:
            shapes[frozenset(words)] = None
    return tuple(shapes)


def quoted_in(output: str, messages: Collection[tuple[str, Shape]]) -> set[str]:
    """Of kept failures by entry, the entries with one line that stands in an output.

    That is: its words are in one line there. A lesson quotes a message, and the program prints it
    with names, in the midst of other lines.
    """
    lines = _words_by_line(_both_ends(output))
    entries: set[str] = set()
    for entry, kept in messages:
        # A kept line of so many words is distinct: where one line of the output has them all, it is
        # the same failure
        if len(kept) != 1 or len(kept[0]) < 4:
            continue
        if any(kept[0] <= line for line in lines):
            entries.add(entry)
    return entries


def words_of(words: Shape) -> frozenset[str]:
    """The words of all lines."""
    return frozenset().union(*words)


def recorded(entry: Entry) -> Iterator[Shape]:
    """The shapes of the failures in an entry.

    `$ command` and output in a fenced block, quoted messages in its WHEN.

    The output of a command that succeeded has a shape, too; no failure is similar to it.
    """
    for block in _BLOCK.finditer(entry.body):
        yield shape(block[3])
    if not entry.pattern:
        return
    for match in _SAID.finditer(entry.pattern.when):
        yield shape(" ".join(filter(None, match.groups())))


def in_block(command: str, output: str) -> str:
    """A failure as a fenced block, see `recorded`."""
    first, further, _ = command.strip().partition("\n")
    # Longer than any run of backticks in the output, which would end the block
    fence = "```"
    while fence in output:
        fence += "`"
    if further:
        shortened = f"{first} …"
    else:
        shortened = first
    return f"{fence}\n$ {shortened}\n{output.strip()}\n{fence}\n"


def keeps_one(text: str) -> bool:
    """Whether a text has such a block."""
    return bool(_BLOCK.search(text))


def before_failure(body: str) -> str:
    """The text before the first such block; all of it without one."""
    match = _BLOCK.search(body)
    if match:
        return body[: match.start()].strip()
    return body.strip()


def rarity(shapes: Collection[Shape]) -> dict[str, float]:
    """The weight of each word: the fewer failures have it, the higher."""
    counts = Counter[str]()
    for failure in shapes:
        counts.update(words_of(failure))
    weights: dict[str, float] = {}
    for word, count in counts.items():
        weights[word] = log((len(shapes) + 1) / (count + 0.5))
    return weights


def alike(left: Shape, right: Shape, weights: Mapping[str, float]) -> float:
    """Similarity of two shapes, 0 to 1: of all their words, or of the two most similar lines.

    Weighted Jaccard index. Only long lines count, by less than the whole.
    """
    unknown = max(weights.values(), default=1.0)

    def weight(words: frozenset[str]) -> float:
        return sum(weights.get(word, unknown) for word in words)

    def shared(words: frozenset[str], other_words: frozenset[str]) -> float:
        either = weight(words | other_words)
        if either:
            return weight(words & other_words) / either
        return 0.0

    most = shared(words_of(left), words_of(right))
    for line, other_line in product(left, right):
        # Two short lines are soon the same: `exit status 1`
        if min(len(line), len(other_line)) >= _LONG_LINE:
            most = max(most, _ONE_LINE * shared(line, other_line))
    return most


def chance(alike: float, similarity: float | None = None) -> float:
    """The chance that what helped at one failure helps at another.

    From their similarities of words and vectors. Logistic regression over labelled failures; see
    `bench.moment`.
    """
    by_words = _WORDS_BIAS + _WORDS_SHAPE * alike
    if similarity is None:
        x = by_words
    else:
        x = _BIAS + _SIMILARITY * similarity + _SHAPE * alike
    return 1 / (1 + exp(-x))

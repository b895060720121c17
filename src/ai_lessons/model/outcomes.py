"""What a session shows of an entry that was told: it was carried out and worked, or the same failed again.

Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression, simple_commands
from ai_lessons.model.entries import EntrySummary, json_fields
from ai_lessons.model.events import FOLLOWED, RECURRED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

# A word and a sentence
Why = tuple[str, str]


@json_fields(entry=True)
class NotShown(NamedTuple):
    """An entry that fitted and is not shown.

    A word for the reason, and a sentence with the figures.

    The words: harm, confidence, similarity, budget, ablation, superseded, specialized, contradicts;
    at a moment of a session also starter, silent, told, unused, unsure, chance, room, gone,
    out-of-range, copy, instructions.
    """

    entry: EntrySummary
    reason: str
    detail: str


@json_fields(hidden=("shape", "does", "failed"), optional=("silent",))
class ShownEntry(NamedTuple):
    """An entry shown earlier in the session.

    When, why, at which command, at a failure of which shape.

    `does` is the text of the entry; `outcome` one of `events.FOLLOWED` and `RECURRED`; `silent`: why it is shown
    no more by now. `failed`: the command that carried it out and failed in another way than when it
    was shown.
    """

    id: str
    handle: str
    title: str
    moment: str
    why: str
    command: str = ""
    shape: Sequence[str] = ()
    does: str = ""
    outcome: str = ""
    silent: str = ""
    failed: str = ""


def after_command(
    shown: ShownEntry, command: str, failed: Collection[str] | None, *, kept: bool = False
) -> ShownEntry:
    """The entry after one more command; `failed` has the words of its failure, None: it succeeded.

    Only a command that carries out the entry decides: it works, or fails as when the entry was
    shown, or in a way that the entry keeps (`kept`), or in any way if another command, or another
    form of it, then did its job.
    """
    if shown.outcome:
        return shown
    if not carried_out(shown.does, command, shown.command):
        instead = failed is None and shown.failed and same_job(shown.failed, command)
        if instead:
            return shown._replace(outcome=RECURRED)
        return shown
    if failed is None:
        # as it says it failed in this session: what worked is another form of it
        another_form = bool(shown.failed) and shown.failed.split() != command.split()
        if another_form:
            outcome = RECURRED
        else:
            outcome = FOLLOWED
        return shown._replace(outcome=outcome)
    shape = set(shown.shape)
    # with this share of common words two failures are one, also where a path or a number differs
    same = bool(shape) and len(shape & set(failed)) >= 0.6 * len(shape | set(failed))
    if same or kept:
        return shown._replace(outcome=RECURRED)
    return shown._replace(failed=command)


_SPAN = expression(r"`([^`\n]+)`")
_DO = expression(
    r"(?:->|→)\s*DO(?P<not>\s+NOT|N['\u2019]T)?\b(?P<what>.*?)(?:(?:->|→)\s*BECAUSE\b|$)",
    re.IGNORECASE | re.DOTALL,
)
_LEFT_OUT = expression(
    r"(?i)\b(?:instead of|in place of|rather than|not|never|without|avoid(?:ing)?|don['\u2019]t|omit|drop|leave out)\b"
    r"[^.;:,`]*$"
)
_PLACEHOLDER = expression(r"<[^<>\s]*>|\{[^{}]*\}|\$\([^()]*\)|\$\w+|\.\.\.|…")
# Words of a command after which another comes, beside `run` and `exec`
_RUN = {"npx": {"npx"}, "uvx": {"uvx"}}


def carried_out(does: str, command: str, shown_at: str = "") -> bool:
    """Whether a command line carries out the text of an entry, with or without a pattern.

    A command stands in backticks after DO; it is carried out if its words begin a simple command of
    the line, options in any order. A program alone counts where nothing longer is named. A command
    to be left out (`without`, `instead of`) must be absent; where nothing else is named, it was in
    the command at which the entry was shown.
    """
    pattern = _DO.search(does)
    if pattern and pattern["not"]:
        return False
    text = does
    if pattern:
        text = pattern["what"]
    ran = _commands(command)
    required, left_out = _named_commands(text)
    for commands in left_out:
        if _has(ran, commands):
            return False
    if required:
        longer = [commands for commands in required if max(map(len, commands), default=0) > 1]
        return any(_has(ran, commands) for commands in longer or required)
    shown = _commands(shown_at)
    was_in_it = any(_has(shown, commands) for commands in left_out)
    return was_in_it and same_job(shown_at, command)


# The simple commands of one line, each by its words
_Commands = list[list[str]]


def _named_commands(text: str) -> tuple[list[_Commands], list[_Commands]]:
    """The commands in backticks that a text asks for, and those that it says to leave out."""
    required: list[_Commands] = []
    left_out: list[_Commands] = []
    for span in _SPAN.finditer(text):
        commands = _commands(_PLACEHOLDER.sub(" ", span[1]))
        before = text[: span.start()].rpartition("`")[2]
        if _LEFT_OUT.search(before):
            left_out.append(commands)
        else:
            required.append(commands)
    return required, left_out


def same_job(failed: str, command: str) -> bool:
    """Whether a command tries again what failed.

    The same attempt, or the same words behind another program.

    >>> same_job("python a.py", "python3 a.py"), same_job("python a.py", "python b.py")
    (True, False)
    """
    attempts = simple_commands.attempts(command)
    ran = [words for words in _commands(command) if simple_commands.attempts(" ".join(words))]
    for words in _commands(failed):
        attempt = next(iter(simple_commands.attempts(" ".join(words))), "")
        if " " in attempt and attempt in attempts:
            return True
        if attempt and "''" not in words and any(_again(words, other) for other in ran):
            return True
    return failed == command


def _again(words: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a command is another one once more, behind a program that runs it or in place of it."""
    same = words[0] in other or words[0].rstrip("0123456789.") == other[0].rstrip("0123456789.")
    return (same and set(words[1:]) <= set(other)) or (len(words) > 2 and words[1:] == other[1:])


def _commands(line: str) -> _Commands:
    """The words of the simple commands of a line, each program without its folder."""
    commands: list[list[str]] = []
    for words in simple_commands.simple_commands(line):
        commands.append([simple_commands.base_name(words[0]), *words[1:]])
    return commands


def _has(ran: Sequence[list[str]], commands: Sequence[list[str]]) -> bool:
    """Whether each of the commands begins one that ran, perhaps behind `uv run` and its like."""
    if not commands:
        return False
    every = list(ran)
    for words in ran:
        every += _behind_a_runner(words)
    for command in commands:
        if not any(_begins(command, words) for words in every):
            return False
    return True


def _behind_a_runner(words: Sequence[str]) -> Iterator[list[str]]:
    """What a command may run, if it is `uv run`, `npx` or the like: from each word behind that on."""
    runners = _RUN.get(words[0], {"run", "exec"})
    place = next((at for at, word in enumerate(words) if word in runners), len(words))
    for at in range(place + 1, len(words)):
        yield [simple_commands.base_name(words[at]), *words[at + 1 :]]


def _begins(command: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the words of a command stand at the beginning of another.

    Its options anywhere, the others in order.
    """
    options = {word for word in command[1:] if word.startswith("-")}
    if command[0] != words[0] or not options <= set(words):
        return False
    expected, before = [word for word in command[1:] if word not in options], ""
    for word in words[1:]:
        if expected and word == expected[0]:
            del expected[0]
        elif expected and not word.startswith("-") and not before.startswith("-"):
            # nor is it the value of an option
            return False
        before = word
    return not expected


_NO = expression(
    r"(?i)(?:please |but |and )?(?:"
    r"(?:no|nope|wrong)\b(?! (?:problem|worries|need|rush|hurry|doubt|idea|matter|more|issue|thanks?)\b)"
    r"|stop (?:\w+ing\b|it\b|that\b)|stop(?=[.,:;!]|$)"
    r"|(?:don['\u2019]t|do not|never|not)\b(?! (?:forget|worry|hesitate|mind|bother)\b))"
)
_WRONG = expression(
    r"(?i)\b(?:is|are|was|that['\u2019]s) (?:wrong|not (?:right|true))\b|\b(?:is|are|was)n['\u2019]t (?:right|true)\b"
    r"|\bdoes(?:n['\u2019]t| not) (?:work|hold|apply)\b"
)
_SENTENCE = expression(r"(?<=[.!?;])\s+|\n+")
_LONG_WORD = expression(r"[^\W\d_][\w-]{4,}")
_COMMON = frozenset({
    "about", "after", "again", "always", "another", "because", "before", "being", "between", "branch", "change",
    "check", "code", "command", "could", "doing", "error", "every", "fails", "files", "first", "folder", "instead",
    "never", "other", "please", "project", "python", "repository", "right", "running", "should", "since", "start",
    "still", "tests", "their", "there", "these", "thing", "under", "until", "using", "version", "where", "which",
    "while", "without", "works", "would", "write", "wrong",
})  # fmt: skip


def corrects(prompt: str, shown: ShownEntry) -> bool:
    """Whether a user's prompt takes back an entry that was shown.

    It says no, and names it in that sentence.

    Named is what stands there in backticks, a program with its subcommand, or two words that are
    rare.
    """
    sentences = []
    for part in _SENTENCE.split(prompt.strip()):
        if part:
            sentences.append(part)
    for sentence, after in zip(sentences, [*sentences[1:], ""], strict=False):
        if no := _NO.match(sentence) or _WRONG.search(sentence):
            # `No, not that.` says no and nothing else: what it is about stands in the next sentence
            alone = no.end() == len(sentence.rstrip(".!,;: ")) or len(sentence.split()) <= 3
            if _names(f"{sentence} {after}" if alone else sentence, shown):
                return True
    return False


def _names(text: str, shown: ShownEntry) -> bool:
    pattern = _DO.search(shown.does)
    does = f"{shown.title} {pattern['what'] if pattern else shown.does}"
    names = []
    for span in _SPAN.findall(does):
        for name in (span, *simple_commands.attempts(span)):
            if not name.isalpha():
                names.append(name)
    if any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in names):
        return True
    return len(_rare(does) & _rare(text)) > 1


def _rare(text: str) -> set[str]:
    return {word.lower() for word in _LONG_WORD.findall(text)} - _COMMON

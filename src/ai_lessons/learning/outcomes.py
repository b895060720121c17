"""What a session shows of an entry that its agent was shown: carried out and worked, or failed again. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge import failures
from ai_lessons.knowledge.json_fields import json_fields
from ai_lessons.learning.events import FOLLOWED, RECURRED

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


@json_fields(hidden=("shape", "does"), optional=("silent",))
class Earlier(NamedTuple):
    """An entry shown earlier in the session: when, why, at which command, at a failure of which shape.

    `does` is the text of the entry; `outcome` one of `fold.SEEN`; `silent`: why it is shown no more by now.
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


SAME = 0.6  # Share of common words from which two failures are one


def judged(shown: Earlier, command: str, failed: Collection[str] | None, *, kept: bool = False) -> Earlier:
    """The entry after one more command; `failed` has the words of its failure, None: it succeeded.

    Only a command that carries out the entry decides: it works, or fails as when the entry was shown, or in a way that
    the entry keeps (`kept`).
    """
    if shown.outcome or not carried_out(shown.does, command, shown.command):
        return shown
    if failed is None:
        return shown._replace(outcome=FOLLOWED)
    shape = set(shown.shape)
    same = bool(shape) and len(shape & set(failed)) >= SAME * len(shape | set(failed))
    return shown._replace(outcome=RECURRED) if same or kept else shown


_SPAN = re.compile(r"`([^`\n]+)`")
_DO = re.compile(
    r"(?:->|→)\s*DO(?P<not>\s+NOT|N['\u2019]T)?\b(?P<what>.*?)(?:(?:->|→)\s*BECAUSE\b|$)", re.IGNORECASE | re.DOTALL
)
_LEFT_OUT = re.compile(
    r"(?i)\b(?:instead of|in place of|rather than|not|never|without|avoid(?:ing)?|don['\u2019]t|omit|drop|leave out)\b"
    r"[^.;:,`]*$"
)
_PLACEHOLDER = re.compile(r"<[^<>\s]*>|\{[^{}]*\}|\$\([^()]*\)|\$\w+|\.\.\.|…")
_RUN = {"npx": {"npx"}, "uvx": {"uvx"}}  # Words of a command after which another comes, beside `run` and `exec`


def carried_out(does: str, command: str, shown_at: str = "") -> bool:
    """Whether a command line carries out the text of an entry, with or without a pattern.

    A command stands in backticks after DO; it is carried out if its words begin a simple command of the line, options
    in any order. A program alone counts where nothing longer is named. A command to be left out (`without`,
    `instead of`) must be absent; where nothing else is named, it was in the command at which the entry was shown.
    """
    pattern = _DO.search(does)
    if pattern and pattern["not"]:
        return False
    text, ran = pattern["what"] if pattern else does, _commands(command)
    required, left_out = list[list[list[str]]](), list[list[list[str]]]()
    for span in _SPAN.finditer(text):
        before = text[: span.start()].rpartition("`")[2]
        (left_out if _LEFT_OUT.search(before) else required).append(_commands(_PLACEHOLDER.sub(" ", span[1])))
    if any(_has(ran, commands) for commands in left_out):
        return False
    if required:
        longer = [commands for commands in required if any(len(words) > 1 for words in commands)]
        return any(_has(ran, commands) for commands in longer or required)
    return any(_has(_commands(shown_at), commands) for commands in left_out) and same_job(shown_at, command)


def same_job(failed: str, command: str) -> bool:
    """Whether a command tries again what failed: the same attempt, or the same words behind another program.

    >>> same_job("python a.py", "python3 a.py"), same_job("python a.py", "python b.py")
    (True, False)
    """
    attempts = failures.attempts(command)
    ran = [words for words in _commands(command) if failures.attempts(" ".join(words))]
    for words in _commands(failed):
        attempt = next(iter(failures.attempts(" ".join(words))), "")
        if " " in attempt and attempt in attempts:
            return True
        if attempt and "''" not in words and any(_again(words, other) for other in ran):
            return True
    return failed == command


def _again(words: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a command is another one once more, behind a program that runs it or in place of it."""
    same = words[0] in other or words[0].rstrip("0123456789.") == other[0].rstrip("0123456789.")
    return (same and set(words[1:]) <= set(other)) or (len(words) > 2 and words[1:] == other[1:])


def _commands(line: str) -> list[list[str]]:
    """The words of the simple commands of a line, each program without its folder."""
    return [[failures.base_name(words[0]), *words[1:]] for words in failures.simple_commands(line)]


def _has(ran: Sequence[list[str]], commands: Sequence[list[str]]) -> bool:
    """Whether each of the commands begins one that ran, perhaps behind `uv run` and its like."""
    every = list(ran)
    for words in ran:
        run = next((at for at, word in enumerate(words) if word in _RUN.get(words[0], {"run", "exec"})), len(words))
        every += [[failures.base_name(words[at]), *words[at + 1 :]] for at in range(run + 1, len(words))]
    return bool(commands) and all(any(_begins(command, words) for words in every) for command in commands)


def _begins(command: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the words of a command stand at the beginning of another: its options anywhere, the others in order."""
    options = {word for word in command[1:] if word.startswith("-")}
    if command[0] != words[0] or not options <= set(words):
        return False
    expected, before = [word for word in command[1:] if word not in options], ""
    for word in words[1:]:
        if expected and word == expected[0]:
            del expected[0]
        elif expected and not word.startswith("-") and not before.startswith("-"):
            return False  # nor is it the value of an option
        before = word
    return not expected


_NO = re.compile(
    r"(?i)(?:please |but |and )?(?:"
    r"(?:no|nope|wrong)\b(?! (?:problem|worries|need|rush|hurry|doubt|idea|matter|more|issue|thanks?)\b)"
    r"|stop (?:\w+ing\b|it\b|that\b)|stop(?=[.,:;!]|$)"
    r"|(?:don['\u2019]t|do not|never|not)\b(?! (?:forget|worry|hesitate|mind|bother)\b))"
)
_WRONG = re.compile(
    r"(?i)\b(?:is|are|was|that['\u2019]s) (?:wrong|not (?:right|true))\b|\b(?:is|are|was)n['\u2019]t (?:right|true)\b"
    r"|\bdoes(?:n['\u2019]t| not) (?:work|hold|apply)\b"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_SHORT = 3  # Words of a sentence that says no and nothing else: what it is about stands in the next one
_LONG_WORD = re.compile(r"[^\W\d_][\w-]{4,}")
_COMMON = frozenset({
    "about", "after", "again", "always", "another", "because", "before", "being", "between", "branch", "change",
    "check", "code", "command", "could", "doing", "error", "every", "fails", "files", "first", "folder", "instead",
    "never", "other", "please", "project", "python", "repository", "right", "running", "should", "since", "start",
    "still", "tests", "their", "there", "these", "thing", "under", "until", "using", "version", "where", "which",
    "while", "without", "works", "would", "write", "wrong",
})  # fmt: skip


def corrects(prompt: str, shown: Earlier) -> bool:
    """Whether a user's prompt takes back an entry that was shown: it says no, and names it in that sentence.

    Named is what stands there in backticks, a program with its subcommand, or two words that are rare.
    """
    sentences = [part for part in _SENTENCE.split(prompt.strip()) if part]
    for sentence, after in zip(sentences, [*sentences[1:], ""], strict=False):
        if no := _NO.match(sentence) or _WRONG.search(sentence):
            alone = no.end() == len(sentence.rstrip(".!,;: ")) or len(sentence.split()) <= _SHORT
            if _names(f"{sentence} {after}" if alone else sentence, shown):
                return True
    return False


def _names(text: str, shown: Earlier) -> bool:
    pattern = _DO.search(shown.does)
    does = f"{shown.title} {pattern['what'] if pattern else shown.does}"
    names = [name for span in _SPAN.findall(does) for name in (span, *failures.attempts(span)) if not name.isalpha()]
    if any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in names):
        return True
    return len(_rare(does) & _rare(text)) > 1


def _rare(text: str) -> set[str]:
    return {word.lower() for word in _LONG_WORD.findall(text)} - _COMMON

"""The forms of commands: their stable first words, those that a lesson names, and those that a line calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression, failures
from ai_lessons.model.names import COMMANDS, names_of_summary
from ai_lessons.model.shell import commands_in
from ai_lessons.model.simple_commands import ANSWERS_BY_FAILING, base_name, simple_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.model.entries import EntrySummary

    Words = Sequence[str]


# Characters of a word, and words, of a form
_LONGEST, FORM_WORDS = 40, 3


_INSIDE = expression(r"\binside (?:of )?`([^`\s]+)`")
_PATTERN = expression(r"(?s)WHEN (?>(.*?) -> DO(?: NOT)? ).* -> BECAUSE ")
_SPAN = expression(r"`([^`\n]+)`")
_REFUSED = expression(
    r"(?i)\b(?:never|not|don['\u2019]t|no)\s+(?:(?:use|run|call|invoke)\s+)?`?([a-z][\w.+-]{1,30})`?"
    r"(?=\s*(?:[.,;:!()]|$)|\s+(?:to|for|in|with|directly|here|anywhere)\b)"
)


# The words of a simple command, and the name of the folder that it is called in.
Called = tuple[tuple[str, ...], str]


class Form(NamedTuple):
    """The stable part of a command: its first words.

    With `inside` only where the folder of that name is stood in.
    """

    words: tuple[str, ...]
    inside: str = ""

    def fits(self, words: Words, folder: str) -> bool:
        """Whether a simple command, called in the folder of this name, is of this form.

        `…` stands for any word.
        """
        if self.inside:
            return folder == self.inside and self == inside(words, folder)
        called = (base_name(words[0]), *words[1:])
        return _begins(self.words, called) or self._with_options_elsewhere(called)

    def _with_options_elsewhere(self, called: Words) -> bool:
        """Whether a form such as `gh pr create --draft` fits `gh pr create --title x --draft`.

        Behind a program and its subcommand options stand in any order; `python -m pip` is one with
        its `-m`.
        """
        options = []
        for word in self.words:
            if word.startswith("-"):
                options.append(word)
        plain = []
        for word in self.words:
            if not word.startswith("-"):
                plain.append(word)
        subcommand = len(self.words) > 2 and not self.words[1].startswith("-")
        return (
            bool(options) and subcommand and _begins(plain, called) and set(options) <= set(called)
        )

    def __str__(self) -> str:
        return " ".join(self.words)


def _begins(form: Words, called: Words) -> bool:
    if len(called) < len(form):
        return False
    return all(form_word in {word, "…"} for form_word, word in zip(form, called, strict=False))


def forms(words: Words) -> Iterator[Form]:
    """The forms of a simple command that begin with its program, the shortest first.

    >>> [str(form) for form in forms(["git", "-C", "app", "add", "-A"])]
    ['git', 'git -C', 'git -C app']
    """
    first = (base_name(words[0]), *words[1:FORM_WORDS])
    for n in range(1, len(first) + 1):
        if n > 1 and (first[n - 1] == "''" or len(first[n - 1]) > _LONGEST):
            return
        yield Form(first[:n])


def inside(words: Words, folder: str) -> Form | None:
    """The form of a command that names the folder which it is called in, up to that name.

    None where it does not.

    >>> inside(["ls", "-l", "./app/src"], "app")
    Form(words=('ls', '-l', 'app'), inside='app')
    """
    if not folder:
        return None
    for position, word in enumerate(words):
        # The first word is the program
        if position and top_folder(word) == folder:
            return Form((base_name(words[0]), *words[1:position], folder), folder)
    return None


def top_folder(path: str) -> str:
    """The first part of a path below the folder that one stands in."""
    return path.removeprefix("./").split("/", 1)[0]


def named_forms(when: str) -> tuple[Form, ...]:
    """The forms that the WHEN of a lesson names in backticks.

    After `inside` stands the folder that they are called in.

    >>> named_forms("running `git push` or `hg push`")
    (Form(words=('git', 'push'), inside=''), Form(words=('hg', 'push'), inside=''))
    """
    where = _INSIDE.search(when)
    if where:
        folder = where[1].rstrip("/")
    else:
        folder = ""
    forms = []
    for span in _SPAN.findall(_INSIDE.sub("", when)):
        commands = simple_commands(span)
        # Of several in one span the first is what the lesson is about
        if commands:
            forms.append(Form((base_name(commands[0][0]), *commands[0][1:]), folder))
    return tuple(forms)


def forms_of(pattern: str) -> tuple[Form, ...]:
    """The forms that the WHEN of a whole pattern names."""
    match = _PATTERN.match(pattern)
    if match:
        return named_forms(match[1])
    return ()


def named_commands(summary: EntrySummary) -> tuple[Form, ...]:
    """The commands that an entry names in `about`, WHEN, DO NOT or its title.

    A program alone counts in `about`, in the WHEN of what a feature tells or of what a person
    stated, and where the title refuses it: `ONLY use uv, NEVER pip`.
    """
    pattern = summary.stated.pattern
    named: list[Form] = []
    for text in names_of_summary(summary).get(COMMANDS, ()):
        named += named_forms(f"`{text}`")
    surely = bool(summary.told_by or summary.origin.firm)
    for form in forms_of(pattern):
        # `git` alone, in what an agent wrote, is every call of git
        if surely or len(form.words) > 1:
            named.append(form)
    if not summary.told_by:
        refused = pattern.partition("-> DO NOT ")[2]
        for form in named_forms(f"{summary.title} {refused}"):
            if len(form.words) > 1:
                named.append(form)
    for program in _REFUSED.findall(summary.title):
        named.append(Form((program.lower(),)))
    return tuple(named)


def fits(forms: Iterable[Form], called: Iterable[Called]) -> bool:
    """Whether one of the simple commands is of one of the forms."""
    every = tuple(forms)
    for words, folder in called:
        if any(form.fits(words, folder) for form in every):
            return True
    return False


def called(line: str, cwd: str) -> list[Called]:
    """The simple commands of a line, each with the name of the folder that it is called in.

    Empty behind `cd ..`.
    """
    folder, commands = folder_name(cwd), list[Called]()
    for words in simple_commands(line):
        commands.append((tuple(words), folder))
        if words[0] == "cd":
            if len(words) > 1:
                folder = folder_name(words[1]).strip(".")
            else:
                folder = ""
    return commands


def runs(line: str, cwd: str) -> list[Called]:
    """As `called`, and what the shells, runners and substitutions of the line run.

    `bash -lc "git push"` pushes.
    """
    plain = called(line, cwd)
    words_of_plain = {words for words, _ in plain}
    if plain:
        folder = plain[0][1]
    else:
        folder = folder_name(cwd)
    inner = []
    for command in commands_in(line):
        inner.append(command.words)
    return plain + [
        (words, folder) for words in dict.fromkeys(inner) if words not in words_of_plain
    ]


def marks(line: str, cwd: str) -> list[str]:
    """Names for each form of each call, by which a session remembers that it looked for it."""
    names = []
    for call, folder in runs(line, cwd):
        for form in (*forms(call), inside(call, folder)):
            if form:
                names.append(f"call {folder} {form}")
    return names


def folder_name(cwd: str) -> str:
    """The last part of a folder's path."""
    return cwd.rstrip("/").rpartition("/")[2]


def blamed_call(error: str, cwd: str) -> list[Called]:
    """The command of a failure (`$ command`, then its output) that is to blame.

    Nothing where no command is named.
    """
    command, output = failures.parted(error)
    calls = called(command, cwd)
    if calls:
        return [calls[blamed([words for words, _ in calls], output)]]
    return []


def blamed(commands: Sequence[Words], output: str) -> int:
    """Which command of a line that failed is to blame.

    The one that the output names, else the last one in earnest.
    """
    names = []
    for words in commands:
        names.append(re.escape(base_name(words[0])))
    for n, name in enumerate(names):
        if re.search(rf"(?m)^(?:[^\s:]*: )?(?:[^\s:]*/)?(?:\(eval\):)?{name}:|: {name}: ", output):
            return n
    earnest = [
        n for n, words in enumerate(commands) if base_name(words[0]) not in ANSWERS_BY_FAILING
    ]
    return (earnest or [len(commands) - 1])[-1]

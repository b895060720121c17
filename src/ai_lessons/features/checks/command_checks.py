"""A check on commands: which call of a program breaks a rule, before it runs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.checks.regexes import InvalidPattern, LineRegex
from ai_lessons.model.shell import LONGEST, Command, commands_in, program_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

KEYS = ("command", "unless", "instead", "unless_said", "bad", "good", "enforce")
# keys that may hold a list
SEVERAL = frozenset({"command", "bad", "good"})
ANY_WORD = "…"

# Options before a subcommand that a value follows, in git, gh, npm, kubectl, make, go, cargo and
# their like.
_VALUES = frozenset({
    "-C", "-c", "-R", "--git-dir", "--work-tree", "--namespace", "--context", "--prefix", "--repo", "--cwd", "--dir",
    "--directory", "--project", "--workspace", "--filter", "--config", "--profile", "--region", "--chdir", "--package",
})  # fmt: skip
# Programs that take several subcommands in one call.
_SEVERAL_TARGETS = frozenset(
    {"make", "gmake", "just", "task", "rake", "gradle", "gradlew", "mvn", "mvnw", "ninja"}
)


class Form(NamedTuple):
    """A call of a program: its subcommands in their order, and options that stand anywhere."""

    program: str
    subcommands: tuple[str, ...]
    options: tuple[str, ...]

    def fits(self, words: Sequence[str]) -> bool:
        """Whether a command is such a call; one that asks for help is none."""
        if "--help" in words:
            return False
        return any(self._fits(form) for form in _called(words))

    def _fits(self, other: Form) -> bool:
        if self.program != other.program:
            return False
        if not all(_has(other.options, option) for option in self.options):
            return False
        named, called = self.subcommands, other.subcommands
        if self.program in _SEVERAL_TARGETS:
            # `make clean all` calls `all`, too
            return set(named) <= set(called)
        if len(called) < len(named):
            return False
        # What stands behind them are the arguments of this one call
        return all(map(_is_called, named, called))


def _is_called(named: str, called: str) -> bool:
    """Whether a word of a call is the named one, or the same path written from another folder.

    >>> _is_called("docs/plans", "/home/ann/shop/docs/plans/")
    True
    >>> _is_called("docs/plans", "old/docs/plans")
    False
    """
    if named in {called, ANY_WORD}:
        return True
    if "/" not in named:
        return False
    name, path = named.removeprefix("./").rstrip("/"), called.removeprefix("./").rstrip("/")
    is_elsewhere = path.startswith(("/", "../", "~/"))
    return path == name or ("/" in name and is_elsewhere and path.endswith(f"/{name}"))


def _has(options: Sequence[str], option: str) -> bool:
    """Whether an option is among those of a call.

    `--force=x` is `--force`, and `-rf` holds `-r`.
    """
    if any(other == option or other.startswith(f"{option}=") for other in options):
        return True
    letters = option[1:]
    if option.startswith("--") or not letters.isalpha() or len(letters) > 3:
        # longer ones are words: `-run`
        return False
    short = set[str]()
    for other in options:
        if not other.startswith("--") and len(other) <= 4:
            short.update(other[1:])
    return short.issuperset(letters)


def _called(words: Sequence[str]) -> Iterator[Form]:
    """What a command calls: the program; with `python -m`, the module, too."""
    yield _form(words)
    if program_of(words[0]) in {"python", "pypy", "py"}:
        for at, word in enumerate(words[1:], 1):
            if not word.startswith("-"):
                # a script: a `-m` behind it is an option of its own
                return
            if word == "-m" and len(words) > at + 1:
                yield _form(words[at + 1 :])
                return


def _form(words: Sequence[str]) -> Form:
    plain, options, skip = list[str](), list[str](), False
    for word in words[1:]:
        if skip:
            skip = False
        elif word.startswith("-") and word.strip("-"):
            options.append(word)
            skip = word in _VALUES
        elif word and not word.startswith("+"):
            # `cargo +nightly`
            plain.append(word)
    return Form(program_of(words[0]), tuple(plain), tuple(options))


@lru_cache(maxsize=512)
def form_of(text: str) -> Form | None:
    """The call that a text names, such as `git push --force`; None: it names none, or several."""
    commands = commands_in(text)
    if not commands:
        return None
    if any(mark in text for mark in ("&&", "|", ";", "\n")):
        # several commands, of which none is meant more than the others
        return None
    # behind `python -m` the module is what is meant
    return list(_called(commands[0].words))[-1]


def calls(texts: Iterable[str], line: str) -> list[Command]:
    """The commands of a line that one of the texts names."""
    forms = [form for form in map(form_of, texts) if form is not None]
    named: list[Command] = []
    for command in commands_in(line):
        if any(form.fits(command.words) for form in forms):
            named.append(command)
    return named


class CommandCheck(NamedTuple):
    """A call that breaks a rule (`command`), unless the regex `unless` fits the whole line.

    `instead`: what to run in its place. `unless_said`: a regex of what a person said; then it is no
    breach. `bad` and `good` are command lines that break and keep the rule; `enforce` is as in
    `text_checks.TextCheck`.
    """

    command: tuple[str, ...]
    unless: str = ""
    instead: str = ""
    unless_said: str = ""
    bad: tuple[str, ...] = ()
    good: tuple[str, ...] = ()
    enforce: str = ""

    def names(self, line: str) -> bool:
        """Whether a line calls what the check is about."""
        return bool(calls(self.command, line))

    def breaks(self, line: str) -> bool:
        """Whether a line breaks the rule, if nobody asked for it. Raises InvalidPattern."""
        if not self.names(line):
            return False
        # `unless` may lie anywhere in the line, also behind the command
        return not (self.unless and LineRegex.of(self.unless).fits(line[:LONGEST]))

    def was_asked_for(self, remarks: Iterable[str]) -> bool:
        """Whether a person said what allows it, in small letters or capitals.

        Raises InvalidPattern.
        """
        if not self.unless_said:
            return False
        regex = LineRegex.of(f"(?i){self.unless_said}")
        return any(regex.fits(text) for text in remarks)

    def __str__(self) -> str:
        named = " or ".join(f"`{text}`" for text in self.command)
        parts = [f"command {named}"]
        if self.unless:
            parts += [f"unless `{self.unless}`"]
        if self.unless_said:
            parts += [f"unless a person said `{self.unless_said}`"]
        if self.instead:
            parts += [f"instead `{self.instead}`"]
        if self.enforce:
            parts += [f"({self.enforce})"]
        return " ".join(parts)


def unproven(check: CommandCheck) -> Iterator[str]:
    """What speaks against a check.

    It names no command, a regex is none, or it does not tell `bad` from `good`.
    """
    for text in check.command:
        if form_of(text) is None:
            yield f"check.command {text!r} is not one command, such as `git push --force`"
            return
    try:
        check.was_asked_for(("",))
        silent = [line for line in check.bad if not check.breaks(line)]
        fired = [line for line in check.good if check.breaks(line)]
    except InvalidPattern as error:
        yield str(error)
        return
    for line in silent:
        yield f"the check does not fire on check.bad {line!r}, a command that breaks the rule"
    for line in fired:
        yield f"the check fires on check.good {line!r}, a command that keeps the rule"

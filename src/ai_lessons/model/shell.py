"""The commands that a line of a shell runs, seen through quotes, substitutions, and programs that run others. Pure.

A line may come from a proposal that nobody has approved: reading it takes a time that grows with its length alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.simple_commands import base_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# characters of a line that are read
LONGEST = 20_000
# substitutions and shells within each other
_DEEPEST = 8

_PLAIN = expression(r"[^\s\\'\"`$<>|&;()#]+")
_ASSIGNMENT = expression(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_VERSION = expression(r"(python|pip|pypy|ruby|node|php)[\d.]+")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
# `-c`, `-lc`: the next word is what the shell runs
_READS_SCRIPT = expression(r"-[A-Za-z]*c[A-Za-z]*")
_BEFORE = frozenset(
    {"!", "{", "if", "then", "else", "elif", "do", "while", "until", "time", "coproc"}
)
_NO_COMMAND = frozenset(
    {"for", "case", "select", "function", "in", "fi", "done", "esac", "}", "[[", "(("}
)
# Programs that run another, with those of their options that a value follows.
_RUNNERS: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "-U", "--user", "--group"}),
    "doas": frozenset({"-u", "-C"}),
    "env": frozenset({"-u", "-C", "--unset", "--chdir"}),
    "xargs": frozenset({"-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--replace"}),
    "parallel": frozenset({"-j", "-I", "-n", "--jobs"}),
    "timeout": frozenset({"-k", "-s", "--kill-after", "--signal"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n", "-p"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "watch": frozenset({"-n", "--interval"}),
    "nohup": frozenset(), "setsid": frozenset(), "exec": frozenset({"-a"}), "command": frozenset(),
    "builtin": frozenset(), "time": frozenset({"-o", "-f"}), "caffeinate": frozenset({"-t", "-w"}),
    "chronic": frozenset(), "unbuffer": frozenset(), "setarch": frozenset(), "torsocks": frozenset(),
    "proxychains": frozenset({"-f"}), "xvfb-run": frozenset({"-n", "-s", "-e", "-w"}), "busybox": frozenset(),
    "strace": frozenset({"-e", "-o", "-p", "-s", "-u"}), "ltrace": frozenset({"-e", "-o", "-p", "-s", "-u"}),
    "systemd-run": frozenset({"-p", "-E", "-M", "-H", "-u", "--unit", "--property", "--setenv"}),
    "systemd-inhibit": frozenset(), "runuser": frozenset({"-u", "-g", "-G"}), "flock": frozenset({"-w", "-E"}),
    "chroot": frozenset(), "taskset": frozenset({"-c"}), "chrt": frozenset(), "npx": frozenset({"-p", "--package"}),
    "bunx": frozenset(), "uvx": frozenset({"--from", "--with", "-p"}), "pipx": frozenset({"--spec"}),
    "dotenv": frozenset({"-f", "-e"}), "noglob": frozenset(), "nocorrect": frozenset(), "winpty": frozenset(),
}  # fmt: skip
# How many words of their own stand before the program that these run.
_TAKES_WORDS = {"timeout": 1, "flock": 1, "chroot": 1, "taskset": 1, "chrt": 1, "setarch": 1}

# Programs that run another by a subcommand, and how many words of its own that takes.
_RUN_BY: dict[str, tuple[frozenset[str], int]] = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "doppler", "op", "pixi"),
                    (frozenset({"run"}), 0)),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bundle", "mise", "rtx", "asdf", "devbox", "nix"),
                    (frozenset({"exec", "dlx", "x", "run", "shell", "develop"}), 0)),
    "pipx": (frozenset({"run"}), 0), "direnv": (frozenset({"exec"}), 1), "aws-vault": (frozenset({"exec"}), 1),
}  # fmt: skip

# Options of such a subcommand that a value follows.
_OF_RUN = frozenset(
    {"-n", "-p", "--name", "--prefix", "--python", "--with", "--env-file", "--project", "-e"}
)

# Programs that give a word with blanks to a shell.
_ONE_TEXT = frozenset(
    {"watch", "parallel", "tmux", "screen", "xargs", "entr", "hyperfine", "concurrently"}
)

_SAYS = frozenset({"echo", "printf"})
_EXECUTES = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


class Command(NamedTuple):
    """A command as it is called.

    `decides`: the line fails where it does: nothing behind it hides how it ended.
    """

    words: tuple[str, ...]
    decides: bool = True


def commands_in(line: str) -> list[Command]:
    """The commands that a line runs, in order, each as often as it stands there.

    Text in quotes is none.

    >>> [" ".join(command.words) for command in commands_in('cd app && bash -lc "go test ./..." |
    tail')] ['cd app', 'bash -lc go test ./...', 'go test ./...', 'tail']
    """
    return _Reader(line[:LONGEST], 0).read()


_OPERATOR, _REDIRECTS = expression(r"[|&;]+"), expression(r"[<>]+[&|]?-?")
_HERE = expression(r"<<-?[ \t]*(['\"]?)([\w.-]+)\1")
_IN_QUOTES = expression(r'[^"\\$`]+')
# The options of programs that a script for a shell follows.
_SCRIPT_FLAGS = {
    "env": expression(r"-S|--split-string"),
    **dict.fromkeys(("pwsh", "powershell"), expression(r"(?i)-c(?:ommand)?")),
    "cmd": expression(r"(?i)/[ck]"),
    "nix-shell": expression(r"--run|--command"), "nix": expression(r"-c|--command"),
}  # fmt: skip


class _Reader:
    """Reads a text from its beginning to its end, once."""

    def __init__(self, text: str, deep: int) -> None:
        self.commands: list[Command] = []
        # what stands behind so many commands hides how they ended
        self._hidden = 0
        self._text, self._deep, self._at = text, deep, 0
        # something stands before this command that does not wait for it to work
        self._after = False
        self._words: list[str] = []
        self._word: list[str] | None = None
        # the next word is the target of a redirection
        self._to_file = False
        # the ends of here-documents, and the program that reads each
        self._bodies: list[tuple[str, str]] = []
        # the next word is what the command reads
        self._here_string = False
        # what the command before prints into this one
        self._piped = ""

    def read(self) -> list[Command]:
        """All commands of the text."""
        self._until("")
        for n, command in enumerate(self.commands[: self._hidden]):
            self.commands[n] = command._replace(decides=False)
        return self.commands

    def _until(self, end: str) -> None:
        """Read up to the sign that ends a substitution; empty: to the end of the text."""
        parentheses, self._after = 0, False
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign == end == ")" and not parentheses:
                break
            if sign in "()":
                parentheses += 1 if sign == "(" else -1 if parentheses else 0
                self._end_command()
                self._at += 1
            elif not self._step(sign):
                self._at += 1
        self._end_command()

    def _step(self, sign: str) -> bool:
        """Read what begins with this sign; whether that moved on."""
        plain = _PLAIN.match(self._text, self._at)
        if plain:
            self._add(plain[0])
            self._at = plain.end()
            return True
        if sign == "\n":
            self._end_command()
            self._after = True
            self._at += 1
            self._skip_bodies()
        elif sign.isspace():
            self._end_word()
            return False
        elif sign in "|&;":
            self._operator()
        elif sign in "<>":
            self._redirection(sign)
        elif sign == "#":
            self._comment()
        else:
            self._quoted(sign)
        return True

    def _operator(self) -> None:
        match = _OPERATOR.match(self._text, self._at)
        if match:
            operator = match[0]
        else:
            operator = ""
        if operator == "&" and self._text[self._at + 1 : self._at + 2] == ">":
            # `&>file`
            self._at += 1
            return
        self._at += len(operator)
        self._end_word()
        if self._words:
            says = base_name(self._words[0]) in _SAYS
        else:
            says = False
        if says:
            printed = " ".join(word for word in self._words[1:] if not word.startswith("-"))
        else:
            printed = ""
        self._end_command()
        if operator in {"|", "|&"}:
            self._piped = printed
        else:
            self._piped = ""
        self._after = self._after or operator != "&&"

    def _comment(self) -> None:
        if self._word is not None:
            self._add("#")
            self._at += 1
            return
        end = self._text.find("\n", self._at)
        if end < 0:
            self._at = len(self._text)
        else:
            self._at = end

    def _redirection(self, sign: str) -> None:
        if self._word is not None and "".join(self._word).isdigit():
            # `2>file`
            self._word = None
        self._end_word()
        text, at = self._text, self._at
        if text.startswith(("<(", ">("), at):
            self._at += 2
            self._nested(")")
        elif text.startswith("<<", at) and not text.startswith("<<<", at):
            match = _HERE.match(text, at)
            if match:
                self._at = match.end()
                program = ""
                if len(self._words) == 1:
                    program = base_name(self._words[0])
                self._bodies.append((match[2], program))
            else:
                self._at = at + 2
        elif text.startswith("<<<", at):
            self._at += 3
            self._to_file = self._here_string = True
        else:
            match = _REDIRECTS.match(text, at)
            if match:
                self._at = match.end()
            else:
                self._at = at + len(sign)
            self._to_file = True

    def _skip_bodies(self) -> None:
        """Pass the here-documents that begin behind this line.

        What a shell reads as its script is commands.
        """
        for end, program in self._bodies:
            start = self._at
            while self._at < len(self._text):
                stop = self._text.find("\n", self._at)
                if stop < 0:
                    stop = len(self._text)
                row = self._text[self._at : stop].strip("\t ")
                last, self._at = self._at, min(stop + 1, len(self._text))
                if row == end:
                    if program in _SHELLS:
                        self._read_inside(self._text[start:last])
                    break
        self._bodies = []

    def _quoted(self, sign: str) -> None:
        """A part of a word that begins with a quote, a backslash or a dollar."""
        text, at = self._text, self._at
        if sign == "\\":
            self._at += 2
            if text[at + 1 : at + 2] != "\n":
                self._add(text[at + 1 : at + 2])
        elif sign == "'":
            end = text.find("'", at + 1)
            if end < 0:
                end = len(text)
            self._add(text[at + 1 : end])
            self._at = end + 1
        elif sign == '"':
            self._double()
        elif sign == "`":
            self._backticks()
            self._add("$")
        elif text.startswith("$(", at):
            self._add("$")
            self._at += 2
            self._nested(")")
        elif text.startswith(("$'", '$"'), at):
            # the quotes that follow are read as such
            self._at += 1
        else:
            self._add(sign)
            self._at += 1

    def _backticks(self) -> None:
        end = self._text.find("`", self._at + 1)
        if end < 0:
            end = len(self._text)
        self._read_inside(self._text[self._at + 1 : end])
        self._at = end + 1

    def _double(self) -> None:
        """A text in double quotes, in which a substitution runs."""
        text, parts = self._text, list[str]()
        self._at += 1
        while self._at < len(text) and (sign := text[self._at]) != '"':
            if match := _IN_QUOTES.match(text, self._at):
                parts.append(match[0])
                self._at = match.end()
            elif sign == "\\":
                parts.append(text[self._at + 1 : self._at + 2])
                self._at += 2
            elif sign == "`":
                self._backticks()
                parts.append("$")
            elif text.startswith("$(", self._at):
                parts.append("$")
                self._at += 2
                self._nested(")")
            else:
                parts.append(sign)
                self._at += 1
        self._at += 1
        self._add("".join(parts))

    def _nested(self, end: str) -> None:
        """Read a substitution in place, and go on with the word that it stands in."""
        kept = self._words, self._word, self._to_file, self._after
        self._words, self._word, self._to_file = [], None, False
        self._deep += 1
        if self._deep <= _DEEPEST:
            before = len(self.commands)
            self._until(end)
            inner = []
            for command in self.commands[before:]:
                inner.append(command._replace(decides=False))
            self.commands[before:] = inner
        else:
            self._at = len(self._text)
        self._deep -= 1
        self._at += 1
        self._words, self._word, self._to_file, self._after = kept

    def _read_inside(self, text: str, *, decides: bool = False) -> None:
        """Read a text that runs as commands, too.

        `decides`: how it ends is how this command ends.
        """
        if self._deep < _DEEPEST:
            for command in _Reader(text, self._deep + 1).read():
                self.commands.append(command._replace(decides=command.decides and decides))

    def _add(self, part: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(part)

    def _end_word(self) -> None:
        if self._word is not None and not self._to_file:
            self._words.append("".join(self._word))
        if self._word is not None:
            if self._here_string:
                self._piped = "".join(self._word)
            self._to_file = self._here_string = False
        self._word = None

    def _end_command(self) -> None:
        self._end_word()
        words, self._words, self._to_file = self._words, [], False
        if words and self._after:
            self._hidden, self._after = len(self.commands), False
        piped, self._piped = self._piped, ""
        self._run(words)
        reads_script = len(words) > 0 and program_of(words[0]) in _SHELLS and not words[1:2]
        if piped and (reads_script or list(words[1:]) in (["-"], ["-s"])):
            self._read_inside(piped)

    def _run(self, words: Sequence[str]) -> None:
        """Note a command, and what it runs itself."""
        words = _from_program(words)
        if not words:
            return
        name = program_of(words[0])
        self.commands.append(Command(tuple(words)))
        if self._deep >= _DEEPEST:
            return
        if script := _script(name, words):
            self._read_inside(script, decides=True)
        for inner in _run_by(name, words):
            if name in _ONE_TEXT and any(" " in word for word in inner):
                for word in inner:
                    self._read_inside(word)
                continue
            self._deep += 1
            self._run(inner)
            self._deep -= 1


def _from_program(words: Sequence[str]) -> Sequence[str]:
    """The words from the program on; none where a word of the shell stands in its place."""
    timed = False
    for at, word in enumerate(words):
        if word in _NO_COMMAND or not word:
            return ()
        if timed and word.startswith("-"):
            continue
        if word not in _BEFORE and not _ASSIGNMENT.match(word):
            return words[at:]
        timed = word == "time"
    return ()


def _script(name: str, words: Sequence[str]) -> str:
    """The text that a shell, or a program like one, is given to run."""
    if name == "eval":
        return " ".join(words[1:])
    if name == "trap":
        if len(words) > 2:
            return words[1]
        return ""
    flag = _SCRIPT_FLAGS.get(
        name, _READS_SCRIPT if name in _SHELLS or name in {"su", "script", "runuser"} else None
    )
    if flag is None:
        return ""
    for at, word in enumerate(words[1:-1], 1):
        if flag.fullmatch(word):
            following = []
            for text in words[at + 1 : at + 3]:
                if text != "--":
                    following.append(text)
            if following:
                return following[0]
            return ""
    return ""


def _run_by(name: str, words: Sequence[str]) -> Iterator[Sequence[str]]:
    """The commands that a command runs, as their words."""
    if name == "find":
        yield from _executed(words)
    if name in _RUN_BY:
        yield from _run_by_subcommand(name, words)
    if name in {"tmux", "screen"}:
        yield [word for word in words[1:] if " " in word]
    values = _RUNNERS.get(name)
    if values is None or name in _RUN_BY:
        return
    own_words, skip = _TAKES_WORDS.get(name, 0), False
    for at, word in enumerate(words[1:], 1):
        if name == "command" and word in {"-v", "-V"}:
            # it asks where a program is
            return
        if skip:
            skip = False
        elif word in values:
            skip = True
        elif word == "--":
            yield words[at + 1 :]
            return
        elif own_words and not word.startswith("-"):
            own_words -= 1
        elif not word.startswith("-") and not _ASSIGNMENT.match(word):
            yield words[at:]
            return


def _run_by_subcommand(name: str, words: Sequence[str]) -> Iterator[Sequence[str]]:
    """The command behind `uv run`, `npm exec --` and their like."""
    subcommands, own_words = _RUN_BY[name]
    at = next((n for n, word in enumerate(words[1:], 1) if not word.startswith("-")), len(words))
    if at == len(words) or words[at] not in subcommands:
        return
    if "--" in words[at:]:
        yield words[words.index("--", at) + 1 :]
        return
    if name in {"npm", "yarn", "pnpm"} and words[at] == "run":
        # a script of the project
        return
    skip = False
    for n, word in enumerate(words[at + 1 :], at + 1):
        if skip:
            skip = False
        elif word in _OF_RUN:
            skip = True
        elif not word.startswith("-"):
            if not own_words:
                yield words[n:]
                return
            own_words -= 1


def _executed(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """The commands that `find` runs, each up to the `;` or `+` that ends it."""
    begin = 0
    for at, word in enumerate(words):
        if not begin and word in _EXECUTES:
            begin = at + 1
        elif begin and word in {";", "+"}:
            yield words[begin:at]
            begin = 0
    if begin:
        yield words[begin:]


def program_of(word: str) -> str:
    """The name of a program without folder, ending and version.

    >>> program_of("/usr/bin/python3.12")
    'python'
    """
    name = base_name(word).removesuffix(".exe")
    version = _VERSION.fullmatch(name)
    if version:
        return version[1]
    return name

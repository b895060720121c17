"""One run of the program.

Commands and groups, questions to the person, and the one place that ends it.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import threading
import time
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

import click

from ai_lessons import app, extensions
from ai_lessons.errors import (
    EXIT_BUG,
    EXIT_INTERRUPTED,
    AiLessonsError,
    Conflict,
    Interrupted,
    InvalidEntry,
    NotFound,
    StorageFailed,
    Unreachable,
    UsageError,
)
from ai_lessons.interfaces import library_options, output
from ai_lessons.interfaces.output import BARE, View, clean, is_terminal, line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from click._termui_impl import ProgressBar

    from ai_lessons.app.daemon_client import DaemonClient
    from ai_lessons.app.open_repository import Options
    from ai_lessons.app.workspace import Library
    from ai_lessons.extensions import CommandRow
    from ai_lessons.interfaces.output import AgentText
    from ai_lessons.model.entries import Kind
    from ai_lessons.settings import Settings

    Places = Mapping[str, tuple[str, str]]

NEXT_STEPS: Mapping[type[AiLessonsError], str] = {
    NotFound: (
        "look at how it is written; ai-lessons search WORDS finds entries, ai-lessons list "
        "shows what is there"
    ),
    UsageError: "the same command with --help says what it takes",
    InvalidEntry: "nothing was written: mend what is named, then repeat the command",
    Conflict: "look at what is there now (ai-lessons show ID), then try again",
    Unreachable: "look at the connection and the address, then run the command again",
    AiLessonsError: "ai-lessons admin doctor checks everything around the files",
}
"""What to do next where an error does not say, by its class; the first that fits."""


def next_step(error: AiLessonsError) -> str:
    """What to do about an error."""
    return error.hint or next(step for kind, step in NEXT_STEPS.items() if isinstance(error, kind))


def in_words(error: AiLessonsError) -> str:
    """The message of an error and, on a line of its own, what to do."""
    return clean(f"{error.message}\nhint: {next_step(error)}")


def run(program: Callable[[], object], args: Sequence[str]) -> int:
    """Call the program.

    Return its exit code, and print an error on stderr, as JSON if `args` have `--json`.
    """
    _open_streams()
    try:
        _refuse_bytes(args)
        code = program()
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except (click.Abort, KeyboardInterrupt):
        return _print_error(Interrupted(), args, EXIT_INTERRUPTED)
    except click.ClickException as error:
        return _print_error(translated(error), args, error.exit_code)
    except AiLessonsError as error:
        return _print_error(error, args, error.exit_code)
    except BrokenPipeError:
        return _forget_output()
    except OSError as error:
        if not _of_output(error):
            return _bug(args)
        _forget_output()
        return _print_error(
            AiLessonsError(f"the output cannot be written: {error.strerror}"), args, 1
        )
    except Exception:  # noqa: BLE001  # the last catch of the program: a bug leaves a report, not a traceback
        return _bug(args)
    if isinstance(code, int):
        return code
    return 0


def _open_streams() -> None:
    """Let a standard stream that was closed (`>&-`) lead nowhere.

    Else the next file that is opened takes its place.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # the lowest number that is free
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _refuse_bytes(args: Sequence[str]) -> None:
    """Raises UsageError: an argument holds bytes that are no UTF-8."""
    for argument in args:
        if any("\ud800" <= sign <= "\udfff" for sign in argument):
            hint = "type it in UTF-8; for a file: rename it"
            raise UsageError(f"the argument {argument!r} is no UTF-8 text", hint=hint)


def _print_error(error: AiLessonsError, args: Sequence[str], code: int) -> int:
    from ai_lessons.settings import is_agent

    if "--json" in takewhile(lambda word: word != "--", args):
        # what follows is for the script
        error.hint = next_step(error)
        click.echo(output.dump(output.error(error)), err=True)
        return code
    # a crash is one line
    words = "error: " + (
        f"{clean(error.message)}; {error.hint}" if code == EXIT_BUG else in_words(error)
    )
    if is_agent(os.environ):
        words = output.refused(words)
    remark(words)
    return code


def translated(error: click.ClickException) -> AiLessonsError:
    """An error of click as one of ours."""
    if isinstance(error, click.exceptions.NoSuchCommand) and error.ctx:
        hint = _near(error.command_name, error.ctx) or f"see {error.ctx.command_path} --help"
        return UsageError(f"no command {error.command_name!r}", hint=hint)
    if not isinstance(error, click.UsageError):
        return AiLessonsError(error.format_message())
    if error.ctx:
        hint = f"see {error.ctx.command_path} --help"
    else:
        hint = "see ai-lessons --help"
    if isinstance(error, click.NoSuchOption) and error.ctx and not error.possibilities:
        words = any(parameter.nargs == -1 for parameter in error.ctx.command.params)
        if words:
            hint = f"as a word: {error.ctx.command_path} -- {error.option_name}; else {hint}"
    return UsageError(error.format_message().rstrip("."), hint=hint)


def _near(name: str, ctx: click.Context) -> str:
    """The command of any group with a name near this one, as a hint; empty if none is near."""
    from difflib import get_close_matches

    commands: dict[str, str] = {}
    program = ctx.find_root()
    for path, _ in walk(program.command) if isinstance(program.command, click.Group) else ():
        for n, word in enumerate(path, 1):
            commands.setdefault(word, " ".join((program.command_path, *path[:n])))
    near = get_close_matches(name, commands, 1)
    if near:
        return f"did you mean: {commands[near[0]]}?"
    return ""


def _forget_output() -> int:
    """Discard the output, which is closed (`| head`) or full, so that the flush at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _of_output(error: OSError) -> bool:
    """Whether it was raised by writing our output.

    Inside `click.echo`, or by the flush in `run`.
    """
    from traceback import walk_tb

    codes = []
    for frame, _ in walk_tb(error.__traceback__):
        codes.append(frame.f_code)
    return click.echo.__code__ in codes or codes[-1] is run.__code__


def _bug(args: Sequence[str]) -> int:
    from traceback import format_exc

    report = format_exc()
    hint = "no report of it can be written on this disk"
    with suppress(OSError, AiLessonsError):
        hint = f"attach this file when you report it: {_save_report(report, args)}"
    message = f"a bug in ai-lessons ({report.strip().splitlines()[-1]})"
    return _print_error(AiLessonsError(message, hint=hint), args, EXIT_BUG)


def _save_report(report: str, args: Sequence[str]) -> Path:
    """Save a report that only the user can read, because arguments may hold private text."""
    import platform
    import time

    from ai_lessons.settings import folders

    folder = folders(os.environ).state / "bugs"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"ai-lessons-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}.txt"
    about = f"ai-lessons {version()}, Python {sys.version}, {platform.platform()}"
    with open(
        os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as out:
        out.write(f"{about}\narguments: {list(args)!r}\n\n{report}")
    return file


def ask_trust(path: str, text: str) -> bool:
    """Show a script that this machine has not run before and ask whether to trust exactly this text."""
    return confirm("\nRun it, and trust this text from now on?", *shown_to_trust(path, text))


def shown_to_trust(path: str, text: str) -> list[str]:
    """A script that this machine does not know, whole: what a person trusts is what was shown."""
    rows = []
    for row in clean(text).splitlines():
        rows.append(f"    {row}")
    return [f"{line(path)} has not been run on this machine, or has changed since:\n", *rows]


def ask_keys(question: str, keys: list[str]) -> bool:
    """Show keys by their fingerprints and ask whether they may approve rules."""
    advice = "Ask their owners, not the repository, for the fingerprints: ssh-keygen -lf KEY.pub"
    return confirm(line(question), "", *(f"    {line(key)}" for key in keys), advice)


def ask_source(doc: str, path: str, file: str) -> bool:
    """Ask whether a doc may be read from a file that it was not added from on this machine."""
    if file != os.path.expanduser(path):
        target = f", a link to {line(file)},"
    else:
        target = ""
    return confirm(
        "Read it, also from now on?",
        (
            f"{line(doc)} would be read from {line(path)}{target} and was not added from "
            "there on this machine."
        ),
        "The content of that file is then committed, and shared by the next sync.",
    )


def ask_about_alarms(alarms: str) -> bool:
    """Show the alarms and ask whether the approval branch is right as it is."""
    return confirm("\nTake the approval branch as it is now?", clean(alarms))


def confirm(question: str, *lines: str) -> bool:
    """Ask a yes-or-no question on stderr, below these lines."""
    click.echo("\n".join(lines), err=True, nl=bool(lines))
    return click.confirm(question, default=False, err=True)


T = TypeVar("T")


def open_editor(text: str, suffix: str) -> str | None:
    """Open the user's editor on a text: what was saved, byte for byte.

    None if it is the same or was not saved.
    """
    if not (is_terminal(sys.stdin) or os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        hint = "set EDITOR, or give the text with --content or --file"
        raise UsageError("there is no terminal to edit on", hint=hint)
    from ai_lessons.model import texts

    # Given text, click adds a final newline and turns CRLF into LF; given bytes, it leaves the file
    # alone.
    try:
        saved = click.edit(text.encode("utf-8", "surrogateescape"), extension=suffix)
    except click.ClickException as error:
        hint = "set EDITOR to a program that is there, such as EDITOR=nano, or give the text with --content or --file"
        raise AiLessonsError(error.format_message(), hint=hint) from error
    if saved is None:
        edited = text
    else:
        edited = texts.decode(saved, "the edited text")
    if edited == text:
        return None
    return edited


def write_new(explanation: str) -> str:
    """Text written in the editor.

    The explanation is a comment at the top, and is removed afterwards.
    """
    return re.sub(
        r"\A<!--.*?-->\n*",
        "",
        open_editor(f"<!-- {explanation} -->\n\n", ".md") or "",
        flags=re.DOTALL,
    ).strip()


NO_FILE = "name a text file, or - for standard input; words go with --title and --content"


def read_text(file: str) -> str:
    """The text of a file, or of standard input for `-`."""
    if file == "-":
        return read_input()
    if os.path.isdir(os.path.expanduser(file)):
        every = f"ai-lessons contribute add-resource --type doc --path {file} --recursive"
        raise UsageError(
            f"{file} is a folder", hint=f"name a file in it, or keep all of it as docs: {every}"
        )
    from ai_lessons.settings import current_folder

    try:
        return app.editing.text_of_file(file, current_folder())
    except NotFound as error:
        raise UsageError(f"{file}: No such file", hint=NO_FILE) from error


def new_text(content: str | None, file: str | None) -> str | None:
    """The text that replaces the old one, or None."""
    if content is not None and file is not None:
        raise UsageError("the text is given twice", hint="use one of --content and --file")
    if file or content == "-":
        return read_text(file or "-")
    return content


def read_input() -> str:
    """All of standard input; empty for a tool of MCP.

    Prints that it waits when nothing comes for a while.
    """
    from ai_lessons.model import texts

    if sys.stdin is None or threading.current_thread() is not threading.main_thread():
        # closed by the caller: `<&-`
        return ""
    # a stream without a file descriptor (in tests) cannot be waited for, and does not block
    with contextlib.suppress(OSError, ValueError):
        # a pipe that brings nothing for two seconds: say what we wait for
        if not is_terminal(sys.stdin) and not select.select([sys.stdin.buffer], [], [], 2.0)[0]:
            click.echo(
                "reading the content from standard input (give --content TEXT to avoid it) …",
                err=True,
            )
    return texts.decode(sys.stdin.buffer.read(), "standard input")


class Edits:
    """An editor that remembers the last text, so that an invalid text can be edited again or saved."""

    text: str | None = None
    suffix = ".md"

    def __call__(self, text: str, suffix: str) -> str | None:
        """Edit `text`, or the text that was refused last time."""
        self.suffix = suffix
        edited = open_editor(text if self.text is None else self.text, suffix)
        if edited is not None:
            self.text = edited
        return self.text

    def keep(self, folder: Path) -> Path:
        """Save the last text in this folder. Raises StorageFailed."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"edit-{os.getpid()}{self.suffix}"
            file.write_text(self.text or "", encoding="utf-8", newline="")
        except OSError as error:
            raise StorageFailed(f"{folder}: {error.strerror}; your text was not kept") from error
        return file


CommandT = TypeVar("CommandT", bound="click.Command | Callable[..., Any]")
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Argument(NamedTuple):
    """One argument of a tool.

    The name that agents see, and that of the command's parameter where it differs.

    `single`: an agent gives one value where people may give many. `note` describes it, `default`
    holds if it is absent. `required`: agents must give what people may leave out.
    """

    name: str
    parameter: str = ""
    single: bool = False
    note: str = ""
    default: str | float | None = None
    required: bool = False


class Tool(NamedTuple):
    """How agents call a command over MCP.

    `takes` has the arguments in the order that an agent sees; a string is the name of a parameter.
    `answer` gives the type of the answer, or is the key under which an array stands. `description`
    replaces the help's first sentence. `notice` stands above the answer. `kinds` of entries are
    what a search may find, all if none are named.
    """

    name: str
    takes: Sequence[str | Argument]
    answer: Callable[[], type] | str
    description: str = ""
    notice: str = ""
    kinds: tuple[Kind, ...] = ()
    reads: bool = False
    destroys: bool = False
    # Calling it once more with the same arguments changes nothing more
    repeatable: bool = False
    # It may take long and shares nothing with other calls
    alone: bool = False


class HelpfulCommand(click.Command):
    """A command whose help neither truncates nor misaligns.

    With `common` options it lists the others below them.
    """

    common: tuple[str, ...] = ()

    def get_short_help_str(self, limit: int = 45) -> str:  # noqa: ARG002  # click's signature
        """In a list of commands, the whole first sentence."""
        first = (self.help or "").partition("\n\n")[0]
        return " ".join(first.split()).partition(". ")[0].rstrip(".") + "."

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options in one column; click breaks the alignment where one is longer than 30 letters."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], "More": []}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                if self.common and param.name not in self.common:
                    title = "More"
                else:
                    title = "Options"
                sections[title].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=36)


class Command(HelpfulCommand):
    """A command whose help ends with examples, and that takes the global options too.

    Perhaps a `tool` for agents.

    An example is what follows the command, or has `{}` in its place. The function gets the `Call`
    first.
    """

    alias_of: str | None = None

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = ("",),
        tool: Tool | None = None,
        common: str = "",
        **kwargs: Any,
    ) -> None:
        self.examples, self.tool, self.common = examples, tool, tuple(common.split())
        params, callback = (
            kwargs["params"] + global_options(hidden=True),
            click.pass_obj(kwargs["callback"]),
        )
        super().__init__(
            *args, **kwargs | {"params": params, "callback": callback, "context_settings": CONTEXT}
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run it. Raises Interrupted: Ctrl-C was pressed."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            bars = getattr(ctx.obj, "bars", None)
            raise Interrupted(bars.at if bars else "") from error

    def typed(self, command: str) -> list[str]:
        """The examples as they are typed where `command` calls this command."""
        results: list[str] = []
        for example in self.examples:
            if "{}" in example:
                results.append(example.format(command))
            else:
                results.append(f"{command} {example}".rstrip())
        return results

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples as they are typed: never wrapped, ready to copy."""
        with formatter.section("Examples"):
            for example in self.typed(ctx.command_path):
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    call = ctx.find_root().obj
    if value and call is not None and param.name:
        setattr(call, param.name, value)


def global_options(*, hidden: bool = False) -> list[click.Option]:
    """The options of a program, which each command takes, too.

    Its help shows only `--json` (`hidden`).
    """
    common: dict[str, Any] = {"expose_value": False, "callback": _remember, "is_eager": True}
    minor = {"hidden": hidden, **common}
    repo = "Knowledge repository (or AI_LESSONS_REPO; default ~/.ai/reference)."
    return [
        click.Option(["--repo"], metavar="PATH", help=repo, **minor),
        click.Option(
            ["--tier"],
            metavar="TIER",
            help="Repository by tier: project, user or enterprise:NAME.",
            **minor,
        ),
        click.Option(
            ["--json"], is_flag=True, help="Print data instead of text; errors too.", **common
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="No notes, no progress.", **minor),
        click.Option(
            ["-v", "--verbose"], is_flag=True, help="Show every detail of each result.", **minor
        ),
    ]


def show_version(program: CommandT) -> CommandT:
    """Give a program its `--version`."""

    def show(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
        if value:
            click.echo(f"{ctx.find_root().info_name} {version()}")
            ctx.exit()

    option = click.option(
        "--version",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Print the version.",
    )
    return option(program)


def version() -> str:
    """The version that is installed, by the name of its folder of metadata.

    `importlib.metadata` costs 20 ms.
    """
    for folder in filter(os.path.isabs, sys.path):
        with suppress(OSError):
            for name in os.listdir(folder):
                if name.startswith("ai_lessons-") and name.endswith(".dist-info"):
                    return name.removeprefix("ai_lessons-").removesuffix(".dist-info")
    return "unknown"


class Alias(NamedTuple):
    """An older name of a command, which no help lists.

    Some options are set by it, and agents may have it as a tool.
    """

    name: str
    command: str
    options: Mapping[str, Any] = MappingProxyType({})
    tool: Tool | None = None

    def of(self, command: Command) -> Command:
        """The command by this name. Where kinds of entries are set, it takes no others."""
        from copy import copy

        alias = copy(command)
        alias.name, alias.hidden, alias.tool, alias.alias_of = (
            self.name,
            True,
            self.tool,
            command.name,
        )
        alias.params = [copy(param) for param in command.params]
        for param in alias.params:
            if param.name in self.options:
                value = param.default = self.options[param.name]
                if isinstance(param.type, click.Choice):
                    param.type = click.Choice(value)
                else:
                    param.type = param.type
        return alias


class Group(HelpfulCommand, click.Group):
    """A group of commands in the order of definition.

    Its help lists those of `sections`, with --all every one.
    """

    command_class = Command

    def __init__(
        self, *args: Any, sections: Mapping[str, str] = MappingProxyType({}), **kwargs: Any
    ) -> None:
        super().__init__(*args, context_settings=CONTEXT, **kwargs)
        self.sections, self.every = sections, False
        if sections:
            text = "List every command, also those that few need."
            self.params.append(click.Option(["--all"], is_flag=True, expose_value=False, help=text))

    def add_aliases(self, *aliases: Alias) -> None:
        """Let commands of the group be called by older names, too."""
        for alias in aliases:
            self.add_command(alias.of(cast("Command", self.commands[alias.command])))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take --all away before the command, so that it asks for the help where it stands alone."""
        before = list(takewhile(lambda word: word.startswith("-"), args))
        self.every = bool(self.sections) and "--all" in before
        if self.every:
            kept = [word for word in before if word != "--all"]
        else:
            kept = before
        return super().parse_args(ctx, kept + args[len(before) :])

    @cached_property
    def added(self) -> dict[str, tuple[CommandRow, str]]:
        """The commands that features add to this group of the program, by name: row and place."""
        if not self.sections:
            # no group of the program: `recall graph …`, or a program of its own
            return {}
        by_key: dict[str, tuple[CommandRow, str]] = {}
        for row, place in extensions.commands(str(self.name)):
            by_key[row.words[-1]] = (row, place)
        return by_key

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; that of a feature is loaded now."""
        if cmd_name not in self.commands and cmd_name in self.added:
            _, place = self.added[cmd_name]
            return cast("click.Command", extensions.load(place))
        return super().get_command(ctx, cmd_name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options, then the commands of each section."""
        super().format_options(ctx, formatter)
        sections = {title: names.split() for title, names in self.sections.items()}
        for name, (row, _) in self.added.items():
            if row.section:
                put_behind(sections[row.section], row.after, name)
        listed = [name for names in sections.values() for name in names]
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        shown = {
            name: command for name, command in commands.items() if command and not command.hidden
        }
        if self.every or not sections:
            if sections:
                title = "Rarely needed"
            else:
                title = "Commands"
            sections[title] = [name for name in shown if name not in listed]
        for title, names in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, shown[name].get_short_help_str()) for name in names])

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """In the order of definition; a second name of a command is not listed."""
        names = [name for name, command in self.commands.items() if command.name == name]
        for name, (row, _) in self.added.items():
            put_behind(names, row.after, name)
        return names


def put_behind(names: list[str], before: str, name: str) -> None:
    """Put a name behind another one of a list, at the end where that is not in it."""
    if before in names:
        place = names.index(before) + 1
    else:
        place = len(names)
    names.insert(place, name)


Group.group_class = Group


class LazyGroup(Group):
    """The root: a group below it is imported only when called.

    `lazy` maps its name to `module:attribute` and help.

    `short` maps a short name to the group, as `module:attribute`, and the name of the command
    there.
    """

    def __init__(
        self,
        *args: Any,
        lazy: Places,
        short: Places,
        everyday: Sequence[tuple[str, str]],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lazy, self.short, self.everyday = lazy, short, everyday

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """The names, without importing anything."""
        return [*self.lazy, *(row.words[0] for row, _ in extensions.commands() if row.help)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import the group now."""
        for row, added in extensions.commands():
            if row.words == (cmd_name,):
                return cast("click.Command", extensions.load(added))
        place, name = self.short.get(cmd_name) or (self.lazy.get(cmd_name, ("", ""))[0], "")
        module, _, attribute = place.partition(":")
        if not module:
            return None
        command: click.Command = getattr(import_module(module), attribute)
        if name and isinstance(command, click.Group):
            return command.commands[name]
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Everyday commands, groups, options."""
        with formatter.section("Every day"):
            formatter.write_dl(self.everyday, col_max=48)
        texts = {}
        for name, (_, text) in self.lazy.items():
            texts[name] = text
        texts |= {row.words[0]: row.help for row, _ in extensions.commands() if row.help}
        with formatter.section("All commands"):
            formatter.write_dl([(f"{name} --help", text) for name, text in texts.items()])
        everyday = {example.split(" ")[0] for example, _ in self.everyday}
        with formatter.section("Short forms"):
            formatter.write_text(", ".join(name for name in self.short if name not in everyday))
        HelpfulCommand.format_options(self, ctx, formatter)


def programs() -> dict[str, Group]:
    """The programs that features add, by name."""
    programs: dict[str, Group] = {}
    for name, place in extensions.named("programs").items():
        programs[name] = extensions.load(place)
    return programs


def walk(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group with the words that call it, in the order of the help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from walk(command, *path, name)
        elif command is not None:
            yield (*path, name), command


class Call:
    """Global options, and what a command needs beyond its own arguments.

    `tool`: an agent calls it over MCP, `connection` says in which connection where that is known.
    """

    tool: ClassVar[bool] = False
    connection: str = ""
    repo: str | None = None
    tier: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    bars: ProgressDisplay | None = None
    # The command may take minutes, so that it says how far it is without a terminal, too
    long: bool = False

    def __init__(self, *, json: bool = False) -> None:
        self.json = json

    @cached_property
    def settings(self) -> Settings:
        """Read when a command first needs them."""
        from ai_lessons.settings import load

        return load(os.environ, repo=self.repo, tier=self.tier)

    @property
    def root(self) -> Path:
        """The folder of the knowledge repository."""
        return self.settings.repo

    def options(self) -> Options:
        """The library's options for this user and this terminal."""
        chosen = library_options(self.settings)
        if is_terminal(sys.stderr) and not self.quiet and not self.json:
            self.bars = ProgressDisplay()
            click.get_current_context().find_root().call_on_close(self.bars.finish)
            chosen = chosen._replace(progress=self.bars.show)
        elif self.long and not self.quiet:
            chosen = chosen._replace(progress=ProgressLines().show)
        if self.can_ask and not self.settings.agent:
            return chosen._replace(ask_trust=ask_trust, ask_keys=ask_keys, ask_source=ask_source)
        return chosen

    @cached_property
    def library(self) -> Library:
        """The library on the repository, closed when the program ends."""
        return (
            click.get_current_context()
            .find_root()
            .with_resource(app.workspace.Library(self.root, self.options()))
        )

    @cached_property
    def ask(self) -> DaemonClient:
        """Runs jobs that only read, in the helper if it is warm."""
        if self.tool:
            library_options = self.library.options
        else:
            library_options = self.options()
        return app.daemon_client.DaemonClient(
            self.root, library_options, lambda: self.library, held=self.tool
        )

    @property
    def can_ask(self) -> bool:
        """Whether a person can answer a question (stdout may be a pipe)."""
        return is_terminal(sys.stdin) and is_terminal(sys.stderr) and not self.json

    def sure(self, question: str) -> bool:
        """Whether a person says yes at a terminal; nobody else can."""
        return (
            self.can_ask and not self.settings.agent and confirm("Is that right?", line(question))
        )

    @property
    def caller(self) -> str:
        """Who writes: `user` at a terminal, if the settings name no agent, else `ai`.

        One of the three streams may be a file or a pipe; a program that captures what is printed
        holds two of them.
        """
        # A script of a person and an agent of a host that sets no variable look alike without a
        # terminal. An agent's words with a person's standing are told to every agent, and nobody
        # would find out; so a person's script has to say `--from user`.
        terminals = sum(map(is_terminal, (sys.stdin, sys.stdout, sys.stderr)))
        if not self.by_agent and terminals > 1:
            return "user"
        return "ai"

    @property
    def by_agent(self) -> bool:
        """Whether an agent calls, as a tool or as the settings say."""
        return self.tool or bool(self.settings.agent)

    @property
    def view(self) -> View:
        """How to draw on what stdout is."""
        roots = {}
        for tier in (*self.settings.places.known, *self.settings.places.reads):
            roots[tier.name] = str(tier.root)
        home, verbose = "" if self.tool else os.path.expanduser("~"), self.tool or self.verbose
        view = View(root=str(self.root), home=home, roots=roots, verbose=verbose)
        if self.tool or not is_terminal(sys.stdout):
            return view
        from datetime import UTC, datetime

        colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return view._replace(width=_size()[0], colour=colour, now=datetime.now(UTC))

    def answer(
        self,
        value: T,
        text: Callable[[T, View], str],
        data: Callable[[T], object] | None = None,
        *,
        paged: bool = False,
    ) -> None:
        """Print a value as text or, with `--json`, as `data`; notes go to stderr.

        An agent that calls a command that is a tool, too, gets text and notes behind the line that
        says what is data.
        """
        if self.bars:
            self.bars.finish()
        if self.json:
            click.echo(output.dump(data(value) if data else value))
            return
        tool = getattr(click.get_current_context().command, "tool", None)
        if tool and self.settings.agent:
            click.echo(self.for_agents(tool, value, text))
        else:
            self.say(self.view.fit(text(value, self.view)), paged=paged)
            self.note(notes_of(value))

    def for_agents(self, tool: Tool, value: T, text: Callable[[T, View], str]) -> AgentText:
        """The text of an answer and its notes behind the line that says what is data."""
        words, notes = (
            text(value, BARE if tool.notice else self.view),
            [] if self.quiet else notes_of(value),
        )
        if is_nothing(value) and not notes:
            return output.behind("", words)
        return output.answered(tool.notice, self.settings.whereabouts, words, notes)

    def interrupted(self) -> None:
        """Raise if the caller has cancelled the call."""

    def say(self, text: str, *, paged: bool = False) -> None:
        """Print text on stdout; through the pager if it is `paged` and higher than the terminal."""
        terminal = is_terminal(sys.stdout) and is_terminal(sys.stdin)
        if paged and terminal and text.count("\n") + 2 > _size()[1]:
            os.environ.setdefault("LESS", "FRX")
            click.echo_via_pager(text, color=self.view.colour)
        else:
            click.echo(text, color=self.view.colour)

    def exactly(self, text: str) -> None:
        """Print text as it is, for programs that read our pipe.

        No newline added, nothing escaped.
        """
        click.echo(text.encode("utf-8", "surrogateescape"), nl=False)

    def note(self, notes: Iterable[str]) -> None:
        """Print notes on stderr, unless `-q`; for agents below the line that says what is data."""
        if self.quiet:
            rows = []
        else:
            rows = [f"note: {line(note)}" for note in dict.fromkeys(notes)]
        if rows and self.settings.agent:
            rows = [output.behind(output.DATA, *map(output.short_note, rows))]
        for row in rows:
            remark(row)

    def edit_until_valid(
        self, job: Callable[[Edits], T], nothing: str = "nothing was changed"
    ) -> T:
        """Run a job that edits, until its text is accepted or the user gives up.

        Then the text is saved.

        `nothing` is the note where the job returns None.
        """
        edits = Edits()
        while True:
            try:
                result = job(edits)
            except AiLessonsError as error:
                if edits.text is None:
                    raise
                if self.can_ask:
                    click.echo(f"error: {clean(error.message)}", err=True)
                    if click.confirm("Edit again?", default=True, err=True):
                        continue
                    # the problem was shown before the question
                    error.message = "the edit was not written"
                error.hint = (
                    f"your text is kept in {edits.keep(self.settings.folders.state / 'edits')}"
                )
                raise
            if result is None:
                self.note([nothing])
            return result


def remark(text: str) -> None:
    """Print a line on stderr, wrapped where that is a terminal."""
    click.echo(
        View(width=_size(2)[0] if is_terminal(sys.stderr) else None).fit(text),
        err=True,
    )


def _size(stream: int = 1) -> tuple[int, int]:
    """Columns and lines of the terminal, without `shutil`, which imports every compression module."""
    try:
        columns, lines = os.get_terminal_size(stream)
    except OSError:
        # it is no terminal
        columns = lines = 0
    wide, high = (
        int(text) if text.isdecimal() else 0
        for text in map(os.environ.get, ("COLUMNS", "LINES"), ("", ""))
    )
    return wide or columns or 80, high or lines or 24


def is_nothing(value: object) -> bool:
    """Whether an answer is no more than a line of ours, below which no content stands."""
    return bool(getattr(value, "nothing", False))


def notes_of(value: object) -> list[str]:
    """The notes of an answer or of several, but for one that is the answer."""
    if is_nothing(value):
        return list(getattr(value, "notes", ()))[1:]
    answers: Iterable[object] = (value,)
    if isinstance(value, tuple | list) and not hasattr(value, "notes"):
        # an answer may be a tuple itself
        answers = value
    results: list[str] = []
    for answer in answers:
        for note in getattr(answer, "notes", ()):
            results.append(note)
    return results


class ProgressLines:
    """As `ProgressDisplay`, where stderr is no terminal: a line now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def show(self, what: str, done: int, total: int) -> None:
        """Say how far it is, unless that was said within the last seconds."""
        if time.monotonic() - self._last >= 10.0:
            # between two lines of progress where there is no terminal
            self._last = time.monotonic()
            remark(f"{line(what)}: {done:,} of {total:,}")


class ProgressDisplay:
    """One bar at a time, as a `Progress` callable.

    For one thread; only where stderr is a terminal.
    """

    def __init__(self) -> None:
        self._what, self._since, self.at = "", 0.0, ""
        self._bar: ProgressBar[int] | None = None

    def show(self, what: str, done: int, total: int) -> None:
        """Show `done` of `total` steps of `what`, as a line if `total` is 0.

        Another `what` begins another bar.
        """
        if what != self._what:
            self.finish()
            self._what, self._since = what, time.monotonic()
            if not total:
                remark(f"{line(what)} …")
        self.at = f" at {line(what).lower()}" + (f", {done:,} of {total:,}" if total else "")
        # a bar that flashes for less than half a second only disturbs
        if self._bar is None and done < total and time.monotonic() - self._since > 0.4:
            # beside its name a bar needs 34 cells for its frame, both numbers, and how long it
            # takes
            room = max(4, min(36, _size(2)[0] - len(what) - 34))
            self._bar = click.progressbar(
                length=total, label=line(what), file=sys.stderr, show_pos=True, width=room
            )
            self._bar.render_progress()
        if self._bar is not None:
            self._bar.length = total
            self._bar.update(max(done - self._bar.pos, 0))

    def finish(self) -> None:
        """End the line of the bar."""
        if self._bar is not None:
            self._bar.render_finish()
        self._bar, self._what = None, ""

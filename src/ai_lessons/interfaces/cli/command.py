"""Commands and groups, as click has them, with our help, examples, tools and short names.

Begin with `Command`; `Tool` says how agents call one.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from itertools import chain, takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

import click

from ai_lessons import extensions
from ai_lessons.errors import Interrupted
from ai_lessons.extensions import CommandRow

if TYPE_CHECKING:
    from ai_lessons.model.entries import Kind


Places: TypeAlias = Mapping[str, tuple[str, str]]
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
    kinds: "tuple[Kind, ...]" = ()
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
    first. `measured`: as what features count and time it, see `interfaces.measures`.
    """

    alias_of: str | None = None

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = ("",),
        tool: Tool | None = None,
        common: str = "",
        measured: str = "",
        **kwargs: Any,
    ) -> None:
        self.examples, self.tool, self.common = examples, tool, tuple(common.split())
        self.measured = measured
        kwargs["params"] = kwargs["params"] + global_options(hidden=True)
        kwargs["callback"] = click.pass_obj(kwargs["callback"])
        kwargs["context_settings"] = CONTEXT
        super().__init__(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it. Raises Interrupted: Ctrl-C was pressed."""
        if not self.measured:
            return self._run(ctx)
        from ai_lessons.interfaces.measures import measured

        with measured(self.measured, os.environ) as figures:
            if figures is not None:
                ctx.obj.figures = figures
                if self.tool and ctx.obj.tool:
                    figures["tool"] = self.tool.name
            return self._run(ctx)

    def _run(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            bars = getattr(ctx.obj, "bars", None)
            # a call without a bar of progress was not yet at any step that has a name
            raise Interrupted(getattr(bars, "at", "")) from error

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
    """An older name of a command, which the help of its group does not list.

    It has a help and examples of its own. Some `options` are set by it; its help shows neither
    these nor those of `hides`, which say nothing here. Agents may have it as a tool.
    """

    name: str
    command: str
    help: str
    examples: Sequence[str]
    options: Mapping[str, Any] = MappingProxyType({})
    hides: Sequence[str] = ()
    tool: Tool | None = None

    def of(self, command: Command) -> Command:
        """The command by this name. Where kinds of entries are set, it takes no others."""
        from copy import copy

        alias = copy(command)
        alias.name, alias.alias_of = self.name, command.name
        alias.help, alias.examples = self.help, self.examples
        alias.hidden, alias.tool = True, self.tool
        # copies, because the command keeps its own defaults
        alias.params = list(map(copy, command.params))
        for param in alias.params:
            if param.name in self.options:
                self._set(param, self.options[param.name])
            elif param.name in self.hides and isinstance(param, click.Option):
                param.hidden = True
        return alias

    @staticmethod
    def _set(param: click.Parameter, value: Any) -> None:
        """Set what the older name sets; of a choice of kinds these are left to choose from."""
        param.default = value
        if isinstance(param.type, click.Choice):
            param.type = click.Choice(value)
        if isinstance(param, click.Option):
            if isinstance(param.type, click.Choice):
                param.help = f"Only this kind ({', '.join(value)}); may be given again."
            else:
                param.hidden = True


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
        options = list(takewhile(lambda word: word.startswith("-"), args))
        command = args[len(options) :]
        self.every = bool(self.sections) and "--all" in options
        if self.every:
            options = [word for word in options if word != "--all"]
        return super().parse_args(ctx, options + command)

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
        commands = self._commands_of_the_help(ctx)
        sections: dict[str, list[str]] = {}
        for title, words in self.sections.items():
            sections[title] = words.split()
        for name, (row, _) in self.added.items():
            if row.section:
                put_behind(sections[row.section], row.after, name)
        if not sections:
            sections["Commands"] = list(commands)
        elif self.every:
            listed = set(chain.from_iterable(sections.values()))
            sections["Rarely needed"] = [name for name in commands if name not in listed]
        for title, names in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, commands[name].get_short_help_str()) for name in names])

    def _commands_of_the_help(self, ctx: click.Context) -> dict[str, click.Command]:
        """Every command that is not hidden, as an alias is."""
        commands: dict[str, click.Command] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command and not command.hidden:
                commands[name] = command
        return commands

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

# The heading of the help under which a feature may have a short name
SHORT_FORMS = "Short forms"


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
        return list(self._helps())

    def _helps(self) -> dict[str, str]:
        """The line of each group and of each command of a feature; a short name has none."""
        texts: dict[str, str] = {}
        for name, (_, text) in self.lazy.items():
            texts[name] = text
        for row, _ in extensions.commands():
            if row.help and not row.example:
                texts[row.words[0]] = row.help
        return texts

    def _every_day(self) -> list[tuple[str, str]]:
        """The calls of every day, with those of features in their places."""
        calls = list(self.everyday)
        for row, _ in extensions.commands():
            if row.example:
                before = [n for n, (call, _) in enumerate(calls) if call.startswith(row.after)]
                calls.insert(max(before) + 1, (row.example, row.help))
        return calls

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import the group now."""
        for row, added in extensions.commands():
            if row.words == (cmd_name,):
                return cast("click.Command", extensions.load(added))
        place, name = self.short.get(cmd_name) or (self.lazy.get(cmd_name, ("", ""))[0], "")
        module, _, attribute = place.partition(":")
        if not module:
            return self._of_one_group(cmd_name)
        command: click.Command = getattr(import_module(module), attribute)
        if name and isinstance(command, click.Group):
            return command.commands[name]
        return command

    def _of_one_group(self, word: str) -> click.Command | None:
        """The command of this name, or that alone begins with this word, in a group below this one.

        None where no command, or more than one, may be meant: `import`, and `reject` for `reject-rule`.
        """
        named: list[click.Command] = []
        begun: list[click.Command] = []
        for path, command in walk(self):
            if command.hidden or getattr(command, "alias_of", None):
                continue
            if path[1:] == (word,):
                named.append(command)
            elif len(path) > 1 and path[1].startswith(f"{word}-"):
                begun.append(command)
        meant = named or begun
        return meant[0] if len(meant) == 1 else None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Everyday commands, groups, options."""
        with formatter.section("Every day"):
            formatter.write_dl(self._every_day(), col_max=48)
        with formatter.section("All commands"):
            formatter.write_dl([(f"{name} --help", text) for name, text in self._helps().items()])
        short = dict.fromkeys(self.short)
        for row, _ in extensions.commands():
            if row.section == SHORT_FORMS:
                short[row.words[0]] = None
        # the section for every day has shown these with an example each
        for example, _ in self._every_day():
            short.pop(example.split(" ")[0], None)
        with formatter.section(SHORT_FORMS):
            formatter.write_text(", ".join(short))
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

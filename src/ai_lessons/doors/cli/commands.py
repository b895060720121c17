"""Classes for commands and groups: help with examples, global options after the command, lazily loaded groups."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from ai_lessons.doors.terminal import line
from ai_lessons.errors import Interrupted
from ai_lessons.knowledge.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Rows = Sequence[tuple[str, str]]
    Places = Mapping[str, tuple[str, str]]

CommandT = TypeVar("CommandT", bound="click.Command | Callable[..., Any]")
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Argument(NamedTuple):
    """One argument of a tool: the name that agents see, and that of the command's parameter where it differs.

    `single`: an agent gives one value where people may give many. `note` describes it, `default` holds if it is absent.
    """

    name: str
    parameter: str = ""
    single: bool = False
    note: str = ""
    default: str | float | None = None


class Tool(NamedTuple):
    """How agents call a command over MCP.

    `takes` has the arguments in the order that an agent sees; a string is the name of a parameter. `answer` gives the
    type of the answer, or is the key under which an array stands. `description` replaces the help's first sentence.
    `notice` stands above the answer. `kinds` of entries are what a search may find.
    """

    name: str
    takes: Sequence[str | Argument]
    answer: Callable[[], type] | str
    description: str = ""
    notice: str = ""
    kinds: tuple[Kind, ...] = tuple(Kind)
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False  # Calling it once more with the same arguments changes nothing more
    alone: bool = False  # It may take long and shares nothing with other calls

    def headline(self, root: str) -> str:
        """The first line of an answer from this repository; empty for a tool without a notice."""
        return f"From the knowledge repository {line(root)}. {self.notice}" if self.notice else ""


class HelpfulCommand(click.Command):
    """A command whose help neither truncates nor misaligns."""

    def get_short_help_str(self, limit: int = 45) -> str:  # noqa: ARG002  # click's signature
        """In a list of commands, the whole first sentence."""
        first = (self.help or "").partition("\n\n")[0]
        return " ".join(first.split()).partition(". ")[0].rstrip(".") + "."

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options in one column; click breaks the alignment where one is longer than 30 letters."""
        records = [param.get_help_record(ctx) for param in self.get_params(ctx) if isinstance(param, click.Option)]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record], col_max=36)


class Command(HelpfulCommand):
    """A command whose help ends with examples, and that takes the global options too; perhaps a `tool` for agents.

    An example is what follows the command, or has `{}` in its place. The function gets the `Call` first.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = ("",), tool: Tool | None = None, **kwargs: Any) -> None:
        self.examples, self.tool = examples, tool
        params, callback = kwargs["params"] + global_options(hidden=True), click.pass_obj(kwargs["callback"])
        super().__init__(*args, **kwargs | {"params": params, "callback": callback, "context_settings": CONTEXT})

    def invoke(self, ctx: click.Context) -> Any:
        """Run it. Raises Interrupted: Ctrl-C was pressed."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            bars = getattr(ctx.obj, "bars", None)
            raise Interrupted(bars.at if bars else "") from error

    def typed(self, command: str) -> list[str]:
        """The examples as they are typed where `command` calls this command."""
        return [
            example.format(command) if "{}" in example else f"{command} {example}".rstrip() for example in self.examples
        ]

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
    """The options of a program, which each command takes, too; its help shows only `--json` (`hidden`)."""
    common: dict[str, Any] = {"expose_value": False, "callback": _remember, "is_eager": True}
    minor = {"hidden": hidden, **common}
    repo = "Knowledge repository (or AI_LESSONS_REPO; default ~/.ai/reference)."
    return [
        click.Option(["--repo"], metavar="PATH", help=repo, **minor),
        click.Option(["--tier"], metavar="TIER", help="Repository by tier: project, user or enterprise:NAME.", **minor),
        click.Option(["--json"], is_flag=True, help="Print data instead of text; errors too.", **common),
        click.Option(["-q", "--quiet"], is_flag=True, help="No notes, no progress.", **minor),
        click.Option(["-v", "--verbose"], is_flag=True, help="Show every detail of each result.", **minor),
    ]


def show_version(program: CommandT) -> CommandT:
    """Give a program its `--version`."""
    return click.version_option(package_name="ai-lessons", message="%(prog)s %(version)s", help="Print the version.")(
        program
    )


class Group(HelpfulCommand, click.Group):
    """A group of commands in the order of definition; its help may have `sections` of them."""

    command_class = Command

    def __init__(self, *args: Any, sections: Mapping[str, str] = MappingProxyType({}), **kwargs: Any) -> None:
        super().__init__(*args, context_settings=CONTEXT, **kwargs)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options, then the commands of each section."""
        super().format_options(ctx, formatter)
        shown = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        for title, names in (self.sections or {"Commands": " ".join(shown)}).items():
            with formatter.section(title):
                rows = ((name, self.commands[name].get_short_help_str()) for name in names.split())
                formatter.write_dl(list(rows))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """In the order of definition; a second name of a command is not listed."""
        return [name for name, command in self.commands.items() if command.name == name]


Group.group_class = Group


class LazyGroup(Group):
    """The root: a group below it is imported only when called; `lazy` maps its name to `module:attribute` and help.

    `short` maps a short name to the group, as `module:attribute`, and the name of the command there.
    """

    def __init__(
        self, *args: Any, lazy: Places, short: Places, everyday: Sequence[tuple[str, str]], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lazy, self.short, self.everyday = lazy, short, everyday

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """The names, without importing anything."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import the group now."""
        place, name = self.short.get(cmd_name) or (self.lazy.get(cmd_name, ("", ""))[0], "")
        module, _, attribute = place.partition(":")
        if not module:
            return None
        command: click.Command = getattr(import_module(module), attribute)
        return command.commands[name] if name and isinstance(command, click.Group) else command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Everyday commands, groups, options."""
        with formatter.section("Every day"):
            formatter.write_dl(self.everyday, col_max=48)
        with formatter.section("All commands"):
            formatter.write_dl([(f"{name} --help", text) for name, (_, text) in self.lazy.items()])
        HelpfulCommand.format_options(self, ctx, formatter)


def walk(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group with the words that call it, in the order of the help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from walk(command, *path, name)
        elif command is not None:
            yield (*path, name), command

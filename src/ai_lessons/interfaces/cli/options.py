"""Options and arguments that several commands share.

Their types, and what the shell offers after TAB.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from functools import reduce
from typing import TYPE_CHECKING, Any

import click

from ai_lessons import app, settings
from ai_lessons.errors import UsageError
from ai_lessons.interfaces import library_options
from ai_lessons.interfaces.cli.call import Call
from ai_lessons.interfaces.output import line
from ai_lessons.model import expression, lessons
from ai_lessons.model.entries import (
    OF_LESSONS,
    Category,
    Confidence,
    Kind,
    Relation,
    Source,
    Status,
)
from ai_lessons.model.versions import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from enum import StrEnum

    from click.shell_completion import CompletionItem

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]
    Function = Callable[..., Any]
    Option = Callable[[Function], Function]


def words(text: str) -> tuple[str, ...]:
    """`a, b,a` -> `("a", "b")`.

    The parts between commas, without blanks and repetitions, in their order.
    """
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def changes(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an update that were given; an empty text in a list clears it.

    Raises UsageError: none was.
    """
    fields = {}
    for name, value in values.items():
        if value is not None and (value != () or name == "tags"):
            fields[name] = value
    if not fields:
        raise UsageError("nothing to change was given", hint="see the same command with --help")
    return {
        name: tuple(filter(None, value)) if isinstance(value, tuple) else value
        for name, value in fields.items()
    }


class FileName(click.Path):
    """A file, folder or glob, which the shell completes; whether it exists is not checked."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002  # click's signature
        """The value unchanged."""
        return value


def context_tags(text: str) -> dict[str, float | None]:
    """`reviewer,jira-api=1.5` -> `{"reviewer": None, "jira-api": 1.5}`.

    Tags of a situation, with their weights.
    """
    weights: dict[str, float | None] = {}
    for part in words(text):
        tag, equals, number = (piece.strip() for piece in part.partition("="))
        if not tag:
            raise click.BadParameter(f"{part!r} has no tag before '='")
        if tag in weights:
            raise click.BadParameter(f"{tag!r} is given twice")
        if equals and not re.fullmatch(r"\d{1,3}(\.\d+)?|\.\d+", number):
            raise click.BadParameter(
                f"the weight of {tag!r} must be a number from 0 to 999 like 1.5, not {number!r}"
            )
        weights[tag] = float(number) if equals else None
    return weights


class OneOf(click.Choice[str]):
    """One value of an enumeration, in any case and with `-` or `_`, as it is written in files."""

    def __init__(self, values: Iterable[StrEnum], name: str) -> None:
        super().__init__([value.value for value in values])
        self.metavar, self.listed = name.upper(), ", ".join(self.choices)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value as it is written in files."""
        folded = str(value).strip().lower().replace("-", "_")
        spelled = next(
            (choice for choice in self.choices if choice.replace("-", "_") == folded), value
        )
        return super().convert(spelled, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002  # click's signature
        """One word; the values stand in the help text, where they can be wrapped."""
        return self.metavar


class OneOrPair(click.Choice[str]):
    """One of some words, or `ID=WORD`."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """A pair as it is."""
        if "=" in value:
            return value
        return super().convert(value, param, ctx)


def new_link(text: str) -> tuple[str, str]:
    """`ID`, or `RELATION=ID`: relation and target.

    No relation means the one that fits the kind of the target.
    """
    relation, equals, target = text.partition("=")
    if equals and not target.strip():
        raise click.BadParameter(f"{text!r} names no entry after '='")
    if equals:
        return (RELATION.convert(relation.strip(), None, None), target.strip())
    return ("", text)


HARMLESS = expression(r"[\w./@:+-]+")


def offer(what: str, *, listed: bool = False) -> Completer:
    """A completer for ids, projects, tags or versions.

    `listed` completes the part after the last comma.
    """

    def complete(
        ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if listed else ("", "", incomplete)
        call = ctx.find_root().obj or Call()
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                chosen = settings.load(os.environ, repo=call.repo, tier=call.tier)
                with app.workspace.Library(chosen.repo, library_options(chosen)) as library:
                    candidates = list(app.entries.complete(library, last, what))
        except Exception:  # noqa: BLE001  # an error on stderr would break the line that is being typed
            return []
        results: list[CompletionItem[str]] = []
        for value, about in candidates:
            if HARMLESS.fullmatch(value):
                results.append(CompletionItem(before + comma + value, help=line(about) or None))
        return results

    return complete


KINDS = click.Choice([kind.value for kind in Kind])
RESOURCES = click.Choice([kind.value for kind in Kind if kind.is_resource])
ORIGINS = click.Choice(["ai", "user"])
FILE_NAME = FileName()

id_argument = click.argument("ref", metavar="ID", shell_complete=offer("id"))
origin_option = click.option(
    "--from", "origin", type=ORIGINS, help="Who states it (default: the caller)."
)
ids_argument = click.argument(
    "refs", metavar="ID...", nargs=-1, required=True, shell_complete=offer("id")
)


def project_named(_ctx: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """A project by its name, or by a scope as groove writes it (`project:PATH`, `user:NAME`)."""
    if name:
        return lessons.place_of(name).project
    return name


project_option = click.option(
    "--project",
    metavar="P",
    callback=project_named,
    help="Project: the first folder.",
    shell_complete=offer("project"),
)


def _reasons(
    ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> list[tuple[str, str]]:
    """`MARK=REASON` as pairs; the library refuses what is missing."""
    if values:
        call = ctx.find_object(Call) or Call()
        call.options().refuse_agents("allow a secret", "the same command with --allow-secret")
    reasons: list[tuple[str, str]] = []
    for mark, _, reason in (value.partition("=") for value in values):
        reasons.append((mark, reason))
    return reasons


SECRET = "Keep what looks like a secret; the error names the mark."  # noqa: S105  # none
allow_secret_option = click.option(
    "--allow-secret",
    "allow_secrets",
    metavar="MARK=REASON",
    multiple=True,
    callback=_reasons,
    help=SECRET,
)


def stack(*options: Option) -> Option:
    """Several options as one, in their order."""
    return lambda command: reduce(
        lambda decorated, option: option(decorated), reversed(options), command
    )


def several(*names: str, text: str, **settings: Any) -> Option:
    """An option of texts that may be given again."""
    return click.option(*names, multiple=True, help=f"{text} may be given again.", **settings)


def _version_option(text: str) -> Option:
    def flat(
        _ctx: click.Context, _option: click.Parameter, values: tuple[tuple[str, ...], ...]
    ) -> tuple[str, ...]:
        return tuple(dict.fromkeys(version for value in values for version in value))

    complete = offer("version", listed=True)
    return several(
        "--version",
        "versions",
        text=text,
        type=listed,
        metavar="V",
        callback=flat,
        shell_complete=complete,
    )


def _kinds(
    _ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> frozenset[Kind]:
    """The kinds of a repeated `--type`; none for all."""
    return frozenset(map(Kind, values))


TAGS = offer("tag", listed=True)
tags_option = click.option(
    "--tags", type=words, metavar="A,B", default="", help="Tags, with commas.", shell_complete=TAGS
)
new_tags_options = stack(
    click.option(
        "--tags", type=words, metavar="A,B", help="Replace all tags.", shell_complete=TAGS
    ),
    click.option("--add-tags", type=words, metavar="A,B", default="", help="Tags to add."),
    click.option("--remove-tags", type=words, metavar="A,B", default="", help="Tags to remove."),
)
version_option = _version_option("Version;")
taken_version_option = _version_option(
    "Version, or auto: as the folder of the file is called (v1, 2.4.x);"
)
asked_version_option = _version_option(
    "Version or range (v3, 3.x, '>=1.4 <2'), or auto: the versions that your code uses;"
)
type_option = several(
    "--type",
    "--kind",
    "kinds",
    metavar="KIND",
    text=f"Only this kind ({', '.join(Kind)});",
    type=KINDS,
    callback=_kinds,
)
limit_option = click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    callback=lambda _ctx, _option, value: value or 0,
    help="Most results; default: 5, and more near the best.",
)
SITUATION = "Tags of what you are doing, e.g. reviewer,jira-api=1.5; entries with them rank higher."
context_tags_option = click.option(
    "--context-tags",
    type=context_tags,
    metavar="T,T=W",
    default="",
    help=SITUATION,
    shell_complete=TAGS,
)
explain_option = click.option("--explain", is_flag=True, help="Show every factor of a score.")
content_options = stack(
    click.option("--content", metavar="C", help="The text; - reads standard input."),
    click.option(
        "--file",
        "file",
        metavar="F",
        type=click.Path(),
        help="The text is in this file; - as above.",
    ),
)


RELATION = OneOf(Relation, "relation")
CONFIDENCE = OneOf(Confidence, "level")
SOURCE = OneOf(Source, "source")
CATEGORY = OneOf(Category, "category")
STATUS, ANY_STATUS = OneOf(OF_LESSONS, "status"), OneOf(Status, "status")

"""Options and arguments that several commands share."""

from __future__ import annotations

import click

from ai_lessons.doors.cli.call import Call
from ai_lessons.doors.cli.completion import offer
from ai_lessons.doors.cli.parsing import ContextTags, OneOf, VersionList, Words
from ai_lessons.knowledge import origins
from ai_lessons.knowledge.entries import Category, Confidence, Kind, Source, Status

KINDS = click.Choice([kind.value for kind in Kind])
RESOURCES = click.Choice([kind.value for kind in Kind if kind.is_resource])
WORDS = Words()

id_argument = click.argument("ref", metavar="ID", shell_complete=offer("id"))
ids_argument = click.argument("refs", metavar="ID...", nargs=-1, required=True, shell_complete=offer("id"))


def project_named(_ctx: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    """A project by its name, or by a scope as groove writes it (`project:PATH`, `user:NAME`)."""
    return origins.project_named(given) if given else given


project_option = click.option(
    "--project",
    metavar="P",
    callback=project_named,
    help="Project: the first folder.",
    shell_complete=offer("project"),
)


def _reasons(ctx: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> list[tuple[str, str]]:
    """`MARK=REASON` as pairs; what is missing is the library's to name, which also looks at what files allow."""
    if given:
        call = ctx.find_object(Call) or Call()
        call.options().refuse_agents("allow a secret", "the same command with --allow-secret")
    return [(mark, reason) for mark, _, reason in (one.partition("=") for one in given)]


allow_secret_option = click.option(
    "--allow-secret",
    "allow_secrets",
    metavar="MARK=REASON",
    multiple=True,
    callback=_reasons,
    help="Keep what looks like a secret; the refusal tells the mark.",
)

tags_option = click.option(
    "--tags", type=WORDS, metavar="A,B", default="", help="Tags, with commas.", shell_complete=offer("tag", listed=True)
)
version_option = click.option(
    "--version",
    "versions",
    type=VersionList(),
    metavar="V",
    multiple=True,
    help="Version; may be given again.",
    shell_complete=offer("version", listed=True),
)
asked_version_option = click.option(
    "--version",
    "versions",
    type=VersionList(),
    metavar="V",
    multiple=True,
    help="Version or range (v3, 3.x, '>=1.4 <2'), or auto: those that your code uses; may be given again.",
    shell_complete=offer("version", listed=True),
)
type_option = click.option("--type", "kinds", type=KINDS, multiple=True, help="Only this kind; may be given again.")
resource_type_option = click.option("--type", "kinds", type=RESOURCES, multiple=True, help="Only docs or only scripts.")
limit_option = click.option(
    "--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Most results."
)
context_tags_option = click.option(
    "--context-tags",
    type=ContextTags(),
    metavar="T,T=W",
    default="",
    help="Tags of what you are doing, e.g. reviewer,jira-api=1.5: entries with them rank higher.",
    shell_complete=offer("tag", listed=True),
)
explain_option = click.option("--explain", is_flag=True, help="Show every factor of a score.")
content_options = (
    click.option("--content", metavar="C", help="The text; - reads standard input."),
    click.option("--file", "file", metavar="F", type=click.Path(), help="The text is in this file; - as above."),
)
CONFIDENCE = OneOf(Confidence, "level")
SOURCE = OneOf(Source, "source")
CATEGORY = OneOf(Category, "category")
STATUS = OneOf(Status, "status")

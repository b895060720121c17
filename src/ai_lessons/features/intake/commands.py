"""The commands `contribute add-resource` and `contribute refresh`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ai_lessons.app.written import Imported
from ai_lessons.errors import UsageError
from ai_lessons.features.intake import texts
from ai_lessons.interfaces import text_jobs
from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Alias, Argument, Command, Tool
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call

ANSWER = Imported
private_option = click.option(
    "--allow-private",
    is_flag=True,
    help="Also addresses of this machine and its network, at the host and port of the URL.",
)


RESOURCE_ARGUMENTS: list[str | Argument] = [
    Argument("type", "kind", required=True), Argument("path", "paths", single=True, note="file, folder or glob"),
    "title", "versions", "project", "tags", "recursive",
]  # fmt: skip


@click.command(
    "add-resource",
    cls=Command,
    examples=[
        'WorkflowsApi.md --title "Workflows API" --version v3',
        "--type script --path update-workflow.sh --version v2 --version v3",
        "v1 v2 --recursive --version auto --project handbook",
        "--url https://example.org/retries.html",
    ],
    tool=Tool(
        "add_resource",
        RESOURCE_ARGUMENTS,
        lambda: Imported,
        "Keep a doc or a script from the file system.",
        repeatable=True,
    ),
)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=options.FILE_NAME)
@click.option(
    "--type",
    "--kind",
    "kind",
    type=options.RESOURCES,
    help="A doc is copied, a script can be run; default: by how the file begins.",
)
@options.several(
    "--path", "paths", metavar="P", type=options.FILE_NAME, text="File, folder or glob;"
)
@options.several("--url", "urls", metavar="U", text="Web page, or sitemap with --recursive;")
@private_option
@click.option("--title", metavar="T", help="Default: the first heading, else the file name.")
@options.taken_version_option
@options.project_option
@options.tags_option
@click.option("--recursive", is_flag=True, help="Everything below a folder, in one commit.")
@click.option(
    "--exclude",
    metavar="GLOB",
    multiple=True,
    help="Files or folders to leave; may be given again.",
)
@click.option("--in-place", is_flag=True, help="Leave a script where it is and store its path.")
@click.option("--preview", is_flag=True, help="Only show how the text would be split.")
@options.allow_secret_option
def add_resource(
    call: Call, /, files: tuple[str, ...], kind: str | None, preview: bool, **fields: Any
) -> None:
    """Add docs or scripts: a snapshot with the commit, or the date, that it was taken from.

    HTML, PDF and Word documents become Markdown; that and --url need the extra
    `ai-lessons[intake]`.
    """
    # what reads documents takes time to load, which `--help` need not wait for
    from ai_lessons.features.intake import jobs
    from ai_lessons.features.intake.plan import ResourceDraft

    paths = fields["paths"] = (*files, *fields["paths"])
    if kind:
        chosen = Kind(kind)
    else:
        chosen = jobs.kind_of(call.settings.cwd, paths)
    draft = ResourceDraft(kind=chosen, **fields)
    if not (draft.paths or draft.urls):
        raise UsageError("nothing is named to add", hint="name a FILE, or --url U")
    if preview:
        call.answer(jobs.preview(call.library, draft), texts.previews)
        return
    imported = jobs.add_resources(call.library, draft)
    sources = [*draft.paths, *draft.urls]
    single = (
        len(sources) == 1 and not draft.recursive and not set("".join(draft.paths)) & set("*?[")
    )
    if single and len(imported.written) == 1 and not call.tool:
        call.answer(imported.written[0], text_jobs.written)
    else:
        call.answer(imported, text_jobs.imported)


@click.command(
    "refresh",
    cls=Command,
    examples=["D-4T7QZM", "--all"],
    tool=Tool(
        "refresh_resource",
        [Argument("resource_id", "refs", single=True), Argument("all", "every")],
        "refreshed",
        "Read a doc (or all) again from where it came.",
        repeatable=True,
    ),
)
@click.argument("refs", metavar="[ID]...", nargs=-1, shell_complete=options.offer("id"))
@click.option("--all", "every", is_flag=True, help="Every doc that has a source.")
@private_option
@options.allow_secret_option
def refresh(call: Call, refs: tuple[str, ...], every: bool, **permissions: Any) -> None:
    """Read docs again from their source, and report where the source has changed."""
    from ai_lessons.features.intake import refreshing

    refreshed = refreshing.refresh(call.library, refs, every=every, **permissions)
    call.answer(refreshed, texts.refreshed)


refresh_resource = Alias(
    "refresh-resource",
    "refresh",
    "Read docs again from their source, and report where the source has changed.",
    ["D-4T7QZM", "--all"],
).of(refresh)

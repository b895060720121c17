"""`ai-lessons contribute`, the part about resources: docs and scripts that come from somewhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ai_lessons.doors import render_jobs
from ai_lessons.doors.cli import asking
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command, Tool
from ai_lessons.doors.cli.options import (
    FILE_NAME,
    RESOURCES,
    WORDS,
    allow_secret_option,
    changes,
    flat,
    id_argument,
    ids_argument,
    offer,
    project_option,
    tags_option,
    version_option,
)
from ai_lessons.errors import Refused, UsageError
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.writes import ResourceDraft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.library.writes import Imported


def register(group: click.Group) -> None:
    """Hang these commands into the group `contribute`."""
    for command in (add_resource, refresh_resource, update_resource, delete_resource):
        group.add_command(command)


@click.command(
    "add-resource",
    cls=Command,
    examples=[
        'ai-lessons contribute add-resource --type doc --path WorkflowsApi.md --title "Workflows API" --version v3',
        "ai-lessons contribute add-resource --type script --path update-workflow.sh --version v2 --version v3",
        "ai-lessons contribute add-resource --type doc --path notes --recursive --project notes",
    ],
    tool=Tool(
        "add_resource",
        "type=kind path=paths! title versions project tags recursive",
        "written unchanged skipped commit",
        "Keep a doc or a script from the file system.",
        notes={"path": "file, folder (recursive) or glob"},
        repeatable=True,
    ),
)
@click.option("--type", "kind", type=RESOURCES, required=True, help="A doc is copied, a script can be run.")
@click.option(
    "--path",
    "paths",
    metavar="P",
    type=FILE_NAME,
    multiple=True,
    required=True,
    help="File, folder or glob; may be given again.",
)
@click.option("--title", metavar="T", help="Default: the first heading, else the file name.")
@version_option
@project_option
@tags_option
@click.option("--recursive", is_flag=True, help="Everything below a folder, in one commit.")
@click.option("--in-place", is_flag=True, help="Leave a script where it is and remember the place.")
@click.option("--preview", is_flag=True, help="Only show how the text would be split.")
@allow_secret_option
@pass_call
def add_resource(call: Call, /, kind: str, preview: bool, **given: Any) -> None:
    """Add docs or scripts: a snapshot with the commit that it was taken from."""
    given |= {"versions": flat(given["versions"])}
    draft = ResourceDraft(kind=Kind(kind), **given)
    if preview:
        call.answer(call.library.contribute.preview(draft), render_jobs.previews)
    else:
        show_import(call, call.library.contribute.add_resources(draft), one=is_one_file(draft))


def is_one_file(draft: ResourceDraft) -> bool:
    """Whether exactly one file was named, so that the answer is one write."""
    return len(draft.paths) == 1 and not draft.recursive and not set(draft.paths[0]) & set("*?[")


def show_import(call: Call, done: Imported, *, one: bool) -> None:
    """One file answers as a write, anything else as an import."""
    if one and len(done.written) == 1 and not call.tool:
        call.answer(done.written[0], render_jobs.written)
    else:
        call.answer(done, render_jobs.imported)


@click.command(
    "refresh-resource",
    cls=Command,
    examples=["ai-lessons contribute refresh-resource D-4T7QZM", "ai-lessons contribute refresh-resource --all"],
    tool=Tool(
        "refresh_resource",
        "resource_id=refs! all=every",
        "refreshed",
        "Read a doc (or all) again from where it came.",
        repeatable=True,
    ),
)
@click.argument("refs", metavar="[ID]...", nargs=-1, shell_complete=offer("id"))
@click.option("--all", "every", is_flag=True, help="Every doc that has a source.")
@allow_secret_option
@pass_call
def refresh_resource(call: Call, refs: tuple[str, ...], every: bool, allow_secrets: Sequence[tuple[str, str]]) -> None:
    """Read docs again from where they came; says when that place has moved on."""
    if bool(refs) == every:
        raise UsageError("name the docs, or give --all", hint="ai-lessons recall list --type doc")
    done = call.library.contribute.refresh(refs, every=every, allow_secrets=allow_secrets)
    call.answer(done, render_jobs.refreshed)


@click.command(
    "update-resource",
    cls=Command,
    examples=['ai-lessons contribute update-resource D-4T7QZM --title "Workflows API" --version v2 --version v3'],
)
@id_argument
@click.option("--title", metavar="T", help="New title.")
@version_option
@project_option
@click.option("--tags", type=WORDS, metavar="A,B", help="All tags anew.", shell_complete=offer("tag", listed=True))
@click.option("--add-tags", type=WORDS, metavar="A,B", default="", help="Tags to add.")
@click.option("--remove-tags", type=WORDS, metavar="A,B", default="", help="Tags to take away.")
@allow_secret_option
@pass_call
def update_resource(call: Call, /, ref: str, **given: Any) -> None:
    """Change what is stated about a doc or a script."""
    given |= {"versions": flat(given["versions"])}
    done = call.library.contribute.update(ref, **changes(given), only_resources=True)
    call.answer(done, render_jobs.written)


def remove(call: Call, refs: Sequence[str], *, yes: bool, only_resources: bool = False) -> None:
    """Delete entries, after asking on the terminal.

    Raises:
        Refused: there is no terminal to ask on, and `yes` was not said.
    """
    if not yes and not call.can_ask:
        raise Refused("a delete is confirmed on a terminal; nothing was deleted", hint="or say --yes")
    if not yes and not asking.confirm(f"Delete {', '.join(refs)}? (git keeps the history)"):
        raise click.Abort
    gone = call.library.contribute.delete(refs, only_resources=only_resources)
    if len(refs) == 1 and len(gone) == 1:
        call.answer(gone[0], lambda one, view: render_jobs.deleted([one], view))
    else:
        call.answer(gone, render_jobs.deleted)


@click.command("delete-resource", cls=Command, examples=["ai-lessons contribute delete-resource D-4T7QZM --yes"])
@ids_argument
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@pass_call
def delete_resource(call: Call, refs: tuple[str, ...], yes: bool) -> None:
    """Delete docs or scripts. Git keeps their history."""
    remove(call, refs, yes=yes, only_resources=True)

"""`ai-lessons admin`, the part about what is derived: the index, the model, and the shell's completion."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import render_jobs
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command, Group
from ai_lessons.doors.cli.options import ids_argument
from ai_lessons.errors import UsageError
from ai_lessons.knowledge.entries import Kind

if TYPE_CHECKING:
    from ai_lessons.library.reports import Indexed

RESOURCES = frozenset(kind for kind in Kind if kind.is_resource)
SHELLS = ("bash", "zsh", "fish")


def register(group: click.Group) -> None:
    """Hang these commands into the group `admin`."""
    for command in (reindex, reindex_resources, reindex_resource, list_stale, model, completion):
        group.add_command(command)


def tell(call: Call, done: Indexed) -> None:
    """What a refresh did."""
    call.answer(done, render_jobs.indexed)


@click.command("reindex", cls=Command, examples=["ai-lessons admin reindex", "ai-lessons admin reindex --full"])
@click.option("--full", is_flag=True, help="Throw catalog and index away first; vectors are kept.")
@pass_call
def reindex(call: Call, full: bool) -> None:
    """Bring catalog and index up to date now. Every search does it by itself."""
    tell(call, library.indexing.reindex(call.library, full=full))


@click.command("reindex-resources", cls=Command, examples=["ai-lessons admin reindex-resources"])
@pass_call
def reindex_resources(call: Call) -> None:
    """Read all docs and scripts again, those outside the repository too."""
    tell(call, library.indexing.reindex(call.library, kinds=RESOURCES))


@click.command("reindex-resource", cls=Command, examples=["ai-lessons admin reindex-resource S-9XW2RB"])
@ids_argument
@pass_call
def reindex_resource(call: Call, refs: tuple[str, ...]) -> None:
    """Read these entries again."""
    tell(call, library.indexing.reindex(call.library, refs))


@click.command("list-stale", cls=Command, examples=["ai-lessons admin list-stale"])
@pass_call
def list_stale(call: Call) -> None:
    """List scripts whose file outside the repository is newer than what was indexed, or gone."""
    call.answer(library.health.stale(call.library), render_jobs.stale)


@click.group("model", cls=Group)
def model() -> None:
    """The embedding model that search by meaning needs."""


@model.command("status", examples=["ai-lessons admin model status"])
@pass_call
def model_status(call: Call) -> None:
    """Say where the model is, or where it was looked for."""
    call.answer(library.model.model_status(call.library), render_jobs.model)


@model.command("pull", examples=["ai-lessons admin model pull"])
@pass_call
def model_pull(call: Call) -> None:
    """Fetch the model now; it is checked against its pinned hash."""
    call.answer(library.model.model_pull(call.library), render_jobs.model)


@click.command(
    "completion",
    cls=Command,
    examples=["ai-lessons admin completion bash >> ~/.bashrc", "ai-lessons admin completion fish"],
)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@pass_call
def completion(call: Call, shell: str | None) -> None:
    """Print the script that teaches your shell our commands, ids, projects and tags."""
    from click.shell_completion import get_completion_class

    from ai_lessons.doors.cli import COMPLETE_VARIABLE, PROGRAM, root

    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    kind = get_completion_class(name) if name in SHELLS else None
    if kind is None:
        raise UsageError(f"no completion for the shell {name!r}", hint="name one of: " + ", ".join(SHELLS))
    script = kind(root, {}, PROGRAM, COMPLETE_VARIABLE).source()
    call.answer(script, lambda text, _view: text.rstrip("\n"), lambda text: {"shell": name, "script": text})

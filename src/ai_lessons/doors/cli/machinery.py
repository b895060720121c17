"""What is derived: the index, a shared one, the model, the shell's completion; feedback, and what learns from it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import render_jobs, render_usage
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command, Group, Tool
from ai_lessons.doors.cli.options import id_argument, ids_argument
from ai_lessons.errors import UsageError
from ai_lessons.knowledge.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_lessons.library.reports import Indexed

RESOURCES = frozenset(kind for kind in Kind if kind.is_resource)
SHELLS = ("bash", "zsh", "fish")


def register(group: click.Group) -> None:
    """Hang these commands into the group `admin`."""
    for command in (reindex, reindex_resources, reindex_resource, list_stale, model, completion, index):
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


OUTCOMES = ("helpful", "ignored", "contradicted")


def register_contribute(group: click.Group) -> None:
    """Hang these commands into the group `contribute`."""
    group.add_command(feedback)


@click.command(
    "feedback",
    cls=Command,
    examples=[
        "ai-lessons contribute feedback L-8F3K2A helpful",
        'ai-lessons contribute feedback L-8F3K2A contradicted --note "PATCH works since v4"',
    ],
    tool=Tool(
        "record_outcome",
        "id=ref outcome note",
        "id handle outcome usage",
        "Say how an entry did: its confidence learns from it.",
    ),
)
@id_argument
@click.argument("outcome", type=click.Choice(OUTCOMES))
@click.option("--note", metavar="TEXT", default="", help="Why; kept with the event.")
@pass_call
def feedback(call: Call, ref: str, outcome: str, note: str) -> None:
    """Say how an entry did: helpful, ignored or contradicted. Its confidence moves by that."""
    call.answer(library.editing.feedback(call.library, ref, outcome, note), render_usage.feedback)


@click.command(
    "params",
    cls=Command,
    examples=[
        "ai-lessons admin params",
        "ai-lessons admin params injection_budget --reset",
        "ai-lessons admin params --reset",
    ],
)
@click.argument("name", required=False)
@click.option("--reset", is_flag=True, help="Forget what was learned, and the bounds; of all without a NAME.")
@pass_call
def params(call: Call, name: str | None, reset: bool) -> None:
    """Show the parameters that learn from outcomes, or forget what one learned."""
    job = library.health.params_reset if reset else library.health.params
    call.answer(job(call.library, name), render_usage.params)


@click.group("index", cls=Group)
def index() -> None:
    """The search index: its state, and a shared one that saves others the embedding.

    URI is a folder, or what LanceDB takes: s3://bucket/path, gs://…, az://…, set up by the environment (AWS_REGION, …).
    """


def uri_argument(required: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The address of a shared index; `~` is the home folder."""
    return click.argument("uri", required=required, callback=lambda _ctx, _param, uri: uri and os.path.expanduser(uri))


@index.command("status", examples=["ai-lessons admin index status"])
@uri_argument(required=False)
@pass_call
def index_status(call: Call, uri: str | None) -> None:
    """Say what is in the index; with URI also what a shared one holds, and how much of it is of use here."""
    call.answer(library.shared_index.index_status(call.library, uri), render_jobs.index_state)


@index.command("push", examples=["ai-lessons admin index push /srv/git/knowledge-index"])
@uri_argument(required=True)
@pass_call
def push(call: Call, uri: str) -> None:
    """Complete the index and make the shared one at URI equal to it: for the machine that builds it for all."""
    call.answer(library.shared_index.index_push(call.library, uri), render_jobs.pushed)


@index.command("pull", examples=["ai-lessons admin index pull /srv/git/knowledge-index"])
@uri_argument(required=True)
@pass_call
def pull(call: Call, uri: str) -> None:
    """Take over the vectors of the shared index at URI. Texts are never taken: those are your own files."""
    call.answer(library.shared_index.index_pull(call.library, uri), render_jobs.pulled)

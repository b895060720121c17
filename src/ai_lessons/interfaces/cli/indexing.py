"""Commands of `admin` about search: the index, a shared one, the model, the helper process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ai_lessons import app
from ai_lessons.interfaces import text_jobs
from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Group
from ai_lessons.interfaces.output import line

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call
    from ai_lessons.interfaces.output import View
    from ai_lessons.model.entries import Kind

# these commands hang in the group of that name
to_admin = Group("admin")


@to_admin.command("reindex", examples=["", "--full", "S-9XW2RB"])
@click.argument("refs", metavar="[ID]...", nargs=-1, shell_complete=options.offer("id"))
@options.type_option
@click.option("--full", is_flag=True, help="Delete catalog and index first; vectors are kept.")
def reindex(call: Call, refs: tuple[str, ...], kinds: frozenset[Kind], full: bool) -> None:
    """Bring catalog and index up to date now. Every search does this by itself.

    Entries that are named, by ID or --type, are read again, with what a script is outside the
    repository.
    """
    call.long = True
    call.answer(
        app.index_upkeep.reindex(call.library, refs, full=full, kinds=kinds), text_jobs.indexed
    )


@to_admin.group("model")
def model() -> None:
    """The embedding model, which search by meaning needs."""


@model.command("status")
def model_status(call: Call) -> None:
    """Show where the model is, or where it was looked for."""
    call.answer(app.search_index.model_status(call.library.primary), text_jobs.model)


@model.command("pull")
def model_pull(call: Call) -> None:
    """Fetch the model now; it is checked against its pinned hash."""
    call.answer(app.search_index.model_pull(call.library.primary), text_jobs.model)


@to_admin.group("index")
def index() -> None:
    """The search index: its state, and a shared one, so that others need not compute vectors.

    URI is a folder, or what LanceDB takes: s3://bucket/path, gs://…, az://…, db://name of its own
    service, set up by the environment (AWS_REGION, LANCEDB_API_KEY, …).
    """


@index.command("status")
@click.argument("uri", required=False)
def index_status(call: Call, uri: str | None) -> None:
    """Show what is in the index.

    With URI also what a shared one holds, and how much of it is usable here.
    """
    call.answer(app.index_upkeep.index_status(call.library, uri), text_jobs.index_state)


@index.command("push", examples=["/srv/git/knowledge-index"])
@click.argument("uri")
def push(call: Call, uri: str) -> None:
    """Complete the index and copy it to the shared one at URI.

    For the machine that builds it for all.
    """
    call.answer(app.index_upkeep.index_push(call.library, uri), text_jobs.pushed)


@index.command("pull", examples=["/srv/git/knowledge-index"])
@click.argument("uri")
def pull(call: Call, uri: str) -> None:
    """Copy the vectors of the shared index at URI.

    Texts are never copied: they come from your own files.
    """
    call.answer(app.index_upkeep.index_pull(call.library, uri), text_jobs.pulled)


@to_admin.group("warm")
def warm() -> None:
    """The helper process that stays in memory for ten minutes after a search and answers the next ones faster."""


def _helpers(helpers: tuple[app.daemon_client.HelperState, ...], _view: View) -> str:
    """A line for each helper and each of its repositories."""
    if not helpers:
        return "No helper runs."
    rows: list[str] = []
    for helper in helpers:
        rows.append(
            f"{helper.state}: process {helper.pid}, {helper.seconds} s, {helper.megabytes} MB, "
            f"requests: {helper.requests}"
        )
        for path in helper.repositories:
            rows.append(f"  {line(path)}")
    return "\n".join(rows)


@warm.command("status", examples=["", "--json"])
def status(call: Call) -> None:
    """Show whether a helper runs: its age, memory, requests and repositories."""
    call.answer(app.daemon_client.helpers(call.options()), _helpers)


@warm.command("stop")
def stop(call: Call) -> None:
    """Stop the helper now, also one that hangs. The next search that needs one starts another."""
    call.answer(app.daemon_client.helpers(call.options(), stop=True), _helpers)

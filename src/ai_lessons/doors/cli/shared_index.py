"""`ai-lessons admin index`: the state of the search index, and sharing its vectors with a team."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import render_index
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Group

if TYPE_CHECKING:
    from collections.abc import Callable


def register(group: click.Group) -> None:
    """Hang this group into the group `admin`."""
    group.add_command(index)


@click.group("index", cls=Group)
def index() -> None:
    """The search index: its state, and a shared one that saves others the embedding.

    URI is a folder, or what LanceDB takes: s3://bucket/path, gs://…, az://…, set up by the environment (AWS_REGION, …).
    """


def uri_argument(required: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The address of a shared index; `~` is the home folder."""
    return click.argument("uri", required=required, callback=lambda _ctx, _param, uri: uri and os.path.expanduser(uri))


@index.command("status", examples=["ai-lessons admin index status", "ai-lessons admin index status --recall"])
@uri_argument(required=False)
@click.option("--recall", is_flag=True, help="Compare what the index finds with exact search.")
@pass_call
def status(call: Call, uri: str | None, recall: bool) -> None:
    """Say what is in the index; with URI also what a shared one holds, and how much of it is of use here."""
    call.answer(library.shared_index.index_status(call.library, uri, recall=recall), render_index.state)


@index.command("push", examples=["ai-lessons admin index push /srv/git/knowledge-index"])
@uri_argument(required=True)
@pass_call
def push(call: Call, uri: str) -> None:
    """Complete the index and make the shared one at URI equal to it: for the machine that builds it for all."""
    call.answer(library.shared_index.index_push(call.library, uri), render_index.pushed)


@index.command("pull", examples=["ai-lessons admin index pull /srv/git/knowledge-index"])
@uri_argument(required=True)
@pass_call
def pull(call: Call, uri: str) -> None:
    """Take over the vectors of the shared index at URI. Texts are never taken: those are your own files."""
    call.answer(library.shared_index.index_pull(call.library, uri), render_index.pulled)

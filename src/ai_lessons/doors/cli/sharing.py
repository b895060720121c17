"""`ai-lessons admin`, the part about sharing: sync, conflicts, and taking jobs back."""

from __future__ import annotations

import click

from ai_lessons import library
from ai_lessons.doors import render_sharing
from ai_lessons.doors.cli.asking import until_valid
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command
from ai_lessons.errors import Conflict, UsageError

remote_option = click.option("--remote", metavar="R", help="The remote, where there are several.")


def register(group: click.Group) -> None:
    """Hang these commands into the group `admin`."""
    for command in (sync, conflicts, recover, undo):
        group.add_command(command)


@click.command("sync", cls=Command, examples=["ai-lessons admin sync", "ai-lessons admin sync --remote origin"])
@remote_option
@pass_call
def sync(call: Call, remote: str | None) -> int:
    """Share: commit what waits, fetch, merge, push. Exit code 5 if a file needs a decision of yours.

    Merges and never rebases, because a rebase loses who approved what. Entries that both sides changed are merged
    key by key and line by line where that is clear, rules never.
    """
    done = library.syncing.sync(call.library, remote, ask=call.can_ask)
    call.answer(done, render_sharing.synced)
    return Conflict.exit_code if done.conflicts else 0


@click.command("conflicts", cls=Command, examples=["ai-lessons admin conflicts", "ai-lessons admin conflicts --json"])
@click.argument("ref", metavar="[ID]", required=False)
@click.option(
    "--take", type=click.Choice(["ours", "theirs", "edit"]), help="Settle it: one version, or your own of both."
)
@remote_option
@pass_call
def conflicts(call: Call, ref: str | None, take: str | None, remote: str | None) -> None:
    """Show what the last sync could not merge, both versions, or settle one of them with --take."""
    if take is None:
        found = library.syncing.conflicts(call.library, ref, remote=remote)
        call.answer(found, render_sharing.conflicts)
        return
    if ref is None:
        raise UsageError("--take needs the conflict that it is about", hint="name one of: ai-lessons admin conflicts")
    name = ref
    if take == "edit":
        done = until_valid(
            lambda edits: library.syncing.resolve(call.library, name, take, edits, remote=remote),
            call.settings.folders.state / "edits",
            can_ask=call.can_ask,
        )
    else:
        done = library.syncing.resolve(call.library, name, take, remote=remote)
    call.answer(done, render_sharing.resolved)


@click.command("recover", cls=Command, examples=["ai-lessons admin recover --list", "ai-lessons admin recover"])
@click.argument("refs", metavar="[ID]...", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Only show what is kept.")
@pass_call
def recover(call: Call, refs: tuple[str, ...], only_list: bool) -> None:
    """Bring back writes that git stash, clean or reset took away before their commit: all, or by id or path."""
    done = library.syncing.recover(call.library, refs, only_list=only_list)
    call.answer(done, render_sharing.recovered)


@click.command("undo", cls=Command, examples=["ai-lessons admin undo", "ai-lessons admin undo 2"])
@click.argument("count", metavar="[N]", type=click.IntRange(min=1), default=1)
@pass_call
def undo(call: Call, count: int) -> None:
    """Take back the last job of this program, or the last N, each by a new commit. Decisions about rules stay."""
    call.answer(library.syncing.undo(call.library, count), render_sharing.undone)

"""Commands of `admin` about what is shared: sync, conflicts, recover, undo, save."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from ai_lessons import app, extensions
from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
    NoRepository,
    NotFound,
    Refused,
    UsageError,
)
from ai_lessons.interfaces import text_jobs
from ai_lessons.interfaces.cli import prompts
from ai_lessons.interfaces.cli.command import Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.interfaces.cli.call import Call

remote_option = click.option("--remote", metavar="R", help="The remote, where there are several.")

# these commands hang in the group of that name
to_admin = Group("admin")


@to_admin.command("sync", examples=["", "--remote origin"])
@remote_option
@click.option(
    "--first",
    is_flag=True,
    help="Only clone a company's repository that is missing here, for settings that are managed.",
)
@click.option(
    "--take",
    type=click.Choice(["theirs"]),
    help="Where the remote's branch was rewritten or renamed.",
)
def sync(call: Call, remote: str | None, take: str | None, first: bool) -> int:
    """Share: commit what waits, fetch, merge, push.

    Exit code 5: a file needs your decision; 8: a push was refused.

    It needs a remote (git remote add origin ADDRESS), and pushes where git would push. History that
    was rewritten or deleted on the remote is not sent again: it stops there, and --take theirs goes
    on with the remote's, with yours on a branch `kept/…` here.

    It merges and never rebases, because a rebase loses who approved what. Entries that both sides
    changed are merged key by key and line by line where there is no conflict; rules never are.

    In code whose remote is a company's, its repository is cloned or synced, too.
    """
    beside, failed = None, None
    if first:
        beside = _shared_beside(call, only_missing=True)
        return _answered(call, beside) if beside else 0
    if not (remote or take or call.settings.places.named):
        try:
            beside = _shared_beside(call)
        except AiLessonsError as error:
            # the other tier is down, and what is written here has to go out
            failed = error
    try:
        done = app.sharing.sync(call.library, remote, ask=call.can_ask, take=take or "")
    except (NotFound, NoRepository, Refused) as error:
        # a person's own repository may have no remote, and that of a project goes with its code
        alone = (
            not isinstance(error, Refused) or call.library.primary.store.is_folder_of_bigger_repo
        )
        if beside is None or not alone:
            raise failed or error from None
        return _answered(call, beside)
    if beside:
        done = done._replace(notes=(*beside.in_words(), *done.notes))
    call.answer(done, text_jobs.synced)
    if failed:
        raise failed
    if beside and beside.needs_a_person:
        return _sync_code(beside.synced)
    return _sync_code(done)


def _answered(call: Call, beside: app.sharing.SharedBeside) -> int:
    """The sync of another tier as the answer."""
    done = beside.synced._replace(notes=(*beside.notes, *beside.synced.notes))
    shown = partial(text_jobs.synced_tier, tier=beside.tier, cloned=beside.cloned)
    call.answer(done, shown)
    return _sync_code(done)


def _shared_beside(call: Call, *, only_missing: bool = False) -> app.sharing.SharedBeside | None:
    """What a feature shares beside the repository itself."""
    for _, shared in extensions.added("shares"):
        beside: app.sharing.SharedBeside | None = shared(
            call.root, call.options(), ask=call.can_ask, only_missing=only_missing
        )
        if beside:
            return beside
    return None


def _sync_code(done: app.sharing.Synced) -> int:
    if done.conflicts:
        return Conflict.exit_code
    if done.unsent:
        return Refused.exit_code
    return 0


@to_admin.command("conflicts", examples=["", "--json"])
@click.argument("ref", metavar="[ID]", required=False)
@click.option(
    "--take",
    type=click.Choice(["mine", "theirs", "ours"]),
    metavar="mine|theirs",
    help="Take one version.",
)
@remote_option
def conflicts(call: Call, ref: str | None, take: str | None, remote: str | None) -> int:
    """Show what the last sync could not merge, both versions, or resolve a conflict with --take mine or theirs.

    With the last one resolved the sync goes on: it merges and pushes.
    """
    if take is None:
        call.answer(app.sharing.conflicts(call.library, ref, remote=remote), text_jobs.conflicts)
        return 0
    torn = app.sharing.conflicts(call.library, ref, remote=remote).entries
    if len(torn) != 1:
        raise UsageError(
            "--take needs the ID of a conflict", hint="name one of: ai-lessons admin conflicts"
        )
    if take == "mine":
        # git's word for this side, which is the one that people use for the team's
        take = "ours"
    settled = app.sharing.resolve(call.library, torn[0].id, take, remote=remote)
    call.answer(settled, text_jobs.resolved)
    if settled.shared:
        return _sync_code(settled.shared)
    return 0


@to_admin.command("recover", examples=["--list", ""])
@click.argument("refs", metavar="[ID]...", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Only show what can be recovered.")
def recover(call: Call, refs: tuple[str, ...], only_list: bool) -> None:
    """Restore writes that git stash, clean or reset removed before their commit.

    All, or by ID or path.
    """
    call.answer(app.sharing.recover(call.library, refs, only_list=only_list), text_jobs.recovered)


@to_admin.command("undo", examples=["", "2"])
@click.argument("count", metavar="[N]", type=click.IntRange(min=1), default=1)
@click.option(
    "--yes", is_flag=True, hidden=True, help="It asks nothing, and git keeps what it takes back."
)
def undo(call: Call, count: int, yes: bool) -> None:  # noqa: ARG001  # a person's word, as at delete
    """Revert the last job of this program, or the last N, by a new commit.

    Decisions about rules stay.
    """
    call.answer(app.sharing.undo(call.library, count), text_jobs.undone)


@to_admin.command("save", examples=["", "--edits"])
@click.option(
    "--edits",
    is_flag=True,
    help="Also commit what you edited, made, moved or removed by hand; rules are proposed.",
)
@click.option("--yes", is_flag=True, help="Do not ask about them.")
def save(call: Call, edits: bool, yes: bool) -> None:
    """Commit the writes that wait for a commit."""

    def agreed(paths: Sequence[str]) -> bool:
        if yes or not call.can_ask:
            return True
        return prompts.confirm("Commit these files?", *map(call.view.place, paths))

    asked = None
    if edits:
        asked = agreed
    done = app.sharing.save(call.library, asked)
    call.answer(done, text_jobs.saved, lambda value: {"commits": value[0], "notes": value[1]})

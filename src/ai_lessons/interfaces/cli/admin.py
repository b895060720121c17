"""`ai-lessons admin`: make, check, share, move and care for the repository."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from ai_lessons import app, settings
from ai_lessons.errors import InvalidEntry, Refused, UsageError
from ai_lessons.interfaces import hook, mcp, text, text_jobs
from ai_lessons.interfaces.cli import (
    called_by_programs,
    command,
    indexing,
    prompts,
    review,
    sharing,
    stale,
)
from ai_lessons.interfaces.cli.aliases import ALIASES, command_lines, every_command
from ai_lessons.interfaces.cli.command import Group, Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.interfaces.cli.call import Call
    from ai_lessons.interfaces.cli.command import LazyGroup

SHELLS = ("bash", "zsh", "fish")
SECTIONS = {
    "Begin": "init config hosts mcp",
    "Care": "status doctor validate review undo save reindex",
    "Share": "sync",
    "Approve": "review-rules approve-rule reject-rule audit",
}


@click.group("admin", cls=Group, sections=SECTIONS)
def admin() -> None:
    """Set up, check and maintain the repository."""


@admin.command(
    "init",
    examples=["", "--from /srv/git/knowledge.git --hosts", "team-knowledge --team --no-hooks"],
)
@click.argument("path", required=False, type=click.Path())
@click.option("--from", "from_url", metavar="URL", help="Clone this repository instead.")
@click.option("--no-hooks", is_flag=True, help="Install no git hooks.")
@click.option("--team", is_flag=True, help="Ask for an approver other than the proposer.")
@click.option("--starters", is_flag=True, help="Add the starter set; its rules wait as proposals.")
@click.option(
    "--hosts",
    "connect",
    is_flag=True,
    help="Also connect the agent hosts of this machine; you are asked.",
)
@click.option(
    "--yes", is_flag=True, help="Do not ask about them; needed where there is no terminal."
)
def init(
    call: Call,
    path: str | None,
    from_url: str | None,
    connect: bool,
    yes: bool,
    no_hooks: bool,
    **how: bool,
) -> None:
    """Make a knowledge repository, or complete one. A folder with files keeps them as they are."""
    place = call.root
    if path:
        place = call.settings.cwd / path
    where = settings.where(os.environ, call.settings.cwd)
    if connect:
        # before anything is made
        _need_yes(call, yes)
    done = app.setup.init_repository(
        place, call.options(), from_url=from_url, hooks=not no_hooks, **how
    )
    apart: list[str] = []
    for host in app.program_hooks.hosts(where):
        if not any(target.ours for target in host.targets):
            apart.append(host.name)
    if connect and apart:
        try:
            changes = app.program_hooks.connect(
                where, (), "install", partial(_agreed, call, yes=yes)
            )
        except Refused as error:
            # the repository is there
            done = done._replace(notes=(*done.notes, f"agent hosts: {error.message}"))
        else:
            done, apart = done._replace(connected=changes), []
    call.answer(done._replace(hosts=tuple(apart)), text_jobs.initialised)


@admin.command("validate", examples=["", "--fix", "--ci"])
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option("--fix", is_flag=True, help="Fix what needs no decision.")
@click.option("--ci", is_flag=True, help="Also report what `admin review` asks about as problems.")
def validate(call: Call, paths: tuple[str, ...], fix: bool, ci: bool) -> int:
    """Check files, all or some; exit code 4 if there are problems. For people, hooks and CI."""
    report = app.validation.validate(call.library, paths, fix=fix, content=ci)
    call.answer(report, text_jobs.report)
    if report.problems:
        return InvalidEntry.exit_code
    return 0


@admin.command("doctor")
def doctor(call: Call) -> int:
    """Check everything around the files, and name the fix for each finding.

    Exit code 1 if something is wrong.
    """
    where = settings.where(os.environ, call.settings.cwd)
    checks = app.health.doctor(call.library, where, hook.CHECK)
    call.answer(checks, text_jobs.checks)
    return int(any(check.state == "error" for check in checks))


@admin.command("status")
def standing(call: Call) -> None:
    """Show what waits: writes, proposals, what is stale, conflicts, and what is to be shared."""
    call.answer(app.health.status(call.library), text_jobs.checks)


@admin.command(
    "stats",
    tool=Tool(
        "stats", [], lambda: app.health.Stats, "How much is kept, and what waits.", reads=True
    ),
)
def stats(call: Call) -> None:
    """Counts and sizes."""
    call.answer(app.health.stats(call.library), text_jobs.stats)


@admin.command("adopt", examples=["jira-api/notes.md"])
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
def adopt(call: Call, paths: tuple[str, ...]) -> None:
    """Write ids into plain files, so that they keep their ids when they are moved."""
    call.answer(app.validation.adopt(call.library, paths), text_jobs.writes)


@admin.group("config")
def config() -> None:
    """Read and change the configuration of the repository."""


@config.command("get", examples=["", "search.model"])
@click.argument("key", required=False)
def config_get(call: Call, key: str | None) -> None:
    """Print one value, or all."""
    call.answer(app.repository_settings.config_get(call.library, key), text_jobs.config)


@config.command("set", examples=["git.autocommit true"])
@click.argument("key")
@click.argument("value")
def config_set(call: Call, key: str, value: str) -> None:
    """Change one value; only its line in the file changes."""
    commit = app.repository_settings.config_set(call.library, key, value)
    call.answer(
        {key: value}, text_jobs.pairs, lambda _: {"key": key, "value": value, "commit": commit}
    )


@admin.group("hooks")
def hooks() -> None:
    """Git hooks of this clone or of a hub, and our paragraph in files of instructions."""


def hooks_command(job: app.program_hooks.HookJob, text: str) -> None:
    """Define one of the three commands about hooks."""

    @hooks.command(job, help=text, examples=["", "--server /srv/git/knowledge.git", "--agents"])
    @click.option(
        "--server",
        metavar="HUB",
        help="The hooks of this hub, which people push to, instead of this clone's.",
    )
    @click.option(
        "--agents",
        "paragraph",
        is_flag=True,
        help="Instead: our paragraph in AGENTS.md or CLAUDE.md here.",
    )
    @click.option(
        "--file",
        "files",
        metavar="F",
        multiple=True,
        help="Our paragraph in this file; may be given again.",
    )
    def command(call: Call, server: str | None, paragraph: bool, files: tuple[str, ...]) -> None:
        jobs, cwd = app.program_hooks, call.settings.cwd
        if server:
            done = jobs.server_hook(job, cwd / server)
        elif paragraph or files:
            done = ()
            if paragraph:
                done += jobs.instruct(job, cwd)
            if files:
                done += jobs.instruct(job, cwd, [cwd / Path(file).expanduser() for file in files])
        else:
            done = jobs.hooks(call.library, job)
        call.answer(done, text_jobs.lines)


hooks_command("install", "Install our hooks; hooks that exist keep running.")
hooks_command("uninstall", "Remove our hooks.")
hooks_command("status", "Show which are installed.")


@admin.command("completion", examples=["--install", "fish"])
@click.argument("shell", type=click.Choice(list(SHELLS)), required=False)
@click.option(
    "--install",
    is_flag=True,
    help="Write it where the shell reads it when it starts; replaces an older one.",
)
def completion(call: Call, shell: str | None, install: bool) -> None:
    """Print the script that completes our commands, ids, projects and tags in your shell, or install it."""
    from click.shell_completion import get_completion_class

    from ai_lessons.interfaces.cli import root

    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    kind = None
    if name in SHELLS:
        kind = get_completion_class(name)
    if kind is None:
        if name:
            what = f"no completion for the shell {name!r}"
        else:
            what = "$SHELL does not say which shell you use"
        raise UsageError(what, hint="name one of: " + ", ".join(SHELLS))
    programs = {"ai-lessons": root, **command.programs()}
    scripts = {}
    for program, group in programs.items():
        variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
        scripts[program] = kind(group, {}, program, variable).source().rstrip("\n")
    text = script = "\n".join(scripts.values())
    if install and name == "fish":
        # it reads a file for each command
        folder = _start_folder("XDG_CONFIG_HOME", "~/.config") / "fish/completions"
        written: list[str] = []
        for program, text in scripts.items():
            written.append(app.program_hooks.complete(folder / f"{program}.fish", text))
        text = "\n".join(written)
    elif install:
        if name == "zsh":
            place = _start_folder("ZDOTDIR", "~")
        else:
            place = Path("~").expanduser()
        text = app.program_hooks.complete(place / f".{name}rc", script)
    call.answer(script, lambda _, _view: text, lambda _: {"shell": name, "script": script})


def _start_folder(variable: str, default: str) -> Path:
    """Where a shell looks.

    The folder that a variable of the environment names, or the one without it.
    """
    return Path(os.environ.get(variable) or default).expanduser()


@admin.command("hosts", examples=["", "--install", "--remove cursor"])
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--install",
    "job",
    flag_value="install",
    help="Set up our hooks and MCP server, for all your projects.",
)
@click.option(
    "--remove", "job", flag_value="uninstall", help="Remove them; all else stays as it was."
)
@click.option(
    "--managed",
    metavar="FOLDER",
    help="Write the settings that administrators place for everybody, below a folder.",
)
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
def hosts(
    call: Call,
    names: tuple[str, ...],
    job: app.program_hooks.HookJob | None,
    managed: str | None,
    yes: bool,
) -> int:
    """Show the agent hosts on this machine and how we are connected to them.

    Set them up, all or by NAME.

    With -v every changed line is shown. Exit code 1: settings were left alone.
    """
    where = settings.where(os.environ, call.settings.cwd)
    if managed is not None:
        command = "ai-lessons admin hosts --managed FOLDER"
        call.options().refuse_agents("write settings for everybody", command)
        folder = call.settings.cwd / os.path.expanduser(managed)
        placed = app.program_hooks.place_for_everybody(folder, names)
        call.answer(placed, text_jobs.placed)
        return int(any(file.done.startswith("left alone") for file in placed))
    if job is None:
        call.answer(app.program_hooks.hosts(where, hook.CHECK), text_jobs.hosts)
        return 0
    changes = app.program_hooks.connect(where, names, job, partial(_agreed, call, yes=yes))
    call.answer(changes, text_jobs.connected)
    return int(any(change.done.startswith("left alone") for change in changes))


def _need_yes(call: Call, yes: bool) -> None:
    if not yes and not call.can_ask:
        raise Refused(
            "settings of other programs change only after a yes",
            hint="ask on a terminal, or say --yes",
        )


def _agreed(call: Call, changes: Sequence[app.program_hooks.HostChange], *, yes: bool) -> bool:
    """Show what would change in settings of other programs, and ask unless `yes`."""
    _need_yes(call, yes)
    if call.verbose and not call.json:
        differences = [change.diff for change in changes if change.diff]
        call.say("\n\n".join(text.diff(difference, call.view) for difference in differences))
    elif not yes:
        call.say(text_jobs.to_change(changes, call.view))
    return yes or prompts.confirm("\nChange these files?")


for part_of_admin in (
    sharing.to_admin,
    indexing.to_admin,
    called_by_programs.to_admin,
    review.to_admin,
):
    admin.commands.update(part_of_admin.commands)


@admin.command("migrate")
def migrate(call: Call) -> None:
    """Bring the repository to the newest file format.

    A tag, then one commit, which `undo` reverts.
    """
    call.answer(app.migration.migrate(call.library), text_jobs.migrated)


admin.add_command(mcp.mcp)
admin.add_command(stale.stale)


@admin.command("help", examples=["", "--all"])
@click.option("--all", "every", is_flag=True, help="Every command, and the older names of some.")
@click.pass_context
def help_of_all(context: click.Context, call: Call, every: bool) -> None:
    """Show the help of the program, or a line for every command that there is."""
    root = context.find_root()
    if every:
        call.answer(every_command(cast("LazyGroup", root.command)), command_lines)
    else:
        click.echo(root.command.get_help(root))


admin.add_aliases(*ALIASES["admin"])

"""`ai-lessons admin`: sync, undo, export, import, migrate."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import encode, render_jobs
from ai_lessons.doors.cli.commands import Group
from ai_lessons.errors import Conflict, UsageError

if TYPE_CHECKING:
    from ai_lessons.doors.cli.command_context import Call

SITE = "site"
LOG, GROOVE, SQLITE, MARKDOWN, AGENTS = "lessons-jsonl", "groove", "ai-lessons-sqlite", "markdown", "agents-md"
HOSTS = (AGENTS, "copilot", "cursor", "claude", "windsurf", "gemini")
FORMATS = (GROOVE, LOG, SQLITE, *HOSTS, "skills", MARKDOWN, "basic-memory", "mem0")
TARGETS = (GROOVE, AGENTS, "claude-rules", "cursor", "copilot", "windsurf", "skills", SITE)
MOST = 20_000

_NAMES = {
    r"(agents|claude|claude\.local|gemini|.*copilot-instructions|.*\.instructions)\.md|.*\.mdc"
    r"|\.(cursor|windsurf)rules|rules": AGENTS,
    r"skill\.md|skills": "skills", r".*\.json": GROOVE, r".*\.jsonl": LOG, r".*\.(db|sqlite3?)": SQLITE,
    r".*\.(md|markdown)": MARKDOWN,
}  # fmt: skip


_TARGET_OF = {
    r"(?:agents|claude|gemini)(?:\.\w+)?\.md": AGENTS,
    r"\.github/(?:copilot-instructions\.md|instructions)": "copilot",
    r"\.cursor/rules|\.cursorrules": "cursor",
    r"\.windsurf/rules|\.windsurfrules": "windsurf",
    r"\.claude/rules": "claude-rules",
    r"skills": "skills",
}
"""The form of an export, by the end of its path."""

part = Group("admin")  # These commands hang in the group of that name


remote_option = click.option("--remote", metavar="R", help="The remote, where there are several.")


@part.command("sync", examples=["", "--remote origin"])
@remote_option
def sync(call: Call, remote: str | None) -> int:
    """Share: commit what waits, fetch, merge, push. Exit code 5 if a file needs your decision.

    It merges and never rebases, because a rebase loses who approved what. Entries that both sides changed are
    merged key by key and line by line where there is no conflict; rules never are.
    """
    done = library.syncing.sync(call.library, remote, ask=call.can_ask)
    call.answer(done, render_jobs.synced)
    return Conflict.exit_code if done.conflicts else 0


@part.command("conflicts", examples=["", "--json"])
@click.argument("ref", metavar="[ID]", required=False)
@click.option("--take", type=click.Choice(["ours", "theirs"]), help="Resolve it: take one version.")
@remote_option
def conflicts(call: Call, ref: str | None, take: str | None, remote: str | None) -> None:
    """Show what the last sync could not merge, both versions, or resolve a conflict with --take."""
    if take is None:
        call.answer(library.syncing.conflicts(call.library, ref, remote=remote), render_jobs.conflicts)
        return
    if ref is None:
        raise UsageError("--take needs the ID of a conflict", hint="name one of: ai-lessons admin conflicts")
    call.answer(library.syncing.resolve(call.library, ref, take, remote=remote), render_jobs.resolved)


@part.command("recover", examples=["--list", ""])
@click.argument("refs", metavar="[ID]...", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Only show what can be recovered.")
def recover(call: Call, refs: tuple[str, ...], only_list: bool) -> None:
    """Restore writes that git stash, clean or reset removed before their commit: all, or by ID or path."""
    call.answer(library.syncing.recover(call.library, refs, only_list=only_list), render_jobs.recovered)


@part.command("undo", examples=["", "2"])
@click.argument("count", metavar="[N]", type=click.IntRange(min=1), default=1)
def undo(call: Call, count: int) -> None:
    """Revert the last job of this program, or the last N, each by a new commit. Decisions about rules stay."""
    call.answer(library.syncing.undo(call.library, count), render_jobs.undone)


@part.command(
    "export",
    examples=[
        "knowledge.json",
        "- | gzip > knowledge.json.gz",
        "AGENTS.md",
        ".claude/rules --project jira-api",
        "public --to site",
    ],
)
@click.argument("file", metavar="PATH", type=click.Path())
@click.argument("globs", metavar="[GLOB]...", nargs=-1)
@click.option(
    "--to", "form", metavar="FORM", type=click.Choice(TARGETS), help=f"{', '.join(TARGETS)}; else by the name."
)
@click.option("--project", metavar="P", help="Only this project; and, for agents, what is global.")
@click.option("--replace", is_flag=True, help="Also replace files that are not ours.")
@click.option("--max-chars", "most", metavar="N", type=click.IntRange(min=1), default=MOST, show_default=True,
              help="For agents: most characters.")  # fmt: skip
def export(
    call: Call, file: str, globs: tuple[str, ...], form: str | None, project: str | None, most: int, *, replace: bool
) -> None:
    """Write every entry into one JSON file (- is stdout), or what is in force into files that agents read.

    Without --to the form follows from the name, such as AGENTS.md, .cursor/rules or skills; any other name is a
    JSON file. Files that are not ours stay as they are, except for our part of a file of instructions.

    The JSON is for another machine or another tool: lessons with their statistics, parameters, relations, rules, docs
    and scripts; no vectors. For agents it is the rules in force and the lessons that a person stated, by a GLOB of
    path or title: between two markers in the file PATH, or as files of ours in the folder PATH. Run it again in a hook
    or in CI to refresh them. A site is a page for each entry in the folder PATH, with a search; rules show who approved
    them and when.
    """
    place = call.settings.cwd / Path(file).expanduser()
    form = form or target_of(place)
    if form == SITE:
        from ai_lessons.doors.look import site

        done = library.exporting.export_site(call.library, place, site.draw, project, replace=replace)
        call.answer(done, render_jobs.exported)
        return
    done = library.exporting.export_file(
        call.library,
        None if file == "-" else place,
        form,
        project=project,
        globs=globs,
        most=most,
        replace=replace,
    )
    if done.document is not None:
        call.exactly(encode.dump(done.document) + "\n")
        call.note([*done.notes, *(f"left out {path}: {reason}" for path, reason in done.skipped)])
        return
    call.answer(done, render_jobs.exported)


def target_of(place: Path) -> str:
    """The form of an export by the end of its path; by default one JSON document."""
    for names, form in _TARGET_OF.items():
        if re.search(f"(?:^|/)(?:{names})$", place.as_posix(), re.IGNORECASE):
            return form
    return GROOVE


@part.command(
    "import",
    examples=[
        "knowledge.json --dry-run",
        "lessons.jsonl --from lessons-jsonl",
        "notes --from markdown --project jira-api",
        "AGENTS.md --split",
    ],
)
@click.argument("files", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "--from", "form", metavar="FORM", type=click.Choice(FORMATS), help=f"{', '.join(FORMATS)}; else by the name."
)
@click.option("--project", metavar="P", help="Project of notes and instructions (default: global).")
@click.option("--split", "split_up", is_flag=True, help="Make a rule of each section of a file of instructions.")
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
def import_files(
    call: Call, files: tuple[str, ...], form: str | None, project: str | None, split_up: bool, dry_run: bool
) -> None:
    """Import what another tool or repository stored. A second run adds nothing; rules become proposals.

    PATH is an export, a log of lessons, a database of the predecessor, notes, skills, or memories or instructions of
    an agent: a file, a folder with such files, or a quoted glob.
    """
    from ai_lessons.library import import_sources

    places = import_sources.named(files, call.settings.cwd)
    form = form or guess(places[0])
    done = library.transfer.import_files(
        call.library, places, form, project=project, split_up=split_up, dry_run=dry_run
    )
    call.answer(done, render_jobs.ported)


def guess(file: Path) -> str:
    """The form of a file by its name; a folder holds notes. Raises UsageError: the name does not show it."""
    for names, form in _NAMES.items():
        if re.fullmatch(names, file.name, re.IGNORECASE):
            return form
    if not file.is_dir():
        raise UsageError(f"the name {file.name!r} does not show its form", hint="give --from " + "|".join(FORMATS))
    return MARKDOWN


@part.command("migrate")
def migrate(call: Call) -> None:
    """Bring the repository to the newest file format: a tag, then one commit, which `undo` reverts."""
    call.answer(library.setup.migrate(call.library), render_jobs.migrated)

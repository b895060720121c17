"""The commands `admin import` and `admin export`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ai_lessons import extensions
from ai_lessons.errors import UsageError
from ai_lessons.interfaces import output
from ai_lessons.interfaces.cli.command import Command

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call

OKF, ADR = "okf", "adr"
LOG, GROOVE, SQLITE, MARKDOWN, AGENTS = (
    "lessons-jsonl",
    "groove",
    "ai-lessons-sqlite",
    "markdown",
    "agents-md",
)
HOSTS = (AGENTS, "copilot", "cursor", "claude", "windsurf", "gemini", "qwen")
FORMATS = (
    GROOVE,
    LOG,
    SQLITE,
    *HOSTS,
    "skills",
    MARKDOWN,
    "basic-memory",
    "mem0",
    "compound",
    OKF,
    ADR,
)
# Forms that features draw, by name: the files of a site from its entries
DRAWN = extensions.named("exports")
TARGETS = (
    GROOVE,
    AGENTS,
    "claude-rules",
    "cursor",
    "copilot",
    "windsurf",
    "qwen",
    "compound",
    "skills",
    *DRAWN,
    OKF,
)

_NAMES = {
    r"(agents|claude|claude\.local|gemini|qwen|.*copilot-instructions|.*\.instructions)\.md|.*\.mdc"
    r"|\.(cursor|windsurf)rules|rules": AGENTS,
    r"skill\.md|skills": "skills", r"solutions": "compound", r"okf": OKF, r"team-memory": "qwen",
    r"adrs?|decisions|decision[-_]records?|architecture[-_]decisions?|architecture[-_]decision[-_]records?": ADR,
    r".*\.json": GROOVE, r".*\.jsonl": LOG, r".*\.(db|sqlite3?)": SQLITE,
    r".*\.(md|markdown)": MARKDOWN,
}  # fmt: skip


# The form of an export, by the end of its path.
_TARGET_OF = {
    r"(?:agents|claude|gemini|qwen)(?:\.\w+)?\.md": AGENTS,
    r"\.github/(?:copilot-instructions\.md|instructions)": "copilot",
    r"\.cursor/rules|\.cursorrules": "cursor",
    r"\.windsurf/rules|\.windsurfrules": "windsurf",
    r"\.claude/rules": "claude-rules",
    r"\.qwen/team-memory": "qwen",
    r"docs/solutions": "compound",
    r"okf": OKF,
    r"skills": "skills",
}


@click.command(
    "export",
    cls=Command,
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
    "--to",
    "form",
    metavar="FORM",
    type=click.Choice(TARGETS),
    help=f"{', '.join(TARGETS)}; else by the name.",
)
@click.option("--project", metavar="P", help="Only this project; and, for agents, what is global.")
@click.option("--replace", is_flag=True, help="Also replace files that are not ours.")
@click.option("--max-chars", "most", metavar="N", type=click.IntRange(min=1), default=20_000, show_default=True,
              help="For agents: most characters.")  # fmt: skip
def export(
    call: Call,
    file: str,
    globs: tuple[str, ...],
    form: str | None,
    project: str | None,
    most: int,
    *,
    replace: bool,
) -> None:
    """Write every entry into one JSON file (- is stdout), or what is in force into files that agents read.

    Without --to the form follows from the name, such as AGENTS.md, .cursor/rules or skills; any other name is a
    JSON file. Files that are not ours stay as they are, except for our part of a file of instructions.

    The JSON is for another machine or another tool: lessons with their statistics, parameters, relations, rules, docs
    and scripts; no vectors. For agents it is the rules in force and the lessons that a person stated, by a GLOB of
    path or title: between two markers in the file PATH, or as files of ours in the folder PATH. Run it again in a hook
    or in CI to refresh them. A site is a page for each entry in the folder PATH, with a search, okf a bundle of the
    Open Knowledge Format 0.2; rules show who approved them and when.
    """
    # what writes and reads files of all forms, which `--help` need not load
    from ai_lessons.features.transfer import everything, sites, texts

    place = call.settings.cwd / Path(file).expanduser()
    form = form or target_of(place)
    if form in {*DRAWN, OKF}:
        draw = extensions.load(DRAWN[form]) if form in DRAWN else sites.bundle
        done = sites.export_site(call.library, place, draw, project, form=form, replace=replace)
        call.answer(done, texts.exported)
        return
    done = everything.export_file(
        call.library,
        None if file == "-" else place,
        form,
        project=project,
        globs=globs,
        most=most,
        replace=replace,
    )
    if done.document is not None:
        call.exactly(output.dump(done.document) + "\n")
        call.note([*done.notes, *(f"left out {path}: {reason}" for path, reason in done.skipped)])
        return
    call.answer(done, texts.exported)


def target_of(place: Path) -> str:
    """The form of an export by the end of its path; by default one JSON document."""
    for names, form in _TARGET_OF.items():
        if re.search(f"(?:^|/)(?:{names})$", place.as_posix(), re.IGNORECASE):
            return form
    return GROOVE


@click.command(
    "import",
    cls=Command,
    examples=[
        "knowledge.json --dry-run",
        "lessons.jsonl --from lessons-jsonl",
        "notes --from markdown --project jira-api",
        "AGENTS.md --split",
        "docs/adr --from adr --rules",
    ],
)
@click.argument("files", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "--from",
    "form",
    metavar="FORM",
    type=click.Choice(FORMATS),
    help=f"{', '.join(FORMATS)}; else by the name.",
)
@click.option("--project", metavar="P", help="Project of notes and instructions (default: global).")
@click.option(
    "--split",
    "split_up",
    is_flag=True,
    help="Make a rule of each statement of a file of instructions, and one of what is left.",
)
@click.option("--rules", is_flag=True, help="Also propose each accepted decision record as a rule.")
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
def import_files(
    call: Call, files: tuple[str, ...], form: str | None, project: str | None, split_up: bool, rules: bool,
    dry_run: bool,
) -> None:  # fmt: skip
    """Import what another tool or repository stored.

    A second run adds nothing; rules become proposals.

    PATH is an export, a log of lessons, a database of the predecessor, notes, skills, decision
    records, or memories or instructions of an agent: a file, a folder with such files, or a quoted
    glob.
    """
    from ai_lessons.features.transfer import jobs, texts

    places = jobs.source_files(files, call.settings.cwd)
    form = form or guess(places[0])
    if rules and form != ADR:
        raise UsageError(
            "--rules is for decision records",
            hint=f"--from {ADR}, or --split for a file of instructions",
        )
    how = {"split_up": split_up, "rules": rules, "dry_run": dry_run}
    done = jobs.import_files(call.library, places, form, project=project, **how)
    call.answer(done, texts.ported)


def guess(file: Path) -> str:
    """The form of a file by its name; a folder holds notes.

    Raises UsageError: the name does not show it.
    """
    for names, form in _NAMES.items():
        if re.fullmatch(names, file.name, re.IGNORECASE):
            return form
    if not file.is_dir():
        raise UsageError(
            f"the name {file.name!r} does not show its form",
            hint="give --from " + "|".join(FORMATS),
        )
    return MARKDOWN

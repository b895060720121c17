"""`ai-lessons admin`: make, check and care for the repository. The index and the model are in `machinery`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import mcp_server, render_jobs
from ai_lessons.doors.cli import agents, content, machinery, rules, transfer, warm
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Group, Tool
from ai_lessons.doors.cli.options import id_argument

if TYPE_CHECKING:
    from ai_lessons.doors.terminal import View
    from ai_lessons.library.setup import Job

EXIT_PROBLEMS = 4
"""`validate` found problems: the code of an invalid entry."""


@click.group("admin", cls=Group)
def admin() -> None:
    """Make, check and care for the repository."""


@admin.command("init", examples=["ai-lessons admin init", "ai-lessons admin init team-knowledge --team --no-hooks"])
@click.argument("path", required=False, type=click.Path())
@click.option("--from", "from_url", metavar="URL", help="Clone this repository instead.")
@click.option("--no-hooks", is_flag=True, help="Install no git hooks.")
@click.option("--team", is_flag=True, help="Ask for an approver other than the proposer.")
@click.option("--starters", is_flag=True, help="Bring the starter set; its rules wait as proposals.")
@pass_call
def init(call: Call, path: str | None, from_url: str | None, no_hooks: bool, team: bool, starters: bool) -> None:
    """Make a knowledge repository, or complete one. A folder that is full already is taken as it is."""
    place = call.settings.cwd / path if path else call.root
    done = library.setup.init_repository(
        place, call.options(), from_url=from_url, hooks=not no_hooks, team=team, starters=starters
    )
    call.answer(done, render_jobs.initialised)


@admin.command(
    "validate",
    examples=["ai-lessons admin validate", "ai-lessons admin validate --fix", "ai-lessons admin validate --ci"],
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option("--fix", is_flag=True, help="Mend what can be mended without a decision.")
@click.option("--ci", is_flag=True, help="What `admin review` asks about is a problem, too.")
@pass_call
def validate(call: Call, paths: tuple[str, ...], fix: bool, ci: bool) -> int:
    """Check files, all or some; exit code 4 if there are problems. For people, hooks and CI."""
    report = library.validating.validate(call.library, paths, fix=fix, content=ci)
    call.answer(report, render_jobs.report)
    return EXIT_PROBLEMS if report.problems else 0


@admin.command("doctor", examples=["ai-lessons admin doctor"])
@pass_call
def doctor(call: Call) -> int:
    """Check everything around the files; each finding with what to do. Exit code 1 if something is wrong."""
    checks = library.health.doctor(call.library)
    call.answer(checks, render_jobs.checks)
    return int(any(check.state == "error" for check in checks))


@admin.command("tiers", examples=["ai-lessons admin tiers"])
@pass_call
def tiers(call: Call) -> None:
    """Which repositories are read and written from where you stand, and why."""
    call.answer(library.opened.tier_states(call.root, call.options()), render_jobs.tiers)


@admin.command(
    "stats",
    examples=["ai-lessons admin stats"],
    tool=Tool("stats", "", "entries files", "How much is kept, and what waits.", reads=True),
)
@pass_call
def stats(call: Call) -> None:
    """Counts and sizes."""
    call.answer(library.health.stats(call.library), render_jobs.stats)


@admin.command("save", examples=["ai-lessons admin save"])
@pass_call
def save(call: Call) -> None:
    """Commit the writes that wait for a commit."""
    call.answer(
        library.syncing.save(call.library), render_jobs.saved, lambda value: {"commits": value[0], "notes": value[1]}
    )


@admin.command("adopt", examples=["ai-lessons admin adopt jira-api/notes.md"])
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@pass_call
def adopt(call: Call, paths: tuple[str, ...]) -> None:
    """Write ids into plain files, so that they keep them when they are moved."""
    call.answer(library.validating.adopt(call.library, paths), render_jobs.writes)


@admin.command("trust-script", examples=["ai-lessons admin trust-script S-9XW2RB"])
@id_argument
@pass_call
def trust_script(call: Call, ref: str) -> None:
    """Trust a script, and files beside it that it names, as they stand now on this machine; any change asks again."""

    def text(paths: tuple[str, ...], view: View) -> str:
        return "\n".join(f"Trusted as it stands: {view.place(path)}" for path in paths)

    call.answer(
        library.running.trust_script(call.library, ref), text, lambda paths: {"path": paths[0], "beside": paths[1:]}
    )


@admin.group("config")
def config() -> None:
    """Read and change the configuration of the repository."""


@config.command("get", examples=["ai-lessons admin config get", "ai-lessons admin config get search.model"])
@click.argument("key", required=False)
@pass_call
def config_get(call: Call, key: str | None) -> None:
    """Print one value, or all."""
    call.answer(library.setup.config_get(call.library, key), render_jobs.config)


@config.command("set", examples=["ai-lessons admin config set git.autocommit true"])
@click.argument("key")
@click.argument("value")
@pass_call
def config_set(call: Call, key: str, value: str) -> None:
    """Change one value; only its line in the file changes."""
    commit = library.setup.config_set(call.library, key, value)
    call.answer({key: value}, render_jobs.setting, lambda _: {"key": key, "value": value, "commit": commit})


@admin.group("hooks")
def hooks() -> None:
    """Git hooks of this clone or of a hub, and what tells agents of the knowledge base."""


def hooks_command(name: Job, text: str) -> None:
    """Define one of the three hooks commands."""
    examples = [
        f"ai-lessons admin hooks {name}",
        f"ai-lessons admin hooks {name} --server /srv/git/knowledge.git",
        f"ai-lessons admin hooks {name} --agents",
        f"ai-lessons admin hooks {name} --host claude-code",
    ]

    @hooks.command(name, help=text, examples=examples)
    @click.option("--server", metavar="HUB", help="Those of this hub, which people push to, instead of this clone's.")
    @click.option("--agents", "paragraph", is_flag=True, help="Instead: our paragraph in AGENTS.md or CLAUDE.md here.")
    @click.option("--file", "files", metavar="F", multiple=True, help="Our paragraph in this file; may be given again.")
    @click.option("--host", type=click.Choice(["claude-code"]), help="Instead: this agent host's hooks here.")
    @pass_call
    def command(call: Call, server: str | None, paragraph: bool, files: tuple[str, ...], host: str | None) -> None:
        if server:
            agents.answer_for_hub(call, name, server)
            return
        if paragraph or files or host:
            agents.answer_for_agents(call, name, paragraph=paragraph, files=files, host=host)
            return
        call.answer(library.setup.hooks(call.library, name), render_jobs.lines)


hooks_command("install", "Install them, beside the hooks that are there.")
hooks_command("uninstall", "Take ours away again.")
hooks_command("status", "Say which are installed.")
machinery.register(admin)
transfer.register(admin)
admin.add_command(mcp_server.mcp)
agents.register(admin)
rules.register_admin(admin)
admin.add_command(machinery.params)
admin.add_command(warm.warm)
content.register(admin)
transfer.register(admin)

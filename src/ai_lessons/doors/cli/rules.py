"""Commands about proposals, of `contribute` and `admin`; the review at a terminal is in `review`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ai_lessons import library
from ai_lessons.doors import render_rules
from ai_lessons.doors.cli import asking, options, review
from ai_lessons.doors.cli.commands import Argument, Command, Group, Tool
from ai_lessons.doors.mcp import framing
from ai_lessons.errors import Refused, UsageError
from ai_lessons.library.reports import PromotionRequest, RuleDraft

if TYPE_CHECKING:
    from ai_lessons.doors.cli.command_context import Call

link_option = partial(click.option, metavar="ID", multiple=True, shell_complete=options.offer("id"))


to_contribute, to_admin = Group("contribute"), Group("admin")  # These commands hang in the groups of those names


@to_contribute.command(
    "suggest-rule",
    examples=[
        '--title "GET before PUT" --rationale "PUT replaces all" --tags jira-api',
        '--title "Reset on Mondays" --rationale "Seen" --link-lesson L-8F3K2A',
    ],
    tool=Tool(
        "suggest_rule",
        [
            "title",
            "rationale",
            Argument("content", default=""),
            "tags",
            "linked_lessons",
            "linked_resources",
            "project",
            Argument("applies_to", note="globs of files"),
        ],
        lambda: library.reports.Suggested,
        "Propose a rule. It is in force only after a person approves it.",
    ),
)
@click.option("--title", required=True, metavar="T", help="What to do, in one sentence.")
@click.option("--rationale", required=True, metavar="R", help="Why.")
@options.content_options
@options.tags_option
@options.project_option
@click.option(
    "--applies-to", metavar="GLOB", type=options.FILE_NAME, multiple=True, help="Files it is about; may be given again."
)
@link_option("--link-lesson", "linked_lessons", help="Lesson that it rests on; may be given again.")
@link_option("--link-script", "--link-doc", "linked_resources", help="Script that does it, or doc that describes it.")
@options.allow_secret_option
def suggest_rule(call: Call, /, content: str | None, file: str | None, **fields: Any) -> None:
    """Propose a rule, on a branch of its own. It is in force only once a person has approved it."""
    links = tuple(("", ref) for ref in (*fields.pop("linked_lessons"), *fields.pop("linked_resources")))
    project = fields.pop("project") or ""
    draft = RuleDraft(content=asking.new_text(content, file) or "", links=links, project=project, **fields)
    call.answer(library.proposing.suggest_rule(call.library, draft), render_rules.suggested)


@to_contribute.command("propose")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
def propose(call: Call, paths: tuple[str, ...]) -> None:
    """Turn rules that were edited in the folder into proposals, and restore the approved text there."""
    call.answer(library.proposing.propose(call.library, paths), render_rules.proposed)


@to_admin.command(
    "pending-rules",
    examples=["", "--count"],
    tool=Tool(
        "list_pending",
        [],
        "pending",
        "Proposals that wait for a person: rules and other entries. None of them counts yet.",
        notice=framing.PROPOSED,
        reads=True,
    ),
)
@click.option("--count", "only_count", is_flag=True, help="Only print how many there are.")
def pending_rules(call: Call, only_count: bool) -> None:
    """List the proposals that wait for a person, of local and remote branches."""
    opened = call.library
    if only_count:
        number = library.telling.pending_count(opened.primary)
        call.answer(number, lambda count, _view: str(count), lambda count: {"pending": count}, framed=False)
    else:
        call.answer(library.review.pending_rules(opened), render_rules.pending, paged=True)
        call.note(opened.primary.notes())


@to_admin.command("review-rules")
@click.option("--sign", is_flag=True, help="Sign the merges, also where the policy does not require it.")
def review_rules(call: Call, sign: bool) -> None:
    """Go through the proposals on a terminal: approve, edit, reject, skip."""
    review.run(call, sign=sign)


@to_admin.command("approve-rule", examples=["R-5N1QTC --yes", "'rules/R-*' --yes"])
@click.argument("refs", metavar="[ID|GLOB]...", nargs=-1, shell_complete=options.offer("id"))
@click.option("--batch", default="", metavar="ID", help="All rules of one import; pending-rules shows its ID.")
@options.project_option
@click.option("--yes", is_flag=True, help="Show it and do not ask; needed where there is no terminal.")
@click.option("--sign", is_flag=True, help="Sign the merge, also where the policy does not require it.")
def approve_rule(call: Call, refs: tuple[str, ...], batch: str, project: str | None, yes: bool, sign: bool) -> None:
    """Approve proposals by merging them; a rule is then in force. For people; agents are refused.

    One merge approves many rules: those of a project, of an import, or whose path or branch matches a GLOB.
    """
    review.refuse_agents(call)
    globs = tuple(ref for ref in refs if set("*?[") & set(ref))
    if batch or project or globs:
        if len(globs) < len(refs):
            raise UsageError("IDs cannot be given together with a GLOB, --project or --batch", hint="use two commands")
        commits = review.many_confirmed(call, library.review.Batch(project or "", batch, globs), yes=yes)
        title = f"of {project}" if project else f"of batch {batch.upper()}" if batch else f"as {' '.join(globs)}"
        call.answer(library.review.approve_rules(call.library, commits, title, sign=sign), render_rules.approved)
        return
    if not refs:
        raise UsageError(
            "nothing to approve is given", hint="give an ID, a GLOB, --project or --batch; see pending-rules"
        )
    approved: list[library.reports.Decided] = []
    try:
        for ref, commit in review.shown_and_confirmed(call, refs, yes=yes):
            approved.append(library.review.approve_rule(call.library, ref, sign=sign, expect=commit))
    finally:  # also after an error, print what was approved before it
        if approved:
            call.answer(tuple(approved), render_rules.approved)


@to_admin.command("reject-rule", examples=['R-5N1QTC --reason "Holds only for v3"'])
@options.id_argument
@click.option("--reason", default="", metavar="R", help="Why; shown when it is suggested again.")
def reject_rule(call: Call, ref: str, reason: str) -> None:
    """Reject a proposal; its text and the reason are kept. For people; agents are refused."""
    call.answer(library.review.reject_rule(call.library, ref, reason=reason), partial(render_rules.decided, "Rejected"))


@to_admin.command("signers", examples=["", "team.signers --yes"])
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not show and ask; needed where there is no terminal.")
def signers(call: Call, file: Path | None, yes: bool) -> None:
    """List whose signatures approve rules here; with a FILE, pin exactly its keys. Agents cannot pin keys.

    A line each: ADDRESS and the public key, as in OpenSSH's allowed_signers, or ADDRESS openpgp FINGERPRINT.
    """
    ask = (lambda _question, _keys: True) if yes else asking.ask_keys if call.can_ask else None
    call.answer(library.signing.signers(call.library, file, ask), render_rules.signers)


@to_admin.command("audit", examples=["", "--acknowledge"])
@click.option("--acknowledge", is_flag=True, help="Accept what raised the alarm, after a person checked it.")
@click.option("--yes", is_flag=True, help="With --acknowledge: do not ask; needed where there is no terminal.")
def audit(call: Call, acknowledge: bool, yes: bool) -> int:
    """Show who approved what, when and how; exit code 8 if a rule violates the policy."""
    ask = (lambda _alarms: True) if yes else asking.ask_about_alarms if call.can_ask else None
    done = library.audit.acknowledge(call.library, ask) if acknowledge else library.audit.audit(call.library)
    call.answer(done, render_rules.audit, paged=True)
    return 0 if done.ok else Refused.exit_code


@click.command(
    "promote",
    cls=Command,
    examples=["L-8F3K2A --to user", 'L-8F3K2A --to enterprise:acme --reason "three teams lost statuses"'],
    tool=Tool(
        "promote",
        [Argument("id", "ref"), Argument("to", note="enterprise:NAME; a rule also to user or project"), "reason"],
        lambda: library.reports.Promoted,
        "Propose an entry to an enterprise, with an evaluation; a person there decides. "
        "Copies between the user's and the project's tier are for people.",
    ),
)
@options.id_argument
@click.option("--to", required=True, metavar="TIER", help="user, project or enterprise:NAME; see `admin tiers`.")
@click.option("--reason", default="", metavar="R", help="Why; for the people who decide about it there.")
@options.allow_secret_option
def promote(call: Call, /, ref: str, to: str, **fields: Any) -> None:
    """Bring an entry to another tier: a copy to yours or the project's, a proposal to an enterprise's."""
    request = PromotionRequest(**fields, person=not call.tool)
    call.answer(library.promoting.promote(call.library, ref, to, request), render_rules.promoted)

"""Commands about proposals: suggest, review, approve, reject; who may sign, who approved what.

Begin with `review_rules`; what it shows and asks at a terminal is in `reviewing`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ai_lessons import app
from ai_lessons.app.written import RuleDraft
from ai_lessons.errors import Refused, UsageError
from ai_lessons.interfaces import output, text_proposals
from ai_lessons.interfaces.cli import options, prompts, text_input
from ai_lessons.interfaces.cli.added_options import added_to
from ai_lessons.interfaces.cli.command import Argument, Group, Tool
from ai_lessons.interfaces.cli.reviewing import (
    BY_A_PERSON,
    REASON,
    many_confirmed,
    need_terminal,
    past_sessions,
    present,
    refuse_agents,
    run,
    shown_and_confirmed,
    with_lines_broken,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_lessons.interfaces.cli.call import Call

link_option = partial(click.option, metavar="ID", multiple=True, shell_complete=options.offer("id"))


# These commands hang in the groups of those names
to_contribute, to_admin = Group("contribute"), Group("admin")


ADDED_TO_RULES = added_to("contribute suggest-rule")
RULE_ARGUMENTS: list[str | Argument] = [
    "title", "rationale", Argument("content", default=""), "tags", "linked_lessons", "linked_resources", "project",
    Argument("applies_to", note="globs of files"),
    *ADDED_TO_RULES.arguments,
]  # fmt: skip


@to_contribute.command(
    "suggest-rule",
    examples=[
        '--title "GET before PUT" --rationale "PUT replaces all" --tags jira-api',
        '--title "Reset on Mondays" --rationale "Seen" --link-lesson L-8F3K2A --approve --yes',
    ],
    tool=Tool(
        "suggest_rule",
        RULE_ARGUMENTS,
        lambda: app.written.Suggested,
        "Propose a rule: in force once a person approves it.",
    ),
)
@click.option("--title", required=True, metavar="T", help="What to do, in one sentence.")
@click.option("--rationale", required=True, metavar="R", help="Why.")
@options.content_options
@options.tags_option
@options.project_option
@options.several("--applies-to", metavar="GLOB", type=options.FILE_NAME, text="Files it is about;")
@link_option("--link-lesson", "linked_lessons", help="Lesson that it rests on; may be given again.")
@link_option(
    "--link-script",
    "--link-doc",
    "linked_resources",
    help="Script that does it, or doc that describes it.",
)
@ADDED_TO_RULES
@options.allow_secret_option
@click.option(
    "--approve",
    is_flag=True,
    help="Approve it at once: it is shown, and you are asked. Agents are refused.",
)
@click.option(
    "--yes", is_flag=True, help="With --approve: do not ask; needed where there is no terminal."
)
def suggest_rule(
    call: Call, /, content: str | None, file: str | None, *, approve: bool, yes: bool, **fields: Any
) -> None:
    """Propose a rule, on a branch of its own. It is in force only once a person has approved it."""
    if approve:
        # before anything is written
        refuse_agents(call)
        need_terminal(call, BY_A_PERSON, yes=yes)
    linked = [*fields.pop("linked_lessons"), *fields.pop("linked_resources")]
    # what a link says follows from the kind of its end
    links = tuple(("", ref) for ref in linked)
    project = fields.pop("project") or ""
    of_features = ADDED_TO_RULES.taken(fields)
    text = text_input.new_text(content, file) or ""
    draft = RuleDraft(content=text, links=links, project=project, options=of_features, **fields)
    made = app.proposals.suggest_rule(call.library, draft)
    if approve:
        call.note(made.notes)
        (shown,) = shown_and_confirmed(
            call, [made.branch], yes=yes, refused="not approved; it waits as a proposal"
        )
        call.answer(
            (app.review.approve_rule(call.library, shown[0], expect=shown[1]),),
            text_proposals.approved,
        )
        return
    past = past_sessions(call, app.pending_rules.pending_rule(call.library, made.branch))
    call.answer(made._replace(past=past), text_proposals.suggested)


@to_contribute.command("propose")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
def propose(call: Call, paths: tuple[str, ...]) -> None:
    """Turn rules that were edited in the folder into proposals, and restore the approved text there."""
    call.answer(app.proposals.propose(call.library, paths), text_proposals.proposed)


@to_admin.command("review-rules", examples=["", "--list", "--count"])
@click.option(
    "--list", "only_list", is_flag=True, help="Only list what waits, of local and remote branches."
)
@click.option("--count", "only_count", is_flag=True, help="Only print how many wait.")
@click.option(
    "--sign", is_flag=True, help="Sign the merges, also where the policy does not require it."
)
def review_rules(call: Call, only_list: bool, only_count: bool, sign: bool) -> None:
    """Go through the proposals on a terminal: approve, edit, reject, skip."""
    if only_count:
        number = app.pending.count(call.library.primary)
        if call.json:
            click.echo(output.dump({"pending": number}))
        else:
            click.echo(number)
    elif only_list:
        call.answer(
            with_lines_broken(call, app.pending_rules.pending_rules(call.library)),
            text_proposals.pending,
            paged=True,
        )
        call.note(call.library.primary.notes())
    else:
        run(call, sign=sign)


@to_admin.command("approve-rule", examples=["R-5N1QTC --yes", "'rules/R-*' --yes"])
@click.argument("refs", metavar="[ID|GLOB]...", nargs=-1, shell_complete=options.offer("id"))
@click.option(
    "--batch",
    default="",
    metavar="ID",
    help="All rules of one import; review-rules --list shows its ID.",
)
@options.project_option
@click.option(
    "--rationale", default="", metavar="R", help="Why it is so, of one rule that states no reason."
)
@click.option(
    "--yes", is_flag=True, help="Show it and do not ask; needed where there is no terminal."
)
@click.option(
    "--sign", is_flag=True, help="Sign the merge, also where the policy does not require it."
)
def approve_rule(
    call: Call,
    refs: tuple[str, ...],
    batch: str,
    project: str | None,
    rationale: str,
    yes: bool,
    sign: bool,
) -> None:
    """Approve proposals by merging them; a rule is then in force. For people; agents are refused.

    One merge approves many rules: those of a project, of an import, or whose path or branch matches
    a GLOB.
    """
    refuse_agents(call)
    globs = tuple(ref for ref in refs if set("*?[") & set(ref))
    if rationale:
        if batch or project or globs or len(refs) != 1:
            raise UsageError("a reason is that of one rule", hint="name its ID")
        app.review.state_reason(call.library, refs[0], rationale)
    if batch or project or globs:
        if len(globs) < len(refs):
            raise UsageError(
                "IDs cannot be given together with a GLOB, --project or --batch",
                hint="use two commands",
            )
        if project:
            title = f"of {project}"
        elif batch:
            title = f"of batch {batch.upper()}"
        else:
            title = f"as {' '.join(globs)}"
        with app.review.one_job():
            commits = many_confirmed(
                call, app.pending_rules.Batch(project or "", batch, globs), yes=yes
            )
            decided = app.review.approve_rules(call.library, commits, title, sign=sign)
        call.answer(decided, text_proposals.approved)
        return
    if not refs:
        raise UsageError(
            "nothing to approve is given",
            hint="give an ID, a GLOB, --project or --batch; see review-rules --list",
        )
    approved: list[app.review.Decided] = []
    try:
        with app.review.one_job():
            for ref, commit in shown_and_confirmed(call, refs, yes=yes):
                approved.append(
                    app.review.approve_rule(call.library, ref, sign=sign, expect=commit)
                )
    finally:
        # also after an error, print what was approved before it
        if approved:
            call.answer(tuple(approved), text_proposals.approved)


@to_admin.command("reject-rule", examples=['R-5N1QTC --reason "Holds only for v3"'])
@options.id_argument
@click.option("--reason", default="", metavar="R", help="Why; shown when it is suggested again.")
@click.option("--yes", is_flag=True, help="Do not show and ask.")
def reject_rule(call: Call, ref: str, reason: str, yes: bool) -> None:
    """Reject a proposal; its text and the reason are kept. For people; agents are refused.

    On a terminal it is shown first, and you are asked.
    """
    refuse_agents(call)
    expect = None
    if call.can_ask and not yes:
        proposal = app.pending_rules.pending_rule(call.library, ref)
        present(
            call,
            [proposal],
            f"Reject {proposal.handle}?",
            refused="not rejected; nothing was changed",
        )
        reason = reason or click.prompt(REASON, default="", show_default=False, err=True)
        expect = proposal.commit
    done = app.review.reject_rule(call.library, ref, reason=reason, expect=expect)
    call.answer(done, partial(text_proposals.decided, "Rejected"))


@to_admin.command("signers", examples=["", "team.signers --yes"])
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--copy",
    is_flag=True,
    help="This is a copy of the repository that the list is for: add its address.",
)
@click.option(
    "--name",
    default="",
    metavar="LIST",
    help="What approvals here call the list, if it was made elsewhere.",
)
@click.option("--yes", is_flag=True, help="Do not show and ask; needed where there is no terminal.")
def signers(call: Call, file: Path | None, copy: bool, name: str, yes: bool) -> None:
    """List whose signatures approve rules here; with a FILE, pin exactly its keys.

    Agents cannot pin keys.

    A line each: ADDRESS and the public key, as in OpenSSH's allowed_signers, or ADDRESS openpgp
    FINGERPRINT.
    """
    ask: Callable[[str, list[str]], bool] | None = None
    if yes:
        ask = _agree_to_keys
    elif call.can_ask:
        ask = prompts.ask_keys
    call.answer(
        app.pinned_signers.signers(call.library, file, ask, copy=copy, name=name),
        text_proposals.signers,
    )


def _agree_to_keys(_question: str, _keys: list[str]) -> bool:
    return True


@to_admin.command("audit", examples=["", "--acknowledge"])
@click.option(
    "--acknowledge", is_flag=True, help="Accept what raised the alarm, after a person checked it."
)
@click.option(
    "--yes", is_flag=True, help="With --acknowledge: do not ask; needed where there is no terminal."
)
def audit(call: Call, acknowledge: bool, yes: bool) -> int:
    """Show who approved what, when and how; exit code 8 if a rule violates the policy."""
    if acknowledge:
        ask: Callable[[str], bool] | None = None
        if yes:
            ask = _agree_to_alarms
        elif call.can_ask:
            ask = prompts.ask_about_alarms
        done = app.rule_audit.acknowledge(call.library, ask)
    else:
        done = app.rule_audit.audit(call.library)
    call.answer(done, text_proposals.audit, paged=True)
    if done.ok:
        return 0
    return Refused.exit_code


def _agree_to_alarms(_alarms: str) -> bool:
    return True

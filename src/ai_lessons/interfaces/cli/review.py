"""Proposals at the command line: suggest, review one by one, approve, reject, sign."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import termios
import tty
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from ai_lessons import app, settings
from ai_lessons.app.answers import RuleDraft
from ai_lessons.errors import AiLessonsError, Conflict, NotFound, Refused, UsageError
from ai_lessons.interfaces import output, text_jobs
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces.cli import options, prompts, text_input
from ai_lessons.interfaces.cli.command import Argument, Command, Group, Tool
from ai_lessons.interfaces.output import clean, is_terminal, line
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from ai_lessons.app.answers import Pending, Written
    from ai_lessons.app.harvest_drafts import HarvestedLesson
    from ai_lessons.app.outdated import Outdated
    from ai_lessons.app.pending_rules import Batch
    from ai_lessons.interfaces.cli.call import Call

T = TypeVar("T")
# by key: the word for it, and what it does
Choices: TypeAlias = "Mapping[str, tuple[str, str]]"
ALWAYS: Choices = {
    "s": ("skip", "leave it as it is"),
    "q": ("quit", "end here; what was chosen before is done"),
}


def decide_each(items: Sequence[T], decide: Callable[[T], str], past: Mapping[str, str]) -> str:
    """Call `decide` for each item until it answers `quit`.

    Return the counts, in the past tense of each choice.
    """
    counts = Counter[str]()
    for number, item in enumerate(items, 1):
        click.echo(f"\n{number} of {len(items)}")
        choice = decide(item)
        if choice == "quit":
            break
        counts[choice] += 1
    parts = [f"{counts[choice]} {word}" for choice, word in past.items() if counts[choice]]
    if remaining := len(items) - counts.total():
        parts.append(f"{remaining} left")
    return ", ".join(parts)


def choose(choices: Choices, act: Callable[[str], bool]) -> str:
    """Ask for a choice until it is skip or quit, or `act` did it.

    An error of ours is shown, and asked again.
    """
    offered = {**choices, **ALWAYS}
    labels = [
        f"[{key}]{word[1:]}" if word.startswith(key) else f"[{key}] {word}"
        for key, (word, _) in offered.items()
    ]
    question = "\n" + ", ".join([*labels, "[?]"])
    while True:
        pressed = key(question, {*offered, "?"})
        if pressed == "?":
            click.echo(
                "\n".join(f"  {key}  {word}: {text}" for key, (word, text) in offered.items()),
                err=True,
            )
            continue
        choice, _ = offered[pressed]
        try:
            if pressed in ALWAYS or act(choice):
                return choice
        except AiLessonsError as error:
            show_error(error)


def show_error(error: AiLessonsError) -> None:
    """Print an error and its hint on stderr, where the work goes on."""
    click.echo(
        f"error: {clean(error.message)}" + (f"\nhint: {clean(error.hint)}" if error.hint else ""),
        err=True,
    )


def key(question: str, keys: Collection[str]) -> str:
    """Wait for one of these keys, without Enter, and ignore others.

    Ctrl-C and Ctrl-D end the program.
    """
    pressed = ""
    with _keys() as read:
        click.echo(f"{question}: ", nl=False, err=True)
        while not pressed:
            # several keys may come at once; an arrow is an escape and letters
            typed = read().lower()
            if typed.startswith("\x1b"):
                pressed = ""
            else:
                pressed = next((letter for letter in typed if letter in keys), "")
    click.echo(pressed.strip(), err=True)
    return pressed


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """A reader of the keys that are pressed from now on."""
    # Keys that were pressed before the question answered none and are dropped. `click.getchar`
    # would also drop those that are pressed between the question and its call.
    if not is_terminal(sys.stdin):
        yield click.getchar
        return
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)

    def read() -> str:
        typed = os.read(fd, 32).decode(sys.stdin.encoding, "replace").replace("\n", "\r")
        if not typed or "\x04" in typed:
            raise EOFError
        return typed

    tty.setcbreak(fd)
    try:
        yield read
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


CHOICES: Choices = {
    "a": ("approve", "merge it as it was shown: it is in force"),
    "e": ("edit", "open it in your editor; you are asked about the result"),
    "r": ("reject", "turn it down with a reason, which is shown when it is suggested again"),
    "v": ("view", "show all of it, and how it differs from what it resembles"),
    "b": (
        "batch",
        "approve this and all that wait of the same import, with one merge, after a question",
    ),
}
PAST = {"approve": "approved", "reject": "rejected", "skip": "skipped"}
STANDING = "standing"
REASON = "Reason (shown when it is suggested again)"
WHY = "It states no reason. Why is it so (Enter: approve it without)"
BY_A_PERSON = "a proposal is approved by a person, who is asked on a terminal"
NOT_APPROVED = "not approved; nothing was changed"
NO_TERMINAL = "see review-rules --list, then approve-rule ID --yes or reject-rule ID"


def refuse_agents(call: Call) -> None:
    """Refuse an agent before anything is shown; the library refuses, too. Raises Refused."""
    call.options().refuse_agents("decide about proposals", text_jobs.REVIEW)


def run(call: Call, *, sign: bool) -> None:
    """Show all that waits for a decision or a signature and ask, until none is left or the reviewer quits."""
    refuse_agents(call)
    waiting = app.pending_rules.pending_rules(call.library)
    call.note(call.library.primary.notes())
    if not waiting:
        click.echo(text_jobs.NOTHING_PENDING)
        return
    if not (call.can_ask and is_terminal(sys.stdout)):
        raise UsageError("a review needs a terminal", hint=NO_TERMINAL)
    summary = decide_each(waiting, Review(call, waiting, sign=sign).decide, PAST)
    click.echo("\n" + summary)


class Review:
    """A review at a terminal of the proposals that were `waiting` when it began."""

    def __init__(self, call: Call, waiting: Sequence[Pending], *, sign: bool) -> None:
        self.call, self.waiting, self.sign = call, waiting, sign
        # branches that were approved together with another one
        self.in_batch: set[str] = set()

    def decide(self, proposal: Pending) -> str:
        """Show a proposal, ask, and do what was chosen; return the choice."""
        if proposal.branch in self.in_batch:
            return "approve"
        call, cut = self.call, False

        def show() -> None:
            nonlocal cut
            # a proposal of up to 60 lines is shown whole, also where the terminal has fewer and
            # scrolls
            cut = _card(call, _whole(call, self.waiting, proposal), 60)

        def act(choice: str) -> bool:
            nonlocal proposal, cut
            if choice == "view" or (choice == "approve" and cut):
                call.say(_whole(call, self.waiting, proposal), paged=True)
                if choice == "approve":
                    click.echo(
                        "Not approved yet: you had not seen all of it. Press a again.", err=True
                    )
                cut = False
                return False
            _refuse_standing(proposal, choice)
            if choice == "edit":
                edited = call.edit_until_valid(
                    partial(app.review.edit_proposal, call.library, proposal.branch)
                )
                proposal = _reread(call, proposal, edited.branch if edited else proposal.branch)
                show()
                return False
            if choice == "batch":
                self._approve_batch(proposal)
                return True
            try:
                self._carry_out(proposal, choice)
            except Conflict as error:
                proposal = _reread(call, proposal, proposal.branch)
                show_error(error)
                show()
                return False
            return True

        show()
        choice = choose(
            {key: name for key, name in CHOICES.items() if key != "b" or proposal.batch}, act
        )
        if choice == "batch":
            return "approve"
        return choice

    def _approve_batch(self, proposal: Pending) -> None:
        """Approve all of the same import, after a question."""
        call = self.call
        commits = many_confirmed(
            call, app.pending_rules.Batch(batch=proposal.batch, of=proposal.branch), yes=False
        )
        title = f"rules of import {proposal.batch}"
        merged = app.review.approve_rules(call.library, commits, title, sign=self.sign)
        call.say(text_jobs.approved(merged, call.view))
        self.in_batch.update(commits)

    def _carry_out(self, proposal: Pending, choice: str) -> None:
        """Approve or reject what was shown. Raises Conflict: it was changed meanwhile."""
        call = self.call
        if choice == "approve":
            proposal = _with_reason(call, proposal)
            if proposal.change == STANDING:
                ref = proposal.id
            else:
                ref = proposal.branch
            decided = app.review.approve_rule(
                call.library, ref, sign=self.sign, expect=proposal.commit
            )
            word = "Approved"
        else:
            reason = click.prompt(REASON, default="", show_default=False, err=True)
            decided = app.review.reject_rule(
                call.library, proposal.branch, reason=reason, expect=proposal.commit
            )
            word = "Rejected"
        click.echo(text_jobs.decided(word, decided, call.view), color=call.view.colour)
        call.note(decided.notes)


def _refuse_standing(proposal: Pending, choice: str) -> None:
    """Refuse for a rule on the approval branch what is done only to a proposal.

    Raises UsageError.
    """
    if proposal.change == STANDING and choice != "approve":
        raise UsageError(
            (
                f"{proposal.handle} is on the approval branch already; it is not in force "
                "until it is approved"
            ),
            hint=f"skip it, or propose a change: ai-lessons contribute edit {proposal.handle}",
        )


def _reread(call: Call, proposal: Pending, branch: str) -> Pending:
    """The proposal as it is now, on a local `branch` if it was a remote's and was edited.

    Raises NotFound.
    """
    for waiting in app.pending_rules.pending_rules(call.library):
        if waiting.branch == branch and (waiting.id == proposal.id or waiting.change != STANDING):
            return waiting
    raise NotFound("open proposal", branch, hint="it was decided or withdrawn meanwhile: skip it")


def _card(call: Call, text: str, least: int = 10) -> bool:
    """Print a text, cut to the height of the terminal, at least `least` lines.

    True if it was cut.
    """
    rows = call.view.fit(text).split("\n")
    room = max(shutil.get_terminal_size().lines - 4, least)
    cut = len(rows) > room
    if cut:
        rows = [*rows[: room - 1], f"… {len(rows) - room + 1} more lines: v shows them"]
    click.echo("\n".join(["", *rows]), color=call.view.colour)
    return cut


def _past(call: Call, proposal: Pending) -> app.answers.PastSessions | None:
    """What the sessions of this user say of a proposal.

    Over HTTP nobody is told of those of who serves.
    """
    if call.tool and call.library.options.session is None:
        return None
    return app.harvest_evidence.past(
        call.library, settings.where(os.environ, call.settings.cwd), proposal
    )


def _with_lines_broken(call: Call, proposals: Sequence[Pending]) -> tuple[Pending, ...]:
    """The proposals with what breaks their checks in the code around, for a person.

    An agent decides about none.
    """
    if call.tool:
        return tuple(proposals)
    return app.rule_checks.with_lines_broken(call.library, proposals)


def _whole(call: Call, waiting: Sequence[Pending], proposal: Pending) -> str:
    """A proposal in full, and how its text differs from the entries that it resembles."""
    (proposal,) = _with_lines_broken(call, [proposal])
    blocks = [text_jobs.proposal(proposal, call.view, _past(call, proposal))]
    for name in (similar.partition(" ")[0] for similar in proposal.similar):
        bodies = []
        for other in waiting:
            if other.handle == name:
                bodies.append(other.body)
        with suppress(AiLessonsError):
            # another proposal, or deleted meanwhile
            bodies = [app.entries.show(call.library, name).body]
        for body in bodies:
            difference = app.entries.difference(proposal.path, body, proposal.body)
            blocks.append(f"Against {line(name)}:\n{interfaces_text.diff(difference, call.view)}")
    return "\n\n".join(blocks)


def shown_and_confirmed(
    call: Call, refs: Sequence[str], *, yes: bool, refused: str = NOT_APPROVED
) -> Iterator[tuple[str, str]]:
    """Show these proposals and standing rules, ask once unless `yes`.

    Names and the commits that were shown.

    Raises Refused, NotFound.
    """
    _need_terminal(call, BY_A_PERSON, yes=yes)
    proposals: Iterable[Pending] = (
        app.pending_rules.pending_rule(call.library, ref) for ref in refs
    )
    if not yes:
        proposals = every = list(proposals)
        question = f"Approve {', '.join(proposal.handle for proposal in every)}?"
        _present(call, every, question, refused=refused)
    for proposal in proposals:
        if yes:
            _present(call, [proposal], "", yes=True)
        else:
            proposal = _with_reason(call, proposal)  # noqa: PLW2901
        yield proposal.id if proposal.change == STANDING else proposal.branch, proposal.commit


def _with_reason(call: Call, proposal: Pending) -> Pending:
    """A new rule with the reason that it lacks, which the person who approves it is asked for."""
    if (
        proposal.kind != Kind.RULE
        or proposal.change != "new"
        or proposal.rationale
        or not call.can_ask
    ):
        return proposal
    reason = click.prompt(WHY, default="", show_default=False, err=True)
    stated = None
    if reason.strip():
        stated = app.review.state_reason(call.library, proposal.branch, reason, proposal.commit)
    if stated:
        return proposal._replace(branch=stated.branch, commit=stated.commit)
    return proposal


def many_confirmed(call: Call, batch: Batch, *, yes: bool) -> dict[str, str]:
    """Show a batch of proposals, below a table of them, and ask once unless `yes`.

    The commits shown, by branch.

    Raises Refused: no terminal, or not approved. NotFound: nothing of the batch waits.
    """
    _need_terminal(call, "proposals are approved by a person, who is asked on a terminal", yes=yes)
    waiting = app.pending_rules.pending_rules(call.library, batch)
    if not waiting:
        name = batch.project or batch.batch or " ".join(batch.globs)
        raise NotFound(
            "open proposal of a rule",
            name,
            hint="see what waits: ai-lessons admin review-rules --list",
        )
    _present(call, waiting, f"Approve all {len(waiting)} with one merge?", yes=yes)
    by_key: dict[str, str] = {}
    for proposal in waiting:
        by_key[proposal.branch] = proposal.commit
    return by_key


def _need_terminal(call: Call, message: str, *, yes: bool) -> None:
    if not yes and not (call.can_ask and is_terminal(sys.stdout)):
        raise Refused(message, hint=NO_TERMINAL)


def _present(
    call: Call,
    proposals: Sequence[Pending],
    question: str,
    *,
    yes: bool = False,
    refused: str = NOT_APPROVED,
) -> None:
    """Show proposals in full, several below a table, with `--json` on stderr.

    Ask once unless `yes`. Raises Refused.
    """
    proposals = _with_lines_broken(call, proposals)
    if len(proposals) > 1:
        head = [text_jobs.pending(proposals, call.view)]
    else:
        head = []
    cards = (
        text_jobs.proposal(proposal, call.view, _past(call, proposal)) for proposal in proposals
    )
    text = "\n\n".join([*head, *cards])
    if call.json:
        click.echo(text, err=True)
    else:
        call.say(call.view.fit(text) + ("\n" if yes else ""), paged=bool(head) and not yes)
    if not yes and not prompts.confirm(f"\n{question}"):
        raise Refused(refused, hint=f"it waits: {text_jobs.REVIEW}")


# --- content that may have gone stale ---

STALE_CHOICES: Choices = {
    "k": ("keep", "it holds: you are asked again in half a year"),
    "e": ("edit", "open it in your editor"),
    "n": ("supersede", "name what takes its place"),
    "w": ("wrong", "it does not hold: it leaves all results, and its file stays"),
    "v": ("view", "show all of it"),
}
STALE_PAST = {
    "keep": "kept",
    "edit": "edited",
    "supersede": "superseded",
    "wrong": "marked wrong",
    "skip": "skipped",
}


@click.command("review", cls=Command, examples=["", "--list", "--keep L-8F3K2A"])
@click.option("--list", "only_list", is_flag=True, help="List it; on a terminal, too.")
@click.option(
    "--keep",
    "ref",
    metavar="ID",
    help="This one holds: ask again in half a year.",
    shell_complete=options.offer("id"),
)
@click.option(
    "--stale",
    is_flag=True,
    help="Only list entries whose code or source changed, and packages with a newer version.",
)
def stale(call: Call, only_list: bool, ref: str | None, stale: bool) -> None:
    """Go through what may have gone stale, at a terminal with one key each; elsewhere list it."""
    if stale:
        call.answer(tuple(app.outdated.moved_on(call.library.primary)), text_jobs.stale)
        return
    if ref:
        call.answer((app.editing.keep(call.library, ref, call.sure),), text_jobs.writes)
        return
    outdated = app.outdated.review(call.library)
    if only_list or not outdated or not _person_reviews(call):
        call.answer(outdated, text_jobs.outdated, paged=True)
        return
    entries = [
        list(reasons) for _, reasons in groupby(outdated, key=lambda reason: reason.entry.id)
    ]
    click.echo("\n" + decide_each(entries, partial(_decide_about, call), STALE_PAST))


def _person_reviews(call: Call) -> bool:
    return call.can_ask and is_terminal(sys.stdout) and not call.settings.agent


def _decide_about(call: Call, reasons: Sequence[Outdated]) -> str:
    """Show an entry and why it may be stale, ask, and do what was chosen; return the choice."""
    entry = reasons[0].entry
    warnings = [call.view.paint(f"! {line(reason.detail)}", "warn") for reason in reasons]
    text = interfaces_text.shown(app.entries.show(call.library, entry.id), call.view)
    if any(reason.reason == "about" for reason in reasons):
        changed = app.anchor_renewal.code_diff(call.library.primary, entry)
        if changed:
            text += f"\n\nThe code it speaks of:\n{interfaces_text.diff(changed, call.view)}"
    _card(call, "\n".join([*warnings, "", text]))
    choices = dict(STALE_CHOICES)
    if entry.kind is not Kind.LESSON:
        del choices["w"]
    if entry.kind is Kind.RULE:
        # a rule is superseded only by a proposal
        del choices["n"]

    def act(choice: str) -> bool:
        written: Written | None
        if choice == "view":
            call.say(call.view.fit(text), paged=True)
            return False
        if choice == "edit":
            written = call.edit_until_valid(partial(app.editing.edit, call.library, entry.id))
        elif choice == "keep":
            try:
                written = app.editing.keep(call.library, entry.id, call.sure)
            except Refused:
                # at the question: another choice may fit
                written = None
        elif choice == "wrong":
            reason = click.prompt("Why is it wrong", default="", show_default=False, err=True)
            written = app.lessons.wrong(call.library, entry.id, reason, by=call.caller)
        else:
            newer = click.prompt("ID of what takes its place", err=True)
            newer = app.entries.show(call.library, newer).entry.id
            written = app.editing.link(call.library, newer, entry.id, "supersedes")
        call.note(written.notes if written else ())
        return written is not None

    return choose(choices, act)


# --- lessons that transcripts of agents suggest ---

HARVEST_CHOICES: Choices = {
    "k": ("keep", "open the draft in your editor, and add what comes back"),
    "n": ("never", "do not propose it again"),
}
HARVEST_PAST = {"keep": "kept", "skip": "skipped", "never": "never again"}


@click.command(
    "harvest",
    cls=Command,
    examples=[
        "",
        "--since 2026-11-01 --project shop --json",
        ". --keep all --yes",
        "--from ~/code/shop --propose all",
    ],
)
@click.argument("folder", required=False, default="")
@click.option(
    "--since",
    metavar="D",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Only what happened from this day on.",
)
@options.project_option
@options.several(
    "--keep", "keep", metavar="all|ID", text="Add these drafts as they are; for people only;"
)
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@click.option(
    "--from",
    "team",
    metavar="REPO",
    help="Read the sessions that a team keeps in the git of its code.",
)
@click.option(
    "--ref",
    default="",
    help="Where in it: a branch, a ref, or all below a name; else where Entire does.",
)
@options.several(
    "--propose",
    "propose",
    metavar="all|ID",
    text="Propose these statements as rules; all: said twice;",
)
@click.option(
    "--for-agent", is_flag=True, help="All that may hold, the sure marked, for an agent to judge."
)
def harvest(
    call: Call, folder: str, since: datetime | None, project: str | None, keep: tuple[str, ...], yes: bool,
    team: str | None, ref: str, propose: tuple[str, ...], for_agent: bool,
) -> None:  # fmt: skip
    """Propose lessons from what happened in the sessions of your agents.

    Nothing is stored without your yes.

    What is listed is sure: what you corrected, or said in two sessions; what worked in place of a
    command that failed.
    FOLDER: transcripts from elsewhere. Without it, those that Claude Code, Codex, Gemini CLI,
    opencode and Cursor keep.
    """
    if team and folder:
        raise UsageError(
            "transcripts are read from a folder or from git, not both",
            hint="--from REPO without FOLDER",
        )
    where, only = settings.where(os.environ, call.settings.cwd), project or ""
    # an id names a draft that is not sure, too
    every = for_agent or bool(propose or keep)
    harvested = app.harvest.harvest(
        call.library,
        where,
        folder,
        since=since,
        project=only,
        team=team or "",
        ref=ref,
        every=every,
    )
    if propose:
        call.answer(app.harvest.propose(call.library, harvested, propose), text_jobs.proposed)
        call.note(harvested.notes)
    elif keep:
        if not yes and not (call.can_ask and click.confirm(f"Add {', '.join(keep)}?", err=True)):
            raise Refused(
                "drafts are added only after a yes", hint="ask on a terminal, or say --yes"
            )
        call.answer(
            app.harvest.keep_these(call.library, harvested, keep, call.caller), text_jobs.writes
        )
        call.note(harvested.notes)
    elif harvested.candidates and not for_agent and _person_reviews(call):
        click.echo(interfaces_text.held(harvested))
        click.echo(
            "\n" + decide_each(harvested.candidates, partial(_decide_on, call), HARVEST_PAST)
        )
        call.note(harvested.notes)
    else:
        if for_agent:
            text = interfaces_text.for_agent
        else:
            text = interfaces_text.harvested
        call.answer(harvested, text, lambda value: value.candidates)


def _decide_on(call: Call, candidate: HarvestedLesson) -> str:
    """Show a candidate, ask, and do what was chosen; return the choice."""

    def act(choice: str) -> bool:
        if choice == "never":
            app.harvest.decide(call.library, candidate, "never")
            return True

        def job(edit: text_input.Edits) -> Written | None:
            return app.harvest.keep(call.library, candidate, call.caller, edit)

        if written := call.edit_until_valid(job, "nothing was added"):
            click.echo(text_jobs.writes((written,), call.view), color=call.view.colour)
            call.note(written.notes)
        return written is not None

    click.echo(interfaces_text.candidate(candidate, call.view))
    return choose(HARVEST_CHOICES, act)


link_option = partial(click.option, metavar="ID", multiple=True, shell_complete=options.offer("id"))


# These commands hang in the groups of those names
to_contribute, to_admin = Group("contribute"), Group("admin")


RULE_ARGUMENTS: list[str | Argument] = [
    "title", "rationale", Argument("content", default=""), "tags", "linked_lessons", "linked_resources", "project",
    Argument("applies_to", note="globs of files"), Argument("check", note="YAML: files, regex, bad, good"),
    Argument("about", note="path, glob, path::symbol, command: git push"),
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
        lambda: app.answers.Suggested,
        "Propose a rule: in force once a person approves it.",
    ),
)
@click.option("--title", required=True, metavar="T", help="What to do, in one sentence.")
@click.option("--rationale", required=True, metavar="R", help="Why.")
@options.content_options
@options.tags_option
@options.project_option
@options.several("--applies-to", metavar="GLOB", type=options.FILE_NAME, text="Files it is about;")
@options.check_option
@click.option(
    "--from-fix",
    metavar="COMMIT",
    help="Draft the check from a commit of the code that you stand in.",
)
@link_option("--link-lesson", "linked_lessons", help="Lesson that it rests on; may be given again.")
@link_option(
    "--link-script",
    "--link-doc",
    "linked_resources",
    help="Script that does it, or doc that describes it.",
)
@options.about_options
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
    call: Call, /, content: str | None, file: str | None, from_fix: str | None, *, approve: bool, yes: bool,
    **fields: Any,
) -> None:  # fmt: skip
    """Propose a rule, on a branch of its own. It is in force only once a person has approved it."""
    if approve:
        # before anything is written
        refuse_agents(call)
        _need_terminal(call, BY_A_PERSON, yes=yes)
    links = tuple(
        ("", ref) for ref in (*fields.pop("linked_lessons"), *fields.pop("linked_resources"))
    )
    project = fields.pop("project") or ""
    if from_fix:
        if fields["check"] is not None:
            raise UsageError(
                "a check is either stated or drafted from a fix", hint="--check or --from-fix"
            )
        drafted = app.rule_checks.draft(call.library, from_fix)
        fields["check"] = drafted.check
        call.note([text_jobs.drafted(drafted)])
    about, text = options.about(fields), text_input.new_text(content, file) or ""
    draft = RuleDraft(content=text, links=links, project=project, about=about, **fields)
    made = app.proposals.suggest_rule(call.library, draft)
    if approve:
        (shown,) = shown_and_confirmed(
            call, [made.branch], yes=yes, refused="not approved; it waits as a proposal"
        )
        call.answer(
            (app.review.approve_rule(call.library, shown[0], expect=shown[1]),), text_jobs.approved
        )
        return
    past = _past(call, app.pending_rules.pending_rule(call.library, made.branch))
    call.answer(made._replace(past=past), text_jobs.suggested)


@to_contribute.command("propose")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
def propose(call: Call, paths: tuple[str, ...]) -> None:
    """Turn rules that were edited in the folder into proposals, and restore the approved text there."""
    call.answer(app.proposals.propose(call.library, paths), text_jobs.proposed)


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
        click.echo(output.dump({"pending": number}) if call.json else number)
    elif only_list:
        call.answer(
            _with_lines_broken(call, app.pending_rules.pending_rules(call.library)),
            text_jobs.pending,
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
        call.answer(decided, text_jobs.approved)
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
            call.answer(tuple(approved), text_jobs.approved)


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
        _present(
            call,
            [proposal],
            f"Reject {proposal.handle}?",
            refused="not rejected; nothing was changed",
        )
        reason = reason or click.prompt(REASON, default="", show_default=False, err=True)
        expect = proposal.commit
    done = app.review.reject_rule(call.library, ref, reason=reason, expect=expect)
    call.answer(done, partial(text_jobs.decided, "Rejected"))


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
    ask = (lambda _question, _keys: True) if yes else prompts.ask_keys if call.can_ask else None
    call.answer(
        app.pinned_signers.signers(call.library, file, ask, copy=copy, name=name), text_jobs.signers
    )


@to_admin.command("audit", examples=["", "--acknowledge"])
@click.option(
    "--acknowledge", is_flag=True, help="Accept what raised the alarm, after a person checked it."
)
@click.option(
    "--yes", is_flag=True, help="With --acknowledge: do not ask; needed where there is no terminal."
)
def audit(call: Call, acknowledge: bool, yes: bool) -> int:
    """Show who approved what, when and how; exit code 8 if a rule violates the policy."""
    ask = (lambda _alarms: True) if yes else prompts.ask_about_alarms if call.can_ask else None
    done = (
        app.rule_audit.acknowledge(call.library, ask)
        if acknowledge
        else app.rule_audit.audit(call.library)
    )
    call.answer(done, text_jobs.audit, paged=True)
    return 0 if done.ok else Refused.exit_code


@click.command(
    "promote",
    cls=Command,
    examples=[
        "L-8F3K2A --to user",
        'L-8F3K2A --to enterprise:acme --reason "three teams lost statuses"',
    ],
    tool=Tool(
        "promote",
        [
            Argument("id", "ref"),
            Argument("to", note="enterprise:NAME; a rule also to user or project"),
            "reason",
        ],
        lambda: app.promotion.Promoted,
        "Propose an entry to an enterprise, with an evaluation; a person there decides. "
        "Copies between the user's and the project's tier are for people.",
    ),
)
@options.id_argument
@click.option(
    "--to",
    required=True,
    metavar="TIER",
    help="user, project or enterprise:NAME; see `admin tiers`.",
)
@click.option(
    "--reason", default="", metavar="R", help="Why; for the people who decide about it there."
)
@options.allow_secret_option
def promote(call: Call, /, ref: str, to: str, **fields: Any) -> None:
    """Bring an entry to another tier.

    A copy to yours or the project's, a proposal to an enterprise's.
    """
    request = app.promotion.PromotionRequest(**fields, person=not call.tool)
    call.answer(app.promotion.promote(call.library, ref, to, request), text_jobs.promoted)

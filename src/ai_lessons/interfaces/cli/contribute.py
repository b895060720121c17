"""`ai-lessons contribute`: add lessons, docs and scripts; change any entry."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ai_lessons import app
from ai_lessons.app.written import LessonDraft
from ai_lessons.errors import Refused, UsageError
from ai_lessons.interfaces import text_jobs
from ai_lessons.interfaces.cli import options, prompts, review, text_input
from ai_lessons.interfaces.cli.added_options import added_to
from ai_lessons.interfaces.cli.aliases import ALIASES
from ai_lessons.interfaces.cli.command import Argument, Group, Tool
from ai_lessons.interfaces.output import is_terminal

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call

IDS = options.offer("id")
HOW_SURE = f"How sure it is: {options.CONFIDENCE.listed}."
HOW_KNOWN = f"How it is known: {options.SOURCE.listed}."
WHAT_SORT = f"What it teaches: {options.CATEGORY.listed}."
EXPLAIN_LESSON = (
    "Write what was observed below this comment, as Markdown, with the title as heading (# …) unless --title has it. "
    "Leave it empty to stop."
)
NO_TEXT = "give --content TEXT, --file FILE, or - to read standard input"
SECTIONS = {
    "Commands": ("add-lesson update edit delete link keep suggest-rule"),
}


@click.group("contribute", cls=Group, sections=SECTIONS)
def contribute() -> None:
    """Write down what was learned: lessons, docs, scripts, links."""


pattern_options = options.stack(
    click.option("--when", metavar="W", help="Pattern: in which situation,"),
    click.option("--do", metavar="D", help="what to do,"),
    click.option("--dont", metavar="D", help="or what not to do,"),
    click.option("--because", metavar="B", help="and why."),
)
ADDED_TO_LESSONS = added_to("contribute add-lesson")
ADDED_TO_UPDATES = added_to("contribute update")
LESSON_ARGUMENTS: list[str | Argument] = [
    Argument("title", required=True), Argument("content", default=""), "tags", "project", "confidence", "source",
    "category", "contexts", Argument("applies_to", note="globs of files"), Argument("links", note="ids"),
    "when", "do", "dont", "because",
    *ADDED_TO_LESSONS.arguments, "anyway",
]  # fmt: skip


@contribute.command(
    "add-lesson",
    examples=[
        '--title "git gc keeps reflogs" --content "Ninety days long." --tags git',
        "notes.md --tags git",
        '--title "PUT replaces" --when "updating" --do "GET first" --because "PUT deletes"',
        'git log -1 --format=%B | {} --title "Why we did it" -',
    ],
    tool=Tool(
        "add_lesson",
        LESSON_ARGUMENTS,
        lambda: app.written.Written,
        "Record an observation; when, do or dont, because make a pattern. "
        'Owed after more than one attempt; title "[UNSOLVED] …" if it failed. Found at the same failure by: '
        "`command` in when; in content, fenced, `$ command` and its output.",
    ),
    common=f"title content file tags project when do dont because {ADDED_TO_LESSONS.common}",
)
@click.argument("path", metavar="[FILE|-]", required=False, type=click.Path())
@click.option(
    "--title",
    metavar="T",
    help="One sentence that says what was observed; default: the text's heading.",
)
@options.content_options
@options.tags_option
@options.project_option
@click.option(
    "--confidence", type=options.CONFIDENCE, default="medium", show_default=True, help=HOW_SURE
)
@click.option(
    "--source", type=options.SOURCE, default="observed", show_default=True, help=HOW_KNOWN
)
@click.option("--category", type=options.CATEGORY, help=WHAT_SORT)
@options.several("--context", "contexts", metavar="X", text="Where it holds;")
@options.several("--applies-to", metavar="GLOB", type=options.FILE_NAME, text="Files it is about;")
@options.several(
    "--link",
    "links",
    type=options.new_link,
    metavar="[R=]ID",
    text="Entry it belongs to;",
    shell_complete=IDS,
)
@pattern_options
@ADDED_TO_LESSONS
@options.origin_option
@click.option("--anyway", is_flag=True, help="Also where another lesson says the same.")
@options.allow_secret_option
def add_lesson(
    call: Call, /, path: str | None, content: str | None, file: str | None, origin: str | None, anyway: bool,
    **fields: Any,
) -> None:  # fmt: skip
    """Add a lesson from a FILE, --content or a pipe, else from your editor."""
    if path and file:
        raise UsageError("the text is given twice", hint="use one of FILE, --content and --file")
    file = file or path
    text, is_pattern = text_input.new_text(content, file), fields["when"] and fields["because"]
    if text is None and not is_pattern:
        if is_terminal(sys.stdin):
            text = text_input.write_new(EXPLAIN_LESSON)
        else:
            text = text_input.read_input()
    if content in {None, "-"} and not is_pattern and not (text or "").strip():
        raise UsageError("the lesson has no text, nothing was written", hint=NO_TEXT)
    project = fields.pop("project") or ""
    if not fields["title"]:
        fields["title"], text, tags = app.editing.heading_and_text(text or "", file or "")
        fields["tags"] = (*fields["tags"], *tags)
    of_features = ADDED_TO_LESSONS.taken(fields)
    if call.by_agent:
        by = "ai"
    else:
        by = origin or call.caller
    draft = LessonDraft(
        content=text or "", project=project, origin=by, options=of_features, **fields
    )
    if anyway:
        same = []
    else:
        same = app.repetitions.refuse_repetition(call.library, draft)
    pattern = (draft.when, draft.do, draft.dont, draft.because)
    asked = "\n".join(filter(None, (draft.title, *pattern, draft.content)))
    # what says the same in other words is named where that costs no start of the model; a helper
    # looks while we write
    near = (lambda: None) if anyway else call.ask.begin_if_warm("near_copies", asked)
    done = app.editing.add_lesson(call.library, draft)
    notes = []
    for entry_id, note in (near() or {}).items():
        if entry_id != done.id:
            notes.append(note)
    notes = same + notes[: app.repetitions.REPETITIONS.few_copies]
    call.answer(done._replace(notes=(*done.notes, *notes)), text_jobs.written)


contribute.add_command(add_lesson, "add")


# set by the older names `update-resource` and `delete-resource`
only_resources_option = click.option("--only-resources", is_flag=True, hidden=True)


@contribute.command(
    "update",
    examples=[
        "L-8F3K2A --confidence high --add-tags review",
        'L-8F3K2A --because "PUT replaces all"',
    ],
)
@options.id_argument
@click.option("--title", metavar="T", help="New title.")
@options.new_tags_options
@options.version_option
@options.project_option
@click.option("--confidence", type=options.CONFIDENCE, help=HOW_SURE)
@click.option("--source", type=options.SOURCE, help=HOW_KNOWN)
@click.option("--category", type=options.CATEGORY, help=WHAT_SORT)
@click.option(
    "--status",
    type=options.STATUS,
    help=f"{options.STATUS.listed}; only active ones are in results.",
)
@click.option("--rationale", metavar="R", help="Of a rule: why.")
@pattern_options
@click.option(
    "--context",
    "contexts",
    metavar="X",
    multiple=True,
    help="Replace all contexts; may be given again.",
)
@click.option(
    "--applies-to", metavar="GLOB", multiple=True, help="Replace all globs; may be given again."
)
@ADDED_TO_UPDATES
@options.content_options
@options.allow_secret_option
@only_resources_option
def update(call: Call, /, ref: str, content: str | None, file: str | None, **fields: Any) -> None:
    """Change the fields of an entry, or its text. Only lines that change are written."""
    fields["content"] = text_input.new_text(content, file)
    fields["options"] = ADDED_TO_UPDATES.taken(fields) or None
    call.answer(app.editing.update(call.library, ref, **options.changes(fields)), text_jobs.written)


@contribute.command("keep", examples=["L-8F3K2A"])
@options.id_argument
def keep(call: Call, ref: str) -> None:
    """Say that an entry still holds.

    `admin review` leaves it alone, and its code is looked at anew.

    Of code that changed you see old and new; a text that still states the old needs your word, at a
    terminal.
    """
    kept = app.editing.keep(call.library, ref, call.sure)
    call.answer(kept, lambda value, view: f"Still true: {text_jobs.written(value, view)}")


@contribute.command("edit", examples=["EDITOR=nano {} L-8F3K2A"])
@options.id_argument
def edit(call: Call, ref: str) -> None:
    """Open an entry in your editor; it is checked before it is saved."""
    written = call.edit_until_valid(partial(app.editing.edit, call.library, ref))
    if written is not None:
        call.answer(written, text_jobs.written)


@contribute.command("delete", examples=["L-8F3K2A --yes"])
@options.ids_argument
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@only_resources_option
def delete(call: Call, refs: tuple[str, ...], yes: bool, only_resources: bool) -> None:
    """Delete entries. Git keeps their history."""
    if not yes and not call.can_ask:
        raise Refused(
            "a delete is confirmed on a terminal; nothing was deleted", hint="or say --yes"
        )
    linking = app.linking.links_to(call.library, refs)
    if not yes and not prompts.confirm(
        f"Delete {', '.join(refs)}? (git keeps the history)", *linking
    ):
        raise click.Abort
    gone = app.editing.delete(call.library, refs, only_resources=only_resources)
    if yes and gone:
        # else they stood above the question
        gone = (*gone[:-1], gone[-1]._replace(notes=(*gone[-1].notes, *linking)))
    call.answer(
        gone, text_jobs.deleted, (lambda value: value[0]) if len(refs) == len(gone) == 1 else None
    )


ENDS = (Argument("from_id", "a"), Argument("to_id", "b"))
two_ids = options.stack(
    click.argument("a", metavar="A", shell_complete=IDS),
    click.argument("b", metavar="B", shell_complete=IDS),
)


@contribute.command(
    "link",
    examples=["L-8F3K2A S-9XW2RB --relation has_script"],
    tool=Tool("link", [*ENDS, "relation", "weight"], lambda: app.written.Written, repeatable=True),
)
@two_ids
@click.option(
    "--relation",
    type=options.RELATION,
    default="related_to",
    show_default=True,
    help="The relation of A to B.",
)
@click.option("--weight", type=click.FloatRange(0, 1), help="How strong, from 0 to 1.")
def link(call: Call, a: str, b: str, relation: str, weight: float | None) -> None:
    """Link two entries by a relation.

    Relations: related_to, derived_from, has_script, has_doc, proves, contradicts, supersedes,
    specializes.
    """
    call.answer(app.linking.link(call.library, a, b, relation, weight), text_jobs.written)


@contribute.command(
    "unlink",
    examples=["L-8F3K2A D-4T7QZM"],
    tool=Tool(
        "unlink",
        [*ENDS, "relation"],
        lambda: app.written.Written,
        "Take links between two entries away: of one relation, or all.",
        destroys=True,
    ),
)
@two_ids
@click.option(
    "--relation", type=options.RELATION, help="Only this relation; default: all between the two."
)
def unlink(call: Call, a: str, b: str, relation: str | None) -> None:
    """Remove links between two entries."""
    call.answer(app.linking.unlink(call.library, a, b, relation), text_jobs.written)


contribute.commands.update(review.to_contribute.commands)


contribute.add_aliases(*ALIASES["contribute"])

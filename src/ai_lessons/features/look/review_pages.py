"""The page of proposals, with what may be hidden in their texts."""

from __future__ import annotations

import os
import re
from functools import partial
from html import unescape
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import nh3

from ai_lessons import app, settings
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.look.drawing import Edit, markdown
from ai_lessons.features.look.pages import Page, applies_where, text_given
from ai_lessons.interfaces import text_proposals
from ai_lessons.model import expression
from ai_lessons.model.entries import EntrySummary, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.texts import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.app.workspace import Library

    Asked: TypeAlias = Mapping[str, str]


def review(library: Library, asked: Asked) -> Page:
    """What waits for a person, and one of it in full."""
    pending = app.pending_rules.pending_rules(library)
    ref = asked.get("ref", "")
    chosen = next(
        (n for n, proposal in enumerate(pending) if ref in {proposal.branch, proposal.id}), 0
    )
    proposal = None
    if pending:
        proposal = pending[chosen]
    if proposal:
        (proposal,) = app.effects.in_code(library, [proposal])
    batch: Sequence[app.written.Pending] = ()
    if proposal and proposal.batch:
        batch = app.pending_rules.pending_rules(
            library, app.pending_rules.Batch(batch=proposal.batch, of=proposal.branch)
        )
    after = None
    if len(pending) > 1:
        after = pending[(chosen + 1) % len(pending)]
    values: dict[str, Any] = {
        "title": "Review",
        "waiting": pending,
        "one": proposal,
        "batch": batch,
        "after": after,
    }
    if proposal and asked.get("edit") and proposal.change != "removal":
        text = text_given(partial(app.review.edit_proposal, library, proposal.branch))
        values["edit"] = Edit(text, proposal.commit)
    values |= {
        "place": chosen + 1,
        "reach": proposal and text_proposals.reach(proposal),
        "notes": library.primary.rules.notes,
        "about": proposal and stated(proposal),
    }
    return Page("review.html", values)


def past_of(ref: str, library: Library) -> str:
    """What the sessions of this user say of a proposal.

    Transcripts that were not read before are read for it.
    """
    where = settings.where(os.environ, library.options.cwd)
    past = app.pending_rules.past_sessions(
        library, where, app.pending_rules.pending_rule(library, ref)
    )
    if past:
        return text_proposals.weighed(past)
    return "nothing: there are none"


class Stated(NamedTuple):
    """What a proposal says of itself.

    Where it applies, what checks it, and the lines that its rendering hides.

    `others`: its other files, such as the program of a script.
    """

    applies: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()
    checked: Sequence[str] = ()
    hidden: str = ""
    others: Sequence[app.written.ProposedFile] = ()


def stated(proposal: app.written.Pending) -> Stated:
    """What a person has to see of a proposal besides its rendered text."""
    main = next(
        (file for file in proposal.files if file.path == proposal.path and file.new is not None),
        None,
    )
    apart = []
    for file in proposal.files:
        if file is not main:
            apart.append(file)
    if main is None or main.new is None:
        return Stated(others=apart)
    try:
        fields = read_entry(main.path, main.new.encode("utf-8", "surrogateescape")).fields
    except AiLessonsError:
        # what is wrong with it is among its conflicts, and all its lines are shown
        fields = {}
    summary = EntrySummary(proposal.id, "", Kind.RULE, "", "", (), (), "")
    hidden = unseen(
        main.new, proposal.body, f"title: {proposal.title}", f"rationale: {proposal.rationale}"
    )
    return Stated(
        applies_where(summary, fields), app.notes.described("check", fields), hidden, apart
    )


_TOKENS = expression(r"[^\W_]+|[^\w\s]|_")
# that rendering may take away
_SIGNS = frozenset("*_`#>|-+~[]()!\\:.=<")
_MARKER = expression(
    r"(?<!\s)\s*+(?:[-*+]\s|\d{1,9}[.)]\s)|(?<!\s)\s*+(?:```|~~~)[a-z0-9+-]{0,12}\s*$"
)


def unseen(text: str, body: str, *above: str) -> str:
    """The lines of a file that do not stand as they are in its rendered `body`, nor `above` it.

    Those are its frontmatter, and lines with an address, a definition or a character that is not
    seen.
    """
    shown = _TOKENS.findall(unescape(nh3.clean(markdown(body), tags=set())))
    head = re.match(r"---\n(?:.*\n)*?---\n", text)
    if head:
        lines = [line for line in head[0].splitlines() if line not in {"---", *above}]
    else:
        lines = []
    place = 0
    for line in text[head.end() if head else 0 :].split("\n"):
        plain = escaped(line) == line
        for token in _TOKENS.findall(_MARKER.sub("", line, count=1)):
            same = shown[place : place + 1] == [token]
            place += same
            plain = plain and (same or token in _SIGNS)
        if not plain:
            lines.append(line)
    return "\n".join(lines)

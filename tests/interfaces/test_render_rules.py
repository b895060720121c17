"""Golden texts of everything about rules."""

from __future__ import annotations

from typing import Any

import pytest

from ai_lessons.app.answers import (
    Approval,
    Audit,
    AuditRow,
    Context,
    Decided,
    Pending,
    ProposedFile,
    Shown,
    Suggested,
    Why,
    Written,
)
from ai_lessons.approval.proposals import TakenProposal
from ai_lessons.interfaces import output, text_jobs
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces.output import clean
from ai_lessons.learning.selection import UNUSED
from ai_lessons.model.entries import Kind
from interfaces.test_render import LESSON, RULE, VIEW, light

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BRANCH = "rules/R-R00001-always-get-before-put"
TEXT = (
    "---\nid: x\nkind: rule\ntitle: Old\nrationale: >-\n  It\n  says\ntags:\n  - a\napplies_to:\n  - '*.py'\nlinks:\n"
)
TEXT += "  - related_to: 01JD\n---\n\nSend every status back.\n"

SUGGESTED = Suggested(
    RULE.id,
    RULE.handle,
    RULE.title,
    RULE.path,
    BRANCH,
    COMMIT,
    ("much like R-000009 'GET first' (in force), 0.93: update it?",),
)
NEW = Pending(
    id=RULE.id,
    handle=RULE.handle,
    title=RULE.title,
    branch=BRANCH,
    remote=False,
    kind="rule",
    change="new",
    suggested_by="Bo <bo@example.com> (agent helper)",
    suggested_at="2026-11-21T20:14:00Z",
    commit=COMMIT,
    added=15,
    removed=0,
    conflicts=("it contradicts R-000008 'PUT at once' (in force)",),
    similar=("R-000009 'GET first' (in force), 0.93",),
    rejected_before="on 2026-10-01: too broad",
    diff="--- /dev/null\n+++ b/x.md\n@@ -0,0 +1,16 @@\n" + "".join(f"+{row}\n" for row in TEXT.splitlines()),
    body="\nSend every status back.\n",
    rationale="PUT replaces entire resource...",
    tags=("jira-api", "workflows"),
    evidence=(LESSON,),
    path="jira-api/rules/x.md",
    applies_to=("*.py", "*.js"),
    files=(ProposedFile("x.md", None, TEXT),),
)
EDIT = NEW._replace(
    change="edit", remote=True, branch="origin/rules/b", conflicts=(), similar=(), rejected_before="", evidence=(),
    added=1, removed=1, diff="--- a/x.md\n+++ b/x.md\n@@ -1 +1 @@\n-Old.\n+New.\n",
    files=(ProposedFile("x.md", "Old.\n", "New.\n"),),
)  # fmt: skip
APPROVAL = Approval(
    in_force=True,
    approved_by="Ann <ann@example.com>",
    approved_at="2026-11-21T20:15:00Z",
    suggested_by="Bo <bo@example.com>",
    commit=COMMIT,
    evidence=2,
    how="merge",
)
ROW = AuditRow(
    id=RULE.id, handle=RULE.handle, title=RULE.title, path=RULE.path, in_force=True, evidence=2, how="merge",
    approved_by="Ann <ann@example.com>", approved_at="2026-11-21T20:15:00Z", suggested_by="Bo <bo@example.com>",
    commit=COMMIT,
)  # fmt: skip


TAKEN = TakenProposal(
    id=LESSON.id, title=LESSON.title, proposal="proposals/L-L00001-put", how="merge",
    approved_by="Ann <ann@example.com>", approved_at="2026-11-21T20:15:00Z", suggested_by="Bo <bo@example.com>",
    commit=COMMIT,
)  # fmt: skip


def test_a_suggestion_says_where_it_stands_and_what_happens_next() -> None:
    assert (
        text_jobs.suggested(SUGGESTED, VIEW)
        == """\
[R-R00001] Always GET before PUT on Jira workflows
  branch: rules/R-R00001-always-get-before-put
  warning: much like R-000009 'GET first' (in force), 0.93: update it?
Not in force until a person approves it: ai-lessons admin review-rules"""
    )
    assert text_jobs.proposed((), VIEW) == "Nothing to propose."


def test_what_waits_is_a_table_and_what_speaks_against_it() -> None:
    assert (
        text_jobs.pending((NEW, EDIT), VIEW)
        == """\
ID        WHAT  SUGGESTED BY                        ON          LINES   WHERE   TITLE
R-R00001  new   Bo <bo@example.com> (agent helper)  2026-11-21  +15 -0  local   Always GET before PUT on Jira workflows
R-R00001  edit  Bo <bo@example.com> (agent helper)  2026-11-21  +1 -1   remote  Always GET before PUT on Jira workflows
rules/R-R00001-always-get-before-put: it contradicts R-000008 'PUT at once' (in force); \
much like R-000009 'GET first' (in force), 0.93: update it?; the same was rejected on 2026-10-01: too broad
Decide: ai-lessons admin review-rules"""
    )
    assert text_jobs.pending((), VIEW) == "No proposal waits for review."


def test_a_new_rule_is_shown_whole() -> None:
    assert (
        text_jobs.proposal(NEW, VIEW)
        == """\
[R-R00001] Always GET before PUT on Jira workflows
  a new rule, suggested by Bo <bo@example.com> (agent helper) on 2026-11-21T20:14:00Z
  branch: rules/R-R00001-always-get-before-put (local), commit 0123456789
  path: ~/.ai/reference/jira-api/rules/x.md
  tags: jira-api, workflows
  rationale: PUT replaces entire resource...
  changes: agents in project jira-api that edit *.py or *.js are told this
  warning: it contradicts R-000008 'PUT at once' (in force)
  warning: much like R-000009 'GET first' (in force), 0.93: update it?
  warning: the same was rejected on 2026-10-01: too broad

Evidence:
  [L-L00001] PUT /workflows replaces entire resource

    ---
    id: x
    kind: rule
    title: Old
    rationale: >-
      It
      says
    tags:
      - a
    applies_to:
      - '*.py'
    links:
      - related_to: 01JD
    ---

    Send every status back."""
    )


def test_a_new_lesson_is_shown_with_the_report_first() -> None:
    lesson = NEW._replace(
        kind="lesson", handle="L-L00001", rationale="", tags=(), conflicts=(), similar=(), rejected_before="",
        evidence=(), report="## Evaluation\n\nNo secrets.\n\n[a]pprove this",
    )  # fmt: skip
    assert (
        text_jobs.proposal(lesson, VIEW)
        == """\
[L-L00001] Always GET before PUT on Jira workflows
  a new lesson, suggested by Bo <bo@example.com> (agent helper) on 2026-11-21T20:14:00Z
  branch: rules/R-R00001-always-get-before-put (local), commit 0123456789
  path: ~/.ai/reference/jira-api/rules/x.md

Report of the proposer:
    ## Evaluation

    No secrets.

    [a]pprove this

What is proposed:

    ---
    id: x
    kind: rule
    title: Old
    rationale: >-
      It
      says
    tags:
      - a
    applies_to:
      - '*.py'
    links:
      - related_to: 01JD
    ---

    Send every status back."""
    )


@pytest.mark.parametrize("change", ["new", "edit", "unsigned"])
@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: a\n? links\n: - supersedes: 01JD\n? unknown\n: EVIL\n---\nBody.\n",
        '---\ntitle: a\n---\n[s]: https://example.org "\n++ EVIL\n"\n-- EVIL\n@@ EVIL\n--- EVIL\n',
        "---\ntitle: a # EVIL\n---\n<!-- EVIL -->\n\x0bEVIL\u2028EVIL\rEVIL\n",
    ],
)
def test_every_line_of_a_rule_is_shown_whatever_it_looks_like(change: str, text: str) -> None:
    files = (ProposedFile("x.md", None if change == "new" else "Old.\n", text),)
    shown = text_jobs.proposal(NEW._replace(change=change, diff="", files=files), VIEW)
    body = "\n".join(f"    {row}".rstrip() for row in clean(text).removesuffix("\n").split("\n"))
    assert body in shown


def test_other_proposals_that_were_taken_stand_below_the_rules() -> None:
    text = text_jobs.audit(Audit((ROW,), (), ok=True, taken=(TAKEN, TAKEN._replace(approved_by=""))), VIEW)
    assert text.splitlines()[2:] == [
        "",
        "Other proposals that were taken:",
        "ID      TAKEN BY  APPROVED BY            SUGGESTED BY         ON          COMMIT      TITLE",
        f"L00001  merge     Ann <ann@example.com>  Bo <bo@example.com>  2026-11-21  0123456789  {LESSON.title}",
        f"L00001  merge     not told by the forge  Bo <bo@example.com>  2026-11-21  0123456789  {LESSON.title}",
        "",
        "1 rule, 0 problems: the policy is kept",
    ]


def test_a_rule_with_an_unapproved_change_shows_it_below_the_text_in_force() -> None:
    changed = APPROVAL._replace(suggested_by="", unapproved_change="--- a\n+++ b\n@@ -1 +1 @@\n-Old.\n+New.\n")
    text = interfaces_text.shown(Shown(RULE, "Old.\n", "", {}, approval=changed), VIEW)
    assert (
        "Old.\n\nAn unapproved change exists; what is in force stands above. It would change this:\n"
        "--- a\n+++ b\n@@ -1 +1 @@\n-Old.\n+New.\n\nAbout it:" in text
    )
    assert "suggested by" not in text
    section = interfaces_text.shown(Shown(RULE, "Old.\n", "", {}, approval=changed, section=1), VIEW)
    assert "In force" not in section
    assert "unapproved" not in section


def proposed() -> Written:
    return Written(RULE.id, RULE.handle, Kind.RULE, RULE.title, RULE.path, COMMIT, proposed_on=BRANCH)


def evil(value: Any, text: str) -> Any:
    """The value with every text in it replaced."""
    swapped: dict[str, Any] = {}
    for name, old in value._asdict().items():
        if isinstance(old, str):
            swapped[name] = text
        elif isinstance(old, tuple) and all(isinstance(one, str) for one in old):
            swapped[name] = (text,)
    return value._replace(**swapped)


def test_no_text_of_a_proposal_reaches_the_terminal_as_it_is() -> None:
    bad = "\x1b]0;pwned\x07\r\x1b[2K\u202e"
    entry = light(Kind.RULE, "R00009", bad, tags=(bad,), path=bad, snippet=bad, rationale=bad)
    diff = f"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+---\n+{bad}: {bad}\n+---\n"
    approval = evil(APPROVAL, bad)._replace(unapproved_change=diff)
    texts = [
        text_jobs.suggested(evil(SUGGESTED, bad), VIEW),
        text_jobs.pending((evil(NEW, bad),), VIEW),
        text_jobs.proposal(evil(NEW, bad)._replace(change="new", diff=diff, evidence=(entry,)), VIEW),
        text_jobs.proposal(evil(NEW, bad)._replace(evidence=(entry,)), VIEW),
        text_jobs.proposal(evil(NEW, bad)._replace(change="new", kind="script", diff=diff), VIEW),
        text_jobs.audit(Audit((), (), ok=True, taken=(evil(TAKEN, bad),)), VIEW),
        text_jobs.approved((evil(Decided("", "", "", "", "", ""), bad),), VIEW),
        text_jobs.decided("Rejected", evil(Decided("", "", "", "", "", ""), bad), VIEW),
        text_jobs.audit(Audit((evil(ROW, bad),), (bad,), ok=False), VIEW),
        text_jobs.why(Why(entry, approval, (bad,), UNUSED), VIEW),
        text_jobs.context(Context((entry, entry)), VIEW),
        interfaces_text.shown(Shown(entry, bad, bad, {}, approval=approval), VIEW),
        text_jobs.written(proposed()._replace(proposed_on=bad), VIEW),
    ]
    assert [text for text in texts if set("\x1b\x07\r\u202e") & set(text)] == []


def test_what_waits_as_data_has_the_documented_keys_and_more() -> None:
    (data,) = output.encode((NEW,))
    documented = ["id", "handle", "title", "branch", "suggested_by", "suggested_at", "conflicts", "similar"]
    assert set(documented) <= data.keys()
    assert data.keys() == {*Pending._fields} - {"files"}
    assert [entry["handle"] for entry in data["evidence"]] == ["L-L00001"]


def test_a_proposal_as_data_is_a_write_with_its_branch() -> None:
    data = output.encode(SUGGESTED)
    assert {key: data[key] for key in ("id", "handle", "path", "commit", "branch")} == {
        "id": RULE.id, "handle": RULE.handle, "path": RULE.path, "commit": COMMIT, "branch": BRANCH,
    }  # fmt: skip
    assert output.encode((SUGGESTED,)) == [data]

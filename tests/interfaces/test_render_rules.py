"""Golden texts of everything about rules."""

from typing import Any

import pytest

from ai_lessons.app.answers import Approval, Context, Shown, Why
from ai_lessons.app.review import Decided
from ai_lessons.app.rule_audit import Audit, AuditRow
from ai_lessons.app.written import Pending, ProposedFile, Suggested, Written
from ai_lessons.approval.outcomes import TakenProposal
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces import text_jobs, text_proposals
from ai_lessons.interfaces.output import clean
from ai_lessons.model.entries import Kind
from ai_lessons.model.tallies import UNUSED
from interfaces.test_render import LESSON, RULE, VIEW, summary

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BRANCH = "rules/R-R00001-always-get-before-put"
TEXT = "---\nid: x\nkind: rule\ntitle: Old\nrationale: >-\n  It\n  says\ntags:\n  - a\napplies_to:\n  - '*.py'\nlinks:\n"
TEXT += "  - related_to: 01JD\n---\n\nSend every status back.\n"

NEW = Pending(
    id=RULE.id, handle=RULE.handle, title=RULE.title, branch=BRANCH, remote=False, kind="rule", change="new",
    suggested_by="Bo <bo@example.com> (agent helper)", suggested_at="2026-11-21T20:14:00Z", commit=COMMIT, added=15,
    removed=0, conflicts=("it contradicts R-000008 'PUT at once' (in force)",),
    similar=("R-000009 'GET first' (in force), 0.93",), rejected_before="on 2026-10-01: too broad",
    diff="--- /dev/null\n+++ b/x.md\n@@ -0,0 +1,16 @@\n" + "".join(f"+{row}\n" for row in TEXT.splitlines()),
    body="\nSend every status back.\n", rationale="PUT replaces entire resource...", tags=("jira-api", "workflows"),
    evidence=(LESSON,), path="jira-api/rules/x.md", applies_to=("*.py", "*.js"),
    files=(ProposedFile("x.md", None, TEXT),),
)  # fmt: skip


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
    shown = text_proposals.proposal(NEW._replace(change=change, diff="", files=files), VIEW)
    body = "\n".join(f"    {row}".rstrip() for row in clean(text).removesuffix("\n").split("\n"))
    assert body in shown


def test_no_text_of_a_proposal_reaches_the_terminal_as_it_is() -> None:
    bad: Any = "\x1b]0;pwned\x07\r\x1b[2K\u202e"
    entry = summary(Kind.RULE, "R00009", bad, tags=(bad,), path=bad, snippet=bad, rationale=bad)
    diff = f"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+---\n+{bad}: {bad}\n+---\n"
    stated: dict[str, Any] = {
        name: bad for name, old in NEW._asdict().items() if isinstance(old, str)
    }
    stated |= dict.fromkeys(("conflicts", "similar", "tags", "applies_to"), (bad,))
    pending = NEW._replace(**stated, evidence=(entry,))
    approval = Approval(bad, bad, bad, bad, 2, bad, diff)
    decided = Decided(bad, bad, bad, bad, bad, bad, (bad,))
    row, taken = AuditRow(bad, bad, bad, bad, bool(bad), 2, *[bad] * 6), TakenProposal(*[bad] * 8)
    texts = [
        text_proposals.suggested(Suggested(bad, bad, bad, bad, bad, bad, (bad,)), VIEW),
        text_proposals.pending((pending,), VIEW),
        text_proposals.proposal(pending._replace(change="new", diff=diff), VIEW),
        text_proposals.proposal(pending, VIEW),
        text_proposals.proposal(pending._replace(change="new", kind="script", diff=diff), VIEW),
        text_proposals.audit(Audit((), (), ok=True, taken=(taken,)), VIEW),
        text_proposals.approved((decided,), VIEW),
        text_proposals.decided("Rejected", decided, VIEW),
        text_proposals.audit(Audit((row,), (bad,), ok=False), VIEW),
        text_proposals.why(Why(entry, approval, (bad,), UNUSED), VIEW),
        text_jobs.context(Context((entry, entry)), VIEW),
        interfaces_text.shown(Shown(entry, bad, bad, {}, approval=approval), VIEW),
        text_jobs.written(Written(bad, bad, Kind.RULE, bad, bad, bad, proposed_on=bad), VIEW),
    ]
    assert [text for text in texts if set("\x1b\x07\r\u202e") & set(text)] == []

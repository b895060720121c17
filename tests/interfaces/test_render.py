"""Golden texts: what a person or an agent reads, whole."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from ai_lessons.app.answers import Answer, Hit, Listing, Related, Shown
from ai_lessons.app.health import Check
from ai_lessons.app.search_index import ModelState
from ai_lessons.app.validation import Report
from ai_lessons.app.written import Imported, Skipped, Stale, Written
from ai_lessons.errors import Problem
from ai_lessons.git.history import FileRevision
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces import text_jobs
from ai_lessons.interfaces.output import BARE, View, clean
from ai_lessons.model.chunks import TextSection
from ai_lessons.model.entries import EntrySummary, Kind, Stated
from ai_lessons.search.catalog_reader import Tally

VIEW = View(root="/home/ann/.ai/reference", home="/home/ann")


def summary(kind: Kind, tail: str, title: str, **more: Any) -> EntrySummary:
    values: dict[str, Any] = {
        "id": "01JD3Z8QK5W7M2X9V4T6" + tail, "handle": f"{kind.letter}-{tail}", "project": "jira-api", "tags": (),
        "versions": (), "path": f"jira-api/{kind.folder}/x.md",
    }  # fmt: skip
    return EntrySummary(kind=kind, title=title, **(values | more))


RULE = summary(
    Kind.RULE, "R00001", "Always GET before PUT on Jira workflows", tags=("jira-api", "workflows"), score=0.95,
    rationale="PUT replaces entire resource...",
)  # fmt: skip
SCRIPT = summary(
    Kind.SCRIPT, "S00001", "update-workflow.sh", versions=("v2", "v3"),
    path="jira-api/scripts/shared/update-workflow.sh", snippet="Updates workflow with proper status preservation...",
    score=0.89,
)  # fmt: skip
LESSON = summary(
    Kind.LESSON, "L00001", "PUT /workflows replaces entire resource", tags=("jira-api",), score=0.876,
    confidence="high", status="active", stated=Stated(source="tested"),
)  # fmt: skip
DOC = summary(
    Kind.DOC,
    "D00001",
    "Jira Workflows API v3",
    versions=("v3",),
    score=0.82,
    path="jira-api/docs/v3/api.md",
)

FOUND = Answer("workflow", (Hit(RULE), Hit(SCRIPT), Hit(LESSON), Hit(DOC)))


NOTHING = FOUND._replace(
    hits=(),
    weak=True,
    nearest=LESSON.title,
    notes=("nothing near; the nearest is L-L00001 (0.12 of 1)",),
)
UNSURE = FOUND._replace(
    hits=(Hit(LESSON, weak=True),) * 3, weak=True, notes=("unsure: nothing here is an answer",)
)


def test_where_nothing_is_near_a_search_is_one_line_and_an_agent_gets_no_title() -> None:
    assert interfaces_text.answer(NOTHING, VIEW) == (
        "nothing near; the nearest is L-L00001 (0.12 of 1): PUT /workflows replaces entire resource"
    )
    asked = interfaces_text.answer(NOTHING._replace(prompt="If you find out, add a lesson."), BARE)
    assert asked == (
        "nothing near; the nearest is L-L00001 (0.12 of 1)\n\N{ELECTRIC LIGHT BULB} If you find out, add a lesson."
    )
    assert interfaces_text.answer(
        Answer("w" * 900, notes=("nothing is stored here yet",)), VIEW
    ) == (f'Nothing found for "{"w" * 79}…": nothing is stored here yet')


@pytest.mark.parametrize("view", [VIEW, BARE])
def test_where_nothing_is_sure_a_search_is_one_line_with_three_titles_for_agents_too(
    view: View,
) -> None:
    told = interfaces_text.answer(UNSURE, view)
    assert told.startswith(
        "Unsure, perhaps: [L-L00001] (0.88) PUT /workflows replaces entire reso…; [L-L00001]"
    )
    assert ("\n" in told, len(told) <= 200) == (False, True)
    assert [hit["weak"] for hit in UNSURE.for_agents()["lessons"]] == [True] * 3
    assert [hit["title"] for hit in UNSURE.for_agents()["lessons"]] == [LESSON.title] * 3


def test_an_agent_reads_as_many_results_as_have_room_unless_it_asked_for_a_number() -> None:
    hits = tuple(
        Hit(summary(Kind.LESSON, f"L{n:05}", "t" * 80, score=0.9, snippet="s" * 150))
        for n in range(9)
    )
    found = Answer("workflow", hits)
    assert 500 < len(interfaces_text.answer(found, BARE)) < 1000
    assert len(interfaces_text.answer(found._replace(whole=True), BARE)) > 2000
    assert len(interfaces_text.answer(found, VIEW)) > 2000
    assert (
        len(found.for_agents()["lessons"])
        < len(found._replace(whole=True).for_agents()["lessons"])
        == 9
    )


def test_a_path_of_headings_leaves_the_sentence_its_place_on_80_columns() -> None:
    hit = Hit(
        DOC._replace(snippet="The sentence that answers. " * 5),
        " > ".join(["A long heading"] * 5),
        section=12,
    )
    row = interfaces_text.answer(Answer("workflow", (hit,)), VIEW._replace(width=80)).split("\n")[2]
    assert row.startswith('    v3, section 12 | "The sentence that answers. The sentence')
    assert len(row) <= 80


def test_a_verbose_search_says_all_of_each_result() -> None:
    assert (
        interfaces_text.answer(FOUND, VIEW._replace(verbose=True)).partition("\n\nDocs")[0]
        == """\
Rules (follow these):
  [R-R00001] (0.95) Always GET before PUT on Jira workflows
    applies to: jira-api, workflows
    rationale: "PUT replaces entire resource..."

Scripts (try these):
  [S-S00001] (0.89) update-workflow.sh
    versions: v2, v3 | path: ~/.ai/reference/jira-api/scripts/shared/update-workflow.sh
    "Updates workflow with proper status preservation..."

Lessons (context):
  [L-L00001] (0.88) PUT /workflows replaces entire resource
    confidence: high | source: tested"""
    )


WIDE = summary(
    Kind.DOC, "D00003", "ワークフローを更新する前に読むこと workflow", score=0.5,
    snippet="全部置き換わる。" * 9, versions=("v3",),
)  # fmt: skip
AT_40 = """\
Rules (follow these):
  [R-R00001] (0.95) Always GET before
             PUT on Jira workflows
    "PUT replaces entire resource..."

Scripts (try these):
  [S-S00001] (0.89) update-workflow.sh
    v2, v3 | "Updates workflow with
      proper status preservation..."

Docs (reference):
  [D-D00003] (0.50) ワークフローを更新す
             る前に読むこと workflow
    v3 | "全部置き換わる。全部置き換わる
      。全部置き換わる。全部置き換わる。
      全部置き換わる。全部置き換わる。全
      部…"""


def test_a_search_fits_a_terminal_of_any_width_and_marks_the_words_asked_for() -> None:
    found = FOUND._replace(hits=(Hit(RULE), Hit(SCRIPT), Hit(WIDE)))
    narrow = VIEW._replace(width=40)
    assert narrow.fit(interfaces_text.answer(found, narrow)) == AT_40
    wide = VIEW._replace(width=200)
    assert wide.fit(interfaces_text.answer(found, wide)) == interfaces_text.answer(found, VIEW)
    coloured = narrow._replace(colour=True)
    text = coloured.fit(interfaces_text.answer(found, coloured))
    assert text.count("\x1b[1;33mworkflow\x1b[0m") == 4
    assert re.sub(r"\x1b\[[\d;]*m", "", text) == AT_40


def test_an_entry_in_full_begins_with_its_text_and_ends_with_what_is_known_of_it() -> None:
    shown = Shown(
        LESSON,
        body="Two statuses were gone.\r\n",
        raw="",
        frontmatter={
            "id": LESSON.id, "title": LESSON.title, "created": "2026-11-21T20:14:00Z", "content_hash": "sha256:1",
            "contexts": ["jira cloud", "sandbox"],
            "pattern": {"when": "updating", "dont": "PUT blindly", "because": "it deletes"}, "mine": {"a": 1},
        },
        related=(
            Related(SCRIPT, SCRIPT.id, "has_script", outgoing=True, weight=0.5),
            Related(None, "01JGONE", "derived_from", outgoing=True),
            Related(DOC, DOC.id, "related_to", outgoing=False),
        ),
    )  # fmt: skip
    text = """\
[L-L00001] PUT /workflows replaces entire resource

WHEN updating
DO NOT PUT blindly
BECAUSE it deletes

Two statuses were gone.

Related:
  has_script -> [S-S00001] update-workflow.sh (0.5)
  derived_from -> 01JGONE (not found)
  related_to <- [D-D00001] Jira Workflows API v3

About it:
  kind: lesson | project: jira-api
  confidence: high | source: tested
  tags: jira-api
  created: {created}{hash}
  contexts: jira cloud, sandbox
  mine: {{"a": 1}}
  path: ~/.ai/reference/jira-api/lessons/x.md"""
    assert interfaces_text.shown(shown, VIEW) == text.format(
        created="2026-11-21T20:14:00Z", hash=""
    )
    now = VIEW._replace(now=datetime(2026, 11, 24, 20, 13, tzinfo=UTC))
    assert interfaces_text.shown(shown, now) == text.format(
        created="2026-11-21 (2 days ago)", hash=""
    )
    known = (
        text.format(created="2026-11-21T20:14:00Z", hash="\n  content_hash: sha256:1")
        + f"\n  id: {LESSON.id}"
    )
    assert interfaces_text.shown(shown, VIEW._replace(verbose=True)) == known


def test_no_text_of_a_file_reaches_the_terminal_as_it_is() -> None:
    evil = "\x1b]0;pwned\x07"
    entry = summary(
        Kind.SCRIPT,
        "S00009",
        evil,
        tags=(evil,),
        versions=(evil,),
        path=evil,
        snippet=evil,
        score=1.0,
    )
    shown = Shown(
        entry, evil, evil, {"source_path": evil, evil: [evil]}, code=evil + "x",
        sections=(TextSection(1, evil, 1, 1, 1),) * 2,
    )  # fmt: skip
    texts = [
        interfaces_text.shown(shown, VIEW),
        clean(evil),
        interfaces_text.answer(Answer(evil, (Hit(entry, evil, {evil: 1.0}),), prompt=evil), VIEW),
        interfaces_text.listing(Listing((entry,), 1), VIEW),
        interfaces_text.counts((Tally(evil, 1, {}),), VIEW, what="tag"),
        interfaces_text.related((Related(entry, evil, evil, outgoing=True),), VIEW),
        interfaces_text.log(
            (FileRevision(evil, evil, evil, evil, evil, evil, {evil: evil}),), VIEW
        ),
        interfaces_text.diff(f"+{evil}", VIEW),
        text_jobs.written(
            Written(evil, evil, Kind.SCRIPT, evil, evil, None, proposed_on=evil), VIEW
        ),
        text_jobs.imported(Imported((), 0, (Skipped(evil, evil),), None), VIEW),
        text_jobs.report(Report((Problem(evil, evil),), (evil,), 1), VIEW),
        text_jobs.checks((Check(evil, evil, evil, evil),), VIEW),
        text_jobs.stale((Stale(evil, evil, evil, evil),), VIEW),
        text_jobs.config({evil: evil, "b": [evil]}, VIEW),
        text_jobs.lines((evil,), VIEW),
        text_jobs.model(ModelState(evil, present=True, path=evil, source=evil), VIEW),
    ]
    assert [text for text in texts if "\x1b" in text or "\x07" in text] == []


def test_a_list_is_an_aligned_table() -> None:
    assert (
        interfaces_text.listing(Listing((LESSON, SCRIPT), 5), VIEW)
        == """\
ID        KIND    PROJECT   VERSIONS  TITLE                                    TAGS
L-L00001  lesson  jira-api  -         PUT /workflows replaces entire resource  jira-api
S-S00001  script  jira-api  v2, v3    update-workflow.sh                       -
… and 3 more (--limit 0 shows all)"""
    )
    assert interfaces_text.listing(Listing((), 0), VIEW) == "No entries."

"""Decision records of four tools, each as it writes them: what they state, and what they name."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import InvalidEntry
from ai_lessons.features.transfer import decision_records
from ai_lessons.features.transfer.decision_records import Record, SourceFile
from ai_lessons.model.frontmatter import read_entry

NOW = datetime(2026, 11, 29, tzinfo=UTC)
NYGARD_OLD = """# 2. Colours by colorama

Date: 2024-01-01

## Status

Superseded by [4. Drop colorama](0004-drop-colorama.md)

## Context

Windows shows no colours.

## Decision

We depend on colorama.

## Consequences

One more package.
"""
NYGARD_NEW = """# 4. Drop colorama

Date: 2025-01-01

## Status

Accepted

Supersedes [2. Colours](0002-colours.md)

## Context

Windows has shown colours by itself since 2019.

## Decision

We no longer depend on colorama.
"""
ADR_TOOLS = NYGARD_OLD.replace("Superseded", "Superceded")  # as adr-tools spells it
MADR_2 = """# Use Markdown for decisions

* Status: superseded by [ADR-0005](0005-use-asciidoc.md) <!-- optional -->
* Deciders: Ann, Bo
* Date: 2020-03-04

## Context and Problem Statement

Where do decisions go?

## Considered Options

* Markdown
* Word

## Decision Outcome

Chosen option: "Markdown", because it lies beside the code.

## Links

* Refined by [ADR-0007](0007-x.md)
"""
MADR_4 = """---
status: accepted
date: 2026-02-03
decision-makers: Ann
---
# Use AsciiDoc

## Context and Problem Statement

Tables are hard in Markdown.

## Decision Outcome

Chosen option: "AsciiDoc", because its tables span cells.

## More Information

Supersedes [ADR-0003](0003-use-markdown.md).
"""
LOG4BRAINS = """# Send jobs over a queue

- Status: accepted
- Deciders: Ann
- Date: 2021-06-07
- Tags: jobs, broker

Technical Story: T-12

## Context and Problem Statement

Requests time out.

## Decision Outcome

Chosen option: "a queue", because the broker is there.

## Links

- Supersedes [20200106-poll-the-table](20200106-poll-the-table.md)
"""


def record(text: str, name: str = "0001-a.md") -> Record:
    made = decision_records.read(SourceFile(name, text.encode()))
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("text", "status", "date", "newer", "older"),
    [
        (NYGARD_OLD, "superseded", "2024-01-01", ("0004-drop-colorama.md",), ()),
        (NYGARD_NEW, "accepted", "2025-01-01", (), ("0002-colours.md",)),
        (ADR_TOOLS, "superseded", "2024-01-01", ("0004-drop-colorama.md",), ()),
        (MADR_2, "superseded", "2020-03-04", ("0005-use-asciidoc.md",), ()),
        (MADR_4, "accepted", "2026-02-03", (), ("0003-use-markdown.md",)),
        (LOG4BRAINS, "accepted", "2021-06-07", (), ("20200106-poll-the-table.md",)),
    ],
)
def test_each_form_states_its_status_its_date_and_what_it_replaces(
    text: str, status: str, date: str, newer: tuple[str, ...], older: tuple[str, ...]
) -> None:
    made = record(text)
    assert (made.status, made.date) == (status, date)
    assert made.references[:2] == (newer, older)


@pytest.mark.parametrize(
    ("stated", "status"),
    [
        ("## Status\n\nProposed 2020-01-01\n\nAccepted 2020-02-01", "accepted"),
        ("## Status\n\n~~Accepted~~ Rejected", "rejected"),
        ("## Status\n\nDeprecated", "deprecated"),
        ("## Status: Accepted\n", "accepted"),
        ("**Status:** Draft", "proposed"),
        ("| Status | Accepted |", "accepted"),
        ("## Status\n\nSuperseded by ADR-9", "superseded"),
        ("## Status\n\nReplaced by the next one", "superseded"),
        ("## Status\n\n[proposed | rejected | accepted | deprecated]", ""),
        ("## Status\n\nAccepted\n\nAmends [3. Rejected ideas](0003-x.md)", "accepted"),
        ("## Status\n\nAccepted <!-- was: rejected -->", "accepted"),
    ],
)
def test_a_status_is_read_however_it_is_written(stated: str, status: str) -> None:
    assert record(f"# 1. A\n\n{stated}\n\n## Decision\n\nWe do it.\n").status == status


@pytest.mark.parametrize(
    ("reference", "name", "title"),
    [
        ("0004-drop-colorama.md", "0004-drop-colorama.md", "4. Drop colorama"),
        ("./0004-drop-colorama.md", "0004-drop-colorama.md", "4. Drop colorama"),
        ("ADR-0004", "0004-drop-colorama.md", "Drop colorama"),
        ("4", "adr-004.md", "Drop colorama"),
        ("20200106-poll-the-table", "20200106-poll-the-table.md", "Poll the table"),
        ("Drop colorama", "drop.md", "ADR 4: Drop colorama"),
        ("../api/adr/0004-drop-colorama.md", "api/adr/0004-drop-colorama.md", "4. Drop colorama"),
    ],
)
def test_a_record_is_found_by_path_file_number_or_title(
    reference: str, name: str, title: str
) -> None:
    home = "web/adr/" if reference.startswith("../") else ""
    other = record(f"# {title}\n\n## Status\n\nAccepted\n", name if not home else f"web/{name}")
    old = record(NYGARD_OLD, f"{home}0002-colours.md")
    assert decision_records.resolved(reference, old, [old, other]) is other


def test_of_two_folders_with_the_same_numbers_the_own_one_is_meant() -> None:
    names = ("web/0004-a.md", "api/0004-b.md", "api/0002-c.md")
    records = [record(f"# {name}\n\n## Status\n\nAccepted\n", name) for name in names]
    assert decision_records.resolved("ADR-4", records[2], records) is records[1]


def test_whichever_of_two_says_it_the_newer_one_links_the_older() -> None:
    old, new = record(NYGARD_OLD, "0002-colours.md"), record(NYGARD_NEW, "0004-drop-colorama.md")
    silent_new = record(NYGARD_NEW.replace("Supersedes", "See"), "0004-drop-colorama.md")
    silent_old = record(
        NYGARD_OLD.replace("Superseded by [4. Drop colorama](0004-drop-colorama.md)", "Accepted"),
        "0002-colours.md",
    )
    for pair in ([old, new], [old, silent_new], [silent_old, new]):
        ids = {made.file.name: decision_records.id_of(made, "shop") for made in pair}
        docs = [
            read_entry(item.path, item.data)
            for item in decision_records.docs(pair, ids, "shop", NOW)
        ]
        assert [doc.status for doc in docs] == ["superseded", "active"]
        assert [(link.relation, link.target) for link in docs[1].links] == [
            ("supersedes", docs[0].id)
        ]
        assert docs[1].fields["status"] == "accepted"
        assert str(docs[0].fields["created"]).startswith("2024-01-01")


@pytest.mark.parametrize(
    "name", ["README.md", "index.md", "template.md", "adr-template.md", "0000-template.md"]
)
def test_what_lies_beside_records_is_none(name: str) -> None:
    assert decision_records.read(SourceFile(name, NYGARD_NEW.encode())) is None


def test_a_page_without_status_and_decision_is_no_record() -> None:
    assert (
        decision_records.read(SourceFile("0003-guide.md", b"# Guide\n\nRead this first.\n")) is None
    )


def test_a_rule_says_why_it_was_chosen_and_links_its_record() -> None:
    made = record(MADR_4, "0005-use-asciidoc.md")
    ids = {made.file.name: decision_records.id_of(made, None)}
    (item,) = decision_records.rules([made], frozenset(), ids, None, NOW)
    rule = read_entry(item.path, item.data)
    assert (rule.title, rule.rationale) == ("Use AsciiDoc", "its tables span cells.")
    assert [(link.relation, link.target) for link in rule.links] == [
        ("has_doc", ids[made.file.name])
    ]
    assert decision_records.rules([made], frozenset({made.file.name}), ids, None, NOW) == []


RECORDS = st.lists(
    st.sampled_from(
        (
            "# 5. Use X",
            "## Status",
            "Superseded by [6](0006-b.md)",
            "Accepted",
            "status: x",
            "---",
            "",
        )
    ),
    max_size=9,
).map("\n".join)


@given(st.text() | RECORDS, st.text())
def test_any_text_is_a_record_or_none(text: str, name: str) -> None:
    try:
        made = decision_records.read(
            SourceFile(f"{name}.md", text.encode("utf-8", "replace")), named=True
        )
    except InvalidEntry:
        return
    assert made is not None
    assert decision_records.superseding([made]) == []

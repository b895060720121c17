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
        ("## Status\n\nAccepted; superseded by ADR-12", "superseded"),
        ("## Status\n\nSuperseeded by 7", "superseded"),
        ("## Status\n\nAccepted, amended by ADR-7", "accepted"),
        ("## Status\n\nAccepted. Partially superseded by ADR-12", "accepted"),
        ("## Status\n\nPartly superseded", ""),
        ("## Status\n\nNot accepted", ""),
        ("## Status\n\nProposed -> Accepted", "accepted"),
        ("## Status\n\nAccepted\n\nThe one before is deprecated.", "accepted"),
        ("## Status\n\n| Status | Day |\n| --- | --- |\n| Accepted | 2021 |", "accepted"),
        ("## Status\n\nProposed / Accepted / Rejected", ""),
        ("- Status: `pending`, `approved`, `rejected`", ""),
        ("## 1. Status\n\nRejected", "rejected"),
        ("## ✅ **Status** {#status}\n\nRejected", "rejected"),
        ("> Status: rejected", "rejected"),
        ("## Status\n\nAkzeptiert", "accepted"),
        ("## Status\n\nErsetzt durch ADR-2", "superseded"),
        ("* Statut : remplacé par [ADR-0005](0005-x.md)", "superseded"),
        ("## Estado\n\nRechazada", "rejected"),
        ("## Status\n\nSubstituído por ADR 2", "superseded"),
        ("## Stato\n\nAccettata", "accepted"),
        ("## Статус\n\nПринято", "accepted"),  # noqa: RUF001
        ("## 状态\n\n已接受", "accepted"),
        ("## ステータス\n\n承認済み", "accepted"),
        ("## 상태\n\n승인됨", "accepted"),
    ],
)
def test_a_status_is_read_however_it_is_written(stated: str, status: str) -> None:
    assert record(f"# 1. A\n\n{stated}\n\n## Decision\n\nWe do it.\n").status == status


@pytest.mark.parametrize(
    ("matter", "status"),
    [
        ("status: active", "rejected"),
        ("Status: Deprecated", "deprecated"),
        ("statut: accepté", "accepted"),
        ("status: [superseded]", "superseded"),
    ],
)
def test_a_status_in_frontmatter_that_is_none_of_a_record_leaves_that_of_the_text(
    matter: str, status: str
) -> None:
    text = f"---\n{matter}\n---\n# 1. A\n\n## Status\n\nRejected\n"
    assert record(text).status == status


@pytest.mark.parametrize(
    ("stated", "newer", "older", "beside"),
    [
        ("## Status\n\nSuperseded by ADR-12 and 14", ("12", "14"), (), ()),
        ("## Status\n\nSuperseded by ADRs 12, 14 (2021-03-04)", ("12", "14"), (), ()),
        ("## Status\n\nSuperseded (see [12](0012-a.md))", ("0012-a.md",), (), ()),
        ("## Status\n\nSuperseded → 0012", ("12",), (), ()),
        ("## Status\n\nSuperseded by “Use SQL”", ("Use SQL",), (), ()),
        ("## Status\n\nErsetzt durch [ADR 4](0004-x.md)", ("0004-x.md",), (), ()),
        ("## 状态\n\n被 ADR-5 取代", ("5",), (), ()),
        ("## Status\n\nAccepted\n\nErsetzt ADR-3", (), ("3",), ()),
        ("Status: Accepted\n\n- **Supersedes**: ADR-3", (), ("3",), ()),
        ("| Status | Accepted |\n| Superseded by | [4](0004-x.md) |", ("0004-x.md",), (), ()),
        ("## Status\n\nPartially supersedes [ADR 3](0003-x.md)", (), (), ("0003-x.md",)),
        ("**Supersedes**: ADR 3 §7", (), (), ("3",)),
    ],
)
def test_what_takes_the_place_of_what_is_read_however_it_is_written(
    stated: str, newer: tuple[str, ...], older: tuple[str, ...], beside: tuple[str, ...]
) -> None:
    text = f"# 1. A\n\n{stated}\n\n## Decision\n\nThe paragraph supersedes: nothing.\n"
    assert record(text).references == (newer, older, beside)


def test_a_link_to_a_record_that_was_renamed_is_followed_by_number_but_not_by_day() -> None:
    old = record(NYGARD_OLD, "0002-colours.md")
    new = record(NYGARD_NEW, "0004-no-colorama.md")
    day = record(LOG4BRAINS.replace("Send", "Take"), "20200106-other.md")
    assert decision_records.resolved("0004-drop-colorama.md", old, [old, new, day]) is new
    assert decision_records.resolved("20200106-poll.md", old, [old, new, day]) is None


@pytest.mark.parametrize(
    "text",
    [
        "# Anmeldung\n\n## Kontext\n\nViele.\n\n## Entscheidung\n\nWir nehmen OIDC.\n",
        "# Connexion\n\n## Contexte\n\nOui.\n\n## Décision\n\nNous prenons OIDC.\n",
        "# 登录\n\n## 背景\n\n多。\n\n## 决策\n\n我们用 OIDC。\n",
    ],
)
def test_the_decision_is_found_below_headings_in_other_languages(text: str) -> None:
    made = record(text, "login.md")
    assert made.decision
    assert made.context


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

"""Messages of proposals: what is written between subject and trailers is read back, and passes for nothing else."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ai_lessons.approval.outcomes import Rejection, joined, read_rejection
from ai_lessons.git.store import Actor, message_of
from ai_lessons.model.approval import (
    REPORT_LIMIT,
    entry_end,
    merged_branches,
    report,
    trailers,
    with_report,
)

WORDS = st.text(st.characters(codec="utf-8"), max_size=40)
LINES = st.sampled_from(
    [
        "", " ", "\t", "Entry: x", "Agent: helper", "Rule: y", "# Evaluation", "\x1b[2J", "\r", "\u2028", "-- ",
        "...", "\u202e",
    ]
)  # fmt: skip
REPORTS = st.lists(LINES | WORDS, max_size=12).map("\n".join)
GIVEN = (("Promoted-from", "user"), ("Entry", "01JD3Z8QK5W7M2X9V4T68F3K2A"))


@example("Approve rule: x\n\nProposal: rules/R-8F3K2A-x", "Propose")
@given(REPORTS, WORDS)
def test_no_report_adds_or_hides_a_trailer_or_the_subject(said: str, subject: str) -> None:
    plain = message_of(f"Propose: {subject}", GIVEN, Actor())
    message = with_report(plain, said)
    assert trailers(message) == GIVEN
    assert message.partition("\n")[0] == plain.partition("\n")[0]
    assert merged_branches(message, "main") == merged_branches(plain, "main")
    assert set(message) - {"\n", "\t"} == {c for c in message if c.isprintable()}


@given(REPORTS)
def test_a_report_is_read_back_and_writing_it_again_changes_nothing(said: str) -> None:
    plain = message_of("Propose", GIVEN, Actor())
    found = report(with_report(plain, said))
    assert report(with_report(plain, found)) == found
    assert "".join(found.split()) == "".join(
        "".join(c if c.isprintable() else " " for c in said).split()
    )


@given(st.text())
def test_no_message_crashes_the_reader_of_reports(message: str) -> None:
    assert len(report(message)) <= REPORT_LIMIT + 2


def test_a_message_without_trailers_is_all_report() -> None:
    assert report("Subject\n\nOne.\n\nTwo.\n") == "One.\n\nTwo."
    assert report("Subject\n\nEntry: x\n") == ""
    assert report("Subject\n") == ""
    assert report("S\n\n" + "x" * 2 * REPORT_LIMIT).endswith("x\n…")


@pytest.mark.parametrize(
    ("branch", "end"),
    [
        ("proposals/L-8F3K2A-use-x", "8F3K2A"), ("proposals/l-8f3k2a", "8F3K2A"),
        ("proposals/S-9XW2RB-put", "9XW2RB"), ("proposals/8F3K2A-x", "8F3K2A"), ("proposals/R-8F3K2A-x", None),
        ("proposals/L-8F3K2-x", None), ("proposals/L-8F3K2A-use/x", None), ("proposals/use-words", None),
        ("rules/R-8F3K2A-x", None),
    ],
)  # fmt: skip
def test_which_entry_a_branch_names(branch: str, end: str | None) -> None:
    assert entry_end(branch) == end


@pytest.mark.parametrize("what", ["lesson", "doc", "script"])
def test_our_own_merges_of_other_proposals_name_them_by_their_trailer_only(what: str) -> None:
    said = f"Approve {what}: Merge branch 'rules/R-8F3K2A-x'\n\nProposal: proposals/L-8F3K2A-x\nEntry: y"
    assert merged_branches(said, "main") == ("proposals/L-8F3K2A-x",)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00\ufeff"), max_size=60)
PATHS = st.lists(
    st.sampled_from(["a/b.md", "a/scripts/c.sh", "a/scripts/c.sh.md", "d.md"]),
    min_size=1,
    unique=True,
)


@given(PATHS, st.data())
def test_every_text_of_a_rejection_is_read_back(paths: list[str], data: st.DataObject) -> None:
    texts = {
        path: data.draw(
            TEXTS.map(lambda text: f"{text.strip()}.\n").filter(lambda t: "<!--" not in t)
        )
        for path in paths
    }
    text, files = joined(texts)
    made = Rejection(
        "x", "t", "r", "proposals/L-8F3K2A-x", "c", paths[0], "A", "2026", text, "lesson", files
    )
    found = read_rejection(made.render())
    assert found is not None
    assert (found.what, found.entry, found.files) == ("lesson", "x", files)
    assert {path: one.strip() for path, one in found.texts().items()} == {
        p: t.strip() for p, t in texts.items()
    }

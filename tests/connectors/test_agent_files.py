from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import InvalidEntry
from ai_lessons.git.hooks import OURS, change_marked_part, marks, plan

TEXT = "## Knowledge base\n\nSearch it.\n"
PART = "<!-- >>> ai-lessons >>> -->\n## Knowledge base\n\nSearch it.\n<!-- <<< ai-lessons <<< -->\n"


def installed(there: bytes | None, text: str = TEXT) -> bytes:
    made = plan(there, "install", text)
    assert made.data is not None
    return made.data


def taken_out(there: bytes) -> bytes | None:
    return plan(there, "uninstall", "").data


@given(st.binary(max_size=60) | st.text(alphabet="a\r\n#<!-> ", max_size=60).map(str.encode))
def test_taking_it_out_gives_back_every_byte(there: bytes) -> None:
    new = installed(there)
    assert plan(new, "install", TEXT).says == "already there"
    assert taken_out(new) == (there or None)
    assert taken_out(installed(new, "Another text.")) == (there or None)


def test_it_is_found_where_git_or_an_editor_changed_the_line_ends() -> None:
    assert taken_out(installed(b"# Rules\n").replace(b"\n", b"\r\n")) == b"# Rules\r\n"


@given(
    st.text(alphabet="a\n#", max_size=20).map(str.encode),
    st.text(alphabet="a\n#", max_size=20).map(str.encode),
)
def test_what_others_write_around_it_stays(before: bytes, after: bytes) -> None:
    around = before + installed(b"# Rules\n") + after
    newer = installed(around, "Another text.")
    assert newer == around.replace(b"## Knowledge base\n\nSearch it.", b"Another text.")
    assert taken_out(newer) == before + b"# Rules\n" + after


HALF = "# Mine\n\n{}\nhalf a block\n\nNever deploy on a Friday.\n"


@pytest.mark.parametrize("name", ["AGENTS.md", "CRLF.md", ".bashrc", "rules.md"])
def test_what_stands_below_a_part_without_its_last_line_is_never_taken_for_ours(
    tmp_path: Path, name: str
) -> None:
    ours = {
        ".bashrc": marks("ai-lessons completion", "# {}"),
        "rules.md": marks("ai-lessons rules"),
    }.get(name, OURS)
    there = HALF.format(ours.begin).encode().replace(b"\n", b"\r\n" if name == "CRLF.md" else b"\n")
    file = tmp_path / name
    file.write_bytes(there)
    warning = f"; a line {ours.begin} without its last line {ours.end} is left as it is, with what follows"
    for job, text, says in (
        ("install", "One.", "added"),
        ("install", "One.", "already there"),
        ("install", "Two.", "brought up to date"),
        ("uninstall", "", "taken out"),
        ("uninstall", "", "not there"),
    ):
        assert change_marked_part(file, job, text, ours) == says + warning
        assert file.read_bytes().startswith(there)
    assert file.read_bytes() == there


def test_a_part_is_found_where_an_editor_took_the_last_line_feed() -> None:
    assert taken_out(PART.rstrip().encode()) is None


def test_a_file_that_holds_nothing_else_is_removed(tmp_path: Path) -> None:
    change_marked_part(tmp_path / "AGENTS.md", "install", TEXT)
    assert change_marked_part(tmp_path / "AGENTS.md", "uninstall", TEXT) == "removed"
    assert list(tmp_path.iterdir()) == []


def test_a_second_copy_that_a_merge_left_goes_too() -> None:
    twice = installed(b"# Rules\n") + b"\n" + PART.encode()
    assert installed(twice, "Another text.") == installed(b"# Rules\n", "Another text.")
    assert taken_out(twice) == b"# Rules\n"


def test_a_file_keeps_its_mode_and_a_link_is_left_alone(tmp_path: Path) -> None:
    file, link = tmp_path / "AGENTS.md", tmp_path / "CLAUDE.md"
    file.write_text("# Rules\n")
    file.chmod(0o640)
    link.symlink_to("AGENTS.md")
    assert change_marked_part(file, "install", TEXT) == "added"
    assert file.stat().st_mode & 0o777 == 0o640
    before = file.read_bytes()
    assert change_marked_part(link, "uninstall", TEXT).startswith("left alone, it is a link")
    assert file.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir() if one.name.endswith(".tmp")] == []


def test_a_file_that_cannot_be_written_is_our_error(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").mkdir()
    with pytest.raises(InvalidEntry, match="not a regular file"):
        change_marked_part(tmp_path / "AGENTS.md", "install", TEXT)

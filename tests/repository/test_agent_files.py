from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_lessons.errors import StorageFailed
from ai_lessons.repository.agent_files import carry_out, files_in, holds_ours, plan_install, plan_status, plan_uninstall

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "## Knowledge base\n\nSearch it.\n"
PART = "<!-- >>> ai-lessons >>> -->\n## Knowledge base\n\nSearch it.\n<!-- <<< ai-lessons <<< -->\n"
NEW = PART.replace("ai-lessons >>>", "ai-lessons, new file >>>", 1)


def installed(there: bytes | None, text: str = TEXT) -> bytes:
    plan = plan_install(there, text)
    assert plan.data is not None
    return plan.data


@pytest.mark.parametrize(
    ("there", "then"),
    [
        (None, NEW.encode()),
        (b"", b"\n" + PART.encode()),
        (b"# Rules\n", b"# Rules\n\n" + PART.encode()),
        (b"# Rules", b"# Rules\n" + PART.encode()),
        (b"# Rules\r\n", b"# Rules\r\n\r\n" + PART.replace("\n", "\r\n").encode()),
        (b"caf\xe9\n", b"caf\xe9\n\n" + PART.encode()),
    ],
)
def test_the_paragraph_goes_to_the_end_in_the_line_ends_of_the_file(there: bytes | None, then: bytes) -> None:
    assert installed(there) == then
    assert holds_ours(then)


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet="a\r\n#<!-> ", max_size=60).map(str.encode))
def test_taking_it_out_gives_back_every_byte(there: bytes) -> None:
    new = installed(there)
    assert plan_install(new, TEXT).says == "already there"
    assert plan_uninstall(new)[:2] == ("taken out", there)
    newer = installed(new, "Another text.")
    assert plan_uninstall(newer).data == there


@settings(deadline=None)
@given(st.text(alphabet="a\n#", max_size=20).map(str.encode), st.text(alphabet="a\n#", max_size=20).map(str.encode))
def test_what_others_write_around_it_stays(before: bytes, after: bytes) -> None:
    for there in (None, b"# Rules\n"):
        around = before + installed(there) + after
        newer = installed(around, "Another text.")
        assert newer == around.replace(b"## Knowledge base\n\nSearch it.", b"Another text.")
        assert plan_uninstall(newer).data == before + (there or b"") + after


def test_a_file_that_we_made_is_removed_again() -> None:
    assert plan_uninstall(installed(None)).remove
    assert not plan_uninstall(installed(b"")).remove


def test_a_second_copy_that_a_merge_left_goes_too() -> None:
    twice = installed(b"# Rules\n") + b"\n" + PART.encode()
    assert installed(twice, "Another text.") == installed(b"# Rules\n", "Another text.")
    assert plan_uninstall(twice).data == b"# Rules\n"


@pytest.mark.parametrize("half", [PART.replace("<!-- <<< ai-lessons <<< -->\n", ""), PART.partition("\n")[2]])
def test_half_a_paragraph_is_left_to_the_user(half: str) -> None:
    for plan in (plan_install(half.encode(), TEXT), plan_uninstall(half.encode())):
        assert plan.data is None
        assert plan.says.startswith("left alone, one of our two markers is missing")


def test_the_status_tells_this_version_from_another() -> None:
    assert plan_status(None, TEXT).says == "not there"
    assert plan_status(b"# Rules\n", TEXT).says == "not there"
    assert plan_status(installed(b""), TEXT).says == "there"
    assert plan_status(installed(b""), "Another text.").says == "there, but not the one of this version: install again"


def test_the_files_are_those_that_agents_read(tmp_path: Path) -> None:
    agents, claude = tmp_path / "AGENTS.md", tmp_path / "CLAUDE.md"
    assert files_in(tmp_path) == (agents,)
    claude.write_text("# Rules\n")
    assert files_in(tmp_path) == (claude,)
    agents.write_text("# Rules\n")
    assert files_in(tmp_path) == (agents, claude)
    claude.write_text("# Rules\n@AGENTS.md\n")
    assert files_in(tmp_path) == (agents,)
    assert files_in(tmp_path, every=True) == (agents, claude)
    claude.unlink()
    claude.symlink_to("AGENTS.md")
    assert files_in(tmp_path) == (agents,)


def test_a_file_keeps_its_mode_and_a_link_is_left_alone(tmp_path: Path) -> None:
    file, link = tmp_path / "AGENTS.md", tmp_path / "CLAUDE.md"
    file.write_text("# Rules\n")
    file.chmod(0o640)
    link.symlink_to("AGENTS.md")
    assert carry_out(file, "install", TEXT) == "added at the end"
    assert file.stat().st_mode & 0o777 == 0o640
    before = file.read_bytes()
    assert carry_out(link, "uninstall", TEXT).startswith("left alone, it is a link")
    assert file.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir() if one.name.endswith(".tmp")] == []


def test_a_file_that_cannot_be_written_is_our_error(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").mkdir()
    with pytest.raises(StorageFailed):
        carry_out(tmp_path / "AGENTS.md", "install", TEXT)

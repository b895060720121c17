"""The commands that take in files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.app.written import Refreshed
from ai_lessons.features.intake import texts
from ai_lessons.features.intake.jobs import PassagePreview
from interfaces.a_terminal import finish
from interfaces.test_first_day import NOTES
from interfaces.test_one_door import NAME, is_behind
from interfaces.test_render import VIEW
from real_world import put_file

if TYPE_CHECKING:
    import pytest

    from interfaces.a_terminal import Spawn
    from interfaces.agent_host import Host
    from interfaces.world import Run
    from real_world import Git


def test_files_are_added_as_what_they_are(run: Run, knowledge: Path) -> None:
    Path("page.md").write_text(NOTES)
    Path("count.sh").write_text("#!/bin/sh\nls | wc -l\n")
    assert run("contribute", "add-resource", "page.md").out.startswith("[D-")
    assert run(
        "contribute", "add-resource", "count.sh", "--kind", "doc", "--title", "Text"
    ).out.startswith("[D-")


def test_docs_take_their_versions_from_the_names_of_their_folders_where_that_is_asked_for(
    run: Run, knowledge: Path
) -> None:
    for folder in ("v1/guide", "2.4.x", "drafts"):
        put_file(Path(folder, "page.md"), NOTES)
    words = (
        "contribute",
        "add-resource",
        "--recursive",
        "--project",
        "n",
        "--version",
        "auto",
        "--json",
    )
    done = run(*words, "v1", "2.4.x", "drafts")
    assert [entry["path"] for entry in done.json["written"]] == [
        "n/docs/v1/guide/page.md", "n/docs/2.4.x/page.md", "n/docs/unversioned/drafts/page.md",
    ]  # fmt: skip


def test_an_interrupted_import_leaves_nothing_half_done(
    spawn: Spawn, knowledge: Path, tmp_path: Path, git: Git, run: Run
) -> None:
    many = tmp_path / "many"
    for n in range(4000):
        put_file(many / f"n{n}.md", f"# Note {n}\n\n" + "word " * 300)
    child = spawn(
        "contribute",
        "add-resource",
        "--type",
        "doc",
        "--path",
        shlex.quote(str(many)),
        "--recursive",
    )
    child.expect(r"\[#*-+\]")
    child.sendintr()
    code, text = finish(child)
    assert (code, "what was already written is kept" in text) == (130, True), text
    git(knowledge, "fsck", "--strict")
    assert run("recall", "list", "--json").code == 0
    assert run("admin", "validate").code == 0


def test_the_short_form_of_refresh_does_what_its_long_one_does(run: Run, knowledge: Path) -> None:
    long_help = run("contribute", "refresh", "--help").out
    for words in (("refresh",), ("contribute", "refresh-resource")):
        own_help = run(*words, "--help").out.partition("\nExamples:")[0].partition("\n\n")[2]
        assert own_help
        assert own_help in long_help
    assert "refresh" in " ".join(run("--help").out.partition("Short forms:")[2].split())
    assert run("refresh", "--all").code == 0


def test_the_name_of_a_folder_is_behind_the_frame(
    host: Host, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file(host.code / NAME / "a.md", "# A\n")
    monkeypatch.setenv("AI_LESSONS_AGENT", "robot")
    done = run("contribute", "add-resource", "--type", "doc", "--path", str(host.code / NAME))
    assert is_behind(done.out)
    assert is_behind(done.err)
    assert done.out or done.err


def test_no_text_of_a_file_reaches_the_terminal_as_it_is() -> None:
    evil = "\x1b]0;pwned\x07"
    refreshed = Refreshed(evil, evil, evil, changed=True, old_ref=evil, new_ref=None, warning=evil)
    for text in (
        texts.previews((PassagePreview(evil, evil, 1, evil),), VIEW),
        texts.refreshed((refreshed,), VIEW),
    ):
        assert "pwned" in text
        assert not {"\x1b", "\x07"} & set(text)

"""What becomes of scripts that are added."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_lessons.app import entries, index_upkeep, validation
from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Refused, UsageError
from ai_lessons.features.intake import refreshing, sources
from ai_lessons.features.scripts import jobs
from ai_lessons.model.entries import Kind
from app.test_secret_gate import KEY, in_git, mark_of
from app.world import World
from features.intake.intake_world import bring
from real_world import Git, put_file


def test_a_script_comes_with_its_mode_a_side_file_and_trust(
    world: World, source: Path, git: Git
) -> None:
    os.chmod(source / "run.sh", 0o700)
    git(source, "commit", "-qam", "mode")
    made = bring(world, source / "run.sh", kind=Kind.SCRIPT, versions=["v1"]).written[0]
    assert made.path == "jira-api/scripts/v1/run.sh"
    assert os.access(world.root / made.path, os.X_OK)
    assert git(world.root, "ls-files", "-s", made.path).startswith("100755")
    assert git(world.root, "ls-files", "-s", made.path + ".md").startswith("100644")
    shown = entries.show(world.library, made.id)
    assert shown.body == "Runs it all.\n"
    assert shown.code == (source / "run.sh").read_text()
    assert shown.frontmatter["source_ref"] == git(source, "rev-parse", "HEAD")
    assert jobs.run(world.library, made.id, []) == 0
    assert world.commits()[0] == "Add script: run.sh"
    assert bring(world, source / "run.sh", kind=Kind.SCRIPT, versions=["v1"]).unchanged == 1
    (source / "run.sh").write_text("#!/bin/sh\necho other\n")
    with pytest.raises(Conflict, match="another content") as error:
        bring(world, source / "run.sh", kind=Kind.SCRIPT, versions=["v1"])
    assert error.value.hint


def test_a_picture_among_scripts_is_none_but_a_program_is(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "logo.png").write_bytes(b"\x89PNG\0")
    (folder / "tool").write_bytes(b"\x7fELF\0")
    os.chmod(folder / "tool", 0o700)
    done = bring(world, folder, kind=Kind.SCRIPT, recursive=True)
    assert [one.path for one in done.written] == ["global/scripts/unversioned/tool"]
    assert "not a script" in done.skipped[0][1]
    assert validation.validate(world.library).problems == ()


def test_a_script_may_stay_where_it_is(world: World, source: Path) -> None:
    made = bring(world, source / "run.sh", kind=Kind.SCRIPT, in_place=True, project="p").written[0]
    assert not (world.root / "p/scripts/unversioned/run.sh").exists()
    assert f"path: {source}/run.sh" in world.read("p/scripts/unversioned/run.sh.md")
    assert jobs.run(world.library, made.handle, []) == 0
    assert (
        bring(world, source / "run.sh", kind=Kind.SCRIPT, in_place=True, project="p").unchanged == 1
    )
    with pytest.raises(UsageError, match="snapshot"):
        bring(world, source / "docs/guide.md", in_place=True)


def test_a_script_that_stays_where_it_is_is_read_again_when_it_changes(
    world: World, source: Path
) -> None:
    (source / "run.sh").write_text("#!/bin/sh\n# Rotates the zebra keys.\n")
    made = bring(world, source / "run.sh", kind=Kind.SCRIPT, in_place=True, project="p").written[0]
    assert list(sources.stale(world.library.primary)) == []
    jobs: dict[str, Callable[[], object]] = {
        "giraffe": lambda: index_upkeep.reindex(world.library, [made.handle]),
        "heron": lambda: refreshing.refresh(world.library, [], every=True),
        "newt": lambda: index_upkeep.reindex(world.library, kinds=[Kind.SCRIPT]),
    }
    for word, again in jobs.items():
        (source / "run.sh").write_text(f"#!/bin/sh\n# Rotates the {word} keys.\n")
        (stale,) = sources.stale(world.library.primary)
        assert (stale.handle, "changed" in stale.reason) == (made.handle, True)
        told = f"[{made.handle}] {stale.reason}"
        assert told in world.search(made.title).notes
        assert told in entries.show(world.library, made.handle).notes
        again()
        assert list(sources.stale(world.library.primary)) == []
        assert world.search(f"{word} keys").scripts[0].entry.snippet == f"Rotates the {word} keys."
        assert entries.show(world.library, made.id).body == f"Rotates the {word} keys.\n"
    (source / "run.sh").unlink()
    assert [one.reason for one in sources.stale(world.library.primary)] == ["gone"]
    with pytest.raises(NotFound):
        index_upkeep.reindex(world.library, [made.handle])


def test_a_script_in_place_that_a_pull_brought_is_not_read(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret.sh").write_text("# The neighbour's.\n")
    text = f"---\nkind: script\ntitle: s\npath: {tmp_path}/secret.sh\ncontent_hash: sha256:{'0' * 64}\n---\nOld.\n"
    world.write("p/scripts/unversioned/s.sh.md", text)
    (entry,) = entries.list_entries(world.library).entries
    index_upkeep.reindex(world.library, kinds=[Kind.SCRIPT])
    assert refreshing.refresh(world.library, [], every=True)[0].warning
    assert world.read("p/scripts/unversioned/s.sh.md") == text
    with pytest.raises(Refused):
        index_upkeep.reindex(world.library, [entry.handle])


def test_a_script_of_the_repository_is_described_where_it_is(world: World) -> None:
    world.write("p/scripts/tools/go.sh", "#!/bin/sh\n# Goes.\n")
    script = bring(world, world.root / "p/scripts/tools/go.sh", kind=Kind.SCRIPT).written[0]
    assert script.path == "p/scripts/tools/go.sh"
    assert world.status() == ""  # the script itself is committed with its side file
    shown = entries.show(world.library, script.id)
    assert shown.frontmatter["created"] == "2026-11-21T20:14:00Z"
    assert shown.frontmatter["source_ref"].endswith("-dirty")
    assert not script.id.startswith("00000000")
    assert jobs.run(world.library, script.id, []) == 0


def test_a_script_with_a_secret_stays_out_of_git_without_a_reason(
    world: World, tmp_path: Path
) -> None:
    world.add("There already")
    of_the_repository = world.write("p/scripts/unversioned/run.sh", f"#!/bin/sh\ncurl -H {KEY}\n")
    for file in (
        of_the_repository,
        put_file(tmp_path / "run.sh", f"#!/bin/sh\ncurl -H {KEY}\n"),
        put_file(tmp_path / f"{KEY}.sh", "#!/bin/sh\n"),
    ):
        with pytest.raises(InvalidEntry) as told:
            bring(world, file, kind=Kind.SCRIPT)
        assert KEY not in str(told.value)
        assert KEY not in told.value.problems[0].path
    assert not in_git(world)
    of_the_repository.unlink()
    with pytest.raises(InvalidEntry, match="GitLab") as told:
        bring(world, tmp_path / "run.sh", kind=Kind.SCRIPT)
    reason = [(mark_of(told.value), "of the sandbox")]
    assert bring(world, tmp_path / "run.sh", kind=Kind.SCRIPT, allow_secrets=reason).commit
    assert validation.validate(world.library).problems == ()

"""What the core promises holds for what is taken in, too: secrets, formats, governance, copies, vectors, runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ai_lessons.app import editing, entries, secrets, validation
from ai_lessons.errors import InvalidEntry, Refused, UnsupportedRepository, UsageError
from ai_lessons.features.intake import jobs, refreshing, sources
from ai_lessons.features.intake.plan import ResourceDraft
from ai_lessons.model import config
from ai_lessons.model.entries import Kind
from app.test_reviewing import found
from app.test_secret_gate import FAKE, KEY, SECRET, in_git, mark_of
from features.intake.intake_world import bring
from real_world import put_file

if TYPE_CHECKING:
    from pathlib import Path

    from app.test_vector_sharing import Clone, Team
    from app.world import World


def test_nothing_is_taken_into_a_repository_of_a_newer_program(
    world: World, tmp_path: Path
) -> None:
    newer = f"format: {config.FORMAT + 1}\n"
    world.committed(".ai-lessons/config.yaml", newer, message="a newer program was here")
    (tmp_path / "doc.md").write_text("# Doc\n")
    with pytest.raises(UnsupportedRepository, match="this program knows 1"):
        bring(world, tmp_path / "doc.md")
    assert (world.status(), world.commits()[0]) == ("", "a newer program was here")


TAKEN: dict[str, Callable[[World], object]] = {
    "describe": lambda w: bring(w, w.write("p/docs/unversioned/plain.md", f"# Plain\n\n{SECRET}")),
    "script": lambda w: bring(
        w, w.write("p/scripts/unversioned/run.sh", f"#!/bin/sh\ncurl -H {KEY}\n"), kind=Kind.SCRIPT
    ),
}


@pytest.mark.parametrize("take", TAKEN.values(), ids=TAKEN)
def test_no_secret_is_taken_into_git(world: World, take: Callable[[World], object]) -> None:
    world.add("There already")
    with pytest.raises(InvalidEntry, match="GitLab") as told:
        take(world)
    assert KEY not in str(told.value)
    assert not in_git(world)


@pytest.mark.parametrize(("suffix", "kind"), [("sh", Kind.SCRIPT), ("md", Kind.DOC)])
def test_no_path_of_what_is_taken_in_has_a_secret(
    world: World, tmp_path: Path, suffix: str, kind: Kind
) -> None:
    (tmp_path / f"{KEY}.{suffix}").write_text("#!/bin/sh\n")
    with pytest.raises(InvalidEntry) as told:
        bring(world, tmp_path / f"{KEY}.{suffix}", kind=kind)
    assert KEY not in str(told.value)
    assert KEY not in told.value.problems[0].path
    assert (world.status(), in_git(world)) == ("", False)


def test_an_agent_allows_no_secret_by_frontmatter_that_it_writes(world: World) -> None:
    file = world.root.parent / "keys.md"
    allowing = f"allow_secrets:\n  - {secrets.fingerprint(KEY)}: the vendor publishes it\n"
    file.write_text(f"---\nkind: doc\n{allowing}---\n{SECRET}")
    draft = ResourceDraft(Kind.DOC, [str(file)], project="p")
    with pytest.raises(Refused, match="an agent cannot allow what looks like a secret"):
        jobs.add_resources(world.fresh(agent="bot"), draft)
    assert not in_git(world)
    (made,) = jobs.add_resources(world.fresh(), draft).written
    editing.update(
        world.fresh(agent="bot"), made.id, title="What git has already an agent may keep"
    )


def test_a_doc_that_is_refreshed_is_looked_at_and_may_stay_with_a_reason(
    world: World, tmp_path: Path
) -> None:
    one, two = tmp_path / "one.md", tmp_path / "two.md"
    for file in (one, two):
        file.write_text(f"# {file.stem}\n\nText.\n")
        bring(world, file)
    one.write_text(f"# one\n\n{SECRET}")
    two.write_text("# two\n\nAnother text.\n")
    library = world.library
    with pytest.raises(InvalidEntry, match="GitLab") as told:
        refreshing.refresh(library, ["global/docs/unversioned/one.md"])
    done = {answer.title: answer for answer in refreshing.refresh(library, (), every=True)}
    assert "GitLab" in done["one"].warning
    assert (done["one"].changed, done["two"].changed) == (False, True)
    assert not in_git(world)
    mark = mark_of(told.value)
    with pytest.raises(UsageError, match="reason"):
        refreshing.refresh(library, ["global/docs/unversioned/one.md"], allow_secrets=[(mark, "")])
    refreshing.refresh(
        library,
        (),
        every=True,
        allow_secrets=[(mark, "the vendor's sandbox"), ("0" * 12, "of another doc")],
    )
    assert f"allow_secrets:\n  - {mark}: the vendor's sandbox\n" in world.read(
        "global/docs/unversioned/one.md"
    )
    assert "allow_secrets" not in world.read("global/docs/unversioned/two.md")
    assert validation.validate(world.library).problems == ()
    one.write_text(f"# one\n\n{SECRET}\n{FAKE['Stripe']}\n")
    with pytest.raises(InvalidEntry, match="Stripe"):
        refreshing.refresh(library, ["global/docs/unversioned/one.md"])


def test_an_import_again_takes_the_reason_too(world: World, tmp_path: Path) -> None:
    file = tmp_path / "one.md"
    file.write_text("# One\n")
    bring(world, file)
    file.write_text(f"# One\n\n{SECRET}")
    with pytest.raises(InvalidEntry, match="GitLab") as told:
        bring(world, file)
    assert bring(world, file, allow_secrets=[(mark_of(told.value), "of the sandbox")]).written
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\ncurl -H {KEY}\n")
    assert bring(
        world, script, kind=Kind.SCRIPT, allow_secrets=[(mark_of(told.value), "of the sandbox")]
    ).commit
    assert validation.validate(world.library).problems == ()


def test_a_page_of_a_folder_that_holds_a_secret_is_left_out_alone(
    world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n")
    (folder / "bad.md").write_text(f"# Bad\n\n{FAKE['Stripe']}\n")
    came = bring(world, folder, recursive=True)
    assert world.titles() == ["Good"]
    ((path, reason),) = came.skipped
    assert path.endswith("bad.md")
    assert "Stripe" in reason


def test_a_file_of_five_megabytes_is_taken_and_one_over_the_limit_is_named(
    world: World, tmp_path: Path
) -> None:
    text = "# Large\n\n" + "A sentence about limnology. " * 190_000
    (tmp_path / "large.md").write_text(text)
    assert len(text) > 5_000_000
    made = bring(world, tmp_path / "large.md").written[0]
    assert len(entries.show(world.library, made.id).body) == len(text)
    assert validation.validate(world.library).problems == ()
    (tmp_path / "huge.md").write_bytes(b"x\n" * 5_000_000)
    with pytest.raises(InvalidEntry, match=r"huge\.md.*bytes"):
        bring(world, tmp_path / "huge.md")


def test_a_doc_whose_source_changed_or_is_gone_is_named_where_its_folder_is_here(
    world: World, tmp_path: Path
) -> None:
    source = put_file(tmp_path / "notes" / "api.md", "# Api\n\nOne.\n")
    doc = bring(world, source, kind=Kind.DOC).written[0]
    assert found(world) == []
    source.write_text("# Api\n\nTwo.\n")
    told = world.read(doc.path).partition("source_path: ")[2].partition("\n")[0]
    assert found(world) == [(doc.id, "source", f"its source has changed: {told}")]
    (stale,) = sources.stale(world.library.primary)
    assert (stale.handle, stale.path, f"refresh {doc.handle}" in stale.reason) == (
        doc.handle,
        told,
        True,
    )
    refreshing.refresh(world.library, [doc.id])
    assert found(world) == []
    source.unlink()
    assert found(world) == [(doc.id, "source", f"its source is gone: {told}")]
    source.parent.rmdir()
    assert found(world) == []  # another machine


def test_an_import_says_what_is_missing_and_is_found_by_words_at_once(
    team: Team, ann: Clone, tmp_path: Path
) -> None:
    for number in range(30):
        put_file(
            tmp_path / "pages" / f"{number}.md", f"# Page {number}\n\nSomething of {number}.\n"
        )
    draft = ResourceDraft(
        Kind.DOC, project="pages", paths=(str(tmp_path / "pages"),), recursive=True
    )
    with ann.library() as library:
        done = jobs.add_resources(library, draft)
    what = "30 of 42 passages have no vector yet: they are found by words"
    assert done.notes == (f"{what}, and by meaning after ai-lessons admin reindex",)
    assert ann.counted() == (42, 12)


def test_a_doc_whose_source_is_gone_is_a_problem_of_content(world: World, tmp_path: Path) -> None:
    file = put_file(tmp_path / "gone.md", "# X\n")
    (doc,) = bring(world, file).written
    assert validation.validate(world.library, content=True).problems == ()
    file.unlink()
    assert found(world) == [(doc.id, "source", f"its source is gone: {file}")]
    (problem,) = validation.validate(world.library, content=True).problems
    assert (problem.path, "its source is gone" in problem.message) == (doc.path, True)

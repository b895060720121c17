"""What is kept of a draft."""

from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import entries
from ai_lessons.features.harvest import jobs
from ai_lessons.features.harvest.calls import happened
from ai_lessons.features.harvest.counts import CallCounts
from ai_lessons.features.harvest.drafts import HarvestedLesson
from ai_lessons.model.transcripts import Step
from app.world import World
from real_world import Git, commit_all, put_file


@pytest.fixture
def shop(git: Git, tmp_path: Path) -> Path:
    """A code repository of its own, which needs a package."""
    top = tmp_path / "shop"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    put_file(top / "src/cart.py", "LIMIT = 30\n")
    put_file(top / "docs/cart.md", "# Cart\n")
    put_file(top / "requirements.txt", "click==8.1.7\n")
    commit_all(git, top, "one")
    return top


def about(world: World, entry_id: str) -> Any:
    return entries.show(world.library, entry_id).frontmatter.get("about")


def test_a_harvested_lesson_names_the_files_that_were_edited_and_the_version_in_use(
    world: World, shop: Path
) -> None:
    steps = [
        Step("command", "click build", "boom", failed=True, cwd=str(shop)),
        Step("edit", str(shop / "src/cart.py"), cwd=str(shop)),
        Step("edit", "docs/cart.md", cwd=str(shop)),
        Step("command", "click build", "", failed=False, cwd=str(shop)),
    ]
    failure, success = happened(steps, "s1", "shop", "claude-code", "x.jsonl")
    assert (failure.edits, success.edits) == (
        (str(shop / "src/cart.py"), str(shop / "docs/cart.md")),
        (),
    )
    draft = HarvestedLesson(
        "27ecf4a6", "pattern", "shop", "`click build` fails", "running `click build`", "run `make`", "boom",
        "", (), CallCounts(3, 3, 3), (), (), edited=failure.edits,
    )  # fmt: skip
    kept = jobs.keep(world.fresh(cwd=shop), draft, "user")
    assert kept
    assert [item.get("code") or item["package"] for item in about(world, kept.id)] == [
        "src/cart.py", "docs/cart.md", "pypi/click^8.1.7",
    ]  # fmt: skip
    elsewhere = jobs.keep(world.fresh(cwd=world.root), draft._replace(title="Elsewhere"), "user")
    assert elsewhere
    assert about(world, elsewhere.id) is None

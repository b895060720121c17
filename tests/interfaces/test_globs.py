"""Globs as people write them: lists with commas, and those that name nothing."""

import subprocess
from pathlib import Path

import pytest

from interfaces.world import Run


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Code of the project `shop`, in which one stands."""
    code = tmp_path / "shop"
    (code / "src").mkdir(parents=True)
    (code / "src/a.py").write_text("")
    (code / "README.md").write_text("")
    subprocess.run(["git", "init", "-q"], cwd=code, check=True)
    monkeypatch.chdir(code)
    return code


def test_a_list_with_commas_applies_to_each_and_what_names_nothing_is_said(
    run: Run, knowledge: Path, shop: Path
) -> None:
    lesson = ("--project", "shop", "--content", "x", "--title")
    added = run("add", *lesson, "Carts", "--applies-to", "src/**, *.md,lib/**")
    assert (added.code, "applies_to lib/** names no file of shop" in added.err) == (0, True), added.err
    assert "src/**" not in added.err
    file = next(knowledge.glob("shop/lessons/*/carts-*.md"))
    assert '  - src/**\n  - "*.md"\n  - lib/**\n' in file.read_text()
    for path in ("src/a.py", "README.md"):
        assert "Carts" in run("recall", "context", "--path", path).out
    refused = run("add", *lesson, "Boats", "--applies-to", "src/**,!src/a.py")
    assert (refused.code, "none leaves files out" in refused.err) == (4, True)
    updated = run("contribute", "update", "L-" + file.stem[-6:].upper(), "--applies-to", "src/*,doc/**")
    assert "applies_to doc/** names no file of shop" in updated.err
    why = ("--rationale", "why", "--project", "shop")
    proposed = run("contribute", "suggest-rule", "--title", "Ships", *why, "--content", "x", "--applies-to", "test/**")
    assert "applies_to test/** names no file of shop" in proposed.out


def test_a_list_with_commas_in_a_file_of_another_tool_is_read_as_one(run: Run, knowledge: Path, shop: Path) -> None:
    file = knowledge / "shop/lessons/a.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nkind: lesson\ntitle: Otters\napplies_to:\n  - src/**,*.md\n---\nThey swim.\n")
    assert "Otters" in run("recall", "context", "--path", str(shop / "README.md")).out

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from ai_lessons.errors import NotFound, Refused, UsageError
from ai_lessons.knowledge.entries import Kind
from library.world import SCRIPT

if TYPE_CHECKING:
    from pathlib import Path

    from library.world import World

CODE = '#!/bin/sh\n# Writes what it was told.\nprintf "%s|" "$PWD" "$@" > "$OUT"\nexit 7\n'


@pytest.fixture
def script(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A script of this user's own: it was added on this machine."""
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    (tmp_path / "go.sh").write_text(CODE)
    return world.bring(tmp_path / "go.sh", kind=Kind.SCRIPT, project="p").written[0].handle


def test_arguments_exit_code_and_folder_go_through(world: World, script: str, tmp_path: Path) -> None:
    assert world.library.recall.run(script, ["a b", "*", "--flag"]) == 7
    assert (tmp_path / "out").read_text() == f"{tmp_path}|a b|*|--flag|"
    (tmp_path / "else").mkdir()
    assert world.library.recall.run(script, [], cwd=tmp_path / "else") == 7
    assert (tmp_path / "out").read_text() == f"{tmp_path}/else|"
    with pytest.raises(NotFound, match="nowhere"):
        world.library.recall.run(script, [], cwd=tmp_path / "nowhere")


def test_a_script_that_takes_too_long_is_stopped(world: World, tmp_path: Path) -> None:
    (tmp_path / "slow.sh").write_text("#!/bin/sh\nsleep 60\n")
    made = world.bring(tmp_path / "slow.sh", kind=Kind.SCRIPT).written[0]
    assert world.library.recall.run(made.id, [], timeout=0.2) == 124


def test_what_was_pulled_does_not_run_unasked(world: World) -> None:
    world.write("p/scripts/v1/evil.sh", "#!/bin/sh\ntouch $0.ran\n")
    with pytest.raises(Refused, match=r"evil\.sh") as error:
        world.library.recall.run("p/scripts/v1/evil.sh", [])
    assert "trust-script" in error.value.hint
    assert error.value.exit_code == 8
    assert not (world.root / "p/scripts/v1/evil.sh.ran").exists()


def test_asking_decides_and_is_remembered_until_the_content_changes(world: World) -> None:
    world.write("p/scripts/v1/go.sh", "#!/bin/sh\nexit 3\n")
    asked: list[tuple[str, str]] = []

    def ask(path: str, text: str) -> bool:
        asked.append((path, text))
        return len(asked) != 1

    recall = world.fresh(ask_trust=ask).recall
    with pytest.raises(Refused):
        recall.run("p/scripts/v1/go.sh", [])
    assert recall.run("p/scripts/v1/go.sh", []) == 3
    assert recall.run("p/scripts/v1/go.sh", []) == 3
    assert asked == [(str(world.root / "p/scripts/v1/go.sh"), "#!/bin/sh\nexit 3\n")] * 2
    world.write("p/scripts/v1/go.sh", "#!/bin/sh\nexit 4\n")
    assert recall.run("p/scripts/v1/go.sh", []) == 4
    assert len(asked) == 3
    assert world.fresh().recall.run("p/scripts/v1/go.sh", []) == 4


def test_trust_by_hand_is_for_the_content_and_survives_a_move(world: World) -> None:
    file = world.write("p/scripts/v1/go.sh", "#!/bin/sh\nexit 5\n")
    assert world.library.admin.trust_script("p/scripts/v1/go.sh") == str(file)
    file.rename(world.root / "p/scripts/v1/went.sh")
    assert world.library.recall.run("p/scripts/v1/went.sh", []) == 5
    assert not list(world.root.rglob("*trust*"))


def test_another_interpreter_is_another_thing_to_trust(world: World, script: str) -> None:
    entry = world.library.recall.show(script).entry
    side = f"{entry.path}.md"
    world.write(side, world.read(side).replace("created:", f"interpreter: {sys.executable} -c exit(9)\ncreated:"))
    with pytest.raises(Refused):
        world.library.recall.run(script, [])


def test_a_named_interpreter_is_used_and_trusted_with_the_import(world: World) -> None:
    world.write("p/scripts/v1/go.txt", "import sys; sys.exit(6)\n")
    world.write(
        "p/scripts/v1/go.txt.md",
        f"---\nkind: script\ntitle: go\nversions:\n  - v1\ninterpreter: {sys.executable}\n---\n",
    )
    made = world.bring(world.root / "p/scripts/v1/go.txt", kind=Kind.SCRIPT).written[0]
    assert world.library.recall.run(made.id, []) == 6


def test_an_edit_of_a_script_is_what_runs_and_asks_again(world: World, script: str) -> None:
    entry = world.library.recall.show(script).entry
    world.write(entry.path, "#!/bin/sh\nexit 8\n")
    with pytest.raises(Refused):
        world.library.recall.run(script, [])
    world.library.admin.trust_script(script)
    assert world.library.recall.run(script, []) == 8


def test_only_scripts_that_are_there_run(world: World, tmp_path: Path) -> None:
    made = world.add("a lesson")
    with pytest.raises(UsageError, match="lesson"):
        world.library.recall.run(made.handle, [])
    with pytest.raises(UsageError, match="lesson"):
        world.library.admin.trust_script(made.handle)
    (tmp_path / "gone.sh").write_text("#!/bin/sh\n")
    kept = world.bring(tmp_path / "gone.sh", kind=Kind.SCRIPT, in_place=True).written[0]
    (tmp_path / "gone.sh").unlink()
    with pytest.raises(NotFound, match=r"gone\.sh"):
        world.library.recall.run(kept.id, [])
    world.write("p/scripts/v1/x.sh", "#!/no/such/interpreter\n")
    world.library.admin.trust_script("p/scripts/v1/x.sh")
    with pytest.raises(NotFound, match="interpreter"):
        world.library.recall.run("p/scripts/v1/x.sh", [])


def test_a_link_to_a_script_outside_is_not_followed(world: World, tmp_path: Path) -> None:
    (tmp_path / "real.sh").write_text("#!/bin/sh\n")
    world.write("p/scripts/v1/other.sh", "#!/bin/sh\n")
    (world.root / "p/scripts/v1/link.sh").symlink_to(tmp_path / "real.sh")
    assert world.titles() == ["other.sh"]
    with pytest.raises(NotFound):
        world.library.recall.run("p/scripts/v1/link.sh", [])


def test_a_side_file_alone_says_where_its_script_lies(world: World, tmp_path: Path) -> None:
    (tmp_path / "far.sh").write_text("#!/bin/sh\nexit 2\n")
    head = f"---\nid: {SCRIPT}\nkind: script\ntitle: far\npath: {tmp_path}/far.sh\n---\n"
    world.write("p/scripts/v1/far.sh.md", head)
    with pytest.raises(Refused):
        world.library.recall.run(SCRIPT, [])
    assert world.library.admin.trust_script(SCRIPT) == str(tmp_path / "far.sh")
    assert world.library.recall.run(SCRIPT, []) == 2

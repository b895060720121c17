import os
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import (
    entries,
    health,
    index_upkeep,
    repository_settings,
    search_index,
    sharing,
    validation,
)
from ai_lessons.errors import InvalidEntry, NotFound, Refused, Unreachable, UsageError
from ai_lessons.model.entries import Kind
from ai_lessons.search.database import EMBED, RefreshState
from app.world import DOC, OTHER, SCRIPT, CountingEmbedder, World, lesson, options, rule
from real_world import Git, put_file


def problems(world: World, *paths: str) -> list[str]:
    return [str(problem) for problem in validation.validate(world.library, paths).problems]


def states(world: World) -> dict[str, str]:
    return {check.name: check.state for check in health.doctor(world.library)}


def test_validate_names_file_line_and_problem(world: World) -> None:
    world.write("p/lessons/a.md", lesson(confidence="sure", links=f"[{{likes: {OTHER}}}]"))
    world.write("p/lessons/b.md", "---\ntitle: [open\n---\n")
    world.write("p/lessons/c.md", lesson())
    world.write("p/rules/r.md", rule().replace("rationale: zanzibar knows\n", "approved: true\n"))
    world.write("p/docs/binary.md", b"\x00\xff")
    world.write(".ai-lessons/config.yaml", "format: 1\ngit:\n  autocomit: false\n")
    found = problems(world)
    for pattern in (
        r"^p/lessons/a\.md:5: confidence 'sure'",
        r"^p/lessons/a\.md:6: unknown relation 'likes'",
        r"^p/lessons/b\.md:[23]: ",
        r"^p/lessons/c\.md:\d+: has the id of p/lessons/a\.md",
        r"^p/rules/r\.md:\d+: a rule needs a rationale",
        r"^p/rules/r\.md:5: a rule has no approved",
        r"^p/docs/binary\.md:1: ",
        r"^\.ai-lessons/config\.yaml:3: unknown setting 'git\.autocomit'.*git\.autocommit",
    ):
        assert any(re.match(pattern, line) for line in found), (pattern, found)
    assert found == sorted(found, key=lambda line: (line.split(":")[0], int(line.split(":")[1])))


def test_validate_of_one_place_looks_only_there(world: World) -> None:
    world.write("p/lessons/a.md", lesson(confidence="sure"))
    world.write("q/lessons/b.md", lesson(OTHER, confidence="sure"))
    assert len(problems(world, "p")) == 1
    assert len(problems(world, str(world.root / "q/lessons/b.md"))) == 1
    assert len(problems(world, str(world.root))) == 2
    assert validation.validate(world.library, ["p"]).files == 1
    with pytest.raises(NotFound, match="nowhere"):
        problems(world, "nowhere")
    with pytest.raises(NotFound, match="passwd"):
        problems(world, "/etc/passwd")


def test_fix_moves_what_lies_in_the_wrong_folder_in_one_commit(world: World) -> None:
    world.write(
        "p/docs/v1/a.md", f"---\nid: {DOC}\nkind: doc\ntitle: A\nversions:\n  - v2\n---\ntext\n"
    )
    world.write("p/scripts/v1/go.sh", "#!/bin/sh\n")
    os.chmod(world.root / "p/scripts/v1/go.sh", 0o700)
    world.committed("p/scripts/v1/go.sh.md", f"---\nid: {SCRIPT}\nkind: script\ntitle: go\n---\n")
    assert [problem.fixable for problem in validation.validate(world.library).problems] == [
        True,
        True,
    ]
    report = validation.validate(world.library, fix=True)
    assert report.problems == ()
    moved = {
        "p/docs/v1/a.md -> p/docs/v2/a.md",
        "p/scripts/v1/go.sh -> p/scripts/unversioned/go.sh",
    }
    assert set(report.fixed) == moved
    assert os.access(world.root / "p/scripts/unversioned/go.sh", os.X_OK)
    assert len(world.commits()) == 3
    assert world.status() == ""
    assert entries.show(world.library, DOC).entry.path == "p/docs/v2/a.md"


def test_fix_never_overwrites_and_never_moves_a_rule(world: World) -> None:
    world.write(
        "p/docs/v1/a.md", f"---\nid: {DOC}\nkind: doc\ntitle: A\nversions:\n  - v2\n---\nmine\n"
    )
    world.write("p/docs/v2/a.md", "# there\n")
    world.write("p/docs/v1/rule.md", rule())
    report = validation.validate(world.library, fix=True)
    assert report.fixed == ()
    left = [problem.path for problem in report.problems if "belongs" in problem.message]
    assert left == ["p/docs/v1/a.md", "p/docs/v1/rule.md"]
    assert world.read("p/docs/v2/a.md") == "# there\n"
    assert (world.root / "p/docs/v1/rule.md").exists()
    (world.root / "p/docs/v2/a.md").unlink()
    world.write(
        "p/docs/v3/a.md", f"---\nid: {OTHER}\nkind: doc\ntitle: A\nversions:\n  - v2\n---\nits\n"
    )
    assert len(validation.validate(world.library, fix=True).fixed) == 1, "both belong in one place"
    assert {DOC, OTHER} <= {summary.id for summary in entries.list_entries(world.library).entries}


def test_the_doctor_looks_at_everything_and_writes_nothing(world: World, git: Git) -> None:
    checks = {check.name: check for check in health.doctor(world.library)}
    assert list(checks) == [
        "repository", "git", "identity", "pending", "files", "entries", "secrets", "approval", "hooks", "catalog",
        "index", "model", "config", "disk",
    ]  # fmt: skip
    assert checks["repository"].state == checks["identity"].state == checks["entries"].state == "ok"
    assert (checks["approval"].state, checks["approval"].detail) == (
        "ok",
        "0 rules in force by merge",
    )
    assert checks["model"].remedy == "ai-lessons admin model pull"
    assert "hooks install" in checks["hooks"].remedy
    assert all(check.remedy for check in checks.values() if check.state != "ok")
    world.write("notes/bad.md", b"\xff")
    world.write(".ai-lessons/config.yaml", "nonsense: [")
    git(world.root, "switch", "-q", "--detach")
    found = states(world)
    assert (found["entries"], found["config"], found["repository"]) == ("error", "error", "warning")


def test_the_doctor_names_a_note_of_a_write_that_cannot_be_read(world: World) -> None:
    put_file(
        world.library.primary.store.state_dir / "journal" / "00000000000000000001-abcd.json",
        "{torn",
    )
    world.add("one", "text")
    (check,) = [check for check in health.doctor(world.library) if check.name == "pending"]
    assert check.state == "warning"
    assert "00000000000000000001-abcd" in check.detail
    assert "journal/*.damaged" in check.remedy


def test_reindex_completes_and_rebuilds(world: World, embedder: CountingEmbedder) -> None:
    made = world.add("one", "text")
    world.write("p/docs/a.md", "# A\n")
    done = index_upkeep.reindex(world.library)
    assert (done.entries, done.embedded, done.missing, done.rebuilt) == (2, 2, 0, "")
    assert index_upkeep.reindex(world.library).entries == 0
    assert index_upkeep.reindex(world.library, [made.handle]).entries == 1
    assert index_upkeep.reindex(world.library, kinds=[Kind.DOC, Kind.SCRIPT]).entries == 1
    full = index_upkeep.reindex(world.library, full=True)
    assert full.entries == 2
    assert full.rebuilt
    assert len(embedder.asked) == 2
    with pytest.raises(NotFound):
        index_upkeep.reindex(world.library, ["nonsense"])


def test_reindex_waits_for_another_process_that_embeds_and_goes_on_where_it_ends(
    world: World, embedder: CountingEmbedder, closing: ExitStack
) -> None:
    for number in range(9):  # so many are not embedded before their rows are written
        world.write(f"notes/{number}.md", f"# Grafting {number}\n\nHow to graft.\n")
    seen: list[tuple[str, int, int]] = []

    def ended(*step: Any) -> None:
        seen.append(step)
        closing.close()

    library = world.fresh(progress=lambda *step: ended(*step) if step[0] == "Embedding" else None)
    assert closing.enter_context(RefreshState(library.primary.store.state_dir).locked(EMBED, 0.0))
    done = index_upkeep.reindex(library)
    assert (done.missing, done.embedded) == (0, 9)
    assert ("Embedding", 0, 9) in seen


def test_settings_are_read_and_written_one_line_at_a_time(world: World, git: Git) -> None:
    library = world.library
    assert repository_settings.config_get(library)["git.autocommit"] == "auto"
    assert repository_settings.config_get(library, "search.chunking.target") == {
        "search.chunking.target": 256
    }
    text = "# ours\nformat: 1\nsearch:\n  chunking:\n    target: 200  # shorter\n"
    world.committed(".ai-lessons/config.yaml", text)
    commit = repository_settings.config_set(library, "search.chunking.target", "220")
    assert commit == git(world.root, "rev-parse", "HEAD")
    assert world.read(".ai-lessons/config.yaml") == text.replace("200", "220")
    assert repository_settings.config_get(library, "search.chunking.target") == {
        "search.chunking.target": 220
    }
    assert repository_settings.config_set(library, "search.chunking.target", "220") is None
    repository_settings.config_set(library, "tag_aliases.k8s", "kubernetes")
    assert repository_settings.config_get(library, "tag_aliases") == {
        "tag_aliases": {"k8s": "kubernetes"}
    }


def test_wrong_settings_are_refused(world: World) -> None:
    library = world.library
    with pytest.raises(NotFound, match="autocommit") as error:
        repository_settings.config_get(library, "autocommit")
    assert "git.autocommit" in error.value.hint
    for key, value in (
        ("git.autocomit", "true"),
        ("search.chunking.target", "many"),
        ("approval.require", "luck"),
    ):
        with pytest.raises(UsageError, match=re.escape(key)):
            repository_settings.config_set(library, key, value)
    with pytest.raises(NotFound, match="no embedding model") as error:
        repository_settings.config_set(library, "search.model", "BAAI/bge-small-en-v1.6")
    assert "BAAI/bge-small-en-v1.5" in error.value.suggestions
    assert not (world.root / ".ai-lessons").exists()
    world.write(".ai-lessons/config.yaml", "format: 1\nsearch:\n  model: nobody/nothing\n")
    (problem,) = problems(world)
    assert problem.startswith(".ai-lessons/config.yaml:3: no embedding model 'nobody/nothing'")
    world.write(".ai-lessons/config.yaml", b"format: \xff\n")
    with pytest.raises(InvalidEntry, match=r"config\.yaml"):
        repository_settings.config_set(library, "events", "false")


def test_a_pulled_autocommit_commits_nothing_in_a_code_project_and_git_config_does(
    git_repo: Path, git: Git, tmp_path: Path
) -> None:
    put_file(
        git_repo / ".ai/reference/.ai-lessons/config.yaml", "format: 1\ngit:\n  autocommit: true\n"
    )
    world = World(git_repo / ".ai" / "reference", git, options(tmp_path / "person"))
    assert world.add("pulled").commit is None
    assert git(git_repo, "log", "--format=%s") == "first"
    pending = next(one for one in health.doctor(world.library) if one.name == "pending")
    assert "counts for nothing" in pending.detail
    with pytest.raises(Refused, match="counts for nothing") as caught:
        repository_settings.config_set(world.library, "git.autocommit", "true")
    assert caught.value.hint == f"git -C {world.root} config ai-lessons.autocommit true"
    git(world.root, "config", "ai-lessons.autocommit", "true")
    assert world.add("my wish").commit is not None
    assert git(git_repo, "log", "-1", "--format=%s") == "Add lesson: my wish"
    world.close()


def test_without_autocommit_files_are_written_and_not_committed(world: World) -> None:
    world.committed(".ai-lessons/config.yaml", "git:\n  autocommit: false\n")
    made = world.add("mine to commit")
    assert made.commit is None
    assert made.notes == ()
    assert world.commits() == ["by hand", "first"]
    assert sharing.save(world.library) == ((), ())


def test_adopt_writes_down_what_plain_files_leave_unsaid(world: World) -> None:
    world.write("notes/a.md", "# A\n\ntext\n")
    world.write("notes/b.md", "---\nauthor: me # kept\n---\n# B\n")
    world.write("p/scripts/v1/go.sh", "#!/bin/sh\n# Goes.\n")
    world.committed("p/rules/r.md", "# a rule, not adopted\n")
    ids = {summary.path: summary.id for summary in entries.list_entries(world.library).entries}
    done = validation.adopt(world.library, [str(world.root)])
    assert {one.path: one.id for one in done} == ids
    assert world.read("notes/b.md") == (
        f"---\nid: {ids['notes/b.md']}\nkind: doc\ntitle: B\nauthor: me # kept\n---\n# B\n"
    )
    assert world.read("p/scripts/v1/go.sh.md").endswith("---\nGoes.\n")
    assert world.read("p/rules/r.md") == "# a rule, not adopted\n"
    assert world.commits()[0] == "Adopt 3 files"
    assert problems(world, "notes", "p/scripts") == []
    with pytest.raises(NotFound, match="adopt"):
        validation.adopt(world.library, ["notes"])
    with pytest.raises(NotFound, match="nowhere"):
        validation.adopt(world.library, ["nowhere"])


def test_the_model_is_looked_for_and_its_absence_explained(world: World) -> None:
    state = search_index.model_status(world.library.primary)
    assert (state.present, state.path) == (False, None)
    with pytest.raises(Unreachable, match="offline") as error:
        search_index.model_pull(world.library.primary)
    assert "model pull" in error.value.hint
    assert error.value.exit_code == 7

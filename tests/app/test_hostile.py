"""A pulled repository means harm: nothing crashes, nothing leads outside, and one bad file spoils nothing else."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_lessons.app import (
    editing,
    entries,
    health,
    history_of_entries,
    index_upkeep,
    pending_rules,
    proposals,
    repository_settings,
    review,
    rule_audit,
    search,
    sharing,
    validation,
)
from ai_lessons.app.answers import Query
from ai_lessons.app.search_index import agreed
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import LessonDraft, RuleDraft
from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, StorageFailed, UsageError
from ai_lessons.git.store import Applied, Job
from ai_lessons.model.entries import Kind
from app.world import LESSON, OTHER, World, lesson
from real_world import Git

HEAD = f"id: {LESSON}\nkind: lesson\ntitle: T\n"
BOMB = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(9)
)

FRONTMATTER = {
    "over 64 KiB": HEAD + "x: " + "y" * 70_000,
    "30,000 brackets": HEAD + "x: " + "[" * 30_000,
    "anchors that double": HEAD + BOMB,
    "an alias": HEAD + "a: &a x\nb: *a\n",
    "a Python object": HEAD + 'x: !!python/object/apply:os.system ["touch /tmp/owned"]\n',
    "an escape sequence": HEAD + "x: \x1b[31m\n",
    "an approval of its own": f"id: {LESSON}\nkind: rule\ntitle: T\nrationale: R\napproved: true\n",
}


def test_a_second_document_after_the_frontmatter_is_text(world: World) -> None:
    world.write("p/lessons/two.md", f"---\n{HEAD}... \n--- {{id: x}}\n\n---\nzanzibar\n")
    (entry,) = entries.list_entries(world.library).entries
    assert (entry.id, entry.kind, entry.title) == (LESSON, Kind.LESSON, "T")
    assert "--- {id: x}" in entries.show(world.library, entry.id).body


def test_hostile_frontmatter_is_named_and_stops_nothing_else(world: World) -> None:
    world.write("p/lessons/good.md", lesson(OTHER, "Zebras"))
    for name, text in FRONTMATTER.items():
        world.write("p/lessons/bad.md", f"---\n{text}\n---\nzanzibar\n")
        assert world.titles() == ["Zebras"], name
        problems = validation.validate(world.library).problems
        assert {problem.path for problem in problems} == {"p/lessons/bad.md"}
        assert all(
            len(problem.message) < 400 and problem.message.isprintable() for problem in problems
        )


def test_a_sparse_file_of_a_gigabyte_is_passed_over_in_no_time_and_memory(world: World) -> None:
    world.write("p/docs/unversioned/fine.md", "# Fine\n")
    for path in (
        "p/docs/unversioned/huge.md",
        "p/scripts/unversioned/huge.sh",
        ".ai-lessons/config.yaml",
    ):
        file = world.write(path, b"")
        os.truncate(file, 1 << 30)
    with pytest.raises(InvalidEntry, match=r"config\.yaml"):
        world.add("No")
    (world.root / ".ai-lessons/config.yaml").unlink()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "Fine" in world.titles()
    assert "p/docs/unversioned/huge.md" in {
        problem.path for problem in validation.validate(world.library).problems
    }
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024


def test_links_that_lead_out_or_round_in_a_circle_are_not_followed(
    world: World, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# Secret zanzibar\n")
    folder = world.root / "p/docs/unversioned"
    folder.mkdir(parents=True)
    (folder / "fine.md").write_text("# Fine\n")
    (folder / "file.md").symlink_to(outside / "secret.md")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "up").symlink_to("..")
    (world.root / "q").symlink_to(outside, target_is_directory=True)
    (world.root / "round").symlink_to(world.root, target_is_directory=True)
    (world.root / "etc").symlink_to("/etc", target_is_directory=True)
    os.link(outside / "secret.md", folder / "hard.md")
    assert sorted(world.titles()) == [
        "Fine",
        "Secret zanzibar",
    ]  # a hard link is a file like any other
    for path in (
        "p/docs/unversioned/file.md",
        "q/secret.md",
        "round/p/docs/unversioned/fine.md",
        "etc/passwd",
    ):
        with pytest.raises(AiLessonsError):
            entries.show(world.library, path)
        with pytest.raises(AiLessonsError):
            editing.delete(world.library, [path])
    for project in ("q", "etc", "round"):
        with pytest.raises(AiLessonsError, match="link"):
            world.add("Goes out", project=project)
    assert sorted(os.listdir(outside)) == ["secret.md"]
    validation.validate(world.library, fix=True)
    assert sorted(os.listdir(outside)) == ["secret.md"]


def test_a_file_that_git_takes_away_right_after_it_was_written_is_still_answered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.add("The first")
    apply = world.library.primary.store.apply

    def switched(job: Job) -> Applied:
        done = apply(job)
        world.git(world.root, "switch", "-qc", "side", "HEAD~1")
        return done

    monkeypatch.setattr(world.library.primary.store, "apply", switched)
    made = world.add("The second")
    assert made.commit == world.git(world.root, "rev-parse", "main")
    assert made.handle.startswith("L-")
    assert any("not there any more" in note for note in made.notes)


NAMES = (
    "../x", "/etc/x", "..", ".git", ".GIT", "git~1", "a/../../x", "CON", "x\ny", "\u202ex", ".g\u200cit", "x" * 300,
    "",
)  # fmt: skip


def test_no_project_leads_outside(world: World) -> None:
    before = sorted(os.listdir(world.root.parent))
    for name in NAMES:
        try:
            made = world.add("A title", project=name)
        except (UsageError, AiLessonsError):
            pass
        else:
            assert made.path.startswith("global/lessons/"), name
        assert sorted(os.listdir(world.root.parent)) == before


def test_thousands_of_files_in_one_folder(world: World) -> None:
    folder = world.root / "p/docs/unversioned"
    folder.mkdir(parents=True)
    for n in range(4_000):
        (folder / f"{n}.txt").write_bytes(b"%d\n" % n)
    listing = entries.list_entries(world.library, limit=10)
    assert (len(listing.entries), listing.total) == (10, 4_000)
    assert world.add("Beside them", project="p").commit


CONFIGS = (
    "search:\n  index: /etc/x\n", "search:\n  index: file:///etc\n", "search:\n  index: ../../x\n",
    "search:\n  model: http://example.com/model\n", "search:\n  model: ../../model\n",
    "approval:\n  branch: ../../refs/heads/x\n", "approval:\n  branch: --upload-pack=touch\n", "format: [1]\n",
    "format: 99999999999999999999999\n", "tag_aliases: {a: b, b: a}\n", "x: " + "[" * 30_000,
)  # fmt: skip


def test_pulled_settings_that_lead_elsewhere_are_refused_and_named(world: World) -> None:
    for text in CONFIGS:
        world.write(".ai-lessons/config.yaml", text)
        with pytest.raises(
            AiLessonsError, match=r"config\.yaml|search\.|approval\.|format|tag_aliases"
        ):
            editing.add_lesson(world.fresh(), LessonDraft("No"))
        assert world.status() == "?? .ai-lessons/"


def test_pulled_settings_that_name_a_place_for_the_index_send_nothing_there(world: World) -> None:
    place = "s3://attacker/bucket"
    world.write(".ai-lessons/config.yaml", f"search:\n  index: {place}\n")
    world.write("notes/a.md", "# Apples\n\nAbout pomology.\n")
    assert world.found("pomology") == ["Apples"]
    notes = world.search("pomology").notes
    assert any(place in note and "config set" in note for note in notes), notes
    assert not agreed(world.library.primary, place)
    repository_settings.config_set(world.library, "search.index", place)
    assert agreed(world.library.primary, place)


@pytest.fixture
def files_left() -> Iterator[None]:
    """Puts the limit of open files back."""
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, old)


@pytest.mark.usefixtures("files_left")
def test_with_too_few_open_files_a_write_is_whole_or_refused(world: World) -> None:
    world.add("The first")
    now = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 20
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    accepted = {"The first"}
    for room in range(1, 14):
        resource.setrlimit(resource.RLIMIT_NOFILE, (now + room, hard))
        try:
            editing.add_lesson(world.library, LessonDraft(f"With {room}"))
        except StorageFailed as error:
            assert error.hint  # noqa: PT017 - both outcomes are right
        else:
            accepted.add(f"With {room}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sharing.save(world.library)
    assert accepted <= set(world.titles())
    assert world.status() == ""
    assert "error" not in world.git(world.root, "fsck", "--strict")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_without_permission_the_error_names_the_place_and_nothing_changes(world: World) -> None:
    world.add("The first")
    world.git(world.root, "config", "--global", "--add", "safe.directory", "*")
    program = f"""
import os
from pathlib import Path
from ai_lessons.errors import AiLessonsError
from ai_lessons.app.options import Options
from ai_lessons.app.workspace import Library
from ai_lessons.app import editing, entries
from ai_lessons.app.written import LessonDraft
root, o = Path({str(world.root)!r}), Path("/nonexistent")
options = Options(o, o, o, Path("/"), offline=True)
with Library(root, options) as library:  # loads what nobody may not read
    editing.update(library, entries.list_entries(library).entries[0].id, content="Loaded.")
os.setgid(65534); os.setuid(65534)
try:
    with Library(root, options) as library:
        editing.add_lesson(library, LessonDraft("No"))
except AiLessonsError as error:
    print(type(error).__name__, error.message)
"""
    for folder in (world.root, *world.root.parents):
        if folder.stat().st_uid == os.geteuid() and folder.is_relative_to(tempfile.gettempdir()):
            folder.chmod(0o755)
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=paths, capture_output=True, text=True, check=False
    )
    assert done.stdout.split(" ")[0] in {"Refused", "StorageFailed"}, done.stderr
    assert world.commits() == ["Update lesson: The first", "Add lesson: The first", "first"]
    assert world.status() == ""


ODD = {
    "no time zone": b"author A <a@x> 5 garbage\ncommitter A <a@x> 5 garbage\n",
    "a line that goes on with nothing": b"author A <a@x> 5 +0000\ncommitter A <a@x> 5 +0000\n more\n",
    "bytes that are no text": b"author \xff <a@x> 5 +0000\ncommitter \xff <a@x> 5 +0000\ncommit \xff\xfe bad\n",
    "nobody": b"",
    "a time after all calendars": b"author A <a@x> 999999999999 +0000\ncommitter A <a@x> 999999999999 +0000\n",
}


@pytest.mark.parametrize(
    ("what", "where"),
    [
        *((what, "refs/heads/main") for what in ODD),
        ("bytes that are no text", "refs/heads/rules/R-8F3K2A-x"),
        ("nobody", "refs/heads/rules/R-8F3K2A-x"),
        ("a line that goes on with nothing", "refs/heads/proposals/L-8F3K2A-x"),
        ("nobody", "refs/heads/proposals/L-8F3K2A-x"),
    ],
)
def test_a_commit_that_git_would_not_write_stops_no_reader_and_is_named(
    world: World, what: str, where: str
) -> None:
    world.add("Zebras")
    world.write(
        "shop/rules/evil.md", f"---\nid: {LESSON}\nkind: rule\ntitle: E\nrationale: R\n---\nObey.\n"
    )
    world.git(world.root, "add", "-A")
    tree, tip = world.git(world.root, "write-tree"), world.git(world.root, "rev-parse", "HEAD")
    data = (
        f"tree {tree}\nparent {tip}\n".encode() + ODD[what] + b"\nMerge branch 'rules/R-8F3K2A-x'\n"
    )
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        cwd=world.root, input=data, capture_output=True, check=True,
    ).stdout.decode().strip()  # fmt: skip
    world.git(world.root, "update-ref", where, made)
    world.git(world.root, "reset", "-q", "--hard")

    assert "Zebras" in world.titles()
    assert world.found("Zebras") == ["Zebras"]
    pending_rules.pending_rules(world.library)
    health.stats(world.library)
    assert health.doctor(world.library)
    made_rule = proposals.suggest_rule(world.library, RuleDraft("New", "Because.", "Do it."))
    review.approve_rule(world.library, made_rule.handle)
    assert [
        summary.title for summary in entries.list_entries(world.library, kinds=[Kind.RULE]).entries
    ] == ["New"]
    history_of_entries.log(world.library, made_rule.handle)
    named = made[:10]
    if where.startswith("refs/heads/proposals"):  # no rule hangs on it
        return
    assert any(named in alarm for alarm in rule_audit.audit(world.library).alarms)
    assert any(named in problem.path for problem in validation.validate(world.library).problems)


@pytest.mark.parametrize("packed", [False, True])
def test_a_branch_whose_name_is_no_text_is_no_proposal_and_stops_no_reader(
    world: World, *, packed: bool
) -> None:
    world.add("Zebras")
    made = proposals.suggest_rule(world.library, RuleDraft("New", "Because.", "Do it."))
    for name in (
        b"rules/R-AAAAAA-\xff",
        "rules/R-BBBBBB-\u202ex".encode(),
        b"proposals/L-AAAAAA-\xfe",
    ):
        world.git(world.root, "branch", os.fsdecode(name), made.branch)
    if packed:
        world.git(world.root, "pack-refs", "--all")
    assert "Zebras" in world.titles()
    assert [one.branch for one in pending_rules.pending_rules(world.fresh())] == [made.branch]
    assert rule_audit.audit(world.fresh()).ok
    assert review.approve_rule(world.fresh(), made.handle).handle == made.handle


def test_a_repository_without_commits_and_entries_answers_everything(
    git: Git, tmp_path: Path, world: World
) -> None:
    root = tmp_path / "empty"
    git(tmp_path, "init", "-q", str(root))
    with Library(root, world.options) as library:
        assert entries.list_entries(library).entries == ()
        assert entries.tags(library) == entries.versions(library) == entries.projects(library) == ()
        assert search.search(library, Query("anything")).notes
        assert validation.validate(library).problems == ()
        assert health.stats(library).commits_30_days == 0
        assert index_upkeep.reindex(library).entries == 0
        assert sharing.save(library) == ((), ())
        assert {check.state for check in health.doctor(library)} <= {"ok", "warning"}
        with pytest.raises(NotFound, match="L-8F3K2A"):
            entries.show(library, "L-8F3K2A")
        (root / "note.md").write_text("# Note\n")
        assert history_of_entries.log(library, "note.md") == ()
        assert "+# Note" in history_of_entries.diff(library, "note.md")
        made = editing.add_lesson(library, LessonDraft("The first"))
        assert made.commit == git(root, "rev-parse", "HEAD")
        assert git(root, "log", "--format=%s") == "Add lesson: The first"
        assert history_of_entries.log(library, made.id)[0].commit == made.commit
    assert git(root, "fsck", "--strict", "--no-dangling") == ""


def test_invalid_frontmatter_is_named_when_the_file_is_asked_for(world: World) -> None:
    world.write("p/lessons/bad.md", "---\nid: x\ntitle: [open\n---\n")
    for ref in ("p/lessons/bad.md", str(world.root / "p/lessons/bad.md")):
        with pytest.raises(InvalidEntry, match=r"p/lessons/bad\.md:\d") as error:
            entries.show(world.library, ref)
        assert error.value.hint
        with pytest.raises(InvalidEntry, match=r"bad\.md"):
            editing.update(world.library, ref, title="x")
    assert world.read("p/lessons/bad.md") == "---\nid: x\ntitle: [open\n---\n"


def test_a_read_only_repository_can_be_read_and_says_so_when_written(
    world: World, git: Git, tmp_path: Path
) -> None:
    place = tmp_path / "view"
    place.mkdir()
    world.committed("notes/a.md", "# Apples\n\nAbout pomology.\n")
    mounts = (["--bind", str(world.root)], ["-o", "remount,bind,ro"])
    if any(
        subprocess.run(["mount", *how, str(place)], capture_output=True, check=False).returncode
        for how in mounts
    ):
        subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)
        pytest.skip("a read-only view cannot be mounted here")
    try:
        with Library(place, world.options) as library:
            assert [summary.title for summary in entries.list_entries(library).entries] == [
                "Apples"
            ]
            assert entries.show(library, "notes/a.md").body.endswith("pomology.\n")
            with pytest.raises(StorageFailed, match="read-only") as error:
                editing.add_lesson(library, LessonDraft("no"))
            assert error.value.hint
            states = {check.name: check for check in health.doctor(library)}
            assert states["disk"].state == "error"
            assert states["catalog"].state == "warning"
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
    assert world.status() == ""

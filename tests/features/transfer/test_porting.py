"""Moving knowledge out and in: the whole way, through real repositories."""

import json
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_lessons.app import entries, proposals, review, validation
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import RuleDraft
from ai_lessons.errors import InvalidEntry, NotFound, UnsupportedRepository, UsageError
from ai_lessons.features.learning import jobs as learning_jobs
from ai_lessons.features.transfer import everything, jobs
from ai_lessons.model import frontmatter, markdown
from ai_lessons.model.entries import Kind
from app.world import LESSON, OTHER, RULE, SCRIPT, World, lesson, options, rule
from real_world import put_file, put_files

IDS = [f"01JD3Z8QK5W7M2X9V4T6{n:06d}" for n in range(6)]
PUBLIC = ("learnings", "params", "relations", "files", "events")


def repository(folder: Path) -> Path:
    folder.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def exported(library: Library) -> dict[str, Any]:
    document = everything.export_file(library, None).document
    assert document is not None
    return document


def parts_of(document: Mapping[str, Any], *but: str) -> dict[str, Any]:
    return {key: document[key] for key in PUBLIC if key not in but}


def without_files(document: Mapping[str, Any]) -> dict[str, Any]:
    """All but the files of lessons, in which an import keeps apart what their authors said of their standing."""
    learnings = [
        {key: value for key, value in raw.items() if key != "file"} for raw in document["learnings"]
    ]
    return {**parts_of(document), "learnings": learnings}


words = st.text(
    st.characters(categories=("L", "N", "P", "Zs"), exclude_characters="\u2028"),
    min_size=1,
    max_size=20,
)
titles = words.map(str.strip).filter(lambda text: any(c.isalnum() for c in text))
bodies = st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.just("\n"), max_size=40)


@st.composite
def a_lesson(draw: st.DrawFn, number: int) -> tuple[str, bytes]:
    title = draw(titles)
    fields = frontmatter.lesson_fields(
        IDS[number], "2026-11-21T20:14:00Z", title=title, tags=draw(st.lists(titles, max_size=2)),
        confidence=draw(st.sampled_from(["very-low", "medium", "high"])), origin=draw(st.sampled_from(["ai", "user"])),
        category=draw(st.sampled_from([None, "tool_usage", "solution"])),
    )  # fmt: skip
    fields["status"] = draw(st.sampled_from(["active", "wrong", "promoted"]))
    targets = draw(
        st.lists(
            st.sampled_from([one for one in IDS if one != IDS[number]]), max_size=2, unique=True
        )
    )
    if targets:
        between = {IDS[4]: ["has_doc", "related_to"], IDS[5]: ["has_script", "derived_from"]}
        relations = {
            one: between.get(one, ["supersedes", "related_to", "derived_from"]) for one in targets
        }
        weights = st.sampled_from([0.5, 1.5])
        fields["links"] = [
            {draw(st.sampled_from(relations[one])): one, "weight": draw(weights)} for one in targets
        ]
    if draw(st.booleans()):
        fields["pattern"] = {"when": draw(titles), "do": draw(titles), "because": draw(titles)}
    path = f"{draw(st.sampled_from(['global', 'jira']))}/lessons/2026-11/{number}.md"
    text = markdown.render(fields, draw(bodies)).replace(
        "\n---\n", "\nowner: ana # a comment\n---\n", 1
    )
    return path, text.encode()


@st.composite
def repositories(draw: st.DrawFn) -> dict[str, bytes]:
    files = dict(draw(a_lesson(number)) for number in range(draw(st.integers(0, 3))))
    if draw(st.booleans()):
        doc = (
            lesson(IDS[4], "API")
            .replace("lesson", "doc")
            .replace("created", "versions: [v3]\ncreated")
        )
        files["jira/docs/v3/api.md"] = doc.encode()
    if draw(st.booleans()):
        files["jira/scripts/unversioned/run.sh"] = draw(
            st.sampled_from([b"#!/bin/sh\necho\n", b"\x7fELF\0\xff"])
        )
        side = frontmatter.script_fields(IDS[5], "2026-11-21T20:14:00Z", title="run.sh", tags=["x"])
        files["jira/scripts/unversioned/run.sh.md"] = markdown.render(side, draw(bodies)).encode()
    if draw(st.booleans()):
        files["jira/notes.md"] = draw(bodies).encode()
    return files


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    repositories(), st.lists(st.sampled_from(["helpful", "ignored", "contradicted"]), max_size=3)
)
def test_what_goes_out_and_comes_in_goes_out_the_same_again(
    files: dict[str, bytes], said: list[str]
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        here, there = repository(folder / "a"), repository(folder / "b")
        put_files(here, files)
        with Library(here, options(folder / "a")) as library:
            for summary, outcome in zip(
                entries.list_entries(library, status=None).entries, said, strict=False
            ):
                learning_jobs.feedback(library, summary.id, outcome)
            first = exported(library)
        assert len(first["learnings"]) == sum("/lessons/" in path for path in files)
        file = folder / "k.json"
        file.write_text(json.dumps(first))
        with Library(there, options(folder / "b")) as library:
            done = jobs.import_files(library, [file], "groove")
            assert (done.skipped, done.unchanged) == ((), 0)
            assert without_files(exported(library)) == without_files(first), (
                "every number is the one that it was"
            )
            lessons = entries.list_entries(library, kinds=[Kind.LESSON], status=None).entries
            usages = library.primary.learned.several(lessons)
            assert all(usage.confidence <= 0.5 for usage in usages.values())
            assert not any(summary.origin.firm for summary in lessons)
            again = jobs.import_files(library, [file], "groove")
            assert (again.written, again.events, again.commit) == ((), 0, None)
        for path, data in files.items():
            came = (there / path).read_bytes()
            if "/lessons/" not in path:
                assert came == data
                continue
            kept = markdown.parse(came.decode())
            changed = {"from", "confidence", "imported"}
            assert kept.body == markdown.parse(data.decode()).body
            assert {x for x in data.decode().split("\n") if x.partition(":")[0] not in changed} <= {
                *came.decode().split("\n")
            }
            assert (
                kept.fields["from"],
                kept.fields["confidence"] in {"very-low", "low", "medium"},
            ) == ("ai", True)


@pytest.fixture
def other(tmp_path: Path, closing: ExitStack) -> Library:
    """Another repository, on another machine."""
    return closing.enter_context(
        Library(repository(tmp_path / "other"), options(tmp_path / "there"))
    )


def approved(world: World) -> str:
    made = proposals.suggest_rule(world.library, draft())
    review.approve_rule(world.library, made.handle)
    return made.id


def draft(title: str = "Ask before deploying") -> RuleDraft:
    return RuleDraft(title, "it broke twice", "Ask Ana.\n")


def test_a_rule_goes_out_as_it_is_in_force_and_comes_in_as_a_proposal(
    world: World, other: Library, tmp_path: Path
) -> None:
    rule_id = approved(world)
    path = entries.show(world.library, rule_id).entry.path
    world.write(path, world.read(path) + "Edited, and approved by nobody.\n")
    everything.export_file(world.library, tmp_path / "k.json")
    first = exported(world.library)
    assert [one["kind"] for one in first["files"]] == ["rule"]
    assert "approved by nobody" not in first["files"][0]["text"]
    done = jobs.import_files(other, [tmp_path / "k.json"], "groove")
    assert ([one.id for one in done.queued], done.written, done.commit) == ([rule_id], (), None)
    assert exported(other)["files"] == []
    again = jobs.import_files(other, [tmp_path / "k.json"], "groove")
    assert (again.queued, again.unchanged) == ((), 1)
    turned_down = review.reject_rule(other, done.queued[0].handle, reason="not here")
    assert jobs.import_files(other, [tmp_path / "k.json"], "groove").queued == ()
    review.approve_rule(other, review.take_back(other, turned_down.commit).branch)
    assert parts_of(exported(other)) == parts_of(first)
    assert jobs.import_files(other, [tmp_path / "k.json"], "groove").unchanged == 1


def test_a_rule_never_reaches_the_working_tree_by_pretending_to_be_a_lesson(
    other: Library, tmp_path: Path
) -> None:
    text = rule().replace("links:\n  - related_to: " + LESSON + "\n", "")
    file = {"path": "global/lessons/2026-11/x.md", "text": text}
    said = {"version": 1, "learnings": [{"id": RULE, "file": file}]}
    (tmp_path / "k.json").write_text(json.dumps(said))
    done = jobs.import_files(other, [tmp_path / "k.json"], "groove")
    assert done.written == ()
    assert len(done.queued) + len(done.skipped) == 1


def test_no_path_of_an_export_leads_anywhere_but_to_an_entry(
    other: Library, tmp_path: Path
) -> None:
    astray = (
        "../x.md",
        "/etc/x.md",
        ".ai-lessons/config.yaml",
        ".git/config",
        "a/../b.md",
        "README.md",
        "con/docs/x.md",
    )
    files = [{"path": path, "text": "# x\n"} for path in (*astray, "a/b.md")]
    (tmp_path / "k.json").write_text(json.dumps({"version": 1, "learnings": [], "files": files}))
    done = jobs.import_files(other, [tmp_path / "k.json"], "groove")
    assert [one.path for one in done.written] == ["a/b.md"]
    assert len(done.skipped) == len(astray)


def test_an_entry_whose_place_is_taken_goes_beside_it_and_a_script_kept_elsewhere_stays_there(
    world: World, other: Library, tmp_path: Path
) -> None:
    world.write("jira/docs/unversioned/api.md", lesson(OTHER, "API").replace("lesson", "doc"))
    kept = "global/scripts/unversioned/run.sh"
    side = f"---\nid: {SCRIPT}\nkind: script\ntitle: run.sh\npath: {tmp_path}/run.sh\n---\n"
    world.committed(f"{kept}.md", side)
    everything.export_file(world.library, tmp_path / "k.json")
    put_files(tmp_path / "other", {"jira/docs/unversioned/api.md": b"# Another one\n"})
    done = jobs.import_files(other, [tmp_path / "k.json"], "groove")
    assert {one.path for one in done.written} == {"jira/docs/unversioned/api-qqq111.md", kept}
    files = [
        [file for file in exported(one)["files"] if file["kind"] == "script"]
        for one in (world.library, other)
    ]
    assert files[0] == files[1] != []
    world.add("One", project="shop")
    document = everything.export_file(world.library, None, project="shop").document
    assert document is not None
    assert [one["content"]["insight"] for one in document["learnings"]] == ["One"], (
        "one project alone"
    )
    assert document["files"] == []


def test_a_folder_of_markdown_comes_in_once(world: World, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    put_files(notes, {
        "carts.md": b"# Carts\n\nText.\n", "deep/a.md": b"---\nkind: lesson\ntitle: Seen\n---\nx\n",
        "bin.md": b"\xff\0", ".hidden/x.md": b"# no\n", "image.png": b"x",
        "rule.md": b"---\nkind: rule\ntitle: Do\nrationale: why\n---\nx\n",
    })  # fmt: skip
    (notes / "link.md").symlink_to(notes / "carts.md")
    done = jobs.import_files(world.library, [notes], "markdown", project="shop")
    assert sorted((one.kind.value, one.title) for one in done.written) == [
        ("doc", "Carts"),
        ("lesson", "Seen"),
    ]
    assert [where for where, _ in done.skipped] == ["bin.md"]
    assert [one.title for one in done.queued] == ["Do"]
    assert world.commits()[0] == "Import 2 entries from notes"
    assert validation.validate(world.library).problems == ()
    again = jobs.import_files(world.library, [notes], "markdown", project="shop")
    assert (again.written, again.queued, again.unchanged) == ((), (), 3)


def test_instructions_of_a_code_repository_become_proposals(world: World, tmp_path: Path) -> None:
    put_files(tmp_path / "code", {
        "AGENTS.md": b"# Build\n\nWith make.\n",
        ".cursor/rules/db.mdc": b"---\nglobs: *.sql\n---\n# Transactions\n\nUse them.\n",
        "src/AGENTS.md": b"# Sources\n\nx\n", "src/main.py": b"x = 1\n", "CLAUDE.md": b"# Build\n\nWith  make.\n",
        "GEMINI.md": b"@AGENTS.md\n",
    })  # fmt: skip
    done = jobs.import_files(world.library, [tmp_path / "code"], "agents-md")
    assert sorted(one.title for one in done.queued) == [
        "Build",
        "Sources",
        "Transactions: Use them.",
    ]
    assert [
        (one.where, one.became, one.about) for one in done.seen if one.became != "proposed"
    ] == [
        ("CLAUDE.md", "joined", "AGENTS.md"),
        ("GEMINI.md", "skipped", "it says nothing of its own"),
        ("src/main.py", "not recognised", ""),
    ]
    assert len(done.seen) == 6
    assert world.status() == ""
    assert world.titles() == []
    folder = jobs.import_files(world.library, [tmp_path / "code/.cursor/rules"], "agents-md")
    assert (folder.queued, folder.unchanged) == ((), 1)
    file = jobs.import_files(world.library, [tmp_path / "code/AGENTS.md"], "agents-md")
    assert (file.queued, file.unchanged) == ((), 1)


def test_rules_in_force_go_between_markers_and_nothing_else_changes(
    world: World, tmp_path: Path
) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_bytes(
        b"# Mine\r\n\r\n<!-- >>> ai-lessons >>> -->\r\nprotocol\r\n<!-- <<< ai-lessons <<< -->\r\n"
    )
    mine = file.read_bytes()
    library = world.library
    assert everything.export_file(library, file, "agents-md").files == ((str(file), "not there"),)
    rule_id = approved(world)
    waiting = proposals.suggest_rule(world.library, draft(title="Only proposed"))
    done = everything.export_file(library, file, "agents-md")
    assert (done.entries[Kind.RULE], file.read_bytes().startswith(mine)) == (1, True)
    assert b"### Ask before deploying (R-" in file.read_bytes()
    assert b"Only proposed" not in file.read_bytes()
    assert everything.export_file(library, file, "agents-md").files[0][1] == "already there"
    review.approve_rule(library, waiting.handle)
    assert everything.export_file(library, file, "agents-md").files[0][1] == "brought up to date"
    back = jobs.import_files(world.library, [file], "agents-md")
    assert [one.title for one in back.queued] == []
    for one in (rule_id, waiting.id):
        review.approve_rule(library, proposals.removal(world.library.writing(one)[0], one).handle)
    assert everything.export_file(library, file, "agents-md").files[0][1] == "taken out"
    assert file.read_bytes() == mine


def test_a_folder_of_rules_follows_what_is_in_force(world: World, tmp_path: Path) -> None:
    folder = tmp_path / ".claude/rules"
    rule_id = approved(world)
    library = world.library
    ((name, said),) = everything.export_file(library, folder, "claude-rules").files
    assert (said, Path(name).parent) == ("written", folder)
    put_files(folder, {"mine.md": b"mine\n", "ai-lessons-like.md": b"mine too\n"})
    again = [said for _, said in everything.export_file(library, folder, "claude-rules").files]
    assert again == ["already there", "left alone, it is not ours"]
    review.approve_rule(
        library, proposals.removal(world.library.writing(rule_id)[0], rule_id).handle
    )
    everything.export_file(library, folder, "claude-rules")
    assert sorted(one.name for one in folder.iterdir()) == ["ai-lessons-like.md", "mine.md"]


def test_an_entry_that_links_wrong_kinds_is_left_out_and_named(
    world: World, tmp_path: Path
) -> None:
    for name, title, end, link in (
        ("a", "One", 0, f"has_doc: {IDS[1]}"),
        ("b", "Two", 1, f"related_to: {IDS[0]}"),
    ):
        put_file(
            tmp_path / f"in/p/lessons/{name}.md", lesson(IDS[end], title, links=f"\n  - {link}")
        )
    done = jobs.import_files(world.library, [tmp_path / "in"], "markdown")
    assert [one.title for one in done.written] == ["Two"]
    ((where, why),) = done.skipped
    assert where == "p/lessons/a.md"
    assert "has_doc leads from any entry to a doc, not from a lesson to a lesson" in why


def test_what_cannot_be_imported_says_why(world: World, tmp_path: Path) -> None:
    library = world.library
    with pytest.raises(NotFound):
        jobs.import_files(library, [tmp_path / "gone.json"], "groove")
    (tmp_path / "k.json").write_text('{"version": 1, "learnings": [1]}')
    with pytest.raises(InvalidEntry, match="learning 1: not an object"):
        jobs.import_files(library, [tmp_path / "k.json"], "groove")
    with pytest.raises(UsageError, match="says itself"):
        jobs.import_files(library, [tmp_path / "k.json"], "groove", project="x")
    with pytest.raises(UsageError, match="written into files"):
        everything.export_file(library, None, "agents-md")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidEntry, match="no Markdown"):
        jobs.import_files(library, [tmp_path / "empty"], "markdown")
    with pytest.raises(InvalidEntry, match="no instructions"):
        jobs.import_files(library, [tmp_path / "empty"], "agents-md")
    world.write(".ai-lessons/config.yaml", "format: 2\n")
    with pytest.raises(UnsupportedRepository):
        jobs.import_files(library, [tmp_path / "k.json"], "groove")

from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import (
    editing,
    entries,
    outdated,
    validation,
)
from ai_lessons.app.written import Imported
from ai_lessons.errors import InvalidEntry, Refused
from ai_lessons.features.intake import jobs, refreshing
from ai_lessons.features.intake.plan import ResourceDraft
from ai_lessons.model.entries import Kind
from app.world import DOC, World
from features.intake.intake_world import bring
from real_world import Git


def test_one_file_becomes_a_doc_that_knows_where_it_came_from(
    world: World, source: Path, git: Git
) -> None:
    done = bring(world, source / "docs/guide.md", versions=["v2"], tags=["api"])
    (made,) = done.written
    assert made.path == "jira-api/docs/v2/guide.md"
    assert made.commit == done.commit == git(world.root, "rev-parse", "HEAD")
    shown = entries.show(world.library, made.id)
    assert shown.entry.title == "The guide"
    assert shown.frontmatter["source_path"] == str(source / "docs/guide.md")
    assert shown.frontmatter["source_ref"] == git(source, "rev-parse", "HEAD")
    assert str(shown.frontmatter["content_hash"]).startswith("sha256:")
    assert shown.body == "# The guide\n\nFirst steps.\n"
    assert shown.entry.versions == ("v2",)
    assert world.commits()[0] == "Add doc: The guide"
    assert world.status() == ""
    assert validation.validate(world.library).problems == ()


def test_a_source_outside_of_git_has_no_ref_and_is_global(world: World, hermetic: Path) -> None:
    (hermetic / "note.md").write_text("just text\n")
    (made,) = bring(world, "~/note.md").written
    assert (made.path, made.title) == ("global/docs/unversioned/note.md", "note")
    matter = entries.show(world.library, made.id).frontmatter
    assert ("source_ref" in matter, matter["source_path"]) == (False, "~/note.md")


def test_a_folder_is_one_commit_and_keeps_its_folders(world: World, source: Path) -> None:
    (source / "docs" / "picture.png").write_bytes(b"\x89PNG\0\0")
    (source / "docs" / ".hidden.md").write_text("# no\n")
    for name in ("conf.py", "deep/logo.svg", "deep/site.css"):
        (source / "docs" / name).write_text("a CSS grid with two columns\n")
    done = bring(world, source / "docs", recursive=True, project="jira")
    paths = {one.path.removeprefix("jira/docs/unversioned/") for one in done.written}
    assert paths == {"deep/more.md", "guide.md", "notes.txt.md"}
    left = {Path(path).name: reason for path, reason in done.skipped}
    assert left.keys() == {"conf.py", "logo.svg", "site.css", "picture.png"}
    assert set(left.values()) == {"no document, by its name"}
    assert world.commits() == ["Add 3 docs", "first"]


def test_several_versions_are_shared_and_one_is_a_folder(world: World, source: Path) -> None:
    shared = bring(
        world, source / "docs/guide.md", versions=["v2", "v1", "v2"], project="p"
    ).written[0]
    assert shared.path == "p/docs/shared/guide.md"
    assert entries.show(world.library, shared.id).entry.versions == ("v1", "v2")
    odd = bring(world, source / "docs/notes.txt", versions=["release/1.0"], project="p").written[0]
    assert odd.path == "p/docs/release-1.0/notes.txt.md"
    plain = bring(
        world, source / "docs/deep/more.md", versions=["unversioned"], project="p"
    ).written[0]
    assert plain.path == "p/docs/unversioned/more.md"
    assert validation.validate(world.library).problems == ()


def test_the_same_source_again_is_unchanged_or_updated_for_each_version(
    world: World, source: Path
) -> None:
    def taken(version: str, *tags: str) -> Imported:
        stated: dict[str, Any] = {"versions": [version], "tags": tags, "project": "p"}
        return bring(world, source / "docs", recursive=True, **stated)

    first, other = taken("v1", "one"), taken("v2")
    again = taken("v1")
    assert (again.written, again.unchanged, again.commit) == ((), 3, None)
    (source / "docs/guide.md").write_text("# The guide\n\nNew steps.\n")
    for version, before in (("v1", first), ("v2", other)):
        done = taken(version)
        (updated,) = done.written
        assert (done.unchanged, updated.id in {one.id for one in before.written}) == (2, True)
        assert entries.show(world.library, updated.id).body.endswith("New steps.\n")
    assert {
        entries.show(world.library, one.id).entry.tags for one in taken("v1", "two").written
    } == {("one", "two")}


def test_foreign_frontmatter_is_kept_and_ours_is_ours(world: World, tmp_path: Path) -> None:
    (tmp_path / "post.md").write_text(
        "---\nid: 17\ntitle: A post\nkind: rule\ntags: [web, http]\nlayout: page\nsource: https://example.com\n"
        "category: Blog\nstatus: draft\npattern: x\nauthor:\n  name: Somebody\n---\nText.\n"
    )
    made = bring(world, tmp_path / "post.md").written[0]
    shown = entries.show(world.library, made.id)
    assert made.kind is Kind.DOC
    assert shown.entry.title == "A post"
    assert shown.entry.tags == ("http", "web")
    assert shown.frontmatter["author"] == {"name": "Somebody"}
    assert (shown.frontmatter["layout"], shown.frontmatter["category"]) == ("page", "Blog")
    assert shown.frontmatter["id"] == made.id
    assert world.found("A post") == ["A post"]
    assert validation.validate(world.library).problems == ()


def test_frontmatter_that_cannot_be_read_is_text_and_can_be_previewed(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "odd.md").write_text("---\ntitle: [open\n---\n# Heading\n\nText.\n")
    draft = ResourceDraft(Kind.DOC, [str(tmp_path / "odd.md")])
    assert "Text." in jobs.preview(world.library, draft)[0].text
    made = bring(world, tmp_path / "odd.md").written[0]
    assert "title: [open" in entries.show(world.library, made.id).body


def test_line_ends_of_another_system_become_ours_and_stay_unchanged(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "dos.md").write_bytes(b"---\r\nlayout: page\r\n---\r\n# Dos\r\n\r\ntext\r\n")
    made = bring(world, tmp_path / "dos.md").written[0]
    assert "\r" not in world.read(made.path)
    assert bring(world, tmp_path / "dos.md").unchanged == 1
    assert refreshing.refresh(world.library, [made.id])[0].changed is False


def test_a_file_of_the_repository_is_described_where_it_is(world: World) -> None:
    world.write("p/docs/v3/guide.md", "# Guide\n\ntext\n")
    doc = bring(world, world.root / "p/docs/v3/guide.md", tags=["t"]).written[0]
    assert doc.path == "p/docs/v3/guide.md"
    assert entries.show(world.library, doc.id).entry.versions == ("v3",)
    assert world.read(doc.path).endswith("# Guide\n\ntext\n")
    assert bring(world, world.root / "p/docs/v3/guide.md", tags=["t"]).unchanged == 1
    assert world.status() == ""
    shown = entries.show(world.library, doc.id)
    assert shown.frontmatter["created"] == "2026-11-21T20:14:00Z"
    assert shown.frontmatter["source_ref"].endswith("-dirty")
    assert not doc.id.startswith("00000000")
    world.write("p/docs/v3/linked.md", "# Linked\n\ntext\n")
    (plain,) = [one for one in entries.list_entries(world.library).entries if one.title == "Linked"]
    world.add("Read the guide", links=[("related_to", plain.id)])
    assert bring(world, world.root / "p/docs/v3/linked.md").written[0].id == plain.id, (
        "others link to it"
    )


def test_a_folder_of_the_repository_leaves_out_what_is_no_entry(world: World) -> None:
    world.write("p/docs/a.md", "# A\n")
    world.write("p/data/table.csv", "1,2\n")
    world.write("p/lessons/l.md", "# L\n")
    done = bring(world, world.root / "p", recursive=True)
    assert [one.path for one in done.written] == ["p/docs/a.md"]
    reasons = {reason.partition(" is ")[2] for _, reason in done.skipped}
    assert reasons == {"no place for an entry", "a lesson, not a doc"}


def test_a_name_that_cannot_be_written_skips_only_that_file(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    (folder / "aux.md").write_text("# Aux\n")
    (folder / "fine.md").write_text("# Fine\n")
    done = bring(world, folder, recursive=True)
    assert [one.title for one in done.written] == ["Fine"]
    assert "Windows" in done.skipped[0][1]
    with pytest.raises((Refused, InvalidEntry), match="Windows"):
        bring(world, folder / "aux.md")


def test_a_preview_shows_the_cuts_and_writes_nothing(world: World, tmp_path: Path) -> None:
    text = "# Long\n\n" + "".join(f"## Part {n}\n\n{'word ' * 300}\n\n" for n in range(3))
    (tmp_path / "long.md").write_text(text)
    cuts = jobs.preview(world.library, ResourceDraft(Kind.DOC, [str(tmp_path / "long.md")]))
    assert cuts[0].heading == "Part 0"
    assert {cut.heading for cut in cuts} == {"Part 0", "Part 1", "Part 2"}
    assert all(0 < cut.tokens <= 420 for cut in cuts)
    assert world.status() == ""
    assert world.commits() == ["first"]
    (tmp_path / "go.py").write_text("#!/usr/bin/env python3\n# Goes far.\nprint(1)\n")
    (cut,) = jobs.preview(world.library, ResourceDraft(Kind.SCRIPT, [str(tmp_path / "go.py")]))
    assert "Goes far." in cut.text


def test_refresh_brings_what_changed_and_says_what(world: World, source: Path, git: Git) -> None:
    made = bring(world, source / "docs/guide.md").written[0]
    old = git(source, "rev-parse", "HEAD")
    git(source, "commit", "-q", "--allow-empty", "-m", "another")
    (done,) = refreshing.refresh(world.library, [made.id])
    assert (done.changed, "moved" in done.warning) == (False, True)
    assert world.commits()[0] == "Add doc: The guide"
    (source / "docs/guide.md").write_text("# The guide\n\nSecond thoughts.\nAnd more.\n")
    git(source, "commit", "-qam", "change")
    (done,) = refreshing.refresh(world.library, [made.handle])
    assert (done.changed, done.added, done.removed) == (True, 2, 1)
    assert "+Second thoughts." in done.diff
    assert (done.old_ref, done.new_ref) == (old, git(source, "rev-parse", "HEAD"))
    assert "moved on" in done.warning
    assert world.commits()[0] == "Refresh doc: The guide"
    shown = entries.show(world.library, made.id)
    assert shown.body.endswith("And more.\n")
    assert shown.frontmatter["source_ref"] == done.new_ref
    (again,) = refreshing.refresh(world.library, [made.id])
    assert (again.changed, again.warning, again.diff) == (False, "", "")


def test_refresh_of_all_is_one_commit_and_names_what_is_gone(world: World, source: Path) -> None:
    bring(world, source / "docs", recursive=True)
    (source / "docs/guide.md").write_text("# The guide\n\nx\n")
    (source / "docs/notes.txt").write_text("y\n")
    (source / "docs/deep/more.md").unlink()
    world.add("a lesson")
    done = {one.title: one for one in refreshing.refresh(world.library, [], every=True)}
    assert {title for title, one in done.items() if one.changed} == {"The guide", "notes"}
    assert "more.md" in done["More"].warning
    assert world.commits()[0] == "Refresh 2 docs"


SECRETS = "the password of a person\n"


def pulled(world: World, source_path: str) -> str:
    """A doc as a pull brings it, which names any file of this machine as its source."""
    head = f"id: {DOC}\nkind: doc\ntitle: Guide\nsource_path: {source_path}\ncontent_hash: sha256:{0:064d}\n"
    world.committed("x/docs/unversioned/guide.md", f"---\n{head}---\nA guide.\n", message="Add doc")
    return "x/docs/unversioned/guide.md"


@pytest.mark.parametrize("way", ["~/netrc", "{home}/netrc", "~/docs/../netrc", "{home}/link"])
def test_a_pulled_doc_makes_nobody_read_a_file_of_this_machine(
    world: World, hermetic: Path, way: str
) -> None:
    (hermetic / "netrc").write_text(SECRETS)
    (hermetic / "docs").mkdir()
    (hermetic / "link").symlink_to(hermetic / "netrc")
    doc = pulled(world, way.format(home=hermetic))
    with pytest.raises(Refused, match="was not added on this machine from") as refused:
        refreshing.refresh(world.library, [DOC])
    assert "at a terminal: ai-lessons contribute refresh D-" in refused.value.hint
    (told,) = refreshing.refresh(world.library, [], every=True)
    assert (told.changed, "was not added on this machine from" in told.warning) == (False, True)
    (stale,) = outdated.review(world.library)
    assert stale.detail == f"its source has changed: {way.format(home=hermetic)}", (
        "and nothing of what it holds"
    )
    assert SECRETS not in world.read(doc)


def test_a_source_that_a_person_names_once_is_remembered_until_its_path_or_its_file_is_another(
    world: World, hermetic: Path
) -> None:
    file, other = hermetic / "guide.md", hermetic / "other.md"
    file.write_text("# Guide\n\nOne.\n")
    other.write_text("# Guide\n\nOther words.\n")
    doc, asked = pulled(world, "~/guide.md"), []

    def ask(name: str, path: str, real: str) -> bool:
        asked.append((name.partition(" ")[2], path, real))
        return len(asked) > 1

    with pytest.raises(Refused):
        refreshing.refresh(world.fresh(ask_source=ask), [DOC])
    assert refreshing.refresh(world.fresh(ask_source=ask), [DOC])[0].changed
    assert asked == [("Guide", "~/guide.md", str(file))] * 2
    file.write_text("# Guide\n\nTwo.\n")
    assert refreshing.refresh(world.fresh(), [DOC])[0].changed
    world.write(doc, world.read(doc).replace("~/guide.md", str(file)))
    with pytest.raises(Refused):
        refreshing.refresh(world.fresh(), [DOC])
    world.write(doc, world.read(doc).replace(str(file), "~/guide.md"))
    file.unlink()
    file.symlink_to(other)
    with pytest.raises(Refused):
        refreshing.refresh(world.fresh(), [DOC])
    assert "Other words." not in world.read(doc)


def test_a_clone_made_anew_remembers_no_source_and_adding_the_doc_again_names_it(
    world: World, source: Path, tmp_path: Path
) -> None:
    draft = ResourceDraft(Kind.DOC, [str(source / "docs/guide.md")])
    made = jobs.add_resources(world.library, draft).written[0]
    world.git(tmp_path, "clone", "-q", str(world.root), "again")
    clone = World(tmp_path / "again", world.git, world.options)
    (source / "docs/guide.md").write_text("# One\n\nNewer words.\n")
    with pytest.raises(Refused):
        refreshing.refresh(clone.library, [made.id])
    jobs.add_resources(clone.library, draft)
    assert "Newer words." in clone.read(made.path)
    assert not refreshing.refresh(clone.fresh(), [made.id])[0].changed


def test_edits_that_a_refresh_or_a_delete_would_replace_are_in_git_first(
    world: World, source: Path, git: Git
) -> None:
    made = bring(world, source / "docs/guide.md").written[0]
    mine = world.read(made.path) + "My own remark.\n"
    world.write(made.path, mine)
    (source / "docs/guide.md").write_text("# The guide\n\nx\n")
    refreshing.refresh(world.library, [made.id])
    assert world.commits()[:2] == ["Refresh doc: The guide", f"Save edits: {made.path}"]
    assert git(world.root, "show", f"HEAD^:{made.path}") + "\n" == mine
    world.write("p/lessons/new.md", "# never committed\n")
    editing.delete(world.library, ["p/lessons/new.md"])
    assert git(world.root, "show", "HEAD^:p/lessons/new.md") == "# never committed"

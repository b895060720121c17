"""Rules, skills and memories of other tools on their way in, and what is in force on its way to them."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from ai_lessons.app import pending_rules, proposals, review, validation
from ai_lessons.app.written import RuleDraft
from ai_lessons.errors import InvalidEntry, Refused, StorageFailed, UsageError
from ai_lessons.features.transfer import everything, jobs, rule_files, sites
from app.world import World
from real_world import put_files

TREE = {
    ".github/copilot-instructions.md": b"# House style\n\nTabs never.\n",
    ".github/instructions/ts.instructions.md": b"---\napplyTo: '**/*.ts'\n---\n# Types\n\nNo any.\n",
    ".cursor/rules/db.mdc": b"---\ndescription: Transactions\nglobs: *.sql\n---\nUse them.\n",
    ".cursorrules": b"Be short.\n",
    "CLAUDE.md": b"# Tests\n\nRun them.\n",
    ".claude/rules/api.md": b"---\npaths:\n  - src/api/**\n---\n# API\n\nCheck input.\n",
    ".windsurfrules": b"Be short.\n",
    "GEMINI.md": b"# Gemini\n\nThink.\n",
    "AGENTS.md": b"# Agents\n\nBuild with make.\n",
    "src/main.py": b"x = 1\n",
    ".git/config": b"",
}


TITLES = {
    "copilot": ["House style: Tabs never.", "Types: No any."], "cursor": ["Be short.", "Transactions: Use them."],
    "claude": ["API: Check input.", "Tests: Run them."], "windsurf": ["Be short."], "gemini": ["Gemini"],
    "agents-md": [
        "API: Check input.", "Be short.", "Build with make — Agents", "Gemini", "House style: Tabs never.",
        "Tests: Run them.", "Transactions: Use them.", "Types: No any.",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("form", "titles"), TITLES.items(), ids=TITLES)
def test_every_file_that_is_seen_is_reported_once(
    world: World, tmp_path: Path, form: str, titles: list[str]
) -> None:
    put_files(tmp_path / "code", TREE)
    done = jobs.import_files(world.library, [tmp_path / "code"], form, project="shop")
    assert sorted(one.title for one in done.queued) == titles
    assert sorted(one.where for one in done.seen) == sorted(TREE.keys() - {".git/config"})
    left = {one.where: one.about for one in done.seen if one.became == "not recognised"}
    assert left["src/main.py"] == ""
    if form == "copilot":
        assert left["CLAUDE.md"] == "--from claude reads it"
    again = jobs.import_files(world.library, [tmp_path / "code"], form, project="shop")
    assert (again.queued, again.unchanged) == ((), len(titles))
    assert len(again.seen) == len(done.seen)


SOLUTION = b"""---
title: "Stale carts: the cache wins"
date: 2026-07-09
category: logic-errors
module: cart
problem_type: logic_error
component: service_layer
symptoms:
  - The total is that of yesterday
  - "`GET /cart`: 200 with an old body"
root_cause: config_error
resolution_type: code_fix
severity: high
tags: [cache, cart]
---

# Stale carts: the cache wins

## Problem
Totals are old.

## Solution

Send `Cache-Control: no-store` from `/cart`.

## Why This Works
The proxy kept every answer for a day.
"""


def test_a_solution_becomes_a_lesson_that_keeps_what_it_states(
    world: World, tmp_path: Path
) -> None:
    put_files(tmp_path / "docs/solutions", {
        "logic-errors/cart.md": SOLUTION, "README.md": b"# What lies here\n",
        "conventions/names.md": b"---\ntitle: Names\nproblem_type: convention\n---\nPlain nouns.\n",
        "broken.md": b"---\nsymptoms: [`a\n---\n# Broken\n",
    })  # fmt: skip
    done = jobs.import_files(world.library, [tmp_path / "docs"], "compound", project="shop")
    assert {seen.where: seen.became for seen in done.seen} == {
        "solutions/README.md": "not recognised", "solutions/broken.md": "not recognised",
        "solutions/conventions/names.md": "imported", "solutions/logic-errors/cart.md": "imported",
    }  # fmt: skip
    (lesson,) = (w for w in done.written if w.title.startswith("Stale"))
    entry = world.library.primary.load(lesson.id)[0]
    assert entry.pattern is not None
    assert entry.pattern.when == "The total is that of yesterday; `GET /cart`: 200 with an old body"
    assert entry.pattern.action == "Send `Cache-Control: no-store` from `/cart`."
    assert entry.pattern.because == "The proxy kept every answer for a day."
    assert (entry.fields["severity"], entry.fields["root_cause"], sorted(entry.tags)) == (
        "high", "config_error", ["cache", "cart"],
    )  # fmt: skip
    assert entry.body.lstrip().startswith("## Problem")
    again = jobs.import_files(world.library, [tmp_path / "docs"], "compound", project="shop")
    assert (again.written, again.unchanged) == ((), 2)


def test_a_lesson_goes_out_as_a_solution_with_all_that_its_schema_requires(
    world: World, tmp_path: Path
) -> None:
    put_files(tmp_path, {"solutions/cart.md": SOLUTION})
    (cart,) = jobs.import_files(world.library, [tmp_path / "solutions"], "compound").written
    approve(world, title="Use transactions", tags=("sql",))
    ((file, _),) = everything.export_file(
        world.library, tmp_path / "docs/solutions", "compound"
    ).files
    entry = world.library.primary.load(cart.id)[0]
    assert rule_files.file_name("compound", entry).startswith("logic-errors/ai-lessons-stale-carts")
    texts = {
        Path(file).parent.name: Path(file).read_text(),
        "logic-errors": rule_files.rule_file("compound", cart.handle, entry),
    }
    stated = {folder: yaml.safe_load(text.split("---\n")[1]) for folder, text in texts.items()}
    required = {"title", "date", "category", "module", "problem_type", "component", "severity"}
    assert all(required <= matter.keys() for matter in stated.values())
    original = yaml.safe_load(SOLUTION.split(b"---\n")[1])
    original["date"] = "2026-07-09"
    assert stated["logic-errors"] == original
    assert "\n# Use transactions (R-" in texts["best-practices"]


def test_the_team_memory_of_qwen_code_becomes_lessons_and_its_instructions_rules(
    world: World, tmp_path: Path
) -> None:
    put_files(tmp_path / "code", {
        ".qwen/team-memory/MEMORY.md": b"- [Use pnpm](feedback/pnpm.md) \xe2\x80\x94 not npm\n",
        ".qwen/team-memory/feedback/pnpm.md": b"---\nname: pnpm\ndescription: Use pnpm: not npm\ntype: feedback\n"
        b"---\n\nThe lock file.\n",
        "QWEN.md": b"# Build\n\nRun make.\n",
    })  # fmt: skip
    done = jobs.import_files(world.library, [tmp_path / "code"], "qwen", project="shop")
    assert [(one.title, one.kind.value) for one in done.written] == [
        ("Use pnpm: not npm", "lesson")
    ]
    assert [rule.title for rule in done.queued] == ["Build: Run make."]
    assert {seen.where: seen.became for seen in done.seen}[
        ".qwen/team-memory/MEMORY.md"
    ] == "skipped"
    alone = jobs.import_files(
        world.library, [tmp_path / "code/.qwen/team-memory"], "qwen", project="shop"
    )
    assert (alone.written, alone.unchanged) == ((), 1)


def test_what_a_caller_names_is_taken_whatever_it_is_called(world: World, tmp_path: Path) -> None:
    put_files(tmp_path, {"a.txt": b"# One\n\nThis.\n", "b.txt": b"# Two\n\nAnd that.\n"})
    done = jobs.import_files(world.library, [tmp_path / "a.txt", tmp_path / "b.txt"], "cursor")
    assert sorted(one.title for one in done.queued) == ["One", "Two"]
    with pytest.raises(InvalidEntry, match="no instructions for agents"):
        jobs.import_files(world.library, [tmp_path], "cursor")


def test_a_skill_is_a_doc_with_its_scripts(world: World, tmp_path: Path) -> None:
    skill = tmp_path / "skills/deploying"
    put_files(skill, {
        "SKILL.md": b"---\nname: deploying\ndescription: How to deploy the shop.\n---\n# Steps\n\nGo.\n",
        "scripts/go.sh": b"#!/bin/sh\n# Deploys it.\necho go\n",
        "references/rollback.md": b"# Rollback\n\nUndo it.\n",
        "logo.png": b"\x89PNG\0",
    })  # fmt: skip
    put_files(tmp_path / "skills", {"README.md": b"# Skills\n", "broken/SKILL.md": b"\xff\0"})
    (skill / "scripts/go.sh").chmod(0o755)
    done = jobs.import_files(world.library, [tmp_path / "skills"], "skills", project="shop")
    assert sorted((one.kind.value, one.title) for one in done.written) == [
        ("doc", "Rollback"), ("doc", "deploying"), ("script", "deploying: scripts/go.sh"),
    ]  # fmt: skip
    fates = {one.where: one.became for one in done.seen}
    assert fates == {
        "README.md": "not recognised", "broken/SKILL.md": "skipped", "deploying/SKILL.md": "imported",
        "deploying/logo.png": "not recognised", "deploying/references/rollback.md": "imported",
        "deploying/scripts/go.sh": "imported",
    }  # fmt: skip
    doc = next(one for one in done.written if one.title == "deploying")
    text = world.read(doc.path)
    assert text.count("How to deploy the shop") == 2
    assert [word in text for word in ("  - has_doc: ", "  - has_script: ")] == [True, True]
    assert validation.validate(world.library).problems == ()
    assert (
        jobs.import_files(world.library, [skill / "SKILL.md"], "skills", project="shop").unchanged
        == 3
    )


def test_memories_of_an_agent_are_lessons_and_their_index_is_none(
    world: World, tmp_path: Path
) -> None:
    put_files(tmp_path / "projects/-home-ana-shop/memory", {
        "MEMORY.md": b"# Memory\n\n- [Coupons](coupons.md) - case\n",
        "coupons.md": b"---\nname: coupons\ndescription: Coupons are case-sensitive\ntype: project\n---\nTried both.\n",
        "tabs.md": b"# Ana wants spaces\n\nSaid twice.\n",
    })  # fmt: skip
    put_files(tmp_path / "projects", {"notes.txt": b"x"})
    done = jobs.import_files(world.library, [tmp_path / "projects"], "claude", project="shop")
    assert sorted(one.title for one in done.written) == [
        "Ana wants spaces",
        "Coupons are case-sensitive",
    ]
    assert sorted(one.became for one in done.seen) == [
        "imported",
        "imported",
        "not recognised",
        "skipped",
    ]
    assert (done.queued, validation.validate(world.library).problems) == ((), ())


def test_notes_of_basic_memory_keep_their_links(world: World, tmp_path: Path) -> None:
    put_files(tmp_path / "bm", {
        "main/carts.md": b"---\ntitle: Carts\ntype: note\npermalink: main/carts\ntags:\n- shop\n---\n"
        b"# Carts\n\n## Observations\n- [decision] They expire\n\n## Relations\n- part_of [[Shop]]\n- see [[Gone]]\n",
        "main/shop.md": b"---\ntitle: Shop\ntype: note\npermalink: main/shop\n---\n# Shop\n\nSells.\n",
    })  # fmt: skip
    done = jobs.import_files(world.library, [tmp_path / "bm"], "basic-memory", project="shop")
    assert (sorted(one.title for one in done.written), done.relations) == (["Carts", "Shop"], 1)


def test_memories_of_mem0_are_lessons_of_their_user(world: World, tmp_path: Path) -> None:
    rows = [
        {
            "id": "1",
            "memory": "Likes short answers",
            "user_id": "alex",
            "created_at": "2025-03-01T10:00:00Z",
        },
        {"id": "2", "memory": "Deploys on Monday\nnever on Friday", "categories": ["work"]},
        {"id": "3", "memory": ""},
        7,
        {"id": "4", "memory": "Likes short answers", "user_id": "alex"},
        {"id": "5", "memory": "Likes short answers", "user_id": "kim"},
    ]
    (tmp_path / "m.json").write_text(json.dumps({"results": rows}))
    done = jobs.import_files(world.library, [tmp_path / "m.json"], "mem0")
    assert sorted(one.title for one in done.written) == [
        "Deploys on Monday",
        *["Likes short answers"] * 2,
    ]
    assert [why for _, why in done.skipped] == ["it says nothing"] * 2
    assert [(part.where, part.about) for part in done.seen if part.became == "joined"] == [
        ("m.json: memory 5", "m.json: memory 1")
    ]
    first = next(one for one in done.written if one.title.startswith("Likes"))
    assert "scope: user:alex\n" in world.read(first.path)
    (tmp_path / "m.jsonl").write_text("\n".join(json.dumps(row) for row in rows[:2]))
    assert jobs.import_files(world.library, [tmp_path / "m.jsonl"], "mem0").unchanged == 2
    for text, why in (("{", "neither JSON nor"), ('{"a": 1}', "no list of memories")):
        (tmp_path / "m.json").write_text(text)
        with pytest.raises(InvalidEntry, match=why):
            jobs.import_files(world.library, [tmp_path / "m.json"], "mem0")


# --- out ---


def approve(world: World, title: str, **said: Any) -> None:
    waiting = proposals.suggest_rule(world.library, RuleDraft(title, "It went wrong", **said))
    review.approve_rule(world.library, waiting.handle)


HEADS = {
    (
        "cursor",
        ".cursor/rules",
    ): "---\ndescription: Use transactions\nglobs: *.sql\nalwaysApply: false\n---\n<!-- >>>",
    (
        "copilot",
        "instructions",
    ): '---\ndescription: Use transactions\napplyTo: "*.sql"\n---\n<!-- >>>',
    ("windsurf", ".windsurf/rules"): "---\ntrigger: glob\nglobs: *.sql\n---\n<!-- >>>",
    ("claude-rules", ".claude/rules"): '---\npaths:\n  - "*.sql"\n---\n<!-- >>>',
    (
        "qwen",
        ".qwen/team-memory",
    ): "---\nname: Use transactions\ndescription: It went wrong\ntype: feedback\n---\n<!-- >>>",
    ("compound", "docs/solutions"): "---\ntitle: Use transactions\n",
}


def test_each_tool_reads_a_rule_in_its_own_words(world: World, tmp_path: Path) -> None:
    approve(world, title="Use transactions", applies_to=("*.sql",))
    for (form, name), head in HEADS.items():
        place = tmp_path / name
        ((file, said),) = everything.export_file(world.library, place, form).files
        assert said == "written"
        assert Path(file).read_text().startswith(head), form
        back = jobs.import_files(
            world.library, [place], "compound" if form == "compound" else "agents-md"
        )
        assert [one.became for one in back.seen] == ["skipped"], form
        assert everything.export_file(world.library, place, form).files[0][1] == "already there"
        assert (
            everything.export_file(world.library, place, form, globs=["jira/*"]).files[0][1]
            == "removed"
        )


def test_a_skill_for_each_project_says_what_it_is_about(world: World, tmp_path: Path) -> None:
    approve(world, title="Use transactions", project="shop")
    approve(world, title="Ask first")
    done = everything.export_file(world.library, tmp_path / "skills", "skills")
    assert sorted(path.removeprefix(f"{tmp_path}/skills/") for path, _ in done.files) == [
        "ai-lessons-global/SKILL.md", "ai-lessons-shop/SKILL.md",
    ]  # fmt: skip
    text = (tmp_path / "skills/ai-lessons-shop/SKILL.md").read_text()
    assert text.startswith("---\nname: ai-lessons-shop\ndescription: ")
    assert "About: Use transactions" in text
    assert "Ask first" not in text
    for form in ("skills", "markdown"):
        assert jobs.import_files(world.library, [tmp_path / "skills"], form).written == ()


def test_the_most_specific_comes_first_where_there_is_no_room_for_all(
    world: World, tmp_path: Path
) -> None:
    approve(world, title="Everywhere", content="x" * 400)
    approve(world, title="In SQL files", project="shop", applies_to=("*.sql",), content="x" * 400)
    approve(world, title="In the shop", project="shop", content="x" * 400)
    done = everything.export_file(
        world.library, tmp_path / "A.md", "agents-md", project="shop", most=1400
    )
    text = (tmp_path / "A.md").read_text()
    assert [title in text for title in ("Everywhere", "In the shop", "In SQL files")] == [
        False,
        True,
        True,
    ]
    ((path, why),) = done.skipped
    assert "everywhere" in path
    assert why.endswith("(--max-chars)")
    assert len(text) <= 1400


def test_what_cannot_be_exported_says_why(world: World, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="groove is everything"):
        everything.export_file(world.library, tmp_path / "k.json", globs=["a*"])
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageFailed, match="is no folder"):
        everything.export_file(world.library, tmp_path / "file", "skills")


# --- what is written stays in the folder that was named, and replaces nothing that is not ours ---


@pytest.fixture
def linked(world: World, tmp_path: Path) -> Path:
    """A code repository with a link out of it, and a rule in force."""
    approve(world, title="Use transactions", project="shop")
    put_files(tmp_path / "home", {"mine.json": b"{}", "entry.html": b"mine"})
    put_files(tmp_path / "code", {".git/HEAD": b"ref: refs/heads/main\n"})
    (tmp_path / "code/out").symlink_to(tmp_path / "home")
    return tmp_path / "code"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        one.relative_to(folder).as_posix(): one.read_bytes()
        for one in folder.rglob("*")
        if one.is_file()
    }


def draw(_: Any) -> list[tuple[str, bytes]]:
    return [("index.html", b"new"), ("entry/01M82H56GFBPYC5697MCBBBBBB.html", b"new")]


THROUGH = (
    ("out/mine.json", "groove"), ("out/new.json", "groove"), ("out/a/new.json", "groove"),
    ("out/AGENTS.md", "agents-md"), ("out/.github/copilot-instructions.md", "copilot"), ("out", "claude-rules"),
    ("out/.cursor/rules", "cursor"), ("out/skills", "skills"), ("out", "site"), ("out/public", "site"),
)  # fmt: skip


def test_an_export_through_a_link_out_of_the_code_writes_nothing(
    world: World, linked: Path
) -> None:
    before = contents(linked.parent / "home")
    for name, form in THROUGH:
        job: Callable[..., object] = partial(
            everything.export_file, world.library, linked / name, form
        )
        if form == "site":
            job = partial(sites.export_site, world.library, linked / name, draw, None, form="site")
        with pytest.raises(Refused, match="by a link"):
            job(replace=True)
        assert contents(linked.parent / "home") == before, name


@pytest.mark.parametrize("form", ["claude-rules", "skills"])
def test_a_link_in_the_place_of_a_file_or_folder_of_ours_is_left_alone(
    world: World, linked: Path, form: str
) -> None:
    (done,) = everything.export_file(world.library, linked / "to", form).files
    name = Path(done[0])
    put_files(linked.parent / "home", {name.name: b"mine"})
    name.unlink()
    if form == "skills":
        name.parent.rmdir()
        name.parent.symlink_to(linked.parent / "home")
    else:
        name.symlink_to(linked.parent / "home" / name.name)
    for globs in ((), ("nothing",)):
        everything.export_file(world.library, linked / "to", form, globs=globs, replace=True)
        assert (linked.parent / "home" / name.name).read_bytes() == b"mine"


LISTED = (
    "../home/entry.html", "{home}/entry.html", "entry/../../home/entry.html", "entry/entry.html",
    "out/entry.html", "entry/01M82H56GFBPYC5697MCAAAAAA.html", "entry/./01M82H56GFBPYC5697MCAAAAAA.html",
)  # fmt: skip


def test_the_list_of_a_site_removes_nothing_but_pages_of_entries_in_it(
    world: World, linked: Path
) -> None:
    home, pages = linked.parent / "home", linked / "pages"
    put_files(home, {"01M82H56GFBPYC5697MCAAAAAA.html": b"mine"})
    before = contents(home)
    for listed in LISTED:
        put_files(
            pages,
            {
                ".ai-lessons-site": f"index.html\n{listed.format(home=home)}\n".encode(),
                "keep.txt": b"mine",
            },
        )
        put_files(
            pages, {"entry/entry.html": b"mine", "entry/01M82H56GFBPYC5697MCAAAAAA.html": b"old"}
        )
        sites.export_site(world.library, pages, draw, None, form="site")
        left = {"keep.txt", "index.html", ".ai-lessons-site", "entry/entry.html"}
        left |= {"entry/01M82H56GFBPYC5697MCBBBBBB.html", "entry/01M82H56GFBPYC5697MCAAAAAA.html"}
        left -= {listed} if listed.startswith("entry/01") else set()
        assert set(contents(pages)) == left, listed
        assert contents(home) == before
        shutil.rmtree(pages)
    put_files(pages, {".ai-lessons-site": "\n".join(LISTED).format(home=home).encode()})
    (pages / "entry").symlink_to(home)
    with pytest.raises(Refused, match="symbolic link"):
        sites.export_site(world.library, pages, draw, None, form="site")
    assert not (pages / "index.html").exists()
    assert contents(home) == before


def test_a_site_replaces_no_page_that_is_not_in_its_list(world: World, tmp_path: Path) -> None:
    put_files(tmp_path / "pages", {".ai-lessons-site": b"search.json", "index.html": b"mine"})
    with pytest.raises(Refused, match="is not ours") as error:
        sites.export_site(world.library, tmp_path / "pages", draw, None, form="site")
    assert "--replace" in error.value.hint
    assert contents(tmp_path / "pages") == {
        ".ai-lessons-site": b"search.json",
        "index.html": b"mine",
    }
    sites.export_site(world.library, tmp_path / "pages", draw, None, form="site", replace=True)
    assert (tmp_path / "pages/index.html").read_bytes() == b"new"


def test_an_export_replaces_no_file_that_is_none_of_ours_but_an_empty_one(
    world: World, tmp_path: Path
) -> None:
    file = tmp_path / "k.json"
    other = b'{"version": 1, "learnings": []}'
    for there in (b"# Mine\n", b"{}", b"[]", other, b"\xff", b"[" * 100_000, b"\0"):
        file.write_bytes(there)
        with pytest.raises(Refused, match="is not an export of ours") as error:
            everything.export_file(world.library, file)
        assert "--replace" in error.value.hint
        assert file.read_bytes() == there
        for replace in (True, False):  # the second time it is ours
            assert everything.export_file(world.library, file, replace=replace).files == (
                (str(file), "replaced"),
            )
    file.write_bytes(b"")
    assert everything.export_file(world.library, file).files[0][1] == "replaced"


def test_a_rule_file_that_is_not_ours_is_replaced_only_where_that_was_asked_for(
    world: World, tmp_path: Path
) -> None:
    approve(world, title="Use transactions")
    ((file, _),) = everything.export_file(world.library, tmp_path / "rules", "windsurf").files
    put_files(tmp_path, {file: b"mine"})
    for replace, done in ((False, "left alone, it is not ours"), (True, "brought up to date")):
        assert everything.export_file(
            world.library, tmp_path / "rules", "windsurf", replace=replace
        ).files == ((file, done),)


@pytest.mark.parametrize(
    ("name", "to", "form", "source"),
    [
        ("CLAUDE.md", "CLAUDE.md", "agents-md", "claude"),
        ("CLAUDE.md", ".claude/rules", "claude-rules", "claude"),
        (".claude/rules/house.md", ".claude/rules", "claude-rules", "claude"),
        (".cursorrules", ".cursorrules", "cursor", "cursor"),
    ],
)
def test_what_came_from_a_file_does_not_go_into_it_twice(
    world: World, tmp_path: Path, name: str, to: str, form: str, source: str
) -> None:
    put_files(tmp_path, {name: b"# House\n\n- Use pnpm,\n  never npm.\n- Wrap lines.\n"})
    place = tmp_path / to
    jobs.import_files(world.library, [tmp_path], source)
    for pending in pending_rules.pending_rules(world.library):
        review.approve_rule(world.library, pending.id)
    approve(world, title="Use transactions")
    done = everything.export_file(world.library, place, form)
    assert [why for _, why in done.skipped] == [f"{name} says it already"]
    files = {tmp_path / name, *([place] if place.is_file() else place.iterdir())}
    written = "".join(file.read_text() for file in files)
    assert written.count("never npm") == 1
    assert "Use transactions" in written


def test_a_file_that_came_by_statements_or_as_a_whole_comes_so_again(
    world: World, tmp_path: Path
) -> None:
    text = b"# Shop\n\nThe web layer talks to services.\n\n## Money\n\nNever use floats.\n"
    put_files(tmp_path, {"CLAUDE.md": text, "AGENTS.md": b"# Build\n\nAlways with make.\n"})

    def taken(name: str, *, split_up: bool) -> tuple[list[str], bool]:
        done = jobs.import_files(world.library, [tmp_path / name], "agents-md", split_up=split_up)
        assert done.written == ()
        return sorted(rule.title for rule in done.queued), bool(done.notes)

    assert taken("CLAUDE.md", split_up=True) == (["From CLAUDE.md", "Never use floats."], False)
    assert taken("CLAUDE.md", split_up=False) == ([], True)
    put_files(tmp_path, {"CLAUDE.md": text + b"\n## Lint\n\nAlways lint.\n"})
    assert taken("CLAUDE.md", split_up=False) == (["Lint: Always lint."], True)
    assert taken("AGENTS.md", split_up=False) == (["Always with make — Build"], False)
    assert taken("AGENTS.md", split_up=True) == ([], True)


def test_what_a_file_imports_comes_with_it_or_is_named(world: World, tmp_path: Path) -> None:
    put_files(tmp_path / "home", {"mine.md": b"Never read this.\n"})
    put_files(tmp_path / "code", {
        "AGENTS.md": b"# House\n\n- Never push to main.\n\n@docs/names.md\n@docs/gone.md\n@../home/mine.md\n"
        b"@out/mine.md\n",
        "docs/names.md": b"Name tests after the behaviour.\n\n@more.md\n",
        "docs/more.md": b"Use pathlib always.\n\n@names.md\n\nRun @README.md.\n",
        "docs/other.md": b"Other.\n",
        "web/.claude/rules/py.md": b"---\npaths:\n  - src/*.py\n---\n@../../../docs/python.md\n",
        "docs/python.md": b"Always annotate.\n",
    })  # fmt: skip
    (tmp_path / "code/out").symlink_to(tmp_path / "home")
    done = jobs.import_files(
        world.library, [tmp_path / "code"], "agents-md", project="shop", split_up=True
    )
    assert sorted(rule.title for rule in done.queued) == [
        "Always annotate.", "Name tests after the behaviour.", "Never push to main.", "Run @README.md.",
        "Use pathlib always.",
    ]  # fmt: skip
    fates = {part.where: (part.became, part.about) for part in done.seen}
    assert fates["docs/python.md:1"][0] == "proposed"
    assert fates["docs/other.md"] == ("not recognised", "")
    assert "docs/names.md" not in fates, "it is no longer a file that nobody reads"
    assert fates["AGENTS.md: @../home/mine.md"] == ("skipped", "it lies outside of the code")
    assert fates["AGENTS.md: @docs/gone.md"][0] == "skipped"
    assert fates["AGENTS.md: @out/mine.md"][0] == "skipped"
    assert fates["docs/more.md: @README.md"] == (
        "skipped",
        "the text only mentions it: name it to import it",
    )
    (annotate,) = (
        pending
        for pending in pending_rules.pending_rules(world.library)
        if pending.title == "Always annotate."
    )
    assert annotate.applies_to == ("web/src/*.py",)


def test_an_import_says_how_its_files_are_written_from_here(world: World, tmp_path: Path) -> None:
    put_files(tmp_path / "a b", {
        "AGENTS.md": b"Never push.\n", ".cursor/rules/db.mdc": b"Use transactions.\n", "notes.txt": b"Always.\n",
    })  # fmt: skip
    places = [tmp_path / "a b", tmp_path / "a b/notes.txt"]
    done = jobs.import_files(world.library, places, "agents-md", project="shop")
    assert [old.command for old in done.old_files] == [
        "rm 'a b/AGENTS.md' && ai-lessons admin export 'a b/AGENTS.md' --project shop",
        "rm 'a b/.cursor/rules/db.mdc' && ai-lessons admin export 'a b/.cursor/rules' --project shop",
    ]
    assert jobs.import_files(world.library, places, "agents-md", project="shop").old_files == ()


def test_what_is_taken_in_stands_in_the_file_it_came_from(world: World, tmp_path: Path) -> None:
    text = b"# Shop\n\nIt sells.\n\n- Use pnpm,\n  never npm.\n  - Pin it\n\n## Layers\n\nThe web talks to services.\n"
    put_files(tmp_path, {"CLAUDE.md": text})
    jobs.import_files(
        world.library, [tmp_path / "CLAUDE.md"], "claude", project="shop", split_up=True
    )
    for pending in pending_rules.pending_rules(world.library):
        review.approve_rule(world.library, pending.id)
    done = everything.export_file(world.library, tmp_path / "CLAUDE.md", "agents-md")
    assert [why for _, why in done.skipped] == ["CLAUDE.md says it already"] * 3
    assert (tmp_path / "CLAUDE.md").read_bytes() == text

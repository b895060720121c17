"""Folders of documents come in as they are: their shape, their titles, and nothing that is no document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import entries
from ai_lessons.errors import NotFound, UsageError
from ai_lessons.features.intake import refreshing
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.versions import nearest, released_first
from app.world import World
from features.intake.intake_world import bring
from real_world import put_file


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    for name in ("guide/start.md", "guide/deep/start.md", "reference/start.md", "reference/api.md"):
        put_file(tmp_path / "manual" / name, f"# {name}\n\nText of {name}.\n")
    return tmp_path / "manual"


def paths(world: World, *sources: str | Path, **more: Any) -> list[str]:
    done = bring(world, *sources, project="p", recursive=True, **more)
    assert [row for row in done.skipped if "taken" in row.reason] == []
    return sorted(entry.path.removeprefix("p/docs/unversioned/") for entry in done.written)


def test_several_folders_keep_their_shape(world: World, manual: Path) -> None:
    assert paths(world, manual / "guide", manual / "reference") == [
        "guide/deep/start.md", "guide/start.md", "reference/api.md", "reference/start.md",
    ]  # fmt: skip


def test_one_folder_and_a_glob_keep_the_shape_below_them(world: World, manual: Path) -> None:
    assert paths(world, manual / "guide") == ["deep/start.md", "start.md"]
    assert paths(world, f"{manual}/ref*/*.md", versions=["2"]) == [
        "p/docs/2/reference/api.md", "p/docs/2/reference/start.md",
    ]  # fmt: skip


def test_files_of_the_same_name_are_all_taken(world: World, manual: Path) -> None:
    done = bring(world, manual / "guide/start.md", manual / "reference/start.md", project="p")
    assert sorted(entry.path for entry in done.written) == [
        "p/docs/unversioned/guide/start.md", "p/docs/unversioned/reference/start.md",
    ]  # fmt: skip
    assert done.skipped == ()


def test_folders_that_are_called_by_their_version_hold_the_same_pages(
    world: World, tmp_path: Path
) -> None:
    for version in ("v1", "v2"):
        put_file(tmp_path / version / "retries.md", f"# Retries\n\nOf {version}.\n")
    done = bring(
        world, tmp_path / "v1", tmp_path / "v2", project="p", recursive=True, versions=["auto"]
    )
    assert sorted(entry.path for entry in done.written) == [
        "p/docs/v1/retries.md",
        "p/docs/v2/retries.md",
    ]


def test_what_is_excluded_is_left(world: World, manual: Path) -> None:
    assert paths(world, manual, exclude=["deep/", "reference/api.md"]) == [
        "guide/start.md",
        "reference/start.md",
    ]
    with pytest.raises(UsageError, match="leaves nothing"):
        bring(world, manual, recursive=True, exclude=["**"])


def test_what_a_project_is_built_with_is_named_and_left(world: World, manual: Path) -> None:
    builds = [
        "Makefile",
        "meson.build",
        "CMakeLists.txt",
        "requirements-docs.txt",
        "conf.py",
        "x.toml",
    ]
    for name in builds:
        put_file(manual / name, "text = 1\n")
    put_file(manual / "README", "How to read this.\n")
    done = bring(world, manual, project="p", recursive=True)
    assert len(done.written) == 5
    assert sorted(Path(row.path).name for row in done.skipped) == sorted(builds)
    assert {row.reason for row in done.skipped} == {"no document, by its name"}
    assert bring(world, manual / "x.toml", project="p").written[0].title == "x.toml"


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("gpg.adoc", "gpg.program::\n\tUse this program.\n", "gpg"),
        (
            "a.adoc",
            "// a comment\n= The thing: in words\nAn Author\n\nText.\n",
            "The thing: in words",
        ),
        ("git-add.adoc", "git-add(1)\n==========\n\nNAME\n----\ngit-add - Add\n", "git-add(1)"),
        ("a.rst", ".. currentmodule:: click\n\n=======\nOptions\n=======\n\nText.\n", "Options"),
        ("a.rst", ":mod:`os` of |project|\n-----------------------\n\nText.\n", "`os` of project"),
        ("a.md", "# Install {#install}\n\nText.\n", "Install"),
        ("a.md", "# Install { #install .lead } ##\n\nText.\n", "Install"),
        ("a.md", '# <a id="x"></a>Install [it](https://x.org/a)\n\nText.\n', "Install it"),
        ("a.md", "# A `Vec<T>` of {braces}\n\nText.\n", "A `Vec<T>` of {braces}"),
        ("a.mdx", 'import X from "x"\n\n# Install <Badge text="new" />\n\nText.\n', "Install"),
        ("a.mdx", "export const meta = {}\n\n## Install {/* #install */}\n\nText.\n", "Install"),
    ],
)
def test_a_title_is_what_the_document_says(
    world: World, tmp_path: Path, name: str, text: str, title: str
) -> None:
    assert bring(world, put_file(tmp_path / name, text)).written[0].title == title
    if not name.endswith(".mdx"):
        assert read_entry(f"p/docs/unversioned/{name}", text.encode()).title == title


RST = (
    "Options\n=======\n\n.. currentmodule:: click\n\nUse the :func:`option` decorator, see |docs| and `more`_ [1]_.\n\n"
    ":param name: what it is called\n\n.. [1] A note.\n"
)


def test_no_markup_of_restructured_text_stands_in_a_snippet(world: World, tmp_path: Path) -> None:
    world.write("p/docs/unversioned/here.rst", RST)
    bring(world, put_file(tmp_path / "brought.rst", RST), project="p")
    for query in ("option decorator", "param name called"):
        hits = world.search(query).docs
        assert len(hits) == 2
        for hit in hits:
            marks = [
                mark
                for mark in (":func:", "|docs|", "]_", "`_", ".. ", ":param")
                if mark in hit.entry.snippet
            ]
            assert marks == [], hit.entry.snippet
    assert ":func:" not in entries.show(world.library, "p/docs/unversioned/here.rst").body
    assert ":func:" in entries.show(world.library, "p/docs/unversioned/here.rst").raw


def test_what_is_released_comes_before_what_is_not(world: World, tmp_path: Path) -> None:
    stored = ["2.0.1", "2.1.0b1", "1.9"]
    assert [nearest(name, stored) for name in ("stable", "latest", "2", "next", "2.1.0rc1", "3b1")] == [
        "2.0.1", "2.0.1", "2.0.1", "2.1.0b1", "2.1.0b1", None,
    ]  # fmt: skip
    assert nearest("stable", ["2.1.0b1"]) == "2.1.0b1"
    assert released_first(stored) == ("2.0.1", "1.9", "2.1.0b1")
    for version in stored:
        put_file(tmp_path / "flags.md", f"# Flags\n\nThe flag of {version} is --fast.\n")
        bring(world, tmp_path / "flags.md", versions=[version], project="p")
    assert world.search("which flag is fast").docs[0].entry.versions == ("2.0.1",)


def test_a_doc_that_lies_in_the_repository_is_refreshed_as_it_is(world: World) -> None:
    file = world.write("jira-api/docs/v3/WorkflowsApi.md", "# Workflows\n\nText.\n")
    made = bring(world, file, title="Jira Workflows API", versions=["v3"]).written[0]
    (done,) = refreshing.refresh(world.library, [made.id])
    assert (done.changed, "read as it is" in done.warning) == (False, True)
    with pytest.raises(NotFound, match="source of"):
        refreshing.refresh(world.library, [world.add("A lesson").id])

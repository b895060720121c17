"""The starter set: every file is valid, says how it is known, and its scripts do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ai_lessons.app.scaffold import read_template, template_dir
from ai_lessons.model.checks import check_entry, check_together
from ai_lessons.model.config import KEYS, RepositoryConfig, parse_config, unknown_keys
from ai_lessons.model.entries import Entry, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import CONFIG_PATH, new_path, place, resource_path, side_of
from real_world import Git, commit_all

FILES = read_template(template_dir())
SCRIPTS = template_dir() / "git" / "scripts" / "unversioned"


def entries() -> list[Entry]:
    """Every entry of the template, side files with their scripts."""
    sides = {side_of(name) for name in FILES} & set(FILES)
    found = [name for name in FILES if place(name) is not None and name not in sides]
    return [
        read_entry(name, FILES[name], FILES[side_of(name)] if side_of(name) in sides else None)
        for name in found
    ]


ENTRIES = entries()


def of(kind: Kind) -> list[Entry]:
    return [entry for entry in ENTRIES if entry.kind is kind]


def test_there_is_something_of_every_kind() -> None:
    assert 4 <= len(of(Kind.RULE)) <= 6
    assert len(of(Kind.LESSON)) >= 12
    assert len(of(Kind.DOC)) >= 4
    assert len(of(Kind.SCRIPT)) >= 3


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.path)
def test_every_entry_is_valid_and_where_we_would_write_it(entry: Entry) -> None:
    assert check_entry(entry) == []
    assert not entry.derived
    if entry.kind is Kind.LESSON:
        assert entry.path == new_path(
            entry.kind, entry.project, entry.title, entry.id, str(entry.fields["created"])
        )
    elif entry.kind is Kind.RULE:
        assert entry.path == new_path(entry.kind, entry.project, entry.title, entry.id, "")
    else:
        assert entry.path == resource_path(
            entry.kind, entry.project, entry.versions, entry.path.rpartition("/")[2]
        )


def test_the_entries_go_together_and_every_link_leads_to_one() -> None:
    ids = {entry.id for entry in ENTRIES}

    assert check_together(ENTRIES) == []
    assert len(ids) == len(ENTRIES)
    assert {link.target for entry in ENTRIES for link in entry.links} <= ids
    assert sum(len(entry.links) for entry in ENTRIES) >= 30


@pytest.mark.parametrize("entry", of(Kind.LESSON), ids=lambda entry: entry.path)
def test_every_lesson_says_how_it_is_known(entry: Entry) -> None:
    expected = (
        r"\b[Tt]ested (with|on)\b" if entry.fields["source"] == "tested" else r"<?https://\S+"
    )

    assert re.search(expected, entry.body)
    assert entry.pattern is not None


@pytest.mark.parametrize("entry", of(Kind.RULE), ids=lambda entry: entry.path)
def test_every_rule_says_why_and_follows_from_a_lesson(entry: Entry) -> None:
    lessons = {lesson.id for lesson in of(Kind.LESSON)}

    assert entry.fields["rationale"]
    assert entry.tags
    assert {link.target for link in entry.links if link.relation == "derived_from"} & lessons


def test_the_config_states_the_default_of_every_setting() -> None:
    text = FILES[CONFIG_PATH].decode()

    assert parse_config(text) == RepositoryConfig()
    assert unknown_keys(text) == []
    for name in KEYS:
        # policies of enterprises stand there as a remark: a repository that states one is somebody's decision
        mark = "# +" if name.startswith("governance.") else " *"
        assert re.search(rf"^{mark}{name.rpartition('.')[2]}: ", text, re.MULTILINE), name


def test_every_file_is_text_with_lf_and_ends_with_a_line_break() -> None:
    for name, original in FILES.items():
        assert b"\r" not in original, name
        assert original.endswith(b"\n"), name
        assert not re.search(rb"[ \t]\n", original), name


def run(cwd: Path, *command: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_the_scripts_that_prove_lessons_run(tmp_path: Path) -> None:
    assert run(tmp_path, SCRIPTS / "ref-without-index.sh")[0] == 0
    traps = template_dir() / "python" / "scripts" / "unversioned" / "yaml-traps.py"
    code, output = run(tmp_path, sys.executable, traps)
    assert code == 0, output


def test_lost_in_merge_finds_what_a_merge_dropped_and_nothing_else(
    git_repo: Path, git: Git
) -> None:
    (git_repo / "kept.md").write_text("kept\n")
    (git_repo / "unwanted.md").write_text("unwanted\n")
    commit_all(git, git_repo, "base")
    git(git_repo, "switch", "-qc", "topic")
    (git_repo / "räum auf.md").write_text("new\n")
    commit_all(git, git_repo, "add")
    git(git_repo, "switch", "-q", "main")
    git(git_repo, "rm", "-q", "unwanted.md")
    git(git_repo, "commit", "-qm", "remove on purpose")
    git(git_repo, "merge", "-q", "--no-ff", "--no-commit", "topic")
    assert run(git_repo, SCRIPTS / "lost-in-merge.sh") == (0, "")

    git(git_repo, "rm", "-q", "--cached", "räum auf.md", "kept.md")
    git(git_repo, "commit", "-qm", "merge topic")

    code, output = run(git_repo, SCRIPTS / "lost-in-merge.sh")
    short = git(git_repo, "rev-parse", "--short", "HEAD")
    assert code == 1
    assert sorted(output.splitlines()) == [f"{short} kept.md", f"{short} räum auf.md"]


def test_who_brought_names_the_author_and_the_merge_and_not_the_puller(
    git_repo: Path, git: Git
) -> None:
    git(git_repo, "switch", "-qc", "topic")
    (git_repo / "rule.md").write_text("rule\n")
    git(git_repo, "add", "-A")
    git(git_repo, "commit", "-qm", "propose", "--author=Ann <ann@example.com>")
    git(git_repo, "switch", "-q", "main")
    git(git_repo, "merge", "-q", "--no-ff", "-m", "approve", "topic")
    git(git_repo, "commit", "-q", "--allow-empty", "-m", "later")

    code, output = run(git_repo, sys.executable, SCRIPTS / "who-brought.py", "rule.md")

    assert code == 0
    assert re.fullmatch(
        r"written by \w+ Ann, [\d-]+: propose\nmerged by  \w+ Test Person, [\d-]+: approve\n",
        output,
    )
    assert run(git_repo, sys.executable, SCRIPTS / "who-brought.py", "nowhere.md")[0] == 1

"""What git's filters are to hide is in git as they give it, for entries and proposals alike, and can be read here."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from ai_lessons.git import plumbing
from ai_lessons.git.store import Store
from ai_lessons.git.worktree import Worktree
from ai_lessons.interfaces import cli
from interfaces.world import run_inside
from real_world import Git, commit_all, instead, put_file, put_program

ROT = """#!/bin/sh
case $1 in
clean) printf CRYPT; tr A-Za-z N-ZA-Mn-za-m;;
smudge) head -c5 >/dev/null; tr A-Za-z N-ZA-Mn-za-m;;
esac
"""
WORDS = """#!/bin/sh
case $1 in clean) sed s/PENGUIN/WORDLESS/g;; smudge) sed s/WORDLESS/PENGUIN/g;; esac
"""
HIDDEN = "shop/** filter=hide\n.ai-lessons/rejected/** filter=hide\n"
RULE = (
    "contribute", "suggest-rule", "--project", "shop", "--rationale", "because PENGUIN", "--content", "Ask PENGUIN.",
)  # fmt: skip


class Crypt:
    """A repository whose files about the shop go through a filter."""

    def __init__(self, root: Path, git: Git) -> None:
        self.root, self.git = root, git

    def __call__(self, *words: str) -> str:
        done = run_inside(
            ("--repo", str(self.root), *words), self.root.parent, AI_LESSONS_OFFLINE="1"
        )
        assert done.code == 0, done.err
        return done.out

    def approved(self) -> None:
        """A rule about the shop that is in force."""
        self(*RULE, "--title", "Good")
        self("admin", "approve-rule", "--project", "shop", "--yes")

    def shown(self, kind: str) -> str:
        """The first entry of a kind."""
        return self("show", self("list", "--type", kind).splitlines()[1].split()[0])

    def in_plain(self) -> list[str]:
        """Objects of any kind in which the word stands as it is."""
        names = self.git(
            self.root,
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname) %(objecttype)",
        )
        blobs = [row.split()[0] for row in names.splitlines() if row.endswith("blob")]
        command = ("git", "cat-file", "blob")
        return [
            one
            for one in blobs
            if b"PENGUIN" in subprocess.check_output([*command, one], cwd=self.root)
        ]


@pytest.fixture
def plain(tmp_path: Path, git: Git) -> Path:
    root = tmp_path / "shop"
    assert cli.run(["admin", "init", str(root), "--no-hooks", "-q"]) == 0
    return root


@pytest.fixture
def crypt(plain: Path, tmp_path: Path, git: Git, request: pytest.FixtureRequest) -> Crypt:
    attributes, filtering = HIDDEN, getattr(request, "param", ROT)
    if filtering == "git-crypt":
        if shutil.which("git-crypt") is None:
            pytest.skip("git-crypt is not installed")
        subprocess.run(["git-crypt", "init"], cwd=plain, check=True, capture_output=True)
        attributes = HIDDEN.replace("hide", "git-crypt")
    else:
        program = put_program(tmp_path / "hide", filtering)
        git(plain, "config", "--global", "filter.hide.clean", f"{program} clean")
        git(plain, "config", "--global", "filter.hide.smudge", f"{program} smudge")
        git(plain, "config", "--global", "filter.hide.required", "true")
    put_file(plain / ".gitattributes", attributes)
    commit_all(git, plain, "Hide")
    return Crypt(plain, git)


@pytest.mark.parametrize(
    "crypt", [ROT, WORDS, "git-crypt"], ids=["rot13", "words", "git-crypt"], indirect=True
)
def test_nothing_of_a_hidden_entry_or_proposal_is_in_git_in_plain(crypt: Crypt) -> None:
    crypt("add", "--project", "shop", "--title", "Lesson", "--content", "PENGUIN")
    crypt(*RULE, "--title", "Good")
    crypt(*RULE, "--title", "Bad")
    good, bad = (one.split()[0] for one in crypt("admin", "pending-rules").splitlines()[1:3])
    assert "Ask PENGUIN." in crypt("admin", "pending-rules", "--json")
    crypt("admin", "approve-rule", good, "--yes")
    crypt("admin", "reject-rule", bad, "--reason", "no")
    crypt("admin", "save")
    assert crypt.in_plain() == []
    assert crypt.git(crypt.root, "status", "--porcelain") == ""
    assert "PENGUIN" in "".join(one.read_text() for one in (crypt.root / "shop").rglob("*.md"))


def test_a_hidden_rule_is_approved_listed_shown_and_proposed_anew(crypt: Crypt) -> None:
    crypt.approved()
    shutil.rmtree(crypt.root / ".git/ai-lessons")
    assert "Good" in crypt("list", "--type", "rule")
    assert "Ask PENGUIN." in crypt.shown("rule")
    crypt("admin", "audit")
    file = next((crypt.root / "shop/rules").glob("*.md"))
    file.write_text(file.read_text().replace("Ask PENGUIN.", "Ask every PENGUIN."))
    crypt("contribute", "propose")
    assert "Ask PENGUIN." in file.read_text()
    assert "Ask every PENGUIN." in crypt("admin", "pending-rules", "--json")
    assert crypt.in_plain() == []


def test_two_sides_of_a_hidden_lesson_are_merged_and_hidden(crypt: Crypt, tmp_path: Path) -> None:
    git = crypt.git
    crypt("add", "--project", "shop", "--title", "Lesson", "--content", "PENGUIN")
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    git(crypt.root, "remote", "add", "origin", str(tmp_path / "hub.git"))
    git(crypt.root, "push", "-q", "-u", "origin", "main")
    base = git(crypt.root, "rev-parse", "HEAD")
    file = next((crypt.root / "shop/lessons").rglob("*.md"))
    file.write_text(file.read_text().replace("title: Lesson", "title: Theirs"))
    commit_all(git, crypt.root, "theirs")
    git(crypt.root, "push", "-q", "origin", "main")
    git(crypt.root, "reset", "-q", "--hard", base)
    file.write_text(file.read_text().replace("PENGUIN\n", "PENGUIN of ours\n"))
    commit_all(git, crypt.root, "ours")
    crypt("admin", "sync")
    assert "title: Theirs" in file.read_text()
    assert "PENGUIN of ours" in file.read_text()
    assert crypt.in_plain() == []


@pytest.mark.parametrize("crypt", ["#!/bin/sh\nexit 1\n"], indirect=True)
def test_where_a_required_filter_fails_nothing_comes_into_git(crypt: Crypt) -> None:
    root = crypt.root
    for words in (
        ("add", "--project", "shop", "--title", "L", "--content", "PENGUIN"),
        (*RULE, "--title", "R"),
    ):
        done = run_inside(("--repo", str(root), *words), root.parent)
        assert "was not stored, because its git filter failed" in done.err
    assert crypt.in_plain() == []
    done = run_inside(
        ("--repo", str(root), "add", "--title", "Elsewhere", "--content", "c"), root.parent
    )
    assert "Elsewhere" in crypt.git(root, "log", "--format=%s", "-1"), done.err


def test_a_filter_that_is_not_set_up_here_changes_nothing_as_with_git(
    plain: Path, git: Git
) -> None:
    put_file(plain / ".gitattributes", "* filter=nobody-has-this\n")
    commit_all(git, plain, "Hostile")
    crypt = Crypt(plain, git)
    crypt.approved()
    assert "Good" in crypt("list")


PUSHED = {
    "working-tree-encoding=UTF-16": True, "working-tree-encoding=ISO-8859-1": True,
    "working-tree-encoding=no-such": True, "ident": True, "text eol=crlf": False, "text=auto eol=lf": False,
    "-text": False, "binary": False, "export-subst": False, "filter=nobody-has-this": False,
}  # fmt: skip


def stored(root: Path, file: Path) -> bytes:
    """The file as the last commit has it, byte by byte."""
    return subprocess.check_output(
        ["git", "cat-file", "blob", f"HEAD:{file.relative_to(root)}"], cwd=root
    )


@pytest.mark.parametrize("attribute", PUSHED)
def test_no_pushed_attribute_changes_what_is_stored_of_an_entry(
    plain: Path, git: Git, attribute: str
) -> None:
    put_file(plain / ".gitattributes", f"*.md {attribute}\n")
    git(plain, "commit", "-qm", "Hostile", ".gitattributes")
    crypt, text = Crypt(plain, git), "Größe $Id: 12$ $Format:%an$ in München."
    crypt("add", "--project", "shop", "--title", "Lesson", "--content", text)
    crypt.approved()
    crypt("admin", "save")
    (lesson,), (rule,) = (
        list((plain / "shop" / kind).rglob("*.md")) for kind in ("lessons", "rules")
    )
    assert stored(plain, lesson) == lesson.read_bytes()
    assert b"Ask PENGUIN." in stored(plain, rule)
    assert text in crypt.shown("lesson")
    assert crypt("admin", "pending-rules", "--json").strip() == "[]"
    found = run_inside(("--repo", str(plain), "admin", "validate"), plain)
    assert (f".gitattributes:1: {attribute} is stated of 2 entries" in found.out, found.code) == (
        (True, 4) if PUSHED[attribute] else (False, 0)
    ), found.out
    assert ("attributes" in crypt("admin", "doctor")) is PUSHED[attribute]


def test_a_filter_of_the_user_counts_and_an_encoding_beside_it_does_not(crypt: Crypt) -> None:
    put_file(crypt.root / ".gitattributes", HIDDEN + "*.md working-tree-encoding=UTF-16\n")
    crypt.git(crypt.root, "commit", "-qm", "Hostile", ".gitattributes")
    crypt("add", "--project", "shop", "--title", 'A [b]*? "c"', "--content", "PENGUIN")
    crypt.approved()
    shutil.rmtree(crypt.root / ".git/ai-lessons")
    assert "PENGUIN" in crypt.shown("rule")
    crypt("admin", "save")
    assert crypt.in_plain() == []


def test_line_ends_are_stored_as_git_has_them_beside_an_encoding(plain: Path, git: Git) -> None:
    put_file(plain / ".gitattributes", "* text=auto\n*.md working-tree-encoding=UTF-16\n")
    git(plain, "commit", "-qm", "Hostile", ".gitattributes")
    crypt = Crypt(plain, git)
    crypt("add", "--project", "shop", "--title", "Lesson", "--content", "Words.")
    file = next((plain / "shop/lessons").rglob("*.md"))
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n") + b"More.\r\n")
    crypt("admin", "save", "--edits", "--yes")
    assert stored(plain, file) == file.read_bytes().replace(b"\r\n", b"\n")


READ = (
    "UTF-16", "UTF-16LE", "UTF-16BE", "UTF-16LE-BOM", "UTF-32", "UTF-32LE", "UTF-32BE", "UCS-4", "ISO-8859-1",
    "CP1252", "IBM037", "GB18030",
)  # fmt: skip


def clone_with(plain: Path, git: Git, folder: Path, encoding: str, *, lessons: int = 1) -> Crypt:
    """A clone of a repository with lessons, whose attributes let git write Markdown in this encoding."""
    crypt = Crypt(plain, git)
    for number in range(lessons):
        crypt("add", "--project", "shop", "--title", f"Lesson {number}", "--content", "In München.")
    put_file(plain / ".gitattributes", f"shop/**/*.md working-tree-encoding={encoding}\n")
    git(plain, "commit", "-qm", "Hostile", ".gitattributes")
    git(folder, "clone", "-q", str(plain), "clone")
    return Crypt(folder / "clone", git)


@pytest.mark.parametrize("encoding", READ)
def test_what_git_checked_out_in_another_encoding_is_read(
    plain: Path, git: Git, tmp_path: Path, encoding: str
) -> None:
    clone = clone_with(plain, git, tmp_path, encoding)
    file = next((clone.root / "shop/lessons").rglob("*.md"))
    assert "München".encode() not in file.read_bytes()
    assert "In München." in clone.shown("lesson")
    assert "In München." in clone("recall", "search", "In München")
    assert "Lesson 0" in clone("recall", "list")
    clone("contribute", "update", "Lesson 0", "--title", "Changed")
    assert "In München." in stored(clone.root, file).decode()


@pytest.mark.parametrize("encoding", ["UTF-7", "ISO-2022-KR", "no-such"])
def test_an_entry_in_an_encoding_that_is_not_read_is_named(
    plain: Path, git: Git, tmp_path: Path, encoding: str
) -> None:
    clone = clone_with(plain, git, tmp_path, encoding)
    file = next((clone.root / "shop/lessons").rglob("*.md")).relative_to(clone.root)
    validated = run_inside(("--repo", str(clone.root), "admin", "validate"), clone.root)
    assert (
        f"{file}:1: git writes it in {encoding}, which is no encoding that we read" in validated.out
    )
    assert "attributes would change their text" in clone("admin", "doctor")


def test_bytes_that_are_text_of_no_known_encoding_are_named_where_they_lie(
    plain: Path, git: Git, tmp_path: Path
) -> None:
    clone = clone_with(plain, git, tmp_path, "UTF-32")
    file = next((clone.root / "shop/lessons").rglob("*.md"))
    file.write_bytes(file.read_bytes()[:-3])
    assert (
        "1 file is left out as unreadable"
        in run_inside(("--repo", str(clone.root), "list"), clone.root).err
    )
    validated = run_inside(("--repo", str(clone.root), "admin", "validate"), clone.root)
    assert f"{file.relative_to(clone.root)}:1: not UTF-8 text (byte 0xff)" in validated.out
    doctor = run_inside(("--repo", str(clone.root), "admin", "doctor"), clone.root)
    assert f"0 readable, 1 left out: {file.relative_to(clone.root)}" in doctor.out


def test_git_is_asked_once_for_the_encodings_of_all_files(
    plain: Path, git: Git, tmp_path: Path
) -> None:
    clone = clone_with(plain, git, tmp_path, "ISO-8859-1", lessons=5)
    files = [file.relative_to(clone.root) for file in (clone.root / "shop/lessons").rglob("*.md")]
    assert len(files) == 5
    store, asked, attributes_of = Store(clone.root), list[str](), plumbing.attributes_of

    def counted(worktree: Worktree, paths: Iterable[str], *names: str) -> dict[str, dict[str, str]]:
        asked.append(" ".join(names))
        return attributes_of(worktree, paths, *names)

    with instead("ai_lessons.git.plumbing.attributes_of", counted):
        for file in files:
            assert "München" in store.read(str(file)).decode()
    assert asked == ["working-tree-encoding"]

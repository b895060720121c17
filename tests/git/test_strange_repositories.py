"""Every repository of docs/reference/repositories.md: it works, or it is refused before anything is written."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ai_lessons.app import editing, entries, proposals, review
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import LessonDraft, RuleDraft
from ai_lessons.errors import AiLessonsError, NoRepository, Refused, UnsupportedRepository
from app.world import LESSON, lesson, options
from real_world import Git, commit_all, put_file, put_program

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "repositories.md"


@dataclass
class Ground:
    """Where strange repositories are made. `source` is an ordinary one with four commits and a lesson."""

    folder: Path
    git: Git
    source: Path
    home: Path

    def clone(self, *flags: str) -> Path:
        """A clone of the source, taken over the network protocol so that depth and filter count."""
        self.git(self.folder, "clone", "-q", *flags, f"file://{self.source}", "mine")
        return self.folder / "mine"

    def made(self, place: str, *commands: str) -> Path:
        """What stands there after these commands of git; the source is `repo`."""
        for command in commands:
            self.git(self.folder, *command.split())
        return self.folder / place

    def set(self, **settings: str) -> Path:
        """The source with settings of git's; `__` stands for the dot."""
        for key, value in settings.items():
            self.git(self.source, "config", key.replace("__", "."), value)
        return self.source


@pytest.fixture
def ground(git_repo: Path, git: Git, tmp_path: Path, hermetic: Path) -> Ground:
    put_file(git_repo / "p/lessons/a.md", lesson())
    put_file(git_repo / "q/note.md", "# Note\n")
    for n in range(3):
        (git_repo / "README.md").write_text(f"# Knowledge {n}\n")
        commit_all(git, git_repo, f"Commit {n}")
    git(git_repo, "config", "uploadpack.allowFilter", "true")
    return Ground(tmp_path, git, git_repo, hermetic)


def crlf(ground: Ground) -> Path:
    return ground.clone("-c", "core.autocrlf=true")


def _hooks(folder: Path, root: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "prepare-commit-msg", "pre-merge-commit"):
        put_program(folder / name, "#!/bin/sh\necho no >&2\nexit 1\n")
    return root


def include_if(ground: Ground) -> Path:
    (ground.home / ".work").write_text("[user]\n\tname = At Work\n\temail = work@example.com\n")
    with (ground.home / ".gitconfig").open("a") as file:
        file.write(f'[includeIf "gitdir:{ground.folder}/"]\n\tpath = ~/.work\n')
    return ground.source


def signer_without_key(ground: Ground) -> Path:
    return ground.set(
        commit__gpgsign="true",
        gpg__format="ssh",
        user__signingkey=str(ground.folder / "no-such-key"),
    )


def odd_names(ground: Ground) -> Path:
    target = ground.folder / "name with 'quotes' \u00e4\n$(id)"
    ground.git(ground.folder, "clone", "-q", str(ground.source), str(target))
    return target


ADD = "-c protocol.file.allow=always submodule add -q"
SPARSE = "-C mine sparse-checkout set --cone"
WORKS: dict[str, Callable[[Ground], Path]] = {
    "linked worktree": lambda g: g.made("linked", "-C repo worktree add -q -b side ../linked"),
    "linked worktree of a bare repository": lambda g: g.made(
        "linked", "clone -q --bare repo bare.git", "-C bare.git worktree add -q ../linked main"
    ),
    "git directory elsewhere": lambda g: g.clone("--separate-git-dir", str(g.folder / "elsewhere.git")),
    "shallow clone": lambda g: g.clone("--depth=1"),
    "partial clone without blobs": lambda g: g.clone("--filter=blob:none"),
    "partial clone without trees": lambda g: g.clone("--filter=tree:0"),
    "objects of another repository": lambda g: g.made("mine", "clone -q --shared repo mine"),
    "split index": lambda g: g.made("repo", "-C repo update-index --split-index"),
    "sparse checkout": lambda g: g.made("mine", "clone -q repo mine", f"{SPARSE} --no-sparse-index p"),
    "sparse index": lambda g: g.made("mine", "clone -q repo mine", f"{SPARSE} --sparse-index p"),
    "submodule": lambda g: g.made("outer/kb", "init -q outer", f"-C outer {ADD} {g.source} kb"),
    "submodules inside": lambda g: g.made(
        "repo", "init -q inner", "-C inner commit -q --allow-empty -m x",
        f"-C repo {ADD} {g.folder}/inner vendor/lessons", "-C repo commit -qm Submodule",
    ),
    "no commit yet": lambda g: g.made("new", "init -q -b main new"),
    "packed references and objects": lambda g: g.made("repo", "-C repo pack-refs --all", "-C repo gc -q"),
    "CRLF in the working tree": crlf,
    "shared with a group": lambda g: g.set(core__sharedRepository="group"),
    "no executable bits": lambda g: g.set(core__fileMode="false"),
    "file system that ignores case": lambda g: g.set(core__ignoreCase="true"),
    "hooks that reject": lambda g: _hooks(g.source / ".git/hooks", g.source),
    "core.hooksPath": lambda g: _hooks(g.folder / "hooks", g.set(core__hooksPath=str(g.folder / "hooks"))),
    "identity by includeIf": include_if,
    "commit.gpgsign without a usable key": signer_without_key,
    "spaces, quotes and line ends in its path": odd_names,
}  # fmt: skip


@pytest.mark.parametrize("name", WORKS)
def test_a_write_works_in_a_repository_of_any_layout(ground: Ground, name: str) -> None:
    root = WORKS[name](ground)
    before = ground.git(root, "status", "--porcelain")
    with opened(root, ground) as library:
        made = editing.add_lesson(
            library, LessonDraft("Penguins cannot fly", "They swim.\n", project="p")
        )
        assert made.commit == ground.git(root, "rev-parse", "HEAD")
        assert "Penguins cannot fly" in [
            summary.title for summary in entries.list_entries(library).entries
        ]
        changed = editing.update(library, made.id, content="They swim well.\n")
        assert changed.commit == ground.git(root, "rev-parse", "HEAD")
        assert ground.git(root, "show", f"HEAD:./{made.path}").endswith("They swim well.")
        assert ground.git(root, "status", "--porcelain") == before
        # rules are judged by all trees of the history, and nothing fetches them in passing
        if name not in {"linked worktree", "no commit yet", "partial clone without trees"}:
            approved(library, ground, root)
    assert ground.git(root, "status", "--porcelain") == before
    sound(ground, root, name)


def opened(root: Path, ground: Ground) -> Library:
    return Library(root, options(ground.folder))


def approved(library: Library, ground: Ground, root: Path) -> None:
    """A rule goes from proposal to force."""
    rule = proposals.suggest_rule(
        library, RuleDraft("Look twice", "Once is not enough.", "Do.\n", project="p")
    )
    review.approve_rule(library, rule.id)
    shown = entries.show(library, rule.id)
    assert shown.approval is not None
    assert shown.approval.in_force
    assert ground.git(root, "log", "-1", "--format=%s").startswith("Approve rule: Look twice")


def sound(ground: Ground, root: Path, name: str) -> None:
    if name == "spaces, quotes and line ends in its path":
        return
    done = subprocess.run(
        ["git", "fsck", "--strict", "--no-dangling"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_commit_that_cannot_be_signed_says_so(ground: Ground) -> None:
    with opened(signer_without_key(ground), ground) as library:
        made = editing.add_lesson(library, LessonDraft("Unsigned"))
    assert any(note.startswith("unsigned: ") for note in made.notes)


def test_lines_end_in_crlf_where_the_user_has_it_so_and_in_lf_in_git(ground: Ground) -> None:
    root = crlf(ground)
    assert b"\r\n" in (root / "p/lessons/a.md").read_bytes()
    with opened(root, ground) as library:
        editing.update(library, LESSON, title="Another title")
    text = (root / "p/lessons/a.md").read_bytes()
    assert b"title: Another title\r\n" in text
    assert text.count(b"\n") == text.count(b"\r\n")
    assert ground.git(root, "diff", "--stat", "HEAD~1", "--", "p/lessons/a.md").endswith(
        "1 insertion(+), 1 deletion(-)"
    )


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o002, 0o664), (0o027, 0o640)])
def test_the_umask_decides_who_may_read_what_is_new(ground: Ground, mask: int, mode: int) -> None:
    old = os.umask(mask)
    try:
        with opened(ground.source, ground) as library:
            made = editing.add_lesson(library, LessonDraft("Mine", project="p"))
    finally:
        os.umask(old)
    assert (ground.source / made.path).stat().st_mode & 0o777 == mode
    assert ground.git(ground.source, "ls-tree", "HEAD", made.path).startswith("100644 ")


def _made(ground: Ground, flag: str) -> Path:
    if subprocess.run(
        ["git", "init", "-q", flag, "strange"], cwd=ground.folder, capture_output=True, check=False
    ).returncode:
        pytest.skip(f"this git does not know {flag}")
    return ground.folder / "strange"


def strangers(ground: Ground) -> Path:
    if os.geteuid():
        pytest.skip("only root can give a file away")
    for path in (ground.source, ground.source / ".git"):
        os.chown(path, 65534, 65534)
    return ground.source


def no_repository(ground: Ground) -> Path:
    shutil.rmtree(ground.source / ".git")
    return ground.source


def damaged_head(ground: Ground) -> Path:
    (ground.source / ".git/HEAD").write_bytes(b"\0" * 41)
    return ground.source


REFUSED: dict[str, tuple[Callable[[Ground], Path], type[AiLessonsError], str]] = {
    "bare": (
        lambda g: g.made("bare.git", "clone -q --bare repo bare.git"),
        UnsupportedRepository,
        "bare",
    ),
    "git directory": (lambda g: g.source / ".git", UnsupportedRepository, "git directory"),
    "SHA-256": (
        lambda g: _made(g, "--object-format=sha256"),
        UnsupportedRepository,
        "objectformat",
    ),
    "reftable": (lambda g: _made(g, "--ref-format=reftable"), UnsupportedRepository, "refstorage"),
    # what git 2.45 and later write, for the gits that cannot
    "reftable, read by an older git": (
        lambda g: g.set(core__repositoryFormatVersion="1", extensions__refStorage="reftable"),
        UnsupportedRepository,
        "refstorage",
    ),
    "unknown format version": (
        lambda g: g.set(core__repositoryFormatVersion="7"),
        UnsupportedRepository,
        "version 7",
    ),
    "unknown extension": (
        lambda g: g.set(core__repositoryFormatVersion="1", extensions__compactMap="true"),
        UnsupportedRepository,
        "compactmap",
    ),
    "core.worktree": (
        lambda g: g.set(core__worktree=str(g.home)),
        UnsupportedRepository,
        "elsewhere",
    ),
    "owned by another user": (strangers, Refused, "another user"),
    "no repository": (no_repository, NoRepository, "repo"),
    "damaged HEAD": (damaged_head, UnsupportedRepository, "damaged"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_before_anything_is_written(ground: Ground, name: str) -> None:
    make, error, words = REFUSED[name]
    root = make(ground)
    before = everything(root)
    with pytest.raises(error, match=words) as told, opened(root, ground) as library:
        editing.add_lesson(library, LessonDraft("No"))
    assert told.value.message
    assert everything(root) == before


def everything(root: Path) -> list[tuple[str, int]]:
    """Every file with its size, ours in git's folder left out."""

    def found() -> Iterator[tuple[str, int]]:
        for path in sorted(root.rglob("*")):
            if path.is_file() and "ai-lessons" not in path.parts:
                yield str(path.relative_to(root)), path.stat().st_size

    return list(found())


def test_a_repository_of_somebody_else_opens_where_git_was_told_to_trust_it(ground: Ground) -> None:
    root = strangers(ground)
    ground.git(ground.folder, "config", "--global", "--add", "safe.directory", str(root))
    with opened(root, ground) as library:
        assert editing.add_lesson(library, LessonDraft("Trusted")).commit


def test_a_branch_that_stands_in_the_way_of_proposals_is_named(ground: Ground) -> None:
    ground.git(ground.source, "branch", "rules")
    with opened(ground.source, ground) as library, pytest.raises(AiLessonsError, match="rules"):
        proposals.suggest_rule(library, RuleDraft("In the way", "It is."))


def test_the_page_names_every_repository_that_is_tried_here() -> None:
    works, _, refused = PAGE.read_text(encoding="utf-8").partition("\n## It refuses\n")
    for page, tried in ((works, WORKS), (refused, REFUSED)):
        rows = re.findall(r"^- ([^:\n]+)", page, re.MULTILINE)
        assert {name for names in rows for name in names.split("; ")} >= tried.keys()

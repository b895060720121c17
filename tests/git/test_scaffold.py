import os
from pathlib import Path

import pytest

from ai_lessons.app.scaffold import SUBJECT, clone, init, read_template, template_dir
from ai_lessons.errors import Conflict, Refused, StorageFailed, Unreachable, UnsupportedRepository
from ai_lessons.model.config import parse_config
from ai_lessons.model.layout import place
from git.steps import in_a_merge
from real_world import Git, put_file

CONFIG = ".ai-lessons/config.yaml"


def contents(root: Path) -> dict[str, bytes]:
    """Every file of a folder that is not git's own."""
    files = (
        path
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    )
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


TEMPLATE = contents(template_dir())


@pytest.fixture
def nobody(hermetic: Path) -> None:
    """Git does not know who works here, and may not guess."""
    (hermetic / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A folder of plain files, as it is found."""
    root = tmp_path / "reference"
    (root / "jira" / "deep").mkdir(parents=True)
    (root / "notes.md").write_bytes(b"# Notes\r\nwritten on Windows\r\n")
    (root / "jira" / "deep" / "a[1] \xc3\xbc.md".encode().decode("latin-1")).write_bytes(
        b"no newline at the end"
    )
    (root / "jira" / "picture.png").write_bytes(b"\x89PNG\r\n\0\xff")
    (root / ".hidden").write_text("kept too\n")
    return root


class TestAnEmptyFolder:
    def test_becomes_a_repository_with_the_whole_template_but_its_rules(
        self, tmp_path: Path, git: Git
    ) -> None:
        made = init(tmp_path / "new" / "reference", with_starters=True)
        assert (made.created, made.adopted) == (True, 0)
        assert made.commit == git(made.root, "rev-parse", "refs/heads/main")
        assert git(made.root, "log", "--format=%s").split("\n") == [SUBJECT]
        assert git(made.root, "status", "--short") == ""
        assert contents(made.root) == {
            name: data for name, data in TEMPLATE.items() if "/rules/" not in name
        }
        assert os.access(
            made.root / "git" / "scripts" / "unversioned" / "lost-in-merge.sh", os.X_OK
        )
        assert git(made.root, "fsck", "--strict") == ""

    def test_twice_changes_nothing_and_says_so(self, tmp_path: Path, git: Git) -> None:
        first = init(tmp_path / "r")
        index = (first.root / ".git" / "index").read_bytes()
        again = init(tmp_path / "r")
        assert (again.created, again.added, again.commit) == (False, (), None)
        assert git(first.root, "rev-parse", "HEAD") == first.commit
        assert (first.root / ".git" / "index").read_bytes() == index

    def test_does_not_bring_back_what_the_user_deleted(self, tmp_path: Path) -> None:
        root = init(tmp_path / "r").root
        for name in ("README.md", ".gitattributes"):
            (root / name).unlink()
        init(root)
        assert not {"README.md", ".gitattributes"} & contents(root).keys()

    def test_is_finished_after_an_interruption(self, tmp_path: Path, git: Git) -> None:
        root = tmp_path / "r"
        for name in ("README.md", ".gitignore"):
            root.mkdir(exist_ok=True)
            (root / name).write_bytes((template_dir() / name).read_bytes())
        made = init(root)
        assert contents(root) == {
            name: data for name, data in TEMPLATE.items() if place(name) is None
        }
        assert made.commit == git(root, "rev-parse", "HEAD")

    def test_of_a_fresh_git_repository_keeps_its_branch(self, tmp_path: Path, git: Git) -> None:
        git(tmp_path, "init", "-q", "-b", "trunk", "r")
        made = init(tmp_path / "r")
        assert git(made.root, "symbolic-ref", "HEAD") == "refs/heads/trunk"
        assert parse_config((made.root / CONFIG).read_text()).approval_branch == "trunk"
        assert made.commit == git(made.root, "rev-parse", "HEAD")

    def test_for_a_team_asks_for_two_people(self, tmp_path: Path) -> None:
        root = init(tmp_path / "r", team=True).root
        text = (root / CONFIG).read_text()
        assert parse_config(text).approval_distinct
        assert text.count("\n") == (template_dir() / CONFIG).read_text().count("\n")
        assert "approval.distinct" in "".join(init(root, team=True).notes)

    @pytest.mark.usefixtures("nobody")
    def test_waits_with_the_commit_until_git_knows_who_we_are(
        self, tmp_path: Path, hermetic: Path, git: Git
    ) -> None:
        made = init(tmp_path / "r", with_starters=True)
        assert (made.created, made.commit) == (True, None)
        assert "user.name" in "".join(made.notes)
        assert "rules" not in git(made.root, "for-each-ref")
        (hermetic / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.com\n")
        again = init(tmp_path / "r", with_starters=True)
        assert again.commit == git(made.root, "rev-parse", "HEAD")
        assert "refs/heads/rules/" in git(made.root, "for-each-ref")
        assert git(made.root, "status", "--short") == ""


class TestAFullFolder:
    def test_is_committed_as_it_is(self, full: Path, git: Git) -> None:
        before = contents(full)
        made = init(full)
        assert {name: data for name, data in contents(full).items() if name in before} == before
        assert set(made.added) == {CONFIG, ".gitattributes", ".gitignore"}
        assert made.adopted == len(before)
        assert all(name in "".join(made.notes) for name in made.added)
        assert git(full, "status", "--short") == ""
        assert git(full, "rev-list", "--count", "HEAD") == "1"
        for name, data in before.items():
            assert git(full, "cat-file", "-s", f"HEAD:{name}") == str(len(data))

    @pytest.mark.parametrize("autocrlf", ["true", "input", "false"])
    def test_with_crlf_files_is_not_normalised_by_anything(
        self, full: Path, git: Git, hermetic: Path, autocrlf: str
    ) -> None:
        with (hermetic / ".gitconfig").open("a") as config:
            config.write(f"[core]\n\tautocrlf = {autocrlf}\n\tsafecrlf = true\n")
        before = contents(full)
        init(full)
        (full / "notes.md").touch()
        git(full, "add", "--renormalize", ".")
        assert git(full, "status", "--short") == ""
        assert contents(full).items() >= before.items()
        git(full, "clone", "-q", str(full), str(full.parent / "clone"))
        assert contents(full.parent / "clone").items() >= before.items()

    def test_keeps_its_own_attributes_and_ignores(self, full: Path, git: Git) -> None:
        for name, text in (
            (".gitattributes", "*.md diff\n"),
            (".gitignore", "private/\n"),
            ("private/a.md", "dear\n"),
        ):
            put_file(full / name, text)
        made = init(full)
        assert made.added == (CONFIG,)
        assert (full / ".gitattributes").read_text() == "*.md diff\n"
        assert "private/a.md" not in git(full, "ls-files")

    def test_leaves_a_repository_inside_it_alone(self, full: Path, git: Git) -> None:
        git(full, "init", "-q", "other")
        (full / "other" / "x.md").write_text("x\n")
        init(full)
        assert "other" not in git(full, "ls-files")


class TestARepositoryThatIsThere:
    def test_gets_one_commit_of_our_files_and_keeps_what_was_staged(
        self, git_repo: Path, git: Git
    ) -> None:
        (git_repo / "README.md").write_text("# Edited\n")
        (git_repo / "new.md").write_text("# New\n")
        git(git_repo, "add", "new.md")
        made = init(git_repo)
        assert set(git(git_repo, "show", "--format=", "--name-only", "HEAD").split()) == set(
            made.added
        )
        assert git(git_repo, "status", "--short").split("\n") == ["M README.md", "A  new.md"]
        assert made.adopted == 0

    def test_in_the_middle_of_a_merge_gets_files_and_no_commit(
        self, git_repo: Path, git: Git
    ) -> None:
        in_a_merge(git, git_repo)
        head = git(git_repo, "rev-parse", "HEAD")
        made = init(git_repo)
        assert made.commit is None
        assert "commit" in "".join(made.notes)
        assert (git_repo / CONFIG).exists()
        assert git(git_repo, "rev-parse", "HEAD") == head
        assert (git_repo / ".git" / "MERGE_HEAD").exists()

    def test_without_a_branch_gets_files_and_no_commit(self, git_repo: Path, git: Git) -> None:
        git(git_repo, "switch", "-q", "--detach")
        assert init(git_repo).commit is None

    def test_that_is_bare_is_refused(self, tmp_path: Path, git: Git) -> None:
        git(tmp_path, "init", "-q", "--bare", "bare.git")
        before = contents(tmp_path / "bare.git")
        with pytest.raises(UnsupportedRepository):
            init(tmp_path / "bare.git")
        assert contents(tmp_path / "bare.git") == before


class TestAFolderOfABiggerRepository:
    def test_gets_files_and_neither_a_repository_nor_a_commit(
        self, git_repo: Path, git: Git
    ) -> None:
        head = git(git_repo, "rev-parse", "HEAD")
        made = init(git_repo / ".ai" / "reference")
        assert (made.created, made.commit) == (True, None)
        assert not (made.root / ".git").exists()
        assert git(git_repo, "rev-parse", "HEAD") == head
        assert git(git_repo, "diff", "--cached", "--name-only") == ""
        assert parse_config((made.root / CONFIG).read_text()).autocommit is None
        before = contents(made.root)
        assert (
            sorted(before)
            == sorted(made.added)
            == [".ai-lessons/config.yaml", ".gitattributes", ".gitignore"]
        )
        assert str(git_repo) in "".join(made.notes)
        assert not init(made.root).created
        assert contents(made.root) == before


class TestAPlaceThatCannotBe:
    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(Conflict, match="is a file"):
            init(tmp_path / "file")
        with pytest.raises(Conflict):
            init(tmp_path / "file" / "below")

    def test_the_folder_of_git_itself(self, git_repo: Path) -> None:
        with pytest.raises(Refused):
            init(git_repo / ".git" / "knowledge")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_that_may_not_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "closed").mkdir(mode=0o555)
        for path in (tmp_path / "closed", tmp_path / "closed" / "new"):
            with pytest.raises(StorageFailed):
                init(path)


class TestClone:
    def test_brings_the_repository_and_twice_leaves_it_alone(
        self, tmp_path: Path, git_repo: Path, git: Git
    ) -> None:
        made = clone(str(git_repo), tmp_path / "deep" / "clone")
        assert made.created
        assert made.commit == git(git_repo, "rev-parse", "HEAD")
        assert not clone(str(git_repo), tmp_path / "deep" / "clone").created

    def test_of_what_does_not_answer_says_what_git_said(self, tmp_path: Path) -> None:
        with pytest.raises(Unreachable, match="not cloned: ") as caught:
            clone(str(tmp_path / "nowhere"), tmp_path / "r")
        assert "git clone" in caught.value.hint

    def test_does_not_go_over_what_is_there(self, git_repo: Path, full: Path) -> None:
        before = contents(full)
        with pytest.raises(Conflict):
            clone(str(git_repo), full)
        assert contents(full) == before

    def test_takes_no_option_for_an_address(self, tmp_path: Path) -> None:
        with pytest.raises(Unreachable):
            clone("--upload-pack=touch ran", tmp_path / "r")
        assert not (tmp_path / "ran").exists()

    def test_of_an_empty_repository_says_so(self, tmp_path: Path, git: Git) -> None:
        git(tmp_path, "init", "-q", "--bare", "empty.git")
        assert "empty" in "".join(clone(str(tmp_path / "empty.git"), tmp_path / "r").notes)


def test_what_pip_compiled_inside_an_installed_template_is_no_part_of_it(tmp_path: Path) -> None:
    put_file(tmp_path / "git/scripts/__pycache__/tool.cpython-311.pyc", b"\xa7")
    (tmp_path / "git/scripts/tool.py").write_text("print()\n")
    assert list(read_template(tmp_path)) == ["git/scripts/tool.py"]

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_lessons.app import scaffold
from ai_lessons.errors import StorageFailed
from ai_lessons.git import hooks
from ai_lessons.git.hooks import HOOK_NAMES
from real_world import Git, put_file, put_program


def carried_out(job: str) -> Callable[[Path], str]:
    return lambda root: "\n".join(hooks.carry_out(root, scaffold.hooks_dir(), job))


install, uninstall, status = map(carried_out, ("install", "uninstall", "status"))


def folder(root: Path) -> dict[str, tuple[bytes, int]]:
    """Content and mode of every hook that git would see."""
    found = (path for path in (root / ".git" / "hooks").iterdir() if path.suffix != ".sample")
    return {path.name: (path.read_bytes(), path.stat().st_mode & 0o777) for path in found}


def write_hook(root: Path, text: str, mode: int = 0o755) -> Path:
    file = put_file(root / ".git/hooks/pre-commit", text)
    file.chmod(mode)
    return file


def test_a_repository_without_hooks_gets_ours_and_loses_them_without_a_trace(
    git_repo: Path,
) -> None:
    before = folder(git_repo)
    install(git_repo)
    assert set(folder(git_repo)) == set(HOOK_NAMES)
    assert all(mode & 0o111 for _, mode in folder(git_repo).values())
    assert status(git_repo).count(": installed") == 4
    uninstall(git_repo)
    assert folder(git_repo) == before
    assert status(git_repo).count("not installed") == 4


def test_where_our_program_is_gets_noted_unless_the_user_named_one(
    git_repo: Path, git: Git
) -> None:
    install(git_repo)
    noted = git(git_repo, "config", "ai-lessons.program")
    assert os.path.isabs(noted)
    assert os.access(noted, os.X_OK)
    uninstall(git_repo)
    assert git(git_repo, "config", "ai-lessons.program", check=False) == ""
    for named, kept in (("/bin/sh", "/bin/sh"), ("/gone/ai-lessons", noted)):
        git(git_repo, "config", "ai-lessons.program", named)
        install(git_repo)
        assert git(git_repo, "config", "ai-lessons.program") == kept


def test_a_merge_driver_of_the_users_stays_as_it_is(git_repo: Path, git: Git) -> None:
    git(git_repo, "config", "merge.ai-lessons.driver", "mine %A")
    told = "merge driver: left alone, it is another command"
    assert [told in job(git_repo) for job in (install, status, uninstall)] == [True, True, True]
    assert git(git_repo, "config", "merge.ai-lessons.driver") == "mine %A"


def test_what_else_the_user_says_of_the_merge_driver_stays(git_repo: Path, git: Git) -> None:
    git(git_repo, "config", "merge.ai-lessons.name", "mine")
    install(git_repo)
    assert "merge driver: removed" in uninstall(git_repo)
    assert git(git_repo, "config", "--get-regexp", r"^merge\.") == "merge.ai-lessons.name mine"


def test_settings_that_git_cannot_change_are_an_error(git_repo: Path) -> None:
    (git_repo / ".git/config.lock").touch()
    with pytest.raises(StorageFailed, match="git could not change its settings"):
        install(git_repo)


@pytest.mark.parametrize(
    "text",
    ["#!/bin/sh\necho mine\n", "#!/usr/bin/env bash\nset -eu\nexit $?", "#! /bin/sh -e\n\n\n"],
)
def test_a_hook_that_is_there_keeps_every_byte(git_repo: Path, text: str) -> None:
    file = write_hook(git_repo, text, 0o750)
    install(git_repo)
    assert file.read_bytes().startswith(
        text.partition("\n")[0].encode() + b"\n\n# >>> ai-lessons >>>\n"
    )
    uninstall(git_repo)
    assert folder(git_repo) == {"pre-commit": (text.encode(), 0o750)}


def test_lines_that_the_user_added_around_ours_stay(git_repo: Path) -> None:
    install(git_repo)
    file = git_repo / ".git" / "hooks" / "pre-commit"
    file.write_bytes(file.read_bytes() + b"echo added later\n")
    uninstall(git_repo)
    assert file.read_bytes() == b"#!/bin/sh\necho added later\n"


def test_a_part_of_an_older_version_is_replaced(git_repo: Path) -> None:
    older = "#!/bin/sh\necho mine\n\n# >>> ai-lessons >>>\nold\n# <<< ai-lessons <<<\ntail\n"
    file = write_hook(git_repo, older)
    assert "not the one of this version" in status(git_repo)
    assert "up to date" in install(git_repo)
    assert b"\nold\n" not in file.read_bytes()
    uninstall(git_repo)
    assert file.read_bytes() == b"#!/bin/sh\necho mine\ntail\n"


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        ("#!/usr/bin/env python3\nprint()\n", 0o755, "not a shell script"),
        ("\x7fELF", 0o755, "not a shell script"),
        ("#!/bin/sh\necho off\n", 0o644, "not a shell script that git runs"),
    ],
)
def test_a_hook_that_is_not_ours_to_change_is_left_alone_and_named(
    git_repo: Path, text: str, mode: int, reason: str
) -> None:
    write_hook(git_repo, text, mode)
    before = folder(git_repo)["pre-commit"]
    said = install(git_repo)
    assert reason in said
    assert "admin validate" in said
    assert folder(git_repo)["pre-commit"] == before
    uninstall(git_repo)
    assert folder(git_repo) == {"pre-commit": before}


def test_a_hook_that_is_a_link_is_left_alone(git_repo: Path) -> None:
    (git_repo / "tools.sh").write_text("#!/bin/sh\n")
    (git_repo / ".git" / "hooks").mkdir(exist_ok=True)
    (git_repo / ".git" / "hooks" / "pre-commit").symlink_to(git_repo / "tools.sh")
    assert "is a link" in install(git_repo)
    assert (git_repo / "tools.sh").read_text() == "#!/bin/sh\n"


def test_hooks_among_the_files_of_the_repository_are_left_alone(git_repo: Path, git: Git) -> None:
    (git_repo / ".husky" / "_").mkdir(parents=True)
    git(git_repo, "config", "core.hooksPath", ".husky/_")
    assert "core.hooksPath" in install(git_repo)
    assert list((git_repo / ".husky" / "_").iterdir()) == []
    assert folder(git_repo) == {}
    assert git(git_repo, "config", "core.hooksPath") == ".husky/_"


def test_a_part_of_a_bigger_repository_does_not_touch_its_hooks(git_repo: Path) -> None:
    root = scaffold.init(git_repo / "kb").root
    assert "--repo kb admin validate" in install(root)
    assert folder(git_repo) == {}


class TestWhatTheHooksDo:
    """The hooks run by git itself, with a program that only notes how it was called."""

    @pytest.fixture
    def repo(self, git_repo: Path, git: Git) -> Path:
        scaffold.init(git_repo)
        install(git_repo)
        git(
            git_repo, "config", "--unset", "ai-lessons.program"
        )  # so that the one on the path is called
        return git_repo

    @pytest.fixture
    def calls(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """An `ai-lessons` that writes its arguments, one call a line, and leaves with $FAKE_CODE."""
        put_program(
            tmp_path / "bin/ai-lessons",
            f'#!/bin/sh\necho "$*" >>{tmp_path}/calls\n[ "$5 $6" != "config get" ] || echo main\n'
            "env | grep ^GIT_DIR\nexit ${FAKE_CODE:-0}\n",
        )
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        (tmp_path / "calls").touch()
        return tmp_path / "calls"

    def commit(self, repo: Path, *options: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "commit", "-qm", "x", *options]
        return subprocess.run(command, cwd=repo, capture_output=True, text=True, check=False)

    def edit_and_commit(self, repo: Path) -> subprocess.CompletedProcess[str]:
        (repo / "README.md").write_text("# Changed\n")
        return self.commit(repo, "-a")

    def test_only_staged_entries_are_validated(self, repo: Path, calls: Path, git: Git) -> None:
        (repo / "a b.md").write_text("# A\n")
        (repo / "other.md").write_text("# Not staged\n")
        git(repo, "add", "a b.md")
        assert self.commit(repo).returncode == 0
        assert calls.read_text() == "--repo . admin validate -- a b.md\n"

    def test_a_client_with_another_search_path_finds_the_program_that_was_noted(
        self, repo: Path, calls: Path, git: Git, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        noted = put_program(
            calls.parent / "it's/ai-lessons", (calls.parent / "bin/ai-lessons").read_bytes()
        )
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        git(repo, "config", "ai-lessons.program", str(noted))
        (repo / "a b.md").write_text("# A\n")
        git(repo, "add", "a b.md")
        assert self.commit(repo).returncode == 0
        git(repo, "switch", "-qc", "topic")
        assert (
            calls.read_text()
            == "--repo . admin validate -- a b.md\n--repo . -q recall list --limit 1\n"
        )

    def test_all_of_commit_a_is_validated(self, repo: Path, calls: Path) -> None:
        assert self.edit_and_commit(repo).returncode == 0
        assert "README.md" in calls.read_text()

    @pytest.mark.usefixtures("calls")
    def test_an_invalid_entry_stops_the_commit(
        self, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAKE_CODE", "4")
        assert self.edit_and_commit(repo).returncode == 1
        assert self.commit(repo, "-a", "--no-verify").returncode == 0

    @pytest.mark.parametrize("code", ["1", "3", "70"])
    @pytest.mark.usefixtures("calls")
    def test_a_program_that_fails_does_not(
        self, repo: Path, monkeypatch: pytest.MonkeyPatch, code: str
    ) -> None:
        monkeypatch.setenv("FAKE_CODE", code)
        done = self.edit_and_commit(repo)
        assert (done.returncode, f"left with {code}" in done.stderr) == (0, True)

    def test_a_program_that_is_not_installed_does_not(
        self, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        without = [
            part
            for part in os.environ["PATH"].split(":")
            if not os.path.exists(f"{part}/ai-lessons")
        ]
        monkeypatch.setenv("PATH", ":".join(without))
        done = self.edit_and_commit(repo)
        assert (done.returncode, "not installed" in done.stderr) == (0, True)

    def test_a_commit_of_nothing_but_deletions_asks_nobody(
        self, repo: Path, calls: Path, git: Git
    ) -> None:
        git(repo, "rm", "-q", "README.md")
        assert self.commit(repo).returncode == 0
        assert calls.read_text() == ""

    @pytest.fixture
    def rule(self, repo: Path, git: Git, calls: Path) -> Path:  # noqa: ARG002  # asked before anything is committed
        """A rule on main, brought there past the hook."""
        file = put_file(repo / "jira" / "rules" / "über uns.md", "# Use X\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "--no-verify", "-m", "a rule")
        return file

    def test_a_rule_is_not_changed_directly_on_the_approval_branch(
        self, repo: Path, rule: Path, git: Git
    ) -> None:
        rule.write_text("# Use Y\n")
        done = self.commit(repo, "-a")
        assert done.returncode == 1
        assert "jira/rules/über uns.md" in done.stderr
        assert "ai-lessons contribute propose" in done.stderr
        assert self.commit(repo, "-a", "--no-verify").returncode == 0
        git(repo, "rm", "-q", str(rule))
        assert self.commit(repo).returncode == 1

    def test_it_is_on_any_other_branch(self, repo: Path, rule: Path, git: Git) -> None:
        git(repo, "switch", "-qc", "rules/R-8F3K2A-use-y")
        rule.write_text("# Use Y\n")
        assert self.commit(repo, "-a").returncode == 0

    @pytest.mark.parametrize("how", ["merge", "squash", "pick", "revert"])
    def test_it_may_come_from_a_branch_or_from_history(
        self, repo: Path, rule: Path, git: Git, how: str
    ) -> None:
        git(repo, "switch", "-qc", "topic")
        rule.write_text("# Use Y\n")
        git(repo, "commit", "-qam", "propose")
        git(repo, "switch", "-q", "main")
        if how == "revert":
            git(repo, "merge", "-q", "topic")
        begin = {
            "merge": ("merge", "-q", "--no-ff", "--no-commit", "topic"),
            "squash": ("merge", "-q", "--squash", "topic"),
            "pick": ("cherry-pick", "--no-commit", "topic"),
            "revert": ("revert", "--no-commit", "HEAD"),
        }
        git(repo, *begin[how])
        done = self.commit(repo)

        # a pick that is not committed at once leaves no sign of being one
        assert (done.returncode, "propose" in done.stderr) == (
            (1, True) if how == "pick" else (0, False)
        )

    def test_the_failure_of_a_hook_behind_ours_still_counts(self, git_repo: Path) -> None:
        scaffold.init(git_repo)
        write_hook(git_repo, "#!/bin/sh\nfalse\n")
        install(git_repo)
        assert self.edit_and_commit(git_repo).returncode == 1

    def test_a_switch_and_a_merge_refresh_and_keep_gits_exit_code(
        self, repo: Path, calls: Path, git: Git, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAKE_CODE", "70")
        git(repo, "switch", "-qc", "topic")
        git(repo, "commit", "-q", "--allow-empty", "-m", "topic")
        git(repo, "switch", "-q", "main")
        git(repo, "merge", "-q", "--no-ff", "-m", "merge", "topic")
        git(repo, "checkout", "-q", "--", "README.md")
        after_merge = "--repo . -q admin after-merge\n"
        assert calls.read_text() == "--repo . -q recall list --limit 1\n" * 2 + after_merge

    def test_our_own_calls_of_git_can_switch_them_off(
        self, repo: Path, calls: Path, git: Git, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AI_LESSONS_NO_HOOKS", "1")
        git(repo, "switch", "-qc", "topic")
        assert self.edit_and_commit(repo).returncode == 0
        assert calls.read_text() == ""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    "text", ["", "# Ours\r\n\r\nAlways a.", "# Ours\n\nAlways ä.\n", "Always", "a\r\nb\n"]
)
def test_our_part_of_a_file_is_written_as_the_file_is_and_leaves_no_trace(
    encoding: str, text: str
) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    before = (mark + text).encode(encoding)
    added = hooks.plan(before, "install", "One\nTwo").data
    assert added is not None
    whole = added.decode(encoding).removeprefix("\ufeff")
    assert whole.startswith(text)
    only_crlf = "\r\n" in text and text.count("\n") == text.count("\r\n")
    assert ("One\r\nTwo" in whole, whole.count("\ufeff")) == (only_crlf, 0)
    assert hooks.plan(added, "install", "One\nTwo").data == added
    changed = hooks.plan(added, "install", "Three").data
    assert changed is not None
    assert "Three" in changed.decode(encoding)
    assert (hooks.plan(changed, "uninstall", "").data or b"") in {
        before,
        before.removeprefix(mark.encode(encoding)),
    }

"""What waits, in six lines."""

import subprocess
from pathlib import Path

from interfaces.world import Run


def test_status_says_in_six_lines_what_waits_with_what_to_do(
    run: Run, knowledge: Path, proposal: str, tmp_path: Path
) -> None:
    rows = {row["name"]: row for row in run("status", "--json").json}
    assert list(rows) == ["repository", "writes", "proposals", "stale", "conflicts", "shared"]
    assert rows["proposals"]["detail"] == "1 wait for a person"
    assert rows["proposals"]["remedy"] == "ai-lessons admin review-rules"
    assert rows["stale"]["detail"] == "none speak of code that changed"
    assert rows["shared"]["detail"] == "not shared: this branch follows no remote branch"
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "hub.git"], check=True)
    for command in (["remote", "add", "origin", str(tmp_path / "hub.git")], ["push", "-qu", "origin", "main"]):
        subprocess.run(["git", *command], cwd=knowledge, check=True)
    assert run("add", "--title", "Otters", "--content", "They swim.").code == 0
    out = run("status").out
    assert "commits that others lack: 1, that are not here: 0" in out
    assert "-> ai-lessons sync" in out
    assert len([row for row in out.splitlines() if "->" not in row]) == 6


def test_a_repository_of_jj_is_told_what_helps_there(run: Run, knowledge: Path) -> None:
    subprocess.run(["git", "switch", "-q", "--detach"], cwd=knowledge, check=True)
    (knowledge / ".jj").mkdir()
    done = run("add", "--title", "Otters", "--content", "They swim.")
    assert "jj keeps HEAD detached; commit the files with jj" in done.err
    rows = {row["name"]: row for row in run("admin", "doctor", "--json").json}
    assert "of jj, which keeps HEAD detached" in rows["repository"]["detail"]
    assert rows["pending"]["remedy"] == rows["repository"]["remedy"]
    assert rows["repository"]["remedy"].startswith("commit the files with jj")


def test_a_worktree_whose_repository_moved_is_named_with_what_mends_it(
    run: Run, knowledge: Path, tmp_path: Path
) -> None:
    side, moved = tmp_path / "side", tmp_path / "moved"
    subprocess.run(["git", "worktree", "add", "-q", "-b", "side", side], cwd=knowledge, check=True)
    knowledge.rename(moved)
    done = run("--repo", side, "admin", "doctor")
    assert (done.code, f"git worktree repair {side}" in done.err, "admin init" in done.err) == (3, True, False)
    subprocess.run(["git", "worktree", "repair", side], cwd=moved, check=True, capture_output=True)
    assert run("--repo", side, "list", "--type", "lesson").code == 0

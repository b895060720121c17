"""What waits, in seven lines."""

from pathlib import Path

from ai_lessons.app.health import Stats
from ai_lessons.app.learned import Effect, Judged
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces.output import View
from interfaces.world import Run
from real_world import Git


def test_status_says_in_seven_lines_what_waits_with_what_to_do(
    run: Run, knowledge: Path, proposal: str, tmp_path: Path, git: Git
) -> None:
    rows = {row["name"]: row for row in run("status", "--json").json}
    assert list(rows) == [
        "repository",
        "writes",
        "meaning",
        "proposals",
        "stale",
        "conflicts",
        "shared",
    ]
    assert rows["meaning"]["detail"] == "the first search reads every entry"
    assert rows["proposals"]["detail"] == "1 waits for a person"
    assert rows["proposals"]["remedy"] == "ai-lessons admin review-rules"
    assert rows["stale"]["detail"] == "none speak of code that changed"
    assert rows["shared"]["detail"] == "not shared: this branch follows no remote branch"
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    git(knowledge, "remote", "add", "origin", str(tmp_path / "hub.git"))
    git(knowledge, "push", "-qu", "origin", "main")
    assert run("add", "--title", "Otters", "--content", "They swim.").code == 0
    out = run("status").out
    assert "commits to send: 1, to fetch: 0" in out
    assert "-> ai-lessons sync" in out
    assert len([row for row in out.splitlines() if "->" not in row]) == 7


def test_a_repository_of_jj_is_told_what_helps_there(run: Run, knowledge: Path, git: Git) -> None:
    git(knowledge, "switch", "-q", "--detach")
    (knowledge / ".jj").mkdir()
    done = run("add", "--title", "Otters", "--content", "They swim.")
    assert "jj keeps HEAD detached; commit the files with jj" in done.err
    rows = {row["name"]: row for row in run("admin", "doctor", "--json").json}
    assert "of jj, which keeps HEAD detached" in rows["repository"]["detail"]
    assert rows["pending"]["remedy"] == rows["repository"]["remedy"]
    assert rows["repository"]["remedy"].startswith("commit the files with jj")


def test_a_worktree_whose_repository_moved_is_named_with_what_mends_it(
    run: Run, knowledge: Path, tmp_path: Path, git: Git
) -> None:
    side, moved = tmp_path / "side", tmp_path / "moved"
    git(knowledge, "worktree", "add", "-q", "-b", "side", str(side))
    knowledge.rename(moved)
    done = run("--repo", side, "admin", "doctor")
    assert (done.code, f"git worktree repair {side}" in done.err, "admin init" in done.err) == (
        3,
        True,
        False,
    )
    git(moved, "worktree", "repair", str(side))
    assert run("--repo", side, "list", "--type", "lesson").code == 0


# --- feedback, parameters and what was left out, through the door: as text and as data ---


STATS = Stats(
    entries={}, projects=0, tags=0, files=0, unreadable=0, bytes=0, catalog_bytes=0, index_bytes=0, passages=0,
    vectors=0, pending=0, taken_away=0, commits_30_days=0, oldest=None, newest=None,
)  # fmt: skip


def test_stats_name_the_useful_and_the_effect_with_its_interval() -> None:
    told = STATS._replace(
        most_useful=(Judged("L-1", "Good \x1b[31mtitle", 3, 1, 0, 0.8),),
        least_useful=(Judged("L-2", "Bad", 0, 0, 2, 0.2),),
        damaged_events=2,
        ablation=Effect(120, 10, 0.083, -0.12, 0.25),
    )
    text = "\n\n".join(interfaces_text.learned(told, View()))
    assert "\x1b" not in text
    for part in (
        "Most useful:\n  [L-1] Good", "helpful 3, ignored 1, contradicted 0, confidence 0.80",
        "Least useful:\n  [L-2] Bad", "2 lines of event logs cannot be read",
        "by +8%\n  95 % interval -12% to +25%, from 120 sessions with and 10 without",
    ):  # fmt: skip
        assert part in text

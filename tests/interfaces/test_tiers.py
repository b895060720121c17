"""The programs where several tiers apply: what they read, where they write, and what they say of it."""

from pathlib import Path

import pytest

from interfaces.world import Run, run_inside
from real_world import Git, put_file


@pytest.fixture
def shop(
    hermetic: Path, git: Git, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    """A code repository with a project tier, of the enterprise acme; a user's repository; and that of acme."""
    monkeypatch.delenv("AI_LESSONS_REPO", raising=False)
    monkeypatch.setenv("AI_LESSONS_OFFLINE", "1")
    code = tmp_path / "shop"
    (code / "src").mkdir(parents=True)
    git(code, "init", "-q", "-b", "main")
    monkeypatch.chdir(code)
    acme = tmp_path / "acme"
    assert run("--repo", acme, "admin", "init", "--no-hooks").code == 0
    assert run("admin", "init", "--no-hooks").code == 0
    assert run("--tier", "project", "admin", "init", "--no-hooks").code == 0
    config = f'[enterprise.acme]\npath = "{acme}"\nsync_url = "https://git.example/acme.git"\n'
    put_file(hermetic / ".config/ai-lessons/config.toml", config)
    (code / ".ai-lessons.toml").write_text('enterprise = "acme"\n')
    for tier, colour in (("project", "blue"), ("user", "red"), ("enterprise:acme", "green")):
        title = f"Frobnicate widgets with the {colour} lever"
        assert (
            run(
                "--tier", tier, "contribute", "add-lesson", "--title", title, "--content", "Seen."
            ).code
            == 0
        )
    monkeypatch.chdir(code / "src")
    return code


def test_a_tier_that_is_named_is_searched_alone_and_the_path_of_an_entry_is_in_its_repository(
    shop: Path, run: Run, tmp_path: Path
) -> None:
    for tier in ("project", "user", "enterprise:acme"):
        found = run("--tier", tier, "recall", "search", "frobnicate widgets", "--json").json[
            "lessons"
        ]
        assert {one["tier"] for one in found} == {tier}
    assert run("recall", "list").out.count("lever") == 3, "of all tiers"
    listed = run("recall", "list", "--type", "lesson", "--json").json
    handles = {one["tier"]: one["handle"] for one in listed if "lever" in one["title"]}
    assert f"path: {tmp_path}/acme/" in run("recall", "show", handles["enterprise:acme"]).out
    assert "path: ~/.ai/reference/" in run("recall", "show", handles["user"]).out
    done = run("contribute", "update", handles["user"], "--title", "Frobnicate nothing")
    assert "path: ~/.ai/reference/" in done.out


def test_what_is_wrong_with_a_tier_is_a_note_beside_what_is_found(
    shop: Path, run: Run, hermetic: Path
) -> None:
    config = hermetic / ".config/ai-lessons/config.toml"
    config.write_text(
        '[enterprise.acme]\npath = "~/away"\nsync_url = "https://git.example/acme.git"\n'
    )
    done = run("recall", "list")
    assert done.code == 0
    assert f"ai-lessons admin init {hermetic}/away --from https://git.example/acme.git" in done.err
    (shop / ".ai-lessons.toml").write_text("enterprise = [\n")
    done = run("recall", "list")
    assert done.code == 0
    assert "lever" in done.out
    assert ".ai-lessons.toml: not valid TOML" in done.err


def test_the_hook_of_a_session_tells_what_all_tiers_know(shop: Path, run: Run) -> None:
    for tier in (
        "project",
        "user",
        "enterprise:acme",
    ):  # or now and then one is left out on purpose, to measure it
        assert run("--tier", tier, "admin", "config", "set", "events", "false").code == 0
    for one in run("recall", "list", "--type", "lesson", "--json").json:
        assert (
            run(
                "--tier", one["tier"], "contribute", "update", one["id"], "--applies-to", "src/a.py"
            ).code
            == 0
        )
    event = f'{{"hook_event_name": "PreToolUse", "session_id": "one", "cwd": "{shop}", "tool_name": "Read", '
    event += f'"tool_input": {{"file_path": "{shop}/src/a.py"}}}}'
    told = "".join(
        run_inside(["admin", "agent-hook"], shop, event).out for _ in range(2)
    )  # two at a time
    assert told.count(" lever") == 3
    assert "(project: lesson, not approved" in told
    assert "(enterprise:acme: lesson, not approved" in told

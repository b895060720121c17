"""`admin tiers`: which repositories apply here, and why."""

from pathlib import Path

import pytest

from interfaces.test_tiers import shop
from interfaces.world import Run

__all__ = ["shop"]

AWAY = '[enterprise.acme]\npath = "~/away"\nsync_url = "https://git.example/acme.git"\n'


def test_tiers_says_what_applies_and_why_and_how_to_mend_it(
    shop: Path, run: Run, hermetic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = run("admin", "tiers", "--json").json
    assert [(row["tier"], row["state"]) for row in rows] == [
        ("project", "writes"), ("user", "reads"), ("enterprise:acme", "reads"),
    ]  # fmt: skip
    text = run("admin", "tiers").out.splitlines()
    assert text[0].startswith(
        f"project          writes  {shop}/.ai/reference  (the nearest .ai/reference upward)"
    )
    assert text[1].startswith("user             reads   ~/.ai/reference  (the default)")
    config = hermetic / ".config/ai-lessons/config.toml"
    config.write_text(AWAY)
    assert "→ ai-lessons admin init" in run("admin", "tiers").out
    monkeypatch.setenv("AI_LESSONS_CONFIG", str(tmp_path / "mine.toml"))
    (tmp_path / "mine.toml").write_text("")
    assert f"→ in {tmp_path}/mine.toml: [enterprise.acme]" in run("admin", "tiers").out


def test_an_agent_changes_no_policy(
    run: Run, knowledge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("admin", "config", "set", "governance.outbound_policy", "allow_all")
    monkeypatch.setenv("AI_LESSONS_AGENT", "some agent")
    refused = run(*words)
    assert refused.code == 8
    assert "a person" in refused.err
    monkeypatch.delenv("AI_LESSONS_AGENT")
    assert run(*words).code == 0

"""The replay of `bench.rot` counts what a small history changes."""

import random
from pathlib import Path

import pytest
from bench import rot

from ai_lessons.app import setup

SHOP = "def price(a):\n    return a + {tax}\n\n\ndef total(a):\n    return price(a) * 2\n"
HISTORY = [
    {"shop.py": SHOP.format(tax=1)},
    {"notes.txt": "Nothing of the code.\n"},
    {"shop.py": "# Only a comment.\n" + SHOP.format(tax=1)},
    {"shop.py": SHOP.format(tax=2)},
    {"shop.py": SHOP.format(tax=2).partition("\n\n\n")[0] + "\n"},
]


def test_a_replay_of_five_commits_gives_an_alert_for_each_change_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rot, "BASES", 1)
    code, home = tmp_path / "shop", tmp_path / "home"
    code.mkdir()
    home.mkdir()
    rot.git(code, "init", "-q")
    for files in HISTORY:
        for name, text in files.items():
            (code / name).write_text(text)
        rot.git(code, "add", "-A")
        rot.git(
            code, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "Change"
        )
    setup.init_repository(home / "knowledge", rot.options(home, home))
    counts = [rot.replay(code, home, random.Random(n)) for n in (1, 2)]  # noqa: S311
    assert counts[0] == counts[1]
    assert counts[0].looks > counts[0].changes
    assert counts[0].alerts == counts[0].right == counts[0].changes == 2

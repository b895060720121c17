"""docs/first-hour.md as a newcomer types it: in a shell on a real terminal, from an empty home, line by line.

Installing is the one step that is not done anew: the programs are those of this environment, and `test_packaging.py`
installs the built wheel. `test_docs.py` compares every line that is printed; here it is what the page shows at all.
"""

import os
import re
from pathlib import Path

import pexpect
import pytest

from docs_world import Session, ids, shape, steps
from interfaces.world import environment

PAGE = (Path(__file__).parents[1] / "docs/first-hour.md").read_text(encoding="utf-8")
MOST_COMMANDS = 20
PROMPT = "done [0-9]+: "


def test_the_first_hour_takes_at_most_twenty_commands_and_names_every_step() -> None:
    installing = re.findall(r"^pipx install .*$", PAGE, re.MULTILINE)
    assert len(installing) == 1
    assert len(steps(PAGE)) + len(installing) <= MOST_COMMANDS
    order = (
        "install",
        "repository",
        "lesson",
        "search",
        "agents",
        "rule",
        "second clone",
        "agents were told",
    )
    headings = re.findall(r"^## \d\. (.*)$", PAGE, re.MULTILINE)
    assert [step in heading.lower() for step, heading in zip(order, headings, strict=True)] == [
        True
    ] * len(order)


def test_a_newcomer_types_the_page_on_a_terminal_in_an_empty_home(
    hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hermetic / ".gitconfig").unlink()
    reader = Session(hermetic, monkeypatch, tuple)
    reader.begin()
    assert os.listdir(hermetic) == []
    shell = pexpect.spawn(
        "bash", ["--norc", "--noprofile"], env=environment(TERM="xterm", PS1="done $?: "),
        encoding="utf-8", timeout=180, dimensions=(50, 200), echo=False,
    )  # fmt: skip
    with shell:
        shell.expect(PROMPT)
        for step in steps(PAGE):
            shell.sendline(reader.real(step.command))
            shell.expect(PROMPT)
            printed = reader.told(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", str(shell.before)))
            assert shell.after == "done 0: ", (step.command, printed)
            for line in step.shown or []:
                same = [one for one in printed if shape(one) == shape(line)]
                assert same or line.strip() == "…", (step.command, line, printed)
                assert reader.learn([(line, one) for one in same[:1] if ids(line)]) == ""

"""The tasks of a first day, each as `--help` suggests it, in an empty home: how many commands and errors they take."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS_BAR, ERRORS_BAR = 24, 0
COMPANY_COMMANDS_BAR, COMPANY_SECONDS_BAR = 1, 15.0

NOTES = "# Git worktrees share one stash\n\nA pop in one of them may apply what was stashed in another. Stash by NAME.\n"
SCRIPT = '#!/bin/sh\n# Counts the files below a folder\nfind "${1:-.}" -type f | wc -l\n'
CURSOR = (
    "---\ndescription: Python style\nglobs: *.py\nalwaysApply: false\n---\n- Type every function.\n"
)
HOOK = '{"hook_event_name": "SessionStart", "source": "startup", "session_id": "first"}'
SHELL, STOPS = "$ ", "! "
"""Before what is typed at a shell beside our program, which is done and not counted; and before what has to fail."""

TASKS = {
    "hosts connected; a lesson from a file, found in other words, edited": """\
admin init --hosts --yes
add notes.md
search "popping in another checkout takes the wrong changes"
edit "git worktrees share one stash"
""",
    "docs at two versions, one version asked": """\
contribute add-resource v1 v2 --recursive --version auto --project handbook
search "how often does the client retry" --version 1
""",
    "a script added and run": """\
contribute add-resource count.sh
run count.sh -- v1
""",
    "a rule suggested and approved": """\
contribute suggest-rule --title "Stash by name" --rationale "Worktrees share one stash" --approve --yes
""",
    "a clone shared, a conflict settled": """\
$ git init -q --bare -b main hub.git && git -C .ai/reference remote add origin ~/hub.git
sync
admin init colleague --from ~/hub.git
--repo colleague contribute update "git worktrees share one stash" --content "Theirs."
--repo colleague sync
contribute update "git worktrees share one stash" --content "Mine."
! sync
admin conflicts --take mine
""",
    "undo": """\
add --title "A try" --content "Nothing."
undo
""",
    "CLAUDE.md and Cursor rules in, AGENTS.md out": """\
admin import CLAUDE.md .cursor/rules
admin export AGENTS.md
""",
    "harvest": "contribute harvest",
    "what agents were told": f"$ echo {shlex.quote(HOOK)} | PROGRAM admin agent-hook\nrecall why-told\n",
    "stale things": "review",
    "a new machine": "admin init new-machine --from ~/hub.git",
}


def transcript(session: str) -> str:
    """A session of an agent in which a command failed and another worked."""
    rows = []
    for command, output, failed in (
        ("python x.py", "SyntaxError: invalid syntax", True),
        ("python3 x.py", "3", False),
    ):
        use = {"type": "tool_use", "id": command, "name": "Bash", "input": {"command": command}}
        result = {
            "type": "tool_result",
            "tool_use_id": command,
            "content": output,
            "is_error": failed,
        }
        rows += [
            {"type": "assistant", "message": {"content": [use]}},
            {"type": "user", "message": {"content": [result]}},
        ]
    stamps = {"sessionId": session, "cwd": "/srv/shop", "timestamp": "2026-11-01T10:00:00.000Z"}
    return "".join(json.dumps(row | stamps) + "\n" for row in rows)


def prepare(home: Path) -> None:
    """What the newcomer has: notes, pages, a script, instructions of hosts, past sessions."""
    texts = {
        "notes.md": NOTES, "count.sh": SCRIPT, "CLAUDE.md": "# Style\n\n- Use tabs.\n", ".cursor/rules/py.mdc": CURSOR,
        "v1/retries.md": "# Retries\n\nThe client retries once.\n", "v2/retries.md": "# Retries\n\nIt retries twice.\n",
        **{f".claude/projects/shop/{name}.jsonl": transcript(name) for name in ("s1", "s2", "s3")},
        ".gitconfig": "[user]\n\tname = Ada Example\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n",
    }  # fmt: skip
    for name, text in texts.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)


def typed_at(line: str, home: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a line as a shell does."""
    words = ["/bin/sh", "-c", line]
    return subprocess.run(
        words,
        cwd=home,
        env=env,
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


ADMINISTRATORS = """
[enterprise.acme]
sync_url = "{hub}"
owners = ["forge.example/acme"]
"""
# The program on a machine whose administrators placed this file; who runs this counts as root
ON_A_MANAGED_MACHINE = """
import os, sys
from pathlib import Path
from ai_lessons import settings
from ai_lessons.features.company import administrators
settings.ADMINISTRATORS = Path(sys.argv.pop(1))
administrators.PLACERS = frozenset({0, os.getuid()})
from ai_lessons.__main__ import main
main()
"""
RULE = "Send a cart whole"
AS_CURATOR = f"""\
PROGRAM admin init curator
PROGRAM --repo curator contribute suggest-rule --title "{RULE}" --rationale "PUT replaces it" --approve --yes
git clone -q --bare curator hub.git
git init -q shop
git -C shop remote add origin git@forge.example:acme/shop.git
"""
AS_EMPLOYEE = ("sync",)


def company(env: Mapping[str, str], *, verbose: bool) -> tuple[int, float]:
    """Commands that a new employee types, and the seconds from the first until an agent is told a rule."""
    with tempfile.TemporaryDirectory(prefix="newcomer-company-") as folder:
        home = Path(folder)
        prepare(home)
        file = home / "etc/config.toml"
        file.parent.mkdir(mode=0o755)
        file.write_text(ADMINISTRATORS.format(hub=home / "hub.git"))
        program = shlex.join([sys.executable, "-P", "-c", ON_A_MANAGED_MACHINE, str(file)])
        env = dict(env) | {"HOME": folder, "AI_LESSONS_OFFLINE": "1"}
        for row in AS_CURATOR.splitlines():
            done = typed_at(row.replace("PROGRAM", program), home, env)
            if done.returncode:
                raise SystemExit(f"$ {row}\n{done.stdout}{done.stderr}")
        began = time.monotonic()
        for row in AS_EMPLOYEE:
            done = typed_at(f"{program} {row}", home / "shop", env)
            if verbose or done.returncode:
                print(f"$ {row}\n{done.stdout}{done.stderr}")
        told = typed_at(
            f"echo {shlex.quote(HOOK)} | {program} admin agent-hook", home / "shop", env
        )
        seconds = time.monotonic() - began
        typed_at(f"{program} admin warm stop", home, env)
        if RULE not in told.stdout:
            raise SystemExit(f"no rule was told: {told.stdout}{told.stderr}")
        return len(AS_EMPLOYEE), seconds


def main() -> int:
    """Play the tasks and print both counts; 1 if one is over its bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show what each command prints"
    )
    verbose = parser.parse_args().verbose
    commands = errors = 0
    with tempfile.TemporaryDirectory(prefix="newcomer-") as folder:
        home = Path(folder)
        prepare(home)
        cache = os.environ.get("XDG_CACHE_HOME", str(Path("~/.cache").expanduser()))
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AI_LESSONS", "XDG", "GIT_"))
        }
        env = kept | {"HOME": folder, "XDG_CACHE_HOME": cache, "EDITOR": "sed -i s/NAME/label/"}
        program = f"{shlex.quote(sys.executable)} -P -m ai_lessons"
        for task, typed in TASKS.items():
            before = commands, errors
            for row in typed.splitlines():
                ours = not row.startswith(SHELL)
                line = (
                    f"{program} {row.removeprefix(STOPS)}"
                    if ours
                    else row.removeprefix(SHELL).replace("PROGRAM", program)
                )
                done = typed_at(line, home, env)
                commands += ours
                errors += ours and (done.returncode != 0) != row.startswith(STOPS)
                if verbose or (not ours and done.returncode):
                    print(f"$ {row}\n{done.stdout}{done.stderr}")
            print(f"{task}: {commands - before[0]} commands, {errors - before[1]} errors")
        typed_at(f"{program} admin warm stop", home, env)
    commands_typed, seconds = company(env, verbose=verbose)
    print(
        f"a new employee: {commands_typed} command (at most {COMPANY_COMMANDS_BAR}), the first rule is told after "
        f"{seconds:.1f} s (at most {COMPANY_SECONDS_BAR:.0f})"
    )
    print(
        f"together {commands} commands (at most {COMMANDS_BAR}), {errors} errors (at most {ERRORS_BAR})"
    )
    late = commands_typed > COMPANY_COMMANDS_BAR or seconds > COMPANY_SECONDS_BAR
    return int(commands > COMMANDS_BAR or errors > ERRORS_BAR or late)


if __name__ == "__main__":
    sys.exit(main())

"""A page to look at: the program itself serves a repository, and a real browser opens it."""

import http.client
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlencode

from interfaces.world import FILES, PROGRAM, PROPOSAL, environment
from real_world import AGENTS, put_file

HOSTILE = "01JD3Z8QK5W7M2X9V4T6HSTKE1"
START, SETUP = "01JD3Z8QK5W7M2X9V4T6START1", "01JD3Z8QK5W7M2X9V4T6SETP11"
FILLER = "Nothing of interest is said here. " * 120
MANUAL = "01JD3Z8QK5W7M2X9V4T6MANA11"
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
HEBREW = "\u05d0\u05d1\u05d2 "
EVIL = "<script>document.title='taken'</script>"
MORE = {
    "jira-api/lessons/2026-11/hostile-hstke1.md": f"""---
id: {HOSTILE}
kind: lesson
title: "\u202eevil {EVIL}"
tags: ["<b>bold</b>"]
project: jira-api
created: 2026-11-22T10:00:00Z
---
{EVIL} <img src=x onerror="document.title='taken'">

[one](javascript:document.title='taken') [two](data:text/html,taken) [three](https://example.com/)
![picture](https://example.com/seen.png)

<a href="javascript:document.title='taken'" style="position:fixed">four</a>

{HEBREW * 40_000}
""",
    "guide/docs/2.0/manual.md": f"""---
id: {MANUAL}
kind: doc
title: Manual
created: 2026-11-22T10:00:00Z
---
What it is.

# Limits

{FILLER}

# Webhooks

A webhook that fails has `5` retries: the retries of webhooks come an hour apart. {FILLER}

# Billing

By the hour.
""",
    "guide/docs/2.0/start.md": f"""---
id: {START}
kind: doc
title: Where to start
created: 2026-11-22T10:00:00Z
---
[setup](parts/setup.md#install-it-first) [root](/parts/setup/) [here](#the-end) [page](https://example.com/2.0/old.html)
[gone](parts/nowhere.md) [web](https://example.com/)

# The end
""",
    "guide/docs/2.0/parts/setup.md": f"""---
id: {SETUP}
kind: doc
title: Set up
source_url: https://example.com/2.0/old
created: 2026-11-22T10:00:00Z
---
[back](../start) [beside](other.html)

## Install it, *first*
""",
}


def proposal(end: str, title: str) -> dict[str, str]:
    """A rule on a branch of its own that waits for a person."""
    ((path, text),) = PROPOSAL.items()
    text = text.replace("5N1QTC", end).replace("GET a workflow before you PUT it", title)
    return {path.replace("5n1qtc", end.lower()): text}


@dataclass
class Served:
    """A page that is served: its address with the secret, and the folder of its repository."""

    address: str
    program: subprocess.Popen[str]
    repo: Path
    environ: Mapping[str, str]
    args: Sequence[str]

    @property
    def base(self) -> str:
        """The address without the slash at its end."""
        return self.address.removesuffix("/")

    @property
    def origin(self) -> str:
        return self.base.rpartition("/")[0]

    @property
    def secret(self) -> str:
        return self.base.rpartition("/")[2]

    def ask(
        self,
        path: str,
        sent: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
        base: str = "",
    ) -> tuple[int, str, dict[str, str]]:
        """One request below the secret, or below another `base`."""
        line = http.client.HTTPConnection(self.origin.removeprefix("http://"), timeout=30)
        address = (base or self.base).removeprefix(self.origin) + path
        body = None if sent is None else urlencode(sent)
        line.request("GET" if body is None else "POST", address, body, dict(headers))
        answer = line.getresponse()
        found = (
            answer.status,
            answer.read().decode(),
            {name.lower(): value for name, value in answer.getheaders()},
        )
        line.close()
        return found

    def stop(self) -> None:
        self.program.terminate()
        self.program.wait(20)
        assert self.program.stdout
        self.program.stdout.close()

    def start_again(self) -> None:
        """The same page, once it was stopped."""
        self.address, self.program = _started(self.environ, self.repo.parent, self.args)


def serve(folder: Path, *args: str) -> Served:
    """A repository with entries of each kind, a hostile one and three proposals, and the program that serves it."""
    repo, home = folder / "repo", folder / "home"
    put_file(home / ".gitconfig", "[user]\n\tname = Test Person\n\temail = person@example.com\n")
    left_out = [
        name
        for name in os.environ
        if name.startswith(("GIT_", "XDG_", "AI_LESSONS_")) or name in AGENTS
    ]
    more = {
        "HOME": str(home),
        "AI_LESSONS_OFFLINE": "1",
        "AI_LESSONS_WARM": "0",
        "AI_LESSONS_REPO": str(repo),
    }
    environ = {name: value for name, value in environment().items() if name not in left_out} | more

    def git(*args: str) -> None:
        subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, env=environ)

    def put(files: dict[str, str]) -> None:
        for name, text in files.items():
            put_file(repo / name, text)

    repo.mkdir()
    git("init", "-qb", "main")
    put({**FILES, **MORE})
    git("add", "-A")
    git("commit", "-qm", "knowledge")
    for end, title in (
        ("5N1QTC", "GET before PUT"),
        ("5N1QTD", "PUT twice"),
        ("5N1QTE", "Never PUT"),
    ):
        git("switch", "-qc", f"rules/R-{end}-{title.lower().replace(' ', '-')}", "main")
        put(proposal(end, title))
        git("add", "-A")
        git("commit", "-qm", "Propose rule")
    git("switch", "-q", "main")
    return Served(*_started(environ, folder, args), repo, environ, args)


def _started(
    environ: Mapping[str, str], folder: Path, args: Sequence[str]
) -> tuple[str, subprocess.Popen[str]]:
    command = [*PROGRAM, "look", "--no-browser", *args]
    program = subprocess.Popen(command, env=environ, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert program.stdout
    return program.stdout.readline().strip(), program

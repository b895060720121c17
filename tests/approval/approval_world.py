"""A small world for the tests of approval: a hub, clones, people and agents, and the git program doing everything."""

import atexit
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from ai_lessons.approval.signatures import PinnedSigners
from ai_lessons.approval.state import derive
from ai_lessons.git.worktree import locate
from ai_lessons.model.approval import BranchView, Verdict

RULE = "01JD3Z8QK5W7M2X9V4T68F3K2A"
OTHER = "01JD3Z8QK5W7M2X9V4T6ZZZZZZ"
PATH = "jira/rules/use-x-8f3k2a.md"
OTHER_PATH = "jira/rules/other-zzzzzz.md"
MAIN = "refs/heads/main"
BRANCH = "rules/R-8F3K2A-use-x"
OTHER_BRANCH = "rules/R-ZZZZZZ-other"

Who = tuple[str, str]
AGENT: Who = ("Agent", "agent@x")
HUMAN: Who = ("Human", "human@x")
SECOND: Who = ("Second", "second@x")
GITHUB: Who = ("GitHub", "noreply@github.com")


def text(words: str, rule: str = RULE) -> str:
    return f"---\nid: {rule}\nkind: rule\ntitle: Use X\nrationale: because\n---\n{words}\n"


@dataclass
class Clone:
    """One clone; `run` is git there as some person, with a clock that ticks a minute for every command.

    `keys` by address: people whose git signs their commits.
    """

    root: Path
    clock: list[int] = field(default_factory=lambda: [1_760_000_000])
    keys: dict[str, Path] = field(default_factory=dict)

    def run(
        self, *arguments: str, by: Who = HUMAN, committer: Who | None = None, ok: bool = True
    ) -> str:
        self.clock[0] += 60
        environment = os.environ | {"GIT_EDITOR": "true"}
        for role, (name, email) in (("AUTHOR", by), ("COMMITTER", committer or by)):
            environment |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": email}
            environment[f"GIT_{role}_DATE"] = f"{self.clock[0]} +0000"
        if key := self.keys.get((committer or by)[1]):
            settings = ("gpg.format=ssh", f"user.signingkey={key}", "commit.gpgsign=true")
            arguments = (*(part for one in settings for part in ("-c", one)), *arguments)
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if ok and done.returncode:
            raise AssertionError(
                f"git {arguments} -> {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done.stdout.strip()

    def write(self, path: str, content: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def commit(
        self,
        message: str,
        files: Mapping[str, str | None],
        by: Who = HUMAN,
        committer: Who | None = None,
    ) -> str:
        for path, content in files.items():
            if content is None:
                (self.root / path).unlink()
            else:
                self.write(path, content)
        self.run("add", "-A")
        self.run("commit", "-q", "--allow-empty", "-m", message, by=by, committer=committer)
        return self.head()

    def has_key(self, by: Who = HUMAN) -> str:
        """From now on this person signs; the line for the list of signers."""
        key = self.root.with_name(f"key-{by[0]}")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        self.keys[by[1]] = key
        return f"{by[1]} {key.with_suffix('.pub').read_text()}"

    def pinned(self, *lines: str) -> PinnedSigners:
        """The signers of main, with this list pinned in a folder beside the clone; without lines as it is."""
        worktree, folder = locate(self.root), self.root.with_name("user")
        signers = PinnedSigners(
            worktree, MAIN, folder, lambda: datetime.fromtimestamp(self.clock[0], UTC)
        )
        if lines:
            signers.pin("".join(lines).encode())
        return signers

    def head(self, name: str = "HEAD") -> str:
        return self.run("rev-parse", name)

    def other_work(self, by: Who = HUMAN) -> None:
        self.commit(
            "Add lesson: something",
            {f"jira/lessons/2026-01/{self.clock[0]}.md": f"{self.clock[0]}\n"},
            by,
        )

    def propose(
        self,
        files: Mapping[str, str | None] | None = None,
        *,
        branch: str = BRANCH,
        by: Who = AGENT,
        base: str = "main~1",
        message: str = "Propose rule: Use X",
    ) -> str:
        """A proposal branch, as `suggest-rule` makes it: one commit, based behind the tip."""
        self.run("switch", "-q", "-c", branch, base)
        made = self.commit(message, {PATH: text("Use X")} if files is None else files, by)
        self.run("switch", "-q", "main")
        return made

    def merge(
        self,
        *branches: str,
        by: Who = HUMAN,
        message: str | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        self.run(
            "merge",
            "-q",
            *(("-m", message) if message else ("--no-edit",)),
            *options,
            *branches,
            by=by,
        )

    def squash(
        self,
        branch: str = BRANCH,
        message: str = "Use X",
        by: Who = HUMAN,
        committer: Who | None = None,
    ) -> None:
        self.run("merge", "-q", "--squash", branch)
        self.run("commit", "-q", "-m", message, by=by, committer=committer)

    def approved(self, words: str = "Use X", by: Who = HUMAN, branch: str = BRANCH) -> None:
        """A rule proposed by the agent and merged by a person."""
        self.propose({PATH: text(words)}, branch=branch)
        self.merge(branch, by=by)
        self.run("branch", "-D", branch)

    def view(self, ref: str = "refs/heads/main") -> BranchView:
        return derive(locate(self.root), ref)

    def verdict(self, rule: str = RULE, ref: str = "refs/heads/main") -> Verdict | None:
        return self.view(ref).verdicts.get(rule)

    def served(self, rule: str = RULE, ref: str = "refs/heads/main") -> str | None:
        """The words in force."""
        verdict = self.verdict(rule, ref)
        if verdict is None or verdict.blob is None:
            return None
        return self.run("cat-file", "blob", verdict.blob).splitlines()[-1]


@dataclass
class World:
    """The hub and whoever cloned it."""

    folder: Path
    clock: list[int] = field(default_factory=lambda: [1_760_000_000])

    def clone(self, name: str) -> Clone:
        subprocess.run(
            ["git", "clone", "-q", "hub.git", name],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )
        return Clone(self.folder / name, self.clock)


@cache
def _made_once() -> tuple[Path, int]:
    """The hub and clone that every test gets a copy of, and what time it is then."""
    folder = Path(mkdtemp(prefix="approval-world-"))
    atexit.register(shutil.rmtree, folder)
    subprocess.run(["git", "init", "-q", "--bare", "hub.git"], cwd=folder, check=True)
    first = World(folder).clone("mine")
    first.run("switch", "-q", "-C", "main")
    first.commit("first", {"README.md": "knowledge\n"})
    first.commit("second", {"jira/lessons/2026-01/a.md": "a\n"})
    first.run("push", "-q", "-u", "origin", "main")
    return folder, first.clock[0]


def world(folder: Path) -> tuple[World, Clone]:
    """A hub with two commits on main, and the first clone of it."""
    pattern, now = _made_once()
    shutil.copytree(pattern, folder, symlinks=True, dirs_exist_ok=True)
    made = World(folder, [now])
    first = Clone(folder / "mine", made.clock)
    first.run("remote", "set-url", "origin", str(folder / "hub.git"))
    return made, first

"""Two people, two code projects, two companies, with a home folder of each person.

Ann and Bo work on `shop`, which is acme's, and on `lab`, which is beta's; Bo is the curator of both
companies.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from interfaces.world import Outcome, environment, run_inside

HOST = "https://git.example/"
"""Where the remotes seem to be: each person's git knows that it is a folder."""


CODE = "Run it:\n\n```sh\nmake release\n```\n"


WHY = (
    "--when",
    "a widget is frobnicated",
    "--do",
    "count to three",
    "--because",
    "it blinks",
    "--source",
    "tested",
)


@dataclass(frozen=True)
class Person:
    """Somebody at a machine of their own."""

    home: Path

    @property
    def _environ(self) -> dict[str, str]:
        return {"HOME": str(self.home), "AI_LESSONS_OFFLINE": "1", "NO_COLOR": "1", "GIT_CONFIG_NOSYSTEM": "1",
                "AI_LESSONS_WARM": "0"}  # fmt: skip

    def ours(self, at: str, *words: str, code: int = 0, stdin: str = "") -> Outcome:
        """Run `ai-lessons` in a folder of theirs."""
        done = run_inside(words, self.home / at, stdin, **self._environ)
        assert done.code == code, f"{words} -> {done.code}\n{done.out}{done.err}"
        return done

    def data(self, at: str, *words: str) -> Any:
        """The same, as data."""
        return self.ours(at, "--json", *words).json

    def git(self, at: str, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.home / at, env=environment(**self._environ), capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"git {words}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def add(
        self, at: str, title: str, *more: str, content: str = "Seen twice.", tier: str = ""
    ) -> Any:
        """Add a lesson; the data of the answer."""
        chosen = ("--tier", tier) if tier else ()
        return self.data(
            at, *chosen, "contribute", "add-lesson", "--title", title, "--content", content, *more
        )

    def promote(self, at: str, handle: str, to: str, *more: str) -> Any:
        return self.data(at, "contribute", "promote", handle, "--to", to, *more)

    def finds(self, at: str, words: str, *more: str) -> dict[str, str]:
        """Titles of the lessons that a search brings, with the tier of each."""
        found = self.data(at, *more, "recall", "search", words)["lessons"]
        return {one["title"]: one["tier"] for one in found}

    def titles(self, at: str, *more: str) -> dict[str, str]:
        """Titles of all entries, with the tier of each."""
        return {one["title"]: one["tier"] for one in self.data(at, *more, "recall", "list")}

    def sync(self, *companies: str) -> str:
        return "".join(
            self.ours(company, "--repo", ".", "admin", "sync").out for company in companies
        )

    def handle(self, at: str, title: str, *more: str) -> str:
        found: str = next(
            x["handle"] for x in self.data(at, *more, "recall", "list") if x["title"] == title
        )
        return found


@dataclass(frozen=True)
class World:
    folder: Path

    @property
    def ann(self) -> Person:
        return Person(self.folder / "ann")

    @property
    def bo(self) -> Person:
        return Person(self.folder / "bo")

    def settle(self) -> None:
        """Tell both people's git where the remotes are now."""
        for name in ("ann", "bo"):
            home = self.folder / name
            home.mkdir(parents=True, exist_ok=True)
            (home / ".gitconfig").write_text(
                f"[user]\n\tname = {name.capitalize()} Example\n\temail = {name}@acme.example\n"
                "[init]\n\tdefaultBranch = main\n[pull]\n\trebase = false\n[gc]\n\tauto = 0\n"
                f'[url "file://{self.folder}/remotes/"]\n\tinsteadOf = {HOST}\n'
            )

    def policy(self, company: str, name: str, value: str) -> None:
        """The curator states a policy, and Ann has it."""
        self.bo.ours(company, "--repo", ".", "admin", "config", "set", f"governance.{name}", value)
        self.bo.git(company, "push", "-q")
        self.ann.git(company, "pull", "-q")

    def approve(self, company: str, handle: str) -> None:
        """What Ann proposed is shared, approved by Bo, and comes back to Ann; all by git, as one may."""
        self.decide(company, "approve-rule", handle, "--yes")

    def decide(self, company: str, *words: str) -> None:
        self.ann.git(company, "push", "-q", "--all")
        self.bo.git(company, "fetch", "-q")
        self.bo.ours(company, "--repo", ".", "admin", *words)
        self.bo.git(company, "push", "-q")
        self.ann.git(company, "pull", "-q")


def begin(person: Person, folder: str) -> None:
    """A repository with a word about it."""
    person.git("", "init", "-q", folder)
    (person.home / folder / "README.md").write_text("# Ours\n")
    person.git(folder, "add", ".")
    person.git(folder, "commit", "-q", "-m", "Start")
    person.ours("", "admin", "init", folder, "--no-hooks")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The world as everybody begins. Each repository has one lesson that frobnicates, and says whose it is."""
    world = World(tmp_path_factory.mktemp("world"))
    world.settle()
    ann, bo = world.ann, world.bo
    for name in ("acme", "beta", "shop", "lab"):
        (world.folder / "remotes").mkdir(exist_ok=True)
        bo.git("", "init", "-q", "--bare", f"../remotes/{name}.git")
    for person in (ann, bo):
        begin(person, ".ai/reference")
        settings = person.home / ".config/ai-lessons/config.toml"
        settings.parent.mkdir(parents=True)
        parts = (
            f'[enterprise.{x}]\npath = "~/{x}"\nsync_url = "{HOST}{x}.git"\n'
            for x in ("acme", "beta")
        )
        settings.write_text("".join(parts))
    for company, project in (("acme", "shop"), ("beta", "lab")):
        begin(bo, company)
        bo.git(company, "remote", "add", "origin", f"{HOST}{company}.git")
        bo.ours(
            company,
            "--repo",
            ".",
            "contribute",
            "add-lesson",
            "--title",
            f"{company} frobnicates",
            *WHY,
        )
        if company == "acme":
            bo.ours(
                company,
                "--repo",
                ".",
                "contribute",
                "add-lesson",
                "--title",
                "acme releases",
                "--content",
                CODE,
            )
        bo.git(company, "push", "-q", "-u", "origin", "main")
        _begin_project(bo, project, company)
        ann.git("", "clone", "-q", f"{HOST}{project}.git", project)
        ann.ours("", "admin", "init", company, "--no-hooks", "--from", f"{HOST}{company}.git")
    ann.add("", "ann frobnicates", *WHY)
    return world


def _begin_project(person: Person, project: str, company: str) -> None:
    person.git("", "clone", "-q", f"{HOST}{project}.git", project)
    (person.home / project / ".ai-lessons.toml").write_text(f'enterprise = "{company}"\n')
    person.ours(project, "admin", "init", ".ai/reference")
    person.add(project, f"{project} frobnicates", *WHY)
    person.git(project, "add", ".")
    person.git(project, "commit", "-q", "-m", "Say whose this is")
    person.git(project, "push", "-q", "-u", "origin", "main")


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A world of its own for each test."""
    shutil.copytree(made.folder, tmp_path / "world", symlinks=True)
    mine = World(tmp_path / "world")
    mine.settle()
    return mine

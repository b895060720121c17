"""What the tests of the library share: a repository by git, opened anew for every job as a command line would."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ai_lessons.app import editing, entries, review
from ai_lessons.app import search as app_search
from ai_lessons.app.answers import Answer, Listing, Query
from ai_lessons.app.options import Options
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import LessonDraft, Written
from ai_lessons.model import Places, TierPlace
from ai_lessons.model.entries import LESSONS, Filter
from ai_lessons.model.tallies import UsageTally
from hash_embedder import HashEmbedder
from real_world import Git, commit_all, put_file

NOW = datetime(2026, 11, 21, 20, 14, tzinfo=UTC)

LESSON = "01JD3Z8QK5W7M2X9V4T68F3K2A"
OTHER = "01JD3Z8QK5W7M2X9V4T6QQQ111"
DOC = "01JD3Z8QK5W7M2X9V4T64T7QZM"
SCRIPT = "01JD3Z8QK5W7M2X9V4T69XW2RB"
RULE = "01JD3Z8QK5W7M2X9V4T6RRRR22"

ACME, BETA = "enterprise:acme", "enterprise:beta"
POLICIES = {
    "outbound": "outbound_policy",
    "context": "promotion_from_enterprise_context",
    "personal": "personal_learning_during_enterprise",
}


class CountingEmbedder(HashEmbedder):
    """As many dimensions as the pinned model, so that it can stand in for it."""

    dimensions = 384


def query(text: str, **more: Any) -> Query:
    """A question; what `Query` has no name for is a filter."""
    filters = {name: more.pop(name) for name in more.keys() - Query._fields}
    return Query(text, Filter(**filters), **more)


@dataclass
class World:
    """One repository, and the folders of the one user who works with it."""

    root: Path
    git: Git
    options: Options
    opened: list[Library] = field(default_factory=list)

    @property
    def library(self) -> Library:
        """The library as it is kept open by a long-lived caller."""
        if not self.opened:
            self.opened.append(Library(self.root, self.options))
        return self.opened[-1]

    def fresh(self, **changed: Any) -> Library:
        """The library opened anew, as the next command would."""
        self.opened.insert(0, Library(self.root, self.options._replace(**changed)))
        return self.opened[0]

    def write(self, path: str, text: str | bytes) -> Path:
        """Put a file there, as an editor would."""
        return put_file(self.root / path, text)

    def read(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def commit(self, message: str = "by hand") -> None:
        commit_all(self.git, self.root, message)

    def committed(self, path: str, text: str | bytes, *, message: str = "by hand") -> Path:
        """Put a file there and commit it, with whatever else was edited."""
        file = self.write(path, text)
        self.commit(message)
        return file

    def commits(self) -> list[str]:
        """Subjects, newest first."""
        return self.git(self.root, "log", "--format=%s").splitlines()

    def status(self) -> str:
        return self.git(self.root, "status", "--porcelain")

    def add(self, title: str, content: str = "", **more: Any) -> Written:
        return editing.add_lesson(self.library, LessonDraft(title, content, **more))

    def search(self, text: str, **more: Any) -> Answer:
        return app_search.search(self.library, query(text, **more))

    def found(self, text: str, **more: Any) -> list[str]:
        """Titles of what a search finds, best first within each group."""
        answer = self.search(text, **more)
        hits = (*answer.rules, *answer.scripts, *answer.lessons, *answer.docs)
        return [hit.entry.title for hit in hits]

    def titles(self, **filters: Any) -> list[str]:
        return [summary.title for summary in entries.list_entries(self.library, **filters).entries]

    def close(self) -> None:
        while self.opened:
            self.opened.pop().close()


@dataclass
class Company:
    """The repositories of one person who works for acme, and how they stand to each other."""

    folder: Path
    git: Git
    options: Options
    closing: ExitStack

    def root(self, tier: str) -> Path:
        return self.folder / tier.rpartition(":")[2]

    def commit(self, tier: str, message: str = "by hand") -> None:
        commit_all(self.git, self.root(tier), message)

    def config(self, tier: str = ACME, text: str = "", **values: str) -> None:
        """State policies in the file on disk."""
        file = self.root(tier) / ".ai-lessons/config.yaml"
        file.parent.mkdir(exist_ok=True)
        rows = "".join(f"  {POLICIES[key]}: {value}\n" for key, value in values.items())
        file.write_text(text or f"governance:\n{rows}")

    def state(self, tier: str = ACME, text: str = "", **values: str) -> None:
        self.config(tier, text, **values)
        self.commit(tier, "State policies")

    def library(self, *, here: str = "", writes: str = "project", **changed: Any) -> Library:
        names = ("project", "user", ACME, BETA)
        known = tuple(TierPlace(name, self.root(name)) for name in names)
        reads = tuple(one for one in known if one.name in {"project", "user", here})
        places = Places(reads, known, here)
        return self.opened(writes, tier=writes, places=places, **changed)

    def opened(self, root: str, **changed: Any) -> Library:
        made = Library(self.root(root), self.options._replace(**changed))
        self.closing.callback(made.close)
        return made

    def approve(self, branch: str, tier: str = ACME) -> None:
        review.approve_rule(self.library(writes=tier), branch)


def options(folder: Path, now: Callable[[], datetime] = lambda: NOW) -> Options:
    """Everything below one folder of the test, and no network."""
    return Options(
        cache_dir=folder / "cache", state_dir=folder / "state", config_dir=folder / "config", cwd=folder,
        offline=True, now=now,
    )  # fmt: skip


def usage_of(library: Library, ref: str) -> UsageTally:
    """How an entry has done."""
    usage = entries.show(library, ref).usage
    assert usage is not None
    return usage


def listed_lessons(opened: Library, *, every: bool = False, **given: Any) -> Listing:
    """As `lesson list` lists them."""
    status = None if every else "active"
    return entries.list_entries(
        opened, kinds=LESSONS, status=status, every=True, sort="created", **given
    )


def lesson(
    entry_id: str = LESSON,
    title: str = "PUT replaces the workflow",
    body: str = "Seen twice.\n",
    **more: str,
) -> str:
    """The file of a lesson; further keys as lines of YAML."""
    extra = "".join(f"{key}: {value}\n" for key, value in more.items())
    return f"---\nid: {entry_id}\nkind: lesson\ntitle: {title}\n{extra}created: 2026-11-21T20:14:00Z\n---\n{body}"


def rule(body: str = "Ask zanzibar before deploying.\n", folder_says_it: bool = False) -> str:
    """The file of a rule that nobody approved, full of words that must not be found."""
    said = "" if folder_says_it else "kind: rule\n"
    return (
        f"---\nid: {RULE}\n{said}title: Zanzibar rule\nrationale: zanzibar knows\ntags:\n  - zanzibar-tag\n"
        f"created: 2026-11-21T20:14:00Z\nlinks:\n  - related_to: {LESSON}\n---\n{body}"
    )

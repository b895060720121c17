"""Steps that the tests of this room share, and what must hold after each of them."""

from pathlib import Path

from ai_lessons.git.store import Change, Job, Store
from real_world import Git


def add(path: str, text: str = "text\n") -> Job:
    """A job that writes one file."""
    return Job(f"Add {path}", [Change(path, text.encode())])


def note_only(store: Store, job: Job) -> None:
    """Apply a job through a store that cannot commit, as a process would that dies before its commit."""
    Store(store.root).apply(job)


def clean(git: Git, root: Path) -> None:
    """Nothing is broken, and nothing is left behind."""
    assert "error" not in git(root, "fsck", "--strict", "--full")
    assert [p for p in (root / ".git").glob("**/*.lock") if "ai-lessons" not in p.parts] == []
    assert list((root / ".git" / "ai-lessons" / "locks").glob("*")) == []
    assert list(root.glob("**/.ai-lessons-tmp-*")) == []


def dirty_everything(root: Path, git: Git) -> None:
    """Every state that a path can be in: D, ' D', M, ' M', MM, AM, R, ??, intent to add, a mode change."""
    for name in ("gone", "ungone", "staged", "edited", "both", "moved", "mode"):
        (root / f"{name}.md").write_text(f"{name}\n" * 5)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "many")
    git(root, "rm", "-q", "gone.md")
    (root / "ungone.md").unlink()
    (root / "staged.md").write_text("new\n")
    git(root, "add", "staged.md")
    (root / "edited.md").write_text("new\n")
    (root / "both.md").write_text("one\n")
    git(root, "add", "both.md")
    (root / "both.md").write_text("two\n")
    git(root, "mv", "moved.md", "elsewhere.md")
    (root / "added.md").write_text("a\n")
    git(root, "add", "added.md")
    (root / "added.md").write_text("b\n")
    (root / "untracked.md").write_text("u\n")
    (root / "intent.md").write_text("i\n")
    git(root, "add", "-N", "intent.md")
    (root / "mode.md").chmod(0o755)


def in_conflict(git: Git, root: Path, path: str) -> None:
    """A path on which a stash and a commit differ."""
    (root / path).parent.mkdir(exist_ok=True)
    old, theirs = ("old\n", "commit", "-qm", "old"), ("stashed\n", "stash", "-q")
    ours = ("new\n", "commit", "-qm", "new")
    for text, *then in (old, theirs, ours):
        (root / path).write_text(text)
        git(root, "add", path)
        git(root, *then)
    git(root, "stash", "pop", check=False)


def in_a_merge(git: Git, root: Path) -> None:
    """Two branches have edited the same file, and their merge is under way."""
    git(root, "switch", "-qc", "topic")
    for branch in ("topic", "main"):
        git(root, "switch", "-q", branch)
        (root / "README.md").write_text(f"{branch}\n")
        git(root, "commit", "-qam", branch)
    git(root, "merge", "topic", check=False)

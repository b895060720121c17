"""What nobody takes care of is named: what is in no commit, links that lead out, files of no kind."""

from pathlib import Path

from ai_lessons.git.commit import loose
from ai_lessons.git.store import Store
from git.conftest import Opened
from git.steps import add, note_only
from real_world import Git


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("text\n")


def test_in_a_repository_in_order_there_is_nothing_to_say(store: Store) -> None:
    store.apply(add("p/lessons/a.md"))
    write(store.root, "LICENSE", "CODEOWNERS", ".gitignore", ".ai-lessons/x.yaml", "p/scripts/v1/__pycache__/a.pyc")
    write(store.root, "examples/check.yml")
    (store.root / "p/b.txt").symlink_to("lessons/a.md")
    assert loose(store) == []


def test_each_sort_is_named_with_the_first_few(store: Store, git: Git, tmp_path: Path) -> None:
    note_only(store, add("p/lessons/waits.md"))
    write(store.root, *(f"p/docs/v1/{n}.md" for n in range(5)), "p/scripts/v1/run.sh", "p/lessons/é.md")
    write(store.root, "p/picture.png", "stray.txt")
    git(store.root, "add", "p/lessons/é.md")
    (store.root / "p/docs/v1/a link.md").symlink_to(tmp_path)
    (store.root / "p/docs/folder").symlink_to("/")
    assert loose(store) == [
        f"in no commit (ai-lessons admin save --edits): {', '.join(f'p/docs/v1/{n}.md' for n in range(5))} and 2 more",
        "a link, which is not followed: p/docs/folder, p/docs/v1/a link.md",
        "of no kind that is known: stray.txt, p/picture.png",
    ]


def test_where_commits_are_the_users_what_has_none_is_no_news(git_repo: Path, opened: Opened) -> None:
    store = opened(git_repo, autocommit=False)
    write(store.root, "p/lessons/a.md")
    assert loose(store) == []


def test_in_a_folder_of_a_bigger_repository_only_ours_counts(git_repo: Path, git: Git, opened: Opened) -> None:
    write(git_repo, "code.c", "kb/p/lessons/a.md", "kb/stray.txt")
    git(git_repo, "config", "ai-lessons.autocommit", "true")
    (git_repo / "kb/out.md").symlink_to(git_repo / "README.md")
    assert loose(opened(git_repo / "kb")) == [
        "in no commit (ai-lessons admin save --edits): p/lessons/a.md",
        "a link, which is not followed: out.md",
        "of no kind that is known: stray.txt",
    ]

"""Objects are found wherever git keeps them, and damaged ones are named."""

import zlib
from pathlib import Path

import pytest
from dulwich.objects import ObjectID

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.git import objects
from ai_lessons.git.objects import Draft, opened
from ai_lessons.git.store import Store
from ai_lessons.git.uncommitted import loose
from ai_lessons.git.worktree import locate
from git.conftest import Opened
from git.steps import add, note_only
from real_world import Git, put_file


def test_a_repository_that_is_open_finds_what_another_process_packed_since(
    store: Store, git: Git
) -> None:
    with opened(locate(store.root)) as before:
        assert list(before.object_store.packs) == []
        for n in range(40):
            note_only(store, add(f"p/lessons/{n}.md"))
        made = store.save().commits
        assert packs(store.root)
        assert [ObjectID(name.encode()) in before.object_store for name in made] == [True] * 40
        git(store.root, "repack", "-adq")  # one pack for all: those that are open are gone
        git(store.root, "prune-packed", "-q")
        with opened(locate(store.root)) as after:
            assert all(after[ObjectID(name.encode())].id.decode() == name for name in made)
        assert all(before[ObjectID(name.encode())].id.decode() == name for name in made)


def packs(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".git/objects/pack").glob("*.pack"))


@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", zlib.compress(b"tree 0\0"), zlib.compress(b"what 3\0abc")]
)
def test_a_damaged_file_of_an_object_that_a_pack_has_whole_harms_nothing(
    store: Store, damage: bytes
) -> None:
    with opened(locate(store.root)) as repo:
        draft = Draft(repo)
        blobs = {
            b"%d" % k: (objects.PLAIN, draft.blob(b"%d" % k)) for k in range(objects.PACK_FROM)
        }
        tree = draft.edit(None, blobs)
        draft.save()
        put_file(store.root / ".git/objects" / tree.decode()[:2] / tree.decode()[2:], damage)
        assert Draft(repo).lookup(tree, b"7") == blobs[b"7"]


@pytest.mark.parametrize("damage", [b"", b"nonsense", zlib.compress(b"tree 0\0")])
def test_an_object_that_nobody_has_whole_is_told_of(store: Store, damage: bytes) -> None:
    with opened(locate(store.root)) as repo:
        draft = Draft(repo)
        tree = draft.edit(None, {b"a": (objects.PLAIN, draft.blob(b"a"))})
        draft.save()
    place = store.root / ".git/objects" / tree.decode()[:2] / tree.decode()[2:]
    place.chmod(0o644)
    place.write_bytes(damage)
    with (
        pytest.raises(UnsupportedRepository, match="missing or damaged"),
        opened(locate(store.root)) as repo,
    ):
        Draft(repo).lookup(tree, b"a")


def test_an_object_is_found_although_git_removes_its_pack_before_it_is_opened(
    store: Store, git: Git
) -> None:
    for folder in ("old", "new"):
        for n in range(objects.PACK_FROM):
            note_only(store, add(f"{folder}/{folder}{n}.md"))
        assert store.save().commits
    with opened(locate(store.root)) as repo:
        draft = Draft(repo)
        tree = draft.tree_of(ObjectID(git(store.root, "rev-parse", "HEAD").encode()))
        assert len(repo.object_store.packs) == 2
        git(store.root, "gc", "-q", "--prune=now")
        assert draft.lookup(tree, b"old/old3.md")
        assert len(list((store.root / ".git/objects/pack").glob("*.pack"))) == 1


# --- what nobody takes care of is named: what is in no commit, links that lead out, files of no kind ---


def write(root: Path, *paths: str) -> None:
    for path in paths:
        put_file(root / path, "text\n")


def test_in_a_repository_in_order_there_is_nothing_to_say(store: Store) -> None:
    store.apply(add("p/lessons/a.md"))
    write(
        store.root,
        "LICENSE",
        "CODEOWNERS",
        ".gitignore",
        ".ai-lessons/x.yaml",
        "p/scripts/v1/__pycache__/a.pyc",
    )
    write(store.root, "examples/check.yml")
    (store.root / "p/b.txt").symlink_to("lessons/a.md")
    assert loose(store) == []


def test_each_sort_is_named_with_the_first_few(store: Store, git: Git, tmp_path: Path) -> None:
    note_only(store, add("p/lessons/waits.md"))
    write(
        store.root,
        *(f"p/docs/v1/{n}.md" for n in range(5)),
        "p/scripts/v1/run.sh",
        "p/lessons/é.md",
    )
    write(store.root, "p/picture.png", "stray.txt")
    git(store.root, "add", "p/lessons/é.md")
    (store.root / "p/docs/v1/a link.md").symlink_to(tmp_path)
    (store.root / "p/docs/folder").symlink_to("/")
    assert loose(store) == [
        f"in no commit (ai-lessons admin save --edits): {', '.join(f'p/docs/v1/{n}.md' for n in range(5))} and 2 more",
        "a link, which is not followed: p/docs/folder, p/docs/v1/a link.md",
        "of no kind that is known: stray.txt, p/picture.png",
    ]


def test_where_commits_are_the_users_what_has_none_is_no_news(
    git_repo: Path, opened: Opened
) -> None:
    store = opened(git_repo, autocommit=False)
    write(store.root, "p/lessons/a.md")
    assert loose(store) == []


def test_in_a_folder_of_a_bigger_repository_only_ours_counts(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    write(git_repo, "code.c", "kb/p/lessons/a.md", "kb/stray.txt")
    git(git_repo, "config", "ai-lessons.autocommit", "true")
    (git_repo / "kb/out.md").symlink_to(git_repo / "README.md")
    assert loose(opened(git_repo / "kb")) == [
        "in no commit (ai-lessons admin save --edits): p/lessons/a.md",
        "a link, which is not followed: out.md",
        "of no kind that is known: stray.txt",
    ]

"""Vectors travel with git: what one clone computed another has, texts never do, and no pack is believed unseen."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ai_lessons.app import (
    health,
    index_upkeep,
    program_hooks,
    search,
    setup,
    sharing,
    vector_sharing,
)
from ai_lessons.app.answers import Answer, Query
from ai_lessons.app.index_places import left_packs
from ai_lessons.app.workspace import Library
from ai_lessons.git.sync import Synced
from ai_lessons.search import vector_packs
from ai_lessons.search.model_files import ModelUnavailable
from ai_lessons.search.vector_packs import pack_of, read_pack
from app.world import CountingEmbedder, options
from interfaces.world import program_in
from real_world import FULL, Git, commit_all, failing, instead, put_file, put_program

REF = "refs/ai-lessons/vectors/bge-small-en-v1-5-int8/packs"
WORDS = (
    "apples",
    "bread",
    "cheese",
    "dough",
    "eggs",
    "figs",
    "grapes",
    "honey",
    "ink",
    "jam",
    "kale",
    "lemons",
)


@dataclass
class Clone:
    """One clone and its user, with folders of their own. Each job opens it anew."""

    root: Path
    git: Git
    embedder: CountingEmbedder = field(default_factory=CountingEmbedder)

    def library(self, **changed: Any) -> Library:
        return Library(
            self.root, options(self.root.parent / f"{self.root.name}-user")._replace(**changed)
        )

    def write(self, *words: str, folder: str = "food/docs/unversioned") -> None:
        for word in words:
            put_file(
                self.root / folder / f"{word}.md",
                f"# About {word}\n\nAll there is to say about {word}.\n",
            )

    def add(self, *words: str) -> None:
        self.write(*words)
        commit_all(self.git, self.root, f"Add {', '.join(words)}")

    def search(self, text: str = "apples") -> Answer:
        with self.computing(), self.library() as library:
            return search.search(library, Query(text))

    def complete(self) -> int:
        """Compute what is missing; how many passages there are."""
        with self.computing(), self.library() as library:
            index_upkeep.reindex(library)
            return library.primary.indexing.passages()

    def sync(self) -> Synced:
        with self.computing(), self.library() as library:
            return sharing.sync(library)

    def computing(self) -> Any:
        return instead(
            "ai_lessons.app.search_index.Embedders.embedder", lambda _, _name: self.embedder
        )

    def counted(self) -> tuple[int, int]:
        """Passages, and those with a vector."""
        with self.computing(), self.library() as library:
            library.primary.current()
            status = library.primary.index.status()
            return status.passages, status.vectors

    def status(self) -> dict[str, Any]:
        with self.library() as library:
            return {check.name: check for check in health.status(library)}


@dataclass
class Team:
    """A hub, and clones of it."""

    folder: Path
    git: Git

    @property
    def hub(self) -> Path:
        return self.folder / "hub.git"

    def clone(self, name: str, *flags: str) -> Clone:
        self.git(self.folder, "clone", "-q", *flags, self.hub.as_uri(), name)
        for key, value in (("user.name", name), ("user.email", f"{name}@example.com")):
            self.git(self.folder / name, "config", key, value)
        return Clone(self.folder / name, self.git)

    def packs(self) -> dict[str, bytes]:
        """What the hub has, by name."""
        if REF not in self.git(self.hub, "for-each-ref"):
            return {}
        rows = [row.split() for row in self.git(self.hub, "ls-tree", REF).splitlines()]
        return {name: self.blob(blob) for _, _, blob, name in rows}

    def blob(self, blob: str) -> bytes:
        return subprocess.run(
            ["git", "cat-file", "blob", blob], cwd=self.hub, capture_output=True, check=True
        ).stdout

    def keys(self) -> list[str]:
        return sorted(key for data in self.packs().values() for key in read_pack(data).names())

    def put(self, packs: dict[str, bytes]) -> None:
        """Let the hub have other packs: somebody pushed them."""
        rows = []
        for number, (name, data) in enumerate(packs.items()):
            file = put_file(self.folder / "packs" / f"{number}-{name}", data)
            rows.append(f"100644 blob {self.git(self.hub, 'hash-object', '-w', str(file))}\t{name}")
        listing = put_file(self.folder / "listing", "\n".join(rows) + "\n" if rows else "")
        tree = self.git(self.hub, "-c", f"alias.t=!git mktree < {listing}", "t")
        self.git(
            self.hub, "update-ref", REF, self.git(self.hub, "commit-tree", tree, "-m", "packs")
        )


@pytest.fixture
def team(tmp_path: Path, git: Git) -> Team:
    """A hub with twelve docs, pushed by `ann`, who computed their vectors and shared them."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    made = Team(tmp_path, git)
    ann = made.clone("ann")
    git(ann.root, "switch", "-q", "-c", "main")
    ann.add(*WORDS)
    ann.complete()
    ann.sync()
    return made


@pytest.fixture
def ann(team: Team) -> Clone:
    return Clone(team.folder / "ann", team.git)


@pytest.fixture
def bo(team: Team) -> Clone:
    """A clone by plain git, in which nothing was computed."""
    return team.clone("bo")


def test_what_one_clone_computed_another_has_without_computing_it(
    team: Team, ann: Clone, bo: Clone
) -> None:
    assert len(team.keys()) == len(WORDS)
    done = bo.sync()
    assert (
        f"vectors came with git: {len(WORDS)} of {len(WORDS)} passages were without one"
        in done.notes
    )
    assert bo.counted() == (len(WORDS), len(WORDS))
    assert len(bo.embedder.asked) <= 8, "only a sample is computed"
    assert bo.search().coverage == 1.0
    assert [hit.entry.title for hit in bo.search("apples").hits][:1] == ["About apples"]
    assert bo.sync().notes == ()
    assert ann.sync().notes == ()


def test_a_clone_by_init_has_them_at_its_first_search(team: Team, tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    chosen = options(tmp_path / "cy-user")
    with instead("ai_lessons.app.search_index.Embedders.embedder", lambda _, _name: embedder):
        made = setup.init_repository(
            tmp_path / "cy", chosen, from_url=team.hub.as_uri(), hooks=False
        )
    assert any(note.startswith(f"vectors came with git: {len(WORDS)} of") for note in made.notes)
    cy = Clone(tmp_path / "cy", team.git, embedder)
    assert cy.counted() == (len(WORDS), len(WORDS))


def test_no_text_and_no_name_travels_and_the_same_vectors_are_one_commit(team: Team) -> None:
    everything = b"".join(team.packs().values())
    assert not any(word.encode() in everything for word in WORDS)
    shown = team.git(team.hub, "log", "--format=%an %ae %cn %ce %at %P", REF)
    assert shown == "ai-lessons ai-lessons@localhost ai-lessons ai-lessons@localhost 0"


def test_new_vectors_join_the_pack_and_what_is_little_waits(
    team: Team, ann: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.add("mint", "nuts")
    ann.complete()
    ann.sync()
    assert len(team.keys()) == len(WORDS) + 2
    assert len(team.packs()) == 1 + (len(WORDS) > 4)
    ann.add("oats")
    ann.complete()
    monkeypatch.setattr(vector_sharing, "PART", 2)
    ann.sync()
    assert len(team.keys()) == len(WORDS) + 2, "one vector is less than half of what is there"
    monkeypatch.undo()
    ann.add("peas")
    ann.complete()
    ann.sync()
    assert len(team.keys()) == len(WORDS) + 4


def test_what_is_in_no_commit_is_never_shared_and_what_is_committed_later_is(
    team: Team, ann: Clone
) -> None:
    ann.write("secret plans")
    put_file(
        ann.root / "food/docs/unversioned/apples.md",
        "# About apples\n\nAn edit that is in no commit.\n",
    )
    assert ann.complete() == len(WORDS) + 1
    before = team.keys()
    ann.sync()
    assert team.keys() == before
    commit_all(team.git, ann.root, "Both")
    ann.sync()
    assert len(team.keys()) == len(WORDS) + 2


def test_what_goes_through_a_filter_is_never_shared(team: Team, ann: Clone) -> None:
    """As with git-crypt, also where the bytes that git keeps are by chance those of the file."""
    rot = "tr A-Za-z N-ZA-Mn-za-m"
    for way in ("clean", "smudge"):
        ann.git(ann.root, "config", f"filter.hide.{way}", rot)
    put_file(ann.root / ".gitattributes", "hidden/** filter=hide\n")
    ann.write("vault", folder="hidden/docs/unversioned")
    put_file(ann.root / "hidden/docs/unversioned/digits.md", "12345 67890\n")
    commit_all(team.git, ann.root, "Hide")
    before = team.keys()
    assert ann.complete() == len(WORDS) + 2
    ann.sync()
    assert team.keys() == before
    assert "Nobhg inhyg" in ann.git(ann.root, "show", "HEAD:hidden/docs/unversioned/vault.md")


def test_two_clones_that_share_at_once_lose_nothing(team: Team, ann: Clone, bo: Clone) -> None:
    bo.sync()
    ann.add("mint", "nuts")
    ann.sync()
    bo.sync()
    bo.git(bo.root, "pull", "-q")
    bo.add("oats")
    ann.complete()
    bo.complete()
    real = vector_sharing._shelf
    raced: list[str] = []

    def slow(*args: Any) -> Any:
        shelf = real(*args)
        if not raced:  # another clone shares between the look and the push
            raced.append("ann")
            with ann.computing(), ann.library() as library:
                commit = ann.git(ann.root, "rev-parse", "HEAD")
                assert vector_sharing.share(library.primary, "origin", commit, ask=False)
        return shelf

    with instead("ai_lessons.app.vector_sharing._shelf", slow):
        done = bo.sync()
    assert raced
    assert any(note.startswith("vectors sent to origin") for note in done.notes)
    assert len(set(team.keys())) == len(WORDS) + 3


def turned(data: bytes) -> bytes:
    """A whole pack whose vectors are not those of its texts."""
    pack = read_pack(data)
    wrong = np.random.default_rng(1)
    vectors = {
        key: wrong.standard_normal(pack.dimensions).astype("<f2").tobytes() for key in pack.names()
    }
    return pack_of(pack.model, pack.dimensions, vectors)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda data: data[:-100] + bytes(100),
            "its bytes are not those that its checksum was made of",
        ),
        (lambda data: data[:200], "bytes of vectors, and its header says"),
        (lambda _: b"<html>Not found</html>", "does not begin as a pack"),
        (turned, "vectors in it are not what is computed here"),
        (
            lambda data: data.replace(b"int8", b"int9", 1),
            "it is of the model bge-small-en-v1.5-int9",
        ),
        (lambda data: data + bytes(vector_packs.PACK_BYTES), "and a pack has at most"),
    ],
)
def test_a_pack_that_is_damaged_or_differs_is_left_and_named(
    team: Team, bo: Clone, change: Any, says: str
) -> None:
    good = dict(team.packs())
    name, data = next(iter(good.items()))
    team.put({name: change(data)})
    done = bo.sync()
    assert any(says in note and "is left" in note for note in done.notes), done.notes
    assert bo.counted() == (len(WORDS), 0)
    assert says in bo.status()["meaning"].detail
    assert bo.status()["meaning"].state == "warning"
    bo.complete()
    assert bo.counted() == (len(WORDS), len(WORDS))
    assert len(bo.embedder.asked) >= len(WORDS)
    bo.sync()  # shares what it computed, beside what only differs and in place of what is damaged
    assert len(team.keys() if "checksum" not in says else []) % len(WORDS) == 0
    cy = team.clone("cy")
    cy.sync()
    assert cy.counted() == (len(WORDS), len(WORDS))


def test_a_remote_that_offers_without_end_is_read_within_limits(
    team: Team, bo: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ai_lessons.search.shared_vectors.MOST_PACKS", 3)
    name, data = next(iter(team.packs().items()))
    junk = {
        f"{number:040x}{vector_packs and '.vectors'}": b"junk %d" % number for number in range(20)
    }
    team.put({**junk, name: data, "notes.txt": b"no pack", "zz.vectors": data + b"x"})
    bo.sync()
    with bo.library() as library:
        assert len(left_packs(library.primary)) >= 17
    assert bo.counted()[0] == len(WORDS)
    bo.complete()
    assert bo.counted() == (len(WORDS), len(WORDS))
    huge = "0" * 1000
    team.put({f"{number}{huge[:180]}.vectors": b"" for number in range(500)})
    bo.sync()
    assert bo.counted() == (len(WORDS), len(WORDS))


def test_a_ref_that_is_no_list_of_files_stops_nothing(team: Team, ann: Clone, bo: Clone) -> None:
    blob = team.git(team.hub, "hash-object", "-w", str(put_file(team.folder / "blob", "no tree")))
    team.git(team.hub, "update-ref", REF, blob)
    assert bo.sync().commit
    bo.complete()
    bo.add("mint")
    bo.complete()
    assert bo.sync().sent == 1
    assert bo.counted() == (len(WORDS) + 1, len(WORDS) + 1)


def test_a_hub_that_refuses_such_refs_is_named_once_and_the_sync_goes_on(
    tmp_path: Path, git: Git
) -> None:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    team = Team(tmp_path, git)
    put_program(
        team.hub / "hooks/pre-receive",
        "#!/bin/sh\nwhile read old new ref\n"
        'do case $ref in refs/heads/*) ;; *) echo "no ref $ref"; exit 1;; esac; done\n',
    )
    ann = team.clone("ann")
    git(ann.root, "switch", "-q", "-c", "main")
    ann.add(*WORDS)
    ann.complete()
    first = ann.sync()
    assert first.sent == 1
    named = [note for note in first.notes if "takes no vectors beside its branches" in note]
    assert len(named) == 1
    assert "git config --unset ai-lessons.shareVectors" in named[0]
    ann.add("mint")
    ann.complete()
    second = ann.sync()
    assert (second.sent, second.notes) == (1, ())
    (team.hub / "hooks/pre-receive").unlink()
    git(ann.root, "config", "--unset", "ai-lessons.shareVectors")
    assert any("vectors sent" in note for note in ann.sync().notes)
    assert len(team.keys()) == len(WORDS) + 1


def test_our_own_server_hook_takes_them(
    tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{program_in(tmp_path / 'bin')}:{os.environ['PATH']}")
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    team = Team(tmp_path, git)
    program_hooks.server_hook("install", team.hub)
    ann = team.clone("ann")
    git(ann.root, "switch", "-q", "-c", "main")
    ann.add(*WORDS)
    ann.complete()
    ann.sync()
    ann.add("mint")
    ann.complete()
    ann.sync()
    assert len(team.keys()) == len(WORDS) + 1


def test_a_shallow_clone_takes_and_shares_them(team: Team) -> None:
    dee = team.clone("dee", "--depth=1")
    dee.sync()
    assert dee.counted() == (len(WORDS), len(WORDS))
    dee.add("mint")
    dee.complete()
    dee.sync()
    assert len(team.keys()) == len(WORDS) + 1


def test_without_a_model_they_wait_and_are_taken_when_one_is_there(team: Team, bo: Clone) -> None:
    def none(*_: object) -> None:
        raise ModelUnavailable("tiny", [("network", "offline as asked for")])

    with instead("ai_lessons.app.search_index.Embedders.embedder", none), bo.library() as library:
        assert sharing.sync(library).commit
        assert search.search(library, Query("apples")).coverage == 0.0
    assert bo.counted() == (len(WORDS), 0)
    assert bo.search().coverage == 1.0
    assert len(bo.embedder.asked) <= 8 + 1


def test_vectors_of_texts_that_are_gone_leave_the_packs_in_time(
    team: Team, ann: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_sharing, "FEWEST_STALE", 4)
    for word in WORDS[:6]:
        put_file(
            ann.root / f"food/docs/unversioned/{word}.md",
            f"# About {word}\n\nSomething else of {word}.\n",
        )
    commit_all(team.git, ann.root, "Edit")
    ann.complete()
    ann.sync()
    assert len(team.keys()) == len(WORDS)
    assert len(team.packs()) == 1


def test_packs_stay_small_and_few(team: Team, ann: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_packs, "most_in_a_pack", lambda _: 5)
    ann.add(*(f"word{number}" for number in range(9)))
    ann.complete()
    ann.sync()
    sizes = sorted(len(read_pack(data)) for data in team.packs().values())
    assert sum(sizes) == len(WORDS) + 9
    assert sizes == [4, 5, 12]


def test_a_switch_of_git_keeps_a_clone_from_sharing(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    team = Team(tmp_path, git)
    ann = team.clone("ann")
    git(ann.root, "switch", "-q", "-c", "main")
    git(ann.root, "config", "ai-lessons.shareVectors", "false")
    ann.add(*WORDS)
    ann.complete()
    ann.sync()
    assert team.packs() == {}


def test_a_sync_with_nothing_to_share_starts_few_processes_and_no_index(
    team: Team, ann: Clone, started: Path
) -> None:
    ann.sync()
    started.write_text("")
    with ann.library() as library:
        sharing.sync(library)
        assert not library.primary.has_index
    rows = started.read_text().splitlines()
    assert len(rows) <= 20, rows
    assert sum(" fetch " in f" {row} " for row in rows) == 1


def test_a_remote_that_is_away_leaves_the_vectors_here(team: Team, ann: Clone) -> None:
    ann.add("mint")
    ann.complete()
    with ann.computing(), ann.library() as library:
        commit = ann.git(ann.root, "rev-parse", "HEAD")
        team.hub.rename(team.folder / "gone.git")
        notes = vector_sharing.share(library.primary, "origin", commit, ask=False)
        (team.folder / "gone.git").rename(team.hub)
        assert notes[0].startswith("vectors were not sent: nothing was pushed to origin")
        assert vector_sharing.share(library.primary, "origin", commit, ask=False)[0].startswith(
            "vectors sent"
        )


def test_a_full_disk_stops_no_sync(team: Team, ann: Clone) -> None:
    ann.add("mint")
    ann.complete()
    ann.git(ann.root, "push", "-q", "origin", "main")
    with failing("ai_lessons.git.objects._write_some", FULL):
        done = ann.sync()
    assert [note for note in done.notes if note.startswith("vectors were not sent: ")], done.notes
    assert any(note.startswith("vectors sent to origin") for note in ann.sync().notes)

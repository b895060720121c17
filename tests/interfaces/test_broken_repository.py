"""Whatever stands in git, readers answer and name it, and approved rules go on being told."""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from ai_lessons import extensions
from ai_lessons.git.approval_branch import PROPOSALS
from interfaces.world import Outcome, Run, run_inside
from real_world import Git, commit_all, put_file

CONFIG = ".ai-lessons/config.yaml"
LOST = "9" * 40
REF = "refs/remotes/origin/rules/R-Q2GTQZ-lost"
READERS: tuple[tuple[str, ...], ...] = (
    ("list", "--json"),
    ("search", "carts", "--json"),
    ("recall", "context", "--json"),
)
if any(feature.name == "lesson_program" for feature in extensions.rows()):
    READERS = (*READERS, ("load",))


class Shop(NamedTuple):
    """A repository with a rule in force and a proposal; `fresh` forgets what the clone knew."""

    root: Path
    git: Git
    run: Run

    def commit(self, path: str, text: str | bytes) -> None:
        put_file(self.root / path, text)
        commit_all(self.git, self.root, "Change")

    def proposal(self) -> str:
        return self.git(
            self.root, "for-each-ref", "--format=%(objectname)", f"refs/heads/{PROPOSALS}"
        ).split()[0]

    def branch(self, path: str, text: str, ref: str = REF) -> str:
        """A pushed branch with one file."""
        self.git(self.root, "switch", "-qc", "pushed")
        self.commit(path, text)
        commit = self.git(self.root, "rev-parse", "HEAD")
        self.git(self.root, "switch", "-q", "main")
        self.git(self.root, "branch", "-qD", "pushed")
        self.git(self.root, "update-ref", ref, commit)
        return commit

    def damage(self, name: str, data: bytes | None) -> None:
        """What becomes of an object: other bytes, or none."""
        hexed = self.git(self.root, "rev-parse", name)
        place = self.root / ".git/objects" / hexed[:2] / hexed[2:]
        place.unlink()
        if data is not None:
            place.write_bytes(data)

    def ref(self, text: str | bytes, ref: str = REF) -> None:
        put_file(self.root / ".git" / ref, text)

    def hook(self) -> str:
        event = json.dumps(
            {
                "hook_event_name": "SessionStart",
                "session_id": os.urandom(4).hex(),
                "cwd": str(self.root),
            }
        )
        return run_inside(("admin", "agent-hook"), self.root, event).out

    def fresh(self) -> None:
        shutil.rmtree(self.root / ".git/ai-lessons")


@pytest.fixture(scope="session")
def shop_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shop") / "shop"


@pytest.fixture
def shop(
    shop_made: Path,
    tmp_path: Path,
    git: Git,
    run: Run,
    hermetic: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Shop:
    monkeypatch.setenv("AI_LESSONS_OFFLINE", "1")
    if not shop_made.exists():
        monkeypatch.setenv("AI_LESSONS_REPO", str(shop_made))
        rule = ("contribute", "suggest-rule", "--rationale", "why", "--project", "global")
        for words in (
            ("admin", "init", str(shop_made), "--no-hooks"),
            ("add", "--title", "Lesson", "--content", "About carts."),
            (*rule, "--title", "Good rule", "--content", "Always GOODMARK."),
            ("admin", "approve-rule", "--project", "global", "--yes"),
            (*rule, "--title", "Next rule", "--content", "Wait."),
            ("list",),
        ):
            assert run(*words).code == 0, words
    root = shutil.copytree(shop_made, tmp_path / "shop", symlinks=True)
    monkeypatch.setenv("AI_LESSONS_REPO", str(root))
    monkeypatch.chdir(tmp_path)
    return Shop(root, git, run)


def told(shop: Shop, readers: Sequence[tuple[str, ...]] = READERS) -> list[Outcome]:
    """These readers answer, and tell the rule."""
    done = [shop.run(*words) for words in readers]
    assert [one.code for one in done] == [0] * len(readers), "".join(one.err for one in done)
    assert "Good rule" in done[0].out
    assert "Good rule" in shop.hook()
    return done


def config(text: bytes) -> Callable[[Shop], None]:
    return lambda shop: shop.commit(CONFIG, text)


def a_link_for_the_settings(shop: Shop) -> None:
    (shop.root / CONFIG).rename(shop.root / "c.yaml")
    (shop.root / CONFIG).symlink_to("../c.yaml")
    commit_all(shop.git, shop.root, "Link")


def a_folder_for_the_settings(shop: Shop) -> None:
    (shop.root / CONFIG).unlink()
    shop.commit(f"{CONFIG}/x.yaml", "x")


def a_submodule_for_the_settings(shop: Shop) -> None:
    head = shop.git(shop.root, "rev-parse", "HEAD")
    shop.git(shop.root, "rm", "-q", CONFIG)
    shop.git(shop.root, "update-index", "--add", "--cacheinfo", f"160000,{head},{CONFIG}")
    shop.git(shop.root, "commit", "-qm", "Submodule")


def many_branches(shop: Shop) -> None:
    rows = "".join(f"{shop.proposal()} refs/remotes/origin/rules/R-{n:06d}-x\n" for n in range(700))
    (shop.root / ".git/packed-refs").write_text(rows)


def damaged(what: str, data: bytes | None) -> Callable[[Shop], None]:
    def prepare(shop: Shop) -> None:
        tip = shop.branch("shop/rules/n.md", "---\nkind: rule\ntitle: N\nrationale: r\n---\nn\n")
        shop.damage(f"{tip}{what}", data)

    return prepare


BROKEN: dict[str, Callable[[Shop], object]] = {
    "settings over 1 MiB": config(b"#" * 1_200_000),
    "settings of a later format": config(b"format: 99\n"),
    "settings of a later format in quotes": config(b"'format': 99\n"),
    "settings that are no YAML": config(b"\xff: [[["),
    "settings that mean nothing": config(b"approval: {require: nonsense}\n"),
    "settings that are a link": a_link_for_the_settings,
    "settings that are a folder": a_folder_for_the_settings,
    "settings that are a submodule": a_submodule_for_the_settings,
    "a rule over 1 MiB on main": lambda shop: shop.commit("shop/rules/big.md", "x" * 1_100_000),
    "a branch with a rule over 1 MiB": lambda shop: shop.branch(
        "shop/rules/big.md", "x" * 1_100_000
    ),
    "hundreds of branches": many_branches,
    "a branch whose commit is gone": lambda shop: shop.ref(LOST + "\n"),
    "a branch that points to a blob": lambda shop: shop.ref(
        shop.git(shop.root, "rev-parse", "HEAD:README.md")
    ),
    "a branch that is empty": lambda shop: shop.ref(""),
    "a branch of odd bytes": lambda shop: shop.ref(b"\xff\0"),
    "a branch that points nowhere": lambda shop: shop.ref("ref: refs/heads/nowhere\n"),
    "a commit that is gone": damaged("", None),
    "a commit of junk": damaged("", b"junk"),
    "a tree that is gone": damaged("^{tree}", None),
    "a tree that is empty": damaged("^{tree}", b""),
    "a folder of junk": damaged(":shop/rules", b"junk"),
    "a text that is gone": damaged(":shop/rules/n.md", None),
    "a text that is empty": damaged(":shop/rules/n.md", b""),
}


@pytest.mark.parametrize("prepare", BROKEN.values(), ids=BROKEN)
def test_readers_answer_and_tell_the_approved_rules(
    shop: Shop, prepare: Callable[[Shop], object]
) -> None:
    prepare(shop)
    told(shop)
    assert shop.run("admin", "pending-rules").code == 0
    shop.fresh()
    told(shop, READERS[:1])  # what all read is the same, and read anew
    assert shop.run("admin", "pending-rules").code == 0


@pytest.mark.parametrize("text", [LOST, "HEAD:README.md"], ids=["gone", "a blob"])
@pytest.mark.parametrize(
    "ref", [REF, "refs/heads/rules/R-Q2GTQZ-lost", "refs/heads/proposals/L-Q2GTQZ-lost"]
)
def test_a_branch_that_cannot_be_read_stops_no_decision_and_is_named(
    shop: Shop, ref: str, text: str
) -> None:
    shop.ref(text if text == LOST else shop.git(shop.root, "rev-parse", text), ref)
    listed = shop.run("admin", "pending-rules", "--json")
    assert [one["title"] for one in listed.json] == ["Next rule"]
    assert f"git update-ref -d {ref}" in listed.err
    assert shop.run("contribute", "suggest-rule", "--title", "Second", "--rationale", "r").code == 0
    assert shop.run("admin", "approve-rule", listed.json[0]["handle"], "--yes").code == 0
    assert shop.run("admin", "audit").code == 0
    shop.git(shop.root, "update-ref", "-d", ref)
    assert "update-ref" not in shop.run("admin", "pending-rules").err


@pytest.mark.parametrize("data", [LOST, "", "a blob", "ref: refs/heads/rules"])
def test_where_the_approval_branch_cannot_be_read_the_rules_known_before_are_told(
    shop: Shop, data: str
) -> None:
    blob = shop.git(shop.root, "rev-parse", "HEAD:README.md")
    shop.ref(blob if data == "a blob" else data, "refs/heads/main")
    notes = told(shop)[1].json["notes"]
    assert any("those of an earlier look" in note for note in notes)


def test_a_fresh_clone_judges_by_the_last_policy_that_could_be_read(shop: Shop) -> None:
    shop.commit(CONFIG, "approval:\n  distinct: true\n")
    shop.commit(CONFIG, "format: 99\n")
    shop.fresh()
    assert "Good rule" not in shop.run("list").out  # one person proposed and merged it
    assert "the settings on the approval branch cannot be read" in shop.run("list").err


def test_nothing_is_written_to_a_repository_of_a_later_format(shop: Shop) -> None:
    put_file(shop.root / CONFIG, "format: 99\n")
    for words in (
        ("add", "--title", "T", "--content", "c"),
        ("contribute", "suggest-rule", "--title", "T", "--rationale", "r"),
        ("admin", "approve-rule", "rules/*", "--yes"),
    ):
        done = shop.run(*words)
        assert done.code == 1
        assert "has format 99, this program knows 1" in done.err
    assert "has format 99" in shop.run("list").err


def test_a_text_in_force_that_is_missing_leaves_out_that_rule_alone(shop: Shop) -> None:
    path = shop.git(shop.root, "ls-tree", "-r", "--name-only", "HEAD", "global/rules")
    shop.damage(f"HEAD:{path}", None)
    for words in (*READERS, ("admin", "pending-rules")):
        assert shop.run(*words).code == 0

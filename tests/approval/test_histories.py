"""What is in force after real git histories: what teams do, and what attackers tried. Each stands in histories/."""

import os
import re
import subprocess
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from ai_lessons.app.scaffold import init, read_template, template_dir
from ai_lessons.approval import inputs, state
from ai_lessons.approval.signatures import PinnedSigners, SignerList
from ai_lessons.approval.state import derive
from ai_lessons.errors import Refused
from ai_lessons.git.worktree import locate, read_ref
from ai_lessons.model.approval import NO_SIGNERS, ApprovalPolicy, BranchView, Signers, is_rule
from ai_lessons.model.layout import place
from real_world import Git

FOLDER = Path(__file__).parent / "histories"
LIST = "kb/main"


def histories(name: str) -> list[tuple[str, str]]:
    """The histories of a file: the name of each, and its lines of shell."""
    parts = re.split(r"^## (\S+)\n", (FOLDER / f"{name}.sh").read_text(), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ada", "bob", "mal"):
        command = (
            "ssh-keygen",
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            name,
            "-f",
            str(folder / name),
        )
        subprocess.run(command, check=True)
    return folder


def served(folder: Path, rule: str, options: list[str], signers_file: Path) -> str:
    """The project and the words in force for a rule, `-` for none, as the policy in the options judges."""
    worktree = locate(folder)
    values = dict(pairwise(options))
    policy = ApprovalPolicy(values.get("--policy", "merge"), "--distinct" in options)  # type: ignore[arg-type]  # of the file
    ref = (
        "refs/remotes/origin/main"
        if policy.require == "forge"
        else f"refs/heads/{values.get('--rev', 'main')}"
    )
    signers: Signers = NO_SIGNERS
    if policy.require == "signed":
        listed = SignerList(LIST, data=signers_file.read_bytes())
        signers = PinnedSigners(worktree, ref, folder, lambda: datetime.now(UTC), (listed, True))
    inputs.save(worktree.state_dir, inputs.Remembered(policies={ref: policy}))
    assert read_ref(worktree, ref)
    verdict = state.derive(worktree, ref, signers).verdicts.get(rule)
    if verdict is None or not verdict.in_force or verdict.blob is None or verdict.path is None:
        return "-"
    text = subprocess.check_output(("git", "cat-file", "blob", verdict.blob), cwd=folder, text=True)
    return verdict.path.split("/")[0] + ":" + text.split("---\n")[-1].strip().replace("\n", "|")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(lines, id=name)
        for file in ("flows", "attacks")
        for name, lines in histories(file)
    ],
)
def test_what_is_in_force_after_this_history(script: str, tmp_path: Path, keys: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "OUT": str(tmp_path), "KEYS": str(keys)}
    lines = f". '{FOLDER}/world.sh'\n{script}"
    # some of what the lines ask git for fails, as it did for the attacker
    done = subprocess.run(
        ("bash", "-c", lines),
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    asked = sorted(tmp_path.glob("*.asked"), key=lambda file: int(file.stem))
    assert asked, done.stderr
    for file in asked:
        name, words, rule, *options = file.read_text().rstrip("\t").split("\t")
        now = served(file.with_suffix(""), rule, options, file.with_suffix(".signers"))
        assert now == "-" if words == "-" else words in now, (name, words, now, done.stderr)


RULES = {name: data for name, data in read_template(template_dir()).items() if is_rule(name)}


def view(root: Path, branch: str = "main") -> BranchView:
    return derive(locate(root), f"refs/heads/{branch}")


def proposed(root: Path, git: Git) -> list[str]:
    return git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads/rules").split()


def test_unless_they_are_asked_for_no_entry_comes(tmp_path: Path, git: Git) -> None:
    made = init(tmp_path / "r")
    assert not [name for name in made.added if place(name)]
    assert {
        ".ai-lessons/config.yaml",
        "README.md",
        "CODEOWNERS",
        ".github/workflows/validate.yml",
    } <= set(made.added)
    assert set(git(made.root, "ls-files").split("\n")) == set(made.added)
    assert git(made.root, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


@pytest.mark.parametrize("team", [False, True])
def test_all_wait_as_proposals_and_none_is_approved(
    tmp_path: Path, git: Git, *, team: bool
) -> None:
    made = init(tmp_path / "r", team=team, with_starters=True)
    branches = proposed(made.root, git)
    assert len(branches) == len(RULES)
    assert view(made.root).verdicts == {}
    assert not set(RULES) & set(git(made.root, "ls-files").split("\n"))
    assert f"{len(RULES)} starter rules wait" in "".join(made.notes)
    assert git(made.root, "log", "-1", "--format=%an", branches[0]) == "ai-lessons starter set"
    assert git(made.root, "status", "--short") == ""
    assert git(made.root, "fsck", "--strict") == ""


def test_a_repository_with_content_gets_them_when_they_are_asked_for(
    tmp_path: Path, git: Git
) -> None:
    root = init(tmp_path / "r").root
    (root / "shop" / "docs").mkdir(parents=True)
    (root / "shop" / "docs" / "a.md").write_text("# Mine\n")
    made = init(root, with_starters=True)
    entries = {name for name in read_template(template_dir()) if place(name)}
    assert set(made.added) == entries - set(RULES)
    assert git(root, "status", "--short") == "?? shop/"
    assert len(proposed(root, git)) == len(RULES)


def test_one_is_in_force_once_a_person_has_merged_it_and_does_not_come_back_unasked(
    tmp_path: Path, git: Git
) -> None:
    root = init(tmp_path / "r", with_starters=True).root
    branch = proposed(root, git)[0]
    git(root, "merge", "-q", "--no-ff", "--no-edit", branch)
    assert [verdict.evidence.how for verdict in view(root).verdicts.values()] == ["merge"]
    git(root, "branch", "-qD", *proposed(root, git))
    init(root)
    assert proposed(root, git) == []
    init(root, with_starters=True)
    assert branch not in proposed(root, git)
    assert len(proposed(root, git)) == len(RULES) - 1


def test_a_folder_of_a_bigger_repository_gets_none(git_repo: Path, git: Git) -> None:
    with pytest.raises(Refused, match="no starter set") as caught:
        init(git_repo / "kb", with_starters=True)
    assert "--starters" in caught.value.hint
    assert "rules" not in git(git_repo, "for-each-ref")

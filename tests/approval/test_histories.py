"""What is in force after real git histories: what teams do, and what attackers tried. Each stands in histories/."""

import os
import re
import subprocess
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from ai_lessons.approval import state
from ai_lessons.approval.signatures import PinnedSigners, SignerList
from ai_lessons.git.worktree import locate, read_ref
from ai_lessons.model.approval import NO_SIGNERS, ApprovalPolicy, Signers

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
        command = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name))
        subprocess.run(command, check=True)
    return folder


def served(folder: Path, rule: str, options: list[str], signers_file: Path) -> str:
    """The project and the words in force for a rule, `-` for none, as the policy in the options judges."""
    worktree = locate(folder)
    values = dict(pairwise(options))
    policy = ApprovalPolicy(values.get("--policy", "merge"), "--distinct" in options)  # type: ignore[arg-type]  # of the file
    ref = "refs/remotes/origin/main" if policy.require == "forge" else f"refs/heads/{values.get('--rev', 'main')}"
    signers: Signers = NO_SIGNERS
    if policy.require == "signed":
        listed = SignerList(LIST, data=signers_file.read_bytes())
        signers = PinnedSigners(worktree, ref, folder, lambda: datetime.now(UTC), (listed, True))
    state.save(worktree.state_dir, state.Remembered(policies={ref: policy}))
    assert read_ref(worktree, ref)
    verdict = state.derive(worktree, ref, signers).verdicts.get(rule)
    if verdict is None or not verdict.in_force or verdict.blob is None or verdict.path is None:
        return "-"
    text = subprocess.check_output(("git", "cat-file", "blob", verdict.blob), cwd=folder, text=True)
    return verdict.path.split("/")[0] + ":" + text.split("---\n")[-1].strip().replace("\n", "|")


@pytest.mark.parametrize(
    "script", [pytest.param(lines, id=name) for file in ("flows", "attacks") for name, lines in histories(file)]
)
def test_what_is_in_force_after_this_history(script: str, tmp_path: Path, keys: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "OUT": str(tmp_path), "KEYS": str(keys)}
    lines = f". '{FOLDER}/world.sh'\n{script}"
    # some of what the lines ask git for fails, as it did for the attacker
    done = subprocess.run(
        ("bash", "-c", lines), env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    asked = sorted(tmp_path.glob("*.asked"), key=lambda file: int(file.stem))
    assert asked, done.stderr
    for file in asked:
        name, words, rule, *options = file.read_text().rstrip("\t").split("\t")
        now = served(file.with_suffix(""), rule, options, file.with_suffix(".signers"))
        assert now == "-" if words == "-" else words in now, (name, words, now, done.stderr)

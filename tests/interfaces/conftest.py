"""The program run in this process, and a knowledge repository to run it on."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from ai_lessons.interfaces import cli
from interfaces.a_terminal import Child, Spawn
from interfaces.agent_host import Host
from interfaces.world import (
    FILES,
    PROGRAM,
    PROPOSAL,
    PROPOSAL_BRANCH,
    Outcome,
    Run,
    environment,
    program_in,
)
from real_world import Git, at_rest, commit_all, put_file, typed

RECORDED = Path(__file__).parents[1] / "features/hosts/transcripts/claude-code.jsonl"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `ai-lessons` with these arguments; `text` is what comes through standard input."""

    def call(*args: str | Path, text: str | bytes = "") -> Outcome:
        capfd.readouterr()
        with typed(text):
            code = cli.run([str(arg) for arg in args])
        done = capfd.readouterr()
        return Outcome(code, done.out, done.err)

    return call


@pytest.fixture
def knowledge(
    git_repo: Path,
    git: Git,
    hermetic: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A committed knowledge repository with one entry of each kind that can be written; we stand beside it."""
    made = tmp_path_factory.getbasetemp() / "knowledge"
    if not made.exists():
        for name, text in FILES.items():
            put_file(git_repo / name, text)
        (git_repo / "jira-api/scripts/v3/update-workflow.sh").chmod(0o755)
        commit_all(git, git_repo, "knowledge")
        shutil.copytree(git_repo, made)
    shutil.rmtree(git_repo)
    at_rest(shutil.copytree(made, git_repo, copy_function=shutil.copy))
    put_file(hermetic / "source/workflows-api.md", "# Workflows API\n\nAs it stands today.\n")
    monkeypatch.setenv("AI_LESSONS_REPO", str(git_repo))
    monkeypatch.setenv("AI_LESSONS_OFFLINE", "1")
    monkeypatch.chdir(git_repo.parent)
    return git_repo


@pytest.fixture
def proposal(knowledge: Path, git: Git) -> str:
    """A rule on a branch of its own, as an agent would leave it; its handle."""
    (path, text), *_ = PROPOSAL.items()
    git(knowledge, "switch", "-q", "-c", PROPOSAL_BRANCH)
    put_file(knowledge / path, text)
    git(knowledge, "add", path)
    git(
        knowledge,
        "-c",
        "user.name=Bo",
        "-c",
        "user.email=bo@example.com",
        "commit",
        "-qm",
        "Propose rule",
    )
    git(knowledge, "switch", "-q", "main")
    at_rest(knowledge)
    return "R-5N1QTC"


@pytest.fixture
def transcript(knowledge: Path) -> Path:
    """The session of a real Claude Code, where it would have put it: a push that failed, and one that worked."""
    return put_file(
        Path.home() / ".claude/projects/-home-ann-shop/cb2cfbaf.jsonl", RECORDED.read_bytes()
    )


@pytest.fixture
def signed(knowledge: Path, git: Git, tmp_path: Path) -> Path:
    """The policy asks for signatures; a list with our key alone, which is not pinned yet."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    git(knowledge, "config", "gpg.format", "ssh")
    git(knowledge, "config", "user.signingkey", str(key))
    settings, signers = knowledge / ".ai-lessons/config.yaml", tmp_path / "team.signers"
    put_file(settings, "format: 1\napproval:\n  require: signed\n")
    signers.write_text(f"person@example.com {key.with_suffix('.pub').read_text()}")
    git(knowledge, "add", ".ai-lessons")
    git(knowledge, "commit", "-qm", "policy", "--no-verify")
    at_rest(knowledge)
    return signers


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start `ai-lessons` on a terminal of 100 columns."""
    started: list[Child] = []

    def start(*args: str, **more: str) -> Child:
        environ = environment(TERM="xterm", **more)
        if more.get("NO_COLOR") == "":
            del environ["NO_COLOR"]
        child = pexpect.spawn(
            PROGRAM[0],
            [*PROGRAM[1:], *args],
            env=environ,
            encoding="utf-8",
            timeout=180,
            dimensions=(24, 100),
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


@pytest.fixture
def host(knowledge: Path, tmp_path: Path, git: Git) -> Host:
    """A code repository called as the project `jira-api` is but for its spelling, with a file that a rule is about."""
    code = tmp_path / "Jira_API"
    (code / "workflows").mkdir(parents=True)
    git(code, "init", "-q")
    return Host(code, program_in(tmp_path / "programs"))


@pytest.fixture
def approved(host: Host, proposal: str, run: Run) -> str:
    assert run("admin", "approve-rule", proposal, "--yes").code == 0
    return proposal

"""What our programs start, send and write: no code of the folder they stand in, no byte to a network, no stray file."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from ai_lessons.search.model_files import PINNED, ModelUnavailable, pull
from interfaces import mcp_world
from interfaces.agent_host import Host
from interfaces.world import PROGRAM, environment
from real_world import REAL_CACHE_HOME, put_file, put_program

OFFLINE = "AI_LESSONS_OFFLINE"
RECORDING = """
import json, os, sys

def note(event, given):
    if event in {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"}:
        with open(os.environ["STARTS"], "a") as file:
            print(json.dumps([event, *given[1:3]], default=os.fspath), file=file)

sys.addaudithook(note)
from ai_lessons.__main__ import main
main()
"""


@pytest.fixture
def ours(knowledge: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for cache, state and settings, its path short enough for a socket; no variable stops telemetry."""
    folder = Path(tempfile.mkdtemp(prefix="o"))
    (folder / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    for name in ("cache", "state", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(folder / name))
    for name in (
        "CI",
        "GITHUB_ACTIONS",
        "TF_BUILD",
        "ORT_DISABLE_TELEMETRY",
        "ORT_RUNNING_UNIT_TESTS",
        OFFLINE,
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("AI_LESSONS_WARM", "1")
    yield folder
    subprocess.run(
        [*PROGRAM, "admin", "warm", "stop"], env=environment(), capture_output=True, check=True
    )
    shutil.rmtree(folder)


@pytest.fixture
def cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder full of files that leave a mark if they are run, by the names of modules and programs that we use."""
    folder, mark = tmp_path / "cloned", f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
    for name in (
        "pip",
        "click",
        "lancedb",
        "json",
        "typing",
        "sitecustomize",
        "huggingface_hub",
        "dulwich",
    ):
        put_file(folder / f"{name}/__init__.py", mark)
        put_file(folder / f"{name}/__main__.py", mark)
    for name in ("pip", "pip3", "uvx", "pipx"):
        put_program(folder / f"bin/{name}", f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    put_file(folder / "uv.toml", "invalid =\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PATH", f"bin:{os.environ['PATH']}")
    return folder


def test_neither_our_program_nor_one_that_we_start_runs_code_of_the_folder_in_which_we_stand(
    ours: Path, cloned: Path, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    said = [sys.executable, "-P", "-c", RECORDING, "search", "workflows"]
    for warm in "01":  # without a helper, and starting one
        environ = environment(STARTS=str(starts), AI_LESSONS_WARM=warm)
        subprocess.run(said, cwd=cloned, env=environ, capture_output=True, check=True)
    found = [(words, cwd) for _, words, cwd in map(json.loads, starts.read_text().splitlines())]
    pythons = [
        (words, cwd)
        for words, cwd in found
        if Path(words[0]).name.startswith(("python", "pip", "uvx"))
    ]
    assert {words[3] for words, _ in pythons if words[0] == sys.executable} == {
        "pip",
        "ai_lessons.interfaces.daemon",
    }
    assert all(words[1] == "-P" for words, _ in pythons if words[0] == sys.executable)
    assert all(cwd == "/" or Path(cwd).is_relative_to(ours) for _, cwd in pythons)
    subprocess.run([*PROGRAM, "list"], cwd=cloned, env=environ, capture_output=True, check=False)
    assert not (tmp_path / "ran").exists()


# --- what leaves this machine, and what is written ---

CALLS = (
    "network,open,openat,creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,"
    "unlink,unlinkat,rmdir,truncate"
)
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|^(?!open)\w+\(")
NETWORK = re.compile(r"AF_(?!UNIX)\w+|<(?:TCP|UDP|RAW|NETLINK)")


@pytest.fixture
def tracing(ours: Path, tmp_path: Path) -> list[str]:
    """The words before a command that let strace watch it and all that it starts, with the model in its cache."""
    words = [
        "strace",
        "-ff",
        "--seccomp-bpf",
        "-qq",
        "-yy",
        "-s",
        "400",
        "-e",
        f"trace={CALLS}",
        "-o",
    ]
    try:
        subprocess.run([*words, str(tmp_path / "try"), "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no strace works here: {error}")
    try:
        model = pull(REAL_CACHE_HOME / "ai-lessons").path
    except ModelUnavailable as error:
        pytest.skip(f"no embedding model to be had here: {error.message}")
    (ours / "cache/ai-lessons/models").mkdir(parents=True)
    (ours / "cache/ai-lessons/models" / PINNED.name).symlink_to(model)
    return [*words, str(tmp_path / "trace")]


def strays(folder: Path, knowledge: Path, ours: Path) -> list[str]:
    """The calls below `folder` that speak to another machine, or write outside of our folders; what stays."""
    homes = [ours / name for name in ("cache", "state", "config")]
    allowed = [knowledge, ours / "tmp", *(one / "ai-lessons" for one in homes)]
    left = [str(one) for one in (ours / "tmp").iterdir()]
    lines = [
        line
        for file in sorted(folder.glob("trace.*"))
        for line in file.read_text(errors="replace").splitlines()
    ]
    assert lines
    wrong = [
        line
        for line in lines
        if NETWORK.search(line) or not all(map(in_one_of(allowed, homes), written(line)))
    ]
    return wrong + left


def written(line: str) -> list[Path]:
    """The files that a call makes, changes or removes."""
    if (
        line.startswith(("+++", "---"))
        or not WRITES.search(line)
        or re.match(r"(?:socket|send|recv|get|set)", line)
    ):
        return []
    said = re.findall(r'(?:AT_FDCWD|\d+)?(?:<([^>]*)>, )?"([^"]*)"', line)
    return [
        Path(os.path.normpath(os.path.join(folder, name)))
        for folder, name in said
        if folder or name[:1] == "/"
    ]


def in_one_of(folders: Sequence[Path], above: Sequence[Path]) -> Callable[[Path], bool]:
    known = {*map(Path, ("/dev/null", "/dev/tty", "/var/run/nscd/socket")), *above}
    return lambda path: path in known or any(path.is_relative_to(one) for one in folders)


def test_commands_and_hooks_send_nothing_and_write_only_in_our_folders(
    tracing: list[str], knowledge: Path, ours: Path, tmp_path: Path, host: Host
) -> None:
    suggestion = ("--title", "T", "--rationale", "R", "--content", "C")
    runs = [
        (("add", "--title", "Carts expire", "--content", "After an hour."), ""),
        (("search", "how do I keep the statuses"), ""),
        (("contribute", "suggest-rule", *suggestion), ""),
        (("admin", "agent-hook"), host.event("session_start")),
        (("admin", "agent-hook"), host.event("before_edit")),
    ]
    stand = tmp_path / "stand"
    stand.mkdir()
    for words, said in runs:
        done = subprocess.run(
            [*tracing, *PROGRAM, *words], cwd=stand, env=environment(AI_LESSONS_WARM="0"),
            input=said, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert strays(tmp_path, knowledge, ours) == []


def test_a_helper_sends_nothing_and_writes_only_in_our_folders(
    tracing: list[str], knowledge: Path, ours: Path, tmp_path: Path
) -> None:
    def ours_says(*words: str) -> str:
        return subprocess.run(
            [*PROGRAM, *words], env=environment(), capture_output=True, text=True, check=True
        ).stdout

    with subprocess.Popen(
        [*tracing, *PROGRAM, "search", "workflows"], env=environment()
    ) as watched:
        try:
            while not any(
                one["requests"]
                for one in json.loads(ours_says("admin", "warm", "status", "--json"))
            ):
                assert watched.poll() is None  # strace ends with the last of what it watches
            ours_says("search", "how do I keep the statuses")
        finally:
            ours_says("admin", "warm", "stop")
    assert strays(tmp_path, knowledge, ours) == []


def test_a_server_for_agents_sends_nothing_and_writes_only_in_our_folders(
    tracing: list[str], knowledge: Path, ours: Path, tmp_path: Path
) -> None:
    program = StdioServerParameters(
        command=tracing[0],
        args=[*tracing[1:], *mcp_world.PROGRAM],
        env=environment(AI_LESSONS_WARM="0"),
    )
    with (
        open(os.devnull, "w") as nobody,
        mcp_world.connected(stdio_client(program, errlog=nobody)) as agent,
    ):
        assert agent.call("search", query="how do I keep the statuses")
        agent.call("add_lesson", title="Carts expire", content="After an hour.")
    assert strays(tmp_path, knowledge, ours) == []

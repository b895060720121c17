"""Ten processes add lessons to one repository at the same time, and every one of them is kept."""

import subprocess
import sys
from pathlib import Path

from interfaces.world import environment
from real_world import Git

PROCESSES, EACH = 10, 10
WRITER = """
import sys
from ai_lessons.interfaces.cli import run
repo, writer, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
codes = [
    run(["--repo", repo, "add", "--title", f"swarm {writer}-{n}", "--content", f"c {writer} {n}", "--project", "swarm"])
    for n in range(each)
]
sys.exit(sum(code != 0 for code in codes))
"""


def test_a_hundred_lessons_of_ten_processes_are_all_kept(knowledge: Path, git: Git) -> None:
    words = [sys.executable, "-c", WRITER, str(knowledge)]
    writers = [
        subprocess.Popen(
            [*words, str(writer), str(EACH)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )
        for writer in range(PROCESSES)
    ]  # fmt: skip
    ended = [(writer.communicate()[0], writer.returncode) for writer in writers]
    refused = [out for out, code in ended if code]
    assert refused == []
    save = [sys.executable, "-m", "ai_lessons", "--repo", str(knowledge), "admin", "save"]
    subprocess.run(save, env=environment(), check=True)
    kept = git(
        knowledge, "grep", "-hE", "^title: .?swarm ", "HEAD", "--", "swarm/lessons"
    ).splitlines()
    assert len(set(kept)) == PROCESSES * EACH
    assert git(knowledge, "fsck", "--strict") == ""

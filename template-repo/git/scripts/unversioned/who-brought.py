#!/usr/bin/env python3
"""Show which commit brought this exact text of a file to a branch, and through which merges it came.

Usage: who-brought.py PATH [REVISION]     PATH as git knows it, from the top of the repository; default HEAD

`git log --first-parent` names whoever pulled; this follows the content: from the tip to the parent that has the
same text at the path, until no parent has it. Exit code: 0 found, 1 no such file in that revision, 2 wrong call.
"""

import subprocess
import sys


class Blobs:
    """Asks one `git cat-file` for the object that a revision has at a path."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.process = subprocess.Popen(
            ["git", "cat-file", "--batch-check=%(objectname)"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def at(self, revision: str) -> str | None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{revision}:{self.path}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        return None if answer.endswith((" missing", " ambiguous")) else answer

    def close(self) -> None:
        self.process.communicate()


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout.strip()


def follow(blobs: Blobs, tip: str) -> tuple[str, list[str]]:
    """The commit that first had the text, and the merges that took it from their other side, nearest first."""
    wanted, commit, merges = blobs.at(tip), tip, []
    while True:
        parents = git("rev-list", "--parents", "-n", "1", commit).split()[1:]
        same = [parent for parent in parents if blobs.at(parent) == wanted]
        if not same:
            return commit, merges
        if same[0] != parents[0]:
            merges.append(commit)
        commit = same[0]


def main(arguments: list[str]) -> int:
    if len(arguments) not in {1, 2} or "\n" in "".join(arguments):
        print(__doc__, file=sys.stderr)
        return 2
    path, revision = (
        arguments[0],
        git("rev-parse", "--verify", (arguments[1:] or ["HEAD"])[0] + "^{commit}"),
    )
    blobs = Blobs(path)
    try:
        if blobs.at(revision) is None:
            print(f"who-brought: {revision[:10]} has no file {path}", file=sys.stderr)
            return 1
        origin, merges = follow(blobs, revision)
    finally:
        blobs.close()
    line = "--format=%h %an, %as: %s"
    print("written by", git("show", "--no-patch", line, origin))
    for merge in reversed(merges):
        print("merged by ", git("show", "--no-patch", line, merge))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)

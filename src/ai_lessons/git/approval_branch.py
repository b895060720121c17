"""The approval branch, the branches of proposals, and what a verdict depends on: read from git's own files."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ai_lessons.git.files import read_json, translated
from ai_lessons.git.worktree import Worktree, every_setting, read_ref, read_settings
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


_FOLDER: Final = "approval"
REMEMBERED: Final = "remembered.json"
NAMES: Final = "first-commits.json"
# Every proposal about a rule is a branch below this
PROPOSALS: Final = "rules/"
# Every other proposal is a branch below this: about a lesson, a doc, a script
OTHERS: Final = "proposals/"
_REF: Final = expression(rf"refs/(?:heads|remotes/[^/]+)/((?:{PROPOSALS}|{OTHERS})\S+)")
_COMMIT_ID: Final = expression(r"[0-9a-f]{40}")


def approval_folder(state_dir: Path) -> Path:
    """Where approval keeps its files."""
    return state_dir / _FOLDER


def key_of(worktree: Worktree, tip: str) -> str:
    """Everything that verdicts depend on besides the policy and the signers."""
    return f"{tip} {cut_off(worktree)}{_filters(worktree)}"


def _filters(worktree: Worktree) -> str:
    """Digests of attributes and settings; empty where the attributes at the top name no filter."""
    attributes = b""
    for path in (worktree.top / ".gitattributes", worktree.common_dir / "info" / "attributes"):
        with suppress(OSError):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    attributes += file.read(1 << 20)
    if b"filter" not in attributes:
        return ""
    return f" {sha256(attributes).hexdigest()} {_digest(worktree.common_dir / 'config')}"


def memory(state_dir: Path) -> str:
    """The digest of what this clone remembers of its approval branches; `-` for nothing."""
    return _digest(approval_folder(state_dir) / REMEMBERED) or "-"


def cut_off(worktree: Worktree) -> str:
    """The digest of where a shallow clone's history ends; empty for a whole one."""
    return _digest(worktree.common_dir / "shallow")


def _digest(file: Path) -> str:
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""


SETTING: Final = "ai-lessons.approvalBranch"
DEFAULT: Final = "main"
HEADS: Final = "refs/heads/"
_PIN: Final = "branch"


def followed(worktree: Worktree) -> str | None:
    """The approval branch as a full ref, which need not exist; None if none was named.

    Raises UnsupportedRepository.
    """
    with translated(str(worktree.common_dir)):
        branch = read_settings(worktree.common_dir / "config").get(SETTING.lower())
    if not branch:
        with suppress(OSError):
            branch = (
                (approval_folder(worktree.state_dir) / _PIN)
                .read_text(encoding="utf-8", errors="replace")
                .strip()
            )
    ref = HEADS + (branch or DEFAULT).removeprefix(HEADS)
    return _present(worktree, ref) or (ref if branch else None)


def _present(worktree: Worktree, ref: str) -> str | None:
    """This branch, or the remote's where there is none here (`clone -b feature`, CI).

    None for neither.
    """
    return next((name for name in (ref, tracking(worktree, ref)) if read_ref(worktree, name)), None)


def tracking(worktree: Worktree, ref: str) -> str:
    """The remote-tracking branch of an approval branch, as full names.

    It is of the branch's own remote, else of the one that all branches here have, of the only one,
    or of `origin`.
    """
    name = short_name(ref)
    with translated(str(worktree.common_dir)):
        settings = dict(every_setting(worktree.common_dir / "config"))
    remotes = set()
    for key in settings:
        if key.startswith("remote.") and key.endswith(".url"):
            remotes.add(key[7:-4])
    by_branches = {
        v for key, v in settings.items() if key.startswith("branch.") and key.endswith(".remote")
    } & remotes
    remote = settings.get(f"branch.{name}.remote", "")
    for names in (by_branches, remotes, {"origin"}):
        if remote not in remotes and len(names) == 1:
            (remote,) = names
    return f"refs/remotes/{remote or 'origin'}/{name}"


def remotes(worktree: Worktree) -> dict[str, str]:
    """The URL of each remote by its name, as the settings state it."""
    with translated(str(worktree.common_dir)):
        rows = dict(every_setting(worktree.common_dir / "config"))
    remotes: dict[str, str] = {}
    for key, url in rows.items():
        if key.startswith("remote.") and key.endswith(".url"):
            remotes[key[7:-4]] = url
    return remotes


def remote_address(worktree: Worktree, ref: str) -> str:
    """The URL of the remote of an approval branch, as the settings state it; empty for none."""
    remote = (ref if ref.startswith("refs/remotes/") else tracking(worktree, ref)).split("/")[2]
    return remotes(worktree).get(remote, "")


def follow_first(worktree: Worktree, branch: str) -> str | None:
    """Follow `branch` from now on, or once where the state cannot be written.

    Its full ref, None if it is missing.
    """
    ref = _present(worktree, HEADS + branch)
    if ref is None:
        return None
    pin = approval_folder(worktree.state_dir) / _PIN
    with suppress(OSError):
        pin.parent.mkdir(parents=True, exist_ok=True)
        pin.write_text(branch + "\n", encoding="utf-8")
    return ref


def branch_name(ref: str) -> str:
    """The branch as people write it: `main`, `origin/main`."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")


def short_name(ref: str) -> str:
    """The branch without its remote, as it stands in the messages of merges."""
    if ref.startswith("refs/heads/"):
        return ref.removeprefix("refs/heads/")
    return branch_name(ref).partition("/")[2]


def proposal_refs(worktree: Worktree, *families: str) -> dict[str, str]:
    """Full names of proposal branches and where they point, loose before packed ones.

    `families`: of these alone.
    """
    families = families or (PROPOSALS, OTHERS)
    refs: dict[str, str] = {}
    common, above = worktree.common_dir, len(os.fspath(worktree.common_dir)) + 1
    with suppress(OSError):
        for line in (
            (common / "packed-refs")
            .read_text(encoding="utf-8", errors="surrogateescape")
            .splitlines()
        ):
            commit, _, ref = line.partition(" ")
            if branch_of(ref).startswith(families) and _COMMIT_ID.fullmatch(commit):
                refs[ref] = commit
    tops = (common / "refs" / "heads", *sorted(common.glob("refs/remotes/*")))
    walks = (os.walk(top / family.rstrip("/")) for top in tops for family in families)
    for file in (
        f"{folder}/{name}" for walk in walks for folder, _, names in walk for name in names
    ):
        # raw reads and no pathlib: there may be thousands, and they are read several times
        with suppress(OSError, UnicodeDecodeError), open(file, "rb", buffering=0) as opened:
            text = opened.read(100).decode("ascii").strip()
            if _COMMIT_ID.fullmatch(text) and branch_of(file[above:]):
                refs[file[above:]] = text
    return refs


def branch_of(ref: str) -> str:
    """`rules/R-8F3K2A-use-x` for its ref, local or remote.

    Empty for any other, and for names that are no text.
    """
    match = _REF.fullmatch(ref)
    if match and ref.isprintable():
        return match[1]
    return ""


def passed_over(ref: str, commit: str) -> str:
    """The message about the ref of a proposal that cannot be read."""
    from shlex import quote

    why = f"its commit {commit[:10]}, or an object behind it, is missing, damaged or no commit"
    return f"{branch_name(ref)} cannot be read and is passed over: {why}; to remove it: git update-ref -d {quote(ref)}"


def signature(refs: Mapping[str, str]) -> str:
    """A digest of refs and their commits."""
    return sha256(
        "\n".join(f"{ref} {commit}" for ref, commit in sorted(refs.items())).encode()
    ).hexdigest()


def noted_names(worktree: Worktree) -> dict[str, tuple[str, str]]:
    """By approval branch the tip at which they were read, and the first commits, separated by blanks."""
    try:
        raw = read_json(approval_folder(worktree.state_dir) / NAMES)
        return {str(ref): (str(tip), str(names)) for ref, (tip, names) in raw.items()}
    except (ValueError, TypeError, AttributeError):
        return {}

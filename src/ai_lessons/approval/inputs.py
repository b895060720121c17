"""What verdicts are made from besides commits.

One function reads it, and gives the key that changes with each of it.

Every reader asks for that key, so this loads neither what judges nor what reads commits.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from ai_lessons.git.approval_branch import (
    REMEMBERED,
    approval_folder,
    key_of,
    remotes,
    short_name,
    tracking,
)
from ai_lessons.git.files import write_json
from ai_lessons.git.worktree import Worktree, read_ref
from ai_lessons.model import Mandate
from ai_lessons.model.approval import ApprovalPolicy

# The digest of no memory
NOTHING: Final = "-"


class Remembered(NamedTuple):
    """By ref the last tip and policy that raised no alarm.

    And the address of the forge that a person took it from.
    """

    tips: Mapping[str, str] = {}
    policies: Mapping[str, ApprovalPolicy] = {}
    forges: Mapping[str, str] = {}


def policy_of(require: Any, distinct: Any, forges: Sequence[str] = ()) -> ApprovalPolicy:
    """A policy as JSON has it. An earlier version wrote down no forges."""
    return ApprovalPolicy(require, distinct, tuple(forges))


def load(state_dir: Path) -> Remembered:
    """What is remembered; nothing if there is no file, or one that cannot be read."""
    return _remembered(_data(state_dir))


def _data(state_dir: Path) -> bytes:
    try:
        return (approval_folder(state_dir) / REMEMBERED).read_bytes()
    except OSError:
        return b""


def _remembered(data: bytes) -> Remembered:
    try:
        raw = json.loads(data)
        # an earlier version also wrote down a number of signers
        policies = {}
        for ref, row in raw["policies"].items():
            policies[ref] = policy_of(row["require"], row["distinct"], row.get("forges", ()))
        return Remembered(dict(raw["tips"]), policies, dict(raw.get("forges", {})))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Remembered()


def save(state_dir: Path, remembered: Remembered) -> None:
    """Replace what is remembered, whole or not at all. Raises StorageFailed."""
    raw = remembered._asdict() | {
        "policies": {ref: policy._asdict() for ref, policy in remembered.policies.items()}
    }
    write_json(approval_folder(state_dir) / REMEMBERED, raw)


class BranchInputs(NamedTuple):
    """What the verdicts on one branch are made from: its `tip`, what is remembered, the signers.

    `tip` is None where there is no such branch. `memory`, `signers` and `around` are digests: of
    what is remembered, of the list of signers, and of where the history ends in a shallow clone,
    with filters.
    """

    ref: str
    tip: str | None
    remembered: Remembered
    memory: str
    signers: str
    around: str

    @property
    def key(self) -> str:
        """What changes with each of these but the memory."""
        return f"{self.ref} {self.tip} {self.signers} {self.around}"


class Forge(NamedTuple):
    """The remote's branch that decides under `forge`.

    `ref` is empty where no remote has the acknowledged address. `today`: the address of the remote
    that the approval branch follows; `acknowledged`: None, if no person took one. `stated_in`: the
    file of administrators who state it.
    """

    ref: str
    today: str
    acknowledged: str | None
    stated_in: str = ""


class Inputs(NamedTuple):
    """The same of the approval branch and of the one of the forge."""

    branch: BranchInputs
    forge: Forge
    on_forge: BranchInputs | None

    @property
    def key(self) -> str:
        """What changes with each of these; the memory is its first word."""
        if self.on_forge:
            forge_key = self.on_forge.key
        else:
            forge_key = NOTHING
        return f"{self.branch.memory} {self.branch.key} {self.forge.today} {self.forge.acknowledged} {forge_key}"


def read_inputs(
    worktree: Worktree, ref: str, digest: Callable[[str], str], mandate: Mandate | None = None
) -> Inputs:
    """All that verdicts are made from as it is now; `digest` gives that of the signers of a branch.

    Raises UnsupportedRepository.
    """
    branch = read_branch(worktree, ref, digest(ref))
    forge = forge_of(worktree, ref, branch.remembered, mandate)
    on_forge = None
    if forge.ref:
        on_forge = read_branch(worktree, forge.ref, digest(forge.ref))
    return Inputs(branch, forge, on_forge)


def read_branch(worktree: Worktree, ref: str, signers: str) -> BranchInputs:
    """What the verdicts on one branch are made from, as it is now. Raises UnsupportedRepository."""
    data = _data(worktree.state_dir)
    if data:
        memory = sha256(data).hexdigest()
    else:
        memory = NOTHING
    return BranchInputs(
        ref, read_ref(worktree, ref), _remembered(data), memory, signers, key_of(worktree, "")
    )


def forge_of(
    worktree: Worktree, ref: str, remembered: Remembered, mandate: Mandate | None = None
) -> Forge:
    """The remote with the address that was acknowledged, else the one that the branch follows.

    By the administrators of this machine, or else by a person.
    """
    addresses = {}
    for name, url in remotes(worktree).items():
        addresses[name] = plain_address(url, worktree.top)
    here, acknowledged, stated_in = tracking(worktree, ref), remembered.forges.get(ref), ""
    if mandate and mandate.address:
        acknowledged, stated_in = plain_address(mandate.address, worktree.top), mandate.file
    today = addresses.get(here.split("/")[2], "")
    if acknowledged in {None, today}:
        return Forge(here, today, acknowledged, stated_in)
    other = next(
        (name for name, address in sorted(addresses.items()) if address == acknowledged), None
    )
    named = ""
    if other:
        named = f"refs/remotes/{other}/{short_name(ref)}"
    return Forge(named, today, acknowledged, stated_in)


def plain_address(url: str, top: Path) -> str:
    """An address without what differs between ways to one repository.

    That is scheme, user, standard port and `.git`. `git@github.com:acme/kb.git` and
    `https://github.com/acme/kb` are `github.com/acme/kb`.
    """
    if match := re.fullmatch(
        r"(?:ssh|git|git\+ssh|https?)://(?:[^/@]*@)?([^/:]+)(?::(\d+))?/+(.*)", url
    ):
        host, port, path = match.groups()
        if port and port not in {"22", "80", "443", "9418"}:
            host += f":{port}"
    elif match := re.fullmatch(r"(?:[^/@:]+@)?([^/:]+):(?!//)(.+)", url):
        host, path = match.groups()
    else:
        return os.path.realpath(top / url.removeprefix("file://")).removesuffix("/.git")
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}"

"""What a clone remembers about approval for good: tips, policies, signed decisions and proposals it has seen.

Two small files in the state folder. Unlike projections they cannot be rebuilt, so they are kept apart from them:
without them nothing breaks, but rewritten history and squashed proposals can no longer be recognised.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ai_lessons.errors import StorageFailed
from ai_lessons.repository.approval.approval_stamp import PROPOSALS, REMEMBERED, folder
from ai_lessons.repository.approval.verdicts import ApprovalPolicy, Known, Person, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PROPOSALS_KEPT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Remembered:
    """By ref the last tip and policy that raised no alarm; by rule the end of its chain of signed records."""

    tips: Mapping[str, str] = field(default_factory=dict)
    policies: Mapping[str, ApprovalPolicy] = field(default_factory=dict)
    records: Mapping[str, str] = field(default_factory=dict)

    def with_branch(self, ref: str, tip: str, policy: ApprovalPolicy) -> Remembered:
        """The same with this tip and policy."""
        return replace(self, tips={**self.tips, ref: tip}, policies={**self.policies, ref: policy})


def load(state_dir: Path) -> Remembered:
    """What is remembered; nothing if there is no file, or one that cannot be read."""
    try:
        raw = json.loads((folder(state_dir) / REMEMBERED).read_bytes())
        policies = {ref: ApprovalPolicy(**policy) for ref, policy in raw["policies"].items()}
        return Remembered(dict(raw["tips"]), policies, dict(raw["records"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Remembered()


def save(state_dir: Path, remembered: Remembered) -> None:
    """Replace what is remembered, whole or not at all.

    Raises:
        StorageFailed: the folder cannot be written.
    """
    replace_file(folder(state_dir) / REMEMBERED, json.dumps(asdict(remembered), sort_keys=True, indent=1))


def replace_file(place: Path, text: str) -> None:
    """Write a file of ours, whole or not at all.

    Raises:
        StorageFailed: its folder cannot be written.
    """
    temporary = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(place)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StorageFailed(f"{place} cannot be written: {error.strerror}") from error


def proposals(state_dir: Path) -> Known:
    """Every proposal this clone has seen, less those that were forgotten. Damaged lines are passed over."""
    found: dict[tuple[str, str], list[Proposal]] = {}
    try:
        lines = (folder(state_dir) / PROPOSALS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return Known()
    for line in lines[-PROPOSALS_KEPT:]:
        with suppress(ValueError, TypeError, KeyError):
            raw: dict[str, Any] = json.loads(line)
            key = (raw["rule"], raw["branch"])
            if "forget" in raw:
                found.pop(key, None)
            else:
                found.setdefault(key, []).append(Proposal(**{**raw, "author": Person(**raw["author"])}))
    return known_from(proposal for several in found.values() for proposal in several)


def known_from(several: Iterable[Proposal]) -> Known:
    """Proposals in the order in which the judges look for them."""
    texts: dict[tuple[str, str | None], list[Proposal]] = {}
    tips: dict[str, str] = {}
    for proposal in dict.fromkeys(several):
        texts.setdefault((proposal.rule, proposal.blob), []).append(proposal)
        tips[proposal.commit] = proposal.branch
    return Known({key: tuple(value) for key, value in texts.items()}, tips)


def add_proposals(state_dir: Path, several: Iterable[Proposal]) -> None:
    """Remember proposals.

    Raises:
        StorageFailed: the folder cannot be written.
    """
    _append(state_dir, [asdict(proposal) for proposal in several])


def forget_proposal(state_dir: Path, rule: str, branch: str) -> None:
    """Forget a proposal that was rejected: its text, committed by somebody later, shall not pass for a taken proposal.

    Raises:
        StorageFailed: the folder cannot be written.
    """
    _append(state_dir, [{"rule": rule, "branch": branch, "forget": True}])


def _append(state_dir: Path, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    place = folder(state_dir) / PROPOSALS
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # one write, so that lines of two processes never mix
            os.write(fd, "".join(json.dumps(row) + "\n" for row in rows).encode())
        finally:
            os.close(fd)
    except OSError as error:
        raise StorageFailed(f"{place} cannot be written: {error.strerror}") from error

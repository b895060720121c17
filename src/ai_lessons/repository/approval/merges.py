"""What the message of a commit says about proposals: which ones it merges, and whether an agent wrote it.

Pure, and suspicious: a proposer chooses branch names and pull-request titles, so only the exact sentences that git and
the forges write are read, from their first character to their last.
"""

from __future__ import annotations

import re
from typing import Final

APPROVE_SUBJECT: Final = "Approve rule"
APPROVE: Final = "Approve"
PROPOSAL_TRAILER: Final = "Proposal"
RULE_TRAILER: Final = "Rule"
ENTRY_TRAILER: Final = "Entry"
PROPOSED_TRAILER: Final = "Proposed-as"
"""On the commit of a proposal that is not about a rule: its branch, so that a squash or rebase still tells it."""

REPORT_LIMIT: Final = 32_000
"""Characters of a report that are read; nobody reads more before deciding."""

AGENT_TRAILER: Final = "Agent"

FORGES: Final = frozenset({"noreply@github.com", "noreply@gitlab.com"})
"""Committer addresses behind which a forge hides the person who pressed the button."""

_TAIL: Final = re.compile(r"rules/(?:r-)?([0-9a-hjkmnp-tv-z]{6,26})(?:-[^/]*)?", re.IGNORECASE)
_OTHER_TAIL: Final = re.compile(r"proposals/(?:[lds]-|release-)?([0-9a-hjkmnp-tv-z]{6,26})(?:-[^/]*)?", re.IGNORECASE)
_MERGE: Final = re.compile(
    r"Merge (remote-tracking )?branch(?:es)? ('[^']+'(?:(?:,| and) '[^']+')*)(?: of \S+)?(?: into '?([^' ]+)'?)?"
)
_GITHUB: Final = re.compile(r"Merge pull request #\d+ from [^/ ]+/(\S+)")
_GITEA: Final = re.compile(r"Merge pull request '.*' \([#!]\d+\) from (?:[^: ]+:)?([^: ]+) into ([^: ]+)")
_BITBUCKET: Final = re.compile(r"Merged in (\S+) \(pull request #\d+\)")
_OURS: Final = re.compile(rf"(?:{APPROVE_SUBJECT}s?|{APPROVE} (?:lesson|doc|script|release)): .+")
_PULL_REQUEST: Final = re.compile(r".+ \([#!]\d+\)")
_TRAILER: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*): (.+)")


def rule_end(branch: str) -> str | None:
    """The end of the rule id that a proposal branch names (`rules/R-8F3K2A-use-x`), in capitals; None for others."""
    found = _TAIL.fullmatch(branch)
    return found[1].upper() if found else None


def entry_end(branch: str) -> str | None:
    """The same for a proposal about anything else (`proposals/L-8F3K2A-use-x`, `proposals/release-8F3K2A-…`)."""
    found = _OTHER_TAIL.fullmatch(branch)
    return found[1].upper() if found else None


def merged_branches(message: str, approval_branch: str) -> tuple[str, ...] | None:
    """The branches that a merge commit says it brought to the approval branch, in the order of its parents.

    Empty if it says something else: another destination, a tag. None if it does not say, because somebody wrote a
    message of their own: then the merged commits themselves have to tell.
    """
    subject = message.partition("\n")[0].strip()
    if found := _MERGE.fullmatch(subject):
        names = re.findall(r"'([^']+)'", found[2])
        return tuple(map(_plain, names, [bool(found[1])] * len(names))) if _arrives(found[3], approval_branch) else ()
    if found := _GITEA.fullmatch(subject):
        return (found[1],) if _arrives(found[2], approval_branch) else ()
    if found := _GITHUB.fullmatch(subject) or _BITBUCKET.fullmatch(subject):
        return (found[1],)
    if _OURS.fullmatch(subject):
        return tuple(value for key, value in trailers(message) if key == PROPOSAL_TRAILER)
    if subject.startswith(("Merge branch", "Merge remote-tracking", "Merge pull request", "Merge tag")):
        return ()
    return None


def _arrives(destination: str | None, approval_branch: str) -> bool:
    # git leaves out the destination where it is the main branch
    return destination is None or destination.removeprefix("refs/heads/") == approval_branch


def _plain(name: str, remote: bool) -> str:
    name = name.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    return name.partition("/")[2] if remote else name


def trailers(message: str) -> tuple[tuple[str, str], ...]:
    """The `Key: value` lines of the last paragraph, if that is all it holds and it is not the subject."""
    paragraphs = re.split(r"\n\s*\n", message.strip())
    if len(paragraphs) < 2:
        return ()
    found = [_TRAILER.fullmatch(line.strip()) for line in paragraphs[-1].splitlines()]
    return tuple((match[1], match[2]) for match in found if match) if all(found) else ()


def report(message: str) -> str:
    """What stands between the subject and the trailers of a proposal's commit; its first `REPORT_LIMIT` characters."""
    parts = re.split(r"(\n\s*\n)", message.strip())
    rest = "".join(parts[2:-2] if trailers(message) else parts[2:])
    return rest if len(rest) <= REPORT_LIMIT else f"{rest[:REPORT_LIMIT]}\n…"


def with_report(message: str, said: str) -> str:
    """A message (subject, blank line, trailers) with a report in between, cleaned of what is not text."""
    plain = "".join(c if c.isprintable() or c in "\n\t" else " " for c in said.replace("\r\n", "\n"))
    lines = "\n".join(line.rstrip() for line in plain.split("\n")).strip("\n")
    subject, _, rest = message.partition("\n\n")
    return f"{subject}\n\n{lines}\n\n{rest}" if lines and rest else message


def made_by_agent(message: str) -> bool:
    """True if the commit itself says that an agent made it."""
    return any(key.casefold() == AGENT_TRAILER.casefold() for key, _ in trailers(message))


def names_pull_request(message: str) -> bool:
    """True for the subject that a forge gives to a squashed pull request, `Use X (#7)`."""
    return _PULL_REQUEST.fullmatch(message.partition("\n")[0].strip()) is not None


def copied_from(message: str) -> frozenset[str]:
    """Commits that this one says it was made from: `git merge --squash` lists them, `cherry-pick -x` names one."""
    squashed = re.findall(r"^commit ([0-9a-f]{40})$", message, re.MULTILINE) if "Squashed commit" in message else []
    return frozenset(squashed + re.findall(r"\(cherry picked from commit ([0-9a-f]{40})\)", message))

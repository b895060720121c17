"""What names, texts and messages of commits state about approval, matched exactly: proposers choose names freely."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from ai_lessons.errors import InvalidEntry
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.layout import CONFIG_PATH, MARKDOWN_SUFFIXES, place
from ai_lessons.knowledge.markdown import parse
from ai_lessons.knowledge.texts import decode

APPROVALS: Final = ".ai-lessons/approvals/"
REJECTED: Final = ".ai-lessons/rejected/"
SIGNERS: Final = ".ai-lessons/allowed_signers"
TEXT_LIMIT: Final = 1024 * 1024  # Bytes. A longer text is no rule: no person could have read it before approving it
_ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_MATTER: Final = re.compile(rb"---\n((?:[^\n]+\n)+?)---\n")
# Lines that can mean only one thing: printable ASCII, nothing quoted over several lines, no flow collections, block
# scalars or anchors; a list only below a key without a value, where it cannot go on with the line above.
_TEXT: Final = rb"[A-Za-z0-9._/(][ -\"$-9;-~]*(?::[!-\"$-9;-~][ -\"$-9;-~]*)*"
_PLAIN: Final = re.compile(
    rb"(?:[a-z_]+: +(?:TEXT|\"[ !#-\[\]-~]*\")\n|[a-z_]+:\n(?: *- TEXT(?:: TEXT)?\n)*)+".replace(b"TEXT", _TEXT)
)
_PLAIN_ID: Final = re.compile(rb"^id: ([0-7][0-9A-HJKMNP-TV-Z]{25})$", re.MULTILINE)


@lru_cache(maxsize=1 << 16)
def is_rule(path: str) -> bool:
    """True for a file below a rules folder. A rule that lies elsewhere is never in force, whatever it says it is."""
    if not path.lower().endswith(MARKDOWN_SUFFIXES) or "rules/" not in path:
        return False
    where = place(path)
    return where is not None and where.kind is Kind.RULE


def is_watched(path: str) -> bool:
    """True for the other files that approval reads from the branch: settings, signed records, rejections, signers."""
    return path.startswith((APPROVALS, REJECTED, SIGNERS)) or path == CONFIG_PATH


def stated_id(data: bytes) -> str | None:
    """The id that a text states; plain frontmatter is read without the YAML reader, which is slower."""
    try:
        if len(data) > TEXT_LIMIT or "\0" in data.decode():
            return None
    except UnicodeDecodeError:
        return None
    match = _MATTER.match(data)
    if match is not None and _PLAIN.fullmatch(match[1]):
        ids = _PLAIN_ID.findall(match[1])
        keys = match[1].count(b"\nid:") + match[1].startswith(b"id:")
        if len(ids) == keys == 1 and not ids[0].isdigit():  # digits alone are a number to YAML
            return str(ids[0].decode())
    return parsed_id(data)


def parsed_id(data: bytes) -> str | None:
    """The id that a text states, by the YAML reader."""
    try:
        value = parse(decode(data, "")).fields.get("id")
    except InvalidEntry:
        return None
    return value.upper() if isinstance(value, str) and _ULID.fullmatch(value.upper()) else None


APPROVE_SUBJECT: Final = "Approve rule"
APPROVE: Final = "Approve"
PROPOSAL_TRAILER: Final = "Proposal"
RULE_TRAILER: Final = "Rule"
ENTRY_TRAILER: Final = "Entry"
# On the commit of a proposal that is not about a rule: its branch, so that a squash or rebase still tells it
PROPOSED_TRAILER: Final = "Proposed-as"
REPORT_LIMIT: Final = 32_000  # Characters of a report that are read
BATCH: Final = "Batch"  # The trailer with the name of the import that made a proposal
AGENT_TRAILER: Final = "Agent"

# Committer addresses behind which a forge hides the person who pressed the button
FORGES: Final = frozenset({"noreply@github.com", "noreply@gitlab.com"})
_TAIL: Final = re.compile(r"rules/(?:r-)?([0-9a-hjkmnp-tv-z]{6,26})(?:-[^/]*)?", re.IGNORECASE)
_OTHER_TAIL: Final = re.compile(r"proposals/(?:[lds]-)?([0-9a-hjkmnp-tv-z]{6,26})(?:-[^/]*)?", re.IGNORECASE)
_MERGE: Final = re.compile(
    r"Merge (remote-tracking )?branch(?:es)? ('[^']+'(?:(?:,| and) '[^']+')*)(?: of \S+)?(?: into '?([^' ]+)'?)?"
)
_GITHUB: Final = re.compile(r"Merge pull request #\d+ from [^/ ]+/(\S+)")
_GITEA: Final = re.compile(r"Merge pull request '.*' \([#!]\d+\) from (?:[^: ]+:)?([^: ]+) into ([^: ]+)")
_BITBUCKET: Final = re.compile(r"Merged in (\S+) \(pull request #\d+\)")
_OURS: Final = re.compile(rf"(?:{APPROVE_SUBJECT}s?|{APPROVE} (?:lesson|doc|script)): .+")
_PULL_REQUEST: Final = re.compile(r".+ \([#!]\d+\)")
_TRAILER: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*): (.+)")


def rule_end(branch: str) -> str | None:
    """The end of the rule id that a proposal branch names (`rules/R-8F3K2A-use-x`), in capitals; None for others."""
    match = _TAIL.fullmatch(branch)
    return match[1].upper() if match else None


def entry_end(branch: str) -> str | None:
    """The same for a proposal about anything else (`proposals/L-8F3K2A-use-x`)."""
    match = _OTHER_TAIL.fullmatch(branch)
    return match[1].upper() if match else None


def merged_branches(message: str, approval_branch: str) -> tuple[str, ...] | None:
    """The branches that a merge names, in the order of its parents; none for other branches, None for free text."""
    subject = message.partition("\n")[0].strip()
    to_us = {None, approval_branch, f"refs/heads/{approval_branch}"}  # git leaves out its main branch
    if match := _MERGE.fullmatch(subject):
        if match[3] not in to_us:
            return ()
        names = [re.sub("^refs/(?:heads|remotes)/", "", name) for name in re.findall(r"'([^']+)'", match[2])]
        return tuple(name.partition("/")[2] if match[1] else name for name in names)
    if match := _GITEA.fullmatch(subject):
        return (match[1],) if match[2] in to_us else ()
    if match := _GITHUB.fullmatch(subject) or _BITBUCKET.fullmatch(subject):
        return (match[1],)
    if _OURS.fullmatch(subject):
        return tuple(value for key, value in trailers(message) if key == PROPOSAL_TRAILER)
    if subject.startswith(("Merge branch", "Merge remote-tracking", "Merge pull request", "Merge tag")):
        return ()
    return None


def trailers(message: str) -> tuple[tuple[str, str], ...]:
    """The `Key: value` lines of the last paragraph, if that is all it holds and it is not the subject."""
    paragraphs = re.split(r"\n\s*\n", message.strip())
    if len(paragraphs) < 2:
        return ()
    matches = [_TRAILER.fullmatch(line.strip()) for line in paragraphs[-1].splitlines()]
    return tuple((match[1], match[2]) for match in matches if match) if all(matches) else ()


def report(message: str) -> str:
    """The text between the subject and the trailers of a proposal's commit; its first `REPORT_LIMIT` characters."""
    parts = re.split(r"(\n\s*\n)", message.strip())
    text = "".join(parts[2:-2] if trailers(message) else parts[2:])
    return text if len(text) <= REPORT_LIMIT else f"{text[:REPORT_LIMIT]}\n…"


def with_report(message: str, report: str) -> str:
    """A message (subject, blank line, trailers) with a report in between, without control characters."""
    plain = "".join(c if c.isprintable() or c in "\n\t" else " " for c in report.replace("\r\n", "\n"))
    lines = "\n".join(line.rstrip() for line in plain.split("\n")).strip("\n")
    subject, _, trailers = message.partition("\n\n")
    return f"{subject}\n\n{lines}\n\n{trailers}" if lines and trailers else message


def made_by_agent(message: str) -> bool:
    """True if the commit itself says that an agent made it."""
    return any(key.casefold() == AGENT_TRAILER.casefold() for key, _ in trailers(message))


def names_pull_request(message: str) -> bool:
    """True for the subject that a forge gives to a squashed pull request, `Use X (#7)`."""
    return _PULL_REQUEST.fullmatch(message.partition("\n")[0].strip()) is not None


def copied_from(message: str) -> frozenset[str]:
    """The commits that a message names as its sources: `git merge --squash` lists them, `cherry-pick -x` names one."""
    squashed = re.findall(r"^commit ([0-9a-f]{40})$", message, re.MULTILINE) if "Squashed commit" in message else []
    return frozenset(squashed + re.findall(r"\(cherry picked from commit ([0-9a-f]{40})\)", message))

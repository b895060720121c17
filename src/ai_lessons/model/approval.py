"""Words of approval: people, commits, evidence, trailers, and names of rules' files and branches.

Decides nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Literal, NamedTuple, Protocol, Self

from ai_lessons.errors import InvalidEntry
from ai_lessons.model import Mandate, entries, expression
from ai_lessons.model.entries import Kind
from ai_lessons.model.layout import CONFIG_PATH, MARKDOWN_SUFFIXES, place
from ai_lessons.model.texts import decode

# `line`: the commit says in a line of ours what it approves; `forge`: it stands on a protected
# branch; `direct`: none
How = Literal["merge", "squash", "line", "signed", "forge", "direct"]
# Levels of evidence. 0 is a text that is on no approval branch at all, which is nothing to judge
ON_BRANCH, MERGED, SIGNED = 1, 2, 3


class Person(NamedTuple):
    """A person as git knows them. Two with the same address (in any case) are one."""

    name: str
    email: str

    def __str__(self) -> str:
        if self.email not in {"", self.name}:
            return f"{self.name} <{self.email}>"
        return self.name

    def same(self, other: Self) -> bool:
        """True for the same address."""
        return self.email.casefold() == other.email.casefold()


class PathChange(NamedTuple):
    """What a commit did to a path against one parent: blob ids.

    None for no text, of a rule or of another rule's.
    """

    path: str
    old: str | None
    new: str | None


class CommitInfo(NamedTuple):
    """The header and message of a commit.

    `cut`: it has other parents here (shallow); `odd`: why it proves nothing.

    `signed`: it has a signature, good or not. `of_tag`: it merged an annotated tag, whose message
    git copied into it.
    """

    author: Person
    committer: Person
    # seconds since 1970
    authored: int
    committed: int
    message: str
    cut: bool
    odd: str
    signed: bool = False
    of_tag: bool = False


class Evidence(NamedTuple):
    """How a text came to the branch. `at` is in seconds since 1970.

    `reason` says to people which evidence applied, or why none did. `squash` without the level of a
    merge: it looks like the squash of a forge that is not known here.
    """

    level: int
    how: How
    by: Person | None
    at: int
    suggested_by: tuple[Person, ...]
    commit: str
    reason: str


class UnapprovedChange(NamedTuple):
    """A text, or (blob None) a removal, on the branch without enough evidence."""

    path: str
    blob: str | None
    evidence: Evidence


class Verdict(NamedTuple):
    """The text of a rule in force, its evidence, and what else the branch has.

    `path` and `blob` are None where none is in force.
    """

    rule: str
    in_force: bool
    path: str | None
    blob: str | None
    evidence: Evidence
    unapproved: tuple[UnapprovedChange, ...] = ()


Require = Literal["merge", "forge", "signed"]


class ApprovalPolicy(NamedTuple):
    """What an approval needs. `distinct`: another person than the proposer.

    `forges`: addresses of more forges, whose commits may be squashed pull requests.
    """

    require: Require = "merge"
    distinct: bool = False
    forges: tuple[str, ...] = ()


class Signature(NamedTuple):
    """A good signature: the name in the list of signers, and the fingerprint of the key."""

    who: str
    key: str


class Signers(Protocol):
    """The signers that count.

    `digest` changes with them; `name` is what lines call this list, None for any name. `mandate`:
    what administrators state of the repository.
    """

    @property
    def mandate(self) -> Mandate | None:  # noqa: D102
        ...

    @property
    def digest(self) -> str:  # noqa: D102
        ...

    @property
    def name(self) -> str | None:  # noqa: D102
        ...

    def verified(self, commits: Sequence[str]) -> Mapping[str, Signature]:
        """The commits that one of them signed."""


class _NoSigners:
    mandate = None
    digest = "-"
    name = None

    def verified(self, _commits: Sequence[str]) -> Mapping[str, Signature]:
        return {}


NO_SIGNERS: Final[Signers] = _NoSigners()


class Alarm(NamedTuple):
    """A warning about the approval branch, which stays until a person acknowledges it.

    `rewritten`: a commit seen before is gone. `weakened`: the policy asks for less or other
    evidence. `shallow`: older approvals cannot be found. `settings`: they cannot be read.
    """

    kind: Literal["rewritten", "weakened", "shallow", "settings"]
    message: str
    hint: str = ""


class BranchView(NamedTuple):
    """The approval branch as judged: its tip, the policy, and the verdict on every rule.

    The tip is None where there is no such branch. `files` are its rule files and watched files,
    with their blobs. `stated` is the policy in its settings; None where these cannot be read.
    `damaged`: a line about every rule file that could not be read. `lapsed`: by id the path of a
    rule that an earlier edition served here, and that no evidence of today approves.
    """

    ref: str
    tip: str | None
    policy: ApprovalPolicy
    verdicts: Mapping[str, Verdict]
    files: Mapping[str, str]
    alarms: tuple[Alarm, ...] = ()
    stated: ApprovalPolicy | None = None
    damaged: tuple[str, ...] = ()
    lapsed: Mapping[str, str] = {}

    def unapproved(self) -> Iterator[tuple[Verdict, UnapprovedChange]]:
        """What stands on the branch, or was removed there, and waits for a person to approve it."""
        for _, verdict in sorted(self.verdicts.items()):
            for change in verdict.unapproved:
                if self.files.get(change.path) == change.blob:
                    yield verdict, change


def project_of(path: str) -> str:
    """The first folder of a path, which says where a rule applies."""
    return path.partition("/")[0]


def moment(seconds: int) -> str:
    """ISO 8601 in UTC; empty for 0."""
    if seconds:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return ""


APPROVALS: Final = ".ai-lessons/approvals/"
REJECTED: Final = ".ai-lessons/rejected/"
SIGNERS: Final = ".ai-lessons/allowed_signers"
# Bytes. A longer text is no rule: no person could have read it before approving it
TEXT_LIMIT: Final = 1024 * 1024
_MATTER: Final = expression(rb"---\n((?:[^\n]+\n)+?)---\n")
# Lines that can mean only one thing: printable ASCII, nothing quoted over several lines, no flow
# collections, block scalars or anchors; a list only below a key without a value, where it cannot go
# on with the line above.
_TEXT: Final = rb"[A-Za-z0-9._/(][ -\"$-9;-~]*(?::[!-\"$-9;-~][ -\"$-9;-~]*)*"
_PLAIN: Final = expression(
    rb"(?:[a-z_]+: +(?:TEXT|\"[ !#-\[\]-~]*\")\n|[a-z_]+:\n(?: *- TEXT(?:: TEXT)?\n)*)+".replace(
        b"TEXT", _TEXT
    )
)
_PLAIN_ID: Final = expression(rb"^id: ([0-7][0-9A-HJKMNP-TV-Z]{25})$", re.MULTILINE)


@lru_cache(maxsize=1 << 16)
def is_rule(path: str) -> bool:
    """True for a file below a rules folder.

    A rule that lies elsewhere is never in force, whatever it says it is.
    """
    if not path.lower().endswith(MARKDOWN_SUFFIXES) or "rules/" not in path:
        return False
    where = place(path)
    return where is not None and where.kind is Kind.RULE


def is_watched(path: str) -> bool:
    """True for the other files that approval reads from the branch.

    Settings, signed records, rejections, signers.
    """
    return path.startswith((APPROVALS, REJECTED, SIGNERS)) or path == CONFIG_PATH


def stated_id(data: bytes) -> str | None:
    """The id that a text states.

    Plain frontmatter is read without the YAML reader, which is slower.
    """
    try:
        if len(data) > TEXT_LIMIT or "\0" in data.decode():
            return None
    except UnicodeDecodeError:
        return None
    match = _MATTER.match(data)
    if match is not None and _PLAIN.fullmatch(match[1]):
        ids = _PLAIN_ID.findall(match[1])
        keys = match[1].count(b"\nid:") + match[1].startswith(b"id:")
        if len(ids) == keys == 1 and not ids[0].isdigit():
            # digits alone are a number to YAML
            return str(ids[0].decode())
    return parsed_id(data)


def parsed_id(data: bytes) -> str | None:
    """The id that a text states, by the YAML reader."""
    from ai_lessons.model.markdown import parse  # noqa: PLC0415  # the YAML package, for rules alone

    try:
        return entries.stated_id(parse(decode(data, "")).fields.get("id"))
    except InvalidEntry:
        return None


APPROVE_SUBJECT: Final = "Approve rule"
APPROVE: Final = "Approve"
PROPOSAL_TRAILER: Final = "Proposal"
RULE_TRAILER: Final = "Rule"
ENTRY_TRAILER: Final = "Entry"
# On the commit of a proposal that is not about a rule: its branch, so that a squash or rebase still
# tells it
PROPOSED_TRAILER: Final = "Proposed-as"
# Characters of a report that are read
REPORT_LIMIT: Final = 32_000
# The trailer with the name of the import that made a proposal
BATCH: Final = "Batch"
AGENT_TRAILER: Final = "Agent"

# Committer addresses behind which a forge hides the person who pressed the button
FORGES: Final = frozenset({"noreply@github.com", "noreply@gitlab.com"})
# A whole subject as forges write it for a merged request: GitHub, Gitea, Bitbucket, Azure, bors and
# Homu, others
_REQUEST: Final = expression(
    r"Merge pull request #\d+ (?:from|in) \S+.*|Merge pull request '.*' \([#!]\d+\) from \S+ into \S+"
    r"|Merged in \S+ \(pull request #\d+\)|Merged PR \d+: .+|.+ \([#!]\d+\)"
    r"|Merge #\d+(?:[ ,]*#\d+)*|Auto merge of #\d+ - .+"
)
# GitLab has its own subject, and names the request below it
_GITLAB_SUBJECT: Final = expression(r"Merge branch '[^']+' into '[^']+'")
_GITLAB_LINE: Final = expression(r"See merge request \S*!\d+")
_REVERT: Final = expression(r'(?:Revert|Reapply) ".*"')
_REVERTS: Final = expression(r"(?:Revert|Reapply)\b.*")
# As git writes it where a tag or a commit is merged, also beside branches
_OF_TAG_OR_COMMIT: Final = expression(r"Merge (?:tag |commit |(?:.* )?(?:tag|commit)s? ').*")
# As git writes it where the merge is made on another branch than its main one
_INTO: Final = expression(r"Merge .*'[^']+'(?: of \S+)? into '?([^' ]+)'?")
_SQUASH: Final = expression(r".+ \([#!]\d+\)|Merged PR \d+: .+")
_TAIL: Final = expression(r"rules/(?:r-)?([0-9a-hjkmnp-tv-z]{6,26})(?:-[^/]*)?", re.IGNORECASE)
_OTHER_TAIL: Final = expression(
    r"proposals/(?:[lds]-)?([0-9a-hjkmnp-tv-z]{6,26})(?:-[^/]*)?", re.IGNORECASE
)
_MERGE: Final = expression(
    r"Merge (remote-tracking )?branch(?:es)? ('[^']+'(?:(?:,| and) '[^']+')*)(?: of "
    r"\S+)?(?: into '?([^' ]+)'?)?"
)
_GITHUB: Final = expression(r"Merge pull request #\d+ from [^/ ]+/(\S+)")
_GITEA: Final = expression(
    r"Merge pull request '.*' \([#!]\d+\) from (?:[^: ]+:)?([^: ]+) into ([^: ]+)"
)
_BITBUCKET: Final = expression(r"Merged in (\S+) \(pull request #\d+\)")
_OURS: Final = expression(rf"(?:{APPROVE_SUBJECT}s?|{APPROVE} (?:lesson|doc|script)): .+")
_OUR_RULES: Final = expression(rf"{APPROVE_SUBJECT}s?: .+")
_TRAILER: Final = expression(r"([A-Za-z][A-Za-z0-9-]*): (.+)")


def rule_end(branch: str) -> str | None:
    """The end of the rule id that a proposal branch names (`rules/R-8F3K2A-use-x`), in capitals.

    None for others.
    """
    match = _TAIL.fullmatch(branch)
    if match:
        return match[1].upper()
    return None


def entry_end(branch: str) -> str | None:
    """The same for a proposal about anything else (`proposals/L-8F3K2A-use-x`)."""
    match = _OTHER_TAIL.fullmatch(branch)
    if match:
        return match[1].upper()
    return None


def merged_branches(message: str, approval_branch: str) -> tuple[str, ...] | None:
    """The branches that a merge names, in the order of its parents.

    None for other branches, None for free text.
    """
    subject = message.partition("\n")[0].strip()
    # git leaves out its main branch
    to_us = {None, approval_branch, f"refs/heads/{approval_branch}"}
    if match := _MERGE.fullmatch(subject):
        if match[3] not in to_us:
            return ()
        names = []
        for name in re.findall(r"'([^']+)'", match[2]):
            names.append(re.sub("^refs/(?:heads|remotes)/", "", name))
        return tuple(name.partition("/")[2] if match[1] else name for name in names)
    if match := _GITEA.fullmatch(subject):
        if match[2] in to_us:
            return (match[1],)
        return ()
    if match := _GITHUB.fullmatch(subject) or _BITBUCKET.fullmatch(subject):
        return (match[1],)
    if _OURS.fullmatch(subject):
        proposals = []
        for key, value in trailers(message):
            if key == PROPOSAL_TRAILER:
                proposals.append(value)
        return tuple(proposals)
    if subject.startswith(
        ("Merge branch", "Merge remote-tracking", "Merge pull request", "Merge tag")
    ):
        return ()
    return None


def trailers(message: str) -> tuple[tuple[str, str], ...]:
    """The `Key: value` lines of the last paragraph, if that is all it holds and it is not the subject."""
    paragraphs = re.split(r"\n\s*\n", message.strip())
    if len(paragraphs) < 2:
        return ()
    matches = []
    for line in paragraphs[-1].splitlines():
        matches.append(_TRAILER.fullmatch(line.strip()))
    if all(matches):
        return tuple((match[1], match[2]) for match in matches if match)
    return ()


def report(message: str) -> str:
    """The text between the subject and the trailers of a proposal's commit.

    Its first `REPORT_LIMIT` characters.
    """
    parts = re.split(r"(\n\s*\n)", message.strip())
    text = "".join(parts[2:-2] if trailers(message) else parts[2:])
    if len(text) <= REPORT_LIMIT:
        return text
    return f"{text[:REPORT_LIMIT]}\n…"


def with_report(message: str, report: str) -> str:
    """A message (subject, blank line, trailers) with a report in between, without control characters."""
    plain = "".join(
        c if c.isprintable() or c in "\n\t" else " " for c in report.replace("\r\n", "\n")
    )
    lines = "\n".join(line.rstrip() for line in plain.split("\n")).strip("\n")
    subject, _, trailers = message.partition("\n\n")
    if lines and trailers:
        return f"{subject}\n\n{lines}\n\n{trailers}"
    return message


def made_by_agent(message: str) -> bool:
    """True if the last paragraph of a commit's message says that an agent made it."""
    paragraphs = re.split(r"\n\s*\n", message.strip())
    return (
        len(paragraphs) > 1 and re.search(rf"(?im)^{AGENT_TRAILER}: ", paragraphs[-1]) is not None
    )


def subject_of(message: str) -> str:
    """The first line of a message."""
    return message.partition("\n")[0].strip()


def is_forge(address: str, forges: Sequence[str] = ()) -> bool:
    """True for the address of GitHub or GitLab, or of one of these `forges`."""
    return address.casefold() in FORGES or address.casefold() in map(str.casefold, forges)


def is_bot(address: str, forges: Sequence[str] = ()) -> bool:
    """True for the address of a forge, or of one of its robots."""
    return is_forge(address, forges) or "[bot]" in address.casefold()


def names_request(message: str) -> bool:
    """True for a merge that names a pull or merge request as forges do.

    By its whole subject, or by GitLab's line.
    """
    subject, *lines = message.split("\n")
    if _REVERT.fullmatch(subject.strip()):
        return False
    by_line = _GITLAB_SUBJECT.fullmatch(subject.strip()) and any(
        _GITLAB_LINE.fullmatch(line) for line in lines
    )
    return bool(by_line or _REQUEST.fullmatch(subject.strip()))


def names_squash(message: str) -> bool:
    """True for the subject that a forge gives to a squashed pull request, `Use X (#7)`."""
    return _SQUASH.fullmatch(subject_of(message)) is not None


def merges_tag_or_commit(message: str) -> bool:
    """True for a merge that says that it merged a tag, or a commit by its id."""
    return _OF_TAG_OR_COMMIT.fullmatch(subject_of(message)) is not None


def takes_back(message: str) -> bool:
    """True for a commit that says that it reverts another one."""
    return _REVERTS.fullmatch(subject_of(message)) is not None


def made_on(message: str) -> str:
    """The branch that a merge was made on, where git names it; empty where it does not."""
    match = _INTO.fullmatch(subject_of(message))
    if match:
        return match[1]
    return ""


def sides_of(message: str, branch: str, sides: int) -> tuple[int, ...]:
    """Which of the merged sides are this branch, from here or of a remote, as the merge says.

    Such a merge is a pull. Names are compared whole. Git names a branch of a remote as such:
    `remote-tracking branch 'origin/main'`.
    """
    match = _MERGE.fullmatch(subject_of(message))
    if match is None:
        return ()
    names = re.findall(r"'([^']+)'", match[2])
    if match[1]:
        names = [name.partition("/")[2] for name in names]
    if len(names) == sides:
        numbers = []
        for number, name in enumerate(names):
            if name == branch:
                numbers.append(number)
        return tuple(numbers)
    # git leaves out parents that another one contains, so a name does not tell its side
    if all(name == branch for name in names):
        return tuple(range(sides))
    return ()


class ApprovalLine(NamedTuple):
    """What a person approved in a merge commit: this blob of a rule, for a list of signers.

    The blob is None where the removal was approved.
    """

    signers: str
    rule: str
    path: str
    blob: str | None

    def __str__(self) -> str:
        # blanks part the words of a line
        path = self.path.replace("%", "%25").replace(" ", "%20")
        return f"{self.signers} {self.rule} {path} {self.blob or '-'}"


APPROVES: Final = "Approves"
_LINE: Final = expression(rf"{APPROVES}: (\S+) ([0-9A-Z]{{26}}) (\S+) ([0-9a-f]{{40}}|-)")


def approval_lines(message: str) -> tuple[ApprovalLine, ...]:
    """The lines in the last paragraph of a message with our own subject that say what it approves."""
    if not _OUR_RULES.fullmatch(subject_of(message)):
        return ()
    paragraphs = re.split(r"\n\s*\n", message.strip())
    if len(paragraphs) > 1 and APPROVES in paragraphs[-1]:
        lines = paragraphs[-1].split("\n")
    else:
        lines = ()
    rows = filter(None, map(_LINE.fullmatch, lines))
    approvals = []
    for row in rows:
        approvals.append(
            ApprovalLine(
                row[1],
                row[2],
                row[3].replace("%20", " ").replace("%25", "%"),
                None if row[4] == "-" else row[4],
            )
        )
    return tuple(approvals)

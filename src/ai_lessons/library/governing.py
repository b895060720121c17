"""The policies of enterprises: where they are stated, and what may go from tier to tier, and be written meanwhile.

They are read from an enterprise's approval branch, never from files on disk. Where the repository has an `origin` whose
approval branch is known here, that one has a say, too, and of both the stricter value holds: a commit that only this
clone has can close the gate, but not open it.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager, suppress
from functools import reduce
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import (
    AiLessonsError,
    InvalidEntry,
    NotFound,
    Refused,
    UnsupportedRepository,
)
from ai_lessons.knowledge import layout, markdown
from ai_lessons.knowledge.config import known_fields
from ai_lessons.knowledge.entries import Entry, Kind
from ai_lessons.knowledge.governance import (
    GROUP,
    PERSONAL,
    RELEASED,
    STRICTEST,
    Policies,
    PolicyVerdict,
    Stated,
    answer,
    questions,
    read,
    stricter,
)
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.library.comparing import copies
from ai_lessons.library.proposal_context import entry_of
from ai_lessons.repository.approval.approval_branch import branch_name, short_name
from ai_lessons.repository.proposal_records import file_at
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.store import Change


class Governed(NamedTuple):
    """What the branches of one enterprise state; `repo` is None where its repository is not on this machine."""

    repo: RepositorySession | None
    statements: tuple[Stated, ...]

    @property
    def policies(self) -> Policies:
        """What holds."""
        return reduce(stricter, (one.policies for one in self.statements))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should mend; a line each."""
        return tuple(dict.fromkeys(note for one in self.statements for note in one.notes))

    def says(self, policy: str) -> str:
        """The value of a policy and where it is stated, as a part of a sentence."""
        value = getattr(self.policies, policy)
        # of several branches with this value the last, which is the one of `origin`
        at = next(one for one in reversed(self.statements) if getattr(one.policies, policy) == value)
        others = tuple(f"{GROUP}.{other}" for other in Policies._fields if other != policy)
        why = [note for note in at.notes if not note.startswith(others)]
        if not why and value == getattr(Policies(), policy):
            why = ["the default"]
        if at.commit:
            why.append(f"{CONFIG_PATH} on {at.branch} at {at.commit[:10]}")
        return f"{GROUP}.{policy} is {value} ({', '.join(why)})"


def governed(tiers: Library, tier: str) -> Governed:
    """The policies of the enterprise whose tier is called so; the safe defaults where nothing here knows it."""
    try:
        repo = tiers.open(tier)
        found = tuple(_stated(repo, ref, commit) for ref, commit in counting(repo))
        note = f"{repo.store.root} has no approval branch yet, so the defaults hold"
        return Governed(repo, found or (Stated(notes=(note,)),))
    except NotFound:
        note = f"the repository of {tier} is not on this machine, so the defaults hold"
        return Governed(None, (Stated(notes=(note,)),))
    except AiLessonsError as error:
        note = f"the policies of {tier} cannot be read, so the strictest hold: {error.message}"
        return Governed(None, (Stated(STRICTEST, (note,)),))


def counting(repo: RepositorySession) -> list[tuple[str, str]]:
    """The approval branch here and the one of `origin`, as full refs with their commits, as far as they are there."""
    ref = repo.rules.ref()
    if ref is None:
        return []
    refs = (ref, f"refs/remotes/origin/{short_name(ref)}")
    return [(one, commit) for one in refs if (commit := read_ref(repo.store.worktree, one))]


def _stated(repo: RepositorySession, ref: str, commit: str) -> Stated:
    """What the settings in a commit say. Raises UnsupportedRepository: an object is missing, also for git."""
    try:
        data = file_at(repo.store.worktree, commit, CONFIG_PATH)
    except UnsupportedRepository as error:
        try:
            data = repo.history.text_at(commit, CONFIG_PATH)  # a partial clone: git fetches what is missing
        except NotFound:
            raise error from None
    try:
        found = read(known_fields((data or b"").decode()))
    except (InvalidEntry, UnicodeDecodeError, UnsupportedRepository):
        note = f"{CONFIG_PATH} on {branch_name(ref)} cannot be read, so the strictest policies hold"
        found = Stated(STRICTEST, (note,))
    return found._replace(branch=branch_name(ref), commit=commit)


LEFT_BEHIND = ("promoted_to", "reason", "reviewed", "scope", "proves", "path", RELEASED)
"""What is said of the original and not of its copy."""

_OWN = frozenset((*LEFT_BEHIND, "id", "kind", "title", "created", "source", "links", "status", "allow_secrets"))


class Move(NamedTuple):
    """An entry with its code on its way: `text` is all its files as one text; tiers by their names.

    `ties` is told of what in it belongs to one place, besides code.
    """

    entry: Entry
    text: str
    source: str
    target: str
    ties: tuple[str, ...] = ()

    def let_go_by(self, other: Entry) -> bool:
        """Whether an entry of the enterprise is the same text, and says that this may go where it is to go."""
        return digest(self.entry) == digest(other) == releases(other).get(self.target)


def digest(entry: Entry) -> str:
    """Names what an entry says, all but what a copy says of itself."""
    fields = {str(key): value for key, value in entry.fields.items() if key not in _OWN}
    said = (entry.kind.value, entry.title, entry.body.strip(), entry.code, fields)
    return sha256(json.dumps(said, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def releases(entry: Entry) -> dict[str, str]:
    """The tiers that an entry may go to, each with the digest of the text that was meant."""
    said = entry.fields.get(RELEASED)
    rows = [row for row in said if isinstance(row, dict)] if isinstance(said, list) else []
    return {str(tier): str(name) for row in rows for tier, name in row.items()}


def released(repo: RepositorySession, move: Move) -> bool:
    """Whether the approval branch (and `origin`'s, if known) has exactly this text with the word that it may go there.

    Raises UnsupportedRepository: the history cannot be read.
    """
    branches = counting(repo)
    repo.current()

    def there(commit: str, path: str) -> bool:
        found = ((one, file_at(repo.store.worktree, commit, one)) for one in (path, layout.side_of(path)))
        entry = entry_of(path, {one: data for one, data in found if data is not None})
        return entry is not None and move.let_go_by(entry)

    paths = [light.path for light in repo.catalog.many(copies(repo, move.entry)).values()]
    return bool(branches) and any(all(there(commit, path) for _, commit in branches) for path in paths)


_RELEASABLE = frozenset((PolicyVerdict.GENERIC, PolicyVerdict.NEEDS_RELEASE))


class Say(NamedTuple):
    """What one policy says of a move. `released`: it asks for more than this, and a person let this text go."""

    enterprise: str
    policy: str
    governed: Governed
    verdict: PolicyVerdict
    released: bool = False

    @property
    def sentence(self) -> str:
        """Whose policy it is, what it says and where that is stated."""
        end = "; a person released this text" if self.released else ""
        return f"{self.enterprise}: {self.governed.says(self.policy)}{end}"


class Ruling(NamedTuple):
    """The strictest that policies say of a move that they let go (None: none has a say), and what to mend in any."""

    say: Say | None = None
    notes: tuple[str, ...] = ()

    @property
    def asking(self) -> Say | None:
        """The policy for which a release is asked first; None where none is needed."""
        return self.say if self.say and self.say.verdict is PolicyVerdict.NEEDS_RELEASE else None


def allow(tiers: Library, move: Move) -> Ruling:
    """What the policies say of a move that they let go. Raises Refused: one forbids it, or asks for a general form."""
    says = []
    for enterprise, policy in questions(move.source, move.target, tiers.belongs_to):
        at, code = governed(tiers, enterprise), has_code(move.entry.kind, move.text)
        verdict = answer(getattr(at.policies, policy), code=code, tied=bool(move.ties))
        let_go = verdict in _RELEASABLE and at.repo is not None and released(at.repo, move)
        says.append(Say(enterprise, policy, at, PolicyVerdict.AS_IS if let_go else verdict, let_go))
    strictest = max(says, key=lambda say: list(PolicyVerdict).index(say.verdict), default=None)
    if strictest and strictest.verdict in {PolicyVerdict.GENERIC, PolicyVerdict.REFUSED}:
        raise _refused(tiers, move, strictest)
    return Ruling(strictest, tuple(dict.fromkeys(note for say in says for note in say.governed.notes)))


def guard(tiers: Library, into: RepositorySession, changes: Sequence[Change]) -> None:
    """Asked before a write to the user's repository `into` while a project of an enterprise is worked in.

    Removals pass, and files that are there and only committed; code that is in these files already may stay.
    Raises Refused: the policy forbids it.
    """
    texts = {one.path: one.data for one in changes if isinstance(one.data, bytes) and layout.place(one.path)}
    if not texts:
        return
    at = governed(tiers, tiers.belongs_to)
    policy = at.policies.personal_learning_during_enterprise
    bad = [] if policy == "allow" else list(texts)
    if policy == "allow_non_code":
        there = set[str]()
        for one in changes:
            with suppress(AiLessonsError):
                there |= _code_in(one.path, into.store.read(one.path))
        bad = [path for path, data in texts.items() if _code_in(path, data) - there]
    if bad:
        raise _not_written(tiers, at)


@contextmanager
def admitted(into: RepositorySession) -> Iterator[None]:
    """Write what `allow` let pass: the guard of `into` would ask the same again, and knows of no release."""
    guarded, into.guard = into.guard, lambda _changes: None
    try:
        yield
    finally:
        into.guard = guarded


_MAY_HOLD_CODE = re.compile(r"```|~~~|<pre|\t| {4}", re.IGNORECASE)


def has_code(kind: Kind, text: str) -> bool:
    """Whether an entry counts as code: a script, or a text with a block of code. Code in a sentence is none."""
    return kind is Kind.SCRIPT or bool(_blocks(text))


def _blocks(text: str) -> frozenset[str]:
    """The blocks of code below the frontmatter, and in what the frontmatter says."""
    if not _MAY_HOLD_CODE.search(text):  # most texts: the Markdown parser takes longer to load than all else here
        return frozenset()
    from ai_lessons.knowledge.passages import code_blocks

    try:
        found = markdown.parse(text)
    except InvalidEntry:
        return frozenset(code_blocks(text))
    return frozenset(block for one in (found.body, *_strings(found.fields)) for block in code_blocks(one))


def _strings(value: Any) -> list[str]:
    """Every text of several lines in what YAML gave."""
    if isinstance(value, str):
        return [value] if "\n" in value else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [found for one in inner for found in _strings(one)]


def _code_in(path: str, data: bytes) -> frozenset[str]:
    text = data.decode("utf-8", "replace")
    return _blocks(text) if layout.is_markdown(path) else frozenset({text})


def _refused(tiers: Library, move: Move, say: Say) -> Refused:
    who, stated = say.enterprise, say.governed.says(say.policy)
    if say.verdict is PolicyVerdict.GENERIC:
        code = ("code",) if has_code(move.entry.kind, move.text) else ()
        holds = code if say.policy == PERSONAL else (*code, *move.ties)
        return Refused(
            f"{move.entry.title!r} may go to {move.target} in a general form only, and holds {', '.join(holds)}:"
            f" {who}: {stated}",
            hint=f"write a general form of it: ai-lessons --tier {move.source} contribute add-lesson, and promote that",
        )
    if say.policy == PERSONAL:
        return _not_written(tiers, say.governed)
    return Refused(
        f"{who} does not let {move.entry.title!r} go from {move.source} to {move.target}: {stated}",
        hint=f"only who approves in {who} can change that: ask them",
    )


def _not_written(tiers: Library, at: Governed) -> Refused:
    words = at.policies.personal_learning_during_enterprise == "allow_non_code"
    where = "write it to the project: --tier project"
    return Refused(
        f"{'no code' if words else 'nothing'} is written to the user's repository while a project of"
        f" {tiers.belongs_to} is worked in: {at.says(PERSONAL)}",
        hint=f"{where}, or leave the code out" if words else where,
    )

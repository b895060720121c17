"""The policies of enterprises: where they are stated, and what may go from tier to tier, and be written meanwhile.

They are read from an enterprise's approval branch, never from files on disk. Where the repository has an `origin` whose
approval branch is known here, that one has a say, too, and of both the stricter value holds: a commit that only this
clone has can close the gate, but not open it.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import reduce
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Refused, UnsupportedRepository
from ai_lessons.knowledge import layout, markdown
from ai_lessons.knowledge.config import known_fields
from ai_lessons.knowledge.governance import (
    PERSONAL,
    RELEASED,
    PolicyValue,
    PolicyVerdict,
    answer,
    defaults,
    questions,
    read,
    stricter,
    strictest,
)
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.knowledge.tiers import USER
from ai_lessons.library.comparing import copies
from ai_lessons.library.proposal_context import entry_of
from ai_lessons.repository.approval.approval_branch import branch_name, short_name
from ai_lessons.repository.proposal_records import file_at
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.store import Change


class Governed(NamedTuple):
    """The policies of one enterprise as they hold; `repo` is None where its repository is not on this machine."""

    repo: RepositorySession | None
    values: tuple[PolicyValue, ...]


def governed(library: Library, tier: str) -> Governed:
    """The policies of the enterprise whose tier is called so; the safe defaults where nothing here knows it."""
    try:
        repo = library.open(tier)
        values = [_stated(repo, ref, commit) for ref, commit in counting(repo)]
        none = defaults(f"{repo.store.root} has no approval branch yet, so the defaults hold")
        return Governed(repo, reduce(stricter, values) if values else none)
    except NotFound:
        return Governed(None, defaults(f"the repository of {tier} is not on this machine, so the defaults hold"))
    except AiLessonsError as error:
        note = f"the policies of {tier} cannot be read, so the strictest hold: {error.message}"
        return Governed(None, strictest(note))


def counting(repo: RepositorySession) -> list[tuple[str, str]]:
    """The approval branch here and the one of `origin`, as full refs with their commits, as far as they are there."""
    ref = repo.rules.ref()
    if ref is None:
        return []
    refs = (ref, f"refs/remotes/origin/{short_name(ref)}")
    return [(name, commit) for name in refs if (commit := read_ref(repo.store.worktree, name))]


def _stated(repo: RepositorySession, ref: str, commit: str) -> tuple[PolicyValue, ...]:
    """What the settings in a commit say. Raises UnsupportedRepository: an object is missing, also for git."""
    try:
        data = file_at(repo.store.worktree, commit, CONFIG_PATH)
    except UnsupportedRepository as error:
        try:
            data = repo.history.text_at(commit, CONFIG_PATH)  # a partial clone: git fetches what is missing
        except NotFound:
            raise error from None
    branch = branch_name(ref)
    try:
        values = read(known_fields((data or b"").decode()))
    except (InvalidEntry, UnicodeDecodeError, UnsupportedRepository):
        values = strictest(f"{CONFIG_PATH} on {branch} cannot be read, so the strictest policies hold")
    return tuple(value._replace(place=f"{CONFIG_PATH} on {branch} at {commit[:10]}") for value in values)


LEFT_BEHIND = ("promoted_to", "reason", "reviewed", "scope", "proves", "path", RELEASED)
"""What is said of the original and not of its copy."""

_OWN = frozenset((*LEFT_BEHIND, "id", "kind", "title", "created", "source", "links", "status", "allow_secrets"))


class Move(NamedTuple):
    """What goes from tier to tier, by their names, and what in it is `code` or belongs to one place (`ties`).

    `entry` is None, and `source` empty, where somebody writes to the target.
    """

    entry: Entry | None
    source: str
    target: str
    code: bool
    ties: tuple[str, ...] = ()


def digest(entry: Entry) -> str:
    """Names what an entry says, all but what a copy says of itself."""
    fields = {str(key): value for key, value in entry.fields.items() if key not in _OWN}
    parts = (entry.kind.value, entry.title, entry.body.strip(), entry.code, fields)
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def releases(entry: Entry) -> dict[str, str]:
    """The tiers that an entry may go to, each with the digest of the text that was meant."""
    stated = entry.fields.get(RELEASED)
    rows = [row for row in stated if isinstance(row, dict)] if isinstance(stated, list) else []
    return {str(tier): str(name) for row in rows for tier, name in row.items()}


def lets_go(entry: Entry, original: Entry, target: str) -> bool:
    """Whether an entry of the enterprise is the same text, and says that this may go to that tier."""
    return digest(original) == digest(entry) == releases(entry).get(target)


def released(repo: RepositorySession, original: Entry, target: str) -> bool:
    """Whether the approval branch (and `origin`'s, if known) has exactly this text with the word that it may go there.

    Raises UnsupportedRepository: the history cannot be read.
    """
    branches = counting(repo)
    repo.current()

    def says_so(commit: str, path: str) -> bool:
        files = {name: file_at(repo.store.worktree, commit, name) for name in (path, layout.side_of(path))}
        entry = entry_of(path, {name: data for name, data in files.items() if data is not None})
        return entry is not None and lets_go(entry, original, target)

    paths = [light.path for light in repo.catalog.many(copies(repo, original)).values()]
    return bool(branches) and any(all(says_so(commit, path) for _, commit in branches) for path in paths)


class PolicyDecision(NamedTuple):
    """The strictest that any policy says of a move; `stated` is that policy, None where none is asked.

    `released`: it asks for more than this, and a person let the text go. `notes`: what to mend in any of the policies.
    """

    verdict: PolicyVerdict = PolicyVerdict.AS_IS
    enterprise: str = ""
    stated: PolicyValue | None = None
    released: bool = False
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Whose policy it is, what it says and where that is stated; empty where none is asked."""
        end = "; a person released this text" if self.released else ""
        return f"{self.enterprise}: {self.stated}{end}" if self.stated else ""


def decide(library: Library, move: Move) -> PolicyDecision:
    """What the policies say of a move that they let go, perhaps once it is released.

    Raises Refused: one forbids it, or asks for a general form.
    """
    decisions, notes = [], dict[str, None]()
    for enterprise, policy in questions(move.source, move.target, library.belongs_to):
        repo, values = governed(library, enterprise)
        notes |= dict.fromkeys(value.note for value in values if value.note)
        stated = next(value for value in values if value.policy == policy)
        verdict, let_go = answer(policy, stated.value, code=move.code, tied=bool(move.ties)), False
        if repo and move.entry and verdict in {PolicyVerdict.GENERIC, PolicyVerdict.NEEDS_RELEASE}:
            let_go = released(repo, move.entry, move.target)
        decisions.append(PolicyDecision(PolicyVerdict.AS_IS if let_go else verdict, enterprise, stated, let_go))
    order = list(PolicyVerdict)
    decision = max(decisions, key=lambda made: order.index(made.verdict), default=PolicyDecision())
    if decision.verdict in {PolicyVerdict.GENERIC, PolicyVerdict.REFUSED}:
        raise _refused(move, decision)
    return decision._replace(notes=tuple(notes))


def guard(library: Library, into: RepositorySession, changes: Sequence[Change]) -> None:
    """Asked before a write to the user's repository `into` while a project of an enterprise is worked in.

    Removals pass, and files that are there and only committed; code that is in these files already may stay.
    Raises Refused: the policy forbids it.
    """
    texts = {x.path: x.data for x in changes if isinstance(x.data, bytes) and layout.place(x.path)}
    if not texts:
        return
    code = frozenset[str]().union(*map(code_in, texts, texts.values()))
    for path in [change.path for change in changes] if code else ():
        with suppress(AiLessonsError):
            code -= code_in(path, into.store.read(path))
    decide(library, Move(None, "", USER, bool(code)))


_MAY_HOLD_CODE = re.compile(r"```|~~~|<pre|\t| {4}", re.IGNORECASE)


def code_in(path: str, data: bytes) -> frozenset[str]:
    """What counts as code in a file: all of a script, else the blocks of it. Code in a sentence is none."""
    text = data.decode("utf-8", "replace")
    if not layout.is_markdown(path):
        return frozenset({text})
    if not _MAY_HOLD_CODE.search(text):  # most texts: the Markdown parser takes longer to load than all else here
        return frozenset()
    from ai_lessons.knowledge.passages import code_blocks

    try:
        parsed = markdown.parse(text)
    except InvalidEntry:
        return frozenset(code_blocks(text))
    return frozenset(block for part in (parsed.body, *_strings(parsed.fields)) for block in code_blocks(part))


def _strings(value: Any) -> list[str]:
    """Every text of several lines in what YAML gave."""
    if isinstance(value, str):
        return [value] if "\n" in value else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in inner for text in _strings(part)]


def _refused(move: Move, decision: PolicyDecision) -> Refused:
    generic, personal = (
        decision.verdict is PolicyVerdict.GENERIC,
        decision.stated and decision.stated.policy == PERSONAL,
    )
    if move.entry and generic:
        holds = (*(("code",) if move.code else ()), *(() if personal else move.ties))
        return Refused(
            f"{move.entry.title!r} may go to {move.target} in a general form only, and holds {', '.join(holds)}:"
            f" {decision.sentence}",
            hint=f"write a general form of it: ai-lessons --tier {move.source} contribute add-lesson, and promote that",
        )
    if move.entry and not personal:
        return Refused(
            f"{decision.enterprise} does not let {move.entry.title!r} go from {move.source} to {move.target}:"
            f" {decision.stated}",
            hint=f"only who approves in {decision.enterprise} can change that: ask them",
        )
    where = "write it to the project: --tier project"
    return Refused(
        f"{'no code' if generic else 'nothing'} is written to the user's repository while a project of"
        f" {decision.enterprise} is worked in: {decision.stated}",
        hint=f"{where}, or leave the code out" if generic else where,
    )

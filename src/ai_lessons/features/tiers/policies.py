"""The policies of enterprises as they are stated on approval branches: what they say of a move."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.approval.inputs import plain_address
from ai_lessons.approval.proposals import file_at
from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Refused, UnsupportedRepository
from ai_lessons.features.tiers import governance
from ai_lessons.features.tiers.governance import PolicyValue, PolicyVerdict
from ai_lessons.git.approval_branch import branch_name, remotes, tracking
from ai_lessons.git.worktree import read_ref
from ai_lessons.model import USER, config, expression, layout, markdown
from ai_lessons.model.layout import CONFIG_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ai_lessons.app.open_repository import OpenRepository
    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.git.store import Change
    from ai_lessons.model.entries import Entry

    Released = Callable[[RepositorySession, Entry, str], bool]

# --- what holds ---


class Governed(NamedTuple):
    """The policies of one enterprise as they hold.

    `repo` is None where its repository is not on this machine.
    """

    repo: RepositorySession | None
    values: tuple[PolicyValue, ...]


def governed(library: Library, tier: str) -> Governed:
    """The policies of the enterprise whose tier is called so.

    The safe defaults where nothing here knows it, the strictest where they cannot be read.
    """
    try:
        repo = library.open(tier)
        if address := _missing_address(repo):
            note = f"{repo.store.root} has no remote {address}, so the strictest policies hold"
            return Governed(repo, governance.strictest(note))
        stated = [_stated(repo, ref, commit) for ref, commit in counting(repo)]
    except NotFound:
        note = f"the repository of {tier} is not on this machine, so the defaults hold"
        return Governed(None, governance.defaults(note))
    except AiLessonsError as error:
        note = f"the policies of {tier} cannot be read, so the strictest hold: {error.message}"
        return Governed(None, governance.strictest(note))
    if not stated:
        note = f"{repo.store.root} has no approval branch yet, so the defaults hold"
        return Governed(repo, governance.defaults(note))
    return Governed(repo, reduce(governance.stricter, stated))


def _missing_address(repo: OpenRepository) -> str:
    """The address that administrators state of the repository, where no remote here has it."""
    mandate, worktree = repo.rules.mandate, repo.store.worktree
    if mandate is None or not mandate.address:
        return ""
    stated = plain_address(mandate.address, worktree.top)
    for address in remotes(worktree).values():
        if plain_address(address, worktree.top) == stated:
            return ""
    return mandate.address


def counting(repo: OpenRepository) -> list[tuple[str, str]]:
    """The approval branch here and the remote's, as full refs with their commits, as far as they are there."""
    ref = repo.rules.ref()
    if ref is None:
        return []
    worktree, commits = repo.store.worktree, []
    for name in dict.fromkeys((ref, tracking(worktree, ref))):
        commit = read_ref(worktree, name)
        if commit:
            commits.append((name, commit))
    return commits


def _stated(repo: OpenRepository, ref: str, commit: str) -> tuple[PolicyValue, ...]:
    """What the settings in a commit say.

    Raises UnsupportedRepository: an object is missing here.
    """
    data = file_at(repo.store.worktree, commit, CONFIG_PATH)
    branch = branch_name(ref)
    try:
        values = governance.read(config.known_fields((data or b"").decode()))
    except (InvalidEntry, UnicodeDecodeError, UnsupportedRepository):
        note = f"{CONFIG_PATH} on {branch} cannot be read, so the strictest policies hold"
        values = governance.strictest(note)
    place = f"{CONFIG_PATH} on {branch} at {commit[:10]}"
    return tuple(value._replace(place=place) for value in values)


# --- what it says of a move ---


class Move(NamedTuple):
    """What goes from tier to tier, by their names, and what in it is `code` or belongs to one place (`ties`).

    `entry` is None, and `source` empty, where somebody writes to the target.
    """

    entry: Entry | None
    source: str
    target: str
    code: bool
    ties: tuple[str, ...] = ()


class PolicyDecision(NamedTuple):
    """The strictest answer of any policy to a move.

    `stated` is that policy, None where none is asked. `released`: it asks for more than this, and a
    person let the text go. `notes`: what to mend in any of the policies.
    """

    verdict: PolicyVerdict = PolicyVerdict.AS_IS
    enterprise: str = ""
    stated: PolicyValue | None = None
    released: bool = False
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Whose policy it is, what it says and where that is stated; empty where none is asked."""
        if self.stated is None:
            return ""
        end = ""
        if self.released:
            end = "; a person released this text"
        return f"{self.enterprise}: {self.stated}{end}"


def decide(library: Library, move: Move, released: Released) -> PolicyDecision:
    """The strictest answer of the policies to a move: as it is, or after a release.

    `released`: whether a repository's approval branch lets an entry go to a tier. Raises Refused: a
    policy forbids it, or asks for a general form.
    """
    decision, notes = PolicyDecision(), dict[str, None]()
    order = list(PolicyVerdict)
    asked = governance.questions(move.source, move.target, library.belongs_to)
    for enterprise, policy in asked:
        holds = governed(library, enterprise)
        for value in holds.values:
            if value.note:
                notes[value.note] = None
        answer = _answer(holds, policy, move, released)._replace(enterprise=enterprise)
        is_first = decision.stated is None
        if is_first or order.index(answer.verdict) > order.index(decision.verdict):
            decision = answer
    if decision.verdict in {PolicyVerdict.GENERIC, PolicyVerdict.REFUSED}:
        raise _refused(move, decision)
    return decision._replace(notes=tuple(notes))


def _answer(holds: Governed, policy: str, move: Move, released: Released) -> PolicyDecision:
    """What one policy says of a move."""
    stated = next(value for value in holds.values if value.policy == policy)
    verdict = governance.answer(policy, stated.value, code=move.code, tied=bool(move.ties))
    may_be_released = verdict in {PolicyVerdict.GENERIC, PolicyVerdict.NEEDS_RELEASE}
    if not (holds.repo and move.entry and may_be_released):
        return PolicyDecision(verdict, stated=stated)
    if released(holds.repo, move.entry, move.target):
        return PolicyDecision(PolicyVerdict.AS_IS, stated=stated, released=True)
    return PolicyDecision(verdict, stated=stated)


def _never(_repo: RepositorySession, _entry: Entry, _target: str) -> bool:
    """No release speaks of what is only being written."""
    return False


def refuse_personal(library: Library, into: RepositorySession, changes: Sequence[Change]) -> None:
    """Asked before a write to the user's repository `into` while a project of an enterprise is worked in.

    Removals pass, and files that are there and only committed; code that is in these files already
    may stay. Raises Refused: the policy forbids it.
    """
    code, texts = set[str](), 0
    for change in changes:
        if isinstance(change.data, bytes) and layout.place(change.path):
            texts += 1
            code |= code_in(change.path, change.data)
    if not texts:
        return
    if code:
        for change in changes:
            with suppress(AiLessonsError):
                code -= code_in(change.path, into.store.read(change.path))
    decide(library, Move(None, "", USER, bool(code)), _never)


_MAY_HOLD_CODE = expression(r"```|~~~|<pre|\t| {4}", re.IGNORECASE)


def code_in(path: str, data: bytes) -> frozenset[str]:
    """What counts as code in a file: all of a script, else the blocks of it.

    Code in a sentence is none.
    """
    text = data.decode("utf-8", "replace")
    if not layout.is_markdown(path):
        return frozenset({text})
    if not _MAY_HOLD_CODE.search(text):
        # most texts: the Markdown parser takes longer to load than all else here
        return frozenset()
    from ai_lessons.model.chunks import code_blocks

    try:
        parsed = markdown.parse(text)
    except InvalidEntry:
        return frozenset(code_blocks(text))
    blocks = set[str]()
    for part in (parsed.body, *_strings(parsed.fields)):
        blocks.update(code_blocks(part))
    return frozenset(blocks)


def _strings(value: Any) -> list[str]:
    """Every text of several lines in what YAML gave."""
    if isinstance(value, str):
        if "\n" in value:
            return [value]
        return []
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list):
        inner = value
    strings: list[str] = []
    for part in inner:
        strings += _strings(part)
    return strings


def _refused(move: Move, decision: PolicyDecision) -> Refused:
    generic = decision.verdict is PolicyVerdict.GENERIC
    stated, enterprise = decision.stated, decision.enterprise
    personal = stated is not None and stated.policy == governance.PERSONAL
    if move.entry is None or (personal and not generic):
        what, leave_out = "nothing", ""
        if generic:
            what, leave_out = "no code", ", or leave the code out"
        return Refused(
            f"{what} is written to the user's repository "
            f"while a project of {enterprise} is worked in: {stated}",
            hint=f"write it to the project: --tier project{leave_out}",
        )
    title = f"{move.entry.title!r}"
    if not generic:
        return Refused(
            f"{enterprise} does not let {title} go from {move.source} to {move.target}: {stated}",
            hint=f"only who approves in {enterprise} can change that: ask them",
        )
    holds = []
    if move.code:
        holds.append("code")
    if not personal:
        holds += move.ties
    return Refused(
        f"{title} may go to {move.target} in a general form only, and holds {', '.join(holds)}: "
        f"{decision.sentence}",
        hint=(
            "write a general form of it: "
            f"ai-lessons --tier {move.source} contribute add-lesson, and promote that"
        ),
    )

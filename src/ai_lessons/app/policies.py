"""The policies of enterprises.

What they say of a move from tier to tier, and of a write beside their projects.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from ai_lessons.app.open_repository import OpenRepository
from ai_lessons.approval.proposals import file_at
from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Refused, UnsupportedRepository
from ai_lessons.git.approval_branch import branch_name, tracking
from ai_lessons.git.worktree import read_ref
from ai_lessons.model import USER, config, expression, layout, markdown
from ai_lessons.model.layout import CONFIG_PATH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.git.store import Change
    from ai_lessons.model.entries import Entry

R = TypeVar("R", bound=OpenRepository)
R_co = TypeVar("R_co", bound=OpenRepository, covariant=True)


class Tiers(Protocol[R_co]):
    """What knows the tiers: a library."""

    @property
    def belongs_to(self) -> str:
        """The tier of the enterprise that the code project belongs to; empty: to none."""

    def open(self, name: str) -> R_co:
        """The repository of a tier. Raises NotFound."""


class Governed(NamedTuple, Generic[R]):
    """The policies of one enterprise as they hold.

    `repo` is None where its repository is not on this machine.
    """

    repo: R | None
    values: tuple[config.PolicyValue, ...]


def governed(tiers: Tiers[R], tier: str) -> Governed[R]:
    """The policies of the enterprise whose tier is called so.

    The safe defaults where nothing here knows it.
    """
    try:
        repo = tiers.open(tier)
        values = []
        for ref, commit in counting(repo):
            values.append(_stated(repo, ref, commit))
        none = config.defaults(
            f"{repo.store.root} has no approval branch yet, so the defaults hold"
        )
        return Governed(repo, reduce(config.stricter, values) if values else none)
    except NotFound:
        return Governed(
            None,
            config.defaults(
                f"the repository of {tier} is not on this machine, so the defaults hold"
            ),
        )
    except AiLessonsError as error:
        note = f"the policies of {tier} cannot be read, so the strictest hold: {error.message}"
        return Governed(None, config.strictest(note))


def counting(repo: OpenRepository) -> list[tuple[str, str]]:
    """The approval branch here and the remote's, as full refs with their commits, as far as they are there."""
    ref = repo.rules.ref()
    if ref is None:
        return []
    refs = (ref, tracking(repo.store.worktree, ref))
    return [
        (name, commit)
        for name in dict.fromkeys(refs)
        if (commit := read_ref(repo.store.worktree, name))
    ]


def _stated(repo: OpenRepository, ref: str, commit: str) -> tuple[config.PolicyValue, ...]:
    """What the settings in a commit say.

    Raises UnsupportedRepository: an object is missing here.
    """
    data = file_at(repo.store.worktree, commit, CONFIG_PATH)
    branch = branch_name(ref)
    try:
        values = config.read(config.known_fields((data or b"").decode()))
    except (InvalidEntry, UnicodeDecodeError, UnsupportedRepository):
        values = config.strictest(
            f"{CONFIG_PATH} on {branch} cannot be read, so the strictest policies hold"
        )
    results = []
    for value in values:
        results.append(value._replace(place=f"{CONFIG_PATH} on {branch} at {commit[:10]}"))
    return tuple(results)


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

    `stated` is that policy, None where none is asked.

    `released`: it asks for more than this, and a person let the text go. `notes`: what to mend in
    any of the policies.
    """

    verdict: config.PolicyVerdict = config.PolicyVerdict.AS_IS
    enterprise: str = ""
    stated: config.PolicyValue | None = None
    released: bool = False
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Whose policy it is, what it says and where that is stated; empty where none is asked."""
        if self.released:
            end = "; a person released this text"
        else:
            end = ""
        if self.stated:
            return f"{self.enterprise}: {self.stated}{end}"
        return ""


def decide(
    tiers: Tiers[R], move: Move, released: Callable[[R, Entry, str], bool]
) -> PolicyDecision:
    """The strictest answer of the policies to a move: as it is, or after a release.

    `released`: whether a repository's approval branch lets an entry go to a tier. Raises Refused: a
    policy forbids it, or asks for a general form.
    """
    decisions, notes = [], dict[str, None]()
    for enterprise, policy in config.questions(move.source, move.target, tiers.belongs_to):
        repo, values = governed(tiers, enterprise)
        notes |= dict.fromkeys(value.note for value in values if value.note)
        stated = next(value for value in values if value.policy == policy)
        verdict, let_go = (
            config.answer(policy, stated.value, code=move.code, tied=bool(move.ties)),
            False,
        )
        may_be_released = verdict in {
            config.PolicyVerdict.GENERIC,
            config.PolicyVerdict.NEEDS_RELEASE,
        }
        if repo and move.entry and may_be_released:
            let_go = released(repo, move.entry, move.target)
        decisions.append(
            PolicyDecision(
                config.PolicyVerdict.AS_IS if let_go else verdict, enterprise, stated, let_go
            )
        )
    order = list(config.PolicyVerdict)
    decision = max(decisions, key=lambda made: order.index(made.verdict), default=PolicyDecision())
    if decision.verdict in {config.PolicyVerdict.GENERIC, config.PolicyVerdict.REFUSED}:
        raise _refused(move, decision)
    return decision._replace(notes=tuple(notes))


def _never(_repo: OpenRepository, _entry: Entry, _target: str) -> bool:
    """No release speaks of what is only being written."""
    return False


def guard(tiers: Tiers[OpenRepository], into: OpenRepository, changes: Sequence[Change]) -> None:
    """Asked before a write to the user's repository `into` while a project of an enterprise is worked in.

    Removals pass, and files that are there and only committed; code that is in these files already may stay.
    Raises Refused: the policy forbids it.
    """
    texts = {}
    for x in changes:
        if isinstance(x.data, bytes) and layout.place(x.path):
            texts[x.path] = x.data
    if not texts:
        return
    code = frozenset[str]().union(*map(code_in, texts, texts.values()))
    for path in [change.path for change in changes] if code else ():
        with suppress(AiLessonsError):
            code -= code_in(path, into.store.read(path))
    decide(tiers, Move(None, "", USER, bool(code)), _never)


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
    results = []
    for part in (parsed.body, *_strings(parsed.fields)):
        for block in code_blocks(part):
            results.append(block)
    return frozenset(results)


def _strings(value: Any) -> list[str]:
    """Every text of several lines in what YAML gave."""
    if isinstance(value, str):
        if "\n" in value:
            return [value]
        return []
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list):
        inner = value
    strings: list[str] = []
    for part in inner:
        for text in _strings(part):
            strings.append(text)
    return strings


def _refused(move: Move, decision: PolicyDecision) -> Refused:
    generic = decision.verdict is config.PolicyVerdict.GENERIC
    personal = decision.stated and decision.stated.policy == config.PERSONAL
    title, policy = move.entry.title if move.entry else "", decision.stated
    if move.entry and generic:
        holds = ", ".join((*(("code",) if move.code else ()), *(() if personal else move.ties)))
        why = f"{title!r} may go to {move.target} in a general form only, and holds {holds}: {decision.sentence}"
        hint = f"write a general form of it: ai-lessons --tier {move.source} contribute add-lesson, and promote that"
    elif move.entry and not personal:
        why = f"{decision.enterprise} does not let {title!r} go from {move.source} to {move.target}: {policy}"
        hint = f"only who approves in {decision.enterprise} can change that: ask them"
    else:
        project = f"while a project of {decision.enterprise} is worked in: {policy}"
        why = f"{'no code' if generic else 'nothing'} is written to the user's repository {project}"
        hint = "write it to the project: --tier project" + (
            ", or leave the code out" if generic else ""
        )
    return Refused(why, hint=hint)

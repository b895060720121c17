"""The policies of enterprises, enforced: what may go from tier to tier, and be written to the user's meanwhile."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, Refused, UsageError
from ai_lessons.knowledge import layout, markdown
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.governance import Personal, Policy, PolicyVerdict, Question, answer, questions, strictest
from ai_lessons.library.options import PROJECT
from ai_lessons.library.policies import Governed, Move, ask, governed, released, waiting
from ai_lessons.repository.commit import author_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ai_lessons.library.opened import Library
    from ai_lessons.library.rule_answers import Suggested
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.store import Change

_MAY_HOLD_CODE = re.compile(r"```|~~~|<pre|\t| {4}", re.IGNORECASE)

_RELEASABLE = frozenset((PolicyVerdict.GENERIC, PolicyVerdict.NEEDS_RELEASE))


class Say(NamedTuple):
    """What one policy says of a move. `released`: it asks for more than this, and a person let this text go."""

    question: Question
    governed: Governed
    verdict: PolicyVerdict
    released: bool = False

    @property
    def sentence(self) -> str:
        """Whose policy it is, what it says and where that is stated."""
        end = "; a person released this text" if self.released else ""
        return f"{self.question.enterprise}: {self.governed.says(self.question.policy)}{end}"


class Ruling(NamedTuple):
    """What all policies together say of a move, before anything is done about it."""

    verdict: PolicyVerdict
    says: tuple[Say, ...]

    @property
    def refused(self) -> bool:
        """Whether it may not go, unless its text is changed."""
        return self.verdict in {PolicyVerdict.REFUSED, PolicyVerdict.GENERIC}

    @property
    def reason(self) -> str:
        """What the verdict comes from, as a sentence for people; empty where no policy has a say."""
        return next((say.sentence for say in self.says if say.verdict is self.verdict), "")

    @property
    def asks(self) -> str:
        """The enterprise that is asked first to release the text; empty where none has to."""
        return next((say.question.enterprise for say in self.says if say.verdict in _RELEASABLE), "")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should mend about the policies; a line each."""
        return tuple(dict.fromkeys(note for say in self.says for note in say.governed.notes))


def allow(tiers: Library, move: Move) -> Ruling:
    """What the policies say of a move that they let go. Raises Refused: one forbids it, or asks for a general form."""
    found = ruling(tiers, move)
    if found.refused:
        raise _refused(tiers, move, found)
    return found


def ruling(tiers: Library, move: Move) -> Ruling:
    """What the policies say of a move. Refuses nothing: for a dry run, and for telling why."""
    says = []
    for question in questions(move.source, move.target, tiers.belongs_to):
        at, code = governed(tiers, question.enterprise), has_code(move.entry.kind, move.text)
        verdict = answer(at.policies, question.policy, code=code, tied=bool(move.ties))
        let_go = verdict in _RELEASABLE and at.parts is not None and released(at.parts, move)
        says.append(Say(question, at, PolicyVerdict.AS_IS if let_go else verdict, let_go))
    return Ruling(strictest(say.verdict for say in says), tuple(says))


def request_release(tiers: Library, move: Move) -> Suggested:
    """Ask the people of the enterprise to let exactly this text go: a proposal in their repository, made once.

    Raises Refused: a policy forbids it, or git has no name for the user. UsageError: nothing has to be released.
    NotFound: the enterprise's repository is not on this machine. InvalidEntry: a secret is in the text.
    """
    found = ruling(tiers, move)
    if found.verdict is PolicyVerdict.REFUSED:
        raise _refused(tiers, move, found)
    say = next((one for one in found.says if one.verdict in _RELEASABLE), None)
    if say is None:
        raise UsageError(f"{move.entry.title!r} may go to {move.target} without a release")
    parts = tiers.open(say.question.enterprise)
    known = waiting(parts, move)
    if known is not None:
        return known._replace(warnings=(f"asked for already: {known.branch} waits for a person",))
    stated = say.governed.says(say.question.policy, place=False)
    return ask(parts, move, author_here(tiers.primary.store.worktree), say.question.policy.key, stated)


def guard(tiers: Library, into: RepositorySession) -> Callable[[Sequence[Change]], None]:
    """What the user's repository `into` asks before a write while a project of an enterprise is worked in.

    Removals pass, and files that are there and only committed; code that is in these files already may stay.
    """

    def check(changes: Sequence[Change]) -> None:
        texts = {one.path: one.data for one in changes if isinstance(one.data, bytes) and layout.place(one.path)}
        if not texts:
            return
        at = governed(tiers, tiers.belongs_to)
        bad = [] if at.policies.personal is Personal.ALLOW else list(texts)
        if at.policies.personal is Personal.ALLOW_NON_CODE:
            there = set[str]()
            for one in changes:
                with suppress(AiLessonsError):
                    there |= _code_in(one.path, into.store.read(one.path))
            bad = [path for path, data in texts.items() if _code_in(path, data) - there]
        if bad:
            raise _not_written(tiers, at)

    return check


@contextmanager
def admitted(into: RepositorySession) -> Iterator[None]:
    """Write what `allow` let pass: the guard of `into` would ask the same again, and knows of no release."""
    guarded, into.guard = into.guard, lambda _changes: None
    try:
        yield
    finally:
        into.guard = guarded


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


def _refused(tiers: Library, move: Move, found: Ruling) -> Refused:
    say = next(one for one in found.says if one.verdict is found.verdict)
    who, stated = say.question.enterprise, say.governed.says(say.question.policy)
    if found.verdict is PolicyVerdict.GENERIC:
        code = ("code",) if has_code(move.entry.kind, move.text) else ()
        holds = code if say.question.policy is Policy.PERSONAL else (*code, *move.ties)
        return Refused(
            f"{move.entry.title!r} may go to {move.target} in a general form only, and holds {', '.join(holds)}:"
            f" {who}: {stated}",
            hint=f"write a general form of it: ai-lessons --tier {move.source} contribute add-lesson, and promote that",
        )
    if say.question.policy is Policy.PERSONAL:
        return _not_written(tiers, say.governed)
    return Refused(
        f"{who} does not let {move.entry.title!r} go from {move.source} to {move.target}: {stated}",
        hint=f"only who approves in {who} can change that: ask them",
    )


def _not_written(tiers: Library, at: Governed) -> Refused:
    words = at.policies.personal is Personal.ALLOW_NON_CODE
    places = tiers.options.places
    if any(place.name == PROJECT and place.root.is_dir() for place in (*places.reads, *places.known)):
        where = "write it to the project: --tier project"
    else:
        where = "give the project a repository of its own: ai-lessons admin init .ai/reference"
    return Refused(
        f"{'no code' if words else 'nothing'} is written to the user's repository while a project of"
        f" {tiers.belongs_to} is worked in: {at.says(Policy.PERSONAL)}",
        hint=f"{where}, or leave the code out" if words else where,
    )

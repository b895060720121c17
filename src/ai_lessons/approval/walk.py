"""One pass over the commits, from the first to the tip: what stands, what is approved, and how a text came.

Pure: no git, files, clock.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from ai_lessons.approval.commit_words import CommitWords
from ai_lessons.model.approval import (
    MERGED,
    ON_BRANCH,
    SIGNED,
    Evidence,
    Person,
    is_bot,
    is_forge,
    is_rule,
    project_of,
    subject_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ai_lessons.git.commits import RawCommit
    from ai_lessons.model.approval import ApprovalLine, ApprovalPolicy, How, Signature


# The project and the blob
Text = tuple[str, str]


# The files of one rule: path and blob, by path
Places = tuple[tuple[str, str], ...]
# So many authors of a proposal are listed
WRITERS_NAMED: Final = 20
CUT: Final = "the history is cut off here (a shallow clone)"
# The evidence of a commit, as people read it
REQUEST: Final = "it names a pull request"
ALONE: Final = "it brings this one rule and nothing else"
LINE: Final = "it has the line of approve-rule"
SQUASH: Final = "a forge squashed a pull request"


class ApprovalHistory(NamedTuple):
    """What is judged: the commits, parents first, the tip last.

    `rule_of(path, blob)` is the id that a file states.

    `branch`: the short name of the approval branch, `where` with its remote.
    """

    commits: Sequence[RawCommit]
    rule_of: Callable[[str, str], str]
    branch: str
    where: str


class Approval(NamedTuple):
    """An approval of a text, or (None) of a removal.

    Of a shallow clone `known` is False: what it was is cut off.

    `bit` stands for its commit in sets of commits, which are whole numbers; `history` is all that
    its commit contains.
    """

    text: Text | None
    path: str
    bit: int
    history: int
    evidence: Evidence
    known: bool = True

    def signed(self, signature: Signature) -> Approval:
        """The same with a good signature.

        At a hub, which verifies none, with the name in the commit.
        """
        evidence = self.evidence._replace(level=SIGNED, how="signed")
        if signature.who:
            reason = evidence.reason.replace(
                LINE, f"{signature.who} signed its line of approve-rule", 1
            )
            evidence = evidence._replace(by=Person(signature.who, signature.who), reason=reason)
        return self._replace(evidence=evidence)


class Candidate(NamedTuple):
    """A line that approves, if it is of this list of `signers` and the signature is good.

    `brought`: the commits that made its text.
    """

    rule: str
    approval: Approval
    commit: str
    brought: int
    signers: str


V = TypeVar("V")


class ByRule(Generic[V]):
    """Values by rule, never changed in place.

    A commit adds what it changes, and shares the rest with its parents.
    """

    # so many changes lie on each other before they are joined, which takes time with the number of
    # rules
    LAYERS = 32

    def __init__(
        self, base: Mapping[str, V | None], layers: tuple[Mapping[str, V | None], ...] = ()
    ) -> None:
        self._base, self._layers = base, layers

    def get(self, rule: str) -> V | None:
        """The value of a rule; None where it has none."""
        for layer in reversed(self._layers):
            if rule in layer:
                return layer[rule]
        return self._base.get(rule)

    def changed(self, values: Mapping[str, V | None]) -> ByRule[V]:
        """The same with these values; None takes one away."""
        if not values:
            return self
        if len(self._layers) < self.LAYERS:
            return ByRule(self._base, (*self._layers, values))
        return ByRule({**self.all(), **values})

    def all(self) -> dict[str, V]:
        """The values of all rules that have one."""
        every = dict(self._base)
        for layer in self._layers:
            every |= layer
        present: dict[str, V] = {}
        for rule, value in every.items():
            if value is not None:
                present[rule] = value
        return present

    def apart(self, other: ByRule[V]) -> set[str]:
        """The rules whose values here and there may differ."""
        several = [*self._layers, *other._layers]
        if self._base is not other._base:
            several += [self._base, other._base]
        rules: set[str] = set()
        for values in several:
            rules.update(values)
        return rules


class State(NamedTuple):
    """A commit: its rules' files, what is approved there, how each text came that is not.

    `history` is all that it contains.
    """

    places: ByRule[Places]
    approved: ByRule[Approval]
    arrived: ByRule[Evidence]
    history: int

    def text(self, rule: str) -> Text | None:
        """The text of a rule: of several files the one whose path comes first."""
        places = self.places.get(rule)
        if places:
            return (project_of(places[0][0]), places[0][1])
        return None


_UNKNOWN: Final = Person("", "")
_START: Final = State(ByRule({}), ByRule({}), ByRule({}), 0)


def union(sets: Iterable[int]) -> int:
    """All commits of several sets of commits (see `Walk`)."""
    every = 0
    for commits in sets:
        every |= commits
    return every


def unknown_approval(evidence: Evidence) -> Approval:
    """Stands for whatever was approved before the history is cut off."""
    return Approval(None, "", 0, 0, evidence, known=False)


def lacking(commit: RawCommit | None, reason: str) -> Evidence:
    """How a text came that nothing approves."""
    if commit is None:
        return Evidence(ON_BRANCH, "direct", None, 0, (), "", reason)
    info = commit.info
    return Evidence(ON_BRANCH, "direct", None, info.committed, (info.author,), commit.id, reason)


def _newer(several: Sequence[Approval], text: Text | None) -> Approval | None:
    """The approval that has the others in its history.

    Of strangers that of the text here, else the first one.
    """
    left = []
    for approval in several:
        if not approval.known:
            # Nothing is known of what is newer than the cut
            return approval
        later = (other for other in several if other.bit != approval.bit)
        if not any(approval.bit & other.history for other in later):
            left.append(approval)
    for approval in left:
        if approval.text == text:
            return approval
    return next(iter(left), None)


class _Merge(NamedTuple):
    """A commit as it is judged.

    Its words, the state before it and of its merged sides, and the one after it.

    `alone`: the one rule that its side brings, and nothing else. `rules`: so many it changes.
    """

    words: CommitWords
    before: State
    sides: Sequence[State]
    after: State
    alone: str
    rules: int

    def lacks(self, rule: str, branch: str) -> str:
        """Why what a merge says and brings is no evidence for a rule; empty where it is."""
        words = self.words
        if words.request:
            return ""
        if words.trunk_sides:
            return f"this merge takes over what was approved on {branch}, and this text was not"
        if len(self.sides) > 1:
            return "this merge takes in several branches at once"
        if words.made_on not in {"", branch}:
            return f"this merge was made for the branch {words.made_on}"
        if self.rules > 1:
            return f"this merge brings {NUMBERS.get(self.rules, self.rules)} rules"
        if self.alone != rule:
            return "this merge brings more than this one rule: other files, another rule, or merges of its own"
        return ""


NUMBERS: Final = {
    2: "two",
    3: "three",
    4: "four",
    5: "five",
    6: "six",
    7: "seven",
    8: "eight",
    9: "nine",
}


class _Line(NamedTuple):
    """Commits in a row, each with one parent, that touch one `rule` and no other file.

    `base` is the one before.
    """

    rule: str
    base: int


def _first_parents(parents: Sequence[Sequence[int]]) -> set[int]:
    """The line of first parents from the tip, the last commit."""
    line, at = set[int](), len(parents) - 1
    while at >= 0:
        line.add(at)
        if not parents[at]:
            break
        at = parents[at][0]
    return line


class Walk:
    """Walks the commits once.

    A set of commits is a whole number, with a bit for each commit that touched a rule.
    """

    def __init__(self, history: ApprovalHistory, policy: ApprovalPolicy) -> None:
        self._commits, self._rule_of = history.commits, history.rule_of
        self._branch = history.branch
        self._policy, self._distinct = policy, policy.distinct
        # the author that each bit stands for
        self._authors: list[Person] = []
        # by rule the commits that made a text of it
        self._made: dict[str, int] = {}
        # and those that made this text
        self._texts: dict[tuple[str, Text | None], int] = {}
        # by address, in small letters, the commits of an author or committer
        self.by: dict[str, int] = {}
        # commits that do not say in plain text who made them
        self._unnamed = 0
        # the history of each commit on the line of first parents, the oldest first
        self._trunk: list[int] = []
        self.lines: list[Candidate] = []
        # where a shallow clone ends
        self.cuts = 0
        self.cut = lacking(None, CUT)

    def run(self) -> State:
        """What stands and is approved at the tip."""
        number: dict[str, int] = {}
        parents: list[list[int]] = []
        children = Counter[int]()
        for node, commit in enumerate(self._commits):
            number[commit.id] = node
            # Parents come first, so that they have their numbers by now
            parents.append([number[parent] for parent in commit.parents])
            children.update(parents[node])
        trunk = _first_parents(parents)
        alone = self._alone(parents)
        # The bit of each commit that a line begins behind; 0 until it was walked
        bases: dict[int, int] = {}
        for several in parents:
            if len(several) == 2 and (line := alone.get(several[1])):
                bases[line.base] = 0
        states: dict[int, State] = {}
        state = _START
        for node, commit in enumerate(self._commits):
            before, *sides = [states[parent] for parent in parents[node]] or [_START]
            # all that the side has, and the first parent has not, is in the line if the latter has
            # what is before it
            line = None
            if len(sides) == 1:
                line = alone.get(parents[node][1])
            whole = line is not None and bool(bases[line.base] & before.history)
            state = self._step(commit, before, sides, line.rule if line and whole else "")
            if node in bases:
                bases[node] = self._new_bit()
                state = state._replace(history=state.history | bases[node])
            if node in trunk:
                self._trunk.append(state.history)
            if children[node]:
                states[node] = state
            for parent in parents[node]:
                # a state is kept until the last child was judged
                children[parent] -= 1
                if not children[parent]:
                    del states[parent]
        return state

    def _alone(self, parents: Sequence[Sequence[int]]) -> dict[int, _Line]:
        """The line that each commit ends which has one parent and touches the files of one rule alone."""
        lines: dict[int, _Line] = {}
        for node, commit in enumerate(self._commits):
            if len(parents[node]) != 1 or commit.mixed or not commit.changes[0]:
                continue
            touched = self._touched(commit)
            if len(touched) != 1 or not all(is_rule(change.path) for change in commit.changes[0]):
                continue
            (rule,), (parent,) = touched, parents[node]
            earlier = lines.get(parent)
            lines[node] = earlier if earlier and earlier.rule == rule else _Line(rule, parent)
        return lines

    def first(self, several: Sequence[Approval]) -> Approval:
        """The approval that came to the line of first parents before the others."""
        for history in self._trunk:
            for approval in several:
                if approval.bit & history:
                    return approval
        raise ValueError("none of these is in the history of the tip")

    def _step(self, commit: RawCommit, before: State, sides: Sequence[State], alone: str) -> State:
        """The state after a commit.

        `alone`: the one rule that its side brings, and nothing else.
        """
        history = union((before.history, *(side.history for side in sides)))
        places = self._places(commit, before.places)
        if not commit.parents and commit.info.cut:
            bit, history = self._bit(commit, history)
            self.cuts |= bit
            self.cut = lacking(commit, CUT)
            here = places.all()
            for rule in here:
                self._made[rule] = self._made.get(rule, 0) | bit
            return State(
                places,
                ByRule(dict.fromkeys(here, unknown_approval(self.cut))),
                _START.arrived,
                history,
            )
        if len(commit.parents) < 2 and places is before.places:
            return before
        after = State(places, before.approved, before.arrived, history)
        changed = [rule for rule in self._touched(commit) if before.text(rule) != after.text(rule)]
        words = CommitWords(commit, self._policy, self._branch)
        lines = []
        for line in words.lines:
            if self._holds(after, line):
                lines.append(line)
        if changed or lines:
            bit, history = self._bit(commit, history)
            for rule in changed:
                text = after.text(rule)
                if all(side.text(rule) != text for side in sides):
                    self._made[rule] = self._made.get(rule, 0) | bit
                    self._texts[rule, text] = self._texts.get((rule, text), 0) | bit
        after = after._replace(history=history)
        merge = _Merge(words, before, sides, after, alone, len(changed))
        approved, reasons = self._evidence(commit, merge, changed, lines)
        verdicts = self._of_trunk(words, before, sides, after).changed(approved)
        came = {}
        for rule, reason in reasons.items():
            came[rule] = lacking(commit, reason)
            if words.like_squash and not words.squash:
                # People see who pressed the button, though that approves nothing
                came[rule] = came[rule]._replace(how="squash", by=words.committer)
        return after._replace(approved=verdicts, arrived=before.arrived.changed(came))

    def _bit(self, commit: RawCommit, history: int) -> tuple[int, int]:
        """The bit of this commit, and the history with it."""
        info = commit.info
        bit = self._new_bit(info.author)
        if info.odd:
            self._unnamed |= bit
        for address in {info.author.email.casefold(), info.committer.email.casefold()}:
            self.by[address] = self.by.get(address, 0) | bit
        return bit, history | bit

    def _new_bit(self, author: Person = _UNKNOWN) -> int:
        self._authors.append(author)
        return self._last_bit()

    def _touched(self, commit: RawCommit) -> dict[str, None]:
        """The rules whose files a commit changed against its first parent, in order."""
        rules: dict[str, None] = {}
        for path, *blobs in commit.changes[0]:
            if not is_rule(path):
                continue
            for blob in filter(None, blobs):
                rules[self._rule_of(path, blob)] = None
        return rules

    def _places(self, commit: RawCommit, before: ByRule[Places]) -> ByRule[Places]:
        """The files of every rule after this commit; the same object where it changed none."""
        after: dict[str, Places] = {rule: before.get(rule) or () for rule in self._touched(commit)}
        for path, old, new in commit.changes[0]:
            if is_rule(path) and old is not None:
                rule = self._rule_of(path, old)
                after[rule] = tuple(place for place in after[rule] if place != (path, old))
            if is_rule(path) and new is not None:
                rule = self._rule_of(path, new)
                after[rule] = tuple(sorted((*after[rule], (path, new))))
        return before.changed({rule: places or None for rule, places in after.items()})

    def _holds(self, after: State, line: ApprovalLine) -> bool:
        """Whether a commit holds just what the line in it approves."""
        places = after.places.get(line.rule) or ()
        if line.blob is None:
            return not places
        return places[:1] == ((line.path, line.blob),)

    def _brought(self, rule: str, before: State, sides: Sequence[State]) -> int:
        """The commits of these sides that made a text of a rule."""
        return self._made.get(rule, 0) & union(side.history for side in sides) & ~before.history

    def _evidence(
        self,
        commit: RawCommit,
        merge: _Merge,
        changed: Sequence[str],
        lines: Sequence[ApprovalLine],
    ) -> tuple[dict[str, Approval], dict[str, str]]:
        """What this commit approves, by rule.

        Also why it does not approve the other rules that it changed.
        """
        before, after = merge.before, merge.after
        approved: dict[str, Approval] = {}
        reasons: dict[str, str] = {}
        # Of two lines about a rule the last one counts
        by_line = {}
        for line in lines:
            by_line[line.rule] = line
        for rule in dict.fromkeys((*by_line, *changed)):
            how, brought, reason = self._proof(merge, rule, by_line)
            # who wrote this text before must not take it either, though another person put it back
            same = 0
            if after.text(rule):
                same = self._texts.get((rule, after.text(rule)), 0) & before.history
            another = not brought or self._by_another(commit, how, brought | same)
            evidence = self._by_whom(commit, how, brought, reason)
            path = (after.places.get(rule) or before.places.get(rule) or (("", ""),))[0][0]
            approval = Approval(after.text(rule), path, self._last_bit(), after.history, evidence)
            if rule in by_line and brought:
                self.lines.append(
                    Candidate(rule, approval, commit.id, brought, by_line[rule].signers)
                )
            if brought and another:
                approved[rule] = approval
            elif brought:
                reasons[rule] = (
                    "taken by a person who worked on the proposal, as far as the history tells"
                )
            else:
                reasons[rule] = reason
        return approved, reasons

    def _proof(self, merge: _Merge, rule: str, by_line: Collection[str]) -> tuple[How, int, str]:
        """How a commit approves a rule, the commits that brought the text, and why.

        It does not where there are no such commits; then it is why not.
        """
        words = merge.words
        if words.none:
            return "direct", 0, words.none
        if rule in by_line:
            brought = self._by_line(rule, merge)
            if not brought:
                return "line", 0, "no commit made this text"
            return "line", brought, LINE
        if words.merge:
            return "merge", *self._merged(merge, rule)
        if words.squash and self._distinct:
            return "squash", 0, "a squashed pull request does not say who took it"
        if words.squash:
            return "squash", self._last_bit(), SQUASH
        if words.like_squash:
            email = words.committer.email
            return "squash", 0, f"it looks squashed by a forge that is not known here: {email}"
        return "direct", 0, "committed without a proposal"

    def _last_bit(self) -> int:
        return 1 << (len(self._authors) - 1)

    def _by_line(self, rule: str, merge: _Merge) -> int:
        """The commits that brought the text which a line approves."""
        brought = self._brought(rule, merge.before, merge.sides)
        # a text that stood on the branch already was brought by the commits that made just this one
        return brought or self._texts.get((rule, merge.after.text(rule)), 0) & merge.after.history

    def _merged(self, merge: _Merge, rule: str) -> tuple[int, str]:
        """The commits that brought the text through a merge, and its evidence; or none, and why."""
        text = merge.after.text(rule)
        if all(side.text(rule) != text for side in merge.sides):
            return 0, "the text is in none of the merged commits: it was changed inside the merge"
        reason = merge.lacks(rule, self._branch)
        if reason:
            return 0, reason
        for side in merge.sides:
            if side.text(rule) != text:
                continue
            brought = self._brought(rule, merge.before, [side])
            if brought and merge.words.request:
                return brought, REQUEST
            if brought:
                return brought, ALONE
        return 0, "no commit that this merge brings made the text"

    def _by_another(self, commit: RawCommit, how: How, brought: int) -> bool:
        """Under `distinct`.

        A person, who wrote and committed none of this, is author or committer of the merge.
        """
        if not self._distinct or how == "squash":
            return True
        people, by_them = 0, self._unnamed
        for person in (commit.info.author, commit.info.committer):
            address = person.email.casefold()
            # A bot or a forge is nobody who could look at a text
            if not is_bot(address, self._policy.forges):
                people += 1
                by_them |= self.by.get(address, 0)
        return people > 0 and not brought & by_them

    def _by_whom(self, commit: RawCommit, how: How, brought: int, reason: str) -> Evidence:
        info = commit.info
        by = info.committer
        if how != "squash" and is_forge(info.committer.email, self._policy.forges):
            # A forge commits in its own name, for the author of the merge who pressed the button
            by = info.author
        authors: dict[Person, None] = {}
        while brought and len(authors) < WRITERS_NAMED:
            place = brought.bit_length() - 1
            authors[self._authors[place]] = None
            brought &= ~(1 << place)
        suggested = tuple(authors)
        if how == "squash":
            suggested = (info.author,)
        says = f"{reason}: {subject_of(info.message)}"
        return Evidence(MERGED, how, by, info.committed, suggested, commit.id, says)

    def _of_trunk(
        self, words: CommitWords, before: State, sides: Sequence[State], after: State
    ) -> ByRule[Approval]:
        """After a merge of the approval branch itself the newer verdicts of its sides.

        Else those before.
        """
        if not words.trunk_sides:
            # any other merge takes over a text with its own evidence, and nothing that its sides
            # approved or removed
            return before.approved
        newer: dict[str, Approval | None] = {}
        sides = [sides[number] for number in words.trunk_sides]
        differing = set[str]()
        for side in sides:
            differing |= side.approved.apart(before.approved)
        for rule in differing:
            ours = before.approved.get(rule)
            candidates = []
            if ours:
                candidates.append(ours)
            for side in sides:
                approval = side.approved.get(rule)
                if approval is None:
                    continue
                # A side that left our text as it is may approve that text, and not one that it had
                # before.
                if side.text(rule) != before.text(rule) or approval.text == side.text(rule):
                    candidates.append(approval)
            newest = _newer(candidates, after.text(rule))
            if newest is not None and newest is not ours:
                newer[rule] = newest
        return before.approved.changed(newer)

"""Which text of each rule is in force: one pass from the first commit to the tip. Pure: no git, files, clock.

`merge` reads the words of the commits on the trunk, `signed` reads signed lines, `forge` takes the tip as it is. A text
is a rule's project and bytes: a new file name in the same project changes nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from ai_lessons.model.approval import (
    FORGES,
    MERGED,
    ON_BRANCH,
    SIGNED,
    Evidence,
    Person,
    UnapprovedChange,
    Verdict,
    approval_lines,
    is_bot,
    is_rule,
    made_by_agent,
    merged_branches,
    merges_branch,
    names_request,
    names_squash,
    project_of,
    rule_end,
    subject_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ai_lessons.git.commits import RawCommit
    from ai_lessons.model.approval import ApprovalLine, ApprovalPolicy, How, Signature, Signers

Text = tuple[str, str]  # The project and the blob
Places = tuple[tuple[str, str], ...]  # The files of one rule: path and blob, by path
WRITERS_NAMED: Final = 20  # So many authors of a proposal are listed
CUT: Final = "the history is cut off here (a shallow clone)"


class ApprovalHistory(NamedTuple):
    """What is judged: the commits, parents first, the tip last; `rule_of(path, blob)` is the id that a file states.

    `branch`: the short name of the approval branch, `where` with its remote.
    """

    commits: Sequence[RawCommit]
    rule_of: Callable[[str, str], str]
    branch: str
    where: str


class _Approval(NamedTuple):
    """An approval of a text, or (None) of a removal. Of a shallow clone `known` is False: what it was is cut off.

    `bit` stands for its commit in sets of commits, which are whole numbers; `history` is all that its commit contains.
    """

    text: Text | None
    path: str
    bit: int
    history: int
    evidence: Evidence
    known: bool = True

    def signed(self, signature: Signature) -> _Approval:
        """The same with a good signature; at a hub, which verifies none, with the name in the commit."""
        by = Person(signature.who, signature.who) if signature.who else self.evidence.by
        return self._replace(evidence=self.evidence._replace(level=SIGNED, how="signed", by=by))


class _Candidate(NamedTuple):
    """A line that approves, if it is of this list of `signers` and the signature is good.

    `brought`: the commits that made its text.
    """

    rule: str
    approval: _Approval
    commit: str
    brought: int
    signers: str


V = TypeVar("V")


class _ByRule(Generic[V]):
    """Values by rule, never changed in place: a commit adds what it changes, and shares the rest with its parents."""

    LAYERS = 32  # so many changes lie on each other before they are joined, which takes time with the number of rules

    def __init__(self, base: Mapping[str, V | None], layers: tuple[Mapping[str, V | None], ...] = ()) -> None:
        self._base, self._layers = base, layers

    def get(self, rule: str) -> V | None:
        for layer in reversed(self._layers):
            if rule in layer:
                return layer[rule]
        return self._base.get(rule)

    def changed(self, values: Mapping[str, V | None]) -> _ByRule[V]:
        """The same with these values; None takes one away."""
        if not values:
            return self
        if len(self._layers) < self.LAYERS:
            return _ByRule(self._base, (*self._layers, values))
        return _ByRule({**self.all(), **values})

    def all(self) -> dict[str, V]:
        every = dict(self._base)
        for layer in self._layers:
            every |= layer
        return {rule: value for rule, value in every.items() if value is not None}

    def apart(self, other: _ByRule[V]) -> set[str]:
        """The rules whose values here and there may differ."""
        several = [*self._layers, *other._layers]
        several += [self._base, other._base] if self._base is not other._base else []
        return {rule for values in several for rule in values}


class _State(NamedTuple):
    """A commit: its rules' files, what is approved there, how each text came that is not; all that it contains."""

    places: _ByRule[Places]
    approved: _ByRule[_Approval]
    arrived: _ByRule[Evidence]
    history: int

    def text(self, rule: str) -> Text | None:
        """The text of a rule: of several files the one whose path comes first."""
        places = self.places.get(rule)
        return (project_of(places[0][0]), places[0][1]) if places else None


_START: Final = _State(_ByRule({}), _ByRule({}), _ByRule({}), 0)


def judge(history: ApprovalHistory, policy: ApprovalPolicy, signers: Signers) -> dict[str, Verdict]:
    """The verdict on every rule that the branch has or had. Raises what `signers` raises."""
    walk = _Walk(history, distinct=policy.distinct)
    tip = walk.run()
    approved, standing = tip.approved.all(), tip.places.all()
    if policy.require == "signed":
        approved, unsigned = _signed(walk, tip, signers, distinct=policy.distinct)
        tip = tip._replace(arrived=tip.arrived.changed(unsigned))
    elif policy.require == "forge":
        approved = {rule: _standing(tip, rule, history.where) for rule in standing}
    verdicts = {rule: _verdict(rule, approved.get(rule), tip) for rule in {*approved, *standing}}
    return {rule: verdict for rule, verdict in verdicts.items() if verdict}


def _verdict(rule: str, approval: _Approval | None, tip: _State) -> Verdict:
    """The verdict on one rule that stands or stood on the branch."""
    places, text = tip.places.get(rule) or (), approval.text if approval else None
    arrived = tip.arrived.get(rule) or _lacking(None, "how it came is not known")
    if approval and not approval.known:
        arrived = approval.evidence
    other = tuple(UnapprovedChange(path, blob, arrived) for path, blob in places if (project_of(path), blob) != text)
    if approval is None or text is None:
        evidence = other[0].evidence if other or approval is None else approval.evidence
        return Verdict(rule, in_force=False, path=None, blob=None, evidence=evidence, unapproved=other)
    here = (path for path, blob in places if (project_of(path), blob) == text)
    if not places:
        other = (UnapprovedChange(approval.path, None, arrived),)
    path = next(here, approval.path)
    return Verdict(rule, in_force=True, path=path, blob=text[1], evidence=approval.evidence, unapproved=other)


def _standing(tip: _State, rule: str, branch: str) -> _Approval:
    """Under `forge` what stands there counts; its evidence is what is known of how it came."""
    text, approval = tip.text(rule), tip.approved.get(rule)
    merged = approval.evidence if approval and approval.text == text else None
    came = merged or (tip.arrived.get(rule) or _lacking(None, ""))._replace(level=MERGED, how="forge")
    reason = f"on the protected branch {branch}" + (f": {came.reason}" if came.reason else "")
    return _Approval(text, (tip.places.get(rule) or (("", ""),))[0][0], 0, 0, came._replace(reason=reason))


def _signed(
    walk: _Walk, tip: _State, signers: Signers, *, distinct: bool
) -> tuple[dict[str, _Approval], dict[str, Evidence]]:
    """For each rule the newest good line, and for texts that only lack a good signature what approves them without.

    Lines are verified newest first, until one is good.
    """
    good = _good_approvals(walk, signers, distinct=distinct)
    approved = {}
    for rule in {*good, *tip.places.all()}:
        # an approval with a newer one in its history counts no more; several are left where branches approved apart
        newest = [a for a in good.get(rule, ()) if not any(a.bit & b.history and b is not a for b in good[rule])]
        if walk.cuts & ~_union(approval.history for approval in newest):  # a newer line may be beyond the cut
            approved[rule] = _unknown(walk.cut)
        elif newest:
            here = (approval for approval in newest if approval.text == tip.text(rule))
            approved[rule] = next(here, None) or walk.first(newest)
    return approved, _why_unsigned(walk, tip, signers)


def _why_unsigned(walk: _Walk, tip: _State, signers: Signers) -> dict[str, Evidence]:
    """For each rule at the tip why no signature approves its text."""
    unsigned = {rule: _lacking_at(tip, rule, "no approval of it is signed") for rule in tip.places.all()}
    for line in walk.lines:
        if line.approval.text == tip.text(line.rule):
            reason = "its approval is not signed by a signer who is pinned here"
            if signers.name not in {None, line.signers}:
                reason = f"its approval is for the list of signers {line.signers}, which is called {signers.name} here"
            unsigned[line.rule] = line.approval.evidence._replace(level=ON_BRANCH, how="direct", by=None, reason=reason)
    return unsigned


def _good_approvals(walk: _Walk, signers: Signers, *, distinct: bool) -> dict[str, list[_Approval]]:
    """By rule the approvals whose lines have a good signature, as far back as the newest ones need."""
    waiting: dict[str, list[_Candidate]] = {}
    for line in walk.lines:
        if signers.name in {None, line.signers}:
            waiting.setdefault(line.rule, []).append(line)
    good: dict[str, list[_Approval]] = {}
    size = 1
    while waiting:
        # Ask for every rule at once, because a question starts programs. Ask for twice as many each time, so that a
        # thousand forged lines on top of a good one cost ten questions.
        asked = [lines.pop() for lines in waiting.values() for _ in range(min(size, len(lines)))]
        who = signers.verified(sorted({line.commit for line in asked}))
        for line in asked:
            signature = who.get(line.commit)
            if signature and not (distinct and line.brought & walk.by.get(signature.who.casefold(), 0)):
                good.setdefault(line.rule, []).append(line.approval.signed(signature))
        waiting = {rule: _not_older(lines, good.get(rule, ())) for rule, lines in waiting.items()}
        waiting = {rule: lines for rule, lines in waiting.items() if lines}
        size *= 2
    return good


def _lacking_at(tip: _State, rule: str, reason: str) -> Evidence:
    """How a text of the tip came that a merge may have brought, and no signature approves."""
    merged = tip.approved.get(rule)
    came = tip.arrived.get(rule) or (merged.evidence if merged else _lacking(None, ""))
    return came._replace(level=ON_BRANCH, how="direct", by=None, reason=reason)


def _not_older(lines: Sequence[_Candidate], good: Sequence[_Approval]) -> list[_Candidate]:
    """The lines that are in the history of no good one."""
    reached = _union(approval.history for approval in good)
    return [line for line in lines if not line.approval.bit & reached]


def _union(sets: Iterable[int]) -> int:
    every = 0
    for commits in sets:
        every |= commits
    return every


def _unknown(evidence: Evidence) -> _Approval:
    return _Approval(None, "", 0, 0, evidence, known=False)


def _lacking(commit: RawCommit | None, reason: str) -> Evidence:
    """How a text came that nothing approves."""
    if commit is None:
        return Evidence(ON_BRANCH, "direct", None, 0, (), "", reason)
    info = commit.info
    return Evidence(ON_BRANCH, "direct", None, info.committed, (info.author,), commit.id, reason)


def _newer(several: Sequence[_Approval], text: Text | None) -> _Approval | None:
    """The approval that has the others in its history; of strangers that of the text here, else the first one."""
    if unknown := next((approval for approval in several if not approval.known), None):
        return unknown
    left = [a for a in several if not any(a.bit & b.history and b.bit != a.bit for b in several)]
    return next((approval for approval in left if approval.text == text), left[0] if left else None)


class _Words:
    """What a commit says of itself."""

    def __init__(self, commit: RawCommit, branch: str, changed: Sequence[str]) -> None:
        info, self._changed = commit.info, changed
        self.merge = len(commit.parents) > 1
        self.odd = info.odd
        self.by_agent = made_by_agent(info.message)
        self._sides = range(len(commit.parents) - 1)
        self.branches: tuple[str, ...] = ()
        self.request = self.of_trunk = False
        if self.merge and not info.odd:
            self.request = not self.by_agent and names_request(info.message)
            if info.message.startswith("Merge "):  # ours, which name proposals in trailers, count by their lines
                self.branches = merged_branches(info.message, branch) or ()
            self.of_trunk = merges_branch(info.message, branch)
        author, committer = info.author, info.committer
        # rebase, cherry-pick and amend keep the author and move the committer's time
        one_stroke = author == committer and info.authored == info.committed
        plain = not self.merge or not one_stroke or self.by_agent or info.odd
        self.lines = () if plain else approval_lines(info.message)
        self.squash = (
            not self.merge
            and not info.odd
            and names_squash(info.message)
            and info.authored == info.committed
            and not author.same(committer)
        )

    def sides_of(self, rule: str) -> Sequence[int]:
        """Which merged sides the words take this rule's text from."""
        if self.request:
            return self._sides
        if self.by_agent:
            return ()
        ends = [rule_end(name) for name in self.branches]
        of_rule = [number for number, end in enumerate(ends) if end and rule.endswith(end)]
        # two rules with that end: the name of the branch does not tell which one a person looked at
        if not of_rule or sum(other.endswith(ends[of_rule[0]] or "") for other in self._changed) > 1:
            return ()
        return of_rule if len(ends) == len(self._sides) else self._sides


class _Walk:
    """Walks the commits once. A set of commits is a whole number, with a bit for each commit that touched a rule."""

    def __init__(self, history: ApprovalHistory, *, distinct: bool) -> None:
        self._commits, self._rule_of, self._branch = history.commits, history.rule_of, history.branch
        self._distinct = distinct
        self._authors: list[Person] = []  # the author that each bit stands for
        self._made: dict[str, int] = {}  # by rule the commits that made a text of it
        self._texts: dict[tuple[str, Text | None], int] = {}  # and those that made this text
        self.by: dict[str, int] = {}  # by address, in small letters, the commits of an author or committer
        self._unnamed = 0  # commits that do not say in plain text who made them
        self._trunk: list[int] = []  # the history of each commit on the line of first parents, the oldest first
        self.lines: list[_Candidate] = []
        self.cuts = 0  # where a shallow clone ends
        self.cut = _lacking(None, CUT)

    def run(self) -> _State:
        """What stands and is approved at the tip."""
        number = {commit.id: node for node, commit in enumerate(self._commits)}
        parents = [[number[parent] for parent in commit.parents] for commit in self._commits]
        children = Counter(parent for several in parents for parent in several)
        trunk, at = set[int](), len(self._commits) - 1
        while at >= 0:
            trunk.add(at)
            at = parents[at][0] if parents[at] else -1
        states: dict[int, _State] = {}
        state = _START
        for node, commit in enumerate(self._commits):
            before, *sides = [states[parent] for parent in parents[node]] or [_START]
            state = self._step(commit, before, sides)
            if node in trunk:
                self._trunk.append(state.history)
            if children[node]:
                states[node] = state
            for parent in parents[node]:  # a state is kept until the last child was judged
                children[parent] -= 1
                if not children[parent]:
                    del states[parent]
        return state

    def first(self, several: Sequence[_Approval]) -> _Approval:
        """The approval that came to the line of first parents before the others."""
        here = (approval for history in self._trunk for approval in several if approval.bit & history)
        return next(here)

    def _step(self, commit: RawCommit, before: _State, sides: Sequence[_State]) -> _State:
        history = _union((before.history, *(side.history for side in sides)))
        places = self._places(commit, before.places)
        if not commit.parents and commit.info.cut:
            bit, history = self._bit(commit, history)
            self.cuts |= bit
            self.cut = _lacking(commit, CUT)
            here = places.all()
            self._made |= {rule: self._made.get(rule, 0) | bit for rule in here}
            return _State(places, _ByRule(dict.fromkeys(here, _unknown(self.cut))), _START.arrived, history)
        if len(commit.parents) < 2 and places is before.places:
            return before
        after = _State(places, before.approved, before.arrived, history)
        changed = [rule for rule in self._touched(commit) if before.text(rule) != after.text(rule)]
        words = _Words(commit, self._branch, changed)
        lines = [line for line in words.lines if self._holds(after, line)]
        if changed or lines:
            bit, history = self._bit(commit, history)
            for rule in changed:
                text = after.text(rule)
                if all(side.text(rule) != text for side in sides):
                    self._made[rule] = self._made.get(rule, 0) | bit
                    self._texts[rule, text] = self._texts.get((rule, text), 0) | bit
        after = after._replace(history=history)
        approved, reasons = self._evidence(commit, words, before, sides, after, changed, lines)
        verdicts = self._of_trunk(words, before, sides, after).changed(approved)
        arrived = before.arrived.changed({rule: _lacking(commit, reason) for rule, reason in reasons.items()})
        return after._replace(approved=verdicts, arrived=arrived)

    def _bit(self, commit: RawCommit, history: int) -> tuple[int, int]:
        """The bit of this commit, and the history with it."""
        bit = 1 << len(self._authors)
        info = commit.info
        self._authors.append(info.author)
        if info.odd:
            self._unnamed |= bit
        for address in {info.author.email.casefold(), info.committer.email.casefold()}:
            self.by[address] = self.by.get(address, 0) | bit
        return bit, history | bit

    def _touched(self, commit: RawCommit) -> dict[str, None]:
        """The rules whose files a commit changed against its first parent, in order."""
        blobs = ((path, blob) for path, *blobs in commit.changes[0] if is_rule(path) for blob in blobs if blob)
        return dict.fromkeys(self._rule_of(path, blob) for path, blob in blobs)

    def _places(self, commit: RawCommit, before: _ByRule[Places]) -> _ByRule[Places]:
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

    def _holds(self, after: _State, line: ApprovalLine) -> bool:
        """Whether a commit holds just what the line in it approves."""
        places = after.places.get(line.rule) or ()
        return places[:1] == (() if line.blob is None else ((line.path, line.blob),))

    def _brought(self, rule: str, before: _State, sides: Sequence[_State]) -> int:
        """The commits of these sides that made a text of a rule."""
        return self._made.get(rule, 0) & _union(side.history for side in sides) & ~before.history

    def _evidence(
        self,
        commit: RawCommit,
        words: _Words,
        before: _State,
        sides: Sequence[_State],
        after: _State,
        changed: Sequence[str],
        lines: Sequence[ApprovalLine],
    ) -> tuple[dict[str, _Approval], dict[str, str]]:
        """What this commit approves, by rule, and why it does not approve the other rules that it changed."""
        approved: dict[str, _Approval] = {}
        reasons: dict[str, str] = {}
        by_line = {line.rule: line for line in lines}
        for rule in dict.fromkeys((*by_line, *changed)):
            how: How
            if rule in by_line:
                how, (brought, reason) = "line", self._by_line(rule, before, sides, after)
            elif words.merge:
                how, (brought, reason) = "merge", self._merged(words, rule, before, sides, after)
            else:
                how, (brought, reason) = "squash", self._squashed(words)
            # who wrote this text before must not take it either, though another person put it back
            same = self._texts.get((rule, after.text(rule)), 0) & before.history if after.text(rule) else 0
            if brought and not self._by_another(commit, how, brought | same):
                reason = "taken by a person who worked on the proposal, as far as the history tells"
            evidence = self._by_whom(commit, how, brought)
            path = (after.places.get(rule) or before.places.get(rule) or (("", ""),))[0][0]
            approval = _Approval(after.text(rule), path, self._last_bit(), after.history, evidence)
            if rule in by_line and brought:
                self.lines.append(_Candidate(rule, approval, commit.id, brought, by_line[rule].signers))
            if brought and not reason:
                approved[rule] = approval
            else:
                reasons[rule] = reason
        return approved, reasons

    def _last_bit(self) -> int:
        return 1 << (len(self._authors) - 1)

    def _by_line(self, rule: str, before: _State, sides: Sequence[_State], after: _State) -> tuple[int, str]:
        """The commits that brought the text which a line approves; or none, and why."""
        brought = self._brought(rule, before, sides)
        # a text that stood on the branch already was brought by the commits that made just this one
        brought = brought or self._texts.get((rule, after.text(rule)), 0) & after.history
        return brought, "" if brought else "no commit made this text"

    def _merged(
        self, words: _Words, rule: str, before: _State, sides: Sequence[_State], after: _State
    ) -> tuple[int, str]:
        """The commits that brought the text through a merge which names it; or none, and why."""
        if words.odd:
            return 0, f"the commit proves nothing: {words.odd}"
        if words.by_agent:
            return 0, "an agent made this merge"
        for number in words.sides_of(rule):
            side = sides[number]
            if side.text(rule) == after.text(rule) and (brought := self._brought(rule, before, [side])):
                return brought, ""
        if all(side.text(rule) != after.text(rule) for side in sides):
            return 0, "the text is in none of the merged commits: it was changed inside the merge"
        return 0, "its words name neither a pull request nor the proposal of this rule alone"

    def _squashed(self, words: _Words) -> tuple[int, str]:
        """The commit itself, if a forge squashed a pull request; or none, and why."""
        if words.odd:
            return 0, f"the commit proves nothing: {words.odd}"
        if words.squash and self._distinct:
            return 0, "a squashed pull request does not say who took it"
        if words.squash:
            return self._last_bit(), ""
        return 0, "committed without a proposal"

    def _by_another(self, commit: RawCommit, how: How, brought: int) -> bool:
        """Under `distinct`: a person, who wrote and committed none of this, is author or committer of the merge."""
        if not self._distinct or how == "squash":
            return True
        addresses = {person.email.casefold() for person in (commit.info.author, commit.info.committer)}
        people = {address for address in addresses if not is_bot(address)}
        by_them = _union(self.by.get(address, 0) for address in people)
        return bool(people) and not brought & (by_them | self._unnamed)

    def _by_whom(self, commit: RawCommit, how: How, brought: int) -> Evidence:
        info = commit.info
        by = info.author if how != "squash" and info.committer.email.casefold() in FORGES else info.committer
        authors: dict[Person, None] = {}
        while brought and len(authors) < WRITERS_NAMED:
            place = brought.bit_length() - 1
            authors[self._authors[place]] = None
            brought &= ~(1 << place)
        suggested = (info.author,) if how == "squash" else tuple(authors)
        return Evidence(MERGED, how, by, info.committed, suggested, commit.id, subject_of(info.message))

    def _of_trunk(self, words: _Words, before: _State, sides: Sequence[_State], after: _State) -> _ByRule[_Approval]:
        """After a merge of the approval branch itself the newer verdicts of its sides; else those before."""
        if not words.of_trunk or words.request or words.odd:
            # any other merge takes over a text with its own evidence, and nothing that its sides approved or removed
            return before.approved
        newer: dict[str, _Approval | None] = {}
        for rule in {rule for side in sides for rule in side.approved.apart(before.approved)}:
            ours = before.approved.get(rule)
            theirs = [(side, side.approved.get(rule)) for side in sides]
            # A side that left our text as it is may approve that text, and not one that it had before.
            candidates = [
                approval
                for side, approval in theirs
                if approval and (side.text(rule) != before.text(rule) or approval.text == side.text(rule))
            ]
            newest = _newer([*([ours] if ours else []), *candidates], after.text(rule))
            if newest is not None and newest is not ours:
                newer[rule] = newest
        return before.approved.changed(newer)

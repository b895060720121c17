"""Proposals that wait: found by what people call them, listed, and described to who decides.

Begin with `ProposalContext`.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any

from ai_lessons.app import effects, secrets
from ai_lessons.app.alike_entries import MOST_NAMED, ComparableText, comparable
from ai_lessons.app.written import Pending, ProposedFile
from ai_lessons.approval import outcomes, proposals, state
from ai_lessons.approval.proposals import blob_at
from ai_lessons.errors import AmbiguousName, Conflict, InvalidEntry, NotFound
from ai_lessons.git.approval_branch import PROPOSALS, branch_name, branch_of
from ai_lessons.git.history import unified
from ai_lessons.git.objects import opened, text_of
from ai_lessons.model.approval import entry_end, rule_end
from ai_lessons.model.entries import HANDLE_LENGTH, Filter, Kind, id_end, shared_tail
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import globs, place, side_of
from ai_lessons.search.terms import likeness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.approval.outcomes import Rejection
    from ai_lessons.approval.proposals import OpenProposal, ProposalPage, Repository
    from ai_lessons.approval.state import Trunk
    from ai_lessons.model.entries import Entry, EntrySummary

IN_FORCE, PENDING = "in force", "proposed"

# So many proposals are listed, compared and reviewed at a time
SHOWN = 50
# An end of an id has so many characters at least
SHORTEST_END = 4


class ProposalContext:
    """One look at the proposals of a repository; nothing is asked twice.

    The catalog is up to date.
    """

    def __init__(self, repo: RepositorySession, git: Repository, trunk: Trunk) -> None:
        self.repo, self.git, self.trunk = repo, git, trunk
        self._titles: dict[Kind, list[EntrySummary]] = {}
        self._entries: dict[OpenProposal, Entry | None] = {}

    @cached_property
    def rejections(self) -> list[Rejection]:
        """Every proposal that was turned down."""
        return outcomes.rejected(self.trunk)

    @cached_property
    def _refs(self) -> dict[str, str]:
        return proposals.unmerged(self.trunk, {rejection.commit for rejection in self.rejections})

    @cached_property
    def page(self) -> ProposalPage:
        """Open proposals, oldest first: at most `SHOWN`.

        Notes name those that are not listed, and broken ones.
        """
        page = proposals.read_page(self.git, self.trunk, self._refs, SHOWN)
        notes = [*self.repo.rules.notes, *page.damaged.values()]
        for who, number in page.left_out.most_common(MOST_NAMED):
            notes.append(f"not listed: {number} more of {who}")
        # another job of this process may have noted the same
        self.repo.rules.notes = tuple(dict.fromkeys(notes))
        return page

    @property
    def waiting(self) -> list[OpenProposal]:
        """Those that are shown."""
        return self.page.proposals

    @cached_property
    def every(self) -> ProposalPage:
        """All open proposals that can be looked at, oldest first, and how many branches more there are of whom."""
        return proposals.read_page(self.git, self.trunk, self._refs, len(self._refs))

    def count(self) -> int:
        """How many proposals wait.

        Branches beyond those that can be looked at are taken for open ones.
        """
        return len(self.every.proposals) + self.every.left_out.total()

    def local(self) -> list[OpenProposal]:
        """Every open proposal that has a branch here."""
        refs = self._refs.items()
        here = {ref: commit for ref, commit in refs if ref.startswith("refs/heads/")}
        return proposals.read_page(self.git, self.trunk, here).proposals

    def about(self, entry: str) -> list[OpenProposal]:
        """Open proposals about the entry with this id."""
        return [proposal for proposal in self._near(entry) if proposal.entry == entry]

    def _near(self, text: str) -> list[OpenProposal]:
        """Those of a branch of this name, or about an entry whose id ends so.

        Then those that are shown.
        """
        ends: dict[str, str] = {}
        named: list[str] = []
        for ref in self._refs:
            branch = branch_of(ref)
            ends[ref] = rule_end(branch) or entry_end(branch) or ""
            if text in {branch, branch_name(ref)}:
                named.append(ref)
        end = ""
        if named:
            end = ends[named[0]]
        elif len(id_end(text)) >= SHORTEST_END:
            end = id_end(text)
        meant = {ref: self._refs[ref] for ref in named}
        for ref, its_end in ends.items():
            # either may be the shorter one: a branch has the end that was unique when it was made
            if end and its_end and (its_end.endswith(end) or end.endswith(its_end)):
                meant[ref] = self._refs[ref]
        near = proposals.read_page(self.git, self.trunk, meant, SHOWN, named).proposals
        by_ref = {proposal.ref: proposal for proposal in (*self.waiting, *near)}
        return list(by_ref.values())

    def find(self, ref: str) -> OpenProposal:
        """The open proposal of a branch, handle, id, end of an id, path or title.

        Raises NotFound, AmbiguousName.
        """
        text = ref.strip()
        matches = self._meant(text)
        if len(matches) > 1:
            raise AmbiguousName(text, [proposal.branch for proposal in matches])
        if not matches:
            named = self.nearest(text)
            hint = ""
            if not named:
                hint = "no proposal waits: ai-lessons admin review-rules --list"
            raise NotFound("open proposal", ref, suggestions=named, hint=hint)
        return matches[0]

    def _meant(self, text: str) -> list[OpenProposal]:
        """The proposals that a text names in the first way in which it names any."""
        path, end = self.repo.inside(text) or text, id_end(text)
        title = text.casefold()

        def has_file(proposal: OpenProposal) -> bool:
            return any(path == piece.path for piece in proposal.pieces)

        def has_end(proposal: OpenProposal) -> bool:
            return len(end) >= SHORTEST_END and proposal.entry.endswith(end)

        ways: tuple[Callable[[OpenProposal], bool], ...] = (
            lambda proposal: proposal.branch == text,
            lambda proposal: proposal.name == text,
            has_file,
            has_end,
            lambda proposal: self.title(proposal).casefold() == title,
        )
        near = self._near(text)
        for way in ways:
            matches = list(filter(way, near))
            if matches:
                return matches
        return []

    def nearest(self, text: str) -> list[str]:
        """Proposals that may be meant, those first whose title is most like the text."""
        likely = sorted(self.waiting, key=lambda waiting: -likeness(text, self.title(waiting)))
        names: list[str] = []
        for waiting in likely[:MOST_NAMED]:
            names.append(f"{self.called(waiting)} ({self.title(waiting)})")
        return names

    def what(self, proposal: OpenProposal) -> str:
        """What kind of entry a proposal is about."""
        if proposal.is_rule:
            return Kind.RULE.value
        entry = self.entry(proposal)
        if entry:
            return entry.kind.value
        # its text cannot be read: the folder tells
        where = place(proposal.path)
        if where and where.kind:
            return where.kind.value
        return Kind.DOC.value

    def called(self, proposal: OpenProposal) -> str:
        """What people call what a proposal is about."""
        return self.handle(proposal.entry, Kind(self.what(proposal)).letter)

    def handle(self, entry: str, letter: str = Kind.RULE.letter) -> str:
        """What people call an entry, proposed ones included."""
        length = HANDLE_LENGTH
        for proposal in self.waiting:
            if proposal.entry != entry:
                length = max(length, shared_tail(entry, proposal.entry) + 1)
        while length < len(entry):
            try:
                if self.repo.catalog.resolve(entry[-length:]).id == entry:
                    break
            except AmbiguousName:
                pass
            except NotFound:
                break
            length += 1
        return f"{letter}-{entry[-length:]}"

    def text(self, proposal: OpenProposal) -> bytes:
        """The text that a proposal ends with; of a removal the one that goes."""
        return self.read(proposal.piece.path, proposal.piece.new or proposal.piece.old) or b""

    def read(self, path: str, blob: str | None) -> bytes | None:
        """The text of a blob at a path (from the root); None for none."""
        if blob:
            return text_of(self.trunk.worktree, self.git, path, blob)
        return None

    def _blobs(self, proposal: OpenProposal) -> dict[str, str | None]:
        blobs: dict[str, str | None] = {}
        where = place(proposal.path)
        if where and where.kind is Kind.SCRIPT:
            # a proposal may change one of its two files only
            for path in (proposal.path, side_of(proposal.path)):
                blobs[path] = blob_at(self.git, self.trunk.tip, self.repo.store.prefix + path)
        for piece in proposal.pieces:
            if proposal.sort == "removal":
                blobs[piece.path] = piece.old
            else:
                blobs[piece.path] = piece.new
        return blobs

    def files(self, proposal: OpenProposal) -> dict[str, bytes]:
        """The files of what is proposed as they shall be, by path.

        Of a removal as they were, and are to go.
        """
        files: dict[str, bytes] = {}
        for path, blob in self._blobs(proposal).items():
            text = self.read(path, blob)
            if text is not None:
                files[path] = text
        return files

    def entry(self, proposal: OpenProposal) -> Entry | None:
        """The entry as proposed; None where its text cannot be read."""
        if proposal not in self._entries:
            # a thousand files may claim to be one entry: two are read
            blobs = self._blobs(proposal)
            files = {}
            for path in (proposal.path, side_of(proposal.path)):
                files[path] = self.read(path, blobs.get(path))
            self._entries[proposal] = entry_of(proposal.path, files)
        return self._entries[proposal]

    def faults(self, proposal: OpenProposal) -> Iterator[str]:
        """Why a proposal cannot be taken as it is, besides other files that it changes."""
        yield from proposal.faults
        if proposal.is_rule or proposal.sort == "removal":
            return
        entry = self.entry(proposal)
        if entry is not None and entry.kind is Kind.RULE:
            yield f"{proposal.path} says that it is a rule, and rules are proposed on branches below {PROPOSALS}"
        moved = {piece.path for piece in proposal.pieces} | {proposal.path}
        places = {here.path for here in self.repo.catalog.locations([proposal.entry])}
        for path in places - moved:
            # the catalog also has what is only in the working tree
            if blob_at(self.git, self.trunk.tip, self.repo.store.prefix + path):
                yield f"the entry stands at {path} on {self.trunk.name} already"

    def title(self, proposal: OpenProposal) -> str:
        """The proposed title, else the branch."""
        entry = self.entry(proposal)
        if entry:
            return entry.title
        return proposal.branch

    @cached_property
    def _rules(self) -> list[ComparableText]:
        """Every rule in force or proposed, for comparison.

        A rule in force with proposals stands there once.
        """
        catalog = self.repo.catalog
        summaries = catalog.select(Filter(kinds=frozenset({Kind.RULE}), status=None))
        self.repo.expect([summary.id for summary in summaries])
        rules = {}
        for summary in summaries:
            with suppress(NotFound):
                # its text is missing in git, as readers are told
                rules[summary.id] = comparable(
                    self.repo.load(summary.id)[0], summary.handle, IN_FORCE
                )
        for proposal in self.waiting:
            entry = None
            if proposal.is_rule:
                entry = self.entry(proposal)
            if entry and proposal.sort != "removal":
                rules.setdefault(proposal.entry, comparable(entry, self.called(proposal), PENDING))
        return list(rules.values())

    def compared(self, entry: Entry) -> Sequence[ComparableText]:
        """What an entry is compared with.

        Rules with rules, others with titles of their kind and what they link.
        """
        if entry.kind is Kind.RULE:
            return self._rules
        if entry.kind not in self._titles:
            same_kind = Filter(kinds=frozenset({entry.kind}))
            self._titles[entry.kind] = list(self.repo.catalog.select(same_kind))
        summaries = list(self._titles[entry.kind])
        targets = [link.target for link in entry.links]
        for summary in self.repo.catalog.many(targets).values():
            if summary.kind is not entry.kind:
                summaries.append(summary)
        texts: list[ComparableText] = []
        for summary in summaries:
            # their bodies are not read: a repository may have thousands
            names = summary.id, summary.handle, summary.title
            texts.append(ComparableText(*names, "", "", str(summary.kind)))
        return texts

    def text_in_force(self, rule: str) -> bytes | None:
        """The text of a rule in force; None if it is not."""
        approved = any(place.approved for place in self.repo.catalog.locations([rule]))
        if approved:
            return self.repo.load(rule)[1].encode()
        return None


@contextmanager
def open_proposals(repo: RepositorySession) -> Iterator[ProposalContext]:
    """Open everything that jobs about proposals need. Raises NotFound, UnsupportedRepository."""
    repo.current()
    ref = repo.approval_ref()
    with opened(repo.store.worktree) as git:
        yield ProposalContext(
            repo, git, state.approval_of_branch(repo.store.worktree, ref, repo.rules.signers(ref))
        )


@contextmanager
def deciding(repo: RepositorySession, what: str) -> Iterator[ProposalContext]:
    """`open_proposals`, for a person who decides.

    Raises Refused (an agent), UnsupportedRepository, NotFound.
    """
    refuse_agents(repo, what)
    repo.refuse_other_formats()
    with open_proposals(repo) as at:
        yield at


def refuse_agents(repo: RepositorySession, what: str) -> None:
    """Deciding about proposals is for people. Raises Refused."""
    repo.options.refuse_agents(f"{what} a proposal", "ai-lessons admin review-rules")


def entry_of(path: str, files: Mapping[str, bytes | None]) -> Entry | None:
    """What these files are as the entry at `path`; None where that cannot be read."""
    data = files.get(path)
    if data is None:
        return None
    try:
        return read_entry(path, data, files.get(side_of(path)))
    except InvalidEntry:
        return None


def refuse_changed(now: str, shown: str | None) -> None:
    """What is decided about is what was shown, to the commit; None: nothing was shown.

    Raises Conflict.
    """
    if shown is not None and now != shown:
        raise Conflict(
            "the proposal was changed while you read it; nothing was decided",
            hint="look at it again",
        )


def proposed_file(path: str, old: bytes | None, new: bytes | None) -> ProposedFile:
    """A file as a reviewer reads it."""

    def readable(data: bytes | None) -> str | None:
        if data and b"\0" in data:
            return f"(binary, {len(data)} bytes, SHA-256 {sha256(data).hexdigest()})\n"
        if data is None:
            return None
        return data.decode("utf-8", "backslashreplace")

    return ProposedFile(path, readable(old), readable(new))


def described(
    at: ProposalContext, entry: Entry | None, files: Sequence[ProposedFile], **facts: Any
) -> Pending:
    """What waits, with what the entry itself and its files say.

    What looks like a secret is masked, and named among the `conflicts`.
    """
    stated = entry.fields if entry else {}

    def shown(text: str | None) -> str | None:
        return secrets.masked_file(text, stated) if text else text

    shown_files = [ProposedFile(file.path, shown(file.old), shown(file.new)) for file in files]
    if shown_files != list(files):
        facts["conflicts"] = (*facts["conflicts"], "holds what looks like a secret: masked here")
    files = shown_files
    entry = entry and secrets.masked_entry(entry)
    facts |= {name: shown(facts[name]) for name in ("title", "body")}
    diffs = [_difference(file) for file in files]
    # without the two lines of each that name the file
    lines = list(chain.from_iterable(diff.split("\n")[2:] for diff in diffs))
    facts |= {
        "added": sum(line.startswith("+") for line in lines),
        "removed": sum(line.startswith("-") for line in lines),
        "diff": "".join(diffs),
        "files": tuple(files),
    }
    if entry is None:
        # a text that cannot be read says nothing of itself
        return Pending(rationale="", tags=(), evidence=(), **facts)
    targets = list(dict.fromkeys(link.target for link in entry.links))
    linked = at.repo.catalog.many(targets)
    if facts.get("change") != "removal":
        # a rule that goes has no effect any more
        facts["effects"] = effects.stated(entry)
    return Pending(
        rationale=entry.rationale,
        tags=entry.tags,
        applies_to=tuple(globs(entry.fields.get("applies_to"))),
        evidence=tuple(linked[target] for target in targets if target in linked),
        **facts,
    )


def _difference(file: ProposedFile) -> str:
    old = new = None
    if file.old is not None:
        old = file.old.encode()
    if file.new is not None:
        new = file.new.encode()
    return unified(file.path, old, new)

"""Open and rejected proposals of a repository, and the names that people call them."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import AmbiguousName, Conflict, InvalidEntry, NotFound
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import HANDLE_LENGTH, Entry, Kind, Light, id_end, shared_tail
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.globs import stated
from ai_lessons.knowledge.layout import place, side_of
from ai_lessons.library.comparing import Said, comparable
from ai_lessons.library.reports import Pending, ProposedFile
from ai_lessons.repository import proposal_records, proposals
from ai_lessons.repository.approval import approval_history as trunks
from ai_lessons.repository.approval.approval_branch import PROPOSALS, branch_name, branch_of
from ai_lessons.repository.approval.rule_files import entry_end, rule_end
from ai_lessons.repository.filters import text_of
from ai_lessons.repository.history import unified
from ai_lessons.repository.objects import opened
from ai_lessons.repository.proposal_files import blob_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.approval.approval_history import Trunk
    from ai_lessons.repository.proposal_records import Rejection
    from ai_lessons.repository.proposals import Repository, Some, Waiting

IN_FORCE, PENDING = "in force", "proposed"

SHOWN = 50  # So many proposals are listed, compared and reviewed at a time
SHORTEST_END = 4  # An end of an id has so many characters at least


class ProposalContext:
    """One look at the proposals of a repository; nothing is asked twice. The catalog is up to date."""

    def __init__(self, repo: RepositorySession, git: Repository, trunk: Trunk) -> None:
        self.repo, self.git, self.trunk = repo, git, trunk
        self._titles: dict[Kind, list[Light]] = {}
        self._entries: dict[Waiting, Entry | None] = {}

    @cached_property
    def rejections(self) -> list[Rejection]:
        """Every proposal that was turned down."""
        return proposal_records.rejected(self.trunk)

    @cached_property
    def _refs(self) -> dict[str, str]:
        return proposals.unmerged(self.trunk, {rejection.commit for rejection in self.rejections})

    @cached_property
    def page(self) -> Some:
        """Open proposals, oldest first: at most `SHOWN`, and how many more each author has."""
        page = proposals.read_page(self.git, self.trunk, self._refs, SHOWN)
        self.repo.rules.notes = tuple(dict.fromkeys((*self.repo.rules.notes, *page.damaged.values())))
        return page

    @property
    def waiting(self) -> list[Waiting]:
        """Those that are shown."""
        return self.page.proposals

    @cached_property
    def every(self) -> Some:
        """All open proposals that can be looked at, oldest first, and how many branches more there are of whom."""
        return proposals.read_page(self.git, self.trunk, self._refs, len(self._refs))

    def count(self) -> int:
        """How many proposals wait; branches beyond those that can be looked at are taken for open ones."""
        return len(self.every.proposals) + self.every.left_out.total()

    def local(self) -> list[Waiting]:
        """Every open proposal that has a branch here."""
        here = {ref: commit for ref, commit in self._refs.items() if ref.startswith("refs/heads/")}
        return proposals.read_page(self.git, self.trunk, here).proposals

    def about(self, entry: str) -> list[Waiting]:
        """Open proposals about the entry with this id."""
        return [proposal for proposal in self._near(entry) if proposal.entry == entry]

    def _near(self, end: str, names: Collection[str] = ()) -> list[Waiting]:
        ends = {ref: rule_end(branch_of(ref)) or entry_end(branch_of(ref)) or "" for ref in self._refs}
        exact = [ref for ref in self._refs if {branch_of(ref), branch_name(ref)} & set(names)]
        targets = {ends[ref] for ref in exact} | ({end.upper()} if len(end) >= SHORTEST_END else set())
        targets -= {""}
        meant = {
            ref: commit
            for ref, commit in self._refs.items()
            if ref in exact or (ends[ref] and any(ends[ref].endswith(t) or t.endswith(ends[ref]) for t in targets))
        }
        near = proposals.read_page(self.git, self.trunk, meant, max(SHOWN, len(exact)), exact).proposals
        refs = {proposal.ref for proposal in near}
        return [*near, *(proposal for proposal in self.waiting if proposal.ref not in refs)]

    def find(self, ref: str) -> Waiting:
        """The open proposal that a branch, handle, id, end of an id or path names. Raises NotFound, AmbiguousName."""
        text = ref.strip()
        near = self._near(id_end(text), {text})
        path, end = self.repo.inside(text) or text, id_end(text)
        matches = (
            [waiting for waiting in near if text == waiting.branch]
            or [waiting for waiting in near if text == waiting.name]
            or [waiting for waiting in near if any(path == piece.path for piece in waiting.pieces)]
            or [waiting for waiting in near if len(end) >= SHORTEST_END and waiting.entry.endswith(end)]
        )
        if len(matches) > 1:
            raise AmbiguousName(text, [proposal.branch for proposal in matches])
        if not matches:
            handles = [self.called(proposal) for proposal in self.waiting]
            hint = "" if handles else "no proposal waits: ai-lessons admin pending-rules"
            raise NotFound("open proposal", ref, suggestions=handles[:5], hint=hint)
        return matches[0]

    def what(self, proposal: Waiting) -> str:
        """What kind of entry a proposal is about."""
        if proposal.is_rule:
            return Kind.RULE.value
        entry, where = self.entry(proposal), place(proposal.path)
        return (entry.kind if entry else where.kind if where and where.kind else Kind.DOC).value

    def called(self, proposal: Waiting) -> str:
        """What people call what a proposal is about."""
        return self.handle(proposal.entry, Kind(self.what(proposal)).letter)

    def handle(self, entry: str, letter: str = Kind.RULE.letter) -> str:
        """What people call an entry, proposed ones included."""
        other_ids = [proposal.entry for proposal in self.waiting if proposal.entry != entry]
        length = max([HANDLE_LENGTH, *(shared_tail(entry, other) + 1 for other in other_ids)])
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

    def text(self, proposal: Waiting) -> bytes:
        """The text that a proposal ends with; of a removal the one that goes."""
        blob = proposal.piece.new or proposal.piece.old
        return self._text(proposal.piece.path, blob) if blob else b""

    def _text(self, path: str, blob: str) -> bytes:
        return text_of(self.trunk.worktree, self.git, path, blob)

    def _blobs(self, proposal: Waiting) -> dict[str, str | None]:
        gone = proposal.sort == "removal"
        blobs = {piece.path: piece.old if gone else piece.new for piece in proposal.pieces}
        where = place(proposal.path)
        if where and where.kind is Kind.SCRIPT:  # a proposal may change one of its two files only
            two_paths, prefix = (proposal.path, side_of(proposal.path)), self.repo.store.prefix
            blobs = {path: blob_at(self.git, self.trunk.tip, prefix + path) for path in two_paths} | blobs
        return blobs

    def files(self, proposal: Waiting) -> dict[str, bytes]:
        """The files of what is proposed as they shall be, by path; of a removal as they were, and are to go."""
        return {path: self._text(path, blob) for path, blob in self._blobs(proposal).items() if blob}

    def entry(self, proposal: Waiting) -> Entry | None:
        """The entry as proposed; None where its text cannot be read."""
        if proposal not in self._entries:
            blobs = self._blobs(proposal)  # of a thousand files that claim to be one entry only two are read
            paths = (proposal.path, side_of(proposal.path))
            files = {path: self._text(path, blob) for path in paths if (blob := blobs.get(path))}
            self._entries[proposal] = entry_of(proposal.path, files)
        return self._entries[proposal]

    def faults(self, proposal: Waiting) -> Iterator[str]:
        """Why a proposal cannot be taken as it is, besides other files that it changes."""
        yield from proposal.faults
        if proposal.is_rule or proposal.sort == "removal":
            return
        entry = self.entry(proposal)
        if entry is not None and entry.kind is Kind.RULE:
            yield f"{proposal.path} says that it is a rule, and rules are proposed on branches below {PROPOSALS}"
        moved = {piece.path for piece in proposal.pieces} | {proposal.path}
        for path in {here.path for here in self.repo.catalog.locations([proposal.entry])} - moved:
            if blob_at(self.git, self.trunk.tip, self.repo.store.prefix + path):
                yield f"the entry stands at {path} on {self.trunk.name} already"

    def title(self, proposal: Waiting) -> str:
        """The proposed title, else the branch."""
        entry = self.entry(proposal)
        return entry.title if entry else proposal.branch

    @cached_property
    def _rules(self) -> list[Said]:
        """Every rule in force or proposed, for comparison; a rule in force with proposals stands there once."""
        catalog = self.repo.catalog
        lights = catalog.select(Filter(kinds=frozenset({Kind.RULE}), status=None))
        self.repo.expect([light.id for light in lights])
        rules = {}
        for light in lights:
            with suppress(NotFound):  # its text is missing in git, as readers are told
                rules[light.id] = comparable(self.repo.load(light.id)[0], light.handle, IN_FORCE)
        for proposal in self.waiting:
            entry = self.entry(proposal) if proposal.is_rule else None
            if entry and proposal.sort != "removal":
                rules.setdefault(proposal.entry, comparable(entry, self.called(proposal), PENDING))
        return list(rules.values())

    def compared(self, entry: Entry) -> Sequence[Said]:
        """What an entry is compared with: rules with rules, others with titles of their kind and what they link."""
        if entry.kind is Kind.RULE:
            return self._rules
        if entry.kind not in self._titles:
            self._titles[entry.kind] = list(self.repo.catalog.select(Filter(kinds=frozenset({entry.kind}))))
        linked = self.repo.catalog.many(link.target for link in entry.links).values()
        lights = [*self._titles[entry.kind], *(light for light in linked if light.kind is not entry.kind)]
        return [Said(light.id, light.handle, light.title, "", "", str(light.kind)) for light in lights]

    def text_in_force(self, rule: str) -> bytes | None:
        """The text of a rule in force; None if it is not."""
        approved = any(place.approved for place in self.repo.catalog.locations([rule]))
        return self.repo.load(rule)[1].encode() if approved else None


@contextmanager
def desk(repo: RepositorySession) -> Iterator[ProposalContext]:
    """Open everything that jobs about proposals need. Raises NotFound, UnsupportedRepository."""
    repo.current()
    ref = repo.rules.ref()
    if ref is None:
        raise NotFound("approval branch in", str(repo.store.root), hint="commit something on a branch called main")
    with opened(repo.store.worktree) as git:
        yield ProposalContext(repo, git, trunks.look(repo.store.worktree, ref, repo.rules.signers(ref)))


@contextmanager
def deciding(repo: RepositorySession, what: str) -> Iterator[ProposalContext]:
    """`desk`, for a person who decides. Raises Refused (an agent), UnsupportedRepository, NotFound."""
    refuse_agents(repo, what)
    repo.refuse_other_formats()
    with desk(repo) as at:
        yield at


def refuse_agents(repo: RepositorySession, what: str) -> None:
    """Deciding about proposals is for people. Raises Refused."""
    repo.options.refuse_agents(f"{what} a proposal", "ai-lessons admin review-rules")


def entry_of(path: str, files: Mapping[str, bytes]) -> Entry | None:
    """What these files are as the entry at `path`; None where that cannot be read."""
    data = files.get(path)
    if data is None:
        return None
    try:
        return read_entry(path, data, files.get(side_of(path)))
    except InvalidEntry:
        return None


def refuse_changed(now: str, shown: str | None) -> None:
    """What is decided about is what was shown, to the commit; None: nothing was shown. Raises Conflict."""
    if shown is not None and now != shown:
        raise Conflict("the proposal was changed while you read it; nothing was decided", hint="look at it again")


def proposed_file(path: str, old: bytes | None, new: bytes | None) -> ProposedFile:
    """A file as a reviewer reads it."""

    def readable(data: bytes | None) -> str | None:
        if data and b"\0" in data:
            return f"(binary, {len(data)} bytes, SHA-256 {sha256(data).hexdigest()})\n"
        return None if data is None else data.decode("utf-8", "backslashreplace")

    return ProposedFile(path, readable(old), readable(new))


def described(at: ProposalContext, entry: Entry | None, files: Sequence[ProposedFile], **facts: Any) -> Pending:
    """What waits, with what the entry itself and its files say."""
    diffs = [
        unified(path, None if old is None else old.encode(), None if new is None else new.encode())
        for path, old, new in files
    ]
    diff, lines = "".join(diffs), [line for text in diffs for line in text.split("\n")[2:]]
    links = [link.target for link in entry.links] if entry else []
    lights = at.repo.catalog.many(links)
    return Pending(
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
        diff=diff,
        files=tuple(files),
        rationale=entry.rationale if entry else "",
        tags=entry.tags if entry else (),
        applies_to=tuple(stated(entry.fields.get("applies_to"))) if entry else (),
        evidence=tuple(lights[target] for target in dict.fromkeys(links) if target in lights),
        **facts,
    )

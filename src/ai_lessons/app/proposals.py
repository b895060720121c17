"""Proposes an entry on a branch of its own, and finds what speaks against it.

Duplicates, opposites, secrets.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ai_lessons import app
from ai_lessons.app import effects, secrets, write_checks
from ai_lessons.app.answers import Pending, ProposedFile, RuleDraft, Suggested, Written
from ai_lessons.app.write_checks import checked, refuse_wrong_kinds
from ai_lessons.approval import decisions, outcomes, proposals, state
from ai_lessons.approval.decisions import ProposalRequest
from ai_lessons.approval.proposals import blob_at
from ai_lessons.errors import AmbiguousName, Conflict, InvalidEntry, NotFound, UsageError
from ai_lessons.git.approval_branch import OTHERS, PROPOSALS, branch_name, branch_of
from ai_lessons.git.history import unified
from ai_lessons.git.objects import opened, text_of
from ai_lessons.git.store import Change
from ai_lessons.model import frontmatter, layout, lessons, markdown
from ai_lessons.model.approval import entry_end, rule_end
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    HANDLE_LENGTH,
    Entry,
    EntrySummary,
    Filter,
    Kind,
    Relation,
    id_end,
    shared_tail,
)
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import globs, place, project_name, side_of
from ai_lessons.search.terms import ALIKE, likeness
from ai_lessons.search.tokens import words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.approval.decisions import Edited
    from ai_lessons.approval.outcomes import Rejection
    from ai_lessons.approval.proposals import OpenProposal, ProposalPage, Repository
    from ai_lessons.approval.state import Trunk

# So many entries that are much alike are named, and people whose proposals are not listed
MOST_NAMED: Final = 5


class ComparableText(NamedTuple):
    """An entry as it is compared; `state` says what it is to others, such as `in force`."""

    id: str
    handle: str
    title: str
    rationale: str
    body: str
    state: str

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.handle} {self.title!r} ({self.state})"

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.title}\n{self.rationale}\n{self.body}"


def comparable(entry: Entry, handle: str = "", state: str = "") -> ComparableText:
    """An entry's text for comparison."""
    if entry.code:
        text = f"{entry.body}\n{entry.code}"
    else:
        text = entry.body
    return ComparableText(entry.id, handle, entry.title, entry.rationale, text, state)


def alike(text: ComparableText, texts: Iterable[ComparableText]) -> tuple[str, ...]:
    """Names of up to `MOST_NAMED` entries that say much the same, each with how much (0 to 1), most alike first."""
    scored = sorted((-_likeness(text, other), other.name) for other in texts if other.id != text.id)
    results = []
    for score, name in scored[:MOST_NAMED]:
        if -score >= ALIKE:
            results.append(f"{name}, {-score:.2f}")
    return tuple(results)


def _likeness(text: ComparableText, other: ComparableText) -> float:
    """How alike two texts are.

    By their titles, or as a whole where the other is more than a title.
    """
    if other.body or other.rationale:
        whole = likeness(text.text, other.text)
    else:
        whole = 0.0
    return max(whole, likeness(text.title, other.title))


def contradicted(repo: RepositorySession, entry: Entry) -> list[str]:
    """The ids that an entry contradicts by a link of either side."""
    ids = []
    for link in entry.links:
        if link.relation == Relation.CONTRADICTS:
            ids.append(link.target)
    edges = []
    for edge in repo.catalog.edges(entry.id):
        if edge.relation == Relation.CONTRADICTS:
            edges.append(edge)
    ids += [edge.source if edge.target == entry.id else edge.target for edge in edges]
    return list(dict.fromkeys(ids))


def copies(repo: RepositorySession, entry: Entry) -> list[str]:
    """The ids under which an entry may stand here.

    Those promoted from it, what it was promoted from, its own.
    """
    original = lessons.original_of(entry.fields.get("source"))
    return [*promoted_from(repo, entry.id), *([original] if original else []), entry.id]


def promoted_from(repo: RepositorySession, entry_id: str) -> list[str]:
    """The ids of what here is derived from an entry."""
    edges = repo.catalog.edges(entry_id)
    results: list[str] = []
    for edge in edges:
        if edge.relation == Relation.DERIVED_FROM and edge.target == entry_id:
            results.append(edge.source)
    return results


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
        hidden = []
        for who, number in page.left_out.most_common(MOST_NAMED):
            hidden.append(f"not listed: {number} more of {who}")
        self.repo.rules.notes = tuple(
            dict.fromkeys((*self.repo.rules.notes, *page.damaged.values(), *hidden))
        )
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
        here = {}
        for ref, commit in self._refs.items():
            if ref.startswith("refs/heads/"):
                here[ref] = commit
        return proposals.read_page(self.git, self.trunk, here).proposals

    def about(self, entry: str) -> list[OpenProposal]:
        """Open proposals about the entry with this id."""
        results: list[OpenProposal] = []
        for proposal in self._near(entry):
            if proposal.entry == entry:
                results.append(proposal)
        return results

    def _near(self, text: str) -> list[OpenProposal]:
        """Those of a branch of this name, or about an entry whose id ends so.

        Then those that are shown.
        """
        ends = {}
        for ref in self._refs:
            ends[ref] = rule_end(branch_of(ref)) or entry_end(branch_of(ref)) or ""
        named = []
        for ref in self._refs:
            if text in {branch_of(ref), branch_name(ref)}:
                named.append(ref)
        if named:
            end = ends[named[0]]
        elif len(id_end(text)) >= SHORTEST_END:
            end = id_end(text)
        else:
            end = ""
        same = []
        for ref in self._refs:
            if end and ends[ref] and (ends[ref].endswith(end) or end.endswith(ends[ref])):
                same.append(ref)
        meant = {ref: self._refs[ref] for ref in (*named, *same)}
        near = proposals.read_page(self.git, self.trunk, meant, SHOWN, named).proposals
        return list({proposal.ref: proposal for proposal in (*self.waiting, *near)}.values())

    def find(self, ref: str) -> OpenProposal:
        """The open proposal of a branch, handle, id, end of an id, path or title.

        Raises NotFound, AmbiguousName.
        """
        text = ref.strip()
        near = self._near(text)
        path, end = self.repo.inside(text) or text, id_end(text)
        matches = (
            [waiting for waiting in near if text == waiting.branch]
            or [waiting for waiting in near if text == waiting.name]
            or [waiting for waiting in near if any(path == piece.path for piece in waiting.pieces)]
            or [
                waiting
                for waiting in near
                if len(end) >= SHORTEST_END and waiting.entry.endswith(end)
            ]
            or [waiting for waiting in near if self.title(waiting).casefold() == text.casefold()]
        )
        if len(matches) > 1:
            raise AmbiguousName(text, [proposal.branch for proposal in matches])
        if not matches:
            named = self.nearest(text)
            if named:
                hint = ""
            else:
                hint = "no proposal waits: ai-lessons admin review-rules --list"
            raise NotFound("open proposal", ref, suggestions=named, hint=hint)
        return matches[0]

    def nearest(self, text: str) -> list[str]:
        """Proposals that may be meant, those first whose title is most like the text."""
        likely = sorted(self.waiting, key=lambda waiting: -likeness(text, self.title(waiting)))
        return [
            f"{self.called(waiting)} ({self.title(waiting)})" for waiting in likely[:MOST_NAMED]
        ]

    def what(self, proposal: OpenProposal) -> str:
        """What kind of entry a proposal is about."""
        if proposal.is_rule:
            return Kind.RULE.value
        entry, where = self.entry(proposal), place(proposal.path)
        return (entry.kind if entry else where.kind if where and where.kind else Kind.DOC).value

    def called(self, proposal: OpenProposal) -> str:
        """What people call what a proposal is about."""
        return self.handle(proposal.entry, Kind(self.what(proposal)).letter)

    def handle(self, entry: str, letter: str = Kind.RULE.letter) -> str:
        """What people call an entry, proposed ones included."""
        other_ids = []
        for proposal in self.waiting:
            if proposal.entry != entry:
                other_ids.append(proposal.entry)
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

    def text(self, proposal: OpenProposal) -> bytes:
        """The text that a proposal ends with; of a removal the one that goes."""
        return self.read(proposal.piece.path, proposal.piece.new or proposal.piece.old) or b""

    def read(self, path: str, blob: str | None) -> bytes | None:
        """The text of a blob at a path (from the root); None for none."""
        if blob:
            return text_of(self.trunk.worktree, self.git, path, blob)
        return None

    def _blobs(self, proposal: OpenProposal) -> dict[str, str | None]:
        gone = proposal.sort == "removal"
        blobs = {}
        for piece in proposal.pieces:
            if gone:
                blobs[piece.path] = piece.old
            else:
                blobs[piece.path] = piece.new
        where = place(proposal.path)
        if where and where.kind is Kind.SCRIPT:
            # a proposal may change one of its two files only
            two_paths, prefix = (proposal.path, side_of(proposal.path)), self.repo.store.prefix
            blobs = {
                path: blob_at(self.git, self.trunk.tip, prefix + path) for path in two_paths
            } | blobs
        return blobs

    def files(self, proposal: OpenProposal) -> dict[str, bytes]:
        """The files of what is proposed as they shall be, by path.

        Of a removal as they were, and are to go.
        """
        texts = ((path, self.read(path, blob)) for path, blob in self._blobs(proposal).items())
        files: dict[str, bytes] = {}
        for path, text in texts:
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
        for path in {here.path for here in self.repo.catalog.locations([proposal.entry])} - moved:
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
            self._titles[entry.kind] = list(
                self.repo.catalog.select(Filter(kinds=frozenset({entry.kind})))
            )
        linked = self.repo.catalog.many(link.target for link in entry.links).values()
        summaries = [
            *self._titles[entry.kind],
            *(summary for summary in linked if summary.kind is not entry.kind),
        ]
        results = []
        for summary in summaries:
            results.append(
                ComparableText(summary.id, summary.handle, summary.title, "", "", str(summary.kind))
            )
        return results

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
    """What waits, with what the entry itself and its files say."""
    diffs = []
    for path, old, new in files:
        diffs.append(
            unified(
                path, None if old is None else old.encode(), None if new is None else new.encode()
            )
        )
    diff, lines = "".join(diffs), [line for text in diffs for line in text.split("\n")[2:]]
    links: list[str] = []
    rationale = ""
    tags: tuple[str, ...] = ()
    applies_to: tuple[str, ...] = ()
    if entry:
        links = [link.target for link in entry.links]
        rationale, tags = entry.rationale, entry.tags
        applies_to = tuple(globs(entry.fields.get("applies_to")))
    effects_of_entry: tuple[str, ...] = ()
    if entry and facts.get("change") != "removal":
        effects_of_entry = effects.stated(entry)
    summaries = at.repo.catalog.many(links)
    return Pending(
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
        diff=diff,
        files=tuple(files),
        rationale=rationale,
        tags=tags,
        applies_to=applies_to,
        evidence=tuple(summaries[target] for target in dict.fromkeys(links) if target in summaries),
        effects=effects_of_entry,
        **facts,
    )


def make(
    at: ProposalContext,
    entry: Entry,
    files: Mapping[str, bytes | None],
    subject: str,
    *,
    report: str = "",
    trailers: Sequence[tuple[str, str]] = (),
    executable: Collection[str] = (),
    dry_run: bool = False,
    decided: bool = False,
) -> Suggested:
    """Propose an entry of any kind: a branch with one commit. The same proposal is not made twice.

    `files` are the entry's by path, None to remove one; `entry` is what they say (of a removal:
    said). `report` (Markdown) stands in the commit's message; `executable` are paths of programs;
    `decided` as in `repo.write`. Raises Refused, InvalidEntry (also where a secret would get into
    git), Conflict, StorageFailed.
    """
    handle = at.handle(entry.id, entry.kind.letter)
    suggested = partial(Suggested, entry.id, handle, entry.title, entry.path)
    for proposal in at.about(entry.id):
        if {piece.path: at.read(piece.path, piece.new) for piece in proposal.pieces} == dict(files):
            return suggested(proposal.branch, proposal.commit, ("proposed already",))
    if dry_run:
        return suggested("", "")
    allowed = _refuse_unwritable(at, entry, files, report, decided=decided)
    if any(files.values()):
        warnings = objections(at, entry, handle).warnings
    else:
        warnings = ()
    if entry.kind is Kind.RULE:
        family = PROPOSALS
    else:
        family = OTHERS
    wish = ProposalRequest(
        entry=entry.id,
        stem=f"{handle}-{layout.slug(entry.title)}",
        subject=subject,
        files=files,
        trailers=[*trailers, *allowed],
        actor=write_checks.actor(at.repo),
        family=family,
        report=report,
        executable=executable,
    )
    made = decisions.propose(at.repo.store, at.git, at.trunk, wish)
    return suggested(made.branch, made.commit, (*warnings, *made.notes))


def _refuse_unwritable(
    at: ProposalContext,
    entry: Entry,
    files: Mapping[str, bytes | None],
    report: str,
    *,
    decided: bool,
) -> list[tuple[str, str]]:
    """Refuse what must not get into git.

    Of the secrets that were allowed return what the commit says. As `make`.
    """
    at.repo.refuse_other_formats()
    if not decided:
        at.repo.guard([Change(path, data) for path, data in files.items()])
    allowed = write_checks.refuse(at.repo, files)
    write_checks.refuse(at.repo, {entry.path: report.encode()})
    return allowed


class Objections(NamedTuple):
    """What speaks against an entry.

    It contradicts, much the same is there, the same was turned down before.
    """

    contradictions: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()
    rejected_before: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """All of it, as sentences."""
        if self.rejected_before:
            rejected = [f"the same was rejected {self.rejected_before}"]
        else:
            rejected = []
        return (
            *rejected,
            *self.contradictions,
            *(f"close to {name}: update it?" for name in self.similar),
        )


def objections(at: ProposalContext, entry: Entry, handle: str) -> Objections:
    """What speaks against an entry that is or would be proposed."""
    text, texts = comparable(entry, handle), at.compared(entry)
    names = {}
    for entry_id in texts:
        if entry_id.id != entry.id:
            names[entry_id.id] = entry_id.name
    against = (
        f"it contradicts {names[entry_id]}"
        for entry_id in contradicted(at.repo, entry)
        if entry_id in names
    )
    return Objections(tuple(against), alike(text, texts), rejected_before(at, text))


def rejected_before(at: ProposalContext, text: ComparableText) -> str:
    """When and why the same text was turned down; empty if it never was."""
    for rejection in reversed(at.rejections):
        old = entry_of(
            rejection.path, {path: text.encode() for path, text in rejection.texts().items()}
        )
        if old is not None and words_of(text.text) == words_of(comparable(old).text):
            return f"on {rejection.at[:10]}: {rejection.reason or 'no reason was given'}"
    return ""


def suggest_rule(library: Library, draft: RuleDraft) -> Suggested:
    """A new rule as a proposal: one commit on a branch of its own.

    Files, git's index and HEAD stay as they are.

    Raises UsageError, InvalidEntry, NotFound (a linked entry), Refused.
    """
    repo = library.primary
    if not draft.title.strip():
        raise UsageError("the rule has no title", hint="say in one line what to do: --title …")
    if not draft.rationale.strip():
        raise UsageError(
            "the rule has no rationale", hint="say why, or nobody can judge it: --rationale …"
        )
    with open_proposals(repo) as at:
        created = repo.options.now()
        entry_id = frontmatter.new_id(created)
        links = frontmatter.resolved(draft.links, repo.resolve)
        refuse_wrong_kinds(repo.catalog, Kind.RULE, links)
        if draft.project:
            project = project_name(draft.project)
        else:
            project = GLOBAL_PROJECT
        text = " \n".join((draft.title, draft.rationale, draft.content))
        about, globs, _ = app.anchor_writing.stated(repo, draft.about, text, project)
        fields = frontmatter.rule_fields(
            entry_id,
            frontmatter.stamp(created),
            title=draft.title,
            rationale=draft.rationale,
            tags=draft.tags,
            applies_to=[*dict.fromkeys((*draft.applies_to, *globs))],
            check=draft.check,
            links=links,
            about=about,
        )
        fields |= secrets.fields(draft.allow_secrets)
        path = layout.new_path(
            Kind.RULE, project, draft.title, entry_id, frontmatter.stamp(created)
        )
        data = markdown.render(fields, frontmatter.body_of(draft.content)).encode()
        rule = checked(path, data)
        made = make(at, rule, {path: data}, f"Propose rule: {draft.title}")
    warnings = app.project_code.unmatched(repo, rule.fields.get("applies_to"), project)
    for reason in effects.unproven(rule):
        warnings.append(f"its check was not proven: {reason}")
    return made._replace(warnings=(*made.warnings, *warnings))


def removal(repo: RepositorySession, rule: str) -> Written:
    """The removal of the rule in force with this id as a proposal."""
    with open_proposals(repo) as at:
        entry, _ = repo.load(rule)
        files = dict.fromkeys(sorted(at.trunk.places(rule)))
        return as_written(make(at, entry, files, f"Propose removal: {entry.title}"))


def propose_text(repo: RepositorySession, entry: Entry, path: str, text: str) -> Written:
    """A proposal of another text (or place) of a rule in force.

    The library's answer to an edit of one.
    """
    data = text.encode()
    with open_proposals(repo) as at:
        old = {place: None for place in at.trunk.places(entry.id) if place != path}
        new = checked(path, data, was=entry)
        refuse_wrong_kinds(
            repo.catalog, Kind.RULE, (link[:2] for link in new.links if link not in entry.links)
        )
        made = make(at, new, {**old, path: data}, f"Propose edit: {new.title}")
    return as_written(made)


def as_written(made: Suggested) -> Written:
    """A proposal as the answer of a job that writes entries."""
    names = made.id, made.handle, Kind.RULE, made.title, made.path
    return Written(*names, made.commit, made.warnings, proposed_on=made.branch)


def propose(library: Library, paths: Sequence[str] = ()) -> tuple[Suggested, ...]:
    """Propose rules that were edited, made or removed in the working tree (or those at `paths`), and put these back.

    Raises InvalidEntry where a text breaks the format or took another rule's id; then nothing was proposed.
    """
    repo = library.primary

    def inside(path: str) -> str:
        place = repo.inside(path)
        if place is None and (repo.options.cwd / path).resolve() == repo.store.root:
            return ""
        if place is None:
            return path.rstrip("/")
        return place

    with open_proposals(repo) as at:
        edits = decisions.edited(repo.store, at.git, [inside(path) for path in paths])
        made = []
        for entry, files in [_text_of(at, edit) for edit in edits]:
            # all are checked before the first is made
            if not any(files.values()):
                what = "removal"
            elif at.trunk.places(entry.id):
                what = "edit"
            else:
                what = "rule"
            made.append(make(at, entry, files, f"Propose {what}: {entry.title}"))
        if edits:
            notes = decisions.put_back(repo.store, at.git, edits)
        else:
            notes = ()
    if made and notes:
        made[-1] = made[-1]._replace(warnings=(*made[-1].warnings, *notes))
    return tuple(made)


def _text_of(at: ProposalContext, edit: Edited) -> tuple[Entry, Mapping[str, bytes | None]]:
    """The rule as it shall be, with id and kind written down, and the files that say so."""
    texts = {path: data for path, data in edit.files.items() if data is not None}
    if not texts:
        path = next(iter(edit.files))
        return read_entry(path, at.read(path, edit.blobs[path][1]) or b""), edit.files
    path, data = next(iter(texts.items()))
    entry = read_entry(path, data)
    if entry.derived:
        data = markdown.edit(data.decode(), frontmatter.identity(entry)).encode()
    rule = checked(path, data)
    refuse_wrong_kinds(at.repo.catalog, Kind.RULE, (link[:2] for link in rule.links))
    return rule, {**edit.files, path: data}

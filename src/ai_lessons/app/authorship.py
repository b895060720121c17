"""Who stated a lesson.

Evidence from git's history and from this machine, never from what a file says of itself.

`from: user` is firm where the user said so here in person, where it lies uncommitted in the working
tree, or where the user's own identity committed it, with no agent named. Forged commits pass, see
docs/security.md.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ai_lessons import extensions
from ai_lessons.app.trust import Trust
from ai_lessons.errors import AiLessonsError, Refused
from ai_lessons.model.approval import AGENT_TRAILER
from ai_lessons.model.entries import RELEASED, Entry, EntrySummary, Kind, Relation, Status
from ai_lessons.model.layout import place
from ai_lessons.model.lessons import IMPORTED
from ai_lessons.search.catalog_update import Attested

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.open_repository import OpenRepository
    from ai_lessons.git.history import Introduced
    from ai_lessons.git.store import Change

AI, USER, AGENT = "ai", "user", "agent"
# Relations that may keep the entry that they point to from being shown.
SILENCING = frozenset((Relation.SUPERSEDES, Relation.CONTRADICTS, Relation.SPECIALIZES))


def digest(entry: Entry) -> str:
    """What a lesson says, where, for whom and with what standing.

    Another text of it has to be stated anew.
    """
    parts: list[Any] = [entry.title, str(entry.pattern or ""), entry.body.strip(), entry.project]
    parts += [entry.fields.get("from"), entry.fields.get("applies_to")]
    for feature in extensions.rows():
        if feature.tells:
            parts += [entry.fields[key] for key in feature.keys if entry.fields.get(key)]
    block = entry.fields.get("source")
    text = json.dumps([*parts, block if isinstance(block, dict) else None], default=str)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def remember(repo: OpenRepository, who: str, entry: Entry) -> None:
    """Note on this machine that the user in person, or an agent, has just stated a lesson."""
    _marks(repo).add_all([(entry.path, f"{who} {digest(entry)}")])


def confirm(repo: OpenRepository, entry: Entry) -> None:
    """Note that the user in person states what is written already, also by another."""
    remember(repo, USER, entry)
    repo.catalog.attest({entry.id: Attested(_me(repo)[0], firm=True, start=True)})


def _marks(repo: OpenRepository) -> Trust:
    return Trust(repo.store.state_dir, "statement")


def attest(repo: OpenRepository) -> None:
    """Look for evidence of each new `from: user` in the catalog.

    Never raises: without evidence none is firm.
    """
    ids = repo.catalog.unattested()
    if ids:
        entries = {
            summary.id: entry
            for summary in repo.catalog.many(ids).values()
            if (entry := _read(repo, summary))
        }
        try:
            attested = _attested(repo, entries)
        except AiLessonsError:
            attested = {}
        repo.catalog.attest(
            {
                entry_id: attested.get(entry_id, Attested("", firm=False, start=False))
                for entry_id in ids
            }
        )
        # notes that none is left, so that the next reader asks no git
        repo.catalog.unattested()


def _read(repo: OpenRepository, summary: EntrySummary) -> Entry | None:
    try:
        return repo.load(summary.id)[0]
    except AiLessonsError:
        return None


def _attested(repo: OpenRepository, entries: Mapping[str, Entry]) -> dict[str, Attested]:
    (me, addresses), marks = _me(repo), _marks(repo).marks()
    attested: dict[str, Attested] = {}
    for entry_id, entry in entries.items():
        mark = digest(entry)
        if f"{USER} {mark}" in marks:
            attested[entry_id] = Attested(me, _is_users(entry), start=True)
        elif f"{AGENT} {mark}" in marks:
            attested[entry_id] = Attested(f"an agent for {me}", firm=False, start=True)
    unmarked = {entry_id: entry for entry_id, entry in entries.items() if entry_id not in attested}
    return attested | (_by_history(repo, unmarked, me, addresses) if unmarked else {})


def _me(repo: OpenRepository) -> tuple[str, tuple[str, ...]]:
    """The user as git has it, with name and address, and the addresses of commits.

    As author and as committer.
    """
    # starts programs, which a load that has nothing to look at need not pay
    from ai_lessons.git import plumbing
    from ai_lessons.git.identity import address_of

    author, committer = (
        plumbing.identity(repo.store.worktree, role) or "" for role in ("AUTHOR", "COMMITTER")
    )
    return author, (address_of(author), address_of(committer))


def _by_history(
    repo: OpenRepository, entries: Mapping[str, Entry], me: str, addresses: tuple[str, ...]
) -> dict[str, Attested]:
    origins = _Origins(repo, entries)
    committed = repo.history.in_head(
        {entry.path for entry in entries.values() if digest(entry) not in origins.found}
    )
    attested = {}
    for entry_id, entry in entries.items():
        by, committed_blob = origins.found.get(digest(entry), []), committed.get(entry.path)
        by_me = []
        for commit in by:
            if addresses[0] and (commit.author, commit.committer) == addresses:
                by_me.append(commit)
        by_person = [commit for commit in by_me if not commit.agent]
        edited = not by and (
            committed_blob is None or origins.digest_of(entry.path, committed_blob) != digest(entry)
        )
        if by_person or edited:
            attested[entry_id] = Attested(me, _is_users(entry), start=IMPORTED not in entry.fields)
        else:
            if by and by[-1].agent:
                last = f"{by[-1].who}, agent {by[-1].agent}"
            elif by:
                last = by[-1].who
            else:
                last = ""
            attested[entry_id] = Attested(
                last, firm=False, start=bool(by_me) and IMPORTED not in entry.fields
            )
    return attested


def _is_users(entry: Entry) -> bool:
    return entry.fields.get("from") == USER


class _Origins:
    """The commits that first said what these lessons say, by digest.

    A file that only moved says nothing new.
    """

    def __init__(self, repo: OpenRepository, entries: Mapping[str, Entry]) -> None:
        self._repo = repo
        self._digests_of_path: dict[str, set[str]] = {}
        self._digests: dict[tuple[str, str], str] = {}
        self.found: dict[str, list[Introduced]] = {}
        for entry in entries.values():
            self._digests_of_path.setdefault(entry.path, set()).add(digest(entry))
        for location in repo.catalog.locations(entries):
            if location.hash:
                self._digests[location.path, location.hash] = digest(entries[location.id])
        asked: set[str] = set()
        while len(self._digests_of_path) > len(asked):
            # files that were moved here had other names before
            new = set(self._digests_of_path) - asked
            asked |= new
            # git asked for 200 paths is quicker than a walk over all commits; for more it is not
            few = len(new) <= 200
            for commit in repo.history.introduced(sorted(new) if few else ()):
                for path, before, after in commit.files:
                    if after and path in self._digests_of_path and (path in new or not few):
                        self._weigh(commit, path, before, after)
            if not few:
                # that was all of the history, and every name was met on the way
                break

    def _weigh(self, commit: Introduced, path: str, before: str | None, after: str) -> None:
        text_digest = self.digest_of(path, after)
        if text_digest not in self._digests_of_path[path] or (
            before and self.digest_of(path, before) == text_digest
        ):
            return
        from_where = [
            old
            for old, was, now in commit.files
            if was and now != was and self.digest_of(old, was) == text_digest
        ]
        for old in from_where:
            self._digests_of_path.setdefault(old, set()).add(text_digest)
        if not from_where and commit not in self.found.setdefault(text_digest, []):
            self.found[text_digest].append(commit)

    def digest_of(self, path: str, blob: str) -> str:
        """What a file said in a commit; empty for what is no lesson."""
        if (path, blob) not in self._digests:
            if _is_lesson(path):
                data = self._repo.history.blob(blob)
            else:
                data = b""
            entry = _parsed(self._repo, path, data)
            self._digests[path, blob] = digest(entry) if entry else ""
        return self._digests[path, blob]


def _is_lesson(path: str) -> bool:
    where = place(path)
    return where is not None and where.kind is Kind.LESSON


def _parsed(repo: OpenRepository, path: str, data: bytes | None) -> Entry | None:
    if not data or not _is_lesson(path):
        return None
    try:
        return repo.parse(path, data)
    except AiLessonsError:
        return None


def guard(repo: OpenRepository, changes: Sequence[Change]) -> None:
    """Called before an agent's job is written. Raises Refused.

    Only a person may silence a firm lesson, of which the question is kept, take away what a person
    wrote or mark it wrong, or say where a text may go.
    """
    if not repo.options.agent:
        return
    new = [
        entry
        for change in changes
        if isinstance(change.data, bytes) and (entry := _parsed(repo, change.path, change.data))
    ]
    kept = {(entry.id, digest(entry)) for entry in new if entry.status is Status.ACTIVE}
    for summary, old in _firm(repo, {change.path for change in changes}):
        if (summary.id, digest(old)) not in kept and old.status is Status.ACTIVE:
            refuse(repo, summary, "change it, take it away or mark it wrong")
    _guard_people(repo, {change.path for change in changes if change.data is None}, new)
    for entry in new:
        stored = repo.catalog.many([entry.id]).get(entry.id)
        before = None
        if stored:
            before = _read(repo, stored)
        if entry.fields.get(RELEASED) != (before.fields.get(RELEASED) if before else None):
            repo.options.refuse_agents(
                f"say in {RELEASED} where a text may go", "contribute promote proposes it"
            )
        if _is_users(entry) and (before is None or digest(before) != digest(entry)):
            remember(repo, AGENT, entry)
        ends = set()
        for link in entry.links:
            if link.relation in SILENCING:
                ends.add(link.target)
        if ends:
            ends -= {
                edge.target for edge in repo.catalog.edges(entry.id) if edge.relation in SILENCING
            }
        for end in repo.catalog.many(ends).values():
            if end.origin.firm:
                refuse(repo, end, f"let {entry.title!r} take its place")


def _guard_people(repo: OpenRepository, gone: Iterable[str], new: Sequence[Entry]) -> None:
    """Raises Refused: what a person wrote would be taken away, or marked wrong."""
    stay = {entry.id for entry in new}
    wrong = set()
    for entry in new:
        if entry.status is Status.WRONG:
            wrong.add(entry.id)
    for path in gone:
        if not repo.store.exists(path):
            continue
        try:
            summary = repo.catalog.resolve(path)
        except AiLessonsError:
            continue
        if summary.id not in stay and _is_of_a_person(repo, path):
            what = f"take {summary.handle} away, which a person wrote"
            repo.options.refuse_agents(what, f"ai-lessons contribute delete {summary.handle}")
    for summary in repo.catalog.many(wrong).values():
        if summary.status != Status.WRONG and _is_of_a_person(repo, repo.file_of(summary)):
            what = f"mark {summary.handle} wrong, which a person wrote"
            repo.options.refuse_agents(what, f"lesson wrong {summary.handle}")


def _is_of_a_person(repo: OpenRepository, path: str) -> bool:
    """Whether no agent made the first commit of a file, or the last one."""
    revisions = repo.history.log(path)
    return any(
        AGENT_TRAILER not in revision.trailers for revision in (*revisions[:1], *revisions[-1:])
    )


def _firm(repo: OpenRepository, paths: Iterable[str]) -> Iterator[tuple[EntrySummary, Entry]]:
    """The firm lessons at these paths."""
    for path in paths:
        if not _is_lesson(path) or not repo.store.exists(path):
            continue
        try:
            summary = repo.catalog.resolve(path)
        except AiLessonsError:
            continue
        old = None
        if summary.origin.firm:
            old = _read(repo, summary)
        if old:
            yield summary, old


def refuse(
    repo: OpenRepository, summary: EntrySummary, what: str, person: str = "repeats the command"
) -> None:
    """Keep what an agent would do to a firm lesson as a question, and raise Refused.

    `person` is what a person does.
    """
    ask(repo, summary, f"would {what}")
    hint = f"it is kept as a question for a person, who runs ai-lessons admin review, or {person}"
    raise Refused(
        f"{summary.handle} is firm: a person stated it, and an agent cannot {what}", hint=hint
    )


def remember_link(repo: OpenRepository, source: str, target: str) -> None:
    """Note that the user in person lets one lesson silence another."""
    if not repo.options.agent:
        _marks(repo).add_all([(source, f"link {source} {target}")])


def may_silence(
    repos: Iterable[OpenRepository], source: str, target: str, summaries: Mapping[str, EntrySummary]
) -> bool:
    """Whether a link may keep its target away.

    A firm lesson only for another one, or by a link of the user's own.
    """
    firm = []
    for entry_id in (source, target):
        firm.append(bool(entry_id in summaries and summaries[entry_id].origin.firm))
    if firm[0] or not firm[1]:
        return True
    return any(f"link {source} {target}" in _marks(repo).marks() for repo in repos)


def ask(repo: OpenRepository, summary: EntrySummary, what: str) -> None:
    """Keep a question about a firm lesson for `admin review`, on this machine.

    The same one of a day once.
    """
    day = repo.options.now().date().isoformat()
    _questions(repo).add_all(
        [(summary.path, f"{summary.id} {day} {repo.options.agent or 'an agent'} {what}")]
    )


def questions(repo: OpenRepository) -> dict[str, list[tuple[str, str]]]:
    """What agents asked about firm lessons, by id: (day, who and what)."""
    questions_by_id: dict[str, list[tuple[str, str]]] = {}
    for mark in sorted(_questions(repo).marks()):
        if mark.count(" ") > 1:
            entry_id, day, question = mark.split(" ", 2)
            questions_by_id.setdefault(entry_id, []).append((day, question))
    return questions_by_id


def _questions(repo: OpenRepository) -> Trust:
    return Trust(repo.store.state_dir, "question")

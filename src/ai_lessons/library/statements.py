"""Who stated a lesson: evidence from git's history and from this machine, never from what a file says of itself.

`from: user` is firm where the user said so here in person, where it lies uncommitted in the working tree, or where the
user's own identity committed it, with no agent named. Forged commits pass, see docs/security.md.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import AiLessonsError, Refused
from ai_lessons.index.catalog_writing import Attested
from ai_lessons.knowledge.entries import Entry, Kind, Light, Relation, Status
from ai_lessons.knowledge.governance import RELEASED
from ai_lessons.knowledge.layout import place
from ai_lessons.repository.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.library.open_repository import OpenRepository
    from ai_lessons.repository.history import Introduced
    from ai_lessons.repository.store import Change

AI, USER, AGENT = "ai", "user", "agent"
SILENCING = frozenset((Relation.SUPERSEDES, Relation.CONTRADICTS, Relation.SPECIALIZES))
"""Relations that may keep the entry that they point to from being shown."""

MOST_PATHS = 200  # Of so many lessons the history is asked apart; of more in one walk over all of it


def digest(entry: Entry) -> str:
    """What a lesson says, where, for whom and with what standing: another text of it has to be stated anew."""
    said: list[Any] = [entry.title, str(entry.pattern or ""), entry.body.strip(), entry.project]
    said += [entry.fields.get("from"), entry.fields.get("applies_to")]
    block = entry.fields.get("source")
    text = json.dumps([*said, block if isinstance(block, dict) else None], default=str)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def remember(repo: OpenRepository, who: str, entry: Entry) -> None:
    """Note on this machine that the user in person, or an agent, has just stated a lesson."""
    _marks(repo).add_all([(entry.path, f"{who} {digest(entry)}")])


def confirm(repo: OpenRepository, entry: Entry) -> None:
    """Note that the user in person states what is written already, whoever wrote it."""
    remember(repo, USER, entry)
    repo.catalog.attest({entry.id: Attested(_me(repo)[0], firm=True, start=True)})


def _marks(repo: OpenRepository) -> Trust:
    return Trust(repo.store.state_dir, "statement")


def attest(repo: OpenRepository) -> None:
    """Look after claims that the catalog has met since the last look. Stops no reader: without evidence none holds."""
    wanted = repo.catalog.unattested()
    if wanted:
        entries = {light.id: entry for light in repo.catalog.many(wanted).values() if (entry := _read(repo, light))}
        try:
            found = _attested(repo, entries)
        except AiLessonsError:
            found = {}
        repo.catalog.attest({one: found.get(one, Attested("", firm=False, start=False)) for one in wanted})
        repo.catalog.unattested()  # that nothing is left is written down


def _read(repo: OpenRepository, light: Light) -> Entry | None:
    try:
        return repo.load(light.id)[0]
    except AiLessonsError:
        return None


def _attested(repo: OpenRepository, entries: Mapping[str, Entry]) -> dict[str, Attested]:
    (me, addresses), marks = _me(repo), _marks(repo).marks()
    found: dict[str, Attested] = {}
    for entry_id, entry in entries.items():
        said = digest(entry)
        if f"{USER} {said}" in marks:
            found[entry_id] = Attested(me, _is_users(entry), start=True)
        elif f"{AGENT} {said}" in marks:
            found[entry_id] = Attested(f"an agent for {me}", firm=False, start=True)
    rest = {entry_id: entry for entry_id, entry in entries.items() if entry_id not in found}
    return found | (_by_history(repo, rest, me, addresses) if rest else {})


def _me(repo: OpenRepository) -> tuple[str, tuple[str, ...]]:
    """The user as git has it, with name and address, and the addresses of commits: as author and as committer."""
    from ai_lessons.repository import git  # starts programs, which a load that has nothing to look at need not pay

    author, committer = (git.identity(repo.store.worktree, role) or "" for role in ("AUTHOR", "COMMITTER"))
    return author, tuple(ident.rpartition("<")[2].rstrip(">") for ident in (author, committer))


def _by_history(
    repo: OpenRepository, entries: Mapping[str, Entry], me: str, addresses: tuple[str, ...]
) -> dict[str, Attested]:
    origins = _Origins(repo, entries)
    committed = repo.history.in_head({one.path for one in entries.values() if digest(one) not in origins.found})
    found = {}
    for entry_id, entry in entries.items():
        by, there = origins.found.get(digest(entry), []), committed.get(entry.path)
        mine = [one for one in by if addresses[0] and (one.author, one.committer) == addresses]
        own = [one for one in mine if not one.agent]
        edited = not by and (there is None or origins.digest_of(entry.path, there) != digest(entry))
        if own or edited:
            found[entry_id] = Attested(me, _is_users(entry), start=True)
        else:
            last = f"{by[-1].who}, agent {by[-1].agent}" if by and by[-1].agent else by[-1].who if by else ""
            found[entry_id] = Attested(last, firm=False, start=bool(mine))
    return found


def _is_users(entry: Entry) -> bool:
    return entry.fields.get("from") == USER


class _Origins:
    """The commits that first said what these lessons say, by digest; a file that only moved says nothing new."""

    def __init__(self, repo: OpenRepository, entries: Mapping[str, Entry]) -> None:
        self._repo = repo
        self._wanted: dict[str, set[str]] = {}
        self._digests: dict[tuple[str, str], str] = {}
        self.found: dict[str, list[Introduced]] = {}
        for entry in entries.values():
            self._wanted.setdefault(entry.path, set()).add(digest(entry))
        for one in repo.catalog.locations(entries):
            if one.hash:
                self._digests[one.path, one.hash] = digest(entries[one.id])
        asked: set[str] = set()
        while len(self._wanted) > len(asked):  # files that were moved here had other names before
            new = set(self._wanted) - asked
            asked |= new
            few = len(new) <= MOST_PATHS
            for commit in repo.history.introduced(sorted(new) if few else ()):
                for path, before, after in commit.files:
                    if after and path in self._wanted and (path in new or not few):
                        self._weigh(commit, path, before, after)
            if not few:
                break  # that was all of the history, and every name was met on the way

    def _weigh(self, one: Introduced, path: str, before: str | None, after: str) -> None:
        said = self.digest_of(path, after)
        if said not in self._wanted[path] or (before and self.digest_of(path, before) == said):
            return
        from_where = [old for old, was, now in one.files if was and now != was and self.digest_of(old, was) == said]
        for old in from_where:
            self._wanted.setdefault(old, set()).add(said)
        if not from_where and one not in self.found.setdefault(said, []):
            self.found[said].append(one)

    def digest_of(self, path: str, blob: str) -> str:
        """What a file said in a commit; empty for what is no lesson."""
        if (path, blob) not in self._digests:
            data = self._repo.history.blob(blob) if _is_lesson(path) else b""
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
    """Called before an agent's job is written. Raises Refused: it would silence a firm lesson; the question is kept."""
    if not repo.options.agent:
        return
    new = [entry for one in changes if isinstance(one.data, bytes) and (entry := _parsed(repo, one.path, one.data))]
    kept = {(entry.id, digest(entry)) for entry in new if entry.status is Status.ACTIVE}
    for light, old in _firm(repo, {one.path for one in changes}):
        if (light.id, digest(old)) not in kept and old.status is Status.ACTIVE:
            refuse(repo, light, "change it, take it away or mark it wrong")
    for entry in new:
        there = repo.catalog.many([entry.id]).get(entry.id)
        before = _read(repo, there) if there else None
        if entry.fields.get(RELEASED) != (before.fields.get(RELEASED) if before else None):
            repo.options.refuse_agents(f"say in {RELEASED} where a text may go", "contribute promote proposes it")
        if _is_users(entry) and (before is None or digest(before) != digest(entry)):
            remember(repo, AGENT, entry)
        ends = {link.target for link in entry.links if link.relation in SILENCING}
        ends -= {edge.target for edge in repo.catalog.edges(entry.id) if edge.relation in SILENCING} if ends else set()
        for end in repo.catalog.many(ends).values():
            if end.details.get("firm"):
                refuse(repo, end, f"let {entry.title!r} take its place")


def _firm(repo: OpenRepository, paths: Iterable[str]) -> Iterator[tuple[Light, Entry]]:
    """The firm lessons at these paths."""
    for path in paths:
        if not _is_lesson(path) or not repo.store.exists(path):
            continue
        try:
            light = repo.catalog.resolve(path)
        except AiLessonsError:
            continue
        old = _read(repo, light) if light.details.get("firm") else None
        if old:
            yield light, old


def refuse(repo: OpenRepository, light: Light, what: str, person: str = "repeats the command") -> None:
    """Keep what an agent would do to a firm lesson as a question, and raise Refused; `person` is what a person does."""
    ask(repo, light, f"would {what}")
    raise Refused(
        f"{light.handle} is firm: a person stated it, and an agent cannot {what}",
        hint=f"it is kept as a question for a person, who runs ai-lessons admin review, or {person}",
    )


def remember_link(repo: OpenRepository, source: str, target: str) -> None:
    """Note that the user in person lets one lesson silence another."""
    if not repo.options.agent:
        _marks(repo).add_all([(source, f"link {source} {target}")])


def may_silence(repos: Iterable[OpenRepository], source: str, target: str, known: Mapping[str, Light]) -> bool:
    """Whether a link may keep its target away: a firm lesson only for another one, or by a link of the user's own."""
    firm = [bool(one in known and known[one].details.get("firm")) for one in (source, target)]
    if firm[0] or not firm[1]:
        return True
    return any(f"link {source} {target}" in _marks(repo).marks() for repo in repos)


def ask(repo: OpenRepository, light: Light, what: str) -> None:
    """Keep a question about a firm lesson for `admin review`, on this machine; the same one of a day once."""
    day = repo.options.now().date().isoformat()
    _questions(repo).add_all([(light.path, f"{light.id} {day} {repo.options.agent or 'an agent'} {what}")])


def questions(repo: OpenRepository) -> dict[str, list[tuple[str, str]]]:
    """What agents asked about firm lessons, by id: (day, who and what)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for entry_id, day, said in sorted(one.split(" ", 2) for one in _questions(repo).marks() if one.count(" ") > 1):
        found.setdefault(entry_id, []).append((day, said))
    return found


def _questions(repo: OpenRepository) -> Trust:
    return Trust(repo.store.state_dir, "question")

"""The code below one folder, as far as entries speak of it: what it is now, and the verdicts.

A look costs a stat: what a file held is kept in the state folder until its stat changes.
`code_history` has what git knows of it.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from datetime import date
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app.code_history import CodeHistory, file_stamp, last_part
from ai_lessons.errors import AiLessonsError
from ai_lessons.git import external_files, files, plumbing
from ai_lessons.git.worktree import locate, read_head
from ai_lessons.model import anchors, definitions, expression, layout
from ai_lessons.model.anchors import Anchor, State, Verdict
from ai_lessons.model.entries import GLOBAL_PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.git.commits import ChangingCommit
    from ai_lessons.git.worktree import Worktree

# counted up when fingerprints are made in another way
FOLDER = "anchors-2"
# Anchors whose history a hook reads for one telling: a person or agent who asks gets all
UNASKED = 3
_MANIFEST = expression(
    r"(?:uv|poetry|Cargo)\.lock|requirements.*\.txt|package(?:-lock)?\.json|pnpm-lock\.yaml|go\.mod|pyproject\.toml"
)


class AnchorVerdict(NamedTuple):
    """What became of one anchor, in a word and (unless it holds) a sentence.

    `commit`, `author` and `date` (ISO 8601) are of the change, empty while that is not committed.
    `place`: where it is now, if elsewhere. `changes`: how many commits changed it since.
    """

    anchor: str
    verdict: Verdict
    detail: str = ""
    commit: str = ""
    author: str = ""
    date: str = ""
    place: str = ""
    changes: int = 0


class _Unexplained(NamedTuple):
    """An anchor that does not hold, with its code as it is now, and the key and stamp of what git says of it."""

    anchor: Anchor
    verdict: Verdict
    now: State | None
    key: str
    stamp: list[Any]


class CodeFolder:
    """The code below one top folder of git, for one job; `close` keeps what was seen.

    `knowledge`: the entries' folder if it is in it, such as `.ai/reference/`: then all of them are
    about this code. `questions`: how many anchors git's history is read for (None: all).
    """

    def __init__(
        self,
        top: Path,
        cwd: Path,
        state_dir: Path,
        *,
        knowledge: str = "",
        questions: int | None = None,
    ) -> None:
        """Raises as `locate`: git's folder is not there, or not to be trusted."""
        self.top, self._cwd, self.whole, self._questions = top, cwd, bool(knowledge), questions
        self._hurries = questions is not None and questions <= UNASKED
        self._not_code = knowledge or ".git/"
        self.worktree: Worktree = locate(top)
        self._file = state_dir / FOLDER / f"{sha256(os.fsencode(top)).hexdigest()[:16]}.json"
        kept = files.read_json(self._file) or {"files": {}, "verdicts": {}, "packages": {}}
        self._kept: dict[str, dict[str, Any]] = kept
        self._changed = False
        self._history = CodeHistory(top, self.worktree)

    def close(self) -> None:
        """Keep what was seen for the next look, where the state folder can be written."""
        if self._changed:
            for rows in self._kept.values():
                # the newest are kept; a clone of a large project must not fill the state folder
                for name in list(rows)[:-5_000]:
                    del rows[name]
            with suppress(AiLessonsError, OSError):
                # then the next look costs as much
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                files.write_json(self._file, self._kept)

    @cached_property
    def names(self) -> list[str]:
        """What the project is called: by its remote, its package, its folder."""
        return external_files.names_of(self.top)

    @cached_property
    def _folder_name(self) -> str:
        return external_files.name_of(self.top)

    def is_called(self, name: str) -> bool:
        """Whether the project has this name."""
        # the other names are read from TOML files
        same = external_files.same_name(self._folder_name, name)
        return same or any(external_files.same_name(x, name) for x in self.names)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Every file of it that git does not ignore, without the entries."""
        names = self._history.git(
            "ls-files", "-z", "--cached", "--others", "--exclude-standard"
        ).names
        paths = []
        for name in dict.fromkeys(names):
            if not name.startswith(self._not_code):
                paths.append(name)
        return tuple(paths)

    def unmatched(self, applies_to: object, project: str) -> list[str]:
        """A note for each glob of an entry that names no file, if this is its project's code."""
        if self.whole or self.is_called(project):
            globs = layout.globs(applies_to)
        else:
            globs = []
        missing = []
        for glob in globs:
            if not any(layout.matches(glob, path) for path in self.paths):
                missing.append(glob)
        return [
            f"applies_to {glob} names no file of {external_files.name_of(self.top)}"
            for glob in missing
        ]

    # --- now ---

    def state(self, path: str, symbol: str) -> State | None:
        """How a file has a symbol now (without one: whether it is there).

        Raises: it cannot be looked into.
        """
        file = self.top / path.rstrip("/")
        stamp = file_stamp(file)
        if stamp is None or not symbol:
            if stamp is None:
                return None
            return State("")
        rows = self._kept["files"]
        row = rows.get(path)
        if row is None or row[0] != stamp:
            row = [stamp, {}]
        if symbol not in row[1]:
            row[1][symbol] = anchors.state(path, self.text(path), symbol)
            rows.pop(path, None)
            # Clocks of file systems tick every 1 to 10 ms: within 50 ms a second change may leave
            # the same stat.
            if time.time_ns() - max(stamp[:2]) > 50_000_000:
                rows[path], self._changed = row, True
        held = row[1][symbol]
        if held is None:
            return None
        return State(*held)

    def text(self, path: str) -> str:
        """A file as it is now. Raises as `files.read_file`."""
        return (
            files.read_file(self.top, path, definitions.LARGEST)[0]
            .decode("utf-8", "replace")
            .replace("\r\n", "\n")
        )

    def look(self, anchor: Anchor, project: str) -> AnchorVerdict:
        """What became of an anchor of an entry of this project.

        Raises nothing that a file can cause.
        """
        return self.look_at([(anchor, project)])[0]

    def look_at(self, stated: Iterable[tuple[Anchor, str]]) -> list[AnchorVerdict]:
        """As `look`, of many anchors with their projects.

        Git is asked about all of them at once.
        """
        rows = []
        for anchor, project in stated:
            rows.append(self._looked(anchor, project))
        unexplained = {}
        for row in rows:
            if isinstance(row, _Unexplained):
                unexplained[row.key] = row
        judged = {}
        for key, x in unexplained.items():
            judged[key] = _verdict_of(x.anchor, x.verdict, None, "", x.now)
        asked = dict(islice(unexplained.items(), self._questions))
        if self._questions is not None:
            self._questions -= len(asked)
        if asked:
            judged |= self._explained(asked)
        results: list[AnchorVerdict] = []
        for row in rows:
            if isinstance(row, _Unexplained):
                results.append(judged[row.key])
            else:
                results.append(row)
        return results

    def _looked(self, anchor: Anchor, project: str) -> AnchorVerdict | _Unexplained:
        with suppress(AiLessonsError):
            # a link, a file too large, git that does not answer: nothing is known
            if anchor.package:
                return self._package(anchor)
            return self._code(anchor, project)
        return AnchorVerdict(str(anchor), Verdict.ELSEWHERE)

    def _code(self, anchor: Anchor, project: str) -> AnchorVerdict | _Unexplained:
        name = anchor.repository or ("" if self.whole or project == GLOBAL_PROJECT else project)
        if name and not self.is_called(name):
            return AnchorVerdict(str(anchor), Verdict.ELSEWHERE)
        verdict = anchors.judged(anchor, now := self.state(anchor.path, anchor.symbol))
        if verdict in {Verdict.HOLDS, Verdict.ELSEWHERE}:
            return AnchorVerdict(str(anchor), verdict)
        if verdict is Verdict.GONE and not name and not self.whole:
            # git does not know that it was ever here, so it may be other code
            return AnchorVerdict(str(anchor), Verdict.ELSEWHERE)
        index = file_stamp(self.worktree.git_dir / "index") or [0]
        stamp = [read_head(self.worktree).commit, index[0], _listed(now), date.today().year]
        key = f"{anchor} {anchor.seen}"
        if kept := self._kept["verdicts"].get(key):
            seen, then, row = kept
            judged = AnchorVerdict(*row)._replace(verdict=Verdict(row[1]))
            if seen == stamp and (
                not judged.place or _listed(self.state(*anchors.parse(judged.place)[:2])) == then
            ):
                return judged
        if now is None and not self._hurries and self._history.never_was(anchor.path):
            return _verdict_of(anchor, verdict, None, "", now)
        return _Unexplained(anchor, verdict, now, key, stamp)

    def _explained(self, rows: Mapping[str, _Unexplained]) -> dict[str, AnchorVerdict]:
        """The verdicts with what git's history says of them.

        Each is kept together with the state of the code at its place.
        """
        explained = {
            key: AnchorVerdict(str(row.anchor), Verdict.ELSEWHERE) for key, row in rows.items()
        }
        gone = {key: row.anchor for key, row in rows.items() if row.verdict is Verdict.GONE}
        places: dict[str, Anchor | None] = {}
        with suppress(AiLessonsError), plumbing.once():
            # git does not answer: nothing is known
            self._history.read_commits(row.anchor.path for row in rows.values())
            if gone:
                self._history.read_renames(anchor.path for anchor in gone.values())
            self._history.read_holding(
                {last_part(anchor.symbol) for anchor in gone.values() if anchor.symbol}
            )
            for key, anchor in gone.items():
                with suppress(AiLessonsError):
                    places[key] = self._moved(anchor)
            self._history.read_commits(place.path for place in places.values() if place)
            for key, row in rows.items():
                if row.verdict is not Verdict.GONE or key in places:
                    with suppress(AiLessonsError):
                        explained[key], now = self._since_when(row, places.get(key))
                        kept = [row.stamp, _listed(now), [*explained[key]]]
                        self._kept["verdicts"][key], self._changed = kept, True
        return explained

    def _since_when(
        self, row: _Unexplained, place: Anchor | None
    ) -> tuple[AnchorVerdict, State | None]:
        anchor, verdict, now = row.anchor, row.verdict, row.now
        if place is not None:
            now = self.state(place.path, place.symbol)
            if anchors.judged(place, now) is Verdict.HOLDS:
                verdict = Verdict.MOVED
            else:
                verdict = Verdict.CHANGED
        commit, changes = (
            (None, 0) if verdict is Verdict.MOVED else self._history.since(anchor, place, now)
        )
        if (
            verdict is Verdict.GONE
            and commit is None
            and self._history.is_on_another_branch(anchor)
        ):
            verdict = Verdict.ELSEWHERE
        if place:
            where = str(place._replace(value=None))
        else:
            where = ""
        return _verdict_of(anchor, verdict, commit, where, now)._replace(changes=changes), now

    def sides(self, anchor: Anchor, row: AnchorVerdict) -> tuple[str, str | None]:
        """The text of a symbol before the change that a verdict names, as far as git has it, and as it is now."""
        if anchor.package or row.verdict not in {Verdict.CHANGED, Verdict.GONE}:
            return "", None
        if row.commit:
            commit = f"{row.commit}^"
        else:
            commit = "HEAD"
        before = self._history.git("cat-file", "blob", f"{commit}:{anchor.path}").out.decode(
            "utf-8", "replace"
        )
        if row.place:
            place = anchors.parse(row.place)
        else:
            place = anchor
        after = external_files.beginning(self.top / place.path, self.top, definitions.LARGEST)
        old, new = (
            definitions.definition(x.path, text, x.symbol)
            for x, text in ((anchor, before), (place, after))
        )
        return old.text if old else "", new.text if new else None

    def diff(self, anchor: Anchor, row: AnchorVerdict) -> str:
        """How the text of a symbol differs from that before the change that a verdict names, if git has that."""
        from ai_lessons.git.history import unified

        old, new = self.sides(anchor, row)
        if old:
            return unified(anchor.path, old.encode(), None if new is None else new.encode())
        return ""

    def _moved(self, anchor: Anchor) -> Anchor | None:
        """The anchor where it is now: in the renamed file, else at the one place of that text.

        None: nowhere, or at several places.
        """
        renamed = None
        if not file_stamp(self.top / anchor.path.rstrip("/")):
            renamed = self._history.renamed(anchor.path)
        if renamed and self.state(renamed, anchor.symbol):
            return anchor._replace(path=renamed)
        if not anchor.symbol or not (anchor.seen or anchor.value is not None):
            return None
        defining = self.defining(last_part(anchor.symbol))
        places = (anchor._replace(path=path, symbol=symbol) for path, symbol in defining)
        matches = []
        for x in places:
            if anchors.judged(x, self.state(x.path, x.symbol)) is Verdict.HOLDS:
                matches.append(x)
        if len(matches) == 1:
            return matches[0]
        return None

    def defining(self, name: str) -> Iterator[tuple[str, str]]:
        """Files and whole names of what is called so, unless too many files hold the word."""
        holding = self._history.holding(name)
        # a name that more than 40 files hold tells nothing of where the code went
        for path in holding if len(holding) <= 40 else ():
            with suppress(AiLessonsError):
                for symbol in definitions.names(path, self.text(path)):
                    if re.split(r"\.|::", symbol)[-1] == name:
                        yield path, symbol

    # --- versions ---

    def pins(self) -> dict[str, tuple[str, str]]:
        """The version and the file by package, `pypi/click`, as the nearest lock and manifest files have it."""
        folders = [x for x in (self._cwd, *self._cwd.parents) if x.is_relative_to(self.top)] or [
            self.top
        ]
        stamps: dict[str, list[int] | None] = {}
        for folder in folders:
            with suppress(OSError):
                names = sorted(filter(_MANIFEST.fullmatch, os.listdir(folder)))
                stamps |= {str(folder / name): file_stamp(folder / name) for name in names}
        row = self._kept["packages"].get(str(self._cwd))
        if row is None or row[0] != stamps:
            from ai_lessons.connectors import manifests

            uses = manifests.pins(manifests.stating(self._cwd))
            row = [
                stamps,
                {name: (first.version, first.path) for name, (first, *_) in uses.items()},
            ]
            self._kept["packages"][str(self._cwd)], self._changed = row, True
        pins: dict[str, tuple[str, str]] = {}
        for name, (version, path) in row[1].items():
            pins[name] = (version, path)
        return pins

    def _package(self, anchor: Anchor) -> AnchorVerdict:
        version, path = self.pins().get(package_name(anchor), ("", ""))
        if not version:
            return AnchorVerdict(str(anchor), Verdict.ELSEWHERE)
        if anchors.in_range(anchor.versions, version):
            return AnchorVerdict(str(anchor), Verdict.HOLDS)
        detail = f"it speaks of {anchor}, and {version.lstrip('@')} is in use here ({path})"
        return AnchorVerdict(str(anchor), Verdict.OUT_OF_RANGE, detail)


def _listed(state: State | None) -> list[str | None] | None:
    """As it comes back from JSON."""
    if state:
        return list(state)
    return None


def package_name(anchor: Anchor) -> str:
    """The package of an anchor as `pins` writes it: Python's names are one however they are spelt."""
    registry, _, name = anchor.package.partition("/")
    return f"{registry}/{re.sub(r'[-_.]+', '-', name.casefold())}"


def _verdict_of(
    anchor: Anchor, verdict: Verdict, commit: ChangingCommit | None, place: str, now: State | None
) -> AnchorVerdict:
    """The verdict of an anchor that does not hold, with its sentence."""
    name, author, day = (commit.name, commit.author, commit.day) if commit else ("", "", "")
    if commit:
        since = f" on {_day(day)} ({name}, {author})"
    else:
        since = ""
    if place:
        where = f" (now {place})"
    else:
        where = ""
    if anchor.value is not None and now and now.value is not None:
        value = f", now {now.value}"
    else:
        value = ""
    detail = f"the code it speaks of changed{since}: check first, {anchor}{where}{value}"
    if verdict is Verdict.MOVED:
        detail = f"the code it speaks of moved: {anchor._replace(value=None)} is {place} now"
    elif verdict is Verdict.GONE:
        detail = f"the code it speaks of is gone{since.replace(' on', ' since', 1)}: {anchor}"
    elif verdict is Verdict.ELSEWHERE:
        detail = ""
    return AnchorVerdict(str(anchor), verdict, detail, name, author, day, place)


def _day(text: str) -> str:
    """A day as people say it: 3 November, with its year unless it is this one."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{day.day} {day:%B}{'' if day.year == date.today().year else day.strftime(' %Y')}"


def code_around(repo: RepositorySession, questions: int | None = None) -> CodeFolder | None:
    """The code that entries of this repository may speak of; None: there is none here.

    It is the code around the knowledge, else around the caller's folder.
    """
    knowledge, cwd = repo.store.worktree.prefix, repo.options.cwd
    top = repo.store.worktree.top if knowledge else external_files.top_of(cwd)
    if top is None or (not knowledge and top.resolve() == repo.store.root.resolve()):
        return None
    try:
        repo.options.limits.refuse_place(top)
        return CodeFolder(
            top, cwd, repo.options.state_dir, knowledge=knowledge, questions=questions
        )
    except AiLessonsError:
        # a repository of another user, or of a form that is not read
        return None

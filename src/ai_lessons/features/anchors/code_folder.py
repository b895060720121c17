"""The code of a project, as far as entries speak of it: what it is now, and the verdicts.

A look costs a stat (`looks`). `code_history` has what git knows of it.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app import project_code
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.anchors import definitions, fingerprints
from ai_lessons.features.anchors.anchors import Anchor, last_part, parse
from ai_lessons.features.anchors.code_history import CodeHistory
from ai_lessons.features.anchors.fingerprints import CodeVerdict, State, verdict_on
from ai_lessons.features.anchors.looks import Looks, file_stamp, is_sure
from ai_lessons.features.anchors.pins import Pins, in_range, package_name, pins
from ai_lessons.features.anchors.sentences import (
    AnchorVerdict,
    elsewhere,
    not_holding,
    out_of_range,
)
from ai_lessons.git import external_files, files, plumbing
from ai_lessons.git.worktree import read_head
from ai_lessons.model.entries import GLOBAL_PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from ai_lessons.app.project_code import ProjectCode
    from ai_lessons.app.workspace import RepositorySession

# Anchors whose history a hook reads for one telling: a person or agent who asks gets all
UNASKED = 3


class _Unexplained(NamedTuple):
    """An anchor that does not hold, with its code as it is now.

    `key` and `stamp` are those of what git says of it.
    """

    anchor: Anchor
    verdict: CodeVerdict
    now: State | None
    key: str
    stamp: list[Any]


class CodeFolder:
    """The code of a project, for one job; `close` keeps what was seen.

    `questions`: how many anchors git's history is read for (None: all).
    """

    def __init__(
        self, project: ProjectCode, cwd: Path, state_dir: Path, *, questions: int | None = None
    ) -> None:
        self.project, self.top, self._cwd = project, project.top, cwd
        self._questions = questions
        self._hurries = questions is not None and questions <= UNASKED
        self._looks = Looks(self.top, state_dir)
        self._history = CodeHistory(self.top, project.worktree)

    def close(self) -> None:
        """Keep what was seen for the next look, where the state folder can be written."""
        self._looks.close()

    # --- now ---

    def state(self, path: str, symbol: str) -> State | None:
        """How a file has a symbol now (without one: whether it is there).

        Raises: it cannot be looked into.
        """
        stamp = file_stamp(self.top / path.rstrip("/"))
        if stamp is None:
            return None
        if not symbol:
            return State("")
        row = self._looks.get("files", path)
        if row is None or row[0] != stamp:
            row = [stamp, {}]
        states = row[1]
        if symbol not in states:
            states[symbol] = fingerprints.state(path, self.text(path), symbol)
            if is_sure(stamp):
                self._looks.put("files", path, row)
            else:
                self._looks.drop("files", path)
        held = states[symbol]
        if held is None:
            return None
        return State(*held)

    def text(self, path: str) -> str:
        """A file as it is now. Raises as `files.read_file`."""
        data, _ = files.read_file(self.top, path, definitions.LARGEST)
        return data.decode("utf-8", "replace").replace("\r\n", "\n")

    def pins(self) -> Pins:
        """The version and the file by package, as the nearest lock and manifest files have it."""
        return pins(self._cwd, self.top, self._looks)

    def defining(self, name: str) -> Iterator[tuple[str, str]]:
        """Files and whole names of what is called so, unless too many files hold the word."""
        holding = self._history.holding(name)
        # A name that more files hold tells nothing of where the code went
        if len(holding) > 40:
            return
        for path in holding:
            with suppress(AiLessonsError):
                for symbol in definitions.names(path, self.text(path)):
                    if last_part(symbol) == name:
                        yield path, symbol

    # --- verdicts ---

    def look(self, anchor: Anchor, project: str) -> AnchorVerdict:
        """What became of an anchor of an entry of this project.

        Raises nothing that a file can cause.
        """
        return self.look_at([(anchor, project)])[0]

    def look_at(self, stated: Iterable[tuple[Anchor, str]]) -> list[AnchorVerdict]:
        """As `look`, of many anchors with their projects.

        Git is asked about all of them at once.
        """
        rows = [self._looked(anchor, project) for anchor, project in stated]
        unexplained = {}
        for row in rows:
            if isinstance(row, _Unexplained):
                unexplained[row.key] = row
        verdicts = {}
        for key, row in unexplained.items():
            verdicts[key] = not_holding(row.anchor, row.verdict, None, "", row.now)
        asked = dict(islice(unexplained.items(), self._questions))
        if self._questions is not None:
            self._questions -= len(asked)
        if asked:
            verdicts |= self._explained(asked)
        results: list[AnchorVerdict] = []
        for looked in rows:
            if isinstance(looked, _Unexplained):
                results.append(verdicts[looked.key])
            else:
                results.append(looked)
        return results

    def _looked(self, anchor: Anchor, project: str) -> AnchorVerdict | _Unexplained:
        with suppress(AiLessonsError):
            # a link, a file too large, git that does not answer: nothing is known
            if anchor.package:
                return self._package(anchor)
            return self._code(anchor, project)
        return elsewhere(anchor)

    def _package(self, anchor: Anchor) -> AnchorVerdict:
        version, path = self.pins().get(package_name(anchor), ("", ""))
        if not version:
            return elsewhere(anchor)
        if in_range(anchor.versions, version):
            return AnchorVerdict(str(anchor), CodeVerdict.HOLDS)
        return out_of_range(anchor, version, path)

    def _code(self, anchor: Anchor, project: str) -> AnchorVerdict | _Unexplained:
        name = anchor.repository
        if not name and not self.project.whole and project != GLOBAL_PROJECT:
            name = project
        if name and not self.project.is_called(name):
            return elsewhere(anchor)
        now = self.state(anchor.path, anchor.symbol)
        verdict = verdict_on(anchor, now)
        if verdict in {CodeVerdict.HOLDS, CodeVerdict.ELSEWHERE}:
            return AnchorVerdict(str(anchor), verdict)
        if verdict is CodeVerdict.GONE and not name and not self.project.whole:
            # git does not know that it was ever here, so it may be other code
            return elsewhere(anchor)
        key, stamp = f"{anchor} {anchor.seen}", self._stamp(now)
        explained = self._explained_before(key, stamp)
        if explained is not None:
            return explained
        if now is None and not self._hurries and self._history.never_was(anchor.path):
            return not_holding(anchor, verdict, None, "", now)
        return _Unexplained(anchor, verdict, now, key, stamp)

    def _stamp(self, now: State | None) -> list[Any]:
        """What the sentence of a verdict depends on: commits, what is staged, the code, the year."""
        worktree = self.project.worktree
        index = file_stamp(worktree.git_dir / "index") or [0]
        return [read_head(worktree).commit, index[0], _as_json(now), date.today().year]

    def _explained_before(self, key: str, stamp: list[Any]) -> AnchorVerdict | None:
        """The verdict of an earlier look, if it is the same by now."""
        kept = self._looks.get("verdicts", key)
        if kept is None:
            return None
        stamp_then, code_at_place, fields = kept
        if stamp_then != stamp:
            return None
        row = AnchorVerdict(*fields)
        row = row._replace(verdict=CodeVerdict(row.verdict))
        if row.place:
            place = parse(row.place)
            if _as_json(self.state(place.path, place.symbol)) != code_at_place:
                return None
        return row

    # --- what git's history says of them ---

    def _explained(self, rows: Mapping[str, _Unexplained]) -> dict[str, AnchorVerdict]:
        """The verdicts with what git's history says of them.

        Each is kept together with the state of the code at its place.
        """
        explained = {key: elsewhere(row.anchor) for key, row in rows.items()}
        with suppress(AiLessonsError), plumbing.once():
            # git does not answer: nothing is known
            places = self._places_of_gone(rows)
            for key, row in rows.items():
                if row.verdict is CodeVerdict.GONE and key not in places:
                    continue
                with suppress(AiLessonsError):
                    explained[key], now = self._since_when(row, places.get(key))
                    kept = [row.stamp, _as_json(now), [*explained[key]]]
                    self._looks.put("verdicts", key, kept)
        return explained

    def _places_of_gone(self, rows: Mapping[str, _Unexplained]) -> dict[str, Anchor | None]:
        """Where each anchor is by now whose code is gone (None: nowhere).

        Left out: anchors of which it cannot be known. All of history that is needed is read.
        """
        gone = {}
        for key, row in rows.items():
            if row.verdict is CodeVerdict.GONE:
                gone[key] = row.anchor
        self._history.read_commits(row.anchor.path for row in rows.values())
        if gone:
            self._history.read_renames(anchor.path for anchor in gone.values())
        symbols = {last_part(anchor.symbol) for anchor in gone.values() if anchor.symbol}
        self._history.read_holding(symbols)
        places: dict[str, Anchor | None] = {}
        for key, anchor in gone.items():
            with suppress(AiLessonsError):
                places[key] = self._moved(anchor)
        self._history.read_commits(place.path for place in places.values() if place)
        return places

    def _since_when(
        self, row: _Unexplained, place: Anchor | None
    ) -> tuple[AnchorVerdict, State | None]:
        """The verdict on an anchor, with the code at its place."""
        anchor, verdict, now = row.anchor, row.verdict, row.now
        where = ""
        if place is not None:
            where = str(place._replace(value=None))
            now = self.state(place.path, place.symbol)
            verdict = CodeVerdict.CHANGED
            if verdict_on(place, now) is CodeVerdict.HOLDS:
                return not_holding(anchor, CodeVerdict.MOVED, None, where, now), now
        commit, changes = self._history.since(anchor, place, now)
        was_never_here = verdict is CodeVerdict.GONE and commit is None
        if was_never_here and self._history.is_on_another_branch(anchor):
            verdict = CodeVerdict.ELSEWHERE
        explained = not_holding(anchor, verdict, commit, where, now)
        return explained._replace(changes=changes), now

    def _moved(self, anchor: Anchor) -> Anchor | None:
        """The anchor where it is now: in the renamed file, else at the one place of that text.

        None: nowhere, or at several places.
        """
        if file_stamp(self.top / anchor.path.rstrip("/")) is None:
            renamed = self._history.renamed(anchor.path)
            if renamed and self.state(renamed, anchor.symbol):
                return anchor._replace(path=renamed)
        if not anchor.symbol or not (anchor.seen or anchor.value is not None):
            return None
        matches = []
        for path, symbol in self.defining(last_part(anchor.symbol)):
            place = anchor._replace(path=path, symbol=symbol)
            if verdict_on(place, self.state(path, symbol)) is CodeVerdict.HOLDS:
                matches.append(place)
        if len(matches) == 1:
            return matches[0]
        return None

    # --- before and after ---

    def sides(self, anchor: Anchor, row: AnchorVerdict) -> tuple[str, str | None]:
        """The text of a symbol before the change that a verdict names, as far as git has it, and as it is now."""
        if anchor.package or row.verdict not in {CodeVerdict.CHANGED, CodeVerdict.GONE}:
            return "", None
        commit = f"{row.commit}^" if row.commit else "HEAD"
        blob = self._history.git("cat-file", "blob", f"{commit}:{anchor.path}").out
        place = parse(row.place) if row.place else anchor
        after = external_files.beginning(self.top / place.path, self.top, definitions.LARGEST)
        old = definitions.definition(anchor.path, blob.decode("utf-8", "replace"), anchor.symbol)
        new = definitions.definition(place.path, after, place.symbol)
        return old.text if old else "", new.text if new else None

    def diff(self, anchor: Anchor, row: AnchorVerdict) -> str:
        """How the text of a symbol differs from that before the change that a verdict names, if git has that."""
        from ai_lessons.git.history import unified

        old, new = self.sides(anchor, row)
        if not old:
            return ""
        return unified(anchor.path, old.encode(), None if new is None else new.encode())


def _as_json(state: State | None) -> list[str | None] | None:
    """As it comes back from JSON."""
    if state is None:
        return None
    return list(state)


def code_around(repo: RepositorySession, questions: int | None = None) -> CodeFolder | None:
    """The code that entries of this repository may speak of; None: there is none here."""
    project = project_code.code_around(repo)
    if project is None:
        return None
    return CodeFolder(project, repo.options.cwd, repo.options.state_dir, questions=questions)

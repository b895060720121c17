"""What became of the code and the versions that entries speak of.

On the disk, in git's history, in a text.

A look costs a stat: what a file held is kept in the state folder until its stat changes.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from contextlib import suppress
from datetime import date
from difflib import get_close_matches
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app.answers import Stale
from ai_lessons.errors import AiLessonsError, NotFound, Refused, UsageError
from ai_lessons.git import external_files, files, plumbing
from ai_lessons.git.commits import changing, renamed_to, renames, with_folders
from ai_lessons.git.worktree import locate, read_head
from ai_lessons.model import anchors, definitions, expression, layout
from ai_lessons.model.anchors import Anchor, State, Verdict, anchors_of
from ai_lessons.model.entries import GLOBAL_PROJECT, EntrySummary, Filter, Kind, json_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library, Reading, RepositorySession
    from ai_lessons.git.commits import ChangingCommit
    from ai_lessons.git.plumbing import Done
    from ai_lessons.git.worktree import Worktree

# counted up when fingerprints are made in another way
FOLDER = "anchors-2"
# Anchors whose history a hook reads for one telling: a person or agent who asks gets all
UNASKED = 3
# Newest commits of a file whose texts are compared
_COMMITS = 60
_QUOTED = expression(r"(?<!`)`([^`\n]{2,200})`(?!`)")
_FENCE = expression(r"(?ms)^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)")
_A_PATH = expression(
    r"(?:\./)?(?P<path>[\w.@+-]*(?:/[\w.@+-]+)*/?)(?:::(?P<symbol>[\w.$-]+)|:\d+(?:-\d+)?)?"
)
_A_NAME = expression(r"(?P<name>[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*)(?:\(\))?")
_MANIFEST = expression(
    r"(?:uv|poetry|Cargo)\.lock|requirements.*\.txt|package(?:-lock)?\.json|pnpm-lock\.yaml|go\.mod|pyproject\.toml"
)
_OUTDATED = frozenset({Verdict.CHANGED, *anchors.SILENCED})


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


@json_fields("anchor", "verdict", "detail", entry=True)
class EntryAbout(NamedTuple):
    """An entry that speaks of a place, with the anchors that say so and what became of them."""

    entry: EntrySummary
    anchor: str
    verdict: Verdict
    detail: str = ""


def _stamp(path: Path) -> list[int] | None:
    """What shows that a file changed; None where there is none."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return None
    return [
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_size,
        status.st_ino,
        stat.S_IFMT(status.st_mode),
    ]


class _Unexplained(NamedTuple):
    """An anchor that does not hold, with its code as it is now, and the key and stamp of what git says of it."""

    anchor: Anchor
    verdict: Verdict
    now: State | None
    key: str
    stamp: list[Any]


class CodeFolder:
    """The code below one top folder of git, as far as entries speak of it.

    For one job; `close` caches what was seen.

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
        self._commits: dict[str, list[ChangingCommit]] = {}
        self._renames: dict[str, list[str]] = {}
        self._holding: dict[str, list[str]] = {}

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
        names = self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard").names
        paths = []
        for name in dict.fromkeys(names):
            if not name.startswith(self._not_code):
                paths.append(name)
        return tuple(paths)

    def unmatched(self, applies_to: object, project: str) -> list[str]:
        """What is wrong with globs of an entry of this project.

        Those that name no file of this code, if it is its.
        """
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
        stamp = _stamp(file)
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
        index = _stamp(self.worktree.git_dir / "index") or [0]
        stamp = [read_head(self.worktree).commit, index[0], _listed(now), date.today().year]
        key = f"{anchor} {anchor.seen}"
        if kept := self._kept["verdicts"].get(key):
            seen, then, row = kept
            judged = AnchorVerdict(*row)._replace(verdict=Verdict(row[1]))
            if seen == stamp and (
                not judged.place or _listed(self.state(*anchors.parse(judged.place)[:2])) == then
            ):
                return judged
        if now is None and not self._hurries and self._never_was(anchor.path):
            return _verdict_of(anchor, verdict, None, "", now)
        return _Unexplained(anchor, verdict, now, key, stamp)

    def _explained(self, rows: Mapping[str, _Unexplained]) -> dict[str, AnchorVerdict]:
        """The verdicts with what git's history says of them.

        They are kept, with the state of the code where it is.
        """
        explained = {
            key: AnchorVerdict(str(row.anchor), Verdict.ELSEWHERE) for key, row in rows.items()
        }
        gone = {key: row.anchor for key, row in rows.items() if row.verdict is Verdict.GONE}
        places: dict[str, Anchor | None] = {}
        with suppress(AiLessonsError), plumbing.once():
            # git does not answer: nothing is known
            self._read_commits(row.anchor.path for row in rows.values())
            if gone:
                self._read_renames(anchor.path for anchor in gone.values())
            self._read_holding({_last(anchor.symbol) for anchor in gone.values() if anchor.symbol})
            for key, anchor in gone.items():
                with suppress(AiLessonsError):
                    places[key] = self._moved(anchor)
            self._read_commits(place.path for place in places.values() if place)
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
        commit, changes = (None, 0) if verdict is Verdict.MOVED else self._since(anchor, place, now)
        if verdict is Verdict.GONE and commit is None and self._is_on_another_branch(anchor):
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
        before = self._git("cat-file", "blob", f"{commit}:{anchor.path}").out.decode(
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

    # --- git's history ---

    def _git(self, *arguments: str) -> Done:
        """What git answers: nothing where it fails."""
        done = plumbing.run(self.worktree, *arguments)
        if done.code:
            return done._replace(out=b"")
        return done

    @cached_property
    def _ever(self) -> frozenset[str] | None:
        """Every path that a commit of any branch brought, with its folders.

        None: history is too long, or not here.
        """
        flags = (
            "--no-show-signature",
            "--no-renames",
            "--diff-filter=A",
            "--name-only",
            "--format=%x01",
            "-z",
            "-m",
        )
        done = plumbing.run(self.worktree, "log", "-5000", *flags, "--root", "--all", "HEAD", "--")
        if done.code or done.out.count(b"\1") >= 5000:
            # a longer history would cost each look seconds
            return None
        return frozenset(with_folders(name.strip("\1\n") for name in done.names))

    def _never_was(self, path: str) -> bool:
        """Whether history knows nothing of a path that is not here, so that it need not be asked what became of it."""
        name = path.rstrip("/")
        return _stamp(self.top / name) is None and self._ever is not None and name not in self._ever

    def _read_commits(self, paths: Iterable[str]) -> None:
        """Read the newest commits of HEAD that changed each of these files or folders, by one `git log` for all."""
        names = [
            name
            for name in dict.fromkeys(path.rstrip("/") for path in paths)
            if name not in self._commits
        ]
        if names:
            commits = changing(self.worktree, names, _COMMITS * len(names))
        else:
            commits = []
        self._commits |= {name: [] for name in names}
        for commit in commits:
            for name in with_folders(commit.paths).intersection(names):
                self._commits[name].append(commit)
        for name in names if len(commits) == _COMMITS * len(names) > _COMMITS else ():
            if not self._commits[name]:
                # other paths changed so often that the log had no room for these
                del self._commits[name]
                self._read_commits([name])

    def _commits_to(self, *paths: str) -> list[ChangingCommit]:
        """The newest commits to any of these, newest first."""
        self._read_commits(paths)
        parts = []
        for path in paths:
            parts.append(self._commits[path.rstrip("/")])
        if len(parts) == 1:
            return parts[0][:_COMMITS]
        commits = {commit.id: commit for part in parts for commit in part}
        return sorted(commits.values(), key=lambda commit: -commit.time)[:_COMMITS]

    def _moved(self, anchor: Anchor) -> Anchor | None:
        """The anchor where it is now.

        In the file that git says it was renamed to, else the one place of that text.
        """
        renamed = None
        if not _stamp(self.top / anchor.path.rstrip("/")):
            renamed = self._renamed(anchor.path)
        if renamed and self.state(renamed, anchor.symbol):
            return anchor._replace(path=renamed)
        if not anchor.symbol or not (anchor.seen or anchor.value is not None):
            return None
        defining = self.defining(_last(anchor.symbol))
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
        self._read_holding({name})
        holding = self._holding[name]
        # a name that more than 40 files hold tells nothing of where the code went
        for path in holding if len(holding) <= 40 else ():
            with suppress(AiLessonsError):
                for symbol in definitions.names(path, self.text(path)):
                    if re.split(r"\.|::", symbol)[-1] == name:
                        yield path, symbol

    def _read_holding(self, names: set[str]) -> None:
        """Read which files hold these words, for all of them at once."""
        if unread := sorted(names - self._holding.keys()):
            flags = (
                "-o",
                "-z",
                "-w",
                "-F",
                "-I",
                "--untracked",
                "--no-color",
                "--no-recurse-submodules",
            )
            rows = self._git(
                "grep", *flags, *(x for name in unread for x in ("-e", name))
            ).out.splitlines()
            pairs = dict.fromkeys(tuple(os.fsdecode(row).split("\0", 1)) for row in rows)
            self._holding |= {
                name: [path for path, *word in pairs if word == [name]] for name in unread
            }

    def _read_renames(self, paths: Iterable[str]) -> None:
        """Read what the newest commits of these files and folders renamed, and what the disk did since, all at once."""
        newest = {commits[0].id for path in paths if (commits := self._commits_to(path))}
        if unread := (newest | {""}) - self._renames.keys():
            self._renames |= renames(self.worktree, unread)

    def _renamed(self, path: str) -> str | None:
        """The path that a file or folder has by now, as git's similarity says.

        None: it was removed.
        """
        for _ in range(5):
            # a file that was renamed more often is not followed: each step asks git
            self._read_renames([path])
            newer = renamed_to(path, self._renames[""])
            if newer is None and (commits := self._commits_to(path)):
                newer = renamed_to(path, self._renames.get(commits[0].id, []))
            if newer is None:
                return None
            path = newer
            if _stamp(self.top / path.rstrip("/")):
                return path
        return None

    def _is_on_another_branch(self, anchor: Anchor) -> bool:
        """Whether commits that HEAD does not have brought it.

        This branch is only older, or another one.
        """
        if anchor.path.rstrip("/") not in self._on_other_branches:
            return False
        if anchor.symbol:
            named = [f"-S{_last(anchor.symbol)}"]
        else:
            named = []
        flags = ("-1", "--format=%H", *named, "--all", "--not", "HEAD")
        return bool(self._git("log", *flags, "--", anchor.path.rstrip("/")).text)

    @cached_property
    def _on_other_branches(self) -> set[str]:
        """What commits that HEAD does not have changed of the paths whose history was read."""
        flags = ("--format=", "--name-only", "--no-renames", "-z", "--all", "--not", "HEAD")
        return with_folders(self._git("log", *flags, "--", *self._commits).names)

    def _since(
        self, anchor: Anchor, place: Anchor | None, now: State | None
    ) -> tuple[ChangingCommit | None, int]:
        """The commit since which the anchor does not hold (None.

        Not committed), and how many changed it since.
        """
        paths = [*([place.path.rstrip("/")] if place else []), anchor.path.rstrip("/")]
        commits = self._commits_to(*paths)
        later, latest, changes, seen = None, now, 0, 0
        for commit, then in zip(commits, self._states(commits, paths, anchor.symbol), strict=False):
            changes += later is not None and _differ(then, latest)
            if anchors.judged(anchor, then) is Verdict.HOLDS or (
                later is None and _differ(then, now)
            ):
                return later, changes
            later, latest, seen = commit, then, seen + 1
        if seen < len(commits):
            # a partial clone lacks what was before
            return None, changes
        # it was never committed as the anchor has it: all that is known is the last change of what
        # is there
        return commits[0] if commits and now else None, changes

    def _states(
        self, commits: Sequence[ChangingCommit], paths: Sequence[str], symbol: str
    ) -> Iterator[State | None]:
        """How each commit has the symbol, in the first of these paths that it has.

        Up to one that is not here.
        """
        for commit in commits:
            asked = []
            for path in paths:
                asked.append(f"{commit.id}:{path}")
            try:
                objects = plumbing.objects(self.worktree, asked, contents=bool(symbol))
            except AiLessonsError:
                return
            pairs = [
                (path, data)
                for path, (row, data) in zip(paths, objects, strict=True)
                if row[-1].isdigit()
            ]
            if pairs:
                text = pairs[0][1].decode("utf-8", "replace").replace("\r\n", "\n")
            else:
                text = ""
            yield anchors.state(pairs[0][0], text, symbol) if pairs else None

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
                stamps |= {str(folder / name): _stamp(folder / name) for name in names}
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
        version, path = self.pins().get(_package_name(anchor), ("", ""))
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


def _last(symbol: str) -> str:
    return symbol.rpartition(".")[2]


def _differ(a: State | None, b: State | None) -> bool:
    """Whether a symbol means another thing, whatever its comments and docstrings say."""
    return (a and a[:2]) != (b and b[:2])


def _package_name(anchor: Anchor) -> str:
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


# --- entries ---


def code_around(repo: RepositorySession, questions: int | None = None) -> CodeFolder | None:
    """The code that entries of this repository may speak of.

    Around the knowledge, else around the caller's folder.
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


def judge(
    reading: Reading,
    summaries: Sequence[EntrySummary],
    *,
    unasked: bool = False,
    questions: int | None = None,
) -> list[EntrySummary]:
    """The entries, those that state anchors with `verdict` (of the worst), `warning` and `anchors`.

    Where the caller's folder is not their code they stay as they are. `unasked`: history is asked
    little, else so many `questions` (None: all that there are).
    """
    by_repo: dict[int, list[EntrySummary]] = {}
    for summary in summaries:
        if anchors_of(summary.about):
            by_repo.setdefault(id(reading.of(summary.id)), []).append(summary)
    looked: dict[str, list[AnchorVerdict]] = {}
    for group in by_repo.values():
        if code := code_around(reading.of(group[0].id), UNASKED if unasked else questions):
            stated = [
                (summary, anchor) for summary in group for anchor in anchors_of(summary.about)
            ]
            for (summary, _), row in zip(
                stated, code.look_at((a, x.project) for x, a in stated), strict=True
            ):
                looked.setdefault(summary.id, []).append(row)
            code.close()
    judged = []
    for summary in summaries:
        rows = looked.get(summary.id, [])
        worst = max(rows, key=lambda row: row.verdict.rank, default=None)
        if worst and worst.verdict is not Verdict.ELSEWHERE:
            warned = summary._replace(
                verdict=worst.verdict.value, warning=worst.detail, anchors=rows
            )
            judged.append(warned)
        else:
            judged.append(summary)
    return judged


def _judged(reading: Reading) -> list[EntrySummary]:
    """The active entries that speak of code, as `judge` has them."""
    summaries = []
    for summary in reading.catalog.select(Filter()):
        if summary.about:
            summaries.append(summary)
    # the next look reads the history of the rest
    return judge(reading, summaries, questions=20)


def outdated(reading: Reading) -> list[EntrySummary]:
    """Active entries that speak of code here that changed or is gone, or of versions not in use, most changed first."""
    summaries = [summary for summary in _judged(reading) if summary.verdict in _OUTDATED]
    return sorted(summaries, key=lambda summary: -sum(row.changes for row in summary.anchors))


def unmatched(repo: RepositorySession, applies_to: object, project: str) -> list[str]:
    """Notes for a person who writes globs that name no file of the code here."""
    code = None
    if layout.globs(applies_to):
        code = code_around(repo)
    if code:
        return code.unmatched(applies_to, project)
    return []


def elsewhere(reading: Reading) -> list[str]:
    """The names of the code that active entries speak of and that is not here, so nothing is known of them."""
    summaries = []
    for summary in _judged(reading):
        if not summary.verdict:
            summaries.append(summary)
    stated = [
        (anchor, summary)
        for summary in summaries
        for anchor in anchors_of(summary.about)
        if not anchor.package
    ]
    return sorted({anchor.repository or summary.project for anchor, summary in stated})


def stale(reading: RepositorySession) -> list[Stale]:
    """What `outdated` has, as a list of stale sources has it."""
    reading.current()
    results: list[Stale] = []
    for summary in outdated(reading):
        for row in summary.anchors:
            if row.verdict in _OUTDATED:
                results.append(Stale(summary.handle, summary.title, row.anchor, row.detail))
    return results


def about(library: Library, place: str) -> tuple[EntryAbout, ...]:
    """The active entries that speak of a file, a folder and what is below it, a symbol in a file, or a command.

    Raises UsageError: it names no place.
    """
    reading = library.reading
    reading.current()
    cwd = library.primary.options.cwd
    _, _, commands = anchors.sorted_out([place])
    if commands:
        spoken = (
            (summary, command)
            for summary in reading.catalog.select(Filter())
            for command in _commands(summary)
        )
        results = []
        for x, y in spoken:
            if _same(y, commands[0]):
                results.append(EntryAbout(x, f"command: {y}", Verdict.HOLDS))
        return tuple(results)
    asked_places = _by_each_name(
        _typed(place, cwd, external_files.top_of(cwd)), external_files.top_of(cwd)
    )
    names = []
    for asked in asked_places:
        if not asked.symbol:
            names.append(asked.path)
    hits = [
        EntryAbout(summary, glob, Verdict.HOLDS)
        for summary in reading.catalog.about_files(frozenset({Kind.RULE, Kind.LESSON}))
        for glob in layout.stated(summary.applies_to)
        if names and layout.any_match([glob], names)
    ]
    for summary in _judged(reading):
        verdicts = {row.anchor: row for row in summary.anchors}
        for anchor in anchors_of(summary.about):
            row = verdicts.get(str(anchor), AnchorVerdict(str(anchor), Verdict.ELSEWHERE))
            spoken_of = [anchor, *([anchors.parse(row.place)] if row.place else [])]
            if any(_concerns(each, asked) for each in spoken_of for asked in asked_places):
                hits.append(EntryAbout(summary, str(anchor), row.verdict, row.detail))
    by_entry: dict[str, list[EntryAbout]] = {}
    for hit in hits:
        by_entry.setdefault(hit.entry.id, []).append(hit)
    rows = []
    for group in by_entry.values():
        rows.append(_as_one(group))
    return tuple(rows)


def _by_each_name(asked: Anchor, top: Path | None) -> list[Anchor]:
    """A place as it is called, and as it lies in the code, where a link leads to it."""
    if asked.package or top is None:
        return [asked]
    real = os.path.realpath(top / asked.path)
    name = os.path.relpath(real, os.path.realpath(top)) + "/" * asked.path.endswith("/")
    if name.startswith("..") or name == asked.path:
        return [asked]
    return [asked, asked._replace(path=name)]


def _as_one(hits: Sequence[EntryAbout]) -> EntryAbout:
    """One entry once, with all that it names there, and what became of the first of these that changed."""
    worst = next((hit for hit in hits if hit.verdict is not Verdict.HOLDS), hits[0])
    return worst._replace(anchor=", ".join(dict.fromkeys(hit.anchor for hit in hits)))


def _commands(summary: EntrySummary) -> tuple[str, ...]:
    return anchors.commands_of(summary.about)


def _same(stated: str, asked: str) -> bool:
    """Whether one of two commands goes on where the other ends."""
    return f"{stated} ".startswith(f"{asked} ") or f"{asked} ".startswith(f"{stated} ")


def _concerns(anchor: Anchor, asked: Anchor) -> bool:
    """Whether an anchor is about a place, what is in it, or what it is in."""
    if anchor.package or asked.package:
        return anchor.package == asked.package
    a, b = f"{anchor.path.rstrip('/')}/", f"{asked.path.rstrip('/')}/"
    if a != b:
        return a.startswith(b) or (b.startswith(a) and not anchor.symbol)
    first, second = f"{anchor.symbol}.", f"{asked.symbol}."
    return (
        not (anchor.symbol and asked.symbol) or first.startswith(second) or second.startswith(first)
    )


class Touched(NamedTuple):
    """An entry that speaks of what a change touches, by which anchor, and where that is."""

    entry: EntrySummary
    anchor: str
    line: int
    path: str


def entries_about(library: Library, changed: Mapping[str, Iterable[int]]) -> list[Touched]:
    """The active entries that speak of what a change touches, each once for each of its anchors, by path and line.

    `changed` has the lines of each file, as it is now and from 1; a file without lines was removed or renamed.
    """
    reading = library.reading
    reading.current()
    touched = {path: {*lines} for path, lines in changed.items()}
    code = code_around(library.primary)
    hits = []
    for summary in _judged(reading):
        for row in summary.anchors:
            anchor = anchors.parse(row.anchor)
            for path, lines in touched.items():
                if (
                    row.verdict is not Verdict.ELSEWHERE
                    and not anchor.package
                    and _concerns(anchor, Anchor(path))
                ):
                    line = _touched_line(code, anchor, path, lines)
                    if line or row.verdict is not Verdict.HOLDS:
                        hits.append(
                            Touched(summary, row.anchor, line or min(lines, default=1), path)
                        )
    hits.sort(key=lambda hit: (hit.path, hit.line, hit.entry.id))
    return list({(hit.entry.id, hit.anchor): hit for hit in reversed(hits)}.values())[::-1]


def _touched_line(code: CodeFolder | None, anchor: Anchor, path: str, lines: set[int]) -> int:
    """The first of these lines that is of the anchor's; 0: none of them is."""
    if not anchor.symbol or anchor.path != path:
        return min(lines, default=1)
    part = None
    with suppress(AiLessonsError):
        part = None
        if code:
            part = definitions.definition(path, code.text(path), anchor.symbol)
    if part:
        spans = part.lines
    else:
        spans = ()
    return min(
        (line for line in lines for first, last in spans if first <= line <= last), default=0
    )


# --- writing ---


class Spoken(NamedTuple):
    """What an entry is about, as its file has it: the value of `about`, globs for `applies_to`.

    And notes.
    """

    about: list[dict[str, str]]
    globs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def stated(repo: RepositorySession, texts: Iterable[str] | None, text: str, project: str) -> Spoken:
    """What `--about` says in the words of people, else what a text names.

    `texts` None: neither. A name with `*`, `?`, `[` or `{` is a glob, unless a file here is called
    so. Raises UsageError: it is no anchor, or too many. NotFound: it is not in the code here; names
    the nearest.
    """
    named = list(dict.fromkeys(texts or ()))
    code, globs, commands = anchors.sorted_out(named)
    called = []
    for glob in globs:
        if os.path.lexists(repo.options.cwd / glob):
            called.append(glob)
    code, globs = [*code, *called], [glob for glob in globs if glob not in called]
    if len(code) + len(commands) > anchors.MOST:
        hint = "name what the entry stands or falls with"
        raise UsageError(
            f"{len(code) + len(commands)} anchors, more than {anchors.MOST}", hint=hint
        )
    items, notes = _anchored(
        repo, None if texts is None or (named and not code) else code, text, project
    )
    return Spoken(
        [*items, *({"command": command} for command in commands)], tuple(globs), tuple(notes)
    )


def _anchored(
    repo: RepositorySession, texts: Sequence[str] | None, text: str, project: str
) -> tuple[list[dict[str, str]], list[str]]:
    """The anchors of `stated` for pieces of code; without any for what a text names, with a note.

    None: for neither.
    """
    named = list(texts or ())
    if texts is None or (not named and not _QUOTED.search(text)):
        return [], []
    code = code_around(repo)
    if code is None:
        if not named:
            return [], []
        raise Refused(
            "there is no code here to look at",
            hint="call it in the git repository that the entry speaks of",
        )
    try:
        if named:
            chosen = [_resolved(code, each, repo.options.cwd) for each in named]
        else:
            chosen = _proposed(code, text)
    finally:
        code.close()
    if not code.whole and not code.is_called(project):
        chosen = [
            each if each.package else each._replace(repository=code.names[0]) for each in chosen
        ]
    notes = [
        f"speaks of {', '.join(map(str, chosen))}, as its text does (--no-about leaves that out)"
    ]
    return [each.fields for each in dict.fromkeys(chosen)], notes if chosen and not named else []


def of_session(
    repo: RepositorySession, edited: Iterable[str], programs: Iterable[str], project: str
) -> list[str]:
    """Anchors for what a session taught.

    The files that were edited in it, and the versions like those in use here.

    None where the caller's folder is not the code of the project.
    """
    code = code_around(repo)
    if code is None or not (code.whole or code.is_called(project)):
        return []
    pins = {}
    for program in programs:
        pins[program] = code.pins().get(f"pypi/{program}", ("", ""))[0]
    inside = (os.path.relpath(code.top / file, code.top) for file in edited)
    paths = []
    for path in dict.fromkeys(inside):
        if path in code.paths:
            paths.append(path)
    code.close()
    versions = [
        f"pypi/{program}^{version[1:]}"
        for program, version in pins.items()
        if version.startswith("@")
    ]
    return [*paths, *versions][: anchors.MOST]


def _typed(text: str, cwd: Path, top: Path | None) -> Anchor:
    """An anchor as it was typed: from the top of the repository, else from the caller's folder.

    Raises UsageError.
    """
    path, mark, tail = text.strip().partition("::")
    whole = os.path.normpath(cwd / os.path.expanduser(path))
    try:
        with suppress(ValueError):
            anchor = anchors.parse(text)
            if (
                anchor.package
                or top is None
                or os.path.lexists(top / anchor.path)
                or not os.path.lexists(whole)
            ):
                return anchor
        base = top
        if os.path.isabs(os.path.expanduser(path)):
            base = external_files.top_of(Path(whole).parent) or top or cwd
        if base and whole.startswith(f"{base}{os.sep}"):
            text = os.path.relpath(whole, base) + "/" * path.endswith("/") + mark + tail
        return anchors.parse(text)
    except ValueError as error:
        hint = "path, path::symbol, path::NAME=value or pypi/name<8.2"
        raise UsageError(f"{text!r} names no code: {error}", hint=hint) from error


def _resolved(code: CodeFolder, text: str, cwd: Path) -> Anchor:
    """The anchor of a text with the fingerprint of what is there now.

    Raises NotFound, UsageError; as `state`.
    """
    anchor = _typed(text, cwd, code.top)
    if anchor.package:
        return _resolved_package(code, anchor)
    if _stamp(code.top / anchor.path.rstrip("/")) is None:
        name = anchor.path.rpartition("/")[2]
        near = get_close_matches(anchor.path, code.paths, 3, 0.4) or [
            x for x in code.paths if x.endswith(f"/{name}")
        ]
        raise NotFound("file or folder", anchor.path, hint=_near(near[:3]))
    now = code.state(anchor.path, anchor.symbol)
    if now == anchors.UNREADABLE:
        raise UsageError(
            f"Python cannot parse {anchor.path}", hint="mend it, or name the file alone"
        )
    if now is None:
        every = definitions.names(anchor.path, code.text(anchor.path))
        last = anchor.symbol.rpartition(".")[2]
        near = [x for x in every if x.rpartition(".")[2] == last][:3] or get_close_matches(
            anchor.symbol, every, 3, 0.4
        )
        raise NotFound(f"name in {anchor.path}", anchor.symbol, hint=_near(near))
    if anchor.value is not None and anchors.judged(anchor, now) is not Verdict.HOLDS:
        if now.value is not None:
            held = f"{anchor.symbol}={now.value}"
        else:
            held = f"no plain value for {anchor.symbol}"
        raise NotFound(
            f"value in {anchor.path}", f"{anchor.symbol}={anchor.value}", hint=f"it has {held}"
        )
    if anchor.value is not None:
        return anchor
    return anchor._replace(seen=now.fingerprint)


def _resolved_package(code: CodeFolder, anchor: Anchor) -> Anchor:
    pins = code.pins()
    version, path = pins.get(_package_name(anchor), ("", ""))
    if not version:
        near = get_close_matches(_package_name(anchor), pins, 3, 0.5)
        raise NotFound("package that this project pins", anchor.package, hint=_near(near))
    if not anchors.in_range(anchor.versions, version):
        hint = "name versions that it holds for"
        raise UsageError(
            f"{anchor} does not hold here: {path} has {version.lstrip('@')}", hint=hint
        )
    return anchor


def _near(names: Iterable[str]) -> str:
    listed = " or ".join(names)
    if listed:
        return f"did you mean {listed}?"
    return "--no-about leaves it out"


def _proposed(code: CodeFolder, text: str) -> list[Anchor]:
    """The files and symbols that a text names in backticks, each of which is one place here."""
    symbols, paths = list[Anchor](), list[Anchor]()
    # a doc may have thousands of words in backticks: each costs a look
    for quoted in islice(dict.fromkeys(_QUOTED.findall(_FENCE.sub("", text))), 30):
        anchor = _place_named(code, quoted.strip())
        if anchor is not None:
            (symbols if anchor.symbol else paths).append(anchor)
        if len(symbols) == anchors.MOST:
            break
    within = {anchor.path for anchor in symbols}
    return [
        *dict.fromkeys(symbols),
        *dict.fromkeys(path for path in paths if path.path not in within),
    ][: anchors.MOST]


def _place_named(code: CodeFolder, quoted: str) -> Anchor | None:
    """The one place that a word in backticks names; None: none, or several."""
    name = _A_NAME.fullmatch(quoted)
    if (
        (match := _A_PATH.fullmatch(quoted))
        and match["path"]
        and ("/" in match["path"] or "." in match["path"])
    ):
        path, symbol = match["path"], match["symbol"] or ""
        matches = {x for x in code.paths if x == path} or {
            x for x in code.paths if x.endswith(f"/{path}")
        }
        if (
            "/" in path
            and not matches
            and any(x.startswith(f"{path.rstrip('/')}/") for x in code.paths)
        ):
            return Anchor(path)
        if len(matches) == 1:
            with suppress(AiLessonsError):
                place = Anchor(next(iter(matches)), symbol)
                now = code.state(place.path, symbol)
                if now:
                    return place._replace(seen=now.fingerprint)
                return None
        if matches or not name:
            return None
    if not name or len(name["name"]) < 3:
        return None
    whole = name["name"].replace("::", ".")
    defining = code.defining(whole.rpartition(".")[2])
    places = {(path, symbol) for path, symbol in defining if f".{symbol}".endswith(f".{whole}")}
    if len(places) != 1:
        return None
    path, symbol = places.pop()
    now = code.state(path, symbol)
    if now:
        return Anchor(path, symbol, seen=now.fingerprint)
    return None


class Renewed(NamedTuple):
    """What a new look at the code of an entry found: the value of `about` (None.

    Nothing of it is to be changed).

    `changed`: each changed place, old and new. `outdated`: what the text still states of the old
    code.
    """

    about: list[dict[str, str]] | None = None
    notes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


def looked_again(repo: RepositorySession, summary: EntrySummary, text: str) -> Renewed:
    """The code of an entry as it is now, for a person who says that it still holds.

    `text` is all that it says.

    What is gone is left out, because nothing is there to look at.
    """
    stated_anchors = anchors_of(summary.about)
    code = None
    if stated_anchors:
        code = code_around(repo)
    if code is None:
        return Renewed(
            notes=("its code is not here, so it was not looked at",) if stated_anchors else ()
        )
    renewed, notes, changed, outdated = list[Anchor](), list[str](), list[str](), list[str]()
    for anchor in stated_anchors:
        row = code.look(anchor, summary.project)
        if row.verdict in anchors.SILENCED:
            notes.append(f"{anchor} is no more looked at: {row.detail}")
            continue
        if row.verdict is Verdict.ELSEWHERE:
            notes.append(f"{anchor} is not here, so it was not looked at")
        if row.place:
            place = anchors.parse(row.place)._replace(repository=anchor.repository)
        else:
            place = anchor
        unseen = (
            row.verdict is Verdict.HOLDS
            and anchor.value is None
            and not (anchor.seen or anchor.package)
        )
        look = unseen or row.verdict in {Verdict.CHANGED, Verdict.MOVED}
        now = None
        if look:
            now = code.state(place.path, place.symbol)
        if now and row.verdict is Verdict.CHANGED:
            old, new = code.sides(anchor, row)
            if anchor.value is not None:
                old, new = definitions.plain(anchor.value), now.value or new
            changed.append(f"{anchor._replace(value=None)} {_old_and_new(old, new or '')}")
            outdated += anchors.still_stated(text, old, new or "", value=anchor.value is not None)
        if now is None:
            renewed.append(anchor)
        elif anchor.value is not None and now.value is not None:
            if anchor.value[:1] in "\"'":
                value = json.dumps(now.value, ensure_ascii=False)
            else:
                value = now.value
            renewed.append(place._replace(value=value))
        else:
            renewed.append(place._replace(value=None, seen=now.fingerprint))
    code.close()
    about = None
    if renewed != list(stated_anchors):
        commands = ({"command": command} for command in anchors.commands_of(summary.about))
        about = [*(anchor.fields for anchor in renewed), *commands]
    return Renewed(about, tuple(notes), tuple(changed), tuple(dict.fromkeys(outdated)))


def _old_and_new(old: str, new: str) -> str:
    """The lines that differ, as a sentence has room for them."""
    if not old:
        return "changed, and git does not have it as it was"
    before, after = ([line.strip() for line in text.splitlines()] for text in (old, new))
    gone, come = (
        [x for x in ours if x not in theirs] for ours, theirs in ((before, after), (after, before))
    )
    # as much code as a sentence bears
    was, now = (" ".join(lines)[:200] or "less" for lines in (gone, come))
    return f"was {was}, and is {now}"


def code_diff(repo: RepositorySession, summary: EntrySummary) -> str:
    """How the code that an entry speaks of differs from what it was when the entry was written, as far as git knows."""
    code = code_around(repo)
    parts = []
    for anchor in anchors_of(summary.about):
        if code:
            parts.append(code.diff(anchor, code.look(anchor, summary.project)))
    return "\n".join(filter(None, parts))

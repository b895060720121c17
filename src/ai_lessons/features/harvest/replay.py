"""What stored entries would have changed in past sessions: they are played again, and nothing is written."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import telling
from ai_lessons.app import secrets
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.harvest.memory import Memory
from ai_lessons.features.harvest.sessions import sessions, transcripts, unread_notes
from ai_lessons.features.harvest.walls import FOLDER
from ai_lessons.model import command_forms, expression, failures, simple_commands
from ai_lessons.model.outcomes import carried_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from ai_lessons.app.answers import Context
    from ai_lessons.app.workspace import Library
    from ai_lessons.model import Where
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.model.transcripts import Step, Transcript

# As `draft_texts.quotes_of` writes it
_QUOTED_SESSION = expression(r"\bsession ([\w.:@/+-]+)\)")
# Failures that nothing helps with that are named, and characters of each
NAMED, _LONGEST = 20, 200


class Unhelped(NamedTuple):
    """A failure at which nothing would have been told, and how often it happened."""

    failure: str
    times: int


class Replay(NamedTuple):
    """What would have been told in `sessions` with so many `calls` and `failures`.

    `before`: tellings before a command, `before_right` of them before one that failed; `warned`:
    failures of a command of which that session had been told before. `at_failures`: failures at
    which something would have been told, `at_failures_right` of them rightly. `helped`: failures
    that were warned of or helped at. `characters` of all that would have been told; `unhelped`: the
    commonest failures at and before which nothing would have been told. Sessions from which an
    entry came that they would be told count in the three figures before it, and in nothing else.
    """

    sessions: int
    calls: int
    failures: int
    before: int
    before_right: int
    warned: int
    at_failures: int
    at_failures_right: int
    helped: int
    characters: int
    sessions_apart: int
    failures_apart: int
    helped_apart: int
    unhelped: tuple[Unhelped, ...]
    notes: tuple[str, ...] = ()


class _Failure(NamedTuple):
    """A command with its output (`error`), and the folders.

    Those that it was called in and that the session began in.
    """

    error: str
    folders: tuple[str, str]


def replay(
    library: Library, where: Where, folder: str = "", *, since: datetime | None = None
) -> Replay:
    """Play what is stored now against the transcripts of all hosts, or those in `folder`.

    Raises NotFound: no such folder.
    """
    options = library.reading.options
    counts = Counter[str]()
    unhelped: dict[str, list[_Failure]] = defaultdict(list)
    unread_files: dict[str, list[Path]] = {}
    taught = Memory(options.state_dir / FOLDER).taught

    @cache
    def sources(entry_id: str) -> frozenset[str]:
        return _sources(library, taught, entry_id)

    files = transcripts(where, options.cwd, folder, since)
    for file, _ in options.each("replaying transcripts", files):
        try:
            played = list(sessions(file))
        except AiLessonsError as error:
            # the others can be read
            unread_files.setdefault(error.message, []).append(file)
            continue
        for transcript in played:
            session = _PlayedSession(library, transcript)
            session.play()
            if session.taught_any(sources):
                for name, number in session.counts.items():
                    counts[f"{name}_apart"] += number
                continue
            counts.update(session.counts)
            for text, failure in session.unhelped:
                unhelped[text].append(failure)
    names = Replay._fields[: Replay._fields.index("unhelped")]
    figures = [counts[name] for name in names]
    notes = (*unread_notes(unread_files), *library.reading.notes())
    return Replay._make([*figures, tuple(_commonest(library, unhelped)), notes])


def _commonest(library: Library, unhelped: Mapping[str, Sequence[_Failure]]) -> Iterator[Unhelped]:
    """The commonest failures that nothing helps with, by their text."""
    commonest = sorted(unhelped.items(), key=lambda row: len(row[1]), reverse=True)
    named = 0
    # live, a helper compares them by meaning, too: of the many that are played only those are that
    # would be named
    for text, times in commonest[: 2 * NAMED]:
        error, folders = times[0]
        if named == NAMED or telling.offers.at_a_failure(library, error, (), folders).entries:
            continue
        named += 1
        yield Unhelped(secrets.masked(text), len(times))


def _sources(
    library: Library, taught: Mapping[str, Sequence[str]], entry_id: str
) -> frozenset[str]:
    """The sessions that an entry came from: its draft's, those it quotes, those that wrote it.

    An entry that is told to the session that taught it would prove nothing.
    """
    repo = library.reading.of(entry_id)
    entry, _ = repo.load(entry_id)
    names = set(taught.get(entry_id, ()))
    names.update(_QUOTED_SESSION.findall(entry.body))
    for revision in repo.history.log(entry.path):
        names.add(revision.trailers.get("Session", ""))
    return frozenset(names)


class _PlayedSession:
    """One session, gone through as hooks would have: the figures, and the failures without help."""

    def __init__(self, library: Library, transcript: Transcript) -> None:
        self._opened, self._transcript = library, transcript
        self.counts = Counter(sessions=1)
        self.unhelped: list[tuple[str, _Failure]] = []
        # what was told before a command, by id, and at failures
        self._warnings: dict[str, EntrySummary] = {}
        self._helped: set[str] = set()

    def taught_any(self, sources: Callable[[str], frozenset[str]]) -> bool:
        """Whether an entry that was told came from this session."""
        session = self._transcript.session
        return any(session in sources(name) for name in (*self._helped, *self._warnings))

    def play(self) -> None:
        """Ask before each command, and at each failure."""
        steps = []
        for step in self._transcript.steps:
            if step.sort == "command" and step.failed is not None:
                steps.append(step)
        for at, step in enumerate(steps):
            self._before(step)
            if step.failed:
                self._at_failure(step, steps[at + 1 :])

    def _folders(self, step: Step) -> tuple[str, str]:
        return step.cwd, self._transcript.first_cwd

    def _before(self, step: Step) -> None:
        shown = {*self._helped, *self._warnings}
        offered = telling.offers.before_a_tool(
            self._opened, (), step.text, self._folders(step), shown
        )
        for summary in offered.entries:
            self._warnings[summary.id] = summary
        self.counts["calls"] += 1
        self.counts["characters"] += _length(offered)
        if offered.entries:
            self.counts["before"] += 1
            self.counts["before_right"] += bool(step.failed)

    def _at_failure(self, step: Step, later: Sequence[Step]) -> None:
        failure = _Failure(f"$ {step.text}\n{step.output}", self._folders(step))
        warned = self._was_warned(failure, step.cwd)
        offered = telling.offers.at_a_failure(
            self._opened, failure.error, self._helped, failure.folders, words=True
        )
        for summary in offered.entries:
            self._helped.add(summary.id)
        right = _says_what_worked(offered, step, later)
        self.counts["failures"] += 1
        self.counts["at_failures"] += bool(offered.entries)
        self.counts["at_failures_right"] += right
        self.counts["warned"] += warned
        self.counts["helped"] += warned or right
        self.counts["characters"] += _length(offered)
        if not (warned or offered.entries or offered.ran_next):
            text = f"{_attempt(step.text)}: {failures.headline(step.output)}"
            self.unhelped.append((text[:_LONGEST], failure))

    def _was_warned(self, failure: _Failure, cwd: str) -> bool:
        """Whether the session was told before of the command that is to blame."""
        call = command_forms.blamed_call(failure.error, cwd)
        for summary in self._warnings.values():
            if command_forms.fits(command_forms.named_commands(summary), call):
                return True
        return False


def _says_what_worked(offered: Context, failed: Step, later: Sequence[Step]) -> bool:
    """Whether something that is told says what one of the next commands did that worked."""
    worked = [step.text for step in later if step.failed is False]
    for summary in offered.entries:
        does = _words(offered, summary)
        # The way out is looked for among so many commands that worked next: later ones do something
        # else
        if any(carried_out(does, line, failed.text) for line in worked[:5]):
            return True
    return False


def _words(offered: Context, summary: EntrySummary) -> str:
    """What an entry says to do: its pattern, else its text."""
    return summary.stated.pattern or offered.texts.get(summary.id, "")


def _length(offered: Context) -> int:
    """Characters of the entries that are told."""
    length = 0
    for summary in offered.entries:
        length += len(f"{summary.title} {_words(offered, summary)}")
    return length


def _attempt(command: str) -> str:
    """What a command line tries, in short: its first attempt, else its program."""
    for attempt in simple_commands.attempts(command):
        return attempt
    return " ".join(simple_commands.programs(command)[:1])

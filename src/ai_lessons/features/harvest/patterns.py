"""Commands that fail more often than not, and what works in their place.

Learned from many sessions. Pure.

A `Form` is the stable part of a command: its program, the program with its next words, or the name
of the folder that the command stands in. `learn` counts how often each form was called and failed,
and what was most often the way out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.harvest.calls import UNSAID, Difference, Happened, is_general
from ai_lessons.features.harvest.counts import BAR, LEAST_SESSIONS, CallCounts
from ai_lessons.model import expression, failures
from ai_lessons.model.command_forms import FORM_WORDS, Form, forms, inside
from ai_lessons.model.plain import count
from ai_lessons.model.simple_commands import ANSWERS_BY_FAILING, attempts, base_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.model.failures import Shape

# Differences that count when one session had them: a difference of words says what it was about
_ONCE = frozenset(("words", "prefix", "after"))
# Characters of a message, and messages of a pattern: a draft shows each in one line
_MESSAGE, _MESSAGES = 120, 3
# what an agent host writes in place of an output: no lesson about the command
_HOST = expression(
    r"(?i)tool_use_error|user doesn't want to (?:proceed|take this action)|interrupted by (?:the )?user|"
    r"requires? approval|permission to use|was (?:blocked|denied) by|cancelled: parallel tool call|"
    r"running in (?:the )?background|hook (?:error|blocked)"
)


class CommandPattern(NamedTuple):
    """Forms that fail, what to do in their place, and what that rests on.

    One form, or several inside of one folder.

    `before`: it fails more often than not, and may be told before it is run. `messages` are lines
    that failures of it said, the commonest first; `worked` in how many of its failures that was the
    way out. `examples` are failures of it, newest first.
    """

    forms: tuple[Form, ...]
    does: Difference | None
    before: bool
    seen: CallCounts
    worked: int
    messages: tuple[str, ...]
    examples: tuple[Happened, ...]
    done: tuple[str, ...] = ()


def learn(every: Sequence[Happened]) -> list[CommandPattern]:
    """The patterns of calls in order of time.

    Those to show before a command, then those for a failure.

    A general form comes before the specific ones, which count only what it does not explain.
    """
    left = list(every)
    patterns: list[CommandPattern] = []
    # level 0: the forms of commands that name the folder which they stand in
    for level in range(FORM_WORDS + 1):
        calls = _FormCalls(left, level)
        explained: dict[str, list[Form]] = defaultdict(list)
        for several in calls.failing():
            pattern = _pattern(several, calls.number(several), calls.failures(several), before=True)
            if pattern is None or pattern.does is None:
                continue
            if level == 0 and pattern.does.how != "inside":
                continue
            patterns.append(pattern)
            for form in pattern.forms:
                explained[form.words[0]].append(form)
        left = [call for call in left if not call.fits(explained.get(base_name(call.words[0]), ()))]
    return [*patterns, *_at_failures(left)]


class _FormCalls:
    """How often each form of one level was called, and when it failed."""

    def __init__(self, calls: Iterable[Happened], level: int) -> None:
        self._calls = Counter[Form]()
        self._failed: dict[Form, list[Happened]] = defaultdict(list)
        for call in calls:
            form = _form_of(call, level)
            if form is None:
                continue
            self._calls[form] += 1
            if call.failed:
                self._failed[form].append(call)

    def number(self, several: Iterable[Form]) -> int:
        """How often these forms were called."""
        return sum(self._calls[form] for form in several)

    def failures(self, several: Iterable[Form]) -> list[Happened]:
        """The failures of these forms."""
        failed: list[Happened] = []
        for form in several:
            failed += self._failed[form]
        return failed

    def failing(self) -> list[tuple[Form, ...]]:
        """The forms that fail more often than not.

        Those inside of one folder are one pattern.
        """
        together: dict[object, list[Form]] = defaultdict(list)
        for form, number in self._calls.items():
            counts = _counts(number, self._failed[form])
            if counts.sessions >= LEAST_SESSIONS and counts.least > BAR:
                together[form.inside or form].append(form)
        return [tuple(several) for several in together.values()]


def _form_of(call: Happened, level: int) -> Form | None:
    """The form of a call with so many words, 0: with its folder; None of what only looks."""
    if level == 0:
        form = inside(call.words, call.folder)
    else:
        every = list(forms(call.words))
        if len(every) < level:
            return None
        form = every[level - 1]
    if form is None:
        return None
    # a look that finds nothing has not failed, but into a folder one goes in earnest
    if form.words[0] != "cd" and form.words[0] in ANSWERS_BY_FAILING:
        return None
    return form


def _counts(calls: int, failed: Sequence[Happened]) -> CallCounts:
    return CallCounts(calls, len(failed), len(_sessions(failed)))


def _sessions(calls: Iterable[Happened]) -> set[str]:
    return {call.session for call in calls}


class _Failures(NamedTuple):
    """Failures of one kind, as the words of the first say."""

    shape: Shape
    calls: list[Happened]


def _at_failures(left: Iterable[Happened]) -> Iterator[CommandPattern]:
    """One pattern for each distinct failure of an attempt."""
    kinds: dict[str, list[_Failures]] = defaultdict(list)
    calls: Counter[str] = Counter()
    for call in left:
        attempt = next(iter(attempts(" ".join(call.words))), "")
        calls[attempt] += 1
        if not call.failed or not attempt or _HOST.search(call.output):
            continue
        shape = failures.shape(failures.headline(call.output))
        # Words of a failure without names and numbers: `error: failed` alone tells nothing
        if len(failures.words_of(shape)) < 3:
            continue
        same = _same_kind(shape, kinds[attempt])
        if same:
            same.calls.append(call)
        else:
            kinds[attempt].append(_Failures(shape, [call]))
    for attempt, several in kinds.items():
        form = Form(tuple(attempt.split()))
        for kind in several:
            pattern = _pattern((form,), calls[attempt], kind.calls, before=False)
            if pattern:
                yield pattern


def _same_kind(shape: Shape, kinds: Sequence[_Failures]) -> _Failures | None:
    """The newest of these kinds that a failure is of."""
    for kind in reversed(kinds[-failures.COMPARED :]):
        if failures.alike(shape, kind.shape, {}) >= failures.SAME:
            return kind
    return None


def _pattern(
    named: tuple[Form, ...], calls: int, failed: Sequence[Happened], *, before: bool
) -> CommandPattern | None:
    """The common way out of the failures of these forms; None if no lesson could state it."""
    counts = _counts(calls, failed)
    ways = _ways_of(failed)
    way = _way_out(ways, named, counts, before=before)
    if way is None and counts.sessions < LEAST_SESSIONS:
        return None
    worked = 0
    if way:
        worked = len(ways[way])
    done = Counter(call.done for call in failed if call.done)
    newest_first = sorted(failed, key=lambda call: call.at, reverse=True)
    return CommandPattern(
        forms=named,
        does=way,
        before=before,
        seen=counts,
        worked=worked,
        messages=tuple(_messages(failed)),
        examples=tuple(newest_first),
        done=tuple(line for line, _ in done.most_common(3)),
    )


def _ways_of(failed: Iterable[Happened]) -> dict[Difference, list[str]]:
    """What worked in the place of failures, with the session of each."""
    ways: dict[Difference, list[str]] = defaultdict(list)
    for call in failed:
        for way in call.ways:
            ways[way].append(call.session)
    return ways


def _way_out(
    ways: Mapping[Difference, Sequence[str]],
    named: Iterable[Form],
    counts: CallCounts,
    *,
    before: bool,
) -> Difference | None:
    """The way out of a failure that a draft may name."""
    if not ways:
        return None
    best = max(ways, key=lambda way: len(ways[way]))
    sessions = len(set(ways[best]))
    if not before and 2 * sessions <= counts.sessions:
        # in a minority of the sessions
        return None
    every = sum(map(len, ways.values()))
    # Share of the failures with any way out that had this one, for a draft to name it
    if len(ways[best]) < 0.5 * every or not is_general(best.does):
        return None
    if sessions >= LEAST_SESSIONS:
        return best
    # seen once, only a difference of words says what it was about
    is_of_words = counts.sessions < LEAST_SESSIONS and best.how in _ONCE
    if is_of_words and all(is_general(str(form)) for form in named):
        return best
    return None


def _messages(failed: Iterable[Happened]) -> Iterator[str]:
    """The commonest lines that failures said, without what they are about."""
    lines = Counter[str]()
    for call in failed:
        message = failures.NAMES.sub(UNSAID, failures.headline(call.output))
        lines[" ".join(message.split())[:_MESSAGE]] += 1
    for line, _ in lines.most_common(_MESSAGES):
        if line:
            yield line


def is_wall(pattern: CommandPattern, every: Iterable[Happened]) -> bool:
    """Whether nobody gets past a failure.

    The command worked in under half of its sessions, and not since.
    """
    failed = _sessions(pattern.examples)
    # Sessions that did not get past a failure, after which the agent is told not to try the same
    # again
    if pattern.does or len(failed) < 3:
        return False
    last = pattern.examples[0]
    solved = set()
    for call in every:
        if call.failed or call.project != last.project or not call.fits(pattern.forms):
            continue
        if call.at > last.at:
            return False
        if call.session in failed:
            solved.add(call.session)
    return 2 * len(solved) < len(failed)


class PatternText(NamedTuple):
    """Title, WHEN, DO and BECAUSE of a pattern.

    `do` is empty where only a person can say what helps.
    """

    title: str
    when: str
    do: str
    because: str


def texts(pattern: CommandPattern) -> PatternText:
    """What a lesson says of a pattern."""
    message = "it fails"
    if pattern.messages:
        message = pattern.messages[0]
    first = pattern.forms[0]
    # Forms that are named in a text: the first tell which commands are meant
    named = _either(f"`{form}`" for form in pattern.forms[:4])
    do = _does(pattern)
    if pattern.before:
        when = f"running {named}"
        title = f"`{first}` fails here: {do}"
    else:
        when = f"{named} fails: {message}"
        title = f"`{first}`: {message}"
    if first.inside:
        when = f"inside `{first.inside}`, {when}"
        title = f"`{first}` fails inside `{first.inside}`"
    return PatternText(title, when, do, _because(pattern, message))


def _does(pattern: CommandPattern) -> str:
    """The DO of a pattern; empty without a way out."""
    if pattern.does is None:
        return ""
    if pattern.does.how != "inside":
        return pattern.does.does
    # what is to be left out is the `cd`, or the words behind the program
    lead = Form(pattern.forms[0].words[1:])
    for form in pattern.forms:
        if form.words[0] == "cd":
            lead = form
            break
    return pattern.does._replace(old=str(lead)).does


def _because(pattern: CommandPattern, message: str) -> str:
    """What a pattern rests on."""
    counts = pattern.seen
    sessions = count(counts.sessions, "session")
    worked = ""
    if pattern.worked:
        worked = f"; this worked in {pattern.worked}"
    if not pattern.before:
        return f"it failed in {sessions}{worked}"
    failed = f"failed {counts.failures} of {counts.calls} times, in {sessions}"
    return f"{message} ({failed}{worked})"


def _either(names: Iterable[str]) -> str:
    """The names with commas, the last behind `or`."""
    *earlier, last = names
    if earlier:
        return f"{', '.join(earlier)} or {last}"
    return last

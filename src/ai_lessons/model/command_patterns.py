"""Commands that fail more often than not, and what works in their place.

Learned from many sessions. Pure.

A `Form` is the stable part of a command: its program, the program with its next words, or the name
of the folder that the command stands in. `learn` counts how often each form was called and failed,
and by what *difference* the next command that worked was another: another program, without the
`cd`, other options, a step before.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import takewhile
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model import failures as model_failures
from ai_lessons.model import simple_commands as model_simple_commands
from ai_lessons.model.command_forms import (
    FORM_WORDS,
    Called,
    Form,
    called,
    forms,
    inside,
    top_folder,
)
from ai_lessons.model.simple_commands import ANSWERS_BY_FAILING, base_name, simple_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.model.failures import Shape
    from ai_lessons.model.transcripts import Step

    Words = Sequence[str]

# Share of the calls of a form that fail, above which the hint comes before it: it fails more often
# than not
BAR = 0.5
# Sessions in which a form failed before it is a pattern: one session may have its own fault
LEAST_SESSIONS = 2
# Calls of each outcome that count as seen before the first: Beta(1/2, 1/2), after Jeffreys
PRIOR = 0.5

# Differences that count when one session had them
_ONCE = frozenset(("words", "prefix", "after"))

# No count is larger
MOST_SEEN = 10**9

_SHELL = r"(?:sudo\s+|env\s+){0,4}(?:(?:ba|z|da|k|c)?sh|fish|pwsh|powershell|iex|invoke-expression|source|eval)\b"
_FETCHER = r"(?:curl|wget|fetch|aria2c|httpie|https?|iwr|irm|invoke-webrequest|invoke-restmethod|gh\s+api)\s"
_INSTALLER = r"(?:pip[\d.]*|uv|uvx|pipx|npm|npx|pnpm|yarn|bunx?|cargo|gem|brew|conda|deno|go|apt(?:-get)?|dnf|yum|helm)\s"
FETCHES = expression(
    rf"(?xi) (?<![\w-]) (?: \|\s*{_SHELL}"
    r" | \|\s*(?:sudo\s+)?(?:python[\d.]*|perl|ruby|node|php)(?:\s+-)?\s*(?=[`;&|)]|$|\s-\s)"
    rf" | (?:{_SHELL}|\.|python[\d.]*)\s[^\n]{{0,80}}?(?:<\(|\$\(|\(|`)\s*{_FETCHER}"
    rf" | {_FETCHER}[^\n]{{0,300}}?(?:&&|;|\|\|?|\bthen\b)\s*(?:{_SHELL}|chmod|\./|python)"
    rf" | {_INSTALLER}[^\n]{{0,120}}?(?:git\+|git@|(?:git|ssh|https?)://|github:|\S\.git\b)"
    r" | git\s+clone\s[^\n]{0,200}?(?:&&|;)\s*(?:cd\s\S{1,80}\s*(?:&&|;)\s*)?(?:\./|sh\b|bash\b|make\b|python)"
    r" | downloadstring | downloadfile | urlopen\([^\n]{0,80}exec | exec\([^\n]{0,80}urlopen )"
)
"""What fetches a program and runs it."""

DESTROYS = expression(
    r"(?xi) (?<![\w-]) (?: --force(?!-with-lease)\b | --no-verify | --no-gpg-sign | --break-system-packages | --hard\b"
    r" | --yes\b | --delete\b | --prune\b | --purge\b | --skip-\w+ | --no-check\S* | --ignore-\w+ | --allow-\w+"
    r" | --mirror\b | --discard-changes | --no-preserve-root | -auto-approve | -delete\b"
    r" | rm\s | rmdir\s | unlink\s | dd\s | mkfs | shred\s | truncate\s | wipefs | fdisk | parted | mkswap | diskutil\s"
    r" | kill(?:all)?\s | pkill\s | sudo\s | doas\s | su\s | shutdown\b | reboot\b | poweroff\b | userdel\s"
    r" | chmod\s | chown\s | crontab\s+-r | iptables\s+-F | systemctl\s+(?:stop|disable|mask)"
    r" | git\s+(?:\S{1,80}\s+){0,8}?(?:clean|reset|restore|stash|rebase|branch\s+-D|filter-branch|filter-repo)"
    r" | git\s+(?:\S{1,80}\s+){0,8}?(?:update-ref\s+-d|reflog\s+(?:expire|delete)|gc\s+--prune|worktree\s+remove)"
    r" | git\s+(?:\S{1,80}\s+){0,8}?(?:push\s+(?:\S{1,80}\s+){0,8}?(?:-\w*f|[+:]\S))"
    r" | git\s+(?:\S{1,80}\s+){0,8}?checkout\s+(?:\S{1,80}\s+){0,8}?(?:--|\.)"
    r" | (?:drop|truncate)\s+(?:table|database|schema) | delete\s+from\s"
    r" | (?:kubectl|gcloud|aws|az|gh|docker|podman|helm|terraform|pulumi)\s(?:\S{1,80}\s+){0,4}?"
    r"(?:delete|destroy|rm|rb|rmi|prune|uninstall)\b"
    r" | (?:npm|cargo|gem)\s+(?:unpublish|yank) | remove-item\b | rd\s+/s | del\s+/ | format\s+[a-z]: | :\(\)\s*\{"
    r" | >\s*/dev/(?:sd|nvme|disk) | mv\s[^\n]{1,80}\s/dev/null | -rf? (?=[\s`]|$) | -f (?=[\s`]|$) )"
)
"""Commands that destroy or skip a check.

Shown to people as part of the record, never drafted or hinted.
"""

_NEGATED = expression(
    r"(?i)(?<![\w-])(?:never|not?|don.?t|avoid|without|instead\s+of)\s+(?:\w+\s+){0,2}?(?:`[^`\n]*`|[^`\n]*$)"
)
_DOES = expression(r"(?s)\A(?>.*?-> DO (?!NOT\b))(.*?) -> BECAUSE ")

_PLAIN = expression(r"--?[\w-]+(?:=[\w.-]{1,20})?|[A-Za-z][\w:-]{0,19}|[A-Z_]{2,20}")
_PATHS = expression(r"[/\\]|\.[A-Za-z]|\d{3}")


class Seen(NamedTuple):
    """What a form rests on.

    How often it was called and failed, and in how many sessions it failed.
    """

    calls: int = 0
    failures: int = 0
    sessions: int = 0

    @property
    def least(self) -> float:
        """The lower end of the 90 % interval of Beta(1/2, 1/2) after this, 0 to 1.

        By its normal approximation.
        """
        bad, all_ = PRIOR + self.failures, 2 * PRIOR + self.calls
        mean = bad / all_
        # 1.64 standard deviations below a mean: 95 of 100 lie above
        return mean - 1.64 * sqrt(mean * (1 - mean) / (all_ + 1))

    def chance(self, failed: int = 0, passed: int = 0) -> float:
        """The mean of Beta(1/2, 1/2) after this and what happened since.

        That the next call fails, 0 to 1.
        """
        # What was seen before a lesson was kept counts as at most so many calls: machines change
        if self.calls:
            weight = min(1.0, 12.0 / self.calls)
        else:
            weight = 0.0
        bad = PRIOR + weight * self.failures + failed
        return bad / (2 * PRIOR + weight * self.calls + failed + passed)


def seen_of(fields: Mapping[str, Any]) -> Seen | None:
    """The counts in the frontmatter of a lesson; None if there are none."""
    stated = fields.get("seen")
    if not isinstance(stated, dict):
        return None
    counts = [
        count
        for name in Seen._fields
        if type(count := stated.get(name)) is int and 0 <= count < MOST_SEEN
    ]
    if len(counts) == len(Seen._fields):
        return Seen(*counts)
    return None


def seen_in(counts: Sequence[int] | None) -> Seen | None:
    """The counts that an `EntrySummary` has."""
    if counts:
        return Seen._make(counts)
    return None


class Difference(NamedTuple):
    """By what the command that worked was another than the one that failed.

    In words that hold for the next one, too.
    """

    how: str
    old: str = ""
    new: str = ""

    @property
    def does(self) -> str:
        """The DO of a lesson."""
        return {
            "program": f"use `{self.new}`",
            "prefix": f"run it as `{self.new} {self.old}`",
            "inside": f"run the command without `{self.old}`: you are in that folder already",
            "without": f"run the command without `{self.old}`",
            "words": f"run `{self.new}`",
            "after": f"run `{self.new}` first",
        }[self.how]


class Happened(NamedTuple):
    """One simple command that ended.

    `output` has the telling lines of a failure, `ways` what worked in its place.

    `edits`: the files that were edited between a failure and the next command.
    """

    words: tuple[str, ...]
    folder: str
    failed: bool
    output: str
    ways: tuple[Difference, ...]
    done: str
    session: str
    project: str
    place: str
    at: str
    host: str
    edits: tuple[str, ...] = ()

    def fits(self, forms: Iterable[Form]) -> bool:
        """Whether it is of one of the forms."""
        return any(form.fits(self.words, self.folder) for form in forms)


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
    seen: Seen
    worked: int
    messages: tuple[str, ...]
    examples: tuple[Happened, ...]
    done: tuple[str, ...] = ()


# --- what happened in a session ---


def blamed_call(error: str, cwd: str) -> list[Called]:
    """The command of a failure (`$ command`, then its output) that is to blame.

    Nothing where no command is named.
    """
    command, output = model_failures.parted(error)
    calls = called(command, cwd)
    if calls:
        return [calls[blamed([words for words, _ in calls], output)]]
    return []


def happened(
    steps: Sequence[Step], session: str, project: str, host: str, file: str
) -> Iterator[Happened]:
    """Every simple command of a session, with how it ended.

    Of a line that failed, the one that is to blame.
    """
    for at, step in enumerate(steps):
        if step.sort != "command" or step.failed is None:
            continue
        commands = called(step.text, step.cwd)
        guilty = None
        if step.failed:
            guilty = blamed([words for words, _ in commands], step.output)
        for n, (words, folder) in enumerate(commands):
            failed = n == guilty
            if guilty is not None and n > guilty:
                # what stands behind it did not run, or it is not known how it ended
                break
            if failed:
                done = next(_worked(steps[at + 1 :], words, folder, step), (None, ""))
            else:
                done = (None, "")
            yield Happened(
                words, folder, failed, step.output if failed else "",
                (done[0],) if done[0] else (), done[1], session, project, f"{file}:{step.line}", step.at, host,
                tuple(_edited(steps[at + 1 :])) if failed else (),
            )  # fmt: skip


def _edited(later: Iterable[Step]) -> Iterator[str]:
    """The files that are edited before the next command.

    As paths of the machine where their folder is known.
    """
    for step in takewhile(lambda step: step.sort != "command", later):
        if step.sort == "edit" and step.text:
            yield (
                step.text
                if step.text.startswith("/") or not step.cwd
                else f"{step.cwd}/{step.text}"
            )


def blamed(commands: Sequence[Words], output: str) -> int:
    """Which command of a line that failed is to blame.

    The one that the output names, else the last one in earnest.
    """
    names = []
    for words in commands:
        names.append(re.escape(base_name(words[0])))
    for n, name in enumerate(names):
        if re.search(rf"(?m)^(?:[^\s:]*: )?(?:[^\s:]*/)?(?:\(eval\):)?{name}:|: {name}: ", output):
            return n
    earnest = [
        n for n, words in enumerate(commands) if base_name(words[0]) not in ANSWERS_BY_FAILING
    ]
    return (earnest or [len(commands) - 1])[-1]


def _worked(
    later: Sequence[Step], words: Words, folder: str, failed: Step
) -> Iterator[tuple[Difference, str]]:
    """By what the commands after a failure that worked in its place were another, and those commands."""
    edited, before = False, ""
    commands = 0
    for step in later:
        edited |= step.sort == "edit"
        if step.sort != "command":
            continue
        commands += 1
        if commands > 6:
            # what works in place of a failure follows soon; later commands do something else
            return
        if step.failed is False:
            difference = _difference(words, folder, failed, step, before, edited=edited)
            if difference:
                yield difference, step.text
            before = step.text


def _difference(
    words: Words, folder: str, failed: Step, worked: Step, before: str, *, edited: bool
) -> Difference | None:
    good = simple_commands(worked.text)
    name = base_name(words[0])
    short = _without(words, folder)
    if name == "cd" and len(words) > 1:
        programs = {base_name(command[0]) for command in simple_commands(failed.text)} - {"cd"}
        stays = worked.cwd == failed.cwd and not any(command[0] == "cd" for command in good)
        if stays and programs & {base_name(command[0]) for command in good}:
            if short:
                return Difference("inside", folder)
            return Difference("without", f"cd {words[1]}")
        return None
    for command in good:
        other = base_name(command[0])
        if short and other == name and not inside(command, folder) and _similar(short, command):
            return Difference("inside", folder)
        if other != name and _replaces_program(words, command):
            return Difference("program", name, other)
        if (
            other not in ANSWERS_BY_FAILING
            and name in command[1:4]
            and _similar(words, command[command.index(name) :])
        ):
            return Difference(
                "prefix", name, " ".join(map(_general, [other, *command[1 : command.index(name)]]))
            )
        if (
            other == name
            and name not in ANSWERS_BY_FAILING
            and command != list(words)
            and _options(words, command)
        ):
            return Difference("words", name, " ".join([name, *map(_general, command[1:])]))
        if command == list(words) and before and not edited and (step := _step(before)):
            return Difference("after", name, step)
    return None


def _without(words: Words, folder: str) -> list[str]:
    """The words without the name of the folder; empty if none has it."""
    if not inside(words, folder):
        return []
    remaining: list[str] = []
    for word in words:
        short = word
        if top_folder(word) == folder:
            short = word.removeprefix("./").removeprefix(folder).lstrip("/")
        # `ls app` is `ls`, where one stands in `app` already
        if short:
            remaining.append(short)
    return remaining


def _similar(left: Words, right: Words) -> bool:
    # two commands with this share of the shorter one's words do the same
    return len({*left} & {*right}) >= 0.6 * max(min(len({*left}), len({*right})), 1)


def _replaces_program(words: Words, other: Words) -> bool:
    """Whether another program replaces the first: by a similar name, or with the same arguments."""
    name, its = base_name(words[0]), base_name(other[0])
    if len(name) > 1 and len(its) > 1 and (name in its or its in name):
        return True
    return len(words) > 1 and words[1:] == other[1:] and not {name, its} & ANSWERS_BY_FAILING


def _options(words: Words, other: Words) -> bool:
    """Whether two calls of a program differ in options and subcommands alone.

    They share most of the rest.
    """
    changed = set(words) ^ set(other)
    plain, other_plain = (
        {word for word in line[1:] if not word.startswith("-")} for line in (words, other)
    )
    if not (plain <= other_plain or other_plain <= plain):
        # another subcommand is another command
        return False
    return (
        len(changed) <= 4
        and all(_PLAIN.fullmatch(word) for word in changed)
        and _similar(words, other)
    )


def _step(line: str) -> str:
    """The command of a line that changed something, in general words; empty if it only looked."""
    for words in reversed(simple_commands(line)):
        name = base_name(words[0])
        key = " ".join([name, *words[1:2]])
        if name not in ANSWERS_BY_FAILING and key not in ANSWERS_BY_FAILING:
            return " ".join([name, *map(_general, words[1:6])])
    return ""


def _general(word: str) -> str:
    """A word of a command as a lesson may say it.

    Options and subcommands as they are, the rest as `…`.
    """
    if _PLAIN.fullmatch(word) and not _PATHS.search(word):
        return word
    return "…"


def is_general(text: str) -> bool:
    """Whether nothing of a task stands in a text about commands, as a path would.

    And it destroys nothing.
    """
    return (
        "…" not in text
        and not (DESTROYS.search(text) or FETCHES.search(text))
        and not _PATHS.search(text.replace("`/`", ""))
    )


def destroys(title: str, pattern: str, why: str = "") -> bool:
    """Whether what an entry says to do can destroy, skips a check, or fetches a program and runs it."""
    does = _DOES.search(pattern)
    if does:
        says = does[1]
    else:
        says = ""
    says += "\n" + _NEGATED.sub("", title)
    return bool(DESTROYS.search(says) or FETCHES.search(f"{title}\n{pattern}\n{why}"))


# --- many sessions ---


def _seen(calls: int, failed: Sequence[Happened]) -> Seen:
    return Seen(calls, len(failed), len({call.session for call in failed}))


def learn(every: Sequence[Happened]) -> list[CommandPattern]:
    """The patterns of calls in order of time.

    Those to show before a command, then those for a failure.

    A general form comes before the specific ones, which count only what it does not explain.
    """
    left, patterns = list(every), list[CommandPattern]()
    for level in range(FORM_WORDS + 1):
        calls: Counter[Form] = Counter()
        failed: dict[Form, list[Happened]] = defaultdict(list)
        for call in left:
            named = (
                [inside(call.words, call.folder)]
                if not level
                else list(forms(call.words))[level - 1 : level]
            )
            for form in named:
                if form and (form.words[0] == "cd" or form.words[0] not in ANSWERS_BY_FAILING):
                    calls[form] += 1
                    failed[form] += [call] if call.failed else []
        together: dict[object, list[Form]] = defaultdict(list)
        for form in calls:
            seen = _seen(calls[form], failed[form])
            if seen.sessions >= LEAST_SESSIONS and seen.least > BAR:
                # forms inside of the same folder are one pattern
                together[form.inside or form].append(form)
        explained: dict[str, list[Form]] = defaultdict(list)
        for several in map(tuple, together.values()):
            failures_of = [call for form in several for call in failed[form]]
            pattern = _pattern(
                several, sum(calls[form] for form in several), failures_of, before=True
            )
            if pattern and pattern.does and (level or pattern.does.how == "inside"):
                patterns.append(pattern)
                for form in pattern.forms:
                    explained[form.words[0]].append(form)
        left = [call for call in left if not call.fits(explained.get(base_name(call.words[0]), ()))]
    return [*patterns, *_at_failures(left)]


def _at_failures(left: Sequence[Happened]) -> Iterator[CommandPattern]:
    """One pattern for each distinct failure of an attempt."""
    groups: dict[str, list[tuple[Shape, list[Happened]]]] = defaultdict(list)
    calls: Counter[str] = Counter()
    for call in left:
        attempt = next(iter(model_simple_commands.attempts(" ".join(call.words))), "")
        calls[attempt] += 1
        if not call.failed or not attempt or model_failures.is_host(call.output):
            continue
        shape = model_failures.shape(model_failures.headline(call.output))
        # `error: failed` alone tells nothing: three words without names and numbers do
        if len(model_failures.words_of(shape)) < 3:
            continue
        near = (
            group
            for other, group in reversed(groups[attempt][-model_failures.COMPARED :])
            if model_failures.alike(shape, other, {}) >= model_failures.SAME
        )
        group = next(near, None)
        if group is None:
            groups[attempt].append((shape, [call]))
        else:
            group.append(call)
    for attempt, kinds in groups.items():
        for _, group in kinds:
            if pattern := _pattern(
                (Form(tuple(attempt.split())),), calls[attempt], group, before=False
            ):
                yield pattern


def _pattern(
    named: tuple[Form, ...], calls: int, failed: Sequence[Happened], *, before: bool
) -> CommandPattern | None:
    """The common way out of the failures of these forms; None if no lesson could state it."""
    ways: dict[Difference, set[str]] = defaultdict(set)
    counts: Counter[Difference] = Counter()
    for call in failed:
        for way in call.ways:
            ways[way].add(call.session)
            counts[way] += 1
    best, worked = counts.most_common(1)[0] if counts else (None, 0)
    seen = _seen(calls, failed)
    several = seen.sessions >= LEAST_SESSIONS
    if best and not before and 2 * len(ways[best]) <= seen.sessions:
        # in a minority of the sessions
        best = None
    # a draft names a way out only if half of the failures with any had this one
    if best and (worked < 0.5 * sum(counts.values()) or not is_general(best.does)):
        best = None
    if best and len(ways[best]) < LEAST_SESSIONS:
        # seen once, only a difference of words says what it was about
        best = (
            best
            if not several and best.how in _ONCE and all(map(is_general, map(str, named)))
            else None
        )
    if best is None and not several:
        return None
    # the line of a failure that says what went wrong, without what it is about
    messages = (
        model_failures.NAMES.sub("…", model_failures.headline(call.output)).split()
        for call in failed
    )
    # a draft shows the message in one line
    lines = Counter(" ".join(words)[:120] for words in messages)
    done = Counter(call.done for call in failed if call.done)
    return CommandPattern(
        named, best, before, seen, worked if best else 0,
        tuple(line for line, _ in lines.most_common(3) if line),
        tuple(sorted(failed, key=lambda call: call.at, reverse=True)),
        tuple(line for line, _ in done.most_common(3)),
    )  # fmt: skip


def is_wall(pattern: CommandPattern, every: Iterable[Happened]) -> bool:
    """Whether nobody gets past a failure.

    The command worked in under half of its sessions, and not since.
    """
    last, failed = pattern.examples[0], {call.session for call in pattern.examples}
    passed = []
    for x in every:
        if not x.failed and x.project == last.project and x.fits(pattern.forms):
            passed.append(x)
    solved = set()
    for call in passed:
        if call.session in failed:
            solved.add(call.session)
    lasts = not any(call.at > last.at for call in passed)
    # after three sessions that did not solve it, the agent is told not to try the same again
    return not pattern.does and len(failed) >= 3 and 2 * len(solved) < len(failed) and lasts


def texts(pattern: CommandPattern) -> tuple[str, str, str, str]:
    """Title, WHEN, DO and BECAUSE of a pattern.

    DO is empty where only a person can say what helps.
    """
    seen, does = pattern.seen, pattern.does.does if pattern.does else ""
    if pattern.does and pattern.does.how == "inside":
        leads = [form for form in pattern.forms if form.words[0] == "cd"] or [
            Form(pattern.forms[0].words[1:])
        ]
        does = pattern.does._replace(old=str(leads[0])).does
    if pattern.messages:
        message = pattern.messages[0]
    else:
        message = "it fails"
    # the first four tell which commands are meant
    first, named = (
        pattern.forms[0],
        _listed([f"`{form}`" for form in pattern.forms[:4]]),
    )
    if pattern.before:
        when = f"running {named}"
        title = f"`{first}` fails here: {does}"
    else:
        when = f"{named} fails: {message}"
        title = f"`{first}`: {message}"
    if first.inside:
        when, title = f"inside `{first.inside}`, {when}", f"`{first}` fails inside `{first.inside}`"
    counted = f"failed {seen.failures} of {seen.calls} times, in {count(seen.sessions, 'session')}"
    if pattern.worked:
        worked = f"; this worked in {pattern.worked}"
    else:
        worked = ""
    if pattern.before:
        why = f"{message} ({counted}{worked})"
    else:
        why = f"it failed in {count(seen.sessions, 'session')}{worked}"
    return title, when, does, why


def _listed(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"

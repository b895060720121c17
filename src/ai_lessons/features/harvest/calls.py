"""The simple commands of a session: how each ended, and what worked in the place of a failure. Pure.

By what *difference* the next command that worked was another: another program, without the `cd`,
other options, a step before.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.command_forms import blamed, called, inside, top_folder
from ai_lessons.model.dangerous_commands import DESTROYS, FETCHES
from ai_lessons.model.simple_commands import ANSWERS_BY_FAILING, base_name, simple_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.model.command_forms import Form
    from ai_lessons.model.transcripts import Step

    Words = Sequence[str]

# Stands in a text for what is of one task alone
UNSAID = "…"
# Words in which two calls of a program may differ
_MOST_CHANGED = 4
_PLAIN = expression(r"--?[\w-]+(?:=[\w.-]{1,20})?|[A-Za-z][\w:-]{0,19}|[A-Z_]{2,20}")
_PATHS = expression(r"[/\\]|\.[A-Za-z]|\d{3}")


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
        without = f"run the command without `{self.old}`"
        words = {
            "program": f"use `{self.new}`",
            "prefix": f"run it as `{self.new} {self.old}`",
            "inside": f"{without}: you are in that folder already",
            "without": without,
            "words": f"run `{self.new}`",
            "after": f"run `{self.new}` first",
        }
        return words[self.how]


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
        for number, (words, folder) in enumerate(commands):
            call = Happened(
                words=words,
                folder=folder,
                failed=False,
                output="",
                ways=(),
                done="",
                session=session,
                project=project,
                place=f"{file}:{step.line}",
                at=step.at,
                host=host,
            )
            if number == guilty:
                yield _as_failed(call, step, steps[at + 1 :])
                # what stands behind it did not run, or it is not known how it ended
                break
            yield call


def _as_failed(call: Happened, step: Step, later: Sequence[Step]) -> Happened:
    """The call with its output, and what was edited and what worked after it."""
    failed = call._replace(failed=True, output=step.output, edits=tuple(_edited(later)))
    for difference, line in _worked(later, call.words, call.folder, step):
        return failed._replace(ways=(difference,), done=line)
    return failed


def _edited(later: Iterable[Step]) -> Iterator[str]:
    """The files that are edited before the next command.

    As paths of the machine where their folder is known.
    """
    for step in takewhile(lambda step: step.sort != "command", later):
        if step.sort != "edit" or not step.text:
            continue
        if step.text.startswith("/") or not step.cwd:
            yield step.text
        else:
            yield f"{step.cwd}/{step.text}"


def _worked(
    later: Sequence[Step], words: Words, folder: str, failed: Step
) -> Iterator[tuple[Difference, str]]:
    """By what the commands after a failure that worked in its place were another, and those commands."""
    edited = False
    before = ""
    commands = 0
    for step in later:
        if step.sort == "edit":
            edited = True
        if step.sort != "command":
            continue
        commands += 1
        # What works in place of a failure follows soon; later commands do something else
        if commands > 6:
            return
        if step.failed is not False:
            continue
        if edited:
            # what helped may have been the edit
            before = ""
        difference = _difference(words, folder, failed, step, before)
        if difference:
            yield difference, step.text
        before = step.text


def _difference(
    words: Words, folder: str, failed: Step, worked: Step, before: str
) -> Difference | None:
    """By what the command that worked was another; None: it does something else.

    `before`: the line that ran before it, where that may have helped.
    """
    name = base_name(words[0])
    if name == "cd" and len(words) > 1:
        return _without_cd(words, folder, failed, worked)
    short = _without(words, folder)
    for command in simple_commands(worked.text):
        other = base_name(command[0])
        if short and other == name and not inside(command, folder) and _similar(short, command):
            return Difference("inside", folder)
        if other != name and _replaces_program(words, command):
            return Difference("program", name, other)
        runner = _runner_of(words, command)
        if runner:
            return Difference("prefix", name, runner)
        if other == name and name not in ANSWERS_BY_FAILING and _differ_in_options(words, command):
            return Difference("words", name, _in_general([name, *command[1:]]))
        step = ""
        if command == list(words) and before:
            step = _step(before)
        if step:
            return Difference("after", name, step)
    return None


def _without_cd(words: Words, folder: str, failed: Step, worked: Step) -> Difference | None:
    """The same programs, in the folder that one stood in already."""
    good = simple_commands(worked.text)
    tried = _programs(simple_commands(failed.text)) - {"cd"}
    ran = _programs(good)
    if worked.cwd != failed.cwd or "cd" in ran or not tried & ran:
        return None
    if _without(words, folder):
        return Difference("inside", folder)
    return Difference("without", f"cd {words[1]}")


def _programs(commands: Iterable[Words]) -> set[str]:
    return {base_name(words[0]) for words in commands}


def _runner_of(words: Words, command: Words) -> str:
    """What a command was run by (`uv run` of `uv run ruff check`); empty if by nothing."""
    name = base_name(words[0])
    other = base_name(command[0])
    if other in ANSWERS_BY_FAILING or name not in command[1:4]:
        return ""
    at = list(command).index(name)
    if not _similar(words, command[at:]):
        return ""
    return _in_general([other, *command[1:at]], program=False)


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
    """Whether two commands share most words of the shorter one."""
    words, other = set(left), set(right)
    shorter = max(min(len(words), len(other)), 1)
    # Share of the shorter one's words from which two commands do the same
    return len(words & other) >= 0.6 * shorter


def _replaces_program(words: Words, other: Words) -> bool:
    """Whether another program replaces the first: by a similar name, or with the same arguments."""
    name, its = base_name(words[0]), base_name(other[0])
    if len(name) > 1 and len(its) > 1 and (name in its or its in name):
        return True
    same_arguments = len(words) > 1 and words[1:] == other[1:]
    return same_arguments and not {name, its} & ANSWERS_BY_FAILING


def _differ_in_options(words: Words, other: Words) -> bool:
    """Whether two calls of a program differ in options and subcommands alone.

    They share most of the rest.
    """
    if list(words) == list(other):
        return False
    plain, other_plain = _arguments(words), _arguments(other)
    if not (plain <= other_plain or other_plain <= plain):
        # another subcommand is another command
        return False
    changed = set(words) ^ set(other)
    if len(changed) > _MOST_CHANGED or not all(_PLAIN.fullmatch(word) for word in changed):
        return False
    return _similar(words, other)


def _arguments(words: Words) -> set[str]:
    """The words behind the program that are no options."""
    return {word for word in words[1:] if not word.startswith("-")}


def _step(line: str) -> str:
    """The command of a line that changed something, in general words; empty if it only looked."""
    for words in reversed(simple_commands(line)):
        name = base_name(words[0])
        key = " ".join([name, *words[1:2]])
        if name not in ANSWERS_BY_FAILING and key not in ANSWERS_BY_FAILING:
            return _in_general([name, *words[1:6]])
    return ""


def _in_general(words: Words, *, program: bool = True) -> str:
    """A command as a lesson may say it: options and subcommands as they are, the rest as `…`.

    The `program` as it is.
    """
    general = []
    for at, word in enumerate(words):
        as_it_is = _PLAIN.fullmatch(word) and not _PATHS.search(word)
        if as_it_is or (program and at == 0):
            general.append(word)
        else:
            general.append(UNSAID)
    return " ".join(general)


def is_general(text: str) -> bool:
    """Whether nothing of a task stands in a text about commands, as a path would.

    And it destroys nothing.
    """
    if UNSAID in text or DESTROYS.search(text) or FETCHES.search(text):
        return False
    return not _PATHS.search(text.replace("`/`", ""))

"""Runs the examples of a page of documentation as a reader would: in order, in a home folder of their own.

In a ```console block every line after `$ ` is run; what is shown below it must be what it prints. In an ```sh block
the lines that start with one of our programs are run. Nothing is set up behind the reader's back: what the line
`Needs:` links is run before, from the top of that page to the end of the section that the link names.
Ids, hashes, times, scores and sizes may differ; an id that a page shows stands for the one that was made.
A line `…` stands for any lines. After a command that fails, the page must show `error: …` or `$ echo $?`.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from ai_lessons.interfaces import cli
from ai_lessons.interfaces.cli.command import programs
from interfaces.world import environment
from real_world import put_program, typed

HOME = "/home/you"
ETC = "/etc/ai-lessons"
"""Where administrators place a file, by `sudo`: both are the reader's own here."""
OURS: dict[str, Callable[[list[str]], int]] = {
    "ai-lessons": cli.run,
    **{name: partial(cli.run, group=group) for name, group in programs().items()},
}
"""Our programs, which run in this process where the command is plain."""
SAID = ("note: ", "error: ", "hint: ", "warning: ")
"""How lines begin that our program prints on stderr."""

PROGRAM_OF_A_FEATURE = (
    "from ai_lessons.interfaces import cli; from ai_lessons.interfaces.cli.command import programs;"
    " cli.main(programs()['{name}'])"
)
TELLS_ALL = """
import os
from pathlib import Path
from runpy import run_module
from ai_lessons import settings
from ai_lessons.features.company import administrators
from ai_lessons.features.learning import filter
filter.LearningFilter.omitted = lambda *_: frozenset()
settings.ADMINISTRATORS = Path(os.environ["HOME"], "etc/ai-lessons/config.toml")
administrators.PLACERS = frozenset({0, os.getuid()})
run_module("ai_lessons", run_name="__main__")
"""
"""Our program, without what it leaves out on purpose to measure it, and with this home for the machine's root."""

_ULID = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
_IDS = re.compile(
    rf"\b({_ULID})\b|(?:(?<=\b[LRDS]-)|(?<=\brelease-)|(?<=--batch ))([0-9A-HJKMNP-TV-Z]{{6,}})\b"
    r"|(?<=-)([0-9a-hjkmnp-tv-z]{6})(?=\.md\b)"
)
_VOLATILE = (
    (re.compile(r"sha256:[0-9a-f]{64}"), "SHA256"),
    (re.compile(r"SHA256:[A-Za-z0-9+/]{43}"), "KEY"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d| UTC)"), "TIME"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "DATE"),
    (re.compile(r"(?<= on )\d{1,2} [A-Z][a-z]+(?: 20\d\d)?(?= \()"), "DAY"),
    (re.compile(r"(?<=/rejected/)20\d\d\b"), "YEAR"),
    (re.compile(r"\b20\d\d-\d\d(?=/)"), "MONTH"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b"), "HASH"),
    (
        re.compile(
            r'(?<=\()\d\.\d\d(?=\))|(?<=score: )\d\.\d{3}|(?<=match )[\d.]+|(?<="score": )[\d.]+'
        ),
        "SCORE",
    ),
    (re.compile(r"\b[\d.]+ (?:B|KiB|MiB|GB free)(?![a-z])"), "SIZE"),
    (
        re.compile(
            r"(?<=generation )\d+|(?<=git version )[\d.]+|\d+ files? (?=read\b)|\d+ (?=readable)"
        ),
        "NUMBER",
    ),
)
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"^Needs: .*$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#+) +(.+?) *$", re.MULTILINE)


@dataclass
class Step:
    """One command of a page, and the lines shown below it. `shown` None: nothing is shown, nothing is compared."""

    line: int
    command: str
    shown: list[str] | None = None


def anchor(heading: str) -> str:
    """The name that a forge gives to a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def links(text: str) -> list[tuple[str, str]]:
    """Where the links of a text lead: path and anchor, either may be empty."""
    return [
        target.partition("#")[::2]
        for target in _LINK.findall(text)
        if not re.match(r"[a-z]+:", target)
    ]


def needed(page: Path) -> list[Step]:
    """What a reader has done before he begins with a page: the steps of all that its line `Needs:` links."""
    line = _NEEDS.search(page.read_text(encoding="utf-8"))
    found: list[Step] = []
    for path, name in links(line[0] if line else ""):
        other = (page.parent / path).resolve()
        found += [*needed(other), *steps(_until(other.read_text(encoding="utf-8"), name))]
    return found


def _until(text: str, name: str) -> str:
    """A page to the end of the section of that name; all of it without one."""
    heading = next((one for one in _HEADING.finditer(text) if anchor(one[2]) == name), None)
    if heading is None:
        return text
    after = (
        one.start()
        for one in _HEADING.finditer(text, heading.end())
        if len(one[1]) <= len(heading[1])
    )
    return text[: next(after, len(text))]


def steps(text: str) -> list[Step]:
    """Every command of a page in its order. `line` counts from 1."""
    found: list[Step] = []
    for block in _FENCE.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        if block[1] == "console":
            found += _console(block[2].splitlines(), line + 1)
        elif block[1] == "sh":
            rows = enumerate(block[2].splitlines(), line + 1)
            found += [Step(number, row) for number, row in rows if row.partition(" ")[0] in OURS]
    return found


def _console(rows: Sequence[str], first: int) -> Iterator[Step]:
    step: Step | None = None
    continued = False
    for number, row in enumerate(rows, first):
        if continued and step:
            step.command += "\n" + row
        elif row.startswith("$ "):
            if step:
                yield step
            step = Step(number, row[2:])
        elif step:
            step.shown = [*(step.shown or []), row]
        continued = (continued or row.startswith("$ ")) and row.endswith("\\")
    if step:
        yield step


def shape(line: str) -> str:
    """A line without what differs from run to run."""
    line = _IDS.sub("ID", line.rstrip())
    for pattern, name in _VOLATILE:
        line = pattern.sub(name, line)
    return line


def ids(line: str) -> list[str]:
    """The ids in a line, in capitals, without the letter of a handle."""
    return [next(filter(None, found.groups())).upper() for found in _IDS.finditer(line)]


def align(shown: Sequence[str], printed: Sequence[str]) -> list[tuple[str, str]] | None:
    """Each shown line with the printed one that it is, or None where they differ."""
    parts: list[list[str]] = [[]]
    for row in shown:
        if row.strip() == "…":
            parts.append([])
        else:
            parts[-1].append(row)
    pairs: list[tuple[str, str]] = []
    at = 0
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        starts = range(at, len(printed) - len(part) + 1) if number else [0]
        start = next((one for one in starts if _same(part, printed[one:], to_end=last)), None)
        if start is None:
            return None
        pairs += zip(part, printed[start:], strict=False)
        at = start + len(part)
    return pairs


def _same(part: Sequence[str], printed: Sequence[str], *, to_end: bool) -> bool:
    """Whether the printed lines begin with these, and with `to_end` hold nothing else."""
    if to_end and part and len(printed) != len(part):
        return False
    return [shape(row) for row in part] == [shape(row) for row in printed[: len(part)]]


@dataclass
class Session:
    """A reader's shell: a home folder, a place in it, and which id of the page stands for which real one."""

    home: Path
    monkeypatch: pytest.MonkeyPatch
    capture: Callable[[], Sequence[str]]
    code: int = 0
    known: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        """Go home; give the reader our programs."""
        folder = self.home.parent / f"{self.home.name}-bin"
        instead: dict[str, object] = {
            # one lesson in fifty is left out on purpose, which a page cannot show
            "learning.filter.LearningFilter.omitted": lambda *_: frozenset(),
            # whoever runs the tests places the files of administrators
            "company.administrators.PLACERS": frozenset({0, os.getuid()}),
        }
        for place, value in instead.items():
            self.monkeypatch.setattr(f"ai_lessons.features.{place}", value)
        started_by = {"ai-lessons": TELLS_ALL} | {
            name: PROGRAM_OF_A_FEATURE.format(name=name) for name in programs()
        }
        for name, code in started_by.items():
            started = [sys.executable, "-c", code]
            put_program(folder / name, f'#!/bin/sh\nexec {shlex.join(started)} "$@"\n')
        self.monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        self.monkeypatch.setenv("AI_LESSONS_OFFLINE", "1")
        self.monkeypatch.chdir(self.home)

    def run(self, command: str) -> tuple[list[str], list[str]]:
        """The lines that a command printed: those to compare, and our own remarks."""
        command = re.sub(r"\\\n\s*", "", self.real(command))
        words = shlex.split(command, comments=True)
        if command == "echo $?":
            code, self.code = self.code, 0
            return [str(code)], []
        self.code = 0
        if words[0] == "cd":
            self.monkeypatch.chdir(os.path.expanduser(words[1]))
            return [], []
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.monkeypatch.setenv(name, os.path.expanduser(value))
            return [], []
        if words[0] in OURS and not re.search(
            r"[|<>;&$]|\*", re.sub(r"'[^']*'|\"[^\"$]*\"", "", command)
        ):
            self.capture()
            with typed():
                self.code = OURS[words[0]]([os.path.expanduser(word) for word in words[1:]])
            out, err = self.capture()
        else:
            done = subprocess.run(
                ["bash", "-c", command],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment(),
            )  # fmt: skip
            self.code, out, err = done.returncode, done.stdout, ""
            if OURS.keys() & set(words):
                err = "\n".join(row for row in out.splitlines() if row.startswith(SAID))
                out = "\n".join(row for row in out.splitlines() if not row.startswith(SAID))
        return self.told(out), self.told(err)

    def real(self, command: str) -> str:
        """The command with the ids that this run made in place of those of the page."""
        for shown, made in self.known.items():
            command = re.sub(rf"\b{shown}\b", made, command).replace(
                f"-{shown.lower()}.md", f"-{made.lower()}.md"
            )
        command = command.replace("sudo ", "").replace(ETC, f"{self.home}{ETC}")
        return command.replace(HOME, str(self.home))

    def told(self, text: str) -> list[str]:
        """Output as the page may show it."""
        text = text.replace(f"{self.home}{ETC}", ETC).replace(str(self.home), HOME)
        return text.rstrip("\n").split("\n") if text.strip() else []

    def learn(self, pairs: Sequence[tuple[str, str]]) -> str:
        """Remember which id stands for which; what contradicts that, or nothing."""
        for shown, printed in pairs:
            for one, other in zip(ids(shown), ids(printed), strict=True):
                if self.known.setdefault(one, other) != other:
                    return f"{one} of the page is {other} here, and was {self.known[one]} before"
        return ""

    def check(self, step: Step) -> str:
        """Run one step; what is wrong, or nothing."""
        printed, said = self.run(step.command)
        shown = [row for row in step.shown or [] if not row.startswith(SAID)]
        remarks = [row for row in step.shown or [] if row.startswith(SAID)]
        while shown and not shown[-1].strip():
            shown.pop()
        pairs = align(shown, printed) if shown else []
        own = align(remarks, [row for row in said if row.startswith(SAID)]) if remarks else []
        if pairs is None or own is None:
            return "\n".join(["the page shows something else than:", *printed, *said])
        return self.learn([*pairs, *own])


def rewritten(text: str, session: Session) -> str:
    """The page with every output that differs put in anew, for its author to look over. Ids stay as far as they can."""
    rows = text.split("\n")
    grown = 0
    for step in steps(text):
        at = step.line + grown + step.command.count("\n")
        wrong = session.check(step)
        if wrong:
            new = [
                row for row in wrong.split("\n")[1:] if not row.startswith("note: full text only")
            ]
            old = step.shown or []
            session.learn([(a, b) for a, b in zip(old, new, strict=False) if shape(a) == shape(b)])
            for shown, made in session.known.items():
                new = [
                    row.replace(made, shown).replace(f"-{made.lower()}.md", f"-{shown.lower()}.md")
                    for row in new
                ]
            rows[at : at + len(old)] = new
            grown += len(new) - len(old)
    return "\n".join(rows)

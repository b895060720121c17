"""Rules that an edit is about to break: the files as it will leave them, and what hides in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.rules_here import holding
from ai_lessons.features.checks import edited_texts
from ai_lessons.features.checks.findings import allowing_line
from ai_lessons.features.checks.reading import every_line
from ai_lessons.features.checks.runner import Rule, Run, hurry_after, sorted_out
from ai_lessons.features.checks.text_checks import EXTRA
from ai_lessons.git import external_files
from ai_lessons.model.decisions import ASK_OR_DENY, DENY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Reading
    from ai_lessons.features.checks.edited_texts import EditedFile
    from ai_lessons.model.edits import Edit
    from ai_lessons.model.entries import EntrySummary


class Broken(NamedTuple):
    """A rule that an edit would break, and how; `enforce`: what the host shall do about it."""

    summary: EntrySummary
    why: str
    enforce: str


def broken_by(
    repo: Reading, edits: Sequence[Edit], cwd: Path, named: Sequence[EntrySummary]
) -> tuple[list[Broken], set[str]]:
    """The rules in force that edits break, or that could not look at them, and the ids of those whose checks did.

    Beside the rules of the folder's project those count that are `named` by the file anyway.
    """
    summaries = {}
    for summary in (*holding(repo, "checks", cwd), *named):
        summaries[summary.id] = summary
    can_run, cannot_run = sorted_out(summaries.values())
    look = _Look(can_run, cannot_run, cwd)
    if can_run or cannot_run:
        for file in edited_texts.edited_files(edits):
            look.at(file)
    look.stop()
    broken = look.broken()
    # without `enforce` it is told as a rule without a check
    asked = {}
    for rule in look.unsure.values():
        if rule.enforce and rule.summary.id not in broken:
            asked[rule.summary.id] = rule
    looked = {rule.summary.id for rule in can_run} - look.blind
    return [*broken.values(), *asked.values()], looked


class _Look:
    """A look at the files of a call, by rules that can be run here and rules that cannot."""

    def __init__(self, can_run: Sequence[Rule], cannot_run: Sequence[Rule], cwd: Path) -> None:
        self._rules = {rule.key: rule for rule in can_run}
        self._cannot_run, self._cwd = cannot_run, cwd
        # seconds of CPU: a host waits two seconds for its hook, which has more to do
        self._run = Run(can_run, hurry_after(0.2))
        # by key, the rules of which a person has to decide
        self.unsure: dict[str, Broken] = {}
        # ids of rules that could not look
        self.blind: set[str] = set()

    def at(self, file: EditedFile) -> None:
        """Look at a file as it will be."""
        names = self._names(file.path)
        for rule in self._cannot_run:
            if file.concerns(rule.check, names):
                self.unsure[rule.key] = _blind(rule, EXTRA)
        if file.hidden:
            for rule in self._rules.values():
                if file.concerns(rule.check, names):
                    self.unsure[rule.key] = _blind(rule, file.hidden)
                    self.blind.add(rule.summary.id)
            return
        before = self._names(file.was) if file.was else names
        first_seen, seen_before = self._concerned(names, before)
        # what was there is known to a rule that looked at the file before: to another one all of it
        # is new
        for rules, lines in ((seen_before, file.lines), (first_seen, every_line(file.text))):
            if rules and lines:
                self._run.look(rules, names[0], file.text, lines)
                self._find_allowances(rules, file.text, lines)

    def _names(self, path: str) -> Sequence[str]:
        """The path of a file in its project, by each way that leads there."""
        if not path:
            return ()
        return external_files.names_in_project(path, self._cwd)

    def _concerned(
        self, names: Sequence[str], before: Sequence[str]
    ) -> tuple[list[Rule], list[Rule]]:
        """The rules that look at a file now and did not before, and those that did."""
        concerned = {}
        for name in names:
            for rule in self._run.concerned(name):
                concerned[rule.key] = rule
        first_seen, seen_before = list[Rule](), list[Rule]()
        for rule in concerned.values():
            if any(map(rule.check.concerns, before)):
                seen_before.append(rule)
            else:
                first_seen.append(rule)
        return first_seen, seen_before

    def _find_allowances(self, rules: Sequence[Rule], text: str, lines: frozenset[float]) -> None:
        """An agent that allows itself to break a rule is a case for a person."""
        for rule in rules:
            if not rule.check.enforce:
                continue
            line = allowing_line(rule.summary, text, lines)
            if line:
                handle = rule.summary.handle
                why = f"this edit allows itself at line {line} to break {handle}"
                self.unsure[rule.key] = _for_a_person(rule, why)

    def stop(self) -> None:
        """Name the rules that came to no end."""
        for key in self._run.stopped:
            rule = self._rules[key]
            self.unsure.setdefault(key, _blind(rule, "it takes too long"))
            self.blind.add(rule.summary.id)

    def broken(self) -> Mapping[str, Broken]:
        """The rules whose checks came to their end and have findings, each at its first one."""
        broken: dict[str, Broken] = {}
        for finding in self._run.findings:
            if finding.key in self._run.stopped:
                continue
            rule = self._rules[finding.key]
            why = f"this edit breaks {finding.handle} at line {finding.line}"
            first = broken.setdefault(finding.id, Broken(rule.summary, why, rule.check.enforce))
            if rule.check.enforce == DENY:
                # a second check of the rule may be stricter
                broken[finding.id] = first._replace(enforce=DENY)
        return broken


def _for_a_person(rule: Rule, why: str) -> Broken:
    decision = rule.check.enforce
    return Broken(rule.summary, why, ASK_OR_DENY if decision == DENY else decision)


def _blind(rule: Rule, reason: str) -> Broken:
    return _for_a_person(rule, f"{rule.summary.handle} could not look at this edit: {reason}")

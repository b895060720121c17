"""Rules that carry a check, run over files: which files and lines, what is known or allowed already.

Only rules in force check. Nothing of the files is run, and no link leads out of the project.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app
from ai_lessons.app.rules_here import holding
from ai_lessons.features.checks import baseline as baselines
from ai_lessons.features.checks.facts import checks_in
from ai_lessons.features.checks.files import ProjectFiles, below
from ai_lessons.features.checks.findings import (
    ERROR,
    NOTE,
    WARNING,
    CheckedRule,
    CheckReport,
    Finding,
    about,
    allowance,
    mark_of,
    neighbours,
    shown_text,
)
from ai_lessons.features.checks.forms import of_texts, of_what_was_done
from ai_lessons.features.checks.reading import BINARY, file_text
from ai_lessons.features.checks.regexes import InvalidPattern, Prefilter, TooSlow
from ai_lessons.features.checks.text_checks import EXTRA, TextCheck, matches, runs
from ai_lessons.git import external_files
from ai_lessons.model.decisions import DENY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from ai_lessons.app.notes import Touched
    from ai_lessons.app.workspace import Library
    from ai_lessons.model.entries import EntrySummary

# seconds of CPU that a check may take for one text
PER_TEXT = 1.0
# of a rule in a file
MOST_FINDINGS = 1_000


class Rule(NamedTuple):
    """A rule with one of its checks of texts; `number` tells that from the others."""

    summary: EntrySummary
    check: TextCheck
    number: int = 0

    @property
    def key(self) -> str:
        """Names the check among those of all rules."""
        return f"{self.summary.id} {self.number}"

    @property
    def level(self) -> str:
        """How much it counts that the rule is broken."""
        return ERROR if self.check.enforce == DENY else WARNING


def sorted_out(summaries: Iterable[EntrySummary]) -> tuple[list[Rule], list[Rule]]:
    """The checks of texts of these rules: those that can be run here, and those that cannot."""
    can_run, cannot = list[Rule](), list[Rule]()
    for summary in summaries:
        for number, check in enumerate(of_texts(checks_in(summary))):
            rule = Rule(summary, check, number)
            if runs(check):
                can_run.append(rule)
            else:
                cannot.append(rule)
    return can_run, cannot


def check(
    library: Library,
    paths: Sequence[str] = (),
    *,
    since: str = "",
    baseline: str = "",
    write_baseline: bool = False,
    projects: Collection[str] = (),
) -> CheckReport:
    """Look for what breaks rules in force in files and folders at `paths`, or in all of the project around.

    `since`: only on lines that changed since this commit, or since the branch left it, and with a
    note for each entry that speaks of what changed. `baseline`: a file of findings that are known;
    `write_baseline` makes it of those now.

    Raises NotFound: a path, the commit or the baseline. UsageError: a path outside the project, a
    baseline that is none.
    """
    repo = library.reading
    repo.current()
    cwd = repo.options.cwd
    top = external_files.top_of(cwd) or cwd
    known_before = baselines.known_before(cwd, baseline, since, write=write_baseline)
    here = holding(repo, "checks", cwd, projects)
    rules, cannot_run = sorted_out(here)
    places: list[str] = []
    for path in paths:
        places += below(top, cwd, path)
    around = ProjectFiles(repo, top, places, since)
    run = _run_over(around, top, rules, cannot_run)
    checked = {rule.summary.id: rule.summary for rule in rules}
    notes: list[str] = []
    if write_baseline:
        known_before = baselines.write(cwd / baseline, top, run.findings)
        notes.append(f"written to {baseline}: findings that are known from now on")
    touched: list[Touched] = []
    if since:
        notes += _judge_change(run, around, here)
        for summary in here:
            if of_what_was_done(checks_in(summary)):
                checked[summary.id] = summary
        touched = app.notes.touched(library, around.touched())
    fresh = known_before.fresh(run.findings, top)
    looked_for = tuple(checked.values())
    for hit in touched:
        checked[hit.entry.id] = hit.entry
    return CheckReport(
        (*fresh, *_notes_on(touched)),
        files=len(around.names) - run.missed,
        rules=len(looked_for),
        allowed=run.allowed.total(),
        in_baseline=len(run.findings) - len(fresh),
        notes=(*notes, *repo.notes()),
        checked=tuple(checked.values()),
        by_rule=tuple(_by_rule(looked_for, run, fresh)),
    )


def _by_rule(
    rules: Iterable[EntrySummary], run: Run, fresh: Iterable[Finding]
) -> Iterator[CheckedRule]:
    """What was seen of each rule, of known findings only those that are new."""
    broken = Counter(finding.id for finding in fresh if finding.breach)
    for rule in rules:
        level = WARNING
        if any(check.enforce == DENY for check in checks_in(rule)):
            level = ERROR
        yield CheckedRule(
            rule.id,
            rule.handle,
            rule.title,
            level,
            in_scope=run.in_scope[rule.id],
            broken=broken[rule.id],
            allowed=run.allowed[rule.id],
        )


def _judge_change(run: Run, around: ProjectFiles, rules: Iterable[EntrySummary]) -> list[str]:
    """Look at a change as a whole; notes on what it does not show."""
    differing = around.differing()
    judged, not_seen = _judged_by_change(rules, differing)
    run.findings += [finding for finding in judged if around.is_below(finding.path)]
    for summary in rules:
        done_checks = of_what_was_done(checks_in(summary))
        if any(check.concerned(differing) for check in done_checks):
            run.in_scope[summary.id] += 1
    return not_seen


def _judged_by_change(
    rules: Iterable[EntrySummary], paths: Collection[str]
) -> tuple[list[Finding], list[str]]:
    """What a change as a whole breaks, each at the first file that does.

    And notes on commands, which it hides.
    """
    findings, notes = list[Finding](), list[str]()
    for summary in rules:
        for check in of_what_was_done(checks_in(summary)):
            broken_at = check.broken_by(dict.fromkeys(paths, 0.0), ())
            if not broken_at:
                continue
            if check.ran:
                commands = "` or `".join(check.ran)
                rule = f"{summary.handle} {summary.title}"
                notes.append(f"{rule}: whether `{commands}` ran is not seen here")
                continue
            level = ERROR if check.enforce == DENY else WARNING
            message = f"{summary.title}: {check.sentence(broken_at)}"
            finding = about(summary, broken_at[0], 1, level, message)
            findings.append(finding._replace(breach=True))
    return findings, notes


def _notes_on(touched: Sequence[Touched]) -> list[Finding]:
    """A note for each entry that speaks of what changed, at the first place that it speaks of."""
    first_places: dict[str, Touched] = {}
    for hit in touched:
        first_places.setdefault(hit.entry.id, hit)
    notes: list[Finding] = []
    for hit in first_places.values():
        entry = hit.entry
        why = entry.beside.warning or f"speaks of {hit.what}"
        notes.append(about(entry, hit.path, hit.line, NOTE, f"{entry.title} ({why})"))
    return notes


def _run_over(
    around: ProjectFiles, top: Path, rules: Sequence[Rule], cannot_run: Sequence[Rule]
) -> Run:
    """Look at all files by the rules that can be run here.

    Of each other one, say so at the first file it is about.
    """
    run = Run(rules)
    for rule in cannot_run:
        for path in around.names:
            if rule.check.concerns(path):
                message = f"{rule.summary.handle} was not checked: {EXTRA}"
                run.findings.append(finding_of(rule, path, 1, message))
                break
    for path in around.names:
        if path not in around.unseen:
            run.see(around, top, path)
    for path, why in around.unseen.items():
        run.miss(rules, path, why)
    run.findings.sort(key=lambda finding: (finding.path, finding.line, finding.handle))
    return run


class Run:
    """Rules on their way through texts.

    `stopped` has the keys of those that could not be checked to the end.
    """

    def __init__(self, rules: Iterable[Rule], hurry: Callable[[], bool] | None = None) -> None:
        """`hurry`: whether the time for all texts is over; else each has some of its own."""
        self.findings: list[Finding] = []
        self.missed, self.stopped = 0, set[str]()
        # by rule: files that it is about, and statements that comments allow
        self.in_scope, self.allowed = Counter[str](), Counter[str]()
        self._hurry = hurry
        self._by_files: dict[tuple[str, ...], list[Rule]] = {}
        regexes = {}
        for rule in rules:
            self._by_files.setdefault(rule.check.files, []).append(rule)
            regexes[rule.key] = rule.check.regex
        self._prefilter = Prefilter(regexes)

    def concerned(self, path: str) -> list[Rule]:
        """The rules that look at a file."""
        concerned: list[Rule] = []
        for rules in self._by_files.values():
            if rules[0].check.concerns(path):
                concerned += rules
        return concerned

    def see(self, around: ProjectFiles, top: Path, path: str) -> None:
        """Look by the rules that it concerns at a file."""
        concerned = self.concerned(path)
        if not concerned:
            return
        file = file_text(top, path)
        if file.target:
            # a link: what looks at the file itself need not look twice
            concerned = [rule for rule in concerned if not rule.check.concerns(file.target)]
        if file.text is not None:
            self.in_scope.update({rule.summary.id for rule in concerned})
            before = around.path_before(path)
            first_seen, seen_before = list[Rule](), list[Rule]()
            for rule in concerned:
                # a rule that did not look at a file where it was knows nothing of it
                if before and not rule.check.concerns(before):
                    first_seen.append(rule)
                else:
                    seen_before.append(rule)
            self.look(first_seen, path, file.text, None)
            self.look(seen_before, path, file.text, around.lines(path, file.text))
        elif file.why_not:
            if BINARY in file.why_not or "link" in file.why_not:
                # such a file is only for who asks for its kind
                concerned = [rule for rule in concerned if rule.check.names_kind(path)]
            self.miss(concerned, path, file.why_not)

    def miss(self, rules: Iterable[Rule], path: str, why: str) -> None:
        """Note that these rules could not look at a file."""
        levels = {rule.level for rule in rules}
        if levels:
            level = ERROR if ERROR in levels else WARNING
            self.findings.append(Finding(path, 1, level, "", "", "", f"not looked at: {why}"))
            self.missed += 1

    def look(
        self, rules: Iterable[Rule], path: str, text: str, lines: frozenset[float] | None
    ) -> None:
        """Look by these rules at a text, or only at these lines of it."""
        rows = text.split("\n")
        possible = self._prefilter.possible(text)
        for rule in rules:
            if rule.key not in possible:
                continue
            # a file must not be able to keep a rule from being checked
            try:
                self._look_by(rule, path, text, rows, lines)
            except TooSlow:
                handle = rule.summary.handle
                message = f"{handle} was not checked to the end: this file takes too long"
                self._stop(rule, finding_of(rule, path, 1, message)._replace(level=ERROR))
            except InvalidPattern as error:
                self._stop(rule, finding_of(rule, path, 1, str(error)))

    def _look_by(
        self, rule: Rule, path: str, text: str, rows: list[str], lines: frozenset[float] | None
    ) -> None:
        """Look by one rule. Raises TooSlow, InvalidPattern."""
        hurry = self._hurry or hurry_after(PER_TEXT)
        before = len(self.findings)
        for match in matches(rule.check, text, path, lines, hurry):
            self._note(rule, path, rows, range(match.line, match.last + 1), lines)
            if len(self.findings) - before == MOST_FINDINGS:
                handle = rule.summary.handle
                message = f"{handle} was not checked to the end: {MOST_FINDINGS:,} findings"
                self.findings.append(finding_of(rule, path, match.line, message))
                break

    def _stop(self, rule: Rule, finding: Finding) -> None:
        self.findings.append(finding)
        self.stopped.add(rule.key)

    def _note(
        self, rule: Rule, path: str, rows: Sequence[str], at: range, lines: frozenset[float] | None
    ) -> None:
        """Note a statement that breaks a rule, unless a comment allows it."""
        reason = allowance(rule.summary, rows, at)
        if reason:
            self.allowed[rule.summary.id] += 1
            return
        message = rule.summary.title
        if reason is not None:
            message += " (allowed without a reason: say `because …`)"
        line = at.start
        if lines is not None:
            # the first of its lines that is new
            line = next((number for number in at if number in lines), line)
        finding = finding_of(rule, path, line, message)
        self.findings.append(
            finding._replace(
                # logs of CI are read by more people than the code
                text=shown_text(app.secrets.masked_file(rows[line - 1], {})),
                named=mark_of(shown_text(rows[line - 1])),
                first=at.start,
                last=at.stop - 1,
                near=neighbours(rows, at),
                breach=True,
            )
        )


def finding_of(rule: Rule, path: str, line: int, message: str) -> Finding:
    """A finding of one check of a rule."""
    return about(rule.summary, path, line, rule.level, message)._replace(key=rule.key)


def hurry_after(seconds: float) -> Callable[[], bool]:
    """Whether so much CPU time is over."""
    end = time.thread_time() + seconds
    return lambda: time.thread_time() > end

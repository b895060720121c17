"""Rules that carry a check, run over files and over edits.

Which files and lines, what is known or allowed already.

Only rules in force check. Nothing of the files is run, and no link leads out of the project.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from hashlib import sha256
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.app.checked_files import BINARY, CheckedFiles, below, between, commit_of, seen
from ai_lessons.errors import NotFound, UsageError
from ai_lessons.git import external_files, plumbing, worktree
from ai_lessons.model import PROJECT, expression, rule_checks
from ai_lessons.model.check_forms import stored, text_checks, to_run
from ai_lessons.model.decisions import ASK_OR_DENY, DENY
from ai_lessons.model.done_checks import DoneCheck
from ai_lessons.model.entries import GLOBAL_PROJECT, EntrySummary, Kind, id_end, json_fields
from ai_lessons.model.rule_checks import (
    EXTRA,
    LARGEST,
    InvalidPattern,
    Prefilter,
    TooSlow,
    matches,
    runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ai_lessons.app.answers import Pending
    from ai_lessons.app.edited_texts import EditedFile
    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.git.worktree import Worktree
    from ai_lessons.model.edits import Edit
    from ai_lessons.model.rule_checks import Check

ERROR, WARNING, NOTE = "error", "warning", "note"
# seconds of CPU that a check may take for one text
PER_TEXT = 1.0
# of a rule in a file
MOST_FINDINGS = 1_000
_ALLOW = expression(
    r"ai-lessons: allow ((?:[A-Za-z]-)?[0-9A-Za-z]{4,26})\b(?:\s++because\s++(.*\w))?"
)


@json_fields(hidden=("mark",))
@json_fields(hidden=("first", "last", "key", "near"))
class Finding(NamedTuple):
    """A line that breaks a rule (`level` error where it refuses edits, else warning), or that an entry is about (note).

    Without an id: what could not be looked at, and why. `text` is the line itself; `mark` names it in a baseline.
    `first` and `last` are the lines of the statement; 0: there is none. `key` names the check; `near` are marks of the
    lines that say something above and below it.
    """

    path: str
    line: int
    level: str
    id: str
    handle: str
    title: str
    message: str
    text: str = ""
    first: int = 0
    last: int = 0
    key: str = ""
    near: tuple[str, str] = ("", "")

    @property
    def mark(self) -> str:
        """The same for the same text in the same file, on whatever line."""
        return _mark(self.text)


@json_fields(hidden=("checked",))
class CheckReport(NamedTuple):
    """What breaks rules in the `files` that were looked at.

    `allowed`: by a comment; `in_baseline`: known before.

    `checked`: the rules, and the entries of notes.
    """

    findings: tuple[Finding, ...]
    files: int
    rules: int
    allowed: int = 0
    in_baseline: int = 0
    notes: tuple[str, ...] = ()
    checked: tuple[EntrySummary, ...] = ()

    @property
    def broken(self) -> bool:
        """Whether a rule is."""
        return any(finding.level != NOTE for finding in self.findings)


class _Rule(NamedTuple):
    """A rule with one of its checks; `number` tells that from the others."""

    summary: EntrySummary
    check: Check
    number: int = 0

    @property
    def key(self) -> str:
        """Names the check among those of all rules."""
        return f"{self.summary.id} {self.number}"

    def names(self, text: str) -> bool:
        """Whether an allowance names this rule."""
        return self.summary.id.endswith(id_end(text))


def checking(repo: Reading, cwd: Path, projects: Collection[str] = ()) -> list[EntrySummary]:
    """The rules in force with a check that hold in this folder.

    They are global, of the folder's project (or of these `projects`), or of the repository inside
    the code.
    """
    summaries = repo.catalog.with_checks()
    names = projects or (external_files.names_of(cwd) if summaries else ())
    here = []
    for summary in summaries:
        if _holds(summary, names):
            here.append(summary)
    farther = app.link_effects.farther_copies(repo, here)
    return [summary for summary in here if summary.id not in farther]


def _rules_of(summary: EntrySummary) -> list[_Rule]:
    """A rule with each of its checks of texts."""
    checks = text_checks(stored(summary.check))
    results: list[_Rule] = []
    for number, check in enumerate(checks):
        results.append(_Rule(summary, check, number))
    return results


def _sorted_out(summaries: Iterable[EntrySummary]) -> tuple[list[_Rule], list[_Rule]]:
    """The checks of texts of these rules: those that can be run here, and those that cannot."""
    rules = []
    for summary in summaries:
        for rule in _rules_of(summary):
            rules.append(rule)
    return [rule for rule in rules if runs(rule.check)], [
        rule for rule in rules if not runs(rule.check)
    ]


def _holds(summary: EntrySummary, names: Iterable[str]) -> bool:
    return (
        summary.project == GLOBAL_PROJECT
        or summary.tier == PROJECT
        or any(external_files.same_name(summary.project, n) for n in names)
    )


def check(
    library: Library,
    paths: Sequence[str] = (),
    *,
    since: str = "",
    baseline: str = "",
    write_baseline: bool = False,
    projects: Collection[str] = (),
) -> CheckReport:
    """Look for what breaks rules in force: in files and folders at `paths` (none.

    All of the project around).

    `since`: only on lines that changed since this commit, or since the branch left it, and with a
    note for each entry that speaks of what changed. `baseline`: a file of findings that are known;
    `write_baseline` makes it of those now.

    Raises NotFound: a path, the commit or the baseline.
    UsageError: a path outside the project, a baseline that is none.
    """
    repo = library.reading
    repo.current()
    cwd = repo.options.cwd
    top = external_files.top_of(cwd) or cwd
    known_before = _known_before(cwd, baseline, since, write=write_baseline)
    here = checking(repo, cwd, projects)
    rules, cannot_run = _sorted_out(here)
    around = CheckedFiles(
        repo, top, [name for path in paths for name in below(top, cwd, path)], since
    )
    run = _run_over(around, top, rules, cannot_run)
    if write_baseline:
        known_before = _write_baseline(cwd / baseline, top, run.findings)
    done, not_seen = _judged_by_change(here, around.differing()) if since else ([], [])
    run.findings += [finding for finding in done if around.is_below(finding.path)]
    fresh = _not_in(known_before, run.findings, top)
    if since:
        touched = app.notes.touched(library, around.touched())
    else:
        touched = []
    looked = {}
    for rule in rules:
        looked[rule.summary.id] = rule.summary
    looked |= {summary.id: summary for summary in here if since and _of_what_was_done(summary)}
    checked = looked | {hit.entry.id: hit.entry for hit in touched}
    if write_baseline:
        written = [f"written to {baseline}: findings that are known from now on"]
    else:
        written = []
    return CheckReport(
        (*fresh, *_notes_on(touched)),
        files=len(around.names) - run.missed,
        rules=len(looked),
        allowed=run.allowed,
        in_baseline=len(run.findings) - len(fresh),
        notes=(*written, *not_seen, *repo.notes()),
        checked=tuple(checked.values()),
    )


def _of_what_was_done(summary: EntrySummary) -> list[DoneCheck]:
    results: list[DoneCheck] = []
    for check in stored(summary.check):
        if isinstance(check, DoneCheck):
            results.append(check)
    return results


def _judged_by_change(
    rules: Iterable[EntrySummary], paths: Collection[str]
) -> tuple[list[Finding], list[str]]:
    """What a change as a whole breaks, each at the first file that does.

    And notes on commands, which it hides.
    """
    findings, notes = list[Finding](), list[str]()
    for summary in rules:
        for check in _of_what_was_done(summary):
            broken_at = check.broken_by(dict.fromkeys(paths, 0.0), ())
            if broken_at and check.ran:
                notes.append(
                    f"{summary.handle} {summary.title}: whether "
                    f"`{'` or `'.join(check.ran)}` ran is not seen here"
                )
            elif broken_at:
                if check.enforce == DENY:
                    level = ERROR
                else:
                    level = WARNING
                message = f"{summary.title}: {check.sentence(broken_at)}"
                findings.append(
                    Finding(
                        broken_at[0], 1, level, summary.id, summary.handle, summary.title, message
                    )
                )
    return findings, notes


def _notes_on(touched: Sequence[app.notes.Touched]) -> list[Finding]:
    """A note for each entry that speaks of what changed, at the first place that it speaks of."""
    about = {}
    for hit in reversed(touched):
        about[hit.entry.id] = hit
    results: list[Finding] = []
    for hit in reversed(about.values()):
        summary = hit.entry
        results.append(
            Finding(
                hit.path,
                hit.line,
                NOTE,
                summary.id,
                summary.handle,
                summary.title,
                f"{summary.title} ({summary.beside.warning or f'speaks of {hit.what}'})",
            )
        )
    return results


def _run_over(
    around: CheckedFiles, top: Path, rules: Sequence[_Rule], cannot_run: Sequence[_Rule]
) -> _Run:
    """Look at all files by the rules that can be run here.

    Of each other one, say so at the first file it is about.
    """
    run = _Run(rules)
    for rule in cannot_run:
        if path := next(filter(rule.check.concerns, around.names), ""):
            run.findings.append(
                _finding(rule, path, 1, f"{rule.summary.handle} was not checked: {EXTRA}")
            )
    for path in around.names:
        if path not in around.unseen:
            run.see(around, top, path)
    for path, why in around.unseen.items():
        run.miss(rules, path, why)
    run.findings.sort(key=lambda finding: (finding.path, finding.line, finding.handle))
    return run


class _Run:
    """Rules on their way through texts.

    `stopped` has the keys of those that could not be checked to the end.
    """

    def __init__(self, rules: Iterable[_Rule], hurry: Callable[[], bool] | None = None) -> None:
        self.findings: list[Finding] = []
        self.allowed, self.missed, self.stopped = 0, 0, set[str]()
        self._hurry, self._prefilter = hurry, Prefilter({rule.key: rule.check for rule in rules})
        self._by_files: dict[tuple[str, ...], list[_Rule]] = {}
        for rule in rules:
            self._by_files.setdefault(rule.check.files, []).append(rule)

    def concerned(self, path: str) -> list[_Rule]:
        """The rules that look at a file."""
        results: list[_Rule] = []
        for rules in self._by_files.values():
            if rules[0].check.concerns(path):
                for rule in rules:
                    results.append(rule)
        return results

    def see(self, around: CheckedFiles, top: Path, path: str) -> None:
        """Look by the rules that it concerns at a file."""
        if not (concerned := self.concerned(path)):
            return
        file = seen(top, path)
        if file.target:
            # a link: what looks at the file itself need not look twice
            concerned = [rule for rule in concerned if not rule.check.concerns(file.target)]
        if file.text is not None:
            before = around.path_before(path)
            # a rule that did not look at a file where it was knows nothing of it
            newly = []
            for rule in concerned:
                if before and not rule.check.concerns(before):
                    newly.append(rule)
            self.look(newly, path, file.text, None)
            known_rules = []
            for rule in concerned:
                if rule not in newly:
                    known_rules.append(rule)
            self.look(known_rules, path, file.text, around.lines(path, file.text))
        elif file.why_not:
            if BINARY in file.why_not or "link" in file.why_not:
                # such a file is only for who asks for its kind
                concerned = [rule for rule in concerned if rule.check.names_kind(path)]
            self.miss(concerned, path, file.why_not)

    def miss(self, rules: Iterable[_Rule], path: str, why: str) -> None:
        """Note that these rules could not look at a file."""
        levels = []
        for rule in rules:
            if rule.check.enforce == DENY:
                levels.append(ERROR)
            else:
                levels.append(WARNING)
        if levels:
            self.findings.append(Finding(path, 1, min(levels), "", "", "", f"not looked at: {why}"))
            self.missed += 1

    def look(
        self, rules: Iterable[_Rule], path: str, text: str, lines: frozenset[float] | None
    ) -> None:
        """Look by these rules at a text, or only at these lines of it."""
        rows, possible = text.split("\n"), self._prefilter.possible(text)
        for rule in (rule for rule in rules if rule.key in possible):
            before = len(self.findings)
            try:
                for match in matches(
                    rule.check, text, path, lines, self._hurry or _hurry(PER_TEXT)
                ):
                    self._note(rule, path, rows, range(match.line, match.last + 1), lines)
                    if len(self.findings) - before == MOST_FINDINGS:
                        most = f"{rule.summary.handle} was not checked to the end: {MOST_FINDINGS:,} findings"
                        self.findings.append(_finding(rule, path, match.line, most))
                        break
            except (TooSlow, InvalidPattern) as error:
                # a file must not be able to keep a rule from being checked
                slow, summary = isinstance(error, TooSlow), rule.summary
                if slow:
                    message = (
                        f"{summary.handle} was not checked to the end: this file takes too long"
                    )
                else:
                    message = str(error)
                finding = _finding(rule, path, 1, message)
                self.findings.append(finding._replace(level=ERROR) if slow else finding)
                self.stopped.add(rule.key)

    def _note(
        self, rule: _Rule, path: str, rows: Sequence[str], at: range, lines: frozenset[float] | None
    ) -> None:
        allowed = allowance(rule.summary, rows, at)
        if allowed:
            self.allowed += 1
            return
        line = next((number for number in at if lines is None or number in lines), at.start)
        if allowed is not None:
            reasonless = " (allowed without a reason: say `because …`)"
        else:
            reasonless = ""
        text = rows[line - 1].strip()[:200]
        finding = _finding(rule, path, line, f"{rule.summary.title}{reasonless}", text)
        near = _near(rows, at)
        self.findings.append(finding._replace(first=at.start, last=at.stop - 1, near=near))


def _finding(rule: _Rule, path: str, line: int, message: str, text: str = "") -> Finding:
    if rule.check.enforce == DENY:
        level = ERROR
    else:
        level = WARNING
    summary = rule.summary
    return Finding(
        path, line, level, summary.id, summary.handle, summary.title, message, text, key=rule.key
    )


def allowance(summary: EntrySummary, rows: Sequence[str], at: range) -> str | None:
    """The reason for which a comment on these lines, or alone on the one above, allows a rule to be broken.

    None: no comment does; empty: one does, and states no reason.
    """
    reason = None
    for number in (at.start - 1, *at):
        if number > 0:
            row = rows[number - 1]
        else:
            row = ""
        match = _ALLOW.search(row)
        alone = match and not re.search(r"\w", row[: match.start()])
        if match and (alone or number >= at.start) and summary.id.endswith(id_end(match[1])):
            reason = max(reason or "", match[2] or "")
    return reason


def _hurry(seconds: float) -> Callable[[], bool]:
    end = time.thread_time() + seconds
    return lambda: time.thread_time() > end


# --- findings that are known ---


def _mark(text: str) -> str:
    """Names a line, however it is indented."""
    return sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:16]


def _near(rows: Sequence[str], at: range) -> tuple[str, str]:
    """Marks of the nearest lines above and below a statement that hold a word.

    Empty: there is none.
    """
    above = (rows[number - 1] for number in range(at.start - 1, 0, -1))
    below_it = (rows[number - 1] for number in range(at.stop, len(rows) + 1))
    telling = (
        next((row for row in side if re.search(r"\w", row)), "") for side in (above, below_it)
    )
    first, second = (row and _mark(row) for row in telling)
    return first, second


class _Known:
    """Findings that a baseline has.

    Of each rule, file and text those with their neighbours, and how many without.
    """

    def __init__(self) -> None:
        self.near: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
        self.counts: Counter[tuple[str, str, str]] = Counter()

    def add(self, place: tuple[str, str, str], count: int, near: Sequence[tuple[str, str]]) -> None:
        """So many findings of a text; where each stands, as far as that is known."""
        self.near.setdefault(place, []).extend(near[:count])
        self.counts[place] += count - len(near[:count])


def _place(finding: Finding) -> tuple[str, str, str]:
    return finding.id, finding.mark, finding.path


def _not_in(known_before: _Known, findings: Sequence[Finding], top: Path) -> list[Finding]:
    """The findings beyond those that a baseline has.

    One is known where its neighbours are those of a known one, or one of them is. What is left of a
    text is taken for known while there are known ones whose neighbours are gone from the file: the
    code around them was written anew. A known finding whose neighbours still stand without it was
    mended, and hides no other one.
    """
    left = {place: [*near] for place, near in known_before.near.items()}
    counts = known_before.counts.copy()
    unmatched = list(findings)
    for fits in (eq, _half_the_same_place):
        remaining = []
        for finding in unmatched:
            near = next(
                (near for near in left.get(_place(finding), ()) if fits(near, finding.near)), None
            )
            if near is None:
                remaining.append(finding)
            else:
                left[_place(finding)].remove(near)
        unmatched = remaining
    fresh = []
    marks: dict[str, set[str]] = {}
    for finding in unmatched:
        place = _place(finding)
        if left.get(place) and finding.path not in marks:
            text = seen(top, finding.path).text or ""
            marks[finding.path] = {_mark(row) for row in text.split("\n")}
        moved = next(
            (near for near in left.get(place, ()) if not marks[finding.path].intersection(near)),
            None,
        )
        if moved is not None:
            left[place].remove(moved)
        elif counts[place] > 0:
            counts[place] -= 1
        else:
            fresh.append(finding)
    return fresh


def _half_the_same_place(near: tuple[str, str], other: tuple[str, str]) -> bool:
    return any(a and a == b for a, b in zip(near, other, strict=True))


def _known_before(cwd: Path, baseline: str, since: str, *, write: bool) -> _Known:
    """What a baseline has; nothing without one, and where it is written anew.

    Raises NotFound, UsageError.
    """
    if write and (since or not baseline):
        hint = "--baseline FILE --write-baseline, without --since"
        raise UsageError("a baseline holds what stands in all lines", hint=hint)
    if baseline and not write:
        return _read_baseline(cwd / baseline)
    return _Known()


def _read_baseline(file: Path) -> _Known:
    """The findings that are known. Raises NotFound, UsageError."""
    known_before = _Known()
    try:
        stated = json.loads(external_files.read(file)[0])
        for row in {1: stated["findings"]}[stated["version"]]:
            # one of an older program says only how often
            near = []
            for above, under in row.get("near", ()):
                near.append((str(above), str(under)))
            known_before.add((row["rule"], row["line"], row["path"]), int(row["count"]), near)
    except NotFound as error:
        raise NotFound(
            "baseline", str(file), hint="make it of what is found now: add --write-baseline"
        ) from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{file} is no baseline of findings", hint="make it anew: --write-baseline"
        ) from error
    return known_before


def _write_baseline(file: Path, top: Path, findings: Sequence[Finding]) -> _Known:
    """Write what is known from now on, and return it."""
    if Path(os.path.normpath(file)).is_relative_to(
        top
    ) and not file.parent.resolve().is_relative_to(top.resolve()):
        raise UsageError(
            f"{file.parent} leads out of {top} by a link", hint="name the file that it leads to"
        )
    near: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for finding in findings:
        near.setdefault(_place(finding), []).append(finding.near)
    rows = [
        {"path": path, "rule": rule, "line": mark, "count": len(places), "near": sorted(places)}
        for (rule, mark, path), places in near.items()
    ]
    rows.sort(key=lambda row: (row["path"], row["rule"], row["line"]))
    external_files.write(
        file, json.dumps({"version": 1, "findings": rows}, indent=1).encode() + b"\n"
    )
    known_before = _Known()
    for place, places in near.items():
        known_before.add(place, len(places), places)
    return known_before


# --- proposals, which check nothing yet ---

# seconds of CPU in which a reviewer is told what breaks the checks of proposals today
AT_A_DECISION = 2.0
# lines that are named
_NAMED = 3


def with_lines_broken(library: Library, proposals: Sequence[Pending]) -> tuple[Pending, ...]:
    """The proposals, each saying among its effects how many lines of the project around break its checks today."""
    repo = library.reading
    cwd = repo.options.cwd
    top = external_files.top_of(cwd)
    if top is None or top == library.primary.store.root:
        return tuple(proposals)
    names = external_files.names_of(cwd)
    rules, of_proposal = list[_Rule](), list[list[_Rule]]()
    for proposal in proposals:
        summary = _if_approved(library, proposal)
        numbered = list[_Rule]()
        if summary is not None and _holds(summary, names):
            for check in text_checks(stored(summary.check)):
                # two proposals may be about the same rule: a number of its own tells their checks
                # apart
                if runs(check):
                    numbered += [_Rule(summary, check, len(rules) + len(numbered))]
        of_proposal.append(numbered)
        rules += numbered
    if not rules:
        return tuple(proposals)
    hurry = _hurry(AT_A_DECISION)
    run, around = _Run(rules, hurry), CheckedFiles(repo, top, [], "")
    for path in around.names:
        if hurry():
            run.stopped |= {rule.key for rule in rules}
            break
        run.see(around, top, path)
    results = []
    for each in zip(proposals, of_proposal, strict=True):
        results.append(_with_lines(run, *each))
    return tuple(results)


def _if_approved(library: Library, proposal: Pending) -> EntrySummary | None:
    """What a proposal would be in force; None: no rule, or one that goes."""
    texts = {}
    for file in proposal.files:
        if file.new is not None:
            texts[file.path] = file.new.encode()
    entry = app.proposal_context.entry_of(proposal.path, texts)
    if entry is None or entry.kind != Kind.RULE or proposal.change == "removal":
        return None
    checks = to_run(entry.fields)
    tier = library.primary.options.tier
    return EntrySummary(
        entry.id,
        proposal.handle,
        Kind.RULE,
        entry.title,
        entry.project,
        (),
        (),
        entry.path,
        tier=tier,
        check=checks,
    )


def _with_lines(run: _Run, proposal: Pending, rules: Sequence[_Rule]) -> Pending:
    keys = {rule.key for rule in rules}
    if not keys:
        return proposal
    places = sorted(
        {
            (finding.path, finding.line)
            for finding in run.findings
            if finding.key in keys and finding.first
        }
    )
    is_partial = bool(keys & run.stopped)
    if places:
        named = []
        for path, line in places[:_NAMED]:
            named.append(f"{path}:{line}")
        if len(places) > _NAMED:
            named += ["…"]
        if is_partial:
            number = f"at least {len(places):,}"
        else:
            number = f"{len(places):,}"
        sentence = f"lines of the code here that break it today: {number} ({', '.join(named)})"
    elif is_partial:
        sentence = "the code here was not all looked at for lines that break it today"
    else:
        sentence = "no line of the code here breaks it today"
    return proposal._replace(effects=(*proposal.effects, sentence))


# --- an edit that is about to be made ---


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
    summaries = {summary.id: summary for summary in (*checking(repo, cwd), *named)}
    here, left = _sorted_out(summaries.values())
    rules, cannot_run = ({rule.key: rule for rule in part} for part in (here, left))
    # a host waits two seconds for its hook, which has more to do
    run = _Run(rules.values(), _hurry(0.2))
    unsure, hidden = dict[str, Broken](), set[str]()
    for file in app.edited_texts.edited_files(edits) if rules or cannot_run else ():
        names = external_files.names_in_project(file.path, cwd) if file.path else ()
        blind = [rule for rule in cannot_run.values() if file.concerns(rule.check, names)]
        unsure |= {rule.key: _blind(rule, EXTRA) for rule in blind}
        if file.hidden:
            unseen = [rule for rule in rules.values() if file.concerns(rule.check, names)]
            unsure |= {rule.key: _blind(rule, file.hidden) for rule in unseen}
            hidden |= {rule.key for rule in unseen}
        else:
            names_before = external_files.names_in_project(file.was, cwd) if file.was else names
            unsure |= _look_at_edit(run, file, names, names_before)
    for key in run.stopped:
        unsure.setdefault(key, _blind(rules[key], "it takes too long"))
    broken = _broken_in(run, rules)
    # without `enforce` it is told as a rule without a check
    asked = {
        rule.summary.id: rule
        for rule in unsure.values()
        if rule.enforce and rule.summary.id not in broken
    }
    blind_ids = {rules[key].summary.id for key in run.stopped | hidden}
    return [*broken.values(), *asked.values()], {
        rule.summary.id for rule in rules.values()
    } - blind_ids


def _broken_in(run: _Run, rules: Mapping[str, _Rule]) -> dict[str, Broken]:
    """The rules whose checks came to their end and have findings, each at its first one."""
    broken = dict[str, Broken]()
    for finding in run.findings:
        if finding.key in run.stopped:
            continue
        rule = rules[finding.key]
        why = f"this edit breaks {finding.handle} at line {finding.line}"
        first = broken.setdefault(finding.id, Broken(rule.summary, why, rule.check.enforce))
        if rule.check.enforce == DENY:
            broken[finding.id] = first._replace(enforce=DENY)
    return broken


def _look_at_edit(
    run: _Run, file: EditedFile, names: Sequence[str], before: Sequence[str]
) -> dict[str, Broken]:
    """Look at a file as it will be; by key the rules that the edit allows itself to break.

    What was there is known to a rule that looked at the file at its path `before`: to another one
    all of it is new.
    """
    concerned = {rule.key: rule for name in names for rule in run.concerned(name)}
    unsure = dict[str, Broken]()
    for is_new in (False, True):
        rules = [
            rule
            for rule in concerned.values()
            if any(map(rule.check.concerns, before)) is not is_new
        ]
        if is_new:
            lines = app.edited_texts.every_line(file.text)
        else:
            lines = file.lines
        if rules and lines:
            run.look(rules, names[0], file.text, lines)
        for rule in rules if lines else ():
            if line := _allowed(rule, file.text, lines):
                why = f"this edit allows itself at line {line} to break {rule.summary.handle}"
                unsure[rule.key] = _unsure(rule, why)
    return unsure


def _unsure(rule: _Rule, why: str) -> Broken:
    return Broken(
        rule.summary, why, ASK_OR_DENY if rule.check.enforce == DENY else rule.check.enforce
    )


def _blind(rule: _Rule, reason: str) -> Broken:
    return _unsure(rule, f"{rule.summary.handle} could not look at this edit: {reason}")


def _allowed(rule: _Rule, text: str, lines: frozenset[float]) -> int:
    """The first of these lines that has an allowance of the rule; 0: none has."""
    if not rule.check.enforce or "ai-lessons: allow" not in text:
        return 0
    rows = text.split("\n")
    named = (
        (n, match)
        for n in sorted(lines)
        for match in _ALLOW.finditer(rows[int(n) - 1])
        if n == int(n)
    )
    return next((int(n) for n, match in named if rule.names(match[1])), 0)


# --- a check that a fix shows ---

_LESS_TELLING = expression(
    r"(?i)(?:^|/)(?:tests?|docs?|examples?)(?:/|_)|test_|\.(?:md|rst|txt|toml|cfg|json|ya?ml|lock)$"
)


class Drafted(NamedTuple):
    """A check that fires on the text before a fix and is silent after it.

    `alarms`: other lines on which it fires.
    """

    check: dict[str, Any]
    path: str
    alarms: int


def draft(library: Library, fix: str) -> Drafted:
    """A check that a commit of the code around the caller shows.

    Raises NotFound: no such commit, or it shows none.
    """
    cwd = library.reading.options.cwd
    top = external_files.top_of(cwd)
    if top is None:
        raise NotFound("git repository around", str(cwd), hint="stand in the code that was fixed")
    return draft_from(worktree.locate(top), fix)


def draft_from(git: Worktree, fix: str) -> Drafted:
    """As `draft`, for a repository."""
    after = commit_of(git, fix)
    before = commit_of(git, f"{after}^")
    hunks = [hunk for hunk in between(git, before, after) if any(map(str.strip, hunk.old))]
    hunks.sort(key=lambda hunk: bool(_LESS_TELLING.search(hunk.path)))
    for hunk in hunks[:30]:
        # a larger commit is no fix of one thing
        old, new = (text_at(git, commit, hunk.path) for commit in (before, after))
        ends = new.split("\n")[hunk.start + len(hunk.new) - (1 if hunk.new else 0) :]
        for check in rule_checks.drafts(hunk.path, hunk.old, hunk.new, ends):
            if any(matches(check, old, hunk.path)) and not any(matches(check, new, hunk.path)):
                alarms = _alarms(git, after, check)
                if alarms <= 3:
                    # a person looks through so few other lines before the check is proposed
                    stated = {}
                    for key, value in check._asdict().items():
                        if value:
                            stated[key] = value
                    return Drafted(
                        {k: v[0] if isinstance(v, tuple) else v for k, v in stated.items()},
                        hunk.path,
                        alarms,
                    )
    if not hunks:
        why = "it takes no line away"
    else:
        why = "nothing that it took away tells the text before from other lines"
    raise NotFound(
        "check in the fix",
        fix,
        hint=f"{why}; write one: --check '{{files: …, regex: …, bad: …, good: …}}'",
    )


def text_at(git: Worktree, commit: str, path: str) -> str:
    """The text of a file in a commit; empty if it is not there, or too large to be looked at."""
    text = plumbing.run(git, "cat-file", "blob", f"{commit}:{path}").out.decode("utf-8", "replace")
    if len(text) <= LARGEST:
        return text
    return ""


def _alarms(git: Worktree, commit: str, check: Check) -> int:
    """On how many lines of the commit a check fires; counted no farther than needed."""
    count = 0
    words = rule_checks.telling_word(check.regex)
    place = ("--", *(f":(glob)**/{glob}" for glob in check.files))
    for name in plumbing.run(
        git, "grep", "-l", "-z", "-F", "-I", "-e", words, commit, *place
    ).names:
        path = name.partition(":")[2]
        count += sum(
            1 for _ in matches(check, text_at(git, commit, path), path, None, _hurry(PER_TEXT))
        )
        if count > 3:
            break
    return count

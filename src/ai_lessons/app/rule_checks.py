"""Rules that carry a check, run over files and over edits: which files and lines, what is known or allowed already.

Only rules in force check. Nothing of the files is run, and no link leads out of the project.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
import time
from collections import Counter
from contextlib import suppress
from functools import cached_property
from hashlib import sha1, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.errors import AiLessonsError, NotFound, UsageError
from ai_lessons.git import files, plumbing, worktree
from ai_lessons.model import PROJECT, expression, layout, rule_checks
from ai_lessons.model.entries import GLOBAL_PROJECT, EntrySummary, Filter, Kind, id_end, json_fields
from ai_lessons.model.rule_checks import (
    ASK_OR_DENY,
    DENY,
    EXTRA,
    LARGEST,
    InvalidPattern,
    Prefilter,
    TooSlow,
    matches,
    runs,
    stored,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.git.plumbing import Done
    from ai_lessons.git.worktree import Worktree
    from ai_lessons.model.rule_checks import Check

ERROR, WARNING, NOTE = "error", "warning", "note"
PER_TEXT = 1.0  # seconds of CPU that a check may take for one text
MOST_FINDINGS = 1_000  # of a rule in a file
_ALLOW = expression(r"ai-lessons: allow ((?:[A-Za-z]-)?[0-9A-Za-z]{4,26})\b(?:\s++because\s++(.*\w))?")


@json_fields(hidden=("mark",))
@json_fields(hidden=("first", "last"))
class Finding(NamedTuple):
    """A line that breaks a rule (`level` error where it refuses edits, else warning), or that an entry is about (note).

    Without an id: what could not be looked at, and why. `text` is the line itself; `mark` names it in a baseline.
    `first` and `last` are the lines of the statement; 0: there is none.
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

    @property
    def mark(self) -> str:
        """The same for the same text in the same file, on whatever line."""
        return sha256(" ".join(self.text.split()).encode("utf-8", "replace")).hexdigest()[:16]


@json_fields(hidden=("checked",))
class CheckReport(NamedTuple):
    """What breaks rules in the `files` that were looked at. `allowed`: by a comment; `in_baseline`: known before.

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
    summary: EntrySummary
    check: Check

    def names(self, text: str) -> bool:
        """Whether an allowance names this rule."""
        return self.summary.id.endswith(id_end(text))


def rules_here(repo: Reading, cwd: Path, projects: Collection[str] = ()) -> tuple[list[_Rule], list[_Rule]]:
    """The rules in force that check files of this folder: those that can be run here, and those that cannot.

    They are global, of the folder's project (or of these `projects`), or of the repository inside the code.
    """
    summaries = repo.catalog.select(Filter(kinds=frozenset({Kind.RULE})))
    checks = [_Rule(summary, check) for summary in summaries if (check := stored(summary.check))]
    names = projects or (files.names_of(cwd) if checks else ())
    here = [rule for rule in checks if _holds(rule.summary, names)]
    farther = app.link_effects.farther_copies(repo, [rule.summary for rule in here])
    here = [rule for rule in here if rule.summary.id not in farther]
    return [rule for rule in here if runs(rule.check)], [rule for rule in here if not runs(rule.check)]


def _holds(summary: EntrySummary, names: Iterable[str]) -> bool:
    return (
        summary.project == GLOBAL_PROJECT
        or summary.tier == PROJECT
        or any(files.same_name(summary.project, n) for n in names)
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
    """Look for what breaks rules in force: in files and folders at `paths` (none: all of the project around).

    `since`: only on lines that changed since this commit, or since the branch left it, and with a note for each entry
    that speaks of what changed. `baseline`: a file of findings that are known; `write_baseline` makes it of those now.

    Raises NotFound: a path, the commit or the baseline.
    UsageError: a path outside the project, a baseline that is none.
    """
    repo = library.reading
    repo.current()
    cwd = repo.options.cwd
    top = files.top_of(cwd) or cwd
    known_before = _known_before(cwd, baseline, since, write=write_baseline)
    rules, cannot_run = rules_here(repo, cwd, projects)
    around = CheckedFiles(repo, top, [below(top, cwd, path) for path in paths], since)
    run = _run_over(around, top, rules, cannot_run)
    if write_baseline:
        known_before = _write_baseline(cwd / baseline, top, run.findings)
    fresh = _not_in(known_before, run.findings)
    touched = app.anchors.entries_about(library, around.touched()) if since else []
    checked = {x.id: x for x in (*(rule.summary for rule in rules), *(hit.entry for hit in touched))}
    written = [f"written to {baseline}: findings that are known from now on"] if write_baseline else []
    return CheckReport(
        (*fresh, *_notes_on(touched)),
        files=len(around.names) - run.missed,
        rules=len(rules),
        allowed=run.allowed,
        in_baseline=len(run.findings) - len(fresh),
        notes=(*written, *repo.notes()),
        checked=tuple(checked.values()),
    )


def _notes_on(touched: Sequence[app.anchors.Touched]) -> list[Finding]:
    """A note for each entry that speaks of what changed, at the first place that it speaks of."""
    about = {hit.entry.id: hit for hit in reversed(touched)}
    return [
        Finding(path, line, NOTE, summary.id, summary.handle, summary.title,
                f"{summary.title} ({summary.warning or f'speaks of {anchor}'})")
        for summary, anchor, line, path in reversed(about.values())
    ]  # fmt: skip


def _run_over(around: CheckedFiles, top: Path, rules: Sequence[_Rule], cannot_run: Sequence[_Rule]) -> _Run:
    """Look at all files by the rules that can be run here; of each other one, say so at the first file it is about."""
    run = _Run(rules)
    for rule in cannot_run:
        if path := next(filter(rule.check.concerns, around.names), ""):
            run.findings.append(_finding(rule, path, 1, f"{rule.summary.handle} was not checked: {EXTRA}"))
    for path in around.names:
        if path not in around.unseen:
            run.see(around, top, path)
    for path, why in around.unseen.items():
        run.miss(rules, path, why)
    run.findings.sort(key=lambda finding: (finding.path, finding.line, finding.handle))
    return run


class _Run:
    """Rules on their way through texts; `stopped` has the ids of those that could not be checked to the end."""

    def __init__(self, rules: Iterable[_Rule], hurry: Callable[[], bool] | None = None) -> None:
        self.findings: list[Finding] = []
        self.allowed, self.missed, self.stopped = 0, 0, set[str]()
        self._hurry, self._prefilter = hurry, Prefilter({rule.summary.id: rule.check for rule in rules})
        self._by_files: dict[tuple[str, ...], list[_Rule]] = {}
        for rule in rules:
            self._by_files.setdefault(rule.check.files, []).append(rule)

    def concerned(self, path: str) -> list[_Rule]:
        """The rules that look at a file."""
        return [rule for rules in self._by_files.values() if rules[0].check.concerns(path) for rule in rules]

    def see(self, around: CheckedFiles, top: Path, path: str) -> None:
        """Look by the rules that it concerns at a file."""
        if not (concerned := self.concerned(path)):
            return
        file = seen(top, path)
        if file.target:  # a link: what looks at the file itself need not look twice
            concerned = [rule for rule in concerned if not rule.check.concerns(file.target)]
        if file.text is not None:
            self.look(concerned, path, file.text, around.lines(path, file.text))
        elif file.why_not:
            if BINARY in file.why_not or "link" in file.why_not:  # such a file is only for who asks for its kind
                concerned = [rule for rule in concerned if rule.check.names_kind(path)]
            self.miss(concerned, path, file.why_not)

    def miss(self, rules: Iterable[_Rule], path: str, why: str) -> None:
        """Note that these rules could not look at a file."""
        levels = [ERROR if rule.check.enforce == DENY else WARNING for rule in rules]
        if levels:
            self.findings.append(Finding(path, 1, min(levels), "", "", "", f"not looked at: {why}"))
            self.missed += 1

    def look(self, rules: Iterable[_Rule], path: str, text: str, lines: frozenset[float] | None) -> None:
        """Look by these rules at a text, or only at these lines of it."""
        rows, possible = text.split("\n"), self._prefilter.possible(text)
        for rule in (rule for rule in rules if rule.summary.id in possible):
            before = len(self.findings)
            try:
                for match in matches(rule.check, text, path, lines, self._hurry or _hurry(PER_TEXT)):
                    self._note(rule, path, rows, range(match.line, match.last + 1), lines)
                    if len(self.findings) - before == MOST_FINDINGS:
                        most = f"{rule.summary.handle} was not checked to the end: {MOST_FINDINGS:,} findings"
                        self.findings.append(_finding(rule, path, match.line, most))
                        break
            except (TooSlow, InvalidPattern) as error:
                # a file must not be able to keep a rule from being checked
                slow, summary = isinstance(error, TooSlow), rule.summary
                message = (
                    f"{summary.handle} was not checked to the end: this file takes too long" if slow else str(error)
                )
                finding = _finding(rule, path, 1, message)
                self.findings.append(finding._replace(level=ERROR) if slow else finding)
                self.stopped.add(summary.id)

    def _note(self, rule: _Rule, path: str, rows: Sequence[str], at: range, lines: frozenset[float] | None) -> None:
        allowed = allowance(rule.summary, rows, at)
        if allowed:
            self.allowed += 1
            return
        line = next((number for number in at if lines is None or number in lines), at.start)
        reasonless = " (allowed without a reason: say `because …`)" if allowed is not None else ""
        text = rows[line - 1].strip()[:200]
        finding = _finding(rule, path, line, f"{rule.summary.title}{reasonless}", text)
        self.findings.append(finding._replace(first=at.start, last=at.stop - 1))


def _finding(rule: _Rule, path: str, line: int, message: str, text: str = "") -> Finding:
    level = ERROR if rule.check.enforce == DENY else WARNING
    return Finding(path, line, level, rule.summary.id, rule.summary.handle, rule.summary.title, message, text)


def allowance(summary: EntrySummary, rows: Sequence[str], at: range) -> str | None:
    """The reason for which a comment on these lines, or alone on the one above, allows a rule to be broken.

    None: no comment does; empty: one does, and states no reason.
    """
    reason = None
    for number in (at.start - 1, *at):
        row = rows[number - 1] if number > 0 else ""
        match = _ALLOW.search(row)
        alone = match and not re.search(r"\w", row[: match.start()])
        if match and (alone or number >= at.start) and summary.id.endswith(id_end(match[1])):
            reason = max(reason or "", match[2] or "")
    return reason


def _hurry(seconds: float) -> Callable[[], bool]:
    end = time.thread_time() + seconds
    return lambda: time.thread_time() > end


# --- findings that are known ---


def _key(finding: Finding) -> str:
    return f"{finding.id} {finding.mark} {finding.path}"


def _not_in(known_before: Counter[str], findings: Iterable[Finding]) -> list[Finding]:
    """The findings beyond those that a baseline has: it says how often each is known."""
    left, fresh = known_before.copy(), []
    for finding in findings:
        if left[_key(finding)] > 0:
            left[_key(finding)] -= 1
        else:
            fresh.append(finding)
    return fresh


def _known_before(cwd: Path, baseline: str, since: str, *, write: bool) -> Counter[str]:
    """What a baseline has; nothing without one, and where it is written anew. Raises NotFound, UsageError."""
    if write and (since or not baseline):
        hint = "--baseline FILE --write-baseline, without --since"
        raise UsageError("a baseline holds what stands in all lines", hint=hint)
    return _read_baseline(cwd / baseline) if baseline and not write else Counter()


def _read_baseline(file: Path) -> Counter[str]:
    """How often each finding is known. Raises NotFound, UsageError."""
    try:
        stated = json.loads(files.read(file)[0])
        rows = {1: stated["findings"]}[stated["version"]]
        return Counter({f"{row['rule']} {row['line']} {row['path']}": int(row["count"]) for row in rows})
    except NotFound as error:
        raise NotFound("baseline", str(file), hint="make it of what is found now: add --write-baseline") from error
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise UsageError(f"{file} is no baseline of findings", hint="make it anew: --write-baseline") from error


def _write_baseline(file: Path, top: Path, findings: Sequence[Finding]) -> Counter[str]:
    """Write what is known from now on, and return it."""
    if Path(os.path.normpath(file)).is_relative_to(top) and not file.parent.resolve().is_relative_to(top.resolve()):
        raise UsageError(f"{file.parent} leads out of {top} by a link", hint="name the file that it leads to")
    counts = Counter((finding.path, finding.id, finding.mark) for finding in findings)
    rows = [{"path": path, "rule": rule, "line": mark, "count": n} for (path, rule, mark), n in sorted(counts.items())]
    files.write(file, json.dumps({"version": 1, "findings": rows}, indent=1).encode() + b"\n")
    return Counter(map(_key, findings))


# --- an edit that is about to be made ---


class Edit(NamedTuple):
    """An edit of a file (its whole path): `old` becomes `new`; without `old`, `new` is the whole file."""

    path: str
    old: str
    new: str


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
    here, left = rules_here(repo, cwd)
    rules, cannot_run = ({rule.summary.id: rule for rule in part} for part in (here, left))
    for summary in named:
        if check := stored(summary.check):
            (rules if runs(check) else cannot_run).setdefault(summary.id, _Rule(summary, check))
    run = _Run(rules.values(), _hurry(0.2))  # a host waits two seconds for its hook, which has more to do
    by_path, unsure = dict[str, list[Edit]](), dict[str, Broken]()
    for edit in edits if rules or cannot_run else ():
        by_path.setdefault(edit.path, []).append(edit)
    for path, its_edits in by_path.items():
        # a rule may be about a link, or about the file that it leads to
        paths = {files.in_project(name, cwd): None for name in (path, os.path.realpath(cwd / path))}
        blind = [rule for rule in cannot_run.values() if any(map(rule.check.concerns, paths))]
        unsure |= {rule.summary.id: _blind(rule, EXTRA) for rule in blind}
        unsure |= _look_at_edits(run, list(paths), *_after(Path(path), its_edits))
    for key in run.stopped:
        unsure.setdefault(key, _blind(rules[key], "it takes too long"))
    broken = _broken_in(run, rules)
    # without `enforce` it is told as a rule without a check
    asked = {key: rule for key, rule in unsure.items() if rule.enforce and key not in broken}
    return [*broken.values(), *asked.values()], rules.keys() - run.stopped


def _broken_in(run: _Run, rules: Mapping[str, _Rule]) -> dict[str, Broken]:
    """The rules whose checks came to their end and have findings, each at its first one."""
    broken = dict[str, Broken]()
    for finding in run.findings:
        if finding.id not in run.stopped:
            summary, check = rules[finding.id]
            why = f"this edit breaks {summary.handle} at line {finding.line}"
            broken.setdefault(summary.id, Broken(summary, why, check.enforce))
    return broken


def _look_at_edits(run: _Run, paths: Sequence[str], text: str, lines: frozenset[float]) -> dict[str, Broken]:
    """Look at a file as it will be; by id the rules that could not, or that the edit allows itself to break."""
    concerned = {rule.summary.id: rule for name in paths if lines for rule in run.concerned(name)}
    if len(text) > LARGEST:
        return {key: _blind(rule, "more than 1 MiB") for key, rule in concerned.items()}
    if concerned:
        run.look(concerned.values(), paths[0], text, lines)
    return {
        key: _unsure(rule, f"this edit allows itself at line {line} to break {rule.summary.handle}")
        for key, rule in concerned.items()
        if (line := _allowed(rule, text, lines))
    }


def _unsure(rule: _Rule, why: str) -> Broken:
    return Broken(rule.summary, why, ASK_OR_DENY if rule.check.enforce == DENY else rule.check.enforce)


def _blind(rule: _Rule, reason: str) -> Broken:
    return _unsure(rule, f"{rule.summary.handle} could not look at this edit: {reason}")


def _allowed(rule: _Rule, text: str, lines: frozenset[float]) -> int:
    """The first of these lines that has an allowance of the rule; 0: none has."""
    if not rule.check.enforce or "ai-lessons: allow" not in text:
        return 0
    rows = text.split("\n")
    named = ((n, match) for n in sorted(lines) for match in _ALLOW.finditer(rows[int(n) - 1]) if n == int(n))
    return next((int(n) for n, match in named if rule.names(match[1])), 0)


def _after(file: Path, edits: Sequence[Edit]) -> tuple[str, frozenset[float]]:
    """The text that a file will have (of what does not fit it, only what is written), and the lines that are new."""
    before: str | None = None
    with suppress(AiLessonsError, OSError):
        before = seen(file.parent.resolve(strict=True), file.name).text
    if any(not edit.old for edit in edits):
        after = next(edit.new for edit in reversed(edits) if not edit.old)
        before = before if before != after else None
    elif before is None:
        after = "\n".join(edit.new for edit in edits)
    else:
        after = before
        for edit in edits:
            after = after.replace(edit.old, edit.new, 1)
        if after == before:  # it is made already, or it does not fit
            made = [edit.new for edit in edits]
            starts = [before.find(new) for new in made]
            if min(starts) < 0:
                return _after_all("\n".join(made))
            first = [before.count("\n", 0, start) + 1 for start in starts]
            ends = [start + new.rstrip("\n").count("\n") for start, new in zip(first, made, strict=True)]
            return before, frozenset(n for start, end in zip(first, ends, strict=True) for n in range(start, end + 1))
    if before is None or len(after) > LARGEST:
        return _after_all(after)
    return after, new_lines(before, after)


def _after_all(text: str) -> tuple[str, frozenset[float]]:
    return text, frozenset(range(1, text.count("\n") + 2))


# --- a check that a fix shows ---

_LESS_TELLING = expression(
    r"(?i)(?:^|/)(?:tests?|docs?|examples?)(?:/|_)|test_|\.(?:md|rst|txt|toml|cfg|json|ya?ml|lock)$"
)


class Drafted(NamedTuple):
    """A check that fires on the text before a fix and is silent after it; `alarms`: other lines on which it fires."""

    check: dict[str, Any]
    path: str
    alarms: int


def draft(library: Library, fix: str) -> Drafted:
    """A check that a commit of the code around the caller shows. Raises NotFound: no such commit, or it shows none."""
    cwd = library.reading.options.cwd
    top = files.top_of(cwd)
    if top is None:
        raise NotFound("git repository around", str(cwd), hint="stand in the code that was fixed")
    return draft_from(worktree.locate(top), fix)


def draft_from(git: Worktree, fix: str) -> Drafted:
    """As `draft`, for a repository."""
    after = commit_of(git, fix)
    before = commit_of(git, f"{after}^")
    hunks = [hunk for hunk in between(git, before, after) if any(map(str.strip, hunk.old))]
    hunks.sort(key=lambda hunk: bool(_LESS_TELLING.search(hunk.path)))
    for hunk in hunks[:30]:  # a larger commit is no fix of one thing
        old, new = (text_at(git, commit, hunk.path) for commit in (before, after))
        ends = new.split("\n")[hunk.start + len(hunk.new) - (1 if hunk.new else 0) :]
        for check in rule_checks.drafts(hunk.path, hunk.old, hunk.new, ends):
            if any(matches(check, old, hunk.path)) and not any(matches(check, new, hunk.path)):
                alarms = _alarms(git, after, check)
                if alarms <= 3:  # a person looks through so few other lines before the check is proposed
                    stated = {key: value for key, value in check._asdict().items() if value}
                    return Drafted(
                        {k: v[0] if isinstance(v, tuple) else v for k, v in stated.items()}, hunk.path, alarms
                    )
    why = "it takes no line away" if not hunks else "nothing that it took away tells the text before from other lines"
    raise NotFound("check in the fix", fix, hint=f"{why}; write one: --check '{{files: …, regex: …, bad: …, good: …}}'")


def text_at(git: Worktree, commit: str, path: str) -> str:
    """The text of a file in a commit; empty if it is not there, or too large to be looked at."""
    text = plumbing.run(git, "cat-file", "blob", f"{commit}:{path}").out.decode("utf-8", "replace")
    return text if len(text) <= LARGEST else ""


def _alarms(git: Worktree, commit: str, check: Check) -> int:
    """On how many lines of the commit a check fires; counted no farther than needed."""
    count = 0
    words = rule_checks.telling_word(check.regex)
    place = ("--", *(f":(glob)**/{glob}" for glob in check.files))
    for name in plumbing.run(git, "grep", "-l", "-z", "-F", "-I", "-e", words, commit, *place).names:
        path = name.partition(":")[2]
        count += sum(1 for _ in matches(check, text_at(git, commit, path), path, None, _hurry(PER_TEXT)))
        if count > 3:
            break
    return count


# --- the files of a project that checks look at: which of their lines, and what cannot be looked at ---

_DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
_LINES = (
    *("--submodule=diff", "--unified=0", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/"),
    "--diff-filter=d",
)
_RENAMES = ("-M", "-l1000")  # as git itself is set, whatever the settings here are
_HUNK = expression(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_BINARY = expression(rb'(?m)^Binary files .* and ("?b/(?:(?! and "?b/).)*) differ$')
_MODULE = "160000"  # The mode of a submodule
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_LEAST, _ZEROS = 8, 0.4  # Characters, and share of every second byte that is zero in UTF-16 without a mark
_LFS = "version https://git-lfs.github.com/spec/"

BINARY = "binary"


class Seen(NamedTuple):
    """The text of a file; None: there is none, or it cannot be looked at, and `why_not` says why.

    `target`: the path of the file that a link leads to.
    """

    text: str | None = None
    why_not: str = ""
    target: str = ""


def seen(top: Path, path: str) -> Seen:
    """A file, relative to the top of its project. Raises nothing that it can cause."""
    file, target = top / path, ""
    try:
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode):
            file = file.resolve()
            if not file.is_relative_to(top.resolve()):
                return Seen(None, "a link out of the project")
            top, target = top.resolve(), file.relative_to(top.resolve()).as_posix()
            status = file.lstat()
    except (OSError, ValueError, RuntimeError):
        return Seen()
    if stat.S_ISDIR(status.st_mode):
        return Seen()
    megabytes = f"{status.st_size / 1_000_000:.1f} MB"
    try:
        data, _ = files.read(file, LARGEST, within=top)
        text = decoded(data)
    except AiLessonsError:
        if status.st_size <= LARGEST:
            return Seen(None, "it cannot be read", target)
        head = b""
        with suppress(OSError), file.open("rb") as opened:
            head = opened.read(8_000)
        what = BINARY if b"\0" in head and not head.startswith(tuple(mark for mark, _ in _MARKS)) else "more than 1 MiB"
        return Seen(None, f"{what}, {megabytes}", target)
    if text is None:
        return Seen(None, f"{BINARY}, {megabytes}" if len(data) > 100_000 else BINARY, target)
    return Seen(None, "its content is in Git LFS", target) if text.startswith(_LFS) else Seen(text, "", target)


def decoded(data: bytes) -> str | None:
    """The text of a file, in whatever form of Unicode it is; None: it is binary."""
    for mark, coding in _MARKS:
        if data.startswith(mark):
            return data.decode(coding, "replace")
    if b"\0" in data:
        half = len(data) // 2
        for coding, start in (("utf-16-le", 1), ("utf-16-be", 0)):
            if half >= _LEAST and data[start::2].count(0) > _ZEROS * half:
                return data.decode(coding, "replace")
        try:
            return data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError:
            return None
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def new_lines(before: str, after: str) -> frozenset[float]:
    """The lines of a text that another has not, from 1; 2.5 where lines between the lines 2 and 3 were taken away."""
    from ai_lessons.model.merge import LineMatcher

    old, new = before.split("\n"), after.split("\n")
    lines, a, b = set[float](), 0, 0
    for block in LineMatcher(old, new).get_matching_blocks():
        lines.update(range(b + 1, block.b + 1))
        if block.b == b and block.a > a:
            lines.add(b + 0.5)
        a, b = block.a + block.size, block.b + block.size
    return frozenset(lines)


class _Change(NamedTuple):
    """A file that differs from what it was at `path`, with the content `blob`; `mode` is its own now."""

    path: str
    blob: str
    mode: str


class CheckedFiles:
    """The files of a project around a folder: none that git ignores, none of the entries that hold the rules.

    `since`: only what changed since this commit, or since the branch left it; empty: everything.
    """

    def __init__(self, repo: Reading, top: Path, below: Sequence[str], since: str) -> None:
        """Raises NotFound: no such commit. UsageError: there is no git that knows of any."""
        self._top, self._below, self._since = top, [path.rstrip("/") for path in below], since
        self._entries = [place.store.root for place in repo.every]
        self._git = worktree.locate(top) if files.top_of(top) is not None else None
        self._hunks: list[Hunk] = []
        self.unseen: dict[str, str] = {}  # What cannot be looked at, whatever rule looks, and why
        if since:
            if self._git is None:
                raise UsageError(f"{top} is no git repository, so that nothing is known since {since}")
            commit = commit_of(self._git, since)
            left = plumbing.run(self._git, "merge-base", commit, "HEAD")
            self._base = commit if left.code else left.text
            diff = self._ask("diff", *_DIFF, *_LINES, *_RENAMES, self._base, "--").out
            self._hunks = [hunk for hunk in hunks(diff) if self._is_below(hunk.path)]
            self._opaque = {_unquoted(name).removeprefix("b/") for name in _BINARY.findall(diff)}

    @cached_property
    def names(self) -> list[str]:
        """The files to look at, relative to the top; notes in `unseen` what of them cannot be."""
        if self._git is None:
            every = files.expand([str(self._top / path) for path in self._below or [""]], self._top, recursive=True)
            names = {file.path.relative_to(self._top).as_posix() for file in every}
        else:
            names = set(self._untracked) | (self._changed_names() if self._since else self._tracked())
        return sorted(name for name in names if self._is_code(name) and self._is_below(name))

    def lines(self, path: str, text: str) -> frozenset[float] | None:
        """The lines of a file to look at, as `new_lines` has them; None: all of them."""
        if not self._since:
            return None
        if path in self._lines:
            return self._lines[path]
        change = self._changed.get(path) or (self._removed(path) if path in self._untracked else None)
        before = self._blob(change.blob) if change else None
        return None if before is None else new_lines(before, text)

    def touched(self) -> dict[str, set[int]]:
        """Each file that changed with its new lines, and those beside removed ones; none of a file that is gone."""
        numbers: dict[str, set[int]] = {}
        for hunk in self._hunks:
            end = hunk.start + (len(hunk.new) or 2)
            numbers.setdefault(hunk.path, set()).update(range(max(hunk.start, 1), end))
        return numbers | {path: set() for path in self._gone if self._is_below(path)}

    def _is_below(self, name: str) -> bool:
        return not self._below or any(name == path or name.startswith(f"{path}/") or not path for path in self._below)

    def _is_code(self, name: str) -> bool:
        file = self._top / name
        roots = (root for root in self._entries if file.is_relative_to(root))
        return not any(layout.place(file.relative_to(root).as_posix()) for root in roots)

    def _ask(self, *words: str) -> Done:
        done = plumbing.run(self._git, *words, cwd=self._top)
        if done.code:
            raise NotFound("answer of git to", f"git {words[0]}", hint=done.err)
        return done

    # --- all of it ---

    @cached_property
    def _untracked(self) -> frozenset[str]:
        return frozenset(self._ask("ls-files", "-z", "--others", "--exclude-standard").names)

    def _tracked(self) -> set[str]:
        """What git has of the files; of a submodule its own."""
        tracked, absent, modules = set[str](), list[str](), list[str]()
        for row in self._ask("ls-files", "-z", "-s", "-t", "--cached").names:
            facts, _, name = row.partition("\t")
            mark, mode, *_ = facts.split(" ")
            if mode == _MODULE:
                modules.append(name)
            elif mark == "S" and not os.path.lexists(self._top / name):
                absent.append(name)
            else:
                tracked.add(name)
        if absent := [name for name in absent if self._is_below(name)]:
            tail = f", like {len(absent) - 1} others" if len(absent) > 1 else ""
            self.unseen[absent[0]] = f"not checked out{tail}"
        if modules:
            inner = self._ask("ls-files", "-z", "--cached", "--recurse-submodules").names
            tracked.update(name for name in inner if name not in modules)
            self._note_modules(name for name in modules if not any(x.startswith(f"{name}/") for x in inner))
        return tracked

    def _note_modules(self, modules: Iterator[str]) -> None:
        around = [
            name for name in modules if self._is_below(name) or any(x.startswith(f"{name}/") for x in self._below)
        ]
        self.unseen |= dict.fromkeys(around, "a submodule that is not here")

    # --- what changed ---

    @cached_property
    def _rows(self) -> list[tuple[list[str], str, str]]:
        """Modes, blobs and letter of each file that changed, with its old and its new path."""
        parts = iter(self._ask("diff", *_DIFF, *_RENAMES, "--raw", "--no-abbrev", "-z", self._base, "--").names)
        rows = []
        for facts in parts:
            *words, letter = facts.removeprefix(":").split(" ")
            old = next(parts)
            rows.append(([*words, letter[:1]], old, next(parts) if letter[:1] in "RC" else old))
        return rows

    @cached_property
    def _changed(self) -> dict[str, _Change]:
        return {new: _Change(old, words[2], words[1]) for words, old, new in self._rows if words[4] != "D"}

    @cached_property
    def _gone(self) -> dict[str, str]:
        """The paths that are no more, with what they held."""
        return {old: words[2] for words, old, _ in self._rows if words[4] in "DR"}

    @cached_property
    def _lines(self) -> dict[str, frozenset[float]]:
        lines: dict[str, set[float]] = {}
        for hunk in self._hunks:
            here = range(hunk.start, hunk.start + len(hunk.new)) if hunk.new else [hunk.start + 0.5]
            lines.setdefault(hunk.path, set()).update(here)
        return {path: frozenset(numbers) for path, numbers in lines.items()}

    def _changed_names(self) -> set[str]:
        modules = [name for name, change in self._changed.items() if change.mode == _MODULE]
        inside = {name for name in (*self._lines, *self._opaque) if any(name.startswith(f"{x}/") for x in modules)}
        self._note_modules(x for x in modules if not any(name.startswith(f"{x}/") for name in inside))
        changed = inside | self._changed.keys() - set(modules)
        for name in changed:
            if not os.path.lexists(self._top / name) and self._is_below(name):
                self.unseen[name] = "not checked out"
        return changed

    def _removed(self, path: str) -> _Change | None:
        """What an untracked file was before it was moved: what held the same, else the one that was called so."""
        with suppress(AiLessonsError):
            data = files.read(self._top / path, LARGEST, within=self._top)[0] if self._gone else b""
            blob = sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()
            same = [old for old, held in self._gone.items() if held == blob]
            called = [old for old in self._gone if old.rpartition("/")[2] == path.rpartition("/")[2]]
            if name := same[0] if same else called[0] if len(called) == 1 else "":
                return _Change(name, self._gone[name], "")
        return None

    def _blob(self, blob: str) -> str | None:
        """The text of a blob; None where there is none that can be looked at."""
        size = plumbing.run(self._git, "cat-file", "-s", blob)
        if size.code or int(size.text) > LARGEST:
            return None
        return decoded(plumbing.run(self._git, "cat-file", "blob", blob).out)


def commit_of(git: Worktree, rev: str) -> str:
    """The id of a commit. Raises NotFound."""
    done = plumbing.run(git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
    if done.code:
        raise NotFound("commit", rev, hint="in a shallow clone its history is missing: fetch it (fetch-depth: 0)")
    return done.text


class Hunk(NamedTuple):
    """Lines that were replaced in a file, from line `start` of the new text on."""

    path: str
    start: int
    old: list[str]
    new: list[str]


def between(git: Worktree, before: str, after: str) -> list[Hunk]:
    """The parts of the difference of two commits, without files that are gone."""
    return [*hunks(plumbing.run(git, "diff", *_DIFF, *_LINES, "--no-renames", before, after).out)]


def hunks(diff: bytes) -> Iterator[Hunk]:
    """The parts of a diff without context, made with the flags `_LINES`."""
    name, hunk, old, new = "", Hunk("", 0, [], []), 0, 0
    for row in diff.split(b"\n"):
        if old + new and not row.startswith(b"\\"):
            is_old = row.startswith(b"-")
            (hunk.old if is_old else hunk.new).append(row[1:].decode("utf-8", "replace"))
            old, new = old - is_old, new - (not is_old)
            if not old + new:
                yield hunk
        elif row.startswith(b"+++ "):
            name = _unquoted(row[4:].rstrip(b"\t")).removeprefix("b/")
        elif match := _HUNK.match(row):
            old, new = (1 if part is None else int(part) for part in (match[1], match[3]))
            hunk = Hunk(name, int(match[2]), [], [])


def _unquoted(name: bytes) -> str:
    """A path as git writes it in a diff."""
    if name.startswith(b'"'):
        name = name[1:-1].decode("ascii", "replace").encode().decode("unicode_escape").encode("latin-1", "replace")
    return name.decode("utf-8", "surrogateescape")


def below(top: Path, cwd: Path, path: str) -> str:
    """A path of the caller's relative to the top, links in its folders resolved. Raises NotFound, UsageError."""
    file = cwd / path
    place = file.parent.resolve() / file.name if file.name not in {"", ".."} else file.resolve()
    if not (place.exists() or place.is_symlink()):
        raise NotFound("file", path)
    if not place.is_relative_to(top.resolve()):
        raise UsageError(f"{path} is not in {top}", hint="check a project from within it")
    name = place.relative_to(top.resolve()).as_posix()
    return "" if name == "." else name

"""Rules that carry a check, run over files and over edits: which files, since when, what is known or allowed already.

Only rules in force check. Nothing of the files is run, and no link is followed.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.errors import AiLessonsError, NotFound, UsageError
from ai_lessons.git import files, plumbing, worktree
from ai_lessons.model import layout, rule_checks
from ai_lessons.model.entries import GLOBAL_PROJECT, PROJECT, EntrySummary, Kind, id_end, json_fields
from ai_lessons.model.rule_checks import DENY, EXTRA, InvalidPattern, Prefilter, TooSlow, from_details, matches, runs
from ai_lessons.search.catalog import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.git.plumbing import Done
    from ai_lessons.git.worktree import Worktree
    from ai_lessons.model.rule_checks import Check

ERROR, WARNING, NOTE = "error", "warning", "note"
PER_TEXT = 1.0  # seconds of CPU that a check may take for one text
PER_EDIT = 0.2  # and all checks together for an edit
LARGEST = rule_checks.LARGEST
_ALLOW = re.compile(r"ai-lessons: allow ((?:[A-Za-z]-)?[0-9A-Za-z]{4,26})\b(?:\s+because\s+(.*\w))?")
_DIFF = (
    *("--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--diff-filter=d", "--no-renames"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_BASELINE = 1  # the form of the file


@json_fields(hidden=("mark",))
class Finding(NamedTuple):
    """A line that breaks a rule (`level` error where it refuses edits, else warning), or that an entry is about (note).

    `text` is the line itself; `mark` names it in a baseline.
    """

    path: str
    line: int
    level: str
    id: str
    handle: str
    title: str
    message: str
    text: str = ""

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
    light: EntrySummary
    check: Check


def rules_here(repo: Reading, cwd: Path, projects: Collection[str] = ()) -> tuple[list[_Rule], list[str]]:
    """The rules in force that check files of this folder, and notes on those that cannot be run.

    They are global, of the folder's project (or of these `projects`), or of the repository inside the code.
    """
    lights = repo.catalog.select(Filter(kinds=frozenset({Kind.RULE})))
    checks = [_Rule(light, check) for light in lights if (check := from_details(light.details))]
    names = projects or (files.names_of(cwd) if checks else ())
    here = [rule for rule in checks if _holds(rule.light, names)]
    farther = app.contexts.farther_copies(repo, [rule.light for rule in here])
    here = [rule for rule in here if rule.light.id not in farther]
    left = [rule.light.handle for rule in here if not runs(rule.check)]
    notes = [f"not checked, {EXTRA}: {', '.join(left)}"] if left else []
    return [rule for rule in here if runs(rule.check)], notes


def _holds(light: EntrySummary, names: Iterable[str]) -> bool:
    return (
        light.project == GLOBAL_PROJECT
        or light.tier == PROJECT
        or any(files.same_name(light.project, n) for n in names)
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

    Raises:
        NotFound: a path, the commit or the baseline.
        UsageError: a path outside the project, a baseline that is none.
    """
    repo = library.reading
    repo.current()
    cwd = repo.options.cwd
    top = files.top_of(cwd) or cwd
    if write_baseline and (since or not baseline):
        hint = "--baseline FILE --write-baseline, without --since"
        raise UsageError("a baseline holds what stands in all lines", hint=hint)
    in_baseline = Counter[str]() if write_baseline or not baseline else _read_baseline(cwd / baseline)
    rules, notes = rules_here(repo, cwd, projects)
    around = _Files(repo, top, [_below(top, cwd, path) for path in paths], since)
    changed = around.lines()
    run = _Run(rules)
    for path, lines in changed.items():
        if (concerned := run.concerned(path)) and (text := _text(top, path)) is not None:
            run.look(concerned, path, text, lines)
    findings = sorted(run.findings, key=lambda finding: (finding.path, finding.line, finding.handle))
    if write_baseline:
        _write_baseline(cwd / baseline, findings)
        notes.append(f"written to {baseline}: findings that are known from now on")
        in_baseline = Counter(map(_key, findings))
    fresh = []
    for finding in findings:
        if in_baseline[_key(finding)] > 0:
            in_baseline[_key(finding)] -= 1
        else:
            fresh.append(finding)
    touched = app.anchors.entries_about(library, around.touched()) if since else []
    lights = {light.id: light for light in (*(rule.light for rule in rules), *(hit.entry for hit in touched))}
    baselined = len(findings) - len(fresh)
    for light, anchor, line, path in touched:
        message = f"{light.title} ({light.details.get('warning') or f'speaks of {anchor}'})"
        fresh.append(Finding(path, line, NOTE, light.id, light.handle, light.title, message))
    notes += repo.notes()
    return CheckReport(
        tuple(fresh), len(changed), len(rules), run.allowed, baselined, tuple(notes), tuple(lights.values())
    )


class _Run:
    """Rules on their way through texts; `stopped` has the ids of those that could not be checked to the end."""

    def __init__(self, rules: Iterable[_Rule], hurry: Callable[[], bool] | None = None) -> None:
        self.findings: list[Finding] = []
        self.allowed, self.stopped = 0, set[str]()
        self._hurry, self._prefilter = hurry, Prefilter({rule.light.id: rule.check for rule in rules})
        self._by_files: dict[tuple[str, ...], list[_Rule]] = {}
        for rule in rules:
            self._by_files.setdefault(rule.check.files, []).append(rule)

    def concerned(self, path: str) -> list[_Rule]:
        """The rules that look at a file."""
        return [rule for rules in self._by_files.values() if rules[0].check.concerns(path) for rule in rules]

    def look(self, rules: Iterable[_Rule], path: str, text: str, lines: frozenset[int] | None) -> None:
        """Look by these rules at a text, or only at these lines of it."""
        rows, possible = text.split("\n"), self._prefilter.possible(text)
        for rule in (rule for rule in rules if rule.light.id in possible):
            try:
                for match in matches(rule.check, text, path, lines, self._hurry or _hurry(PER_TEXT)):
                    self._note(rule, path, rows, range(match.line, match.last + 1), lines)
            except (TooSlow, InvalidPattern) as error:
                # a file must not be able to keep a rule from being checked
                slow, light = isinstance(error, TooSlow), rule.light
                message = f"{light.handle} was not checked to the end: this file takes too long" if slow else str(error)
                finding = _finding(rule, path, 1, message)
                self.findings.append(finding._replace(level=ERROR) if slow else finding)
                self.stopped.add(light.id)

    def _note(self, rule: _Rule, path: str, rows: Sequence[str], at: range, lines: frozenset[int] | None) -> None:
        allowed = allowance(rule.light, rows, at)
        if allowed:
            self.allowed += 1
            return
        line = next((number for number in at if lines is None or number in lines), at.start)
        reasonless = " (allowed without a reason: say `because …`)" if allowed is not None else ""
        text = rows[line - 1].strip()[:200]
        self.findings.append(_finding(rule, path, line, f"{rule.light.title}{reasonless}", text))


def _finding(rule: _Rule, path: str, line: int, message: str, text: str = "") -> Finding:
    level = ERROR if rule.check.enforce == DENY else WARNING
    return Finding(path, line, level, rule.light.id, rule.light.handle, rule.light.title, message, text)


def allowance(light: EntrySummary, rows: Sequence[str], at: range) -> str | None:
    """The reason for which a comment on these lines, or alone on the one above, allows a rule to be broken.

    None: no comment does; empty: one does, and states no reason.
    """
    reason = None
    for number in (at.start - 1, *at):
        row = rows[number - 1] if number > 0 else ""
        match = _ALLOW.search(row)
        alone = match and not re.search(r"\w", row[: match.start()])
        if match and (alone or number >= at.start) and light.id.endswith(id_end(match[1])):
            reason = max(reason or "", match[2] or "")
    return reason


def _hurry(seconds: float) -> Callable[[], bool]:
    end = time.thread_time() + seconds
    return lambda: time.thread_time() > end


# --- which files, and which of their lines ---


class _Files:
    """The files of a project around a folder: none that git ignores, none of the entries that hold the rules.

    `since`: only what changed since this commit, or since the branch left it; empty: everything.
    """

    def __init__(self, repo: Reading, top: Path, below: Sequence[str], since: str) -> None:
        """Raises NotFound: no such commit. UsageError: there is no git that knows of any."""
        self._top, self._below, self._since = top, below, since
        self._entries = [place.store.root for place in repo.every]
        self._git = worktree.locate(top) if files.top_of(top) is not None else None
        self._hunks: list[_Hunk] = []
        if since:
            if self._git is None:
                raise UsageError(f"{top} is no git repository, so that nothing is known since {since}")
            commit = _commit(self._git, since)
            left = plumbing.run(self._git, "merge-base", commit, "HEAD")
            self._base = commit if left.code else left.text
            self._hunks = list(_hunks(self._ask("diff", *_DIFF, self._base).out))

    def lines(self) -> Mapping[str, frozenset[int] | None]:
        """Each file, relative to the top, with the lines to look at; None: all of them."""
        if self._git is None:
            every = files.expand([str(self._top / path) for path in self._below or [""]], self._top, recursive=True)
            names = (file.path.relative_to(self._top).as_posix() for file in every)
            return dict.fromkeys(filter(self._is_code, names))
        lines: dict[str, frozenset[int] | None] = {}
        for hunk in self._hunks:
            if hunk.new:
                added = range(hunk.start, hunk.start + len(hunk.new))
                lines[hunk.path] = (lines.get(hunk.path) or frozenset()).union(added)
        cached = () if self._since else ("--cached",)
        lines |= dict.fromkeys(self._ask("ls-files", "-z", *cached, "--others", "--exclude-standard").names)
        return {name: lines[name] for name in sorted(lines) if self._is_code(name)}

    def _is_code(self, name: str) -> bool:
        file = self._top / name
        roots = (root for root in self._entries if file.is_relative_to(root))
        return not any(layout.place(file.relative_to(root).as_posix()) for root in roots)

    def _ask(self, *words: str) -> Done:
        done = plumbing.run(self._git, *words, "--", *self._below, cwd=self._top)
        if done.code:
            raise NotFound("answer of git to", f"git {words[0]}", hint=done.err)
        return done

    def touched(self) -> dict[str, set[int]]:
        """Each file that changed with its new lines, and those beside removed ones; none of a file that is gone."""
        numbers: dict[str, set[int]] = {}
        for hunk in self._hunks:
            end = hunk.start + (len(hunk.new) or 2)
            numbers.setdefault(hunk.path, set()).update(range(max(hunk.start, 1), end))
        gone = self._ask("diff", "--name-only", "-z", "--no-renames", "--diff-filter=D", self._base)
        return numbers | {name: set() for name in gone.names}


def _commit(git: Worktree, rev: str) -> str:
    """The id of a commit. Raises NotFound."""
    done = plumbing.run(git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
    if done.code:
        raise NotFound("commit", rev, hint="in a shallow clone its history is missing: fetch it (fetch-depth: 0)")
    return done.text


class _Hunk(NamedTuple):
    """Lines that were replaced in a file, from line `start` of the new text on."""

    path: str
    start: int
    old: list[str]
    new: list[str]


def _hunks(diff: bytes) -> Iterator[_Hunk]:
    """The parts of a diff without context, made with the flags `_DIFF`."""
    name, hunk, old, new = "", _Hunk("", 0, [], []), 0, 0
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
            hunk = _Hunk(name, int(match[2]), [], [])


def _unquoted(name: bytes) -> str:
    """A path as git writes it in a diff."""
    if name.startswith(b'"'):
        name = name[1:-1].decode("ascii", "replace").encode().decode("unicode_escape").encode("latin-1", "replace")
    return name.decode("utf-8", "surrogateescape")


def _below(top: Path, cwd: Path, path: str) -> str:
    """A path of the caller's relative to the top, links in its folders resolved. Raises NotFound, UsageError."""
    file = cwd / path
    place = file.parent.resolve() / file.name if file.name not in {"", ".."} else file.resolve()
    if not (place.exists() or place.is_symlink()):
        raise NotFound("file", path)
    if not place.is_relative_to(top.resolve()):
        raise UsageError(f"{path} is not in {top}", hint="check a project from within it")
    return place.relative_to(top.resolve()).as_posix()


def _text(top: Path, path: str) -> str | None:
    """The text of a file; None of a link, a folder, and what is binary, too large or cannot be read."""
    with suppress(AiLessonsError):
        data = files.read_file(top, path, LARGEST)[0]
        return None if b"\0" in data[:8_000] else data.decode("utf-8", "replace")
    return None


# --- findings that are known ---


def _key(finding: Finding) -> str:
    return f"{finding.id} {finding.mark} {finding.path}"


def _read_baseline(file: Path) -> Counter[str]:
    """How often each finding is known. Raises NotFound, UsageError."""
    try:
        stated = json.loads(files.read(file)[0])
        rows = {_BASELINE: stated["findings"]}[stated["version"]]
        return Counter({f"{row['rule']} {row['line']} {row['path']}": int(row["count"]) for row in rows})
    except NotFound as error:
        raise NotFound("baseline", str(file), hint="make it of what is found now: add --write-baseline") from error
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise UsageError(f"{file} is no baseline of findings", hint="make it anew: --write-baseline") from error


def _write_baseline(file: Path, findings: Sequence[Finding]) -> None:
    counts = Counter((finding.path, finding.id, finding.mark) for finding in findings)
    rows = [{"path": path, "rule": rule, "line": mark, "count": n} for (path, rule, mark), n in sorted(counts.items())]
    files.write(file, json.dumps({"version": _BASELINE, "findings": rows}, indent=1).encode() + b"\n")


# --- an edit that is about to be made ---


class Edit(NamedTuple):
    """An edit of a file (its whole path): `old` becomes `new`; without `old`, `new` is the whole file."""

    path: str
    old: str
    new: str


class Broken(NamedTuple):
    """A rule that an edit would break, on this line of the file."""

    light: EntrySummary
    line: int
    enforce: str


def broken_by(
    repo: Reading, edits: Sequence[Edit], cwd: Path, named: Sequence[EntrySummary]
) -> tuple[list[Broken], set[str]]:
    """The rules in force that edits break, and the ids of those whose checks looked at them.

    Beside the rules of the folder's project those count that are `named` by the file anyway.
    """
    rules = {rule.light.id: rule for rule in rules_here(repo, cwd)[0]}
    for light in named:
        if (check := from_details(light.details)) and runs(check):
            rules.setdefault(light.id, _Rule(light, check))
    run, by_path = _Run(rules.values(), _hurry(PER_EDIT)), dict[str, list[Edit]]()
    for edit in edits if rules else ():
        by_path.setdefault(edit.path, []).append(edit)
    for path, its_edits in by_path.items():
        name, (text, lines) = app.contexts.in_project(path, cwd), _after(Path(path), its_edits)
        if lines:
            run.look(run.concerned(name), name, text, lines)
    broken = dict[str, Broken]()
    for finding in run.findings:
        light, check = rules[finding.id]
        if light.id not in run.stopped:  # it is told as a rule without a check
            broken.setdefault(light.id, Broken(light, finding.line, check.enforce))
    return list(broken.values()), rules.keys() - run.stopped


def _after(file: Path, edits: Sequence[Edit]) -> tuple[str, frozenset[int]]:
    """The text that a file will have (of what does not fit it, only what is written), and the lines that are new."""
    before: str | None = None
    with suppress(AiLessonsError, OSError):
        before = _text(file.parent.resolve(strict=True), file.name)
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
    from ai_lessons.model.merge import LineMatcher

    old, new = before.split("\n"), after.split("\n")
    same = {block.b + n for block in LineMatcher(old, new).get_matching_blocks() for n in range(block.size)}
    return after, frozenset(number for number in range(1, len(new) + 1) if number - 1 not in same)


def _after_all(text: str) -> tuple[str, frozenset[int]]:
    return text, frozenset(range(1, text.count("\n") + 2))


# --- a check that a fix shows ---

MOST_ALARMS = 3  # other lines of the repository on which a draft may fire
MOST_HUNKS = 30
_LESS_TELLING = re.compile(
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
    after = _commit(git, fix)
    before = _commit(git, f"{after}^")
    diff = plumbing.run(git, "diff", *_DIFF, before, after)
    hunks = [hunk for hunk in _hunks(diff.out) if any(map(str.strip, hunk.old))]
    hunks.sort(key=lambda hunk: bool(_LESS_TELLING.search(hunk.path)))
    for hunk in hunks[:MOST_HUNKS]:
        old, new = (text_at(git, commit, hunk.path) for commit in (before, after))
        ends = new.split("\n")[hunk.start + len(hunk.new) - (1 if hunk.new else 0) :]
        for check in rule_checks.drafts(hunk.path, hunk.old, hunk.new, ends):
            if any(matches(check, old, hunk.path)) and not any(matches(check, new, hunk.path)):
                alarms = _alarms(git, after, check)
                if alarms <= MOST_ALARMS:
                    stated = {key: value for key, value in check._asdict().items() if value}
                    return Drafted(
                        {k: v[0] if isinstance(v, tuple) else v for k, v in stated.items()}, hunk.path, alarms
                    )
    why = "it takes no line away" if not hunks else "nothing that it took away tells the text before from other lines"
    raise NotFound("check in the fix", fix, hint=f"{why}; write one: --check '{{files: …, regex: …, bad: …, good: …}}'")


def text_at(git: Worktree, commit: str, path: str) -> str:
    """The text of a file in a commit; empty if it is not there."""
    return plumbing.run(git, "cat-file", "blob", f"{commit}:{path}").out.decode("utf-8", "replace")


def _alarms(git: Worktree, commit: str, check: Check) -> int:
    """On how many lines of the commit a check fires; counted no farther than needed."""
    count = 0
    words = rule_checks.telling_word(check.regex)
    place = ("--", *(f":(glob)**/{glob}" for glob in check.files))
    for name in plumbing.run(git, "grep", "-l", "-z", "-F", "-I", "-e", words, commit, *place).names:
        path = name.partition(":")[2]
        count += sum(1 for _ in matches(check, text_at(git, commit, path), path, None, _hurry(PER_TEXT)))
        if count > MOST_ALARMS:
            break
    return count

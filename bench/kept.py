"""What would checks have stopped? `python -m bench.kept --data FOLDER --sessions FOLDER [--show]`.

The first FOLDER has `decisions.jsonl` and `moments.jsonl` as for `bench.decisions`, the other the transcripts (Claude
Code's, one file a session). Each decision that a form of check can express has one in `bench.kept_checks`; from the day
on which it was stated it is held against what the agent did: each edit, each command as it was called, and at the end
of each turn what was changed and what ran after. Nothing is run, and no hook: this is what the checks say by
themselves. A decision counts as broken once a session. Labels name the violations that a person saw, and are a floor:
a breach without a label is not always wrong.

Files that commands wrote, and edits of subagents, are not seen here, as they are by the hooks.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.features.checks.command_checks import CommandCheck
from ai_lessons.features.checks.done_checks import DoneCheck, Succeeded
from ai_lessons.features.checks.forms import AnyCheck, checks_of, faults
from ai_lessons.features.checks.reading import new_lines
from ai_lessons.features.checks.text_checks import TextCheck, matches
from ai_lessons.model.failures import looks_failed
from ai_lessons.model.transcripts import Transcript
from bench.decisions import Row, rows
from bench.harness import Bar, Outcome, arguments, table
from bench.kept_checks import CHECKS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

DATED = re.compile(r"^\d{4}-\d\d-\d\d-(?=[0-9a-f]{8}-)")
FORMS = {TextCheck: "text", CommandCheck: "command", DoneCheck: "done"}
LINTED = ("d001", "d027", "d032", "d068", "d073")  # what the lint run of d029 finds
SEEN_BAR = 61.0  # of 158 pairs, those of which a person judged that a look at what ran and changed shows them


class Edit:
    """An edit: what the file held before and after, as far as the transcript says so."""

    def __init__(self, path: str, before: str, after: str) -> None:
        self.path, self._before, self.after = path, before, after

    @cached_property
    def lines(self) -> frozenset[float]:
        """The lines that it wrote."""
        return new_lines(self._before, self.after)


class Act(NamedTuple):
    """What happened: one of the three, or the end of a turn."""

    at: str
    said: str = ""
    command: str = ""
    edit: Edit | None = None
    worked: bool = False
    unsure: bool = False
    stop: bool = False


def records_of(files: Iterable[Path]) -> Iterator[Row]:
    """The records of a session, each once: one that went on the next day has two files."""
    seen = set[str]()
    for file in files:
        for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
            for record in _records_in(line.strip()):
                name = record.get("uuid") or ""
                if name not in seen or not name:
                    seen.add(name)
                    yield record


def _records_in(line: str) -> Iterator[Row]:
    """The records of a line: where two sessions wrote at once it holds two."""
    decoder = json.JSONDecoder()
    while line:
        record, end = decoder.raw_decode(line)
        yield record
        line = line[end:].lstrip()


def acts_of(files: Sequence[Path]) -> Iterator[Act]:
    """What happened in a session, in its order."""
    transcript, records, at = Transcript(), list[Row](), ""
    may_end = False
    for number, record in enumerate(records_of(files)):
        records.append(record)
        before = len(transcript.steps)
        transcript.take(number, record)
        for step in transcript.steps[before:]:
            at = step.at or at
            if step.sort == "said":
                if may_end:
                    yield Act(at, stop=True)
                yield Act(at, said=step.text)
            elif step.sort == "stopped" and not step.text:
                may_end = False  # the person interrupted: no hook at the end is asked
                continue
            else:
                yield from _call(
                    step.sort, step.text, at, records[step.line], record, transcript.first_cwd
                )
            may_end = True
    yield Act(at, stop=True)


def _call(sort: str, text: str, at: str, call: Row, ended: Row, root: str) -> Iterator[Act]:
    """A command or an edit, from the records that began and ended it."""
    given = _tool(call, text)
    if "command" in given:
        output, failed = _result(ended)
        worked = sort == "command" and not failed
        yield Act(at, command=text, worked=worked, unsure=looks_failed(output))
    elif sort == "edit":
        place = Path(text)
        path = place.relative_to(root).as_posix() if place.is_relative_to(root) else ""
        if path:
            yield Act(at, edit=_edit(path, given, ended.get("toolUseResult")))


def _tool(record: Row, text: str) -> Row:
    """What the tool was given that was called with this command or file."""
    content = record["message"]["content"]
    for part in content if isinstance(content, list) else []:
        given = part.get("input") or {}
        if text and text in {given.get("command"), given.get("file_path")}:
            return dict(given)
    return {"command": text} if "\n" in text else {}


def _result(record: Row) -> tuple[str, bool]:
    """What a call answered, and whether that was an error."""
    content = record["message"]["content"]
    for part in content if isinstance(content, list) else []:
        if part.get("type") == "tool_result":
            return json.dumps(part.get("content"), ensure_ascii=False).replace("\\n", "\n"), bool(
                part.get("is_error")
            )
    return "", False


def _edit(path: str, given: Row, result: Any) -> Edit:
    """The file before and after, or the part of it that was given."""
    whole = result.get("originalFile") if isinstance(result, dict) else None
    before = whole if isinstance(whole, str) else ""
    if "content" in given:
        return Edit(path, before, given["content"])
    changes = given.get("edits") or [given]
    if not before:
        parts = [
            [change.get(key) or "" for change in changes] for key in ("old_string", "new_string")
        ]
        return Edit(path, "\n".join(parts[0]), "\n".join(parts[1]))
    after = before
    for change in changes:
        count = -1 if change.get("replace_all") else 1
        after = after.replace(change.get("old_string") or "", change.get("new_string") or "", count)
    return Edit(path, before, after)


class Breach(NamedTuple):
    """A decision that a session broke: when, by what, and whether that shows at the end of a turn only."""

    at: str
    why: str
    at_end: bool


class Kept:
    """One session held against the checks."""

    def __init__(self, rules: Mapping[str, tuple[AnyCheck, ...]], since: Mapping[str, str]) -> None:
        self._rules, self._since = rules, since
        self.in_scope, self.allowed, self.broken = set[str](), set[str](), dict[str, Breach]()
        self.not_done = set[
            str
        ]()  # rules that what was done breaks, as it stood at the last end of a turn
        self._said, self._edits, self._ran = list[str](), dict[str, float](), list[Succeeded]()

    def play(self, acts: Iterable[Act]) -> None:
        """All of the session."""
        for clock, act in enumerate(acts):
            self._said += [act.said] if act.said else []
            for rule, checks in self._rules.items():
                if self._since[rule] <= act.at[:19]:
                    self._hold(rule, checks, act)
                    self._note_whether_done(rule, checks, act)
            if act.edit:
                self._edits[act.edit.path] = clock
            if act.command and act.worked:
                self._ran.append(Succeeded(act.command, clock, act.unsure))

    def _hold(self, rule: str, checks: tuple[AnyCheck, ...], act: Act) -> None:
        for check in checks:
            why = ""
            if isinstance(check, TextCheck) and act.edit:
                why = self._by_text(rule, check, act.edit)
            elif isinstance(check, CommandCheck) and act.command:
                why = self._by_command(rule, check, act.command)
            elif isinstance(check, DoneCheck) and act.stop and check.concerned(self._edits):
                self.in_scope.add(rule)
                if paths := check.broken_by(self._edits, self._ran):
                    why = check.sentence(paths)
            if why:
                self.broken.setdefault(rule, Breach(act.at, why, act.stop))

    def _note_whether_done(self, rule: str, checks: tuple[AnyCheck, ...], act: Act) -> None:
        if act.stop:
            done_checks = [check for check in checks if isinstance(check, DoneCheck)]
            is_broken = any(check.broken_by(self._edits, self._ran) for check in done_checks)
            self.not_done -= {rule}
            self.not_done |= {rule} if is_broken else set()

    def _by_text(self, rule: str, check: TextCheck, edit: Edit) -> str:
        if not check.concerns(edit.path):
            return ""
        self.in_scope.add(rule)
        for match in matches(check, edit.after, edit.path, edit.lines):
            return f"{edit.path}:{match.line} {' '.join(edit.after.split(chr(10))[match.line - 1 : match.last])[:300]}"
        return ""

    def _by_command(self, rule: str, check: CommandCheck, line: str) -> str:
        if not check.names(line):
            return ""
        self.in_scope.add(rule)
        if not check.breaks(line):
            return ""
        if check.was_asked_for(self._said):
            self.allowed.add(rule)
            return ""
        return line[:300]


def proven() -> dict[str, tuple[AnyCheck, ...]]:
    """The checks, each proven on its samples."""
    rules = dict[str, tuple[AnyCheck, ...]]()
    for name, fields in CHECKS.items():
        for fault in faults({"check": fields}):
            sys.exit(f"{name}: {fault}")
        rules[name] = checks_of({"check": fields})
    return rules


def labels(moments: Iterable[Row]) -> dict[str, set[str]]:
    """By decision the sessions that violated it."""
    violated = defaultdict[str, set[str]](set)
    for moment in moments:
        for name, how in (moment.get("how_by") or {}).items():
            if how == "violated":
                violated[name].add(moment["session"])
    return violated


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sessions", type=Path, required=True, help="folder with the transcripts")
    parser.add_argument("--show", action="store_true", help="print each breach")
    given, outcome = parser.parse_args(), Outcome()
    if not given.data:
        sys.exit("--data FOLDER: decisions.jsonl and moments.jsonl")
    decisions, moments = rows(given.data / "decisions.jsonl"), rows(given.data / "moments.jsonl")
    rules, violated = proven(), labels(moments)
    since = {decision["id"]: decision["at"][:19] for decision in decisions}
    files = defaultdict[str, list[Path]](list)
    for file in sorted(given.sessions.glob("*.jsonl")):
        files[DATED.sub("", file.stem)].append(file)
    played = dict[str, Kept]()
    for session, parts in files.items():
        played[session] = Kept(rules, since)
        played[session].play(acts_of(parts))
    seen, every = report(rules, violated, played, show=given.show)
    outcome.judge(Bar("seen", float(seen), SEEN_BAR, f"of {every} violated pairs", at_least=True))
    outcome.finish(check=given.check)


class Tally(NamedTuple):
    """Of one decision the sessions in which it was in scope, and what became of it there."""

    in_scope: int
    broken: int
    violated: int
    seen: int
    without: int
    later: int
    asked: int


HEAD = (
    "in scope",
    "broken",
    "violated",
    "of them seen",
    "without a label",
    "of them done later",
    "asked for",
)


def tally(name: str, labelled: Collection[str], played: Mapping[str, Kept], *, show: bool) -> Tally:
    """Count for one decision; `show` prints each breach."""
    scope = asked = seen = without = later = 0
    for session, kept in sorted(played.items()):
        scope += name in kept.in_scope
        asked += name in kept.allowed
        breach = kept.broken.get(name)
        if breach is None:
            continue
        mark = "labelled" if session in labelled else "without"
        if mark == "labelled":
            seen += 1
        else:
            without += 1
            if breach.at_end and name not in kept.not_done:
                later, mark = later + 1, "done later"
        if show:
            print(name, mark, session[:8], breach.at[:16], breach.why)
    return Tally(scope, seen + without, len(labelled), seen, without, later, asked)


def report(
    rules: Mapping[str, tuple[AnyCheck, ...]],
    violated: Mapping[str, set[str]],
    played: Mapping[str, Kept],
    *,
    show: bool,
) -> tuple[int, int]:
    """Print the table; how many of the violated pairs were seen, and how many there are."""
    lines, by_form = list[list[str]](), defaultdict[str, list[Tally]](list)
    for name, checks in rules.items():
        counted = tally(name, violated.get(name, set()), played, show=show)
        forms = ", ".join(dict.fromkeys(FORMS[type(check)] for check in checks))
        lines.append([name, forms, *map(str, counted)])
        by_form[forms].append(counted)
    for forms, tallies in sorted(by_form.items()):
        lines.append([f"{len(tallies)} together", forms, *map(str, _sums(tallies))])
    every, sums = sum(map(len, violated.values())), _sums(chain(*by_form.values()))
    lines.append(["all", "", *map(str, sums)])
    print(
        table(
            f"{len(rules)} decisions with a check, {len(played)} sessions",
            ["decision", "check of", *HEAD],
            lines,
        )
    )
    linted = 0
    for name in LINTED:
        for session in violated.get(name, ()):
            kept = played.get(session)
            linted += bool(kept and name not in kept.broken and "d029" in kept.broken)
    print(f"stopped by the decision's own check: {sums.seen} of {every} violated pairs")
    print(
        f"and where the check of d029 held the end until the linter ran, which finds them: {linted}"
    )
    return sums.seen, every


def _sums(tallies: Iterable[Tally]) -> Tally:
    return Tally(*map(sum, zip(*tallies, strict=True)))


if __name__ == "__main__":
    main()

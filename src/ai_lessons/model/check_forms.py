"""The three forms of a check: of a text that is written, of a command, of what was done. Pure.

A rule has one check, or a list of them; each proves itself on what breaks the rule (`bad`) and what
keeps it (`good`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model import command_checks, done_checks, rule_checks
from ai_lessons.model.command_checks import CommandCheck
from ai_lessons.model.decisions import ASK, DENY, TELL
from ai_lessons.model.done_checks import DoneCheck
from ai_lessons.model.layout import globs, stated
from ai_lessons.model.rule_checks import LONGEST_PATTERN, LONGEST_SAMPLE, MOST_SAMPLES, Check

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

AnyCheck = Check | CommandCheck | DoneCheck

# checks of a rule
MOST = 10
_SAMPLES = frozenset({"bad", "good"})


def checks_of(fields: Mapping[str, Any]) -> tuple[AnyCheck, ...]:
    """The checks that the frontmatter of a rule states.

    None where the form of one is wrong: `faults` says what.
    """
    values = _values(fields)
    if len(values) > MOST:
        return ()
    parsed = []
    for value in values:
        if any(_form_faults(value)):
            return ()
        parsed.append(_parsed(value, fields))
    return tuple(parsed)


def text_checks(checks: Sequence[AnyCheck]) -> list[Check]:
    """Those of the checks that look at a text."""
    of_text: list[Check] = []
    for check in checks:
        if isinstance(check, Check):
            of_text.append(check)
    return of_text


def faults(fields: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the checks of a rule.

    A form, a pattern, or what one does with its samples.
    """
    values = _values(fields)
    if len(values) > MOST:
        yield f"check is a list of more than {MOST}"
        return
    for number, value in enumerate(values, 1):
        for fault in _faults_of(value, fields):
            if len(values) > 1:
                which = f" (number {number} of check)"
            else:
                which = ""
            yield f"{fault}{which}"


def _values(fields: Mapping[str, Any]) -> list[Any]:
    value = fields.get("check")
    if value is None:
        return []
    if isinstance(value, list) and value:
        return list(value)
    return [value]


def _faults_of(value: object, fields: Mapping[str, Any]) -> Iterator[str]:
    form = list(_form_faults(value))
    yield from form
    if form or not isinstance(value, dict):
        return
    check = _parsed(value, fields)
    needs_good = not (isinstance(check, DoneCheck) and check.ran)
    if not check.bad or (needs_good and not check.good):
        what = {Check: "a text", CommandCheck: "a command", DoneCheck: "paths of files"}[
            type(check)
        ]
        yield f"check needs bad, {what} that breaks the rule, and good, {what} that keeps it: they prove the pattern"
        if not check.bad:
            return
    if isinstance(check, Check):
        yield from rule_checks.unproven(check)
    elif isinstance(check, CommandCheck):
        yield from command_checks.unproven(check)
    else:
        yield from done_checks.unproven(check)


def _parsed(value: Mapping[str, Any], fields: Mapping[str, Any]) -> AnyCheck:
    """A check whose form is right.

    One of a text is for the files of `applies_to` unless it names others.
    """
    many = {}
    for key, part in value.items():
        many[key] = tuple(stated(part))
    ends: dict[str, Any]
    single: dict[str, Any]
    named: dict[str, Any]
    enforce = str(value.get("enforce") or "")
    if enforce == TELL:
        # what a check does that states nothing
        enforce = ""
    ends = {"bad": many.get("bad", ()), "good": many.get("good", ()), "enforce": enforce}
    if "command" in value:
        single = {key: str(value.get(key) or "") for key in ("unless", "instead", "unless_said")}
        return CommandCheck(many["command"], **single, **ends)
    if "changed" in value:
        named = {key: tuple(globs(value.get(key))) for key in ("changed", "unless_changed")}
        return DoneCheck(**named, ran=many.get("ran", ()), **ends)
    single = {key: str(value.get(key) or "") for key in ("pattern", "regex", "unless")}
    return Check(
        tuple(globs(value.get("files")) or globs(fields.get("applies_to"))), **single, **ends
    )


def _keys_of(value: Mapping[str, Any]) -> tuple[Sequence[str], Collection[str]]:
    """The keys that the form of a check has, and those of them that may hold a list."""
    if "command" in value:
        return command_checks.KEYS, command_checks.SEVERAL
    if "changed" in value:
        return done_checks.KEYS, done_checks.SEVERAL
    return rule_checks.KEYS, {"files", *_SAMPLES}


def _form_faults(value: object) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"check is not {', '.join(f'`{key}:`' for key in rule_checks.KEYS)}, one a line, nor another form"
        return
    keys, several = _keys_of(value)
    for key, part in value.items():
        if key not in keys:
            yield f"check has an unknown key {key!r}, besides {', '.join(keys)}"
        else:
            yield from _part_faults(key, part, several=key in several)
    if keys is rule_checks.KEYS and bool(value.get("pattern")) is bool(value.get("regex")):
        neither = "check has neither pattern nor regex for a text, nor command, nor changed"
        yield "check has both pattern and regex" if value.get("regex") else neither
    if value.get("enforce") not in {None, TELL, ASK, DENY}:
        yield f"check.enforce {value['enforce']!r} is none of {TELL}, {ASK}, {DENY}"


def _part_faults(key: str, part: object, *, several: bool) -> Iterator[str]:
    single = isinstance(part, str) and bool(part.strip())
    texts = stated(part)
    is_list = (
        isinstance(part, list)
        and bool(part)
        and len(texts) == len(part)
        and all(map(str.strip, texts))
    )
    if not (single or (several and is_list)):
        yield f"check.{key} is not text"
    elif key in _SAMPLES and (len(texts) > MOST_SAMPLES or len("".join(texts)) > LONGEST_SAMPLE):
        yield f"check.{key} is more than {MOST_SAMPLES} texts, or than {LONGEST_SAMPLE} characters"
    elif key not in _SAMPLES and len("".join(texts)) > LONGEST_PATTERN:
        yield f"check.{key} is longer than {LONGEST_PATTERN} characters"


def named_globs(checks: Sequence[AnyCheck]) -> Iterator[tuple[str, str]]:
    """Each glob of files that a check names, with the name of its key."""
    for check in checks:
        if isinstance(check, Check):
            yield from (("check.files", glob) for glob in check.files)
        elif isinstance(check, DoneCheck):
            yield from (("check.changed", glob) for glob in check.changed)
            yield from (("check.unless_changed", glob) for glob in check.unless_changed)


def described(fields: Mapping[str, Any]) -> list[str]:
    """Lines for people: what the checks of a rule look for, and the samples that prove them.

    Empty if there is none.
    """
    lines = list[str]()
    for check in checks_of(fields):
        lines.append(str(check))
        together = isinstance(check, DoneCheck)
        for name, samples in (("breaks it", check.bad), ("keeps it", check.good)):
            texts = samples
            if together and samples:
                # paths that were changed together are one sample
                texts = (", ".join(samples),)
            for text in texts:
                lines.append(f"{name}: {' '.join(text.split())}")
    return lines


def effects(fields: Mapping[str, Any]) -> list[str]:
    """What each check of a rule will do once it is in force, for who decides about it.

    >>> effects({"check": {"command": "git push --force", "enforce": "deny"}})
    ['refuses `git push --force`']
    """
    effects: list[str] = []
    for check in checks_of(fields):
        effects.append(_effect(check))
    return effects


def _effect(check: AnyCheck) -> str:
    if isinstance(check, DoneCheck):
        if check.ran:
            missing = f"{check.missing} since"
        else:
            missing = check.missing
        if check.enforce:
            holds = "holds the end of a session once"
        else:
            holds = "tells the person at the end of a session"
        return f"{holds} where {_quoted(check.changed)} changed and {missing}"
    verb = {DENY: "refuses", ASK: "asks before"}.get(check.enforce, "tells the agent before")
    if isinstance(check, CommandCheck):
        if check.unless:
            unless = f" with `{check.unless}` in the line"
        else:
            unless = ""
        if check.unless_said:
            asked = f" a person said `{check.unless_said}`"
        else:
            asked = ""
        exceptions = " and unless".join(filter(None, (unless, asked)))
        if exceptions:
            exceptions = f", unless{exceptions}"
        return f"{verb} {_quoted(check.command)}{exceptions}"
    if check.files:
        files = f"edits of {_quoted(check.files)}"
    else:
        files = "edits of any file"
    return f"{verb} {files} that match `{check.pattern or check.regex}`"


def _quoted(texts: Sequence[str]) -> str:
    return " or ".join(f"`{text}`" for text in texts)


def to_run(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What of the checks is needed to run them, as `stored` reads it; empty if there is none."""
    runnable: list[dict[str, Any]] = []
    for check in checks_of(fields):
        # The samples have proven it when it was written, and may be long
        runnable.append(as_fields(check._replace(bad=(), good=())))
    return runnable


def as_fields(check: AnyCheck) -> dict[str, Any]:
    """The keys of a check that are stated, as frontmatter has them."""
    fields: dict[str, Any] = {}
    for key, value in check._asdict().items():
        if value:
            if isinstance(value, tuple):
                fields[key] = list(value)
            else:
                fields[key] = value
    return fields


def stored(checks: Sequence[Mapping[str, Any]] | None) -> tuple[AnyCheck, ...]:
    """The checks that an `EntrySummary` has, without their samples."""
    every = list[AnyCheck]()
    for value in checks or ():
        parts: dict[str, Any] = {}
        for key, part in value.items():
            # JSON has no tuples
            parts[key] = tuple(part) if isinstance(part, list) else part
        if "command" in parts:
            every.append(CommandCheck(**parts))
        elif "changed" in parts:
            every.append(DoneCheck(**parts))
        else:
            every.append(Check(**parts))
    return tuple(every)

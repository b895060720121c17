"""The three forms of a check: of a text that is written, of a command, of what was done.

A rule has one check, or a list of them; each proves itself on what breaks the rule (`bad`) and what
keeps it (`good`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.features.checks import command_checks, done_checks, text_checks
from ai_lessons.features.checks.command_checks import CommandCheck
from ai_lessons.features.checks.done_checks import DoneCheck
from ai_lessons.features.checks.text_checks import LONGEST_PATTERN, TextCheck
from ai_lessons.model.decisions import ASK, DENY, TELL
from ai_lessons.model.layout import globs, stated

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

AnyCheck = TextCheck | CommandCheck | DoneCheck

# checks of a rule
MOST = 10
MOST_SAMPLES, LONGEST_SAMPLE = 20, 4_000
_SAMPLES = frozenset({"bad", "good"})
_SAMPLE_IS = {TextCheck: "a text", CommandCheck: "a command", DoneCheck: "paths of files"}


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


def of_texts(checks: Sequence[AnyCheck]) -> list[TextCheck]:
    """Those of the checks that look at a text."""
    return [check for check in checks if isinstance(check, TextCheck)]


def of_what_was_done(checks: Sequence[AnyCheck]) -> list[DoneCheck]:
    """Those of the checks that look at what was done."""
    return [check for check in checks if isinstance(check, DoneCheck)]


# --- what is wrong with one ---


def faults(fields: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the checks of a rule.

    A form, a pattern, or what one does with its samples.
    """
    values = _values(fields)
    if len(values) > MOST:
        yield f"check is a list of more than {MOST}"
        return
    for number, value in enumerate(values, 1):
        which = f" (number {number} of check)" if len(values) > 1 else ""
        for fault in _faults_of(value, fields):
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
    # what ran is seen in a session alone
    needs_good = not (isinstance(check, DoneCheck) and check.ran)
    if not check.bad or (needs_good and not check.good):
        what = _SAMPLE_IS[type(check)]
        bad, good = f"bad, {what} that breaks the rule", f"good, {what} that keeps it"
        yield f"check needs {bad}, and {good}: they prove the pattern"
        if not check.bad:
            return
    yield from _unproven(check)


def _unproven(check: AnyCheck) -> Iterator[str]:
    """What speaks against a check whose form is right."""
    if isinstance(check, TextCheck):
        return text_checks.unproven(check)
    if isinstance(check, CommandCheck):
        return command_checks.unproven(check)
    return done_checks.unproven(check)


def _keys_of(value: Mapping[str, Any]) -> tuple[Sequence[str], Collection[str]]:
    """The keys that the form of a check has, and those of them that may hold a list."""
    if "command" in value:
        return command_checks.KEYS, command_checks.SEVERAL
    if "changed" in value:
        return done_checks.KEYS, done_checks.SEVERAL
    return text_checks.KEYS, text_checks.SEVERAL


def _form_faults(value: object) -> Iterator[str]:
    if not isinstance(value, dict):
        named = ", ".join(f"`{key}:`" for key in text_checks.KEYS)
        yield f"check is not {named}, one a line, nor another form"
        return
    keys, several = _keys_of(value)
    for key, part in value.items():
        if key not in keys:
            yield f"check has an unknown key {key!r}, besides {', '.join(keys)}"
        else:
            yield from _part_faults(key, part, several=key in several)
    if keys is text_checks.KEYS:
        if value.get("pattern") and value.get("regex"):
            yield "check has both pattern and regex"
        elif not value.get("pattern") and not value.get("regex"):
            yield "check has neither pattern nor regex for a text, nor command, nor changed"
    if value.get("enforce") not in {None, TELL, ASK, DENY}:
        yield f"check.enforce {value['enforce']!r} is none of {TELL}, {ASK}, {DENY}"


def _part_faults(key: str, part: object, *, several: bool) -> Iterator[str]:
    if not (_is_text(part) or (several and _is_list_of_texts(part))):
        yield f"check.{key} is not text"
        return
    texts = stated(part)
    length = len("".join(texts))
    if key not in _SAMPLES and length > LONGEST_PATTERN:
        yield f"check.{key} is longer than {LONGEST_PATTERN} characters"
    elif key in _SAMPLES and (len(texts) > MOST_SAMPLES or length > LONGEST_SAMPLE):
        most = f"{MOST_SAMPLES} texts, or than {LONGEST_SAMPLE} characters"
        yield f"check.{key} is more than {most}"


def _is_text(part: object) -> bool:
    return isinstance(part, str) and bool(part.strip())


def _is_list_of_texts(part: object) -> bool:
    if not isinstance(part, list) or not part:
        return False
    texts = stated(part)
    return len(texts) == len(part) and all(map(str.strip, texts))


def named_globs(checks: Sequence[AnyCheck]) -> Iterator[tuple[str, str]]:
    """Each glob of files that a check names, with the name of its key."""
    for check in checks:
        if isinstance(check, TextCheck):
            for glob in check.files:
                yield "check.files", glob
        elif isinstance(check, DoneCheck):
            for glob in check.changed:
                yield "check.changed", glob
            for glob in check.unless_changed:
                yield "check.unless_changed", glob


# --- from frontmatter, to the catalog and back ---


def _parsed(value: Mapping[str, Any], fields: Mapping[str, Any]) -> AnyCheck:
    """A check whose form is right.

    One of a text is for the files of `applies_to` unless it names others.
    """
    enforce = _text_of(value, "enforce")
    if enforce == TELL:
        # what a check does that states nothing
        enforce = ""
    bad, good = _texts_of(value, "bad"), _texts_of(value, "good")
    if "command" in value:
        return CommandCheck(
            _texts_of(value, "command"),
            unless=_text_of(value, "unless"),
            instead=_text_of(value, "instead"),
            unless_said=_text_of(value, "unless_said"),
            bad=bad,
            good=good,
            enforce=enforce,
        )
    if "changed" in value:
        return DoneCheck(
            tuple(globs(value["changed"])),
            unless_changed=tuple(globs(value.get("unless_changed"))),
            ran=_texts_of(value, "ran"),
            bad=bad,
            good=good,
            enforce=enforce,
        )
    return TextCheck(
        tuple(globs(value.get("files")) or globs(fields.get("applies_to"))),
        pattern=_text_of(value, "pattern"),
        regex=_text_of(value, "regex"),
        unless=_text_of(value, "unless"),
        bad=bad,
        good=good,
        enforce=enforce,
    )


def _text_of(value: Mapping[str, Any], key: str) -> str:
    return str(value.get(key) or "")


def _texts_of(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(stated(value.get(key)))


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
            fields[key] = list(value) if isinstance(value, tuple) else value
    return fields


def stored(checks: Sequence[Mapping[str, Any]] | None) -> tuple[AnyCheck, ...]:
    """The checks that the catalog keeps, without their samples."""
    every: list[AnyCheck] = []
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
            every.append(TextCheck(**parts))
    return tuple(every)


# --- in words ---


def described(fields: Mapping[str, Any]) -> list[str]:
    """Lines for people: what the checks of a rule look for, and the samples that prove them.

    Empty if there is none.
    """
    lines: list[str] = []
    for check in checks_of(fields):
        lines.append(str(check))
        for name, samples in (("breaks it", check.bad), ("keeps it", check.good)):
            if isinstance(check, DoneCheck):
                # paths that were changed together are one sample
                texts = [", ".join(samples)] if samples else []
            else:
                texts = [*samples]
            for text in texts:
                lines.append(f"{name}: {' '.join(text.split())}")
    return lines


def effects(fields: Mapping[str, Any]) -> list[str]:
    """What each check of a rule will do once it is in force, for who decides about it.

    >>> effects({"check": {"command": "git push --force", "enforce": "deny"}})
    ['refuses `git push --force`']
    """
    sentences: list[str] = []
    for check in checks_of(fields):
        if isinstance(check, DoneCheck):
            sentences.append(_effect_at_the_end(check))
        else:
            verb = {DENY: "refuses", ASK: "asks before"}.get(check.enforce)
            sentences.append(f"{verb or 'tells the agent before'} {_subject(check)}")
    return sentences


def _effect_at_the_end(check: DoneCheck) -> str:
    holds = "tells the person at the end of a session"
    if check.enforce:
        holds = "holds the end of a session once"
    since = " since" if check.ran else ""
    return f"{holds} where {_quoted(check.changed)} changed and {check.missing}{since}"


def _subject(check: TextCheck | CommandCheck) -> str:
    """What a check is about: calls, or edits."""
    if isinstance(check, TextCheck):
        files = _quoted(check.files) if check.files else "any file"
        return f"edits of {files} that match `{check.pattern or check.regex}`"
    exceptions: list[str] = []
    if check.unless:
        exceptions.append(f"unless with `{check.unless}` in the line")
    if check.unless_said:
        exceptions.append(f"unless a person said `{check.unless_said}`")
    subject = _quoted(check.command)
    if exceptions:
        subject += f", {' and '.join(exceptions)}"
    return subject


def _quoted(texts: Sequence[str]) -> str:
    return " or ".join(f"`{text}`" for text in texts)

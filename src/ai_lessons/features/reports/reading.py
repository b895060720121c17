"""Reads the reports of `ai-lessons check`, as JSON or SARIF. Pure; a report may be anybody's."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.entries import stated_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Bytes of a report that is read
LARGEST = 32 << 20
# Rules of a report, and characters of a name in one
_MOST_RULES, _LONGEST = 10_000, 200
_PROGRAM = "ai-lessons"
_AT = expression(
    r"20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII
)
_REVISION = expression(r"(?:[0-9a-f]{40}|[0-9a-f]{64})?")
# the names in a report, and those that SARIF likes
_FIELDS = {"in_scope": "inScope"}


class NoReport(ValueError):
    """Why something is no report, as the end of a sentence."""


class RuleInRun(NamedTuple):
    """What a run of `check` saw of a rule.

    In how many files it was in scope, how often it was broken, and allowed by a comment.
    """

    id: str
    title: str
    in_scope: int
    broken: int
    allowed: int


class CheckRun(NamedTuple):
    """A run of `check` over code of a project at a commit (`revision`; empty where none is known).

    `warn`: it stopped nothing.
    """

    project: str
    revision: str
    at: str
    warn: bool
    rules: tuple[RuleInRun, ...]

    @property
    def month(self) -> str:
        """As `yyyy-mm`."""
        return self.at[:7]


def runs_in(data: bytes) -> list[CheckRun]:
    """The runs that a file reports. Raises NoReport."""
    try:
        stated = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NoReport("it is no JSON") from error
    if not isinstance(stated, dict):
        raise NoReport("it is JSON of another form")
    if "runs" in stated:
        return list(_runs_of_sarif(stated))
    if "by_rule" in stated:
        return [_run(stated, stated["by_rule"])]
    if "findings" in stated:
        raise NoReport("an older program made it: make it anew")
    raise NoReport("it is JSON of another form")


def _runs_of_sarif(stated: dict[str, Any]) -> Iterator[CheckRun]:
    """The runs of this program; a file may hold those of others, too."""
    runs = _list(stated, "runs")
    ours = 0
    for run in runs:
        driver = _table(_table(_checked_table(run), "tool"), "driver")
        if driver.get("name") != _PROGRAM:
            continue
        ours += 1
        rules = []
        for rule in _list(driver, "rules"):
            # an entry that speaks of what changed has no figures
            properties = _checked_table(rule).get("properties")
            if properties is not None:
                rules.append(properties)
        yield _run(_of_sarif(run), rules)
    if not ours:
        raise NoReport(f"it reports no run of {_PROGRAM}")


def _of_sarif(run: dict[str, Any]) -> dict[str, Any]:
    """What a run of SARIF says of itself, under the names of our own form."""
    if "properties" not in run:
        raise NoReport("an older program made it: make it anew")
    ended = _list(run, "invocations")
    if not ended:
        raise NoReport("it does not say when it was made")
    return {**_table(run, "properties"), "at": _checked_table(ended[0]).get("endTimeUtc")}


def _run(stated: dict[str, Any], rules: Any) -> CheckRun:
    if not isinstance(rules, list) or len(rules) > _MOST_RULES:
        raise NoReport(f"its rules are no list of at most {_MOST_RULES:,}")
    at, revision, warn = stated.get("at"), stated.get("revision"), stated.get("warn")
    if not isinstance(at, str) or not _AT.fullmatch(at):
        raise NoReport("it does not say when it was made")
    if not isinstance(revision, str) or not _REVISION.fullmatch(revision):
        raise NoReport("it does not say of which commit it is")
    if not isinstance(warn, bool):
        raise NoReport("it does not say whether it only warned")
    read: dict[str, RuleInRun] = {}
    for rule in rules:
        seen = _rule(_checked_table(rule))
        read[seen.id] = seen
    return CheckRun(_text(stated, "project"), revision, at, warn, tuple(read.values()))


def _rule(stated: dict[str, Any]) -> RuleInRun:
    rule = stated_id(stated.get("id"))
    if rule is None:
        raise NoReport("a rule in it has no id")
    numbers = [_number(stated, name) for name in ("in_scope", "broken", "allowed")]
    return RuleInRun(rule, _text(stated, "title"), *numbers)


def _number(stated: dict[str, Any], name: str) -> int:
    value = stated.get(name, stated.get(_FIELDS.get(name, name)))
    # JSON of others may hold any number, and true is one in Python
    if type(value) is not int or not 0 <= value <= 10**9:
        raise NoReport(f"`{name}` of a rule in it is no count")
    return value


def _text(stated: dict[str, Any], name: str) -> str:
    value = stated.get(name)
    if not isinstance(value, str):
        raise NoReport(f"`{name}` in it is no text")
    # half a pair of UTF-16, which JSON can write, cannot be printed
    return value[:_LONGEST].encode("utf-8", "replace").decode()


def _list(stated: dict[str, Any], name: str) -> Sequence[Any]:
    value = stated.get(name)
    if not isinstance(value, list):
        raise NoReport(f"`{name}` in it is no list")
    return value


def _table(stated: dict[str, Any], name: str) -> dict[str, Any]:
    return _checked_table(stated.get(name))


def _checked_table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NoReport("a part of it has another form")
    return value

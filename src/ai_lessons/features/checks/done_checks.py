"""A check on what was done: which files changed, which others did not, and what ran after."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.checks.command_checks import calls, form_of
from ai_lessons.model.layout import any_match
from ai_lessons.model.simple_commands import base_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

KEYS = ("changed", "unless_changed", "ran", "bad", "good", "enforce")
# keys that may hold a list
SEVERAL = frozenset({"changed", "unless_changed", "ran", "bad", "good"})


class Succeeded(NamedTuple):
    """A command line that succeeded, and when it ended, on the clock of the edits.

    `unsure`: its output reads like a failure, and its end does not show how each of its commands
    ended.
    """

    line: str
    at: float
    unsure: bool = False


class DoneCheck(NamedTuple):
    """A rule is broken where files `changed` (globs), and none of `unless_changed` did.

    Nor did one of the commands `ran` succeed after the last of them. `bad` and `good` are paths
    that changed together: they break and keep the rule.
    """

    changed: tuple[str, ...]
    unless_changed: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    good: tuple[str, ...] = ()
    enforce: str = ""

    def concerned(self, paths: Iterable[str]) -> list[str]:
        """Those of the paths that the check is about."""
        return [path for path in paths if any_match(self.changed, [path])]

    def other_changed(self, paths: Collection[str]) -> bool:
        """Whether something changed that keeps the rule."""
        return bool(self.unless_changed) and any_match(self.unless_changed, paths)

    def broken_by(self, edits: Mapping[str, float], succeeded: Iterable[Succeeded]) -> list[str]:
        """The changed files that break the rule, none where it is kept.

        `edits`: by path when it last changed.
        """
        paths = self.concerned(edits)
        if not paths or self.other_changed(edits.keys()):
            return []
        # what ran before the last edit has not seen it
        last = max(edits[path] for path in paths)
        if any(done.at >= last and self._has_run(done) for done in succeeded):
            return []
        return sorted(paths)

    def _has_run(self, done: Succeeded) -> bool:
        """Whether a line ran the command to a good end.

        Behind `;`, `||` or a pipe that shows in its output only.
        """
        return any(command.decides or not done.unsure for command in calls(self.ran, done.line))

    def sentence(self, paths: Iterable[str]) -> str:
        """What was done and what was not, for these changed files.

        >>> DoneCheck(("*.go",), ("*_test.go",)).sentence(["src/cart.go"])
        '`cart.go` changed and no test `*_test.go` did'
        """
        names = [f"`{base_name(path)}`" for path in paths]
        changed = ", ".join(names[:2])
        if len(names) > 2:
            changed += f" and {len(names) - 2} more"
        since = " since" if self.ran else ""
        return f"{changed} changed and {self.missing}{since}"

    @property
    def missing(self) -> str:
        """What did not happen where the rule is broken."""
        parts = list[str]()
        if self.unless_changed:
            are_tests = all("test" in glob for glob in self.unless_changed)
            tests = "test " if are_tests else ""
            parts.append(f"no {tests}{_listed(self.unless_changed)} did")
        if self.ran:
            parts.append(f"{_listed(self.ran)} did not succeed")
        return ", and ".join(parts)

    def __str__(self) -> str:
        parts = [f"changed {_listed(self.changed)}"]
        if self.unless_changed:
            parts += [f"unless {_listed(self.unless_changed)} changed"]
        if self.ran:
            parts += [f"unless {_listed(self.ran)} ran after"]
        if self.enforce:
            parts += [f"({self.enforce})"]
        return " ".join(parts)


def _listed(texts: Iterable[str]) -> str:
    return " or ".join(f"`{text}`" for text in texts)


def unproven(check: DoneCheck) -> Iterator[str]:
    """What speaks against a check.

    Nothing could keep it, it names no command, or `bad` and `good` say otherwise.
    """
    if not check.unless_changed and not check.ran:
        yield "check has changed, but neither unless_changed, files that change with them, nor ran, a command after"
        return
    for text in check.ran:
        if form_of(text) is None:
            yield f"check.ran {text!r} is not one command, such as `make lint`"
            return
    if not check.broken_by(dict.fromkeys(check.bad, 0.0), ()):
        yield f"the check does not fire where check.bad changed: {', '.join(check.bad)}"
    if check.good and check.broken_by(dict.fromkeys(check.good, 0.0), ()):
        yield f"the check fires where check.good changed: {', '.join(check.good)}"

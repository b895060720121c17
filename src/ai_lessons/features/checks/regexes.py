"""Regexes of RE2, run on lines of texts that nobody trusts.

A pattern may come from a proposal that nobody has approved, so that none may take for ever: the
time of RE2 grows with the text, whatever the regex is.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# so many steps of the engine take part of a second
_STEPS = 20_000_000
_LACKS = "; RE2 has no lookaheads and no references back: use `unless`"


class TooSlow(Exception):
    """The time for a check is over before it has looked at all of a text."""


class InvalidPattern(Exception):
    """A pattern or regex that is none, or one that may take too long; says why."""


def no_hurry() -> bool:
    """There is time."""
    return False


class LineRegex:
    """A regex that is run on each line. It has no lookarounds and no references back to groups.

    A text is looked at in overlapping windows; a match is seen if it is at most half a window long,
    which is 3,000 bytes and more.
    """

    def __init__(self, source: str) -> None:
        """Raises InvalidPattern."""
        # most commands run no check
        import re2

        try:
            self._regex = re2.compile(f"(?m){source}", _options())
        except re2.error as error:
            reason = error.args[0].decode("utf-8", "replace").replace("(?m)", "", 1)
            if re.search(r"operator: \(\?|sequence: \\\d", reason):
                reason += _LACKS
            raise InvalidPattern(f"the regex {source!r} is none: {reason}") from error
        size = self._regex.programsize
        # the engine may take so many steps for one byte
        if size > 3_000:
            advice = "use smaller counts, such as {1,80}"
            raise InvalidPattern(f"the regex {source!r} can take too long: {advice}")
        # between two looks at the time the engine takes no more steps than that
        self._window = _STEPS // size

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, source: str) -> LineRegex:
        """The regex, parsed once. Raises InvalidPattern."""
        return cls(source)

    def fits(self, line: str) -> bool:
        """Whether the regex matches in a line."""
        return any(self.lines(line))

    def lines(self, text: str, hurry: Callable[[], bool] = no_hurry) -> Iterator[tuple[int, str]]:
        """The number of each line that fits, and what of it does. Raises TooSlow."""
        data = _encoded(text)
        number, counted, at = 1, 0, 0
        for start in range(0, max(len(data), 1), self._window // 2):
            if hurry():
                raise TooSlow
            at = max(at, start)
            end = min(start + self._window, len(data))
            while at <= end:
                match = self._regex.search(data, at, end)
                if match is None:
                    break
                number += data.count(b"\n", counted, match.start())
                counted = match.start()
                yield number, data[counted : match.end()].decode("utf-8", "replace")
                # the next line
                last = data.find(b"\n", counted)
                at = len(data) + 1 if last < 0 else last + 1


class Prefilter:
    """Which of many regexes can match in a text.

    By one look for the words that stand in each match of theirs.
    """

    def __init__(self, regexes: Mapping[str, str]) -> None:
        """`regexes` by any name."""
        import re2

        self._filter, self._names = re2.Filter(), list[str]()
        for name, regex in regexes.items():
            # what is wrong with it shows when it runs
            with suppress(re2.error):
                self._filter.Add(f"(?m){regex}", _options())
                self._names.append(name)
        self._unfiltered = regexes.keys() - set(self._names)
        if self._names:
            self._filter.Compile()

    def possible(self, text: str) -> set[str]:
        """The names of those that can match."""
        names = set(self._unfiltered)
        if self._names:
            for hit in self._filter.Match(_encoded(text), potential=True) or ():
                names.add(self._names[hit])
        return names


@lru_cache(maxsize=1)
def _options() -> Any:
    import re2

    options = re2.Options()
    options.never_nl = options.never_capture = True
    options.log_errors = False
    options.max_mem = 1 << 20
    return options


def _encoded(text: str) -> bytes:
    """The lines of a text as RE2 reads them."""
    return text.encode("utf-8", "replace").replace(b"\r\n", b"\n").removesuffix(b"\n")

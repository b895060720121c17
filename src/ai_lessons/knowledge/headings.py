"""Whether a text needs the Markdown parser at all: most do not, and loading it takes longer than all else in a show."""

from __future__ import annotations

import re

_MAY_BE_HEADING = re.compile(r"(?:^|\r) {0,3}(?:#{1,6}(?:[ \t\r]|$)|(?:=+|-+)[ \t]*(?:\r|$))", re.MULTILINE)


def may_have_headings(text: str) -> bool:
    """False only where no line can be a heading of CommonMark, of either kind; True promises nothing."""
    return _MAY_BE_HEADING.search(text) is not None

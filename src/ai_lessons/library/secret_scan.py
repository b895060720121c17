"""Keeps secrets out of the repository: a text that holds one is refused, unless its file says why it may.

`allow_secrets:` in the frontmatter lists what may stay, each by its fingerprint and with a reason:

    allow_secrets:
      - 1f6b2c9d0a4e: the key of the vendor's public sandbox
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import Problem, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.knowledge.entries import Entry

KEY = "allow_secrets"
_FINGERPRINT = 12
_MARKS = (
    "AccountKey=", "AIza", "AKIA", "ABIA", "ACCA", "ASIA", "GR1348941", "PRIVATE KEY", "PuTTY-User-Key", "SG.",
    "T3BlbkFJ", "_authToken=", "eyJ", "github_pat_", "pypi-Ag", "sk-ant-", "sk-proj-", "sq0csp-",
    "A3T", "k_live_", ":AA",
)  # fmt: skip
_ANY_CASE = ("xox", "hooks.slack.com")
# each begins with letters or a sign, by which the engine skips through a text; all in one take ten times as long
_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        r"gh[pousr]_\w{20}",
        r"gl[a-z]{2,6}-[\w-]{20}",
        r"hf_\w{30}",
        r"AC[a-z0-9]{32}",
        r"SK[a-z0-9]{32}",
        r"-us[0-9]",
        r"\d{8}:[\w-]{35}",
    )
)
_AWS = re.compile(r"aws.{0,60}['\"][0-9a-z/+]{40}", re.IGNORECASE)


class Secret(NamedTuple):
    """Something in a text that looks like a secret: its line (from 1), what sort, and what it is called."""

    line: int
    sort: str
    fingerprint: str
    value: str


def may_hold(text: str) -> bool:
    """Whether it is worth to look closer: a fraction of a millisecond where there is nothing."""
    lowered = text.lower()
    return (
        any(mark in text for mark in _MARKS)
        or any(mark in lowered for mark in _ANY_CASE)
        or any(shape.search(text) for shape in _SHAPES)
        or ("aws" in lowered and _AWS.search(text) is not None)
    )


def secrets_in(text: str) -> list[Secret]:
    """What in a text looks like a secret, by line."""
    if not may_hold(text):
        return []
    from ai_lessons.library.secret_detectors import detected

    found = {(sort, value): line for line, sort, value in reversed(list(detected(text)))}
    made = [Secret(line, sort, fingerprint(value), value) for (sort, value), line in found.items()]
    return sorted(made, key=lambda one: (one.line, one.sort))


def fingerprint(value: str) -> str:
    """What a secret is called where it must not be written down."""
    return sha256(value.encode("utf-8", "replace")).hexdigest()[:_FINGERPRINT]


def problems(entry: Entry, texts: Iterable[tuple[str, str]], known: str = "") -> list[Problem]:
    """What must not be committed in the files of an entry, given as (path, text).

    `known` is text that was there before: what it holds is no news.
    """
    found = []
    for path, text in texts:
        for secret in secrets_in(text):
            if secret.fingerprint not in _allowed(entry) and secret.value not in known:
                what = "an" if secret.sort[0] in "AEIO" else "a"
                found.append(
                    Problem(
                        path,
                        f"holds what looks like {what} {secret.sort}: take it out, or say in the frontmatter why it may"
                        f" stay: `{KEY}: [{secret.fingerprint}: REASON]`",
                        secret.line,
                    )
                )
    return found


def _allowed(entry: Entry) -> frozenset[str]:
    """Fingerprints for which the frontmatter gives a reason."""
    said: Any = entry.fields.get(KEY)
    rows = [row for row in said if isinstance(row, dict)] if isinstance(said, list) else []
    return frozenset(str(mark) for row in rows for mark, reason in row.items() if str(reason or "").strip())


def fields(allowed: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Frontmatter that allows secrets by (fingerprint, reason).

    Raises:
        UsageError: a reason is missing.
    """
    for mark, reason in allowed:
        if not mark.strip() or not reason.strip():
            raise UsageError("a secret is allowed by its fingerprint and a reason", hint="--allow-secret MARK=REASON")
    return {KEY: [{mark.strip(): " ".join(reason.split())} for mark, reason in allowed]} if allowed else {}

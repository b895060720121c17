"""Keeps secrets out of the repository: a text that holds one is refused, unless its file says why it may."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from hashlib import sha256
from string import ascii_uppercase, digits, hexdigits
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import Problem, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KEY = "allow_secrets"
_FINGERPRINT = 12
_PRIVATE_KEY = "Private Key"
# sort, a part of every such token in small letters, and its shape: those of detect-secrets, and newer ones. Most texts
# hold no such part, so that most patterns are not even compiled
_TOKENS = (
    ("API Token", "github_pat_", r"github_pat_[0-9A-Za-z_]{60,}"),
    ("API Token", "sk-ant-", r"sk-ant-[0-9A-Za-z_-]{32,}"),
    ("API Token", "sk-proj-", r"sk-proj-[0-9A-Za-z_-]{32,}"),
    ("API Token", "aiza", r"AIza[0-9A-Za-z_-]{35}"),
    ("API Token", "hf_", r"(?<![0-9A-Za-z])hf_[0-9A-Za-z]{34}"),
    ("AWS Access Key", "", r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}"),
    ("AWS Access Key", "aws", r"(?i:aws.{0,20}?(?:key|pwd|pw|pass|token).{0,20}?['\"][0-9a-z/+]{40}['\"])"),
    ("Azure Storage Account access key", "accountkey=", r"AccountKey=[a-zA-Z0-9+/=]{88}"),
    ("GitHub Token", "gh", r"gh[pousr]_[A-Za-z0-9_]{36}"),
    ("GitLab Token", "gl", r"gl(?:(?:pat|dt|ft|soat|rt)-|cbt-(?:[0-9a-fA-F]{2}_)?)[A-Za-z0-9_-]{20,50}(?!\w)"),
    ("GitLab Token", "gl", r"gl(?:imt-[A-Za-z0-9_-]{25}|ptt-[A-Za-z0-9_-]{40}|oas-[A-Za-z0-9_-]{64})(?!\w)"),
    ("GitLab Token", "glagent-", r"glagent-[A-Za-z0-9_-]{50,1024}(?!\w)"),
    ("GitLab Token", "gr1348941", r"GR1348941[A-Za-z0-9_-]{20,50}(?!\w)"),
    ("JSON Web Token", "eyj", r"eyJ[A-Za-z0-9_=-]+\.[A-Za-z0-9_=-]+\.?"),
    ("Mailchimp Access Key", "-us", r"[0-9a-z]{32}-us[0-9]{1,2}"),
    ("NPM tokens", ":_authtoken=", r"//.+/:_authToken=[^\S\n]*(?:npm_.+|[A-Fa-f0-9-]{36}).*"),
    ("OpenAI Token", "t3blbkfj", r"sk-[A-Za-z0-9_-]*[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    (_PRIVATE_KEY, "private key", r"BEGIN (?:(?:DSA|EC|OPENSSH|RSA|SSH2 ENCRYPTED) )?PRIVATE KEY"),
    (_PRIVATE_KEY, "private key", "BEGIN PGP PRIVATE KEY BLOCK"),
    (_PRIVATE_KEY, "putty-user", "PuTTY-User-Key-File-2"),
    ("PyPI Token", "pypi-", r"pypi-(?:AgEIcHlwaS5vcmc|AgENdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{70,}"),
    ("SendGrid API Key", "sg.", r"SG\.[a-zA-Z0-9_-]{22}\.[a-zA-Z0-9_-]{43}"),
    ("Slack Token", "xox", r"(?i:xox[abpors]-(?:\d+-)+[a-z0-9]+)"),
    ("Slack Token", "hooks.slack", r"(?i:https://hooks\.slack\.com/services/T[a-z0-9_]+/B[a-z0-9_]+/[a-z0-9_]+)"),
    ("Square OAuth Secret", "sq0csp-", r"sq0csp-[0-9A-Za-z\\_-]{43}"),
    ("Stripe Access Key", "k_live_", r"[rs]k_live_[0-9a-zA-Z]{24}"),
    ("Telegram Bot Token", ":", r"\d{8,10}:[0-9A-Za-z_-]{35}"),
    ("Twilio API Key", "", r"AC[a-z0-9]{32}"),
    ("Twilio API Key", "", r"SK[a-z0-9]{32}"),
    ("URL with a password", "://", r"://([^\s/?#:@'\"`<>]{0,100}):([^\s/?#@'\"`<>]{4,200})@(?=[\w\[])"),
)
_LONGEST_LINE = 100_000  # Characters of a line that is looked at: the time of some patterns grows with their square
# one id in ten thousand holds what a key of AWS is made of, and many that are made in the same second do
_ULID = re.compile(r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])")
_KEY_LINE = re.compile(r"\s*(?:\\n|[\"'])*\s*(?:Proc-Type:|[0-9A-Za-z+/=]{32,})")
_NAMES = frozenset(("password", "passwd", "passphrase", "pass", "secret", "token", "changeme", "api_key", "apikey"))
"""Words that stand for a password."""
_SEQUENCES = (
    f"{ascii_uppercase * 2}{digits}+/", f"{digits}{ascii_uppercase * 2}+/", (digits + ascii_uppercase) * 2, digits * 2,
    hexdigits.upper() * 2, f"{ascii_uppercase}=/",
)  # fmt: skip


class Secret(NamedTuple):
    """Something that looks like a secret: its line in a text (from 1; 0: in a path), what sort, its mark."""

    line: int
    sort: str
    fingerprint: str
    value: str


def secrets_in(text: str) -> list[Secret]:
    """What in a text looks like a secret, by line."""
    lines = _ULID.sub("ULID", text).split("\n")
    text = "\n".join(line if len(line) <= _LONGEST_LINE else "" for line in lines)
    lowered, first = text.lower(), dict[tuple[str, str], int]()
    for sort, part, pattern in _TOKENS:
        for match in re.finditer(pattern, text) if part in lowered else ():
            number = text.count("\n", 0, match.start()) + 1
            if value := _secret(sort, match, lines[number - 1 : number + 3]):
                first[sort, value] = min(number, first.get((sort, value), number))
    made = [Secret(line, sort, fingerprint(value), value) for (sort, value), line in first.items()]
    return sorted(made, key=lambda secret: (secret.line, secret.sort))


def _secret(sort: str, match: re.Match[str], lines: Sequence[str]) -> str:
    """The secret that was matched in the first of these lines; empty for what is an example of one."""
    value = match.group()
    if sort == _PRIVATE_KEY:
        block = "\n".join(lines[1:])
        return f"{value} {block}" if _KEY_LINE.match("".join(lines[0].split("-----", 2)[2:]) or block) else ""
    if sort == "URL with a password":
        return "" if _is_placeholder(match[2], match[1]) else value
    if sort == "JSON Web Token":
        try:
            for part in value.split(".")[:2]:
                json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        except ValueError:
            return ""
    return "" if _is_example(value) else value


def _is_placeholder(password: str, user: str) -> bool:
    """`$TOKEN`, `{token}`, `your-token`, `YOUR_TOKEN`, the user's name again."""
    word = password.lower()
    named = word in _NAMES or word == user.lower() or word.startswith(("your", "my-", "my_"))
    in_capitals = password.replace("_", "").isalpha() and password.isupper()
    return named or in_capitals or password[0] in "$%{[*" or "${" in password or _is_example(password)


def _is_example(value: str) -> bool:
    """Vendors write EXAMPLE into theirs; people write xxxx or 1234."""
    upper, few = value.upper(), len(set(value[-16:])) <= 4
    return "EXAMPLE" in upper or few or any(upper in sequence for sequence in _SEQUENCES)


def secrets_of(path: str, text: str) -> list[Secret]:
    """What in the path of a file, or in its text, looks like a secret."""
    return [*(secret._replace(line=0) for secret in secrets_in(path)), *secrets_in(text)]


def masked(text: str) -> str:
    """A text for the log of git, without what looks like a secret; of a key of several lines the first is left out."""
    for secret in secrets_in(text):
        rows = text.split("\n")
        if secret.value not in text:
            rows[secret.line - 1] = "…"
        text = "\n".join(rows).replace(secret.value, "…")
    return text


def fingerprint(value: str) -> str:
    """What a secret is called where it must not be written down."""
    return sha256(value.encode("utf-8", "replace")).hexdigest()[:_FINGERPRINT]


def problems(fields: Mapping[str, Any], texts: Iterable[tuple[str, str]], old_text: str = "") -> list[Problem]:
    """What must not be committed in the files of an entry: (path, text) each. What `known` holds was there before."""
    may_stay = allowed(fields)
    return [
        problem(path, secret)
        for path, text in texts
        for secret in secrets_of(path, text)
        if secret.fingerprint not in may_stay and secret.value not in old_text
    ]


def problem(path: str, secret: Secret) -> Problem:
    """What is wrong with a file that holds this."""
    what = "an" if secret.sort[0] in "AEIO" else "a"
    return Problem(
        masked(path),
        f"{'holds' if secret.line else 'has in its path'} what looks like {what} {secret.sort}: take it out (a"
        " placeholder will do), or a person says why it may stay: --allow-secret"
        f" {secret.fingerprint}=REASON, or in the frontmatter `{KEY}: [{secret.fingerprint}: REASON]`",
        secret.line,
    )


def allowed(fields: Mapping[str, Any]) -> frozenset[str]:
    """Fingerprints for which the frontmatter gives a reason."""
    return frozenset(str(mark) for row in _rows(fields) for mark, reason in row.items() if str(reason or "").strip())


def _rows(fields: Mapping[str, Any]) -> list[dict[Any, Any]]:
    rows: Any = fields.get(KEY)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def fields(
    allowances: Sequence[tuple[str, str]],
    *,
    existing: Mapping[str, Any] = MappingProxyType({}),
    text: str | None = None,
) -> dict[str, Any]:
    """Frontmatter that allows secrets by (fingerprint, reason), besides what the frontmatter `there` allows.

    With `text` only those that it holds: one job may be about many files. Raises UsageError: a reason is missing.
    """
    reasons = {mark.strip(): " ".join(reason.split()) for mark, reason in allowances}
    if not all(mark and reason for mark, reason in reasons.items()):
        raise UsageError("a secret is allowed by its fingerprint and a reason", hint="--allow-secret MARK=REASON")
    if reasons and text is not None:
        held = {secret.fingerprint for secret in secrets_in(text)}
        reasons = {mark: reason for mark, reason in reasons.items() if mark in held}
    new = [{mark: reason} for mark, reason in reasons.items() if mark not in allowed(existing)]
    return {KEY: [*_rows(existing), *new]} if new else {}

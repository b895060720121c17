"""Keeps secrets out of the repository.

A text that holds one is refused, unless its file says why it may.
"""

from __future__ import annotations

import json
import re
from functools import cache
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import Problem, UsageError
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from detect_secrets.plugins.base import RegexBasedDetector

    from ai_lessons.model.entries import Entry

KEY = "allow_secrets"
_MARKS = (
    "AccountKey=", "AIza", "AKIA", "ABIA", "ACCA", "ASIA", "GR1348941", "PRIVATE KEY", "PuTTY-User-Key", "SG.",
    "T3BlbkFJ", "_authToken=", "eyJ", "github_pat_", "pypi-Ag", "sk-ant-", "sk-proj-", "sq0csp-",
    "A3T", "k_live_", ":AA", "Q~", "SharedAccessKey=", "GOCSPX-", "ya29.", "dop_v1_", "LTAI", "hvs.", "dapi", "dckr_pat_",
    "shpat_", "gsk_", "xai-", "glsa_", "lin_api_", "ATATT3", "AGE-SECRET-KEY-1", "PMAK-", "NRAK-", "r8_", "rk_live_",
)  # fmt: skip
_ANY_CASE = ("xox", "hooks.slack.com")
# each begins with letters or a sign, by which the engine skips through a text; all in one take ten
# times as long
_SHAPES = (
    expression(r"gh[pousr]_\w{20}"),
    expression(r"gl[a-z]{2,6}-[\w-]{20}"),
    expression(r"hf_\w{30}"),
    expression(r"AC[a-z0-9]{32}"),
    expression(r"SK[a-z0-9]{32}"),
    expression(r"-us[0-9]"),
    expression(r"://[^\s/?#:@]{0,100}:[^\s/?#@]{4,200}@"),
)
# one id in ten thousand holds what a key of AWS is made of, and many that are made in the same
# second do
_ULID = expression(r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])")
_AFTER_DIGITS = expression(r":[\w-]{35}")
_AWS = expression(r"aws.{0,60}['\"][0-9a-z/+]{40}", re.IGNORECASE)
# The secret half of a key of AWS has no shape of its own: its name stands before it, in the same
# line or, as in YAML and scripts, in the one above
_NAMED_KEY = expression(
    r"(?i:aws_?secret(?:_?access)?_?key|secret_?access_?key)[\"'`]{0,2}\s{0,20}(?:=>|[:=])"
    r"(?:\s|\\|[>|][+-]?\s|[\"'`]){0,40}(?P<key>[0-9A-Za-z/+]{40})(?![0-9A-Za-z/+=])"
)

_KEY_LINE = expression(r"\s*+(?:\\n|[\"'])*+\s*+(?:Proc-Type:|[0-9A-Za-z+/=]{32,})")
_URL = expression(
    r"://(?P<user>[^\s/?#:@'\"`<>]{0,100}):(?P<password>[^\s/?#@'\"`<>]{4,200})@(?P<host>\[[^\]\s]{0,60}\]|[\w.-]{1,253})"
)
# Words that stand for a password, among them those that systems come with.
_NAMES = expression(
    r"(?:my|your|the|some|user|db|database|new|old|super|top)?[-_]?"
    r"(?:password|passwd|passphrase|pass|pwd|secret|token|change-?me|api_?key)\d{0,3}"
    r"|[a-z]{1,20}(?:[_-][a-z]{1,20}){0,3}[_-](?:password|passwd|secret|token|key)"
    r"|admin|root|guest|user(?:name)?|test(?:ing)?|demo|foobar|tiger|letmein|hunter2|mysql|postgres|redis|rabbitmq|mongo(?:db)?"
)

# Hosts that are the machine of who reads it.
_LOCAL = expression(
    r"(?:[\w-]+\.)*localhost|localhost\.localdomain|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[(?:::1?|0:0:0:0:0:0:0:1)\]"
    r"|host\.docker\.internal",
    re.IGNORECASE,
)

_ESCAPED = expression("%[0-9A-Fa-f]{2}")
# `{"sub":"1234567890`: the token that pages about tokens show
_JWT_IO = "eyJzdWIiOiIxMjM0NTY3ODkw"


class Secret(NamedTuple):
    """Something that looks like a secret: its line in a text, what sort, its mark.

    Lines count from 1; 0: it is in a path.
    """

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
        # a token of a Telegram bot: eight digits or more, a colon, 35 signs
        or any(
            text[max(match.start() - 8, 0) : match.start()].isdecimal()
            for match in _AFTER_DIGITS.finditer(text)
        )
        or ("aws" in lowered and _AWS.search(text) is not None)
        or ("secret" in lowered and _NAMED_KEY.search(text) is not None)
    )


def secrets_in(text: str) -> list[Secret]:
    """What in a text looks like a secret, by line."""
    if not may_hold(text):
        return []
    by_value = {}
    for line, sort, value in reversed(list(_detected(_ULID.sub("ULID", text)))):
        by_value[(sort, value)] = line
    made = [
        Secret(line, sort, fingerprint(value), value) for (sort, value), line in by_value.items()
    ]
    return sorted(made, key=lambda secret: (secret.line, secret.sort))


_DETECTORS = (
    "AWSKey", "AzureStorageKey", "GitHubToken", "GitLabToken", "JwtToken", "Mailchimp", "Npm", "OpenAI", "PrivateKey",
    "PypiToken", "SendGrid", "Slack", "SquareOAuth", "Stripe", "TelegramBotToken", "TwilioKey",
)  # fmt: skip


@cache
def detectors() -> tuple[RegexBasedDetector, ...]:
    """Those of detect-secrets that know a token by its shape.

    Loaded for the first text that `may_hold` one: 0.7 s.
    """
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    class NewerTokens(RegexBasedDetector):
        """Tokens that came after the package's last release."""

        secret_type = "API Token"  # noqa: S105 - the name of what is found
        denylist = (
            re.compile(r"github_pat_[0-9A-Za-z_]{60,}"),
            re.compile(r"sk-ant-[0-9A-Za-z_-]{32,}"),
            re.compile(r"sk-proj-[0-9A-Za-z_-]{32,}"),
            re.compile(r"AIza[0-9A-Za-z_-]{35}"),
            re.compile(r"(?<![0-9A-Za-z])hf_[0-9A-Za-z]{34}"),
            # of clouds: Azure, Google, DigitalOcean, Alibaba, Databricks
            re.compile(r"(?<![\w.~-])[\w.~]{3}[0-9]Q~[\w.~-]{31,34}(?![\w.~-])"),
            re.compile(r"SharedAccessKey=[0-9A-Za-z+/]{43}="),
            re.compile(r"GOCSPX-[\w-]{28}"),
            re.compile(r"ya29\.[\w-]{60,}"),
            re.compile(r"dop_v1_[0-9a-f]{64}"),
            re.compile(r"(?<![0-9A-Za-z])LTAI[0-9A-Za-z]{16,24}(?![0-9A-Za-z])"),
            re.compile(r"(?<![0-9A-Za-z])dapi[0-9a-f]{32}"),
            # of tools and models
            re.compile(r"hvs\.[\w-]{24,}"),
            re.compile(r"dckr_pat_[\w-]{27}"),
            re.compile(r"shpat_[0-9a-f]{32}"),
            re.compile(r"(?<![0-9A-Za-z])gsk_[0-9A-Za-z]{52}"),
            re.compile(r"(?<![0-9A-Za-z])xai-[0-9A-Za-z]{70,}"),
            re.compile(r"glsa_[0-9A-Za-z]{32}_[0-9a-f]{8}"),
            re.compile(r"lin_api_[0-9A-Za-z]{40}"),
            re.compile(r"ATATT3[\w=-]{60,}"),
            re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
            re.compile(r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
            re.compile(r"NRAK-[0-9A-Z]{27}"),
            re.compile(r"(?<![0-9A-Za-z])r8_[0-9A-Za-z]{37}"),
            re.compile(r"(?<![0-9A-Za-z])rk_live_[0-9A-Za-z]{24,}"),
        )

    classes: Iterable[Any] = get_mapping_from_secret_type_to_class().values()
    by_name = {}
    for detector in classes:
        by_name[detector.__name__] = detector
    return (NewerTokens(), *(by_name[f"{name}Detector"]() for name in _DETECTORS))


def _detected(text: str) -> Iterator[tuple[int, str, str]]:
    """Line (from 1), sort and value of whatever looks like a secret and not like an example of one."""
    lines = text.split("\n")
    for match in _NAMED_KEY.finditer(text):
        if not _is_example(match["key"]):
            yield text.count("\n", 0, match.start("key")) + 1, "AWS Secret Key", match["key"]
    for number, line in enumerate(lines, 1):
        # some patterns take time with the square of a line's length
        if len(line) > 100_000:
            continue
        for detector in detectors():
            for value in _values(detector, line):
                if detector.secret_type.startswith("Private Key"):
                    block = "\n".join(lines[number : number + 3])
                    if _KEY_LINE.match(line.partition("-----")[2].partition("-----")[2] or block):
                        yield number, detector.secret_type, f"{value} {block}"
                elif not _is_example(value):
                    yield number, detector.secret_type, value
        for match in _URL.finditer(line):
            local = _LOCAL.fullmatch(match["host"].rstrip("."))
            if not local and not _is_placeholder(match["password"], match["user"]):
                yield number, "URL with a password", match.group()


def _values(detector: RegexBasedDetector, line: str) -> set[str]:
    """Whole matches: the package gives back only the group of a pattern that has one."""
    parts = []
    for part in detector.analyze_string(line):
        if part:
            parts.append(part)
    if parts:
        whole = {match.group() for pattern in detector.denylist for match in pattern.finditer(line)}
    else:
        whole = set()
    values: set[str] = set()
    for value in whole:
        if any(part in value for part in parts):
            values.add(value)
    return values


def _is_placeholder(password: str, user: str) -> bool:
    """`$TOKEN`, `{token}`, `your-token`, `YOUR_TOKEN`, the user's name again."""
    word = password.lower()
    named = (
        _NAMES.fullmatch(word) is not None
        or word == user.lower()
        or word.startswith(("your", "my-", "my_"))
    )
    in_capitals = password.replace("_", "").isalpha() and password.isupper()
    # five characters protect nothing; `he%2F%2Fo` in a manual shows how a password is written
    return (
        named
        or in_capitals
        or len(_ESCAPED.sub("_", password)) < 6
        or password[0] in "$%{[*"
        or "${" in password
        or _is_example(password)
    )


def _is_example(value: str) -> bool:
    """Vendors write EXAMPLE into theirs; people write xxxx, 1234 or a variable."""
    from detect_secrets.filters.heuristic import is_sequential_string, is_templated_secret

    upper = value.upper()
    few = len(set(value[-16:])) <= 4
    return (
        "EXAMPLE" in upper
        or _JWT_IO in value
        or few
        or is_sequential_string(value)
        or is_templated_secret(value)
    )


def secrets_of(path: str, text: str) -> list[Secret]:
    """What in the path of a file, or in its text, looks like a secret."""
    return [*(secret._replace(line=0) for secret in secrets_in(path)), *secrets_in(text)]


_STATED = expression(
    r"(?i)((?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key)[\"']?"
    r"(?:=[\"']?|(?:\s*[:=]|\s+is)\s*[\"']?(?=\S{0,200}\d)))(?P<value>[^\s\"'()<>{}$,;]{6,})"
    r"|(?<![\w-])(?P<bearer>eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?)"
)
# Code that has the secret, such as `settings.token`
_DOTTED = expression(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+")


def masked(text: str) -> str:
    """A text to keep or to show, without what looks like a secret, also where one is only called so.

    >>> masked("set password=hunter2hunter2, my token is a1b2c3d4"), masked("token=settings.token, TOKEN=$TOKEN")
    ('set password=…, my token is …', 'token=settings.token, TOKEN=$TOKEN')
    """
    for secret in secrets_in(text):
        text = text.replace(secret.value, "…")

    def stated(match: re.Match[str]) -> str:
        value = match["value"] or ""
        plain = value and (_NAMES.fullmatch(value.lower()) or _DOTTED.fullmatch(value))
        if plain:
            return match[0]
        return f"{match[1] or ''}…"

    return _STATED.sub(stated, text)


def masked_entry(entry: Entry) -> Entry:
    """The entry as it may be shown.

    Without what looks like a secret, unless its file says why it may stay.
    """
    stated = json.dumps(dict(entry.fields), default=str, ensure_ascii=False)
    if not any(map(may_hold, (entry.title, entry.body, entry.code, stated))):
        return entry
    may_stay, hidden = allowed(entry.fields), list[str]()
    # of what only its key in the frontmatter tells, the value alone has no mark
    named = {secret.value for secret in secrets_in(stated) if secret.fingerprint not in may_stay}

    def shown(text: str) -> str:
        for value in (*_refused(text, may_stay), *(value for value in named if value in text)):
            hidden.append(" ".join(value.split()))
            text = text.replace(value, MASK)
        return text

    fields = {key: _each_text(value, shown) for key, value in entry.fields.items()}
    title, body, code = shown(entry.title), shown(entry.body), shown(entry.code)
    tags = tuple(map(shown, entry.tags))
    secret = "\n".join(dict.fromkeys(hidden))
    return entry._replace(
        title=title, body=body, code=code, tags=tags, fields=fields, hidden=secret
    )


def masked_file(text: str, fields: Mapping[str, Any]) -> str:
    """The text of a file as it may be shown, where its frontmatter states these `fields`."""
    for value in _refused(text, allowed(fields)):
        text = text.replace(value, MASK)
    return text


def _refused(text: str, may_stay: frozenset[str]) -> Iterator[str]:
    """What in a text looks like a secret that is not allowed, as it stands there."""
    for secret in secrets_in(text):
        if secret.fingerprint in may_stay:
            continue
        if secret.value in text:
            yield secret.value
            continue
        # a private key: all lines up to its end
        lines = text.split("\n")[secret.line - 1 :]
        end = next((n for n, line in enumerate(lines[1:], 2) if "-----END" in line), 4)
        yield "\n".join(lines[:end])


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        results = []
        for item in value:
            results.append(_each_text(item, change))
        return results
    if isinstance(value, dict):
        return {key: _each_text(item, change) for key, item in value.items()}
    return value


MASK = "…"


def without_suspects(text: str) -> str:
    """`masked` without loading the detectors: words that may hold a secret are left out, too."""
    if not may_hold(text):
        return text
    # its name may stand in the line before
    text = _NAMED_KEY.sub(lambda match: match[0].replace(match["key"], MASK), text)
    rows = (
        " ".join("…" if may_hold(word) else word for word in row.split(" "))
        for row in text.split("\n")
    )
    suspects = []
    for row in rows:
        if may_hold(row):
            suspects.append("…")
        else:
            suspects.append(row)
    return "\n".join(suspects)


def fingerprint(value: str) -> str:
    """What a secret is called where it must not be written down."""
    # 48 bits: no two in a repository are the same, and nothing leads back from them
    return sha256(value.encode("utf-8", "replace")).hexdigest()[:12]


def problems(
    fields: Mapping[str, Any], texts: Iterable[tuple[str, str]], old_text: str = ""
) -> list[Problem]:
    """What must not be committed in the files of an entry: (path, text) each.

    What `known` holds was there before.
    """
    may_stay = allowed(fields)
    problems: list[Problem] = []
    for path, text in texts:
        for secret in secrets_of(path, text):
            if secret.fingerprint not in may_stay and secret.value not in old_text:
                problems.append(problem(path, secret))
    return problems


def problem(path: str, secret: Secret) -> Problem:
    """What is wrong with a file that holds this."""
    if secret.sort[0] in "AEIO":
        what = "an"
    else:
        what = "a"
    return Problem(
        masked(path),
        f"{'holds' if secret.line else 'has in its path'} what looks like {what} {secret.sort}: take it out (a"
        " placeholder will do), or a person says why it may stay: --allow-secret"
        f" {secret.fingerprint}=REASON, or in the frontmatter `{KEY}: [{secret.fingerprint}: REASON]`",
        secret.line,
    )


def allowed(fields: Mapping[str, Any]) -> frozenset[str]:
    """Fingerprints for which the frontmatter gives a reason."""
    results = []
    for row in _rows(fields):
        for mark, reason in row.items():
            if str(reason or "").strip():
                results.append(str(mark))
    return frozenset(results)


def _rows(fields: Mapping[str, Any]) -> list[dict[Any, Any]]:
    rows: Any = fields.get(KEY)
    if isinstance(rows, list):
        return [row for row in rows if isinstance(row, dict)]
    return []


def fields(
    allowances: Sequence[tuple[str, str]],
    *,
    existing: Mapping[str, Any] = MappingProxyType({}),
    text: str | None = None,
) -> dict[str, Any]:
    """Frontmatter that allows secrets by (fingerprint, reason), besides what the frontmatter `there` allows.

    With `text` only those that it holds: one job may be about many files. Raises UsageError: a reason is missing.
    """
    reasons = {}
    for mark, reason in allowances:
        reasons[mark.strip()] = " ".join(reason.split())
    if not all(mark and reason for mark, reason in reasons.items()):
        raise UsageError(
            "a secret is allowed by its fingerprint and a reason", hint="--allow-secret MARK=REASON"
        )
    if reasons and text is not None:
        held = set()
        for secret in secrets_in(text):
            held.add(secret.fingerprint)
        reasons = {mark: reason for mark, reason in reasons.items() if mark in held}
    new = [{mark: reason} for mark, reason in reasons.items() if mark not in allowed(existing)]
    if new:
        return {KEY: [*_rows(existing), *new]}
    return {}

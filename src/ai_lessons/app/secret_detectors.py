"""What a secret looks like: the detectors of detect-secrets that know a token by its shape. Their only home."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from detect_secrets.filters.heuristic import is_sequential_string, is_templated_secret
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

if TYPE_CHECKING:
    from collections.abc import Iterator


class NewerTokens(RegexBasedDetector):
    """Tokens that came after the package's last release."""

    secret_type = "API Token"  # noqa: S105 - the name of what is found
    denylist = (
        re.compile(r"github_pat_[0-9A-Za-z_]{60,}"),
        re.compile(r"sk-ant-[0-9A-Za-z_-]{32,}"),
        re.compile(r"sk-proj-[0-9A-Za-z_-]{32,}"),
        re.compile(r"AIza[0-9A-Za-z_-]{35}"),
        re.compile(r"(?<![0-9A-Za-z])hf_[0-9A-Za-z]{34}"),
    )


DETECTORS = (
    AWSKeyDetector(), AzureStorageKeyDetector(), GitHubTokenDetector(), GitLabTokenDetector(), JwtTokenDetector(),
    MailchimpDetector(), NewerTokens(), NpmDetector(), OpenAIDetector(), PrivateKeyDetector(), PypiTokenDetector(),
    SendGridDetector(), SlackDetector(), SquareOAuthDetector(), StripeDetector(), TelegramBotTokenDetector(),
    TwilioKeyDetector(),
)  # fmt: skip
_KEY_LINE = re.compile(r"\s*(?:\\n|[\"'])*\s*(?:Proc-Type:|[0-9A-Za-z+/=]{32,})")


def detected(text: str) -> Iterator[tuple[int, str, str]]:
    """Line (from 1), sort and value of whatever looks like a secret and not like an example of one."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if len(line) > _LONGEST_LINE:
            continue
        for detector in DETECTORS:
            for value in _values(detector, line):
                if detector.secret_type == PrivateKeyDetector.secret_type:
                    block = "\n".join(lines[number : number + 3])
                    if _KEY_LINE.match(line.partition("-----")[2].partition("-----")[2] or block):
                        yield number, detector.secret_type, f"{value} {block}"
                elif not _is_example(value):
                    yield number, detector.secret_type, value
        for match in _URL.finditer(line):
            if not _is_placeholder(match["password"], match["user"]):
                yield number, "URL with a password", match.group()


def _values(detector: RegexBasedDetector, line: str) -> set[str]:
    """Whole matches: the package gives back only the group of a pattern that has one."""
    parts = [part for part in detector.analyze_string(line) if part]
    whole = {match.group() for pattern in detector.denylist for match in pattern.finditer(line)} if parts else set()
    return {value for value in whole if any(part in value for part in parts)}


_URL = re.compile(r"://(?P<user>[^\s/?#:@'\"`<>]{0,100}):(?P<password>[^\s/?#@'\"`<>]{4,200})@(?=[\w\[])")
_NAMES = frozenset(("password", "passwd", "passphrase", "pass", "secret", "token", "changeme", "api_key", "apikey"))
"""Words that stand for a password."""

_LONGEST_LINE = 100_000
"""Characters of a line that is still looked at: some patterns take time that grows with the square of it."""


def _is_placeholder(password: str, user: str) -> bool:
    """`$TOKEN`, `{token}`, `your-token`, `YOUR_TOKEN`, the user's name again."""
    word = password.lower()
    named = word in _NAMES or word == user.lower() or word.startswith(("your", "my-", "my_"))
    in_capitals = password.replace("_", "").isalpha() and password.isupper()
    return named or in_capitals or password[0] in "$%{[*" or "${" in password or _is_example(password)


def _is_example(value: str) -> bool:
    """Vendors write EXAMPLE into theirs; people write xxxx, 1234 or a variable."""
    upper = value.upper()
    few = len(set(value[-16:])) <= 4
    return "EXAMPLE" in upper or few or is_sequential_string(value) or is_templated_secret(value)

"""Checks before every write: the bytes are a valid entry and bring no new secret. Home of detect-secrets."""

from __future__ import annotations

import re
from functools import partial
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

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

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem, Refused, UsageError
from ai_lessons.git.files import read_file
from ai_lessons.git.plumbing import identity
from ai_lessons.git.store import Actor, Change
from ai_lessons.model import layout, markdown
from ai_lessons.model.checks import check_entry
from ai_lessons.model.entries import Entry, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import check_path, side_of
from ai_lessons.model.markdown import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.open_repository import OpenRepository

    Read = Callable[[str], bytes | None]


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


KEY = "allow_secrets"
_FINGERPRINT = 12
_MARKS = (
    "AccountKey=", "AIza", "AKIA", "ABIA", "ACCA", "ASIA", "GR1348941", "PRIVATE KEY", "PuTTY-User-Key", "SG.",
    "T3BlbkFJ", "_authToken=", "eyJ", "github_pat_", "pypi-Ag", "sk-ant-", "sk-proj-", "sq0csp-",
    "A3T", "k_live_", ":AA",
)  # fmt: skip
_ANY_CASE = ("xox", "hooks.slack.com")
# each begins with letters or a sign, by which the engine skips through a text; all in one take ten times as long
_SHAPES = (
    re.compile(r"gh[pousr]_\w{20}"),
    re.compile(r"gl[a-z]{2,6}-[\w-]{20}"),
    re.compile(r"hf_\w{30}"),
    re.compile(r"AC[a-z0-9]{32}"),
    re.compile(r"SK[a-z0-9]{32}"),
    re.compile(r"-us[0-9]"),
    re.compile(r"://[^\s/?#:@]{0,100}:[^\s/?#@]{4,200}@"),
)
# one id in ten thousand holds what a key of AWS is made of, and many that are made in the same second do
_ULID = re.compile(r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])")
_AFTER_DIGITS = re.compile(r":[\w-]{35}")
_DIGITS = 8
_AWS = re.compile(r"aws.{0,60}['\"][0-9a-z/+]{40}", re.IGNORECASE)


class Secret(NamedTuple):
    """Something that looks like a secret: its line in a text (from 1; 0: in a path), what sort, its mark."""

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
        or any(
            text[max(match.start() - _DIGITS, 0) : match.start()].isdecimal() for match in _AFTER_DIGITS.finditer(text)
        )
        or ("aws" in lowered and _AWS.search(text) is not None)
    )


def secrets_in(text: str) -> list[Secret]:
    """What in a text looks like a secret, by line."""
    if not may_hold(text):
        return []

    by_value = {(sort, value): line for line, sort, value in reversed(list(detected(_ULID.sub("ULID", text))))}
    made = [Secret(line, sort, fingerprint(value), value) for (sort, value), line in by_value.items()]
    return sorted(made, key=lambda secret: (secret.line, secret.sort))


def secrets_of(path: str, text: str) -> list[Secret]:
    """What in the path of a file, or in its text, looks like a secret."""
    return [*(secret._replace(line=0) for secret in secrets_in(path)), *secrets_in(text)]


def masked(text: str) -> str:
    """A text for the log of git, without what looks like a secret."""
    for secret in secrets_in(text):
        text = text.replace(secret.value, "…")
    return text


def without_suspects(text: str) -> str:
    """`masked` without loading the detectors: words that may hold a secret are left out, too."""
    if not may_hold(text):
        return text
    rows = (" ".join("…" if may_hold(word) else word for word in row.split(" ")) for row in text.split("\n"))
    return "\n".join("…" if may_hold(row) else row for row in rows)


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
        " placeholder will do), or a person says in the frontmatter why it may stay:"
        f" `{KEY}: [{secret.fingerprint}: REASON]`",
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


def checked(path: str, data: bytes, side: bytes | None = None, *, was: Entry | None = None) -> Entry:
    """The entry that these bytes would be at `path` (`side`: the Markdown of a script; `was`: what it is now).

    Raises InvalidEntry with every problem that `validate --fix` does not mend, Refused for another entry than it was.
    """
    entry = read_entry(path, data, side)
    side = side if entry.side_path else None  # no other kind has one, whatever lies beside it
    if was is not None:
        _same_entry(was, entry)
    text = decode(data if side is None else side, path)
    faults = [problem for problem in check_entry(entry, text) if not problem.fixable]
    before = was.path + was.body + was.code if was else ""
    faults += problems(entry.fields, texts_of(path, data, side), before)
    if faults:
        raise InvalidEntry(faults)
    return entry


class Planned(NamedTuple):
    """An entry on its way in, and the changes that put it in place (none: it is there already)."""

    entry: Entry
    changes: tuple[Change, ...]


def new_files(path: str, data: bytes, side: bytes | None = None, *, runs: bool | None = None) -> tuple[Change, ...]:
    """The changes that make the files of an entry, where nothing is yet."""
    file = Change(path, data, executable=runs, expect=None)
    return (file,) if side is None else (file, Change(side_of(path), side, expect=None))


def texts_of(path: str, data: bytes, side: bytes | None) -> list[tuple[str, str]]:
    """The files of an entry as (path, text)."""
    files = [(path, data)] + ([] if side is None else [(side_of(path), side)])
    return [(name, content.decode("utf-8", "replace")) for name, content in files]


def project_name(name: str) -> str:
    """The name itself, if a project can have it: one plain folder name. Raises UsageError."""
    return plain_name(name, "a project", "a project is the name of one folder, such as jira-api")


def plain_name(name: str, what: str, hint: str) -> str:
    """The name itself, if a file or folder can have it. Raises UsageError: it cannot be `what`."""
    fault = "it has a slash" if "/" in name else ""
    try:
        check_path(name)
    except Refused as error:
        fault = error.message.partition(": ")[2]
    if fault:
        raise UsageError(f"{name!r} cannot be {what}: {fault}", hint=hint)
    return name


def _same_entry(old: Entry, new: Entry) -> None:
    """An edit leaves id and kind alone. A plain file may say what it is, but not that it is a rule."""
    if new.kind is Kind.RULE and old.kind is not Kind.RULE:
        raise Refused(
            f"{old.path} cannot become a rule by an edit: rules are proposed, and a person approves them",
            hint="ai-lessons contribute suggest-rule",
        )
    if new.kind is not old.kind and not old.derived:
        raise Refused(f"{old.path} is a {old.kind} and stays one", hint=f"add a {new.kind}, and delete this {old.kind}")
    if new.id != old.id and not old.derived:
        hint = "leave the line `id:` as it is"
        raise Refused(f"{old.path} keeps its id {old.id}: links and history name it", hint=hint)


ALLOWED = "Allowed-secret"  # The trailer that tells who allowed a secret to stay, by its mark


def refuse(repo: OpenRepository, files: Mapping[str, bytes | None], old_text: str = "") -> list[tuple[str, str]]:
    """Called before anything is written. `files` are what shall be at their paths, None where nothing shall be.

    What HEAD holds at one of these paths, or `known`, is no news. Trailers that tell who allows what is news.
    Raises InvalidEntry: with the line and the mark of every secret that no frontmatter allows. Refused: an agent allows
    one that HEAD does not allow.
    """
    texts = {path: data.decode("utf-8", "replace") for path, data in files.items() if data is not None}
    problems = [problem for path, text in texts.items() for problem in _news(repo, path, text, files, old_text)]
    if problems:
        raise InvalidEntry(problems, hint="nothing was written")
    new = _allowed(texts)
    old = _allowed({path: _committed(repo, path) for path in files}) if new else new
    marks = sorted(mark for mark in new - old if mark not in old_text)
    if marks:
        repo.options.refuse_agents(
            f"allow what looks like a secret ({', '.join(marks)})", "the same command with --allow-secret"
        )
    by = identity(repo.store.worktree, "AUTHOR") if marks else None
    return [(ALLOWED, f"{mark} by {by or 'a person whom git does not know'}") for mark in marks]


def _allowed(texts: Mapping[str, str]) -> set[str]:
    """Marks of secrets that the frontmatter of these files allows."""
    fields = (_fields(text) for path, text in texts.items() if KEY in text and layout.is_markdown(path))
    return {mark for fields in fields for mark in allowed(fields)}


def actor(repo: OpenRepository) -> Actor:
    """Who is working here, for the trailers."""
    agent, session = (name and masked(name) for name in (repo.options.agent, repo.options.session))
    return Actor(agent=agent, session=session)


def refuse_waiting(repo: OpenRepository) -> None:
    """The same look at files that were written and wait for their commit: the user may have edited them since.

    Raises InvalidEntry: see `refuse`.
    """
    paths = {noted.path for intent in repo.store.journal.pending() for noted in intent.paths if not noted.gone}
    refuse(repo, {path: data for path in sorted(paths) if (data := on_disk(repo.store.root, path)) is not None})


def refuse_sharing(repo: OpenRepository, remote: str) -> None:
    """Called before a push: what is shared once can only be revoked. Looks at commits that the remote has not seen.

    Raises InvalidEntry: a version of a file of ours holds a secret that neither it nor the file as it is now allows.
    """
    read = partial(on_disk, repo.store.root)
    problems: dict[str, Problem] = {}
    for path, data in repo.history.unshared(remote, _is_ours):
        for secret in unallowed(path, data.decode("utf-8", "replace"), read):
            now = (read(path) or b"").decode("utf-8", "replace")
            if secret.fingerprint not in allowed(_frontmatter(path, now, read)):
                problems.setdefault(f"{path} {secret.fingerprint}", problem(path, secret))
    if problems:
        raise InvalidEntry(
            list(problems.values()),
            hint=f"nothing was shared; it is in commits that {remote} has not seen: change those, git rebase -i",
        )


def _is_ours(path: str) -> bool:
    return layout.place(path) is not None or path.startswith(f"{layout.CONFIG_PATH.partition('/')[0]}/")


def on_disk(root: Path, path: str) -> bytes | None:
    """What a file holds; None where there is none that we would read."""
    try:
        return read_file(root, path)[0]
    except AiLessonsError:
        return None


def why_not(root: Path, path: str, data: bytes) -> str:
    """Why a file of a folder that is no repository yet must not come into git; empty if it may."""
    secrets = unallowed(path, data.decode("utf-8", "replace"), partial(on_disk, root))
    return str(problem(path, secrets[0])) if secrets else ""


def unallowed(path: str, text: str, read: Read) -> list[Secret]:
    """The secrets in a file that no frontmatter allows; `read` gives what else is there, None where nothing is."""
    secrets = secrets_of(path, text)
    may_stay = allowed(_frontmatter(path, text, read)) if secrets else frozenset()
    return [secret for secret in secrets if secret.fingerprint not in may_stay]


def _news(
    repo: OpenRepository, path: str, text: str, files: Mapping[str, bytes | None], old_text: str
) -> list[Problem]:
    """The secrets in a text that git does not have yet and no frontmatter allows."""

    def read(beside: str) -> bytes | None:
        return files[beside] if beside in files else on_disk(repo.store.root, beside)

    new = [secret for secret in unallowed(path, text, read) if secret.value not in old_text]
    gone = [gone_path for gone_path, data in files.items() if data is None]  # from where it may have been moved
    before = "\n".join(
        f"{old_path}\n{text}" for old_path in (path, *gone) if new and (text := _committed(repo, old_path))
    )
    return [problem(path, secret) for secret in new if secret.value not in before]


def _frontmatter(path: str, text: str, read: Read) -> Mapping[str, Any]:
    """Of the file itself, or of the one beside it that speaks for a script."""
    place = layout.place(path)
    if place is None:
        return {}
    if place.kind is Kind.SCRIPT and not layout.is_markdown(path):
        text = (read(layout.side_of(path)) or b"").decode("utf-8", "replace")
    return _fields(text)


def _fields(text: str) -> Mapping[str, Any]:
    try:
        return markdown.parse(text).fields
    except InvalidEntry:
        return {}


def _committed(repo: OpenRepository, path: str) -> str:
    try:
        return repo.history.text_at("HEAD", path).decode("utf-8", "replace")
    except NotFound:
        return ""

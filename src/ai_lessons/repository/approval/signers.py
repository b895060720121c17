"""Whose key it is: OpenSSH's `allowed_signers` format (ssh-keygen(1)), and the user's own list of it."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.repository.files import replace_file, translated

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LIMIT = 256 * 1024  # Bytes. A list of a thousand people is half of it
_OPTION = re.compile(r'([A-Za-z-]+)(?:="((?:[^"\\]|\\"?)*)")?(?:,|(?=\s)|$)')
_KEY_TYPE = re.compile(r"(?:ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z?)")


class NotVerified(Exception):
    """A signature or record that proves nothing; the text says why. Callers turn it into a verdict, not an error."""


class Signer(NamedTuple):
    """One line: these principals' key, perhaps only in some namespaces or for some time (seconds since 1970)."""

    principals: str
    key: bytes
    namespaces: str | None = None
    valid_after: float | None = None
    valid_before: float | None = None
    comment: str = ""

    def name(self) -> str:
        """The first principal that is a name, else the patterns as they stand; who share one count as one person."""
        plain = (one for one in self.principals.split(",") if one and not set(one) & set("*?!"))
        return next(plain, self.principals)


def parse_signers(text: str) -> tuple[Signer, ...]:
    """Those of the lines that can be read; none of a list that is too long. Never raises."""
    signers = []
    for raw in text.splitlines() if len(text) <= LIMIT else ():
        line = raw.strip(" \t\r")
        if line and not line.startswith("#"):
            with suppress(ValueError, NotVerified):
                signers.append(_signer(line))
    return tuple(signers)


def principal(signers: Iterable[Signer], key: bytes, namespace: str, at: float) -> str | None:
    """The person whose key this is, for a signature in this namespace made at this moment; None if no person's."""
    for one in signers:
        covers = one.namespaces is None or matches(namespace, one.namespaces)
        begun = one.valid_after is None or at >= one.valid_after
        if one.key == key and covers and begun and (one.valid_before is None or at <= one.valid_before):
            return one.name()
    return None


def key_type(key: bytes) -> str:
    """The name of a public key's type, `ssh-ed25519` for one. Raises NotVerified."""
    length = int.from_bytes(key[:4], "big")
    if len(key) < 4 + length or not key[4 : 4 + length].isascii():
        raise NotVerified("the type of the key is not a name")
    return key[4 : 4 + length].decode("ascii")


def fingerprint(key: bytes) -> str:
    """`SHA256:…`, as `ssh-keygen -l` prints it."""
    return "SHA256:" + b64encode(sha256(key).digest()).decode().rstrip("=")


@lru_cache(maxsize=1024)
def matches(name: str, patterns: str) -> bool:
    """OpenSSH's pattern list: comma-separated, `*` and `?`, and `!` for what must not match, wherever it stands."""
    found = False
    for pattern in patterns.split(","):
        # runs of stars are one star: `*` * 40 would take for ever on a name that does not match
        pieces = re.findall(r"\*+|\?|[^*?]+", pattern.removeprefix("!"))
        plain = "".join(".*" if p[0] == "*" else "." if p == "?" else re.escape(p) for p in pieces)
        if re.fullmatch(plain, name, re.DOTALL):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def _signer(line: str) -> Signer:
    word, _, rest = line[1:].partition('"') if line[0] == '"' else re.sub(r"\s", " ", line, count=1).partition(" ")
    rest = rest.strip()
    if not word or not rest:
        raise ValueError("a line needs principals and a key")
    options: dict[str, str] = {}
    if not _KEY_TYPE.fullmatch(rest.split(None, 1)[0]):
        options, rest = _options(rest)
    kind, encoded, comment = ([*rest.split(None, 2), "", "", ""])[:3]
    if not encoded:
        raise ValueError("there is no key on this line")
    after, before = _moment(options.get("valid-after")), _moment(options.get("valid-before"))
    if after is not None and before is not None and before <= after:
        raise ValueError("valid-before is not later than valid-after")
    try:
        key = b64decode(encoded, validate=True)
    except ValueError as error:
        raise ValueError("the key is not base64") from error
    if key_type(key) != kind:
        raise ValueError("the key is not of the type that the line names")
    if "-cert-v01@" in kind:
        raise ValueError("certificates are not supported: list the key itself")
    return Signer(word, key, options.get("namespaces"), after, before, comment)


def _options(text: str) -> tuple[dict[str, str], str]:
    """Leading `option[,option…]` and what follows."""
    options: dict[str, str] = {}
    at = 0
    while at == 0 or text[at - 1] == ",":
        found = _OPTION.match(text, at)
        if found is None:
            raise ValueError("the options on this line cannot be read")
        name, value, at = found[1].lower(), found[2], found.end()
        if name == "cert-authority":
            raise ValueError("certificate authorities are not supported: list the keys themselves")
        if name not in {"namespaces", "valid-after", "valid-before"} or not value:
            raise ValueError(f"option {name!r} is unknown or has no value")
        if name in options:
            raise ValueError(f"option {name!r} stands twice")
        options[name] = value.replace('\\"', '"')
    return options, text[at:].strip()


def _moment(text: str | None) -> float | None:
    """YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, local time unless it ends in Z."""
    if text is None:
        return None
    found = _TIME.fullmatch(text)
    try:
        numbers = [int(group or 0) for group in found.groups()[:6]] if found else []
        zone = UTC if found and found[7] else None
        return datetime(*numbers, tzinfo=zone).timestamp()  # type: ignore[arg-type,misc]  # six numbers, or TypeError
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a time") from error


class PinnedKeys:
    """The file of one repository, named by its first commit, below the user's `config_dir`."""

    def __init__(self, config_dir: Path, repository: str) -> None:
        self.file = config_dir / "signers" / f"{repository}.allowed"

    def read(self) -> bytes | None:
        """The list as it stands, None if nothing is pinned. Raises StorageFailed."""
        try:
            with translated(str(self.file)), open(self.file, "rb") as file:
                data = file.read(LIMIT + 1)
        except NotFound:
            return None
        if len(data) > LIMIT:
            raise StorageFailed(f"{self.file} is longer than {LIMIT} bytes")
        return data

    def pin(self, data: bytes) -> None:
        """Replace the list, whole or not at all; no other user may read or write the file. Raises StorageFailed."""
        with translated(str(self.file), writing=True):
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self.file, data, 0o600, durable=True)

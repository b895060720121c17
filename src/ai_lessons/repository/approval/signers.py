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
_OPTION = re.compile(r'([A-Za-z-]+)="((?:[^"\\]|\\"?)++)"')
_OPTIONS = re.sub(r"\((?!\?)", "(?:", _OPTION.pattern)  # without groups of their own
_LINE = re.compile(
    rf"""(?!\#)(?:"([^"]+)"\s*|((?!")\S+)\s+)((?:{_OPTIONS}(?:,{_OPTIONS})*+\s+)?)
    ((?:ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+)\s+(\S+)\s*.*""",
    re.VERBOSE,
)
_KNOWN = {"namespaces", "valid-after", "valid-before"}
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

    def name(self) -> str:
        """The first principal that is a name, else the patterns as they stand; who share one count as one person."""
        plain = (one for one in self.principals.split(",") if one and not set(one) & set("*?!"))
        return next(plain, self.principals)


def parse_signers(text: str) -> tuple[Signer, ...]:
    """Those of the lines that can be read; none of a list that is too long. Never raises."""
    signers = []
    for line in text.splitlines() if len(text) <= LIMIT else ():
        if found := _LINE.fullmatch(line.strip(" \t\r")):
            with suppress(ValueError, TypeError, OverflowError, NotVerified):
                signers.append(_signer(found))
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


def matches(name: str, patterns: str) -> bool:
    """OpenSSH's pattern list: comma-separated, `*` and `?`, and `!` for what must not match, wherever it stands."""
    hits = {one[:1] == "!" for one in patterns.split(",") if _pattern(one.removeprefix("!")).fullmatch(name)}
    return hits == {False}


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    # runs of stars are one star: `*` * 40 would take for ever on a name that does not match
    plain = re.escape(re.sub(r"\*+", "*", text)).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(plain, re.DOTALL)


def _signer(line: re.Match[str]) -> Signer:
    """What a line says. Raises ValueError and its like: nothing that counts."""
    said = [(name.lower(), value.replace('\\"', '"')) for name, value in _OPTION.findall(line[3])]
    options, key = dict(said), b64decode(line[5], validate=True)
    after, before = (_moment(options.get(name)) for name in ("valid-after", "valid-before"))
    lasts = after is None or before is None or after < before
    fits = lasts and key_type(key) == line[4] and "-cert-v01@" not in line[4]
    if not fits or len(options) != len(said) or not options.keys() <= _KNOWN:
        raise ValueError(line[0])
    return Signer(line[1] or line[2], key, options.get("namespaces"), after, before)


def _moment(text: str | None) -> float | None:
    """YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, local time unless it ends in Z."""
    if text is None:
        return None
    found = _TIME.fullmatch(text)
    numbers = [int(group or 0) for group in found.groups()[:6]] if found else []
    zone = UTC if found and found[7] else None
    return datetime(*numbers, tzinfo=zone).timestamp()  # type: ignore[arg-type,misc]  # six numbers, or TypeError


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

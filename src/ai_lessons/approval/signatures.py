"""The signers that count: a list pinned on this machine, with which git verifies the signatures of commits."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import AiLessonsError, NotFound, Refused, StorageFailed, UnsupportedRepository
from ai_lessons.git import plumbing
from ai_lessons.git.files import replace_file, translated, write_json
from ai_lessons.git.worktree import NAMES, cut_off, folder, noted_names, read_ref
from ai_lessons.model.approval import Signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ai_lessons.git.worktree import Worktree

LIMIT: Final = 256 * 1024  # Bytes. A list of a thousand people is half of it
OPENPGP: Final = "openpgp"
_OPTION = re.compile(r'([A-Za-z-]+)="((?:[^"\\]|\\"?)++)"')
_OPTIONS = re.sub(r"\((?!\?)", "(?:", _OPTION.pattern)  # without groups of their own
_LINE = re.compile(
    rf"""(?!\#)(?:"([^"]+)"\s*|((?!")\S+)\s+)((?:{_OPTIONS}(?:,{_OPTIONS})*+\s+)?)
    ((?:ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+)\s+(\S+)\s*.*""",
    re.VERBOSE,
)
_GPG_LINE = re.compile(rf"(?!\#)(\S+)\s+{OPENPGP}\s+([0-9A-Fa-f]{{40}})")
_OPTION_NAMES = {"namespaces", "valid-after", "valid-before"}
_TIME = re.compile(r"[0-9]{8}(?:[0-9]{4}(?:[0-9]{2})?)?Z?")
_SSH_SIGNATURE = re.compile(
    rb"\ngpgsig -----BEGIN SSH SIGNATURE-----\n((?: [A-Za-z0-9+/=]+\n)+) -----END SSH SIGNATURE-----\n"
)
_COMMITTER = re.compile(rb"\ncommitter [^<>\n]*<([\w.+@-]+)> ")


class Signer(NamedTuple):
    """A line of the list: the key's fingerprint (`SHA256:…`; of OpenPGP 40 hexadecimal digits), and when it counts.

    Times are in seconds since 1970.
    """

    principals: str
    key: str
    kind: str
    line: str
    after: float | None = None
    before: float | None = None

    def name(self) -> str:
        """The first principal that is a name, else the patterns as they stand."""
        plain = (name for name in self.principals.split(",") if name and not set(name) & set("*?!"))
        return next(plain, self.principals)

    def __str__(self) -> str:
        return f"{self.key} {self.principals} ({self.kind})"


def parse_signers(data: bytes) -> tuple[Signer, ...]:
    """OpenSSH's `allowed_signers` (ssh-keygen(1)), and lines `ADDRESS openpgp FINGERPRINT`; others do not count."""
    signers = []
    for line in data.decode("utf-8", "replace").splitlines() if len(data) <= LIMIT else ():
        plain = line.strip(" \t\r")
        if of_gpg := _GPG_LINE.fullmatch(plain):
            signers.append(Signer(of_gpg[1], of_gpg[2].upper(), OPENPGP, plain))
        elif of_ssh := _LINE.fullmatch(plain):
            with suppress(ValueError, TypeError, OverflowError):
                signers.append(_signer(of_ssh))
    return tuple(signers)


def _signer(line: re.Match[str]) -> Signer:
    """What a line says. Raises ValueError and its like: nothing that counts."""
    stated = [(name.lower(), value) for name, value in _OPTION.findall(line[3])]
    options, key = dict(stated), b64decode(line[5], validate=True)
    after, before = (_moment(options.get(name)) for name in ("valid-after", "valid-before"))
    kind = key[4 : 4 + int.from_bytes(key[:4], "big")].decode("ascii")
    if kind != line[4] or "-cert-v01@" in kind or len(options) != len(stated) or not options.keys() <= _OPTION_NAMES:
        raise ValueError(line[0])
    fingerprint = "SHA256:" + b64encode(sha256(key).digest()).decode().rstrip("=")  # as `ssh-keygen -l` prints it
    return Signer(line[1] or line[2], fingerprint, kind, line[0], after, before)


def _moment(text: str | None) -> float | None:
    """YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, local time unless it ends in Z."""
    if text is None:
        return None
    if not _TIME.fullmatch(text):
        raise ValueError(text)
    at = datetime.strptime(text.removesuffix("Z").ljust(14, "0"), "%Y%m%d%H%M%S")
    return (at.replace(tzinfo=UTC) if text.endswith("Z") else at).timestamp()


class PinnedSigners:
    """The list of one repository, which its first commit names, in the user's folder `config_dir`."""

    def __init__(self, worktree: Worktree, ref: str, config_dir: Path, now: Callable[[], datetime]) -> None:
        """`ref` is the approval branch."""
        self._worktree, self._ref, self._folder, self._now = worktree, ref, config_dir / "signers", now

    def file(self) -> Path:
        """Where the list is. Raises Refused (nothing tells which repository this is), UnsupportedRepository."""
        return self._folder / f"{_repository_name(self._worktree, self._ref)}.allowed"

    def read(self) -> tuple[Signer, ...] | None:
        """All signers on the list; None if no list is pinned. Raises StorageFailed."""
        try:
            file = self.file()
            with translated(str(file)), open(file, "rb") as opened:
                data = opened.read(LIMIT + 1)
        except (NotFound, Refused):
            return None
        if len(data) > LIMIT:
            raise StorageFailed(f"{file} is longer than {LIMIT} bytes")
        return parse_signers(data)

    def pin(self, data: bytes) -> None:
        """Replace the list, whole or not at all; no other user may read or write the file. Raises StorageFailed."""
        file = self.file()
        with translated(str(file), writing=True):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(file, data, 0o600, durable=True)

    def _valid(self) -> list[Signer]:
        """The signers whose keys are valid now: a commit can be dated back to when a key was valid."""
        now = self._now().timestamp()
        return [signer for signer in self.read() or () if (signer.after or now) <= now <= (signer.before or now)]

    @property
    def digest(self) -> str:
        """A digest of the valid signers; `-` where no list is pinned."""
        if self.read() is None:
            return "-"
        return sha256("\n".join(signer.line for signer in self._valid()).encode()).hexdigest()

    def verified(self, commits: Sequence[str]) -> dict[str, Signature]:
        """The commits with a signature that git calls good, by a valid signer. Raises UnsupportedRepository."""
        signers = {signer.key: signer for signer in self._valid()}
        if not signers:
            return {}
        lines = [signer.line for signer in signers.values() if signer.kind != OPENPGP]
        verdicts = {}
        for commit, status, *keys in verify(self._worktree, commits, lines):
            signer = next((signers[key] for key in keys if key in signers), None)
            # a good OpenPGP signature is G or U, as the user's own web of trust has it: here the list decides
            if signer and status in ("GU" if signer.kind == OPENPGP else "G"):
                verdicts[commit] = Signature(signer.name(), signer.key)
        return verdicts


def verify(worktree: Worktree, commits: Sequence[str], lines: Iterable[str]) -> list[list[str]]:
    """Git's verdicts on signatures by these `allowed_signers`: commit, status (see `%G?` in git-log(1)), keys.

    Raises UnsupportedRepository.
    """
    if not commits:
        return []
    from ai_lessons.git.commits import AS_IT_IS, PATIENCE

    with TemporaryDirectory(prefix="ai-lessons-signers-") as name:
        # a repository without settings of its own: its config may name programs and lists, and only the user's count
        place = Path(name)
        for part in ("objects", "refs"):
            (place / part).mkdir()
        (place / "HEAD").write_text("ref: refs/heads/main\n")
        (place / "signers").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        settings = ["-c", f"gpg.ssh.allowedSignersFile={place / 'signers'}"]
        done = plumbing.run(
            worktree,
            *("--no-replace-objects", *settings),
            *("log", "--no-walk=unsorted", "--stdin", "-s", "--encoding=UTF-8", "--format=%H %G? %GF %GP"),
            stdin="".join(f"{commit}\n" for commit in commits).encode(),
            extra={**AS_IT_IS, "GIT_DIR": name, "GIT_OBJECT_DIRECTORY": str(worktree.common_dir / "objects")},
            timeout=PATIENCE,
        )
    if done.code:
        raise UnsupportedRepository(f"the signatures in {worktree.top} cannot be read: {done.err}", hint="git fsck")
    return [line.split() for line in done.text.splitlines()]


def signers_of(worktree: Worktree, commits: Sequence[str]) -> bytes:
    """A list of the keys that made good signatures of these commits, each with a committer's address.

    Raises UnsupportedRepository.
    """
    from ai_lessons.git.commits import AS_IT_IS

    lines: dict[str, str] = {}
    for commit, status, *keys in verify(worktree, commits, ()):
        if status not in "GU" or not keys or keys[-1] in lines:
            continue
        raw = plumbing.run(worktree, "--no-replace-objects", "cat-file", "commit", commit, extra=AS_IT_IS).out
        address, ssh = _COMMITTER.search(raw), _SSH_SIGNATURE.search(raw)
        who = address[1].decode(errors="replace") if address else "signer"
        if ssh:  # SSHSIG, a version of 4 bytes, and the key behind its length: OpenSSH's PROTOCOL.sshsig
            blob = b64decode(ssh[1])[10:]
            key = blob[4 : 4 + int.from_bytes(blob[:4], "big")]
            kind = key[4 : 4 + int.from_bytes(key[:4], "big")].decode("ascii", "replace")
            lines[keys[-1]] = f"{who} {kind} {b64encode(key).decode()}"
        else:
            lines[keys[-1]] = f"{who} {OPENPGP} {keys[-1]}"
    return "".join(f"{line}\n" for line in lines.values()).encode()


def _repository_name(worktree: Worktree, ref: str) -> str:
    """The first commit of a branch, which every clone has. Raises Refused, UnsupportedRepository."""
    names = noted_names(worktree)
    if ref in names:
        return names[ref][1]
    tip = read_ref(worktree, ref)
    if tip is None or cut_off(worktree):
        raise Refused("a shallow clone cannot tell which repository this is", hint="git fetch --unshallow")
    done = plumbing.run(worktree, "--no-replace-objects", "rev-list", "--first-parent", "--max-parents=0", tip, "--")
    if done.code or not done.text:
        raise UnsupportedRepository(f"the history of {worktree.top} cannot be read", hint="git fsck")
    name = done.text.split()[-1]
    with suppress(AiLessonsError):  # then it is read again the next time
        write_json(folder(worktree.state_dir) / NAMES, {**names, ref: (tip, name)})
    return name

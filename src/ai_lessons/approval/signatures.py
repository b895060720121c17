"""The signers that count.

A list pinned on this machine, with which git verifies the signatures of commits.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from ai_lessons.approval.inputs import plain_address
from ai_lessons.errors import AiLessonsError, Refused, StorageFailed, UnsupportedRepository
from ai_lessons.git import plumbing
from ai_lessons.git.approval_branch import (
    NAMES,
    approval_folder,
    cut_off,
    noted_names,
    remote_address,
    short_name,
)
from ai_lessons.git.files import replace_file, translated, write_json
from ai_lessons.git.worktree import read_ref
from ai_lessons.model import expression
from ai_lessons.model.approval import APPROVALS, Signature, approval_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ai_lessons.git.worktree import Worktree
    from ai_lessons.model import Mandate
    from ai_lessons.model.approval import BranchView

# Bytes. A list of a thousand people is half of it
LIMIT: Final = 256 * 1024
OPENPGP: Final = "openpgp"
_HEAD: Final = "# ai-lessons "
_OPTION = expression(r'([A-Za-z-]+)="((?:[^"\\]|\\"?)++)"')
# without groups of their own
_OPTIONS = re.sub(r"\((?!\?)", "(?:", _OPTION.pattern)
_LINE = expression(
    rf"""(?!\#)(?:"([^"]+)"\s*|((?!")\S+)\s+)((?:{_OPTIONS}(?:,{_OPTIONS})*+\s+)?)
    ((?:ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+)\s+(\S+)\s*.*""",
    re.VERBOSE,
)
_GPG_LINE = expression(rf"(?!\#)(\S+)\s+{OPENPGP}\s+([0-9A-Fa-f]{{40}})")
_OPTION_NAMES = {"namespaces", "valid-after", "valid-before"}
_TIME = expression(r"[0-9]{8}(?:[0-9]{4}(?:[0-9]{2})?)?Z?")
_SSH_SIGNATURE = expression(
    rb"\ngpgsig -----BEGIN SSH SIGNATURE-----\n((?: [A-Za-z0-9+/=]+\n)+) -----END SSH "
    rb"SIGNATURE-----\n"
)
_COMMITTER = expression(rb"\ncommitter [^<>\n]*<([\w.+@-]+)> ")


class Signer(NamedTuple):
    """A line of the list: the key's fingerprint, and when it counts, in seconds since 1970.

    A fingerprint is `SHA256:…`, and of OpenPGP 40 hexadecimal digits.
    """

    principals: str
    key: str
    kind: str
    line: str
    after: float | None = None
    before: float | None = None

    def name(self) -> str:
        """The first principal that is a name, else the patterns as they stand."""
        for name in self.principals.split(","):
            if name and not set(name) & set("*?!"):
                return name
        return self.principals

    def __str__(self) -> str:
        return f"{self.key} {self.principals} ({self.kind})"


def parse_signers(data: bytes) -> tuple[Signer, ...]:
    """OpenSSH's `allowed_signers` (ssh-keygen(1)), and lines `ADDRESS openpgp FINGERPRINT`.

    Others do not count.
    """
    if len(data) > LIMIT:
        return ()
    signers = []
    for line in data.decode("utf-8", "replace").splitlines():
        plain = line.strip(" \t\r")
        if of_gpg := _GPG_LINE.fullmatch(plain):
            signers.append(Signer(of_gpg[1], of_gpg[2].upper(), OPENPGP, plain))
        elif of_ssh := _LINE.fullmatch(plain):
            with suppress(ValueError, TypeError, OverflowError):
                signers.append(_signer(of_ssh))
    return tuple(signers)


def _signer(line: re.Match[str]) -> Signer:
    """What a line says. Raises ValueError and its like: nothing that counts."""
    stated = []
    for name, value in _OPTION.findall(line[3]):
        stated.append((name.lower(), value))
    options, key = dict(stated), b64decode(line[5], validate=True)
    after = _moment(options.get("valid-after"))
    before = _moment(options.get("valid-before"))
    kind = key[4 : 4 + int.from_bytes(key[:4], "big")].decode("ascii")
    if (
        kind != line[4]
        or "-cert-v01@" in kind
        or len(options) != len(stated)
        or not options.keys() <= _OPTION_NAMES
    ):
        raise ValueError(line[0])
    # as `ssh-keygen -l` prints it
    fingerprint = "SHA256:" + b64encode(sha256(key).digest()).decode().rstrip("=")
    return Signer(line[1] or line[2], fingerprint, kind, line[0], after, before)


def _moment(text: str | None) -> float | None:
    """YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, local time unless it ends in Z."""
    if text is None:
        return None
    if not _TIME.fullmatch(text):
        raise ValueError(text)
    at = datetime.strptime(text.removesuffix("Z").ljust(14, "0"), "%Y%m%d%H%M%S")
    if text.endswith("Z"):
        at = at.replace(tzinfo=UTC)
    return at.timestamp()


class SignerList(NamedTuple):
    """A pinned list of signers, `data`; the first lines of its file say the rest, as comments.

    `name`: what lines of approval call it. `addresses` and the `first` commit find it.
    """

    name: str
    addresses: tuple[str, ...] = ()
    first: str = ""
    data: bytes = b""

    def file_name(self) -> str:
        """The name of its file."""
        return f"{sha256(self.name.encode()).hexdigest()[:16]}.allowed"

    def render(self) -> bytes:
        """Its file."""
        heads = f"{_HEAD}list: {self.name}\n"
        for address in self.addresses:
            heads += f"{_HEAD}address: {address}\n"
        if self.first:
            heads += f"{_HEAD}first: {self.first}\n"
        return heads.encode() + self.data


def read_list(name: str, data: bytes) -> SignerList:
    """The list in a file called `name`.

    One of an earlier version is named by a first commit and says nothing else.
    """
    lines = data.decode("utf-8", "replace").splitlines(keepends=True)
    stated, addresses, keys = {}, [], ""
    for line in lines:
        if not line.startswith(_HEAD):
            keys += line
            continue
        key, _, value = line.removeprefix(_HEAD).strip().partition(": ")
        stated[key] = value
        if key == "address":
            addresses.append(value)
    if not stated:
        first = name.removesuffix(".allowed")
    else:
        first = stated.get("first", "")
    return SignerList(stated.get("list", first), tuple(addresses), first, keys.encode())


def _bytes_of(file: Path) -> bytes:
    """A file with a list. Raises StorageFailed."""
    with translated(str(file)), open(file, "rb") as opened:
        data = opened.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise StorageFailed(f"{file} is longer than {LIMIT} bytes")
    return data


class PinnedSigners:
    """The list of one repository in the user's folder `config_dir`.

    Found by its address, else by a first commit.
    """

    def __init__(
        self,
        worktree: Worktree,
        ref: str,
        config_dir: Path,
        now: Callable[[], datetime],
        match: tuple[SignerList | None, bool] | None = None,
        mandate: Mandate | None = None,
    ) -> None:
        """`ref` is the approval branch.

        `match`: a list to look with, in place of the pinned one. `mandate`: what administrators
        state, whose list counts in place of the user's.
        """
        self.mandate = mandate
        self._worktree, self._ref = worktree, ref
        self._folder, self._now = config_dir / "signers", now
        self._match = match

    def _lists(self) -> list[SignerList]:
        """Every list of this user. Raises StorageFailed."""
        lists = []
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in sorted(os.listdir(self._folder)):
                if not name.endswith(".allowed"):
                    continue
                lists.append(read_list(name, _bytes_of(self._folder / name)))
        return lists

    def matching(self) -> tuple[SignerList | None, bool]:
        """The list of this repository, if any, and whether its address found it.

        Raises StorageFailed.
        """
        if self._match is None:
            self._match = self._find()
        return self._match

    def _of_administrators(self, file: Path) -> SignerList:
        """The list that administrators place. Raises StorageFailed, Refused."""
        listed = read_list("", _bytes_of(file))
        if listed.name:
            return listed
        return self._new(listed.data)

    def _find(self) -> tuple[SignerList | None, bool]:
        if self.mandate and self.mandate.signers:
            return self._of_administrators(self.mandate.signers), True
        lists = self._lists()
        if not lists:
            return None, False
        stated = remote_address(self._worktree, self._ref)
        if stated:
            address = plain_address(stated, self._worktree.top)
        else:
            address = ""
        for _ in range(2):
            for pinned in lists:
                if address and address in pinned.addresses:
                    return pinned, True
            # git is only asked for its own name of an address that no list has as it is written
            address = self._address()
        firsts = self._first_commits()
        by_first = []
        for pinned in lists:
            if pinned.first in firsts:
                by_first.append(pinned)
        alone = None
        if len(by_first) == 1:
            alone = by_first[0]
        # a repository without a remote is no copy of another one, as far as a list without an
        # address tells
        return alone, alone is not None and not address and not alone.addresses

    def with_data(self, data: bytes) -> PinnedSigners:
        """The same as if this were in the list, to look at what would change."""
        listed, by_address = self.matching()
        if listed:
            changed = listed._replace(data=data)
        else:
            changed = self._new(data)
        return PinnedSigners(
            *(self._worktree, self._ref, self._folder.parent, self._now),
            match=(changed, by_address),
            mandate=self.mandate,
        )

    def read(self) -> tuple[Signer, ...] | None:
        """All signers on the list; None if no list is pinned. Raises StorageFailed."""
        listed, _ = self.matching()
        if listed is None:
            return None
        return parse_signers(listed.data)

    def file(self) -> Path:
        """Where the list is, or would be.

        Raises Refused (nothing tells which repository this is).
        """
        if self.mandate and self.mandate.signers:
            return self.mandate.signers
        listed, _ = self.matching()
        listed = listed or self._new(b"")
        old = self._folder / f"{listed.name}.allowed"
        if old.exists():
            return old
        return self._folder / listed.file_name()

    def pin(self, data: bytes, *, copy: bool = False, name: str = "") -> None:
        """Replace the list, whole or not at all; no other user may read or write the file.

        A copy of a repository whose list has another address gets a list of its own, or, as a
        `copy`, adds its address to that one. `name`: what the lines of approval here call it.
        Raises Refused (nothing tells which repository this is, or administrators state the list),
        StorageFailed.
        """
        if self.mandate and self.mandate.signers:
            raise Refused(
                f"whose signatures count here, {self.mandate.file} states",
                hint="ask those who administer this machine",
            )
        listed, by_address = self.matching()
        if listed and (by_address or copy):
            replaced = listed
        else:
            replaced = self._new(data)
        address = self._address()
        addresses = list(replaced.addresses)
        if address and address not in addresses:
            addresses.append(address)
        listed = replaced._replace(
            name=name or replaced.name, addresses=tuple(addresses), data=data
        )
        file = self._folder / listed.file_name()
        # under its earlier name it would still be found by its address, and perhaps first
        earlier = {self._folder / replaced.file_name(), self._folder / f"{replaced.name}.allowed"}
        with translated(str(file), writing=True):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(file, listed.render(), 0o600, durable=True)
            for old in earlier - {file}:
                old.unlink(missing_ok=True)
        self._match = None

    def refuse_copy(self) -> None:
        """Raises Refused where the list was found by a first commit alone.

        A fork would sign for the original.
        """
        listed, by_address = self.matching()
        if listed is not None and not by_address:
            raise Refused(
                (
                    f"the list of signers {listed.name} does not name the address of this "
                    "repository, so nothing is signed"
                ),
                hint=(
                    "a copy: ai-lessons admin signers --copy; a fork: ai-lessons admin signers FILE"
                ),
            )

    def line_name(self) -> str:
        """What a line of approval made here calls the list, also where none is pinned.

        Raises Refused.
        """
        listed, _ = self.matching()
        return (listed or self._new(b"")).name

    def _new(self, data: bytes) -> SignerList:
        """A list for this repository. Raises Refused: nothing tells which repository this is."""
        address, firsts = self._address(), sorted(self._first_commits())
        if len(firsts) == 1:
            first = firsts[0]
        else:
            first = self._first_on_trunk()
        if not address and not first:
            raise Refused(
                "a shallow clone cannot tell which repository this is", hint="git fetch --unshallow"
            )
        # a path says nothing on another machine; but a fork at another path gets a name of its own
        local = not address or address.startswith("/")
        if local and first and all(pinned.name != first for pinned in self._lists()):
            name = first
        else:
            name = quote(f"{address}/{short_name(self._ref)}", safe="/:@")
        return SignerList(name, tuple(filter(None, [address])), first, data)

    def _address(self) -> str:
        """The address of the remote of the approval branch, as lists have it; empty for none."""
        url = remote_address(self._worktree, self._ref)
        if not url or url.startswith(("/", ".", "file:")):
            if url:
                return plain_address(url, self._worktree.top)
            return ""
        # url.*.insteadOf of the user's own settings: only git knows them
        done = plumbing.run(self._worktree, "ls-remote", "--get-url", url)
        if not done.code and done.text:
            url = done.text
        return plain_address(url, self._worktree.top)

    def _first_commits(self) -> frozenset[str]:
        """All first commits in the history of the approval branch.

        None where a shallow clone lacks them.
        """
        tip = read_ref(self._worktree, self._ref)
        if tip is None or cut_off(self._worktree):
            return frozenset()
        before, names = noted_names(self._worktree).get(self._ref, ("", ""))
        if before == tip:
            return frozenset(names.split())
        if before:
            since = self._listed("--parents", "--boundary", tip, f"^{before}")
        else:
            since = []
        is_behind, new = False, []
        for commit, *parents in since or ():
            # git marks a commit at the boundary with a sign before it
            if commit == f"-{before}":
                is_behind = True
            elif not parents and not commit.startswith("-"):
                new.append(commit)
        if is_behind:
            # the earlier tip is behind this one, so only what came since is new
            firsts = frozenset((*names.split(), *new))
        else:
            rows = self._listed("--max-parents=0", tip)
            if rows is None:
                raise UnsupportedRepository(
                    f"the history of {self._worktree.top} cannot be read", hint="git fsck"
                )
            firsts = frozenset(row[0] for row in rows)
        with suppress(AiLessonsError):
            # then it is read again the next time
            noted = {**noted_names(self._worktree), self._ref: (tip, " ".join(sorted(firsts)))}
            write_json(approval_folder(self._worktree.state_dir) / NAMES, noted)
        return firsts

    def _first_on_trunk(self) -> str:
        """Of several first commits that of the line of first parents."""
        tip = read_ref(self._worktree, self._ref)
        if tip is None or cut_off(self._worktree):
            return ""
        rows = self._listed("--first-parent", "--max-parents=0", tip)
        if rows:
            return rows[-1][0]
        return ""

    def _listed(self, *asked: str) -> list[list[str]] | None:
        """The rows of `git rev-list`; None where the history cannot be read."""
        done = plumbing.run(self._worktree, "--no-replace-objects", "rev-list", *asked, "--")
        if done.code:
            return None
        return [row.split() for row in done.text.splitlines()]

    def _valid(self) -> list[Signer]:
        """The signers whose keys are valid now.

        A commit can be dated back to when a key was valid.
        """
        now = self._now().timestamp()
        valid: list[Signer] = []
        for signer in self.read() or ():
            if (signer.after or now) <= now <= (signer.before or now):
                valid.append(signer)
        return valid

    @property
    def name(self) -> str | None:
        """What lines of approval call the list; None where none is pinned."""
        listed, _ = self.matching()
        if listed:
            return listed.name
        return None

    @property
    def digest(self) -> str:
        """A digest of the list's name and the valid signers; `-` where no list is pinned."""
        listed, _ = self.matching()
        if listed is None:
            return "-"
        lines = [signer.line for signer in self._valid()]
        return sha256("\n".join([listed.name, *lines]).encode()).hexdigest()

    def verified(self, commits: Sequence[str]) -> dict[str, Signature]:
        """The commits with a signature that git calls good, by a valid signer.

        Raises UnsupportedRepository.
        """
        signers = {signer.key: signer for signer in self._valid()}
        if not signers:
            return {}
        lines = [signer.line for signer in signers.values() if signer.kind != OPENPGP]
        verdicts = {}
        for commit, status, *keys in verify(self._worktree, commits, lines):
            for key in keys:
                signer = signers.get(key)
                if signer is None:
                    continue
                good = {"G"}
                if signer.kind == OPENPGP:
                    # U: good, but not trusted in the user's own web of trust; here the list decides
                    good = {"G", "U"}
                if status in good:
                    verdicts[commit] = Signature(signer.name(), signer.key)
                # git names the key that signed, then its primary key
                break
        return verdicts


def verify(worktree: Worktree, commits: Sequence[str], lines: Iterable[str]) -> list[list[str]]:
    """Git's verdicts on signatures by these `allowed_signers`.

    Commit, status (see `%G?` in git-log(1)), keys.

    Raises UnsupportedRepository.
    """
    if not commits:
        return []
    from ai_lessons.git.commits import AS_IT_IS, PATIENCE

    with TemporaryDirectory(prefix="ai-lessons-signers-") as name:
        # a repository without settings of its own: its config may name programs and lists, and only
        # the user's count
        place = Path(name)
        for part in ("objects", "refs"):
            (place / part).mkdir()
        (place / "HEAD").write_text("ref: refs/heads/main\n")
        (place / "signers").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        settings = ["-c", f"gpg.ssh.allowedSignersFile={place / 'signers'}"]
        done = plumbing.run(
            worktree,
            *("--no-replace-objects", *settings),
            *(
                "log",
                "--no-walk=unsorted",
                "--stdin",
                "-s",
                "--encoding=UTF-8",
                "--format=%H %G? %GF %GP",
            ),
            stdin="".join(f"{commit}\n" for commit in commits).encode(),
            extra={
                **AS_IT_IS,
                "GIT_DIR": name,
                "GIT_OBJECT_DIRECTORY": str(worktree.common_dir / "objects"),
            },
            timeout=PATIENCE,
        )
    if done.code:
        raise UnsupportedRepository(
            f"the signatures in {worktree.top} cannot be read: {done.err}", hint="git fsck"
        )
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
        raw = plumbing.run(
            worktree, "--no-replace-objects", "cat-file", "commit", commit, extra=AS_IT_IS
        ).out
        address, ssh = _COMMITTER.search(raw), _SSH_SIGNATURE.search(raw)
        if address:
            who = address[1].decode(errors="replace")
        else:
            who = "signer"
        if ssh:
            # SSHSIG, a version of 4 bytes, and the key behind its length: OpenSSH's PROTOCOL.sshsig
            blob = b64decode(ssh[1])[10:]
            key = blob[4 : 4 + int.from_bytes(blob[:4], "big")]
            kind = key[4 : 4 + int.from_bytes(key[:4], "big")].decode("ascii", "replace")
            lines[keys[-1]] = f"{who} {kind} {b64encode(key).decode()}"
        else:
            lines[keys[-1]] = f"{who} {OPENPGP} {keys[-1]}"
    return "".join(f"{line}\n" for line in lines.values()).encode()


def lists_named(worktree: Worktree, commits: Sequence[str]) -> set[str]:
    """What the lines of approval in these commits call the list of signers."""
    from ai_lessons.git.commits import AS_IT_IS

    shown = ("--no-replace-objects", "cat-file", "commit")
    names: set[str] = set()
    for commit in commits:
        text = plumbing.run(worktree, *shown, commit, extra=AS_IT_IS).text
        message = text.partition("\n\n")[2]
        for line in approval_lines(message):
            names.add(line.signers)
    return names


COMMAND = "ai-lessons admin signers"
EARLIER = (
    f"{APPROVALS} holds signed records of an earlier version, which approve nothing any more: approve these rules"
    " again, by signed merges (ai-lessons admin review-rules)"
)


def pin_first(
    worktree: Worktree,
    view: BranchView,
    signers: PinnedSigners,
    ask: Callable[[str, list[str]], bool],
) -> bool:
    """Where nothing is pinned, ask whether those who signed what waits count.

    True if they do from now on.
    """
    if signers.read() is not None:
        return False
    commits = set[str]()
    for verdict in view.verdicts.values():
        commits.update(change.evidence.commit for change in verdict.unapproved)
    commits.discard("")
    data = signers_of(worktree, sorted(commits))
    keys = []
    for signer in parse_signers(data):
        keys.append(str(signer))
    question = (
        f"{worktree.root.name}: rules here need signatures. Trust these keys to approve them?"
    )
    if not keys or not ask(question, keys):
        return False
    names = lists_named(worktree, sorted(commits))
    if len(names) == 1:
        name = names.pop()
    else:
        name = ""
    signers.pin(data, name=name)
    return True


def notes_on_signers(view: BranchView, signers: PinnedSigners) -> Iterator[str]:
    """What a reader should know where approvals have to be signed."""
    listed = signers.read()
    if listed is None:
        yield f"approvals have to be signed here, and no signers are pinned: no approval counts ({COMMAND} FILE)"
    elif not listed:
        yield f"approvals have to be signed here, and the list of signers is empty ({COMMAND} FILE)"
    has_records = any(path.startswith(APPROVALS) for path in view.files)
    if has_records and any(view.unapproved()):
        yield EARLIER

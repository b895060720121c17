"""SSH signatures against the real ssh-keygen, both ways, and against whatever bytes somebody may send."""

from __future__ import annotations

import hashlib
import subprocess
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_lessons.errors import Refused
from ai_lessons.repository.approval.signers import NotVerified, fingerprint
from ai_lessons.repository.approval.ssh_signatures import (
    ARMOUR_LIMIT,
    BEGIN,
    END,
    parse,
    sign,
    verify,
)

NAMESPACE = "ai-lessons-approval@v1"
MESSAGE = b'{"decision":"approve"}'

KEYS = {
    "ed25519": ("-t", "ed25519"),
    "rsa 2048": ("-t", "rsa", "-b", "2048"),
    "rsa 3072": ("-t", "rsa", "-b", "3072"),
    "ecdsa 256": ("-t", "ecdsa", "-b", "256"),
    "ecdsa 384": ("-t", "ecdsa", "-b", "384"),
    "ecdsa 521": ("-t", "ecdsa", "-b", "521"),
}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name, arguments in KEYS.items():
        keygen(*arguments, "-N", "", "-C", name, "-f", str(folder / name))
    return folder


def packed(data: bytes) -> bytes:
    """A string in SSH's wire format."""
    return len(data).to_bytes(4, "big") + data


def keygen(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["ssh-keygen", "-q", *arguments], input=stdin, capture_output=True, check=False)


def public(keys: Path, name: str) -> bytes:
    return b64decode((keys / f"{name}.pub").read_text().split()[1])


def accepted_by_ssh_keygen(folder: Path, public_line: str, armoured: str, message: bytes) -> bool:
    (folder / "signers").write_text(f'alice@x namespaces="{NAMESPACE}" {public_line}\n')
    (folder / "signature").write_text(armoured)
    check = ("-Y", "verify", "-f", str(folder / "signers"), "-I", "alice@x", "-n", NAMESPACE)
    return keygen(*check, "-s", str(folder / "signature"), stdin=message).returncode == 0


@pytest.mark.parametrize("name", KEYS)
def test_what_we_have_signed_by_ssh_keygen_both_of_us_accept(keys: Path, tmp_path: Path, name: str) -> None:
    armoured = sign(MESSAGE, str(keys / name), NAMESPACE)
    assert verify(MESSAGE, armoured, NAMESPACE) == public(keys, name)
    assert accepted_by_ssh_keygen(tmp_path, (keys / f"{name}.pub").read_text().strip(), armoured, MESSAGE)


@pytest.mark.parametrize("name", KEYS)
def test_what_somebody_signs_at_the_shell_we_accept_and_nothing_near_it(keys: Path, name: str) -> None:
    armoured = keygen("-Y", "sign", "-f", str(keys / name), "-n", NAMESPACE, stdin=MESSAGE).stdout.decode()
    assert verify(MESSAGE, armoured, NAMESPACE) == public(keys, name)
    with pytest.raises(NotVerified, match="does not match"):
        verify(MESSAGE + b" ", armoured, NAMESPACE)
    with pytest.raises(NotVerified, match="was made for"):
        verify(MESSAGE, armoured, "git")


def test_a_signature_with_sha256_inside_is_fine_too(keys: Path) -> None:
    done = keygen("-Y", "sign", "-O", "hashalg=sha256", "-f", str(keys / "ed25519"), "-n", NAMESPACE, stdin=MESSAGE)
    assert verify(MESSAGE, done.stdout.decode(), NAMESPACE) == public(keys, "ed25519")


def test_the_fingerprint_is_the_one_that_ssh_keygen_prints(keys: Path) -> None:
    printed = keygen("-l", "-f", str(keys / "ed25519.pub")).stdout.decode()
    assert fingerprint(public(keys, "ed25519")) in printed


def test_small_rsa_keys_are_refused(tmp_path: Path) -> None:
    keygen("-t", "rsa", "-b", "1024", "-N", "", "-f", str(tmp_path / "small"))
    armoured = sign(MESSAGE, str(tmp_path / "small"), NAMESPACE)
    with pytest.raises(NotVerified, match="2048"):
        verify(MESSAGE, armoured, NAMESPACE)


class HardwareKey:
    """Signs as a security key does; no hardware is needed to check what one signs."""

    application = b"ssh:"

    def __init__(self, kind: str) -> None:
        self.kind = kind
        if kind == "sk-ssh-ed25519@openssh.com":
            self._ed = Ed25519PrivateKey.generate()
            raw = self._ed.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
            self.key = packed(kind.encode()) + packed(raw) + packed(self.application)
        else:
            self._ec = ec.generate_private_key(ec.SECP256R1())
            point = self._ec.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
            self.key = packed(kind.encode()) + packed(b"nistp256") + packed(point) + packed(self.application)

    @property
    def line(self) -> str:
        return f"{self.kind} {b64encode(self.key).decode()}"

    def sign(self, message: bytes, *, flags: int, altered: int | None = None) -> str:
        head = packed(NAMESPACE.encode()) + packed(b"") + packed(b"sha512")
        signed = b"SSHSIG" + head + packed(hashlib.sha512(message).digest())
        counter = (7).to_bytes(4, "big")
        text = hashlib.sha256(self.application).digest() + bytes([flags]) + counter + hashlib.sha256(signed).digest()
        raw = packed(self.kind.encode()) + packed(self._raw(text))
        raw += bytes([flags if altered is None else altered]) + counter
        blob = b"SSHSIG" + (1).to_bytes(4, "big") + packed(self.key) + head + packed(raw)
        return f"{BEGIN}\n{b64encode(blob).decode()}\n{END}\n"

    def _raw(self, text: bytes) -> bytes:
        if self.kind.startswith("sk-ssh"):
            return self._ed.sign(text)
        return b"".join(packed(mpint(n)) for n in decode_dss_signature(self._ec.sign(text, ec.ECDSA(hashes.SHA256()))))


def mpint(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


@pytest.mark.parametrize("kind", ["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"])
def test_hardware_keys_count_only_with_a_recorded_touch(tmp_path: Path, kind: str) -> None:
    key = HardwareKey(kind)
    touched = key.sign(MESSAGE, flags=1)
    assert verify(MESSAGE, touched, NAMESPACE) == key.key
    assert accepted_by_ssh_keygen(tmp_path, key.line, touched, MESSAGE)
    with pytest.raises(NotVerified, match="nobody touched"):
        verify(MESSAGE, key.sign(MESSAGE, flags=0), NAMESPACE)
    with pytest.raises(NotVerified, match="does not match"):
        verify(MESSAGE, key.sign(MESSAGE, flags=0, altered=1), NAMESPACE)


@pytest.fixture(scope="module")
def genuine(keys: Path) -> dict[str, str]:
    made = {name: sign(MESSAGE, str(keys / name), NAMESPACE) for name in ("ed25519", "rsa 2048", "ecdsa 256")}
    return made | {"hardware": HardwareKey("sk-ecdsa-sha2-nistp256@openssh.com").sign(MESSAGE, flags=1)}


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_signature_is_never_accepted_and_never_crashes(genuine: dict[str, str], data: st.DataObject) -> None:
    armoured = genuine[data.draw(st.sampled_from(sorted(genuine)))]
    blob = bytearray(b64decode("".join(armoured.splitlines()[1:-1])))
    match data.draw(st.sampled_from(["flip", "cut", "grow", "splice"])):
        case "flip":
            blob[data.draw(st.integers(0, len(blob) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        case "cut":
            del blob[data.draw(st.integers(0, len(blob) - 1)) :]
        case "grow":
            blob += data.draw(st.binary(min_size=1, max_size=40))
        case _:
            at = data.draw(st.integers(0, len(blob) - 4))
            blob[at : at + 4] = data.draw(st.integers(0, 2**32 - 1).map(lambda n: n.to_bytes(4, "big")))
    damaged = f"{BEGIN}\n{b64encode(bytes(blob)).decode()}\n{END}\n"
    if parse_or_none(damaged) != parse_or_none(armoured):
        with pytest.raises(NotVerified):
            verify(MESSAGE, damaged, NAMESPACE)


def parse_or_none(armoured: str) -> object:
    try:
        return parse(armoured)
    except NotVerified:
        return None


@given(st.text() | st.text().map(lambda inner: f"{BEGIN}\n{inner}\n{END}"))
def test_any_text_is_only_ever_not_verified(text: str) -> None:
    with pytest.raises(NotVerified):
        verify(MESSAGE, text, NAMESPACE)


def test_armour_of_any_size_is_turned_down_before_it_is_decoded(genuine: dict[str, str]) -> None:
    lines = genuine["ed25519"].splitlines()
    with pytest.raises(NotVerified, match="longer than"):
        verify(MESSAGE, "\n".join([lines[0], *(["QUFB" * 17] * (ARMOUR_LIMIT // 60)), lines[-1]]), NAMESPACE)


def test_line_ends_of_windows_do_not_matter(genuine: dict[str, str]) -> None:
    verify(MESSAGE, genuine["ed25519"].replace("\n", "\r\n"), NAMESPACE)


def test_signing_with_a_passphrase_nobody_can_type_says_so_at_once(tmp_path: Path) -> None:
    keygen("-t", "ed25519", "-N", "secret", "-f", str(tmp_path / "locked"))
    with pytest.raises(Refused, match="ssh-keygen made no signature") as caught:
        sign(MESSAGE, str(tmp_path / "locked"), NAMESPACE)
    assert "ssh-add" in caught.value.hint


def test_signing_with_a_key_that_is_not_there_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no key at"):
        sign(MESSAGE, str(tmp_path / "none"), NAMESPACE)


def test_a_program_that_never_answers_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ssh-keygen").write_text(f"#!/bin/sh\nsleep 600 & echo $! > '{tmp_path}/child'; wait\n")
    (tmp_path / "ssh-keygen").chmod(0o755)
    (tmp_path / "key").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(Refused, match="nobody answered"):
        sign(MESSAGE, str(tmp_path / "key"), NAMESPACE, timeout=0.5)
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]:
            return
        time.sleep(0.05)
    raise AssertionError("the key program's own child is still running")


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keys: Path) -> Iterator[str]:
    """A running ssh-agent that holds the ed25519 key; gives the public key line."""
    socket = str(tmp_path / "agent")
    process = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
    monkeypatch.setenv("SSH_AUTH_SOCK", socket)
    for _ in range(200):
        if Path(socket).exists():
            break
        time.sleep(0.01)
    subprocess.run(["ssh-add", "-q", str(keys / "ed25519")], check=True, capture_output=True)
    yield (keys / "ed25519.pub").read_text().strip()
    process.terminate()
    process.wait()


@pytest.mark.parametrize("prefix", ["", "key::"])
def test_the_agent_signs_for_a_public_key(agent: str, keys: Path, prefix: str) -> None:
    armoured = sign(MESSAGE, prefix + agent, NAMESPACE)
    assert verify(MESSAGE, armoured, NAMESPACE) == public(keys, "ed25519")

"""SSH signatures (OpenSSH's PROTOCOL.sshsig), made by `ssh-keygen -Y sign`, verified here. Loads `cryptography`."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from base64 import b64decode, b64encode
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from ai_lessons.errors import Refused, StorageFailed
from ai_lessons.repository import programs
from ai_lessons.repository.approval.signers import NotVerified

BEGIN: Final = "-----BEGIN SSH SIGNATURE-----"
END: Final = "-----END SSH SIGNATURE-----"
MAGIC: Final = b"SSHSIG"
ARMOUR_LIMIT: Final = 16 * 1024  # Characters. An RSA signature of 16,384 bits needs 6 KiB
SMALLEST_RSA: Final = 2048
LARGEST_RSA: Final = 16384
QUIET_PATIENCE: Final = 20.0  # Seconds for a signature where no person is asked: an agent may still want a touch
TERMINAL_PATIENCE: Final = 120.0  # Seconds for a person to type a passphrase or touch a key
_TOUCHED: Final = 0x01
_DIGESTS: Final = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}
_RSA: Final[dict[bytes, hashes.HashAlgorithm]] = {b"rsa-sha2-256": hashes.SHA256(), b"rsa-sha2-512": hashes.SHA512()}
_ECDSA: Final[dict[bytes, hashes.HashAlgorithm]] = {
    b"ecdsa-sha2-nistp256": hashes.SHA256(),
    b"ecdsa-sha2-nistp384": hashes.SHA384(),
    b"ecdsa-sha2-nistp521": hashes.SHA512(),
    b"sk-ecdsa-sha2-nistp256@openssh.com": hashes.SHA256(),
}
_KINDS: Final = frozenset({b"ssh-ed25519", b"sk-ssh-ed25519@openssh.com", b"ssh-rsa", *_ECDSA})


class SshSignature(NamedTuple):
    """What an armoured signature holds. `key` and `signature` are in SSH's wire format."""

    key: bytes
    namespace: str
    reserved: bytes
    digest: bytes
    signature: bytes


class WireReader:
    """Reads SSH's wire format: big-endian lengths in front of strings. Raises NotVerified."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        end = self._at + count
        if end > len(self._data):
            raise NotVerified("the signature or key is cut off")
        taken, self._at = self._data[self._at : end], end
        return taken

    def string(self) -> bytes:
        """A length and that many bytes."""
        return self.take(int.from_bytes(self.take(4), "big"))

    def mpint(self) -> int:
        """A non-negative number of any size."""
        raw = self.string()
        if raw[:1] > b"\x7f":
            raise NotVerified("a number in the signature or key is negative")
        return int.from_bytes(raw, "big")

    def end(self) -> None:
        """Nothing may follow."""
        if self._at != len(self._data):
            raise NotVerified("something follows the end of the signature or key")


def parse(armoured: str) -> SshSignature:
    """Read an armoured signature; line lengths and line ends do not matter. Raises NotVerified."""
    if len(armoured) > ARMOUR_LIMIT:
        raise NotVerified(f"the signature is longer than {ARMOUR_LIMIT} characters")
    lines = armoured.strip().splitlines()
    if len(lines) < 3 or lines[0].strip() != BEGIN or lines[-1].strip() != END:
        raise NotVerified("this is not an armoured SSH signature")
    try:
        wire = WireReader(b64decode("".join(line.strip() for line in lines[1:-1]), validate=True))
    except ValueError as error:
        raise NotVerified("the signature is not base64") from error
    if wire.take(len(MAGIC)) != MAGIC or wire.take(4) != b"\0\0\0\1":
        raise NotVerified("the signature is of a kind or version that is not known")
    key, namespace, reserved, digest, signature = (wire.string() for _ in range(5))
    wire.end()
    try:
        return SshSignature(key, namespace.decode(), reserved, digest, signature)
    except UnicodeDecodeError as error:
        raise NotVerified("the namespace of the signature is not text") from error


def verify(message: bytes, armoured: str, namespace: str) -> bytes:
    """The public key (wire format) that signed `message` in exactly this namespace. Raises NotVerified.

    Accepts ed25519, ECDSA on the three NIST curves, RSA of at least 2,048 bits with SHA-2, and hardware keys of both
    sorts where the touch is recorded. Does not accept certificates, DSA, SHA-1 or WebAuthn signatures.
    """
    signature = parse(armoured)
    if signature.namespace != namespace:
        raise NotVerified(f"the signature was made for {signature.namespace!r}, not for {namespace!r}")
    digest = _DIGESTS.get(signature.digest)
    if digest is None:
        raise NotVerified("the signature uses a hash that is not accepted")
    signed = MAGIC + b"".join(
        len(part).to_bytes(4, "big") + part
        for part in (namespace.encode(), signature.reserved, signature.digest, digest(message).digest())
    )
    try:
        _check(signature.key, WireReader(signature.signature), signed)
    except InvalidSignature as error:
        raise NotVerified("the signature does not match the text and key") from error
    except (ValueError, UnsupportedAlgorithm, OverflowError) as error:
        raise NotVerified(f"the key or signature is not well formed: {error}") from error
    return signature.key


def _check(key: bytes, signature: WireReader, signed: bytes) -> None:
    kind, algorithm, raw = WireReader(key).string(), signature.string(), signature.string()
    if kind not in _KINDS:
        raise NotVerified(f"keys of type {kind[:40].decode('ascii', 'replace')!r} are not accepted")
    if algorithm not in _RSA if kind == b"ssh-rsa" else algorithm != kind:
        raise NotVerified("the signature is of another type than its key, or RSA without SHA-2")
    if kind.startswith(b"sk-"):
        # a hardware key signs hashes of its application and the text, around its flags and counter
        flags, counter = signature.take(1), signature.take(4)
        if not flags[0] & _TOUCHED:
            raise NotVerified("nobody touched the hardware key for this signature")
        wire = WireReader(key)
        parts = [wire.string() for _ in range(4 if b"ecdsa" in kind else 3)]
        signed = hashlib.sha256(parts[-1]).digest() + flags + counter + hashlib.sha256(signed).digest()
    signature.end()
    public = load_ssh_public_key(kind + b" " + b64encode(key))
    if isinstance(public, Ed25519PublicKey):
        public.verify(raw, signed)
    elif isinstance(public, EllipticCurvePublicKey):
        numbers = WireReader(raw)
        der = encode_dss_signature(numbers.mpint(), numbers.mpint())
        numbers.end()
        public.verify(der, signed, ECDSA(_ECDSA[kind]))
    elif isinstance(public, RSAPublicKey):
        size = public.key_size
        if not SMALLEST_RSA <= size <= LARGEST_RSA:
            raise NotVerified(f"RSA keys must have {SMALLEST_RSA} to {LARGEST_RSA} bits, this one has {size}")
        # OpenSSH accepts signatures whose leading zero bytes were dropped
        public.verify(raw.rjust((public.key_size + 7) // 8, b"\0"), signed, PKCS1v15(), _RSA[algorithm])
    else:
        raise NotVerified("keys of this type are not accepted")


def sign(message: bytes, key: str, namespace: str, *, interactive: bool = False, timeout: float | None = None) -> str:
    """An armoured signature over `message`.

    `key` is what git's `user.signingkey` may hold: the path of a private key, or of a public key that the agent has, or
    that key itself (with or without `key::`). `interactive` lets ssh-keygen use the terminal; `timeout` in seconds.
    Raises Refused (no ssh-keygen, no such key, no answer), StorageFailed.
    """
    program = shutil.which("ssh-keygen")
    if program is None:
        raise Refused("signing needs the program ssh-keygen", hint="install OpenSSH 8.2 or newer")
    environment = dict(os.environ) | {"LC_ALL": "C"}
    patience = timeout or (TERMINAL_PATIENCE if interactive else QUIET_PATIENCE)
    literal, path = key.removeprefix("key::"), os.path.expanduser(key)
    public = key.startswith("key::") or literal.startswith(("ssh-", "ecdsa-", "sk-"))
    if not public and not os.path.isfile(path):
        raise Refused(f"there is no key at {path}", hint="git config --global user.signingkey ~/.ssh/id_ed25519")
    try:
        with tempfile.TemporaryDirectory(prefix="ai-lessons-sign-") as folder:
            place = os.path.join(folder, "record")
            with open(place, "wb") as record:
                record.write(message)
            if public:
                path = os.path.join(folder, "key.pub")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(literal + "\n")
            by = ["-U", "-f", path] if public else ["-f", path]
            arguments = [program, "-q", "-Y", "sign", "-n", namespace, *by, place]
            if interactive:  # it stays in our group, so that Ctrl-C and Ctrl-Z reach both
                done = subprocess.run(arguments, env=environment, capture_output=True, timeout=patience, check=False)
            else:  # a window that pops up for a background process is not an answer
                done = programs.run(arguments, env=environment | {"SSH_ASKPASS_REQUIRE": "never"}, timeout=patience)
            if done.returncode:
                words = done.stderr.decode(errors="replace").strip().splitlines() or ["it gave no reason"]
                hint = "a key with a passphrase needs a terminal, or ssh-add first"
                raise Refused(f"ssh-keygen made no signature: {words[-1]}", hint=hint)
            with open(place + ".sig", encoding="ascii") as made:
                armoured = made.read()
    except subprocess.TimeoutExpired as error:
        hint = "touch the key when it blinks, or load it with ssh-add"
        raise Refused(f"nobody answered for the signing key within {patience:.0f} seconds", hint=hint) from error
    except OSError as error:
        raise StorageFailed(f"the signature could not be made: {error.strerror}") from error
    if not armoured.startswith(BEGIN):
        raise Refused("ssh-keygen made something that is not a signature")
    return armoured

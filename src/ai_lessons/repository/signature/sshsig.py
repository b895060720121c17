"""SSH signatures (OpenSSH's PROTOCOL.sshsig): armour, wire format and verification, offline.

Pure: bytes in, a value or a reason out. Says which *key* made a signature over which bytes in which namespace, and
nothing about whose key that is (`signers.py`) or what was signed (`records.py`). Everything here may come from an
attacker; whatever does not fit is `NotVerified`, never another exception.
"""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

if TYPE_CHECKING:
    from collections.abc import Callable

BEGIN: Final = "-----BEGIN SSH SIGNATURE-----"
END: Final = "-----END SSH SIGNATURE-----"
MAGIC: Final = b"SSHSIG"
VERSION: Final = 1
ARMOUR_LIMIT: Final = 16 * 1024
"""Characters. An RSA signature of 16,384 bits needs 6 KiB."""

SMALLEST_RSA: Final = 2048
LARGEST_RSA: Final = 16384
USER_PRESENT: Final = 0x01
"""The flag by which a hardware key says that somebody touched it."""

_DIGESTS: Final = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}
_CURVES: Final[dict[bytes, tuple[ec.EllipticCurve, hashes.HashAlgorithm]]] = {
    b"nistp256": (ec.SECP256R1(), hashes.SHA256()),
    b"nistp384": (ec.SECP384R1(), hashes.SHA384()),
    b"nistp521": (ec.SECP521R1(), hashes.SHA512()),
}
_RSA_HASHES: Final[dict[bytes, hashes.HashAlgorithm]] = {
    b"rsa-sha2-256": hashes.SHA256(),
    b"rsa-sha2-512": hashes.SHA512(),
}
_ED25519: Final = b"ssh-ed25519"
_RSA: Final = b"ssh-rsa"
_ECDSA: Final = b"ecdsa-sha2-"
_SK_ED25519: Final = b"sk-ssh-ed25519@openssh.com"
_SK_ECDSA: Final = b"sk-ecdsa-sha2-nistp256@openssh.com"


class NotVerified(Exception):
    """A signature or record that proves nothing; the text says why. Callers turn it into a verdict, not an error."""


@dataclass(frozen=True, slots=True)
class SshSignature:
    """What an armoured signature holds. `key` and `signature` are in SSH's wire format."""

    key: bytes
    namespace: str
    reserved: bytes
    digest: bytes
    signature: bytes


class WireReader:
    """Reads SSH's wire format: big-endian lengths in front of strings.

    Raises:
        NotVerified: the bytes end too early, or (`end`) go on too long.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        end = self._at + count
        if end > len(self._data):
            raise NotVerified("the signature or key is cut off")
        taken, self._at = self._data[self._at : end], end
        return taken

    def number(self) -> int:
        """An unsigned 32-bit number."""
        return int.from_bytes(self.take(4), "big")

    def string(self) -> bytes:
        """A length and that many bytes."""
        return self.take(self.number())

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


def packed(data: bytes) -> bytes:
    """A string in SSH's wire format."""
    return len(data).to_bytes(4, "big") + data


def parse(armoured: str) -> SshSignature:
    """Read an armoured signature; line lengths and line ends do not matter.

    Raises:
        NotVerified: it is too long, not armoured, not base64, cut off, of another version, or has something behind it.
    """
    if len(armoured) > ARMOUR_LIMIT:
        raise NotVerified(f"the signature is longer than {ARMOUR_LIMIT} characters")
    lines = armoured.strip().splitlines()
    if len(lines) < 3 or lines[0].strip() != BEGIN or lines[-1].strip() != END:
        raise NotVerified("this is not an armoured SSH signature")
    try:
        wire = WireReader(b64decode("".join(line.strip() for line in lines[1:-1]), validate=True))
    except (binascii.Error, ValueError) as error:
        raise NotVerified("the signature is not base64") from error
    if wire.take(len(MAGIC)) != MAGIC or wire.number() != VERSION:
        raise NotVerified("the signature is of a kind or version that is not known")
    key, namespace, reserved, digest, signature = (wire.string() for _ in range(5))
    wire.end()
    try:
        return SshSignature(key, namespace.decode(), reserved, digest, signature)
    except UnicodeDecodeError as error:
        raise NotVerified("the namespace of the signature is not text") from error


def verify(message: bytes, armoured: str, namespace: str) -> bytes:
    """The public key (wire format) that signed `message` in exactly this namespace.

    Accepts ed25519, ECDSA on the three NIST curves, RSA of at least 2,048 bits with SHA-2, and hardware keys of both
    sorts where the touch is recorded. Does not accept certificates, DSA, SHA-1 or WebAuthn signatures.

    Raises:
        NotVerified: anything else; the text is for people.
    """
    signature = parse(armoured)
    if signature.namespace != namespace:
        raise NotVerified(f"the signature was made for {signature.namespace!r}, not for {namespace!r}")
    digest = _DIGESTS.get(signature.digest)
    if digest is None:
        raise NotVerified("the signature uses a hash that is not accepted")
    signed = MAGIC + b"".join(
        packed(part) for part in (namespace.encode(), signature.reserved, signature.digest, digest(message).digest())
    )
    _check(signature.key, signature.signature, signed)
    return signature.key


def key_type(key: bytes) -> str:
    """The name of a public key's type, `ssh-ed25519` for one.

    Raises:
        NotVerified: the key does not begin with a name.
    """
    try:
        return WireReader(key).string().decode("ascii")
    except UnicodeDecodeError as error:
        raise NotVerified("the type of the key is not a name") from error


def fingerprint(key: bytes) -> str:
    """`SHA256:…`, as `ssh-keygen -l` prints it."""
    return "SHA256:" + binascii.b2a_base64(hashlib.sha256(key).digest(), newline=False).decode().rstrip("=")


def _check(key: bytes, signature: bytes, signed: bytes) -> None:
    key_wire, signature_wire = WireReader(key), WireReader(signature)
    kind, algorithm = key_wire.string(), signature_wire.string()
    check = _CHECKS.get(kind)
    if check is None:
        raise NotVerified(f"keys of type {kind[:40].decode('ascii', 'replace')!r} are not accepted")
    if kind != _RSA and algorithm != kind:
        raise NotVerified("the signature is of another type than its key")
    try:
        check(key_wire, signature_wire, algorithm, signed)
    except InvalidSignature as error:
        raise NotVerified("the signature does not match the text and key") from error
    except (ValueError, UnsupportedAlgorithm, OverflowError) as error:
        raise NotVerified(f"the key or signature is not well formed: {error}") from error


def _check_ed25519(key: WireReader, signature: WireReader, _algorithm: bytes, signed: bytes) -> None:
    public, raw = key.string(), signature.string()
    key.end()
    signature.end()
    Ed25519PublicKey.from_public_bytes(public).verify(raw, signed)


def _check_rsa(key: WireReader, signature: WireReader, algorithm: bytes, signed: bytes) -> None:
    exponent, modulus, raw = key.mpint(), key.mpint(), signature.string()
    key.end()
    signature.end()
    if algorithm not in _RSA_HASHES:
        raise NotVerified("RSA signatures are accepted with SHA-2 only")
    bits = modulus.bit_length()
    if not SMALLEST_RSA <= bits <= LARGEST_RSA:
        raise NotVerified(f"RSA keys must have {SMALLEST_RSA} to {LARGEST_RSA} bits, this one has {bits}")
    public = rsa.RSAPublicNumbers(exponent, modulus).public_key()
    # OpenSSH accepts signatures whose leading zero bytes were dropped
    public.verify(raw.rjust((bits + 7) // 8, b"\0"), signed, padding.PKCS1v15(), _RSA_HASHES[algorithm])


def _check_ecdsa(key: WireReader, signature: WireReader, algorithm: bytes, signed: bytes) -> None:
    public, digest = _curve_point(key, algorithm.removeprefix(_ECDSA))
    raw = signature.string()
    key.end()
    signature.end()
    public.verify(_as_der(raw), signed, ec.ECDSA(digest))


def _check_sk_ed25519(key: WireReader, signature: WireReader, _algorithm: bytes, signed: bytes) -> None:
    public, application = key.string(), key.string()
    raw = signature.string()
    touched = _touched(application, signature, signed)
    key.end()
    Ed25519PublicKey.from_public_bytes(public).verify(raw, touched)


def _check_sk_ecdsa(key: WireReader, signature: WireReader, _algorithm: bytes, signed: bytes) -> None:
    public, digest = _curve_point(key, b"nistp256")
    application, raw = key.string(), signature.string()
    touched = _touched(application, signature, signed)
    key.end()
    public.verify(_as_der(raw), touched, ec.ECDSA(digest))


def _touched(application: bytes, signature: WireReader, signed: bytes) -> bytes:
    """What a hardware key really signs: hashes of its application and the text, around its flags and counter."""
    flags, counter = signature.take(1), signature.take(4)
    signature.end()
    if not flags[0] & USER_PRESENT:
        raise NotVerified("nobody touched the hardware key for this signature")
    return hashlib.sha256(application).digest() + flags + counter + hashlib.sha256(signed).digest()


def _curve_point(key: WireReader, expected: bytes) -> tuple[ec.EllipticCurvePublicKey, hashes.HashAlgorithm]:
    name, point = key.string(), key.string()
    if name != expected or name not in _CURVES:
        raise NotVerified("the curve of the key is not the one its type names")
    curve, digest = _CURVES[name]
    return ec.EllipticCurvePublicKey.from_encoded_point(curve, point), digest


def _as_der(raw: bytes) -> bytes:
    numbers = WireReader(raw)
    r, s = numbers.mpint(), numbers.mpint()
    numbers.end()
    return encode_dss_signature(r, s)


_CHECKS: Final[dict[bytes, Callable[[WireReader, WireReader, bytes, bytes], None]]] = {
    _ED25519: _check_ed25519,
    _RSA: _check_rsa,
    **{_ECDSA + curve: _check_ecdsa for curve in _CURVES},
    _SK_ED25519: _check_sk_ed25519,
    _SK_ECDSA: _check_sk_ecdsa,
}

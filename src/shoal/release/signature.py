"""A publisher's signature on a certificate: it proves who wrote it; the seal only shows that nobody changed it.

The message that is signed is

    "shoal certificate 1\n" + release.json as it is written, without seal and signature

under Ed25519 (RFC 8032), which is deterministic: the same certificate and key give the same bytes. The certificate
carries the SHA-256 of every file of the release, so the signature covers the whole folder.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from shoal.errors import ParameterError
from shoal.release.certificate import FILE_NAME, Certificate, SignaturePart

PASSPHRASE = "SHOAL_SIGNING_PASSPHRASE"
"""The environment variable with the passphrase of an encrypted key; a command line would show it to everyone."""

_CONTEXT = b"shoal certificate 1\n"


def signed(certificate: Certificate, key: Path) -> Certificate:
    """The certificate with the signature of a private key; any earlier seal is removed."""
    private = _private_key(key)
    value = private.sign(_message(certificate))
    part = SignaturePart(key=private.public_key().public_bytes_raw().hex(), value=value.hex())
    return certificate.model_copy(update={"signature": part, "seal": ""})


def check_signing_key(key: Path) -> None:
    """Raise before any work if a key cannot sign."""
    _private_key(key)


def signature_findings(certificate: Certificate, key: str | Path | None) -> list[str]:
    """What is wrong with the signature: it does not match the certificate, or is not by the requested key."""
    part = certificate.signature
    wanted = None if key is None else _public_key(Path(key))
    if part is None:
        return [] if wanted is None else [f"{FILE_NAME} is not signed"]
    public = bytes.fromhex(part.key)
    if not _fits(public, bytes.fromhex(part.value), _message(certificate)):
        return [f"the signature of {FILE_NAME} does not match its content"]
    if wanted is not None and wanted != public:
        return [f"{FILE_NAME} is signed with another key ({fingerprint(public)}) than the one given"]
    return []


def signature_notes(certificate: Certificate, key: str | Path | None) -> list[str]:
    """Whose signature it is, as far as that is known."""
    if certificate.signature is None:
        return []
    name = fingerprint(bytes.fromhex(certificate.signature.key))
    if key is None:
        return [f"signed with the key {name}; give the publisher's public key with --key to check whose it is"]
    return [f"signed with the given key, {name}"]


def fingerprint(public: bytes) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a public key, in fours, to be compared by eye."""
    digits = hashlib.sha256(public).hexdigest()[:16]
    return " ".join(digits[at : at + 4] for at in range(0, 16, 4))


def _message(certificate: Certificate) -> bytes:
    return _CONTEXT + certificate.model_copy(update={"seal": "", "signature": None}).as_bytes()


def _fits(public: bytes, value: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(value, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _private_key(path: Path) -> Ed25519PrivateKey:
    passphrase = os.environ.get(PASSPHRASE)
    try:
        private_key = load_pem_private_key(_read(path), None if passphrase is None else passphrase.encode())
    except TypeError:
        way = "Unset" if passphrase else "Set"
        wrong = "is not encrypted, but a passphrase was given" if passphrase else "is encrypted"
        raise ParameterError(f"The signing key {str(path)!r} {wrong}. {way} {PASSPHRASE}.") from None
    except (ValueError, UnsupportedAlgorithm):
        raise ParameterError(_unfit(path, "private")) from None
    if not isinstance(private_key, Ed25519PrivateKey):
        raise ParameterError(_unfit(path, "private"))
    return private_key


def _public_key(path: Path) -> bytes:
    try:
        public_key = load_pem_public_key(_read(path))
    except (ValueError, UnsupportedAlgorithm):
        raise ParameterError(_unfit(path, "public")) from None
    if not isinstance(public_key, Ed25519PublicKey):
        raise ParameterError(_unfit(path, "public"))
    return public_key.public_bytes_raw()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParameterError(f"The key {str(path)!r} cannot be read: {error.strerror}.") from None


def _unfit(path: Path, kind: str) -> str:
    make = {"private": "openssl genpkey -algorithm ed25519 -out key.pem", "public": "openssl pkey -in key.pem -pubout"}
    return f"{str(path)!r} is not a {kind} Ed25519 key in PEM, or its passphrase is wrong. Make one: {make[kind]}"

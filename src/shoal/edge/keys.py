"""Keys of devices: one pair to sign what is sent, one to agree on secrets with each neighbour."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shoal.errors import InputError
from shoal.files.durable import sync, write_aside

FILE_NAME = "keys"
SIGNATURE_BYTES = 64


@dataclass(frozen=True)
class PublicKeys:
    """The public keys of a device."""

    signing: bytes
    agreeing: bytes

    def verifies(self, signature: bytes, content: bytes) -> bool:
        """Whether the device signed this."""
        try:
            Ed25519PublicKey.from_public_bytes(self.signing).verify(signature, content)
        except (InvalidSignature, ValueError):
            return False
        return True


class Keys:
    """The secrets of a device; they never leave it.

    Parameters
    ----------
    signing, agreeing
        32 bytes each.
    """

    def __init__(self, signing: bytes, agreeing: bytes) -> None:
        self._signing = Ed25519PrivateKey.from_private_bytes(signing)
        self._agreeing = X25519PrivateKey.from_private_bytes(agreeing)
        self.public = PublicKeys(
            self._signing.public_key().public_bytes_raw(), self._agreeing.public_key().public_bytes_raw()
        )

    @classmethod
    def draw(cls) -> Keys:
        """New ones, from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate().private_bytes_raw(), X25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def load(cls, folder: Path) -> Keys:
        """Those of a device's folder."""
        try:
            content = (folder / FILE_NAME).read_bytes()
        except OSError as error:
            raise InputError(f"The keys of the device cannot be read: {error.strerror}.") from None
        if len(content) != 64:
            raise InputError("The keys of the device are damaged. Enrol it again, as another one.")
        return cls(content[:32], content[32:])

    def save(self, folder: Path) -> None:
        """Store them in a device's folder, readable by its owner only."""
        content = self._signing.private_bytes_raw() + self._agreeing.private_bytes_raw()
        aside = write_aside(folder / FILE_NAME, content, mode=0o600)
        aside.sync()
        aside.put_in_place()
        sync(folder)

    def sign(self, content: bytes) -> bytes:
        """A signature of 64 bytes."""
        return self._signing.sign(content)

    def agree(self, other: PublicKeys) -> bytes:
        """The secret that two devices share, and nobody else knows."""
        return self._agreeing.exchange(X25519PublicKey.from_public_bytes(other.agreeing))


def derive(secret: bytes, purpose: bytes) -> bytes:
    """A key of 32 bytes for one purpose."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret)


def mask_words(key: bytes, n: int) -> list[int]:
    """This many 64-bit words of a key stream; a key is used for one stream only."""
    cipher = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None)
    stream = cipher.encryptor().update(bytes(8 * n))
    return [int.from_bytes(stream[at : at + 8], "little") for at in range(0, 8 * n, 8)]


def seal(key: bytes, content: bytes, context: bytes) -> bytes:
    """Encrypt and authenticate; a key is used once."""
    return ChaCha20Poly1305(key).encrypt(bytes(12), content, context)


def unseal(key: bytes, sealed: bytes, context: bytes) -> bytes | None:
    """The sealed content; None if any bit of it, or of its context, differs."""
    from cryptography.exceptions import InvalidTag

    try:
        return ChaCha20Poly1305(key).decrypt(bytes(12), sealed, context)
    except InvalidTag:
        return None

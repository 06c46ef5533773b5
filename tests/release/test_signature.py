"""Signatures of certificates: what is signed is the publisher's, and a change or another key is found."""

import json

import pytest
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forgery import edit_certificate
from shoal import verify
from shoal.errors import ParameterError
from shoal.release import release_candidate
from shoal.release.signature import PASSPHRASE, fingerprint
from small_release import candidate  # noqa: F401


def write_keys(folder, name, key=None, passphrase=None):
    """A private and a public key in PEM, as openssl writes them."""
    key = key or Ed25519PrivateKey.from_private_bytes(name.encode().ljust(32, b"."))
    hidden = pem.NoEncryption() if passphrase is None else pem.BestAvailableEncryption(passphrase.encode())
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, hidden))
    public.write_bytes(key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo))
    return private, public


@pytest.fixture
def keys(tmp_path):
    return write_keys(tmp_path, "publisher")


@pytest.fixture
def signed(tmp_path, candidate, keys):  # noqa: F811
    release_candidate(candidate, tmp_path / "signed", summary="Test.", sign=keys[0])
    return tmp_path / "signed"


def test_a_signed_release_verifies_with_the_publishers_key_and_without_one(signed, keys):
    found = verify(signed, key=keys[1])
    assert found.holds
    assert any("signed with the given key" in note for note in found.notes)
    without = verify(signed)
    assert without.holds
    assert any("give the publisher's public key with --key" in note for note in without.notes)


def test_another_key_is_a_finding(signed, tmp_path):
    _, other = write_keys(tmp_path, "stranger")
    assert "signed with another key" in verify(signed, key=other).findings[0]


def test_a_release_without_signature_does_not_pass_where_one_is_asked_for(tmp_path, candidate, keys):  # noqa: F811
    release_candidate(candidate, tmp_path / "plain", summary="Test.")
    assert verify(tmp_path / "plain").holds
    assert verify(tmp_path / "plain", key=keys[1]).findings == ("release.json is not signed",)


def test_a_certificate_that_was_changed_and_sealed_again_no_longer_fits_its_signature(signed, keys):
    edit_certificate(signed, lambda content: content["method"].update(summary="Something else."))
    for key in (None, keys[1]):
        assert "the signature of release.json does not match its content" in verify(signed, key=key).findings


def test_a_signature_of_somebody_else_does_not_become_the_publishers(signed, tmp_path, candidate, keys):  # noqa: F811
    stranger, _ = write_keys(tmp_path, "stranger")
    release_candidate(candidate, tmp_path / "theirs", summary="Test.", sign=stranger)
    theirs = json.loads((tmp_path / "theirs" / "release.json").read_text(encoding="utf-8"))["signature"]
    edit_certificate(signed, lambda content: content.update(signature=theirs))
    assert not verify(signed, key=keys[1]).holds
    edit_certificate(signed, lambda content: content["signature"].update(key=theirs["key"], value="00" * 64))
    assert "does not match" in verify(signed).findings[0]


def test_the_same_release_and_key_give_the_same_bytes(tmp_path, candidate, keys):  # noqa: F811
    for name in ("one", "two"):
        release_candidate(candidate, tmp_path / name, summary="Test.", sign=keys[0], insecure_seed=1)
    assert (tmp_path / "one" / "release.json").read_bytes() == (tmp_path / "two" / "release.json").read_bytes()


def test_an_encrypted_key_signs_with_its_passphrase(tmp_path, candidate, monkeypatch):  # noqa: F811
    private, public = write_keys(tmp_path, "publisher", passphrase="correct horse")
    with pytest.raises(ParameterError, match=f"is encrypted. Set {PASSPHRASE}"):
        release_candidate(candidate, tmp_path / "out", summary="Test.", sign=private)
    monkeypatch.setenv(PASSPHRASE, "wrong")
    with pytest.raises(ParameterError, match="its passphrase is wrong"):
        release_candidate(candidate, tmp_path / "out", summary="Test.", sign=private)
    assert not (tmp_path / "out").exists()
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    release_candidate(candidate, tmp_path / "out", summary="Test.", sign=private)
    assert verify(tmp_path / "out", key=public).holds


def test_a_passphrase_for_a_key_without_one_is_refused(tmp_path, candidate, keys, monkeypatch):  # noqa: F811
    monkeypatch.setenv(PASSPHRASE, "unneeded")
    with pytest.raises(ParameterError, match=f"is not encrypted, but a passphrase was given. Unset {PASSPHRASE}"):
        release_candidate(candidate, tmp_path / "out", summary="Test.", sign=keys[0])


def test_files_that_are_no_ed25519_keys_are_refused_before_any_work(tmp_path, candidate, keys):  # noqa: F811
    (tmp_path / "text.pem").write_text("not a key")
    curve, _ = write_keys(tmp_path, "curve", generate_private_key(SECP256R1()))
    for path in (tmp_path / "text.pem", curve, keys[1]):
        with pytest.raises(ParameterError, match="is not a private Ed25519 key in PEM"):
            release_candidate(candidate, tmp_path / "out", summary="Test.", sign=path)
    with pytest.raises(ParameterError, match="cannot be read: No such file"):
        release_candidate(candidate, tmp_path / "out", summary="Test.", sign=tmp_path / "absent.pem")
    release_candidate(candidate, tmp_path / "plain", summary="Test.")
    with pytest.raises(ParameterError, match="is not a public Ed25519 key in PEM"):
        verify(tmp_path / "plain", key=keys[0])


def test_a_fingerprint_is_sixteen_digits_in_fours():
    assert fingerprint(bytes(32)) == "6668 7aad f862 bd77"

"""The gate and what lies behind it: the only package that writes a release, and the one that reads it back."""

from shoal.release.certificate import Certificate
from shoal.release.folder import check_target
from shoal.release.gate import release_candidate
from shoal.release.opened import load_release
from shoal.release.options import ReleaseOptions
from shoal.release.verification import Verification, verify

__all__ = [
    "Certificate",
    "ReleaseOptions",
    "Verification",
    "check_target",
    "load_release",
    "release_candidate",
    "verify",
]

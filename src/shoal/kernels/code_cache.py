"""Compiled code that is kept between runs belongs to the sources it was compiled from.

numba notices a change of the file a kernel stands in, but not of the files its callees stand in: after an upgrade, or a
pull, a kernel in an unchanged file would go on running the old callees. So the digest of all sources is kept next to
the compiled code, which is deleted when the digest differs.
"""

import contextlib
import hashlib
import os
from pathlib import Path

from numba import njit

STAMP = "sources.sha256"


@njit(cache=True)
def _nothing() -> None:
    """Never called: numba tells from it where code compiled from this folder is kept."""


def where_code_is_kept() -> Path:
    """The folder of compiled code of this folder's kernels."""
    return Path(str(_nothing.stats.cache_path))


def forget_old_code(sources: Path, kept: Path) -> None:
    """Delete the code in `kept` unless it was compiled from the present files of `sources`."""
    digest = hashlib.sha256()
    for file in sorted(sources.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    stamp = kept / STAMP
    with contextlib.suppress(OSError):  # a folder that cannot be written holds no code of ours
        if stamp.exists() and stamp.read_text(encoding="ascii") == digest.hexdigest():
            return
        for pattern in ("*.nbi", "*.nbc"):
            for file in kept.glob(pattern):
                file.unlink(missing_ok=True)
        fresh = stamp.with_name(f"{STAMP}.{os.getpid()}")
        fresh.write_text(digest.hexdigest(), encoding="ascii")
        fresh.replace(stamp)

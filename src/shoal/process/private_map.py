"""Who is who in a release, from the map in the publisher's private folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, ReleaseError
from shoal.model import Panel, Release
from shoal.release.private import data_digest, sweep_private

NOBODY = -1
"""Stands for a published row without an original: a fictive series."""


def match(original: Panel, release: Release, private: str | Path) -> NDArray[np.int64]:
    """For each published series, the position of the original it stands for; NOBODY if it stands for none.

    The map is the one kept when this very release was written; its name contains the data file's SHA-256.
    """
    published = release.published
    if not isinstance(published, Panel):
        raise InputError(
            f"This release holds {release.certificate['form']}, and only releases of values name single series. "
            "Attack or measure the candidate in Python instead, before you publish it."
        )
    table = read_map(release, Path(private))
    position = {str(name): at for at, name in enumerate(original.ids)}
    missing = sum(name not in position for name in table["id"])
    if missing:
        raise InputError(
            f"{missing} of {len(table)} series in the map are not in the originals given. Read the same table with the "
            "same columns as when the release was made."
        )
    stands_for = dict(zip(table["pseudonym"], (position[name] for name in table["id"]), strict=True))
    return np.array([stands_for.get(name, NOBODY) for name in published.ids.tolist()], dtype=np.int64)


def map_of(release: Release, private: Path) -> Path:
    """Where the map of a release is kept: a file, or a folder of parts."""
    path = private / f"pseudonyms-{data_digest(release.certificate['files'])[:16]}.parquet"
    if not path.exists() and private.is_dir():
        sweep_private(private)  # the publishing process may have been killed before the map was in place
    return path


def read_map(release: Release, private: Path) -> pl.DataFrame:
    """The columns `id` and `pseudonym` of the map that was kept with a release."""
    path = map_of(release, private)
    if not path.exists():
        raise ReleaseError(
            f"The private folder {str(private)!r} has no map of this release. It is kept when a release is written "
            "with --private DIR."
        )
    try:
        # A release in parts has a map in parts, too.
        files = sorted(path.glob("part-*.parquet")) if path.is_dir() else [path]
        return pl.read_parquet(files, columns=["id", "pseudonym"], glob=False)
    except (OSError, pl.exceptions.PolarsError):
        raise ReleaseError(f"The map of this release in {str(private)!r} cannot be read.") from None

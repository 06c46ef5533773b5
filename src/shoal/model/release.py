"""A candidate that passed the gate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.model.candidate import Published


@dataclass(frozen=True, eq=False)
class Release:
    """A release folder and what is in it.

    Parameters
    ----------
    path
        The folder.
    certificate
        The content of `release.json`.
    published
        The published series under their pseudonyms, or the profiles of groups, in the order of the file.
    """

    path: Path
    certificate: dict[str, Any]
    published: Published

    @property
    def values(self) -> NDArray[np.float64]:
        """The published array, rows in the order of the file."""
        return self.published.values

    def __repr__(self) -> str:
        return f"Release({str(self.path)!r}, {self.published!r})"

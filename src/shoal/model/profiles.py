"""Groups published as one profile each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.model.panel import Panel

MEAN = "mean"


@dataclass(frozen=True, eq=False, repr=False)
class Profiles:
    """One row per group: how many subjects it has, and figures of their readings at every instant. Immutable.

    Parameters
    ----------
    values
        Array (groups, instants, channels, bands); NaN = withheld.
    counts
        The number of different subjects in each group.
    bands
        What the figures are; the first is "mean".
    times, channels, timezone
        As in a Panel.
    names
        One name per group, unique. Default: positions.
    """

    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    bands: tuple[str, ...]
    times: NDArray[Any]
    channels: tuple[str, ...]
    timezone: str | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A panel of the means checks everything that profiles share with panels.
        if self.values.ndim != 4 or self.values.shape[3] != len(self.bands) or self.bands[:1] != (MEAN,):
            raise InputError("Profiles need values (groups, instants, channels, bands) whose first band is the mean.")
        n_groups = len(self.values)
        flat = Panel(
            self.values.reshape(n_groups, self.values.shape[1], -1),
            ids=self.names or None,
            times=self.times,
            channels=[f"{channel}\n{band}" for channel in self.channels for band in self.bands],
        )
        counts = np.array(self.counts, dtype=np.int64)
        if counts.shape != (n_groups,) or (counts < 1).any():
            raise InputError(f"{n_groups} profiles need a count of at least 1 each.")
        counts.setflags(write=False)
        object.__setattr__(self, "values", flat.values.reshape(self.values.shape))
        object.__setattr__(self, "times", flat.times)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "names", tuple(str(name) for name in flat.ids))

    @classmethod
    def of(cls, panel: Panel, values: NDArray[np.float64], counts: NDArray[np.int64], bands: tuple[str, ...]) -> Self:
        """Groups of the series of a panel, at its instants and in its channels."""
        return cls(values, counts, bands, panel.times, panel.channels, panel.timezone)

    @property
    def n_groups(self) -> int:
        """Number of profiles."""
        return len(self.values)

    @property
    def n_instants(self) -> int:
        """Number of points in time."""
        return int(self.values.shape[1])

    @property
    def n_channels(self) -> int:
        """Number of values per instant."""
        return len(self.channels)

    @property
    def crowds(self) -> NDArray[np.int64]:
        """The subjects behind each row."""
        return self.counts

    @property
    def n_missing(self) -> int:
        """Number of withheld means."""
        return int(np.isnan(self.values[..., 0]).sum())

    def digest(self) -> str:
        """SHA-256 of everything in the profiles."""
        state = hashlib.sha256(repr((self.values.shape, self.bands, self.channels, self.timezone, self.names)).encode())
        for array in (self.values, self.counts, self.times.view(np.int64)):
            state.update(np.ascontiguousarray(array).data)
        return state.hexdigest()

    def __len__(self) -> int:
        return self.n_groups

    def __repr__(self) -> str:
        return f"Profiles({self.n_groups} groups, {self.n_instants} instants, {', '.join(self.bands)})"

"""A panel or a release in the form queries read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.sax import parse, reconstruct
from shoal.features.shapes import unit_rows
from shoal.model import Envelopes, Panel, Profiles
from shoal.queries.estimation import complete


@dataclass(frozen=True, eq=False)
class Prepared:
    """What queries need from the data, computed once: ranges, weights, shapes and their directions.

    Parameters
    ----------
    data
        A panel (originals, or published values), envelopes, or group profiles. With several channels, a query names
        one, see `channel`. Ranges and letters that were not published are estimated, see `complete`.
    """

    data: Panel | Envelopes | Profiles

    def __post_init__(self) -> None:
        if not isinstance(self.data, Panel | Envelopes | Profiles):
            raise ParameterError("A query needs a Panel, Envelopes or Profiles.")
        if isinstance(self.data, Envelopes) and self.data.n_channels == 1:
            object.__setattr__(self, "data", complete(self.data, open_ends="series"))

    @property
    def channels(self) -> tuple[str, ...]:
        """The names of the channels."""
        return self.data.channel_names if isinstance(self.data, Envelopes) else self.data.channels

    def channel(self, name: str | None) -> Prepared:
        """One channel of it, prepared once; None stands for the only one."""
        if name is None and self.data.n_channels > 1:
            raise ParameterError(
                f"A condition is about one channel, and the data has {self.data.n_channels} channels. Name one: "
                f"{', '.join(self.channels)}."
            )
        if name is not None and name not in self.channels:
            raise ParameterError(f"The data has no channel {name!r}. Channels: {', '.join(self.channels)}.")
        if self.data.n_channels == 1:
            return self
        assert name is not None
        if name not in self._apart:
            self._apart[name] = Prepared(_one_channel(self.data, name))
        return self._apart[name]

    @cached_property
    def _apart(self) -> dict[str, Prepared]:
        return {}

    @property
    def times(self) -> NDArray[Any]:
        """The instants of the values."""
        return self.data.times

    @cached_property
    def all_times(self) -> NDArray[Any]:
        """The instants of the values, estimated ones included: the same in all channels."""
        return self.channel(self.channels[0]).times

    @property
    def timezone(self) -> str | None:
        """The time zone in which people name its instants."""
        return self.data.timezone

    @property
    def pattern_times(self) -> NDArray[Any]:
        """The instants of the shapes."""
        if isinstance(self.data, Envelopes) and self.data.pattern_times is not None:
            return self.data.pattern_times
        return self.data.times

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The number that each row stands for: the subjects of a group, else 1."""
        if isinstance(self.data, Profiles):
            return self.data.counts.astype(np.float64)
        return np.ones(len(self.data))

    @cached_property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The values between which each row lies at each instant; for a group, its mean."""
        if isinstance(self.data, Envelopes):
            return self.data.low, self.data.high
        values = self.data.values[..., 0] if isinstance(self.data, Profiles) else self.data.values
        values = values.reshape(len(values), -1)
        return values, values

    @cached_property
    def shapes(self) -> NDArray[np.float64]:
        """Every series with mean 0 and deviation 1; for envelopes, what the words say about it."""
        if isinstance(self.data, Envelopes):
            return reconstruct(parse(self.data.patterns), self.data.levels)
        return normalize(self.bounds[0])

    @cached_property
    def directions(self) -> NDArray[np.float64]:
        """Every shape with mean 0 and length 1, or all 0 if it is constant."""
        return unit_rows(self.shapes if isinstance(self.data, Envelopes) else self.bounds[0])


def _one_channel(data: Panel | Envelopes | Profiles, name: str) -> Panel | Envelopes | Profiles:
    if isinstance(data, Envelopes):
        return data.channel(name)
    place = data.channels.index(name)
    if isinstance(data, Profiles):
        return replace(data, values=data.values[:, :, place : place + 1], channels=(name,))
    return Panel(data.values[:, :, place], times=data.times, timezone=data.timezone, channels=(name,))


Data = Panel | Envelopes | Profiles | Prepared
"""What a query can be run on."""


def prepare(data: Data) -> Prepared:
    """The data in the form that queries read; already prepared data is returned as it is.

    Examples
    --------
    >>> prepare(Panel([[1.0, 3.0]])).shapes.tolist()
    [[-1.0, 1.0]]
    """
    return data if isinstance(data, Prepared) else Prepared(data)


def normalize(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows with mean 0 and deviation 1 (divisor n). A constant row becomes 0; one with a gap is missing throughout."""
    z: NDArray[np.float64] = unit_rows(x) * np.sqrt(x.shape[1])
    return z

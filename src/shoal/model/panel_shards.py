"""A panel too large for one place, in shards: each has some of the subjects with all their series.

A shard is a `Panel`. An engine decides where shards are stored and what runs the work on them; this module has what
everything else needs to know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model.panel import Origin, Panel
from shoal.model.roles import Roles

MOST_SAMPLED = 192 * 2**20
"""Largest size of a sample in bytes: it is assembled in one place."""

RUN = 32
"""Results that are merged at once: those of this many consecutive shards, then this many of the merged results."""

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")


class Store(ABC, Generic[T]):
    """Items stored somewhere, each small enough for one worker.

    Work gets the number of the shard and the item. It must survive pickling, and depend only on its arguments: what is
    lost with a worker is computed again.
    """

    n_shards: int
    """How many there are."""

    @abstractmethod
    def map(self, work: Callable[[int, T], R]) -> list[R]:
        """Small results of all shards, in their order."""

    @abstractmethod
    def reduce(self, work: Callable[[int, T], R], merge: Callable[[Sequence[R]], R]) -> R:
        """One result of all shards, merged on the engine, so that one place never holds more than `RUN` results.

        `merge` makes one result from several, in the order of their shards. It gets runs of `RUN` shards, then runs of
        `RUN` such results, and so on. Only the number of shards decides which are merged, so every engine rounds alike.
        """

    @abstractmethod
    def each(self, work: Callable[[int, T], U], tell: Callable[[int, U], Any] | None = None) -> Store[U]:
        """Large results, which stay where they are; `told` has what `tell` returns for each."""

    @abstractmethod
    def told(self) -> list[Any]:
        """What `tell` returned for each item when it was made: small, and readable without the items."""

    @abstractmethod
    def persist(self) -> None:
        """Compute the items once, if they are used more than once."""

    @abstractmethod
    def gather(self, parts: Sequence[Sequence[int]], work: Callable[[int, list[tuple[int, T]]], R]) -> list[R]:
        """Process several shards together in one place, in the given order; small results, in the order of the
        parts."""


@dataclass(frozen=True, eq=False)
class Whole:
    """What is known about all shards of a panel together."""

    n_series: int
    n_subjects: int
    n_missing: int
    times: NDArray[Any]
    channels: tuple[str, ...] = ("value",)
    timezone: str | None = None
    attributes: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    origin: Origin | None = None
    roles: Roles = field(default_factory=Roles)

    @property
    def n_instants(self) -> int:
        """Number of points in time."""
        return len(self.times)

    @property
    def n_channels(self) -> int:
        """Number of values per instant."""
        return len(self.channels)

    @property
    def one_series_per_subject(self) -> bool:
        """Whether every series has a subject of its own."""
        return self.n_subjects == self.n_series


class Series(Protocol):
    """All series of a panel, wherever an engine stores them, before they are split into shards."""

    @property
    def whole(self) -> Whole:
        """What is known about them together."""
        ...

    def split(self, plan: ShardPlan) -> tuple[Store[Panel], tuple[int, ...]]:
        """Split into shards of similar subjects; also gives each shard's only attribute value by number, -1 for
        several."""
        ...

    def sample(self, n_series: int, seed: int) -> Panel:
        """About this many series in memory, of subjects drawn by a hash of their names, sorted by id."""
        ...

    def hold_out(self, share: float, seed: int) -> tuple[Series, Series]:
        """Hold out about `share` of the subjects, drawn by the seed and the readings; returns the others, then
        those."""
        ...

    def names(self) -> list[str]:
        """The ids of all series, sorted."""
        ...


class PanelReader(Protocol):
    """An engine that reads a panel in shards."""

    def read_panel(self, source: Any, *, shard_size: int | None = None, **settings: Any) -> PanelShards:
        """Series over common instants, with the settings of `shoal.read_panel`."""
        ...


class SeriesLabels(Protocol):
    """Assigns series to strata by their names, each separately."""

    def labels(self, ids: Sequence[Any], subjects: Sequence[Any]) -> NDArray[np.int64]:
        """A number for each series, from its id and its subject."""
        ...


@dataclass(frozen=True)
class Strata:
    """What a method must not mix: series that differ in these attributes, or in their stratum by name.

    Parameters
    ----------
    attributes
        Names; a stratum has the same entries in all of them.
    labels
        Assigns series to strata by name.
    whole
        Whether a method wants all subjects of a stratum in one shard.
    """

    attributes: tuple[str, ...] = ()
    labels: tuple[SeriesLabels, ...] = ()
    whole: bool = False


@dataclass(frozen=True)
class ShardPlan:
    """How a panel must be split.

    Parameters
    ----------
    size
        About how many subjects a shard has, up to twice as many; None: a size that follows from the data.
    least
        The fewest subjects of a shard, whatever the requested size; and the fewest of every stratum in it, unless it
        has all of them.
    within
        What the steps of a method must not mix.
    features
        What similar means.
    """

    size: int | None = None
    least: int = 1
    within: tuple[Strata, ...] = ()
    features: Any = "raw"


class Shards(Generic[T]):
    """Items of one kind, one per shard: panels, or the candidates that a method makes from them."""

    store: Store[T]
    whole: Whole

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return self.store.n_shards

    def map(self, work: Callable[[int, T], R]) -> list[R]:
        """Small results of all shards, in their order."""
        return self.store.map(work)

    def add_up(self, work: Callable[[int, T], R]) -> R:
        """The sum of the results of all shards."""
        total: R = self.store.reduce(work, added)
        return total


def added(several: Sequence[R]) -> R:
    """Their sum, from first to last."""
    return reduce(add, several)


class _Unsplit(Store[Any]):
    """A placeholder for shards that do not exist yet."""

    n_shards = 0

    def map(self, work: Any) -> list[Any]:
        raise ParameterError("This panel is not split into shards yet; methods do that.")

    def reduce(self, work: Any, merge: Any) -> Any:
        return self.map(work)

    def each(self, work: Any, tell: Any = None) -> Any:
        return self.map(work)

    def told(self) -> list[Any]:
        return self.map(None)

    def persist(self) -> None:
        self.map(None)

    def gather(self, parts: Any, work: Any) -> list[Any]:
        return self.map(work)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PanelShards(Shards[Panel]):
    """A panel that is too large for one place. `shoal.read_panel(..., engine=...)` makes one.

    Parameters
    ----------
    series
        All series, as they were read; a method splits them as it needs.
    whole
        What is known about them together.
    size
        The requested size of shards; None: one that follows from the data.
    store
        The shards.
    values
        For each shard, the number of its only attribute value, -1 if there are several.
    """

    series: Series
    whole: Whole
    size: int | None = None
    store: Store[Panel] = field(default_factory=_Unsplit)
    values: tuple[int, ...] = ()

    @classmethod
    def of(cls, series: Series, size: int | None = None) -> PanelShards:
        """Series that are not yet split."""
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
            raise ParameterError("shard_size must be a whole number of subjects, at least 1.")
        return cls(series=series, whole=series.whole, size=size)

    @property
    def n_series(self) -> int:
        """Number of series."""
        return self.whole.n_series

    @property
    def n_subjects(self) -> int:
        """Number of different subjects."""
        return self.whole.n_subjects

    @property
    def origin(self) -> Origin | None:
        """Where it came from, for the certificate."""
        return self.whole.origin

    @property
    def roles(self) -> Roles:
        """Roles of the columns it was read from."""
        return self.whole.roles

    def split(self, plan: ShardPlan) -> PanelShards:
        """The same panel in shards of the requested size."""
        store, values = self.series.split(plan if plan.size is not None else replace(plan, size=self.size))
        return replace(self, store=store, values=values)

    def affordable(self, n_series: int) -> int:
        """This many series, or as many as fit in one place with what is published of them: fewer if they are long."""
        per_series = 24 * self.whole.n_instants * self.whole.n_channels  # original, published and curve
        return min(n_series, max(100, MOST_SAMPLED // per_series))

    def hold_out(self, share: float, seed: int) -> tuple[PanelShards, PanelShards]:
        """Hold out about `share` of the subjects, drawn by the seed and the readings; returns the others, then those,
        not yet split."""
        rest, out = self.series.hold_out(share, seed)
        return PanelShards.of(rest, self.size), PanelShards.of(out, self.size)

    def unsplit(self) -> PanelShards:
        """The same panel without its shards."""
        return replace(self, store=_Unsplit())

    def sample(self, n_series: int, seed: int = 0) -> Panel:
        """About this many series in memory, of subjects drawn by a hash of their names."""
        return self.series.sample(n_series, seed)

    def __repr__(self) -> str:
        return f"Shards({self.n_series} series, {self.whole.n_instants} instants, {self.n_subjects} subjects)"

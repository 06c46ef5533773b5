"""Events through the reposition window, snapshot after snapshot: what both whole tables and streams do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.methods.relay_window import Departure, RelayWindow
from shoal.model.event_codes import as_numbers, take_rows
from shoal.model.names import value_of

_HOME = "__home"


@dataclass(frozen=True, eq=False)
class Eligible:
    """An l-eligible snapshot that may be published."""

    number: int
    time: pl.Series
    """Its own instant, which its events get: one entry."""
    events: pl.DataFrame
    """Columns as they arrived, with their own times; there may be none."""
    moved: dict[int, int]
    """How many of them came from how many snapshots before; 0 for those that stayed."""
    suppressed: pl.DataFrame
    """Events that arrived with this snapshot and are never published."""


class Repositioning:
    """The window with the events in it.

    Events of one sensitive value are interchangeable for the window, and chance decides which of them stay, move or are
    suppressed: the order of arrival decides nothing.

    Parameters
    ----------
    window
        The window on counts.
    sensitive, time
        Names of two of the columns.
    price
        Gives the costs of suppression for sensitive values, written as text.
    seed
        For the chance; each snapshot draws from its own child.
    """

    def __init__(
        self,
        window: RelayWindow,
        *,
        time: str,
        sensitive: str,
        price: Callable[[Iterable[str]], NDArray[np.float64]],
        seed: int,
    ) -> None:
        self.window = window
        self.time, self.sensitive = time, sensitive
        self.seed = seed
        self._price = price
        self._codes: dict[str, int] = {}
        self._first: dict[str, str] = {}
        self._spelt: dict[str, int] = {}
        self._beta = np.zeros(0)
        self._frames: dict[int, pl.DataFrame] = {}
        self._orders: dict[int, NDArray[np.int64]] = {}
        """The rows of each frame by sensitive value: what the window numbers."""
        self._times: dict[int, pl.Series] = {}

    def push_each(self, snapshots: Sequence[pl.DataFrame]) -> Iterator[Eligible]:
        """Push one snapshot after the other; gives those that leave. Values that are known are looked up at once."""
        if len(snapshots) < 2:
            known = None
        else:
            known = self._look_up(pl.concat([snapshot[self.sensitive] for snapshot in snapshots]))
        start = 0
        for snapshot in snapshots:
            end = start + len(snapshot)
            eligible = self.push(snapshot, None if known is None else known[start:end])
            start = end
            if eligible is not None:
                yield eligible

    def push(self, snapshot: pl.DataFrame, codes: NDArray[np.int64] | None = None) -> Eligible | None:
        """The events of one instant arrive, later than all before; gives the snapshot that leaves, if one does."""
        if snapshot.is_empty():
            raise InputError("A snapshot without events has no place in the window. Leave it out.")
        number = self.window.entered
        time = snapshot[self.time][:1]
        # As numbers: where clocks are set back, Python holds the second of two equal clock times not to be later.
        instants = as_numbers(snapshot[self.time])
        if (instants != instants[0]).any():
            raise InputError(
                f"The snapshot at position {number} has events of several times; push one instant at once."
            )
        if self._times and instants[0] <= as_numbers(self._times[number - 1])[0]:
            raise InputError(f"The snapshot at position {number} is not later than the one before.")
        if codes is None:
            codes = self._encode(snapshot[self.sensitive])
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number, 0)))
        shuffled = rng.permutation(len(codes))
        self._frames[number] = snapshot
        self._orders[number] = shuffled[np.argsort(codes[shuffled], kind="stable")]
        self._times[number] = time
        counts = np.bincount(codes, minlength=len(self._codes)).astype(np.int64)
        departure = self.window.push(counts, self._beta)
        return None if departure is None else self._leave(departure)

    def flush(self) -> list[Eligible]:
        """All snapshots that are still there."""
        return [self._leave(departure) for departure in self.window.flush(self._beta)]

    def _encode(self, values: pl.Series) -> NDArray[np.int64]:
        codes = self._look_up(values)
        if codes is None:
            # All spellings of a value are the one that came first.
            for value in sorted(set(_texts(values).to_list()) - self._spelt.keys()):
                first = self._first.setdefault(value_of(value), value)
                self._spelt[value] = self._codes.setdefault(first, len(self._codes))
            self._beta = self._price(self._codes)
            codes = self._look_up(values)
            assert codes is not None
        return codes

    def _look_up(self, values: pl.Series) -> NDArray[np.int64] | None:
        """The code of each value, or None where one has not come before."""
        encoded = _texts(values).to_arrow(compat_level=pl.CompatLevel.oldest()).dictionary_encode()
        found = [self._spelt.get(text, -1) for text in encoded.dictionary.to_pylist()]
        codes = np.array(found, dtype=np.int64)
        return None if -1 in found else np.asarray(codes[encoded.indices.to_numpy()], dtype=np.int64)

    def _leave(self, departure: Departure) -> Eligible:
        number = departure.number
        parts = [self._take(home, rows) for home, rows in departure.rows]
        eligible = Eligible(
            number,
            self._times[number],
            pl.concat(parts) if parts else self._frames[number][:0],
            departure.moved,
            self._take(number, departure.suppressed),
        )
        kept = self.window.homes
        self._frames = {home: self._frames[home] for home in kept}
        self._orders = {home: self._orders[home] for home in kept}
        # The last time stays, to tell whether the next is later.
        self._times = {home: t for home, t in self._times.items() if home > number}
        return eligible

    def _take(self, home: int, rows: NDArray[np.int64]) -> pl.DataFrame:
        frame = self._frames[home]
        return take_rows(frame, self._orders[home][rows]) if len(rows) else frame[:0]

    def state(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The events that are there, and the rest as JSON knows it."""
        rows = [take_rows(frame, self._orders[home]) for home, frame in self._frames.items()]
        frames = [frame.with_columns(pl.lit(home).alias(_HOME)) for home, frame in zip(self._frames, rows, strict=True)]
        facts = {"seed": self.seed, "values": list(self._codes), "window": self.window.state()}
        return (pl.concat(frames) if frames else pl.DataFrame()), facts

    def restore(self, rows: pl.DataFrame, facts: dict[str, Any]) -> None:
        """Become what `state` was taken from."""
        self.seed = int(facts["seed"])
        self._codes = {value: code for code, value in enumerate(facts["values"])}
        self._first, self._spelt = {value_of(value): value for value in reversed(facts["values"])}, dict(self._codes)
        self._beta = self._price(self._codes)
        self.window.restore(facts["window"])
        homes = [] if rows.is_empty() else rows.partition_by(_HOME, maintain_order=True)
        self._frames = {int(part[_HOME][0]): part.drop(_HOME) for part in homes}
        self._orders = {home: np.arange(len(frame)) for home, frame in self._frames.items()}
        self._times = {home: frame[self.time][:1] for home, frame in self._frames.items()}


def _texts(values: pl.Series) -> pl.Series:
    """Values as text; 0.0 and -0.0 are one."""
    return (
        values if values.dtype == pl.String else (values + 0.0 if values.dtype.is_float() else values).cast(pl.String)
    )

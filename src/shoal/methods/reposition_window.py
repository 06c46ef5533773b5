"""Events through the reposition window, snapshot after snapshot: what both whole tables and streams do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.kernels.arrays import Floats, Ints
from shoal.methods.relay_window import DueSnapshot, RelayWindow
from shoal.methods.remedies import HOME, Remedy
from shoal.methods.signatures import Signatures
from shoal.model.event_codes import as_numbers, take_rows
from shoal.model.names import value_of


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
    """Events of this snapshot or of earlier ones that, as is known now, are never published."""
    groups: Ints | None = None
    """The group of each event, where groups follow from earlier snapshots."""


class Repositioning:
    """The window with the events in it.

    To the window, events of one sensitive value are interchangeable, and it is random which of them stay, move or are
    suppressed: the order of arrival plays no role.

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
    remedy
        What happens to events without a place, given what numbers sensitive values.
    signatures
        What subjects were published with, where that must stay the same.
    """

    def __init__(
        self,
        window: RelayWindow,
        *,
        time: str,
        sensitive: str,
        price: Callable[[Iterable[str]], Floats],
        seed: int,
        remedy: Callable[[Callable[[pl.Series], Ints]], Remedy],
        signatures: Signatures | None = None,
    ) -> None:
        self.window = window
        self.remedy = remedy(self._encode)
        self.signatures = signatures
        self.time, self.sensitive = time, sensitive
        self.seed = seed
        self._price = price
        self._codes: dict[str, int] = {}
        self._first: dict[str, str] = {}
        self._spelt: dict[str, int] = {}
        self._beta = np.zeros(0)
        self._frames: dict[int, pl.DataFrame] = {}
        self._orders: dict[int, Ints] = {}
        """The rows of each frame by sensitive value: what the window numbers."""
        self._times: dict[int, pl.Series] = {}

    @property
    def figures(self) -> dict[str, Any]:
        """How windows were planned and what the remedy and invariance did, for the recipe."""
        invariance = {} if self.signatures is None else self.signatures.figures()
        return {**self.window.figures, **self.remedy.figures(), **invariance}

    def push_each(self, snapshots: Sequence[pl.DataFrame]) -> Iterator[Eligible]:
        """Push one snapshot after another; returns those that leave. Known values are looked up at once."""
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

    def push(self, snapshot: pl.DataFrame, codes: Ints | None = None) -> Eligible | None:
        """Add the events of one instant, later than all before; returns the snapshot that leaves, if any."""
        if snapshot.is_empty():
            raise InputError("A snapshot without events has no place in the window. Skip it.")
        number = self.window.entered
        time = snapshot[self.time][:1]
        # As numbers: when clocks are set back, Python does not consider the second of two equal clock times later.
        instants = as_numbers(snapshot[self.time])
        if (instants != instants[0]).any():
            raise InputError(
                f"The snapshot at position {number} has events of several times; push one instant at a time."
            )
        if self._times and instants[0] <= as_numbers(self._times[number - 1])[0]:
            raise InputError(f"The snapshot at position {number} is not later than the one before.")
        if codes is None:
            codes = self._encode(snapshot[self.sensitive])
        rng = self._rng(number, 0)
        shuffled = rng.permutation(len(codes))
        self._frames[number] = snapshot
        self._orders[number] = shuffled[np.argsort(codes[shuffled], kind="stable")]
        self._times[number] = time
        counts = np.bincount(codes, minlength=len(self._codes)).astype(np.int64)
        departure = self.window.push(counts, self._beta)
        return None if departure is None else self._leave(departure)

    def flush(self) -> list[Eligible]:
        """All snapshots that are still there."""
        last = self.window.entered - 1
        return [self._leave(departure, last=departure.number == last) for departure in self.window.flush(self._beta)]

    def _encode(self, values: pl.Series) -> Ints:
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

    def _look_up(self, values: pl.Series) -> Ints | None:
        """The code of each value, or None if one has not come before."""
        encoded = _texts(values).to_arrow(compat_level=pl.CompatLevel.oldest()).dictionary_encode()
        found = [self._spelt.get(text, -1) for text in encoded.dictionary.to_pylist()]
        codes = np.array(found, dtype=np.int64)
        return None if -1 in found else np.asarray(codes[encoded.indices.to_numpy()], dtype=np.int64)

    def _leave(self, departure: DueSnapshot, *, last: bool = False) -> Eligible:
        number = departure.number
        rows, lost = departure.rows, departure.suppressed
        groups = None
        if self.remedy.kind == "suppress" and self.signatures is None:
            # The home of events is not needed, so there is no further column.
            events, suppressed, moved = self._taken(rows, number), self._taken(lost, number), departure.moved
        else:
            homes = self._with_homes(rows, number), self._with_homes(lost, number)
            left = self.remedy.apply(number, *homes, self._rng(number, 2), last=last)
            if self.signatures is not None:
                left, groups = self.signatures.apply(left, self._encode, self._rng(number, 1))
            moved = Counter((number - left.events[HOME]).to_list())
            events, suppressed = left.events.drop(HOME), left.suppressed.drop(HOME)
        eligible = Eligible(
            number,
            self._times[number],
            events,
            {late: moved[late] for late in sorted(moved) if moved[late]},
            suppressed,
            groups,
        )
        kept = self.window.homes
        self._frames = {home: self._frames[home] for home in kept}
        self._orders = {home: self._orders[home] for home in kept}
        # The last time is kept, to check whether the next is later.
        self._times = {home: t for home, t in self._times.items() if home > number}
        return eligible

    def _taken(self, rows: Sequence[tuple[int, Ints]], number: int) -> pl.DataFrame:
        """Events of several homes."""
        parts = [self._take(home, places) for home, places in rows if len(places)]
        return pl.concat(parts) if parts else self._frames[number][:0]

    def _with_homes(self, rows: Sequence[tuple[int, Ints]], number: int) -> pl.DataFrame:
        """Events of several homes, each with its home."""
        parts = [self._take(home, places).with_columns(pl.lit(home).alias(HOME)) for home, places in rows]
        return pl.concat(parts) if parts else self._frames[number][:0].with_columns(pl.lit(number).alias(HOME))

    def _take(self, home: int, rows: Ints) -> pl.DataFrame:
        return take_rows(self._frames[home], self._orders[home][rows])

    def _rng(self, number: int, purpose: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number, purpose)))

    def state(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The events that are there, and the rest as JSON."""
        rows = [take_rows(frame, self._orders[home]) for home, frame in self._frames.items()]
        frames = [frame.with_columns(pl.lit(home).alias(HOME)) for home, frame in zip(self._frames, rows, strict=True)]
        if self.remedy.held is not None and len(self.remedy.held):
            # Their homes are below 0, to distinguish them from those in the window.
            frames.append(self.remedy.held.with_columns((-1 - pl.col(HOME)).alias(HOME)))
        facts = {
            "seed": self.seed,
            "values": list(self._codes),
            "window": self.window.state(),
            "remedy": self.remedy.facts(),
            "signatures": None if self.signatures is None else self.signatures.facts(),
        }
        return (pl.concat(frames) if frames else pl.DataFrame()), facts

    def restore(self, rows: pl.DataFrame, facts: dict[str, Any]) -> None:
        """Restore `state`."""
        self.seed = int(facts["seed"])
        self._codes = {value: code for code, value in enumerate(facts["values"])}
        self._first, self._spelt = {value_of(value): value for value in reversed(facts["values"])}, dict(self._codes)
        self._beta = self._price(self._codes)
        self.window.restore(facts["window"])
        held = None if rows.is_empty() else rows.filter(pl.col(HOME) < 0).with_columns((-1 - pl.col(HOME)).alias(HOME))
        self.remedy.restore(held, facts["remedy"])
        if self.signatures is not None:
            self.signatures.restore(facts["signatures"])
        homes = [] if rows.is_empty() else rows.filter(pl.col(HOME) >= 0).partition_by(HOME, maintain_order=True)
        self._frames = {int(part[HOME][0]): part.drop(HOME) for part in homes}
        self._orders = {home: np.arange(len(frame)) for home, frame in self._frames.items()}
        self._times = {home: frame[self.time][:1] for home, frame in self._frames.items()}

    def refuse_unsound(self, no_events: pl.DataFrame | None = None) -> None:
        """Raise ValueError unless what was restored is a window of these events, with columns as in `no_events`."""
        n_values = len(self._codes)
        sound = all(isinstance(value, str) for value in self._codes) and len(self._spelt) == n_values
        counts: dict[int, Ints] = {}
        instants: list[int] = []
        for home, frame in self._frames.items():
            codes = self._encode(frame[self.sensitive])
            own = as_numbers(frame[self.time])
            sound &= bool((np.diff(codes) >= 0).all() and (own == own[0]).all())
            counts[home] = np.bincount(codes, minlength=n_values).astype(np.int64)
            instants.append(int(own[0]))
        held = [] if self.remedy.held is None else [self.remedy.held.drop(HOME)]
        for frame in held:
            self._encode(frame[self.sensitive])
        schemas = [frame.schema for frame in (*self._frames.values(), *held)]
        sound &= no_events is None or all(schema == no_events.schema for schema in schemas)
        if not (
            sound
            and self.seed >= 0
            and len(self._codes) == n_values  # no event has a value that is not among them
            and bool((np.diff(instants) > 0).all())
            and self.window.is_sound(counts)
            and self.remedy.is_sound(n_values)
            and (self.signatures is None or self.signatures.is_sound(n_values))
        ):
            raise ValueError("not the state of a window")


def _texts(values: pl.Series) -> pl.Series:
    """Values as text; 0.0 and -0.0 are one."""
    return (
        values if values.dtype == pl.String else (values + 0.0 if values.dtype.is_float() else values).cast(pl.String)
    )

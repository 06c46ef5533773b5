"""Series published as a range at each instant, with their shape separate."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.model.columns import plain_column
from shoal.model.panel import Panel
from shoal.model.repeated_rows import once, unpacked

ENDS = ("low", "high")
"""What is published at each instant and channel."""


@dataclass(frozen=True, eq=False, repr=False)
class Envelopes:
    """One row per series: the range of its values at each instant, and a word for its shape. Immutable.

    Parameters
    ----------
    low, high
        Arrays (series, instants) or (series, instants, channels): the range of each value, ends included. No gaps.
    levels, patterns
        For each series the level (number of letters in use) and the word of its shape, one letter per instant of
        `pattern_times`. With several channels, the words of the channels one after another, all at this level.
    times
        The instants of the ranges.
    pattern_times
        The instants of the words, if they differ. Default: `times`.
    word_instants
        How many instants the words were formed over: letters say where a value lies among those of its series.
        Default: as many as `times` and `pattern_times` are together.
    subjects
        The person or household behind each series, for the check and not for the release. Default: every row its own.
    ids
        One name per series, unique. Default: positions.
    timezone
        As in `Panel`.
    sensitive
        Sensitive columns published with the series, one entry per series: a mapping from name to array. Numbers and
        booleans stay as they are, everything else becomes text.
    channels
        Names of the channels. Default: as in `Panel`.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    levels: NDArray[np.int64]
    patterns: tuple[str, ...]
    times: NDArray[Any]
    pattern_times: NDArray[Any] | None = None
    word_instants: int | None = None
    subjects: Sequence[Any] | None = None
    ids: Sequence[Any] | None = None
    timezone: str | None = None
    sensitive: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    channels: Sequence[str] | None = None

    def __post_init__(self) -> None:
        # A panel of each bound checks everything that envelopes share with panels.
        low, high = (
            Panel(bound, ids=self.ids, times=self.times, subjects=self.subjects, channels=self.channels)
            for bound in (self.low, self.high)
        )
        n = low.n_series
        if low.values.shape != high.values.shape:
            raise InputError(
                "Envelopes need low and high as (series, instants) or (series, instants, channels) arrays of the same "
                "shape."
            )
        if low.n_missing or high.n_missing or (low.values > high.values).any():
            raise InputError("Every envelope needs both ends at every instant, the lower one first.")
        levels = np.array(self.levels, dtype=np.int64)
        if levels.shape != (n,) or len(self.patterns) != n or (levels < 1).any():
            raise InputError(f"{n} series need a pattern and a level of at least 1 each.")
        times = (
            low.times
            if self.pattern_times is None
            else Panel([[0.0] * len(self.pattern_times)], times=self.pattern_times).times
        )
        if any(len(word) != len(times) * low.n_channels for word in self.patterns):
            each = "" if low.n_channels == 1 else f" and {low.n_channels} channels"
            raise InputError(f"Every pattern needs one letter for each of its {len(times)} instants{each}.")
        n_known = len(np.union1d(low.times, times))
        n_words = n_known if self.word_instants is None else int(self.word_instants)
        if n_words < n_known:
            raise InputError(f"Words cannot be formed over {n_words} instants if {n_known} are published.")
        levels.setflags(write=False)
        found = {
            "low": _plain(low),
            "high": _plain(high),
            "levels": levels,
            "patterns": tuple(self.patterns),
            "times": low.times,
            "pattern_times": times,
            "word_instants": n_words,
            "subjects": low.subject_codes,
            "ids": low.ids,
            "sensitive": _locked(self.sensitive, n),
            "channels": low.channels,
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # A locked mapping cannot be pickled; workers of an engine need envelopes. Those of a group travel once.
        arguments = {f.name: getattr(self, f.name) for f in fields(self)}
        packed = {"low": once(self.low), "high": once(self.high), "sensitive": dict(self.sensitive)}
        return (_rebuild, (arguments | packed,))

    @property
    def n_series(self) -> int:
        """Number of rows."""
        return len(self.low)

    @property
    def n_subjects(self) -> int:
        """Number of different subjects."""
        return int(self.subject_codes.max()) + 1

    @property
    def subject_codes(self) -> NDArray[np.int64]:
        """The subject of each series as a number, by order of first appearance."""
        return np.asarray(self.subjects, dtype=np.int64)

    @property
    def n_instants(self) -> int:
        """Number of instants of the ranges."""
        return int(self.low.shape[1])

    @property
    def n_channels(self) -> int:
        """Number of values at each instant."""
        return len(self.channel_names)

    @property
    def channel_names(self) -> tuple[str, ...]:
        """The channels; a single one is called "value" unless it has a name."""
        return tuple(self.channels or ())

    @property
    def values(self) -> NDArray[np.float64]:
        """Both ends of each channel, (series, instants, 2 x channels)."""
        return np.stack([self.low, self.high], axis=-1).reshape(self.n_series, self.n_instants, -1)

    @property
    def ends(self) -> NDArray[np.float64]:
        """All lower ends and all higher ends of a series in one row."""
        return np.concatenate([end.reshape(self.n_series, -1) for end in (self.low, self.high)], axis=1)

    @property
    def middles(self) -> NDArray[np.float64]:
        """The middle of each range: the best guess without the pattern."""
        middle: NDArray[np.float64] = self.low + 0.5 * (self.high - self.low)
        return middle

    def channel(self, name: str) -> Envelopes:
        """The ranges and words of one channel. Subjects whose words differ only in other channels become alike."""
        names = self.channel_names
        if name not in names:
            raise InputError(f"There is no channel {name!r}. Channels: {', '.join(names)}.")
        if len(names) == 1:
            return self
        place = names.index(name)
        length = len(self.patterns[0]) // len(names)
        return replace(
            self,
            low=self.low[:, :, place],
            high=self.high[:, :, place],
            patterns=tuple(word[place * length : (place + 1) * length] for word in self.patterns),
            channels=(name,),
        )

    def take(self, series: NDArray[np.int64]) -> Envelopes:
        """Some of the series by position, with everything that belongs to them."""
        return replace(
            self,
            low=self.low[series],
            high=self.high[series],
            levels=self.levels[series],
            patterns=tuple(self.patterns[i] for i in series.tolist()),
            subjects=self.subject_codes[series].tolist(),
            ids=None if self.ids is None else [self.ids[i] for i in series.tolist()],
            sensitive={name: column[series] for name, column in self.sensitive.items()},
        )

    def digest(self) -> str:
        """SHA-256 of everything that would be published."""
        state = hashlib.sha256(repr((self.low.shape, self.timezone, self.word_instants, self.patterns)).encode())
        assert self.pattern_times is not None
        for array in (self.low, self.high, self.levels, self.times.view(np.int64), self.pattern_times.view(np.int64)):
            state.update(np.ascontiguousarray(array).data)
        if self.n_channels > 1:
            state.update(repr(self.channels).encode())
        for name, column in self.sensitive.items():
            # Lengths and types keep ("ab", "c") and ("a", "bc") apart, and 1 and "1".
            for entry in (name, *column.tolist()):
                text = f"{type(entry).__name__} {entry}".encode()
                state.update(len(text).to_bytes(8, "little") + text)
        return state.hexdigest()

    def __len__(self) -> int:
        return self.n_series

    def __repr__(self) -> str:
        channels = "" if self.n_channels == 1 else f"{self.n_channels} channels, "
        n_patterns = len(set(self.patterns))
        return f"Envelopes({self.n_series} series, {self.n_instants} instants, {channels}{n_patterns} patterns)"


def _rebuild(arguments: dict[str, Any]) -> Envelopes:
    return Envelopes(**arguments | {name: unpacked(arguments[name]) for name in ("low", "high")})


def _plain(bound: Panel) -> NDArray[np.float64]:
    """The values of a bound, without an axis for a single channel."""
    return bound.values if bound.n_channels > 1 else bound.values.reshape(bound.n_series, bound.n_instants)


def _locked(columns: Mapping[str, Any], n_series: int) -> Mapping[str, NDArray[Any]]:
    locked: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        plain = plain_column(np.asarray(column))
        if plain.shape != (n_series,):
            raise InputError(f"Column {name!r} has {plain.size} entries for {n_series} series. Give one per series.")
        plain.setflags(write=False)
        locked[str(name)] = plain
    return MappingProxyType(locked)

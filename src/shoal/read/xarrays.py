"""xarray objects: a dimension of time, one of series, and perhaps one of channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.read.tables import Table, rows_per_batch

_CLOCKS = ("time", "timestamp", "datetime", "date")


def is_xarray(source: Any) -> bool:
    """Whether this is an array or a dataset of xarray; asked without importing it."""
    return type(source).__module__.split(".")[0] == "xarray" and hasattr(source, "coords") and hasattr(source, "dims")


class XarrayTable(Table):
    """A row for each series and instant, as a long table.

    A DataArray holds the value; in a Dataset, every variable over series and time is a channel, as is every position of
    a third dimension. Coordinates along the series are columns, for `subject=`, `quasi=` and the like.
    """

    def __init__(self, source: Any) -> None:
        variables = dict(source.data_vars) if hasattr(source, "data_vars") else {"value": source}
        variables = {str(name): array for name, array in variables.items() if len(array.dims) > 1}
        dims = {dim: None for array in variables.values() for dim in array.dims}
        clock = _find_clock(source, tuple(dims))
        others = [dim for dim in dims if dim != clock]
        if clock is None or not 1 <= len(others) <= 2:
            raise InputError(
                "An xarray object needs a dimension of time and one of series, and may have one of channels; this one "
                f"has {len(dims)} candidate dimensions. Name the time dimension 'time', or transpose it."
            )
        series, channel = _tell_channels(source, others)
        self.dims = {"id": series, "time": clock} | ({} if channel is None else {"channel": channel})
        self._blocks: dict[str, Any] = {}
        for name, array in variables.items():
            if clock not in array.dims or series not in array.dims:
                continue
            if channel is None or channel not in array.dims:
                self._blocks[name] = array.transpose(series, clock)
                continue
            for position in range(array.sizes[channel]):
                label = str(_labels(source, channel)[position])
                own = label if len(variables) == 1 else f"{name} {label}"
                self._blocks[own] = array.isel({channel: position}).transpose(series, clock)
        if not self._blocks:
            raise InputError("No variable of the xarray dataset has both the dimension of time and that of series.")
        self._static = {
            str(name): np.asarray(coord.values)
            for name, coord in source.coords.items()
            if coord.dims == (series,) and name != series
        }
        self._ids, self._times = _labels(source, series), _labels(source, clock)
        names = ["id", "time", *self._blocks, *self._static]
        if len(set(names)) != len(names):
            raise InputError("Two parts of the xarray object share a name, or are called id or time. Rename them.")
        super().__init__(names, kind="array")
        self.values = tuple(self._blocks)

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Some series at a time."""
        n_times = len(self._times)
        at_once = max(1, rows_per_batch(len(columns)) // max(1, n_times))
        for start in range(0, len(self._ids), at_once):
            some = slice(start, start + at_once)
            n_series = len(self._ids[some])
            made = []
            for name in (self.names[c] for c in columns):
                if name == "time":
                    made.append(_arrow(np.tile(self._times, n_series)))
                elif name in self._blocks:
                    made.append(pa.array(np.asarray(self._blocks[name][some].values, np.float64).ravel()))
                else:
                    entries = self._ids if name == "id" else self._static[name]
                    made.append(_arrow(np.repeat(entries[some], n_times)))
            yield made


def _find_clock(source: Any, dims: tuple[Any, ...]) -> Any:
    typed = [dim for dim in dims if dim in source.coords and source.coords[dim].dtype.kind == "M"]
    named = [dim for dim in dims if str(dim).lower() in _CLOCKS]
    for found in (typed, named):
        if len(found) == 1:
            return found[0]
    return None


def _tell_channels(source: Any, others: list[Any]) -> tuple[Any, Any]:
    """The dimension of series and that of channels, if any: chosen by name, never by length."""
    if len(others) == 1:
        return others[0], None
    named = [dim for dim in others if str(dim).lower() in ("channel", "channels", "variable", "quantity", "register")]
    if len(named) != 1:
        raise InputError(
            "Two dimensions of the xarray object could be the series. Name the other one 'channel', or read one "
            "channel with isel()."
        )
    return next(dim for dim in others if dim != named[0]), named[0]


def _labels(source: Any, dim: Any) -> Any:
    return np.asarray(source.coords[dim].values) if dim in source.coords else np.arange(source.sizes[dim])


def _arrow(entries: Any) -> Any:
    if entries.dtype.kind == "M":
        return pa.array(entries.astype("datetime64[us]"))
    return pa.array(entries.tolist() if entries.dtype.kind in "OU" else entries)

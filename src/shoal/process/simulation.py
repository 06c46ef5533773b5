"""Simulated data as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal import simulate
from shoal.errors import ParameterError, ReleaseError
from shoal.model import Events, Panel

# What `n` is called by each generator, and which options it understands.
_GENERATORS: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "meters": (simulate.meters, "n_series", ("days", "step", "start", "families", "missing", "seed")),
    "occupancy": (simulate.occupancy, "n_subjects", ("days", "step", "start", "missing", "seed")),
    "events": (simulate.events, "per_day", ("days", "start", "missing", "seed")),
}


def simulate_table(kind: str, out: Path, options: dict[str, Any]) -> dict[str, int]:
    """Simulate and write a table; return its counts."""
    generator, size, takes = _GENERATORS[kind]
    unknown = sorted(set(options) - {"n", *takes})
    if unknown:
        raise ParameterError(f"{kind} takes no --{unknown[0]}. It takes: --n, {', '.join('--' + t for t in takes)}.")
    if out.suffix not in (".parquet", ".csv"):
        raise ParameterError("The table's name must end in .parquet or .csv.")
    if out.exists():
        raise ReleaseError(f"{str(out)!r} exists. Choose another name or remove it.")
    simulated = generator(**{size if name == "n" else name: value for name, value in options.items()})
    frame = simulated.frame if isinstance(simulated, Events) else long_table(simulated)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(out) if out.suffix == ".parquet" else frame.write_csv(out)
    except OSError as error:
        raise ReleaseError(f"Cannot write {str(out)!r}: {error.strerror}.") from None
    if isinstance(simulated, Events):
        return {"events": simulated.n_events}
    return {"series": simulated.n_series, "subjects": simulated.n_subjects, "instants": simulated.n_instants}


def long_table(panel: Panel) -> pl.DataFrame:
    """A panel as `id,time,value` with its subjects and static columns: raw data, for panels that may be seen."""
    n = panel.n_instants
    columns: dict[str, Any] = {"id": np.repeat(panel.ids.astype(str), n)}
    if panel.subjects is not None:
        columns["subject"] = np.repeat(panel.subjects.astype(str), n)
    columns["time"] = np.tile(panel.times, panel.n_series)
    for channel, name in enumerate(panel.channels):
        columns[name] = pl.Series(panel.values.reshape(panel.n_series * n, -1)[:, channel]).fill_nan(None)
    for name, column in {**panel.attributes, **panel.sensitive}.items():
        columns[name] = np.repeat(column, n)
    return pl.DataFrame(columns)

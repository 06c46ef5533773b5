"""Simulated data as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal import simulate
from shoal.errors import ParameterError, ReleaseError
from shoal.model import Events, Panel
from shoal.read import read_panel
from shoal.release import load_release


def trained_on_tables(
    n_series: int = 500,
    *,
    loads: str | None = None,
    temperatures: str | None = None,
    models: int = 60,
    **options: Any,
) -> Panel:
    """Households from models of loads and temperatures in tables; these are read up to their first gap."""
    if loads is None or temperatures is None:
        raise ParameterError(
            "trained needs --loads and --temperatures: hourly tables of some zones and of some weather stations."
        )
    zones, stations = (read_panel(table, missing="keep") for table in (loads, temperatures))
    return simulate.trained_households(n_series, loads=zones, temperatures=stations, n_models=models, **options)


# What `n` is called by each generator, and which options it understands.
_GENERATORS: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "meters": (simulate.meters, "n_series", ("days", "step", "start", "families", "missing", "seed")),
    "occupancy": (simulate.occupancy, "n_subjects", ("days", "step", "start", "missing", "seed")),
    "trained": (trained_on_tables, "n_series", ("loads", "temperatures", "days", "models", "degrees", "seed")),
    "events": (simulate.events, "per_day", ("days", "start", "missing", "seed")),
}

_FROM_RELEASE: tuple[Any, str, tuple[str, ...]] = (simulate.from_release, "n_series", ("at_least", "seed"))


def simulate_table(
    kind: str | None, out: Path, options: dict[str, Any], *, from_release: Path | None = None
) -> dict[str, int]:
    """Simulate data, or draw curves from a release, and write a table; return its counts."""
    if (kind is None) == (from_release is None):
        raise ParameterError(f"Name what to simulate, one of {', '.join(_GENERATORS)}, or give --from-release DIR.")
    name = kind or "--from-release"
    generator, size, takes = _GENERATORS[kind] if kind is not None else _FROM_RELEASE
    if unknown := [option for option in sorted(options) if option not in ("n", *takes)]:
        listed = ", ".join("--" + option.replace("_", "-") for option in takes)
        raise ParameterError(f"{name} takes no --{unknown[0].replace('_', '-')}. It takes: --n, {listed}.")
    if out.suffix not in (".parquet", ".csv"):
        raise ParameterError("The table's name must end in .parquet or .csv.")
    if out.exists():
        raise ReleaseError(f"{str(out)!r} exists. Choose another name or remove it.")
    simulated = generator(
        *(() if from_release is None else (load_release(from_release),)),
        **{size if option == "n" else option: value for option, value in options.items()},
    )
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

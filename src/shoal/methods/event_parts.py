"""Shared by methods for events: which snapshots are eligible, and snapshots combined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.errors import InputError, ParameterError
from shoal.kernels.arrays import Ints
from shoal.model import EventTables
from shoal.model.event_codes import as_numbers
from shoal.model.event_tables import TIME


def value_codes(column: pl.Series) -> tuple[Ints, int]:
    """The rank of each value among the different ones, missing first, and their number."""
    ranks = column.rank("dense")
    codes = (
        ranks.fill_null(0).to_numpy().astype(np.int64) if ranks.null_count() else ranks.to_numpy().astype(np.int64) - 1
    )
    return codes, int(codes.max()) + 1


def refuse_ineligible(times: pl.Series, codes: Ints, l: int) -> None:
    """Refuse events of several times, or with one sensitive value above a share of 1/l."""
    instants = as_numbers(times) if times.null_count() == 0 else np.zeros(0)
    if not len(instants) or (instants != instants[0]).any():
        raise InputError(f"A snapshot has exactly one time; this table of {len(times)} events does not.")
    most = int(np.bincount(codes).max())
    if most * l > len(codes):
        raise ParameterError(
            f"A snapshot of {len(codes)} events is not eligible for l={l}: one sensitive value has {most} of them, "
            f"but may have {len(codes) // l}. Reposition events first, or lower l."
        )


def concat(parts: Sequence[EventTables]) -> EventTables:
    """One release of several snapshots, in order of time.

    Parameters
    ----------
    parts
        At least one; all bucketised or all generalised, of the same columns, each of other instants.
    """
    if not parts:
        raise InputError("There is no snapshot to publish.")
    first = parts[0]
    for part in parts:
        if (part.records.schema, part.quasi, part.sensitive) != (first.records.schema, first.quasi, first.sensitive):
            raise InputError("Snapshots of one release need the same columns of the same types.")
    records = pl.concat([part.records for part in parts])
    if records[TIME].n_unique() != sum(part.n_snapshots for part in parts):
        raise InputError("Two parts of a release have a snapshot of the same time.")
    counts = [part.counts for part in parts if part.counts is not None]
    # Stable: inside a snapshot rows stay sorted by all columns.
    return EventTables(
        records.sort(TIME, maintain_order=True).rechunk(),
        pl.concat(counts).sort(TIME, maintain_order=True).rechunk() if counts else None,
        first.quasi,
        first.sensitive,
    )

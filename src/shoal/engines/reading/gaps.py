"""Policies for missing values on an engine, in the order they are given.

Interpolating and dropping series need one series at a time. Dropping instants needs to know at which instants any
series has a gap; those are counted first, on the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.reading.key_counts import KeyCounts, count_keys
from shoal.engines.reading.summary import ACCOUNT, COUNTED, counted, helper
from shoal.engines.rows import ROW, pack, unpack
from shoal.engines.work import Columns
from shoal.errors import InputError
from shoal.read.draft import PanelDraft
from shoal.read.missing import DropInstants, DropSeries, Fail, Interpolate, Policy, refuse_gaps


@dataclass(frozen=True, eq=False)
class PanelInstants:
    """The instants of a panel in the making; times are None for bare positions."""

    times: NDArray[np.int64] | None
    n_instants: int
    n_channels: int
    on_clock: bool

    def draft(self, rows: NDArray[np.float64]) -> PanelDraft:
        """Rows in the form that the policies take."""
        shape = (len(rows), self.n_instants) if self.n_channels == 1 else (len(rows), self.n_instants, self.n_channels)
        return PanelDraft(values=rows.reshape(shape), times=self.times, on_clock=self.on_clock)

    def keep(self, which: NDArray[np.bool_]) -> PanelInstants:
        """Only these instants, with the times they had."""
        times = np.arange(self.n_instants, dtype=np.int64) if self.times is None else self.times
        return replace(self, times=times[which], n_instants=int(which.sum()))


@dataclass(frozen=True)
class GapCounts:
    """Counts over all series."""

    n_series: int
    n_gappy: int
    """Series with a gap."""
    account: Mapping[str, int]
    """What was done to readings while series were assembled."""
    infinite: int
    missing: int
    large: int
    long: int
    growing: int
    conflicts: tuple[int, ...]
    """Series in which each static column changes."""
    no_subject: int


@dataclass(frozen=True)
class _Count:
    subject: str | None

    def __call__(self, blocks: Blocks) -> Blocks:
        counts = KeyCounts()
        for block in blocks:
            counts.add("n_series", block.num_rows)
            for name in COUNTED:
                numbers = block.column(helper(name)).to_numpy()
                if name == "conflicts":
                    for bit in range(int(numbers.max(initial=0)).bit_length()):
                        counts.add(name, np.count_nonzero(numbers >> bit & 1), bit)
                else:
                    counts.add(name, int(numbers.sum()))
                if name == "missing":
                    counts.add("n_gappy", np.count_nonzero(numbers))
            if self.subject is not None:
                counts.add("no_subject", block.column(self.subject).null_count)
        yield from counts.blocks()


def totals(engine: Engine, table: Table, n_static: int, subject: str | None = None) -> GapCounts:
    """Add up the counts of all series."""
    names = [helper(name) for name in COUNTED] + ([] if subject is None else [subject])
    some = engine.map(table, Columns(tuple(names)), pa.schema([table.schema.field(name) for name in names]))
    counts = count_keys(engine, some, _Count(subject))
    one = {
        name: counts.get(name, {}).get(0, 0)
        for name in ("n_series", "n_gappy", "infinite", "missing", "large", "long", "growing", "no_subject")
    }
    conflicts = counts.get("conflicts", {})
    account = {name: counts.get(name, {}).get(0, 0) for name in ACCOUNT}
    return GapCounts(**one, account=account, conflicts=tuple(conflicts.get(bit, 0) for bit in range(n_static)))


def handle_gaps(
    engine: Engine, table: Table, instants: PanelInstants, policies: Sequence[Policy], start: GapCounts
) -> tuple[Table, PanelInstants, GapCounts, dict[str, int]]:
    """Apply the policies in order to a kept table; what they change is kept as well.

    The last item is the account of all that was done to readings, without zeros.
    """
    now, first = start, instants
    n_interpolated = 0
    for policy in policies:
        if not now.missing:
            break
        if isinstance(policy, Fail):
            n_cells = now.n_series * instants.n_instants * instants.n_channels
            n_incomplete = start.account["incomplete"]
            raise refuse_gaps(now.n_gappy, now.n_series, now.missing, n_cells, n_incomplete, filled=policy.filled)
        if isinstance(policy, DropSeries):
            if now.n_gappy == now.n_series:
                raise InputError(
                    f"Every one of the {now.n_series} series has gaps, so drop-series would leave none. "
                    "Try drop-instants, or interpolate first."
                )
            table = engine.map(table, _Whole(), table.schema)
        elif isinstance(policy, DropInstants):
            gaps = count_keys(engine, table, _GapsAt(instants)).get("gaps", {})
            which = np.ones(instants.n_instants, dtype=np.bool_)
            which[list(gaps)] = False
            if not which.any():
                raise InputError(
                    f"Every one of the {len(which)} instants is missing in some series, so drop-instants would leave "
                    "none. Try drop-series, or interpolate first."
                )
            table = engine.map(table, _Keep(instants, which), table.schema)
            instants = instants.keep(which)
        elif isinstance(policy, Interpolate):
            policy.gap.needs(clock=instants.on_clock, setting="interpolate")
            table = engine.map(table, _Interpolated(instants, policy), table.schema)
        else:
            continue
        table = engine.keep(table)
        before, now = now.missing, totals(engine, table, len(start.conflicts))
        n_interpolated += before - now.missing if isinstance(policy, Interpolate) else 0
    done = {name: n for name, n in start.account.items() if name != "doubtful"} | {
        "interpolated": n_interpolated,
        "dropped_series": start.n_series - now.n_series,
        "dropped_instants": first.n_instants - instants.n_instants,
    }
    return table, instants, now, {name: n for name, n in done.items() if n}


@dataclass(frozen=True)
class _Whole:
    """Only series without a gap."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield block.filter(pa.compute.equal(block.column(helper("missing")), 0))


@dataclass(frozen=True)
class _GapsAt:
    """Count series with a gap at each instant."""

    instants: PanelInstants

    def __call__(self, blocks: Blocks) -> Blocks:
        gaps = np.zeros(self.instants.n_instants, dtype=np.int64)
        for block in blocks:
            rows = unpack(block.column(ROW)).reshape(block.num_rows, self.instants.n_instants, -1)
            gaps += np.isnan(rows).any(axis=2).sum(axis=0)
        counts = KeyCounts()
        at = np.flatnonzero(gaps)
        counts.add_keys("gaps", at, gaps[at])
        yield from counts.blocks()


@dataclass(frozen=True)
class _Keep:
    """Only some instants."""

    instants: PanelInstants
    which: NDArray[np.bool_]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            rows = unpack(block.column(ROW)).reshape(block.num_rows, self.instants.n_instants, -1)
            yield _with_rows(block, np.compress(self.which, rows, axis=1).reshape(block.num_rows, -1))


@dataclass(frozen=True)
class _Interpolated:
    """Short gaps filled."""

    instants: PanelInstants
    policy: Interpolate

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            draft = self.policy.apply(self.instants.draft(unpack(block.column(ROW)).copy()))
            yield _with_rows(block, draft.values.reshape(block.num_rows, -1))


def _with_rows(block: pa.RecordBatch, rows: NDArray[np.float64]) -> pa.RecordBatch:
    """The same series with other rows, and what is counted of these."""
    fresh = {ROW: pack(rows), **dict(zip((helper(name) for name in COUNTED), counted(rows, 1), strict=True))}
    return pa.record_batch([fresh.get(name, block.column(name)) for name in block.schema.names], schema=block.schema)

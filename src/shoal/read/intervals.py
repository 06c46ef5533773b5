"""Interval ends become starts, pairs of identifier and channel become channels, registers become differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.read.canonical import Canonical
from shoal.read.draft import PanelDraft
from shoal.read.durations import DAY, HOUR
from shoal.read.zones import Zone, find_zone

_FREQUENT = 0.04
"""The smallest share of all differences at which a length counts as a step of the table."""


def settle_interval(table: Canonical, timezone: str | None) -> None:
    """Find out whether times are starts or ends if no name says so: by the first and the last of the table.

    Ends run from the first step after midnight, starts from midnight. If the table counts in UTC, or its first time is
    neither, times stay as printed.
    """
    time = table.guess.time
    if time.interval == "end" and timezone is not None and not table.aware:
        _settle_labels(table, find_zone(timezone))
    if time.interval != "auto" or table.guess.blocks:
        return
    is_counted = not time.parts if time.form is None else time.form.is_counted  # a day number tells no more
    if is_counted or table.guess.zone == "UTC":
        time.interval_evidence = "nothing says whether they start or end an interval"
        return
    zone = None if timezone is None else find_zone(timezone)
    first: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    last = 0
    for (batch,) in table.batches([1]):
        instants = batch.cast("int64").drop_null().to_numpy()
        if not len(instants):
            continue
        first = np.unique(np.concatenate([first, np.unique(instants)[:2]]))[:2]
        last = max(last, int(instants.max()))
    if len(first) < 2 or (table.aware and table.offsets <= {0} and zone is None):
        time.interval_evidence = "nothing says whether they start or end an interval"
        return
    step = int(first[1] - first[0])
    shown = table.shown(np.array([first[0], last]), zone) % DAY
    if step < DAY and shown[0] == step and shown[1] != DAY - step:
        time.interval = "end"
        time.interval_evidence = "the first time of the table is one step after midnight"
        table.ends = True
    elif shown[0] == 0:
        time.interval = "start"
        time.interval_evidence = "the first time of the table is midnight"
    else:
        time.interval_evidence = "nothing says whether they start or end an interval"


def _settle_labels(table: Canonical, zone: Zone) -> None:
    """Whether ends are clock times, or the start plus one step, which differs when the clock is put back.

    Where summer time ends at 3 o'clock, the clock shows 2:00 to 2:59 twice as the end of an interval; a table that
    writes the start and one step has 3:00 twice instead. Then times become starts before they are placed.
    """
    parts: list[pl.DataFrame] = []
    for names, times in table.batches([0, 1]):
        instants = times.cast("int64").fill_null(0).to_numpy()
        near = zone.to_utc(instants)[1]
        for before in range(1, 5):
            near |= zone.to_utc(instants - before * HOUR // 4)[1]
        parts.append(pl.DataFrame({"id": pl.Series(names).filter(near), "time": instants[near]}))
    rows = pl.concat(parts)
    twice = rows.filter(rows.is_duplicated())["time"].unique().sort().to_numpy()
    steps = np.diff(rows["time"].unique().sort().to_numpy())
    if not len(twice) or not len(steps):
        return
    step = int(steps.min())
    as_ends, as_starts = zone.to_utc(twice)[1], zone.to_utc(twice - step)[1]
    if as_starts.sum() > as_ends.sum():
        table.shift, table.ends = step, False


def to_starts(draft: PanelDraft) -> PanelDraft:
    """The panel with the start of each interval instead of its end.

    An interval is as long as the time since the previous instant of the series, if that is a step of the table; after a
    gap, as long as the next one.
    """
    if draft.times is None or len(draft.times) < 2:
        return draft
    values = draft.values if draft.values.ndim == 3 else draft.values[:, :, None]
    n_series, _, n_channels = values.shape
    printed = np.ones(values.shape[:2], dtype=np.bool_) if draft.printed is None else draft.printed
    steps = _steps(printed, draft.times)
    if len(steps) == 1:
        draft.times = draft.times - steps[0]
        return draft
    starts = [_starts(draft.times[row], steps) for row in printed]
    times = np.unique(np.concatenate(starts))
    moved = np.full((n_series, len(times), n_channels), np.nan)
    for n, (row, own) in enumerate(zip(printed, starts, strict=True)):
        moved[n, np.searchsorted(times, own)] = values[n, row]
    draft.values = moved if draft.values.ndim == 3 else np.ascontiguousarray(moved[:, :, 0])
    draft.times, draft.printed = times, None
    return draft


def _steps(printed: NDArray[np.bool_], times: NDArray[np.int64]) -> NDArray[np.int64]:
    found = [np.diff(times)] if printed.all() else [np.diff(times[row]) for row in printed]
    lengths, counts = np.unique(np.concatenate(found), return_counts=True)
    return find_steps(lengths, counts) if len(lengths) else np.diff(times)[:1]


def find_steps(lengths: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The steps of a table: frequent differences within series, and at least the most frequent one."""
    often = counts >= _FREQUENT * counts.sum()
    usual = lengths[counts.argmax()]
    # A gap is no step: only what divides the usual one, or is divided by it no more than eightfold and often.
    fit = often & (
        ((lengths <= usual) & (usual % np.maximum(lengths, 1) == 0))
        | ((lengths > usual) & (counts >= 0.2 * counts.max()))
    )
    return np.asarray(lengths[fit])


def _starts(ends: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(ends) < 2:
        return np.asarray(ends - steps.min())
    gaps = np.diff(ends)
    own = np.concatenate([[gaps[0]], gaps])
    following = np.concatenate([gaps, [gaps[-1]]])
    length = np.where(np.isin(own, steps), own, np.where(np.isin(following, steps), following, steps.min()))
    return np.asarray(ends - length)


def fold_channels(draft: PanelDraft, table: Canonical) -> PanelDraft:
    """Series of pairs of identifier and channel, as channels of one series for each identifier."""
    if not table.coded or draft.ids is None:
        return draft
    pair_of = {code: pair for pair, code in table.pairs.items()}
    pairs = [pair_of[int(name)] for name in draft.ids]
    if draft.values.ndim == 3:
        # Several quantities in columns, and channels in rows: one of each pair.
        names = draft.channels or ()
        pairs = [(name, f"{channel} {own}".strip()) for name, channel in pairs for own in names]
        n_series, n_instants, n_own = draft.values.shape
        draft.values = draft.values.transpose(0, 2, 1).reshape(n_series * n_own, n_instants)
    ids = sorted({name for name, _ in pairs})
    channels = sorted({channel for _, channel in pairs})
    row_of, place_of = {name: n for n, name in enumerate(ids)}, {channel: n for n, channel in enumerate(channels)}
    values = np.full((len(ids), draft.values.shape[1], len(channels)), np.nan)
    first = [-1] * len(ids)
    for n, (name, channel) in enumerate(pairs):
        values[row_of[name], :, place_of[channel]] = draft.values[n]
        place = n * len(draft.ids) // len(pairs)
        first[row_of[name]] = place if first[row_of[name]] < 0 else first[row_of[name]]
    draft.values = values if len(channels) > 1 else np.ascontiguousarray(values[:, :, 0])
    draft.ids = ids
    draft.channels = tuple(channel or "value" for channel in channels)
    draft.subjects = None if draft.subjects is None else [draft.subjects[n] for n in first]
    draft.attributes = {name: column[first] for name, column in draft.attributes.items()}
    draft.sensitive = {name: column[first] for name, column in draft.sensitive.items()}
    return draft


_GROWING = 0.9
_AT_ONCE = 4096
"""Rows looked at together."""


def find_growing(rows: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows change and have ten readings, and which of these never fall."""
    if rows.shape[1] < 10:
        return np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_)
    present = ~np.isnan(rows)
    each = np.arange(len(rows))
    first, last = present.argmax(axis=1), rows.shape[1] - 1 - present[:, ::-1].argmax(axis=1)
    long = (present.sum(axis=1) >= 10) & (rows[each, first] != rows[each, last])
    falls = (rows[:, 1:] < np.fmax.accumulate(rows, axis=1)[:, :-1]).any(axis=1)
    return long, long & ~falls


def tell_growing(n_long: int, n_growing: int) -> tuple[str, ...]:
    """The note to the publisher if most series only grow."""
    if not n_long or n_growing < _GROWING * n_long:
        return ()
    return ("readings only grow, like those of meter registers; they are kept as they are",)


def handle_registers(draft: PanelDraft, register: str) -> PanelDraft:
    """Take differences if asked to; otherwise note that readings only grow, if they do."""
    if register == "difference":
        draft, n_back = differences(draft)
        draft.notes += ("readings of registers taken as differences to the next one",)
        draft.count(fell_back=n_back)
        return draft
    n_long = n_growing = 0
    rows = _rows(draft)
    for start in range(0, len(rows), _AT_ONCE):
        long, growing = find_growing(rows[start : start + _AT_ONCE])
        n_long, n_growing = n_long + int(long.sum()), n_growing + int(growing.sum())
    draft.notes += tell_growing(n_long, n_growing)
    return draft


def _rows(draft: PanelDraft) -> NDArray[np.float64]:
    """A row for each series and channel."""
    values = draft.values if draft.values.ndim == 3 else draft.values[:, :, None]
    return values.transpose(0, 2, 1).reshape(-1, values.shape[1])


def differences(draft: PanelDraft) -> tuple[PanelDraft, int]:
    """What a register counted from each of its readings to the next; missing where it falls back, and how often."""
    values: NDArray[Any] = draft.values
    shape = values.shape
    rows = _rows(draft)
    out = np.full_like(rows, np.nan)
    n_back = 0
    for n, row in enumerate(rows):
        places = np.flatnonzero(~np.isnan(row))
        steps = np.diff(row[places])
        n_back += int((steps < 0).sum())
        out[n, places[:-1]] = np.where(steps < 0, np.nan, steps)
    used = out.reshape(shape[0], -1, shape[1]).transpose(0, 2, 1)
    draft.values = np.ascontiguousarray(used if values.ndim == 3 else used[:, :, 0])
    return draft.keep_instants(np.arange(shape[1]) < shape[1] - 1), n_back

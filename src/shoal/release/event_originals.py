"""Whether published events are the original ones, where the publisher says they went. Called by the gate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.guarantees.event_groups import event_groups
from shoal.kernels.boxes import NOWHERE, TWICE, boxes_of_rows
from shoal.model import EventTables, PrivateEvents
from shoal.model.event_kinds import as_text, coarse_names, is_number, plain_types
from shoal.model.event_tables import COUNT, GROUP, TIME

Numbers = NDArray[np.int64]

_ROW = "__position"


def refuse_events(published: EventTables, private: PrivateEvents) -> str | None:
    """Why these tables are not the originals made diverse, in one line, or None.

    No event may be published before it happened. Then, for each snapshot: bucketised, the quasi-identifiers are those
    of the originals that went there, as often, and so are the sensitive values, and no group lacks a value that one of
    its records surely has; generalised, every original lies in one coarse record, and each coarse record has the
    sensitive values of those that lie in it. If a sensitive value may be published as a coarser one, both are compared
    in that form, and none is published unchanged more often than it went there.
    """
    original = private.original
    if (published.quasi, published.sensitive) != (original.quasi, original.sensitive):
        return "The candidate's columns are not those of the original events."
    home, n_snapshots = homes(private)
    went = np.asarray(private.snapshots)
    if went.shape != home.shape or went.dtype.kind != "i" or went.min() < -1 or went.max() >= n_snapshots:
        return "The candidate does not say in which snapshot each event is published."
    early = (went >= 0) & (went < home)
    if early.any():
        return f"Event position {int(early.argmax())} would be published before it happened."
    if (went < 0).all():
        return "The candidate suppresses all events."
    moved = _moved(private, went)
    if published.records.schema[TIME] != moved.schema[TIME]:
        return "The candidate's times have another type than the original ones."
    if private.coarser:
        if why := _refuse_finer(published, moved, private.coarser):
            return why
        published, moved = (
            _coarsened(published, private.coarser),
            _replaced(moved, published.sensitive, private.coarser),
        )
    if published.counts is None:
        return _refuse_coarse(published, moved)
    return _refuse_buckets(published, published.counts, moved)


def _refuse_finer(published: EventTables, moved: pl.DataFrame, coarser: Mapping[str, str]) -> str | None:
    """Unchanged values that occur more often than they went to a snapshot."""
    sensitive = published.sensitive
    if published.counts is None or moved.schema[sensitive] != pl.String:
        return "Values can be published as coarser ones only in groups, and only if they are text."
    given = published.counts.group_by(TIME, sensitive).agg(pl.col(COUNT).sum().cast(pl.Int64))
    had = moved.group_by(TIME, sensitive).agg(pl.len().cast(pl.Int64).alias("__had"))
    more = given.join(had, on=[TIME, sensitive], how="left").filter(
        (pl.col(COUNT) > pl.col("__had").fill_null(0)) & ~pl.col(sensitive).is_in(sorted(set(coarser.values())))
    )
    return (
        None
        if more.is_empty()
        else f"{len(more)} sensitive value(s) occur more often in a snapshot than they were moved there."
    )


def _coarsened(published: EventTables, coarser: Mapping[str, str]) -> EventTables:
    assert published.counts is not None
    keys = [TIME, GROUP, published.sensitive]
    replaced = _replaced(published.counts, published.sensitive, coarser)
    counts = replaced.group_by(keys).agg(pl.col(COUNT).sum()).select(published.counts.columns).sort(keys)
    return EventTables(published.records, counts.cast(published.counts.schema), published.quasi, published.sensitive)


def _replaced(frame: pl.DataFrame, sensitive: str, coarser: Mapping[str, str]) -> pl.DataFrame:
    return frame.with_columns(pl.col(sensitive).replace(dict(coarser)))


def refuse_late(private: PrivateEvents, window: int) -> str | None:
    """Why these events are published too late for a window of this many snapshots, or None."""
    home, _ = homes(private)
    late = private.snapshots - home >= window
    if late.any():
        return f"Event position {int(late.argmax())} would be published later than a window of {window} allows."
    return None


def homes(private: PrivateEvents) -> tuple[Numbers, int]:
    """For each original event the position of the snapshot it happened in, and how many snapshots there are."""
    ranks = private.original.frame[private.original.time].rank("dense").to_numpy().astype(np.int64)
    return ranks - 1, int(ranks.max())


def _moved(private: PrivateEvents, went: Numbers) -> pl.DataFrame:
    """The originals that are published, at their times of publication."""
    original = private.original
    frame = plain_types(original.frame.select(original.time, *original.quasi, original.sensitive))
    times = frame[original.time].unique().sort()
    kept = np.flatnonzero(went >= 0)
    quasi_and_value = frame.select(*original.quasi, original.sensitive)[kept]
    return quasi_and_value.insert_column(0, times.gather(went[kept]).alias(TIME))


def _refuse_buckets(published: EventTables, counts: pl.DataFrame, moved: pl.DataFrame) -> str | None:
    quasi, sensitive = list(published.quasi), published.sensitive
    records = published.records
    schema = {name: moved.schema[name] for name in (TIME, *quasi, sensitive)}
    if {**records.drop(GROUP).schema, sensitive: counts.schema[sensitive]} != schema:
        return "The candidate's columns have other types than the original ones."
    if note := event_groups(published).note:
        return f"The candidate's two tables disagree: {note}."
    n = len(records)
    alike = _classes(pl.concat([records.select(TIME, *quasi), moved.select(TIME, *quasi)]))
    if (place := _first_unlike(alike[:n], np.ones(n, dtype=np.int64), alike[n:])) is not None:
        return f"The quasi-identifiers of {_snapshot(records, moved, place)} do not match its originals."
    both = pl.concat([counts.select(TIME, sensitive), moved.select(TIME, sensitive)])
    same, amounts = _classes(both), counts[COUNT].cast(pl.Int64).to_numpy()
    if (place := _first_unlike(same[: len(counts)], amounts, same[len(counts) :])) is not None:
        return f"The sensitive values of {_snapshot(counts, moved, place)} do not match its originals."
    return _refuse_pairs(published, counts, moved, alike)


def _refuse_pairs(published: EventTables, counts: pl.DataFrame, moved: pl.DataFrame, alike: Numbers) -> str | None:
    """A record whose quasi-identifiers are in one group only is in that group, and so is its sensitive value."""
    sensitive, n = published.sensitive, len(published.records)
    groups = published.records.select(TIME, GROUP).with_columns(pl.Series("__alike", alike[:n]))
    sure = groups.group_by("__alike").agg(pl.col(GROUP).n_unique().alias("__groups"), pl.col(TIME, GROUP).first())
    found = (
        moved.select(sensitive)
        .with_columns(pl.Series("__alike", alike[n:]))
        .join(sure.filter(pl.col("__groups") == 1), on="__alike")
    )
    keys = [TIME, GROUP, sensitive]
    needed = found.group_by(keys).agg(pl.len().cast(pl.Int64).alias("__needed"))
    given = counts.group_by(keys).agg(pl.col(COUNT).sum())
    short = needed.join(given, on=keys, how="left").filter(pl.col("__needed") > pl.col(COUNT).fill_null(0))
    if short.is_empty():
        return None
    return f"The sensitive values of {len(short[[TIME, GROUP]].unique())} group(s) do not match their records."


def _classes(frame: pl.DataFrame) -> Numbers:
    """For each row the first row equal to it."""
    numbered = frame.with_row_index(_ROW)
    return numbered.select(pl.col(_ROW).min().over(frame.columns)).to_series().to_numpy().astype(np.int64)


def _first_unlike(classes: Numbers, amounts: Numbers, others: Numbers) -> int | None:
    """The first class that one side has more often than the other."""
    n = int(max(classes.max(), others.max())) + 1
    there = np.zeros(n, dtype=np.int64)
    np.add.at(there, classes, amounts)
    unlike = np.flatnonzero(there != np.bincount(others, minlength=n))
    return int(unlike[0]) if len(unlike) else None


def _snapshot(table: pl.DataFrame, moved: pl.DataFrame, place: int) -> str:
    """The snapshot of a row of both tables, one after the other, by its position among those with originals."""
    time = pl.concat([table[TIME], moved[TIME]])[place]
    times = moved[TIME].unique()
    if time not in times:
        return "a snapshot without originals"
    return f"the published snapshot {int((times < time).sum())} (counted from 0)"


class _Boxes(NamedTuple):
    """Coarse records in ranks among the originals' values; see the kernel."""

    ranks: list[Numbers]
    low: list[Numbers]
    high: list[Numbers]
    lists: list[Numbers]
    items: list[Numbers]

    def add_range(self, column: pl.Series, low: pl.Series, high: pl.Series) -> None:
        """A number; missing is rank 0. Not-a-number is missing, and there is one zero."""
        known = (column + 0.0).fill_nan(None).cast(column.dtype) if column.dtype.is_float() else column
        different = known.drop_nulls().unique().sort()
        self.ranks.append(known.rank("dense").fill_null(0).to_numpy().astype(np.int64))
        self.low.append(_ends(low, different.search_sorted(low.drop_nulls(), "left") + 1))
        self.high.append(_ends(high, different.search_sorted(high.drop_nulls(), "right")))
        self.lists.append(np.full(len(low), -1, dtype=np.int64))

    def add_list(self, column: pl.Series, texts: pl.Series) -> bool:
        """Anything else; False if a text is not a list."""
        entries = as_text(column).to_list()
        words = {entry: rank for rank, entry in enumerate(dict.fromkeys(entries))}
        self.ranks.append(np.array([words[entry] for entry in entries], dtype=np.int64))
        numbers: dict[str, int] = {}
        for text in texts.unique().to_list():
            try:
                listed = json.loads(text)
                known = sorted({words[entry] for entry in listed if entry in words})
            except (TypeError, ValueError):
                return False
            if not isinstance(listed, list):
                return False
            numbers[text] = len(self.items)
            self.items.append(np.array(known, dtype=np.int64))
        own = np.array([numbers[text] for text in texts.to_list()], dtype=np.int64)
        self.low.append(np.zeros(len(texts), dtype=np.int64))
        self.high.append(np.full(len(texts), len(words), dtype=np.int64))
        self.lists.append(own)
        return True

    def find(self, first: Numbers, last: Numbers) -> Numbers:
        """The box of each row."""
        if not self.ranks:
            # Without quasi-identifiers a snapshot is one box.
            return first
        ranks, low, high, lists = (np.stack(part, axis=1) for part in (self.ranks, self.low, self.high, self.lists))
        starts = np.concatenate([[0], np.cumsum([len(items) for items in self.items])]).astype(np.int64)
        items = np.concatenate([np.empty(0, dtype=np.int64), *self.items])
        return np.asarray(boxes_of_rows(ranks, first, last, low, high, lists, starts, items))


def _ends(column: pl.Series, ranks: pl.Series) -> Numbers:
    """The ranks of those that are not missing, 0 for the others."""
    ends = np.zeros(len(column), dtype=np.int64)
    ends[column.is_not_null().to_numpy()] = ranks.to_numpy()
    return ends


def _refuse_coarse(published: EventTables, moved: pl.DataFrame) -> str | None:
    records, sensitive = published.records, published.sensitive
    names = [name for column in published.quasi for name in coarse_names(column, moved.schema[column])]
    types = [pl.String() if not is_number(moved.schema[c]) else moved.schema[c] for c in published.quasi]
    expected = [d for c, d in zip(published.quasi, types, strict=True) for _ in coarse_names(c, moved.schema[c])]
    if records.columns != [TIME, *names, sensitive] or records.dtypes[1:] != [*expected, moved.schema[sensitive]]:
        return "The candidate's coarse columns do not match the original quasi-identifiers."
    boxes = records.select(published.alike).unique().sort(published.alike)
    coded = _Boxes([], [], [], [], [])
    for column in published.quasi:
        ends = coarse_names(column, moved.schema[column])
        if len(ends) == 2:
            coded.add_range(moved[column], boxes[ends[0]], boxes[ends[1]])
        elif not coded.add_list(moved[column], boxes[column]):
            return "A coarse record holds something that is not a list."
    first, last = (
        boxes[TIME].search_sorted(moved[TIME], side).to_numpy().astype(np.int64) for side in ("left", "right")
    )
    box = coded.find(first, last) if len(boxes) else np.full(len(moved), NOWHERE)
    for odd, words in ((NOWHERE, "no coarse record"), (TWICE, "more than one coarse record")):
        if n_odd := int((box == odd).sum()):
            return f"{n_odd} of {len(moved)} published events lie in {words} of their snapshot."
    there = _classes(pl.concat([records.select(published.alike), boxes]))
    of_record = np.empty(len(there), dtype=np.int64)
    of_record[there[len(records) :]] = np.arange(len(boxes))
    both = pl.DataFrame(
        {
            "box": np.concatenate([of_record[there[: len(records)]], box]),
            "value": pl.concat([records[sensitive], moved[sensitive]]),
        }
    )
    same, n = _classes(both), len(records)
    if _first_unlike(same[:n], np.ones(n, dtype=np.int64), same[n:]) is not None:
        return "The sensitive values of a coarse record do not match the events that lie in it."
    return None

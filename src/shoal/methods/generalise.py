"""Quasi-identifiers of one snapshot made coarse, so that records look alike: l-diverse Mondrian."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.guarantees.event_groups import counted_codes
from shoal.kernels.arrays import Ints
from shoal.kernels.mondrian import mondrian_groups
from shoal.methods.event_parts import refuse_ineligible, value_codes
from shoal.model import EventTables
from shoal.model.event_kinds import as_text, coarse_names, is_number, plain_types
from shoal.model.event_tables import TIME


def generalise(events: pl.DataFrame, *, quasi: Sequence[str], sensitive: str, l: int) -> EventTables:
    """Publish an l-eligible snapshot with ranges and lists in place of quasi-identifiers.

    Records that lie close together are published alike, and in each such group one sensitive value has at most one in l
    records. The same snapshot gives the same groups. Rows are sorted by all columns.

    A missing quasi-identifier is a separate value, below all others; if some records of a group have a number and
    others none, the range has no lower end. Not-a-number counts as missing.

    Parameters
    ----------
    events
        The events of one snapshot, with `time` and the columns named here; others are left out.
    quasi, sensitive
        Columns with quasi-identifiers and with the sensitive value.
    l
        One sensitive value may have at most one in l records of a group. Larger hides better and blurs more.

    Examples
    --------
    >>> events = pl.DataFrame({"time": [0] * 4, "age": [30, 41, 52, 37], "result": ["no", "yes", "no", "yes"]})
    >>> generalise(events, quasi=["age"], sensitive="result", l=2).records.rows()
    [(0, 30, 37, 'no'), (0, 30, 37, 'yes'), (0, 41, 52, 'no'), (0, 41, 52, 'yes')]

    References
    ----------
    K. LeFevre, D. DeWitt, R. Ramakrishnan, "Mondrian multidimensional k-anonymity", 2006; l-diversity as in A.
    Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity", 2006.
    """
    frame = plain_types(events[[TIME, *quasi, sensitive]])
    codes, _ = counted_codes(frame[sensitive])
    refuse_ineligible(frame[TIME], codes, l)
    frame = without_nan(frame, quasi)
    names = [TIME, *(name for column in quasi for name in coarse_names(column, frame.schema[column])), sensitive]
    if len(set(names)) != len(names) or set(quasi) & {
        n for c in quasi for n in coarse_names(c, frame.schema[c]) if n != c
    }:
        raise InputError(
            "Two columns would be published under one name: a coarse number gets the column's name with _low and "
            "_high. Rename one."
        )
    groups = close_groups(frame.select(quasi), codes, l)
    records = frame.select(TIME).hstack(coarse_columns(frame.select(quasi), groups)).hstack(frame.select(sensitive))
    return EventTables(records.sort(names), None, tuple(quasi), sensitive)


def close_groups(frame: pl.DataFrame, codes: Ints, l: int) -> Ints:
    """The group of each row, from its quasi-identifiers and sensitive values."""
    numbers = [is_number(dtype) for dtype in frame.dtypes]
    ranks = np.empty((frame.width, len(codes)), dtype=np.int64)
    values = np.zeros((frame.width, len(codes)))
    for place, column in enumerate(frame):
        ranks[place] = value_codes(column)[0]
        if numbers[place]:
            values[place] = column.cast(pl.Float64).to_numpy()
    order = np.argsort(ranks, axis=1, kind="stable")
    return np.asarray(mondrian_groups(ranks, values, np.array(numbers, dtype=np.bool_), order, codes, l))


def coarse_columns(frame: pl.DataFrame, groups: Ints) -> pl.DataFrame:
    """For each row, what is published about its group: both ends of numbers, a JSON list of anything else.

    Groups are numbers from 0 without gaps. The low end is missing if a value of the group is missing.
    """
    n_groups = int(groups.max()) + 1
    columns: list[pl.Series] = []
    for column in frame:
        codes, n_codes = value_codes(column)
        pairs = np.unique(groups * n_codes + codes)
        # Groups and, in each, values ascend.
        starts = np.searchsorted(pairs // n_codes, np.arange(n_groups + 1))
        different = pairs % n_codes
        first = np.empty(n_codes, dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        names = coarse_names(column.name, column.dtype)
        if len(names) == 2:
            ends = (different[starts[:-1]], different[starts[1:] - 1])
            columns += [column[first[end]][groups].alias(name) for name, end in zip(names, ends, strict=True)]
        else:
            words = [json.dumps(entry, ensure_ascii=False) for entry in as_text(column[first]).to_list()]
            lists = [f"[{', '.join(words[c] for c in different[a:b])}]" for a, b in pairwise(starts)]
            columns.append(pl.Series(column.name, lists, dtype=pl.String)[groups])
    return pl.DataFrame(columns) if columns else pl.DataFrame()


def without_nan(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The same table with one way to be missing and one zero in columns of numbers."""
    floats = [name for name in columns if frame.schema[name].is_float()]
    return frame.with_columns((pl.col(name) + 0.0).fill_nan(None).cast(frame.schema[name]) for name in floats)

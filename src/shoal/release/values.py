"""The published table of series: `id,time,value`, sorted by pseudonym and time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.guarantees.crowds import crowd_sizes, published_classes
from shoal.kernels.equal_rows import row_classes
from shoal.model import Panel, Private
from shoal.release.attributes import column_names, column_types, read_attributes, write_attributes
from shoal.release.canonical import read_long
from shoal.release.certificate import FILE_NAME, Certificate, ColumnsPart, CountsPart, FormName
from shoal.release.files import FileFormat, NotAPanelError, find_data, time_array, write_blocks

Grouped = Literal["series", "instants"]

_ROWS_AT_ONCE = 1 << 20
_PREFIX = "attribute"


def value_columns(channels: tuple[str, ...]) -> list[str]:
    """Names of the published value columns. A single channel is always called "value"."""
    if len(channels) == 1:
        return ["value"]
    # Plain words only, so that every reader of CSV takes them; never a name that is taken.
    taken = ["id", "time"]
    for name in channels:
        word = re.sub(r"\W", "_", name)
        while word in taken:
            word = f"value_{word}"
        taken.append(word)
    return taken[2:]


def write_values(panel: Panel, names: list[str], path: Path, file_format: FileFormat) -> None:
    """Write the rows of a panel under new names, in the order of the names."""
    order = np.argsort(np.array(names))
    per_block = max(1, _ROWS_AT_ONCE // panel.n_instants)
    blocks: Iterator[pa.Table] = (
        _table(panel, names, order[first : first + per_block]) for first in range(0, len(order), per_block)
    )
    write_blocks(blocks, path, file_format)


def _table(panel: Panel, names: list[str], rows: NDArray[np.int64]) -> pa.Table:
    listed = pa.array([names[i] for i in rows], pa.string())
    return long_table(listed, panel.values[rows], panel.times, panel.timezone, value_columns(panel.channels))


def long_table(
    names: pa.Array, values: NDArray[np.float64], times: NDArray[Any], timezone: str | None, columns: list[str]
) -> pa.Table:
    """Rows (series, instants, columns) as one row for each series and instant; missing is null."""
    cells = values.reshape(len(names) * len(times), len(columns))
    arrays = [
        names.take(pa.array(np.repeat(np.arange(len(names)), len(times)))),
        time_array(np.tile(times, len(names)), timezone),
        *(pa.array(cells[:, c], pa.float64(), from_pandas=True) for c in range(len(columns))),
    ]
    return pa.table(arrays, names=["id", "time", *columns])


def read_values(path: Path, channels: tuple[str, ...], timezone: str | None, *, most_rows: int) -> Panel:
    """Read a published table back, rows in the order of the file; ids are the pseudonyms."""
    table = read_long(path, "id", value_columns(channels), what="series", timezone=timezone, most_rows=most_rows)
    try:
        return Panel(
            table.figures if len(channels) > 1 else table.figures[..., 0],
            ids=table.names,
            times=table.clock,
            channels=channels,
            timezone=timezone,
            copy=False,
        )
    except InputError as error:
        raise NotAPanelError(f"{path.name} is no longer a panel: {error}") from None


class ValuesForm:
    """One row per series and instant."""

    name: ClassVar[FormName] = "values"

    def refuse(self, published: Panel, private: Private) -> str | None:
        """A method that loses track of who is behind a row would create its own crowd."""
        expected = private.original.subject_codes
        if private.stands_for is not None:
            if len(private.stands_for) != published.n_series or private.stands_for.max() >= len(expected):
                return (
                    "The candidate does not say which original each of its rows belongs to: the crowd cannot be "
                    "counted."
                )
            # A fictive row is a subject of its own.
            fictive = private.stands_for < 0
            codes = np.where(fictive, len(expected) + np.arange(len(fictive)), expected[private.stands_for])
            expected = _by_first_appearance(codes)
        if np.array_equal(expected, published.subject_codes):
            return None
        return "The candidate's subjects do not match the original panel, row by row: the crowd cannot be counted."

    def names_needed(self, published: Panel, private: Private) -> list[Any]:
        """Every row has a name of its own."""
        return list(private.original.ids if private.stands_for is None else range(published.n_series))

    def name_of_each_series(self, private: Private, names: list[str]) -> list[str]:
        """Names are those of the series; several if it was cut into slices, none if it was not drawn."""
        if private.stands_for is None:
            return names
        names_of_all: list[list[str]] = [[] for _ in range(private.original.n_series)]
        for row, name in zip(private.stands_for, names, strict=True):
            if row >= 0:
                names_of_all[row].append(name)
        return [" ".join(several) for several in names_of_all]

    def counts(self, published: Panel, private: Private) -> CountsPart:
        """Groups are the series published alike, or those published alike at an instant."""
        grouped: Grouped = "series" if private.groups.ndim == 1 else "instants"
        return count_groups(
            group_sizes(published, grouped),
            grouped,
            series=published.n_series,
            subjects=published.n_subjects,
            instants=published.n_instants,
            channels=published.n_channels,
            missing=published.n_missing,
        )

    def columns(self, published: Panel, withheld: int) -> ColumnsPart:
        """`id,time,value`, and attributes."""
        channels, types = published.channels, column_types(published.attributes, _PREFIX)
        return ColumnsPart(
            published=("id", "time", *value_columns(channels), *types),
            channels=channels,
            attributes=types,
            withheld=withheld - len(types),
        )

    def write(self, published: Panel, names: list[str], folder: Path, file_format: FileFormat) -> list[Path]:
        """Rows in the order of the pseudonyms."""
        path = folder / f"data.{file_format}"
        write_values(published, names, path, file_format)
        if not published.attributes:
            return [path]
        attributes, order = folder / f"attributes.{file_format}", np.argsort(np.array(names))
        columns = {name: column[order] for name, column in published.attributes.items()}
        write_attributes([names[i] for i in order], columns, attributes, file_format, _PREFIX)
        return [path, attributes]

    def renamed(self, published: Panel, names: list[str]) -> Panel:
        """The same order and names as in the file."""
        order = np.argsort(np.array(names))
        return Panel(
            published.values[order],
            ids=[names[i] for i in order],
            times=published.times,
            attributes=dict(
                zip(
                    column_names(published.attributes, _PREFIX),
                    (column[order] for column in published.attributes.values()),
                    strict=True,
                )
            ),
            channels=published.channels,
            timezone=published.timezone,
            copy=False,
        )

    def read(self, folder: Path, certificate: Certificate) -> Panel:
        """The published panel; ids are the pseudonyms."""
        panel = read_values(
            find_data(folder, certificate.files),
            certificate.columns.channels,
            certificate.time.timezone,
            most_rows=certificate.counts.series * certificate.counts.instants,
        )
        if not certificate.columns.attributes:
            return panel
        return Panel(
            panel.values,
            ids=panel.ids,
            times=panel.times,
            attributes=read_attributes(folder, certificate, panel.ids.tolist()),
            channels=panel.channels,
            timezone=panel.timezone,
            copy=False,
        )

    def findings(self, published: Panel, certificate: Certificate) -> list[str]:
        """Counts of series, instants and gaps."""
        counts = certificate.counts
        if (published.n_series, published.n_instants) != (counts.series, counts.instants):
            return [
                f"the data has {published.n_series} series of {published.n_instants} instants, "
                f"{FILE_NAME} says {counts.series} of {counts.instants}"
            ]
        if published.n_missing != counts.missing:
            return [f"the data has {published.n_missing} missing values, {FILE_NAME} says {counts.missing}"]
        return []

    def sizes(self, published: Panel, certificate: Certificate) -> dict[str, int] | None:
        """Sizes are counted in subjects, which the folder does not distinguish if they have several series."""
        counts = certificate.counts
        return group_sizes(published, counts.grouped) if counts.subjects == counts.series else None

    def describe(self, published: Panel, row: int, data_file: str) -> str:
        """The instants at which the series differs from the one most like it."""
        instants = _odd_instants(published, row)
        if len(instants) == 0:
            return f"series {row}"
        first = int(instants[0])
        return (
            f"series {row} is alone at {len(instants)} instant(s), the first is instant {first} "
            f"({data_file} row {row * published.n_instants + first}; all counted from 0)"
        )


def _by_first_appearance(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same codes numbered in the order in which they appear."""
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(len(first))
    return ranks[places.reshape(-1)]


def group_sizes(panel: Panel, grouped: Grouped) -> dict[str, int]:
    """How many groups of equal series, or of series equal at an instant, there are of each size, in subjects."""
    if grouped == "series":
        classes = published_classes(panel)
        return tally(crowd_sizes(classes, panel.subject_codes)[np.unique(classes)])
    columns = panel.values.reshape(panel.n_series, panel.n_instants, -1)
    return tally(np.concatenate([_sizes(columns[:, t], panel.subject_codes) for t in range(panel.n_instants)]))


def _sizes(rows: NDArray[np.float64], subjects: NDArray[np.int64]) -> NDArray[np.int64]:
    classes = row_classes(np.ascontiguousarray(rows).view(np.uint64))
    return crowd_sizes(classes, subjects)[np.unique(classes)]


def tally(sizes: NDArray[np.int64]) -> dict[str, int]:
    """How many groups there are of each size."""
    different, times = np.unique(sizes, return_counts=True)
    return {str(size): int(count) for size, count in zip(different, times, strict=True)}


def count_groups(sizes: dict[str, int], grouped: Grouped = "series", **counts: int) -> CountsPart:
    """The counts of a certificate from the sizes of the groups."""
    return CountsPart(
        grouped=grouped,
        groups=sum(sizes.values()),
        smallest_group=min(map(int, sizes)),
        largest_group=max(map(int, sizes)),
        group_sizes=sizes,
        **counts,
    )


def _odd_instants(panel: Panel, row: int) -> NDArray[np.int64]:
    """The instants at which a series differs from the series most like it."""
    bits = panel.values.view(np.uint64).reshape(panel.n_series, panel.n_instants, -1)
    differs = (bits != bits[row]).any(axis=2)
    distance = differs.sum(axis=1)
    distance[row] = panel.n_instants + 1
    return np.flatnonzero(differs[int(distance.argmin())])

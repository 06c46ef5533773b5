"""The published tables of envelopes and patterns, sorted by pseudonym.

`id,time,low,high` and `id,level,pattern`; if sensitive columns are published, `id` and these. With several channels the
ends are `a_low,a_high,b_low,b_high` for channels a and b, and a pattern is the words of the channels one after another.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.guarantees.crowds import crowd_sizes
from shoal.guarantees.kp_anonymity import envelope_classes
from shoal.model import Envelopes, Private
from shoal.model.envelopes import ENDS
from shoal.release.attributes import column_names, column_types, read_attributes, refuse_columns, write_attributes
from shoal.release.canonical import read_labels, read_long
from shoal.release.certificate import FILE_NAME, Certificate, ColumnsPart, CountsPart, FormName
from shoal.release.files import FileFormat, NotAPanelError, find_data, write_blocks
from shoal.release.profiles import profile_columns
from shoal.release.values import count_groups, long_table, tally

WORD_COLUMNS = {"id": pa.string(), "level": pa.int64(), "pattern": pa.string()}
"""The table of patterns."""


class EnvelopesForm:
    """One row per series and instant with both ends, and one per series with its pattern."""

    name: ClassVar[FormName] = "envelopes"

    def refuse(self, published: Envelopes, private: Private) -> str | None:
        """Rows must belong to the subjects they name, and every original must lie in its envelope."""
        original = private.original
        rows = np.arange(original.n_series) if private.rows is None else private.rows
        if len(rows) != published.n_series or len(np.unique(rows)) != len(rows):
            return (
                "The candidate does not say which original each of its envelopes belongs to: the crowd cannot be "
                "counted."
            )
        subjects = np.unique(original.subject_codes[rows], return_inverse=True)[1]
        if len(np.unique(np.stack([subjects, published.subject_codes]), axis=1).T) != subjects.max() + 1:
            return "The candidate's subjects do not match the original panel: the crowd cannot be counted."
        columns = np.searchsorted(original.times, published.times)
        if original.n_channels != published.n_channels:
            return f"The candidate has {published.n_channels} channel(s), the original panel {original.n_channels}."
        values = original.values[rows][:, columns].reshape(published.low.shape)
        outside = ((values < published.low) | (values > published.high)).reshape(len(rows), -1).any(axis=1)
        if outside.any():
            row = int(outside.argmax())
            return f"The series at position {row} does not lie in its envelope."
        return refuse_columns(published.sensitive, original.sensitive)

    def names_needed(self, published: Envelopes, private: Private) -> list[Any]:
        """Every published series has a name of its own."""
        ids = private.original.ids
        return list(ids if private.rows is None else ids[private.rows])

    def name_of_each_series(self, private: Private, names: list[str]) -> list[str]:
        """Names are those of the series; a suppressed one has none."""
        if private.rows is None:
            return names
        names_of_all = [""] * private.original.n_series
        for row, name in zip(private.rows, names, strict=True):
            names_of_all[row] = name
        return names_of_all

    def counts(self, published: Envelopes, private: Private) -> CountsPart:
        """Groups are the series that share an envelope."""
        return count_groups(
            _group_sizes(published),
            series=published.n_series,
            subjects=published.n_subjects,
            instants=published.n_instants,
            channels=published.n_channels,
            missing=0,
        )

    def columns(self, published: Envelopes, withheld: int) -> ColumnsPart:
        """`id,time`, both ends, `level,pattern`, and sensitive columns."""
        times = np.asarray(published.pattern_times)
        other = not np.array_equal(times, published.times)
        more = published.word_instants != len(np.union1d(times, published.times))
        return ColumnsPart(
            published=(
                *("id", "time", *profile_columns(published.channel_names, ENDS)),
                *("level", "pattern", *column_names(published.sensitive)),
            ),
            channels=published.channel_names if published.n_channels > 1 else ("value",),
            pattern_times=tuple(str(t) for t in times) if other else (),
            word_instants=published.word_instants if more else None,
            sensitive=column_types(published.sensitive),
            withheld=withheld - len(published.sensitive),
        )

    def write(self, published: Envelopes, names: list[str], folder: Path, file_format: FileFormat) -> list[Path]:
        """All tables in the order of the pseudonyms."""
        order = np.argsort(np.array(names))
        sorted_names = np.array(names)[order]
        data, patterns = folder / f"data.{file_format}", folder / f"patterns.{file_format}"
        ends = long_table(
            pa.array(sorted_names.tolist(), pa.string()),
            published.values[order],
            published.times,
            published.timezone,
            profile_columns(published.channel_names, ENDS),
        )
        words = pa.table(
            {
                "id": pa.array(sorted_names.tolist(), pa.string()),
                "level": pa.array(published.levels[order]),
                "pattern": pa.array([published.patterns[i] for i in order], pa.string()),
            }
        )
        write_blocks(iter([ends]), data, file_format)
        write_blocks(iter([words]), patterns, file_format)
        if not published.sensitive:
            return [data, patterns]
        attributes = folder / f"attributes.{file_format}"
        sorted_columns = {name: column[order] for name, column in published.sensitive.items()}
        write_attributes(sorted_names.tolist(), sorted_columns, attributes, file_format)
        return [data, patterns, attributes]

    def renamed(self, published: Envelopes, names: list[str]) -> Envelopes:
        """The same order and names as in the file."""
        order = np.argsort(np.array(names))
        sorted_rows = published.take(order)
        columns = zip(column_names(published.sensitive), sorted_rows.sensitive.values(), strict=True)
        return replace(sorted_rows, subjects=None, ids=[names[i] for i in order], sensitive=dict(columns))

    def read(self, folder: Path, certificate: Certificate) -> Envelopes:
        """The published envelopes and patterns; ids are the pseudonyms."""
        data, patterns = (find_data(folder, certificate.files, name) for name in ("data", "patterns"))
        n_series, zone = certificate.counts.series, certificate.time.timezone
        channels = certificate.columns.channels
        table = read_long(
            data,
            "id",
            profile_columns(channels, ENDS),
            what="series",
            timezone=zone,
            most_rows=n_series * certificate.counts.instants,
        )
        words = read_labels(patterns, WORD_COLUMNS, most_rows=n_series)
        ids = table.names
        if words["id"].to_list() != ids:
            raise NotAPanelError(f"{patterns.name} does not name the series of {data.name} in their order.")
        sensitive = read_attributes(folder, certificate, ids)
        try:
            return Envelopes(
                table.figures[..., 0::2],
                table.figures[..., 1::2],
                levels=words["level"].to_numpy(),
                patterns=tuple(words["pattern"].to_list()),
                times=table.clock,
                pattern_times=_pattern_times(certificate.columns.pattern_times, table.clock.dtype),
                word_instants=certificate.columns.word_instants,
                ids=ids,
                timezone=zone,
                sensitive=sensitive,
                channels=channels,
            )
        except InputError as error:
            raise NotAPanelError(f"{data.name} and {patterns.name} no longer fit: {error}") from None

    def findings(self, published: Envelopes, certificate: Certificate) -> list[str]:
        """Counts of series and instants."""
        counts = certificate.counts
        if (published.n_series, published.n_instants) != (counts.series, counts.instants):
            return [
                f"the data has {published.n_series} series of {published.n_instants} instants, "
                f"{FILE_NAME} says {counts.series} of {counts.instants}"
            ]
        return []

    def sizes(self, published: Envelopes, certificate: Certificate) -> dict[str, int] | None:
        """Sizes are counted in subjects, which the folder does not distinguish if they have several series."""
        counts = certificate.counts
        return _group_sizes(published) if counts.subjects == counts.series else None

    def describe(self, published: Envelopes, row: int, data_file: str) -> str:
        """Its first row in the file, and its row among the patterns and the attributes."""
        further = f", attributes row {row}" if published.sensitive else ""
        return (
            f"series {row} ({data_file} row {row * published.n_instants}, patterns row {row}{further}; "
            "all counted from 0)"
        )


def _group_sizes(envelopes: Envelopes) -> dict[str, int]:
    classes = envelope_classes(envelopes)
    return tally(crowd_sizes(classes, envelopes.subject_codes)[np.unique(classes)])


def _pattern_times(texts: tuple[str, ...], kind: Any) -> NDArray[Any] | None:
    """Instants as the certificate has them; raises if these are not instants."""
    try:
        times = np.array(texts, dtype=kind)
    except (ValueError, OverflowError):
        times = None
    if times is None or tuple(str(time) for time in times) != texts:
        raise NotAPanelError(f"{FILE_NAME} has pattern_times that are not instants of the data's kind.")
    return times if len(times) else None

"""The published tables of group profiles, `group,count,time,mean,…`, and of scenarios,
`group,count,time,mean,spread,z…,lagged`, sorted by group and time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.methods.aggregates import groups_of
from shoal.methods.scenarios import group_spreads, pool_shape
from shoal.model import Private, Profiles, Scenarios
from shoal.release.canonical import read_long
from shoal.release.certificate import FILE_NAME, Certificate, ColumnsPart, CountsPart, FormName
from shoal.release.files import FileFormat, NotAPanelError, find_data, time_array, write_blocks
from shoal.release.values import count_groups, tally, value_columns


def profile_columns(channels: tuple[str, ...], bands: tuple[str, ...]) -> list[str]:
    """Names of the published figures: the bands; with several channels, each under the channel's name."""
    if len(channels) == 1:
        return list(bands)
    return [f"{word}_{band}" for word in value_columns(channels) for band in bands]


def write_profiles(profiles: Profiles, names: list[str], path: Path, file_format: FileFormat) -> None:
    """Write profiles under new names, in the order of the names."""
    order = np.argsort(np.array(names))
    n_instants = profiles.n_instants
    figures = profiles.values[order].reshape(profiles.n_groups * n_instants, -1)
    columns = profile_columns(profiles.channels, profiles.bands)
    arrays = [
        pa.array(np.repeat(np.array(names)[order], n_instants).tolist(), pa.string()),
        pa.array(np.repeat(profiles.counts[order], n_instants), pa.int64()),
        time_array(np.tile(profiles.times, profiles.n_groups), profiles.timezone),
        *(pa.array(figures[:, place], pa.float64(), from_pandas=True) for place in range(len(columns))),
    ]
    table = pa.table(arrays, names=["group", "count", "time", *columns])
    write_blocks(iter([table]), path, file_format)


def read_profiles(
    path: Path,
    channels: tuple[str, ...],
    bands: tuple[str, ...],
    timezone: str | None,
    *,
    most_rows: int,
    kind: type[Profiles] = Profiles,
) -> Profiles:
    """Read published profiles, or another kind of them, back in the order of the file."""
    columns = profile_columns(channels, bands)
    table = read_long(path, "group", columns, whole=("count",), what="profile", timezone=timezone, most_rows=most_rows)
    counted = table.whole[..., 0]
    if (counted != counted[:, :1]).any():
        odd = int((counted != counted[:, :1]).any(axis=1).argmax())
        raise NotAPanelError(f"{path.name}: profile {odd} has two different counts.")
    try:
        return kind(
            values=table.figures.reshape(*counted.shape, len(channels), len(bands)),
            counts=counted[:, 0],
            bands=bands,
            times=table.clock,
            channels=channels,
            timezone=timezone,
            names=tuple(table.names),
        )
    except InputError as error:
        raise NotAPanelError(f"{path.name} is no longer a table of profiles: {error}") from None


def members_of(published: Profiles, private: Private) -> NDArray[np.int64]:
    """How many different subjects of a candidate's originals are in each of its groups."""
    n_subjects, kept = private.original.n_subjects, private.groups >= 0
    pairs = np.unique(private.groups[kept] * n_subjects + private.original.subject_codes[kept])
    return np.bincount(pairs // n_subjects, minlength=published.n_groups)


class ProfilesForm:
    """One row per group and instant."""

    name: ClassVar[FormName] = "profiles"
    kind: ClassVar[type[Profiles]] = Profiles

    def refuse(self, published: Profiles, private: Private) -> str | None:
        """A profile must count exactly the subjects that went into it, each series in one profile or withheld."""
        groups = private.groups
        if groups.min() < -1 or groups.max() >= published.n_groups:
            return "The candidate's group labels are not those of its profiles: the crowd cannot be counted."
        counts = members_of(published, private)
        # For groups that are spread over shards, the gate adds up the members.
        wrong = counts != published.counts if private.spread is None else counts > published.counts
        if wrong.any():
            odd = int(wrong.argmax())
            return f"Profile {odd} does not count the subjects of its group: the crowd cannot be counted."
        return None

    def names_needed(self, published: Profiles, private: Private) -> list[Any]:
        """Every group has a name."""
        return list(range(published.n_groups))

    def name_of_each_series(self, private: Private, names: list[str]) -> list[str]:
        """The name of its group; none if it is withheld."""
        return [names[group] if group >= 0 else "" for group in private.groups]

    def counts(self, published: Profiles, private: Private) -> CountsPart:
        """Series and subjects are those behind the profiles."""
        kept = private.groups >= 0
        return count_groups(
            tally(published.counts),
            series=int(kept.sum()),
            subjects=len(np.unique(private.original.subject_codes[kept])),
            instants=published.n_instants,
            channels=published.n_channels,
            missing=published.n_missing,
        )

    def columns(self, published: Profiles, withheld: int) -> ColumnsPart:
        """`group,count,time,mean,…`."""
        return ColumnsPart(
            published=("group", "count", "time", *profile_columns(published.channels, published.bands)),
            channels=published.channels,
            bands=published.bands,
            withheld=withheld,
        )

    def write(self, published: Profiles, names: list[str], folder: Path, file_format: FileFormat) -> list[Path]:
        """Profiles in the order of their names."""
        path = folder / f"data.{file_format}"
        write_profiles(published, names, path, file_format)
        return [path]

    def renamed(self, published: Profiles, names: list[str]) -> Profiles:
        """The same order and names as in the file."""
        order = np.argsort(np.array(names))
        return replace(
            published,
            values=published.values[order],
            counts=published.counts[order],
            names=tuple(names[i] for i in order),
        )

    def read(self, folder: Path, certificate: Certificate) -> Profiles:
        """The published profiles under their names."""
        columns = certificate.columns
        path = find_data(folder, certificate.files)
        most_rows = certificate.counts.groups * certificate.counts.instants
        zone = certificate.time.timezone
        return read_profiles(path, columns.channels, columns.bands, zone, most_rows=most_rows, kind=self.kind)

    def findings(self, published: Profiles, certificate: Certificate) -> list[str]:
        """Counts of groups, instants, gaps and subjects."""
        counts = certificate.counts
        if (published.n_groups, published.n_instants) != (counts.groups, counts.instants):
            return [
                f"the data has {published.n_groups} profiles of {published.n_instants} instants, "
                f"{FILE_NAME} says {counts.groups} of {counts.instants}"
            ]
        if published.n_missing != counts.missing:
            return [f"the data has {published.n_missing} missing means, {FILE_NAME} says {counts.missing}"]
        if counts.subjects == counts.series and int(published.counts.sum()) != counts.subjects:
            return [f"the profiles count {int(published.counts.sum())} subjects, {FILE_NAME} says {counts.subjects}"]
        return []

    def sizes(self, published: Profiles, certificate: Certificate) -> dict[str, int] | None:
        """As the profiles count themselves."""
        return tally(published.counts)

    def describe(self, published: Profiles, row: int, data_file: str) -> str:
        """Its first row in the file."""
        return f"profile {row} ({data_file} row {row * published.n_instants}; all counted from 0)"


CLOSE = 1e-9
"""Means added up in another order differ in their last digits."""


class ScenariosForm(ProfilesForm):
    """One row per group and instant, with the distribution there."""

    name: ClassVar[FormName] = "scenarios"
    kind: ClassVar[type[Profiles]] = Scenarios

    def refuse(self, published: Profiles, private: Private) -> str | None:
        """A row must count its subjects, and its figures must be the stated ones, not the reading of one member."""
        assert isinstance(published, Scenarios)
        if (found := super().refuse(published, private)) is not None:
            return found
        if faults := published.faults():
            return f"Scenarios contradict themselves: {'; '.join(faults)}."
        x, groups = private.original.rows, private.groups
        if private.original.rows.shape[1] != published.n_instants or (groups < 0).any() or np.isnan(x).any():
            return "Scenarios need every reading of every series: their figures cannot be compared with the originals."
        means = np.stack([x[members].mean(axis=0) for members in groups_of(groups)])
        if (np.abs(means - published.means) > CLOSE * np.abs(x).max()).any():
            return "The means of the scenarios are not those of their groups."
        own = published.means[groups]
        if not np.array_equal(group_spreads(x, groups, own), published.spreads):
            return "The spreads of the scenarios are not those of their groups."
        pools = published.pools
        for pool in np.unique(pools):
            members = np.flatnonzero(pools[groups] == pool)
            spreads = published.spreads[groups[members]]
            shape = pool_shape(x[members], own[members], spreads, published.n_levels)
            if not np.array_equal(shape, published.values[pool, :, 0, 2:]):
                return f"The levels of group {pool} and its pool are not means over equal parts of its pool."
        return None

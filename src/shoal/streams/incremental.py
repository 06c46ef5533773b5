"""Microaggregation of a growing panel: one stretch of instants after another, usually a day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.guarantees import SequenceAnonymity
from shoal.guarantees.sequence_anonymity import Alike
from shoal.methods import Microaggregation
from shoal.methods.aggregates import aggregate_groups, round_values
from shoal.model import Candidate, Panel, Private, Recipe
from shoal.streams.incremental_cells import form_cells, join_thin
from shoal.streams.incremental_panels import (
    columns_of,
    digest_of,
    names_of,
    span_of,
    subjects_of,
    told,
    with_readings,
)

_AGGREGATES = ("mean", "trimmed-mean")


@dataclass(frozen=True)
class Stretch:
    """A stretch of instants that was pushed.

    Parameters
    ----------
    first, last
        Its first and last instant, as whole numbers.
    digest
        SHA-256 of its readings.
    published
        Whether anything of it could be published.
    """

    first: int
    last: int
    digest: str
    published: bool


class IncrementalMicroaggregation:
    """The method `Microaggregation` on a panel that grows, so that all releases together keep k.

    The first stretch is microaggregated. Its groups are *cells*: from then on, the members of a cell are published
    alike in every release, as the aggregate of the members who have readings. So comparing releases finds nobody in a
    crowd below k (`SequenceAnonymity`). The rules:

    - Newcomers are withheld until at least `k` of them have readings in one stretch, with `within` of the same stratum.
      Then they form cells among themselves, and begin together: someone who joined a cell alone would be identified by
      the day on which they begin.
    - Members without readings are still published as their cell, so nobody can be seen to be away or to have left.
    - At an instant at which fewer than `k` members of a cell have readings, the whole cell is missing. With `join`, a
      cell with fewer than `k` members who have any reading in the stretch is published as one group with the nearest
      other cell, for that stretch; only whole cells are joined, so this distinguishes nobody.
    - Stretches come in the order of time. A repeated stretch with the same readings gives the same result and is not
      counted twice; with other readings it is refused.

    Parameters
    ----------
    method
        How cells are formed, and what is published of them: the mean or the trimmed mean.
    spare
        How many members beyond `k` a new cell gets. A cell of exactly `k` is missing whenever one member has no
        reading; each spare member allows one more absence, and blurs a little more.
    join
        Join cells that have become too small, because members are away or have left, instead of leaving them missing.

    Examples
    --------
    >>> growing = IncrementalMicroaggregation(Microaggregation(k=2))
    >>> growing.push(Panel([[1.0], [2.0], [10.0], [12.0]], ids="abcd", times=[0])).values.ravel().tolist()
    [1.5, 1.5, 11.0, 11.0]

    The next day b and c have changed places, and e is new; the groups are those of the first day.

    >>> growing.push(Panel([[1.0], [11.0], [3.0], [12.0], [5.0]], ids="abcde", times=[1])).values.ravel().tolist()
    [6.0, 6.0, 7.5, 7.5]
    >>> growing.n_waiting
    1
    """

    def __init__(self, method: Microaggregation, *, spare: int = 0, join: bool = False) -> None:
        if method.form != "values" or method.aggregate not in _AGGREGATES:
            raise ParameterError(
                "A growing panel is published as the mean or the trimmed mean of each group, one row per series. Use "
                "form='values' and aggregate='mean' or 'trimmed-mean'."
            )
        if method.shown_groups:
            raise ParameterError(
                "A growing panel does not stay within groups that analysts were shown, which this metric or `within` "
                "requires. Learn the metric from public series, or publish the panel as one release."
            )
        if method.attributes:
            raise ParameterError("A growing panel publishes no attributes next to its values. Omit attributes.")
        if isinstance(spare, bool) or not isinstance(spare, int | np.integer) or spare < 0:
            raise ParameterError("spare must be a whole number of at least 0.")
        self._method, self._spare, self._join = method, int(spare), bool(join)
        self._columns: dict[str, Any] | None = None
        self._stretches: list[Stretch] = []
        self._series: dict[str, int] = {}
        """Placed series, and their positions in everything below."""
        self._subjects: list[str] = []
        self._cells, self._since, self._alike, self._before = (np.empty(0, dtype=np.int64) for _ in range(4))
        self._waiting: set[str] = set()

    @property
    def n_series(self) -> int:
        """Series that are published."""
        return len(self._series)

    @property
    def n_cells(self) -> int:
        """Groups they are published in."""
        return int(self._cells.max(initial=-1)) + 1

    @property
    def n_waiting(self) -> int:
        """Series that arrived and are withheld until there are enough of them."""
        return len(self._waiting)

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """What was pushed so far."""
        return tuple(self._stretches)

    def push(self, panel: Panel) -> Candidate | None:
        """Add a stretch of instants, later than all before; None if nothing of it may be published yet.

        Publish the candidate under keyed pseudonyms, always with the same key.
        """
        present = with_readings(panel)
        if (known := self._number(panel, present)) is not None:
            return self._candidate(present, known)
        first, last = span_of(panel)
        if self._stretches and first <= self._stretches[-1].last:
            raise InputError(
                f"The panel begins at {panel.times[0]}, not after the last instant of the {len(self._stretches)} "
                "stretch(es) before it. A growing panel only moves forward in time: leave out what comes late."
            )
        self._place(present)
        number = len(self._stretches)
        candidate = self._candidate(present, number)
        self._before = self._alike
        self._stretches.append(Stretch(first, last, digest_of(present), candidate is not None))
        self._columns = columns_of(panel)
        if candidate is not None:
            self._judge(candidate)
        return candidate

    def _judge(self, candidate: Candidate) -> None:
        """Refuse a candidate that breaks the promise together with earlier releases."""
        assert isinstance(candidate.published, Panel)
        alike = self._so_far().and_then(candidate.published)
        verdict = alike.verdict(self._method.k)
        if not verdict.holds:  # a bug; it must not be published
            self.take_back()
            raise GuaranteeNotMetError(
                f"Together with the earlier releases, this stretch leaves someone in a crowd of {verdict.measured}, "
                f"{verdict.required} were promised. It was not published."
            )
        self._alike = alike.classes

    def take_back(self) -> None:
        """Undo the last push, if its candidate was not published after all."""
        if not self._stretches:
            raise ParameterError("Nothing was pushed that could be withdrawn.")
        self._stretches.pop()
        stays = self._since < len(self._stretches)
        n_before = int(stays.sum())
        names = list(self._series)
        self._waiting |= set(names[n_before:])
        self._series = {name: place for place, name in enumerate(names[:n_before])}
        self._subjects = self._subjects[:n_before]
        self._cells, self._since, self._before = self._cells[stays], self._since[stays], self._before[:n_before]
        self._alike = self._before
        if not self._stretches:
            self._columns = None

    def knows(self, panel: Panel) -> bool:
        """Whether this stretch was pushed before; refused if it has other readings now."""
        return self._number(panel, with_readings(panel)) is not None

    def _number(self, panel: Panel, present: Panel) -> int | None:
        """The number of this stretch, from 0, if it was pushed before."""
        self._refuse_other_columns(panel)
        spans = [(stretch.first, stretch.last) for stretch in self._stretches]
        if span_of(panel) not in spans:
            return None
        number = spans.index(span_of(panel))
        if self._stretches[number].digest != digest_of(present):
            raise InputError(
                f"The instants of this panel are those of stretch {number + 1}, which came with other readings. What "
                "is published cannot be corrected: the difference would reveal what has changed. Leave it as it is."
            )
        return number

    def _place(self, present: Panel) -> None:
        """Give newcomers their own cells, if there are enough."""
        names, subjects = names_of(present), subjects_of(present)
        changed = sum(
            self._subjects[self._series[name]] != subject
            for name, subject in zip(names, subjects, strict=True)
            if name in self._series
        )
        if changed:
            raise InputError(
                f"{changed} series have another subject than before. The subject of a series must stay the same."
            )
        rows = np.array([row for row, name in enumerate(names) if name not in self._series], dtype=np.int64)
        if not len(rows):
            return
        cells = form_cells(self._method, present.take(rows), self._spare)
        self._waiting |= {names[row] for row in rows[cells < 0]}
        rows, cells = rows[cells >= 0], cells[cells >= 0]
        self._cells = np.concatenate([self._cells, self.n_cells + cells])
        self._since = np.concatenate([self._since, np.full(len(rows), len(self._stretches))])
        self._alike = np.concatenate([self._alike, np.full(len(rows), int(self._alike.max(initial=-1)) + 1)])
        self._subjects += [subjects[row] for row in rows]
        self._series |= {names[row]: len(self._series) + n for n, row in enumerate(rows.tolist())}
        self._waiting -= {names[row] for row in rows}

    def _candidate(self, present: Panel, number: int) -> Candidate | None:
        """What is published of a stretch, by the cells at that time."""
        then = np.flatnonzero(self._since <= number)  # the first ones: cells are never taken away or changed
        if not len(then):
            return None
        values = np.full((len(then), *present.values.shape[1:]), np.nan)
        places = np.array([self._series.get(name, len(then)) for name in names_of(present)], dtype=np.int64)
        values[places[places < len(then)]] = present.values[places < len(then)]
        original = Panel(
            values,
            ids=list(self._series)[: len(then)],
            times=present.times,
            subjects=None if present.subjects is None else self._subjects[: len(then)],
            channels=present.channels,
            timezone=present.timezone,
            origin=told(present.origin),
            copy=False,
        )
        k, cells = int(self._method.k), self._cells[then]
        if self._join:
            cells = join_thin(cells, original.rows, original.subject_codes, k)
        aggregates = aggregate_groups(original.rows, cells, original.subject_codes, k, self._method.aggregate)
        if self._method.round_to is not None:
            aggregates = round_values(aggregates, self._method.round_to)
        if np.isnan(aggregates).all():
            return None
        published = Panel(
            aggregates.reshape(values.shape),
            times=present.times,
            subjects=original.subject_codes,
            channels=present.channels,
            timezone=present.timezone,
            copy=False,
        )
        n_before = sum(stretch.published for stretch in self._stretches[:number])
        return Candidate(
            published=published,
            guarantee=self._method.aims_at,
            recipe=Recipe(
                self._method.name,
                self._method.parameters,
                {"release_of_sequence": n_before + 1, "spare_members": self._spare},
            ),
            private=Private(original=original, groups=cells),
            further=(SequenceAnonymity(k),),
        )

    def _so_far(self) -> Alike:
        """The earlier releases; rows keep their positions, which serve as names."""
        n, n_releases = len(self._series), sum(stretch.published for stretch in self._stretches[:-1])
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(subject, len(numbers)) for subject in self._subjects]
        places = np.arange(n)
        return Alike(tuple(range(n)), tuple(codes), self._alike, self._since, places, n_releases)

    def _refuse_other_columns(self, panel: Panel) -> None:
        found = columns_of(panel)
        if self._columns is None:
            return
        if others := [name for name in found if found[name] != self._columns[name]]:
            raise InputError(
                f"The panel differs from those before it in its {', '.join(others)}. All stretches of a growing panel "
                "must have the same."
            )

    def state(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Who is in which cell, and the rest as JSON: enough to continue elsewhere. No readings.

        Both are as private as the identifiers.
        """
        rows = pl.DataFrame(
            {
                "series": list(self._series),
                "subject": self._subjects,
                "cell": self._cells,
                "since": self._since,
                "alike": self._alike,
                "before": self._before,
            },
            schema_overrides={"series": pl.String, "subject": pl.String},
        )
        return rows, {
            "k": int(self._method.k),
            "spare": self._spare,
            "join": self._join,
            "columns": self._columns,
            "stretches": [asdict(stretch) for stretch in self._stretches],
            "waiting": sorted(self._waiting),
        }

    @classmethod
    def restored(
        cls, method: Microaggregation, rows: pl.DataFrame, facts: Mapping[str, Any]
    ) -> IncrementalMicroaggregation:
        """The operator whose state this was; the method must be the one it had.

        A state whose cells do not keep k, or are not those that were published, is refused.
        """
        if facts["k"] != method.k:
            raise ParameterError(f"The state has k={facts['k']}, the method has k={method.k}. Give the same.")
        growing = cls(method, spare=facts["spare"], join=facts["join"])
        growing._columns = facts["columns"]
        growing._stretches = [Stretch(**stretch) for stretch in facts["stretches"]]
        growing._series = {name: place for place, name in enumerate(rows["series"].to_list())}
        growing._subjects = rows["subject"].to_list()
        growing._cells, growing._since, growing._alike, growing._before = (
            rows[name].to_numpy().astype(np.int64) for name in ("cell", "since", "alike", "before")
        )
        growing._waiting = set(facts["waiting"])
        growing._refuse_unsound()
        return growing

    def _refuse_unsound(self) -> None:
        """Each cell must have k subjects that began together, and cells must not be finer than what was published."""
        cells = pl.DataFrame(
            {"cell": self._cells, "subject": self._subjects, "since": self._since, "alike": self._alike},
            schema_overrides={"subject": pl.String},
        )
        unsound = len(self._series) != len(cells) or not np.array_equal(self._since, np.sort(self._since))
        if len(cells) and not unsound:
            found = cells.group_by("cell").agg(pl.col("subject", "since", "alike").n_unique()).sort("cell")
            unsound = found["cell"].to_list() != list(range(len(found))) or bool(
                found.select((pl.col("subject") < self._method.k) | (pl.col("since") > 1) | (pl.col("alike") > 1))
                .to_series()
                .any()
            )
        if unsound:
            raise InputError(
                "The state of the growing panel is not as it was written: its groups are not those that were "
                f"published, or some have fewer than {self._method.k} subjects. Restore a copy of it."
            )

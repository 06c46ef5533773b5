"""Microaggregation of a growing panel: one stretch of instants after another, usually a day."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import SequenceAnonymity
from shoal.guarantees.sequence_anonymity import Alike
from shoal.methods import Microaggregation
from shoal.methods.aggregates import aggregate_groups, round_values
from shoal.model import Candidate, Panel, Private, Recipe
from shoal.streams.growing_panel import GrowingPanel
from shoal.streams.incremental_cells import form_cells, join_thin
from shoal.streams.incremental_panels import names_of, settings_only

_AGGREGATES = ("mean", "trimmed-mean")


class IncrementalMicroaggregation(GrowingPanel):
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

    _columns_of_members: ClassVar[Mapping[str, str]] = {"cell": "_cells", "alike": "_alike", "before": "_before"}
    _method: Microaggregation
    _cells: NDArray[np.int64]
    _alike: NDArray[np.int64]
    _before: NDArray[np.int64]

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
        super().__init__(method)
        self._spare, self._join = int(spare), bool(join)

    @property
    def options(self) -> dict[str, Any]:
        """How cells are formed and kept."""
        return {"spare": self._spare, "join": self._join}

    @property
    def n_cells(self) -> int:
        """Groups that series are published in."""
        return int(self._cells.max(initial=-1)) + 1

    def _judge(self, candidate: Candidate) -> str:
        """Crowds over all releases."""
        assert isinstance(candidate.published, Panel)
        alike = self._so_far().and_then(candidate.published)
        verdict = alike.verdict(self._method.k)
        self._alike = alike.classes
        if verdict.holds:
            return ""
        return f"this stretch leaves someone in a crowd of {verdict.measured}, {verdict.required} were promised"

    def _remember(self) -> None:
        self._before = self._alike

    def _recall(self) -> None:
        self._alike = self._before

    def _place(self, present: Panel) -> None:
        """Give newcomers their own cells, if there are enough."""
        rows = self._newcomers(present)
        if not len(rows):
            return
        cells = form_cells(self._method, present.take(rows), self._spare)
        names = names_of(present)
        self._waiting |= {names[row] for row in rows[cells < 0]}
        rows, cells = rows[cells >= 0], cells[cells >= 0]
        self._cells = np.concatenate([self._cells, self.n_cells + cells])
        self._alike = np.concatenate([self._alike, np.full(len(rows), int(self._alike.max(initial=-1)) + 1)])
        self._add(present, rows)

    def _candidate(self, present: Panel, number: int) -> Candidate | None:
        """The aggregates of the cells that existed then."""
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
            origin=settings_only(present.origin),
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
        return Candidate(
            published=published,
            guarantee=self._method.aims_at,
            recipe=Recipe(
                self._method.name,
                self._method.parameters,
                {"release_of_sequence": self._n_published(number) + 1, "spare_members": self._spare},
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

    @classmethod
    def _begun(cls, method: Microaggregation, facts: Mapping[str, Any]) -> Self:
        return cls(method, spare=facts["spare"], join=facts["join"])

    def _is_sound(self) -> bool:
        """Each cell must have k subjects that began together, and cells must not be finer than what was published."""
        cells = pl.DataFrame(
            {"cell": self._cells, "subject": self._subjects, "since": self._since, "alike": self._alike},
            schema_overrides={"subject": pl.String},
        )
        if len(self._series) != len(cells) or not np.array_equal(self._since, np.sort(self._since)):
            return False
        found = cells.group_by("cell").agg(pl.col("subject", "since", "alike").n_unique()).sort("cell")
        small = (pl.col("subject") < self._method.k) | (pl.col("since") > 1) | (pl.col("alike") > 1)
        return found["cell"].to_list() == list(range(len(found))) and not found.select(small).to_series().any()

"""(n, l, k)-anonymity of a panel that grows: one stretch of instants after another, usually a day.

Put all releases side by side, absent members marked at the instants at which they are absent. The table is (n, l, k)-
anonymous if every member has at most l - n - 1 instants at which fewer than k are alike with it, whatever is known
(`NLKAnonymity` accepts it without a search). So a growing panel only has to count these instants:

- in a release, a member is in a group below k at no more instants than the release may spend; what all releases spend
  adds up to l - n - 1 at most;
- at every instant nobody is absent, or at least k are: those who lack a reading, and as many more as that takes, of
  those who were published before, because nobody sees that others are absent;
- newcomers begin when there are k of them, all in the same release, so that at every earlier instant k are absent with
  them. Later ones only add to those who were absent, so what was counted before never grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import SequenceNLKAnonymity
from shoal.kernels.nlk_labels import instant_labels, make_groups, small_instants
from shoal.methods import NLK
from shoal.model import Candidate, Panel, Recipe
from shoal.streams.growing_panel import GrowingPanel
from shoal.streams.incremental_panels import names_of, settings_only, subjects_of

_STRATEGIES = ("optimal", "cluster")


class IncrementalNLK(GrowingPanel):
    """The method `NLK` on a panel that grows, so that all releases together are (n, l, k)-anonymous.

    Each stretch gets new groups at each of its instants. Someone who knows n readings, in whichever releases, infers
    fewer than l - n others in all of them (`SequenceNLKAnonymity`). The rules:

    - A series may be in a group below `k`, mostly alone, at l - n - 1 instants in all. Each release uses up `alone` of
      them until none are left; from then on every group has at least `k` members.
    - A member without all readings of a stretch is absent from its release. If fewer than `k` are absent, further ones
      are left out, drawn at random from those published before, so that `k` are.
    - Newcomers are withheld until at least `k` of them have all readings of a stretch. Then they begin together.
    - Subjects have one series each, and stretches at least `l` instants. Stretches come in the order of time. A
      repeated stretch with the same readings gives the same result and is not counted twice; with other readings it is
      refused.

    Parameters
    ----------
    method
        How groups are formed: strategy "optimal" or "cluster".
    alone
        At how many instants a series may be in a group below `k` in one release. More lose less now and leave less
        for later releases.

    Examples
    --------
    >>> growing = IncrementalNLK(NLK(n=1, l=2, k=2))
    >>> day = Panel([[1.0, 9.0], [2.0, 1.0], [10.0, 2.0], [12.0, 8.0]], ids="abcd", times=[0, 1])
    >>> growing.push(day).values.tolist()
    [[1.5, 8.5], [1.5, 1.5], [11.0, 1.5], [11.0, 8.5]]

    The next day c is away. One more is left out, so that two are absent, and e waits for another newcomer.

    >>> day = Panel([[1.0, 1.0], [3.0, 2.0], [5.0, 5.0], [7.0, 7.0]], ids="abde", times=[2, 3])
    >>> growing.push(day).values.shape
    (2, 2)
    >>> growing.n_waiting
    1
    """

    _columns_of_members: ClassVar[Mapping[str, str]] = {"spent": "_spent", "before": "_before"}
    _method: NLK
    _spent: NDArray[np.int64]
    _before: NDArray[np.int64]

    def __init__(self, method: NLK, *, alone: int = 0) -> None:
        if method.strategy not in _STRATEGIES:
            raise ParameterError(
                f"A growing panel needs strategy {' or '.join(map(repr, _STRATEGIES))}: {method.strategy!r} splits "
                "groups as far as one release allows, and leaves nothing for the next."
            )
        if isinstance(alone, bool) or not isinstance(alone, int | np.integer) or not 0 <= alone <= method.budget:
            raise ParameterError(
                f"alone must be a whole number from 0 to l - n - 1, which is {method.budget}: so many instants may "
                "become known in all releases together."
            )
        super().__init__(method)
        self._alone = int(alone)
        self.all_published = True
        """Whether something is known to be published of every member; states of earlier versions do not say."""
        self._unpublished: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._unpublished_before = self._unpublished

    @property
    def options(self) -> dict[str, Any]:
        """What a release may spend."""
        return {"alone": self._alone}

    @property
    def n_cells(self) -> None:
        """Groups change from instant to instant."""
        return None

    def publish_next(self, places: NDArray[np.int64]) -> None:
        """Publish the next stretch only with these members, of whom nothing is published so far.

        Earlier versions left some members out of the release in which they began. Those absent with them were alone.
        Once they are published, all are absent together.
        """
        self._unpublished, self.all_published = places, not len(places)

    def _refuse(self, present: Panel) -> None:
        super()._refuse(present)
        if not present.one_series_per_subject:
            raise ParameterError(
                "A growing panel under (n, l, k)-anonymity needs one series per subject; some have several. Publish "
                "them under k-anonymity (microaggregation), or as one release."
            )
        if present.n_instants < self._method.l:
            raise ParameterError(
                f"l={self._method.l} needs at least {self._method.l} instants in every stretch, this one has "
                f"{present.n_instants}. Lower l or publish longer stretches."
            )
        whole = set(np.array(names_of(present))[~np.isnan(present.rows).any(axis=1)])
        members = self.members
        if lacking := sum(members[place] not in whole for place in self._unpublished):
            raise ParameterError(
                f"An earlier version left {len(self._unpublished)} member(s) out of the release in which they began, "
                "and nothing is published about them yet. Until they are published, the releases may not keep "
                "(n, l, k)-anonymity together, so the next one must have them, and in this stretch "
                f"{lacking} of them lack readings. Complete these, or withdraw the releases and begin anew with "
                "another --private and --out."
            )

    def _place(self, present: Panel) -> None:
        """Newcomers with all readings begin together, if there are enough of them."""
        rows = self._newcomers(present)
        whole = rows[~np.isnan(present.rows[rows]).any(axis=1)]
        begin = whole if len(whole) >= self._method.k else whole[:0]
        names = names_of(present)
        self._waiting |= {names[row] for row in rows}
        self._spent = np.concatenate([self._spent, np.zeros(len(begin), dtype=np.int64)])
        self._add(present, begin)

    def _candidate(self, present: Panel, number: int) -> Candidate | None:
        """Groups of the members who have all readings."""
        k, n_then = int(self._method.k), int(np.count_nonzero(self._since <= number))
        places = np.array([self._series.get(name, n_then) for name in names_of(present)], dtype=np.int64)
        there = np.flatnonzero((places < n_then) & ~np.isnan(present.rows).any(axis=1))
        n_absent = n_then - len(there)
        if 0 < n_absent < k:
            begun = (self._since[places[there]] < number) & ~np.isin(places[there], self._unpublished)
            seen = there[begun]
            out = np.random.default_rng(number).permutation(seen)[: k - n_absent]
            there = np.setdiff1d(there, out)
        if len(there) < k:
            return None
        order = there[np.argsort(places[there])]
        original = present.take(order)
        original = Panel(
            original.values,
            ids=names_of(original),
            times=original.times,
            subjects=None if original.subjects is None else subjects_of(original),
            channels=original.channels,
            timezone=original.timezone,
            origin=settings_only(present.origin),
            copy=False,
        )
        spends = self._may_spend(number)
        made = replace(self._method, l=self._method.n + 1 + spends).knowing(splits=False).anonymize(original)
        assert isinstance(made.published, Panel)
        published = Panel(
            made.published.values,
            ids=places[order],  # a name that stays
            times=original.times,
            channels=original.channels,
            timezone=original.timezone,
            copy=False,
        )
        return replace(
            made,
            published=published,
            guarantee=self._method.aims_at,
            recipe=Recipe(
                self._method.name,
                self._method.parameters,
                {
                    **made.recipe.figures,
                    "release_of_sequence": self._n_published(number) + 1,
                    "instants_below_k_at_most": spends,
                },
            ),
            further=(SequenceNLKAnonymity(int(self._method.n), int(self._method.l), k),),
        )

    def _may_spend(self, number: int) -> int:
        """At how many instants a series may be in a group below k in the release of a stretch."""
        return max(0, min(self._alone, self._method.budget - self._alone * self._n_published(number)))

    def _judge(self, candidate: Candidate) -> str:
        """Count the instants in groups below k, by what would be published, and those absent."""
        published, k = candidate.published, int(self._method.k)
        assert isinstance(published, Panel)
        values = np.ascontiguousarray(published.values).reshape(published.n_series, published.n_instants, -1)
        groups = make_groups(instant_labels(values.view(np.uint64)), np.arange(published.n_series))
        places = [self._series[name] for name in candidate.private.original.ids.tolist()]
        self._unpublished = self._unpublished[:0]
        self._spent = self._spent.copy()
        self._spent[places] += small_instants(groups, k).sum(axis=1)
        begin = self._since == len(self._stretches) - 1
        absent = np.ones(len(begin), dtype=np.bool_)
        absent[places] = False
        most, n_absent = int(self._spent.max()), int(absent.sum())
        if most > self._method.budget:
            return f"{most} instants of a series are in groups below k, at most {self._method.budget} may be"
        if 0 < n_absent < k:
            return f"{n_absent} members are absent from this stretch, fewer than {k}"
        if (absent & begin).any():
            return f"{int((absent & begin).sum())} members are absent from the stretch in which they begin"
        return ""

    def _remember(self) -> None:
        self._before, self._unpublished_before = self._spent, self._unpublished

    def _recall(self) -> None:
        self._spent, self._unpublished = self._before, self._unpublished_before

    def state(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The members, and all the rest as JSON."""
        rows, facts = super().state()
        return rows, facts | {"all_published": self.all_published}

    @classmethod
    def _begun(cls, method: NLK, facts: Mapping[str, Any]) -> Self:
        growing = cls(method, alone=facts["alone"])
        growing.all_published = facts.get("all_published") is True
        return growing

    def _is_sound(self) -> bool:
        """Members began in crowds of k, one series each, and have not spent more than there is."""
        sizes = np.unique(self._since, return_counts=True)[1]
        return (
            len(self._series) == len(set(self._subjects)) == len(self._since)
            and bool(np.array_equal(self._since, np.sort(self._since)))
            and bool((sizes >= self._method.k).all())
            and bool(((self._spent >= 0) & (self._spent <= self._method.budget)).all())
        )

"""Reassembling slices of one subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import NO_LEVELS, Floats, Rows, SeriesAttack, Truth, need_targets
from shoal.attacks.habits import Cycle, check_cycle, find_slots, mean_cycles
from shoal.attacks.links import Chances, LinkFindings, LinkRisk, Links, link_figures
from shoal.attacks.sentences import OTHERS_FIT
from shoal.attacks.words import check_targets
from shoal.errors import ParameterError
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Findings, Panel
from shoal.model.attack import draw_targets
from shoal.read.zones import local_times


@dataclass(frozen=True)
class ReorderingRisk(LinkRisk):
    """What can be reassembled. Targets are slices here, and `worst` names the originals they were cut from.

    Parameters
    ----------
    n_slices
        Published slices.
    """

    n_slices: int = 0


@dataclass(frozen=True)
class Reordering(SeriesAttack[ReorderingRisk]):
    """The chance of finding, for a slice of a series, another slice of the same subject.

    The adversary knows nobody. It compares slices by what lasts, the mean day (or another cycle) of each, and assumes
    that the nearest slice belongs to the same subject. Slices that keep their dates, and so are missing at all other
    instants, are compared only with slices of other stretches. The chance for a slice is the share of its subject's
    slices among those that are equally near; the baseline picks any of them. Right links join slices into longer
    series, which the other attacks then find as if nothing had been cut.

    Parameters
    ----------
    cycle
        What repeats: "day", "week" or a number of instants. By default a day if there are dates; else the slices are
        compared instant by instant.
    n_targets
        Attack this many slices, drawn at random; None for all. Candidates are never sampled.
    seed
        Draws slices.

    Examples
    --------
    >>> original = Panel([[1.0, 9.0, 1.0, 8.0], [2.0, 4.0, 2.0, 5.0], [7.0, 1.0, 6.0, 1.0]])
    >>> slices = Panel(original.values.reshape(6, 2))
    >>> Reordering().attack(original, slices, rows=[0, 0, 1, 1, 2, 2]).success
    1.0

    References
    ----------
    "Data-driven anonymization process applied to time series", section 5.1.
    """

    name: ClassVar[str] = "reordering"
    meaning: ClassVar[str] = "chance of finding another slice of the same subject"
    called: ClassVar[str] = "which slices belong to one subject"
    against: ClassVar[str] = "slices"
    knows: ClassVar[str] = "Nothing but the release, and that its series were cut into slices."
    answers: ClassVar[Mapping[str, str]] = {"linkability": "success"}
    control: ClassVar[str] = OTHERS_FIT
    draws_originals: ClassVar[bool] = False

    cycle: Cycle | None = None
    n_targets: int | None = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.cycle is not None:
            check_cycle(self.cycle)
        check_targets(self.n_targets, self.seed)

    def look(self, original: Panel, published: Panel, truth: Truth) -> ReorderingFindings:
        """The slices nearest to each slice of the targets, of which `n_targets` are drawn."""
        values = published.cube
        stretch = _stretches(values)
        kin, rivals = _candidates(truth.owners, stretch)
        wanted = np.flatnonzero((kin > 0) & np.isin(truth.rows, need_targets(truth.targets)))
        if not len(wanted):
            raise ParameterError(
                "No subject has two slices in the release, so there is nothing to reassemble. Attack whole series "
                "with known-totals."
            )
        wanted = draw_targets(wanted, self.n_targets, self.seed)
        habits = self._habits(values, local_times(published.times, published.timezone))
        near = Links(*nearest_rows(habits[wanted], habits, stretch[wanted], stretch))
        found = _count(near, truth.owners, wanted)
        n_people = len(np.unique(truth.owners[wanted]))
        counts = original.n_series, published.n_series, truth.n_left_out, n_people
        links = LinkFindings(truth.rows[wanted], kin[wanted], ((found,),), NO_LEVELS, *counts)
        return ReorderingFindings(links, rivals[wanted])

    def risk(self, findings: ReorderingFindings) -> ReorderingRisk:
        """The chance of finding another slice of the same subject."""
        links = findings.links
        figures = link_figures(links, "nothing but the release", links.own_rows / findings.rivals, slices=True)
        # An original with several slices among the worst is named once.
        order = links.targets[np.argsort(-links.taken[0].chance, kind="stable")]
        figures["worst"] = tuple(dict.fromkeys(order.tolist()))[: len(figures["worst"])]
        return ReorderingRisk(**figures, n_slices=links.n_published)

    def _habits(self, values: Floats, times: NDArray[Any]) -> Floats:
        cycle = self.cycle if self.cycle is not None else ("day" if times.dtype.kind == "M" else len(times))
        slots = find_slots(times, cycle)
        return mean_cycles(values, slots, np.unique(slots))


@dataclass(frozen=True, eq=False, repr=False)
class ReorderingFindings(Findings):
    """Links from slices to slices. Which slices may be linked depends on their stretches of time."""

    links: LinkFindings
    """Targets are slices, named by the originals they were cut from; their own rows are the other slices to be
    found."""
    rivals: Rows
    """How many slices each may be linked to."""


def _stretches(values: Floats) -> Rows:
    """A number for the stretch of time that each slice covers; a separate one for every slice if dates were dropped.

    Slices whose first to last readings overlap belong to one stretch: slices may have gaps, even at their ends.
    """
    there: NDArray[np.bool_] = np.any(~np.isnan(values), axis=2)
    own = np.arange(len(values))
    first, last = there.argmax(axis=1), there.shape[1] - there[:, ::-1].argmax(axis=1)
    some = np.flatnonzero(there.any(axis=1))
    order = some[np.argsort(first[some], kind="stable")]
    reached = np.maximum.accumulate(last[order])
    number = np.cumsum(np.append(False, first[order][1:] >= reached[:-1]))
    if not len(order) or number[-1] == 0:
        return own  # one stretch for all means gaps, not slicing by date
    stretch = own + len(own)
    stretch[order] = number
    return np.unique(stretch, return_inverse=True)[1].reshape(-1)


def _candidates(owners: Rows, stretch: Rows) -> tuple[Rows, Rows]:
    """For every slice, how many others it may be linked to belong to its subject, and how many there are in total."""
    real = np.where(owners < 0, owners.max() + 1 + np.arange(len(owners)), owners)
    subject = np.unique(real, return_inverse=True)[1].reshape(-1)
    pair = np.unique(np.stack([subject, stretch]), axis=1, return_inverse=True)[1].reshape(-1)
    kin = np.bincount(subject)[subject] - np.bincount(pair)[pair]
    return np.where(owners < 0, 0, kin), len(owners) - np.bincount(stretch)[stretch]


def _count(links: Links, owners: Rows, wanted: Rows) -> Chances:
    target = links.target()
    own = np.bincount(target, weights=owners[links.which] == owners[wanted][target], minlength=len(wanted))
    return Chances(np.diff(links.start), own.astype(np.int64), links.distances)

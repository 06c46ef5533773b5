"""Publish means and counts with noise that keeps differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import DifferentialPrivacy
from shoal.guarantees.differential_privacy import Spent, Unit
from shoal.kernels.arrays import Floats, Ints
from shoal.methods.altered import check_share, public_parameters, secret_parameters, shaped
from shoal.methods.laplace import noisy_integers
from shoal.model import (
    Candidate,
    Method,
    Panel,
    PanelShards,
    Private,
    Profiles,
    Progress,
    Published,
    Recipe,
    Spread,
)
from shoal.model.parameters import check_choice, check_whole, is_number

Figure = Literal["mean", "total"]

STEPS = 2**20
"""Number of steps between the clipping bounds; readings are rounded to them, so that sums are exact."""
_OF_COUNTS = 2
"""How much one subject can change the counts: it leaves one group and enters another."""


@dataclass(frozen=True, kw_only=True)
class NoisyAggregates(Method):
    """Publish the mean of all subjects at each instant, or of each group of them, with just enough noise.

    Every subject has one curve, the mean of its series, cut off at `lower` and `upper`. If the readings of one subject
    are replaced by others, the sum of these curves changes by at most (upper - lower) at each instant and channel, so
    discrete Laplace noise of scale (upper - lower) x instants x channels / epsilon keeps the promise. The number of
    subjects is taken as known. The mean is the noisy sum over that number, cut off at the bounds. With `within`, groups
    and their noisy counts are published, for `count_share` of the budget; noisy counts are adjusted to add up to the
    known number.

    Aims at DifferentialPrivacy(epsilon, unit): true by mechanism, whatever anyone knows or pools; the certificate
    carries the accounting. A longer period needs more noise: average over days first (time-slicing) or publish a
    coarser clock (time-aggregation) as an earlier step. Utility and risk figures are left out of such a release: exact
    ones would reveal what the noise hides.

    Bounds must come from what is known without the data, such as the fuse of a connection: bounds taken from the data,
    such as the largest reading, reveal that reading, and no noise covers it. Noise comes from the operating system,
    fresh every time.

    Gaps are refused, and so is a panel from which reading dropped series or instants with gaps: one subject's gap would
    then decide what is published. With unit="reading" interpolated panels are refused as well, because one reading
    changes every cell that was filled from it.

    Parameters
    ----------
    epsilon
        The budget for all that is published. Smaller hides better and needs more noise.
    lower
        Lower clipping bound of a reading, the same for all channels.
    upper
        Upper clipping bound. Narrower bounds need less noise and clip more.
    unit
        What is protected: "subject", all readings of one, or "reading", one of them, for far less noise.
    figure
        "mean", or "total" for both.
    within
        The attribute whose entries are the groups; by default, one group of all.
    entries
        Only with `within`: the possible entries, separated by commas; not taken from the data, or an entry of a single
        subject would show. Series with another entry, or none, form a last group.
    count_share
        Only with `within`: share of the budget for the counts.
    insecure_seed
        For tests only. Noise that can be drawn again hides nothing from someone who guesses the seed: the guarantee
        then does not hold, and nothing can be released. There is no other seed.

    Examples
    --------
    >>> panel = Panel(np.full((1000, 2), 0.5))
    >>> candidate = NoisyAggregates(epsilon=1.0, lower=0.0, upper=1.0).anonymize(panel)
    >>> bool(abs(candidate.values - 0.5).max() < 0.1), candidate.guarantee.total
    (True, 1.0)

    References
    ----------
    C. Dwork and A. Roth, "The algorithmic foundations of differential privacy", 2014, section 3.3. "Data-driven
    anonymization process applied to time series", section 2.
    """

    name: ClassVar[str] = "noisy-aggregates"
    publishes_groups: ClassVar[bool] = True
    keeps_equal: ClassVar[bool] = True

    epsilon: float
    lower: float
    upper: float
    unit: Unit = "subject"
    figure: Figure = "mean"
    within: str | None = None
    entries: str | Sequence[str] | None = None
    count_share: float = 0.1
    insecure_seed: int | None = None

    def __post_init__(self) -> None:
        DifferentialPrivacy(self.epsilon, self.unit)  # refuses the impossible with its own message
        for name in ("lower", "upper"):
            bound = getattr(self, name)
            if not is_number(bound) or not abs(bound) <= 1e100:
                raise ParameterError(f"{name} must be a number: a bound of readings that is known without the data.")
        if not self.lower < self.upper:
            raise ParameterError("lower must be below upper: they are the bounds of a reading.")
        check_choice("figure", self.figure, Figure)
        check_share("count_share", self.count_share, most=0.9)
        if (self.within is None) != (self.entries is None):
            raise ParameterError(
                "within and entries go together: the attribute, and its possible entries, known without the data."
            )
        if self.entries is not None:
            listed = self.entries.split(",") if isinstance(self.entries, str) else self.entries
            found = tuple(str(entry).strip() for entry in listed)
            if not found or len(set(found)) < len(found) or "" in found:
                raise ParameterError("entries must be different words, separated by commas.")
            object.__setattr__(self, "entries", ",".join(found))
        if self.insecure_seed is not None:
            check_whole("seed", self.insecure_seed, 0)

    @property
    def aims_at(self) -> DifferentialPrivacy:
        """The guarantee of this method; the candidate's carries the accounting as well."""
        return DifferentialPrivacy(float(self.epsilon), self.unit)

    def prepare(self, panel: PanelShards) -> Self:
        """Noise is drawn once, for sums over everyone: whole numbers, independent of the order of addition."""
        return self.knowing(_drawn=self._draw(panel.add_up(self._sums)))

    def of_shard(self, number: int) -> Self:
        """What was drawn is the same for all shards; the first writes it."""
        return self.knowing(_spread=Spread(0, number == 0))

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Clip, sum, add noise, divide."""
        drawn: _Drawn = getattr(self, "_drawn", None) or self._draw(self._sums(0, panel))
        counts, means = drawn.counts, drawn.means
        figures = [means, means * counts[:, None, None]] if self.figure == "total" else [means]
        groups = self._groups(panel)[0][panel.subject_codes]
        if progress is not None:
            progress(panel.n_series, panel.n_series)
        return Candidate(
            published=Profiles.of(panel, np.stack(figures, axis=-1), counts, ("mean", "total")[: len(figures)]),
            guarantee=DifferentialPrivacy(float(self.epsilon), self.unit, drawn.spent),
            recipe=Recipe(self.name, public_parameters(self)),
            private=Private(
                original=panel,
                groups=groups,
                curves=shaped(panel, means[groups]),
                secrets=secret_parameters(self),
                spread=getattr(self, "_spread", None),
            ),
        )

    def _draw(self, sums: _Sums) -> _Drawn:
        """Noise for the counts, if there are groups, and for the sums."""
        n_groups = len(sums.counts)
        if sums.n_subjects < n_groups:
            raise ParameterError(
                f"{n_groups} groups need at least {n_groups} subjects, the panel has {sums.n_subjects}. "
                "Name fewer entries or read more series."
            )
        spent: list[Spent] = []
        left = float(self.epsilon)
        counts = np.array([sums.n_subjects])
        if self.within is not None:
            counts, cost = self._noisy_counts(sums)
            spent.append(cost)
            # Rounded down: what is left must not be more than there is.
            left = math.nextafter(float(self.epsilon) - cost.epsilon, 0.0)
        noisy, cost = self._noisy_sums(sums, left)
        return _Drawn(counts, _means(noisy, counts, self.lower, self.upper), (*spent, cost))

    def _refuse(self, panel: Panel) -> None:
        """Filling gaps must not let a unit affect more than the sensitivity counts."""
        read_with = missing_setting(panel)
        if "drop-" in read_with:
            raise ParameterError(
                f"noisy-aggregates keeps no differential privacy after missing={read_with!r}: one subject's gap would "
                "decide which series or instants are published, and no noise hides that. Read with "
                "missing='interpolate:2h' and unit='subject', or drop incomplete series from the table yourself: who "
                "is in the table counts as known."
            )
        if self.unit == "reading" and "interpolate" in read_with:
            raise ParameterError(
                f"noisy-aggregates with unit='reading' after missing={read_with!r}: one reading changes every cell "
                "that was filled from it, so more noise would be needed than for one. Use unit='subject'."
            )
        if panel.n_missing:
            raise ParameterError(
                f"noisy-aggregates needs a panel without gaps; {panel.n_missing} values are missing. Read it with "
                "missing='interpolate:2h' and unit='subject', or drop incomplete series from the table."
            )

    def _groups(self, panel: Panel) -> tuple[Ints, int]:
        """The group of each subject, by the entry of its first series, and how many groups there are."""
        if self.within is None or self.entries is None:
            return np.zeros(panel.n_subjects, dtype=np.int64), 1
        if self.within not in panel.attributes:
            raise ParameterError(
                f"within={self.within!r} is not among the {len(panel.attributes)} attributes of the panel. "
                "Name it as quasi when reading."
            )
        known = {entry: place for place, entry in enumerate(str(self.entries).split(","))}
        first = np.unique(panel.subject_codes, return_index=True)[1]
        of_subject = panel.attributes[self.within][first].tolist()
        return np.array([known.get(str(entry), len(known)) for entry in of_subject]), len(known) + 1

    def _sums(self, number: int, panel: Panel) -> _Sums:
        """Sums of the clipped curves in each group, in steps around the middle between the bounds."""
        self._refuse(panel)
        group, n_groups = self._groups(panel)
        clipped = np.clip(panel.cube, self.lower, self.upper)
        curves = np.zeros((panel.n_subjects, panel.n_instants, panel.n_channels))
        np.add.at(curves, panel.subject_codes, clipped)
        curves /= np.bincount(panel.subject_codes)[:, None, None]
        middle, step = (self.lower + self.upper) / 2.0, (self.upper - self.lower) / STEPS
        # Again, because rounding may move a mean slightly out of the bounds.
        whole = np.clip(np.rint((curves - middle) / step), -STEPS // 2, STEPS // 2).astype(np.int64)
        sums = np.zeros((n_groups, panel.n_instants, panel.n_channels), dtype=np.int64)
        np.add.at(sums, group, whole)
        return _Sums(np.bincount(group, minlength=n_groups), sums)

    def _noisy_counts(self, sums: _Sums) -> tuple[Ints, Spent]:
        """Noisy counts, adjusted to be at least 1 and to add up to the known number of subjects."""
        noisy, cost = noisy_integers(
            sums.counts,
            sensitivity=_OF_COUNTS,
            epsilon=float(self.epsilon) * float(self.count_share),
            query=f"subjects in each of {len(sums.counts)} groups",
            insecure_seed=self.insecure_seed,
        )
        counts = np.maximum(noisy, 1)
        while (over := int(counts.sum()) - sums.n_subjects) != 0:
            largest = int(counts.argmax())
            counts[largest] = max(1, counts[largest] - over)
        return counts, cost

    def _noisy_sums(self, sums: _Sums, epsilon: float) -> tuple[Ints, Spent]:
        n_groups, n_instants, n_channels = sums.steps.shape
        return noisy_integers(
            sums.steps,
            sensitivity=STEPS * (n_instants * n_channels if self.unit == "subject" else 1),
            epsilon=epsilon,
            query=f"sums of {n_groups} group(s) at {n_instants} instants and in {n_channels} channel(s), "
            f"in steps of (upper - lower) / {STEPS}",
            bounds=(float(self.lower), float(self.upper)),
            insecure_seed=None if self.insecure_seed is None else int(self.insecure_seed) + 1,
        )


@dataclass(frozen=True, eq=False)
class _Sums:
    """Subjects of each group, and the sum of their curves in whole steps."""

    counts: Ints
    steps: Ints

    @property
    def n_subjects(self) -> int:
        return int(self.counts.sum())

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(self.counts + other.counts, self.steps + other.steps)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What is published, and what it cost."""

    counts: Ints
    means: Floats
    spent: tuple[Spent, ...]


def missing_setting(panel: Panel) -> str:
    """What reading did about gaps. If it dropped something, a subject's gap decided it, and no noise hides that."""
    return str(panel.origin.reading.get("missing", "")) if panel.origin else ""


def why_not_drawn(published: Published, stated: DifferentialPrivacy) -> str | None:
    """Why this method cannot have produced what is published with this accounting; None if it can.

    Sums are whole numbers of steps between the bounds, so only some numbers can be means. Being one of them proves
    nothing: anyone can round.
    """
    if not isinstance(published, Profiles):
        return "noise is drawn for means of groups only"
    *counted, summed = stated.accounting
    cells = published.n_instants * published.n_channels if stated.unit == "subject" else 1
    is_usual = (
        len(counted) <= 1
        and all((query.lower, query.upper, query.sensitivity) == (None, None, _OF_COUNTS) for query in counted)
        and (bool(counted) or published.n_groups == 1)
        and summed.sensitivity == STEPS * cells
    )
    if summed.lower is None or summed.upper is None or not summed.lower < summed.upper or not is_usual:
        return "the accounting is not that of one query for the sums and, of several groups, one for their counts"
    means, counts = published.values[..., 0], published.counts
    middle, step = (summed.lower + summed.upper) / 2.0, (summed.upper - summed.lower) / STEPS
    nearest = np.rint((means - middle) / step * counts[:, None, None])
    possible = np.zeros(means.shape, dtype=np.bool_)
    for aside in (-1.0, 0.0, 1.0):
        possible |= _means(nearest + aside, counts, summed.lower, summed.upper) == means
    if not possible.all():
        return f"{int((~possible).sum())} of {possible.size} means are not a whole number of steps between the bounds"
    if published.bands == ("mean", "total") and not np.array_equal(
        published.values[..., 1], means * counts[:, None, None]
    ):
        return "totals are not the means times the counts"
    return None if published.bands in (("mean",), ("mean", "total")) else "there are figures that have no noise"


def _means(sums: NDArray[Any], counts: Ints, lower: float, upper: float) -> Floats:
    """What is published of noisy sums, counted in steps around the middle between the bounds."""
    middle, step = (lower + upper) / 2.0, (upper - lower) / STEPS
    means: Floats = np.clip(middle + step * sums / counts[:, None, None], lower, upper)
    return means

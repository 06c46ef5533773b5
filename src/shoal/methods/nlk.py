"""Publish the mean of a small crowd at each instant, with separate crowds at each instant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import NLKAnonymity
from shoal.kernels.nlk_channels import channel_groups
from shoal.kernels.nlk_intervals import Loss, Representative, publish_labels
from shoal.kernels.nlk_prices import n_steps, priced_groups
from shoal.kernels.nlk_splits import SplitFigures, cluster_instants, split_groups
from shoal.methods.instants import Sensitivity, canonical_factors, factors_of, largest_factor
from shoal.methods.kernel_runs import watched
from shoal.methods.layers import layers_of
from shoal.methods.loss_bound import share_above
from shoal.model import Candidate, Method, Panel, Private, Progress, Recipe, ShardPlan
from shoal.model.parameters import check_choice

Strategy = Literal["optimal", "mth", "mil", "cluster"]

SPLIT_LIMIT = 2000
"""Number of sets of known instants examined to decide about one split; a split that needs more is not made."""

SPLIT_FURTHER_UP_TO = 2
"""Largest number of known instants for which "optimal" splits further: knowing 3 or more singles a series out."""

LARGEST_LIKENESS = 0.5
"""Medians may be a series' own values at no more than this share of the instants at which its group is mixed."""

_MOST_CELLS = 200_000  # for which that stays a matter of seconds


@dataclass(frozen=True, kw_only=True)
class NLK(Method):
    """Group the series separately at each instant, so that a few known values of one reveal few others.

    At every instant each value is replaced by the mean of its group there. Groups have at least `k` members, except at
    a few instants of each series, where it may be in a smaller group or alone: as many as (n, l, k)-anonymity allows to
    be inferred. Aims at NLKAnonymity(n, l, k). Series keep much more of their shape than under k-anonymity, but no
    crowd stays together: anyone who knows more than `n` values of a series may find it.

    At up to l - n instants, with "optimal" and n above 2 at up to l - n - 1, a series may be alone in its group, and is
    published as it was measured. Gaps are refused.

    A subject may have several series: the first ones of all subjects are grouped, then the second ones, and so on while
    k subjects have one; a series left over is published like the nearest of the others. So crowds count subjects.

    Parameters
    ----------
    n
        Values of a series that someone may know. Larger protects against more knowledge and loses hardly more.
    l
        Total number of values, including known ones, that nobody may learn; above n. The larger l - n, the less is
        lost.
    k
        Smallest group. Larger hides better and blurs more.
    strategy
        "optimal": the best groups of k to 2k - 1 neighbouring values at each instant, with a price per series for being
        alone; it comes with a lower bound on the loss of such groups, which other groups may undercut. "mth", "mil":
        the paper's divisive clustering, split further where the exact check allows it, by members times height or by
        information loss. "cluster": the paper's clustering alone. With several channels, "optimal" groups by MDAV and
        moves, without a bound; "cluster" does so with nobody alone; the other two are refused.
    loss
        What is minimised: "absolute" differences, as in the paper, or "squared" ones, which spares outliers.
    representative
        What a group is published as: "mean" or "median". The median of an odd group is one member's own value; refused
        if it is the same member's at more than half of the instants.
    sensitivity
        Instants with wider groups, by position from 0, and how much wider: "34:40=2,12=1.5" doubles the least size of a
        group at the instants 34 to 39, and nobody is alone there; of parts that overlap, the last counts. In Python
        also a sequence with a number of at least 1 for each instant. Only "optimal" and "cluster". Larger hides these
        instants better and blurs them more.

    Examples
    --------
    >>> from shoal import NLK, Panel
    >>> candidate = NLK(n=1, l=2, k=2).anonymize(Panel([[1.0, 9.0], [2.0, 1.0], [10.0, 2.0], [12.0, 8.0]]))
    >>> candidate.values.tolist()
    [[1.5, 8.5], [1.5, 1.5], [11.0, 1.5], [11.0, 8.5]]
    >>> candidate.check().holds
    True

    References
    ----------
    S. Kessler, E. Buchmann, T. Burghardt, K. Böhm, "Pattern-sensitive time-series anonymization and its application to
    energy-consumption data", 2014, section 4. Strategy "optimal" is Shoal's own.
    """

    name: ClassVar[str] = "nlk"
    splits: ClassVar[bool] = True
    """Whether "optimal" splits further: not where other releases must be judged together with this one."""

    n: int
    l: int
    k: int
    strategy: Strategy = "optimal"
    loss: Loss = "absolute"
    representative: Representative = "mean"
    sensitivity: Sensitivity | None = None

    _n_factors: ClassVar[int | None] = None
    """How many instants a sequence of factors is for."""

    def __post_init__(self) -> None:
        NLKAnonymity(self.n, self.l, self.k)  # refuses the impossible with its own message
        for name, kind in (("strategy", Strategy), ("loss", Loss), ("representative", Representative)):
            check_choice(name, getattr(self, name), kind)
        if self.sensitivity is not None:
            given = self.sensitivity
            object.__setattr__(self, "sensitivity", canonical_factors("sensitivity", given) or None)
            object.__setattr__(self, "_n_factors", None if isinstance(given, str) else len(given))
            if self.strategy in ("mil", "mth"):
                raise ParameterError(
                    f"sensitivity needs strategy 'optimal' or 'cluster': {self.strategy!r} splits groups anywhere."
                )

    @property
    def aims_at(self) -> NLKAnonymity:
        """The guarantee a candidate of this method is checked against."""
        return NLKAnonymity(self.n, self.l, self.k)

    @property
    def budget(self) -> int:
        """At how many instants a series may be in a group below k: then l - n instants cannot be inferred."""
        return int(self.l - self.n) - 1

    @property
    def shard_plan(self) -> ShardPlan:
        """At least three times the subjects of the smallest group, where it is widest."""
        return ShardPlan(least=3 * self._widest)

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Form the groups of every instant and publish their representatives."""
        self._refuse(panel)
        x = np.ascontiguousarray(panel.values).reshape(panel.n_series, panel.n_instants, -1)
        steps = 2 * panel.n_instants if panel.n_channels > 1 else n_steps(panel.n_instants)
        subjects = None if panel.one_series_per_subject else panel.subject_codes
        labels, figures = watched(lambda done: self._labels(x, subjects, done), steps, progress)
        published = np.stack(
            [publish_labels(x[:, :, c], labels, self.representative) for c in range(panel.n_channels)], axis=-1
        )
        if self.representative == "median":
            figures = figures | {"largest_likeness": round(self._likeness(x, published, labels), 4)}
        return Candidate(
            published=panel.like(published.reshape(panel.values.shape), subjects=subjects, copy=False),
            guarantee=self.aims_at,
            recipe=Recipe(self.name, self.parameters, figures | {"cells_alone": _n_alone(labels)}),
            private=Private(original=panel, groups=labels.astype(np.int64)),
        )

    def _labels(
        self, x: NDArray[np.float64], subjects: NDArray[np.int64] | None, done: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], dict[str, Any]]:
        """The groups of each instant; with several series per subject, layer by layer."""
        if subjects is None:
            return self._by_sensitivity(x, done)
        layers = layers_of(
            np.ascontiguousarray(x.reshape(len(x), -1)), subjects, int(self.k_everywhere(x.shape[1]).max())
        )
        labels = np.full(x.shape[:2], -1, dtype=np.int32)
        for rows in layers.rows:
            labels[rows] = self._by_sensitivity(np.ascontiguousarray(x[rows]), done)[0] + labels.max(axis=0) + 1
        labels[layers.left] = labels[layers.nearest]
        return labels, {"series_left_over": len(layers.left)}

    @property
    def _widest(self) -> int:
        return _least_size(self.k, largest_factor("sensitivity", self.sensitivity))

    def k_everywhere(self, n_instants: int) -> NDArray[np.int64]:
        """The smallest group at each instant."""
        factors = factors_of("sensitivity", self.sensitivity, n_instants)
        return np.array([_least_size(self.k, factor) for factor in factors.tolist()], dtype=np.int64)

    def _by_sensitivity(
        self, x: NDArray[np.float64], done: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], dict[str, Any]]:
        """Instants of equal sensitivity together: they have the same least size, and those above k nobody alone."""
        form = self._by_channels if x.shape[2] > 1 else self._by_values
        if self.sensitivity is None:
            return form(x, int(self.k), self.budget, done)
        least = self.k_everywhere(x.shape[1])
        labels = np.empty(x.shape[:2], dtype=np.int32)
        for k in np.unique(least).tolist():
            columns = np.flatnonzero(least == k)
            budget = self.budget if k == self.k else 0
            labels[:, columns] = form(np.ascontiguousarray(x[:, columns]), k, budget, done)[0]
        return labels, {}

    def _by_values(
        self, cells: NDArray[np.float64], k: int, budget: int, done: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], dict[str, Any]]:
        x = np.ascontiguousarray(cells[:, :, 0])
        # For an adversary who knows all but one instant, the paper requires groups of k throughout, though the
        # definition would allow smaller ones if candidates differ.
        worst_case = self.n == x.shape[1] - 1
        if self.strategy == "optimal":
            labels, loss, bound = priced_groups(x, k, budget, self.loss, self.representative, done)
            labels, loss = self._or_clusters(x, labels, loss, k)
            above = share_above(loss, bound)
            figures: dict[str, Any] = {} if above is None else {"at_most_above_best": above}
            further = self.splits and self.sensitivity is None and self.n <= SPLIT_FURTHER_UP_TO and not worst_case
            if further and x.size <= _MOST_CELLS:
                finer, split = self._split(x, labels, "mth")
                if split.loss_after < split.loss_before:
                    return finer, figures | {"further_splits": split.made}
            return labels, figures
        labels = cluster_instants(x, k)
        if self.strategy == "cluster" or worst_case:
            return labels, {}
        labels, split = self._split(x, labels, self.strategy)
        return labels, {"splits": split.made}

    def _or_clusters(
        self, x: NDArray[np.float64], labels: NDArray[np.int32], loss: float, k: int
    ) -> tuple[NDArray[np.int32], float]:
        """The paper's clusters at the instants where these lose less: absolute loss may prefer groups of 2k or more."""
        both = (labels, cluster_instants(x, k))
        apart = [np.abs(x - publish_labels(x, some, self.representative)) for some in both]
        losses = [(a * a if self.loss == "squared" else a).sum(axis=0) for a in apart]
        better = losses[1] < losses[0]
        if not better.any():
            return labels, loss
        return np.where(better, both[1], labels), float(np.minimum(*losses).sum())

    def _likeness(self, x: NDArray[np.float64], published: NDArray[np.float64], labels: NDArray[np.int32]) -> float:
        """The largest share of instants with a mixed group at which a series is published as measured."""
        moved = (x != published).any(axis=2)
        mixed = np.stack(
            [np.bincount(column, weights=moved[:, t])[column] > 0 for t, column in enumerate(labels.T)], axis=1
        )
        likeness = float(((mixed & ~moved).sum(axis=1) / np.maximum(mixed.sum(axis=1), 1)).max())
        if likeness > LARGEST_LIKENESS:
            raise ParameterError(
                f"The published medians of a series are its own values at {100 * likeness:.0f} % of the instants, more "
                f"than {100 * LARGEST_LIKENESS:.0f} %: it would be published. Use representative='mean', or a larger k."
            )
        return likeness

    def _split(
        self, x: NDArray[np.float64], labels: NDArray[np.int32], order: Literal["mil", "mth"]
    ) -> tuple[NDArray[np.int32], SplitFigures]:
        squared = self.loss == "squared"
        return split_groups(x, labels, int(self.n), int(self.l), int(self.k), order, SPLIT_LIMIT, squared=squared)

    def _by_channels(
        self, x: NDArray[np.float64], k: int, budget: int, done: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], dict[str, Any]]:
        budget = budget if self.strategy == "optimal" else 0
        return channel_groups(x, k, budget, self.loss, self.representative, done)[0], {}

    def _refuse(self, panel: Panel) -> None:
        if self._n_factors not in (None, panel.n_instants):
            raise ParameterError(
                f"sensitivity has {self._n_factors} factors, the panel has {panel.n_instants} instants. Give one for "
                "each, or text such as 34:40=2."
            )
        if panel.n_subjects < (widest := int(self.k_everywhere(panel.n_instants).max())):
            wide = "" if widest == self.k else ", where sensitivity is highest,"
            raise ParameterError(
                f"k={self.k}{wide} needs at least {widest} subjects, the panel has {panel.n_subjects}. "
                f"Lower k{' or sensitivity' * bool(wide)} or read more series."
            )
        if self.l > panel.n_instants:
            raise ParameterError(
                f"l={self.l} needs at least {self.l} instants, the panel has {panel.n_instants}. "
                "Lower l or read more instants."
            )
        if panel.n_missing:
            raise ParameterError(
                f"nlk needs a panel without gaps; {panel.n_missing} values are missing. "
                "Read it with missing='drop-series' or 'interpolate:2h'."
            )
        if panel.n_channels > 1 and self.strategy in ("mil", "mth"):
            raise ParameterError(
                f"strategy {self.strategy!r} is for one channel, the panel has {panel.n_channels}. Use 'optimal'."
            )


def _least_size(k: int, factor: float) -> int:
    """The smallest group where it is this much wider; not one more because a product is rounded."""
    return math.ceil(int(k) * factor - 1e-9)


def _n_alone(labels: NDArray[np.int32]) -> int:
    """How many cells are published as they were measured."""
    return sum(int((np.bincount(column) == 1).sum()) for column in labels.T)

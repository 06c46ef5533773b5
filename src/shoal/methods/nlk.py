"""Publish the mean of a small crowd at each instant, each instant with crowds of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import NLKAnonymity
from shoal.kernels.nlk_channels import channel_groups
from shoal.kernels.nlk_intervals import Loss, Representative, publish_labels
from shoal.kernels.nlk_prices import n_steps, priced_groups
from shoal.kernels.nlk_splits import SplitFigures, cluster_instants, split_groups
from shoal.methods.watch import watched
from shoal.model import Candidate, Method, Panel, Private, Progress, Recipe, ShardPlan

Strategy = Literal["optimal", "mth", "mil", "cluster"]

SPLIT_LIMIT = 2000
"""Sets of known instants that are looked at to decide about one split; a split that needs more is not made."""

SPLIT_FURTHER_UP_TO = 2
"""Known instants up to which "optimal" tries further splits: from 3 on, knowing them singles a series out."""

LARGEST_LIKENESS = 0.5
"""Medians may be a series' own values at no more than this share of the instants at which its group is mixed."""

_MOST_CELLS = 200_000  # for which that stays a matter of seconds


@dataclass(frozen=True, kw_only=True)
class NLK(Method):
    """Group the series anew at each instant, so that a few known values of one give few others away.

    At every instant each value is replaced by the mean of its group there. Groups have at least `k` members, but for a
    few instants of each series, at which it may be in a smaller group or alone: as many as (n, l, k)-anonymity lets
    anyone infer. Aims at NLKAnonymity(n, l, k). Series keep much more of their shape than under k-anonymity, but no
    crowd stays together: whoever knows more than `n` values of a series may find it.

    At up to l - n instants, with "optimal" and n above 2 at up to l - n - 1, a series may be alone in its group, and is
    published as it was measured. Gaps are refused, and so are several series of one subject.

    Parameters
    ----------
    n
        Values of a series that somebody may know. Larger protects from more knowledge and hardly loses more.
    l
        Values, known ones included, that nobody may get to know; above n. The larger l - n, the less is lost.
    k
        Smallest group. Larger hides better and blurs more.
    strategy
        "optimal": the best groups of k to 2k - 1 neighbouring values at each instant, with a price per series for being
        alone; it comes with a lower bound on what such groups lose, which others may undercut. "mth", "mil": the
        paper's divisive clustering, split further where the exact check allows it, by members times height or by
        information loss. "cluster": the paper's clustering alone. With several channels "optimal" groups by MDAV and
        moves, without a bound, "cluster" does so without anybody alone, and the other two are refused.
    loss
        What is kept small: "absolute" differences, as in the paper, or "squared" ones, which spares outliers.
    representative
        What a group is published as: "mean" or "median". The median of an odd group is one member's own value; refused
        where that is the same member's at more than half of the instants.

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

    n: int
    l: int
    k: int
    strategy: Strategy = "optimal"
    loss: Loss = "absolute"
    representative: Representative = "mean"

    def __post_init__(self) -> None:
        NLKAnonymity(self.n, self.l, self.k)  # refuses what is impossible with its own words
        for name, kind in (("strategy", Strategy), ("loss", Loss), ("representative", Representative)):
            if getattr(self, name) not in get_args(kind):
                raise ParameterError(f"{name} must be one of: {', '.join(get_args(kind))}.")

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
        """At least 3k subjects."""
        return ShardPlan(least=3 * int(self.k))

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Form the groups of every instant and publish their representatives."""
        self._refuse(panel)
        x = np.ascontiguousarray(panel.values).reshape(panel.n_series, panel.n_instants, -1)
        if panel.n_channels > 1:
            steps, form = 2 * panel.n_instants, lambda done: self._by_channels(x, done)
        else:
            steps, form = n_steps(panel.n_instants), lambda done: self._by_values(x[:, :, 0], done)
        labels, figures = watched(form, steps, progress)
        published = np.stack(
            [publish_labels(x[:, :, c], labels, self.representative) for c in range(panel.n_channels)], axis=-1
        )
        if self.representative == "median":
            figures = figures | {"largest_likeness": round(self._likeness(x, published, labels), 4)}
        return Candidate(
            published=Panel(
                published.reshape(panel.values.shape),
                times=panel.times,
                channels=panel.channels,
                timezone=panel.timezone,
                copy=False,
            ),
            guarantee=self.aims_at,
            recipe=Recipe(self.name, self.parameters, figures | {"cells_alone": _n_alone(labels)}),
            private=Private(original=panel, groups=labels.astype(np.int64)),
        )

    def _by_values(self, x: NDArray[np.float64], done: NDArray[np.int64]) -> tuple[NDArray[np.int32], dict[str, Any]]:
        # Whoever knows all but one instant: the paper then wants groups of k throughout, though the definition would
        # allow smaller ones where candidates differ.
        worst_case = self.n == x.shape[1] - 1
        if self.strategy == "optimal":
            labels, loss, bound = priced_groups(x, int(self.k), self.budget, self.loss, self.representative, done)
            labels, loss = self._or_clusters(x, labels, loss)
            figures: dict[str, Any] = {}
            if loss <= bound or bound > 0.0:
                # Three digits: the exact loss of a small panel would say something about its values.
                figures["at_most_above_best"] = float(f"{max(0.0, loss / bound - 1.0) if bound > 0.0 else 0.0:.3g}")
            if self.n <= SPLIT_FURTHER_UP_TO and x.size <= _MOST_CELLS and not worst_case:
                finer, split = self._split(x, labels, "mth")
                if split.loss_after < split.loss_before:
                    return finer, figures | {"further_splits": split.made}
            return labels, figures
        labels = cluster_instants(x, int(self.k))
        if self.strategy == "cluster" or worst_case:
            return labels, {}
        labels, split = self._split(x, labels, self.strategy)
        return labels, {"splits": split.made}

    def _or_clusters(
        self, x: NDArray[np.float64], labels: NDArray[np.int32], loss: float
    ) -> tuple[NDArray[np.int32], float]:
        """The paper's clusters at the instants where these lose less: absolute loss may prefer groups of 2k or more."""
        both = (labels, cluster_instants(x, int(self.k)))
        apart = [np.abs(x - publish_labels(x, some, self.representative)) for some in both]
        losses = [(a * a if self.loss == "squared" else a).sum(axis=0) for a in apart]
        better = losses[1] < losses[0]
        if not better.any():
            return labels, loss
        return np.where(better, both[1], labels), float(np.minimum(*losses).sum())

    def _likeness(self, x: NDArray[np.float64], published: NDArray[np.float64], labels: NDArray[np.int32]) -> float:
        """The largest share of the instants with a mixed group at which a series is published as it was measured."""
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

    def _by_channels(self, x: NDArray[np.float64], done: NDArray[np.int64]) -> tuple[NDArray[np.int32], dict[str, Any]]:
        budget = self.budget if self.strategy == "optimal" else 0
        return channel_groups(x, int(self.k), budget, self.loss, self.representative, done)[0], {}

    def _refuse(self, panel: Panel) -> None:
        if panel.n_subjects < self.k:
            raise ParameterError(
                f"k={self.k} needs at least {self.k} subjects, the panel has {panel.n_subjects}. "
                "Lower k or read more series."
            )
        if self.l > panel.n_instants:
            raise ParameterError(
                f"l={self.l} needs at least {self.l} instants, the panel has {panel.n_instants}. "
                "Lower l or read more instants."
            )
        if not panel.one_series_per_subject:
            raise ParameterError(
                f"nlk needs one series per subject; here are {panel.n_series} series of {panel.n_subjects} subjects. "
                "Use microaggregation, or publish one series of each."
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


def _n_alone(labels: NDArray[np.int32]) -> int:
    """How many cells are published as they were measured."""
    return sum(int((np.bincount(column) == 1).sum()) for column in labels.T)

"""Publish the aggregate of a small crowd in place of each of its members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features import (
    Custom,
    FeatureName,
    Kept,
    Learned,
    ShownGroups,
    Standardized,
    describe_features,
    find_features,
)
from shoal.features.shown_groups import Present
from shoal.guarantees import KAnonymity
from shoal.methods import loss_bound
from shoal.methods.aggregates import (
    LEAST_FOR_THIRDS,
    Aggregate,
    Rounding,
    aggregate_groups,
    check_rounding,
)
from shoal.methods.algorithms import Algorithm, Grouping
from shoal.methods.group_forms import Form, median_likeness, publish_groups
from shoal.methods.kernel_runs import check_threads
from shoal.methods.scenarios import LEAST_FOR_SCENARIOS
from shoal.methods.strata import strata_of
from shoal.model import (
    Candidate,
    Method,
    Moments,
    Panel,
    PanelShards,
    Private,
    Progress,
    Recipe,
    ShardPlan,
    Strata,
)
from shoal.model.panel_shards import added
from shoal.model.parameters import check_choice, check_whole, is_whole
from shoal.model.scenarios import LEAST_LEVELS, MOST_LEVELS

SHOWN_SUFFIX = ".json"
"""Suffix of a text that names a file with groups shown, rather than an attribute."""


@dataclass(frozen=True, kw_only=True)
class Microaggregation(Method):
    """Replace every series by the mean, or another aggregate, of at least `k` similar ones.

    Groups are formed on features of the series; every member of a group is published as the group's aggregate of the
    originals. Aims at KAnonymity(k), counted in subjects. By default groups start from MDAV-generic on the raw values:
    the series farthest from the mean and its k - 1 nearest, then the series farthest from that one and its k - 1
    nearest, until fewer than 2k are left; then series move and swap between near groups while that lowers the loss.
    Destroys individual peaks.

    Missing values: the aggregate at an instant covers the members observed there, and is itself missing if they are
    fewer than k subjects. "auto" therefore forms larger groups where that withholds less. "mdav" takes distances over
    the instants both series have and scales them to all; the other algorithms, refine, Haar features and learned
    metrics refuse gaps. With "mdav" and "auto", a subject with several series joins a group with one of them, except in
    MDAV's last group, which takes everything left; the other algorithms need one series per subject.

    Parameters
    ----------
    k
        Smallest group. Larger hides better and blurs more.
    algorithm
        "auto": MDAV in blocks of similar series, on all cores; then series move and swap between near groups, across
        the borders of blocks too. With gaps, this is done for several sizes of groups, and the groups that lose least
        are kept. With several series per subject, MDAV takes all at once, then series swap; with gaps as well, it is
        MDAV alone. "mdav": groups of k, exactly MDAV-generic. "v-mdav": groups of k to 2k - 1 that follow the data.
        "k-ward": Ward's merging, slower. "optimal": the smallest possible loss, squared around means or absolute around
        medians, for one instant and one channel or a single feature. "best": the smallest loss that `proposals` find,
        for panels of up to a few thousand series. "by-mean", "by-variance": sorted by mean or variance of the series;
        yardsticks only.
    refine
        Move and swap series between groups while that lowers the loss; never raises it. Examines up to 20 000 changes
        per series. False leaves the groups as the algorithm forms them, with "auto" exact MDAV; by default, only "auto"
        refines, at less cost.
    features
        What similar means: "raw", "standardized", "centred", "haar", what a release must keep, such as "keep:peaks",
        a learned metric or the file it was saved in, such as "metric.npz", or a function of the panel. A metric that
        was learned from groups shown to analysts forms groups within those.
    gain
        Only "v-mdav": how readily a group takes in one more series. Larger makes larger groups.
    aggregate
        What is published: "mean"; "median", which hides extremes but may be one member nearly everywhere and is then
        refused; "trimmed-mean", without the lowest and the highest fifth of the members; "quantiles", the means of the
        lowest, middle and highest third of the members (q17, q50, q83), which show the spread but each cover only a
        third of the group, so k must be 9 or more.
    form
        "values": one row per series. "profiles": one row per group with its count and mean, and with
        aggregate="quantiles" the bands next to it. "scenarios": one row per group with a distribution at every instant
        and rank correlations, from which `shoal.simulate.from_release` draws curves; k must be 6 or more.
    levels
        Only "scenarios": how many levels describe a distribution. Each is based on at least k subjects, so at least
        `levels` times k are needed; more levels show the tails better and are shared by more groups.
    round_to
        Round what is published to a resolution such as 0.1, to "whole" numbers or to "binary" 0 and 1.
    within
        An attribute, such as a tariff, that groups must not cross; or the groups of the same people that analysts were
        shown: `LabelTask.shown_groups`, or the task's file "shown.json", or a copy named *.json. Each group then has
        fewer candidates, so the loss is larger.
    attributes
        Attributes to publish next to the values, such as a tariff, or several: every series then equals k - 1 others in
        these as well, because groups do not cross them. Each combination needs at least k subjects.
    merge_small
        Merge strata of `within` that have fewer than k subjects, instead of refusing them.
    proposals
        Only "best": how many changes of groups to try for each series. Twice as many take twice as long and lose a
        little less.
    seed
        Only "best": where the search starts.
    bound
        Also compute a lower bound on the loss of any groups of at least k, and how far the loss can be above it, for
        up to 2 500 series: seconds, up to minutes. Tight for k = 2 and 3, loose for large k.
    threads
        Largest number of cores to use; all by default. Does not change the result.

    Examples
    --------
    >>> candidate = Microaggregation(k=2).anonymize(Panel([[1.0], [2.0], [10.0], [12.0]]))
    >>> candidate.values.ravel().tolist()
    [1.5, 1.5, 11.0, 11.0]
    >>> candidate.check().holds
    True

    References
    ----------
    J. Domingo-Ferrer and V. Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation", 2005.
    "Data-driven anonymization process applied to time series", Algorithm 1 and section 5.2. A. Solanas and
    A. Martínez-Ballesté, "V-MDAV: a multivariate microaggregation with variable group size", 2006. "PAD", Algorithm 1.
    S. L. Hansen and S. Mukherjee, "A polynomial algorithm for optimal univariate microaggregation", 2003.
    """

    name: ClassVar[str] = "microaggregation"
    same_in_all_shards: ClassVar[frozenset[str]] = frozenset({"shown_elsewhere"})

    k: int
    algorithm: Algorithm = "auto"
    refine: bool | None = None
    features: FeatureName | str | Callable[[Panel], Any] = "raw"
    gain: float = 0.2
    aggregate: Aggregate = "mean"
    form: Form = "values"
    levels: int = 5
    round_to: Rounding | None = None
    within: str | ShownGroups | tuple[ShownGroups, ...] | None = None
    attributes: str | tuple[str, ...] = ()
    merge_small: bool = False
    proposals: int = 50_000
    seed: int = 0
    bound: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        KAnonymity(self.k)  # refuses an impossible k with its own message
        for name, kind in (("algorithm", Algorithm), ("aggregate", Aggregate), ("form", Form)):
            check_choice(name, getattr(self, name), kind)
        if self.aggregate == "quantiles" and self.k < LEAST_FOR_THIRDS:
            raise ParameterError(
                f"aggregate='quantiles' needs k of at least {LEAST_FOR_THIRDS}, got {self.k}: each band is a mean over "
                "a third of the group. Raise k, or use aggregate='mean'."
            )
        if self.form == "scenarios":
            self._check_scenarios()
        if self.form == "profiles" and self.aggregate not in ("mean", "quantiles"):
            raise ParameterError(
                f"form='profiles' publishes means, and bands with aggregate='quantiles'; aggregate={self.aggregate!r} "
                "is for form='values'."
            )
        if self.bound and self.aggregate == "median":
            raise ParameterError(
                "bound applies to squared distances from means; aggregate='median' minimises absolute ones."
            )
        features = find_features(self.features)
        if isinstance(self.features, str) and isinstance(features, Learned):
            # Read once: what the recipe names is then what was used, whatever happens to the file.
            object.__setattr__(self, "features", features)
        if isinstance(self.within, str) and self.within.endswith(SHOWN_SUFFIX):
            shown = tuple(ShownGroups.load(path.strip()) for path in self.within.split(","))
            object.__setattr__(self, "within", shown if len(shown) > 1 else shown[0])
        listed = self.attributes.split(",") if isinstance(self.attributes, str) else self.attributes
        object.__setattr__(self, "attributes", tuple(name.strip() for name in listed if name.strip()))
        if self.attributes and (self.merge_small or self.form != "values"):
            other = (
                "merge_small joins groups across them"
                if self.merge_small
                else f"{self.form} have no table of attributes"
            )
            raise ParameterError(f"attributes need form='values' and groups that do not cross them; {other}.")
        check_rounding(self.round_to)
        check_threads(self.threads)
        if not 0.0 <= self.gain < float("inf"):
            raise ParameterError("gain must be a number of at least 0.")
        check_whole("seed", self.seed, 0)
        check_whole("proposals", self.proposals, 1)

    def _check_scenarios(self) -> None:
        """Refuse parameters with which a figure of scenarios would be based on too few subjects."""
        wrong = []
        if not is_whole(self.levels, LEAST_LEVELS) or self.levels > MOST_LEVELS:
            wrong.append(f"levels must be a whole number from {LEAST_LEVELS} to {MOST_LEVELS}")
        if self.k < LEAST_FOR_SCENARIOS:
            wrong.append(
                f"k must be at least {LEAST_FOR_SCENARIOS}, got {self.k}: a mean and a spread of fewer say too much"
            )
        if self.aggregate != "mean":
            wrong.append(f"aggregate must be 'mean', got {self.aggregate!r}")
        if self.round_to is not None:
            wrong.append("round_to is for values and profiles")
        if wrong:
            raise ParameterError(f"form='scenarios': {'; '.join(wrong)}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to build the same method again; functions by name, learned metrics by digest."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.within is not None and self.stratum is None:
            plain["within"] = "groups shown to analysts"
        plain |= {"attributes": list(self.attributes)}
        return plain | {"k": int(self.k), "features": describe_features(find_features(self.features))}

    @property
    def stratum(self) -> str | None:
        """The attribute that groups must not cross, if any."""
        return self.within if isinstance(self.within, str) else None

    @property
    def apart(self) -> tuple[str, ...]:
        """All attributes that groups must not cross."""
        return tuple(dict.fromkeys([*([] if self.stratum is None else [self.stratum]), *self.attributes]))

    @property
    def shown_groups(self) -> tuple[ShownGroups, ...]:
        """The groups shown to analysts that a release must stay within: those of the metric, and those given."""
        features = find_features(self.features)
        given = self.within if isinstance(self.within, tuple) else (self.within,)
        all_shown = (features.shown if isinstance(features, Learned) else None, *given)
        return tuple(shown for shown in all_shown if isinstance(shown, ShownGroups))

    @staticmethod
    def account(parameters: Mapping[str, Any]) -> str:
        """What was done to the series, for means and medians of values, means of groups and distributions."""
        k, aggregate, form = (parameters.get(name) for name in ("k", "aggregate", "form"))
        if type(k) is not int:
            return ""
        if form == "values" and aggregate in ("mean", "median"):
            return (
                f"Every series was replaced by the {aggregate} of its group of at least {k:,} subjects with similar "
                "ones."
            )
        formed = f"Similar series were put into groups of at least {k:,} subjects."
        if form == "profiles" and aggregate == "mean":
            return f"{formed} Each group is one row: the mean of its series."
        if form == "scenarios":
            return (
                f"{formed} Each group is one row: its mean at every instant and one spread; and the levels of a "
                "distribution and the correlations of ranks, which several groups share."
            )
        return ""

    @property
    def aims_at(self) -> KAnonymity:
        """The guarantee a candidate of this method is checked against."""
        return KAnonymity(self.k)

    @property
    def publishes_groups(self) -> bool:
        """Profiles, or bands of thirds."""
        return self.form != "values" or self.aggregate == "quantiles"

    @property
    def shard_plan(self) -> ShardPlan:
        """At least 3k subjects, or as many as levels need, along the attribute that groups must not cross."""
        # Only features that depend on a single series are the same in every shard.
        found = find_features(self.features)
        features = "raw" if isinstance(found, Standardized | Kept | Custom) else self.features
        shown = self.shown_groups
        # A shard has at least a few of the groups shown, or all of them; likewise for each stratum in them.
        kinds = [Strata(labels=shown), Strata(self.apart, shown)] if shown else [Strata(self.apart)]
        within = tuple(dict.fromkeys(one for one in kinds if one.attributes or one.labels))
        least = (3 if self.form != "scenarios" else max(3, int(self.levels))) * int(self.k)
        return ShardPlan(least=least, within=within, features=features)

    @property
    def why_whole(self) -> str:
        """The bound is on all groups together."""
        if self.bound:
            return "The bound is computed for a panel in memory. Anonymize in memory, or omit bound."
        return ""

    def prepare(self, panel: PanelShards) -> Self:
        """Take standardized features, the spreads of several interests, and who was shown to analysts, from the whole
        panel."""
        features = find_features(self.features)
        fixed = self
        if isinstance(features, Standardized):
            fixed = replace(self, features=Standardized(panel.add_up(_moments)))
        elif isinstance(features, Kept):
            moments = panel.store.reduce(partial(_kept_moments, features), _added_each)
            fixed = replace(self, features=features.scaled([moments]))
        if self.shown_groups:
            present = panel.store.reduce(partial(_present, self.shown_groups), _added_each)
            fixed = fixed.knowing(_present=self._judged(present))
        return fixed

    def _judged(self, present: Sequence[Present]) -> tuple[Present, ...]:
        """Who was shown, in each label task; refused if a release of these people cannot stay within its groups."""
        given = self.within if isinstance(self.within, tuple) else (self.within,)
        for groups, own in zip(self.shown_groups, present, strict=True):
            if groups in given and not own.anybody:
                raise ParameterError(
                    "within names the groups of a label task in which nobody in the panel was shown. Read the table "
                    "with the same columns for id and subject as the task; if these are other people, omit within."
                )
            groups.refuse(own)
        return tuple(present)

    def _shown_in(self, panel: Panel) -> tuple[NDArray[np.int64] | None, tuple[Present, ...]]:
        """A number for each series, the same for those that were shown alike in each label task; None without tasks.
        And who was shown, in the whole panel."""
        shown = self.shown_groups
        if not shown:
            return None, ()
        present: tuple[Present, ...] | None = getattr(self, "_present", None)
        if present is None:
            present = self._judged(_present(shown, 0, panel))
        subjects = None if panel.subjects is None else panel.subjects.tolist()
        alike = np.stack([groups.labels(panel.ids.tolist(), subjects) for groups in shown])
        return np.unique(alike, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64), present

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Form the groups and publish their aggregates."""
        if panel.n_subjects < self.k:
            raise ParameterError(
                f"k={self.k} needs at least {self.k} subjects, the panel has {panel.n_subjects}. "
                "Lower k or read more series."
            )
        if self.aggregate == "quantiles" and not panel.one_series_per_subject:
            raise ParameterError(
                "aggregate='quantiles' needs one series per subject, or a third might be one subject's; here subjects "
                "have several. Use aggregate='mean'."
            )
        if self.form == "scenarios":
            self._refuse_for_scenarios(panel)
        if (promised := max((groups.k for groups in self.shown_groups), default=0)) > self.k:
            raise ParameterError(
                f"k={self.k} is below the k={promised} that the label task promised: task and release together must "
                f"leave crowds of {promised}. Give k={promised} or more."
            )
        shown, present = self._shown_in(panel)
        groups, above = self._groups(panel, shown, progress)
        means = aggregate_groups(panel.rows, groups, panel.subject_codes, self.k, self.aggregate)
        n_before, n_after = panel.n_missing, int(np.isnan(means).sum())
        n_both = int((np.isnan(panel.rows) & np.isnan(means)).sum()) if n_before and n_after else 0
        figures: dict[str, float] = {"cells_withheld": n_after - n_both, "gaps_covered": n_before - n_both}
        learned = find_features(self.features)
        if isinstance(learned, Learned) and learned.shown is not None and not present[0].anybody:
            figures["shown_elsewhere"] = learned.shown.n_subjects
        if above is not None:
            figures["loss_above_bound"] = above
        if self.aggregate == "median":
            figures["largest_likeness"] = round(median_likeness(panel, means, groups), 4)
        published, curves = publish_groups(
            panel,
            groups,
            means,
            form=self.form,
            aggregate=self.aggregate,
            levels=int(self.levels),
            round_to=self.round_to,
            attributes=self.attributes,
        )
        return Candidate(
            published=published,
            guarantee=self.aims_at,
            recipe=Recipe(self.name, self.parameters, figures),
            private=Private(original=panel, groups=groups, curves=curves, shown=shown),
        )

    def _refuse_for_scenarios(self, panel: Panel) -> None:
        wrong = []
        if panel.n_subjects < self.levels * self.k:
            wrong.append(
                f"{self.levels} levels of at least k={self.k} subjects each need {self.levels * self.k} subjects, the "
                f"panel has {panel.n_subjects}; lower levels or k, or read more series"
            )
        if not panel.one_series_per_subject:
            wrong.append("subjects have several series; give one each")
        if panel.n_channels > 1:
            wrong.append(f"there are {panel.n_channels} channels; publish one")
        if panel.n_missing:
            wrong.append(
                f"{panel.n_missing} readings are missing; read the table with missing='interpolate:2h' or 'drop-series'"
            )
        if wrong:
            raise ParameterError(f"form='scenarios' cannot be formed: {'. '.join(wrong)}.")

    def _groups(
        self, panel: Panel, shown: NDArray[np.int64] | None, progress: Progress | None
    ) -> tuple[NDArray[np.int64], float | None]:
        """Group labels; and if requested, the share by which the loss on features can be above its bound."""
        features = find_features(self.features)(panel)
        grouping = Grouping(
            k=int(self.k),
            algorithm=self.algorithm,
            refine=self.refine,
            gain=float(self.gain),
            proposals=int(self.proposals),
            seed=int(self.seed),
            loss="absolute" if self.aggregate == "median" else "squared",
            threads=self.threads,
        )
        labels = np.empty(panel.n_series, dtype=np.int64)
        n_groups = 0
        loss = least = 0.0
        strata = list(strata_of(panel, self.apart, self.k, merge_small=self.merge_small, shown=shown))
        if self.bound:
            _refuse_bound(panel, features, strata)
        for rows in strata:
            subjects = np.unique(panel.subject_codes[rows], return_inverse=True)[1]
            # All series in one stratum are not copied.
            some = slice(None) if np.array_equal(rows, np.arange(panel.n_series)) else rows
            labels[rows] = n_groups + grouping.form(features[some], panel.rows[some], subjects, progress)
            if self.bound:
                loss += grouping.loss_of(features[some], labels[rows] - n_groups)
                least += grouping.bound_of(features[some])
            n_groups = int(labels[rows].max()) + 1
        return labels, loss_bound.share_above(loss, least) if self.bound else None


def _refuse_bound(panel: Panel, features: NDArray[np.float64], strata: Sequence[NDArray[np.int64]]) -> None:
    """Say what rules out a bound, before groups are formed."""
    several = any(len(np.unique(panel.subject_codes[rows])) < len(rows) for rows in strata)
    if several or np.isnan(features).any():
        raise ParameterError("bound needs a panel without gaps and one series per subject. Omit bound.")
    if (largest := max(map(len, strata))) > loss_bound.MOST_ROWS:
        raise ParameterError(
            f"bound needs at most {loss_bound.MOST_ROWS} series in a stratum, here are {largest}. Omit bound, or take "
            "a sample."
        )


def _present(shown: Sequence[ShownGroups], number: int, panel: Panel) -> tuple[Present, ...]:
    return tuple(groups.present(panel) for groups in shown)


def _moments(number: int, panel: Panel) -> Moments:
    return Moments.of(panel.rows)


def _kept_moments(features: Kept, number: int, panel: Panel) -> tuple[Moments, ...]:
    return features.moments(panel)


def _added_each(several: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(added(own) for own in zip(*several, strict=True))

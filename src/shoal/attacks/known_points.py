"""Linking a few known readings to published series."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.attacks.ground import Floats, Ground, Rows, SeriesAttack, Truth, find_classes, shown_way
from shoal.attacks.links import Chances, LinkFindings, LinkRisk, Links, better, count_links, link_figures
from shoal.attacks.sentences import OTHERS_FIT
from shoal.attacks.slices import find_scenes
from shoal.attacks.words import Scale, check_amount, check_choice, check_scale, check_targets
from shoal.attacks.worst_instants import worst_by_fit, worst_instants
from shoal.errors import ParameterError
from shoal.kernels.known_instants import nearest_at, told_instants
from shoal.kernels.likeness import LEAST, most_alike, told_by_fit
from shoal.model import Panel
from shoal.model.parameters import check_whole

CELLS = 20_000_000  # pairs of target and different series worked on at a time


@dataclass(frozen=True)
class KnownPointsRisk(LinkRisk):
    """What a few known readings of a target reveal.

    Parameters
    ----------
    n_points
        How many readings of each target are known.
    inferred, inferred_baseline
        Share of the other instants whose reading the adversary can then infer: all candidates show the same value, and
        it is the target's. On another scale, every candidate is fitted to the known readings, and all must be right.
        Without the release, the median of the known readings is the guess for all others.
    proven
        With choose="worst", the share of targets for whom no other n instants would be worse, compared the same way.
    fitted
        Whether candidates were compared up to level and unit, because that finds more.
    """

    n_points: int = 0
    inferred: float = 0.0
    inferred_baseline: float = 0.0
    proven: float | None = None
    fitted: bool = False


@dataclass(frozen=True)
class KnownPoints(SeriesAttack[KnownPointsRisk]):
    """The chance of finding a target's published series from a few of its readings.

    The readings of each target at n instants are known. The candidates are the published series nearest to them (least
    mean square at those instants): if the release shows true values, the series with exactly the known readings; if it
    shows means or noisy values, the nearest ones. A target's chance is the share of its own series among the
    candidates. At an instant of a coarser release, the reading is the mean or the sum over its step, whichever the
    release shows. A reading that is missing on either side is ignored. In a release with gaps, a series that has few of
    the known readings may be nearest by chance: the adversary then also looks among those that have the most of them,
    and uses whichever finds more.

    A release may have another level or unit, the same for all or one for each series (standardised, in shares, in
    cents). Anyone with three readings or more can compare up to both: the candidates are then those with the least 1 -
    r, where r is the correlation with the known readings, which is the best fit a + b y with b > 0. Both ways are
    tried; `success` is that of the better one, the same for all targets, and `prosecutor` and `highest` are the larger
    of both. A real adversary must infer from the release which is right, so this is an upper bound and errs on the safe
    side. Series that are published alike are alike both ways: k of them leave 1/k.

    Slices without dates (whole-number instants, from an original with dates) are compared by position in the slice: n
    readings of each target are known from one random stretch as long as a slice. All slices are candidates, and only
    the target's slice of that stretch counts (the one of its slices most like the true stretch).

    Parameters
    ----------
    n
        How many readings of each target the adversary knows; all of them if there are fewer than n.
    choose
        "random" draws the instants, "peaks" takes those of the target's highest readings (by the sum of channels).
        "worst" searches for the instants, at most n, that expose this target most in this release: greedily, each time
        the one that raises the chance most, and if that is not proven to be the worst, all sets of n as long as that
        takes no more than about two billion comparisons. No adversary can choose like that: it is a bound, tight for
        true values and means; among noisy readings, some agree by luck for everyone. Up to level and unit, it is the
        worst of all sets if these are few, else of the peaks and the random instants.
    noise
        Standard deviation of the errors in what is known, as a share of that of all original readings.
    shift
        The adversary's clock is off by up to this many instants; all shifts are tried.
    within
        How far an inferred reading may be from the true one, as a share of the true one.
    scale
        "any" compares both ways, "same" only the values as they are: faster, for releases known to show readings in
        their own unit.
    n_targets
        Attack this many targets, drawn at random; all by default. Candidates are never sampled.
    seed
        Draws targets, instants and errors. A target's draws do not depend on who else is attacked.

    Examples
    --------
    >>> original = Panel([[1.0, 5.0, 2.0], [1.0, 4.0, 2.0], [3.0, 4.0, 2.0]])
    >>> KnownPoints(1, choose="peaks").attack(original, original).success
    0.6666666666666666
    >>> means = Panel([[1.0, 4.5, 2.0], [1.0, 4.5, 2.0], [3.0, 4.0, 2.0]])
    >>> KnownPoints(3).attack(original, means).success
    0.6666666666666666

    References
    ----------
    "Data-driven anonymization process applied to time series", section 3, for what counts as a success.
    """

    name: ClassVar[str] = "known-points"
    meaning: ClassVar[str] = "chance of finding a target's published series from a few of its readings"
    called: ClassVar[str] = "a few readings of a subject"
    against: ClassVar[str] = "values"
    answers: ClassVar[Mapping[str, str]] = {"singling out": "success", "inference": "inferred"}
    control: ClassVar[str] = OTHERS_FIT
    short: ClassVar[tuple[str, str]] = ("points", "n")
    usual: ClassVar[Mapping[str, Any]] = {"n": 5}

    n: int
    _: KW_ONLY
    choose: Literal["random", "peaks", "worst"] = "random"
    noise: float = 0.0
    shift: int = 0
    within: float = 0.01
    scale: Scale = "any"
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("n", self.n, 1)
        check_choice("choose", self.choose, ("random", "peaks", "worst"))
        check_amount("noise", self.noise)
        check_whole("shift", self.shift, 0)
        check_amount("within", self.within)
        check_scale(self.scale)
        check_targets(self.n_targets, self.seed)

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        readings = "Readings with errors" if self.noise else "Exact readings"
        which = {"random": "drawn at random", "peaks": "where they are highest", "worst": "where they reveal most"}
        clock = " by an uncertain clock" if self.shift else ""
        return f"{readings} at {self.n} instant{'s' if self.n > 1 else ''} {which[self.choose]}{clock}."

    @property
    def bounded_by_shard(self) -> bool:
        """Errors are a share of the spread of everyone's readings, and the worst instants are not always found."""
        return not self.noise and self.choose != "worst"

    def look(self, original: Panel, published: Panel, truth: Truth) -> LinkFindings:
        """The published series nearest to the known readings, and what these reveal."""
        grounds, levels, truth = find_scenes("KnownPoints", original, published, truth, self.seed)
        scene = Scene.of(grounds[0], truth)
        return LinkFindings.of(truth, (self._views(replace(scene, ground=ground)) for ground in grounds), levels)

    def curve(
        self,
        original: Panel,
        published: Panel,
        ns: Sequence[int],
        *,
        rows: ArrayLike | None = None,
        targets: ArrayLike | None = None,
    ) -> tuple[KnownPointsRisk, ...]:
        """The risk for several numbers of known readings; smaller sets are part of larger ones."""
        for n in ns:
            check_whole("ns", n, 1)
        several = [replace(self, n=int(n)) for n in ns]
        return tuple(one.attack(original, published, rows=rows, targets=targets) for one in several)

    def candidates(self, original: Panel, published: Panel, *, rows: ArrayLike | None = None) -> Chances:
        """For every target, how many published series fit equally well, and how many of these are its own."""
        findings: LinkFindings = self.find(original, published, rows=rows)
        return findings.taken[better(findings.taken)]

    def risk(self, findings: LinkFindings) -> KnownPointsRisk:
        """The chance of finding a target's own published series, and the share of its other readings thus revealed."""
        views = findings.taken
        if not findings.levels.counts[shown_way(findings.levels)]:
            raise ParameterError(
                "KnownPoints needs readings to know, but there are none at the instants of the release."
            )
        taken = views[better(views)]
        assert isinstance(taken, View)
        known = replace(self, n=max(1, int(taken.known.max()))).knows  # no more than there are
        holds = f"{known[0].lower()}{known[1:-1]}"
        return KnownPointsRisk(
            **link_figures(findings, holds),
            n_points=int(self.n),
            inferred=float(taken.told.mean()),
            inferred_baseline=float(taken.guessed.mean()),
            proven=float(taken.proven.mean()) if self.choose == "worst" else None,
            fitted=isinstance(taken, FittedView),
        )

    def _n(self, scene: Scene) -> int:
        return min(int(self.n), scene.ground.n_instants)

    def _views(self, scene: Scene) -> tuple[View, ...]:
        """What is found by the values as they are; and up to level and unit, if enough is known for that. With gaps,
        also among the series that have the most of what is known."""
        scales = (False, True) if self.scale == "any" and self._n(scene) >= LEAST else (False,)
        height = max(1, CELLS // scene.series.shape[2])
        targets = scene.truth.targets
        parts = [replace(scene.truth, targets=targets[at : at + height]) for at in range(0, len(targets), height)]

        def compared(fullest: bool) -> tuple[View, ...]:
            ways = [(View, False), (FittedView, True)][: len(scales)]
            return tuple(
                view.joined([self._link(scene, part, fitted, fullest) for part in parts]) for view, fitted in ways
            )

        views = compared(False)
        # Without gaps, both are the same; other shards may have some.
        return views + (compared(True) if np.isnan(scene.series).any() else views)

    def _link(self, scene: Scene, truth: Truth, fitted: bool, fullest: bool) -> View:
        true = scene.ground.original[truth.targets]
        places, proven = self.places(scene, truth, true, fitted, fullest)
        known = readings_at(true, places)
        seen, believed = self.as_known(scene, truth, known, places)
        shift, within, used = int(self.shift), float(self.within), marks(places, scene.ground.n_instants)
        links = Links(*(most_alike if fitted else nearest_at)(seen, believed, scene.series, shift, fullest))
        told = (
            told_by_fit(links.start, links.which, scene.series, seen, believed, shift, true, used, within, fullest)
            if fitted
            else told_instants(links.start, links.which, scene.series, true, used, within)
        )
        chances = count_links(links, scene.classes, truth)
        others = max(scene.ground.n_instants - self._n(scene), 1)
        guessed = guessed_instants(known, true, used, within)
        told_share, guessed_share = (np.minimum(count / others, 1.0) for count in (told, guessed))
        n_known = (places >= 0).sum(axis=1)
        return View(chances.sizes, chances.own, chances.distances, told_share, guessed_share, proven, n_known)

    def places(
        self, scene: Scene, truth: Truth, true: Floats, fitted: bool, fullest: bool = False
    ) -> tuple[Rows, NDArray[np.bool_]]:
        """The instants known for each target, -1 if there are fewer than n; and whether none would be worse."""
        n = self._n(scene)
        whole: NDArray[np.bool_] = np.logical_not(np.isnan(true).any(axis=2))
        if self.choose == "worst":
            if not fitted:
                return worst_instants(scene.series, scene.classes, truth, true, n, fullest)
            random, peaks = (replace(self, choose=c).places(scene, truth, true, True)[0] for c in ("random", "peaks"))
            return worst_by_fit(scene.series, scene.classes, truth, true, [random, peaks], fullest)
        if self.choose == "peaks":
            height = np.where(whole, true.sum(axis=2), -np.inf)
            order = np.argsort(-height, axis=1, kind="stable")[:, :n]
        else:
            order = np.empty((len(true), n), dtype=np.int64)
            for i, target in enumerate(truth.targets.tolist()):
                drawn = self._dice(truth.first + target, 1).permutation(scene.ground.n_instants)
                # Instants with a reading come first, each part in the order drawn.
                order[i] = drawn[np.argsort(~whole[i, drawn], kind="stable")][:n]
        missing = ~np.take_along_axis(whole, order, axis=1)
        return np.where(missing, -1, order), np.zeros(len(true), dtype=np.bool_)

    def as_known(self, scene: Scene, truth: Truth, known: Floats, places: Rows) -> tuple[Floats, Rows]:
        """Readings and positions as the adversary knows them, with errors and by its own clock."""
        if not self.noise and not self.shift:
            return known, places
        known, believed = known.copy(), places.copy()
        for i, target in enumerate(truth.targets.tolist()):
            dice = self._dice(truth.first + target, 2)
            off = int(dice.integers(-self.shift, self.shift + 1))
            known[i] += self.noise * scene.spread * dice.standard_normal(known[i].shape)
            believed[i] += off
        # A place without a reading must stay out of reach of every shift.
        return known, np.where(places < 0, -1 - self.shift, believed)

    def _dice(self, target: int, what: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence([self.seed, what, target]))


@dataclass(frozen=True, eq=False, repr=False)
class View(Chances):
    """What one way to compare finds: chances, and for every target the shares of other instants inferred and
    guessed."""

    told: Floats
    guessed: Floats
    """Without the release."""
    proven: NDArray[np.bool_]
    """Whether no other instants would be worse."""
    known: Rows
    """How many of its readings are known: no more than there are."""


class FittedView(View):
    """What is found up to level and unit."""


@dataclass(frozen=True, eq=False, repr=False)
class Scene:
    """The part that does not depend on how much is known."""

    ground: Ground
    truth: Truth
    series: Floats
    """The different published series, (instants, channels, series)."""
    classes: Rows

    @staticmethod
    def of(ground: Ground, truth: Truth) -> Scene:
        """Find the different series."""
        m, n_instants, n_channels = ground.published.shape
        distinct, classes = find_classes(ground.published.reshape(m, -1))
        series = np.ascontiguousarray(distinct.T).reshape(n_instants, n_channels, len(distinct))
        return Scene(ground, truth, series, classes)

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of all original readings, by channel."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a channel without a reading is known to nobody
            spread: Floats = np.nanstd(self.ground.original, axis=(0, 1))
        return spread


def readings_at(true: Floats, places: Rows) -> Floats:
    """The readings at some places, missing where a place is -1."""
    readings = np.take_along_axis(true, np.maximum(places, 0)[:, :, None], axis=1)
    return np.where(places[:, :, None] < 0, np.nan, readings)


def marks(places: Rows, n_instants: int) -> NDArray[np.bool_]:
    """Which instants are known of each target, (targets, instants)."""
    is_known = np.zeros((len(places), n_instants + 1), dtype=np.bool_)
    np.put_along_axis(is_known, places, True, axis=1)  # -1 is the last column, which is cut off
    return np.ascontiguousarray(is_known[:, :-1])


def guessed_instants(known: Floats, true: Floats, used: NDArray[np.bool_], within: float) -> Rows:
    """At how many other instants the median of the known readings is right."""
    middle = np.full((len(known), 1, known.shape[2]), np.nan)
    some: NDArray[np.bool_] = np.any(~np.isnan(known), axis=(1, 2))
    if some.any():
        middle[some, 0] = np.nanmedian(known[some], axis=1)
    right: NDArray[np.bool_] = np.all(np.abs(true - middle) <= within * np.abs(true), axis=2)
    count: Rows = np.sum(right & ~used, axis=1, dtype=np.int64)
    return count

"""Linking readings that are known only within an error to published series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import Floats, Rows, SeriesAttack, Truth, shown_way
from shoal.attacks.known_points import KnownPoints, Scene, marks, readings_at
from shoal.attacks.links import Chances, LinkFindings, LinkRisk, Links, better, count_links, link_figures
from shoal.attacks.sentences import OTHERS_FIT
from shoal.attacks.slices import find_scenes
from shoal.attacks.words import check_amount, check_choice, check_targets
from shoal.errors import ParameterError
from shoal.model import Panel
from shoal.model.parameters import check_whole


@dataclass(frozen=True)
class KnownRangesRisk(LinkRisk):
    """What readings known within an error reveal.

    Parameters
    ----------
    n_points
        How many readings of each target are known.
    within
        How far the known value may be from the reading.
    inferred, inferred_baseline
        Share of the other instants whose reading the adversary can then infer to within the same error: all candidates
        lie in a range of twice that width, and its middle is no further than the error from the target's reading.
        Without the release, the median of what is known is the guess for all others.
    """

    n_points: int = 0
    within: float = 0.0
    inferred: float = 0.0
    inferred_baseline: float = 0.0


@dataclass(frozen=True)
class KnownRanges(SeriesAttack[KnownRangesRisk]):
    """The chance of finding a target's published series from a few of its readings, each known within an error.

    For each target, the adversary knows a(t) at n instants, anywhere within ± `within` of the reading. A published
    series fits at t if it is no further than `within` from a(t) in all channels. The candidates are the series that fit
    at the largest number of known instants; a target's chance is the share of its own series among them. This is the
    adversary of `NLKAnonymity(..., within=...)`, who there may choose instants and errors at will.

    Parameters
    ----------
    n
        How many readings of each target the adversary knows; all of them if there are fewer than n.
    within
        How far the known value may be from the reading, either way, in the unit of the data; errors are uniform. 0 is
        exact knowledge.
    choose
        "random" draws the instants, "peaks" takes those of the target's highest readings.
    n_targets
        Attack this many targets, drawn at random; all by default. Candidates are never sampled.
    seed
        Draws targets, instants and errors. A target's draws do not depend on who else is attacked.

    Examples
    --------
    >>> original = Panel([[1.0, 5.0], [1.5, 9.0], [4.0, 5.5]])
    >>> KnownRanges(2, within=0.0).attack(original, original).success
    1.0
    >>> KnownRanges(2, within=20.0).attack(original, original).success
    0.3333333333333333

    References
    ----------
    S. Kessler, E. Buchmann, T. Burghardt, K. Böhm, "Pattern-sensitive time-series anonymization and its application to
    energy-consumption data", 2014, section 3, for exact knowledge.
    """

    name: ClassVar[str] = "known-ranges"
    meaning: ClassVar[str] = "chance of finding a target's published series from a few readings known within an error"
    called: ClassVar[str] = "a few readings of a subject, each within an error"
    against: ClassVar[str] = "values"
    answers: ClassVar[Mapping[str, str]] = {"singling out": "success", "inference": "inferred"}
    control: ClassVar[str] = OTHERS_FIT

    n: int
    within: float
    _: KW_ONLY
    choose: Literal["random", "peaks"] = "random"
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("n", self.n, 1)
        check_amount("within", self.within)
        check_choice("choose", self.choose, ("random", "peaks"))
        check_targets(self.n_targets, self.seed)

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        which = {"random": "drawn at random", "peaks": "where they are highest"}
        error = f"Readings within ±{self.within:g}" if self.within else "Exact readings"
        return f"{error} at {self.n} instant{'s' if self.n > 1 else ''} {which[self.choose]}."

    @property
    def bounded_by_shard(self) -> bool:
        """Whether a series fits depends on no other series, and fewer series can only mean fewer candidates."""
        return True

    def look(self, original: Panel, published: Panel, truth: Truth) -> LinkFindings:
        """The published series that fit what is known, and what these reveal."""
        grounds, levels, truth = find_scenes("KnownRanges", original, published, truth, self.seed)
        scene = Scene.of(grounds[0], truth)
        views = ((self._link(replace(scene, ground=ground)),) for ground in grounds)
        return LinkFindings.of(truth, views, levels)

    def risk(self, findings: LinkFindings) -> KnownRangesRisk:
        """The chance of finding a target's own published series, and the share of its other readings thus revealed."""
        if not findings.levels.counts[shown_way(findings.levels)]:
            raise ParameterError("KnownRanges needs readings to know; at the instants of the release there are none.")
        taken = findings.taken[better(findings.taken)]
        assert isinstance(taken, RangeView)
        known = replace(self, n=max(1, int(taken.known.max()))).knows
        return KnownRangesRisk(
            **link_figures(findings, f"{known[0].lower()}{known[1:-1]}"),
            n_points=int(self.n),
            within=float(self.within),
            inferred=float(taken.told.mean()),
            inferred_baseline=float(taken.guessed.mean()),
        )

    def _link(self, scene: Scene) -> RangeView:
        truth, n_instants = scene.truth, scene.ground.n_instants
        true = scene.ground.original[truth.targets]
        points = KnownPoints(min(int(self.n), n_instants), choose=self.choose, seed=self.seed)
        places, _ = points.places(scene, truth, true, False)
        known = readings_at(true, places)
        used = marks(places, n_instants)
        others = max(n_instants - min(int(self.n), n_instants), 1)
        distances, told, guessed = np.empty((len(true), 2)), np.empty(len(true)), np.empty(len(true))
        start, which = np.zeros(len(true) + 1, dtype=np.int64), []
        for i, target in enumerate(truth.targets.tolist()):
            dice = np.random.default_rng(np.random.SeedSequence([self.seed, 3, truth.first + target]))
            seen = known[i] + self.within * dice.uniform(-1.0, 1.0, known[i].shape)
            there = places[i] >= 0
            fits = self._fit(scene.series[places[i][there]], seen[there][:, :, None]).sum(axis=0)
            candidates = np.flatnonzero(fits == fits.max())
            less = fits[fits < fits.max()]
            distances[i] = there.sum() - fits.max(), there.sum() - less.max() if len(less) else np.inf
            start[i + 1] = start[i] + len(candidates)
            which.append(candidates)
            free = ~used[i]
            told[i] = self._told(scene.series[:, :, candidates], true[i])[free].sum() / others
            middle = np.median(seen[there], axis=0) if there.any() else np.full(true.shape[2], np.nan)
            guessed[i] = (np.abs(true[i] - middle) <= self.within).all(axis=1)[free].sum() / others
        chances = count_links(Links(distances, start, np.concatenate(which)), scene.classes, truth)
        n_known = (places >= 0).sum(axis=1)
        return RangeView(chances.sizes, chances.own, chances.distances, told, guessed, n_known)

    def _fit(self, series: Floats, seen: Floats) -> NDArray[np.bool_]:
        """Where published series are no further than the error from what is known, (instants, series)."""
        # Slightly more: a reading at the very end of its range is in it, however differences round.
        slack = 1e-12 * np.maximum(np.abs(series), np.abs(seen))
        fits: NDArray[np.bool_] = np.all(np.abs(series - seen) <= self.within + slack, axis=1)
        return fits

    def _told(self, candidates: Floats, true: Floats) -> NDArray[np.bool_]:
        """At which instants all candidates lie in a range that reveals the reading, (instants)."""
        low, high = candidates.min(axis=2), candidates.max(axis=2)
        near = np.abs((low + high) / 2.0 - true) <= self.within
        told: NDArray[np.bool_] = np.all((high - low <= 2.0 * self.within) & near, axis=1)
        return told


@dataclass(frozen=True, eq=False, repr=False)
class RangeView(Chances):
    """Chances, and for every target the shares of other instants inferred and guessed, and how many readings are
    known."""

    told: Floats
    guessed: Floats
    known: Rows

"""What experiments/process_paper.py measures: groupings, the spaces they are judged in, indices and times."""

import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from shoal import Microaggregation, Panel
from shoal.features import Centred, Haar
from shoal.utility import DaviesBouldin, InformationLoss, NormalizedDivergence, Silhouette
from shoal.utility.groups import published_labels

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

KS = (4, 8, 12, 16, 20, 24, 28)
HAAR, VARIANCE, MEAN, RAW, CHANCE = "MDAV, Haar shares", "by variance", "by mean", "MDAV, raw", "at random"
PAPER = (HAAR, VARIANCE, MEAN)
GROUPINGS = (*PAPER, RAW, CHANCE)
READY = "MDAV, Haar shares given"
SHARES, CENTRED, SHAPES = "Haar shares", "centred series", "shapes"
SPACES = (SHARES, CENTRED, SHAPES)
INDICES = ("silhouette", "davies_bouldin", "scatter")


@dataclass(frozen=True, eq=False)
class Judged:
    """How well the groups hold together in one space."""

    silhouettes: Floats  # of each series
    davies_bouldin: float
    scatter: float  # SSE / SST
    width: float  # mean over groups of the mean distance from the centre
    gap: float  # mean over groups of the distance to the nearest other centre

    @property
    def silhouette(self) -> float:
        """The mean over all series."""
        return float(self.silhouettes.mean())


@dataclass(frozen=True)
class Results:
    """Everything measured on one panel."""

    judged: dict[tuple[str, str, int], Judged]  # by space, grouping, k
    loss: dict[tuple[str, int], float]  # of the readings, by grouping, k
    divergence: dict[tuple[str, int], float]
    labels: dict[tuple[str, int], Labels]  # the group of each series

    def curve(self, space: str, grouping: str, index: str) -> list[float]:
        """An index of `Judged` by k."""
        return [float(getattr(self.judged[space, grouping, k], index)) for k in KS]

    def losses(self, grouping: str) -> list[float]:
        """Information loss of the readings by k."""
        return [self.loss[grouping, k] for k in KS]

    def divergences(self, grouping: str) -> list[float]:
        """Normalised divergence of the readings by k."""
        return [self.divergence[grouping, k] for k in KS]


def method(grouping: str, k: int) -> Microaggregation:
    """A grouping as a method. Plain MDAV is meant throughout, so nothing is refined."""
    options: dict[str, dict[str, Any]] = {
        HAAR: {"algorithm": "mdav", "features": "haar"},
        VARIANCE: {"algorithm": "by-variance"},
        MEAN: {"algorithm": "by-mean"},
        RAW: {"algorithm": "mdav", "features": "raw"},
        CHANCE: {"algorithm": "mdav", "features": random_numbers},
    }
    return Microaggregation(k=k, refine=False, **options[grouping])


def release(grouping: str, k: int, panel: Panel) -> Panel:
    """The published series, one row per series in the order of the originals."""
    return method(grouping, k).anonymize(panel).curves


def random_numbers(panel: Panel) -> Floats:
    """Features that say nothing: groups by chance."""
    return np.random.default_rng(0).random((panel.n_series, 1))


def spaces_of(panel: Panel) -> dict[str, Floats]:
    """The series as points in each space."""
    centred = Centred()(panel)
    deviations = centred.std(axis=1, keepdims=True)
    shapes = centred / np.where(deviations > 0.0, deviations, 1.0)
    return {SHARES: Haar()(panel), CENTRED: centred, SHAPES: shapes}


def measure(panel: Panel) -> Results:
    """Group the panel in every way and judge the groups in every space."""
    results = Results({}, {}, {}, {})
    spaces = spaces_of(panel)
    for k in KS:
        for grouping in GROUPINGS:
            published = release(grouping, k, panel)
            results.loss[grouping, k] = InformationLoss().measure(panel, published).value
            results.divergence[grouping, k] = NormalizedDivergence().measure(panel, published).value
            results.labels[grouping, k] = labels = published_labels(published)
            for space, points in spaces.items():
                results.judged[space, grouping, k] = judge(points, labels)
        print(f"measured k = {k}", flush=True)
    return results


def judge(points: Floats, labels: Labels) -> Judged:
    """The indices of groups of points."""
    sums = np.zeros((int(labels.max()) + 1, points.shape[1]))
    np.add.at(sums, labels, points)
    sizes = np.bincount(labels)
    centres = sums / sizes[:, None]
    distances = np.sqrt(np.sum((points - centres[labels]) ** 2, axis=1))
    between = np.asarray(pairwise_distances(centres))
    np.fill_diagonal(between, np.inf)
    original, published = Panel(points), Panel(centres[labels])
    return Judged(
        silhouettes=Silhouette().per_series(original, published)[0],
        davies_bouldin=DaviesBouldin().measure(original, published).value,
        scatter=InformationLoss().measure(original, published).value,
        width=float((np.bincount(labels, weights=distances) / sizes).mean()),
        gap=float(between.min(axis=1).mean()),
    )


def measure_times(panel: Panel, repeats: int) -> dict[str, list[float]]:
    """Median seconds by k: of whole releases, and of MDAV alone on shares computed before. Repeats take turns.

    Processor time, not time on the wall: other work on the machine would be timed as well.
    """
    ready = Panel(Haar()(panel))
    panels = dict.fromkeys((*PAPER, RAW), panel) | {READY: ready}
    for name, given in panels.items():  # compiles what is timed below
        release(_grouping(name), KS[0], Panel(given.values[: 4 * KS[0]]))
    seconds: dict[tuple[str, int], list[float]] = {(name, k): [] for name in panels for k in KS}
    for _ in range(repeats):
        for k in KS:
            for name, given in panels.items():
                start = time.process_time()
                release(_grouping(name), k, given)
                seconds[name, k].append(time.process_time() - start)
    return {name: [median(seconds[name, k]) for k in KS] for name in panels}


def _grouping(name: str) -> str:
    """Shares at hand are a panel of their own, which MDAV takes as it is."""
    return RAW if name == READY else name


def level_share(panel: Panel) -> float:
    """Part of the variation between series that is the difference of their mean levels."""
    between = panel.rows - panel.rows.mean(axis=0)
    levels = between.mean(axis=1)
    return float(panel.rows.shape[1] * np.sum(levels**2) / np.sum(between**2))


def energy_of_top_tenth(panel: Panel) -> float:
    """Part of the squared centred readings that belongs to the tenth of the series with most of it."""
    energy = np.sort(np.sum(Centred()(panel) ** 2, axis=1))[::-1]
    return float(energy[: max(1, len(energy) // 10)].sum() / energy.sum())

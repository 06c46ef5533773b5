"""What experiments/kp_paper.py measures but for queries: losses, suppressed series, breaches, times."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from bfp2ka import best_level, bfp2ka
from kp_paper_data import Sets, uniform, walks
from numpy.typing import NDArray
from tga import tga

from shoal import KP, KPAnonymity, Panel
from shoal.attacks import Linkage
from shoal.features.sax import MOST_LETTERS, Sax
from shoal.kernels.kp_tree import create_tree
from shoal.methods.kp import Algorithm, WordsOf
from shoal.model import Envelopes
from shoal.utility import PatternLoss, ValueLoss

KAPRA, NAIVE, TGA, BFP2KA = "KAPRA", "Naive", "TGA", "BFP2KA"
KAPRA_MEANS, NAIVE_MEANS = "KAPRA, words of means", "Naive, words of means"
# Plain names have the words of the paper, which series of a subgroup share; KP publishes words of means by default.
RELEASES: dict[str, tuple[Algorithm, WordsOf]] = {
    KAPRA: ("kapra", "own"),
    NAIVE: ("naive", "own"),
    KAPRA_MEANS: ("kapra", "mean"),
    NAIVE_MEANS: ("naive", "mean"),
}
PAIRS = ((KAPRA_MEANS, NAIVE_MEANS), (KAPRA, NAIVE))  # alike but for the algorithm
METHODS = (*RELEASES, TGA, BFP2KA)
BFP2KA_20 = "BFP2KA, 20 letters"  # the paper's level
UNITS = (0.001, 0.1, 10.0)  # of TGA, as a part of the range of the panel
WEIGHTS = (0.1, 0.5, 0.9)  # of the shapes, for KP's "auto"


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    ps: tuple[int, ...] = (2, 3, 4, 5, 6, 8, 10)
    tuning_k: int = 10  # of figure 4
    ks: tuple[int, ...] = (5, 10, 20, 30, 40, 50)
    tuning_p: int = 5  # of figure 5
    equal: tuple[int, ...] = (5, 10, 20, 50)  # k = P, of figures 6 to 10
    middle: int = 10  # k = P where one is enough
    n_queries: int = 400
    uniform_sizes: tuple[int, ...] = (5_000, 10_000, 20_000, 50_000, 100_000)
    motion_shares: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    most_compared: int = 25_000  # series that TGA, whose time is quadratic, is timed with
    more_series: tuple[int, ...] = (2_500, 5_000, 10_000)
    more_instants: tuple[int, ...] = (5, 10, 20, 40)
    n_longer: int = 5_000  # walks of each length
    overlaps: tuple[int, ...] = (2, 4, 6, 8)  # instants with range and letter, of figures 12 and 13
    custom_k: int = 10
    custom_p: int = 3
    n_choices: int = 10  # of instants for each overlap
    n_custom: int = 200  # queries for each choice


QUICK = Plan(
    ps=(2, 3, 4),
    tuning_k=4,
    ks=(3, 4, 6),
    tuning_p=3,
    equal=(3, 4, 6),
    middle=4,
    n_queries=60,
    uniform_sizes=(100, 200, 400),
    motion_shares=(0.5, 1.0),
    more_series=(100, 200),
    more_instants=(5, 10),
    n_longer=150,
    custom_k=4,
    n_choices=2,
    n_custom=20,
)


@dataclass(frozen=True)
class Figures:
    """Of one release; what a method does not have is None."""

    pattern: float
    """Pattern loss, the mean over the published series."""
    value: float | None = None
    """Value loss, in parts of the range of the set."""
    shapeless: float | None = None
    """Share of the published series with a word of one letter, which tells nothing of the shape."""
    pattern_with_shape: float | None = None
    """Pattern loss of the others."""
    n_suppressed: int = 0
    breach: float | None = None
    """The highest probability of breach of all series, for an adversary who knows values and word."""


@dataclass(frozen=True)
class Losses:
    """Everything that is measured on one set."""

    panel: Panel
    unit: float
    """The unit of TGA that loses least pattern here."""
    by_p: dict[tuple[str, int], Figures]
    by_k: dict[tuple[str, int], Figures]
    equal: dict[tuple[str, int], Figures]
    fine: Figures
    """TGA with the finest unit, at the middle k."""
    levels: dict[int, int]
    """The best level of BFP2KA by k."""
    bad: dict[int, int]
    """By P, the series in bad leaves, which would be suppressed if they were not recycled."""
    picked: dict[float, str]
    """By the weight of shapes, what "auto" publishes at the middle k: KAPRA or Naive, with words of means."""


@dataclass(frozen=True)
class Times:
    """Seconds of the processor, by method and number of series."""

    motion: dict[tuple[str, int], float]
    uniform: dict[tuple[str, int], float]


def losses(panel: Panel, plan: Plan, seed: int, tuned_by: Iterable[str] = tuple(RELEASES)) -> Losses:
    """Figures 4 to 6, table 4 and the attack, on one set; P and k are varied for some of the releases."""
    tuned_by = tuple(tuned_by)
    tuned = {u: _tga(panel, plan.middle, seed, u) for u in UNITS}
    unit = min(tuned, key=lambda u: tuned[u].pattern)
    by_p = {(m, p): _kp(panel, m, plan.tuning_k, p) for m in tuned_by for p in plan.ps}
    by_k = {(m, k): _kp(panel, m, k, plan.tuning_p) for m in tuned_by for k in plan.ks}
    equal = {(m, k): _kp(panel, m, k, k) for m in RELEASES for k in plan.equal}
    equal |= {(TGA, k): tuned[unit] if k == plan.middle else _tga(panel, k, seed, unit) for k in plan.equal}
    levels = {k: best_level(panel, k=k) for k in plan.equal}
    equal |= {(BFP2KA, k): _bfp2ka(panel, k, level) for k, level in levels.items()}
    bad = {p: n_bad(panel, p) for p in plan.ps}
    picked = {weight: _picked(panel, plan.middle, weight) for weight in WEIGHTS}
    return Losses(panel, unit, by_p, by_k, equal, tuned[UNITS[0]], levels, bad, picked)


def _picked(panel: Panel, k: int, weight: float) -> str:
    found = KP(k=k, p=k, algorithm="auto", pattern_weight=weight).anonymize(panel)
    return NAIVE_MEANS if found.recipe.figures["series_grouped_by_values"] else KAPRA_MEANS


def method(name: str, k: int, p: int) -> KP:
    """One of RELEASES."""
    algorithm, words = RELEASES[name]
    return KP(k=k, p=p, algorithm=algorithm, words=words)


def release(panel: Panel, k: int, p: int, name: str) -> tuple[Envelopes, NDArray[np.int64] | None]:
    """What KP publishes, and which original each row is where some were suppressed."""
    candidate = method(name, k, p).anonymize(panel)
    assert isinstance(candidate.published, Envelopes)
    return candidate.published, candidate.private.rows


def _kp(panel: Panel, name: str, k: int, p: int) -> Figures:
    published, rows = release(panel, k, p, name)
    assert KPAnonymity(k, p).check(published).holds
    loss, shaped = PatternLoss().per_series(panel, published, rows=rows), published.levels > 1
    return Figures(
        pattern=float(loss.mean()),
        value=ValueLoss().measure(panel, published).value,
        shapeless=float(np.mean(~shaped)),
        pattern_with_shape=float(loss[shaped].mean()) if shaped.any() else None,
        n_suppressed=panel.n_series - published.n_series,
        breach=Linkage().attack(panel, published, rows=rows).highest,
    )


def _tga(panel: Panel, k: int, seed: int, unit: float) -> Figures:
    made = tga(panel, k=k, seed=seed, resolution=unit)
    pattern = PatternLoss().measure(panel, made.panel).value
    return Figures(pattern=pattern, value=ValueLoss().measure(panel, made.envelopes).value)


def _bfp2ka(panel: Panel, k: int, level: int) -> Figures:
    shapes = bfp2ka(panel, k=k, level=level).shapes
    return Figures(pattern=1.0 if shapes is None else PatternLoss().measure(panel, shapes).value)


def n_bad(panel: Panel, p: int) -> int:
    """How many series KAPRA would suppress without recycling (table 4, NR)."""
    x, words = np.array(panel.rows), Sax(MOST_LETTERS)
    leaves = create_tree(lambda level: words.words(x, level), np.zeros(len(x), dtype=np.int64), p, MOST_LETTERS)
    return int(np.count_nonzero(~leaves.good[leaves.leaf]))


def more_series(plan: Plan, seed: int) -> dict[int, dict[str, Figures]]:
    """KAPRA and TGA by the number of series, on uniform values."""
    return {n: _some(uniform(n, seed), plan, seed) for n in plan.more_series}


def more_instants(plan: Plan, seed: int) -> dict[int, dict[str, Figures]]:
    """KAPRA and TGA by the number of instants, on walks."""
    return {n: _some(walks(plan.n_longer, seed, n), plan, seed) for n in plan.more_instants}


def _some(panel: Panel, plan: Plan, seed: int) -> dict[str, Figures]:
    k = plan.middle
    tuned = min((_tga(panel, k, seed, unit) for unit in UNITS), key=lambda found: found.pattern)
    return {KAPRA: _kp(panel, KAPRA, k, k), KAPRA_MEANS: _kp(panel, KAPRA_MEANS, k, k), TGA: tuned}


def times(sets: Sets, plan: Plan, seed: int) -> Times:
    """Figure 11; every method at k = P, BFP2KA at the best level of the smallest panel, not counted."""
    _times([uniform(4 * plan.middle, seed)], plan, seed)  # compiles
    motion = sets.panels[sets.motion]
    order = np.random.default_rng([seed, 5]).permutation(motion.n_series)
    cuts = (Panel(motion.rows[order[: round(share * len(order))]]) for share in plan.motion_shares)
    return Times(_times(cuts, plan, seed), _times((uniform(n, seed) for n in plan.uniform_sizes), plan, seed))


def _times(panels: Iterable[Panel], plan: Plan, seed: int) -> dict[tuple[str, int], float]:
    found, level, k = {}, 0, plan.middle
    for panel in panels:
        level = level or best_level(panel, k=k)
        calls: dict[str, Callable[[], object]] = {
            name: partial(method(name, k, k).anonymize, panel) for name in RELEASES
        }
        calls[BFP2KA] = partial(bfp2ka, panel, k=k, level=level)
        if bfp2ka(panel, k=k, level=MOST_LETTERS).words is not None:
            calls[BFP2KA_20] = partial(bfp2ka, panel, k=k, level=MOST_LETTERS)
        if panel.n_series <= plan.most_compared:
            calls[TGA] = partial(tga, panel, k=k, seed=seed)
        for name, call in calls.items():
            begun = time.process_time()
            call()
            found[name, panel.n_series] = time.process_time() - begun
    return found

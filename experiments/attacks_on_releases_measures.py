"""What experiments/attacks_on_releases.py measures: releases of each kind, and what each attack makes of them."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from attacks_on_releases_data import HOUSEHOLDS, Sets, households, rows_of, some

from shoal import Microaggregation, NoiseAddition, Panel, Permutation, TimeSlicing, publish
from shoal.attacks import (
    Denoising,
    Intersection,
    KnownPoints,
    KnownTotals,
    Membership,
    NearestNeighbour,
    Relink,
    Reordering,
    SubsetSum,
    Unmixing,
)
from shoal.attacks.denoising import DenoisingRisk
from shoal.attacks.intersection import IntersectionRisk
from shoal.attacks.membership import MembershipRisk
from shoal.attacks.outliers import inject_outliers
from shoal.attacks.reordering import ReorderingRisk
from shoal.attacks.subset_sum import SubsetRisk
from shoal.attacks.unmixing import UnmixingRisk
from shoal.errors import GuaranteeNotMetError
from shoal.model import Interval, Risk

PSEUDONYMS, NOISE, EXCHANGED = "pseudonyms only", "noise as strong as the signal", "days exchanged between all series"
POINTS, TOTALS, PERIOD = "5 readings", "daily totals", "another period"
SLICES = {"slices of a week, dates kept": "7d", "slices of a day, dates kept": "1d"}
STEPS = {"day": "daily totals", "week": "weekly totals", "all": "one total"}
SOLVER_SECONDS = 5.0  # for one mean; where it is used up the answer depends on the machine


@dataclass(frozen=True)
class Plan:
    """Sizes of everything."""

    ks: tuple[int, ...] = (4, 10)
    known: tuple[int, ...] = (1, 2, 3, 5, 10, 20, 40, 80)  # readings of the curve
    filtered: int = 20  # readings of the adversary who filters
    ratios: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 10.0)  # signal to noise
    members: int = 4
    candidates: int = 40
    noises: tuple[float, ...] = (0.0, 0.001, 0.1, 0.4)  # on means, as a share of each
    nearest_means: int = 6  # means of which the best set is looked for, which takes seconds for each
    few_means: int = 2  # the same by one total, where it takes longest
    shadows: int = 8  # releases that an adversary makes to learn who is in one
    outliers: int = 100  # injected, and as many others
    crowds: tuple[int, ...] = (3, 10)  # means that outliers are looked for in
    timed: tuple[int, int] = (200, 14)  # series and days


QUICK = Plan(
    known=(1, 5),
    ratios=(1.0, 10.0),
    noises=(0.0, 0.01),
    candidates=24,
    nearest_means=3,
    few_means=2,
    shadows=4,
    outliers=10,
    timed=(40, 14),
)
NEAR_BY = 0.3
"""An outlier is found where a published series is within this share of its norm."""


@dataclass(frozen=True)
class OnSet:
    """What was found on one panel."""

    linked: dict[tuple[str, str], Risk]  # by release and what is known
    curves: dict[str, list[Risk]]  # by release, over plan.known
    denoised: list[DenoisingRisk]  # over plan.ratios
    unmixed: UnmixingRisk
    reordered: dict[str, ReorderingRisk]  # by release
    together: IntersectionRisk
    refused: bool  # whether the ledger refuses the second of the two
    inside: dict[str, MembershipRisk]  # by release
    rehearsed: dict[str, MembershipRisk]  # the same with shadow releases, where a method made it
    outliers: dict[int, tuple[Interval, Interval, float, float, float]]  # by k: intervals and shares, seen nearer
    exact: list[SubsetRisk]  # over plan.noises, daily totals
    nearest: dict[str, list[SubsetRisk]]  # by step, over plan.noises
    n_candidates: int


@dataclass(frozen=True)
class Results:
    """Everything."""

    plan: Plan
    sets: Sets
    found: dict[str, OnSet]
    times: dict[str, float]  # seconds of the processor
    seconds: float


def measure(sets: Sets, plan: Plan, seed: int) -> Results:
    """All of it."""
    begun = time.process_time()
    found = {}
    for name, panel in sets.panels.items():
        found[name] = on_set(panel, plan, seed, steps=tuple(STEPS) if name == HOUSEHOLDS else ("day",))
        print(f"attacked {name} after {time.process_time() - begun:.0f} s", flush=True)
    times = take_times(households(*plan.timed, seed), seed)
    return Results(plan, sets, found, times, time.process_time() - begun)


def means_of(k: int) -> str:
    """What a release of means is called."""
    return f"microaggregation, k = {k}"


def on_set(panel: Panel, plan: Plan, seed: int, *, steps: tuple[str, ...]) -> OnSet:
    """Every attack on every release of a panel."""
    plain = rows_of(panel, np.arange(panel.n_series))
    order = np.random.default_rng([seed, 0]).permutation(panel.n_series)
    exchanged = Permutation(length="1d", share=1.0, seed=seed).anonymize(plain).published
    releases = {PSEUDONYMS: (rows_of(panel, order), order)}
    releases |= {means_of(k): (Microaggregation(k=k).anonymize(plain).published, None) for k in plan.ks}
    noisy = {ratio: NoiseAddition(snr=ratio, seed=seed).anonymize(plain).published for ratio in plan.ratios}
    attacks = {
        POINTS: KnownPoints(5, seed=seed),
        TOTALS: KnownTotals(step="day", seed=seed),
        PERIOD: Relink(seed=seed),
    }
    shown = releases | {NOISE: (noisy[1.0], None), EXCHANGED: (exchanged, None)}
    candidates = some(panel, plan.candidates, seed)
    exact, nearest = subsets(candidates, plan, seed, steps)
    together, refused = two_releases(panel, plan.members)
    inside, rehearsed = membership(panel, plan, seed)
    return OnSet(
        linked={
            (release, what): attack.attack(plain, published, rows=rows)
            for release, (published, rows) in shown.items()
            for what, attack in attacks.items()
        },
        curves={
            release: list(KnownPoints(1, seed=seed).curve(plain, published, plan.known, rows=rows))
            for release, (published, rows) in releases.items()
        },
        denoised=[Denoising(plan.filtered, seed=seed).attack(plain, published) for published in noisy.values()],
        unmixed=Unmixing(step="day", seed=seed).attack(plain, exchanged),
        reordered={name: reorder(plain, length, seed) for name, length in SLICES.items()},
        together=together,
        refused=refused,
        inside=inside,
        rehearsed=rehearsed,
        outliers={k: find_outliers(plain, k, plan.outliers, seed) for k in plan.crowds},
        exact=exact,
        nearest=nearest,
        n_candidates=candidates.n_series,
    )


def reorder(panel: Panel, length: str, seed: int) -> ReorderingRisk:
    """Cut the series and have the slices put together."""
    cut = TimeSlicing(length=length, dates="kept").anonymize(panel)
    return Reordering(seed=seed).attack(panel, cut.published, rows=cut.stands_for)


def two_releases(panel: Panel, k: int) -> tuple[IntersectionRisk, bool]:
    """Groups by readings and groups by Haar shares: each of at least k. And whether a ledger lets both out."""
    made = [Microaggregation(k=k, features=features).anonymize(panel) for features in ("raw", "haar")]
    risk = Intersection().attack(panel, [candidate.published for candidate in made])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        publish(made[1], folder / "alone")  # nothing else is wrong with it
        publish(made[0], folder / "first", ledger=folder / "ledger.json")
        try:
            publish(made[1], folder / "second", ledger=folder / "ledger.json")
        except GuaranteeNotMetError:
            return risk, not (folder / "second").exists()
    return risk, False


def membership(panel: Panel, plan: Plan, seed: int) -> tuple[dict[str, MembershipRisk], dict[str, MembershipRisk]]:
    """Half of the series are published, drawn at random; of whom can it be told, knowing some, or the method?"""
    inside = np.sort(np.random.default_rng([seed, 1]).permutation(panel.n_series)[: panel.n_series // 2])
    half, everyone = rows_of(panel, inside), rows_of(panel, np.arange(panel.n_series))
    methods = {NOISE: NoiseAddition(snr=1.0, seed=seed), **{means_of(k): Microaggregation(k=k) for k in plan.ks}}
    releases = {PSEUDONYMS: half, **{name: method.anonymize(half).published for name, method in methods.items()}}
    some_known, rehearsing = Membership(seed=seed), Membership(shadows=plan.shadows, seed=seed)
    return (
        {name: some_known.attack(everyone, published, rows=inside) for name, published in releases.items()},
        {
            name: rehearsing.attack(everyone, releases[name], rows=inside, method=method)
            for name, method in methods.items()
        },
    )


def find_outliers(panel: Panel, k: int, n: int, seed: int) -> tuple[Interval, Interval, float, float, float]:
    """Of how many injected outliers a mean of k is near by, of how many others, and how often the former is nearer."""
    whole, unseen, rows = inject_outliers(panel, 2 * n, seed=seed)
    means = np.unique(Microaggregation(k=k).anonymize(whole).published.values, axis=0)

    def nearest(outliers: np.ndarray) -> np.ndarray:
        return np.array([np.sqrt(((means - one) ** 2).sum(axis=1).min() / (one**2).sum()) for one in outliers])

    near, far = nearest(whole.values[rows]), nearest(unseen.values)
    seen, others = float((near <= NEAR_BY).mean()), float((far <= NEAR_BY).mean())
    nearer = float((near[:, None] < far).mean())
    return Interval.wilson(seen, n), Interval.wilson(others, n), seen, others, nearer


def subsets(
    panel: Panel, plan: Plan, seed: int, steps: tuple[str, ...]
) -> tuple[list[SubsetRisk], dict[str, list[SubsetRisk]]]:
    """Who is in the groups: sets that fit exactly, and the set that fits best, over the noise on the means."""
    means = Microaggregation(k=plan.members).anonymize(panel).published
    noisy = [noise_on_means(means, noise, seed) for noise in plan.noises]
    every = SubsetSum(n_means=None, time_limit=SOLVER_SECONDS, seed=seed)
    exact = [every.attack(panel, published) for published in noisy]
    nearest = {}
    for step in steps:
        n_means = plan.few_means if step == "all" else plan.nearest_means
        attack = SubsetSum(step=step, exact=False, n_means=n_means, time_limit=SOLVER_SECONDS, seed=seed)
        nearest[step] = [attack.attack(panel, published) for published in noisy]
    return exact, nearest


def noise_on_means(means: Panel, share: float, seed: int) -> Panel:
    """Independent Gaussian noise on every reading of every mean, as a share of it; rows published alike stay alike."""
    distinct, which = np.unique(means.values, axis=0, return_inverse=True)
    noise = np.random.default_rng([seed, 2]).normal(size=distinct.shape)
    return Panel((distinct * (1.0 + share * noise))[which.reshape(-1)], times=means.times)


def take_times(panel: Panel, seed: int) -> dict[str, float]:
    """Seconds of the processor for one attack on all targets, compiling left out."""
    plain = rows_of(panel, np.arange(panel.n_series))
    noisy = NoiseAddition(snr=1.0, seed=seed).anonymize(plain).published
    exchanged = Permutation(length="1d", share=1.0, seed=seed).anonymize(plain).published
    means = Microaggregation(k=4).anonymize(plain).published
    attacks: dict[str, Callable[[Panel, Panel], Risk]] = {
        "`KnownPoints(5)`": KnownPoints(5).attack,
        '`KnownPoints(5, choose="worst")`': KnownPoints(5, choose="worst").attack,
        "`KnownTotals()`": KnownTotals().attack,
        "`NearestNeighbour()`": NearestNeighbour().attack,
        "`Relink()`": Relink().attack,
        '`NearestNeighbour(distance="dtw")`': NearestNeighbour(distance="dtw").attack,
        "`Denoising()`": Denoising().attack,
        "`Unmixing()`": Unmixing().attack,
    }
    given = {"`Denoising()`": noisy, "`Unmixing()`": exchanged}
    seconds = {}
    for name, attack in attacks.items():
        few = np.arange(min(30, panel.n_series))
        attack(rows_of(plain, few), rows_of(given.get(name, means), few))  # compiles what is timed
        start = time.process_time()
        attack(plain, given.get(name, means))
        seconds[name] = time.process_time() - start
    return seconds

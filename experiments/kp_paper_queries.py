"""What experiments/kp_paper.py asks releases: figures 7 to 10, and 12 and 13 on customised publishing."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from bfp2ka import bfp2ka
from kp_paper_data import WALK, Sets
from kp_paper_measures import BFP2KA, KAPRA, RELEASES, TGA, Losses, Plan, release
from numpy.typing import NDArray
from tga import tga

from shoal import KP, Panel
from shoal.features.sax import MOST_LETTERS
from shoal.features.shapes import shape_distances, unit_rows
from shoal.model import Envelopes
from shoal.queries import Kind, PatternRange, Query, complete, random_queries
from shoal.utility import PatternLoss, QueryError
from shoal.utility.query_error import ask

RANGE: Final = "range"
PRQ: Final = "pattern-range"
PSQ: Final = "pattern-similarity"
COMBINED: Final = "combined"
KINDS: tuple[Kind, ...] = (PSQ, PRQ, RANGE, COMBINED)
STRING = "string"
SHARE = 0.05  # of the series that a query of similarity finds among the originals, about
MEAN_FACTOR = 5.5  # of the tolerance, which random_queries multiplies by 1 to 10

Published = tuple[Envelopes | Panel, NDArray[np.int64] | None]


@dataclass(frozen=True)
class Found:
    """Means over the queries of one kind."""

    precision: float
    recall: float
    error: float
    share: float
    """Of the series that the originals answer with."""

    def score(self, kind: Kind) -> float:
        """What the paper shows: precision of patterns, relative error of counts."""
        return self.error if kind in (RANGE, COMBINED) else self.precision


@dataclass(frozen=True)
class Asked:
    """Answers on one set."""

    tolerance: float
    """Of similarity, the same for all releases: from the originals."""
    fixed: dict[tuple[str, int, Kind], Found]
    own: dict[str, tuple[float, Found]]
    """At the middle k, the tolerance that a release gets by the paper's rule, and similarity asked with it."""
    envelopes: dict[int, float]
    """Relative error of ranges over the envelopes of TGA, which it does not publish, by k."""


@dataclass(frozen=True)
class Levels:
    """Of BFP2KA on String, by k."""

    best: dict[int, int]
    most: dict[int, float | None]
    """Pattern loss at level 20, the paper's; None where nothing can be published."""


@dataclass(frozen=True)
class Customised:
    """Figures 12 and 13."""

    seconds: dict[tuple[str, int], float]
    """To complete the set, by what is missing and how many instants have both."""
    by_size: dict[int, float]
    scores: dict[tuple[Kind, int], tuple[float, float]]
    """By kind and overlap: of the completed release, and of the full one asked the same."""


def tolerance_of(panel: Panel, seed: int) -> float:
    """So that a query of similarity finds about 5 % of the originals; constant series, all alike, are left out."""
    rng = np.random.default_rng([seed, 6])
    shapes = unit_rows(panel.rows)
    shapes = shapes[shapes.any(axis=1)]
    one, other = (shapes[rng.integers(len(shapes), size=20_000)] for _ in range(2))
    return float(np.quantile(shape_distances(one, other), SHARE)) / MEAN_FACTOR


def on_walk(panel: Panel, found: Losses, plan: Plan, seed: int) -> Asked:
    """Naive, KAPRA and TGA."""
    made = {k: tga(panel, k=k, seed=seed, resolution=found.unit) for k in plan.equal}
    releases = {(TGA, k): (one.panel, None) for k, one in made.items()}
    error = QueryError("range", n_queries=plan.n_queries, seed=seed)
    by_envelopes = {k: error.measure(panel, one.envelopes).value for k, one in made.items()}
    return _asked(panel, releases | dict(_kp_releases(panel, plan)), plan, seed, by_envelopes)


def on_string(sets: Sets, plan: Plan, seed: int) -> tuple[Asked, Levels]:
    """Naive, KAPRA and BFP2KA, on letters as values; BFP2KA at the level at which it loses least pattern."""
    motion, string = sets.panels[sets.motion], sets.string
    releases: dict[tuple[str, int], Published] = {}
    best, most = {}, {}
    for k in plan.equal:
        every = {level: _as_string(motion, k, level) for level in range(1, MOST_LETTERS + 1)}
        coarser = {level: made for level, made in every.items() if made is not None}
        scored = {level: PatternLoss().measure(string, made).value for level, made in coarser.items()}
        best[k] = min(scored, key=lambda level: scored[level])
        most[k] = scored.get(MOST_LETTERS)
        releases[BFP2KA, k] = coarser[best[k]], None
    return _asked(string, releases | dict(_kp_releases(string, plan)), plan, seed, {}), Levels(best, most)


def _as_string(motion: Panel, k: int, level: int) -> Envelopes | None:
    """Words of fewer letters on String: each letter is the range of those of level 20 whose middles it holds."""
    made = bfp2ka(motion, k=k, level=level)
    if made.words is None:
        return None
    wide = MOST_LETTERS / level
    low, high = np.ceil(made.codes * wide - 0.5), np.floor((made.codes + 1) * wide - 0.5)
    return Envelopes(low, np.maximum(low, high), np.full(len(low), level), made.words, motion.times)


def _kp_releases(panel: Panel, plan: Plan) -> Iterator[tuple[tuple[str, int], Published]]:
    for name in RELEASES:
        for k in plan.equal:
            yield (name, k), release(panel, k, k, name)


def _asked(
    panel: Panel, releases: dict[tuple[str, int], Published], plan: Plan, seed: int, envelopes: dict[int, float]
) -> Asked:
    tolerance = tolerance_of(panel, seed)
    fixed = {}
    for kind in KINDS:
        asked = random_queries(panel, plan.n_queries, kind, seed, tolerance=tolerance)
        for (name, k), (published, rows) in releases.items():
            fixed[name, k, kind] = _found(asked, panel, published, rows)
    own = {}
    for (name, k), (published, rows) in releases.items():
        if k == plan.middle:
            loss = PatternLoss().measure(panel, published, rows=rows).value
            asked = random_queries(panel, plan.n_queries, PSQ, seed, tolerance=loss)
            own[name] = loss, _found(asked, panel, published, rows)
    return Asked(tolerance, fixed, own, envelopes)


def _found(
    asked: list[Query], panel: Panel, published: Envelopes | Panel, rows: NDArray[np.int64] | None = None
) -> Found:
    answers = ask(asked, panel, published, rows=rows)
    parts = (answers.precision, answers.recall, answers.relative_error, answers.actual / panel.n_series)
    return Found(*(float(part.mean()) for part in parts))


def customised(sets: Sets, plan: Plan, seed: int) -> Customised:
    """Walk with ranges of some instants and letters of others; see the paper's section 7.4."""
    panel = sets.panels[WALK]
    rng = np.random.default_rng([seed, 7])
    whole, rows = release(panel, plan.custom_k, plan.custom_p, KAPRA)
    tolerance = tolerance_of(panel, seed)
    seconds, scores = {}, {}
    for both in plan.overlaps:
        pairs: dict[Kind, list[tuple[float, float]]] = {PSQ: [], PRQ: [], RANGE: []}
        spent: dict[str, list[float]] = {"ranges": [], "letters": [], "both": []}
        for choice in range(plan.n_choices):
            order = rng.permutation(panel.n_instants)
            half = both + (panel.n_instants - both) // 2
            ranged, lettered = np.sort(order[:half]), np.sort(np.r_[order[:both], order[half:]])
            everything = np.arange(panel.n_instants)
            for what, (e, w) in {
                "ranges": (np.sort(order[:both]), everything),
                "letters": (everything, np.sort(order[:both])),
                "both": (ranged, lettered),
            }.items():
                published = published_at(panel, plan, e, w)
                begun = time.process_time()
                completed = complete(published, open_ends="series")
                spent[what].append(time.process_time() - begun)
            no_range, no_letter = order[half:], order[both:half]
            asked: dict[Kind, list[Query]] = {
                PSQ: random_queries(panel, plan.n_custom, PSQ, seed + choice, tolerance=tolerance),
                PRQ: touching(panel, plan.n_custom, set(no_letter.tolist()), seed + choice),
                RANGE: random_queries(
                    Panel(panel.rows[:, np.sort(no_range)], times=np.sort(no_range)),
                    plan.n_custom,
                    RANGE,
                    seed + choice,
                ),
            }
            for kind, queries in asked.items():
                ours, full = (_found(queries, panel, made, rows).score(kind) for made in (completed, whole))
                pairs[kind].append((ours, full))
        for what, times in spent.items():
            seconds[what, both] = float(np.mean(times))
        for kind, some in pairs.items():
            ours, full = np.mean(some, axis=0).tolist()
            scores[kind, both] = ours, full
    return Customised(seconds, _by_size(sets, plan, seed), scores)


def published_at(panel: Panel, plan: Plan, ranged: NDArray[np.int64], lettered: NDArray[np.int64]) -> Envelopes:
    """Ranges and letters of these instants; groups are formed on all."""
    method = KP(
        k=plan.custom_k,
        p=plan.custom_p,
        words="own",
        envelope_instants=ranged.tolist(),
        pattern_instants=lettered.tolist(),
    )
    published = method.anonymize(panel).published
    assert isinstance(published, Envelopes)
    return published


def touching(panel: Panel, n: int, missing: set[int], seed: int) -> list[Query]:
    """Random ranges of differences, every one of which has an instant whose letter is missing."""
    found: list[Query] = []
    while len(found) < n:
        drawn = random_queries(panel, 20 * n, PRQ, seed)
        found += [
            q for q in drawn if isinstance(q, PatternRange) and all({c.first, c.second} & missing for c in q.conditions)
        ]
        seed += 1_000
    return found[:n]


def _by_size(sets: Sets, plan: Plan, seed: int) -> dict[int, float]:
    """Seconds to complete Motion of several sizes, half of the instants with both."""
    motion = sets.panels[sets.motion]
    order = np.random.default_rng([seed, 8]).permutation(motion.n_series)
    half = motion.n_instants // 2
    ranged, lettered = np.r_[:half, half : half + half // 2], np.r_[:half, half + half // 2 : motion.n_instants]
    found = {}
    for share in plan.motion_shares:
        panel = Panel(motion.rows[order[: round(share * len(order))]])
        published = published_at(panel, plan, ranged, lettered)
        begun = time.process_time()
        complete(published, open_ends="series")
        found[panel.n_series] = time.process_time() - begun
    return found

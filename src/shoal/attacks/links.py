"""Links from targets to published series, and what they are worth.

    candidates(i)   the published series that fit what is known of target i best, all of them if several fit equally
    chance(i)       #{ j in candidates(i) : j stands for the subject of i } / #candidates(i)

A right series among m that fit equally well counts 1/m: an adversary who cannot distinguish them gains no more. Nor
does it know which of its links are right, only which look sure; see `surest`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import Rows, Truth, need_targets, shown_way
from shoal.attacks.sentences import LINKED, Linked
from shoal.model import Findings, Interval, Moments, Risk
from shoal.model.sentence import said

N_WORST = 10
N_SURE = 20
"""Links that look equally good are judged together; at least this many, else luck would look like skill."""


@dataclass(frozen=True)
class LinkRisk(Risk):
    """What an adversary who links known targets to published series achieves.

    `success` is the mean chance over all targets, `confidence` the mean of 1/m. The interval is Wilson's, over the
    subjects of the targets.
    `prosecutor` is the chance for the target the adversary is surest of: the mean chance of the links that look best
    (few candidates, then a large lead over the next series), at least 20 of them; or of all exact matches with the same
    number of candidates, even if that is one. The baseline picks a published series at random and is computed exactly.
    The control removes a target's own series from the release: the share of targets that another series would then fit
    as well as the best does now, so that a link means nothing.

    Parameters
    ----------
    highest
        The largest chance of any target, luck included: a guess that happens to be right counts 1.
    candidates
        How many published series fit a target equally well: the median over targets.
    sole, sole_right
        The share of targets with only one candidate, about whom the adversary is sure, and how often it is right.
    n_left_out
        Originals that were not published and so are not targets.
    """

    highest: float = 0.0
    candidates: float = 0.0
    sole: float = 0.0
    sole_right: float = 0.0
    n_left_out: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Links:
    """For every target, the distinct published series that fit best: entries start[i] to start[i + 1] of `which`."""

    distances: NDArray[np.float64]
    """Distances of the nearest, and of the next one further away: (targets, 2)."""
    start: Rows
    which: Rows

    def target(self) -> Rows:
        """The target of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


@dataclass(frozen=True, eq=False, repr=False)
class Chances:
    """For every target, how many published series fit equally well, and how many of these are its own."""

    sizes: Rows
    own: Rows
    distances: NDArray[np.float64]

    @property
    def chance(self) -> NDArray[np.float64]:
        """The share of the candidates that are the target's own."""
        return self.own / np.maximum(self.sizes, 1)

    @classmethod
    def joined(cls, several: Sequence[Self]) -> Self:
        """The chances of several sets of targets as one."""
        return cls(*(np.concatenate([getattr(one, field.name) for one in several]) for field in fields(cls)))


@dataclass(frozen=True, eq=False, repr=False)
class LinkFindings(Findings):
    """The links of every target, by each way to compare."""

    targets: Rows
    """Their positions among the originals."""
    own_rows: Rows
    """How many published rows belong to the subject of each."""
    views: tuple[tuple[Chances, ...], ...]
    """For each way the release may show the originals, by each way to compare; none if there are no targets."""
    levels: Moments
    """Readings that can be known, from which the adversary infers what a coarser release shows (`shown_way`)."""
    n_originals: int
    n_published: int
    n_left_out: int
    n_people: int
    """How many subjects the targets are of."""
    n_shards: int = 1

    @classmethod
    def of(cls, truth: Truth, views: Iterable[tuple[Chances, ...]], levels: Moments) -> Self:
        """Compute the views if there are targets: those of a shard may all be in others."""
        looked = tuple(views) if len(truth.targets) else ()
        rows = np.bincount(truth.owners[truth.owners >= 0], minlength=int(truth.subjects.max()) + 1)
        counts = len(truth.subjects), len(truth.owners), truth.n_left_out, len(np.unique(truth.of_targets))
        return cls(truth.targets, rows[truth.of_targets], looked, levels, *counts)

    @classmethod
    def merged(cls, several: Sequence[Self]) -> Self:
        """Targets come in the order of the shards, and every published row of all shards may be guessed."""
        n_originals, n_published, n_left_out, n_people = np.sum(
            [(one.n_originals, one.n_published, one.n_left_out, one.n_people) for one in several], axis=0
        ).tolist()
        before = np.cumsum([0, *(one.n_originals for one in several[:-1])])
        ways = zip(*(one.views for one in several if len(one.targets)), strict=True)
        return cls(
            np.concatenate([one.targets + n for one, n in zip(several, before, strict=True)]),
            np.concatenate([one.own_rows for one in several]),
            tuple(tuple(type(parts[0]).joined(parts) for parts in zip(*way, strict=True)) for way in ways),
            reduce(add, (one.levels for one in several)),
            n_originals,
            n_published,
            n_left_out,
            n_people,
            sum(one.n_shards for one in several),
        )

    @property
    def taken(self) -> tuple[Chances, ...]:
        """The views of what the release shows, as far as its overall level reveals."""
        need_targets(self.targets)
        return self.views[shown_way(self.levels)]


def count_links(links: Links, classes: Rows, truth: Truth) -> Chances:
    """Count candidates; `classes` gives the distinct series of each published row."""
    sizes = np.bincount(classes, minlength=int(links.which.max()) + 1)
    carried = Carried.of(classes, truth.owners)
    target = links.target()
    n = len(truth.targets)
    entries = sizes[links.which].astype(np.float64)
    own = carried.count(links.which, truth.of_targets[target]).astype(np.float64)
    # Sums of whole numbers below 2^53 are exact in float64.
    total, right = (np.bincount(target, weights=part, minlength=n).astype(np.int64) for part in (entries, own))
    return Chances(total, right, links.distances)


@dataclass(frozen=True, eq=False, repr=False)
class Carried:
    """How many rows of each class each subject owns, without a table of all pairs."""

    keys: Rows
    counts: Rows
    width: int

    @staticmethod
    def of(classes: Rows, owners: Rows) -> Carried:
        """Count the rows of real subjects."""
        width = int(owners.max()) + 1
        real = owners >= 0
        keys, counts = np.unique(classes[real] * width + owners[real], return_counts=True)
        return Carried(keys, counts, width)

    def count(self, classes: Rows, subjects: Rows) -> Rows:
        """Rows of each class that belong to the subject next to it."""
        if not len(self.keys):
            return np.zeros(len(classes), dtype=np.int64)
        wanted = classes * self.width + subjects
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        # A subject beyond the width owns no row, and its key would collide with another's.
        return np.where((self.keys[place] == wanted) & (subjects < self.width), self.counts[place], 0)


def surest(found: Chances) -> float:
    """The chance of the links that look best to an adversary, who does not know which are right."""
    chance = found.chance
    nearest, following = found.distances.T
    # An exact match is conclusive if no other is exact; links with the same number of candidates look the same.
    exact = nearest == 0.0
    groups = [chance[exact & (found.sizes == size)].mean() for size in np.unique(found.sizes[exact])]
    ratio = np.divide(nearest, following, out=np.ones(len(chance)), where=(following > 0.0) & (nearest < np.inf))
    order = np.lexsort((ratio, found.sizes))
    best = np.cumsum(chance[order]) / np.arange(1, len(order) + 1)
    found_best = max([*groups, best[min(N_SURE, len(best)) - 1 :].max()])
    return float(min(found_best, chance.max()))  # a mean of 1/12 must not exceed 1/12 by rounding


def better(views: Sequence[Chances]) -> int:
    """Which of several ways to compare gives the larger mean chance; the first unless another clearly does."""
    means = [float(view.chance.mean()) for view in views]
    # Means of the same chances may differ by rounding, which is no reason to switch.
    return next(i for i, mean in enumerate(means) if mean >= max(means) - 1e-12)


def link_figures(
    findings: LinkFindings, holds: str, guesses: NDArray[np.float64] | None = None, *, slices: bool = False
) -> dict[str, Any]:
    """Everything a LinkRisk needs.

    `holds` completes "Someone who knows ..."; `guesses` are the chances without knowledge, if rows are not whole
    series. An adversary may use any of several ways to compare: `success` is that of the better one, while
    `prosecutor`, `highest` and `worst` are those of the way that is worst for the target. `slices`: the targets are
    slices.
    """
    views, n = findings.taken, len(findings.targets)
    best = views[better(views)]
    chance = best.chance
    success = float(min(chance.mean(), chance.max()))
    at_most = np.maximum.reduce([view.chance for view in views])
    # Knowing the shard bounds each target's chance, but not which of them look surest.
    prosecutor = max(surest(view) for view in views) if findings.n_shards == 1 else float(at_most.max())
    guess = float((findings.own_rows / findings.n_published if guesses is None else guesses).mean())
    others = float((best.sizes > best.own).mean())
    sole = best.sizes == 1
    # Series of one subject are found together, or not at all.
    interval = Interval.wilson(success, findings.n_people)
    order = np.argsort(-at_most, kind="stable")[:N_WORST]
    linked = Linked(
        holds=holds,
        n=n,
        success=success,
        interval=interval,
        prosecutor=prosecutor,
        guess=guess,
        several=bool((findings.own_rows > 1).any()),
        slices=slices,
    )
    return {
        "success": success,
        "interval": interval,
        "baseline": guess,
        "baseline_interval": Interval.exactly(guess),
        "n_targets": n,
        "worst": tuple(int(row) for row in findings.targets[order]),
        "prosecutor": prosecutor,
        "control": others,
        "control_interval": Interval.wilson(others, findings.n_people),
        "confidence": float((1.0 / np.maximum(best.sizes, 1)).mean()),
        "highest": float(at_most.max()),
        "candidates": float(np.median(best.sizes)),
        "sole": float(sole.mean()),
        "sole_right": float(chance[sole].mean()) if sole.any() else 0.0,
        "n_left_out": findings.n_left_out,
        "sentence": " ".join(said(LINKED, linked)),
    }

"""How good the estimates of what was not published are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.sax import letters, parse
from shoal.model import Envelopes, Panel
from shoal.model.rows import published_rows
from shoal.queries.estimation import estimate
from shoal.queries.instants import find_instants


@dataclass(frozen=True)
class EstimationQuality:
    """What a publisher, who has the originals, finds about a reader's estimates; NaN if nothing is estimated.

    Parameters
    ----------
    ranges
        Number of estimated ranges.
    inside
        Share of them in which the original value lies.
    assumed
        Share of them with an end that nothing bounds, taken from all published ranges.
    width
        Median width of the estimated ranges over that of the published ones.
    letters
        Number of estimated letters.
    right
        Share of them that are the letter the original has at the level of its word.
    by_chance
        The share that guessing would get right: the mean of 1 / level.
    """

    ranges: int
    inside: float
    assumed: float
    width: float
    letters: int
    right: float
    by_chance: float


def judge_estimation(
    original: Panel, published: Envelopes, *, rows: NDArray[np.int64] | None = None
) -> EstimationQuality:
    """Compare the estimates for a release with its originals.

    Parameters
    ----------
    original
        The panel the release was made from, with all instants.
    published
        The release.
    rows
        Which original each published series is, if some were suppressed: `candidate.private.rows`.

    Examples
    --------
    >>> from shoal import KP
    >>> panel = Panel(np.random.default_rng(1).normal(size=(300, 5)).cumsum(axis=1))
    >>> candidate = KP(k=6, p=3, envelope_instants="0:4", pattern_instants="1:5").anonymize(panel)
    >>> quality = judge_estimation(panel, candidate.published, rows=candidate.private.rows)
    >>> quality.right > quality.by_chance, quality.inside > 0.9
    (True, True)
    """
    if original.n_channels != 1 or original.n_missing:
        raise ParameterError("Estimates are judged against originals of one channel without gaps.")
    kept = published_rows(original.n_series, published.n_series, rows)
    found = estimate(published)
    whole, no_range, no_letter = found.envelopes, found.estimated_ranges, found.estimated_letters
    columns = find_instants(list(whole.times), original.times)
    x = original.rows[kept]
    inside = (whole.low <= x[:, columns]) & (x[:, columns] <= whole.high)
    width = whole.high - whole.low
    usual = float(np.median(width[:, ~no_range]))
    own = np.empty(width.shape, dtype=np.uint8)
    for level in np.unique(whole.levels).tolist():
        at = whole.levels == level
        own[at] = letters(x[at], level)[:, columns]
    right = parse(whole.patterns) == own
    return EstimationQuality(
        ranges=int(no_range.sum()) * len(whole),
        inside=_mean(inside[:, no_range]),
        assumed=_mean(found.assumed[:, no_range]),
        width=float(np.median(width[:, no_range])) / usual if no_range.any() and usual > 0.0 else float("nan"),
        letters=int(no_letter.sum()) * len(whole),
        right=_mean(right[:, no_letter]),
        by_chance=float((1.0 / whole.levels).mean()) if no_letter.any() else float("nan"),
    )


def _mean(flags: NDArray[np.bool_]) -> float:
    return float(flags.mean()) if flags.size else float("nan")

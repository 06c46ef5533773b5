"""Answers under differential privacy, from the curves of the subjects themselves.

Each subject has one curve, the mean of its series, cut off at bounds that are known without the data. A question costs
epsilon, half for a noisy count of the subjects selected, half for what is asked. If the readings of one subject are
replaced by others,

    the count changes by at most 1,
    the sum of the selected means, in steps of (upper - lower) / 2^20 around the middle, by at most 2^20,
    the counts of the selected in bins between the bounds by at most 2 in all,

and discrete Laplace noise (OpenDP) of that scale over epsilon / 2 keeps the promise, whatever was asked before; the
costs of all questions add up. The refusal below the minimum is decided by the noisy count, so it reveals no more than
the noise allows: it must reach minimum_group + scale ln(10^6), and a group below the minimum passes at most once in a
million questions about such groups.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from shoal.closed.questions import Count, Mean, Quantile, Refused
from shoal.closed.settings import ClosedPart
from shoal.closed.table import ClosedTable
from shoal.errors import ParameterError
from shoal.methods.laplace import noisy_integers
from shoal.methods.noisy_aggregates import STEPS, missing_setting
from shoal.model import Panel

PASSES_BY_CHANCE = 1e-6
BINS = 64


def curves_of_subjects(panel: Panel, lower: float, upper: float) -> ClosedTable:
    """The mean curve of each subject, cut off at the bounds."""
    if "drop-" in (read_with := missing_setting(panel)):
        raise ParameterError(
            f"epsilon keeps no differential privacy after missing={read_with!r}: one subject's gap would decide which "
            "series or instants there are, and no noise hides that. Read with missing='interpolate:2h', or drop "
            "incomplete series from the table yourself: who is in the table counts as known."
        )
    if panel.n_missing:
        raise ParameterError(
            f"Differential privacy needs complete series, but {panel.n_missing} values are missing. Say in "
            "data.missing what to do with them."
        )
    clipped = np.clip(panel.cube, lower, upper)
    curves = np.zeros((panel.n_subjects, panel.n_instants, panel.n_channels))
    np.add.at(curves, panel.subject_codes, clipped)
    sizes = np.bincount(panel.subject_codes)
    ones = np.ones(panel.n_subjects, dtype=np.int64)
    return ClosedTable(
        values=np.clip(curves / sizes[:, None, None], lower, upper),
        weights=ones,
        subjects=ones,
        observed=np.ones(curves.shape, dtype=np.int64),
        times=panel.times,
        channels=panel.channels,
        timezone=panel.timezone,
    )


class NoisyAnswers:
    """Answers with noise.

    Parameters
    ----------
    table
        A row for each subject.
    settings
        The cost of a question, the bounds, the minimum.
    insecure_seed
        Noise that can be drawn again, for tests only.
    """

    def __init__(self, table: ClosedTable, settings: ClosedPart, *, insecure_seed: int | None = None) -> None:
        assert settings.epsilon is not None
        assert settings.lower is not None
        assert settings.upper is not None
        self._table, self._minimum = table, settings.minimum_group
        self._lower, self._upper = settings.lower, settings.upper
        # Rounded down, so that both halves together do not exceed the whole.
        self._half = math.nextafter(settings.epsilon / 2.0, 0.0)
        self._seeds = None if insecure_seed is None else itertools.count(insecure_seed)

    def answer(self, question: Count | Mean | Quantile) -> float:
        """The answer, or Refused if the noisy count is too small. Costs epsilon either way."""
        kept = self._table.select(question.where)
        wanted = None if isinstance(question, Count) else self._means(question)
        count, scale = self._noisy(np.array([int(kept.sum())]), 1, "subjects selected")
        if count[0] < self._minimum + math.ceil(scale * math.log(1.0 / PASSES_BY_CHANCE)):
            raise Refused("below-minimum")
        if wanted is None:
            return float(min(int(count[0]), len(kept)))
        width = self._upper - self._lower
        if isinstance(question, Mean):
            middle, step = (self._lower + self._upper) / 2.0, width / STEPS
            whole = np.clip(np.rint((wanted[kept] - middle) / step), -STEPS // 2, STEPS // 2).astype(np.int64)
            total, _ = self._noisy(np.array([int(whole.sum())]), STEPS, "sum of the selected")
            return float(np.clip(middle + step * int(total[0]) / int(count[0]), self._lower, self._upper))
        assert isinstance(question, Quantile)
        bins = np.clip(((wanted[kept] - self._lower) / width * BINS).astype(np.int64), 0, BINS - 1)
        counts, _ = self._noisy(np.bincount(bins, minlength=BINS), 2, "selected in each bin")
        reached = np.cumsum(np.maximum(counts, 0))
        place = int(np.searchsorted(reached, question.q * reached[-1]))
        return float(self._lower + width * (min(place, BINS - 1) + 0.5) / BINS)

    def _means(self, question: Mean | Quantile) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return self._table.over(question.start, question.end, question.channel)

    def _noisy(
        self, values: np.ndarray[tuple[int, ...], np.dtype[np.int64]], sensitivity: int, query: str
    ) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int64]], float]:
        seed = None if self._seeds is None else next(self._seeds)
        noisy, spent = noisy_integers(
            values, sensitivity=sensitivity, epsilon=self._half, query=query, insecure_seed=seed
        )
        return noisy, spent.scale

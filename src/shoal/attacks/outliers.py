"""Artificial outliers, to see whether a table reveals its originals more than others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel

HIGHEST = 5.0
"""The largest factor by which an outlier may exceed the series it is made of; the smallest is two."""


def inject_outliers(panel: Panel, n: int = 100, *, seed: int = 0) -> tuple[Panel, Panel, NDArray[np.int64]]:
    """The panel with n / 2 outliers appended, as many others that it does not contain, and the positions of the former.

    An outlier consists of stretches of random series, each moved elsewhere in time and two to five times as high: it is
    as rough as real series and resembles none. Make a table from the first panel, and attack it at these positions with
    the second one as `outside`: what is found about seen outliers beyond unseen ones was memorised.

    Parameters
    ----------
    panel
        Series without gaps.
    n
        How many outliers, half of them seen.
    seed
        Draws them.

    Examples
    --------
    >>> panel = Panel(np.random.default_rng(0).random((30, 48)))
    >>> seen, unseen, rows = inject_outliers(panel, 10)
    >>> seen.n_series, unseen.n_series, rows.tolist()
    (35, 5, [30, 31, 32, 33, 34])
    """
    if n < 4 or n % 2:
        raise ParameterError("n must be an even number of outliers, at least 4: half of them are seen, half are not.")
    if panel.n_missing:
        raise ParameterError("inject_outliers needs a panel without gaps. Read it with missing='drop-series'.")
    dice = np.random.default_rng(np.random.SeedSequence([seed, 9]))
    length = max(1, panel.n_instants // 8)
    made = np.empty((n, *panel.values.shape[1:]))
    for start in range(0, panel.n_instants, length):
        end = min(start + length, panel.n_instants)
        places = dice.integers(0, panel.n_instants - (end - start) + 1, size=n)
        rows = dice.integers(0, panel.n_series, size=n)
        for at, (row, place) in enumerate(zip(rows, places, strict=True)):
            made[at, start:end] = panel.values[row, place : place + end - start]
    made *= dice.uniform(2.0, HIGHEST, size=(n, *[1] * (made.ndim - 1)))
    seen, unseen = made[: n // 2], made[n // 2 :]
    whole = panel.like(np.concatenate([panel.values, seen]))
    return whole, panel.like(unseen), np.arange(panel.n_series, whole.n_series)

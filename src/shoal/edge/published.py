"""What a collector can have published: its form, and for sums the numbers."""

from __future__ import annotations

import numpy as np

from shoal.edge.collector import mean_of
from shoal.edge.fleet import STEPS
from shoal.guarantees import DifferentialPrivacy, LocalDifferentialPrivacy
from shoal.model import Profiles, Published

BANDS = ("mean", "total", "low", "high", "reporting")


def why_not_collected(published: Published, stated: DifferentialPrivacy | LocalDifferentialPrivacy) -> str | None:
    """Why no collector can have produced what is published with this accounting; None if one can.

    Opened sums are whole numbers of steps, so only some numbers can be their means. Being one of them proves nothing:
    anyone can round.
    """
    if not isinstance(published, Profiles):
        return "meters are published as groups only"
    further = [name for name in published.bands[len(BANDS) :] if name != "smoothed" and not name.startswith("share_")]
    if published.bands[: len(BANDS)] != BANDS or further:
        return "there are figures that no collector produces"
    mean, total, *_, reporting = (published.values[..., 0, place] for place in range(len(BANDS)))
    if not np.array_equal(total, mean * published.counts[:, None], equal_nan=True):
        return "totals are not the means times the counts"
    if (reporting < 0).any() or (reporting > published.counts[:, None]).any() or (reporting % 1).any():
        return "more meters reported than there are"
    if isinstance(stated, LocalDifferentialPrivacy):
        return None if stated.accounting[0].instants == published.n_instants else "the account covers other instants"
    spent = stated.accounting[0]
    opened = reporting > 0
    if stated.unit != "subject" or spent.lower is None or spent.upper is None or not spent.lower < spent.upper:
        return "the accounting is not that of sums of meters"
    if spent.sensitivity != STEPS * round(spent.sensitivity / STEPS) or spent.sensitivity < STEPS * opened.any(0).sum():
        return "the accounting covers fewer instants than are published"
    if not np.array_equal(opened, np.isfinite(mean)):
        return "there are means to which nobody reported"
    n = np.where(opened, reporting, 1.0)
    nearest = np.rint((mean - spent.lower) / (spent.upper - spent.lower) * STEPS * n)
    possible = np.zeros(mean.shape, dtype=np.bool_)
    for aside in (-1.0, 0.0, 1.0):
        possible |= mean_of(nearest + aside, n, spent.lower, spent.upper) == mean
    if not possible[opened].all():
        return f"{int((~possible[opened]).sum())} of {int(opened.sum())} means are not a whole number of steps"
    return None

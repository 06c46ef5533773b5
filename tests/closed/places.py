"""Panels and closed folders for the tests, and what only a publisher knows: who is selected by a question."""

import numpy as np

from shoal import Microaggregation, Panel
from shoal.closed import Closed, Count, Mean, Quantile, Range, Window, make_closed_folder
from shoal.closed.settings import ClosedPart

INSTANTS, MINIMUM = 12, 5


def raw_panel(n=60, *, subjects=None, seed=11):
    values = np.random.default_rng(seed).gamma(2.0, 1.5, size=(n, INSTANTS))
    return Panel(values, ids=[f"meter-{i}" for i in range(n)], subjects=subjects)


def candidate_of(panel, k=MINIMUM):
    return Microaggregation(k=k).anonymize(panel)


def closed(folder, candidate, *, clock=None, seed=None, **settings):
    """A service over a new folder."""
    make_closed_folder(folder, candidate, ClosedPart(**({"minimum_group": MINIMUM} | settings)))
    more = {} if clock is None else {"clock": clock}
    return Closed(folder, insecure_seed=seed, **more)


def recipient(service, name="north", days=30):
    """A token of a recipient, found by its secret."""
    return service.find(service.register.create(name, days)[1])


def random_question(rng, values):
    """A question with thresholds near real readings, wide and narrow."""

    def threshold():
        row, instant = rng.integers(len(values)), rng.integers(INSTANTS)
        return float(values[row, instant] + rng.choice([0.0, 0.0, 1e-9, -1e-9, rng.normal()]))

    def ends():
        low, high = sorted((threshold(), threshold()))
        return {"low": None if rng.random() < 0.3 else low, "high": None if rng.random() < 0.3 else high}

    def span():
        start, end = sorted(int(t) for t in rng.integers(0, INSTANTS, size=2))
        return {"start": start, "end": end}

    where = tuple(
        Range(at=int(rng.integers(INSTANTS)), **ends())
        if rng.random() < 0.6
        else Window(**span(), of=str(rng.choice(["mean", "least", "greatest"])), **ends())
        for _ in range(rng.integers(0, 4))
    )
    kind = rng.integers(3)
    if kind == 0:
        return Count(where=where)
    if kind == 1:
        return Mean(**span(), where=where)
    return Quantile(q=float(rng.random()), **span(), where=where)


def selected(values, question):
    """By hand, from the rows a question is answered from: which meet its conditions (one channel, no gaps)."""
    kept = np.ones(len(values), dtype=bool)
    for condition in question.where:
        if isinstance(condition, Range):
            found = values[:, condition.at]
        else:
            found = values[:, condition.start : condition.end + 1]
            found = {"mean": found.mean, "least": found.min, "greatest": found.max}[condition.of](axis=1)
        if condition.low is not None:
            kept &= found >= condition.low
        if condition.high is not None:
            kept &= found <= condition.high
    return kept

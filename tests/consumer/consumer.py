"""A project of somebody else, typed strictly: what Shoal returns is known, and what it does not take is refused.

`make check` has mypy read it. A line that must be wrong carries an ignore, which mypy reports where it is not needed.
"""

from typing import assert_type

import numpy as np
import polars as pl
from numpy.typing import NDArray

import shoal
from shoal import Candidate, Frontier, KAnonymity, Microaggregation, Panel, Release, Result, Risk, Score, Verdict
from shoal.errors import GuaranteeNotMetError


def protect(readings: NDArray[np.float64], k: int) -> pl.DataFrame | None:
    """The five lines."""
    try:
        released = shoal.anonymize(readings, k=k)
    except GuaranteeNotMetError:
        return None
    assert_type(released, Result)
    assert_type(released.check(), Verdict)
    assert_type(released.attack(shoal.attacks.KnownPoints(n=5)), Risk)
    assert_type(released.measure(shoal.utility.InformationLoss()), Score)
    assert_type(released.publish("out"), Release)
    for name, risk in released.attack().items():
        print(name, risk.success + 0.5)
    for score in released.measure().values():
        print(score.value)
    return released.to_polars()


def choose(data: object) -> Result:
    """A search."""
    frontier = shoal.search(data, k=[5, 10], risk=0.1, utility={"information-loss": {"at_most": 0.5}})
    assert_type(frontier, Frontier)
    assert_type(frontier[0], Result)
    return frontier.result


def inspect(panel: Panel) -> float:
    """A panel and a candidate."""
    assert_type(panel[:10, "2024"], Panel)
    candidate = Microaggregation(k=10).anonymize(panel)
    assert_type(candidate, Candidate)
    assert_type(candidate.judge(KAnonymity(10)), Verdict)
    assert_type(Microaggregation(k=10).set_params(k=5), Microaggregation)
    assert_type(shoal.__version__, str)
    return float(panel.values.mean())


def mistakes(panel: Panel) -> None:
    """What a type checker finds."""
    shoal.anonymize(panel, k="ten")  # type: ignore[arg-type]
    shoal.anonymize(panel, method="kp")  # type: ignore[arg-type]
    shoal.anonymise(panel)  # type: ignore[attr-defined]
    Microaggregation(10)  # type: ignore[call-arg]
    Microaggregation(k=10).anonymize(panel).to_pandas()  # type: ignore[attr-defined]
    for series in panel:  # type: ignore[misc]
        print(series)

"""How much a learned metric helps the interest itself, for the publisher, who has the originals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features import Features
from shoal.features.interests import Interest, distances, find_interest
from shoal.methods import Microaggregation
from shoal.model import Panel

GENERIC, WANTED = "generic", "wanted"


@dataclass(frozen=True)
class MetricLoss:
    """Loss on the interest of microaggregation by one metric.

    Parameters
    ----------
    name
        "generic" for Euclidean distance of the values, "wanted" for the interest itself, else the name given.
    loss
        Mean over series of ‖f(x) - f(published x)‖₂ for the interest f, in the interest's own unit.
    relative
        The loss relative to the generic one: below 1, the metric keeps more of what matters. None if the generic one
        loses nothing.
    """

    name: str
    loss: float
    relative: float | None


def compare(
    panel: Panel,
    interest: Interest | Callable[[NDArray[Any]], Any],
    *,
    k: int,
    metrics: Mapping[str, Features | str],
) -> list[MetricLoss]:
    """Group a panel by each metric on trial, and measure the loss on the interest. Nothing is written.

    The figures come from the originals: they are for the publisher.

    Parameters
    ----------
    panel
        The originals.
    interest
        What matters, such as `interests.Arrival()`, or a function of an array of series.
    k
        Smallest group.
    metrics
        Learned metrics and other features by name.

    Examples
    --------
    >>> from shoal import simulate
    >>> from shoal.features import interests
    >>> days = simulate.occupancy(40, days=1, step="1h")
    >>> [found.name for found in compare(days, interests.Arrival(), k=4, metrics={"haar": "haar"})]
    ['generic', 'haar', 'wanted']
    """
    wanted = find_interest(interest)
    for name in metrics:
        if name in (GENERIC, WANTED):
            raise ParameterError(f"A metric cannot be called {name!r}: that is the name of a yardstick.")

    tried: dict[str, Any] = {
        GENERIC: "raw",
        **metrics,
        WANTED: lambda some: wanted.of(some.values),
    }
    losses = {
        name: float(
            distances(wanted, panel.values, Microaggregation(k=k, features=features).anonymize(panel).values).mean()
        )
        for name, features in tried.items()
    }
    generic = losses[GENERIC]
    return [MetricLoss(name, loss, loss / generic if generic else None) for name, loss in losses.items()]

"""Shared by methods that change readings and promise nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import NoGuarantee
from shoal.guarantees.crowds import value_classes
from shoal.model import Candidate, Method, Panel, Private, Recipe

Floats = NDArray[np.float64]

SECRET = ("seed", "insecure_seed")
"""Parameters that stay with the publisher."""


def cube(panel: Panel) -> Floats:
    """The values as (series, instants, channels), even if there is one channel."""
    return panel.values.reshape(panel.n_series, panel.n_instants, panel.n_channels)


def of_distinct(panel: Panel, change: Callable[[Floats], Floats]) -> Floats:
    """Change each distinct series once, so that equal series get the same result, bit for bit.

    Takes and gives (series, instants, channels); the number of instants may change.
    """
    first, place = np.unique(value_classes(panel), return_inverse=True)
    return change(cube(panel)[first])[place.reshape(-1)]


def shaped(panel: Panel, values: Floats, *, times: NDArray[Any] | None = None) -> Panel:
    """(series, instants, channels) as a panel without identifiers, with the dimensions and subjects of another."""
    return Panel(
        values if panel.values.ndim == 3 else values[:, :, 0],
        times=panel.times if times is None else times,
        subjects=panel.subject_codes,
        channels=panel.channels,
        timezone=panel.timezone,
    )


def candidate_of(
    method: Method,
    panel: Panel,
    published: Panel,
    *,
    figures: Mapping[str, Any] | None = None,
    curves: Panel | None = None,
    rows: NDArray[np.int64] | None = None,
    stands_for: NDArray[np.int64] | None = None,
) -> Candidate:
    """A candidate that aims at nothing, every series its own group; secret parameters stay out of the recipe."""
    groups = np.arange(panel.n_series)
    if rows is not None:
        groups[np.setdiff1d(groups, rows)] = -1
    return Candidate(
        published=published,
        guarantee=NoGuarantee(),
        recipe=Recipe(method.name, public_parameters(method), dict(figures or {})),
        private=Private(
            original=panel,
            groups=groups,
            curves=curves,
            rows=rows,
            stands_for=stands_for,
            secrets={name: value for name, value in method.parameters.items() if name in SECRET},
        ),
    )


def public_parameters(method: Method) -> dict[str, Any]:
    """The parameters a certificate may name."""
    return {name: value for name, value in method.parameters.items() if name not in SECRET}


class MayHaveGaps(Protocol):
    """A panel, in memory or on an engine."""

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        ...


def refuse_gaps(method: Method, panel: MayHaveGaps) -> None:
    """For methods that have no rule for missing values."""
    if panel.n_missing:
        raise ParameterError(
            f"{method.name} needs a panel without gaps; {panel.n_missing} values are missing. "
            "Read it with missing='drop-series' or 'interpolate:2h'."
        )


def check_choice(name: str, given: Any, choices: tuple[str, ...]) -> None:
    """Refuse a word that is not among the choices."""
    if given not in choices:
        raise ParameterError(f"{name} must be one of: {', '.join(choices)}.")


def check_share(name: str, given: Any, *, least: float = 0.0, most: float = 1.0, open_end: bool = False) -> None:
    """Refuse what is not a share: above `least` and up to `most`; the other way round with an open end."""
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if open_end and not (number and least <= given < most):
        raise ParameterError(f"{name} must be a share of at least {least:g} and below {most:g}.")
    if not open_end and not (number and least < given <= most):
        raise ParameterError(f"{name} must be a share above {least:g} and at most {most:g}.")

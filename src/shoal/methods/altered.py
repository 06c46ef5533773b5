"""Shared by methods that change readings and promise nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import NoGuarantee
from shoal.guarantees.crowds import value_classes
from shoal.kernels.arrays import Floats, Ints
from shoal.model import Candidate, Method, Panel, Private, Recipe
from shoal.model.parameters import is_number

SECRET = ("seed", "insecure_seed")
"""Parameters that stay with the publisher."""


class AlteringMethod(Method):
    """A method that changes readings and promises nothing."""

    @property
    def aims_at(self) -> NoGuarantee:
        """Nothing: judged by attack only."""
        return NoGuarantee()


def of_distinct(panel: Panel, change: Callable[[Floats], Floats]) -> Floats:
    """Change each distinct series once, so that equal series get the same result, bit for bit.

    Takes and returns (series, instants, channels); the number of instants may change.
    """
    first, place = np.unique(value_classes(panel), return_inverse=True)
    return change(panel.cube[first])[place.reshape(-1)]


def shaped(panel: Panel, values: Floats, *, times: NDArray[Any] | None = None) -> Panel:
    """(series, instants, channels) as a panel without identifiers, with the dimensions and subjects of another."""
    deep = panel.values.ndim == 3
    own = panel.times if times is None else times
    return panel.like(values if deep else values[:, :, 0], times=own, subjects=panel.subject_codes)


def candidate_of(
    method: Method,
    panel: Panel,
    published: Panel,
    *,
    figures: Mapping[str, Any] | None = None,
    curves: Panel | None = None,
    rows: Ints | None = None,
    stands_for: Ints | None = None,
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
            secrets=secret_parameters(method),
        ),
    )


def public_parameters(method: Method) -> dict[str, Any]:
    """The parameters a certificate may name."""
    return {name: value for name, value in method.parameters.items() if name not in SECRET}


def secret_parameters(method: Method) -> dict[str, Any]:
    """The parameters that stay with the publisher."""
    return {name: value for name, value in method.parameters.items() if name in SECRET}


def refuse_gaps(method: Method, panel: Panel) -> None:
    """Refuse gaps, for methods that have no rule for missing values."""
    if panel.n_missing:
        raise ParameterError(
            f"{method.name} needs a panel without gaps; {panel.n_missing} values are missing. "
            "Read it with missing='drop-series' or 'interpolate:2h'."
        )


def check_share(name: str, given: Any, *, most: float = 1.0, open_end: bool = False) -> None:
    """Refuse what is not a share: above 0 and up to `most`; the other way round with an open end."""
    if open_end and not (is_number(given) and 0.0 <= given < most):
        raise ParameterError(f"{name} must be a share of at least 0 and below {most:g}.")
    if not open_end and not (is_number(given) and 0.0 < given <= most):
        raise ParameterError(f"{name} must be a share above 0 and at most {most:g}.")

"""Change every series by a rule that uses only its own readings: erase its level, its details or its digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats
from shoal.methods.aggregates import round_values
from shoal.methods.altered import AlteringMethod, candidate_of, of_distinct, shaped
from shoal.methods.lengths import Length, check_length, instants_in
from shoal.model import Candidate, Panel, Progress
from shoal.model.parameters import check_choice, is_number

Kind = Literal["standardise", "smooth", "coarsen"]


@dataclass(frozen=True, kw_only=True)
class Transformation(AlteringMethod):
    """Standardise, smooth or coarsen every series separately.

    "standardise": (x - mean) / standard deviation, over the observed readings of the series and channel; 0 if they do
    not vary. Removes level and spread, keeps the shape. "smooth": the mean of the observed readings in a window around
    each instant, shorter at the ends. Removes single peaks. "coarsen": rounded to a multiple of `resolution`. Removes
    digits that single someone out.

    Aims at no guarantee: the rule is the same for everyone, and someone who knows it can apply it to what they know
    about a target. Judge it by attack. Equal series stay equal. Missing readings stay missing.

    Parameters
    ----------
    kind
        "standardise", "smooth" or "coarsen".
    window
        Only "smooth": how long the window is, an odd number of instants or a length of time such as "3h" that is one.
        Longer hides more details.
    resolution
        Only "coarsen": the step between published values, such as 0.5. Larger hides more.

    Examples
    --------
    >>> panel = Panel([[1.0, 2.0, 6.0], [4.0, 4.0, 4.0]])
    >>> Transformation(kind="smooth", window=3).anonymize(panel).values.tolist()
    [[1.5, 3.0, 4.0], [4.0, 4.0, 4.0]]
    >>> Transformation(kind="coarsen", resolution=5.0).anonymize(panel).values.tolist()
    [[0.0, 0.0, 5.0], [5.0, 5.0, 5.0]]

    References
    ----------
    "Data-driven anonymization process applied to time series", table 1 and section 5.1 (type of transformation).
    """

    name: ClassVar[str] = "transformation"
    keeps_equal: ClassVar[bool] = True
    each_alone: ClassVar[bool] = True
    keeps_apart: ClassVar[bool] = True
    takes_fictives: ClassVar[bool] = True

    kind: Kind = "standardise"
    window: Length | None = None
    resolution: float | None = None

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, Kind)
        for name, of in (("window", "smooth"), ("resolution", "coarsen")):
            given = getattr(self, name)
            if self.kind == of and given is None:
                raise ParameterError(f"kind={of!r} needs {name}, such as {name}={3 if name == 'window' else 0.5}.")
            if self.kind != of and given is not None:
                raise ParameterError(f"{name} applies to kind={of!r}, this is {self.kind!r}. Omit it.")
        if self.window is not None:
            check_length(self.window, "window")
        if self.resolution is not None and not (is_number(self.resolution) and 1e-300 < self.resolution < float("inf")):
            raise ParameterError("resolution must be a number above 0, such as 0.5.")

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Apply the rule to every series."""
        if self.kind == "standardise":
            values = of_distinct(panel, _standardised)
        elif self.kind == "smooth":
            assert self.window is not None
            window = instants_in(self.window, panel, "window")
            if window % 2 == 0:
                raise ParameterError(
                    f"window has {window} instants, but needs an odd number: as many before each instant as after it. "
                    f"Use {window + 1}."
                )
            values = of_distinct(panel, lambda own: _smoothed(own, window // 2))
        else:
            resolution = float(self.resolution or 0.0)
            values = of_distinct(panel, lambda own: round_values(own, resolution))
        if progress is not None:
            progress(panel.n_series, panel.n_series)
        return candidate_of(self, panel, shaped(panel, values))


def _standardised(own: Floats) -> Floats:
    observed = ~np.isnan(own)
    counts = np.maximum(observed.sum(axis=1, keepdims=True), 1)
    # Around the first reading of each, so that a large offset costs no digits.
    first = np.take_along_axis(np.where(observed, own, 0.0), observed.argmax(axis=1, keepdims=True), axis=1)
    centred = np.where(observed, own - first, 0.0)
    centred = np.where(observed, centred - centred.sum(axis=1, keepdims=True) / counts, 0.0)
    spread = np.sqrt((centred**2).sum(axis=1, keepdims=True) / counts)
    varies = np.nanmax(np.where(observed, own, -np.inf), axis=1, keepdims=True) > np.nanmin(
        np.where(observed, own, np.inf), axis=1, keepdims=True
    )
    # Tiny readings may vary and still have squares that vanish.
    possible = varies & (spread > 0.0)
    scaled = np.divide(centred, spread, out=np.zeros(own.shape), where=possible & observed)
    return np.where(observed, scaled, np.nan)


def _smoothed(own: Floats, reach: int) -> Floats:
    """The mean over up to `reach` instants on both sides; neighbours are added in the order of time."""
    observed = ~np.isnan(own)
    filled = np.where(observed, own, 0.0)
    n = own.shape[1]
    total, counts = np.zeros(own.shape), np.zeros(own.shape, dtype=np.int64)
    for offset in range(-min(reach, n - 1), min(reach, n - 1) + 1):
        here = slice(max(0, -offset), min(n, n - offset))
        there = slice(max(0, offset), min(n, n + offset))
        total[:, here] += filled[:, there]
        counts[:, here] += observed[:, there]
    means = total / np.maximum(counts, 1)
    return np.where(observed, means, np.nan)

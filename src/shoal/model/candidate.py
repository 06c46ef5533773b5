"""What a method proposes to publish."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.model.guarantee import Guarantee
from shoal.model.panel import Panel
from shoal.model.verdict import Verdict


@dataclass(frozen=True)
class Recipe:
    """How a candidate was made: enough to make it again from the same input."""

    method: str
    parameters: dict[str, Any]
    figures: dict[str, Any] = field(default_factory=dict)
    """Counts the method wants on record, such as cells withheld; no values, no identities."""


@dataclass(frozen=True, eq=False, repr=False)
class Private:
    """What the publisher keeps: the input and the method's own group labels. Never written with a release."""

    original: Panel
    groups: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """The output of a method, not yet checked.

    Parameters
    ----------
    published
        What would be published, rows in the order of the original panel and without identifiers. Its subjects are
        bare numbers, there for the check and not for the release.
    guarantee
        What the method aims at.
    recipe
        Method and parameters.
    private
        The original panel and the group labels, apart from the rest.
    """

    published: Panel
    guarantee: Guarantee
    recipe: Recipe
    private: Private

    @property
    def values(self) -> NDArray[np.float64]:
        """The array that would be published, rows in the panel's order."""
        return self.published.values

    def check(self) -> Verdict:
        """Judge the guarantee on the published values."""
        return self.guarantee.check(self)

    def __repr__(self) -> str:
        return f"Candidate({self.recipe.method}, {self.published!r})"

"""The interface of every measure of utility."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, SupportsFloat

from shoal.errors import ParameterError
from shoal.model.described import Described
from shoal.model.score import Score, Unit
from shoal.model.tally import Tally

Goal = Literal["higher", "lower"]


class Measure(Described):
    """How useful a release still is, in one figure.

    To add one, write a frozen dataclass with the attributes below, and `tally` and `score`. If the figure is not a sum
    over series, write `measure` instead of both, `why_whole` and `sampled`; and `fixed` if a sample by itself would
    flatter.
    """

    meaning: ClassVar[str]
    """What the figure means, in one line."""
    plain: ClassVar[str] = ""
    """The same for a reader who does not know the measure, placed before the figure; {} is where its parameters go,
    else they follow. If it is empty, its meaning is shown."""
    judges: ClassVar[Literal["values", "groups", "models", "envelopes", "scenarios", "events"]] = "values"
    purpose: ClassVar[str]
    """Which purpose it serves: the heading under which it is listed."""
    usual: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    """The parameters it is measured with by default, once for each; if empty, it is measured only on request."""
    needs_envelopes: ClassVar[bool] = False
    """Whether it does not depend on published values."""
    takes_rows: ClassVar[bool] = False
    """Whether `measure` takes `rows`: which original each published series is, if some were suppressed."""

    @property
    def unit(self) -> Unit:
        """What the figure counts."""
        raise NotImplementedError

    @property
    def goal(self) -> Goal:
        """Which way is better."""
        return "lower"

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest score."""
        return 0.0, float("inf")

    @property
    def matched(self) -> bool:
        """Whether it must be known which original each published series is."""
        return True

    @property
    def why_whole(self) -> str:
        """Why the figure is not a sum over series, to follow the name; empty if tallies add up."""
        return ""

    @property
    def sampled(self) -> int | None:
        """For a figure that is not a sum, how many series are enough; None if it is refused for a sharded panel."""
        return None

    def fixed(self, original: Any, published: Any, *, rows: Any = None) -> Measure | None:
        """A measure of a sample of the series against all of them, whose tallies add up.

        None if a sample by itself is fair. It is not fair if part of the groups would flatter the release.
        """
        return None

    def tally(self, original: Any, published: Any) -> Tally:
        """What is counted on some of the series, rows in the same order."""
        raise ParameterError(f"{self.name} {self.why_whole}: measure everything in one piece.")

    def score(self, tally: Tally) -> Score:
        """The figure of everything that was counted."""
        raise NotImplementedError

    def measure(self, original: Any, published: Any) -> Score:
        """The figure of a whole release: original and published series in the same order."""
        return self.score(self.tally(original, published))

    def note(self, published: Any) -> str:
        """What must be said about sampling next to the figure; empty if everything was measured."""
        return ""

    def as_score(self, value: SupportsFloat) -> Score:
        """A figure with its goal, range and unit."""
        return Score(float(value), self.goal, self.range, self.unit)

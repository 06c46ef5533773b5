"""What every measure of utility can do."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from shoal.model.described import Described
from shoal.model.score import Score
from shoal.model.tally import Tally

Goal = Literal["higher", "lower"]


class Measure(Described):
    """How useful a release still is, in one figure.

    To add one: a frozen dataclass with the attributes below, and `tally` and `score`; or, where the figure is no sum
    over series, `whole` instead of both.
    """

    meaning: ClassVar[str]
    """What the figure says, in one line."""
    judges: ClassVar[Literal["values", "groups", "models", "envelopes", "events"]] = "values"
    purpose: ClassVar[str]
    """Which purpose it serves: the heading under which it is listed."""

    @property
    def why_whole(self) -> str:
        """Why the figure is no sum over series, to follow the name; empty where tallies add up."""
        return ""

    @property
    def sampled(self) -> int | None:
        """Of a figure that is no sum: how many series, in whole groups, are enough; None where a sample would flatter.

        Such a figure is refused for a panel in shards.
        """
        return None

    def tally(self, original: Any, published: Any) -> Tally:
        """What is counted on some of the series, rows in the same order."""
        raise NotImplementedError

    def score(self, tally: Tally) -> Score:
        """The figure of everything that was counted."""
        raise NotImplementedError

    def measure(self, original: Any, published: Any) -> Score:
        """The figure of a whole release: original and published series in the same order."""
        return self.score(self.tally(original, published))

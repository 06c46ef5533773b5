"""The result of a measure."""

from dataclasses import dataclass
from typing import Literal

from shoal.errors import ParameterError
from shoal.model.html import html_table
from shoal.model.words import number

Unit = Literal["share", "hours", "instants", "data", "decibel", "times", "number"]
"""What a figure counts: "data" is the unit of the readings, "times" a ratio, "number" has none."""


@dataclass(frozen=True)
class Score:
    """A figure that says how useful a release still is, and which way is better.

    Parameters
    ----------
    value
        The figure.
    goal
        Whether higher or lower is better.
    range
        The smallest and the largest value the measure can take.
    unit
        What the figure counts.
    """

    value: float
    goal: Literal["higher", "lower"]
    range: tuple[float, float]
    unit: Unit = "number"

    def __post_init__(self) -> None:
        if self.goal not in ("higher", "lower"):
            raise ParameterError("Score: goal must be 'higher' or 'lower'.")
        if not self.range[0] <= self.range[1]:
            raise ParameterError("Score: range must be (smallest, largest).")

    def better_than(self, other: "Score") -> bool:
        """Whether this score beats another of the same measure."""
        return self.value > other.value if self.goal == "higher" else self.value < other.value

    def _repr_html_(self) -> str:
        low, high = (number(end) for end in self.range)
        return html_table(
            "Score", [("value", number(self.value)), ("better", self.goal), ("range", f"{low} to {high}")]
        )

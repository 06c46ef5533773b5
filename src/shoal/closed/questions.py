"""The questions that a closed service takes, and the common shape of all answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

MOST_CONDITIONS = 8


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


WholeNumber = Annotated[int, Field(strict=True, ge=-(2**63), le=2**63 - 1)]
Moment = WholeNumber | Annotated[str, Field(strict=True, max_length=40)]
"""An instant of the data: a whole number, or a date and time such as 2024-01-31T18:00, on the clock of the data's time
zone unless it has its own offset, such as 2024-10-27T01:30+01:00."""
Channel = Annotated[str, Field(max_length=200)]
Bound = Annotated[float, Field(ge=-1e140, le=1e140)]


class Range(_Part):
    """Series whose value at an instant lies between two values, ends included; an end left out is open."""

    kind: Literal["range"] = "range"
    at: Moment
    low: Bound | None = None
    high: Bound | None = None
    channel: Channel | None = None


class Window(_Part):
    """Series whose mean, least or greatest value from `start` to `end` lies between two values, ends included."""

    kind: Literal["window"] = "window"
    start: Moment | None = None
    end: Moment | None = None
    of: Literal["mean", "least", "greatest"] = "mean"
    low: Bound | None = None
    high: Bound | None = None
    channel: Channel | None = None


Condition = Annotated[Range | Window, Field(discriminator="kind")]
Where = Annotated[tuple[Condition, ...], Field(max_length=MOST_CONDITIONS)]


class Count(_Part):
    """How many series meet all conditions, or with noise about how many subjects; `/about` says what is compared."""

    kind: Literal["count"] = "count"
    where: Where = ()


class Mean(_Part):
    """The mean, over those that `count` counts, of their mean value from `start` to `end`."""

    kind: Literal["mean"] = "mean"
    start: Moment | None = None
    end: Moment | None = None
    channel: Channel | None = None
    where: Where = ()


class Quantile(_Part):
    """The quantile `q`, over those that `count` counts, of their mean value from `start` to `end`."""

    kind: Literal["quantile"] = "quantile"
    q: Annotated[float, Field(ge=0.0, le=1.0)]
    start: Moment | None = None
    end: Moment | None = None
    channel: Channel | None = None
    where: Where = ()


Question = Annotated[Count | Mean | Quantile, Field(discriminator="kind")]
"""Everything that can be asked."""

QUESTION: TypeAdapter[Count | Mean | Quantile] = TypeAdapter(Question)

Reason = Literal["", "below-minimum", "not-understood", "budget"]


class Answer(_Part):
    """An answer or a refusal: the same fields, and the same price.

    Parameters
    ----------
    outcome
        Whether there is a value.
    value
        The answer.
    reason
        Why there is none: "below-minimum", too few meet the conditions, or none does; "not-understood", the data
        has no such instant or channel, or its clock shows that time twice; "budget", nothing is left.
    questions_left
        How many more this recipient may ask.
    """

    outcome: Literal["answered", "refused"]
    value: float | None
    reason: Reason
    questions_left: int


class Refused(Exception):  # noqa: N818 - no error, an outcome
    """There is no answer."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason

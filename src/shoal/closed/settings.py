"""What the publisher decides about a closed service."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ClosedPart(BaseModel):
    """What a closed service answers, and how much of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    minimum_group: int = Field(
        default=10, ge=2, description="No answer concerns fewer subjects; with epsilon, hardly ever one."
    )
    budget: int = Field(default=1000, ge=1, description="Questions per recipient, including refused ones.")
    budget_in_all: int = Field(default=10_000, ge=1, description="Questions of all recipients together.")
    epsilon: float | None = Field(
        default=None, ge=1e-6, le=100, description="Differential privacy: what one question costs. Unset: no noise."
    )
    epsilon_recipient: float = Field(default=1.0, ge=1e-6, le=100, description="What one recipient may spend.")
    epsilon_in_all: float = Field(
        default=3.0, ge=1e-6, le=100, description="What all recipients together may spend: they may collude."
    )
    lower: float | None = Field(default=None, description="With epsilon: the smallest reading, known without the data.")
    upper: float | None = Field(default=None, description="With epsilon: the largest reading, known without the data.")

    @model_validator(mode="after")
    def _bounds_with_noise(self) -> ClosedPart:
        if self.epsilon is not None and (self.lower is None or self.upper is None):
            raise ValueError("epsilon needs lower and upper, bounds of a reading that are known without the data")
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise ValueError("lower must be below upper")
        return self

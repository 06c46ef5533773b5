"""What attacks on events have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from shoal.errors import ParameterError
from shoal.model import Attack, Risk

R = TypeVar("R", bound=Risk)


@dataclass(frozen=True)
class EventAttack(Attack[R]):
    """An attack by someone who knows quasi-identifiers and times of events, on events that may have been moved."""

    against: ClassVar[str] = "events"
    answers: ClassVar[Mapping[str, str]] = {"inference": "success"}
    draws_targets: ClassVar[bool] = False
    unfit: ClassVar[str] = "it attacks events, and a policy is about series"

    window: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.window, bool) or not isinstance(self.window, int | np.integer) or self.window < 1:
            raise ParameterError("window must be a whole number of snapshots, at least 1.")

"""The terms that all meters of a fleet are enrolled with, and who they are."""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from shoal.edge.aggregation import SumRules
from shoal.edge.keys import PublicKeys
from shoal.edge.messages import COLLECTOR
from shoal.edge.response import Grid, units
from shoal.edge.schemes import check_scheme
from shoal.errors import InputError, ParameterError
from shoal.files.format import refuse_later
from shoal.guarantees import LocalDifferentialPrivacy

FILE_NAME = "fleet.json"
FORMAT: Literal[1] = 1
STEPS = 100
"""Number of steps into which the range of a reading is divided in sums."""


class Plan(BaseModel):
    """What is measured, and how it is protected.

    Parameters
    ----------
    way
        "local": each meter randomises its own readings. "sum": only sums of neighbourhoods can be opened.
    lower, upper
        Bounds of a reading, known without the data; readings outside are clipped.
    epsilon, w
        The budget of a meter for any w successive instants.
    minutes
        The length of an instant.
    scheme, points
        Only "local": how the budget is divided, and how many points answers have.
    fewest, colluding, levels
        Only "sum": the share of a neighbourhood that must respond, the share that may collude with the collector, and
        the number of sizes that noise adapts to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    way: Literal["local", "sum"] = "local"
    lower: float = Field(allow_inf_nan=False)
    upper: float = Field(allow_inf_nan=False)
    epsilon: float = 1.0
    w: int = 48
    minutes: int = Field(default=30, ge=1, le=1440)
    scheme: str = "population-uniform"
    points: int = 2
    fewest: float = Field(default=0.7, gt=0, le=1)
    colluding: float = Field(default=0.0, ge=0, lt=1)
    levels: int = Field(default=3, ge=0, le=20)

    @model_validator(mode="after")
    def _check(self) -> Plan:
        check_scheme(self.scheme)
        LocalDifferentialPrivacy(self.epsilon, self.w)  # refuses the impossible with its own message
        _ = self.grid
        if units(self.epsilon) // (2 * self.w * STEPS) < 1:
            raise ParameterError("epsilon is too small for so many instants. Use a larger epsilon or a smaller w.")
        return self

    @property
    def grid(self) -> Grid:
        """The grid on which readings are placed."""
        return Grid(self.lower, self.upper, self.points if self.way == "local" else STEPS + 1)

    def rules(self, members: int) -> SumRules:
        """The rules for a neighbourhood of this many meters."""
        colluding = math.floor(self.colluding * members)
        least = (members + colluding) // 2 + 1
        return SumRules(
            members,
            min(members, max(math.ceil(self.fewest * members), least, colluding + 2)),
            colluding,
            units(self.epsilon) // self.w,
            STEPS,
            self.levels,
            self.w,
        )

    def label(self, time: np.datetime64) -> int:
        """The number of the instant that a time is in."""
        return int(time.astype("datetime64[s]").astype(np.int64)) // (60 * self.minutes)

    def time(self, label: int) -> np.datetime64:
        """When an instant begins."""
        return np.datetime64(label * 60 * self.minutes, "s")


class Enrolled(BaseModel):
    """The public view of a meter."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    signing: str = Field(pattern="^[0-9a-f]{64}$")
    agreeing: str = Field(pattern="^[0-9a-f]{64}$")
    group: str = "all"

    @property
    def keys(self) -> PublicKeys:
        """Its public keys."""
        return PublicKeys(bytes.fromhex(self.signing), bytes.fromhex(self.agreeing))


def enrolled(keys: PublicKeys, group: str = "all") -> Enrolled:
    """A meter or collector by its keys."""
    return Enrolled(signing=keys.signing.hex(), agreeing=keys.agreeing.hex(), group=group)


class Fleet(BaseModel):
    """A plan, the collector, and all meters in order. Its digest is part of every key and message.

    A meter keeps the fleet it was enrolled with. A different file has a different digest: its messages are refused, and
    its masks do not cancel.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    format: Literal[1] = FORMAT
    plan: Plan
    collector: Enrolled
    meters: tuple[Enrolled, ...] = Field(min_length=1, max_length=2**20)

    @model_validator(mode="after")
    def _check(self) -> Fleet:
        if len({meter.signing for meter in self.meters}) < len(self.meters):
            raise ParameterError("A meter is enrolled twice.")
        if len({meter.agreeing for meter in self.meters}) < len(self.meters):
            raise ParameterError("Two meters have the same key.")
        if self.plan.way == "sum":
            for members in self.groups.values():
                self.plan.rules(len(members))
        return self

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of everything in it but its format: meters and collectors of several versions agree on it."""
        return hashlib.sha256(self.model_dump_json(exclude={"format"}).encode()).digest()

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """The places of each group's meters, in order."""
        places: dict[str, list[int]] = {}
        for place, meter in enumerate(self.meters):
            places.setdefault(meter.group, []).append(place)
        return dict(sorted(places.items()))

    @cached_property
    def senders(self) -> dict[int, PublicKeys]:
        """The keys of everyone who may send to the collector."""
        return {place: meter.keys for place, meter in enumerate(self.meters)}

    @cached_property
    def collectors(self) -> dict[int, PublicKeys]:
        """The keys of those whom meters accept messages from."""
        return {COLLECTOR: self.collector.keys}

    def place_of(self, keys: PublicKeys) -> int:
        """The place of a meter, found by its keys."""
        for place, known in self.senders.items():
            if known == keys:
                return place
        raise InputError("This meter is not in the fleet. Enrol it, and give it the fleet's file again.")

    @classmethod
    def load(cls, path: Path) -> Fleet:
        """Read a fleet's file, or that in a folder."""
        path = path / FILE_NAME if path.is_dir() else path
        try:
            content = path.read_bytes()
            return cls.model_validate_json(content)
        except OSError as error:
            raise InputError(f"The fleet's file cannot be read: {error.strerror}.") from None
        except ValidationError as error:
            refuse_later(content, FORMAT, "The fleet's file")
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "the file"
            raise InputError(f"The fleet's file is invalid: {place}: {first['msg']}.") from None

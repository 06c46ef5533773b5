"""How much of the originals a method leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class ValueSuppression:
    """How often a sensitive value occurs among the originals, and how often in the release."""

    value: Any
    before: int
    after: int


@dataclass(frozen=True)
class Suppression:
    """What a method does not publish, in total and by sensitive value; for the publisher only.

    Counts before suppression say which values the suppressed have. Someone who sees that a person is missing from the
    release would learn their value from them, and l-diversity would not help. So these counts are in no release.

    Parameters
    ----------
    kept, lost
        How many of the originals are published, and how many are not.
    what
        What is counted.
    values
        For events, each sensitive value, the most frequent of the originals first.
    """

    kept: int
    lost: int
    what: Literal["events", "series"] = "events"
    values: tuple[ValueSuppression, ...] = ()

    @property
    def n_originals(self) -> int:
        """Number of originals."""
        return self.kept + self.lost

    @property
    def share(self) -> float:
        """The share that is not published."""
        return self.lost / self.n_originals

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each of the values in the release, from 1; ties keep the order of the originals."""
        order = sorted(range(len(self.values)), key=lambda place: (-self.values[place].after, place))
        return tuple(order.index(place) + 1 for place in range(len(order)))

    def __add__(self, other: Suppression) -> Suppression:
        """That of two shards of series."""
        return Suppression(self.kept + other.kept, self.lost + other.lost, self.what)

    def as_dict(self) -> dict[str, Any]:
        """Plain figures by rank; values are not named, because logs may be passed on."""
        values = [
            {"rank_before": before, "rank_after": after, "before": loss.before, "after": loss.after}
            for before, (loss, after) in enumerate(zip(self.values, self.ranks, strict=True), 1)
        ]
        return {"suppressed": self.lost, "of": self.n_originals, "share": self.share, "values": values}

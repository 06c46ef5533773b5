"""Which entries of an attribute are published together: decided from their sums alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from shoal.engines.techniques.sums import Steps


@dataclass(frozen=True)
class Entry:
    """One entry, or several that were joined."""

    names: tuple[str, ...]
    first: str
    """The smallest id in it, which says the order of groups."""
    free: str | None
    """The smallest id of subjects that are not too large; None where there is none."""
    n_subjects: int
    totals: tuple[Fraction, ...]
    largest: tuple[float, ...]
    """Of each channel what its subjects add up to, and the largest of them."""

    @classmethod
    def of(cls, row: Mapping[str, Any], n_channels: int, steps: Steps) -> Entry:
        """From the merged sums."""
        channels = range(n_channels)
        return cls(
            (row["entry"],),
            row["id"],
            row["free"],
            row["n"],
            tuple(steps.exact(row[f"coarse {c}"], row[f"fine {c}"]) for c in channels),
            tuple(row[f"largest {c}"] for c in channels),
        )

    def joined(self, other: Entry) -> Entry:
        """Both together; no subject is in both."""
        free = [name for name in (self.free, other.free) if name is not None]
        return Entry(
            self.names + other.names,
            min(self.first, other.first),
            min(free, default=None),
            self.n_subjects + other.n_subjects,
            tuple(one + more for one, more in zip(self.totals, other.totals, strict=True)),
            tuple(map(max, self.largest, other.largest)),
        )

    def keeps(self, size: int, share: float) -> bool:
        """Whether the rule holds in it."""
        shares = zip(self.largest, self.totals, strict=True)
        return self.n_subjects >= size and all(most <= share * float(total) for most, total in shares)


@dataclass(frozen=True)
class Plan:
    """The group of each entry that is published, and subjects that are in none."""

    labels: Mapping[str, int]
    gone: frozenset[str] = field(repr=False)
    n_groups: int
    n_merged: int
    n_withheld: int


def make_plan(
    entries: list[Entry], gone: frozenset[str], size: int, share: float, otherwise: Literal["merge", "withhold"]
) -> Plan:
    """Join or withhold until every group that is left keeps the rule, in the order of memory."""
    groups = [entry for entry in sorted(entries, key=lambda one: one.first) if entry.free is not None]
    n_merged = 0
    while otherwise == "merge" and len(groups) > 1:
        broken = [at for at, entry in enumerate(groups) if not entry.keeps(size, share)]
        if not broken:
            break
        one = broken[0]
        other = min((at for at in range(len(groups)) if at != one), key=lambda at: _order(groups[at]))
        joined = groups[one].joined(groups[other])
        groups = [entry for at, entry in enumerate(groups) if at not in (one, other)] + [joined]
        n_merged += 1
    kept = sorted((entry for entry in groups if entry.keeps(size, share)), key=lambda entry: str(entry.free))
    labels = {name: label for label, entry in enumerate(kept) for name in entry.names}
    return Plan(labels, gone, len(kept), n_merged, len(groups) - len(kept))


def _order(entry: Entry) -> tuple[int, str]:
    return entry.n_subjects, str(entry.free)

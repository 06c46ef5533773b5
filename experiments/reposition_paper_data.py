"""The event streams of experiments/reposition_paper.py: simulated registers, cases and tests from the data folder."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from reposition_yardsticks import Counts, counts_of, eligible

from shoal import Events, simulate

SMALL, REGISTER = "small register", "register"
CASES, SHUFFLED, CLINICS, TESTS = "cases", "shuffled cases", "clinics", "tests"
PER_DAY = {SMALL: 8, REGISTER: 20}
MEANINGS = {
    SMALL: "`shoal.simulate.events`, 8 a day, sensitive: the diagnosis",
    REGISTER: "`shoal.simulate.events`, 20 a day, sensitive: the diagnosis",
    CASES: "hk_covid_cases, sensitive: how the case was caught (imported, local, linked with a local case, …)",
    SHUFFLED: "the same cases, each on a day drawn from those of all others: what the paper assumes",
    CLINICS: "chop_covid_tests, sensitive: the clinic",
    TESTS: "chop_covid_tests, sensitive: the result, which is mostly negative",
}
LEVELS = {SMALL: 2, REGISTER: 3, CASES: 2, SHUFFLED: 2, CLINICS: 2, TESTS: 2}


@dataclass(frozen=True, eq=False)
class Stream:
    """Events with the l they are published under."""

    name: str
    events: Events
    l: int

    @cached_property
    def counts(self) -> Counts:
        """A row per snapshot, a column per sensitive value."""
        return counts_of(self.events)

    @property
    def most(self) -> float:
        """The share of the most frequent value in all events."""
        totals = self.counts.sum(axis=0)
        return float(totals.max() / totals.sum())

    @property
    def fair(self) -> bool:
        """Whether all events together are l-eligible."""
        return bool(eligible(self.counts.sum(axis=0), self.l))

    def runs(self, n: int) -> float:
        """The share of all stretches of n snapshots whose union is l-eligible."""
        until = np.vstack([np.zeros_like(self.counts[:1]), np.cumsum(self.counts, axis=0)])
        return float(eligible(until[n:] - until[:-n], self.l).mean())


@dataclass(frozen=True, eq=False)
class Sets:
    """Streams by name."""

    streams: dict[str, Stream]

    @property
    def fair(self) -> list[Stream]:
        """Those that are l-eligible as a whole, on which the paper's statements are answered."""
        return [stream for stream in self.streams.values() if stream.fair]

    @property
    def measured(self) -> bool:
        """Whether there is anything but simulated data."""
        return CASES in self.streams or TESTS in self.streams


def load(folder: Path, days: int, seed: int) -> Sets:
    """Simulated registers, and whatever the folder has."""
    found = {name: simulate.events(days=days, per_day=PER_DAY[name], seed=seed) for name in (SMALL, REGISTER)}
    cases = folder / "hk_covid_cases" / "hk_covid_cases.parquet"
    if cases.exists():
        table = pl.read_parquet(cases)
        columns = {"time": "timestamp", "sensitive": "classification", "quasi": ("age", "gender", "residency")}
        found[CASES] = Events(table, **columns)
        order = np.random.default_rng([seed, 1]).permutation(len(table))
        found[SHUFFLED] = Events(table.with_columns(pl.col("timestamp").gather(order)), **columns)
    tests = folder / "chop_covid_tests" / "chop_covid_tests.parquet"
    if tests.exists():
        # As in the paper nobody has two events in one snapshot.
        table = pl.read_parquet(tests).unique(["subject_id", "timestamp"], keep="first", maintain_order=True)
        for name, sensitive in ((CLINICS, "clinic_name"), (TESTS, "result")):
            quasi = ("age", "gender", "demo_group")
            found[name] = Events(table, time="timestamp", sensitive=sensitive, quasi=quasi)
    return Sets({name: Stream(name, events, LEVELS[name]) for name, events in found.items()})

"""Small panels and candidates in shards, and work on them: workers import it, so it is in a module of its own."""

from dataclasses import replace

import numpy as np

from shoal import KAnonymity, Microaggregation, Panel
from shoal.engines import Memory, in_shards
from shoal.errors import ParameterError
from shoal.model import Candidate, Private, Recipe
from shoal.model.panel_shards import added
from shoal.release import written_parts

K = 3
SIZE = 20


def hours(n):
    return np.datetime64("2024-01-01T00:00", "us") + np.arange(n) * np.timedelta64(1, "h")


def small_panel(n=120, n_instants=6, channels=("value",), gaps=0, seed=5, **further):
    rng = np.random.default_rng(seed)
    shape = (n, n_instants) if len(channels) == 1 else (n, n_instants, len(channels))
    values = rng.normal(size=shape)
    values[:gaps, 0] = np.nan
    ids = [f"meter-{i:03}" for i in range(n)]
    return Panel(values, **({"ids": ids, "times": hours(n_instants), "channels": channels} | further))


def small_shards(engine=None, size=SIZE, **changes):
    return in_shards(small_panel(**changes), Memory() if engine is None else engine, size=size)


def small_candidate(engine=None, method=None, size=SIZE, **changes):
    method = Microaggregation(k=K) if method is None else method
    return method.anonymize(small_shards(engine, size, **changes))


def repeated_candidate(engine=None, n=60, n_instants=6):
    """Rows that are there three times each; shards publish them as they are."""
    panel = small_panel(n // K, n_instants)
    again = Panel(np.repeat(panel.values, K, axis=0), ids=[f"meter-{i:05}" for i in range(n)], times=panel.times)
    return Microaggregation(k=K).anonymize(in_shards(again, Memory() if engine is None else engine, size=4 * K))


def as_published(panel):
    """A candidate that publishes what it got: for panels that are k-anonymous already."""
    bare = Panel(panel.values, times=panel.times, subjects=panel.subject_codes, channels=panel.channels)
    private = Private(original=panel, groups=np.arange(panel.n_series) // K)
    return Candidate(bare, KAnonymity(K), Recipe("microaggregation", {"k": K}), private)


def many_parts(monkeypatch, n_bytes=1024):
    """Parts of about so many bytes of readings, however many shards there are."""
    monkeypatch.setattr(written_parts, "PART_BYTES", n_bytes)


def limited(monkeypatch, store, most):
    """No more than so many figures come to one place."""
    plain = type(store).reduce

    def fewer(self, work, merge):
        together = getattr(work, "further", work)
        if len(getattr(together, "works", ())) > most:
            raise ParameterError("too much")
        return plain(self, work, merge)

    monkeypatch.setattr(type(store), "reduce", fewer)


def items(number, item):
    return item


def all_of(shards):
    """Every panel or candidate in memory."""
    return shards.map(items)


def spoilt(candidate, spoil):
    """The same candidate with one change to what its shards publish: `spoil(number, one)`, a function of a module."""
    return replace(candidate, store=candidate.store.each(spoil))


def shift_one_value(number, candidate):
    """One value of one shard that no other series has."""
    if number != 1:
        return candidate
    values = candidate.values.copy()
    values[0, 0] += 0.25
    return replace(candidate, published=replace_values(candidate.published, values))


def replace_values(panel, values):
    return Panel(values, times=panel.times, subjects=panel.subject_codes, channels=panel.channels)


def fail_with_data(number, candidate):
    raise ValueError(f"secret {candidate.private.original.ids[0]} {candidate.values[0, 0]}")


def scaled(number, panel):
    return {"number": number, "values": panel.values * 2.0, "none": np.empty((0, 3)), "words": ("a", None)}


def joined_ids(number, shards):
    return number, [(shard, panel.ids.tolist()) for shard, panel in shards]


def length(number, name):
    return number, len(name)


def names_in(number, item):
    return [f"{name}" for name in item]


def level(number, panel):
    """Sums of these depend on the order in which they are added."""
    return panel.values.mean(axis=0) * 10.0 ** (number % 7)


def listed_and_added(several):
    """How results were merged, and their sum."""
    texts, sums = zip(*several, strict=True)
    return f"({' '.join(texts)})", added(sums)


def named_level(number, panel):
    return str(number), level(number, panel)


def thousand_numbers(number, panel):
    return np.full(1000, float(number))


LARGE = (1_300_000,)
"""Numbers of an item that is cut into two pieces."""


def names(number, panel):
    return panel.ids.tolist()


def large_item(number, panel):
    return np.full(LARGE, number + 1.0)


def shape_of(number, item):
    return item.shape


def sum_of(number, item):
    return float(item.sum())

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from event_examples import any_buckets, any_coarse, small_events
from naive.event_tables import posterior, suppressed_guess
from shoal import Events, Reposition, publish
from shoal.attacks import Homogeneity, Republication
from shoal.attacks.coarser import read_coarser
from shoal.errors import ParameterError
from shoal.model import EventTables


@pytest.mark.parametrize("publish", [any_buckets, any_coarse])
@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_chances_are_those_of_looking_at_every_record(publish, window, seed):
    events = small_events(seed)
    published = publish(events, seed)
    targets = events.frame.to_dicts()
    instants = sorted({t["time"] for t in targets})
    records = published.records.to_dicts()
    counts = None if published.counts is None else published.counts.to_dicts()
    frequent = events.frame["result"].value_counts()
    guess = {value: n / len(events) for value, n in frequent.iter_rows()}
    expected, matched, unmatched = [], [], []
    for target in targets:
        place = instants.index(target["time"])
        found = posterior(target, place, instants, window, records, counts, events.quasi, "result")
        if found is None:
            chance = suppressed_guess(
                target, instants[place : place + window], records, counts, "result", guess[target["result"]]
            )
        (unmatched if found is None else matched).append(chance if found is None else found)
        expected.append(chance if found is None else found)
    risk = Homogeneity(window=window).attack(events, published)
    assert risk.success == pytest.approx(np.mean(expected))
    assert risk.highest == pytest.approx(max(matched))
    assert risk.n_unmatched == len(unmatched)
    assert risk.unmatched == pytest.approx(np.mean(unmatched) if unmatched else 0.0)
    assert risk.baseline == pytest.approx(np.mean([guess[t["result"]] for t in targets]))
    assert expected[risk.worst[0]] == pytest.approx(max(expected))


def test_without_protection_equal_neighbours_give_each_other_away():
    events = small_events(1)
    risk = Homogeneity().attack(events, any_buckets(events, 1))
    shares = []
    rows = events.frame.to_dicts()
    for target in rows:
        alike = [r for r in rows if all(r[c] == target[c] for c in ("time", "age", "sex"))]
        shares.append(sum(r["result"] == target["result"] for r in alike) / len(alike))
    assert risk.before == pytest.approx(np.mean(shares))
    assert risk.before_highest == 1.0


@pytest.mark.parametrize("window", [0, -1, 1.5, True])
def test_a_window_is_a_number_of_snapshots(window):
    with pytest.raises(ParameterError, match="at least 1"):
        Homogeneity(window=window)


def naive_coarser(counts, tree):
    """Each coarser value shared out among the values below it by how often they are published, equally if none is."""
    often = {}
    for *_, value, n in counts:
        often[value] = often.get(value, 0) + n
    read = {}
    for time, group, value, n in counts:
        leaves = [leaf for leaf, coarse in tree.items() if coarse == value]
        below = [leaf for leaf in leaves if often.get(leaf)]
        for leaf in below or leaves or [value]:
            share = often[leaf] / sum(often[one] for one in below) if below else 1.0 / max(len(leaves), 1)
            read[time, group, leaf] = read.get((time, group, leaf), 0.0) + n * share
    return read


@given(
    counts=st.dictionaries(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from(["flu", "cold", "lung", "leg", "limb"])),
        st.integers(1, 5),
        min_size=1,
    )
)
def test_coarser_values_are_read_as_those_below_them(counts):
    rows = [(*key, n) for key, n in counts.items()]
    tree = {"flu": "lung", "cold": "lung", "leg": "limb"}
    table = pl.DataFrame(rows, schema=["time", "group", "ill", "count"], orient="row")
    records = table.select("time", "group")
    published = EventTables(records, table, (), "ill")
    seen = read_coarser(table, "count", published, tree).group_by("time", "group", "ill").agg(pl.col("count").sum())
    assert {row[:3]: row[3] for row in seen.iter_rows()} == pytest.approx(naive_coarser(rows, tree))
    assert read_coarser(table, "count", published, {}) is table


def repeated(published, tree):
    """The tables with every event as often as any value below is published, a coarser one as those below it."""
    values = published.sensitive
    counts = published.records.with_columns(count=1) if published.counts is None else published.counts
    often = dict(counts.group_by(values).agg(pl.col("count").sum()).iter_rows())
    below = [leaf for leaf in tree for _ in range(often.get(leaf, 0))]
    ((coarser,), n) = set(tree.values()), len(below)

    def many(frame):
        rows = [
            {**row, values: below[i] if row[values] == coarser else row[values]} if values in row else row
            for row in frame.to_dicts()
            for i in range(n)
        ]
        return pl.DataFrame(rows, schema=frame.schema)

    return EventTables(
        many(published.records),
        None if published.counts is None else many(published.counts),
        published.quasi,
        values,
    )


@pytest.mark.parametrize("publish", [any_buckets, any_coarse])
@pytest.mark.parametrize("seed", range(4))
def test_coarser_values_are_guessed_as_those_below_them(publish, seed):
    events, tree = small_events(seed), {"a": "c", "b": "c"}
    published = publish(events, seed)
    found = Homogeneity(window=2, tree=tree).attack(events, published)
    expected = Homogeneity(window=2).attack(events, repeated(published, tree))
    assert found.success == pytest.approx(expected.success)
    assert found.highest == pytest.approx(expected.highest)
    assert found.unmatched == pytest.approx(expected.unmatched)
    assert found.before == Homogeneity().attack(events, published).before
    people = Republication(window=2, tree=tree).attack(events, published)
    assert people.success == pytest.approx(Republication(window=2).attack(events, repeated(published, tree)).success)


@pytest.mark.parametrize("publish", ["bucketised", "generalised"])
def test_a_coarser_value_hides_nothing_from_someone_who_knows_the_tree(rng, publish):
    values = rng.permutation(["flu"] * 420 + ["leg"] * 90 + ["arm"] * 90)
    table = pl.DataFrame({"time": np.repeat(np.arange(6), 100), "age": rng.integers(20, 60, 600), "result": values})
    events = Events(table, sensitive="result", quasi=["age"])
    tree = {"flu": "airways"}
    method = Reposition(l=2, window=2, seed=1, remedy="generalise", tree=tree, publish=publish)
    published = method.anonymize(events).published
    blind = Homogeneity(window=2).attack(events, published)
    told = Homogeneity(window=2, tree=tree).attack(events, published)
    assert blind.success < 0.4 < 0.5 < told.success
    assert told.baseline == blind.baseline


def test_the_publisher_learns_what_someone_with_the_tree_achieves(rng, tmp_path):
    values = rng.permutation(["flu"] * 420 + ["leg"] * 90 + ["arm"] * 90)
    table = pl.DataFrame({"time": np.repeat(np.arange(6), 100), "age": rng.integers(20, 60, 600), "result": values})
    events = Events(table, sensitive="result", quasi=["age"])
    candidate = Reposition(l=2, window=2, seed=1, remedy="generalise", tree="flu=airways").anonymize(events)
    blind = Homogeneity(window=2).attack(events, candidate.published)
    told = publish(candidate, tmp_path / "out").measured["risk"]["homogeneity"]
    assert blind.success < 0.4
    assert told["success"] > 0.5
    assert told["highest"] == 1.0

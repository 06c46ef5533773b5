import numpy as np
import pytest

from event_examples import any_buckets, any_coarse, small_events
from naive.event_tables import posterior, suppressed_guess
from shoal.attacks import Homogeneity
from shoal.errors import ParameterError


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

"""What a release shall keep, in words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from shoal import Microaggregation, Panel, simulate
from shoal.engines import Memory, in_shards
from shoal.errors import InputError, ParameterError
from shoal.features import Kept, find_features, keep
from shoal.features.kept import KeptInterest
from shoal.utility import InterestLoss
from strategies import small_panels

HOUR = np.timedelta64(1, "h")


def days(values, start="2024-03-01T00:00", timezone=None):
    """An hourly panel."""
    x = np.asarray(values, dtype=float)
    times = np.datetime64(start, "us") + np.arange(x.shape[1]) * HOUR
    return Panel(x, times=times, timezone=timezone)


def block(text, panel):
    return KeptInterest.parse(text).of(panel).tolist()


def test_each_word_by_hand():
    two = np.zeros((1, 48))
    two[0, [8, 18, 24 + 7, 24 + 18]] = [1.0, 5.0, 3.0, 4.0]
    panel = days(two)
    assert block("total", panel) == [[13.0]]
    assert block("daily-totals", panel) == [[6.0, 7.0]]
    assert block("total:17:00-20:00", panel) == [[9.0]]
    assert block("window:18:00-19:00", panel) == [[5.0, 4.0]]
    assert block("window:23:00-01:00", panel) == [[0.0] * 4]
    assert block("window:8-9", panel) == [[1.0]]
    assert block("arrival:0.5", panel) == [[8.0, 7.0]]
    assert block("departure", panel) == [[19.0, 19.0]]
    assert block("peaks", panel) == [[5.0, 4.0, 18.0]]  # heights of both days, and when the mean day has its peak
    assert_allclose(block("shape", panel), two - two.mean())


def test_days_and_windows_are_those_of_the_local_clock():
    # Clocks in Dublin went forward on 2024-03-31, at 01:00: this day has 23 hours, and 17:00 is its 16th.
    x = np.arange(47.0)[None]
    panel = days(x, "2024-03-31T00:00", timezone="Europe/Dublin")
    assert block("daily-totals", panel) == [[x[0, :23].sum(), x[0, 23:].sum()]]
    assert block("window:17:00-18:00", panel) == [[16.0, 23.0 + 17.0]]
    assert block("window:17:00-18:00", days(x, "2024-03-30T18:00", timezone="+06:00")) == [[17.0, 41.0]]


@given(small_panels(gaps=False).filter(lambda x: x.shape[1] > 1), st.randoms(use_true_random=False))
def test_features_go_with_their_rows_to_the_last_bit(x, random):
    order = np.array(random.sample(range(len(x)), len(x)))
    features = keep("peaks=2", "shape", "arrival:1")
    assert_array_equal(features(Panel(x))[order], features(Panel(x[order])))


def test_each_interest_counts_the_same_whatever_its_unit(rng):
    panel = days(rng.lognormal(size=(50, 48)))
    features = keep("total", "window:08:00-10:00=3", "values=0")(panel)
    total, window = features[:, :1], features[:, 1:]
    assert np.sqrt(total.var(axis=0).sum()) == pytest.approx(1.0)
    assert np.sqrt(window.var(axis=0).sum()) == pytest.approx(3.0)
    assert keep("total")(panel).shape == (50, 1 + 48)  # the readings count a little
    assert np.sqrt(keep("total")(panel)[:, 1:].var(axis=0).sum()) == pytest.approx(0.3)


@pytest.mark.parametrize("text", ["peaks", "total=2,window:17:00-20:00", "arrival:12345.678=0.125,values=0"])
def test_the_name_in_a_certificate_gives_the_same_features_again(text):
    found = find_features(f"keep:{text}")
    assert isinstance(found, Kept)
    assert found == keep(text)
    assert find_features(found.name) == found
    assert Microaggregation(k=2, features=found).parameters["features"] == found.name == f"keep:{text}"


def test_a_policy_writes_the_same_as_a_command_line():
    written = keep([{"window": "17:00-20:00", "weight": 2}, "peaks", {"shape": 3}, {"arrival": 0.8}])
    assert written == keep("window:17:00-20:00=2,peaks,shape=3,arrival:0.8")


@pytest.mark.parametrize("word", ["total", "daily-totals", "window:17:00-20:00", "arrival:300", "departure:300"])
def test_what_is_kept_is_kept_better_than_by_raw_values(word):
    panel = simulate.meters(120, days=2, seed=4)
    loss = InterestLoss(word)
    kept = Microaggregation(k=5, features=keep(word)).anonymize(panel)
    assert kept.check().holds
    assert kept.measure(loss).value < 0.95 * Microaggregation(k=5).anonymize(panel).measure(loss).value


def test_shards_measure_by_the_spreads_of_the_whole():
    panel = simulate.meters(90, days=1, seed=4)
    features = keep("peaks", "total=2")
    halves = [features.moments(panel.take(part)) for part in np.array_split(np.arange(90), 3)]
    assert_allclose(features.scaled(halves)(panel), features(panel), rtol=1e-12)
    method = Microaggregation(k=3, features=features)
    shards = in_shards(panel, Memory(), size=20)
    assert method.prepare(shards.split(method.shard_plan)).features.spreads == pytest.approx(
        features.scaled([features.moments(panel)]).spreads
    )
    candidate = method.anonymize(shards)
    assert candidate.n_shards > 1
    assert candidate.check().holds
    assert candidate.recipe.parameters["features"] == "keep:peaks,total=2"


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("peek", "'peek' is not an interest. Interests are: peaks, total"),
        ("window", "a window is written window:17:00-20:00"),
        ("window:20:00-20:00", "must not end when it starts"),
        ("window:25:00-26:00", "A time of the day has the form"),
        ("peaks:3", "takes nothing after a colon"),
        ("peaks=0", "the weight of peaks must be a number above 0"),
        ("peaks=much", "the weight of peaks must be a number above 0"),
        ("arrival:noon", "is written arrival:0.5"),
        ("peaks,peaks=2", "names an interest twice"),
        ("values=0", "nothing is named"),
        ("", "nothing is named"),
        ({"window": "17:00-20:00", "peaks": 1}, "give one interest each"),
        ({"peaks": 1, "weight": 2}, "has two weights"),
        (3, "keep takes words, found int"),
    ],
)
def test_what_cannot_be_kept_is_refused(wanted, why):
    with pytest.raises(ParameterError, match=why):
        keep(wanted)


def test_what_this_panel_cannot_tell_is_refused():
    numbers = Panel(np.eye(4))
    with pytest.raises(ParameterError, match="clock times, but the times of this panel are numbers"):
        keep("window:17:00-20:00")(numbers)
    with pytest.raises(ParameterError, match="ends at position 9, the series have 4 instants"):
        keep("window:2-9")(numbers)
    with pytest.raises(ParameterError, match="no instant of the panel lies in"):
        keep("window:05:00-06:00")(days(np.ones((2, 3))))
    with pytest.raises(InputError, match="need complete series"):
        keep("total")(Panel([[1.0, np.nan], [1.0, 2.0]]))
    with pytest.raises(ParameterError, match="peak-height-error and peak-time-error"):
        InterestLoss("peaks")

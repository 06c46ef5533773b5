import datetime as dt

import numpy as np
import polars as pl
import pytest

from event_examples import small_events
from shoal import publish as publish_release
from shoal import verify
from shoal.attacks import Homogeneity
from shoal.errors import InputError, ParameterError
from shoal.methods import Reposition
from shoal.model import Events
from shoal.release import release_candidate

PUBLISH = ("bucketised", "generalised")


def skewed(seed, n=300, snapshots=15, values=6):
    """A stream whose snapshots are small and skewed, each by another value."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.integers(0, snapshots, n))
    base = rng.dirichlet(np.ones(values) * 0.4, size=snapshots) * 0.6 + 0.4 / values
    result = [f"v{rng.choice(values, p=base[t])}" for t in time]
    return Events(
        pl.DataFrame({"time": time, "age": rng.integers(0, 90, n), "result": result}), sensitive="result", quasi=["age"]
    )


@pytest.mark.parametrize("publish", PUBLISH)
@pytest.mark.parametrize("cost", ["linear", "quadratic"])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_published_is_diverse_forward_and_complete(publish, cost, seed):
    events = skewed(seed)
    window = 1 + seed % 5
    candidate = Reposition(l=3, window=window, cost=cost, publish=publish, seed=seed).anonymize(events)
    assert candidate.check().holds
    place = candidate.private.snapshots
    home = events.frame["time"].rank("dense").to_numpy() - 1
    published = place >= 0
    late = (place - home)[published]
    assert late.min() >= 0
    assert late.max() <= window - 1
    figures = candidate.recipe.figures
    assert figures["published"] + figures["suppressed"] == len(events) == figures["events"]
    assert figures["published"] == candidate.published.n_events == published.sum()
    assert figures["moved"] == {str(d): int(n) for d, n in enumerate(np.bincount(late)) if n}
    # Every published record is an original, under the time of its new snapshot.
    instants = events.frame["time"].unique().sort().to_numpy()
    expected = events.frame.filter(published).with_columns(time=pl.Series(instants[place[published]]))
    if publish == "bucketised":
        assert (
            candidate.published.records.drop("group")
            .sort(pl.all())
            .equals(expected.select("time", "age").sort(pl.all()))
        )
        counts = candidate.published.counts.group_by("time", "result").agg(pl.col("count").sum())
        assert counts.sort(pl.all()).equals(
            expected.group_by("time", "result").agg(pl.len().cast(pl.Int64).alias("count")).sort(pl.all())
        )
    else:
        assert (
            candidate.published.records.select("time", "result")
            .sort(pl.all())
            .equals(expected.select("time", "result").sort(pl.all()))
        )


@pytest.mark.parametrize("seed", range(5))
def test_events_of_a_value_are_published_in_order_of_time(seed):
    events = skewed(seed)
    candidate = Reposition(l=3, window=5, seed=1).anonymize(events)
    frame = events.frame.with_columns(place=pl.Series(candidate.private.snapshots)).filter(pl.col("place") >= 0)
    for _, of_value in frame.group_by("result"):
        for earlier in of_value.iter_rows(named=True):
            later = of_value.filter(pl.col("place") < earlier["place"])
            assert later.is_empty() or later["time"].max() <= earlier["time"]


def test_a_wider_window_publishes_more_and_an_attack_stays_below_one_in_l():
    events = skewed(3, n=600, snapshots=30)
    suppressed = []
    for window in (1, 3, 6):
        candidate = Reposition(l=3, window=window, seed=1).anonymize(events)
        suppressed.append(candidate.recipe.figures["suppressed"])
        risk = Homogeneity(window=window).attack(events, candidate.published)
        assert risk.highest <= 1 / 3 + 1e-9
        assert risk.before_highest == 1.0
    assert suppressed[0] > suppressed[1] >= suppressed[2]


def test_a_seed_repeats_and_without_one_chance_decides():
    events = skewed(1)
    first, second = (Reposition(l=3, window=4, seed=9).anonymize(events).published for _ in range(2))
    assert first.records.equals(second.records)
    assert first.counts.equals(second.counts)
    drawn = [Reposition(l=3, window=4).anonymize(events).published.records for _ in range(2)]
    assert not drawn[0].equals(drawn[1])
    assert "seed" not in Reposition(l=3, window=4, seed=9).parameters


def test_the_order_of_arrival_does_not_decide_who_moves():
    """Rows of one value in one snapshot all have the same chance: over seeds nobody is always the one who waits."""
    frame = pl.DataFrame({"time": [0] * 6 + [1] * 4, "who": range(10), "result": list("aaaabc") + list("bbcc")})
    events = Events(frame, sensitive="result", quasi=["who"])
    stayed = np.zeros(10)
    for seed in range(25):
        stayed += Reposition(l=3, window=2, seed=seed).anonymize(events).private.snapshots == 0
    assert (stayed[:4] > 0).all()
    assert (stayed[:4] < 25).all()


def test_dear_values_are_suppressed_last():
    """Two values both too frequent for one place: the one that costs more to lose is published."""
    frame = pl.DataFrame({"time": [0] * 5, "result": ["a", "a", "b", "b", "c"]})
    events = Events(frame, sensitive="result")
    for dear in "ab":
        candidate = Reposition(l=2, window=1, suppression={dear: 50.0}, seed=0).anonymize(events)
        assert candidate.recipe.figures["suppressed"] == 0
    frame = pl.DataFrame({"time": [0] * 3 + [1] * 4, "result": ["a", "a", "b", "a", "b", "b", "c"]})
    events = Events(frame, sensitive="result")
    lost = {}
    for dear in ("a=50", "b=50"):
        candidate = Reposition(l=3, window=2, suppression=dear, seed=0).anonymize(events)
        lost[dear] = events.frame.filter(pl.Series(candidate.private.snapshots < 0))["result"].to_list()
    assert lost["a=50"].count("a") <= lost["b=50"].count("a")


@pytest.mark.parametrize("kind", ["date", "datetime", "zone"])
def test_times_keep_their_type(kind):
    days = [dt.date(2024, 1, 1) + dt.timedelta(d) for d in range(6)]
    times = pl.Series("when", [day for day in days for _ in range(4)])
    if kind != "date":
        times = times.cast(pl.Datetime("us")).dt.replace_time_zone("Europe/Vienna" if kind == "zone" else None)
    frame = pl.DataFrame({"when": times, "sex": list("fmfm") * 6, "result": list("aaab") * 3 + list("abbb") * 3})
    events = Events(frame, time="when", sensitive="result", quasi=["sex"])
    candidate = Reposition(l=2, window=4, seed=0).anonymize(events)
    assert candidate.check().holds
    assert candidate.published.records["time"].dtype == times.dtype


def test_numbers_truth_values_and_dates_can_be_sensitive():
    for values in (
        [1, 2, 3, 4],
        [0.5, 1.5, 2.5, 3.5],
        [True, False, True, False],
        [dt.date(2024, 1, d) for d in (1, 2, 3, 4)],
    ):
        events = Events(pl.DataFrame({"time": [0, 0, 1, 1], "result": values}), sensitive="result")
        candidate = Reposition(l=2, window=2, seed=0).anonymize(events)
        assert candidate.published.counts["result"].dtype == events.frame["result"].dtype


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"l": 1, "window": 3}, "l must be"),
        ({"l": 3, "window": 0}, "window must be"),
        ({"l": 3, "window": 2.5}, "window must be"),
        ({"l": 3, "window": 3, "cost": "cubic"}, "linear, quadratic"),
        ({"l": 3, "window": 3, "cost": lambda d: -d}, r"\(C2\)"),
        ({"l": 3, "window": 4, "cost": lambda d: d**0.5}, r"\(C3\)"),
        ({"l": 3, "window": 3, "suppression": 0.0}, "above 0"),
        ({"l": 3, "window": 3, "suppression": "much"}, "pairs"),
        ({"l": 3, "window": 3, "suppression": {"flu": -1.0}}, "above 0"),
        ({"l": 3, "window": 3, "publish": "plain"}, "bucketised"),
    ],
)
def test_impossible_parameters_are_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        Reposition(**wrong)


def test_what_cannot_be_made_diverse_is_refused_in_plain_words():
    events = small_events(0)
    with pytest.raises(ParameterError, match="needs at least 4 different sensitive values, the events have 3"):
        Reposition(l=4, window=3).anonymize(events)
    apart = Events(pl.DataFrame({"time": [0, 1, 2], "result": ["a", "b", "c"]}), sensitive="result")
    with pytest.raises(ParameterError, match="Nothing can be published"):
        Reposition(l=3, window=1).anonymize(apart)
    with pytest.raises(ParameterError, match="read_events"):
        Reposition(l=3, window=1).anonymize(np.ones((3, 2)))


def test_a_snapshot_must_be_of_one_instant_and_later_than_the_last():
    run = Reposition(l=2, window=3, seed=0).start(time="time", sensitive="result")
    run.push(pl.DataFrame({"time": [1, 1], "result": ["a", "b"]}))
    with pytest.raises(InputError, match="several times"):
        run.push(pl.DataFrame({"time": [2, 3], "result": ["a", "b"]}))
    with pytest.raises(InputError, match="not later"):
        run.push(pl.DataFrame({"time": [1, 1], "result": ["a", "b"]}))
    with pytest.raises(InputError, match="without events"):
        run.push(pl.DataFrame({"time": [], "result": []}))


def test_clocks_that_are_set_back_do_not_stop_it():
    """Two hours of one clock time: the second is later, though Python's datetimes say they are equal."""
    first = dt.datetime(2024, 10, 26, 22, tzinfo=dt.UTC)
    times = pl.Series([first + dt.timedelta(hours=h) for h in range(6) for _ in range(4)])
    times = times.cast(pl.Datetime("us", "UTC")).dt.convert_time_zone("Europe/Bratislava")
    events = Events(pl.DataFrame({"time": times, "result": list("aabc") * 6}), sensitive="result")
    candidate = Reposition(l=2, window=2, seed=0).anonymize(events)
    assert candidate.check().holds
    assert candidate.published.n_snapshots == 6


def test_both_zeros_are_one_value():
    frame = pl.DataFrame({"time": [0] * 4 + [1] * 4, "result": [0.0, -0.0, 1.0, 2.0] * 2})
    candidate = Reposition(l=2, window=2, seed=0).anonymize(Events(frame, sensitive="result"))
    assert candidate.check().holds
    assert candidate.recipe.figures["suppressed"] == 0


def test_sensitive_values_that_are_no_value_are_refused():
    nan = Events(pl.DataFrame({"time": [0] * 3, "result": [0.5, float("nan"), 1.0]}), sensitive="result")
    with pytest.raises(ParameterError, match="1 of 3 sensitive values are not a number"):
        Reposition(l=2, window=1).anonymize(nan)
    lists = Events(pl.DataFrame({"time": [0] * 2, "result": [[1], [2]]}), sensitive="result")
    with pytest.raises(InputError, match="cannot hold"):
        Reposition(l=2, window=1).anonymize(lists)


@pytest.mark.parametrize("publish", PUBLISH)
def test_columns_may_have_any_plain_name(tmp_path, publish):
    names = ["age", "row", "alike", "needed", "size", "place", "value", "coarse", "home", "like", "found"]
    ages = np.random.default_rng(0).integers(0, 90, 40)
    frame = pl.DataFrame(
        {"time": np.repeat([0, 1], 20), "age": ages, **{name: list("abcd") * 10 for name in names[1:]}}
    )
    for sensitive in names:
        events = Events(frame, sensitive=sensitive, quasi=[name for name in names if name != sensitive])
        candidate = Reposition(l=2, window=2, publish=publish, seed=0).anonymize(events)
        release_candidate(candidate, tmp_path / sensitive, summary="Test.")
        assert verify(tmp_path / sensitive)
    publish_release(candidate, tmp_path / "with its figures")


def test_names_that_would_be_taken_for_others_are_refused():
    frame = pl.DataFrame({"time": [0, 0], "q": [1, 2], "q_low": ["x", "y"], "result": ["a", "b"]})
    events = Events(frame, sensitive="result", quasi=["q", "q_low"])
    with pytest.raises(InputError, match="Rename one"):
        Reposition(l=2, window=1, publish="generalised").anonymize(events)
    with pytest.raises(InputError, match="two underscores"):
        Events(frame.rename({"q": "__row"}), sensitive="result", quasi=["__row"])


@pytest.mark.parametrize("publish", PUBLISH)
def test_a_value_in_several_spellings_is_one_value(tmp_path, publish):
    plain = skewed(4)
    chance = np.random.default_rng(4)
    spelt = [chance.choice([text, text.upper(), f"{text} ", f"{text}\u200b"]) for text in plain.frame["result"]]
    events = Events(plain.frame.with_columns(pl.Series("result", spelt)), sensitive="result", quasi=["age"])
    candidate = Reposition(l=3, window=3, publish=publish, seed=1).anonymize(events)
    assert candidate.check().holds
    same = Reposition(l=3, window=3, publish=publish, seed=1).anonymize(plain)
    assert candidate.recipe.figures == same.recipe.figures
    publish_release(candidate, tmp_path / "out", suppression_limit=1.0)
    assert verify(tmp_path / "out").holds
    one = pl.Series("result", ["flu", "Flu ", "FLU"] * 100)
    few = Events(plain.frame.with_columns(one), sensitive="result", quasi=["age"])
    with pytest.raises(ParameterError, match="needs at least 3 different sensitive values, the events have 1"):
        Reposition(l=3, window=3).anonymize(few)

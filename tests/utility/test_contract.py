"""What every exported measure must do on shards. A new one is tested by being exported."""

import dataclasses
import inspect
import itertools
import json
from functools import cache, reduce
from operator import add
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from shoal import KP, Microaggregation, Panel, simulate, utility
from shoal.errors import ParameterError
from shoal.model import Envelopes, Measure, Moments, Scenarios
from shoal.process.catalogue import build
from shoal.utility import (
    CorrelationLoss,
    DeviationShift,
    InformationLoss,
    InterestLoss,
    PatternLoss,
    Prediction,
    SignalToNoise,
    ValueLoss,
)

SMALLER = {"query-error": {"n_queries": 50}, "prediction": {"window": 2}, "window-error": {"n": 20}}
NO_GAPS = {"interest-loss", "occupancy-error", "prediction", "pattern-loss", "value-loss", "query-error"}
AGAINST_ALL = {"silhouette", "davies-bouldin", "query-error"}  # a sample by itself would flatter
EXPORTED = [getattr(utility, name) for name in utility.__all__]


def ways(cls):
    """A measure with every choice of every word it takes, and of every yes or no."""
    hints = {field.name: get_type_hints(cls)[field.name] for field in dataclasses.fields(cls)}
    choices = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}
    choices |= {name: (False, True) for name, hint in hints.items() if hint is bool}
    for chosen in itertools.product(*choices.values()):
        yield cls(**SMALLER.get(cls.name, {}), **dict(zip(choices, chosen, strict=True)))


def label(measure):
    return f"{measure.name}-{'-'.join(str(value) for value in measure.parameters.values())}"


EVERY = [
    *(measure for cls in EXPORTED for measure in ways(cls)),
    *(InterestLoss(interest) for interest in ("total", "arrival", "departure", "occupied")),
]
SUMS = [measure for measure in EVERY if not measure.why_whole]
WHOLE = [measure for measure in EVERY if measure.why_whole]


@cache
def households(offset, gaps, channels):
    """40 series of 22 subjects over 15 days, published in groups and with other gaps."""
    meters = simulate.meters(40, days=15, step="3h", seed=3)
    rng = np.random.default_rng(1)
    values = meters.values[:, :, None] / 1000 * rng.gamma(2.0, size=(40, 1, channels)) + offset  # in kW
    subjects = np.r_[np.arange(22), np.arange(18)]
    published = Microaggregation(k=3).anonymize(Panel(values, times=meters.times, subjects=subjects)).published.values
    values[rng.random(values.shape) < gaps] = np.nan
    shown = published.reshape(values.shape).copy()
    shown[rng.random(values.shape) < gaps / 2] = np.nan
    for side in (values, shown):
        side[:, 5] = np.where(gaps, np.nan, side[:, 5])  # an instant that nobody has
    zone = {"times": meters.times, "subjects": subjects, "timezone": "Europe/Paris"}
    return tuple(Panel(side[:, :, 0] if channels == 1 else side, **zone) for side in (values, shown))


@cache
def envelopes(offset):
    original = households(offset, 0.0, 1)[0]
    return KP(k=4, p=2).anonymize(Panel(original.values, times=original.times)).published


@cache
def distributions(offset):
    original = households(offset, 0.0, 1)[0]
    method = Microaggregation(k=6, form="scenarios", levels=3)
    candidate = method.anonymize(Panel(original.values, times=original.times))
    return original, candidate.published.take(candidate.private.groups)


def compared(measure, offset):
    """Something that the measure takes: the harder, the more it takes."""
    if measure.judges == "scenarios":
        return distributions(offset)
    if measure.needs_envelopes:
        return households(offset, 0.0, 1)[0], envelopes(offset)
    gaps = 0.0 if measure.name in NO_GAPS else 0.04
    return households(offset, gaps, 1 if measure.judges == "envelopes" else 2)


def take(side, rows):
    if isinstance(side, Panel | Scenarios):
        return side.take(rows)
    words = tuple(side.patterns[row] for row in rows)
    return Envelopes(side.low[rows], side.high[rows], side.levels[rows], words, side.times)


def shards(original, published, n):
    """All series of a subject together; subjects as they come, so that shards differ."""
    level = np.argsort([np.nanmean(original.values[original.subject_codes == s]) for s in range(original.n_subjects)])
    for subjects in np.array_split(level, n):
        rows = np.flatnonzero(np.isin(original.subject_codes, subjects))
        yield take(original, rows), take(published, rows)


def usable(measure, original):
    """The originals, without gaps where the measure takes none."""
    return households(0.0, 0.0, original.n_channels)[0] if measure.get_params().get("features") == "haar" else original


def whole_groups(original, published, n):
    """Shards that no group crosses."""
    rows = published.rows if isinstance(published, Panel) else np.concatenate([published.low, published.high], axis=1)
    label = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    for labels in np.array_split(np.unique(label), n):
        own = np.flatnonzero(np.isin(label, labels))
        yield take(original, own), take(published, own)


def of_shards(measure, original, published, n):
    return measure.score(reduce(add, (measure.tally(*shard) for shard in shards(original, published, n))))


def as_exact(value, offset):
    """Up to 1e-9; no figure is more exact than the readings themselves."""
    return pytest.approx(value, rel=1e-9, abs=10 * np.spacing(max(offset, 1.0)))


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("measure", SUMS, ids=label)
class TestSums:
    def test_tallies_of_shards_add_up_to_the_score_of_the_whole(self, measure, offset):
        original, published = compared(measure, offset)
        score = measure.measure(original, published)
        assert (score.goal, score.range) == (measure.goal, measure.range)
        assert score.range[0] <= score.value <= score.range[1]
        for n in range(1, 6):
            found = of_shards(measure, original, published, n)
            assert found.value == as_exact(score.value, offset), n
            assert (found.goal, found.range) == (score.goal, score.range)


@pytest.mark.parametrize("measure", SUMS, ids=label)
def test_a_mean_of_scores_would_not_do(measure):
    original, published = compared(measure, 0.0)
    parts = [measure.measure(*shard).value for shard in shards(original, published, 3)]
    assert np.mean(parts) != as_exact(measure.measure(original, published).value, 0.0)


@pytest.mark.parametrize("measure", [PatternLoss(), ValueLoss()], ids=label)
def test_suppressed_series_are_left_out_of_every_shard(measure):
    alike = np.array([[1.0, 2.0, 3.0, 4.0]] * 4 + [[4.0, 1.0, 3.5, 0.0]]) + np.arange(5)[:, None] / 8
    candidates = [
        KP(words="own", k=4, p=2).anonymize(Panel(values))
        for values in (alike, 3.0 * alike[::-1] + [0.0, 1.0, 0.0, 2.0])
    ]
    assert [candidate.private.rows.tolist() for candidate in candidates] == [[0, 1, 2, 3], [1, 2, 3, 4]]
    tallies = []
    for candidate in candidates:
        tallies.append(candidate.tally(measure))
        assert measure.score(tallies[-1]) == candidate.measure(measure)
    both = [candidate.measure(measure).value for candidate in candidates]
    assert both[0] != both[1]
    assert measure.score(tallies[0] + tallies[1]).value == pytest.approx(np.mean(both))  # four series each


class RawSums:
    """Moments as somebody might add them who has not heard of cancellation."""

    @staticmethod
    def of(values):
        x = np.asarray(values, dtype=float)
        n = (~np.isnan(x)).sum(axis=0)
        sums, squares = np.nansum(x, axis=0), np.nansum(x**2, axis=0)
        return Moments(n, sums / np.maximum(n, 1), np.maximum(squares - sums**2 / np.maximum(n, 1), 0.0))


@pytest.mark.parametrize("measure", [InformationLoss(), DeviationShift(), SignalToNoise()], ids=label)
def test_raw_sums_of_squares_would_be_noticed(measure, monkeypatch):
    original, published = compared(measure, 1e6)
    value = measure.measure(original, published).value
    assert of_shards(measure, original, published, 3).value == as_exact(value, 1e6)
    monkeypatch.setattr("shoal.utility.cells.Moments", RawSums)
    assert of_shards(measure, original, published, 3).value != as_exact(value, 1e6)


@pytest.mark.parametrize("measure", WHOLE, ids=label)
class TestWhatIsNoSum:
    def test_it_says_why_and_tallies_nothing(self, measure):
        with pytest.raises(ParameterError) as caught:
            measure.tally(*compared(measure, 0.0))
        assert str(caught.value) == f"{measure.name} {measure.why_whole}: measure everything in one piece."

    def test_a_sample_is_of_some_series(self, measure):
        if measure.judges == "events":
            assert measure.sampled is None
        else:
            assert measure.sampled >= 2
            assert measure.sampled == measure.get_params().get("sample", measure.sampled) or measure.between == "mean"

    def test_where_part_of_the_series_would_flatter_it_is_compared_with_all(self, measure):
        original, published = compared(measure, 0.0)
        if measure.name not in AGAINST_ALL:
            assert measure.fixed(original, published) is None
            return
        # Groups as they are, and gaps in the originals alone: others would leave every series alone.
        if isinstance(published, Panel):
            published = households(0.0, 0.0, original.n_channels)[1]
            original = usable(measure, original)
        parts = list(whole_groups(original, published, 3))
        # All of them against all, shard by shard, is the measure itself.
        fixed = measure.fixed(original, published)
        for some in ([(original, published)], parts):
            found = fixed.score(reduce(add, (fixed.tally(*part) for part in some)))
            assert found.value == pytest.approx(measure.measure(original, published).value, rel=1e-6, abs=1e-6)
            assert (found.goal, found.range) == (measure.goal, measure.range)
        if measure.judges == "groups":
            # Some of them have more rivals among all.
            some = measure.fixed(*parts[0])
            among_all = some.score(reduce(add, (some.tally(*part) for part in parts))).value
            alone = some.score(some.tally(*parts[0])).value
            assert alone >= among_all if measure.goal == "higher" else alone <= among_all


@pytest.mark.parametrize("measure", SUMS, ids=label)
def test_a_sum_is_never_sampled(measure):
    assert measure.sampled is None


def test_a_sample_as_large_as_is_asked_for_is_measured_whole():
    # What a caller draws is not thinned again, and the whole is what it would have been without a sample.
    original, published = households(0.0, 0.0, 1)
    for measure in (CorrelationLoss(sample=40), Prediction(window=2, sample=40)):
        assert measure.sampled == 40
        assert measure.note(published) == ""
        assert measure.measure(original, published) == type(measure)(
            **{**measure.get_params(), "sample": 4000}
        ).measure(original, published)


def test_series_drawn_one_by_one_tell_correlations_as_they_are():
    panel = simulate.meters(600, days=4, step="2h", seed=1)
    published = Microaggregation(k=20).anonymize(panel).published
    whole = CorrelationLoss(sample=600).measure(panel, published).value
    rng = np.random.default_rng(0)
    drawn = [np.sort(rng.choice(600, size=100, replace=False)) for _ in range(10)]
    found = [CorrelationLoss(sample=100).measure(panel.take(rows), published.take(rows)).value for rows in drawn]
    assert np.mean(found) == pytest.approx(whole, rel=0.05)


@pytest.mark.parametrize("measure", EVERY, ids=label)
class TestParameters:
    def test_they_build_the_same_again(self, measure):
        assert measure.set_params(**measure.get_params()) == measure
        assert type(measure)(**measure.get_params()) == measure
        assert build(type(measure), json.loads(json.dumps(measure.parameters))) == measure
        assert list(measure.parameters) == [field.name for field in dataclasses.fields(measure)]

    def test_another_is_made_and_this_one_stays(self, measure):
        before = measure.get_params()
        for other in ways(type(measure)):
            assert measure.set_params(**other.get_params()) == other
        assert measure.get_params() == before
        with pytest.raises(ParameterError, match=f"{measure.name} has no parameter 'colour'. It takes: "):
            measure.set_params(colour=1)


@pytest.mark.parametrize("cls", EXPORTED)
def test_what_others_must_know_is_said_by_the_class(cls):
    assert issubclass(cls, Measure)
    assert cls.__dataclass_params__.frozen
    assert cls.meaning
    assert cls.purpose == cls.purpose.lower()
    assert isinstance(cls().matched, bool)
    takes = {verb: "rows" in inspect.signature(getattr(cls, verb)).parameters for verb in ("measure", "tally")}
    assert takes["measure"] == cls.takes_rows
    assert takes["tally"] == (cls.takes_rows and not cls().why_whole)
    assert [cls(**way) for way in cls.usual] == [cls().set_params(**way) for way in cls.usual]


def test_numbers_of_numpy_become_plain_ones():
    measure = CorrelationLoss(lags=np.int64(3), seed=np.uint8(7))
    assert {type(value) for value in measure.parameters.values()} == {str, int}
    assert isinstance(measure.set_params(sample=np.int32(9)).sampled, int)

"""Findings of shards, put together, beside those of the whole."""

from dataclasses import asdict, fields, is_dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attacks.releases import households, noisy, sliced
from shoal import KP, Microaggregation, Panel
from shoal.attacks import (
    Denoising,
    KnownPoints,
    KnownRanges,
    KnownTotals,
    Linkage,
    NearestNeighbour,
    Reordering,
    SubsetSum,
    Unmixing,
)
from shoal.errors import ParameterError
from shoal.model import Envelopes, Findings

BOUNDED = [
    KnownPoints(1),
    KnownPoints(2, choose="peaks"),
    KnownPoints(3, shift=1),
    KnownPoints(4, scale="same", seed=3),
    KnownRanges(2, within=1.0),
    KnownTotals(step=1),
    KnownTotals(step=2, scale="same"),
    NearestNeighbour(cycle=2),
    NearestNeighbour(distance="dtw", cycle=2, band=0.5),
]
ENVELOPES = [Linkage(), Linkage(values=False), Linkage(pattern=False), Linkage(word="own")]
VALUES = st.integers(0, 4).map(float)


def cut(panel, sizes):
    """The panel as shards of so many series."""
    ends = np.cumsum([0, *sizes])
    return [Panel(panel.values[a:b], times=panel.times) for a, b in pairwise(ends)]


def joined(shards):
    return Panel(np.concatenate([shard.values for shard in shards]), times=shards[0].times)


def rows_of(shards, rows):
    """The original each published row stands for, in the whole."""
    before = np.cumsum([0, *(shard.n_series for shard in shards[:-1])])
    return np.concatenate([np.where(row < 0, -1, row + n) for row, n in zip(rows, before, strict=True)])


def searched(attack, shards, released, rows=None, targets=None):
    """Each shard by itself, with what is drawn for the whole."""
    rows = [np.arange(shard.n_series) for shard in shards] if rows is None else rows
    found, before = [], 0
    for shard, published, own in zip(shards, released, rows, strict=True):
        n = shard.n_series
        here = None if targets is None else targets[(targets >= before) & (targets < before + n)] - before
        found.append(attack.find(shard, published, rows=own, targets=here, first=before))
        before += n
    return type(found[0]).merged(found)


def equal(one, other):
    """Findings, array by array, to the last bit."""
    if is_dataclass(one):
        return type(one) is type(other) and all(
            equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(one)
        )
    if isinstance(one, tuple):
        return len(one) == len(other) and all(equal(a, b) for a, b in zip(one, other, strict=True))
    return np.array_equal(one, other, equal_nan=isinstance(one, np.ndarray) and one.dtype.kind == "f")


@st.composite
def sharded(draw):
    """Small panels with many equal readings, published shard by shard: as they are, in means of two, or with gaps."""
    sizes = draw(st.lists(st.integers(3, 5), min_size=2, max_size=3))
    n, width = sum(sizes), draw(st.sampled_from([4, 6]))
    x = np.array(draw(st.lists(st.lists(VALUES, min_size=width, max_size=width), min_size=n, max_size=n)))
    shards = cut(Panel(x), sizes)
    how = draw(st.sampled_from(["as it is", "means", "other values", "gaps"]))
    if how == "means":
        return shards, [Microaggregation(k=2, algorithm="mdav").anonymize(shard).published for shard in shards]
    if how == "other values":
        y = np.array(draw(st.lists(st.lists(VALUES, min_size=width, max_size=width), min_size=n, max_size=n)))
        return shards, cut(Panel(y), sizes)
    if how == "gaps":
        x[np.array(draw(st.lists(st.booleans(), min_size=x.size, max_size=x.size))).reshape(x.shape)] = np.nan
        return shards, cut(Panel(x), sizes)
    return shards, shards


@pytest.mark.parametrize("attack", BOUNDED, ids=str)
@given(case=sharded(), data=st.data())
def test_being_told_the_shard_can_only_help(attack, case, data):
    """Target by target, by every way to compare, and so for the success."""
    shards, released = case
    # Warping is refused with gaps.
    assume(getattr(attack, "distance", None) != "dtw" or not any(panel.n_missing for panel in released))
    n = sum(shard.n_series for shard in shards)
    targets = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True).map(sorted)))
    assert attack.bounded_by_shard
    told = searched(attack, shards, released, targets=targets)
    whole = attack.find(joined(shards), joined(released), targets=targets)
    assert told.targets.tolist() == whole.targets.tolist() == targets.tolist()
    for of_shards, of_all in zip(told.taken, whole.taken, strict=True):
        assert (of_shards.chance >= of_all.chance).all()
    one, other = attack.risk(told), attack.risk(whole)
    assert one.success >= other.success - 1e-12
    assert one.highest >= other.highest
    assert (one.baseline, one.n_targets, one.n_left_out) == (other.baseline, other.n_targets, other.n_left_out)


@pytest.mark.parametrize("attack", BOUNDED, ids=str)
def test_on_households_too_and_with_rows_left_out_and_fictive_ones(attack):
    panel = Panel(households(60, 2).values)
    shards = cut(panel, [20, 25, 15])
    rows = [np.append(np.arange(1, shard.n_series), -1) for shard in shards]
    released = [Microaggregation(k=4).anonymize(shard).published for shard in shards]
    told = attack.risk(searched(attack, shards, released, rows))
    whole = attack.risk(attack.find(panel, joined(released), rows=rows_of(shards, rows)))
    assert told.success >= whole.success - 1e-12
    assert (told.baseline, told.n_targets) == (whole.baseline, whole.n_targets)
    assert told.n_left_out == whole.n_left_out == 3
    assert all(0 <= row < 60 for row in told.worst)


def enveloped(panel, k=4):
    candidate = KP(k=k, p=2).anonymize(panel)
    return candidate.published, candidate.stands_for


def joined_envelopes(several):
    """The envelopes of several shards as one release."""
    one = several[0]
    return Envelopes(
        np.concatenate([part.low for part in several]),
        np.concatenate([part.high for part in several]),
        levels=np.concatenate([part.levels for part in several]),
        patterns=[word for part in several for word in part.patterns],
        times=one.times,
        pattern_times=one.pattern_times,
    )


@pytest.mark.parametrize("attack", ENVELOPES, ids=str)
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_of_envelopes_being_told_the_shard_can_only_help(attack, seed):
    x = np.random.default_rng(seed).integers(0, 4, size=(24, 4)).astype(float)
    shards = cut(Panel(x), [10, 14])
    released, rows = zip(*(enveloped(shard) for shard in shards), strict=True)
    told = searched(attack, shards, released, rows)
    whole = attack.find(Panel(x), joined_envelopes(released), rows=rows_of(shards, rows))
    assert attack.bounded_by_shard
    assert (told.probabilities >= whole.probabilities).all()
    one, other = attack.risk(told), attack.risk(whole)
    assert (one.baseline, one.n_targets, one.n_missed) == (other.baseline, other.n_targets, other.n_missed)
    assert one.n_suppressed == other.n_suppressed


def test_a_sensitive_value_may_be_rarer_in_the_shard_than_in_all():
    """Sabotage of the claim: what others share is more certain among more of them."""
    attack = Linkage(pattern=False, sensitive="what")
    assert not attack.bounded_by_shard
    shards = [
        Panel(np.ones((2, 1)), sensitive={"what": ["a", "b"]}),
        Panel(np.ones((4, 1)), sensitive={"what": ["a"] * 4}),
    ]
    released = [
        Envelopes(s.values, s.values, levels=[2] * s.n_series, patterns=["a"] * s.n_series, times=[0]) for s in shards
    ]
    found = [attack.find(*both) for both in zip(shards, released, strict=True)]
    whole = Panel(np.ones((6, 1)), sensitive={"what": ["a", "b", "a", "a", "a", "a"]})
    assert found[0].probabilities[0] == 1 / 2
    assert attack.find(whole, joined_envelopes(released)).probabilities[0] == 5 / 6
    with pytest.raises(ParameterError, match="LinkageFindings of 2 shards do not add up to those of the whole"):
        type(found[0]).merged(found)


UNBOUNDED = [
    KnownPoints(2, noise=0.1),
    KnownPoints(2, choose="worst"),
    KnownTotals(step=2, noise=0.1),
    NearestNeighbour(distance="features", cycle=2),
    Denoising(3),
    SubsetSum(step=1),
    Unmixing(step=2),
    Reordering(),
]


@pytest.mark.parametrize("attack", UNBOUNDED, ids=str)
def test_what_depends_on_who_else_is_there_claims_nothing(attack):
    assert not attack.bounded_by_shard


def test_statistics_in_units_of_a_shard_are_no_bound():
    """Sabotage of the claim: a panel of which the whole finds somebody whom the shard does not."""
    attack = NearestNeighbour(distance="features", cycle=2)
    lost = []
    for seed in range(20):
        dice = np.random.default_rng(seed)
        shards = cut(Panel(dice.normal(size=(12, 6)) * dice.gamma(1.0, size=(12, 1))), [6, 6])
        told, whole = searched(attack, shards, shards), attack.find(joined(shards), joined(shards))
        lost.append((told.taken[0].chance < whole.taken[0].chance).any())
    assert any(lost)


def test_the_surest_link_is_bounded_by_the_highest_chance_and_what_links_tell_is_no_bound():
    """Which links look surest depends on everybody's, so that of several shards the highest chance stands for it."""
    attack = KnownPoints(3, scale="same", within=0.3)
    more_told = []
    for seed in range(50, 60):
        dice = np.random.default_rng(seed)
        x = dice.normal(size=(80, 5))
        shards, released = cut(Panel(x), [40, 40]), cut(Panel(x + dice.normal(size=x.shape)), [40, 40])
        told, whole = attack.risk(searched(attack, shards, released)), attack.attack(Panel(x), joined(released))
        assert told.highest == told.prosecutor >= whole.prosecutor
        more_told.append(told.inferred < whole.inferred)
    assert any(more_told)


def test_filtering_noise_of_a_shard_is_no_bound():
    """Sabotage of the claim: of more series more of what they share stands out from noise."""
    panel = households(200, 7)
    shards, released = cut(panel, [50] * 4), cut(noisy(panel, 0.25), [50] * 4)
    attack = Denoising(20, snr=0.25)
    whole = attack.attack(panel, joined(released))
    alone = [attack.attack(*both) for both in zip(shards, released, strict=True)]
    assert any(risk.n_components < whole.n_components for risk in alone)
    with pytest.raises(ParameterError, match=r"DenoisingFindings of 4 shards do not add up.* Attack a sample"):
        searched(attack, shards, released)


def test_what_is_drawn_for_a_target_is_drawn_by_its_position_in_the_whole():
    """Where the shard holds all candidates that matter, its findings are those of the whole."""
    panel = Panel(households(60, 2).values)
    shards = cut(panel, [25, 35])
    for attack in (KnownPoints(3), KnownPoints(4, shift=2, seed=5), KnownTotals(step=4)):
        told, whole = searched(attack, shards, shards), attack.find(panel, panel)
        alone = [attack.find(shard, shard) for shard in shards]
        assert [view.own.tolist() for view in told.taken] == [view.own.tolist() for view in whole.taken]
        assert all(
            np.array_equal(a.distances[:, 0], b.distances[:, 0]) for a, b in zip(told.taken, whole.taken, strict=True)
        )
        if isinstance(attack, KnownPoints):
            # Sabotage: without `first` the second shard knows other instants.
            drawn_alone = np.concatenate([found.taken[0].guessed for found in alone])
            assert not np.array_equal(drawn_alone, whole.taken[0].guessed)
            assert np.array_equal(told.taken[0].guessed, whole.taken[0].guessed)


def test_errors_of_a_target_are_those_it_has_in_the_whole():
    panel = Panel(households(60, 2).values)
    attack = KnownTotals(step=4, noise=0.5, scale="same")
    whole = attack.find(panel, panel).taken[0].distances[:, 0]
    # The same spread in the shard: then all that is left is what is drawn.
    twice = Panel(np.concatenate([panel.values, panel.values]))
    shifted = attack.find(panel, panel, first=60).taken[0].distances[:, 0]
    of_twice = attack.find(twice, twice).taken[0].distances[:, 0]
    assert np.allclose(of_twice, np.concatenate([whole, shifted]))
    assert not np.allclose(whole, shifted)


def test_slices_are_of_the_stretch_drawn_in_the_whole():
    panel = households(20, 4)
    shards = cut(panel, [8, 12])
    attack = KnownPoints(6, within=0.3)
    released, rows = zip(*(sliced(shard, 24, dates=False) for shard in shards), strict=True)
    told = searched(attack, shards, released, rows)
    whole = attack.find(panel, joined(released), rows=rows_of(shards, rows))
    assert [view.guessed.tolist() for view in told.taken] == [view.guessed.tolist() for view in whole.taken]
    assert attack.risk(told).baseline == attack.risk(whole).baseline


def test_what_a_coarser_release_shows_is_judged_by_the_level_of_all():
    """A shard whose first readings and means have one level would be compared with the wrong ones."""
    dice = np.random.default_rng(2)
    x = dice.gamma(2.0, size=(40, 6, 4))
    x[:20, :, 0] *= 3.0
    # In pairs that exchange the first reading for the others: the levels are equal, and a mean is the partner's first.
    one, other = 4.0 * dice.integers(0, 50, size=(2, 10, 6, 1))
    x[20:] = np.concatenate([np.broadcast_to(other, (10, 6, 4)), np.broadcast_to(one, (10, 6, 4))])
    x[20:, :, :1] = np.concatenate([one, other])
    panel = Panel(x.reshape(40, 24))
    shards = cut(panel, [20, 20])
    released = [Panel(s.values.reshape(20, 6, 4).mean(axis=2), times=s.times[::4]) for s in shards]
    for attack in (KnownTotals(step=1, scale="same"), KnownPoints(3, scale="same")):
        assert attack.attack(shards[1], released[1]).success < 0.1  # taken for first readings
        told, whole = searched(attack, shards, released), attack.find(panel, joined(released))
        assert attack.risk(told).success == attack.risk(whole).success == 1.0


def test_a_shard_without_targets_still_counts():
    panel = Panel(households(60, 2).values)
    shards = cut(panel, [20, 20, 20])
    targets = np.array([25, 30, 39])
    attack = KnownPoints(3)
    told, whole = searched(attack, shards, shards, targets=targets), attack.find(panel, panel, targets=targets)
    assert attack.risk(told).baseline == attack.risk(whole).baseline == pytest.approx(1 / 60)
    assert sorted(attack.risk(told).worst) == targets.tolist()
    nobody = attack.find(shards[0], shards[0], targets=np.zeros(0, dtype=np.int64))
    with pytest.raises(ParameterError, match="None of the targets is in the release"):
        attack.risk(nobody)


def test_a_shard_without_readings_leaves_the_others_to_be_known():
    blank, full = Panel(np.full((20, 48), np.nan)), Panel(households(20, 2).values)
    attack = KnownPoints(3)
    with pytest.raises(ParameterError, match="KnownPoints needs readings to know"):
        attack.attack(blank, full)
    told, whole = (
        searched(attack, [blank, full], [full, full]),
        attack.attack(joined([blank, full]), joined([full, full])),
    )
    assert attack.risk(told).n_targets == whole.n_targets == 40
    assert attack.risk(told).success >= whole.success


def test_shards_may_be_merged_in_turns():
    panel = Panel(households(60, 2).values)
    a, b, c = (KnownPoints(3).find(s, s, first=20 * i) for i, s in enumerate(cut(panel, [20, 20, 20])))
    merged = type(a).merged
    assert equal(merged([merged([a, b]), c]), merged([a, b, c]))


def test_targets_are_drawn_by_the_attack_only_where_none_are_given():
    panel = Panel(households(60, 2).values)
    attack = KnownPoints(2, n_targets=10, seed=4)
    drawn = attack.draw(np.arange(60))
    assert len(drawn) == 10
    assert asdict(attack.attack(panel, panel)) == asdict(attack.attack(panel, panel, targets=drawn))
    assert attack.attack(panel, panel, targets=np.arange(30)).n_targets == 30
    assert Reordering(n_targets=5).draw([3, 4, 5, 6, 7, 8, 9]).tolist() == [3, 4, 5, 6, 7, 8, 9]


def test_one_shard_is_the_whole():
    panel = Panel(households(60, 2).values)
    for attack in (*BOUNDED, *UNBOUNDED[:4], Denoising(3), Unmixing(step=2), SubsetSum(step=1, n_means=2)):
        found = attack.find(panel, panel)
        assert isinstance(found, Findings)
        assert equal(type(found).merged([found]), found)
        assert asdict(attack.risk(found)) == asdict(attack.attack(panel, panel))

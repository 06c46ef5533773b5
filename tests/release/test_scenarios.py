"""A release of scenarios: written, read back, verified, forged; and what it leaves open."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from forgery import forge
from shoal import Microaggregation, Panel, load_release, publish, simulate, verify
from shoal.attacks import KnownPoints
from shoal.engines import Memory, in_shards
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.process.release_attack import attack_release
from shoal.release.openness import open_bits
from shoal.release.profiles import ScenariosForm
from shoal.release.scenario_openness import scenario_bits

METERS = Panel(
    np.random.default_rng(9).gamma(2.0, size=(40, 6)),
    ids=[f"meter-{i}" for i in range(40)],
    times=np.datetime64("2024-01-01T00:00") + np.arange(6) * np.timedelta64(1, "h"),
    timezone="Europe/Bratislava",
)
METHOD = Microaggregation(k=6, form="scenarios", levels=3)


@pytest.fixture(scope="module")
def candidate():
    return METHOD.anonymize(METERS)


def changed(candidate, group, band, by):
    """The candidate with a figure of one group, or of several, changed at one instant."""
    published = candidate.published
    values = published.values.copy()
    values[group, 2, 0, band] += by
    return dataclasses.replace(candidate, published=dataclasses.replace(published, values=values, names=()))


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_scenarios_read_back_as_they_were_published(tmp_path, candidate, file_format):
    release = publish(candidate, tmp_path / "out", format=file_format)
    assert verify(tmp_path / "out").holds
    assert release.certificate["form"] == "scenarios"
    read = load_release(tmp_path / "out")
    assert read.published.digest() == release.published.digest()
    assert_array_equal(np.sort(read.published.pool_counts), np.sort(candidate.published.pool_counts))
    assert release.certificate["columns"]["published"] == [
        *("group", "count", "time", "mean", "spread", "z17", "z50", "z83", "lagged")
    ]
    assert simulate.from_release(read, n_series=5).timezone == "Europe/Bratislava"


def test_a_level_of_one_group_alone_is_found_by_verify(tmp_path, candidate):
    out = tmp_path / "out"
    publish(candidate, out)
    first = pl.read_parquet(out / "data.parquet")["group"][0]
    own = (pl.col("group") == first) & (pl.col("time") == pl.col("time").min())
    forge(
        out,
        "data.parquet",
        lambda table: table.with_columns(z83=pl.when(own).then(pl.col("z83") + 0.5).otherwise(pl.col("z83"))),
    )
    outcome = verify(out)
    assert not outcome.holds
    assert any("k-anonymity does not hold" in found for found in outcome.findings)


def test_the_highest_readings_in_the_place_of_levels_are_found_by_verify(tmp_path, candidate):
    # All groups share them, so crowds are as large as before; but they are no means over parts of the pool.
    out = tmp_path / "out"
    publish(candidate, out)
    forge(out, "data.parquet", lambda table: table.with_columns((pl.col("z83") * 2).round(3)))
    outcome = verify(out)
    assert not outcome.holds
    assert any("do not add up to the mean" in found for found in outcome.findings)


@pytest.mark.parametrize(
    ("sabotage", "reason"),
    [
        (lambda c: changed(c, 0, 0, 0.1), "The means of the scenarios are not those of their groups"),
        (lambda c: changed(c, 0, 1, 0.1), "Scenarios contradict themselves: a spread is negative, or not the same"),
        (lambda c: changed(c, np.arange(c.published.n_groups), 2, -0.001), "are not means over equal parts"),
        (lambda c: changed(c, np.arange(c.published.n_groups), -1, -0.01), "are not means over equal parts"),
    ],
)
def test_the_gate_compares_every_figure_with_the_originals(tmp_path, candidate, sabotage, reason):
    with pytest.raises(GuaranteeNotMetError, match=reason):
        publish(sabotage(candidate), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_another_spread_is_refused(tmp_path, candidate):
    published = candidate.published
    values = published.values.copy()
    values[0, :, 0, 1] *= 2.0
    values[0, :, 0, 1] = float(f"{values[0, 0, 0, 1]:.3g}")
    sabotaged = dataclasses.replace(published, values=values, names=())
    with pytest.raises(GuaranteeNotMetError, match="spreads of the scenarios are not those of their groups"):
        publish(dataclasses.replace(candidate, published=sabotaged), tmp_path / "out")


def test_shards_are_published_and_verified_in_parts(tmp_path):
    panel = simulate.meters(120, days=1, seed=2)
    publish(METHOD.anonymize(in_shards(panel, Memory(), size=30)), tmp_path / "out")
    assert verify(tmp_path / "out").holds
    assert load_release(tmp_path / "out").published.counts.sum() == 120


class TestOpenness:
    def test_readings_that_count_as_open_lead_to_the_same_release(self):
        """Move pairs as far as the count allows: every published figure stays."""
        panel = Panel(np.random.default_rng(1).gamma(2.0, size=(60, 3)))
        candidate = METHOD.anonymize(panel)
        bits = open_bits(candidate)
        assert bits > 20.0
        same = 0
        groups, published = candidate.private.groups, candidate.published
        standard = (panel.values - published.means[groups]) / published.spreads[groups][:, None]
        for a in range(60):
            for b in np.flatnonzero(groups == groups[a]):
                pool = np.sort(standard[published.pools[groups] == published.pools[groups[a]], 1])
                place = np.searchsorted(pool, [standard[a, 1], standard[b, 1]])
                if a == b or len({*(((place + 1) * 3 - 1) // len(pool)).tolist()}) > 1:
                    continue
                x = panel.values.copy()
                step = 1e-4  # far less than half a gap, and than shows in a spread
                x[a, 1], x[b, 1] = x[a, 1] + step, x[b, 1] - step
                private = dataclasses.replace(candidate.private, original=Panel(x))
                assert ScenariosForm().refuse(published, private) is None
                same += 1
        assert same > 20

    def test_nothing_is_open_where_readings_are_equal(self):
        candidate = METHOD.anonymize(Panel(np.repeat(np.arange(40) % 2, 2).reshape(40, 2).astype(float)))
        assert open_bits(candidate) == 0.0

    def test_part_of_a_pool_counts_for_nothing(self, candidate):
        assert open_bits(candidate) > 0.0
        own = candidate.private.groups == 0
        some = candidate.published.take([0])
        assert scenario_bits(METERS.values[own], np.zeros(own.sum(), dtype=np.int64), some) == 0.0

    def test_figures_are_told_of_a_large_release_and_not_of_a_small_one(self, tmp_path):
        large = Microaggregation(k=6, form="scenarios").anonymize(simulate.meters(600, days=1, seed=1))
        assert open_bits(large) > 200.0
        small = publish(METHOD.anonymize(METERS), tmp_path / "small")
        assert small.certificate["utility"] == {}


def test_attack_of_a_written_release_names_its_form_and_the_way_out(tmp_path, candidate):
    publish(candidate, tmp_path / "out", private=tmp_path / "keep")
    with pytest.raises(ParameterError, match=r"holds scenarios: one record per group.*a candidate has attack\(\)"):
        attack_release(METERS.to_polars(), {}, tmp_path / "out", tmp_path / "keep")
    assert candidate.attack(KnownPoints(n=5)).n_targets == METERS.n_subjects  # the way out

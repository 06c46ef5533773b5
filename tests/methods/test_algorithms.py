"""What microaggregation takes beyond k: features, refining, strata, aggregates, rounding."""

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shoal import KAnonymity, Microaggregation, Panel
from shoal.errors import ParameterError
from shoal.utility import InformationLoss


def loss(panel, **options):
    return InformationLoss().measure(panel, Microaggregation(**options).anonymize(panel).published).value


@pytest.fixture
def panel(rng):
    tariff = np.repeat(["day", "night", "flat"], [20, 25, 15])
    return Panel(rng.gamma(2.0, size=(60, 8)) * rng.lognormal(size=(60, 1)), attributes={"tariff": tariff})


@pytest.mark.parametrize(
    "options",
    [
        {"refine": True},
        {"algorithm": "best", "proposals": 1000},
        {"algorithm": "v-mdav", "gain": 1.1},
        {"algorithm": "v-mdav", "refine": True},
        {"algorithm": "k-ward"},
        {"algorithm": "by-mean"},
        {"algorithm": "by-variance", "refine": True},
        {"algorithm": "optimal", "features": lambda panel: panel.rows.mean(axis=1, keepdims=True)},
        {"features": "standardized"},
        {"features": "centred", "refine": True},
        {"features": "haar"},
        {"features": lambda panel: panel.rows.max(axis=1, keepdims=True)},
        {"aggregate": "trimmed-mean"},
        {"aggregate": "median"},
        {"round_to": 0.5},
        {"round_to": "whole"},
        {"round_to": "binary"},
        {"within": "tariff"},
        {"within": "tariff", "refine": True, "aggregate": "trimmed-mean", "round_to": 0.1},
    ],
    # Functions are told by their kind: their addresses change from run to run.
    ids=lambda options: ",".join(f"{k}={v if not callable(v) else 'function'}" for k, v in options.items()),
)
def test_every_option_keeps_the_guarantee(panel, options):
    candidate = Microaggregation(k=4, **options).anonymize(panel)
    assert candidate.check().holds
    assert KAnonymity(4).check(candidate.published).measured >= 4
    assert candidate.recipe.parameters["k"] == 4


def test_refining_and_searching_lower_the_loss(panel):
    plain = loss(panel, k=4, algorithm="mdav")
    assert loss(panel, k=4, refine=True) < plain
    assert loss(panel, k=4) < plain
    assert loss(panel, k=4, refine=False) == plain
    assert loss(panel, k=4, algorithm="best", proposals=3000) <= loss(panel, k=4, refine=True)


@pytest.mark.parametrize("refine", [False, True, None])
def test_a_large_common_offset_changes_no_group(rng, refine):
    values = rng.integers(0, 100, size=(50, 6)).astype(float)
    method = Microaggregation(k=5, refine=refine)
    near, far = (method.anonymize(Panel(values + offset)).private.groups for offset in (0.0, 1e8))
    assert_array_equal(near, far)


def test_no_value_is_special(rng):
    values = rng.normal(size=(30, 4))
    values[3, 2] = -999.0
    candidate = Microaggregation(k=3).anonymize(Panel(values))
    group = candidate.private.groups == candidate.private.groups[3]
    assert candidate.values[3, 2] == pytest.approx(values[group, 2].mean())


def test_the_index_and_the_plain_kernel_publish_the_same(rng, monkeypatch):
    panel = Panel(rng.normal(size=(300, 5)))
    mdav = Microaggregation(k=5, algorithm="mdav")
    plain = mdav.anonymize(panel).values
    monkeypatch.setattr("shoal.methods.algorithms.INDEX_ROWS", 100)
    monkeypatch.setattr("shoal.kernels.fast_mdav.SMALL", 100)
    assert_array_equal(mdav.anonymize(panel).values, plain)


def test_the_default_refines_where_it_can_and_mdav_by_name_stays_exact(rng, monkeypatch):
    panel = Panel(rng.normal(size=(60, 3)))
    auto, mdav = Microaggregation(k=3), Microaggregation(k=3, algorithm="mdav")
    assert not np.array_equal(auto.anonymize(panel).values, mdav.anonymize(panel).values)
    several = Panel(panel.values, subjects=np.repeat(range(20), 3))
    refined, plain = (method.anonymize(several) for method in (auto, mdav))
    assert refined.check().holds
    assert InformationLoss().measure(several, refined.published).value < (
        InformationLoss().measure(several, plain.published).value
    )
    values = several.values.copy()
    values[3, 1] = np.nan
    gappy = Panel(values, subjects=several.subject_codes)
    assert_array_equal(auto.anonymize(gappy).values, mdav.anonymize(gappy).values)
    assert_array_equal(Microaggregation(k=3, refine=False).anonymize(panel).values, mdav.anonymize(panel).values)
    exact = mdav.anonymize(panel).private.groups
    for name, value in (("MOST_UNCUT", 20), ("MOST_IN_BLOCK", 20), ("LEAST_GROUPS_IN_BLOCK", 4)):
        monkeypatch.setattr(f"shoal.kernels.blocks.{name}", value)
    assert_array_equal(mdav.anonymize(panel).private.groups, exact)
    in_blocks = [Microaggregation(k=3, threads=threads).anonymize(panel) for threads in (1, 2, 3)]
    for candidate in in_blocks:
        assert candidate.check().holds
        assert_array_equal(candidate.values, in_blocks[0].values)
    assert loss(panel, k=3) < loss(panel, k=3, algorithm="mdav")


def test_one_instant_is_grouped_optimally(rng):
    panel = Panel(rng.gamma(1.0, size=(80, 1)))
    losses = {name: loss(panel, k=4, algorithm=name) for name in ("optimal", "mdav", "v-mdav", "k-ward", "by-mean")}
    assert losses["optimal"] == min(losses.values())
    assert losses["optimal"] < losses["mdav"]
    with pytest.raises(
        ParameterError, match="algorithm 'optimal' needs one instant and one channel, or one feature; here"
    ):
        Microaggregation(k=4, algorithm="optimal").anonymize(Panel(rng.normal(size=(20, 2))))


class TestWithin:
    def test_groups_never_cross_the_attribute(self, panel):
        groups = Microaggregation(k=4, within="tariff").anonymize(panel).private.groups
        for group in np.unique(groups):
            assert len(set(panel.attributes["tariff"][groups == group])) == 1

    def test_a_small_stratum_is_refused_or_merged(self, rng):
        panel = Panel(rng.normal(size=(20, 3)), attributes={"region": [0] * 9 + [1] * 8 + [2] * 2 + [None]})
        with pytest.raises(
            ParameterError, match="2 of 4 strata of 'region' have fewer than k=4 subjects, the smallest 1"
        ):
            Microaggregation(k=4, within="region").anonymize(panel)
        candidate = Microaggregation(k=4, within="region", merge_small=True).anonymize(panel)
        groups = candidate.private.groups
        assert candidate.check().holds
        # The two small ones take in the next larger; the largest keeps to itself.
        assert not set(groups[:9]) & set(groups[9:])

    def test_an_unknown_attribute_is_refused(self, panel):
        with pytest.raises(ParameterError, match="within='zip' is not among the 1 attributes"):
            Microaggregation(k=4, within="zip").anonymize(panel)


def test_a_median_that_is_one_member_is_refused():
    middle = np.linspace(1.0, 2.0, 40)
    panel = Panel(np.stack([middle - 1, middle, middle + 1]))
    with pytest.raises(ParameterError, match="equals one member's own values at 100 % of the cells, more than 50 %"):
        Microaggregation(k=3, aggregate="median").anonymize(panel)
    assert Microaggregation(k=3, aggregate="trimmed-mean").anonymize(panel).check().holds


def test_the_likeness_of_a_median_is_on_record(rng):
    candidate = Microaggregation(k=5, aggregate="median").anonymize(Panel(rng.normal(size=(50, 40))))
    assert 0.0 < candidate.recipe.figures["largest_likeness"] <= 0.5


@pytest.mark.parametrize(
    "options", [{"refine": True}, *({"algorithm": a} for a in ("best", "v-mdav", "k-ward", "by-mean", "by-variance"))]
)
def test_what_needs_complete_panels_of_single_series_says_so(rng, options):
    gappy = rng.normal(size=(20, 3))
    gappy[3, 1] = np.nan
    with pytest.raises(ParameterError, match="needs a panel without gaps"):
        Microaggregation(k=3, **options).anonymize(Panel(gappy))
    with pytest.raises(ParameterError, match="needs one series per subject"):
        Microaggregation(k=3, **options).anonymize(Panel(rng.normal(size=(20, 3)), subjects=np.repeat(range(10), 2)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"algorithm": "magic"},
            "algorithm must be one of: auto, mdav, v-mdav, k-ward, optimal, by-mean, by-variance, best",
        ),
        ({"gain": -1.0}, "gain must be a number of at least 0"),
        ({"aggregate": "mode"}, "aggregate must be one of: mean, median, trimmed-mean"),
        ({"features": "colour"}, "Unknown features 'colour'"),
        ({"round_to": -1}, "round_to must be a resolution above 0"),
        ({"proposals": 0}, "proposals must be a whole number of at least 1"),
        ({"round_to": 1e-320}, "round_to must be a resolution above 0"),
        ({"seed": -5}, "seed must be a whole number of at least 0"),
        ({"k": 10**30}, "k must be a whole number of at most"),
        ({"threads": 0}, "threads must be a whole number of at least 1"),
    ],
)
def test_impossible_parameters_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Microaggregation(**({"k": 3} | options))


@pytest.mark.parametrize("algorithm", ["auto", "mdav", "v-mdav", "k-ward"])
def test_threads_change_nothing_in_the_result_nor_in_the_setting(rng, algorithm):
    panel = Panel(rng.normal(size=(2500, 6)))
    before = numba.get_num_threads()
    one, two, watched = (
        Microaggregation(k=7, algorithm=algorithm, threads=threads).anonymize(panel, progress=progress).values
        for threads, progress in ((1, None), (2, None), (2, lambda done, total: None))
    )
    assert_array_equal(one, two)
    assert_array_equal(one, watched)
    assert numba.get_num_threads() == before

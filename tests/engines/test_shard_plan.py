"""Which shard each series goes to."""

from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_examples import all_of, small_panel
from shoal import Microaggregation, Panel, ScopeAggregation, Steps
from shoal.engines import Local, Memory, in_shards
from shoal.engines.attribute_bins import LARGEST_VALUE, AttributeCells, join_cells, pack_values
from shoal.engines.shard_plan import MOST_SUBJECTS, SHARD_BYTES, default_size
from shoal.errors import ParameterError
from shoal.model import ShardPlan, Strata, Whole

AREA = (Strata(("area",)),)


def split(panel, engine=None, **plan):
    return in_shards(panel, engine or Memory()).split(ShardPlan(**plan))


def grouped(shards):
    """The panels of each value."""
    found = {}
    for value, panel in zip(shards.values, all_of(shards), strict=True):
        found.setdefault(value, []).append(panel)
    return found


def homes(n=300, per_home=(1, 2, 3), **further):
    """Homes with one to three series each."""
    homes = np.repeat(np.arange(n), np.resize(per_home, n))
    rng = np.random.default_rng(2)
    order = rng.permutation(len(homes))
    values = rng.normal(size=(len(homes), 6))
    return Panel(
        values, ids=[f"m{i}" for i in range(len(homes))], subjects=[f"home {h}" for h in homes[order]], **further
    )


@pytest.mark.parametrize("size", [1, 10, 40, 120])
@pytest.mark.parametrize("least", [9, 30])
def test_shards_have_at_least_so_many_subjects_and_all_series_of_each(size, least):
    panel = homes()
    shards = split(panel, size=size, least=least)
    found = all_of(shards)
    assert shards.n_shards == len(found) == len(shards.values)
    assert min(one.n_subjects for one in found) >= least
    owners = [set(one.subjects) for one in found]
    assert sum(map(len, owners)) == len(set.union(*owners)) == panel.n_subjects
    assert sorted(name for one in found for name in one.ids) == sorted(panel.ids)
    if max(size, least) <= 40:
        assert len(found) > 3
    place = {name: row for row, name in enumerate(panel.ids)}
    for one in found:
        np.testing.assert_array_equal(one.values, panel.values[[place[name] for name in one.ids]])


def test_a_method_asks_for_three_groups():
    candidate = Microaggregation(k=7).anonymize(in_shards(small_panel(200), Memory(), size=1))
    assert candidate.n_shards > 4
    assert min(fact.n_subjects for fact in candidate.facts) >= 21


def test_similar_series_are_in_the_same_shard(rng):
    kind = np.arange(400) % 4
    panel = Panel(100.0 * np.eye(4)[kind] + rng.normal(size=(400, 4)))
    found = all_of(split(panel, size=60, least=9))
    assert len(found) == 4
    assert all(len(set(one.values.argmax(axis=1))) == 1 for one in found)


def test_the_split_follows_from_the_data_alone():
    panel = homes(attributes={"area": [f"a{i % 3}" for i in range(600)]})
    order = np.random.default_rng(4).permutation(panel.n_series)
    with Local(memory="16MiB") as local:
        found = [
            [one.ids.tolist() for one in all_of(split(own, engine, size=40, least=9))]
            for own, engine in ((panel, Memory()), (panel.take(order), Memory()), (panel, local))
        ]
    assert found[0] == found[1] == found[2]


def test_a_small_panel_is_one_shard():
    shards = split(small_panel(39), size=20)
    assert shards.n_shards == 1
    assert shards.values == (-1,)
    assert all_of(shards)[0].n_series == 39


class TestWithin:
    def areas(self, sizes, **further):
        area = np.repeat([f"area {i}" for i in range(len(sizes))], sizes)
        return small_panel(len(area), attributes={"area": area}, **further)

    def test_a_shard_has_some_of_one_value_or_all_of_several(self):
        sizes = [200, 3, 5, 90, 2, 7]
        shards = split(self.areas(sizes), size=30, least=9, within=AREA)
        found = all_of(shards)
        assert min(one.n_subjects for one in found) >= 9
        for one, value in zip(found, shards.values, strict=True):
            areas, counts = np.unique(one.attributes["area"], return_counts=True)
            assert (value >= 0) == (len(areas) == 1)
            if len(areas) > 1:
                assert counts.tolist() == [sizes[int(area[-1])] for area in areas]
        large = {value for value in shards.values if value >= 0}
        assert len(large) == 2
        assert len(shards.values) > 4

    def test_missing_is_a_value(self):
        area = np.array([None] * 60 + ["x"] * 60, dtype=object)
        found = all_of(split(small_panel(120, attributes={"area": area}), size=30, least=9, within=AREA))
        assert len(found) >= 2
        assert all(len(set(one.attributes["area"])) == 1 for one in found)

    def test_groups_of_a_method_do_not_cross_it(self):
        panel = self.areas([100, 60, 12, 8])
        candidate = Microaggregation(k=3, within="area").anonymize(in_shards(panel, Memory(), size=20))
        assert candidate.n_shards > 3
        for one in all_of(candidate):
            areas = one.private.original.attributes["area"]
            for group in np.unique(one.private.groups):
                assert len(set(areas[one.private.groups == group])) == 1

    def test_whole_values_are_not_cut(self):
        panel = self.areas([60, 100, 30, 9])
        candidate = ScopeAggregation(size=5, share=0.9, within="area").anonymize(in_shards(panel, Memory(), size=20))
        areas = [set(one.private.original.attributes["area"]) for one in all_of(candidate)]
        assert len(areas) > 1
        assert sum(map(len, areas)) == 4

    def test_refusals(self):
        with pytest.raises(ParameterError, match="within='town' is not among the 1 attributes of the panel"):
            split(self.areas([40, 40]), size=9, within=(Strata(("town",)),))
        crossing = homes(60, per_home=(2,), attributes={"area": list("ab") * 60})
        with pytest.raises(
            ParameterError, match=r"At least \d+ subject\(s\) have series with different values of 'area'"
        ):
            split(crossing, size=9, within=AREA)
        scattered = small_panel(600, attributes={"area": np.arange(600) % 99, "kind": np.arange(600) % 97})
        within = (Strata(("area",)), Strata(("kind",)))
        with pytest.raises(
            ParameterError, match=rf"within 'area' and 'kind' .* 600 .* more than {LARGEST_VALUE} shards"
        ):
            split(scattered, size=20, least=9, within=within)

    def test_a_value_that_fits_nowhere_is_cut_though_it_should_be_whole(self):
        shards = split(self.areas([200, 40, 30]), size=20, within=(Strata(("area",), whole=True),))
        sizes = {value: [one.n_subjects for one in of] for value, of in grouped(shards).items()}
        assert (sum(sizes[0]), sizes[1], sizes[2]) == (200, [40], [30])
        assert len(sizes[0]) > 4

    @pytest.mark.parametrize("engine", ["memory", "local"])
    def test_steps_stay_within_two_attributes(self, engine):
        """Some combinations are large, some have one subject; in memory and in shards nobody is refused."""
        rng = np.random.default_rng(3)
        area, kind = rng.choice(list("abcd"), 400, p=[0.5, 0.3, 0.15, 0.05]), rng.choice(list("xyz"), 400)
        area[:2], kind[:2] = "a", "z"
        panel = small_panel(400, attributes={"area": area, "kind": kind})
        within = [Microaggregation(k=3, within="area"), Microaggregation(k=3, within="kind")]
        assert Steps(within).anonymize(panel).check().holds
        with Local() if engine == "local" else nullcontext(Memory()) as engine:
            candidate = Steps(within).anonymize(in_shards(panel, engine, size=20))
            assert candidate.n_shards > 3
            assert candidate.check().holds
            for shard in all_of(candidate):
                original = shard.private.original
                for step in within:
                    groups = step.anonymize(original).private.groups
                    entries = original.attributes[step.within]
                    assert all(len(set(entries[groups == group])) == 1 for group in np.unique(groups))

    @given(data=st.data(), n=st.integers(1, 12), least=st.integers(1, 30), whole=st.booleans())
    def test_a_bin_has_enough_of_every_stratum_or_all_of_it(self, data, n, least, whole):
        strata = [np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))) for _ in range(2)]
        sizes = np.array(data.draw(st.lists(st.integers(1, 40), min_size=n, max_size=n)))
        units = join_cells(strata, [whole, False], sizes, least)
        for codes, is_whole in zip(strata, (whole, False), strict=True):
            for code in set(codes.tolist()):
                everything = sizes[codes == code].sum()
                found = [sizes[(codes == code) & (units == unit)].sum() for unit in set(units[codes == code].tolist())]
                assert sum(found) == everything
                assert len(found) == 1 or (not is_whole and min(found) >= least)
        if not whole and (sizes >= least).all():
            assert len(set(units.tolist())) == n

    def test_entries_that_look_alike_when_they_are_joined_are_apart(self):
        """A missing entry, one that is written like it, and texts with the marks that tell entries apart."""
        rows = pa.table({"a": ["1:x", "1", None, "-", "é"], "b": ["y", ":xy", "-", None, ""]})
        cells = AttributeCells(("a", "b"))
        joined = cells(rows).to_pylist()
        assert len(set(joined)) == 5
        assert len(set(cells.parts(joined, Strata(("a",))).tolist())) == 5
        assert cells.parts(joined, Strata(("b",))).tolist() == [0, 1, 2, 3, 4]

    def test_too_many_values_are_refused(self, monkeypatch):
        monkeypatch.setattr("shoal.engines.attribute_bins.MOST_VALUES", 20)
        panel = small_panel(attributes={"area": [f"a{i}" for i in range(120)]})
        with pytest.raises(ParameterError, match="has more than 20 different values"):
            split(panel, size=20, within=AREA)

    @given(
        sizes=st.lists(st.integers(1, 60), min_size=1, max_size=20),
        size=st.integers(1, 40),
        least=st.integers(1, 40),
    )
    def test_values_in_bins_are_enough_together(self, sizes, size, least):
        size = max(size, least)
        numbers = pack_values(np.array(sizes), size, least)
        totals = np.bincount(numbers, weights=sizes)
        assert set(numbers) == set(range(len(totals)))
        assert len(totals) == 1 or totals.min() >= least
        # What is large enough to be cut is alone, but for what is too small to be.
        for value, own in enumerate(sizes):
            if own >= size:
                assert totals[numbers[value]] - own < least


def test_the_size_follows_from_the_data_alone():
    def whole(n_series, n_subjects, n_instants, channels=("value",)):
        return Whole(n_series, n_subjects, 0, np.broadcast_to(0, n_instants), channels)

    assert default_size(whole(10**7, 10**7, 48)) == MOST_SUBJECTS
    assert default_size(whole(10**6, 10**6, 17_520)) == SHARD_BYTES // (8 * 17_520)
    assert default_size(whole(10**6, 10**6, 8_760, ("a", "b"))) == SHARD_BYTES // (8 * 17_520)
    assert default_size(whole(2 * 10**6, 10**6, 8_760)) == SHARD_BYTES // (8 * 17_520)
    assert default_size(whole(10, 10, 10**9)) == 1


@pytest.mark.parametrize("size", [0, -3, True, 2.5])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(ParameterError, match="shard_size must be a whole number of subjects, at least 1"):
        in_shards(small_panel(), Memory(), size=size)


def test_names_that_shards_use_are_refused():
    with pytest.raises(ParameterError, match="Column 'shard' has a name that shards use themselves"):
        in_shards(small_panel(attributes={"shard": ["x"] * 120}), Memory())


def test_a_panel_too_large_for_shards_in_memory_is_told_of_the_way_out(monkeypatch):
    monkeypatch.setattr("shoal.engines.series.LARGEST_BLOCK", 1000)
    with pytest.raises(ParameterError, match=r"GiB of readings; .* read it with --engine local"):
        in_shards(small_panel(), Memory())


def test_series_that_are_long_are_split_as_well(rng, monkeypatch):
    monkeypatch.setattr("shoal.engines.shard_plan.SAMPLE_BYTES", 4096)
    assert split(Panel(rng.normal(size=(600, 100))), size=100).n_shards > 1

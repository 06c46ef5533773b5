"""Shards on an engine: items go in and come out as they were, and nothing of them stays behind."""

import gc
import weakref

import numpy as np
import pytest

from shard_examples import (
    LARGE,
    items,
    joined_ids,
    large_item,
    length,
    listed_and_added,
    named_level,
    names,
    names_in,
    scaled,
    shape_of,
    small_panel,
    small_shards,
    sum_of,
    thousand_numbers,
)
from shoal import Microaggregation, Steps, Transformation
from shoal.engines import Local, Memory, series, store
from shoal.engines.store import count_repeated, run_on
from shoal.errors import ParameterError
from shoal.model import ShardPlan, panel_shards
from shoal.model.panel_shards import added


class Numbers(np.ndarray):
    """An array that can be watched."""


def made(engine, **changes):
    return small_shards(engine, **changes).split(ShardPlan(least=9)).store


@pytest.mark.parametrize("piece", [64, 8 * 2**20])
def test_items_come_out_as_they_went_in(monkeypatch, piece):
    monkeypatch.setattr(store, "_PIECE", piece)
    panels = made(Memory(), gaps=3)
    found = panels.each(scaled).map(items)
    for number, (panel, one) in enumerate(zip(panels.map(items), found, strict=True)):
        assert one["number"] == number
        assert (one["none"].shape, one["words"]) == ((0, 3), ("a", None))
        np.testing.assert_array_equal(one["values"], panel.values * 2.0)


def test_every_engine_maps_and_gathers_everybody_once_and_in_order(engine):
    panels = made(engine)
    n = panels.n_shards
    assert n > 3
    ids = panels.map(names)
    assert ids == made(Memory()).map(names)
    assert sorted(name for own in ids for name in own) == sorted(small_panel().ids.tolist())
    parts = [[n - 1, 0], [1], list(range(2, n - 1))]
    expected = [(number, [(shard, ids[shard]) for shard in part]) for number, part in enumerate(parts)]
    assert panels.gather(parts, joined_ids) == expected


def test_items_of_several_pieces_come_back_whole_and_what_is_told_of_them_without_them(engine):
    large = made(engine).each(large_item, shape_of)
    assert large.told() == large.map(shape_of) == [LARGE] * large.n_shards
    assert large.map(sum_of) == [float(np.prod(LARGE)) * (number + 1.0) for number in range(large.n_shards)]


def nested(texts, run):
    """Runs of shards, runs of these, and so on."""
    while len(texts) > run:
        texts = [f"({' '.join(texts[i : i + run])})" for i in range(0, len(texts), run)]
    return f"({' '.join(texts)})"


def assert_merged_by_number(engine, monkeypatch, run):
    monkeypatch.setattr(panel_shards, "RUN", run)
    panels = made(engine, n=200)
    assert panels.n_shards > 5
    found, sums = panels.reduce(named_level, listed_and_added)
    assert found == nested([str(number) for number in range(panels.n_shards)], run)
    expected = made(Memory(), n=200).reduce(named_level, listed_and_added)[1]
    assert sums.tobytes() == expected.tobytes()


def test_which_results_are_merged_follows_from_the_numbers_of_their_shards_alone(engine, monkeypatch):
    assert_merged_by_number(engine, monkeypatch, 3)


@pytest.mark.parametrize("run", [2, 32])
def test_runs_of_other_lengths_are_merged_by_number_too(local, monkeypatch, run):
    assert_merged_by_number(local, monkeypatch, run)


def test_results_that_are_too_much_for_one_place_are_merged_on_the_way(engine, monkeypatch):
    panels = made(engine, n=1200, size=9)
    plain = type(engine).collect
    monkeypatch.setattr(type(engine), "collect", lambda self, table, most=40_000: plain(self, table, most=most))
    assert panels.n_shards > 64
    with pytest.raises(ParameterError, match="More than 0 MiB would be collected in one place"):
        panels.map(thousand_numbers)
    found = panels.reduce(thousand_numbers, added)
    assert found.tolist() == [panels.n_shards * (panels.n_shards - 1) / 2] * 1000


def test_small_items_of_the_driver_are_worked_on_in_order(engine):
    assert run_on(engine, ["a", "bbb", "cc"], length) == [(0, 1), (1, 3), (2, 2)]
    assert count_repeated(engine, names_in, [["x", "y"], ["z"], ["w"]]) == 0
    assert count_repeated(engine, names_in, [["x", "y"], ["y", "z"], ["y", "x"]]) == 3


def test_nothing_of_an_item_stays_in_memory():
    numbers = np.ones(1000).view(Numbers)
    watched = weakref.ref(numbers)
    for _ in store._pieces(0, {"numbers": numbers}, None):
        pass
    del _, numbers
    gc.collect()
    assert watched() is None


def test_scratch_files_go_with_the_store(tmp_path):
    with Local(memory="16MiB", scratch=tmp_path) as local:
        panels = made(local)
        (folder,) = tmp_path.iterdir()
        assert list(folder.rglob("*.arrow"))
        del panels
        assert not list(folder.rglob("*.arrow"))


@pytest.mark.parametrize("before", [(), (Transformation(),)])
def test_shards_are_made_of_rows_once(monkeypatch, before):
    found = []
    plain = series.panel_of

    def counted(whole, rows):
        found.append(rows.num_rows)
        return plain(whole, rows)

    monkeypatch.setattr(series, "panel_of", counted)
    candidate = Steps([*before, Microaggregation(k=3)]).anonymize(small_shards())
    assert candidate.n_shards > 2
    assert sum(found) == 120
    candidate.check()
    assert sum(found) == 120


def test_a_candidate_lets_go_of_the_shards_it_was_made_of(local):
    before = set(local._new_scratch().path.parent.rglob("*.arrow"))
    candidate = Microaggregation(k=3).anonymize(small_shards(local))
    folders = {file.parent for file in local._new_scratch().path.parent.rglob("*.arrow")} - {f.parent for f in before}
    assert len(folders) == 1  # that of the candidates
    assert candidate.check().holds

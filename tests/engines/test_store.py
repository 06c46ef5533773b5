"""Shards on an engine: items go in and come out as they were, and nothing of them stays behind."""

import gc
import weakref

import numpy as np
import pytest

from shard_examples import items, joined_ids, length, names_in, scaled, small_panel, total
from shoal.engines import Local, Memory, in_shards, store
from shoal.engines.store import count_repeated, run_on
from shoal.model import ShardPlan


class Numbers(np.ndarray):
    """An array that can be watched."""


def made(engine, **changes):
    return in_shards(small_panel(**changes), engine, size=20).split(ShardPlan(least=9)).store


@pytest.mark.parametrize("piece", [64, 8 * 2**20])
def test_items_come_out_as_they_went_in(monkeypatch, piece):
    monkeypatch.setattr(store, "_PIECE", piece)
    panels = made(Memory(), gaps=3)
    found = panels.each(scaled).map(items)
    for number, (panel, one) in enumerate(zip(panels.map(items), found, strict=True)):
        assert one["number"] == number
        assert (one["none"].shape, one["words"]) == ((0, 3), ("a", None))
        np.testing.assert_array_equal(one["values"], panel.values * 2.0)


def test_every_engine_maps_and_gathers_in_order(engine):
    panels = made(engine)
    n = panels.n_shards
    assert n > 3
    assert [number for number, _ in panels.map(total)] == list(range(n))
    ids = [panel.ids.tolist() for panel in panels.map(items)]
    parts = [[n - 1, 0], [1], list(range(2, n - 1))]
    expected = [(number, [(shard, ids[shard]) for shard in part]) for number, part in enumerate(parts)]
    assert panels.gather(parts, joined_ids) == expected


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

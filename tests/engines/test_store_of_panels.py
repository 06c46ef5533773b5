"""Items in shards on every engine: what comes back, in which order, and how often it is made."""

import numpy as np
import pytest

from shard_examples import LARGE, large_item, names, numbers, shape_of, small_panel, small_shards, sum_of
from shoal import Microaggregation
from shoal.engines import Memory, series
from shoal.methods.steps import Steps
from shoal.methods.transformation import Transformation
from shoal.model import ShardPlan


def split(engine):
    return small_shards(engine).split(ShardPlan(least=9)).store


def test_shards_have_everybody_once_and_are_the_same_on_every_engine(engine):
    found = split(engine).map(names)
    assert found == split(Memory()).map(names)
    assert sorted(name for own in found for name in own) == sorted(small_panel().ids.tolist())


def test_what_is_told_of_an_item_is_there_without_the_item(engine):
    made = split(engine).each(large_item, shape_of)
    assert made.n_shards > 2
    assert made.told() == made.map(shape_of) == [LARGE] * made.n_shards


def test_items_of_several_pieces_come_back_whole(engine):
    made = split(engine).each(large_item)
    assert made.map(sum_of) == [float(np.prod(LARGE)) * (number + 1.0) for number in range(made.n_shards)]


def test_parts_have_their_shards_in_the_order_given(engine):
    assert split(engine).gather([[2, 0], [3, 1]], numbers) == [(0, [2, 0]), (1, [3, 1])]


@pytest.mark.parametrize("before", [(), (Transformation(),)])
def test_shards_are_made_of_rows_once(monkeypatch, before):
    made = []
    plain = series.panel_of

    def counted(whole, rows):
        made.append(rows.num_rows)
        return plain(whole, rows)

    monkeypatch.setattr(series, "panel_of", counted)
    candidate = Steps([*before, Microaggregation(k=3)]).anonymize(small_shards())
    assert candidate.n_shards > 2
    assert sum(made) == 120
    candidate.check()
    assert sum(made) == 120


def test_a_candidate_lets_go_of_the_shards_it_was_made_of(local):
    before = set(local._new_scratch().path.parent.rglob("*.arrow"))
    candidate = Microaggregation(k=3).anonymize(small_shards(local))
    folders = {file.parent for file in local._new_scratch().path.parent.rglob("*.arrow")} - {f.parent for f in before}
    assert len(folders) == 1  # that of the candidates
    assert candidate.check().holds

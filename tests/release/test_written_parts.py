"""Which shards make up a part, and what parts of a release are called."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_examples import small_candidate
from shoal.release.certificate import CountsPart
from shoal.release.files import files_by_part, part_name, part_numbers, table_of
from shoal.release.written_parts import deal, deal_shards, merge_counts


@st.composite
def shards(draw):
    """The one value of each shard, -1 where it has several: of those with several there is one at most for each."""
    values = draw(st.lists(st.integers(-1, 3), min_size=1, max_size=30))
    return values, draw(st.integers(1, 40)), draw(st.integers(0, 99))


@given(case=shards())
def test_no_part_is_of_one_value_alone_where_there_are_others(case):
    values, wanted, seed = case
    parts = deal_shards(len(values), values, wanted, np.random.default_rng(seed))
    assert sorted(shard for part in parts for shard in part) == list(range(len(values)))
    assert 1 <= len(parts) <= wanted
    assert all(parts)
    if len(set(values)) > 1:
        for part in parts:
            own = {values[shard] for shard in part}
            assert len(own) > 1 or own == {-1}


def test_without_an_attribute_there_are_as_many_parts_as_wanted():
    parts = deal_shards(10, [-1] * 10, 5, np.random.default_rng(1))
    assert sorted(map(len, parts)) == [2] * 5
    assert parts != [[2 * i, 2 * i + 1] for i in range(5)]
    assert len(deal_shards(3, [-1] * 3, 99, np.random.default_rng(1))) == 3


def test_what_is_dealt_follows_from_the_key_alone(monkeypatch):
    monkeypatch.setattr("shoal.release.written_parts.PART_BYTES", 1024)
    candidate = small_candidate()
    assert deal(candidate, b"key") == deal(candidate, b"key")
    assert len({str(deal(candidate, bytes([n]))) for n in range(9)}) > 1
    monkeypatch.setattr("shoal.release.written_parts.MOST_PARTS", 2)
    assert len(deal(candidate, b"key")) == 2


def test_a_panel_that_fits_into_one_part_is_one():
    (part,) = deal(small_candidate(), b"key")
    assert sorted(part) == list(range(small_candidate().n_shards))


def test_names():
    files = {"data-00001.parquet": 1, "patterns-00001.parquet": 2, "data-00000.parquet": 3, "report.html": 4}
    assert part_numbers(files) == [0, 1]
    assert list(files_by_part(files).items()) == [
        (0, {"data-00000.parquet": 3}),
        (1, {"data-00001.parquet": 1, "patterns-00001.parquet": 2}),
    ]
    assert files_by_part({"data.parquet": 1}) == {}
    assert (table_of("data-00001.csv"), table_of("data.parquet"), table_of("report.html")) == ("data", "data", "report")
    assert part_numbers(["data.parquet", "data-1.parquet", "data-00000.txt", "x/data-00000.csv"]) == []
    assert [part_name("patterns.csv", n) for n in (None, 12)] == ["patterns.csv", "patterns-00012.csv"]


@pytest.mark.parametrize("n", [1, 3])
def test_counts_of_parts_add_up(n):
    one = CountsPart(
        series=7,
        subjects=6,
        instants=4,
        channels=1,
        missing=2,
        groups=2,
        smallest_group=3,
        largest_group=4,
        group_sizes={"3": 1, "4": 1},
    )
    merged = merge_counts([one] * n)
    assert (merged.series, merged.subjects, merged.missing, merged.groups) == (7 * n, 6 * n, 2 * n, 2 * n)
    assert (merged.instants, merged.smallest_group, merged.largest_group) == (4, 3, 4)
    assert merged.group_sizes == {"3": n, "4": n}

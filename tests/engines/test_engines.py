"""What every engine does, whatever runs on it."""

import itertools
import stat
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_work import COUNTED, NUMBERS, AddShared, CountKeys, CountRows, Double, Fail, Refuse, Repeat
from shoal.engines import Chain, Local, Same, each_key, whole_keys
from shoal.engines.local import as_bytes
from shoal.engines.rows import pack, unpack
from shoal.engines.work import Columns, starts_of_keys
from shoal.engines.work_errors import WorkFailedError, raise_carried
from shoal.errors import InputError, ParameterError


def numbers(engine, n, parts):
    return engine.scatter(pa.table({"n": np.arange(n)}), parts)


def test_maps_run_on_every_row_and_one_after_another(engine):
    table = engine.map(engine.map(numbers(engine, 1000, 7), Double(), NUMBERS), Double(), NUMBERS)
    assert sorted(engine.collect(table)["n"].to_pylist()) == [4 * n for n in range(1000)]
    chained = engine.map(numbers(engine, 10, 3), Chain((Double(), Double(), Double())), NUMBERS)
    assert sorted(engine.collect(chained)["n"].to_pylist()) == [8 * n for n in range(10)]


@pytest.mark.parametrize("kind", ["text", "whole", "bytes"])
def test_all_rows_of_a_key_come_together_in_order_and_no_key_twice(engine, kind):
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, 300, 5000)
    keys = {
        "text": pa.array([f"k{key}" for key in drawn]),
        "whole": pa.array(drawn),
        "bytes": pa.array([b"x" * 1000 + int(key).to_bytes(8, "big") for key in drawn]),
    }[kind]
    rows = pa.table({"key": keys, "n": rng.permutation(5000)})
    table = engine.together(engine.scatter(rows, 6), ["key"], CountKeys(), COUNTED, order=["n"])
    found = engine.collect(table)
    expected = dict(zip(*np.unique([str(key.as_py()) for key in keys], return_counts=True), strict=True))
    assert len(found) == len(expected)
    assert dict(zip(found["key"].to_pylist(), found["n"].to_pylist(), strict=True)) == expected


def test_several_keys_are_told_apart(engine):
    rows = pa.table({"key": ["a", "a", "b", "ab", "a"], "other": [1, 2, 1, 1, 1], "n": [0, 1, 2, 3, 4]})
    table = engine.together(engine.scatter(rows, 3), ["key", "other"], Same(), rows.schema)
    found = engine.collect(engine.map(table, CountRows(), NUMBERS))
    assert sum(found["n"].to_pylist()) == 5
    assert sorted(engine.collect(table)["n"].to_pylist()) == [0, 1, 2, 3, 4]


def test_a_missing_key_is_refused(engine):
    rows = pa.table({"key": pa.array(["a", None, "b"]), "n": [1, 2, 3]})
    with pytest.raises(ParameterError, match="have no 'key'"):
        engine.collect(engine.together(engine.scatter(rows, 2), ["key"], CountKeys(), COUNTED))


def test_what_is_kept_is_the_same_each_time_and_columns_can_be_left_out(engine):
    table = engine.keep(engine.map(numbers(engine, 100, 5), Repeat(3), pa.schema([*NUMBERS, ("row", pa.binary())])))
    first, second = (engine.collect(table).sort_by("n") for _ in range(2))
    assert first.equals(second)
    assert first.num_rows == 300
    narrow = engine.map(table, Columns(("n",)), NUMBERS)
    assert engine.collect(narrow).sort_by("n").equals(first.select(["n"]))


def test_empty_parts_and_empty_tables_are_no_trouble(engine):
    none = engine.scatter(pa.table({"key": pa.array([], pa.string()), "n": pa.array([], pa.int64())}), 2)
    assert engine.collect(none).num_rows == 0
    assert engine.collect(engine.together(none, ["key"], CountKeys(), COUNTED)).num_rows == 0
    assert engine.collect(engine.keep(engine.map(none, Same(), none.schema))).num_rows == 0


def test_a_panel_is_not_collected(engine):
    schema = pa.schema([*NUMBERS, ("row", pa.binary())])
    table = engine.map(numbers(engine, 8, 4), Repeat(600), schema)
    with pytest.raises(ParameterError, match="would be collected in one place"):
        engine.collect(table, most=2**20)
    assert engine.collect(table).num_rows == 4800


def test_a_shared_value_reaches_every_part(engine):
    shared = engine.share({"add": 7})
    found = engine.collect(engine.map(numbers(engine, 50, 8), AddShared(shared), NUMBERS))
    assert sorted(found["n"].to_pylist()) == list(range(7, 57))


def test_refusals_of_workers_arrive_as_they_are(engine):
    with pytest.raises(ParameterError, match=r"^k=3 is too many\.\nLower it\.$"):
        engine.collect(engine.map(numbers(engine, 4, 2), Refuse(), NUMBERS))


def test_other_failures_say_where_and_quote_no_data(engine):
    with pytest.raises(WorkFailedError, match=r"failed with ValueError at .*engine_work\.py:\d+") as caught:
        engine.collect(engine.map(numbers(engine, 4, 2), Fail(), NUMBERS))
    assert "secret" not in "".join(traceback.format_exception(caught.value)).replace('f"secret-', "")


def test_parquet_files_are_read_with_the_columns_asked_for(engine, tmp_path):
    for i in range(3):
        rows = pa.table({"n": np.arange(100 * i, 100 * i + 100), "key": [str(i)] * 100})
        pq.write_table(rows, tmp_path / f"part-{i}.parquet", row_group_size=40)
    assert sorted(engine.collect(engine.read(str(tmp_path)))["n"].to_pylist()) == list(range(300))
    assert engine.read(str(tmp_path), ["key"]).schema.names == ["key"]
    unfinished = tmp_path / "_temporary" / "0"
    unfinished.mkdir(parents=True)
    pq.write_table(rows, unfinished / "part-3.parquet")
    assert engine.collect(engine.read(str(tmp_path))).num_rows == 300, "what a job has not finished is no data"
    with pytest.raises(InputError, match="no column 'absent'"):
        engine.read(str(tmp_path), ["absent"])
    with pytest.raises(InputError, match="There is no Parquet file at the path given"):
        engine.read(str(tmp_path / "nothing"))


def test_scratch_files_are_for_their_owner_alone_and_go_when_nobody_needs_them(tmp_path):
    with Local(memory="16MiB", scratch=tmp_path) as engine:
        table = engine.map(numbers(engine, 40, 4), Repeat(800), pa.schema([*NUMBERS, ("row", pa.binary())]))
        kept = engine.keep(engine.together(table, ["n"], Same(), table.schema))
        (folder,) = tmp_path.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        size = sum(file.stat().st_size for file in folder.rglob("*.arrow"))
        # 16 MB of rows: those brought together are gone as soon as they are kept.
        assert 16e6 < size < 20e6
        assert engine.collect(engine.map(kept, CountRows(), NUMBERS))["n"].to_pylist()
        del kept
        assert [file.name for file in folder.rglob("*") if file.is_file()] == ["lock"]
    assert not list(tmp_path.iterdir())


def test_what_is_larger_than_a_block_is_split_until_each_part_has_few_keys(tmp_path):
    with Local(memory="16MiB", scratch=tmp_path) as engine:
        table = engine.map(numbers(engine, 60, 4), Repeat(400), pa.schema([*NUMBERS, ("row", pa.binary())]))
        together = engine.together(table, ["n"], Same(), table.schema)
        # Each key is 0.2 MB, a block 1 MB: the first file of 12 MB must have been split.
        assert len(together.parts) >= 12
        assert max(part.size for part in together.parts) <= 3 * engine.block_bytes
        assert engine.collect(together).num_rows == 24_000


def test_one_key_larger_than_a_block_is_not_split_in_vain(tmp_path):
    with Local(memory="16MiB", scratch=tmp_path) as engine:
        table = engine.map(numbers(engine, 1, 1), Repeat(9000), pa.schema([*NUMBERS, ("row", pa.binary())]))
        together = engine.together(table, ["n"], Same(), table.schema)
        assert len(together.parts) == 1
        assert engine._n_folders == 1
        assert engine.collect(engine.map(together, CountRows(), NUMBERS))["n"].to_pylist() == [9000]


def test_tables_of_another_engine_are_no_tables(local):
    with Local() as other:
        assert local.collect(numbers(other, 3, 1)).num_rows == 3  # the same kind
    with pytest.raises(TypeError, match="belongs to another engine"):
        local.collect(object())


def test_an_error_without_our_mark_names_its_kind_only():
    with pytest.raises(WorkFailedError, match=r"failed on the engine: org\.apache\.spark\.SparkException\.$"):
        raise_carried("An error occurred\norg.apache.spark.SparkException: value 17 of Ann\n\tat x")
    with pytest.raises(WorkFailedError, match="no reason was given"):
        raise_carried("")


@given(
    keys=st.lists(st.sampled_from(["a", "b", "bb", "", "c\0"]), max_size=30).map(sorted),
    cuts=st.lists(st.integers(0, 30), max_size=5).map(sorted),
    rows=st.integers(1, 8),
)
def test_no_key_is_cut_however_the_blocks_are(keys, cuts, rows):
    table = pa.table({"key": pa.array(keys, pa.string()), "n": np.arange(len(keys))})
    bounds = [0, *(min(cut, len(keys)) for cut in cuts), len(keys)]
    blocks = [b for i, j in itertools.pairwise(bounds) for b in table.slice(i, j - i).to_batches()]
    found = list(whole_keys(iter(blocks), ["key"], rows=rows))
    assert [n for t in found for n in t["n"].to_pylist()] == list(range(len(keys)))
    assert all(t.num_rows >= rows for t in found[:-1])
    seen = [set(t["key"].to_pylist()) for t in found]
    assert sum(map(len, seen)) == len(set(keys))
    each = [set(t["key"].to_pylist()) for t in each_key(iter(blocks), ["key"])]
    assert all(len(one) == 1 for one in each)
    assert len(each) == len(set(keys))


def test_keys_are_equal_by_their_bits():
    column = pa.array([0.0, -0.0, np.nan, np.nan, 1.0])
    assert starts_of_keys(pa.table({"x": column}), ["x"]).tolist() == [True, True, True, False, True]
    missing = pa.table({"x": pa.array([None, None, 1, 1])})
    assert starts_of_keys(missing, ["x"]).tolist() == [True, False, True, False]


def test_rows_come_back_from_bytes_to_the_last_bit():
    values = np.array([[1.0, -0.0, np.nan], [np.inf, 1e-320, 2.0]])
    odd = values.copy()
    odd.view(np.uint64)[0, 2] |= 5  # another bit pattern of a missing value
    packed = pack(odd)
    assert unpack(packed).view(np.uint64).tolist() == values.view(np.uint64).tolist()
    assert unpack(packed.slice(1)).tolist() == values[1:].tolist()
    with pytest.raises(ParameterError, match="same number of values"):
        unpack(pa.array([b"12345678", b"1234567812345678"]))


def test_memory_is_said_in_the_usual_ways():
    assert as_bytes("2GB") == 2 * 10**9
    assert as_bytes("512 MiB") == 512 * 2**20
    assert as_bytes(2**30) == 2**30
    with pytest.raises(ParameterError, match="a text such as"):
        as_bytes("much")
    with pytest.raises(ParameterError, match="at least 16 MiB"):
        as_bytes("1MB")
    with pytest.raises(ParameterError, match="processes must be"):
        Local(processes=0)
